//! Taking stock of a store that was just opened: what it lost, and which ids may be given out.

use super::committed::{self, Committed, StoreFile};
use super::wal::{self, Damage};
use super::{Store, StoreError};
use model::{ClusterChanges, JobId, Timestamp};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// Losses that are remembered.
const REMEMBERED: usize = 10;

/// What a store lost, as a person reads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Loss {
    /// When it was noticed.
    pub(crate) at: Timestamp,
    /// What is missing, and why.
    pub(crate) text: String,
    /// A client knows of it.
    #[serde(default)]
    pub(crate) shown: bool,
}

/// The write-ahead log that the engine before left behind: SQLite removes it at a clean end.
#[derive(Debug)]
pub(super) struct LeftLog {
    pub(super) there: bool,
    damage: Option<Damage>,
    /// A copy of the damaged one, which SQLite will write over.
    copy: Option<PathBuf>,
}

impl LeftLog {
    /// Looks before SQLite opens it.
    pub(super) fn look(store: &Path) -> io::Result<LeftLog> {
        let log = beside(store, "-wal");
        let there = std::fs::metadata(&log).is_ok_and(|facts| facts.len() > 0);
        // Of a store that was moved away: SQLite removes it.
        let of_this = std::fs::metadata(store).is_ok_and(|facts| facts.len() > 0);
        let damage = if of_this { wal::damage(&log)? } else { None };
        let copy = match damage {
            Some(_) => {
                let copy = beside(store, "-wal.damaged");
                std::fs::copy(&log, &copy)?;
                Some(copy)
            }
            None => None,
        };
        Ok(LeftLog {
            there: there && of_this,
            damage,
            copy,
        })
    }

    /// Whether the pages of a store may not go together, as nothing else tells that they do.
    ///
    /// They do where the engine before was killed and nothing worse happened. What it had written is in the kernel, in
    /// the order in which it was written, so that the store and a log that is whole say what its last commit said. Three
    /// things are worse, and each has its own sign: a log with damaged frames (SQLite leaves out pages that others
    /// rely on), a crash of the machine (another boot: the disk may have kept some writes and lost earlier ones), and
    /// another's hand on the store's file, such as a backup put back under the log of a later one (its size or time is
    /// not what the last commit left). A checkpoint that the engine died in leaves another time too. Without a note
    /// of the last commit nothing is known. To read all pages takes seconds with a long history.
    pub(super) fn needs_check(
        &self,
        file: Option<StoreFile>,
        was: Option<&Committed>,
        boot_id: &str,
    ) -> bool {
        let same =
            |was: &Committed| was.boot_id == boot_id && was.file.is_some() && was.file == file;
        self.there && (self.damage.is_some() || !was.is_some_and(same))
    }
}

/// A file beside the store, as SQLite names them.
pub(super) fn beside(store: &Path, suffix: &str) -> PathBuf {
    let mut path = store.as_os_str().to_owned();
    path.push(suffix);
    path.into()
}

/// The fact that an engine's nodes are those of a file, and not this machine.
const CLUSTER: &str = "cluster";

impl Store {
    /// Notes what is missing, and lets no id be given out a second time.
    pub(super) fn take_stock(
        &mut self,
        left: LeftLog,
        is_new: bool,
        named: Option<JobId>,
    ) -> Result<(), StoreError> {
        self.version = self.newest_version()?;
        let is = Committed {
            store: self.uuid.clone(),
            next_id: self.fact("next_id")?.unwrap_or(1),
            version: self.version,
            boot_id: self.boot_id.clone(),
            file: None,
        };
        let was = self.committed.read();
        let named = named.map_or(0, |job| job.0.saturating_add(1));
        let stock = take_stock(was.as_ref(), &is, named, is_new);
        let damage = left.damage.map(|damage| match left.copy {
            Some(copy) => format!("{damage} (a copy of it is {})", copy.display()),
            None => damage.to_string(),
        });
        let parts: Vec<String> = damage.into_iter().chain(stock.missing).collect();
        if !parts.is_empty() {
            self.note_loss(&format!("{}: {}", self.path.display(), parts.join("; ")))?;
        }
        if stock.next_id > is.next_id {
            self.set_fact("next_id", &stock.next_id)?;
        }
        // A client that has seen higher ones would wait for long.
        self.version = stock.version;
        self.note_committed(stock.next_id);
        Ok(())
    }

