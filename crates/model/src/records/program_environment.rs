//! The variables of programs that a cluster runs around jobs: names and values as 22.05.8 was seen to set
//! them. Nothing of the job's own environment is among them, and no `PATH`.

use crate::records::job_environment::{StartedJob, list_text};
use crate::records::job_variables::cpus_per_node;
use crate::records::{ArrayTask, WaitStatus};
use crate::values::{NodeShare, Setter, Variables, node_list};

/// Where such a program runs.
#[derive(Clone, Copy, Debug)]
pub enum ProgramPlace<'a> {
    /// Beside the engine: Slurm's controller.
    Engine,
    /// On this node of the job.
    Node(&'a NodeShare),
}

/// The variables of a program before the job, or after it where it ended with a status.
#[must_use]
pub fn program_variables(
    job: &StartedJob<'_>,
    place: ProgramPlace<'_>,
    ended: Option<WaitStatus>,
) -> Variables {
    let (record, request) = (job.record, &job.record.request);
    let mut set = Setter::default();
    let when = if ended.is_some() { "epilog" } else { "prolog" };
    let names = node_list::fold(job.allocation.nodes.iter().map(|share| &share.node));
    match place {
        ProgramPlace::Engine => {
            set.to("SLURM_SCRIPT_CONTEXT", format!("{when}_slurmctld"));
            set.to("SLURM_JOB_NODELIST", names);
            set.to("SLURM_JOB_NAME", &request.name);
            set.to("SLURM_JOB_GROUP", &record.submitter.group);
        }
        ProgramPlace::Node(share) => {
            set.to("SLURM_SCRIPT_CONTEXT", format!("{when}_slurmd"));
            set.to("SLURM_NODELIST", names);
            set.to("SLURMD_NODENAME", &share.node);
            set.to("SLURM_UID", record.submitter.uid);
            set.to("SLURM_JOB_NTASKS", request.tasks.unwrap_or(1));
            if !share.gpus.is_empty() {
                set.to("SLURM_JOB_GPUS", list_text(&share.gpus));
            }
        }
    }
    for name in ["SLURM_JOB_ID", "SLURM_JOBID"] {
        set.to(name, record.id);
    }
    set.to("SLURM_CLUSTER_NAME", job.cluster);
    set.maybe("SLURM_JOB_ACCOUNT", request.account.as_ref());
    set.maybe("SLURM_JOB_COMMENT", request.rare.comment.as_ref());
    set.maybe("SLURM_JOB_CONSTRAINTS", request.rare.constraint.as_ref());
    set.to("SLURM_JOB_CPUS_PER_NODE", cpus_per_node(job.allocation));
    set.to("SLURM_JOB_GID", record.submitter.gid);
    set.to("SLURM_JOB_NUM_NODES", job.allocation.nodes.len());
    set.maybe("SLURM_JOB_PARTITION", record.partitions());
    set.maybe("SLURM_JOB_RESERVATION", record.reservation.as_ref());
    set.to("SLURM_JOB_RESTART_COUNT", record.restarts);
    set.to("SLURM_JOB_UID", record.submitter.uid);
    set.to("SLURM_JOB_USER", &record.submitter.user);
    set.to("SLURM_JOB_WORK_DIR", request.chdir.display());
    let input = request.rare.input.as_deref();
    set.to("SLURM_JOB_STDIN", input.unwrap_or("/dev/null"));
    let file = |name: &Option<String>| {
        let name = name.as_ref()?;
        Some(request.chdir.join(name).display().to_string())
    };
    set.maybe("SLURM_JOB_STDOUT", file(&request.output));
    set.maybe("SLURM_JOB_STDERR", file(&request.rare.error));
    if let Some(array) = &record.array {
        set.to("SLURM_ARRAY_JOB_ID", array.array_job);
        if let ArrayTask::One(task) = array.task {
            set.to("SLURM_ARRAY_TASK_ID", task);
        }
    }
    if let Some(status) = ended {
        set.to("SLURM_JOB_EXIT_CODE", status.0);
        let (code, signal) = (status.code(), status.signal_number());
        set.to("SLURM_JOB_EXIT_CODE2", format!("{code}:{signal}"));
        set.to("SLURM_JOB_DERIVED_EC", 0);
    }
    set.0
}
