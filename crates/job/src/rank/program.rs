//! Finds a program as a shell would, with words when it isn't there.

use super::Variables;
use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use sys::env_vars::TRAINYARD_HOST;
use thiserror::Error;

/// What nodes of a virtual cluster have each for itself, where they are isolated.
const OF_NODES: [&str; 2] = ["/tmp", "/dev/shm"];

/// Why a program can't be started.
#[derive(Debug, Error)]
pub enum ProgramError {
    /// No program has that name.
    #[error(
        "command {program:?} can't be run: {there}; correct the command, or name the environment that has it in [environment]"
    )]
    NotThere {
        /// As it was written.
        program: String,
        /// What is there instead.
        there: String,
    },
    /// It is there and can't be executed.
    #[error(
        "command {program:?} can't be run: {path:?} is not executable; `chmod +x` it and give it a `#!` line, or start it with its interpreter"
    )]
    NotExecutable {
        /// As it was written.
        program: String,
        /// What was found.
        path: PathBuf,
        /// What the system says.
        source: Option<io::Error>,
    },
}

impl ProgramError {
    /// From what the system said when the program was executed.
    pub fn of(source: io::Error, program: String, folder: &Path) -> ProgramError {
        if source.kind() == io::ErrorKind::NotFound {
            // The file was there a moment ago: its interpreter is missing, or the folder is.
            let there = format!("its interpreter or the folder {folder:?} is missing");
            return ProgramError::NotThere { program, there };
        }
        let path = PathBuf::from(&program);
        ProgramError::NotExecutable {
            program,
            path,
            source: Some(source),
        }
    }
}

/// The program's file: looked for on the new environment's `PATH`, or relative to `folder` when
/// its name has a slash.
pub fn find(
    argv: &[String],
    folder: &Path,
    variables: &Variables,
) -> Result<PathBuf, ProgramError> {
    let program = argv.first().cloned().unwrap_or_default();
    let path = variables
        .get(OsStr::new("PATH"))
        .cloned()
        .unwrap_or_default();
    let candidates: Vec<PathBuf> = if program.contains('/') {
        vec![folder.join(&program)]
    } else {
        std::env::split_paths(&path)
            .map(|at| folder.join(at).join(&program))
            .collect()
    };
    let is_file = |path: &&PathBuf| path.is_file();
    let executable = |path: &&PathBuf| {
        path.metadata()
            .is_ok_and(|facts| facts.permissions().mode() & 0o111 != 0)
    };
    if let Some(found) = candidates.iter().filter(is_file).find(executable) {
        return Ok(found.clone());
    }
    if let Some(found) = candidates.iter().find(is_file) {
        return Err(ProgramError::NotExecutable {
            program,
            path: found.clone(),
            source: None,
        });
    }
    let path = folder.join(&program);
    let of_node = variables
        .contains_key(OsStr::new(TRAINYARD_HOST))
        .then(|| OF_NODES.into_iter().find(|own| path.starts_with(own)))
        .flatten();
    let there = match of_node {
        _ if !program.contains('/') => "no folder of PATH has it".to_owned(),
        None => format!("{path:?} is not there"),
        Some(own) => format!(
            "{path:?} is not there (each node of the cluster has its own {own}; other folders, and that of the run \
             file, are on all nodes)"
        ),
    };
    Err(ProgramError::NotThere { program, there })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(program: &str, want: Result<&str, &str>) {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        for (name, mode) in [("train", 0o755), ("notes", 0o644)] {
            std::fs::write(bin.join(name), b"").unwrap();
            std::fs::set_permissions(bin.join(name), PermissionsExt::from_mode(mode)).unwrap();
        }
        let variables =
            Variables::from([("PATH".into(), format!("/nowhere:{}", bin.display()).into())]);
        match (find(&[program.to_owned()], folder.path(), &variables), want) {
            (Ok(found), Ok(place)) => assert_eq!(found, folder.path().join(place)),
            (Err(error), Err(words)) => assert!(error.to_string().contains(words), "{error}"),
            (found, _) => panic!("{found:?}"),
        }
    }

    #[test]
    fn as_a_shell_would() {
        check("train", Ok("bin/train"));
        check("./bin/train", Ok("bin/train"));
        check("bin/train", Ok("bin/train"));
        check("notes", Err("is not executable"));
        check("trian", Err("no folder of PATH has it"));
        check("./train", Err("is not there"));
        check("", Err("can't be run"));
    }

    #[test]
    fn what_lies_in_a_folder_that_isolated_nodes_have_each_for_itself_is_said() {
        let find_on = |host: Option<&str>, program: &str| {
            let host = host.map(|host| (TRAINYARD_HOST.into(), host.into()));
            let variables = Variables::from_iter(host);
            find(&[program.to_owned()], Path::new("/code"), &variables).unwrap_err()
        };
        let isolated = find_on(Some("laptop"), "/tmp/no-such-program");
        assert!(
            isolated
                .to_string()
                .contains("is not there (each node of the cluster has its own /tmp;"),
            "{isolated}"
        );
        for other in [
            find_on(None, "/tmp/no-such-program"),
            find_on(Some("laptop"), "/opt/no-such-program"),
        ] {
            assert!(other.to_string().contains("is not there;"), "{other}");
        }
    }
}
