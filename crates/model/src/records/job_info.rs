//! A job as Slurm's controller tells of it: what `squeue` and `scontrol show job` print from.
//!
//! Both commands print estimates for a job that waits and facts for one that runs; which is which
//! is decided here, once.

use super::job_counts::{Counts, TresCounts, asked_gpus};
use crate::records::{
    ArrayInfo, ArrayTaskInfo, Ending, JobProlog, JobRecord, JobState, JobStateName, Outcome,
    PartitionView, Submitter, ViewFacts, WaitStatus, reason_text,
};
use crate::requests::Request;
use crate::values::{
    Allocation, MemoryRequest, MomentStyle, NodeName, Seconds, TimeLimitRequest, Timestamp,
    node_list,
};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A job as Slurm tells of it.
#[derive(Clone, Debug, PartialEq)]
pub struct JobInfo {
    /// Its own id.
    pub id: u32,
    /// What it asks for.
    pub request: Arc<Request>,
    /// Whose it is.
    pub submitter: Arc<Submitter>,
    /// Its array.
    pub array: Option<ArrayInfo>,
    /// `--qos`, or the default one.
    pub qos: Arc<str>,
    /// `--partition`, or the default one.
    pub partition: Arc<str>,
    /// Whether amounts of memory and disk are shown in MiB, however large they are.
    pub in_mebibytes: bool,
    /// The state that is printed.
    pub state: JobStateName,
    /// The state below COMPLETING.
    pub base_state: JobStateName,
    /// The number of its association; 0 where that was not asked for or there is none.
    pub association: u32,
    /// The number of its QOS, likewise.
    pub qos_number: u32,
    /// `Resources`, `NonZeroExitCode`, `None` …
    pub reason: Cow<'static, str>,
    /// What it still waits for, or did when it was cancelled, each with `(unfulfilled)` or `(failed)`.
    pub dependency: Option<String>,
    /// Comes back after a lost node.
    pub requeue: bool,
    /// How often it was requeued.
    pub restarts: u32,
    /// Has a batch script.
    pub batch: bool,
    /// 0 is held.
    pub priority: u32,
    /// The reservation that it asks for or is in; of several that it names, all, also while it runs.
    pub reservation: Option<String>,
    /// Of these the one that it is counted for: that in which it runs, else as `reservation`.
    pub counted_reservation: Option<String>,
    /// As `wait` says it.
    pub exit_code: WaitStatus,
    /// The worst end of its steps, where it was asked for.
    pub derived_exit_code: WaitStatus,
    /// Submission, or the last requeue.
    pub submitted: Timestamp,
    /// Since when it may start.
    pub eligible: Option<Timestamp>,
    /// Since when it gains priority by its age.
    pub accrues: Option<Timestamp>,
    /// When it last gave back nodes or lost some while it ran.
    pub resized: Option<Timestamp>,
    /// When the scheduler last looked at it.
    pub looked_at: Option<Timestamp>,
    /// Its start: real, or planned, or the time before which it may not start.
    pub start: Option<Timestamp>,
    /// Its end: real, or the time limit's.
    pub end: Option<Timestamp>,
    /// Its time limit; `None` is unlimited.
    pub limit: Option<Seconds>,
    /// How long it has run, in seconds.
    pub run_time: i64,
    /// Since when another job may take its place, where that is possible at all.
    pub preemptible: Option<Timestamp>,
    /// When it was last suspended or resumed, and how many seconds it had run until then.
    pub suspended: Option<(Timestamp, i64)>,
    /// When it lost its place to another, while it is being ended for that.
    pub preempted: Option<Timestamp>,
    /// Its nodes.
    pub nodes: Vec<NodeName>,
    /// What it holds or held.
    pub allocation: Option<Allocation>,
    /// The nodes that are planned for it while it waits.
    pub planned_nodes: Vec<NodeName>,
    /// Nodes that it holds, or that it will need at least.
    pub node_count: u32,
    /// `--nodes`' upper end while it waits; 0 is none.
    pub max_nodes: u32,
    /// CPUs that it holds, or that it will need at least.
    pub cpus: u32,
    /// Tasks.
    pub tasks: u32,
    /// `--cpus-per-task`; `None` where GPUs decide.
    pub cpus_per_task: Option<u32>,
    /// CPUs that a node must have.
    pub min_cpus_per_node: u32,
    /// Memory as asked, or the default.
    pub memory: MemoryRequest,
    /// What is known of its partition.
    pub partition_view: Arc<PartitionView>,
    tres: TresCounts,
    /// The same as was asked for.
    asked_tres: TresCounts,
    /// CPUs that were asked, with those that memory brings (`MaxMemPerCPU`).
    asked_cpus: u32,
    /// Type of its GPUs, where it holds those of one, or named one.
    pub gpu_kind: Option<String>,
    /// The cluster.
    pub cluster: Arc<str>,
    /// The moment of looking.
    pub now: Timestamp,
    /// How moments are printed.
    pub moments: MomentStyle,
}

