//! What `squeue --json` tells of a job.

use crate::records::{ArrayTaskInfo, JobInfo, JobStateName, held_gpus_text, reason_name};
use crate::requests::{ComponentPlace, Sharing};
use crate::values::{
    MemoryRequest, NodeName, NodeShare, Seconds, TimeLimitRequest, array_elements_text,
};
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A job in `squeue --json`: names and meanings are those of Slurm's data parser v0.0.38, as far
/// as the embedded engine has such a thing. Moments are seconds since 1970, 0 where there is none;
/// the time limit stands twice, in Slurm's minutes and in seconds. What the engine has not is there too,
/// empty, 0 or null as in Slurm, for programs that read all keys. In the order of names, as all JSON here.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the names are Slurm's")]
pub struct JobJson<'a> {
    pub account: Cow<'a, str>,
    pub accrue_time: i64,
    pub admin_comment: Cow<'a, str>,
    pub array_job_id: u32,
    pub array_max_tasks: u32,
    pub array_task_id: Option<u32>,
    pub array_task_string: Cow<'a, str>,
    pub association_id: u32,
    pub batch_features: Cow<'a, str>,
    pub batch_flag: bool,
    pub batch_host: Cow<'a, str>,
    pub billable_tres: Option<f64>,
    pub burst_buffer: &'static str,
    pub burst_buffer_state: &'static str,
    pub cluster: Cow<'a, str>,
    pub cluster_features: Cow<'a, str>,
    pub command: Cow<'a, str>,
    pub comment: Cow<'a, str>,
    pub container: &'static str,
    pub contiguous: bool,
    pub core_spec: Option<u32>,
    pub cores_per_socket: Option<u32>,
    pub cpu_frequency_governor: Option<u32>,
    pub cpu_frequency_maximum: Option<u32>,
    pub cpu_frequency_minimum: Option<u32>,
    pub cpus: u32,
    pub cpus_per_task: Option<u32>,
    pub cpus_per_tres: Cow<'a, str>,
    pub current_working_directory: Cow<'a, str>,
    pub deadline: i64,
    pub delay_boot: u64,
    pub dependency: Cow<'a, str>,
    pub derived_exit_code: i32,
    pub eligible_time: i64,
    pub end_time: i64,
    pub excluded_nodes: Cow<'a, str>,
    /// As `wait` says it: the exit code in bits 8–15, the signal below.
    pub exit_code: i32,
    pub features: Cow<'a, str>,
    pub federation_origin: &'static str,
    pub federation_siblings_active: &'static str,
    pub federation_siblings_viable: &'static str,
    pub flags: Vec<&'static str>,
    pub gres_detail: Vec<String>,
    pub group_id: u32,
    pub group_name: Cow<'a, str>,
    pub het_job_id: u32,
    pub het_job_id_set: Cow<'a, str>,
    pub het_job_offset: u32,
    pub job_id: u32,
    pub job_resources: JobResourcesJson,
    pub job_state: JobStateName,
    pub last_sched_evaluation: i64,
    pub licenses: Cow<'a, str>,
    pub max_cpus: u32,
    pub max_nodes: u32,
    pub mcs_label: Cow<'a, str>,
    /// MiB.
    pub memory_per_cpu: Option<u64>,
    /// MiB.
    pub memory_per_node: Option<u64>,
    pub memory_per_tres: Cow<'a, str>,
    pub minimum_cpus_per_node: u32,
    /// MiB.
    pub minimum_tmp_disk_per_node: u64,
    pub name: Cow<'a, str>,
    pub nice: i64,
    pub node_count: u32,
    pub nodes: Cow<'a, str>,
    pub partition: Cow<'a, str>,
    pub pre_sus_time: i64,
    pub preempt_time: i64,
    pub prefer: Cow<'a, str>,
    pub priority: u32,
    pub profile: Option<u32>,
    pub qos: Cow<'a, str>,
    pub reboot: bool,
    pub requeue: bool,
    pub required_nodes: Cow<'a, str>,
    pub resize_time: i64,
    pub restart_cnt: u32,
    pub resv_name: Cow<'a, str>,
    pub shared: Option<&'static str>,
    pub show_flags: [&'static str; 3],
    pub sockets_per_board: u32,
    pub sockets_per_node: Option<u32>,
    pub standard_error: Cow<'a, str>,
    pub standard_input: Cow<'a, str>,
    pub standard_output: Cow<'a, str>,
    pub start_time: i64,
    pub state_description: Cow<'a, str>,
    pub state_reason: Cow<'a, str>,
    pub submit_time: i64,
    pub suspend_time: i64,
    pub system_comment: &'static str,
    pub tasks: u32,
    pub tasks_per_board: u32,
    pub tasks_per_core: Option<u32>,
    pub tasks_per_node: u32,
    pub tasks_per_socket: Option<u32>,
    pub thread_spec: Option<u32>,
    pub threads_per_core: Option<u32>,
    /// Minutes; null is unlimited.
    pub time_limit: Option<u64>,
    /// Seconds; null is unlimited.
    pub time_limit_seconds: Option<u64>,
    /// Minutes.
    pub time_minimum: u64,
    pub tres_alloc_str: Cow<'a, str>,
    pub tres_bind: Cow<'a, str>,
    pub tres_freq: Cow<'a, str>,
    pub tres_per_job: Cow<'a, str>,
    pub tres_per_node: Cow<'a, str>,
    pub tres_per_socket: Cow<'a, str>,
    pub tres_per_task: Cow<'a, str>,
    pub tres_req_str: Cow<'a, str>,
    pub user_id: u32,
    pub user_name: Cow<'a, str>,
    pub wckey: Cow<'a, str>,
}

