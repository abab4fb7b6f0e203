//! Which GPUs a job could get that names no type.

use crate::show::either;
use cluster_file::{ClusterFile, List, Named, Partition};
use model::Request;
use resources::GpuTypes;

/// What to say of a job that asks for GPUs of no type where there are several; none where there is
/// one alone.
pub(super) fn note(
    file: &ClusterFile,
    partition: Option<&Named<Partition>>,
    request: &Request,
) -> Option<String> {
    let GpuTypes { serving, refusing } = resources::gpu_types(file, partition, request);
    let others = !file.knows_all(List::Nodes);
    // What none of them would serve is a refusal, or needs several of them together.
    if serving.is_empty() || (serving.len() + refusing.len() < 2 && !others) {
        return None;
    }
    let mut note = format!(
        "no type of GPUs is requested: the job may get {}",
        either(&serving)
    );
    if !refusing.is_empty() {
        let few = either(&refusing);
        note.push_str(&format!(
            "; those with {few} are too few or too small for it"
        ));
    }
    if others {
        note.push_str(&format!("; {} may have others", file.name));
    }
    Some(note)
}
