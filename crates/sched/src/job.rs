//! A live job as the scheduler keeps it: its row, and what follows from the row.

use crate::queue::Key;
use crate::{Machine, Shape, shape};
use model::{ArrayTask, Dependency, JobId, JobRecord, JobState, PendingReason, Timestamp};

/// A live job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Derived {
    /// `None`: this machine can't run it (it shrank since the submission).
    pub(crate) shape: Option<Shape>,
    /// What it waited for, or waits for.
    pub(crate) dependency: Option<Dependency>,
    /// Where it is filed.
    pub(crate) place: Place,
}

/// Where a live job is filed: exactly one index holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// In none yet.
    Nowhere,
    /// Holds an allocation.
    Running,
    /// Priority 0.
    Held,
    /// Waits for a moment.
    Timed(Timestamp),
    /// Waits for other jobs, and perhaps a moment of theirs (`after:ID+MINUTES`).
    Dependent(Option<Timestamp>),
    /// Could start as far as it is concerned.
    Ready(Key),
    /// Waits for its array's throttle alone.
    Parked,
    /// Can't ever start here.
    Impossible,
}

/// A live job.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Job {
    pub(crate) record: JobRecord,
    pub(crate) derived: Derived,
}

impl Job {
    pub(crate) fn new(record: JobRecord, machine: &Machine) -> Job {
        let dependency = record.request.dependency.as_deref();
        let derived = Derived {
            shape: shape(&record.request, machine).ok(),
            // Validated at submission.
            dependency: dependency.and_then(Dependency::parse),
            place: Place::Nowhere,
        };
        Job { record, derived }
    }

    /// Its array's id.
    pub(crate) fn array_job(&self) -> Option<JobId> {
        self.record.array.as_ref().map(|place| place.array_job)
    }

    /// The id by which dependencies name it.
    pub(crate) fn target(&self) -> JobId {
        self.array_job().unwrap_or(self.record.id)
    }

    /// Its element, if it stands for one.
    pub(crate) fn task(&self) -> Option<u32> {
        match self.record.array.as_ref()?.task {
            ArrayTask::One(task) => Some(task),
            ArrayTask::Waiting(_) => None,
        }
    }

    /// Elements that wait in this row.
    pub(crate) fn waiting(&self) -> &[u32] {
        match self.record.array.as_ref().map(|place| &place.task) {
            Some(ArrayTask::Waiting(spec)) => &spec.indices,
            _ => &[],
        }
    }

    /// Whether its dependency still decides: once met, it is dropped from the row, as Slurm does.
    pub(crate) fn depends(&self) -> bool {
        self.derived.dependency.is_some() && self.is_pending()
    }

    pub(crate) fn asks_for_gpus(&self) -> bool {
        let shape = self.derived.shape.as_ref();
        shape.is_some_and(|shape| shape.nodes.iter().any(|need| need.gpus > 0))
    }

    pub(crate) fn is_pending(&self) -> bool {
        matches!(self.record.state, JobState::Pending { .. })
    }

    pub(crate) fn reason(&self) -> Option<&PendingReason> {
        match &self.record.state {
            JobState::Pending { reason } => Some(reason),
            _ => None,
        }
    }
}
