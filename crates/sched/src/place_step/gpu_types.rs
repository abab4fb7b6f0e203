//! GPUs of the types that a step asks for.

use super::{StepRefusal, never};
use model::{Allocation, GpuIndex, NodeShare, StepRequest};
use resources::Cluster;
use std::borrow::Cow;

/// The job without GPUs of other types than the step names; all of it where it names none.
///
/// A job that asked for no type has GPUs of whatever type its nodes have: a step may name it, which Slurm
/// refuses.
pub(super) fn of_asked_types<'a>(
    request: &StepRequest,
    job: &'a Allocation,
    cluster: &Cluster,
) -> Result<Cow<'a, Allocation>, StepRefusal> {
    let lists = [&request.gpus_per_node, &request.gpus_per_task];
    let asked = lists.into_iter().flatten().filter(|gpus| gpus.count > 0);
    let kinds = asked.filter_map(|gpus| gpus.kind.as_deref());
    let mut job = Cow::Borrowed(job);
    for kind in kinds {
        let is_kind = |share: &NodeShare, gpu: GpuIndex| {
            let node = cluster.node(&share.node);
            node.is_some_and(|node| cluster.class(node).is_gpu_called(gpu, kind))
        };
        for share in &mut job.to_mut().nodes {
            let mut gpus = std::mem::take(&mut share.gpus);
            gpus.retain(|gpu| is_kind(share, *gpu));
            share.gpus = gpus;
        }
        if job.gpus() == 0 {
            return Err(not_in_job(kind));
        }
    }
    Ok(job)
}

/// `srun` says in a line of its own before what the job has not.
fn not_in_job(kind: &str) -> StepRefusal {
    never(
        &format!(
            "Step requested GRES (gpu:{kind}) not found in the job\n\
             Invalid generic resource (gres) specification"
        ),
        &format!("the job has GPUs, and none of type {kind}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RunningStep, place_step};
    use cluster_file::ClusterFile;
    use model::{GpuCount, NodeName};
    use resources::Trust;

    /// Two CPUs and the first GPUs of the node.
    fn job(gpus: GpuIndex) -> Allocation {
        let share = NodeShare {
            node: NodeName::new("a"),
            cpus: vec![0, 1],
            memory: 200,
            gpus: (0..gpus).collect(),
            tasks: 2,
        };
        Allocation { nodes: vec![share] }
    }

    /// A step that holds all that it uses.
    fn holding(nodes: &[NodeShare]) -> RunningStep<'_> {
        let holds = nodes;
        RunningStep { nodes, holds }
    }

    /// A node with GPUs 0 and 1 of one type, and 2 and 3 of another.
    fn two_types() -> Cluster {
        let text = "[nodes.n]\nnames = \"a\"\ncpus = 4\nmemory = \"4G\"\n\
                gpu = [{ type = \"v100\", count = 2 }, { type = \"a100\", count = 2 }]\n";
        let file = ClusterFile::parse("mixed", text).expect("a cluster file");
        Cluster::build(&file, Trust::All)
    }

    fn of_type(kind: &str, count: u32) -> Option<GpuCount> {
        let kind = Some(kind.to_owned());
        Some(GpuCount { kind, count })
    }

    /// As the real one refuses `srun --gres=gpu:a100:1` in a job of v100, but for what is behind its words.
    #[test]
    fn a_step_has_gpus_of_the_type_that_it_asks_for() {
        let cluster = two_types();
        let place = |request: &StepRequest, job: &Allocation, held: &[RunningStep<'_>]| {
            let placed = place_step(request, job, &cluster, held);
            let gpus = |share: &NodeShare| format!("{} {:?}", share.node, share.gpus);
            let nodes = placed.map(|it| it.nodes.iter().map(gpus).collect::<Vec<_>>().join(", "));
            nodes.unwrap_or_else(|refusal| refusal.to_string())
        };
        let asks = |kind: &str, count| StepRequest {
            tasks: Some(1),
            min_nodes: Some(1),
            exact: true,
            memory: Some(0),
            gpus_per_node: of_type(kind, count),
            ..StepRequest::default()
        };
        let all = job(4);
        assert_eq!(place(&asks("a100", 1), &all, &[]), "a [2]");
        assert_eq!(place(&asks("v100", 2), &all, &[]), "a [0, 1]");
        let per_task = StepRequest {
            tasks: Some(2),
            gpus_per_node: None,
            gpus_per_task: of_type("a100", 1),
            ..asks("a100", 0)
        };
        assert_eq!(place(&per_task, &all, &[]), "a [2, 3]");
        // Those of another type that are free help nothing.
        let one = asks("a100", 2);
        let first = place_step(&one, &all, &cluster, &[]).map(|placement| placement.holds);
        let first = first.unwrap_or_default();
        assert_eq!(
            place(&asks("a100", 1), &all, &[holding(&first)]),
            "Requested nodes are busy"
        );
        assert_eq!(place(&asks("v100", 1), &all, &[holding(&first)]), "a [0]");

        let v100 = job(2);
        let none_of_it = "Step requested GRES (gpu:a100) not found in the job\n\
                      Invalid generic resource (gres) specification\n  \
                      there   the job has GPUs, and none of type a100";
        assert_eq!(place(&asks("a100", 1), &v100, &[]), none_of_it);
        assert_eq!(place(&per_task, &v100, &[]), none_of_it);
        assert_eq!(
            place(&asks("v100", 3), &v100, &[]),
            "Invalid generic resource (gres) specification\n  \
         there   the job has 2 GPUs on a, 3 are asked"
        );
        // To have none of a type, the job needs none of it.
        assert_eq!(place(&asks("a100", 0), &v100, &[]), "a []");
    }
}
