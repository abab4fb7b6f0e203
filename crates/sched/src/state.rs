//! All live jobs and what is free: the scheduler itself.

use crate::accrual::Accrual;
use crate::array::Array;
use crate::between_cycles::LeftFree;
use crate::cycle::Cycles;
use crate::deadline::Deadlines;
use crate::few_switches::SwitchWaits;
use crate::held::Held;
use crate::kinds::Kinds;
use crate::ledger::{BudgetChecks, InQueue, Ledger, Spent};
use crate::live_job::LiveJob;
use crate::live_jobs::LiveJobs;
use crate::names::JobNames;
use crate::plan::Plan;
use crate::planner::BackfillParameters;
use crate::priority::{Priorities, UsageResets};
use crate::queue::{Key, QueueId};
use crate::reservations::Reservations;
use crate::{Action, Changes, ClusterRef, Finished, Job, PassCounts};
use model::{
    ArrayFacts, Dependency, GpuIndex, JobId, JobState, NodeMark, NodeName, PendingReason, Timestamp,
};
use resources::{Cluster, Free};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::sync::Arc;

/// The scheduler's state. Everything but the rows follows from the rows.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    pub(crate) cluster: ClusterRef,
    pub(crate) held: Held,
    /// What is said of nodes; of one that isn't here all is well.
    pub(crate) marks: BTreeMap<NodeName, NodeMark>,
    pub(crate) kinds: Kinds,
    /// Those behind a blocked job may start where they delay none that has a promise.
    pub(crate) backfill: Option<BackfillParameters>,
    pub(crate) plan: Plan,
    pub(crate) jobs: LiveJobs,
    /// Of these, the ones that hold an allocation.
    pub(crate) running: BTreeSet<JobId>,
    /// Of these, the waiting ones that ask for GPUs.
    pub(crate) want_gpus: BTreeSet<JobId>,
    /// Live rows by version: what is newer than a watcher's cursor.
    pub(crate) versions: BTreeSet<(u64, JobId)>,
    /// Jobs that could start, in order, by partition, and by QOS where one may preempt another.
    pub(crate) ready: BTreeMap<QueueId, BTreeSet<Key>>,
    /// Of these, the ones that no pass has looked at.
    pub(crate) unseen: BTreeSet<JobId>,
    /// Jobs that end because their dependency can't be met any more.
    pub(crate) doomed: BTreeSet<JobId>,
    /// Jobs that wait for a moment.
    pub(crate) timed: BTreeSet<(Timestamp, JobId)>,
    /// When it is too late for jobs that could start.
    pub(crate) deadlines: Deadlines,
    /// When jobs stop waiting for few switches.
    pub(crate) switch_waits: SwitchWaits,
    /// Ends of allocations that no supervisor holds.
    pub(crate) expiries: BTreeSet<(Timestamp, JobId)>,
    /// Who waits for a job.
    pub(crate) dependents: BTreeMap<JobId, BTreeSet<JobId>>,
    /// What became of ended jobs for which another job waits.
    pub(crate) finished: BTreeMap<JobId, BTreeSet<Finished>>,
    /// Live jobs by user and name, for `singleton`.
    pub(crate) names: JobNames,
    pub(crate) arrays: BTreeMap<JobId, Array>,
    pub(crate) priorities: Priorities,
    /// What runs, by limit.
    pub(crate) ledger: Ledger,
    /// What ended jobs used, by limit.
    pub(crate) spent: Spent,
    /// What runs and waits, by limit.
    pub(crate) in_queue: InQueue,
    /// GPUs that other users of the machine hold.
    pub(crate) barred: BTreeSet<GpuIndex>,
    /// CPUs that jobs of other users of the machine have.
    pub(crate) barred_cpus: BTreeSet<u32>,
    pub(crate) next_id: u32,
    pub(crate) version: u64,
    pub(crate) changed: BTreeSet<JobId>,
    /// Of these, the ones that ask for something else than before.
    pub(crate) updated: BTreeSet<JobId>,
    /// Jobs of which only what is derived changed.
    pub(crate) shown: BTreeSet<JobId>,
    /// The jobs that kept others of their partitions waiting at the last pass.
    pub(crate) first: BTreeSet<JobId>,
    /// Jobs that limits alone kept from starting at the last pass.
    pub(crate) limited: BTreeSet<JobId>,
    pub(crate) ended: Vec<Job>,
    /// Nodes of which something else is said.
    pub(crate) marked: BTreeSet<NodeName>,
    /// What passes did.
    pub(crate) looked: PassCounts,
    pub(crate) reservations: Reservations,
    /// Reservations that changed.
    pub(crate) reserved: BTreeSet<String>,
    pub(crate) last_pass: LastPass,
    pub(crate) cycles: Cycles,
    pub(crate) budget_checks: BudgetChecks,
    pub(crate) usage_resets: UsageResets,
    pub(crate) left_free: LeftFree,
    pub(crate) accrual: Accrual,
}

