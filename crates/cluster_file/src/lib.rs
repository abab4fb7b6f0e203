//! Cluster files: what a cluster has and allows, in one TOML text for every use.
//!
//! A cluster file is checked against, planned for, run as a virtual cluster, simulated, and it is
//! how a discovered cluster is remembered. Every value is a [`Sourced`] one: it knows the sentence
//! that it came from, or that it is assumed, or that its document says two things. Text comes in
//! and values go out; files are read at the edge.

mod accounting;
mod amounts;
mod changes;
mod check;
mod facts;
mod file;
mod gpu_model;
mod gpu_sockets;
mod import;
mod lists;
mod look_up;
mod node_index;
mod partition_nodes;
mod print;
mod read;
mod reported;
mod section;
mod shipped;
mod sourced;
mod surroundings;
mod tables;
mod times;
mod value;
mod words;

pub use accounting::ROOT_ACCOUNT;
pub use amounts::{Bounds, Mib, Tres, times};
pub use changes::nodes_of_line;
pub use check::Contradiction;
pub use file::ClusterFile;
pub use gpu_sockets::GpuSockets;
pub use import::{ConfText, ImportInput, ImportNote, Imported, import};
pub use lists::List;
pub use look_up::{GpuKind, NodeSet, named};
pub use node_index::NodeIndex;
pub use partition_nodes::PartitionNodes;
pub use reported::{has_known_names, is_unseen};
pub use section::{Entry, Form, KeyDoc, Section};
pub use shipped::{find, shipped};
pub use sourced::{Doubt, Named, Other, Source, Sourced};
pub use surroundings::surroundings;
pub use tables::{
    Account, Association, Containers, Gpu, Licence, Limits, Lists, Modules, NodeLocal, Nodes,
    Partition, Paths, Policy, PolicyOfGpu, Preemption, Priority, Programs, Qos, Scheduling, Switch,
    User,
};
pub use words::{
    EnforcePartLimits, Extent, GpuOption, NodesState, PartitionState, PreemptMode, PreemptType,
    UsageReset,
};

/// What is wrong with a cluster file; [`model::render`] shows it.
pub type ClusterProblem = model::Problem;

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails loudly")]
mod file_tests;
