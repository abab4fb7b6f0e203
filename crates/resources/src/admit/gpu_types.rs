//! Which GPUs a job could get that names no type.

use super::asked::Asked;
use super::nodes::Place;
use super::offer::{Trust, has_features};
use cluster_file::{ClusterFile, Named, NodeSet, Partition};
use model::Request;

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
    let asked = Asked::of(request);
    let mut types = GpuTypes::default();
    if asked.gpus == 0 || asked.kind.is_some() || !asked.kinds_of_node.is_empty() {
        return types;
    }
    // The partition's place must live as long as the file.
    let partition = partition.and_then(|partition| file.partition(&partition.name));
    let place = Place::of(file, partition, request);
    let sets = place.sets.iter();
    let meant = sets.filter(|set| has_features(set.nodes, place.features.as_ref(), Trust::All));
    let features = place.features.as_ref().map(|wanted| wanted.names());
    for gpu in meant.flat_map(|set| &set.nodes.gpus) {
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
        let is_of_type =
            |set: &NodeSet<'_>| set.nodes.gpus.iter().any(|own| own.name() == Some(name));
        let all = place.sets.iter().cloned().zip(place.excluded.clone());
        let (sets, excluded) = all.filter(|(set, _)| is_of_type(set)).unzip();
        let of_type = Place {
            partition,
            sets,
            excluded,
            features: place.features.clone(),
        };
        match of_type.serves(request) {
            true => types.serving.push(name),
            false => types.refusing.push(name),
        }
    }
    types
}
