//! What of a job a finding stands against.

use super::option_name;
use super::requested_nodes::NodesRequested;
use model::option_table::Key;
use model::{GresList, TimeLimitRequest};
use std::fmt;

/// What of a job a finding stands against.
#[derive(Clone, Debug, PartialEq)]
pub enum Requested {
    /// An option and its value, given or by default.
    Option(Key, String),
    /// No partition is named.
    NoPartition,
    /// A partition, by a user of these groups.
    PartitionOf(String, Vec<String>),
    /// A node that `--nodelist` names.
    ListedNode(String),
    /// The last index of an array.
    ArrayUpTo(u32),
    /// An array of so many elements.
    ArrayOf(usize),
    /// An account in a partition.
    AccountIn(String, String),
    /// A QOS in a partition.
    QosIn(String, String),
    /// Who submits it.
    User(String),
    /// So many jobs at once.
    Jobs(usize),
    /// No time, which is this one there.
    DefaultTime(TimeLimitRequest),
    /// So much of a countable resource, by Slurm's name of it.
    Tres(String, u64),
    /// GPUs of several types.
    GpuTypes(GresList),
    /// What its nodes must have, all together.
    OfNodes(Box<NodesRequested>),
    /// What an engine says itself.
    Message(String),
}

impl fmt::Display for Requested {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Requested::Option(key, value) => write!(f, "{}={value}", option_name(*key)),
            Requested::NoPartition => f.write_str("no partition"),
            Requested::PartitionOf(name, groups) => {
                write!(
                    f,
                    "--partition={name}, by a member of {}",
                    groups.join(", ")
                )
            }
            Requested::ListedNode(name) => write!(f, "--nodelist with {name}"),
            Requested::ArrayUpTo(last) => write!(f, "an array up to {last}"),
            Requested::ArrayOf(elements) => write!(f, "an array of {elements} elements"),
            Requested::AccountIn(account, partition) => {
                write!(f, "account {account} in partition {partition}")
            }
            Requested::QosIn(qos, partition) => write!(f, "QOS {qos} in partition {partition}"),
            Requested::User(name) => write!(f, "by {name}"),
            Requested::Jobs(jobs) => write!(f, "{jobs} jobs at once"),
            Requested::DefaultTime(time) => write!(f, "no time, which is {time} there"),
            Requested::Tres(name, amount) => write!(f, "{name}={amount}"),
            Requested::GpuTypes(list) => f.write_str(&of_types(list)),
            Requested::OfNodes(asked) => f.write_str(&asked.words()),
            Requested::Message(text) => f.write_str(text),
        }
    }
}

/// `8 v100 and 8 p100`
fn of_types(list: &GresList) -> String {
    let items = list.items().unwrap_or_default().into_iter();
    let gpus = items.filter(|item| item.name == "gpu").map(|item| {
        let kind = item.kind.as_deref().unwrap_or("GPUs of any type");
        format!("{} {kind}", item.count)
    });
    gpus.collect::<Vec<String>>().join(" and ")
}
