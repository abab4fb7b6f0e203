//! What a report is made of.

use crate::tensorboard::Point;
use crate::{Extent, Usage};
use model::Timestamp;

/// One run.
#[derive(Clone, Debug)]
pub struct RunFacts {
    /// Its id.
    pub id: String,
    /// Its cluster.
    pub cluster: String,
    /// Where it stands, in words.
    pub state: String,
    /// When it began, in words.
    pub began: String,
    /// From its first start to its end, or to now.
    pub extent: Extent,
    /// What each of its jobs asked for.
    pub asked: Requested,
    /// Its starts, in order.
    pub starts: Vec<StartFacts>,
    /// What happened meanwhile.
    pub marks: Vec<Mark>,
    /// What was used.
    pub usage: Usage,
    /// Scalars, by folder and tag.
    pub scalars: Vec<(String, Vec<Point>)>,
    /// What could not be read, in words.
    pub notes: Vec<String>,
}

/// What a job of a run asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requested {
    /// Nodes.
    pub nodes: u32,
    /// Training processes in all.
    pub ranks: u32,
    /// CPUs of one of them.
    pub cpus_per_rank: u32,
    /// GPUs in all.
    pub gpus: u32,
    /// Their type.
    pub gpu_type: Option<String>,
    /// MiB of memory of each node; `None` where it is all, or the cluster's default.
    pub memory_mib: Option<u64>,
    /// Seconds that one job may take.
    pub time: Option<u64>,
}

/// One start of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartFacts {
    /// `job 17`
    pub title: String,
    /// When it began.
    pub from: Timestamp,
    /// When it ended, or now.
    pub to: Timestamp,
    /// How it ended, in words.
    pub end: String,
    /// Whether it ended badly.
    pub is_bad: bool,
    /// Its nodes.
    pub nodes: Vec<String>,
}

/// Something that happened at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// When.
    pub at: Timestamp,
    /// What.
    pub kind: MarkKind,
    /// In words.
    pub text: String,
}

/// What a mark is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkKind {
    /// A checkpoint was saved.
    Checkpoint,
    /// The run started again.
    Restart,
    /// The ranks hung.
    Hang,
}

impl RunFacts {
    /// Hours of GPUs that its jobs held, whether they were used or not.
    #[must_use]
    pub fn gpu_hours(&self) -> f64 {
        f64::from(self.gpus()) * self.hours()
    }

    /// GPUs of one job.
    pub(super) fn gpus(&self) -> u32 {
        self.asked.gpus
    }

    /// Hours in which a job of it ran.
    pub(super) fn hours(&self) -> f64 {
        let length = |start: &StartFacts| start.to.since(start.from) as f64;
        self.starts.iter().map(length).sum::<f64>() / 3_600_000.0
    }
}
