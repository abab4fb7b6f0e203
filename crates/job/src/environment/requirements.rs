//! A virtual environment made of a requirements file.

use super::environment_error::EnvironmentError;
use super::interpreter::Interpreter;
use super::key::{key, key_of_texts};
use super::shell::last_lines;
use super::sources::{self, Packages};
use crate::made_once::{CacheError, Entry, Failed, Making, Waiter, no_network};
use folder::{MadeEnvironment, MakingPlace};
use model::Internet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Returns the environment and whether it had to be made.
pub fn make(
    requirements: &Path,
    modules: &[String],
    place: &MakingPlace,
    waiter: &mut dyn Waiter,
) -> Result<(MadeEnvironment, bool), EnvironmentError> {
    let found = Found::new(requirements, modules, place)?;
    let made = found.make(&place.cache, place.internet, waiter)?;
    Ok((found.environment(), made))
}

/// The environment as it is, or as a job of its own has to make it.
pub fn find(
    requirements: &Path,
    modules: &[String],
    place: &MakingPlace,
) -> Result<MadeEnvironment, EnvironmentError> {
    let found = Found::new(requirements, modules, place)?;
    let mut environment = found.environment();
    if !found.entry.is_made() {
        found.packages()?;
        environment.to_make = Some(found.content()?);
    }
    Ok(environment)
}

/// Makes what [`find`] left, with the interpreter of this machine; returns whether another had not made it
/// meanwhile.
pub fn make_found(
    requirements: &Path,
    modules: &[String],
    environment: &MadeEnvironment,
    waiter: &mut dyn Waiter,
) -> Result<bool, EnvironmentError> {
    let folder = environment.path.parent().unwrap_or(Path::new("/"));
    let cache = folder.parent().unwrap_or(folder);
    let place = MakingPlace::here(cache, Internet::Compute);
    let mut found = Found::new(requirements, modules, &place)?;
    found.entry = Entry::new(folder.to_owned(), environment.key.clone());
    if Some(found.content()?) != environment.to_make {
        return Err(EnvironmentError::Changed { path: found.file });
    }
    found.make(cache, place.internet, waiter)
}

/// What an environment is made of, and where it lies.
struct Found {
    file: PathBuf,
    interpreter: Interpreter,
    key: String,
    /// Of the texts alone.
    texts: String,
    entry: Entry,
}

impl Found {
    fn new(
        requirements: &Path,
        modules: &[String],
        place: &MakingPlace,
    ) -> Result<Found, EnvironmentError> {
        let file = sources::file_of(requirements);
        let interpreter = Interpreter::for_packages(&file, modules)?;
        let texts = key_of_texts(&file).map_err(unreadable)?;
        let key = key(&file, &interpreter.says).map_err(unreadable)?;
        let entry = |cache: &Path| Entry::new(folder_in(cache), key.clone());
        Ok(Found {
            entry: entry(place.cache_with(|cache| entry(cache).is_made())),
            file,
            interpreter,
            key,
            texts,
        })
    }

    fn environment(&self) -> MadeEnvironment {
        MadeEnvironment {
            path: self.entry.place(),
            key: self.key.clone(),
            python: self.interpreter.version.clone(),
            to_make: None,
        }
    }

    /// The hash of the requirements alone.
    fn content(&self) -> Result<String, EnvironmentError> {
        key(&self.file, "").map_err(unreadable)
    }

    /// The text of the file, and the packages that it names.
    fn packages(&self) -> Result<(String, Packages), EnvironmentError> {
        let text = fs::read_to_string(&self.file);
        let text = text.map_err(|source| unreadable((self.file.clone(), source)))?;
        let packages = sources::packages(&self.file, &text);
        let packages = packages.map_err(|why| EnvironmentError::Packages {
            path: self.file.clone(),
            why,
        })?;
        Ok((text, packages))
    }

