//! The ranks' Python, made or checked before the job is submitted.
//!
//! A `requirements` file becomes a virtual environment in the user's cache, once for each content
//! and interpreter. Several makers at once wait for one another; a half-made one is made anew.

mod by_job;
mod environment_error;
mod interpreter;
mod key;
mod local_package;
mod python_version;
mod requirements;
mod shell;
mod sources;

pub use by_job::{make_left, why_not_made};
pub use environment_error::EnvironmentError;
pub(crate) use requirements::folder_in;
pub use shell::{has_conda, has_modules};
pub(crate) use shell::{last_lines, loads};

use crate::Waiter;
use folder::{MadeEnvironment, MakingPlace};
use std::path::{Path, PathBuf};
use train::{EnvironmentPlan, Python};

/// What [`prepare`] found or made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// What `requirements` became, for `run.json`; `None` where the plan names none.
    pub environment: Option<MadeEnvironment>,
    /// Whether something had to be made now: `false` for what was there already.
    pub made: bool,
}

/// Makes sure that the environment of a plan is there.
///
/// `waiter` hears each line that the makers print. [`Internet::None`](model::Internet::None) of the place refuses to make
/// what needs a registry. What the place leaves to a job of its own [`make_left`] makes.
///
/// # Errors
/// What the plan names is not there or can't be made; see [`EnvironmentError`].
pub fn prepare(
    plan: &EnvironmentPlan,
    place: &MakingPlace,
    waiter: &mut dyn Waiter,
) -> Result<Prepared, EnvironmentError> {
    let modules = &plan.modules.value;
    if !modules.is_empty() {
        shell::check_modules(modules)?;
    }
    let there = Prepared {
        environment: None,
        made: false,
    };
    match &plan.python.value {
        Python::AsItIs => Ok(there),
        Python::Venv(path) => is_environment(path, "venv").map(|()| there),
        Python::CondaFolder(path) => {
            is_environment(path, "conda")?;
            shell::check_conda(modules, &path.display().to_string()).map(|()| there)
        }
        Python::CondaName(name) => shell::check_conda(modules, name).map(|()| there),
        Python::Requirements(file) if place.in_job => {
            let environment = requirements::find(file, modules, place)?;
            Ok(Prepared {
                environment: Some(environment),
                made: false,
            })
        }
        Python::Requirements(file) => {
            let (environment, made) = requirements::make(file, modules, place, waiter)?;
            Ok(Prepared {
                environment: Some(environment),
                made,
            })
        }
    }
}

fn is_environment(path: &Path, key: &'static str) -> Result<(), EnvironmentError> {
    let python: PathBuf = path.join("bin/python");
    if python.exists() {
        return Ok(());
    }
    let there = match (path.exists(), path.join("bin").exists()) {
        (false, _) => "no such folder",
        (true, false) => "a folder without bin/",
        (true, true) => "a folder whose bin/ has no python",
    };
    Err(EnvironmentError::NotThere {
        key,
        path: path.to_owned(),
        there,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use train::{Resolved, Source};

    #[track_caller]
    fn check(python: Python, want: Result<bool, &str>) {
        let cache = tempfile::tempdir().unwrap();
        let plan = EnvironmentPlan {
            modules: Resolved::new(vec![], Source::default("none")),
            python: Resolved::new(python, Source::default("test")),
            kept_in: None,
            container: None,
            variables: Resolved::new(Default::default(), Source::default("none")),
            secrets: Resolved::new(vec![], Source::default("none")),
        };
        match (
            prepare(
                &plan,
                &MakingPlace::here(cache.path(), model::Internet::Login),
                &mut |_: &str| (),
            ),
            want,
        ) {
            (Ok(prepared), Ok(made)) => assert_eq!(
                prepared,
                Prepared {
                    environment: None,
                    made
                }
            ),
            (Err(error), Err(words)) => {
                let text = format!("{error}: {}", error.there());
                assert!(text.contains(words), "{text}");
            }
            (found, _) => panic!("{found:?}"),
        }
    }

    #[test]
    fn what_exists_is_checked() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        check(Python::AsItIs, Ok(false));
        check(Python::Venv(path.join("no")), Err("no such folder"));
        check(Python::Venv(path.clone()), Err("a folder without bin/"));
        std::fs::create_dir(path.join("bin")).unwrap();
        check(Python::CondaFolder(path.clone()), Err("has no python"));
        std::fs::write(path.join("bin/python"), b"").unwrap();
        check(Python::Venv(path.clone()), Ok(false));
        // There may be a conda here; no empty file is an environment of its.
        check(Python::CondaFolder(path), Err("conda"));
    }
}
