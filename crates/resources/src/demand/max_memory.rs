//! Who asks for more memory of a node than a partition gives (`_valid_pn_min_mem` of 22.05's `job_mgr.c`).

use super::Defaults;
use model::{MemoryRequest, Request};

/// MiB of a node that a request for so much memory comes to, and the most that the partition gives; none
/// where that is enough.
pub(crate) fn over_memory(
    request: &Request,
    memory: Option<MemoryRequest>,
    defaults: &Defaults,
) -> Option<(u64, u64)> {
    let most = defaults.max_memory_per_node?;
    let asked = match memory {
        None | Some(MemoryRequest::PerNode(0) | MemoryRequest::PerCpu(0)) => {
            defaults.first_node?.1.into()
        }
        Some(MemoryRequest::PerNode(size)) => size,
        Some(MemoryRequest::PerCpu(size)) => size.saturating_mul(cpus(request, defaults)),
        Some(MemoryRequest::PerGpu(_)) => return None,
    };
    (asked > most).then_some((asked, most))
}

/// CPUs of a node, as Slurm reckons them before it knows the nodes.
fn cpus(request: &Request, defaults: &Defaults) -> u64 {
    if let (true, Some((cpus, _))) = (
        defaults.whole_nodes || request.exclusive,
        defaults.first_node,
    ) {
        return cpus.into();
    }
    let each = request.tasks_per_node.unwrap_or(1).max(1);
    let dealt = request.tasks.zip(request.max_nodes);
    let dealt = dealt.map_or(1, |(tasks, nodes)| tasks.div_ceil(nodes.max(1)));
    let of_tasks =
        u64::from(each.max(dealt)) * u64::from(request.cpus_per_task.unwrap_or(1).max(1));
    let options = request.rare.node_options.as_deref();
    let least = options.and_then(|options| options.min_cpus).unwrap_or(0);
    of_tasks.max(least.into())
}
