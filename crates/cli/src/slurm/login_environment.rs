//! What a login of the user sets, for jobs that don't get all of the caller's own variables.
//!
//! slurmd makes it when the job starts, by `su - USER -c env` (slurmd(8), `_get_user_env`). Here
//! jobs run on the same machine, so that it is made at once: as the user whose job it is.

use api::AsUser;
use std::ffi::OsStr;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Longest that the files of a login may take; Slurm's own is two minutes.
const LONGEST: Duration = Duration::from_secs(20);
/// `SIGKILL`, signal(7).
const KILL: i32 = 9;
/// Stands before and after the variables, among whatever the files of a login print.
const MARK: &str = "trainyard-login-environment";
/// What the shell itself sets anew for whatever it runs.
const OF_SHELL: &[&str] = &["PWD", "OLDPWD", "SHLVL", "_"];

type Variables = Vec<(String, String)>;

/// The variables that a user's shell has after a login, the caller's or another's, as whom it runs then; the error
/// says why there are none.
pub fn login_environment(other: Option<AsUser>) -> Result<Variables, String> {
    let bare = bare_login(other);
    let shell = value(&bare, "SHELL");
    let name = shell.rsplit('/').next().unwrap_or(shell);
    let script = format!("printf '{MARK}\\0'; /usr/bin/env -0 && printf '{MARK}\\0'");
    let (reader, writer) = io::pipe().map_err(|error| error.to_string())?;
    let mut login = Command::new(shell);
    if let Some(AsUser { uid, gid }) = other {
        // Leaves the caller's other groups too.
        login.uid(uid).gid(gid).current_dir("/");
    }
    // Its files are that user's, who must not reach the caller's terminal.
    sys::process::start_in_own_session(&mut login);
    let mut child = login
        // A dash before its name makes a shell a login's (bash(1), INVOCATION).
        .arg0(format!("-{name}"))
        .args(["-c", &script])
        .env_clear()
        .envs(
            bare.iter()
                .map(|(name, value)| (name, sys::odd_text::bytes(value))),
        )
        .stdin(Stdio::null())
        .stdout(writer)
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("{shell}: {error}"))?;
    let (sender, printed) = mpsc::channel();
    thread::spawn(move || sender.send(read_to_mark(reader)));
    let found = printed.recv_timeout(LONGEST);
    if found.is_err() || other.is_some() {
        // What its files started too: they may hold the pipe, and would be waited for.
        let _ = sys::process::kill_group(child.id(), KILL);
    }
    let _ = child.wait();
    match found {
        // No login is without a variable: something else than env answered.
        Ok(Some(variables)) if variables.is_empty() => Err(format!("{shell} printed none")),
        Ok(Some(variables)) => Ok(variables),
        Ok(None) => Err(format!("{shell} ended before it printed them")),
        Err(_) => Err(format!("{shell} took over {} s", LONGEST.as_secs())),
    }
}

/// What every login has, whatever its files do.
pub fn bare_login(other: Option<AsUser>) -> Variables {
    let of_caller = |name: &str| {
        let own = std::env::var_os(name).filter(|_| other.is_none());
        own.map(|value| sys::odd_text::text(&value))
    };
    let uid = other.map_or_else(sys::process::user, |other| other.uid);
    // Without an entry, or where the system can't be asked, the caller's own variables serve.
    let entry = sys::users::user_by_id(uid).ok().flatten();
    let entry = entry.as_ref();
    let path_text = |path: &Path| sys::odd_text::text(path.as_os_str());
    let user = entry.map(|entry| entry.name.clone());
    let home = entry.map(|entry| path_text(&entry.home));
    let shell = entry.map(|entry| path_text(&entry.shell));
    let or_callers = |found: Option<String>, name: &str, default: &str| {
        let found = found.filter(|found| !found.is_empty());
        let found = found.or_else(|| of_caller(name));
        found.unwrap_or_else(|| default.to_owned())
    };
    let user = or_callers(user, "USER", "");
    // As su(1) sets it.
    let path = match uid {
        0 => "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
        _ => "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games",
    };
    [
        ("HOME", or_callers(home, "HOME", "/")),
        ("USER", user.clone()),
        ("LOGNAME", user),
        ("SHELL", or_callers(shell, "SHELL", "/bin/sh")),
        ("PATH", path.to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}

/// Reads to the second mark: what a login leaves running may hold the pipe for long.
fn read_to_mark(mut from: impl Read) -> Option<Variables> {
    let mark = format!("{MARK}\0").into_bytes();
    let mut bytes = Vec::new();
    let mut chunk = [0; 4096];
    // Where the first mark ends, and from where on the next is looked for.
    let (mut begin, mut searched) = (None, 0);
    loop {
        while let Some(found) = position(&bytes[searched..], &mark) {
            match begin {
                None => {
                    searched += found + mark.len();
                    begin = Some(searched);
                }
                Some(begin) => return Some(variables(&bytes[begin..searched + found])),
            }
        }
        // The end of what there is may be a mark's beginning.
        searched = searched.max(bytes.len().saturating_sub(mark.len() - 1));
        match from.read(&mut chunk) {
            Ok(0) => return None,
            Ok(count) => bytes.extend_from_slice(&chunk[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
    }
}

fn position(bytes: &[u8], mark: &[u8]) -> Option<usize> {
    bytes.windows(mark.len()).position(|window| window == mark)
}

fn variables(printed: &[u8]) -> Variables {
    let variables = printed.split(|byte| *byte == 0).filter_map(|variable| {
        let equals = variable.iter().position(|byte| *byte == b'=')?;
        let text = |bytes| sys::odd_text::text(OsStr::from_bytes(bytes));
        Some((text(&variable[..equals]), text(&variable[equals + 1..])))
    });
    variables
        .filter(|(name, _)| !OF_SHELL.contains(&&**name))
        .collect()
}

fn value<'a>(variables: &'a [(String, String)], name: &str) -> &'a str {
    let found = variables.iter().find(|(known, _)| known == name);
    found.map_or("", |(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(printed: &str, want: Option<&[(&str, &str)]>) {
        let want = want.map(|variables| {
            let owned = variables
                .iter()
                .map(|(n, v)| ((*n).to_owned(), (*v).to_owned()));
            owned.collect::<Variables>()
        });
        let printed = printed.replace("MARK", MARK);
        assert_eq!(read_to_mark(printed.as_bytes()), want);
    }

    #[test]
    fn variables_among_what_a_login_prints() {
        check(
            "Welcome!\nMARK\0HOME=/h\0F=() {  a=b\n}\0SHLVL=1\0MARK\0bye",
            Some(&[("HOME", "/h"), ("F", "() {  a=b\n}")]),
        );
        check("MARK\0MARK\0", Some(&[]));
        check("MARK\0HOME=/h\0", None);
        check("no more", None);
        check("", None);
        // A mark may come in pieces.
        let long = format!("{}MARK\0A={}\0MARK\0", "x".repeat(4090), "y".repeat(5000));
        check(&long, Some(&[("A", &"y".repeat(5000))]));
    }
}
