//! A job as Slurm's controller tells of it: what `squeue` and `scontrol show job` print from.
//!
//! Both commands print estimates for a job that waits and facts for one that runs; which is which
//! is decided here, once.

use crate::records::{
    AccountNumbers, ArrayTask, Ending, JobProlog, JobRecord, JobState, JobStateName, Outcome,
    Recorded, Submitter, WaitStatus, reason_text,
};
use crate::requests::Request;
use crate::values::{
    Allocation, GpuCount, MemoryRequest, NodeName, Seconds, TimeLimitRequest, Timestamp,
    mebibytes_text, node_list,
};
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What the reader of job records knows of the time and of the cluster.
#[derive(Clone, Debug)]
pub struct ViewFacts {
    /// The moment of looking.
    pub now: Timestamp,
    /// Moments are printed in this zone.
    pub zone: TimeZone,
    /// The cluster's name.
    pub cluster: Arc<str>,
    /// Partition of jobs that name none.
    pub partition: Arc<str>,
    /// QOS of jobs that name none.
    pub qos: Arc<str>,
    /// How many nodes there are.
    pub node_count: u32,
    /// CPUs of the largest node.
    pub node_cpus: u32,
    /// MiB of the largest node.
    pub node_memory: u64,
    /// What is known of partitions, by name.
    pub partitions: BTreeMap<String, PartitionView>,
    /// The type of each GPU of the nodes that tell types apart, by its index.
    pub gpu_kinds: BTreeMap<NodeName, Vec<String>>,
    /// The numbers of associations and QOS, where they are asked for.
    pub numbers: AccountNumbers,
    /// When the scheduler last went through the jobs that wait.
    pub looked_at: Option<Timestamp>,
    /// What a controller with these facts counts of a job that waits: `resources::recorded_of`.
    pub recorded: fn(&JobRecord, &ViewFacts) -> Recorded,
}

/// What the reader of a job's record knows of its partition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PartitionView {
    /// Memory of jobs that ask for none.
    pub memory: Option<MemoryRequest>,
    /// The limit of jobs that ask for none.
    pub time: Option<Seconds>,
    /// After how long a job can lose its place to another; `None` where none can.
    pub preempted_after: Option<Seconds>,
    /// CPUs beside each GPU of jobs that ask for GPUs and no CPUs.
    pub cpus_per_gpu: Option<u32>,
    /// MiB beside each GPU of jobs that ask for GPUs.
    pub memory_per_gpu: Option<u64>,
    /// With whom jobs share their nodes that do not ask.
    pub sharing: PartitionSharing,
    /// Jobs in it are listed for who asks only where that is asked.
    pub is_hidden: bool,
}

/// With whom the jobs of a partition share their nodes that do not ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PartitionSharing {
    /// With others, on CPUs of their own.
    #[default]
    Nodes,
    /// With others on the same CPUs (`FORCE:2`).
    Cpus,
    /// With jobs of their user (`ExclusiveUser`).
    User,
    /// With none (`EXCLUSIVE`).
    None,
}

impl ViewFacts {
    /// The partition that a job is in, or would be in.
    #[must_use]
    pub fn partition_of<'a>(&'a self, record: &'a JobRecord) -> &'a str {
        record.partitions().unwrap_or(&self.partition)
    }

    fn view_of(&self, record: &JobRecord) -> Option<&PartitionView> {
        let first = self.partition_of(record).split(',').next()?;
        self.partitions.get(first)
    }

    /// Memory of a job that asks for none: its partition's default, else none, as on a real Slurm without
    /// `DefMemPerCPU` and `DefMemPerNode`.
    #[must_use]
    pub fn memory_of(&self, record: &JobRecord) -> MemoryRequest {
        let own = self.view_of(record).and_then(|view| view.memory);
        own.unwrap_or(MemoryRequest::PerNode(0))
    }
}

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
    pub reason: String,
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
    /// As `wait` says it.
    pub exit_code: WaitStatus,
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
    pub partition_view: PartitionView,
    tres: TresCounts,
    /// The same as was asked for.
    asked_tres: TresCounts,
    /// Type of its GPUs, where it holds those of one, or named one.
    pub gpu_kind: Option<String>,
    /// The cluster.
    pub cluster: Arc<str>,
    /// The moment of looking.
    pub now: Timestamp,
    /// Moments are printed in this zone.
    pub zone: TimeZone,
}

/// A job's place in an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayInfo {
    /// The array's id.
    pub job: u32,
    /// One element, or those that wait.
    pub task: ArrayTaskInfo,
    /// At most so many at once.
    pub throttle: Option<u32>,
}