/// When [`State::schedule`] was last asked. It is no part of what two states are compared by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LastPass(pub(crate) Timestamp);

impl PartialEq for LastPass {
    fn eq(&self, _other: &LastPass) -> bool {
        true
    }
}

impl State {
    /// A state without jobs. `numbers` are those of this machine's CPUs, ascending, where it is the
    /// cluster; without them each node counts its CPUs from 0.
    #[must_use]
    pub fn new(cluster: Arc<Cluster>, numbers: Arc<[u32]>) -> State {
        let cluster = ClusterRef(cluster);
        State {
            held: Held::new(&cluster, numbers),
            kinds: Kinds::new(&cluster),
            cluster,
            marks: BTreeMap::new(),
            backfill: None,
            plan: Plan::default(),
            jobs: LiveJobs::default(),
            running: BTreeSet::new(),
            want_gpus: BTreeSet::new(),
            versions: BTreeSet::new(),
            ready: BTreeMap::new(),
            unseen: BTreeSet::new(),
            doomed: BTreeSet::new(),
            timed: BTreeSet::new(),
            deadlines: Deadlines::default(),
            switch_waits: SwitchWaits::default(),
            expiries: BTreeSet::new(),
            dependents: BTreeMap::new(),
            finished: BTreeMap::new(),
            names: JobNames::default(),
            arrays: BTreeMap::new(),
            priorities: Priorities::default(),
            ledger: Ledger::default(),
            spent: Spent::default(),
            in_queue: InQueue::default(),
            barred: BTreeSet::new(),
            barred_cpus: BTreeSet::new(),
            next_id: 1,
            version: 0,
            changed: BTreeSet::new(),
            updated: BTreeSet::new(),
            shown: BTreeSet::new(),
            first: BTreeSet::new(),
            limited: BTreeSet::new(),
            ended: Vec::new(),
            marked: BTreeSet::new(),
            looked: PassCounts::default(),
            reservations: Reservations::default(),
            reserved: BTreeSet::new(),
            last_pass: LastPass(Timestamp(0)),
            cycles: Cycles::default(),
            budget_checks: BudgetChecks::default(),
            usage_resets: UsageResets::default(),
            left_free: LeftFree::default(),
            accrual: Accrual::default(),
        }
    }

    /// Takes the next job id.
    pub fn new_id(&mut self) -> JobId {
        let id = JobId(self.next_id);
        self.next_id += 1;
        id
    }

    /// The id that the next job will get.
    #[must_use]
    pub fn next_id(&self) -> u32 {
        self.next_id
    }

    /// The newest row's version.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The cluster.
    #[must_use]
    pub fn cluster(&self) -> &Arc<Cluster> {
        &self.cluster.0
    }

    /// What is free of it.
    #[must_use]
    pub fn free(&self) -> &Free {
        &self.held.free
    }

    /// The numbers of this machine's CPUs, where it is the cluster.
    #[must_use]
    pub fn cpu_numbers(&self) -> Arc<[u32]> {
        self.held.numbers()
    }

