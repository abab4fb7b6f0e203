//! Groups of variables of a job: of its allocation, its array, a node, GPUs, a task.

use super::job_environment::{StartedJob, gpu_variables, list_text};
use super::task_counts::counts_text;
use crate::records::{ArrayFacts, ArrayTask, JobRecord};
use crate::requests::Request;
use crate::values::{
    Allocation, Distribution, GpuCount, GpuIndex, Levels, MemoryRequest, NodeName, NodeShare,
    Setter, node_list,
};

impl Setter {
    pub(super) fn allocation(&mut self, job: &StartedJob<'_>) {
        let (record, request) = (job.record, &job.record.request);
        for name in ["SLURM_JOB_ID", "SLURM_JOBID"] {
            self.to(name, record.id);
        }
        // `sbatch` names it; a script that is piped in has this name and no variable.
        if !record.batch || request.name != "sbatch" {
            self.to("SLURM_JOB_NAME", &request.name);
        }
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
        self.maybe("SLURM_JOB_RESERVATION", record.reservation.as_ref());
        let restarts = (record.restarts > 0).then_some(record.restarts);
        self.maybe("SLURM_RESTART_COUNT", restarts);
        self.array(record, job.array);
        self.shares(request, job.allocation);
        self.asked(request);
        self.memory(request.asked_memory().or(job.default_memory));
    }

    pub(super) fn shares(&mut self, request: &Request, allocation: &Allocation) {
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
        let tasks: Vec<u32> = match (request.tasks_per_node, request.tasks) {
            // So many are counted on each, also where fewer are asked in all (`build_node_details` of
            // node_scheduler.c).
            (Some(each), _) => room.map(|_| each).collect(),
            (None, Some(tasks)) => {
                let room: Vec<u32> = room.collect();
                // No node that was given is without one.
                let nodes = u32::try_from(room.len()).unwrap_or(u32::MAX);
                let tasks = tasks.max(nodes);
                let dealt = Distribution::even_counts(tasks, &room, false);
                let placed = || allocation.nodes.iter().map(|share| share.tasks).collect();
                dealt.unwrap_or_else(placed)
            }
            (None, None) => room.collect(),
        };
        self.to("SLURM_TASKS_PER_NODE", counts_text(&tasks));
    }

    /// What was asked for, by the names from which an `srun` in the job takes it again.
    pub(super) fn asked(&mut self, request: &Request) {
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

    pub(super) fn memory(&mut self, memory: Option<MemoryRequest>) {
        match memory {
            Some(MemoryRequest::PerCpu(mib)) => self.to("SLURM_MEM_PER_CPU", mib),
            Some(MemoryRequest::PerNode(mib)) if mib > 0 => self.to("SLURM_MEM_PER_NODE", mib),
            Some(MemoryRequest::PerGpu(mib)) => self.to("SLURM_MEM_PER_GPU", mib),
            Some(MemoryRequest::PerNode(_)) | None => {}
        }
    }

    pub(super) fn distribution(&mut self, asked: Option<&Distribution>) {
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

    pub(super) fn array(&mut self, record: &JobRecord, array: Option<&ArrayFacts>) {
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

    pub(super) fn node(&mut self, share: &NodeShare, index: usize) {
        let name = share.node.as_str();
        self.to("SLURMD_NODENAME", name);
        self.to("SLURM_TOPOLOGY_ADDR", name);
        self.to("SLURM_TOPOLOGY_ADDR_PATTERN", "node");
        self.to("SLURM_NODEID", index);
        self.to("SLURM_CPUS_ON_NODE", cpus_of(share));
    }

    pub(super) fn gpus(&mut self, list_name: &str, gpus: &[GpuIndex], has_gpus: bool) {
        if !gpus.is_empty() {
            self.to(list_name, list_text(gpus));
            self.to("SLURM_GPUS_ON_NODE", gpus.len());
        }
        if has_gpus {
            self.0.extend(gpu_variables(gpus));
        }
    }

    pub(super) fn task(&mut self, rank: u32, local: u32) {
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

pub(super) fn gpus_text(gpus: &GpuCount) -> String {
    match &gpus.kind {
        Some(kind) => format!("{kind}:{}", gpus.count),
        None => gpus.count.to_string(),
    }
}
