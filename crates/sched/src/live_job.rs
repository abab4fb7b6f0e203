//! A live job, and what follows from what is known of it.

use crate::ClusterRef;
use crate::Job;
use crate::admit::choices;
use crate::held::HeldShares;
use crate::kinds::{Choice, Kinds, demand_of};
use crate::limit_given::limit_given;
use model::{
    ArrayFacts, ArraySpec, ArrayTask, ComponentPlace, JobId, JobState, PendingReason,
    TimeLimitRequest, Timestamp,
};
use resources::{Demand, PartId, Share};
use std::borrow::Cow;

/// What follows from a job and the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Derived {
    /// Partitions in which it may start; none: the cluster can't run it, any more.
    pub(crate) choices: Box<[Choice]>,
    /// Its time limit wherever it starts; none where it gets that of its partition.
    pub(crate) limit: Option<TimeLimitRequest>,
    /// What it holds, while it runs.
    pub(crate) holding: Option<Box<HeldShares>>,
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
    /// Could start as far as it is concerned: in the queues of all its partitions.
    Ready,
    /// Waits for its array's throttle alone.
    Parked,
    /// Can't ever start here.
    Impossible,
}

/// A live job.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct LiveJob {
    pub(crate) record: Job,
    pub(crate) derived: Derived,
}

impl LiveJob {
    pub(crate) fn new(record: Job, cluster: &ClusterRef, kinds: &mut Kinds) -> LiveJob {
        let derived = Derived {
            choices: LiveJob::choices(&record, cluster, kinds),
            limit: limit_given(cluster, &record),
            holding: LiveJob::holding(&record, cluster),
            place: Place::Nowhere,
        };
        LiveJob { record, derived }
    }

    fn choices(record: &Job, cluster: &ClusterRef, kinds: &mut Kinds) -> Box<[Choice]> {
        let mut all = choices(cluster, kinds, &record.request);
        // Until it is worked out for each of them.
        all.iter_mut()
            .for_each(|choice| choice.priority = record.priority);
        all.into()
    }

    fn holding(record: &Job, cluster: &ClusterRef) -> Option<Box<HeldShares>> {
        let JobState::Running { allocation, .. } = &record.state else {
            return None;
        };
        let demand = LiveJob::demand(record, cluster);
        let is_suspended = record.state.is_suspended();
        let uid = record.submitter.uid;
        let held = HeldShares::of(cluster, &demand, uid, allocation, is_suspended);
        Some(Box::new(held))
    }

    /// What it counts with under limits while it runs: suspended, with its CPUs too, as in Slurm, which
    /// gives back no usage then.
    pub(crate) fn counted_shares(&self, cluster: &ClusterRef) -> Option<Cow<'_, [Share]>> {
        let holding = self.derived.holding.as_ref()?;
        if !holding.is_suspended {
            return Some(Cow::Borrowed(&holding.shares));
        }
        let JobState::Running { allocation, .. } = &self.record.state else {
            return None;
        };
        let demand = LiveJob::demand(&self.record, cluster);
        Some(Cow::Owned(Share::of_rows(
            cluster,
            &demand,
            &allocation.nodes,
        )))
    }

    fn demand(record: &Job, cluster: &ClusterRef) -> Demand {
        let partition = record.partitions();
        let partition = partition.and_then(|name| cluster.find_partition(name));
        demand_of(cluster, partition, &record.request)
    }

    /// Works out again what follows from the cluster.
    pub(crate) fn on_cluster(&mut self, cluster: &ClusterRef, kinds: &mut Kinds) {
        self.choose_anew(cluster, kinds);
        self.derived.holding = LiveJob::holding(&self.record, cluster);
    }

    /// Works out again what it asks for, for its next start.
    pub(crate) fn choose_anew(&mut self, cluster: &ClusterRef, kinds: &mut Kinds) {
        self.derived.choices = LiveJob::choices(&self.record, cluster, kinds);
        self.derived.limit = limit_given(cluster, &self.record);
    }

    /// Works out again what it holds.
    pub(crate) fn hold_anew(&mut self, cluster: &ClusterRef) {
        self.derived.holding = LiveJob::holding(&self.record, cluster);
    }

    /// What it needs in a partition in which it may start.
    pub(crate) fn choice(&self, partition: PartId) -> Option<&Choice> {
        let mut choices = self.derived.choices.iter();
        choices.find(|choice| choice.partition == partition)
    }

    /// Whether it could start as far as it is concerned.
    pub(crate) fn is_ready(&self) -> bool {
        self.derived.place == Place::Ready
    }

    /// Its place in a heterogeneous job.
    pub(crate) fn component(&self) -> Option<ComponentPlace> {
        self.record.request.rare.component
    }

    /// Its array's id.
    pub(crate) fn array_job(&self) -> Option<JobId> {
        self.record.array.as_ref().map(|place| place.array_job)
    }

    /// Its array, as far as its row tells of it.
    pub(crate) fn own_array(&self) -> ArrayFacts {
        match self.record.array.as_ref().map(|place| &place.task) {
            Some(ArrayTask::Waiting(spec)) => ArrayFacts::of(spec),
            Some(ArrayTask::One(_)) | None => ArrayFacts::of(&ArraySpec {
                indices: self.task().into_iter().collect(),
                step: 1,
                throttle: None,
            }),
        }
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
        self.record.dependency.is_some() && self.is_pending()
    }

    pub(crate) fn asks_for_gpus(&self) -> bool {
        let mut choices = self.derived.choices.iter();
        choices.any(|choice| choice.need.compiled.demand.gpus_on(1) > 0)
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
