//! Which GPUs a job could get that names no type.

use super::idle::Idle;
use super::nodes::Place;
use crate::{NodeSet, Trust};
use cluster_file::{ClusterFile, Named, Nodes, Partition};
use model::{Constraint, Request};

/// The types of GPUs among which Slurm chooses for a job that names none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GpuTypes<'a> {
    /// Those that have what the job asks beside them; the model where there is no GRES type.
    pub serving: Vec<&'a str>,
    /// Those that don't.
    pub refusing: Vec<&'a str>,
}

/// The types of GPUs that a job could get in a partition, or in the whole cluster; none where it
/// asks for no GPUs, or names a type or the feature that stands for one.
#[must_use]
pub fn gpu_types<'a>(
    file: &'a ClusterFile,
    partition: Option<&Named<Partition>>,
    request: &Request,
) -> GpuTypes<'a> {
    let mut types = GpuTypes::default();
    let idle = Idle::new(file);
    let name = partition.map(|partition| partition.name.as_str());
    let demand = idle.demand(name, request);
    if demand.gpus_on(demand.nodes.least) == 0 || demand.gpu_kind().is_some() {
        return types;
    }
    let cluster = idle.cluster(Trust::All);
    let of_group = |nodes: &Named<Nodes>| -> NodeSet {
        let names = file.names_of(nodes);
        names.iter().filter_map(|name| cluster.node(name)).collect()
    };
    let groups: Vec<(&'a Named<Nodes>, NodeSet)> = file
        .nodes
        .iter()
        .map(|nodes| (nodes, of_group(nodes)))
        .collect();
    let candidates = idle.candidates(name, demand);
    let features = request
        .rare
        .constraint
        .as_deref()
        .and_then(Constraint::parse);
    let features = features.as_ref().map(Constraint::names);
    let place = Place::of(&idle, partition.and_then(|one| file.partition(&one.name)));
    for (nodes, own) in &groups {
        let mut own = own.clone();
        own.keep(&candidates);
        if own.is_empty() {
            continue;
        }
        for gpu in &nodes.gpus {
            // A constraint that asks for the GPUs' own feature asks for their type.
            if let (Some(own), Some(asked)) = (&gpu.feature, &features)
                && asked.contains(&own.as_str())
            {
                return GpuTypes::default();
            }
            let Some(name) = gpu.name() else { continue };
            if types.serving.contains(&name) || types.refusing.contains(&name) {
                continue;
            }
            let has_it = |(nodes, _): &&(&'a Named<Nodes>, NodeSet)| {
                nodes.gpus.iter().any(|own| own.name() == Some(name))
            };
            let mut without = candidates.clone();
            groups
                .iter()
                .filter(has_it)
                .for_each(|(_, own)| without.drop_all(own));
            if place.serves_without(request, &without) {
                types.serving.push(name);
            } else {
                types.refusing.push(name);
            }
        }
    }
    types
}
