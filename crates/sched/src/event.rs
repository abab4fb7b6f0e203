//! What the scheduler receives, and what it answers.

use crate::Job;
use model::{
    ArrayFacts, Ending, HeldBy, JobId, NodeMark, NodeName, Outcome, PendingReason, Reservation,
    Timestamp,
};
use resources::Cluster;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Something that happened. An event that names no live job changes nothing.
#[derive(Clone, Debug)]
pub enum Event {
    /// A new job, checked before with [`crate::State::admit`]; its state is `Pending`. Or an
    /// ended job that is queued again.
    Submitted {
        /// Its row; the version is set here.
        record: Box<Job>,
        /// Of an array's element that is queued again, the array as it was submitted: where no
        /// element lives any more nothing else remembers it.
        array: Option<ArrayFacts>,
        /// What became of ended jobs that its dependency names.
        history: Vec<Finished>,
        /// Now.
        at: Timestamp,
    },
    /// The end of a running job was decided while processes of it still live.
    Ending {
        /// Which.
        job: JobId,
        /// How it will end. A requeue that was decided stays one unless it is cancelled.
        ending: Ending,
    },
    /// No process of a running job is left. It ends with `outcome`, or is queued again when its
    /// ending is a requeue.
    Gone {
        /// Which.
        job: JobId,
        /// How it ended.
        outcome: Outcome,
        /// When.
        at: Timestamp,
    },
    /// A running job could not be started, and waits, held, for someone to look.
    StartFailed {
        /// Which.
        job: JobId,
        /// When.
        at: Timestamp,
    },
    /// A waiting job was cancelled.
    CancelledWaiting {
        /// Which; a row of several elements goes as a whole.
        job: JobId,
        /// Who did it.
        by: u32,
        /// When.
        at: Timestamp,
    },
    /// Elements of an array that still wait in one row were cancelled.
    CancelledElements {
        /// The row.
        job: JobId,
        /// Which elements; others are ignored.
        tasks: Vec<u32>,
        /// Who did it.
        by: u32,
        /// When.
        at: Timestamp,
    },
    /// A job asks for something else from now on.
    Updated {
        /// Which.
        job: JobId,
        /// What.
        update: Box<crate::JobUpdate>,
        /// What became of ended jobs that its dependency names.
        history: Vec<Finished>,
        /// When.
        at: Timestamp,
    },
    /// A job that waits or runs is held or released. One that runs goes on, and waits held once it is
    /// queued again.
    Held {
        /// Which.
        job: JobId,
        /// Who holds it; `None` releases it.
        hold: Option<HeldBy>,
        /// When.
        at: Timestamp,
    },
    /// The processes of a running job are stopped: it gives back its CPUs, and keeps its memory and
    /// GPUs. Its time limit stands still.
    Suspended {
        /// Which.
        job: JobId,
        /// When.
        at: Timestamp,
    },
    /// A suspended job goes on, whoever has its CPUs by now.
    Resumed {
        /// Which.
        job: JobId,
        /// When.
        at: Timestamp,
    },
    /// The steps of a running job were sent SIGSTOP, or SIGCONT after it.
    Stopped {
        /// Which.
        job: JobId,
        /// SIGSTOP, and not SIGCONT.
        is_stopped: bool,
        /// When.
        at: Timestamp,
    },
    /// The clock was set: what runs began so much later by it (earlier, if negative). Limits are
    /// lengths of time, so that their ends move with it.
    ClockSet {
        /// By how many milliseconds it jumped ahead.
        by_ms: i64,
    },
    /// A running job goes on without some of its nodes: they were lost, or given back.
    Shrunk {
        /// Which.
        job: JobId,
        /// The nodes; it has others.
        nodes: Vec<NodeName>,
        /// When.
        at: Timestamp,
    },
    /// GPUs of this machine that other users of it hold now.
    GpusBarred(Vec<model::GpuIndex>),
    /// CPUs of this machine that jobs of others have now: none of those that jobs here have.
    CpusBarred(BTreeSet<u32>),
    /// What these used until now counts no more, for limits and shares.
    UsageBeginsAnew {
        /// Whose it is.
        of: Vec<crate::Spender>,
        /// Now.
        at: Timestamp,
    },
    /// Something was said of a node: it takes jobs from now on, or no more. What runs there goes on.
    NodeMarked {
        /// Which.
        node: NodeName,
        /// What.
        mark: NodeMark,
    },
    /// A reservation is there from now on, is another one, or is gone.
    ReservationChanged {
        /// Its name.
        name: String,
        /// What it is now.
        reservation: Option<Box<Reservation>>,
    },
    /// The cluster is another from now on. What runs goes on, on nodes too that it no longer has.
    Reconfigured {
        /// The cluster.
        cluster: Arc<Cluster>,
        /// Now.
        at: Timestamp,
    },
}

