//! The Python by which an environment is made: as its packages want it, and as it is found.

use super::environment_error::EnvironmentError;
use super::python_version::Wanted;
use super::shell::{loads, login_shell};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A Python by which environments are made.
#[derive(Clone)]
pub(super) struct Interpreter {
    /// Where it is.
    pub(super) path: PathBuf,
    /// Its version.
    pub(super) version: String,
    /// Path, version, machine.
    pub(super) says: String,
}

impl Interpreter {
    /// `python3`, where it is of the version that a file's packages want; else another on `PATH`, or one of uv's, that is.
    pub(super) fn for_packages(
        file: &Path,
        modules: &[String],
    ) -> Result<Interpreter, EnvironmentError> {
        let wanted = Wanted::by(file).map_err(|why| EnvironmentError::Packages {
            path: file.to_owned(),
            why,
        })?;
        let first = interpreter("python3", modules)?;
        let is_wanted = |one: &Interpreter| wanted.takes(&one.version);
        if let Some(first) = first.as_ref().filter(|first| is_wanted(first)) {
            return Ok(first.clone());
        }
        let others = there_of(&wanted.programs().collect::<Vec<_>>(), modules)?;
        let of_uv = wanted.request().and_then(|request| of_uv(&request));
        for program in others.into_iter().chain(of_uv) {
            let other = interpreter(&program, modules)?;
            if let Some(other) = other.filter(is_wanted) {
                return Ok(other);
            }
        }
        let there = first.ok_or(EnvironmentError::NoPython)?.version;
        Err(EnvironmentError::OtherPython {
            path: file.to_owned(),
            wanted: wanted.to_string(),
            there,
        })
    }
}

/// The paths of those of these programs that are there.
fn there_of(programs: &[String], modules: &[String]) -> Result<Vec<String>, EnvironmentError> {
    let names = programs.join(" ");
    let look = format!("for name in {names}; do command -v \"$name\"; done; true");
    let output = if modules.is_empty() {
        let mut shell = Command::new("sh");
        let shell = shell.args(["-c", &look]).stdin(Stdio::null());
        shell
            .output()
            .map_err(|source| EnvironmentError::CannotRun {
                program: "sh".to_owned(),
                source,
            })?
    } else {
        let mut lines = loads(modules);
        lines.push(look);
        login_shell(&lines)?
    };
    let said = String::from_utf8_lossy(&output.stdout);
    // A login shell may greet before.
    let paths = said.lines().filter(|line| line.starts_with('/'));
    Ok(paths.map(str::to_owned).collect())
}

/// A Python that uv knows or has installed, as far as it is there.
fn of_uv(request: &str) -> Option<String> {
    let mut uv = Command::new("uv");
    uv.args(["python", "find", "--no-project", "--offline", request]);
    let answer = uv
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let said = String::from_utf8(answer.stdout).ok()?;
    let path = said.trim();
    (answer.status.success() && !path.is_empty()).then(|| path.to_owned())
}

/// What a program says of itself; `None` where it is no Python that starts.
fn interpreter(program: &str, modules: &[String]) -> Result<Option<Interpreter>, EnvironmentError> {
    const ASK: &str = "import os, platform, sys\n\
        print(sys.executable)\n\
        print(platform.python_version())\n\
        print(os.path.realpath(sys.executable), platform.python_version(), platform.machine(), platform.libc_ver())";
    let output = if modules.is_empty() {
        Command::new(program)
            .args(["-c", ASK])
            .stdin(Stdio::null())
            .output()
            .ok()
    } else {
        let mut lines = loads(modules);
        lines.push(format!("'{program}' -c '{ASK}'"));
        Some(login_shell(&lines)?)
    };
    let Some(output) = output.filter(|output| output.status.success()) else {
        return Ok(None);
    };
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    // A login shell may greet before.
    let mut lines = said.lines().rev();
    Ok(match (lines.next(), lines.next(), lines.next()) {
        (Some(says), Some(version), Some(path)) => Some(Interpreter {
            path: PathBuf::from(path),
            version: version.to_owned(),
            says: says.to_owned(),
        }),
        _ => None,
    })
}