    /// What is said of a node, if anything.
    #[must_use]
    pub fn mark(&self, node: &NodeName) -> Option<&NodeMark> {
        self.marks.get(node)
    }

    /// All of which something is said, by name.
    pub fn marks(&self) -> impl Iterator<Item = (&NodeName, &NodeMark)> {
        self.marks.iter()
    }

    /// How those behind a blocked job of their partition may start; none: not at all.
    pub fn set_backfill(&mut self, backfill: Option<BackfillParameters>) {
        self.backfill = backfill;
    }

    /// A live job's row.
    #[must_use]
    pub fn job(&self, id: JobId) -> Option<&Job> {
        self.jobs.get(&id).map(|job| &job.record)
    }

    /// Rows of all live jobs, in ascending id.
    pub fn live(&self) -> impl Iterator<Item = &Job> {
        self.jobs.values().map(|job| &job.record)
    }

    /// Rows of live jobs of these ids, ascending.
    pub fn live_in(&self, ids: RangeInclusive<JobId>) -> impl Iterator<Item = &Job> {
        self.jobs.range(ids).map(|job| &job.record)
    }

    /// Rows of jobs that hold an allocation, in ascending id.
    pub fn running(&self) -> impl Iterator<Item = &Job> {
        self.running.iter().filter_map(|id| self.job(*id))
    }

    /// How many jobs hold an allocation.
    #[must_use]
    pub fn running_count(&self) -> usize {
        self.running.len()
    }

    /// How many rows wait; elements of an array that wait together have one.
    #[must_use]
    pub fn waiting_count(&self) -> usize {
        self.jobs.len() - self.running.len()
    }

    /// Whether a job that waits asks for GPUs.
    #[must_use]
    pub fn is_gpu_wanted(&self) -> bool {
        !self.want_gpus.is_empty()
    }

    /// Live rows that are newer than a version, the oldest of them first.
    pub fn newer(&self, version: u64) -> impl Iterator<Item = &Job> {
        let after = (version.saturating_add(1), JobId(0));
        let newer = self.versions.range(after..);
        newer.filter_map(|(_version, id)| self.job(*id))
    }

    /// Live rows of an array, in ascending id; empty for a job outside arrays.
    pub fn rows_of_array(&self, array_job: JobId) -> impl Iterator<Item = &Job> {
        let rows = self.arrays.get(&array_job).map(|array| &array.rows);
        rows.into_iter().flatten().filter_map(|id| self.job(*id))
    }

    /// A dependency that says of arrays that they are some, while any element of them lives.
    #[must_use]
    pub fn naming_arrays(&self, dependency: Dependency) -> Dependency {
        dependency.naming_arrays(|job| self.arrays.contains_key(&job))
    }

    /// An array as it was submitted, while any element lives.
    #[must_use]
    pub fn array_facts(&self, array_job: JobId) -> Option<&ArrayFacts> {
        self.arrays.get(&array_job).map(|array| &array.facts)
    }

