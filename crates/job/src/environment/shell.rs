//! What only a login shell knows: modules and conda.

use super::EnvironmentError;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Whether every module can be loaded here.
///
/// # Errors
/// There are no modules on this machine, or one is unknown.
pub fn check_modules(modules: &[String]) -> Result<(), EnvironmentError> {
    if !knows("module")? {
        return Err(EnvironmentError::NoModules {
            first: modules.first().cloned().unwrap_or_default(),
        });
    }
    let answer = login_shell(&loads(modules))?;
    // Old versions of `module` return 0 for a module that is missing and say ERROR.
    let said = String::from_utf8_lossy(&answer.stderr);
    if answer.status.success()
        && !said.contains("ERROR")
        && !said.contains("error has been detected")
    {
        return Ok(());
    }
    Err(EnvironmentError::ModuleFails {
        modules: modules.join(" "),
        said: last_lines(&said),
    })
}

/// Whether a login shell has a `module` command.
#[must_use]
pub fn has_modules() -> bool {
    knows("module").unwrap_or(false)
}

/// Whether a login shell has conda, or `CONDA_EXE` names one.
#[must_use]
pub fn has_conda() -> bool {
    let lines = [train::CONDA_HOOK.to_owned(), "type conda".to_owned()];
    login_shell(&lines).is_ok_and(|answer| answer.status.success())
}

/// Whether a login shell knows a command or function.
fn knows(word: &str) -> Result<bool, EnvironmentError> {
    Ok(login_shell(&[format!("type {word}")])?.status.success())
}

/// Whether conda can activate an environment of this name, or in this folder.
///
/// # Errors
/// There is no conda, or no such environment.
pub fn check_conda(modules: &[String], name: &str) -> Result<(), EnvironmentError> {
    let mut lines = loads(modules);
    lines.push(train::CONDA_HOOK.to_owned());
    lines.push("type conda".to_owned());
    if !login_shell(&lines)?.status.success() {
        let program = std::env::var("CONDA_EXE").ok();
        return Err(EnvironmentError::NoConda {
            name: name.to_owned(),
            program: program.filter(|program| Path::new(program).is_file()),
        });
    }
    lines.push(format!("conda activate {}", quoted(name)));
    if login_shell(&lines)?.status.success() {
        return Ok(());
    }
    Err(EnvironmentError::NoCondaEnvironment {
        name: name.to_owned(),
    })
}

/// The lines that load modules, one after the other.
pub fn loads(modules: &[String]) -> Vec<String> {
    modules
        .iter()
        .map(|module| format!("module load {}", quoted(module)))
        .collect()
}

/// Runs lines in a login bash, stopping at the first that fails.
pub fn login_shell(lines: &[String]) -> Result<Output, EnvironmentError> {
    Command::new("bash")
        .args(["-l", "-c", &lines.join(" &&\n")])
        .stdin(Stdio::null())
        .output()
        .map_err(|source| EnvironmentError::CannotRun {
            program: "bash".to_owned(),
            source,
        })
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// The last lines that say something.
pub fn last_lines(text: &str) -> String {
    const MANY: usize = 8;
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    lines[lines.len().saturating_sub(MANY)..].join("\n")
}
