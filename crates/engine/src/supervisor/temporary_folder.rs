//! `TMPDIR` of a node's first task, which Slurm's daemon sets where it is missing, and makes where it names a
//! folder that is missing.

use super::task_files::words;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use sys::env_vars::TMPDIR;

/// What is taken where none is named, or the named one can't be used.
const DEFAULT: &str = "/tmp";

/// What a node's first task finds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TemporaryFolder {
    /// What its environment names, which is there.
    AsNamed,
    /// `/tmp`, and what is said of the folder that it names, if it names one.
    Default(Option<String>),
}

impl TemporaryFolder {
    /// Makes what the environment names, with the rights of this thread.
    pub(super) fn prepare(environment: &[(String, String)]) -> TemporaryFolder {
        let Some((_, named)) = environment.iter().find(|(name, _)| name == TMPDIR) else {
            return TemporaryFolder::Default(None);
        };
        let path = sys::odd_text::bytes(named);
        let path = Path::new(&path);
        let Err(error) = DirBuilder::new().mode(0o700).create(path) else {
            return TemporaryFolder::AsNamed;
        };
        let why = match std::fs::metadata(path) {
            Err(_) => format!("Unable to create TMPDIR [{named}]: {}", words(&error)),
            Ok(facts) if !facts.is_dir() => format!("TMPDIR [{named}] is not a directory"),
            Ok(_) if !sys::may_write_in(path) => format!("TMPDIR [{named}] is not writeable"),
            Ok(_) => return TemporaryFolder::AsNamed,
        };
        TemporaryFolder::Default(Some(why))
    }

    /// The value that the first task of the node gets; no other task of it does.
    pub(super) fn value(&self) -> Option<&'static str> {
        match self {
            TemporaryFolder::AsNamed => None,
            TemporaryFolder::Default(_) => Some(DEFAULT),
        }
    }

    /// Lines for the user.
    pub(super) fn complaint(self) -> impl Iterator<Item = String> {
        let why = match self {
            TemporaryFolder::AsNamed | TemporaryFolder::Default(None) => None,
            TemporaryFolder::Default(Some(why)) => Some(why),
        };
        why.into_iter()
            .flat_map(|why| [why, format!("Setting TMPDIR to {DEFAULT}")])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(named: Option<&Path>, want: &[&str]) {
        let named = named.map(|path| (TMPDIR.to_owned(), path.to_str().unwrap().to_owned()));
        let found = TemporaryFolder::prepare(named.as_slice());
        let is_default = named.is_none() || !want.is_empty();
        assert_eq!(found.value(), is_default.then_some("/tmp"));
        assert_eq!(found.complaint().collect::<Vec<_>>(), want);
    }

    #[test]
    fn a_missing_folder_is_made_and_one_that_can_not_be_used_is_tmp() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        check(None, &[]);
        check(Some(&path("new")), &[]);
        assert!(path("new").is_dir());
        check(Some(&path("new")), &[]);
        std::fs::write(path("file"), "").unwrap();
        let set = "Setting TMPDIR to /tmp";
        let file = format!("TMPDIR [{}] is not a directory", path("file").display());
        check(Some(&path("file")), &[&file, set]);
        let deep = path("none/deeper");
        let deep_line = format!(
            "Unable to create TMPDIR [{}]: No such file or directory",
            deep.display()
        );
        check(Some(&deep), &[&deep_line, set]);
    }
}