    /// When [`State::schedule`] has something to do though nothing happens before.
    #[must_use]
    pub fn next_due(&self) -> Option<Timestamp> {
        let first = |set: &BTreeSet<(Timestamp, JobId)>| set.first().map(|(at, _)| *at);
        let priorities = self.next_priorities();
        let reservation = self.next_reservation();
        [
            first(&self.timed),
            first(&self.expiries),
            self.switch_waits.first(),
            self.deadlines.after(self.last_pass.0),
            priorities,
            reservation,
            self.next_not_exempt(),
            self.cycles.due,
            self.next_budget_check(),
            self.next_usage_reset(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// When it last went through the jobs that wait.
    #[must_use]
    pub fn last_pass(&self) -> Timestamp {
        self.last_pass.0
    }

    /// Whether a job ended since [`State::take_changes`] was last called.
    #[must_use]
    pub fn has_just_ended(&self, id: JobId) -> bool {
        self.ended.iter().any(|record| record.id == id)
    }

    /// Rows that changed since this was last called.
    pub fn take_changes(&mut self) -> Changes {
        let live = std::mem::take(&mut self.changed);
        let shown = std::mem::take(&mut self.shown);
        Changes {
            shown: shown.difference(&live).copied().collect(),
            live: live.into_iter().collect(),
            ended: std::mem::take(&mut self.ended),
            nodes: std::mem::take(&mut self.marked).into_iter().collect(),
            reservations: std::mem::take(&mut self.reserved).into_iter().collect(),
            usage: self.priorities.take_changed(),
            spent: self.spent.take_changed(),
            updated: std::mem::take(&mut self.updated).into_iter().collect(),
            looked: std::mem::take(&mut self.looked),
        }
    }

    /// Starts what can start now, in order, and ends allocations whose time is over. Where a cycle of
    /// backfill takes long, those behind a blocked job are tried each `bf_interval`.
    pub fn schedule(&mut self, now: Timestamp) -> Vec<Action> {
        self.last_pass = LastPass(now);
        self.keep_reservations(now);
        let mut actions = self.end_reservations(now);
        self.reset_usage(now);
        self.replace_nodes(now);
        self.renew_priorities(now);
        self.switch_waits.forget_until(now);
        while let Some((at, job)) = self.timed.first().copied()
            && at <= now
        {
            self.timed.remove(&(at, job));
            self.refile(job, now);
        }
        while let Some((at, job)) = self.expiries.first().copied()
            && at <= now
        {
            self.expiries.remove(&(at, job));
            actions.push(self.time_is_over(job));
        }
        actions.extend(self.end_overdrawn(now));
        self.end_too_late(now);
        self.end_doomed(now);
        self.accrue(now);
        actions.extend(self.pass(now));
        // A job that took a node of a reservation may have left room for the next one.
        while self.replace_nodes(now) {
            actions.extend(self.pass(now));
        }
        // Those that started are counted no more.
        if !actions.is_empty() {
            self.accrue(now);
        }
        self.plan_budget_checks(now);
        actions
    }

    /// Takes a row in; it is filed nowhere yet.
    pub(crate) fn insert(&mut self, record: Job) {
        let id = record.id;
        let (uid, name) = (record.submitter.uid, &record.request.name);
        self.names.insert(uid, name, id);
        self.in_queue.add(&self.cluster, &record);
        let job = LiveJob::new(record, &self.cluster, &mut self.kinds);
        if let Some(array_job) = job.array_job() {
            let array = self.arrays.entry(array_job);
            let array = array.or_insert_with(|| Array::new(job.own_array()));
            if let Some(most) = job.record.request.rare.array_throttle {
                array.facts.throttle = Some(most).filter(|most| *most > 0);
            }
            array.rows.insert(id);
        }
        if job.depends() {
            for target in job.record.dependency.iter().flat_map(|it| it.targets()) {
                self.dependents.entry(target).or_default().insert(id);
            }
        }
        self.versions.insert((job.record.version, id));
        self.jobs.insert(job);
        self.accrual.note(&self.cluster, id);
    }

    /// Something about a job changed that its row holds.
    pub(crate) fn touch(&mut self, id: JobId) {
        if self.new_version(id) {
            self.changed.insert(id);
            self.accrual.note(&self.cluster, id);
        }
    }

    /// Something about a job changed that no row holds: who watches it sees it again.
    pub fn show(&mut self, id: JobId) {
        if self.new_version(id) {
            self.shown.insert(id);
        }
    }

    /// Whether there is such a job.
    fn new_version(&mut self, id: JobId) -> bool {
        self.version += 1;
        let Some(job) = self.jobs.get_mut(&id) else {
            return false;
        };
        self.versions.remove(&(job.record.version, id));
        job.record.version = self.version;
        self.versions.insert((self.version, id))
    }

    pub(crate) fn set_reason(&mut self, id: JobId, reason: PendingReason) {
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        if job.is_pending() && job.reason() != Some(&reason) {
            job.record.state = JobState::Pending { reason };
            self.show(id);
        }
    }
}
