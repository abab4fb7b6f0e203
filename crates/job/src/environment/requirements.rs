//! A virtual environment made of a requirements file.

use super::environment_error::EnvironmentError;
use super::key::key;
use super::shell::{last_lines, loads, login_shell};
use folder::MadeEnvironment;
use model::Internet;
use std::fs::{self, DirBuilder, File};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Says that the environment is whole; its content is for people.
const MARKER: &str = "trainyard-made";

/// Half-made environments that no process makes any more, each with the lock that keeps it so, and
/// those that are being made.
pub fn half_made(cache: &Path) -> Vec<(PathBuf, Option<sys::lock::FileLock>)> {
    let all = cache.join("environments");
    let entries = fs::read_dir(&all).into_iter().flatten().flatten();
    let half = entries.filter(|entry| {
        entry.file_type().is_ok_and(|kind| kind.is_dir()) && !entry.path().join(MARKER).exists()
    });
    half.map(|entry| {
        let mut lock = entry.file_name();
        lock.push(".lock");
        let held = sys::lock::FileLock::try_acquire(&all.join(lock));
        (entry.path(), held.ok().flatten())
    })
    .collect()
}

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
    let all = cache.join("environments");
    let place = all.join(&key);
    let environment = MadeEnvironment {
        path: place.clone(),
        key: key.clone(),
        python: interpreter.version,
    };
    if place.join(MARKER).exists() {
        return Ok((environment, false));
    }
    let cannot = |path: &Path| {
        let path = path.to_owned();
        move |source| EnvironmentError::Cache { path, source }
    };
    // Closed to others: programs of environments run with the user's rights.
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&all)
        .map_err(cannot(&all))?;
    let lock = all.join(format!("{key}.lock"));
    let held = match sys::lock::FileLock::try_acquire(&lock).map_err(cannot(&lock))? {
        Some(held) => held,
        None => {
            progress("waiting for another that makes the same environment");
            sys::lock::FileLock::acquire(&lock).map_err(cannot(&lock))?
        }
    };
    // The other may have made it while this one waited.
    if place.join(MARKER).exists() {
        return Ok((environment, false));
    }
    if internet == Internet::None && !is_offline(requirements) {
        return Err(EnvironmentError::NoInternet {
            path: requirements.to_owned(),
        });
    }
    if place.exists() {
        fs::remove_dir_all(&place).map_err(cannot(&place))?;
    }
    let log = all.join(format!("{key}.log"));
    let maker = Maker {
        requirements,
        log: &log,
    };
    File::create(&log).map_err(cannot(&log))?;
    maker.run(
        "python3 -m venv",
        Command::new(&interpreter.path)
            .args(["-m", "venv"])
            .arg(&place),
        progress,
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
    maker.run("pip install", &mut pip, progress)?;
    sys::atomic::write(&place.join(MARKER), interpreter.says.as_bytes()).map_err(cannot(&place))?;
    drop(held);
    Ok((environment, true))
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

struct Maker<'a> {
    requirements: &'a Path,
    log: &'a Path,
}

impl Maker<'_> {
    /// Runs one program with its output into the log and, line by line, to `progress`.
    fn run(
        &self,
        what: &'static str,
        command: &mut Command,
        progress: &mut dyn FnMut(&str),
    ) -> Result<(), EnvironmentError> {
        // What the caller's own Python is told would lead the new one astray.
        for name in [
            "PYTHONPATH",
            "PYTHONHOME",
            "VIRTUAL_ENV",
            "PIP_USER",
            "PIP_TARGET",
            "PIP_PREFIX",
        ] {
            command.env_remove(name);
        }
        let cannot = |source| EnvironmentError::CannotRun {
            program: what.to_owned(),
            source,
        };
        let (reader, writer) = io::pipe().map_err(cannot)?;
        command
            .stdin(Stdio::null())
            .stdout(writer.try_clone().map_err(cannot)?)
            .stderr(writer);
        let mut child = command.spawn().map_err(cannot)?;
        // The command keeps its ends of the pipe open, which would never end then.
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut log = File::options().append(true).open(self.log).ok();
        let mut said = String::new();
        for line in BufReader::new(reader).lines().map_while(Result::ok) {
            if let Some(log) = &mut log {
                // The log is for people; the environment does not depend on it.
                let _ = writeln!(log, "{line}");
            }
            progress(&line);
            said.push_str(&line);
            said.push('\n');
        }
        let status = child.wait().map_err(cannot)?;
        if status.success() {
            return Ok(());
        }
        let (path, last, log) = (
            self.requirements.to_owned(),
            last_lines(&said),
            self.log.to_owned(),
        );
        Err(if no_network(&said) {
            EnvironmentError::Unreachable { path, last, log }
        } else {
            EnvironmentError::MakerFailed {
                what,
                path,
                last,
                log,
            }
        })
    }
}

/// Words that pip uses when it could not reach a registry at all.
fn no_network(said: &str) -> bool {
    const WORDS: [&str; 6] = [
        "Temporary failure in name resolution",
        "Name or service not known",
        "Network is unreachable",
        "NewConnectionError",
        "ConnectTimeoutError",
        "Cannot connect to proxy",
    ];
    WORDS.iter().any(|words| said.contains(words))
}

#[cfg(test)]
mod tests {
    use super::*;

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