/// The whole answer of `squeue --json`; each job is made as it is written, since there may be many.
#[derive(Debug, Serialize)]
pub struct QueueJson<'a, M> {
    /// None ever.
    pub errors: [(); 0],
    /// The jobs.
    #[serde(serialize_with = "write_jobs")]
    pub jobs: &'a [JobInfo],
    /// Who answers.
    pub meta: M,
}

fn write_jobs<S: Serializer>(jobs: &&[JobInfo], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(jobs.iter().map(JobJson::of))
}

/// What a job holds, node by node; empty where it holds nothing.
#[derive(Clone, Debug, Default, Serialize)]
pub struct JobResourcesJson {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocated_cpus: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub allocated_hosts: Option<usize>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allocated_nodes: Vec<HeldNodeJson>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub nodes: String,
}

/// What a job holds of a node; memory in MiB.
#[derive(Clone, Debug, Serialize)]
pub struct HeldNodeJson {
    pub cpus_used: usize,
    pub memory_allocated: u64,
    pub memory_used: u64,
    pub nodename: String,
    pub sockets: BTreeMap<u32, HeldSocketJson>,
}

/// Cores of a socket that a job holds, each `allocated`.
#[derive(Clone, Debug, Serialize)]
pub struct HeldSocketJson {
    pub cores: BTreeMap<u32, &'static str>,
}

impl JobResourcesJson {
    fn of(job: &JobInfo) -> JobResourcesJson {
        let Some(held) = &job.allocation else {
            return JobResourcesJson::default();
        };
        JobResourcesJson {
            nodes: crate::records::job_info::node_list_text(&job.nodes),
            allocated_cpus: Some(held.cpus()),
            allocated_hosts: Some(held.nodes.len()),
            allocated_nodes: held.nodes.iter().map(HeldNodeJson::of).collect(),
        }
    }
}

impl HeldNodeJson {
    /// Sockets are not told apart: all cores are the first one's.
    fn of(share: &NodeShare) -> HeldNodeJson {
        let cores = share.cpus.iter().map(|cpu| (*cpu, "allocated")).collect();
        HeldNodeJson {
            nodename: share.node.to_string(),
            cpus_used: share.cpus.len(),
            memory_allocated: share.memory,
            memory_used: 0,
            sockets: BTreeMap::from([(0, HeldSocketJson { cores })]),
        }
    }
}

/// `gpu:v100:2(IDX:0-1)` for each node where the job has GPUs.
fn gres_detail(job: &JobInfo) -> Vec<String> {
    let kind = job.gpu_kind_text();
    let shares = job.allocation.iter().flat_map(|held| &held.nodes);
    let text = |share: &NodeShare| match share.gpus.len() {
        0 => "gpu:0".to_owned(),
        _ => held_gpus_text(&kind, &share.gpus),
    };
    let all: Vec<String> = shares.map(text).collect();
    let has_any = job.allocation.as_ref().is_some_and(|held| held.gpus() > 0);
    if has_any { all } else { Vec::new() }
}

