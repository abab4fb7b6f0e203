//! Modules, conda and virtual environments, as changes to a set of variables.

use super::Variables;
use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Stdio};
use thiserror::Error;
use train::Prelude;

/// Why the ranks' environment could not be made.
#[derive(Debug, Error)]
pub enum PreludeError {
    /// A line of the login shell failed.
    #[error(
        "[environment] has {lines:?}, and a login shell ended with {status} at the first that failed; its output is above"
    )]
    Shell {
        /// The lines.
        lines: Vec<String>,
        /// Its exit code, 128 + signal where one ended it.
        status: i32,
    },
    /// No such virtual environment on this node.
    #[error(
        "[environment] names {path:?}, and this node has no bin/python there; put it on a file system that the nodes share"
    )]
    Venv {
        /// Its folder.
        path: std::path::PathBuf,
    },
    /// The shell could not be started or read.
    #[error("bash can't be run for [environment]")]
    System {
        /// What the system says.
        source: io::Error,
    },
}

/// Changes `variables` as the prelude says.
pub fn apply(prelude: &Prelude, variables: &mut Variables) -> Result<(), PreludeError> {
    match prelude {
        Prelude::Shell { lines } => {
            *variables = shell(lines, variables)?;
            Ok(())
        }
        Prelude::Venv { path } => venv(path, variables),
    }
}

fn venv(path: &Path, variables: &mut Variables) -> Result<(), PreludeError> {
    if !path.join("bin/python").exists() {
        return Err(PreludeError::Venv {
            path: path.to_owned(),
        });
    }
    let mut first = path.join("bin").into_os_string();
    if let Some(rest) = variables
        .get(OsStr::new("PATH"))
        .filter(|rest| !rest.is_empty())
    {
        first.push(":");
        first.push(rest);
    }
    variables.insert("PATH".into(), first);
    variables.insert("VIRTUAL_ENV".into(), path.into());
    variables.remove(OsStr::new("PYTHONHOME"));
    Ok(())
}

/// The environment that a login bash has after the lines. It comes through a pipe of its own:
/// profiles print what they like on the two usual ones, which go into the rank's log.
fn shell(lines: &[String], variables: &Variables) -> Result<Variables, PreludeError> {
    let system = |source| PreludeError::System { source };
    let (mut reader, writer) = io::pipe().map_err(system)?;
    let mut command = Command::new("bash");
    // The pipe is bash's standard input, which is handed on as descriptor 3 for the last command
    // only; nothing else may read or write it.
    let script = format!(
        "exec 3<&0 </dev/null\n{} &&\nenv -0 >/proc/self/fd/3\n",
        lines.join(" &&\n")
    );
    command
        .args(["-l", "-c", &script])
        .env_clear()
        .envs(variables)
        .stdin(Stdio::from(std::os::fd::OwnedFd::from(writer)));
    let mut child = command.spawn().map_err(system)?;
    // Its end of the pipe is ours too until here.
    drop(command);
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).map_err(system)?;
    let status = crate::exit_code::of(child.wait().map_err(system)?);
    if status != 0 {
        return Err(PreludeError::Shell {
            lines: lines.to_vec(),
            status,
        });
    }
    Ok(parse(&bytes))
}

/// `NAME=value` with NUL bytes between them.
fn parse(bytes: &[u8]) -> Variables {
    let one = |entry: &[u8]| {
        let at = entry.iter().position(|byte| *byte == b'=')?;
        let text = |bytes: &[u8]| OsString::from(OsStr::from_bytes(bytes));
        // bash's own notes about the shell that ran the lines.
        let own = [&b"_"[..], b"SHLVL", b"PWD", b"OLDPWD"].contains(&&entry[..at]);
        (at > 0 && !own).then(|| (text(&entry[..at]), text(&entry[at + 1..])))
    };
    bytes.split(|byte| *byte == 0).filter_map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own() -> Variables {
        std::env::vars_os().collect()
    }

    #[track_caller]
    fn check(lines: &[&str], want: Result<Option<&str>, i32>) {
        let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        match (shell(&lines, &own()), want) {
            (Ok(found), Ok(value)) => {
                assert_eq!(
                    found
                        .get(OsStr::new("CHOSEN"))
                        .and_then(|value| value.to_str()),
                    value
                );
                assert!(found.contains_key(OsStr::new("PATH")));
            }
            (Err(PreludeError::Shell { status, .. }), Err(want)) => assert_eq!(status, want),
            (found, _) => panic!("{found:?}"),
        }
    }

    #[test]
    fn the_shells_environment_is_taken_over() {
        check(&["export CHOSEN=a"], Ok(Some("a")));
        check(
            &["export CHOSEN=$'two\\nlines'", "echo talk"],
            Ok(Some("two\nlines")),
        );
        check(&["CHOSEN=not-exported"], Ok(None));
        check(&["export CHOSEN=a", "(exit 7)", "export CHOSEN=b"], Err(7));
        check(&["cat"], Ok(None));
    }

    #[test]
    fn a_virtual_environment_comes_first() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let mut variables = Variables::from([
            ("PATH".into(), "/usr/bin".into()),
            ("PYTHONHOME".into(), "/x".into()),
        ]);
        assert!(venv(path, &mut variables).is_err());
        std::fs::create_dir(path.join("bin")).unwrap();
        std::fs::write(path.join("bin/python"), b"").unwrap();
        venv(path, &mut variables).unwrap();
        let bin = format!("{}:/usr/bin", path.join("bin").display());
        let want = Variables::from([
            ("PATH".into(), bin.into()),
            ("VIRTUAL_ENV".into(), path.into()),
        ]);
        assert_eq!(variables, want);
    }
}