/// One element, or those that wait together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArrayTaskInfo {
    /// One.
    One(u32),
    /// Those that wait, ascending.
    Waiting(Vec<u32>),
}

impl JobInfo {
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
            array: array_info(record),
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
                Some(JobProlog::Nodes) => "Prolog".to_owned(),
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
            exit_code: exit_code(&record.state),
            submitted: record.submitted,
            eligible: record.eligible.or_else(|| begin(record, facts.now)),
            accrues: record
                .accrues
                .or(record.eligible.filter(|_| !record.is_age_limited)),
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
                Some(_) if counts.allocation.is_none() => request.cpus_per_task,
                Some(_) => Some(request.cpus_per_task.unwrap_or(1)),
                None => Some(request.cpus_per_task.unwrap_or(1)),
            },
            min_cpus_per_node: counts.min_cpus_per_node,
            memory: match request.memory {
                // Beside a GPU stands its own.
                None if brings_memory && counts.allocation.is_some() => MemoryRequest::PerNode(0),
                None => facts.memory_of(record),
                // Beside memory a GPU stands the default a CPU, until it has its place.
                Some(MemoryRequest::PerGpu(_)) if counts.allocation.is_none() => {
                    facts.memory_of(record)
                }
                Some(MemoryRequest::PerGpu(_)) => MemoryRequest::PerNode(0),
                Some(memory) => memory,
            },
            partition_view: view.cloned().unwrap_or_default(),
            tres: counts.tres(request, facts),
            asked_tres: counts.asked,
            allocation: counts.allocation,
            gpu_kind,
            cluster: Arc::clone(&facts.cluster),
            now: facts.now,
            zone: facts.zone.clone(),
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
        self.asked_tres.cpus
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

/// What `TRES` counts, kept as numbers: few commands print it, of few jobs.
#[derive(Clone, Debug, PartialEq)]
struct TresCounts {
    cpus: u32,
    memory: u64,
    nodes: u32,
    gpus: u64,
    /// Its GPUs by type.
    kinds: Vec<(String, u64)>,
}

impl TresCounts {
    fn counts(&self) -> BTreeMap<String, u64> {
        let own = [
            ("cpu", self.cpus.into()),
            ("mem", self.memory),
            ("node", self.nodes.into()),
            ("billing", self.cpus.into()),
            ("gres/gpu", self.gpus),
        ];
        let own = own.map(|(name, count)| (name.to_owned(), count));
        let kinds = self.kinds.iter();
        let kinds = kinds.map(|(kind, count)| (format!("gres/gpu:{kind}"), *count));
        own.into_iter().chain(kinds).collect()
    }

    /// Every CPU bills one: the embedded engine has no other weights.
    fn text(&self) -> String {
        let memory = match self.memory {
            0 => String::new(),
            memory => format!(",mem={}", mebibytes_text(memory)),
        };
        let mut text = format!(
            "cpu={cpus}{memory},node={nodes},billing={cpus}",
            cpus = self.cpus,
            nodes = self.nodes,
        );
        if self.gpus > 0 {
            text.push_str(&format!(",gres/gpu={}", self.gpus));
        }
        for (kind, count) in &self.kinds {
            text.push_str(&format!(",gres/gpu:{kind}={count}"));
        }
        text
    }
}

/// Nodes, CPUs and tasks: held by a job that runs, counted by the controller of one that waits.
struct Counts {
    allocation: Option<Allocation>,
    nodes: u32,
    /// Nodes in `TRES`.
    tres_nodes: u32,
    max_nodes: u32,
    cpus: u32,
    tasks: u32,
    min_cpus_per_node: u32,
    memory: u64,
    gpus: u64,
    asked: TresCounts,
}

