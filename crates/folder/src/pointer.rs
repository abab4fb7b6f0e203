//! What a program keeps beside its checkpoints to find the newest: a link `latest.pt`, a file `latest` of
//! DeepSpeed's, `latest_checkpointed_iteration.txt` of Megatron's.

use crate::{FolderError, RunFolder, json_file, step_of};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

/// The longest text that is read of a file that may be one.
const LONGEST: u64 = 256;

/// What names the newest checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Pointer {
    /// Its own name, beside the checkpoints.
    pub name: String,
    /// How it names one.
    pub says: Says,
}

/// How a pointer names a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Says {
    /// It is a symbolic link to it.
    Link,
    /// Its text is the checkpoint's name.
    Name,
    /// Its text is the checkpoint's step.
    Step,
}

impl Pointer {
    /// What stands at `folder/name`, where that names an entry beside it as the newest. What names the best one
    /// is none: that need not be the one that is resumed from.
    #[must_use]
    pub fn read(folder: &Path, name: &str) -> Option<Pointer> {
        const WORDS: [&str; 4] = ["latest", "last", "newest", "current"];
        let lower = name.to_ascii_lowercase();
        if !WORDS.iter().any(|word| lower.contains(word)) {
            return None;
        }
        let path = folder.join(name);
        let facts = fs::symlink_metadata(&path).ok()?;
        let says = if facts.is_symlink() {
            let target = fs::read_link(&path).ok()?;
            let beside = target.parent().is_some_and(|above| {
                above.as_os_str().is_empty() || above == Path::new(".") || above == folder
            });
            let is_other = target.file_name().is_some_and(|other| other != name);
            (beside && is_other).then_some(Says::Link)
        } else if facts.is_file() && facts.len() <= LONGEST {
            let text = fs::read_to_string(&path).ok()?;
            says(text.trim(), folder)
        } else {
            None
        };
        let name = name.to_owned();
        says.map(|says| Pointer { name, says })
    }

    /// Has it name this checkpoint, which stands in `folder`.
    ///
    /// # Errors
    /// What the system says.
    pub fn make(&self, checkpoint: &str, folder: &Path) -> io::Result<()> {
        let path = folder.join(&self.name);
        if self.name == checkpoint || fs::symlink_metadata(&path).is_ok() {
            return Ok(());
        }
        match (self.says, step_of(checkpoint)) {
            (Says::Link, _) => symlink(checkpoint, path),
            (Says::Name, _) => fs::write(path, checkpoint),
            (Says::Step, Some(step)) => fs::write(path, step.to_string()),
            (Says::Step, None) => Ok(()),
        }
    }
}

fn says(text: &str, folder: &Path) -> Option<Says> {
    let is_name = !text.is_empty() && !text.contains(['/', '\0']) && !text.starts_with('.');
    if is_name && folder.join(text).exists() {
        return Some(Says::Name);
    }
    let step: u64 = text.parse().ok()?;
    let entries = fs::read_dir(folder).ok()?.flatten();
    let mut names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let is_there = names.any(|name| step_of(&name) == Some(step));
    is_there.then_some(Says::Step)
}

impl RunFolder {
    /// The pointers that the run's program keeps.
    #[must_use]
    pub fn pointers(&self) -> BTreeSet<Pointer> {
        // One that can't be read is written again when it is seen next.
        json_file::read(&self.pointers_file()).unwrap_or_default()
    }

    /// Notes that the program keeps that one.
    ///
    /// # Errors
    /// It can't be written.
    pub fn add_pointer(&self, pointer: Pointer) -> Result<(), FolderError> {
        let mut pointers = self.pointers();
        // One that says it otherwise now took its place.
        pointers.retain(|other| other.name != pointer.name || *other == pointer);
        if pointers.insert(pointer) {
            json_file::write(&self.pointers_file(), &pointers)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Beside `iter_0000080` and `step-80.pt`: what stands under that name, a text or a link, and what it says.
    #[track_caller]
    fn check(name: &str, text: Result<&str, &str>, want: Option<Says>) {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        fs::create_dir(folder.join("iter_0000080")).unwrap();
        fs::write(folder.join("step-80.pt"), "weights").unwrap();
        match text {
            Ok(text) => fs::write(folder.join(name), text).unwrap(),
            Err(target) => symlink(target, folder.join(name)).unwrap(),
        }
        let found = Pointer::read(folder, name);
        assert_eq!(found.map(|found| found.says), want, "{name} {text:?}");
    }

    #[test]
    fn what_names_the_newest_is_a_pointer() {
        check("latest", Ok("iter_0000080"), Some(Says::Name));
        check(
            "latest_checkpointed_iteration.txt",
            Ok("80\n"),
            Some(Says::Step),
        );
        check("latest.pt", Err("step-80.pt"), Some(Says::Link));
        check("last", Err("./iter_0000080"), Some(Says::Link));
        // A checkpoint of that name, and one that stands elsewhere.
        check("last.pt", Ok("weights of 80"), None);
        check("latest.pt", Err("/data/step-80.pt"), None);
        check("latest.pt", Err("../step-80.pt"), None);
        check("latest", Ok("iter_0000090"), None);
        check("latest.txt", Ok("90"), None);
        // Not the one that is resumed from.
        check("best.pt", Err("step-80.pt"), None);
    }

    #[test]
    fn it_names_the_one_that_is_resumed_from() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        fs::create_dir(folder.join("iter_0000060")).unwrap();
        let of = |name: &str, says| Pointer {
            name: name.to_owned(),
            says,
        };
        for pointer in [
            of("latest", Says::Name),
            of("latest.pt", Says::Link),
            of("iteration.txt", Says::Step),
            of("iter_0000060", Says::Link),
        ] {
            pointer.make("iter_0000060", folder).unwrap();
        }
        let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        assert_eq!(text("latest"), "iter_0000060");
        assert_eq!(text("iteration.txt"), "60");
        let target = fs::read_link(folder.join("latest.pt")).unwrap();
        assert_eq!(target, Path::new("iter_0000060"));
        assert!(folder.join("iter_0000060").is_dir());
    }
}