impl JobInfo {
    /// By which Slurm keeps its records: the one that has an array's id, of what waits of it, is its last.
    #[must_use]
    pub fn place_among_records(&self) -> (u32, bool, u32) {
        match &self.array {
            Some(array) => (array.job, self.id == array.job, self.id),
            None => (self.id, false, self.id),
        }
    }

    /// What Slurm would tell of the job.
    #[must_use]
    pub fn of(record: &JobRecord, facts: &ViewFacts) -> JobInfo {
        let request = &record.request;
        let counts = Counts::of(record, facts);
        let gpu_kind = counts
            .one_kind(facts)
            .or_else(|| asked_gpus(request)?.kind.clone());
        let span = Span::of(record, facts);
        let view = facts.view_of(record);
        let preempted_after = view.and_then(|view| view.preempted_after);
        let memory_per_gpu = view.and_then(|view| view.memory_per_gpu);
        let brings_memory = counts.asked.gpus > 0 && memory_per_gpu.is_some_and(|mib| mib > 0);
        let state = JobStateName::of(&record.state);
        let prolog = record.prolog.as_ref();
        let prolog = prolog.filter(|_| state == JobStateName::Running);
        let qos: Arc<str> = match &request.qos {
            Some(qos) => qos.as_str().into(),
            None => Arc::clone(&facts.qos),
        };
        JobInfo {
            id: record.id.0,
            request: Arc::clone(&record.request),
            submitter: Arc::clone(&record.submitter),
            array: ArrayInfo::of(record),
            association: facts.numbers.association(
                request.account.as_deref().unwrap_or_default(),
                &record.submitter.user,
                facts.partition_of(record),
            ),
            qos_number: facts.numbers.qos(&qos),
            qos,
            partition: match record.partitions() {
                Some(names) => names.into(),
                None => Arc::clone(&facts.partition),
            },
            in_mebibytes: false,
            state: match prolog {
                Some(JobProlog::Controller) => JobStateName::Configuring,
                _ => state,
            },
            base_state: JobStateName::base_of(&record.state),
            reason: match prolog {
                Some(JobProlog::Nodes) => "Prolog".into(),
                _ => reason_text(&record.state),
            },
            dependency: record.dependency.clone(),
            requeue: request.rare.requeue.unwrap_or(true),
            restarts: record.restarts,
            // A later component counts as one of a batch job though it has no script of its own.
            batch: record.batch || request.rare.component.is_some_and(|place| place.batch),
            priority: if record.state.is_suspended() {
                0
            } else {
                record.priority
            },
            reservation: told_reservation(record),
            counted_reservation: record.reservation.clone(),
            exit_code: exit_code(&record.state),
            derived_exit_code: WaitStatus::default(),
            submitted: record.submitted,
            eligible: record.eligible.or_else(|| begin(record, facts.now)),
            accrues: record.accrues.or(record
                .eligible
                .filter(|_| !record.is_age_limited && !started_at_once(record))),
            resized: record.resized,
            looked_at: match record.state {
                JobState::Pending { .. } => facts.looked_at,
                JobState::Running { since, .. } => Some(since),
                JobState::Ended { ref ran, .. } => ran.as_ref().map(|ran| ran.since),
            },
            start: span.start,
            end: span.end,
            limit: span.limit,
            run_time: span.run_time,
            preemptible: span
                .start
                .filter(|_| counts.allocation.is_some())
                .zip(preempted_after)
                .map(|(start, after)| start + after),
            suspended: suspended(&record.state),
            preempted: match record.state {
                JobState::Running {
                    ending: Some(Ending::Preempted { at, .. }),
                    ..
                } => Some(at),
                _ => None,
            },
            nodes: counts
                .allocation
                .iter()
                .flat_map(|allocation| allocation.nodes.iter().map(|share| share.node.clone()))
                .collect(),
            planned_nodes: planned_nodes(record),
            node_count: counts.nodes,
            max_nodes: counts.max_nodes,
            cpus: counts.cpus,
            tasks: counts.tasks,
            cpus_per_task: match request.rare.cpus_per_gpu {
                // Until it has its place.
                Some(_) if counts.allocation.is_none() => Some(request.cpus_per_task.unwrap_or(1)),
                _ => Some(
                    request
                        .cpus_per_task
                        .unwrap_or(1)
                        .saturating_mul(facts.cpus_for_memory(record)),
                ),
            },
            min_cpus_per_node: counts.min_cpus_per_node,
            memory: match request.memory {
                // Beside a GPU stands its own.
                None if brings_memory && counts.allocation.is_some() => MemoryRequest::PerNode(0),
                None => facts.memory_of(record),
                // Beside memory a GPU stands the default a CPU, until it has its place; none a GPU leaves it to that.
                Some(MemoryRequest::PerGpu(size)) if size == 0 || counts.allocation.is_none() => {
                    facts.memory_of(record)
                }
                Some(MemoryRequest::PerGpu(_)) => MemoryRequest::PerNode(0),
                // With more CPUs it is less of each.
                Some(MemoryRequest::PerCpu(size)) => {
                    let times = u64::from(facts.cpus_for_memory(record));
                    MemoryRequest::PerCpu(size.div_ceil(times))
                }
                Some(memory) => memory,
            },
            partition_view: view.cloned().unwrap_or_default(),
            tres: counts.tres(record, facts),
            asked_cpus: counts.asked_cpus,
            asked_tres: counts.asked,
            allocation: counts.allocation,
            gpu_kind,
            cluster: Arc::clone(&facts.cluster),
            now: facts.now,
            moments: facts.moments.clone(),
        }
    }

