//! A job as the scheduler knows it.

use crate::priority_of;
use crate::rare_facts::{RareFacts, RareFactsBox};
use model::{
    ArrayPlace, ArrayTask, Dependency, JobId, JobState, PendingReason, Request, RestartCount,
    Submitter, Timestamp,
};
use std::sync::Arc;

/// What there is to know of a job; all else follows from it and the cluster. The store has rows of
/// its own for it, clients a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Its number.
    pub id: JobId,
    /// Its place in an array.
    pub array: Option<Box<ArrayPlace>>,
    /// Whose it is; shared by all elements.
    pub submitter: Arc<Submitter>,
    /// What it asked for, but for the elements of its array; shared by all elements, and never
    /// changed by what becomes of the job.
    pub request: Arc<Request>,
    /// The partition that it runs or ran in; `None` before its first start and while it waits.
    pub partition: Option<Box<str>>,
    /// What it still waits for; dropped once it is met.
    pub dependency: Option<Arc<Dependency>>,
    /// Where it stands.
    pub state: JobState,
    /// Submission, or the last requeue.
    pub submitted: Timestamp,
    /// Since when it may start; `None` while held or dependent.
    pub eligible: Option<Timestamp>,
    /// Facts that few jobs have.
    pub rare: RareFactsBox,
    /// 0 is held.
    pub priority: u32,
    /// How often it was requeued.
    pub restarts: RestartCount,
    /// Whether it has a batch script; an allocation (`salloc`, `srun`) has none.
    pub batch: bool,
    /// Grows with every change of any job.
    pub version: u64,
}

impl Job {
    /// Whether it may be queued again by itself. Of components the first alone knows.
    #[must_use]
    pub fn may_requeue(&self) -> bool {
        self.batch && self.request.rare.requeue != Some(false)
    }

    /// A job with a batch script, as it is submitted. What its dependency says was checked before.
    #[must_use]
    pub fn submitted(
        id: JobId,
        mut request: Request,
        submitter: Arc<Submitter>,
        at: Timestamp,
    ) -> Job {
        let elements = request.rare.take_array();
        let is_held = request.hold || request.rare.priority == Some(0);
        let priority_set = request.rare.priority.filter(|priority| *priority > 0);
        let dependency = request.rare.dependency.as_deref();
        Job {
            id,
            array: elements.map(|spec| {
                Box::new(ArrayPlace {
                    array_job: id,
                    throttle: spec.throttle,
                    task: ArrayTask::Waiting(spec),
                })
            }),
            submitter,
            partition: None,
            rare: RareFactsBox::from(RareFacts {
                not_before: request.rare.begin,
                priority_set,
                reservation: request.rare.reservation.as_deref().map(Box::from),
                ..RareFacts::default()
            }),
            dependency: dependency.and_then(Dependency::parse).map(Arc::new),
            state: JobState::Pending {
                reason: PendingReason::None,
            },
            submitted: at,
            eligible: None,
            priority: if is_held {
                0
            } else {
                priority_of(priority_set, request.nice)
            },
            request: Arc::new(request),
            restarts: 0,
            batch: true,
            version: 0,
        }
    }

    /// The priority that it has while it isn't held, where no weights count.
    #[must_use]
    pub fn unweighted_priority(&self) -> u32 {
        priority_of(self.rare.priority_set, self.request.nice)
    }

    /// It may not start for now, and its age begins anew once it may.
    pub fn is_no_more_eligible(&mut self) {
        self.eligible = None;
        if self.rare.accrues.is_some() {
            self.rare.accrues = None;
        }
    }

    /// The partition that it runs or ran in, else those that it asked for.
    #[must_use]
    pub fn partitions(&self) -> Option<&str> {
        let asked = self.request.partition.as_deref();
        self.partition.as_deref().or(asked)
    }

    /// The elements of an array that it is; none of another job.
    #[must_use]
    pub fn elements(&self) -> Vec<u32> {
        match self.array.as_ref().map(|place| &place.task) {
            None => Vec::new(),
            Some(ArrayTask::One(task)) => vec![*task],
            Some(ArrayTask::Waiting(spec)) => spec.indices.clone(),
        }
    }

    /// The id that it was submitted under: its own, or its array's.
    #[must_use]
    pub fn submitted_as(&self) -> JobId {
        self.array.as_ref().map_or(self.id, |place| place.array_job)
    }
}
