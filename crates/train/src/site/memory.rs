//! The memory of a job that asks for none.

use cluster_file::{ClusterFile, Mib, Named, Partition, Sourced};
use model::MemoryRequest;

/// The same in words: `4000M a CPU (limits.default_memory_per_cpu)`.
pub(super) fn say_default(file: &ClusterFile, partition: Option<&Named<Partition>>) -> String {
    let Some((memory, key)) = default(file, partition) else {
        return format!("{}'s default, which is not known", file.name);
    };
    let (size, each) = match memory {
        MemoryRequest::PerNode(size) => (size, "a node"),
        MemoryRequest::PerCpu(size) => (size, "a CPU"),
        MemoryRequest::PerGpu(size) => (size, "a GPU"),
    };
    format!("{} {each} ({key})", crate::say_mebibytes(size))
}

/// What a partition gives by itself, else the cluster, and the key that says so: `DefMemPerNode`,
/// `DefMemPerCPU`, and `DefMemPerGPU` of `slurm.conf`.
pub(super) fn default(
    file: &ClusterFile,
    partition: Option<&Named<Partition>>,
) -> Option<(MemoryRequest, String)> {
    type Unit = fn(u64) -> MemoryRequest;
    let of_partition = partition.into_iter().flat_map(|partition| {
        let path = |key: &str| format!("partition.{}.{key}", partition.name);
        let all: [(Unit, &Option<Sourced<Mib>>, String); 3] = [
            (
                MemoryRequest::PerNode,
                &partition.default_memory_per_node,
                path("default_memory_per_node"),
            ),
            (
                MemoryRequest::PerCpu,
                &partition.default_memory_per_cpu,
                path("default_memory_per_cpu"),
            ),
            (
                MemoryRequest::PerGpu,
                &partition.default_memory_per_gpu,
                path("default_memory_per_gpu"),
            ),
        ];
        all
    });
    let limits = &file.limits;
    let of_all: [(Unit, &Option<Sourced<Mib>>, String); 2] = [
        (
            MemoryRequest::PerNode,
            &limits.default_memory_per_node,
            "limits.default_memory_per_node".to_owned(),
        ),
        (
            MemoryRequest::PerCpu,
            &limits.default_memory_per_cpu,
            "limits.default_memory_per_cpu".to_owned(),
        ),
    ];
    of_partition.chain(of_all).find_map(|(unit, value, path)| {
        let size = value.as_ref()?.value.0;
        Some((unit(size), path))
    })
}
