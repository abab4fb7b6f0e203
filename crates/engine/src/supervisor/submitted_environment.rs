//! The environment that a job was submitted with. The elements of an array have one, which a supervisor reads once.

use super::task_files::words;
use crate::RecordTag;
use crate::spec::{Environment, StepSpec};
use std::path::{Path, PathBuf};

/// What was read for the last step.
#[derive(Default)]
pub(super) struct SubmittedEnvironment {
    last: Option<Read>,
}

struct Read {
    path: PathBuf,
    /// Another submission may have had the same number in another store.
    tag: RecordTag,
    pairs: Vec<(String, String)>,
}

impl SubmittedEnvironment {
    /// The environment that a step begins with.
    ///
    /// # Errors
    /// It can't be read: for the user.
    pub(super) fn of(&mut self, spec: &StepSpec) -> Result<Vec<(String, String)>, String> {
        let path = match &spec.environment {
            Environment::Given(pairs) => return Ok(pairs.clone()),
            Environment::File(path) => path,
        };
        let is_it = |read: &&Read| read.path == *path && Some(read.tag) == spec.tag;
        if let Some(read) = self.last.as_ref().filter(is_it) {
            return Ok(read.pairs.clone());
        }
        let pairs = read(path)?;
        self.last = spec.tag.map(|tag| Read {
            path: path.clone(),
            tag,
            pairs: pairs.clone(),
        });
        Ok(pairs)
    }
}

fn read(path: &Path) -> Result<Vec<(String, String)>, String> {
    std::fs::read(path)
        .and_then(|bytes| Ok(serde_json::from_slice(&bytes)?))
        .map_err(|error| format!("could not read {}: {}", path.display(), words(&error)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::supervisor::test_spec::spec;

    #[test]
    fn it_is_read_once_for_the_steps_of_a_submission() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("environment");
        let tag = |token| Some(RecordTag::new("store", token));
        let mut spec = spec();
        spec.environment = Environment::File(path.clone());
        spec.tag = tag("one");
        let mut environment = SubmittedEnvironment::default();
        let mut check = |spec: &StepSpec, written: Option<&str>, want: Result<&str, ()>| {
            match written {
                Some(value) => std::fs::write(&path, format!(r#"[["A","{value}"]]"#)).unwrap(),
                None => std::fs::remove_file(&path).unwrap(),
            }
            let read = environment.of(spec).map_err(drop);
            let want = want.map(|value| vec![("A".to_owned(), value.to_owned())]);
            assert_eq!(read, want);
        };
        check(&spec, Some("1"), Ok("1"));
        check(&spec, None, Ok("1"));
        spec.tag = tag("two");
        check(&spec, Some("2"), Ok("2"));
        spec.tag = None;
        check(&spec, Some("3"), Ok("3"));
        check(&spec, None, Err(()));
    }
}