/// What to do, once the rows are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Start the job: its row is `Running` and holds what it got.
    Start {
        /// Which.
        job: JobId,
        /// Why it waited last.
        reason: PendingReason,
        /// Others wait that come before it.
        is_backfill: bool,
    },
    /// The time limit of an allocation without a batch script is over: end its steps.
    Expire(JobId),
    /// Another job takes its place. While its row has a grace time it is asked to end, then it is
    /// ended.
    Preempt(JobId),
    /// Another job takes its CPUs: stop its processes.
    Suspend(JobId),
    /// Its CPUs are free again: let its processes go on.
    Resume(JobId),
}

/// What changed since it was last asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Changes {
    /// Live jobs whose rows are to be written; [`crate::State::job`] has them.
    pub live: Vec<JobId>,
    /// Live jobs of which only what is derived changed: why they wait, and which elements of an
    /// array do. Watchers receive it; it is in no row, since [`crate::State::rebuild`] and the pass
    /// after it lead to the same.
    pub shown: Vec<JobId>,
    /// Jobs that ended.
    pub ended: Vec<Job>,
    /// Live jobs that ask for something else than they were submitted with.
    pub updated: Vec<JobId>,
    /// Nodes of which something else is said than before; [`crate::State::mark`] has it.
    pub nodes: Vec<NodeName>,
    /// Reservations that are new, changed or gone; [`crate::State::reservation`] has them.
    pub reservations: Vec<String>,
    /// Users whose ended jobs used more than before, and how much in all.
    pub usage: Vec<(crate::Member, crate::priority::Usage)>,
    /// The same as limits on what is used count it.
    pub spent: Vec<(crate::Spending, crate::priority::Usage)>,
    /// What the passes since then looked at.
    pub looked: PassCounts,
}

/// What passes over the queue looked at, in numbers of jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PassCounts {
    /// All that were looked at.
    pub jobs: u64,
    /// Of these, the ones that were tried behind one that waits for others to end.
    pub behind: u64,
    /// Of these, the ones that started.
    pub backfilled: u64,
    /// Those that got a promise of when they start.
    pub promised: u64,
}

/// What became of an ended job, as far as others may wait for it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finished {
    /// Its id, or its array's.
    pub target: JobId,
    /// Its element; `None` for a job outside arrays, and for elements cancelled before they
    /// started.
    pub task: Option<u32>,
    /// The target is an array.
    pub is_of_array: bool,
    /// It ended with 0.
    pub ok: bool,
    /// When it started.
    pub started: Option<Timestamp>,
}

impl Finished {
    /// Reads it off a row, once for each id that names the job: an element of an array is named by
    /// the array's id and by its own. Empty while the job lives.
    #[must_use]
    pub fn of(record: &Job) -> Vec<Finished> {
        let model::JobState::Ended { outcome, ran, .. } = &record.state else {
            return Vec::new();
        };
        let own = Finished {
            target: record.id,
            task: None,
            is_of_array: false,
            ok: *outcome == Outcome::Completed,
            started: ran.as_ref().map(|ran| ran.since),
        };
        let Some(place) = &record.array else {
            return vec![own];
        };
        let element = Finished {
            target: place.array_job,
            task: match place.task {
                model::ArrayTask::One(task) => Some(task),
                model::ArrayTask::Waiting(_) => None,
            },
            is_of_array: true,
            ..own
        };
        if element.target == own.target {
            vec![element]
        } else {
            vec![element, own]
        }
    }
}