    /// Makes it unless it is there.
    fn make(
        &self,
        cache: &Path,
        internet: Internet,
        waiter: &mut dyn Waiter,
    ) -> Result<bool, EnvironmentError> {
        if self.entry.is_made() {
            return Ok(false);
        }
        let (text, packages) = self.packages()?;
        let Some(making) = self.entry.begin(waiter)? else {
            return Ok(false);
        };
        if internet == Internet::None && !is_offline(&packages, &text) {
            return Err(EnvironmentError::NoInternet {
                path: self.file.clone(),
            });
        }
        let place = self.entry.place();
        let mut maker = Maker {
            file: &self.file,
            home: home(cache),
            making: &making,
            waiter,
        };
        let mut venv = Command::new(&self.interpreter.path);
        maker.run("python3 -m venv", venv.args(["-m", "venv"]).arg(&place))?;
        let lines = place.join("packages.txt");
        let lines = match packages {
            Packages::File(file) => file,
            Packages::Lines(text) => {
                write(&lines, &text)?;
                lines
            }
            Packages::UvLock(lock) => {
                let project = lock.parent().unwrap_or(Path::new("/"));
                let mut export = Command::new("uv");
                export
                    .args(["export", "--frozen", "--no-emit-project", "--project"])
                    .arg(project)
                    .args(["--format", "requirements-txt", "--output-file"])
                    .arg(&lines);
                maker.run("uv export", &mut export)?;
                lines
            }
        };
        maker.install(&place, &lines)?;
        // Makers read the files themselves, which may have been edited since the key was taken.
        if key_of_texts(&self.file).map_err(unreadable)? != self.texts {
            return Err(EnvironmentError::ChangedMeanwhile {
                path: self.file.clone(),
            });
        }
        let version = &self.interpreter.version;
        let made_of = format!("{} with Python {version}", self.file.display());
        making.done(&made_of)?;
        Ok(true)
    }
}

fn unreadable((path, source): (PathBuf, io::Error)) -> EnvironmentError {
    EnvironmentError::Unreadable { path, source }
}

fn write(path: &Path, text: &str) -> Result<(), EnvironmentError> {
    fs::write(path, text).map_err(|source| {
        let path = path.to_owned();
        EnvironmentError::Cache(CacheError { path, source })
    })
}

/// A home folder for makers, where the user's own can't be read: some sites' nodes see none.
fn home(cache: &Path) -> Option<PathBuf> {
    let own = std::env::var_os("HOME").map(PathBuf::from);
    let is_usable = own.is_some_and(|home| fs::read_dir(home).is_ok());
    (!is_usable).then(|| cache.join("home"))
}

struct Maker<'a> {
    /// What the packages are named in.
    file: &'a Path,
    /// In place of the user's.
    home: Option<PathBuf>,
    making: &'a Making,
    waiter: &'a mut dyn Waiter,
}

impl Maker<'_> {
    fn run(&mut self, what: &'static str, command: &mut Command) -> Result<(), EnvironmentError> {
        if let Some(home) = &self.home {
            command.env("HOME", home);
        }
        let ended = self.making.run(command, self.waiter);
        ended
            .map(drop)
            .map_err(|failed| failure(what, failed, self.file, &self.making.log))
    }

    /// By uv where it is installed, which is many times as fast as pip.
    fn install(&mut self, place: &Path, lines: &Path) -> Result<(), EnvironmentError> {
        let python = place.join("bin/python");
        let has_uv = Command::new("uv")
            .arg("--version")
            .stdin(Stdio::null())
            .output()
            .is_ok_and(|answer| answer.status.success());
        let (what, mut install) = if has_uv {
            let mut uv = Command::new("uv");
            uv.args(["pip", "install", "--no-progress", "--python"])
                .arg(python);
            ("uv pip install", uv)
        } else {
            let mut pip = Command::new(python);
            pip.args(["-m", "pip", "install", "--disable-pip-version-check"]);
            pip.args(["--no-input", "--progress-bar", "off"]);
            ("pip install", pip)
        };
        install.arg("-r").arg(lines);
        // Requirements may name folders relative to themselves.
        let folder = self.file.parent();
        if let Some(folder) = folder.filter(|folder| !folder.as_os_str().is_empty()) {
            install.current_dir(folder);
        }
        self.run(what, &mut install)
    }
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

