//! What the planner must know, taken from a cluster file.

use super::{ClusterFile, Named, Nodes, Partition, PreemptMode};
use model::{
    ClusterFacts, Comeback, ContainerFacts, ContainerRuntime, GpuGroup, Internet, NodeGroup,
    RuntimeCache, Seconds,
};
use std::path::PathBuf;

impl ClusterFile {
    /// What the planner must know of the nodes of a partition; of the default one where none is
    /// named, of all nodes where there is neither. What the file doesn't say is what most
    /// clusters have: packages come from the login node, and `/tmp` is a node's own disk.
    #[must_use]
    pub fn facts(&self, partition: Option<&str>) -> ClusterFacts {
        let partition = match partition {
            Some(name) => self.partition(name),
            None => self.default_partition(),
        };
        let mut nodes: Vec<NodeGroup> = match partition {
            Some(partition) => self
                .nodes_of(partition)
                .iter()
                .map(|set| group(set.nodes, set.count))
                .collect(),
            None => self
                .nodes
                .iter()
                .map(|nodes| group(nodes, self.count_of(nodes)))
                .collect(),
        };
        nodes.sort_by_key(|group| std::cmp::Reverse(group.count));
        ClusterFacts {
            name: self.name.clone(),
            embedded: false,
            nodes,
            node_local: PathBuf::from(
                self.node_local
                    .path
                    .as_ref()
                    .map_or("/tmp", |path| path.as_str()),
            ),
            nodes_share_disk: false,
            internet: self
                .internet
                .as_ref()
                .map_or(Internet::Login, |internet| internet.value),
            default_time: partition.and_then(default_time),
            time_granularity: Seconds(60),
            comeback: self.comeback(partition),
            containers: self.container_facts(),
        }
    }

    /// What runs containers. Pyxis starts Enroot, so a cluster with the one has the other.
    fn container_facts(&self) -> ContainerFacts {
        let own = &self.containers;
        let runtime = own.runtime.as_ref().map(|runtime| runtime.value);
        let beside = match runtime {
            Some(ContainerRuntime::Pyxis) => Some(ContainerRuntime::Enroot),
            _ => None,
        };
        ContainerFacts {
            runtimes: runtime.into_iter().chain(beside).collect(),
            module: own.module.as_ref().map(|module| module.value.clone()),
            images: own
                .images
                .as_ref()
                .map(|images| images.value.clone().into()),
            cache: match (&own.cache, &own.cache_variable) {
                (Some(folder), Some(variable)) => Some(RuntimeCache {
                    variable: variable.value.clone(),
                    folder: folder.value.clone(),
                }),
                _ => None,
            },
        }
    }

    /// What ends jobs before their time, and whether requeueing brings them back.
    fn comeback(&self, partition: Option<&Named<Partition>>) -> Comeback {
        let plain = Comeback::default();
        let off = self
            .scheduling
            .requeue
            .as_ref()
            .is_some_and(|requeue| !requeue.value);
        let mode = partition
            .and_then(|partition| partition.preempt_mode.as_ref())
            .or(self.preemption.mode.as_ref());
        let cancels = mode.is_some_and(|mode| mode.value == PreemptMode::Cancel);
        let no_requeue = match (off, cancels) {
            (true, _) => Some("requeueing is off (JobRequeue=0)"),
            (false, true) => Some("preempted jobs are cancelled (PreemptMode=CANCEL)"),
            (false, false) => None,
        };
        Comeback {
            no_requeue: no_requeue.map(str::to_owned),
            submit_from_nodes: self
                .submit_from_nodes
                .as_ref()
                .map_or(plain.submit_from_nodes, |works| works.value),
            kill_wait: self
                .scheduling
                .kill_wait
                .as_ref()
                .map_or(plain.kill_wait, |wait| wait.value),
        }
    }
}

/// The limit of a job that asks for none: the default, else the longest that is allowed.
fn default_time(partition: &Named<Partition>) -> Option<model::TimeLimitRequest> {
    let time = partition
        .default_time
        .as_ref()
        .or(partition.max_time.as_ref());
    time.map(|time| time.value)
}

fn group(nodes: &Nodes, count: u32) -> NodeGroup {
    let memory = nodes.memory.as_ref().map_or(0, |memory| memory.value.0);
    let reserved = nodes
        .reserved_memory
        .as_ref()
        .map_or(0, |memory| memory.value.0);
    NodeGroup {
        count,
        cpus: nodes.cpus.as_ref().map_or(1, |cpus| cpus.value),
        memory_mib: memory.saturating_sub(reserved),
        gpus: nodes
            .gpus
            .iter()
            .map(|gpu| GpuGroup {
                kind: gpu.kind.as_ref().map(|kind| kind.value.clone()),
                count: gpu.count.as_ref().map_or(1, |count| count.value),
                memory_mib: gpu.memory.as_ref().map(|memory| memory.value.0),
            })
            .collect(),
    }
}
