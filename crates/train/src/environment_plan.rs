//! What the ranks' environment is made of.

use crate::containers;
use crate::planned_environment::fetched_to;
use crate::{ContainerPlan, ContainerSection, Refusal, Resolved, Source};
use model::ClusterFacts;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// Modules, Python, container and variables of the ranks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvironmentPlan {
    /// Environment modules, loaded in this order before anything else.
    pub modules: Resolved<Vec<String>>,
    /// Which Python.
    pub python: Resolved<Python>,
    /// The cache in which the environment is kept that is made; `None` where none is, or where that isn't known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_in: Option<Resolved<PathBuf>>,
    /// The container that the ranks run in.
    #[serde(default)]
    pub container: Option<ContainerPlan>,
    /// Variables of the ranks, placeholders unreplaced.
    #[serde(default = "no_variables")]
    pub variables: Resolved<BTreeMap<String, String>>,
    /// Names of variables whose values are secret.
    #[serde(default = "no_secrets")]
    pub secrets: Resolved<Vec<String>>,
}

/// What plans had before there was the key.
pub(crate) fn no_variables() -> Resolved<BTreeMap<String, String>> {
    Resolved::new(BTreeMap::new(), Source::default("none"))
}

/// What plans had before there was the key.
pub(crate) fn no_secrets() -> Resolved<Vec<String>> {
    Resolved::new(Vec::new(), Source::default("none"))
}

/// Which Python the ranks get; paths are absolute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Python {
    /// What the job finds.
    AsItIs,
    /// A virtual environment that exists.
    Venv(PathBuf),
    /// One that is made of this requirements file, once per content, before the job.
    Requirements(PathBuf),
    /// A conda environment by name.
    CondaName(String),
    /// A conda environment by folder.
    CondaFolder(PathBuf),
}

impl fmt::Display for Python {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Python::AsItIs => f.write_str("from PATH"),
            Python::Venv(path) => write!(f, "venv {}", path.display()),
            Python::Requirements(path) => write!(f, "made from {}", path.display()),
            Python::CondaName(name) => write!(f, "conda {name}"),
            Python::CondaFolder(path) => write!(f, "conda {}", path.display()),
        }
    }
}

/// One thing to do, in order, before the ranks' command; crate `job` does it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Prelude {
    /// Lines for a login `bash`, whose resulting environment the ranks get. Stops at the first
    /// that fails.
    Shell {
        /// The lines.
        lines: Vec<String>,
    },
    /// `<path>/bin` first on `PATH`, `VIRTUAL_ENV` set, `PYTHONHOME` removed.
    Venv {
        /// The environment's folder.
        path: PathBuf,
    },
}

impl EnvironmentPlan {
    /// Puts a container of that image in place of Python and container, as `--image` of a command
    /// asks for it; the runtime is one of the cluster's.
    ///
    /// # Errors
    /// There is none that runs it.
    pub fn put_in(
        &mut self,
        image: &str,
        facts: &ClusterFacts,
        here: &Path,
    ) -> Result<(), Refusal> {
        let by = || Source::Flag {
            flag: "--image".to_owned(),
        };
        let asked = ContainerSection {
            image: Some(Resolved::new(image.to_owned(), by())),
            ..ContainerSection::default()
        };
        self.container = containers::resolve(
            asked,
            &self.modules.value,
            &facts.name,
            &facts.containers.runtimes,
            |path| here.join(path),
        )?;
        if let Some(container) = &mut self.container {
            container.fetched_to = fetched_to(container, facts);
        }
        self.python = Resolved::new(Python::AsItIs, Source::default("of the container's image"));
        Ok(())
    }

    /// What activates the environment, in order. `made` is the folder of the environment that was
    /// made of the requirements; without it a plan with requirements activates modules alone.
    #[must_use]
    pub fn preludes(&self, made: Option<&Path>) -> Vec<Prelude> {
        let mut lines = Vec::new();
        for module in &self.modules.value {
            lines.push(format!("module load {}", quoted(module)));
        }
        let mut venv = None;
        match &self.python.value {
            Python::AsItIs => {}
            Python::Venv(path) => venv = Some(path.clone()),
            Python::Requirements(_) => venv = made.map(Path::to_owned),
            Python::CondaName(name) => conda(&mut lines, name),
            Python::CondaFolder(path) => conda(&mut lines, &path.display().to_string()),
        }
        let shell = (!lines.is_empty()).then_some(Prelude::Shell { lines });
        let venv = venv.map(|path| Prelude::Venv { path });
        shell.into_iter().chain(venv).collect()
    }
}

/// Makes `conda activate` work in a shell that never ran `conda init`. Where a login shell finds no
/// conda, `CONDA_EXE` names it: the submitter's own shell had it, and many a `.bashrc` returns
/// before its conda lines in a shell that no person types into. Else it is looked for where its
/// installers put it.
pub const CONDA_HOOK: &str = r#"{ if ! command -v conda >/dev/null && [ -z "${CONDA_EXE:-}" ]; then for at in ~/miniconda3 ~/miniforge3 ~/mambaforge ~/anaconda3 /opt/conda /opt/miniconda3; do if [ -r "$at/etc/profile.d/conda.sh" ]; then . "$at/etc/profile.d/conda.sh"; break; fi; done; fi; eval "$("$(command -v conda || echo "${CONDA_EXE:-conda}")" shell.bash hook)"; }"#;

fn conda(lines: &mut Vec<String>, environment: &str) {
    lines.push(CONDA_HOOK.to_owned());
    lines.push(format!("conda activate {}", quoted(environment)));
}

/// One word of a shell.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-+=./:,@%".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    #[track_caller]
    fn check(modules: &[&str], python: Python, made: Option<&str>, want: Expect) {
        let asked = || Source::default("asked");
        let plan = EnvironmentPlan {
            modules: Resolved::new(modules.iter().map(ToString::to_string).collect(), asked()),
            python: Resolved::new(python, asked()),
            kept_in: None,
            container: None,
            variables: no_variables(),
            secrets: no_secrets(),
        };
        let shown = format!("{:#?}\n", plan.preludes(made.map(Path::new)));
        let hook = format!("{CONDA_HOOK:?}");
        want.assert_eq(&shown.replace(&hook, "\"HOOK\""));
    }

    #[test]
    fn modules_come_before_conda() {
        let python = Python::CondaFolder(PathBuf::from("/e/my env"));
        check(
            &["cuda/10.1.243"],
            python,
            None,
            expect![[r#"
                [
                    Shell {
                        lines: [
                            "module load cuda/10.1.243",
                            "HOOK",
                            "conda activate '/e/my env'",
                        ],
                    },
                ]
            "#]],
        );
    }

    #[test]
    fn a_made_environment_is_a_venv() {
        let python = Python::Requirements(PathBuf::from("/c/requirements.txt"));
        check(
            &[],
            python,
            Some("/cache/9f"),
            expect![[r#"
            [
                Venv {
                    path: "/cache/9f",
                },
            ]
        "#]],
        );
    }

    #[test]
    fn nothing_asked_nothing_done() {
        check(
            &[],
            Python::AsItIs,
            None,
            expect![[r#"
            []
        "#]],
        );
    }
}
