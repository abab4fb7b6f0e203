//! What there is and what is asked: whether, where and under which limit a job fits.
//!
//! ```text
//! Cluster   what there is: nodes in classes, GPUs, features, partitions, QOS, accounts
//! Demand    what a job needs, made once of its Request
//! Compiled  a demand against a cluster: candidate nodes, the least that each class must give
//! Free      what no job holds
//! place     on which nodes, given what is free; on an idle cluster None is "never"
//! Share     what a job holds on a node
//! NodeKinds the same question of a place of which only kinds of nodes are known
//! Verdict   where a job would be, and each Finding against it: what was requested, which limit
//!           (LimitPath), what would be taken instead (Change); texts are made of these
//! recorded  what Slurm prints of a job that waits, which is not what it needs
//! ```
//! A scheduler keeps an `Arc<Cluster>` and a [`Free`], compiles a demand once, and asks for each
//! attempt:
//! ```
//! # use yard_resources::{Cluster, Compiled, Demand, Free, Pick, SingleNode, place};
//! # use model::{NodeName, Request};
//! let machine = SingleNode {
//!     host: &NodeName::new("trace"),
//!     partition: "all",
//!     cpus: 93_312,
//!     mem_mib: None,
//!     gpus: Vec::new(),
//! };
//! let cluster = Cluster::single(&machine);
//! let partition = cluster.find_partition("all");
//! let request = Request { tasks: Some(512), ..Request::default() };
//! let demand = Demand::of(&request, cluster.defaults(partition));
//! let compiled = Compiled::new(&cluster, partition, demand);
//! let mut free = Free::idle(&cluster);
//! let shares = place(&cluster, &compiled, &free, Pick::default()).expect("it is idle");
//! free.take(&cluster, &shares, compiled.demand.sharing, 1000);
//! assert_eq!(shares[0].cpus(), 512);
//! free.give(&cluster, &shares, compiled.demand.sharing, 1000);
//! assert_eq!(free, Free::idle(&cluster));
//! ```
//! Nodes, partitions, QOS and accounts have dense numbers that are a cluster's own; rows store
//! names.
//!
//! **Invariant:** pure. A cluster file and a request come in, a verdict goes out.

mod admit;
mod amounts;
mod cluster;
mod compiled;
mod demand;
mod feature_choices;
mod free;
mod held;
mod kinds;
mod limited;
mod node_jobs;
mod node_set;
mod one_type;
mod place;
mod recorded;
mod share;
mod socket_cpus;
mod time_by_limits;

pub use admit::{
    Change, Counts, Denial, Detail, Fate, Finding, Given, GpuLack, GpuTypeChange, GpuTypes,
    JobTime, Lack, LimitPath, NodesRequested, Requested, Subject, There, TimeFrom, Verdict, admit,
    beyond_default_array, charged, findings, given, gpu_types, is_sent, lacks, never_on_one,
    no_licence, verdict,
};
pub use amounts::{Amounts, LANE_MAX, LANES};
pub use cluster::{
    Account, AccountId, Association, ClassId, Cluster, Counted, Difference, GpuGroup, GpuKind,
    Lane, Limits, Merged, Most, NodeClass, NodeId, NotPermitted, PartId, Partition,
    PartitionAccess, PreemptPolicy, PriorityPolicy, Qos, QosId, QueueRules, Shares, SingleNode,
    Switch, Trust, UNBOUNDED, changed, merge,
};
pub use compiled::Compiled;
pub use demand::{
    CpuCap, Defaults, Demand, GresNeed, Layers, Need, NodeRange, Sharing, SocketNeed, VirtualNeed,
};
pub use free::Free;
pub use kinds::NodeKinds;
pub use limited::{Limited, limit_reason};
pub use node_set::NodeSet;
pub use place::{Order, Pick, place};
pub use recorded::{LargestNode, recorded, recorded_of};
pub use share::Share;
pub use socket_cpus::SocketCpus;
pub use time_by_limits::{LimitsMet, TimeByLimit, time_by_limits};