impl Counts {
    fn of(record: &JobRecord, facts: &ViewFacts) -> Counts {
        let recorded = (facts.recorded)(record, facts);
        let asked = TresCounts {
            cpus: recorded.cpus,
            memory: recorded.mem_mib,
            nodes: recorded.least_nodes,
            gpus: recorded.gpu_count(),
            kinds: asked_kinds(&record.request, recorded.gpu_count()),
        };
        let Some(allocation) = allocation(&record.state) else {
            return Counts {
                allocation: None,
                nodes: recorded.nodes,
                tres_nodes: recorded.least_nodes,
                // One that ran before is shown with the nodes that it had.
                max_nodes: recorded
                    .most_nodes
                    .filter(|_| record.restarts == 0)
                    .unwrap_or(0),
                cpus: recorded.cpus,
                tasks: recorded.tasks,
                min_cpus_per_node: recorded.min_cpus_per_node,
                memory: recorded.mem_mib,
                gpus: recorded.gpu_count(),
                asked,
            };
        };
        let nodes = count(allocation.nodes.len());
        // A former start may have been resized.
        let resized = record.resized.filter(|resized| {
            let since = match &record.state {
                JobState::Running { since, .. } => Some(since),
                JobState::Ended { ran, .. } => ran.as_ref().map(|ran| &ran.since),
                JobState::Pending { .. } => None,
            };
            since.is_none_or(|since| resized >= since)
        });
        Counts {
            nodes,
            tres_nodes: nodes,
            max_nodes: 0,
            cpus: count(allocation.cpus()),
            tasks: match resized {
                // Without a number of tasks it has one on each node.
                Some(_) if asks_no_tasks(&record.request) => nodes,
                Some(_) => recorded.tasks,
                None if asks_cpus(&record.request) => recorded.tasks,
                None => recorded.tasks.max(allocation.tasks()),
            },
            min_cpus_per_node: recorded.min_cpus_per_node,
            memory: allocation.nodes.iter().map(|share| share.memory).sum(),
            gpus: allocation.gpus() as u64,
            allocation: Some(allocation.clone()),
            asked,
        }
    }

    /// What `TRES` says.
    fn tres(&self, request: &Request, facts: &ViewFacts) -> TresCounts {
        let mut kinds: Vec<(String, u64)> = Vec::new();
        if self.gpus > 0 {
            kinds.extend(self.held_kinds(facts));
            if kinds.is_empty() {
                kinds = asked_kinds(request, self.gpus);
            }
        }
        TresCounts {
            cpus: self.cpus,
            memory: self.memory,
            nodes: self.tres_nodes,
            gpus: self.gpus,
            kinds,
        }
    }

    /// The type of the GPUs that it holds, where they are all of one.
    fn one_kind(&self, facts: &ViewFacts) -> Option<String> {
        let mut kinds = self.held_kinds(facts).into_keys();
        kinds.next().filter(|_| kinds.next().is_none())
    }

    /// How many GPUs of each type it holds, where its nodes tell types apart.
    fn held_kinds(&self, facts: &ViewFacts) -> BTreeMap<String, u64> {
        let mut held = BTreeMap::new();
        let shares = self.allocation.iter().flat_map(|it| &it.nodes);
        for share in shares {
            let kinds = facts.gpu_kinds.get(&share.node);
            for gpu in &share.gpus {
                let kind = kinds.and_then(|kinds| kinds.get(*gpu as usize));
                if let Some(kind) = kind {
                    *held.entry(kind.clone()).or_default() += 1;
                }
            }
        }
        held
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

/// So many GPUs of the type that it asked for.
fn asked_kinds(request: &Request, gpus: u64) -> Vec<(String, u64)> {
    let kind = asked_gpus(request).and_then(|count| count.kind.clone());
    let kind = kind.filter(|_| gpus > 0);
    kind.map(|kind| (kind, gpus)).into_iter().collect()
}

/// Whether its CPUs were asked for beside its tasks.
fn asks_cpus(request: &Request) -> bool {
    let options = request.rare.node_options.as_deref();
    options.is_some_and(|options| options.cpus.is_some())
}

fn asks_no_tasks(request: &Request) -> bool {
    request.tasks.is_none() && request.tasks_per_node.is_none()
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

fn allocation(state: &JobState) -> Option<&Allocation> {
    match state {
        JobState::Pending { .. } => None,
        JobState::Running { allocation, .. } => Some(allocation),
        JobState::Ended { ran, .. } => ran.as_ref().map(|ran| &ran.allocation),
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

fn array_info(record: &JobRecord) -> Option<ArrayInfo> {
    let place = record.array.as_ref()?;
    let task = match &place.task {
        ArrayTask::One(task) => ArrayTaskInfo::One(*task),
        ArrayTask::Waiting(spec) => ArrayTaskInfo::Waiting(spec.indices.clone()),
    };
    Some(ArrayInfo {
        job: place.array_job.0,
        task,
        throttle: place.throttle,
    })
}

/// `--gpus`, `--gpus-per-node` or `--gpus-per-task`, whichever was asked.
fn asked_gpus(request: &Request) -> Option<&GpuCount> {
    request
        .gpus
        .as_ref()
        .or(request.gpus_per_node.as_ref())
        .or(request.rare.gpus_per_task.as_ref())
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
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