    /// Since when it may start, as Slurm tells of it: of one that is held while it runs it no longer knows.
    #[must_use]
    pub fn told_eligible(&self) -> Option<Timestamp> {
        let is_held = self.base_state == JobStateName::Running && self.priority == 0;
        self.eligible.filter(|_| !is_held)
    }

    /// Since when it gains priority by its age; one that waits for a moment does not yet.
    #[must_use]
    pub fn accrues_since(&self) -> Option<Timestamp> {
        self.accrues.filter(|since| *since <= self.now)
    }

    /// `cpu=1,mem=100M,node=1,billing=1`
    #[must_use]
    pub fn tres(&self) -> String {
        self.tres.text()
    }

    /// What it asked for, as the controller counted it, in the same form.
    #[must_use]
    pub fn asked_tres(&self) -> String {
        self.asked_tres.text()
    }

    /// How many CPUs it asked for, which may be fewer than it holds.
    #[must_use]
    pub fn asked_cpus(&self) -> u32 {
        self.asked_cpus
    }

    /// How many GPUs it asked for.
    #[must_use]
    pub fn gpus_asked(&self) -> u64 {
        self.asked_tres.gpus
    }

    /// How many CPUs it has, or will need: `4`, and `2-3` of one that waits and was given a range.
    #[must_use]
    pub fn cpus_text(&self) -> String {
        let range = self.node_options().cpus.filter(|_| self.is_pending());
        range.map_or_else(|| self.cpus.to_string(), |range| range.to_string())
    }

    /// How many nodes it asked for.
    #[must_use]
    pub fn asked_nodes(&self) -> u32 {
        self.asked_tres.nodes
    }

    /// What `TRES` counts, by name.
    #[must_use]
    pub fn tres_counts(&self) -> BTreeMap<String, u64> {
        self.tres.counts()
    }

    /// The type of its GPUs after a colon; nothing where it has none.
    pub(crate) fn gpu_kind_text(&self) -> String {
        let kind = self.gpu_kind.as_ref();
        kind.map(|kind| format!(":{kind}")).unwrap_or_default()
    }

    /// Whether it waits: PENDING or SPECIAL_EXIT, and not on its way there.
    #[must_use]
    pub fn is_pending(&self) -> bool {
        matches!(
            self.state,
            JobStateName::Pending | JobStateName::SpecialExit
        )
    }

    /// `12`, `12_3`, `12_[0-3]`, `12+1`; `whole` leaves nothing out of a long array.
    #[must_use]
    pub fn id_text(&self, whole: bool) -> String {
        if let Some(place) = self.component() {
            return format!("{}+{}", place.leader, place.offset);
        }
        match &self.array {
            None => self.id.to_string(),
            Some(array) => match &array.task {
                ArrayTaskInfo::One(task) => format!("{}_{task}", array.job),
                ArrayTaskInfo::Waiting(tasks) => {
                    let tasks = crate::values::array_elements_text(tasks, array.throttle, whole);
                    format!("{}_[{tasks}]", array.job)
                }
            },
        }
    }
}

/// When a job began and will end.
struct Span {
    start: Option<Timestamp>,
    end: Option<Timestamp>,
    limit: Option<Seconds>,
    run_time: i64,
}

