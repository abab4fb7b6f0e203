//! Where the parts of an engine's folder lie. Paths only; nothing is opened here.
//!
//! ```text
//! lock  engine.sock  engine.log  store.sqlite
//! cluster.toml  cluster.origin                         of a cluster whose nodes are pretended
//! cluster.now.toml                                     the same with what was changed since
//! bin/<version>-<protocol>-<hash>/yard                 the pinned program
//! bin/<version>-<protocol>-<hash>/slurm/{sbatch,…}     links to it
//! bin/serves                                           a link to the folder of the one that serves
//! jobs/<job>/{script,environment}                      of a job or a whole array
//! steps/<job>.<restart>.<step>.<node>.<tag>            one supervisor's record
//! steps/<job>.<restart>.<step>.<node>.<tag>.sock       where it answers, once it is asked to
//! committed                                            how far the store has come
//! processes                                            locked by each of our own processes
//! ```
//!
//! One flat folder for the records: a step makes one file and no folder, since what a short job
//! costs is mostly the making of files.

use model::JobId;
use std::path::{Path, PathBuf};

/// One engine's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineFolder {
    root: PathBuf,
}

impl EngineFolder {
    /// The engine folder at `root`.
    #[must_use]
    pub fn new(root: impl Into<PathBuf>) -> EngineFolder {
        EngineFolder { root: root.into() }
    }

    /// The folder itself.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Held with `flock` while an engine serves.
    #[must_use]
    pub fn lock(&self) -> PathBuf {
        self.root.join("lock")
    }

    /// Where the engine answers.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.root.join(sys::ENGINE_SOCKET)
    }

    /// What the engine has to say to a person.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.root.join("engine.log")
    }

    /// What stood in the log before it was put aside for its size.
    #[must_use]
    pub fn older_log(&self) -> PathBuf {
        self.root.join("engine.log.1")
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> PathBuf {
        self.root.join("store.sqlite")
    }

    /// The cluster file of an engine whose nodes are pretended; without it the engine's cluster is
    /// this machine.
    #[must_use]
    pub fn cluster(&self) -> PathBuf {
        self.root.join("cluster.toml")
    }

    /// What the engine goes by instead, once `scontrol` or `sacctmgr` changed it: the same document with those
    /// changes. The engine writes it, for whoever judges a job before it is submitted; it is empty where that failed.
    #[must_use]
    pub fn changed_cluster(&self) -> PathBuf {
        self.root.join("cluster.now.toml")
    }

    /// Names the file of which [`EngineFolder::cluster`] is a copy, where it is one.
    #[must_use]
    pub fn cluster_origin(&self) -> PathBuf {
        self.root.join("cluster.origin")
    }

    /// Is there where each node of its cluster is to have a network of its own.
    #[must_use]
    pub fn networks(&self) -> PathBuf {
        self.root.join("networks")
    }

    /// The disks of its cluster's nodes that are isolated: what each has as its `/tmp`.
    #[must_use]
    pub fn node_disks(&self) -> Vec<PathBuf> {
        let nodes = std::fs::read_dir(self.root.join("nodes"));
        let disks = nodes.into_iter().flatten().flatten();
        let disks = disks.map(|node| node.path().join("tmp"));
        disks.filter(|disk| disk.is_dir()).collect()
    }

    /// The engine's name: that of its folder, except for the user's own engine of this machine.
    #[must_use]
    pub fn name(&self) -> String {
        let name = self.root.file_name();
        let name = name.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        if name == sys::OWN_ENGINE || name.is_empty() {
            return sys::OWN_ENGINE_NAME.to_owned();
        }
        name
    }

    /// Pinned programs, one folder each.
    #[must_use]
    pub fn bin(&self) -> PathBuf {
        self.root.join("bin")
    }

    /// A link to the folder of the pinned program whose engine serves, or served last.
    #[must_use]
    pub fn serving_program(&self) -> PathBuf {
        self.bin().join("serves")
    }

    /// All jobs' folders.
    #[must_use]
    pub fn jobs(&self) -> PathBuf {
        self.root.join("jobs")
    }

    /// One job's folder.
    #[must_use]
    pub fn job(&self, job: JobId) -> PathBuf {
        self.jobs().join(job.to_string())
    }

    /// A job's batch script; for an array the one of the array's id, which its elements share.
    #[must_use]
    pub fn script(&self, job: JobId) -> PathBuf {
        self.job(job).join("slurm_script")
    }

    /// The environment that a job was submitted with (JSON: pairs of name and value); for an
    /// array the one of the array's id.
    #[must_use]
    pub fn environment(&self, job: JobId) -> PathBuf {
        self.job(job).join("environment")
    }

    /// All supervisors' records.
    #[must_use]
    pub fn steps(&self) -> PathBuf {
        self.root.join("steps")
    }

    /// Where the `srun`s of the engine's own user listen.
    #[must_use]
    pub fn srun(&self) -> PathBuf {
        self.root.join("srun")
    }

    /// The folders of other users' `srun`s.
    #[must_use]
    pub fn srun_of_users(&self) -> PathBuf {
        self.root.join("srun-of-users")
    }

    /// Where those of one of them listen.
    #[must_use]
    pub fn srun_of(&self, uid: u32) -> PathBuf {
        self.srun_of_users().join(uid.to_string())
    }

    /// Where each of our own processes holds a lock, so that it is distinguished from a job's.
    #[must_use]
    pub fn processes(&self) -> PathBuf {
        self.root.join("processes")
    }
}
