//! A message as mail, through `sendmail` or, by `curl`, through a mail server.

use super::{Notice, at_home, secret};
use crate::curl::Curl;
use jiff::Timestamp as Moment;
use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;
use sys::run_bounded;
use train::NotifyPlan;

/// Where `sendmail` stands where it is not on the PATH.
const PLACES: [&str; 3] = ["/usr/sbin", "/usr/lib", "/sbin"];

/// This machine's `sendmail`.
#[must_use]
pub fn find_sendmail() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders = std::env::split_paths(&path).chain(PLACES.map(PathBuf::from));
    folders.find_map(|folder| Some(folder.join("sendmail")).filter(|path| path.is_file()))
}

/// Sends it.
///
/// # Errors
/// In words, without what is secret.
pub(super) fn send(
    plan: &NotifyPlan,
    to: &str,
    notice: &Notice,
    limit: Duration,
) -> Result<(), String> {
    let from = plan.from.as_ref().map_or(to, |from| &from.value);
    if ![from, to].into_iter().all(is_address) {
        return Err(format!(
            "mail to {to:?} is not sent: one of its addresses is no address"
        ));
    }
    let mail = letter(
        from,
        to,
        notice,
        Moment::from_millisecond(notice.at_ms).unwrap_or_default(),
    );
    let problem = |why: String| format!("mail to {to} could not be sent: {why}");
    let Some(server) = &plan.server else {
        let Some(sendmail) = find_sendmail() else {
            let why = "there is no sendmail on this machine; name a [notify] server";
            return Err(problem(why.to_owned()));
        };
        let mut command = Command::new(&sendmail);
        command.args(["-i", "-f", from, "--", to]);
        return match run_bounded(&mut command, mail.into_bytes(), limit) {
            Ok(ended) if ended.code == 0 => Ok(()),
            Ok(ended) => Err(problem(format!("sendmail ended with {}", ended.code))),
            Err(error) => Err(problem(words(&error))),
        };
    };
    let password = match &plan.password_file {
        Some(file) => Some(secret(&at_home(&file.value), "mail password").map_err(problem)?),
        None => None,
    };
    let host = &server.value.host;
    let file = temporary(&mail).map_err(|error| problem(error.to_string()))?;
    let mut curl = Curl::to(&server.value.url(), limit)
        .set("mail-from", from)
        .set("mail-rcpt", to)
        .set("upload-file", &file.display().to_string());
    if !server.value.tls {
        // Where the server offers it.
        curl = curl.flag("ssl");
    }
    if let Some(user) = &server.value.user {
        let login = format!("{user}:{}", password.unwrap_or_default());
        curl = curl.set("user", &login);
    }
    let sent = curl.status();
    let _ = std::fs::remove_file(file);
    match sent {
        Ok(_) => Ok(()),
        Err(why) => Err(problem(format!("{host}: {why}"))),
    }
}

/// Why `sendmail` did not run to its end.
fn words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "sendmail is not installed on this machine".to_owned(),
        io::ErrorKind::TimedOut => "no answer in time".to_owned(),
        _ => error.to_string(),
    }
}

/// A file that only this user can read, below the machine's folder for such.
fn temporary(text: &str) -> io::Result<PathBuf> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    let unique = u64::from_le_bytes(sys::random()?);
    let path = std::env::temp_dir().join(format!("yard-mail-{unique:016x}"));
    let mut options = std::fs::File::options();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&path)?;
    file.write_all(text.as_bytes())?;
    Ok(path)
}

/// Nothing in it ends a header or is taken for an option.
fn is_address(text: &str) -> bool {
    let is_odd =
        |letter: char| letter.is_whitespace() || letter.is_control() || "<>,;\"".contains(letter);
    !text.is_empty() && !text.starts_with('-') && !text.contains(is_odd)
}

fn letter(from: &str, to: &str, notice: &Notice, at: Moment) -> String {
    let date = jiff::fmt::rfc2822::to_string(&at.to_zoned(jiff::tz::TimeZone::UTC));
    let subject: String = notice
        .title
        .chars()
        .map(|letter| {
            if letter.is_ascii() && !letter.is_control() {
                letter
            } else {
                '?'
            }
        })
        .collect();
    format!(
        "From: {from}\r\nTo: {to}\r\nSubject: [yard] {subject}\r\nDate: {}\r\n\
         Message-ID: <{}.{}.{}.{}@trainyard>\r\nAuto-Submitted: auto-generated\r\n\
         MIME-Version: 1.0\r\nContent-Type: text/plain; charset=utf-8\r\n\
         Content-Transfer-Encoding: 8bit\r\n\r\n{}",
        date.unwrap_or_default(),
        notice.run,
        notice.job,
        notice.restart,
        notice.event,
        notice.text().replace('\n', "\r\n")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_addresses_are_no_addresses() {
        for odd in ["", "-oQ/tmp", "a b", "a\nBcc: b", "a,b", "<a>"] {
            assert!(!is_address(odd), "{odd:?}");
        }
        assert!(is_address("me@example.org") && is_address("root"));
    }
}