impl<'a> JobJson<'a> {
    /// The same job for `--json`.
    #[must_use]
    pub fn of(job: &'a JobInfo) -> JobJson<'a> {
        let text = |text: Option<&'a str>| Cow::Borrowed(text.unwrap_or_default());
        let made = |text: Option<String>| Cow::Owned(text.unwrap_or_default());
        let seconds = |moment: Option<crate::values::Timestamp>| {
            moment.map_or(0, crate::values::Timestamp::seconds)
        };
        let (array_task_id, array_task_string) = match job.array.as_ref().map(|array| &array.task) {
            None => (None, Cow::default()),
            Some(ArrayTaskInfo::One(task)) => (Some(*task), Cow::default()),
            Some(ArrayTaskInfo::Waiting(tasks)) => {
                let throttle = job.array.as_ref().and_then(|array| array.throttle);
                (None, array_elements_text(tasks, throttle, true).into())
            }
        };
        let runs = job.allocation.is_some();
        let list = |nodes| Cow::Owned(crate::records::job_info::node_list_text(nodes));
        let minutes = |Seconds(seconds): Seconds| seconds.div_ceil(60);
        let options = job.node_options();
        let (per_cpu, per_node) = match job.memory {
            MemoryRequest::PerCpu(mib) => (Some(mib), None),
            MemoryRequest::PerNode(mib) => (None, Some(mib)),
            MemoryRequest::PerGpu(_) => (None, None),
        };
        JobJson {
            account: text(job.account()),
            array_job_id: job.array.as_ref().map_or(0, |array| array.job),
            array_task_id,
            array_task_string,
            batch_flag: job.batch,
            batch_host: text(job.nodes.first().map(NodeName::as_str)),
            cluster: (&*job.cluster).into(),
            command: text(job.command()),
            comment: text(job.comment()),
            cpus: job.cpus,
            cpus_per_task: job.cpus_per_task,
            current_working_directory: job.work_dir(),
            dependency: text(job.dependency.as_deref()),
            eligible_time: seconds(job.told_eligible()),
            end_time: seconds(job.end),
            exit_code: job.exit_code.0,
            features: text(job.features()),
            group_id: job.submitter.gid,
            group_name: (&*job.submitter.group).into(),
            job_id: job.id,
            job_state: job.state,
            name: job.name().into(),
            nice: job.request.nice,
            node_count: job.node_count,
            nodes: list(&job.nodes),
            partition: (&*job.partition).into(),
            priority: job.priority,
            qos: (&*job.qos).into(),
            requeue: job.requeue,
            restart_cnt: job.restarts,
            // Empty where it goes to the output.
            standard_error: job
                .request
                .rare
                .error
                .as_ref()
                .map_or_else(Cow::default, |_| job.stderr_path().into()),
            standard_input: job.stdin_path().into(),
            standard_output: job.stdout_path().into(),
            start_time: seconds(job.start),
            state_reason: reason_name(&job.reason).into(),
            submit_time: job.submitted.seconds(),
            tasks: job.tasks,
            time_limit_seconds: job.limit.map(|limit| limit.0),
            tres_alloc_str: made(runs.then(|| job.tres())),
            tres_req_str: job.tres().into(),
            user_id: job.uid(),
            user_name: job.user().into(),
            accrue_time: seconds(job.accrues_since()),
            admin_comment: text(job.shown().admin_comment.as_deref()),
            array_max_tasks: job.array.as_ref().and_then(|it| it.throttle).unwrap_or(0),
            association_id: job.association,
            batch_features: text(job.shown().batch_features.as_deref()),
            billable_tres: runs.then(|| f64::from(job.cpus)),
            burst_buffer: "",
            burst_buffer_state: "",
            cluster_features: text(job.shown().cluster_features.as_deref()),
            container: "",
            contiguous: options.contiguous,
            core_spec: None,
            cores_per_socket: options.cores_per_socket,
            cpu_frequency_governor: None,
            cpu_frequency_maximum: None,
            cpu_frequency_minimum: None,
            cpus_per_tres: made(job.cpus_per_tres()),
            deadline: seconds(job.request.rare.deadline),
            delay_boot: job.shown().delay_boot.map_or(0, |delay| delay.0),
            derived_exit_code: 0,
            excluded_nodes: list(job.excluded_nodes()),
            federation_origin: "",
            federation_siblings_active: "",
            federation_siblings_viable: "",
            flags: flags(job, runs),
            gres_detail: gres_detail(job),
            het_job_id: job.component().map_or(0, |place| place.leader.0),
            het_job_id_set: made(job.component().map(ComponentPlace::ids_text)),
            het_job_offset: job.component().map_or(0, |place| place.offset),
            job_resources: JobResourcesJson::of(job),
            last_sched_evaluation: seconds(job.looked_at),
            licenses: text(job.licenses()),
            max_cpus: 0,
            max_nodes: job.max_nodes,
            mcs_label: text(job.shown().mcs_label.as_deref()),
            memory_per_cpu: per_cpu,
            memory_per_node: per_node,
            memory_per_tres: made(job.mem_per_tres()),
            minimum_cpus_per_node: job.min_cpus_per_node,
            minimum_tmp_disk_per_node: options.tmp_mib.unwrap_or(0),
            pre_sus_time: job.suspended.map_or(0, |(_, ran)| ran),
            preempt_time: seconds(job.preempted),
            prefer: text(options.prefer.as_deref()),
            profile: None,
            reboot: false,
            required_nodes: list(job.required_nodes()),
            resize_time: seconds(job.resized),
            resv_name: text(job.reservation.as_deref()),
            shared: match options.sharing {
                Some(Sharing::User) => Some("user"),
                Some(Sharing::Mcs) => Some("mcs"),
                Some(Sharing::Anybody) => Some("shared"),
                Some(Sharing::Exclusive) => Some("none"),
                None => job.request.exclusive.then_some("none"),
            },
            show_flags: ["SHOW_ALL", "SHOW_DETAIL", "SHOW_LOCAL"],
            sockets_per_board: 0,
            sockets_per_node: options.sockets_per_node,
            // Only what has another name.
            state_description: if reason_name(&job.reason) == job.reason {
                Cow::default()
            } else {
                (&*job.reason).into()
            },
            suspend_time: job.suspended.map_or(0, |(at, _)| at.seconds()),
            system_comment: "",
            tasks_per_board: 0,
            tasks_per_core: options.tasks_per_core,
            tasks_per_node: job.tasks_per_node(),
            tasks_per_socket: options.tasks_per_socket,
            thread_spec: None,
            threads_per_core: options.threads_per_core,
            time_limit: job.limit.map(minutes),
            time_minimum: match job.request.rare.time_min {
                Some(TimeLimitRequest::Limit(least)) => minutes(least),
                Some(TimeLimitRequest::Unlimited) | None => 0,
            },
            tres_bind: text(job.request.rare.asked.bind.as_deref()),
            tres_freq: text(job.request.rare.asked.frequency.as_deref()),
            tres_per_job: made(job.tres_per_job()),
            tres_per_node: made(job.tres_per_node()),
            tres_per_socket: made(job.tres_per_socket()),
            tres_per_task: made(job.tres_per_task()),
            wckey: text(job.shown().wckey.as_deref()),
        }
    }
}

/// What was asked, and that it ran.
fn flags(job: &JobInfo, runs: bool) -> Vec<&'static str> {
    let all = [
        (job.request.rare.asked.enforce_binding, "GRES_ENFORCE_BIND"),
        (job.request.cpus_per_task.is_some(), "JOB_CPUS_SET"),
        (runs, "JOB_ACCRUE_OVER"),
        (job.shown().disables_binding, "GRES_DISABLE_BIND"),
        (
            runs && matches!(job.state, JobStateName::Running | JobStateName::Stopped),
            "JOB_WAS_RUNNING",
        ),
        (job.request.memory.is_some(), "JOB_MEM_SET"),
    ];
    let set = all.into_iter().filter(|(is_set, _)| *is_set);
    set.map(|(_, flag)| flag).collect()
}
