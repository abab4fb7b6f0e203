//! The variables that Slurm sets in a batch script and in the tasks of a step.
//!
//! Each function gives pairs to be set over the environment that the job was submitted with, or
//! that `srun` was called with. Names and values as a step on 22.05.8 was seen to have them; the
//! start and end times came with 23.02.

use crate::records::{ArrayFacts, ArrayTask, JobRecord, JobState, StepRecord};
use crate::requests::{Request, StepRequest};
use crate::values::{
    Allocation, Distribution, GpuCount, GpuIndex, Levels, MemoryRequest, NodeName, NodeShare,
    Seconds, Setter, StepId, Timestamp, Variables, node_list,
};

/// A job that was just given its nodes.
#[derive(Clone, Copy, Debug)]
pub struct StartedJob<'a> {
    /// The job.
    pub record: &'a JobRecord,
    /// Its array as a whole.
    pub array: Option<&'a ArrayFacts>,
    /// What it holds.
    pub allocation: &'a Allocation,
    /// Its start.
    pub since: Timestamp,
    /// Its time limit.
    pub limit: Option<Seconds>,
    /// The cluster's name.
    pub cluster: &'a str,
    /// The memory that a job here gets that asks for none, where the cluster says it.
    pub default_memory: Option<MemoryRequest>,
    /// The machine has GPUs: a job without any gets an empty `CUDA_VISIBLE_DEVICES`.
    pub has_gpus: bool,
}

impl<'a> StartedJob<'a> {
    /// What the record of a job tells; `None` where it does not run. Whatever is known of its array and of
    /// the machine is added by those who know it.
    #[must_use]
    pub fn of(record: &'a JobRecord, cluster: &'a str) -> Option<StartedJob<'a>> {
        let JobState::Running {
            since,
            allocation,
            limit,
            ..
        } = &record.state
        else {
            return None;
        };
        Some(StartedJob {
            record,
            array: None,
            allocation,
            since: *since,
            limit: *limit,
            cluster,
            default_memory: None,
            has_gpus: false,
        })
    }
}

/// The variables that `salloc` sets for its command; a later `srun` reads its job's from them. The
/// controller's answer has less of the job than a node gets, so that who and when are missing.
#[must_use]
pub fn salloc_variables(job: &StartedJob<'_>) -> Variables {
    const OF_NODES: [&str; 7] = [
        "SLURM_JOB_UID",
        "SLURM_JOB_USER",
        "SLURM_JOB_GID",
        "SLURM_JOB_GROUP",
        "SLURM_JOB_START_TIME",
        "SLURM_JOB_END_TIME",
        "SLURM_RESTART_COUNT",
    ];
    let mut set = Setter::default();
    set.allocation(job);
    let of_each = job.record.request.rare.asked.tasks_of_each;
    set.maybe("SLURM_NTASKS_PER_GPU", of_each);
    set.0.retain(|(name, _)| !OF_NODES.contains(&name.as_str()));
    set.0
}

/// The variables of a batch script: the allocation's, and those of its only task on node 0.
#[must_use]
pub fn batch_variables(job: &StartedJob<'_>) -> Variables {
    let mut set = Setter::default();
    set.allocation(job);
    set.to("ENVIRONMENT", "BATCH");
    if let Some(share) = job.allocation.nodes.first() {
        set.to("HOSTNAME", &share.node);
        set.node(share, 0);
        set.to("SLURM_GTIDS", 0);
        set.gpus("SLURM_JOB_GPUS", &share.gpus, job.has_gpus);
    }
    set.task(0, 0);
    set.0
}