    fn note_loss(&mut self, text: &str) -> Result<(), StoreError> {
        tracing::warn!("{text}");
        let mut losses = self.losses()?;
        losses.push(Loss {
            at: Timestamp(sys::wall_clock()),
            text: text.to_owned(),
            shown: false,
        });
        let old = losses.len().saturating_sub(REMEMBERED);
        losses.drain(..old);
        self.write_losses(&losses)
    }

    /// What it lost, as far as it was noticed, the oldest first.
    pub(crate) fn losses(&self) -> Result<Vec<Loss>, StoreError> {
        let text: Option<String> = self.fact("losses")?;
        text.map_or(Ok(Vec::new()), |text| {
            serde_json::from_str(&text).map_err(|error| self.garbage(&error))
        })
    }

    /// A client knows of all.
    pub(crate) fn losses_shown(&mut self) -> Result<(), StoreError> {
        let mut losses = self.losses()?;
        for loss in &mut losses {
            loss.shown = true;
        }
        self.write_losses(&losses)
    }

    fn write_losses(&mut self, losses: &[Loss]) -> Result<(), StoreError> {
        let text = serde_json::to_string(losses).map_err(|error| self.failed(&error))?;
        self.set_fact("losses", &text)
    }

    /// What was changed of nodes and partitions since the cluster's file was read; none as long as
    /// nothing was.
    pub(crate) fn cluster_changes(&self) -> Result<Option<ClusterChanges>, StoreError> {
        let text: Option<String> = self.fact("cluster_changes")?;
        let read = |text: String| serde_json::from_str(&text).map_err(|error| self.failed(&error));
        text.map(read).transpose()
    }

    /// Keeps it; it is on disk when this returns.
    pub(crate) fn set_cluster_changes(
        &mut self,
        changes: &ClusterChanges,
    ) -> Result<(), StoreError> {
        let text = serde_json::to_string(changes).map_err(|error| self.failed(&error))?;
        let durable = self.set_durable(true);
        durable.map_err(|error| self.failed(&error))?;
        self.set_fact("cluster_changes", &text)
    }

    /// Notes that the engine has the cluster of `file`, or refuses to go on without that file: `is_there`.
    pub(crate) fn keep_cluster(&self, file: &Path, is_there: bool) -> Result<(), StoreError> {
        let is_known = self.fact::<String>(CLUSTER)?.is_some();
        match (is_there, is_known) {
            (true, false) => self.set_fact(CLUSTER, &"file"),
            (false, true) => Err(StoreError::NoCluster {
                path: file.to_owned(),
            }),
            (true, true) | (false, false) => Ok(()),
        }
    }

    fn set_fact(&self, name: &str, value: &dyn rusqlite::ToSql) -> Result<(), StoreError> {
        let sql = "INSERT OR REPLACE INTO facts VALUES (?1, ?2)";
        let done = self.db.execute(sql, rusqlite::params![name, value]);
        done.map(drop).map_err(|error| self.failed(&error))
    }

    /// Says beside the store how far it has come.
    pub(super) fn note_committed(&mut self, next_id: u32) {
        let committed = Committed {
            store: self.uuid.clone(),
            next_id,
            version: self.version,
            boot_id: self.boot_id.clone(),
            file: StoreFile::look(&self.path),
        };
        // What is committed stays so: without this word a loss is noticed by fewer signs.
        if let Err(error) = self.committed.write(&committed) {
            tracing::warn!("how far the store has come can't be noted: {error}");
        }
    }
}

/// What follows from what a store holds and what else is there.
struct Stock {
    missing: Option<String>,
    next_id: u32,
    version: u64,
}

/// `named`: one more than the highest id that anything beside the store names.
fn take_stock(was: Option<&Committed>, is: &Committed, named: u32, is_new: bool) -> Stock {
    let missing = was.and_then(|was| committed::missing(was, is));
    let known = was.map_or(0, |was| was.next_id).max(named);
    let other = is_new || was.is_none_or(|was| was.store != is.store);
    let missing = missing.or_else(|| {
        (other && known > is.next_id).then(|| {
            format!(
                "it knows no jobs from {} to {}, which another store had; new ids begin after them",
                is.next_id,
                known - 1
            )
        })
    });
    let same = was.filter(|was| was.store == is.store);
    Stock {
        missing,
        next_id: is.next_id.max(known),
        version: is.version.max(same.map_or(0, |was| was.version)),
    }
}
