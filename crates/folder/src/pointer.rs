//! What a program keeps beside its checkpoints to find the newest: a link `latest.pt`, a file `latest` of
//! DeepSpeed's, `latest_checkpointed_iteration.txt` of Megatron's.

use crate::{FolderError, RunFolder, json_file, series, step_of};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;
use sys::named_file;

/// The longest text that is read of a file that may be one.
const LONGEST: u64 = 256;
/// So many series are remembered of one that names another with each checkpoint.
const SERIES: usize = 64;

/// What names the newest checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Pointer {
    /// Its own name, beside the checkpoints.
    pub name: String,
    /// How it names one.
    pub says: Says,
    /// The series of those that it has named, newer ones last: it is made for no other. `latest_optim.pt` must
    /// not lead to `model-80.pt`. Empty: of any.
    #[serde(default)]
    pub of: Vec<String>,
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
    /// What stands at `folder/name`, where that names an entry beside it as the newest. `counts`: whether an
    /// entry of that name may be a checkpoint. What leads to none, such as a link to a folder `.v80`, is an entry
    /// itself: nothing else would be kept of it.
    #[must_use]
    pub fn read(folder: &Path, name: &str, counts: impl Fn(&str) -> bool) -> Option<Pointer> {
        if !may_be_one(name) {
            return None;
        }
        let path = folder.join(name);
        let facts = fs::symlink_metadata(&path).ok()?;
        let leads_to = |target: &str| {
            counts(target) && folder.join(target).exists() && !looks_like_one(folder, target)
        };
        let (says, of) = if facts.is_symlink() {
            let target = fs::read_link(&path).ok()?;
            let beside = target.parent().is_some_and(|above| {
                above.as_os_str().is_empty() || above == Path::new(".") || above == folder
            });
            let target = target.file_name().and_then(|target| target.to_str())?;
            if !beside || !leads_to(target) {
                return None;
            }
            (Says::Link, vec![series(target)])
        } else if facts.is_file() && facts.len() <= LONGEST {
            let text = named_file::read_text(&path, LONGEST).ok()?;
            let text = text.trim();
            if is_name(text) && leads_to(text) {
                (Says::Name, vec![series(text)])
            } else {
                let of = text
                    .parse()
                    .ok()
                    .map(|step| of_step(folder, step, leads_to));
                match of.filter(|of| !of.is_empty()) {
                    Some(of) => (Says::Step, of),
                    // DeepSpeed's is one whatever it says: what it named may be removed.
                    None if name == "latest" => (Says::Name, Vec::new()),
                    None => return None,
                }
            }
        } else {
            return None;
        };
        let name = name.to_owned();
        Some(Pointer { name, says, of })
    }

    /// Has it name this checkpoint, which stands in `folder`, if it has named one of its series.
    ///
    /// # Errors
    /// What the system says.
    pub fn make(&self, checkpoint: &str, folder: &Path) -> io::Result<()> {
        let path = folder.join(&self.name);
        let is_of_another = !self.of.is_empty() && !self.of.contains(&series(checkpoint));
        if is_of_another || self.name == checkpoint || fs::symlink_metadata(&path).is_ok() {
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

/// Whether something of that name may name the newest. What names the best one does not: that need not be the one
/// that is resumed from, and that of one rank has others beside it.
fn may_be_one(name: &str) -> bool {
    const WORDS: [&str; 4] = ["latest", "last", "newest", "current"];
    let lower = name.to_ascii_lowercase();
    WORDS.iter().any(|word| lower.contains(word))
        && !lower.contains("best")
        && !is_of_a_rank(&lower)
}

/// Whether a name has the number of a rank, or of another part of a checkpoint: `latest-rank7.pt`.
fn is_of_a_rank(name: &str) -> bool {
    const WORDS: [&str; 10] = [
        "rank", "shard", "part", "node", "gpu", "worker", "mp", "tp", "pp", "dp",
    ];
    let is_letter = |letter: char| letter.is_ascii_lowercase();
    name.match_indices(|letter: char| letter.is_ascii_digit())
        .any(|(at, _)| {
            let before = name[..at].trim_end_matches(['-', '_', '=', '.']);
            let word = before.rsplit(|letter| !is_letter(letter)).next();
            word.is_some_and(|word| WORDS.contains(&word))
        })
}

/// Whether a pointer may stand there: what it leads to is not asked, since it may lead back.
fn looks_like_one(folder: &Path, name: &str) -> bool {
    may_be_one(name)
        && fs::symlink_metadata(folder.join(name))
            .is_ok_and(|facts| facts.is_symlink() || (facts.is_file() && facts.len() <= LONGEST))
}

/// Whether it is the name of an entry, and no way out of the folder.
fn is_name(text: &str) -> bool {
    !text.is_empty() && text != "." && text != ".." && !text.contains(['/', '\0'])
}

/// The series of the checkpoints of that step.
fn of_step(folder: &Path, step: u64, leads_to: impl Fn(&str) -> bool) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let names = names.filter(|name| step_of(name) == Some(step) && leads_to(name));
    let all: BTreeSet<String> = names.map(|name| series(&name)).collect();
    all.into_iter().collect()
}

impl RunFolder {
    /// The pointers that the run's program keeps. What would stand outside of `{resume}` is none: the folder may
    /// be another user's.
    ///
    /// # Errors
    /// They can't be read.
    pub fn pointers(&self) -> Result<Vec<Pointer>, FolderError> {
        let pointers: Result<Vec<Pointer>, FolderError> = json_file::read(&self.pointers_file());
        let pointers = match pointers {
            Err(FolderError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                Vec::new()
            }
            pointers => pointers?,
        };
        let inside = pointers.into_iter();
        Ok(inside.filter(|pointer| is_name(&pointer.name)).collect())
    }

    /// Notes that the program keeps that one.
    ///
    /// # Errors
    /// The others can't be read, or it can't be written.
    pub fn add_pointer(&self, pointer: Pointer) -> Result<(), FolderError> {
        let before = match self.pointers() {
            // Of no use to anybody.
            Err(FolderError::Garbled { .. }) => Vec::new(),
            pointers => pointers?,
        };
        let mut pointers = before.clone();
        let same = |other: &&mut Pointer| other.name == pointer.name && other.says == pointer.says;
        match pointers.iter_mut().find(same) {
            Some(other) => other.add_series(pointer.of),
            None => {
                // One that says it otherwise now takes its place.
                pointers.retain(|other| other.name != pointer.name);
                pointers.push(pointer);
            }
        }
        if pointers != before {
            json_file::write(&self.pointers_file(), &pointers)?;
        }
        Ok(())
    }
}

impl Pointer {
    /// The same in pieces, of one series each: a message with all of them might be too long to be sent.
    pub fn by_series(self) -> impl Iterator<Item = Pointer> {
        let Pointer { name, says, of } = self;
        let any = of.is_empty().then(Vec::new);
        let pieces = of.into_iter().map(|series| vec![series]).chain(any);
        pieces.map(move |of| Pointer {
            name: name.clone(),
            says,
            of,
        })
    }

    fn add_series(&mut self, more: Vec<String>) {
        for series in more {
            if !self.of.contains(&series) {
                self.of.push(series);
            }
        }
        let too_many = self.of.len().saturating_sub(SERIES);
        self.of.drain(..too_many);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pointer(name: &str, says: Says, of: &[&str]) -> Pointer {
        let of = of.iter().map(ToString::to_string).collect();
        let name = name.to_owned();
        Pointer { name, says, of }
    }

    /// Beside `iter_0000080` and `step-80.pt`: what stands under that name, a text or a link, and what it says.
    #[track_caller]
    fn check(name: &str, text: Result<&str, &str>, want: Option<(Says, &[&str])>) {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        fs::create_dir(folder.join("iter_0000080")).unwrap();
        fs::create_dir(folder.join(".v80")).unwrap();
        for file in ["step-80.pt", "tmp-80.pt"] {
            fs::write(folder.join(file), "weights").unwrap();
        }
        symlink("step-80.pt", folder.join("newest.pt")).unwrap();
        fs::write(folder.join("last.txt"), "latest.txt").unwrap();
        match text {
            Ok(text) => fs::write(folder.join(name), text).unwrap(),
            Err(target) => symlink(target, folder.join(name)).unwrap(),
        }
        let counts = |name: &str| !name.starts_with(['.', 't']);
        let found = Pointer::read(folder, name, counts).map(|found| (found.says, found.of));
        let want = want.map(|(says, of)| (says, of.iter().map(ToString::to_string).collect()));
        assert_eq!(found, want, "{name} {text:?}");
    }

    #[test]
    fn what_names_the_newest_is_a_pointer() {
        const ITER: &str = "iter_#";
        const STEP: &str = "step-#.pt";
        check("latest", Ok("iter_0000080"), Some((Says::Name, &[ITER])));
        check(
            "latest_checkpointed_iteration.txt",
            Ok("80\n"),
            Some((Says::Step, &[ITER, STEP])),
        );
        check("latest.pt", Err("step-80.pt"), Some((Says::Link, &[STEP])));
        check("last", Err("./iter_0000080"), Some((Says::Link, &[ITER])));
        // What DeepSpeed's named was removed.
        check("latest", Ok("iter_0000070"), Some((Says::Name, &[])));
        // A checkpoint of that name, and one that stands elsewhere.
        check("last.pt", Ok("weights of 80"), None);
        check("latest.pt", Err("/data/step-80.pt"), None);
        check("latest.pt", Err("../step-80.pt"), None);
        check("latest.txt", Ok("iter_0000090"), None);
        check("latest.txt", Ok("90"), None);
        // Not the one that is resumed from.
        check("best.pt", Err("step-80.pt"), None);
        check("latest_best.pt", Err("step-80.pt"), None);
    }

    /// Nothing at all was kept of a program that does so.
    #[test]
    fn what_leads_to_nothing_that_counts_is_an_entry_itself() {
        check("current", Err(".v80"), None);
        check("latest.pt", Err("tmp-80.pt"), None);
        check("latest.pt", Err("step-90.pt"), None);
        check("latest.pt", Err("newest.pt"), None);
        check("latest.pt", Err("latest.pt"), None);
        // They name each other.
        check("latest.txt", Ok("last.txt"), None);
    }

    /// Of eight ranks, seven loaded the weights of another.
    #[test]
    fn one_of_several_ranks_is_none() {
        check("latest-rank7.pt", Err("step-80.pt"), None);
        check("last_mp_rank_03.pt", Err("step-80.pt"), None);
        // A number of the model's is no rank's.
        let link: Option<(Says, &[&str])> = Some((Says::Link, &["step-#.pt"]));
        check("resnet50_latest.pt", Err("step-80.pt"), link);
        check("gpt2-last", Err("step-80.pt"), link);
    }

    #[test]
    fn it_names_the_one_that_is_resumed_from() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        fs::create_dir(folder.join("iter_0000060")).unwrap();
        for pointer in [
            pointer("latest", Says::Name, &["step-#.pt", "iter_#"]),
            pointer("latest.pt", Says::Link, &["iter_#"]),
            // As an earlier version wrote it.
            serde_json::from_str(r#"{"name":"newest.pt","says":"link"}"#).unwrap(),
            pointer("iteration.txt", Says::Step, &["iter_#"]),
            pointer("iter_0000060", Says::Link, &["iter_#"]),
            pointer("latest_optim.pt", Says::Link, &["optim-#.pt"]),
            pointer("latest_optim.txt", Says::Step, &["optim-#.pt"]),
        ] {
            pointer.make("iter_0000060", folder).unwrap();
        }
        let others = ["latest_optim.pt", "latest_optim.txt"];
        assert!(!others.iter().any(|name| folder.join(name).exists()));
        let text = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        assert_eq!(text("latest"), "iter_0000060");
        assert_eq!(text("iteration.txt"), "60");
        let target = fs::read_link(folder.join("latest.pt")).unwrap();
        assert_eq!(target, Path::new("iter_0000060"));
        assert!(folder.join("newest.pt").exists());
        assert!(folder.join("iter_0000060").is_dir());
    }

    #[test]
    fn a_run_remembers_each_series_that_one_has_named() {
        let root = tempfile::tempdir().unwrap();
        let run = RunFolder::at(root.path());
        fs::create_dir(run.checkpoints()).unwrap();
        assert_eq!(run.pointers().unwrap(), []);
        run.add_pointer(pointer("latest", Says::Name, &["a-#"]))
            .unwrap();
        run.add_pointer(pointer("latest", Says::Name, &["b-#", "a-#"]))
            .unwrap();
        let both = pointer("latest", Says::Name, &["a-#", "b-#"]);
        assert_eq!(run.pointers().unwrap(), [both]);
        let link = pointer("latest", Says::Link, &["a-#"]);
        run.add_pointer(link.clone()).unwrap();
        assert_eq!(run.pointers().unwrap(), [link]);
        for number in 0..2 * SERIES {
            let of = format!("{}-#", "x".repeat(number));
            run.add_pointer(pointer("latest", Says::Link, &[of.as_str()]))
                .unwrap();
        }
        assert_eq!(run.pointers().unwrap()[0].of.len(), SERIES);
    }

    /// They were made wherever the name led, with the rights of who started a run there.
    #[test]
    fn what_another_user_wrote_leads_nowhere_else_and_is_not_waited_for() {
        let root = tempfile::tempdir().unwrap();
        let run = RunFolder::at(root.path());
        fs::create_dir(run.checkpoints()).unwrap();
        let names = ["/home/me/.ssh/rc", "../../x", "..", "", "deep/x", "last.pt"];
        let all = names.map(|name| pointer(name, Says::Name, &["a-#"]));
        json_file::write(&run.pointers_file(), &all).unwrap();
        let names = run.pointers().unwrap().into_iter().map(|one| one.name);
        assert_eq!(names.collect::<Vec<_>>(), ["last.pt"]);
        fs::remove_file(run.pointers_file()).unwrap();
        let made = std::process::Command::new("mkfifo")
            .arg(run.pointers_file())
            .status();
        assert!(made.unwrap().success());
        assert!(run.pointers().is_err());
    }

    /// It was written with the new one alone.
    #[test]
    fn what_cannot_be_read_at_the_moment_is_not_lost() {
        let root = tempfile::tempdir().unwrap();
        let run = RunFolder::at(root.path());
        fs::create_dir_all(run.pointers_file()).unwrap();
        let latest = pointer("latest", Says::Name, &["a-#"]);
        assert!(run.add_pointer(latest.clone()).is_err());
        fs::remove_dir(run.pointers_file()).unwrap();
        fs::write(run.pointers_file(), "[{").unwrap();
        run.add_pointer(latest.clone()).unwrap();
        assert_eq!(run.pointers().unwrap(), [latest]);
    }
}