/// The variables of a step that are the same on all its nodes. `SLURM_NODELIST` stays the job's;
/// the counts become the step's.
#[must_use]
pub fn step_variables(job: &StartedJob<'_>, step: &StepRecord) -> Variables {
    let mut set = Setter::default();
    set.allocation(job);
    let names = node_list::fold(step.nodes.iter().map(|share| &share.node));
    let tasks: Vec<u32> = step.nodes.iter().map(|share| share.tasks).collect();
    let (count, nodes) = (tasks.iter().sum::<u32>(), tasks.len());
    let tasks = counts_text(&tasks);
    let id = match step.step {
        StepId::Number(number) => number,
        StepId::Batch => BATCH_STEP,
    };
    // As the job has it by its options, not by where it runs.
    set.maybe("SLURM_JOB_PARTITION", job.record.request.partition.as_ref());
    for name in ["SLURM_STEP_ID", "SLURM_STEPID"] {
        set.to(name, id);
    }
    set.to("SLURM_STEP_NODELIST", names);
    set.to("SLURM_STEP_NUM_NODES", nodes);
    set.to("SLURM_STEP_NUM_TASKS", count);
    set.to("SLURM_STEP_TASKS_PER_NODE", &tasks);
    set.to("SLURM_TASKS_PER_NODE", tasks);
    set.to("SLURM_NNODES", nodes);
    set.to("SLURM_NTASKS", count);
    set.to("SLURM_NPROCS", count);
    if job.record.request.rare.component.is_none() {
        let cpus = cpus_per_node(job.allocation);
        set.to("SLURM_JOB_CPUS_PER_NODE_PACK_GROUP_0", cpus);
    }
    // All nodes are on this machine, and so is srun.
    set.to("SLURM_LAUNCH_NODE_IPADDR", THIS_MACHINE);
    set.to("SLURM_SRUN_COMM_HOST", THIS_MACHINE);
    set.to("SRUN_DEBUG", 3);
    set.0
}

/// The variables of a step on one of its nodes; `index` counts the step's nodes from 0, `ranks` are those
/// of its tasks there.
#[must_use]
pub fn step_node_variables(
    step: &StepRecord,
    index: usize,
    ranks: &[u32],
    has_gpus: bool,
) -> Variables {
    let mut set = Setter::default();
    if let Some(share) = step.nodes.get(index) {
        set.node(share, index);
        set.to("SLURM_GTIDS", list_text(ranks));
        set.gpus("SLURM_STEP_GPUS", &share.gpus, has_gpus);
    }
    set.0
}

/// The variables that say how a step's tasks were dealt out on so many nodes. Where nothing is said
/// `srun` deals them out in turn where no node has several, else node by node.
#[must_use]
pub fn distribution_variables(request: &StepRequest, tasks: u32, nodes: usize) -> Variables {
    let mut set = Setter::default();
    set.distribution(request.distribution.as_ref());
    if set.0.is_empty() {
        let in_turn = tasks as usize <= nodes;
        let word = if in_turn { "cyclic" } else { "block" };
        set.to("SLURM_DISTRIBUTION", word);
    }
    set.0
}

/// What a step that counts its tasks by GPUs says of it.
#[must_use]
pub fn tasks_per_gpu_variables(request: &StepRequest) -> Variables {
    let mut set = Setter::default();
    set.maybe("SLURM_NTASKS_PER_TRES", request.tasks_per_gpu);
    set.0
}

/// The variables of one task.
#[must_use]
pub fn task_variables(rank: u32, local: u32) -> Variables {
    let mut set = Setter::default();
    set.task(rank, local);
    set.0
}

/// The variables by which programs find the GPUs that a task may use; empty values hide all.
#[must_use]
pub fn gpu_variables(gpus: &[GpuIndex]) -> Variables {
    let list = list_text(gpus);
    [
        "CUDA_VISIBLE_DEVICES",
        "ROCR_VISIBLE_DEVICES",
        "GPU_DEVICE_ORDINAL",
    ]
    .map(|name| (name.to_owned(), list.clone()))
    .to_vec()
}

/// Counts node by node as Slurm's variables hold them: `2(x3),1`.
#[must_use]
pub fn counts_text(counts: &[u32]) -> String {
    let parts: Vec<String> = counts
        .chunk_by(|left, right| left == right)
        .map(|run| match run {
            [one] => one.to_string(),
            run => format!("{}(x{})", run[0], run.len()),
        })
        .collect();
    parts.join(",")
}

