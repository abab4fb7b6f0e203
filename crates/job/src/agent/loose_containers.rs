//! Containers that are no descendants of what starts them, as Podman's: a signal that kills the one leaves the other.
//!
//! A rank's wrapper writes down how such a container is ended, ends it where what started it was killed, and takes the
//! note back; what a killed wrapper leaves the node's agent ends.

use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;
use sys::process::PidFd;

/// How long a command that ends one may take.
pub const LONGEST_END: Duration = Duration::from_secs(20);

const FOLDER: &str = "containers";

/// How the container of a rank is ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LooseContainer {
    /// The node's index in the job: virtual nodes share a folder.
    pub node_index: u32,
    /// The commands, one after the other.
    pub ends: Vec<Vec<String>>,
}

impl LooseContainer {
    /// Writes it down for rank `rank` below the node-local folder `local`.
    ///
    /// # Errors
    /// What the system says.
    pub fn write(&self, local: &Path, rank: u32) -> io::Result<()> {
        let note = note(local, rank);
        fs::create_dir_all(note.parent().unwrap_or(local))?;
        let text = serde_json::to_vec(self).expect("invariant: numbers and words only");
        sys::atomic::write_relaxed(&note, &text)
    }

    /// Ends the container. One that is gone already has nothing to end, as its runtime says. `false` where a command
    /// could not be run to its end.
    #[must_use]
    pub fn end(&self) -> bool {
        let mut were_run = true;
        for words in &self.ends {
            let [program, words @ ..] = words.as_slice() else {
                continue;
            };
            let mut command = Command::new(program);
            let command = command.args(words).stdin(Stdio::null());
            let Ok(mut child) = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn() else {
                return false;
            };
            let ended = PidFd::open(child.id()).and_then(|pid| pid.wait_exit(Some(LONGEST_END)));
            if !matches!(ended, Ok(true)) {
                let _ = child.kill();
            }
            // One that was killed has no exit code.
            were_run &= child.wait().is_ok_and(|status| status.code().is_some());
        }
        were_run
    }
}

/// Takes the note of a rank's container back: it is over.
pub fn forget(local: &Path, rank: u32) {
    let _ = fs::remove_file(note(local, rank));
}

/// Ends the containers that killed wrappers left, all at once: of one node, or of all that share the disk. The ranks are
/// over. What takes longer than `patience` goes on by itself: there is more to do on a node whose runtime hangs, such
/// as to save checkpoints, and who comes next tries again.
pub fn end_left(local: &Path, node_index: Option<u32>, patience: Duration) {
    let (ends, all_ended) = channel::<()>();
    let notes = fs::read_dir(local.join(FOLDER)).into_iter().flatten();
    for note in notes.flatten() {
        let path = note.path();
        let text = fs::read(&path);
        let left = text
            .ok()
            .and_then(|text| serde_json::from_slice(&text).ok());
        let left = left.filter(|left: &LooseContainer| {
            node_index.is_none_or(|index| index == left.node_index)
        });
        let Some(left) = left else {
            continue;
        };
        let until_ended = ends.clone();
        let end = move || {
            if left.end() {
                let _ = fs::remove_file(path);
            }
            drop(until_ended);
        };
        // Where there is no room for a thread, who comes next tries.
        let _ = thread::Builder::new().spawn(end);
    }
    drop(ends);
    // Nothing is sent: it ends with the last that could.
    let _ = all_ended.recv_timeout(patience);
}

fn note(local: &Path, rank: u32) -> PathBuf {
    local.join(FOLDER).join(rank.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn what_killed_wrappers_left_is_ended_on_its_own_node() {
        let local = tempfile::tempdir().unwrap();
        let mark = |name: &str| local.path().join(name);
        for (rank, node_index) in [(0, 0), (1, 1), (2, 0)] {
            let make = |word: &str| {
                let mark = mark(&format!("{word}{rank}")).display().to_string();
                vec!["touch".to_owned(), mark]
            };
            let ends = vec![make("killed"), make("removed")];
            let one = LooseContainer { node_index, ends };
            one.write(local.path(), rank).unwrap();
        }
        forget(local.path(), 2);
        end_left(local.path(), Some(0), LONGEST_END);
        let ended =
            |rank| ["killed", "removed"].map(|word| mark(&format!("{word}{rank}")).exists());
        assert_eq!(ended(0), [true, true]);
        assert_eq!((ended(1), ended(2)), ([false, false], [false, false]));
        end_left(local.path(), None, LONGEST_END);
        assert_eq!(ended(1), [true, true]);
        let notes = || fs::read_dir(local.path().join(FOLDER)).unwrap().count();
        assert_eq!(notes(), 0);
        // What could not be tried is tried again by who comes next.
        let ends = vec![vec![mark("no-such-program").display().to_string()]];
        let one = LooseContainer {
            node_index: 0,
            ends,
        };
        one.write(local.path(), 3).unwrap();
        end_left(local.path(), None, LONGEST_END);
        assert_eq!(notes(), 1);
    }

    /// The keeper waited for it and saved nothing meanwhile, 20 seconds for each command.
    #[test]
    fn one_that_hangs_holds_up_neither_others_nor_who_ends_it() {
        let local = tempfile::tempdir().unwrap();
        let mark = |name: &str| local.path().join(name).display().to_string();
        let (go, ended, other) = (mark("go"), mark("ended"), mark("other"));
        let wait = "until [ -e \"$0\" ]; do sleep 0.01; done; touch \"$1\"";
        let hangs = ["sh", "-c", wait, &go, &ended].map(str::to_owned);
        let touches = ["touch", &other].map(str::to_owned);
        for (rank, words) in [(0, hangs.to_vec()), (1, touches.to_vec())] {
            let ends = vec![words];
            let one = LooseContainer {
                node_index: 0,
                ends,
            };
            one.write(local.path(), rank).unwrap();
        }
        end_left(local.path(), None, Duration::ZERO);
        let there = |path: &str| Path::new(path).exists();
        let notes = || fs::read_dir(local.path().join(FOLDER)).unwrap().count();
        let until = |done: &dyn Fn() -> bool| {
            let begun = Instant::now();
            while !done() {
                assert!(begun.elapsed() < Duration::from_secs(60), "it never came");
                thread::sleep(Duration::from_millis(5));
            }
        };
        until(&|| there(&other) && notes() == 1);
        assert!(!there(&ended));
        fs::write(&go, "").unwrap();
        until(&|| there(&ended) && notes() == 0);
    }
}