impl Span {
    fn of(record: &JobRecord, facts: &ViewFacts) -> Span {
        let now = facts.now;
        let limit_asked = || asked_limit(record, facts);
        match &record.state {
            JobState::Pending { .. } => {
                let begin = begin(record, now);
                let limit = limit_asked();
                let planned = record.planned.as_ref().map(|planned| planned.at);
                let start = planned.or(begin);
                Span {
                    start,
                    end: start.zip(limit).map(|(start, limit)| start + limit),
                    limit,
                    run_time: 0,
                }
            }
            JobState::Running {
                since,
                limit,
                suspension,
                ..
            } => Span {
                start: Some(*since),
                end: record.state.shown_end(),
                limit: *limit,
                run_time: match suspension {
                    None => now.seconds() - since.seconds(),
                    Some(suspension) => (now.since(*since) - suspension.until(now)) / 1000,
                },
            },
            JobState::Ended { at, ran, .. } => Span {
                start: Some(ran.as_ref().map_or(*at, |ran| ran.since)),
                end: Some(*at),
                limit: ran.as_ref().map_or_else(limit_asked, |ran| ran.limit),
                run_time: ran.as_ref().map_or(0, |ran| {
                    at.seconds() - ran.since.seconds() - ran.suspended_ms / 1000
                }),
            },
        }
    }
}

/// The nodes on which it is planned to start, while it waits.
fn planned_nodes(record: &JobRecord) -> Vec<NodeName> {
    let waits = matches!(record.state, JobState::Pending { .. });
    let planned = record.planned.iter().filter(|_| waits);
    planned.flat_map(|planned| planned.nodes.clone()).collect()
}

/// The moment before which it may not start, while that is to come.
fn begin(record: &JobRecord, now: Timestamp) -> Option<Timestamp> {
    let waits = matches!(record.state, JobState::Pending { .. });
    record.not_before.filter(|begin| waits && *begin > now)
}

/// Whether it is an allocation that found its place as it was asked for: it gained no priority before. Components
/// find theirs later.
fn started_at_once(record: &JobRecord) -> bool {
    let since = match &record.state {
        JobState::Pending { .. } => None,
        JobState::Running { since, .. } => Some(*since),
        JobState::Ended { ran, .. } => ran.as_ref().map(|ran| ran.since),
    };
    let is_allocation = !record.batch && record.request.rare.component.is_none();
    is_allocation && since.is_some_and(|since| since.since(record.submitted) < 1000)
}

/// When a running job was last suspended or resumed, and how many seconds it had run until then.
fn suspended(state: &JobState) -> Option<(Timestamp, i64)> {
    let JobState::Running {
        since,
        suspension: Some(suspension),
        ..
    } = state
    else {
        return None;
    };
    if !suspension.was_suspended() {
        return None;
    }
    let ran = suspension.at.since(*since) - suspension.before_ms;
    Some((suspension.at, ran / 1000))
}

/// What it asks, or what limits let it have, or the default of its partition.
fn asked_limit(record: &JobRecord, facts: &ViewFacts) -> Option<Seconds> {
    match record.request.time {
        Some(TimeLimitRequest::Limit(limit)) => Some(limit),
        Some(TimeLimitRequest::Unlimited) => None,
        None => record
            .limit_by_rules
            .or_else(|| facts.view_of(record).and_then(|view| view.time)),
    }
}

fn exit_code(state: &JobState) -> WaitStatus {
    match state {
        // Slurm shows a script's end at once, while the job's other steps still end.
        JobState::Running {
            ending:
                Some(Ending::End(
                    outcome @ (Outcome::Failed { .. } | Outcome::OutOfMemory | Outcome::ScriptLost),
                )),
            ..
        } => outcome.exit(),
        JobState::Pending { .. } | JobState::Running { .. } => WaitStatus::default(),
        JobState::Ended { outcome, .. } => outcome.exit(),
    }
}

/// Nodes in Slurm's folded form, sorted as Slurm's commands print them.
pub(crate) fn node_list_text(nodes: &[NodeName]) -> String {
    if nodes.is_empty() {
        return String::new();
    }
    let mut names = nodes.to_vec();
    node_list::sort(&mut names);
    node_list::fold(&names)
}

/// One that named several keeps all of their names while it runs in one of them.
fn told_reservation(record: &JobRecord) -> Option<String> {
    let own = record.reservation.as_deref()?;
    let asked = record.request.rare.reservation.as_deref();
    let several = asked.filter(|asked| asked.contains(',') && asked.split(',').any(|it| it == own));
    Some(several.unwrap_or(own).to_owned())
}
