//! A virtual environment made of a requirements file.

use super::environment_error::EnvironmentError;
use super::key::key;
use super::shell::{last_lines, loads, login_shell};
use crate::made_once::{Entry, Failed, no_network};
use folder::MadeEnvironment;
use model::Internet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Returns the environment and whether it had to be made.
pub fn make(
    requirements: &Path,
    modules: &[String],
    cache: &Path,
    internet: Internet,
    progress: &mut dyn FnMut(&str),
) -> Result<(MadeEnvironment, bool), EnvironmentError> {
    let interpreter = interpreter(modules)?;
    let key = key(requirements, &interpreter.says)
        .map_err(|(path, source)| EnvironmentError::Unreadable { path, source })?;
    let entry = Entry::new(folder_in(cache), key.clone());
    let place = entry.place();
    let environment = MadeEnvironment {
        path: place.clone(),
        key,
        python: interpreter.version,
    };
    if entry.is_made() {
        return Ok((environment, false));
    }
    let Some(making) = entry.begin(progress)? else {
        return Ok((environment, false));
    };
    if internet == Internet::None && !is_offline(requirements) {
        return Err(EnvironmentError::NoInternet {
            path: requirements.to_owned(),
        });
    }
    let mut run = |what: &'static str, command: &mut Command| {
        let ended = making.run(command, progress);
        ended.map_err(|failed| failure(what, failed, requirements, &making.log))
    };
    run(
        "python3 -m venv",
        Command::new(&interpreter.path)
            .args(["-m", "venv"])
            .arg(&place),
    )?;
    let mut pip = Command::new(place.join("bin/python"));
    pip.args([
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "--no-input",
        "--progress-bar",
        "off",
        "-r",
    ]);
    pip.arg(requirements);
    // Requirements may name folders relative to themselves.
    if let Some(folder) = requirements
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        pip.current_dir(folder);
    }
    run("pip install", &mut pip)?;
    making.done(&interpreter.says)?;
    Ok((environment, true))
}

/// Where a cache has the environments.
pub fn folder_in(cache: &Path) -> PathBuf {
    cache.join("environments")
}

fn failure(
    what: &'static str,
    failed: Failed,
    requirements: &Path,
    log: &Path,
) -> EnvironmentError {
    let (path, log) = (requirements.to_owned(), log.to_owned());
    match failed {
        Failed::CannotRun(source) => EnvironmentError::CannotRun {
            program: what.to_owned(),
            source,
        },
        Failed::Ended(said) if no_network(&said) => EnvironmentError::Unreachable {
            path,
            last: last_lines(&said),
            log,
        },
        Failed::Ended(said) => EnvironmentError::MakerFailed {
            what,
            path,
            last: last_lines(&said),
            log,
        },
    }
}

/// Requirements that forbid the registry themselves need no network.
fn is_offline(requirements: &Path) -> bool {
    fs::read_to_string(requirements).is_ok_and(|text| {
        text.lines()
            .all(|line| line.trim().is_empty() || line.trim_start().starts_with('#'))
            || text
                .lines()
                .any(|line| line.trim_start().starts_with("--no-index"))
    })
}

struct Interpreter {
    path: PathBuf,
    version: String,
    /// Path, version, machine.
    says: String,
}

fn interpreter(modules: &[String]) -> Result<Interpreter, EnvironmentError> {
    const ASK: &str = "import os, platform, sys\n\
        print(sys.executable)\n\
        print(platform.python_version())\n\
        print(os.path.realpath(sys.executable), platform.python_version(), platform.machine(), platform.libc_ver())";
    let output = if modules.is_empty() {
        Command::new("python3")
            .args(["-c", ASK])
            .stdin(Stdio::null())
            .output()
            .ok()
    } else {
        let mut lines = loads(modules);
        lines.push(format!("python3 -c '{ASK}'"));
        Some(login_shell(&lines)?)
    };
    let output = output
        .filter(|output| output.status.success())
        .ok_or(EnvironmentError::NoPython)?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    // A login shell may greet before.
    let mut lines = said.lines().rev();
    match (lines.next(), lines.next(), lines.next()) {
        (Some(says), Some(version), Some(path)) => Ok(Interpreter {
            path: PathBuf::from(path),
            version: version.to_owned(),
            says: says.to_owned(),
        }),
        _ => Err(EnvironmentError::NoPython),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made_once::MARKER;

    #[test]
    fn refuses_where_nothing_can_be_fetched() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("requirements.txt");
        fs::write(&file, "jax\n").unwrap();
        let error = make(&file, &[], folder.path(), Internet::None, &mut |_| ()).unwrap_err();
        assert!(
            matches!(error, EnvironmentError::NoInternet { .. }),
            "{error}"
        );
        assert!(no_network(
            "<pip._vendor.urllib3 NewConnectionError('…')>: Failed"
        ));
    }

    /// Each makes a real virtual environment.
    mod slow {
        use super::*;

        #[test]
        fn made_once_and_made_anew_when_half_made() {
            let folder = tempfile::tempdir().unwrap();
            let (cache, file) = (
                folder.path().join("cache"),
                folder.path().join("requirements.txt"),
            );
            fs::write(&file, "# nothing\n").unwrap();
            let make = || make(&file, &[], &cache, Internet::None, &mut |_| ()).unwrap();
            let (environment, made) = make();
            let place = environment.path.clone();
            assert!(made && place.join("bin/python").exists());
            assert_eq!(make(), (environment.clone(), false));
            fs::remove_file(place.join(MARKER)).unwrap();
            fs::write(place.join("rest-of-a-killed-pip"), b"").unwrap();
            assert_eq!(make(), (environment, true));
            assert!(!place.join("rest-of-a-killed-pip").exists());
        }

        #[test]
        fn two_at_once_make_one() {
            let folder = tempfile::tempdir().unwrap();
            let (cache, file) = (
                folder.path().join("cache"),
                folder.path().join("requirements.txt"),
            );
            fs::write(&file, "").unwrap();
            let makers: Vec<_> = (0..2)
                .map(|_| {
                    let (cache, file) = (cache.clone(), file.clone());
                    std::thread::spawn(move || {
                        make(&file, &[], &cache, Internet::Login, &mut |_| ())
                            .unwrap()
                            .1
                    })
                })
                .collect();
            let made: Vec<bool> = makers
                .into_iter()
                .map(|maker| maker.join().unwrap())
                .collect();
            assert_eq!(made.iter().filter(|made| **made).count(), 1, "{made:?}");
        }

        #[test]
        fn a_failure_shows_the_last_lines_and_the_log() {
            let folder = tempfile::tempdir().unwrap();
            let (cache, file) = (
                folder.path().join("cache"),
                folder.path().join("requirements.txt"),
            );
            fs::write(&file, "--no-index\nno-such-package-at-all\n").unwrap();
            let mut lines = 0;
            let error = make(&file, &[], &cache, Internet::None, &mut |_| lines += 1).unwrap_err();
            let EnvironmentError::MakerFailed {
                what, last, log, ..
            } = error
            else {
                panic!("{error:?}")
            };
            assert_eq!(what, "pip install");
            assert!(last.contains("no-such-package-at-all"), "{last}");
            assert!(
                fs::read_to_string(log)
                    .unwrap()
                    .contains("no-such-package-at-all")
            );
            assert!(lines > 0);
        }
    }
}
