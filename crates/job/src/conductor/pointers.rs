//! What the program keeps to find its newest checkpoint, until the run folder has it.

use folder::{FolderError, Pointer, RunFolder};

/// Pointers that are not noted yet: an agent tells each one once.
#[derive(Debug, Default)]
pub(super) struct Pointers {
    waiting: Vec<Pointer>,
}

impl Pointers {
    pub(super) fn add(&mut self, pointer: Pointer) {
        self.waiting.push(pointer);
    }

    /// Whether the run folder did not take one.
    pub(super) fn is_behind(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Notes them.
    ///
    /// # Errors
    /// The first that the run folder does not take: it and the next wait.
    pub(super) fn note(&mut self, run: &RunFolder) -> Result<(), FolderError> {
        while let Some(pointer) = self.waiting.first() {
            run.add_pointer(pointer.clone())?;
            self.waiting.remove(0);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use folder::Says;
    use std::fs;

    /// It did not come back with the next start.
    #[test]
    fn what_the_run_folder_does_not_take_is_tried_again() {
        let root = tempfile::tempdir().unwrap();
        let run = RunFolder::at(root.path());
        let pointer = |name: &str| Pointer {
            name: name.to_owned(),
            says: Says::Link,
            of: vec!["step-#.pt".to_owned()],
        };
        let mut pointers = Pointers::default();
        pointers.add(pointer("latest.pt"));
        pointers.add(pointer("last.pt"));
        assert!(pointers.note(&run).is_err());
        assert!(pointers.is_behind());
        fs::create_dir(run.checkpoints()).unwrap();
        pointers.note(&run).unwrap();
        assert!(!pointers.is_behind());
        let both = [pointer("latest.pt"), pointer("last.pt")];
        assert_eq!(run.pointers().unwrap(), both);
    }
}
