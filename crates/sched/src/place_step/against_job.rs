//! What a step asks that its job, whatever is free of it, never gives.

use super::{StepRefusal, never};
use model::{Allocation, NodeShare, Request, StepRequest};
use resources::Cluster;

/// Refuses a step that counts CPUs by GPUs where the job has none, or threads that its cores don't have.
///
/// # Errors
/// [`StepRefusal::Never`].
pub fn step_against_job(
    step: &StepRequest,
    job: &Request,
    allocation: &Allocation,
    cluster: &Cluster,
) -> Result<(), StepRefusal> {
    cpus_of_gpus(step, job, allocation)?;
    threads(step, job, allocation, cluster)
}

fn cpus_of_gpus(
    step: &StepRequest,
    job: &Request,
    allocation: &Allocation,
) -> Result<(), StepRefusal> {
    if step.cpus_per_gpu.is_none() || allocation.gpus() > 0 {
        return Ok(());
    }
    // Of a job that counts so itself it is not said before.
    let before = if job.rare.cpus_per_gpu.is_some() {
        ""
    } else {
        "Step requested GRES but job doesn't have GRES\n"
    };
    Err(never(
        &format!("{before}Invalid generic resource (gres) specification"),
        "the job has no GPUs by which --cpus-per-gpu could count",
    ))
}

/// Threads of each core that the job may use: as many as it asked for, else all.
fn threads(
    step: &StepRequest,
    job: &Request,
    allocation: &Allocation,
    cluster: &Cluster,
) -> Result<(), StepRefusal> {
    let Some(asked) = step.threads_per_core else {
        return Ok(());
    };
    let of_job = job.rare.node_options.as_ref();
    let of_job = of_job.and_then(|options| options.threads_per_core);
    let of_core = |share: &NodeShare| {
        let node = cluster.node(&share.node)?;
        Some(cluster.class(node).sockets?.threads.max(1))
    };
    // Where it is not known how many there are, tasks are bound as far as that goes.
    let known: Option<Vec<u32>> = allocation.nodes.iter().map(of_core).collect();
    let Some(known) = known else { return Ok(()) };
    let most = of_job.or(known.iter().copied().max()).unwrap_or(1);
    if asked > most {
        return Err(never(
            "Cannot request more threads per core than the job allocation",
            &format!("the job has {most} of each core, {asked} are asked"),
        ));
    }
    let usable = |(share, threads): (&NodeShare, &u32)| {
        let cpus = u32::try_from(share.cpus.len()).unwrap_or(u32::MAX);
        // CPUs of a job that asked for so many threads are these alone.
        let threads = of_job
            .map_or(*threads, |of_job| of_job.min(*threads))
            .max(1);
        (cpus.saturating_mul(asked.min(threads)) / threads).max(1)
    };
    let usable: u32 = allocation.nodes.iter().zip(&known).map(usable).sum();
    let tasks = step.tasks.unwrap_or(1);
    let needed = tasks.saturating_mul(step.cpus_per_task.unwrap_or(1).max(1));
    if needed > usable && !step.overcommit {
        return Err(never(
            "More processors requested than permitted",
            &format!(
                "with {asked} threads of each core the job has {usable} CPUs, {needed} are asked"
            ),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use cluster_file::ClusterFile;
    use model::{NodeName, NodeOptions};
    use resources::Trust;

    /// What a real Slurm with two threads a core says of a step in a job of so many CPUs of one node.
    #[track_caller]
    fn check(cpus: u32, of_job: Option<u32>, step: StepRequest, want: Option<&str>) {
        let text = "[nodes.n]\nnames = \"a\"\ncpus = 8\nsockets = 1\ncores_per_socket = 4\n\
                    threads_per_core = 2\nmemory = \"4G\"\n";
        let file = ClusterFile::parse("threads", text).expect("a cluster file");
        let share = NodeShare {
            node: NodeName::new("a"),
            cpus: (0..cpus).collect(),
            memory: 400,
            gpus: vec![],
            tasks: cpus,
        };
        let allocation = Allocation { nodes: vec![share] };
        let job = Request::default().with_rare(|rare| {
            rare.node_options = Some(Box::new(NodeOptions {
                threads_per_core: of_job,
                ..NodeOptions::default()
            }));
        });
        let cluster = Cluster::build(&file, Trust::All);
        let refused = step_against_job(&step, &job, &allocation, &cluster).err();
        let words = refused.map(|refusal| refusal.to_string());
        let words = words.as_deref().and_then(|words| words.lines().next());
        assert_eq!(words, want);
    }

    #[test]
    fn a_step_has_as_many_threads_as_its_job_gives() {
        let step = |tasks, threads| StepRequest {
            tasks: Some(tasks),
            threads_per_core: Some(threads),
            ..StepRequest::default()
        };
        let more = Some("Cannot request more threads per core than the job allocation");
        let too_many = Some("More processors requested than permitted");
        check(4, None, step(4, 1), too_many);
        check(4, None, step(3, 1), too_many);
        check(4, None, step(2, 1), None);
        check(3, None, step(2, 1), too_many);
        check(4, None, step(4, 2), None);
        check(4, None, step(4, 3), more);
        check(8, Some(1), step(4, 2), more);
        check(8, Some(1), step(4, 1), None);
        check(4, Some(1), step(4, 1), None);
        check(1, Some(1), step(1, 1), None);
        check(1, None, step(1, 1), None);
        let shared = StepRequest {
            overcommit: true,
            ..step(4, 1)
        };
        check(4, None, shared, None);
    }
}
