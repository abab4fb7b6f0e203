//! GPUs of one type for a job that names none, where a site gives a job those alone (`one_gpu_type`).

use crate::cluster::{Cluster, GpuKind};
use crate::demand::{Demand, GresNeed};

/// A demand for GPUs without a type once for each type that a cluster has, those of nodes of low weight first.
/// None where the cluster mixes types, the demand names one, or there are GPUs that have none.
pub(crate) fn of_each_type(cluster: &Cluster, demand: &Demand) -> Vec<Demand> {
    let needs = [&demand.node.gres, &demand.task.gres, &demand.job.gres];
    let gpus: Vec<&GresNeed> = needs
        .into_iter()
        .flatten()
        .filter(|gres| gres.is_gpus())
        .collect();
    let is_any = !gpus.is_empty() && gpus.iter().all(|gres| gres.kind.is_none());
    if !cluster.has_one_gpu_type() || !is_any {
        return Vec::new();
    }
    let mut classes: Vec<_> = cluster.classes().iter().collect();
    classes.sort_by_key(|class| class.weight);
    let mut types: Vec<&String> = Vec::new();
    for group in classes.into_iter().flat_map(|class| &class.gpus) {
        match &group.kind {
            GpuKind::Type(kind) if types.contains(&kind) => {}
            GpuKind::Type(kind) => types.push(kind),
            GpuKind::None | GpuKind::Product(_) | GpuKind::OneOf(_) => return Vec::new(),
        }
    }
    let with = |kind: &String| {
        let mut demand = demand.clone();
        let Demand {
            node, task, job, ..
        } = &mut demand;
        let needs = [&mut node.gres, &mut task.gres, &mut job.gres];
        for gres in needs.into_iter().flatten().filter(|gres| gres.is_gpus()) {
            gres.kind = Some(kind.clone());
        }
        demand
    };
    types.into_iter().map(with).collect()
}
