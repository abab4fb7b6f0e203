//! What `squeue --json` tells of a job.

use crate::records::{ArrayTaskInfo, JobInfo, JobStateName};
use crate::values::array_elements_text;
use serde::Serialize;

/// A job in `squeue --json`: names and meanings are those of Slurm's data parser v0.0.38, as far
/// as the embedded engine has such a thing. Moments are seconds since 1970, 0 where there is none;
/// the time limit is in seconds, unlike Slurm's, whose minutes can't hold it.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "the names are Slurm's")]
pub struct JobJson {
    pub account: String,
    pub array_job_id: u32,
    pub array_task_id: Option<u32>,
    pub array_task_string: String,
    pub batch_flag: bool,
    pub batch_host: String,
    pub cluster: String,
    pub command: String,
    pub comment: String,
    pub cpus: u32,
    pub cpus_per_task: Option<u32>,
    pub current_working_directory: String,
    pub dependency: String,
    pub eligible_time: i64,
    pub end_time: i64,
    /// As `wait` says it: the exit code in bits 8–15, the signal below.
    pub exit_code: i32,
    pub features: String,
    pub group_id: u32,
    pub group_name: String,
    pub job_id: u32,
    pub job_state: JobStateName,
    pub name: String,
    pub nice: i64,
    pub node_count: u32,
    pub nodes: String,
    pub partition: String,
    pub priority: u32,
    pub qos: String,
    pub requeue: bool,
    pub restart_cnt: u32,
    pub standard_error: String,
    pub standard_input: String,
    pub standard_output: String,
    pub start_time: i64,
    pub state_reason: String,
    pub submit_time: i64,
    pub tasks: u32,
    /// Seconds; null is unlimited.
    pub time_limit_seconds: Option<u64>,
    pub tres_alloc_str: String,
    pub tres_req_str: String,
    pub user_id: u32,
    pub user_name: String,
}

impl JobJson {
    /// The same job for `--json`.
    #[must_use]
    pub fn of(job: &JobInfo) -> JobJson {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let seconds = |moment: Option<crate::values::Timestamp>| {
            moment.map_or(0, crate::values::Timestamp::seconds)
        };
        let (array_task_id, array_task_string) = match job.array.as_ref().map(|array| &array.task) {
            None => (None, String::new()),
            Some(ArrayTaskInfo::One(task)) => (Some(*task), String::new()),
            Some(ArrayTaskInfo::Waiting(tasks)) => (None, array_elements_text(tasks, None, true)),
        };
        let runs = job.allocation.is_some();
        JobJson {
            account: text(&job.account),
            array_job_id: job.array.as_ref().map_or(0, |array| array.job),
            array_task_id,
            array_task_string,
            batch_flag: job.batch,
            batch_host: job
                .nodes
                .first()
                .map(ToString::to_string)
                .unwrap_or_default(),
            cluster: job.cluster.clone(),
            command: text(&job.command),
            comment: text(&job.comment),
            cpus: job.cpus,
            cpus_per_task: job.cpus_per_task,
            current_working_directory: job.work_dir.clone(),
            dependency: text(&job.dependency),
            eligible_time: seconds(job.eligible),
            end_time: seconds(job.end),
            exit_code: job.exit_code.0,
            features: text(&job.features),
            group_id: job.gid,
            group_name: job.group.clone(),
            job_id: job.id,
            job_state: job.state,
            name: job.name.clone(),
            nice: job.nice,
            node_count: job.node_count,
            nodes: crate::records::job_info::node_list_text(&job.nodes),
            partition: job.partition.clone(),
            priority: job.priority,
            qos: job.qos.clone(),
            requeue: job.requeue,
            restart_cnt: job.restarts,
            standard_error: job.stderr_path(),
            standard_input: job.stdin_path(),
            standard_output: job.stdout_path(),
            start_time: seconds(job.start),
            state_reason: job.reason.clone(),
            submit_time: job.submitted.seconds(),
            tasks: job.tasks,
            time_limit_seconds: job.limit.map(|limit| limit.0),
            tres_alloc_str: if runs {
                job.tres.clone()
            } else {
                String::new()
            },
            tres_req_str: job.tres.clone(),
            user_id: job.uid,
            user_name: job.user.clone(),
        }
    }
}
