//! The actor that removes what the job leaves on the node: a large folder takes its time, and the
//! agent must hear orders meanwhile.

use super::keeper::{KeeperMessage, LONGEST_REMOVAL};
use crate::local_folder::LocalFolder;
use std::fs;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, Sender};
use sys::disk_errors::patiently;

/// What is removed of a node-local folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Removal {
    /// Another agent of this disk does it.
    Nothing,
    /// What was resumed from; the rest is still to be collected.
    Resume,
    /// All but checkpoints that are here only.
    Bulk,
    /// All.
    All,
}

/// What is known of a node-local folder when the job ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct Left {
    /// Whether this agent moves the files of its disk.
    pub copier: bool,
    /// Whether files are still to be collected.
    pub uncollected: bool,
    /// Whether all that was complete is saved.
    pub saved: bool,
}

impl Removal {
    /// What may go.
    pub fn of(left: Left) -> Removal {
        match left {
            // One that does not copy shares the folder of one that does.
            Left {
                uncollected: true, ..
            } => Removal::Resume,
            Left { copier: false, .. } => Removal::Nothing,
            Left { saved: true, .. } => Removal::All,
            Left { saved: false, .. } => Removal::Bulk,
        }
    }

    fn carry_out(self, local: &LocalFolder) {
        match self {
            Removal::Nothing => {}
            Removal::Resume => drop(fs::remove_dir_all(local.resume())),
            Removal::Bulk => local.remove_bulk(),
            Removal::All => {
                // A disk that is read-only for a while would keep it.
                let removed = patiently(LONGEST_REMOVAL, || false, || local.remove());
                if let Err(error) = removed {
                    let _ = writeln!(io::stderr(), "note: a folder is left on the node: {error}");
                }
            }
        }
    }
}

/// Works until no removal can come any more.
pub(super) fn run(local: &LocalFolder, inbox: &Receiver<Removal>, keeper: &Sender<KeeperMessage>) {
    for removal in inbox {
        removal.carry_out(local);
        if keeper.send(KeeperMessage::CleanedUp).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(copier: bool, uncollected: bool, saved: bool, want: Removal) {
        let left = Left {
            copier,
            uncollected,
            saved,
        };
        assert_eq!(Removal::of(left), want, "{left:?}");
    }

    #[test]
    fn what_is_nowhere_else_stays() {
        check(true, false, true, Removal::All);
        check(true, false, false, Removal::Bulk);
        check(true, true, true, Removal::Resume);
        check(false, true, false, Removal::Resume);
        check(false, false, true, Removal::Nothing);
        check(false, false, false, Removal::Nothing);
    }
}