/// Reads `2(x3),1` back; `None` when it is no such text.
#[must_use]
pub fn parse_counts(text: &str) -> Option<Vec<u32>> {
    let mut counts = Vec::new();
    for part in text.split(',') {
        let (count, times) = match part.split_once("(x") {
            Some((count, times)) => (count, times.strip_suffix(')')?.parse().ok()?),
            None => (part, 1_usize),
        };
        if times > MOST_NODES {
            return None;
        }
        counts.extend(std::iter::repeat_n(count.parse::<u32>().ok()?, times));
    }
    Some(counts)
}

/// The address of all nodes.
const THIS_MACHINE: &str = "127.0.0.1";

/// Slurm's number for the batch step.
const BATCH_STEP: u32 = 0xffff_fffb;

/// More nodes than any list has; keeps `1(x4000000000)` from filling the memory.
const MOST_NODES: usize = 1 << 20;

pub(super) fn list_text(numbers: &[u32]) -> String {
    let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
    numbers.join(",")
}

impl Setter {
    pub(super) fn allocation(&mut self, job: &StartedJob<'_>) {
        let (record, request) = (job.record, &job.record.request);
        for name in ["SLURM_JOB_ID", "SLURM_JOBID"] {
            self.to(name, record.id);
        }
        self.to("SLURM_JOB_NAME", &request.name);
        self.to("SLURM_JOB_UID", record.submitter.uid);
        self.to("SLURM_JOB_USER", &record.submitter.user);
        self.to("SLURM_JOB_GID", record.submitter.gid);
        self.to("SLURM_JOB_GROUP", &record.submitter.group);
        self.to("SLURM_CLUSTER_NAME", job.cluster);
        self.to("SLURM_JOB_START_TIME", job.since.seconds());
        let end = job.limit.map(|limit| (job.since + limit).seconds());
        self.maybe("SLURM_JOB_END_TIME", end);
        self.maybe("SLURM_JOB_ACCOUNT", request.account.as_ref());
        self.maybe("SLURM_JOB_PARTITION", record.partitions());
        self.maybe("SLURM_JOB_QOS", request.qos.as_ref());
        self.maybe("SLURM_JOB_RESERVATION", request.rare.reservation.as_ref());
        let restarts = (record.restarts > 0).then_some(record.restarts);
        self.maybe("SLURM_RESTART_COUNT", restarts);
        self.array(record, job.array);
        self.shares(request, job.allocation);
        self.asked(request);
        self.memory(request.memory.or(job.default_memory));
    }

    fn shares(&mut self, request: &Request, allocation: &Allocation) {
        let names = node_list::fold(allocation.nodes.iter().map(|share| &share.node));
        for name in ["SLURM_JOB_NODELIST", "SLURM_NODELIST"] {
            self.to(name, &names);
        }
        for name in ["SLURM_JOB_NUM_NODES", "SLURM_NNODES"] {
            self.to(name, allocation.nodes.len());
        }
        self.to("SLURM_NODE_ALIASES", "(null)");
        self.to("SLURM_JOB_CPUS_PER_NODE", cpus_per_node(allocation));
        let cpus: Vec<u32> = allocation.nodes.iter().map(cpus_of).collect();
        let each = request.cpus_per_task.unwrap_or(1).max(1);
        let room = cpus.iter().map(|cpus| (cpus / each).max(1));
        // Without a number of tasks Slurm fills the nodes.
        let tasks: Vec<u32> = match request.tasks {
            Some(tasks) => {
                let most = request.tasks_per_node.unwrap_or(u32::MAX);
                let room: Vec<u32> = room.map(|room| room.min(most)).collect();
                let dealt = Distribution::even_counts(tasks, &room, false);
                let placed = || allocation.nodes.iter().map(|share| share.tasks).collect();
                dealt.unwrap_or_else(placed)
            }
            None => room.collect(),
        };
        self.to("SLURM_TASKS_PER_NODE", counts_text(&tasks));
    }

