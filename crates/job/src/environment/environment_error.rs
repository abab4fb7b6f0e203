//! Why an environment is not there.

use crate::made_once::CacheError;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why an environment is not there. The text is the sentence; [`EnvironmentError::asked`],
/// [`EnvironmentError::there`] and [`EnvironmentError::todo`] are its three parts.
#[derive(Debug, Error)]
pub enum EnvironmentError {
    /// A folder that is no `venv` or `conda` environment.
    #[error("there is no {key} environment at {}", path.display())]
    NotThere {
        /// The run file's key.
        key: &'static str,
        /// As it was resolved.
        path: PathBuf,
        /// In words.
        there: &'static str,
    },
    /// `requirements` or a file that it names can't be read.
    #[error("the requirements {} can't be read", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file does not say its packages in a way that is understood.
    #[error("the packages of {} can't be read", path.display())]
    Packages {
        /// The file.
        path: PathBuf,
        /// In words.
        why: String,
    },
    /// They are others than those that the run was submitted with.
    #[error("the requirements were changed after the run was submitted")]
    Changed {
        /// The requirements file.
        path: PathBuf,
    },
    /// They are others now than when the making began.
    #[error("the requirements were changed while their environment was made")]
    ChangedMeanwhile {
        /// The requirements file.
        path: PathBuf,
    },
    /// No `python3` of a usable version.
    #[error("there is no python3 to make an environment with")]
    NoPython,
    /// No Python of the version that the packages want.
    #[error("no Python here is of the version that {} wants", path.display())]
    OtherPython {
        /// The file of packages.
        path: PathBuf,
        /// What is wanted, and where that stands.
        wanted: String,
        /// The version of `python3`.
        there: String,
    },
    /// Modules are asked for on a machine that has none.
    #[error("this machine has no module command")]
    NoModules {
        /// The first of them.
        first: String,
    },
    /// A module can't be loaded.
    #[error("modules {modules} can't be loaded here")]
    ModuleFails {
        /// All that were asked for.
        modules: String,
        /// What `module` printed last.
        said: String,
    },
    /// No conda.
    #[error("there is no conda")]
    NoConda {
        /// The environment.
        name: String,
        /// What `CONDA_EXE` names, where it can be run.
        program: Option<String>,
    },
    /// No such conda environment.
    #[error("conda environment {name} can't be activated")]
    NoCondaEnvironment {
        /// The environment.
        name: String,
    },
    /// Packages are needed and can't be fetched anywhere.
    #[error("the requirements need packages, and this cluster reaches no package registry")]
    NoInternet {
        /// The requirements file.
        path: PathBuf,
    },
    /// The registry could not be reached now.
    #[error("packages can't be fetched: the registry can't be reached from here")]
    Unreachable {
        /// The requirements file.
        path: PathBuf,
        /// What pip printed last.
        last: String,
        /// Everything that it printed.
        log: PathBuf,
    },
    /// A maker failed.
    #[error("{what} failed")]
    MakerFailed {
        /// `python3 -m venv` or `pip install`.
        what: &'static str,
        /// The requirements file.
        path: PathBuf,
        /// What it printed last.
        last: String,
        /// Everything that it printed.
        log: PathBuf,
    },
    /// A program could not be started.
    #[error("{program} can't be started")]
    CannotRun {
        /// Its name.
        program: String,
        /// What the system says.
        source: io::Error,
    },
    /// The cache can't be written.
    #[error("the cache of environments can't be written")]
    Cache(#[from] CacheError),
}

impl EnvironmentError {
    /// What was asked, in the run file's words.
    #[must_use]
    pub fn asked(&self) -> String {
        match self {
            EnvironmentError::NotThere { key, path, .. } => format!("{key} = {path:?}"),
            EnvironmentError::Unreadable { path, .. }
            | EnvironmentError::Packages { path, .. }
            | EnvironmentError::Changed { path }
            | EnvironmentError::ChangedMeanwhile { path }
            | EnvironmentError::NoInternet { path }
            | EnvironmentError::Unreachable { path, .. }
            | EnvironmentError::MakerFailed { path, .. } => format!("requirements = {path:?}"),
            EnvironmentError::NoPython => "requirements".to_owned(),
            EnvironmentError::OtherPython { wanted, .. } => format!("Python {wanted}"),
            EnvironmentError::NoModules { first } => format!("modules, the first {first}"),
            EnvironmentError::ModuleFails { modules, .. } => format!("modules {modules}"),
            EnvironmentError::NoConda { name, .. }
            | EnvironmentError::NoCondaEnvironment { name } => {
                format!("conda = {name:?}")
            }
            EnvironmentError::CannotRun { program, .. } => program.clone(),
            EnvironmentError::Cache(error) => error.path.display().to_string(),
        }
    }