/// Requirements that forbid the registry themselves, or name nothing, need no network.
fn is_offline(packages: &Packages, text: &str) -> bool {
    let lines = match packages {
        Packages::File(_) => text,
        Packages::Lines(lines) => lines,
        Packages::UvLock(_) => return false,
    };
    let names_nothing = |line: &str| {
        let is_index = line.starts_with("--index-url") || line.starts_with("--extra-index-url");
        line.is_empty() || line.starts_with('#') || is_index
    };
    let mut lines = lines.lines().map(str::trim);
    lines.clone().all(names_nothing) || lines.any(|line| line.starts_with("--no-index"))
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
        let place = MakingPlace::here(folder.path(), Internet::None);
        let error = make(&file, &[], &place, &mut |_: &str| ()).unwrap_err();
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
        fn none_is_kept_of_requirements_that_change_meanwhile() {
            /// Edits a file while a maker is at work, whether that prints or not.
            struct Editor(PathBuf);
            impl Waiter for Editor {
                fn say(&mut self, _: &str) {}
                fn has_left(&self) -> bool {
                    fs::write(&self.0, "# another\n").unwrap();
                    false
                }
            }
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("requirements.txt");
            let nothing = folder.path().join("nothing.txt");
            fs::write(&nothing, "").unwrap();
            fs::write(&file, "--no-index\n-r nothing.txt\n").unwrap();
            let place = MakingPlace::here(&folder.path().join("cache"), Internet::None);
            let error = make(&file, &[], &place, &mut Editor(nothing)).unwrap_err();
            let is_changed = matches!(error, EnvironmentError::ChangedMeanwhile { .. });
            assert!(is_changed, "{error}");
            let environments = fs::read_dir(folder_in(&place.cache)).unwrap().flatten();
            assert!(environments.into_iter().all(|one| !one.path().is_dir()));
            make(&file, &[], &place, &mut |_: &str| ()).unwrap();
        }

        #[test]
        fn made_once_and_made_anew_when_half_made() {
            let folder = tempfile::tempdir().unwrap();
            let (cache, file) = (
                folder.path().join("cache"),
                folder.path().join("requirements.txt"),
            );
            fs::write(&file, "# nothing\n").unwrap();
            let cache = MakingPlace::here(&cache, Internet::None);
            let make = || make(&file, &[], &cache, &mut |_: &str| ()).unwrap();
            let (environment, made) = make();
            let place = environment.path.clone();
            assert!(made && place.join("bin/python").exists());
            assert_eq!(make(), (environment.clone(), false));
            fs::remove_file(place.join(MARKER)).unwrap();
            fs::write(place.join("rest-of-a-killed-pip"), b"").unwrap();
            assert_eq!(make(), (environment.clone(), true));
            assert!(!place.join("rest-of-a-killed-pip").exists());
            // A later version keeps them in another cache.
            let later = MakingPlace {
                before: Some(cache.cache.clone()),
                ..MakingPlace::here(&folder.path().join("later"), Internet::None)
            };
            let again = super::super::make(&file, &[], &later, &mut |_: &str| ()).unwrap();
            assert_eq!(again, (environment, false));
            assert!(!later.cache.exists());
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
                        let place = MakingPlace::here(&cache, Internet::Login);
                        make(&file, &[], &place, &mut |_: &str| ()).unwrap().1
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
            let place = MakingPlace::here(&cache, Internet::None);
            let error = make(&file, &[], &place, &mut |_: &str| lines += 1).unwrap_err();
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