    /// What was asked for, by the names from which an `srun` in the job takes it again.
    fn asked(&mut self, request: &Request) {
        for name in ["SLURM_NTASKS", "SLURM_NPROCS"] {
            self.maybe(name, request.tasks);
        }
        self.maybe("SLURM_NTASKS_PER_NODE", request.tasks_per_node);
        self.maybe("SLURM_CPUS_PER_TASK", request.cpus_per_task);
        self.maybe("SLURM_CPUS_PER_GPU", request.rare.cpus_per_gpu);
        // Those that follow from its tasks were not asked for.
        let asked = &request.rare.asked;
        let from_tasks = asked.tasks_of_each.is_some() && asked.per_job.is_empty();
        let gpus = request.gpus.as_ref().filter(|_| !from_tasks);
        self.maybe("SLURM_GPUS", gpus.map(gpus_text));
        // What `--gres` asked for is the job's alone.
        let per_node = request.gpus_per_node.as_ref();
        let per_node = per_node.filter(|_| !request.rare.asked.is_by_gres);
        self.maybe("SLURM_GPUS_PER_NODE", per_node.map(gpus_text));
        let per_task = request.rare.gpus_per_task.as_ref().map(gpus_text);
        self.maybe("SLURM_GPUS_PER_TASK", per_task);
        self.distribution(request.rare.distribution.as_ref());
        if !request.rare.task_nodes.is_empty() {
            // With the repeats, by which a step is dealt out: not folded.
            let names: Vec<&str> = request
                .rare
                .task_nodes
                .iter()
                .map(NodeName::as_str)
                .collect();
            self.to("SLURM_ARBITRARY_NODELIST", names.join(","));
        }
    }

    fn memory(&mut self, memory: Option<MemoryRequest>) {
        match memory {
            Some(MemoryRequest::PerCpu(mib)) => self.to("SLURM_MEM_PER_CPU", mib),
            Some(MemoryRequest::PerNode(mib)) if mib > 0 => self.to("SLURM_MEM_PER_NODE", mib),
            Some(MemoryRequest::PerGpu(mib)) => self.to("SLURM_MEM_PER_GPU", mib),
            Some(MemoryRequest::PerNode(_)) | None => {}
        }
    }

    fn distribution(&mut self, asked: Option<&Distribution>) {
        match asked.map(|asked| (asked, &asked.levels)) {
            Some((_, Levels::Plane(size))) => {
                self.to("SLURM_DISTRIBUTION", "plane");
                self.to("SLURM_DIST_PLANESIZE", size);
            }
            Some((asked, Levels::Dealt(levels))) if !levels.is_empty() => {
                self.to("SLURM_DISTRIBUTION", asked);
            }
            Some((asked, Levels::Arbitrary)) => self.to("SLURM_DISTRIBUTION", asked),
            Some(_) | None => {}
        }
    }

    fn array(&mut self, record: &JobRecord, array: Option<&ArrayFacts>) {
        let Some(place) = &record.array else { return };
        let ArrayTask::One(task) = place.task else {
            return;
        };
        self.to("SLURM_ARRAY_JOB_ID", place.array_job);
        self.to("SLURM_ARRAY_TASK_ID", task);
        if let Some(facts) = array {
            self.to("SLURM_ARRAY_TASK_COUNT", facts.count);
            self.to("SLURM_ARRAY_TASK_MIN", facts.min);
            self.to("SLURM_ARRAY_TASK_MAX", facts.max);
            self.to("SLURM_ARRAY_TASK_STEP", facts.step);
        }
    }

    fn node(&mut self, share: &NodeShare, index: usize) {
        let name = share.node.as_str();
        self.to("SLURMD_NODENAME", name);
        self.to("SLURM_TOPOLOGY_ADDR", name);
        self.to("SLURM_TOPOLOGY_ADDR_PATTERN", "node");
        self.to("SLURM_NODEID", index);
        self.to("SLURM_CPUS_ON_NODE", cpus_of(share));
    }

