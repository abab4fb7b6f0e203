//! The variables that Slurm sets in a batch script and in the tasks of a step.
//!
//! Each function gives pairs to be set over the environment that the job was submitted with, or
//! that `srun` was called with. Names and values as a step on 22.05.8 was seen to have them; the
//! start and end times came with 23.02.

use super::job_variables::cpus_per_node;
pub use super::task_counts::{counts_text, parse_counts};
use crate::records::{ArrayFacts, JobRecord, JobState, StepRecord};
use crate::requests::StepRequest;
use crate::values::{
    Allocation, GpuIndex, MemoryRequest, Seconds, Setter, StepId, Timestamp, Variables, node_list,
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
    // It counts tasks anew by the nodes that were given.
    let request = &job.record.request;
    let nodes = u32::try_from(job.allocation.nodes.len()).unwrap_or(u32::MAX);
    if let Some(tasks) = request.tasks {
        let each = request.tasks_per_node;
        let tasks = each.map_or(tasks.max(nodes), |each| nodes.saturating_mul(each));
        for name in ["SLURM_NTASKS", "SLURM_NPROCS"] {
            set.to(name, tasks);
        }
    }
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

/// What a step asks for its tasks, in place of what its job did.
#[must_use]
pub fn step_request_variables(request: &StepRequest) -> Variables {
    let mut set = Setter::default();
    set.maybe("SLURM_CPUS_PER_TASK", request.cpus_per_task);
    set.maybe("SLURM_NTASKS_PER_NODE", request.tasks_per_node);
    set.0
}

/// How the tasks of a step share the GPUs of a node, where so many of them are. One that is alone is not bound.
#[must_use]
pub fn gpu_sharing_variables(request: &StepRequest, tasks: usize) -> Variables {
    let mut set = Setter::default();
    set.maybe("SLURM_NTASKS_PER_TRES", request.tasks_per_gpu);
    let bind = request.gpu_bind.as_ref().filter(|_| tasks > 1);
    set.maybe("SLURMD_TRES_BIND", bind.map(|bind| &bind.text));
    set.0
}

/// The variables of one task.
#[must_use]
pub fn task_variables(rank: u32, local: u32) -> Variables {
    let mut set = Setter::default();
    set.task(rank, local);
    set.0
}

/// By these programs find the GPUs that they may use: NVIDIA's, AMD's, and those of OpenCL.
pub const GPU_VARIABLES: [&str; 3] = [
    "CUDA_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
];

/// The variables by which programs find the GPUs that a task may use; empty values hide all.
#[must_use]
pub fn gpu_variables(gpus: &[GpuIndex]) -> Variables {
    let list = list_text(gpus);
    GPU_VARIABLES
        .map(|name| (name.to_owned(), list.clone()))
        .to_vec()
}

/// The address of all nodes.
const THIS_MACHINE: &str = "127.0.0.1";

/// Slurm's number for the batch step.
const BATCH_STEP: u32 = 0xffff_fffb;

pub(super) fn list_text(numbers: &[u32]) -> String {
    let numbers: Vec<String> = numbers.iter().map(u32::to_string).collect();
    numbers.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::testing;
    use crate::records::{ArrayTask, StepState};
    use crate::requests::Request;
    use crate::values::{GpuCount, JobId, NodeName, NodeShare};
    use expect_test::{Expect, expect};
    use std::sync::Arc;

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
                    SLURM_SRUN_COMM_HOST=127.0.0.1"#]],
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

    /// As `sbatch` and `salloc` with `-n10 --ntasks-per-node=3` on 22.05.8.
    #[test]
    fn tasks_of_a_node_are_counted_on_each() {
        with_job(|job| {
            let mut record = job.record.clone();
            record.request = Arc::new(Request {
                tasks: Some(10),
                tasks_per_node: Some(3),
                ..Request::default()
            });
            let names = ["n1", "n2", "n3", "n4"];
            let nodes = names.map(|node| share(node, 0..3, &[], 2)).to_vec();
            let allocation = Allocation { nodes };
            let started = StartedJob {
                record: &record,
                allocation: &allocation,
                ..*job
            };
            let of = |variables: &Variables| {
                let wanted = ["SLURM_NTASKS", "SLURM_TASKS_PER_NODE"];
                let of = |wanted: &str| variables.iter().find(|(name, _)| name == wanted);
                wanted.map(|name| of(name).map(|(_, value)| value.clone()).unwrap_or_default())
            };
            assert_eq!(of(&batch_variables(&started)), ["10", "3(x4)"]);
            assert_eq!(of(&salloc_variables(&started)), ["12", "3(x4)"]);
            // Of more nodes than tasks each has one, as with `-n1 -C 'v100*4'`.
            let mut record = record.clone();
            record.request = Arc::new(Request {
                tasks: Some(1),
                ..Request::default()
            });
            let started = StartedJob {
                record: &record,
                allocation: &allocation,
                ..*job
            };
            assert_eq!(of(&salloc_variables(&started)), ["4", "1(x4)"]);
        });
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
}
