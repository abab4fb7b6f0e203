//! What no agent has looked at: a node-local folder says from when its ranks may write until an agent
//! has looked at what they left, by which rule its checkpoints are complete. Where all of a job is
//! killed at once, whoever finds the folder knows what may be the only copy of one.

use super::kept::{self, Dead, Kept};
use super::scan::scan;
use crate::local_folder::LocalFolder;
use model::Seconds;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use train::Complete;

/// The note that the folder has for so long.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Note {
    rule: Complete,
    /// What a machine had not written when it went down may be missing in files that look whole.
    boot_id: String,
}

/// Notes that ranks may write from now on.
///
/// # Errors
/// The node's disk can't be written.
pub fn note(local: &LocalFolder, rule: &Complete) -> io::Result<()> {
    let note = Note {
        rule: rule.clone(),
        boot_id: sys::boot_id(),
    };
    let text = serde_json::to_vec(&note).expect("invariant: text and numbers only");
    sys::atomic::write_relaxed(&local.unseen_note(), &text)
}

/// Takes the note of [`note()`] back: an agent has looked at all that the ranks left.
pub fn all_seen(local: &LocalFolder) {
    // A note that stays has the folder kept for longer.
    let _ = fs::remove_file(local.unseen_note());
}

/// What is complete in a folder that no process writes to any more, where no agent has looked since its
/// ranks wrote.
#[must_use]
pub fn complete(local: &LocalFolder) -> Vec<Kept> {
    match look(local) {
        Some((note, dead)) if note.boot_id == sys::boot_id() => dead.whole,
        _ => Vec::new(),
    }
}

/// The names of what may be complete in such a folder.
#[must_use]
pub fn may_be_complete(local: &LocalFolder) -> Vec<String> {
    let Some((_, dead)) = look(local) else {
        return Vec::new();
    };
    let whole = dead.whole.into_iter().map(|kept| kept.record.name);
    let mut names: Vec<String> = whole.chain(dead.doubtful).collect();
    names.sort();
    names
}

/// What stands among the checkpoints under names that no message can carry: an agent that looked copied none of them.
#[must_use]
pub fn unspeakable(local: &LocalFolder) -> Vec<String> {
    let there = scan(&local.checkpoints()).unwrap_or_default();
    there.unspeakable
}

fn look(local: &LocalFolder) -> Option<(Note, Dead)> {
    let text = fs::read(local.unseen_note()).ok()?;
    // A machine that went down may have left it empty.
    let note = serde_json::from_slice(&text).unwrap_or(Note {
        rule: Complete::Settle { settle: Seconds(0) },
        boot_id: String::new(),
    });
    let dead = kept::look_at_dead(local, note.rule.clone(), false);
    Some((note, dead))
}

#[cfg(test)]
mod tests {
    use super::*;
    use folder::Attempt;

    /// A folder with `step-5` that is out, `step-10` that no agent has seen, `step-15.done` beside
    /// nothing and `step-20.tmp`; what is complete there, and what may be.
    #[track_caller]
    fn check(rule: Complete, change: impl Fn(&LocalFolder), want: (&[&str], &[&str])) {
        let disk = tempfile::tempdir().unwrap();
        let attempt = Attempt { job: 7, restart: 0 };
        let local = LocalFolder::new(disk.path(), "digits-k3f9", attempt);
        let _owned = local.make().unwrap();
        for name in ["step-5", "step-10", "step-20.tmp"] {
            fs::write(local.checkpoints().join(name), b"weights").unwrap();
        }
        kept::note_out(&local, "step-5", &local.checkpoints().join("step-5"));
        note(&local, &rule).unwrap();
        change(&local);
        let complete = complete(&local);
        let names: Vec<&str> = complete
            .iter()
            .map(|one| one.record.name.as_str())
            .collect();
        let maybe = may_be_complete(&local);
        let maybe: Vec<&str> = maybe.iter().map(String::as_str).collect();
        assert_eq!((names.as_slice(), maybe.as_slice()), want, "{rule:?}");
    }

    fn marker() -> Complete {
        let name = "done".to_owned();
        Complete::Marker { name }
    }

    #[test]
    fn what_no_agent_had_seen_is_told_by_the_run_s_own_rule() {
        let settle = Seconds(10);
        check(Complete::Rename, |_| (), (&["step-10"], &["step-10"]));
        check(marker(), |_| (), (&[], &[]));
        let mark = |local: &LocalFolder| {
            fs::write(local.checkpoints().join("step-10.done"), b"").unwrap();
        };
        check(marker(), mark, (&["step-10"], &["step-10"]));
        // Nothing tells whether it is whole: nobody goes on from it, and nobody removes it.
        for rule in [Complete::Recognise { settle }, Complete::Settle { settle }] {
            check(rule, |_| (), (&[], &["step-10"]));
        }
    }

    #[test]
    fn nothing_is_unseen_once_an_agent_has_looked() {
        check(Complete::Rename, all_seen, (&[], &[]));
    }

    #[test]
    fn after_a_reboot_what_looks_whole_is_kept_and_not_gone_on_from() {
        let other_boot = |local: &LocalFolder| {
            let note = Note {
                rule: Complete::Rename,
                boot_id: "another".to_owned(),
            };
            let text = serde_json::to_vec(&note).unwrap();
            fs::write(local.unseen_note(), text).unwrap();
        };
        check(Complete::Rename, other_boot, (&[], &["step-10"]));
        let garbled = |local: &LocalFolder| fs::write(local.unseen_note(), b"").unwrap();
        check(Complete::Rename, garbled, (&[], &["step-10"]));
    }
}