    fn gpus(&mut self, list_name: &str, gpus: &[GpuIndex], has_gpus: bool) {
        if !gpus.is_empty() {
            self.to(list_name, list_text(gpus));
            self.to("SLURM_GPUS_ON_NODE", gpus.len());
        }
        if has_gpus {
            self.0.extend(gpu_variables(gpus));
        }
    }

    fn task(&mut self, rank: u32, local: u32) {
        self.to("SLURM_PROCID", rank);
        self.to("SLURM_LOCALID", local);
    }
}

/// CPUs of the nodes, as `SLURM_JOB_CPUS_PER_NODE` has them.
pub(super) fn cpus_per_node(allocation: &Allocation) -> String {
    let cpus: Vec<u32> = allocation.nodes.iter().map(cpus_of).collect();
    counts_text(&cpus)
}

pub(super) fn cpus_of(share: &NodeShare) -> u32 {
    u32::try_from(share.cpus.len()).unwrap_or(u32::MAX)
}

fn gpus_text(gpus: &GpuCount) -> String {
    match &gpus.kind {
        Some(kind) => format!("{kind}:{}", gpus.count),
        None => gpus.count.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::StepState;
    use crate::records::testing;
    use crate::values::JobId;
    use crate::values::NodeName;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    fn share(node: &str, cpus: std::ops::Range<u32>, gpus: &[u32], tasks: u32) -> NodeShare {
        NodeShare {
            node: NodeName::new(node),
            cpus: cpus.collect(),
            memory: 1000,
            gpus: gpus.to_vec(),
            tasks,
        }
    }

    fn record() -> JobRecord {
        let request = Request {
            name: "train".to_owned(),
            tasks: Some(3),
            cpus_per_task: Some(2),
            gpus_per_node: Some(GpuCount {
                kind: Some("v100".to_owned()),
                count: 2,
            }),
            memory: Some(MemoryRequest::PerNode(1000)),
            ..Request::default()
        };
        let mut record = testing::job(request, Some(ArrayTask::One(4)));
        record.restarts = 2;
        record
    }

    fn check(variables: &Variables, want: Expect) {
        let lines: Vec<String> = variables.iter().map(|(n, v)| format!("{n}={v}")).collect();
        want.assert_eq(&lines.join("\n"));
    }

    fn with_job(test: impl FnOnce(&StartedJob<'_>)) {
        let record = record();
        let allocation = Allocation {
            nodes: vec![share("n1", 0..4, &[0, 1], 2), share("n2", 0..2, &[2, 3], 1)],
        };
        let array = ArrayFacts {
            count: 3,
            min: 0,
            max: 8,
            step: 4,
            throttle: None,
        };
        test(&StartedJob {
            record: &record,
            array: Some(&array),
            allocation: &allocation,
            since: Timestamp(1_700_000_000_500),
            limit: Some(Seconds(60)),
            cluster: "local",
            default_memory: None,
            has_gpus: true,
        });
    }

    #[test]
    fn a_batch_script() {
        with_job(|job| {
            check(
                &batch_variables(job),
                expect![[r#"
            SLURM_JOB_ID=45
            SLURM_JOBID=45
            SLURM_JOB_NAME=train
            SLURM_JOB_UID=1000
            SLURM_JOB_USER=dave
            SLURM_JOB_GID=100
            SLURM_JOB_GROUP=users
            SLURM_CLUSTER_NAME=local
            SLURM_JOB_START_TIME=1700000000
            SLURM_JOB_END_TIME=1700000060
            SLURM_RESTART_COUNT=2
            SLURM_ARRAY_JOB_ID=42
            SLURM_ARRAY_TASK_ID=4
            SLURM_ARRAY_TASK_COUNT=3
            SLURM_ARRAY_TASK_MIN=0
            SLURM_ARRAY_TASK_MAX=8
            SLURM_ARRAY_TASK_STEP=4
            SLURM_JOB_NODELIST=n[1-2]
            SLURM_NODELIST=n[1-2]
            SLURM_JOB_NUM_NODES=2
            SLURM_NNODES=2
            SLURM_NODE_ALIASES=(null)
            SLURM_JOB_CPUS_PER_NODE=4,2
            SLURM_TASKS_PER_NODE=2,1
            SLURM_NTASKS=3
            SLURM_NPROCS=3
            SLURM_CPUS_PER_TASK=2
            SLURM_GPUS_PER_NODE=v100:2
            SLURM_MEM_PER_NODE=1000
            ENVIRONMENT=BATCH
            HOSTNAME=n1
            SLURMD_NODENAME=n1
            SLURM_TOPOLOGY_ADDR=n1
            SLURM_TOPOLOGY_ADDR_PATTERN=node
            SLURM_NODEID=0
            SLURM_CPUS_ON_NODE=4
            SLURM_GTIDS=0
            SLURM_JOB_GPUS=0,1
            SLURM_GPUS_ON_NODE=2
            CUDA_VISIBLE_DEVICES=0,1
            ROCR_VISIBLE_DEVICES=0,1
            GPU_DEVICE_ORDINAL=0,1
            SLURM_PROCID=0
            SLURM_LOCALID=0"#]],
            )
        });
    }

    #[test]
    fn a_step() {
        let step = StepRecord {
            job: JobId(45),
            restart: 2,
            step: StepId::Number(0),
            name: "hostname".to_owned(),
            nodes: vec![share("n1", 0..2, &[0], 1), share("n2", 0..2, &[2], 1)],
            since: Timestamp(0),
            state: StepState::Running,
            usage: None,
            tasks_usage: None,
            cancelled_by: None,
            submit_line: None,
            srun: None,
        };
        with_job(|job| {
            let mut of_allocation = Setter::default();
            of_allocation.allocation(job);
            let all = step_variables(job, &step);
            let of_step: Variables = all
                .into_iter()
                .filter(|pair| !of_allocation.0.contains(pair))
                .collect();
            check(
                &of_step,
                expect![[r#"
                    SLURM_TASKS_PER_NODE=1(x2)
                    SLURM_NTASKS=2
                    SLURM_NPROCS=2
                    SLURM_STEP_ID=0
                    SLURM_STEPID=0
                    SLURM_STEP_NODELIST=n[1-2]
                    SLURM_STEP_NUM_NODES=2
                    SLURM_STEP_NUM_TASKS=2
                    SLURM_STEP_TASKS_PER_NODE=1(x2)
                    SLURM_JOB_CPUS_PER_NODE_PACK_GROUP_0=4,2
                    SLURM_LAUNCH_NODE_IPADDR=127.0.0.1
                    SLURM_SRUN_COMM_HOST=127.0.0.1
                    SRUN_DEBUG=3"#]],
            );
        });
        check(
            &step_node_variables(&step, 1, &[1], true),
            expect![[r#"
            SLURMD_NODENAME=n2
            SLURM_TOPOLOGY_ADDR=n2
            SLURM_TOPOLOGY_ADDR_PATTERN=node
            SLURM_NODEID=1
            SLURM_CPUS_ON_NODE=2
            SLURM_GTIDS=1
            SLURM_STEP_GPUS=2
            SLURM_GPUS_ON_NODE=1
            CUDA_VISIBLE_DEVICES=2
            ROCR_VISIBLE_DEVICES=2
            GPU_DEVICE_ORDINAL=2"#]],
        );
    }

    #[test]
    fn a_first_start_has_no_restart_count() {
        with_job(|job| {
            let mut record = job.record.clone();
            record.restarts = 0;
            let first = StartedJob {
                record: &record,
                ..*job
            };
            let names: Vec<String> = batch_variables(&first).into_iter().map(|v| v.0).collect();
            assert!(!names.contains(&"SLURM_RESTART_COUNT".to_owned()));
        });
    }

    proptest! {
        #[test]
        fn counts_print_and_parse(counts in prop::collection::vec(0_u32..4, 1..20)) {
            prop_assert_eq!(parse_counts(&counts_text(&counts)), Some(counts));
        }
    }
}
