//! The disks of a run, one of which fails for a while.

use crate::scenario::{Disk, Trouble};
use std::cell::Cell;
use testkit::{FailingDisk, TestEnv};

/// A disk that will fail.
pub struct Disks {
    disk: FailingDisk,
    trouble: Trouble,
    failing: Cell<bool>,
}

impl Disks {
    /// Mounts it where the run's files or the node's are.
    ///
    /// # Errors
    /// Why not, in words: this user may not.
    pub fn new(environment: &TestEnv, disk: Disk, trouble: Trouble) -> Result<Disks, String> {
        let at = match disk {
            // The runs of the project `work`.
            Disk::RunFolder => environment.trainyard_home().join("scratch/work"),
            Disk::Node => environment.root().join("tmp"),
        };
        let disk = FailingDisk::new(&at, 2)
            .map_err(|error| format!("this user may not mount a small disk ({error})"))?;
        Ok(Disks {
            disk,
            trouble,
            failing: Cell::new(false),
        })
    }

    /// From now on nothing can be written.
    pub fn fail(&self) {
        let done = match self.trouble {
            Trouble::Full => self.disk.fill(),
            Trouble::ReadOnly => self.disk.read_only(),
        };
        done.unwrap();
        self.failing.set(true);
    }

    /// From now on everything can be written again.
    pub fn mend(&self) {
        if self.failing.replace(false) {
            let done = match self.trouble {
                Trouble::Full => self.disk.make_room(),
                Trouble::ReadOnly => self.disk.writable(),
            };
            done.unwrap();
        }
    }
}