    /// What there is; several lines where a program said several.
    #[must_use]
    pub fn there(&self) -> String {
        match self {
            EnvironmentError::NotThere { there, .. } => (*there).to_owned(),
            EnvironmentError::Unreadable { source, .. }
            | EnvironmentError::CannotRun { source, .. }
            | EnvironmentError::Cache(CacheError { source, .. }) => source.to_string(),
            EnvironmentError::Packages { why, .. } => why.clone(),
            EnvironmentError::Changed { .. } | EnvironmentError::ChangedMeanwhile { .. } => {
                "a file with another content, or that names such a one".to_owned()
            }
            EnvironmentError::NoPython => "no python3 on PATH that starts".to_owned(),
            EnvironmentError::OtherPython { there, .. } => format!("python3 is {there}"),
            EnvironmentError::NoModules { .. } => "a login shell has no `module`".to_owned(),
            EnvironmentError::ModuleFails { said, .. } => said.clone(),
            EnvironmentError::NoConda {
                program: Some(program),
                ..
            } => format!("CONDA_EXE is {program}, of which `shell.bash hook` gives no conda"),
            EnvironmentError::NoConda { program: None, .. } => {
                "neither a login shell has conda nor does CONDA_EXE name a program".to_owned()
            }
            EnvironmentError::NoCondaEnvironment { .. } => {
                "conda, which can't activate one of that name here".to_owned()
            }
            EnvironmentError::NoInternet { .. } => {
                "neither this machine nor the nodes reach the outside".to_owned()
            }
            EnvironmentError::Unreachable { last, log, .. }
            | EnvironmentError::MakerFailed { last, log, .. } => {
                format!("{last}\nall of it is in {}", log.display())
            }
        }
    }

    /// What to do.
    #[must_use]
    pub fn todo(&self) -> &'static str {
        match self {
            EnvironmentError::NotThere { .. } => {
                "make it, correct the path, or name requirements to have it made"
            }
            EnvironmentError::Packages { .. } => {
                "correct it, or name a requirements.txt in its place"
            }
            EnvironmentError::Unreadable { .. } => "correct the path in [environment]",
            EnvironmentError::Changed { .. } => "submit the run again",
            EnvironmentError::ChangedMeanwhile { .. } => "run again; nothing of it was kept",
            EnvironmentError::NoPython => {
                "install Python 3, or name a module that has it in [environment] modules"
            }
            EnvironmentError::OtherPython { .. } => {
                "name a module that brings such a Python in [environment] modules, have it on PATH (uv python install \
                 makes one), or correct the version in that file"
            }
            EnvironmentError::NoModules { .. } => {
                "remove modules here, for example in [cluster.local]"
            }
            EnvironmentError::ModuleFails { .. } => "module avail lists what there is",
            EnvironmentError::NoConda { .. } => {
                "activate conda in this shell first, or add its module to [environment] modules"
            }
            EnvironmentError::NoCondaEnvironment { .. } => "conda env list shows those there are",
            EnvironmentError::NoInternet { .. } => {
                "make the environment elsewhere with the same Python, copy it, and name it as venv; or put wheels in a folder and write --no-index --find-links FOLDER into the requirements"
            }
            EnvironmentError::Unreachable { .. } => {
                "check the network or proxy (https_proxy, PIP_INDEX_URL), then run again"
            }
            EnvironmentError::MakerFailed { .. } => {
                "correct the requirements, or [environment], as those lines say; then run again"
            }
            EnvironmentError::CannotRun { .. } => "have it on PATH",
            EnvironmentError::Cache(_) => "free space there, or set XDG_CACHE_HOME",
        }
    }
}
