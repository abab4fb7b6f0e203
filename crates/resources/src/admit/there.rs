//! What a cluster has, or allows, of what was asked.

use super::limit_path::LimitPath;
use super::say_nodes;
use cluster_file::PartitionState;
use model::{LicenceCount, TimeLimitRequest, counted};

/// What the cluster has, or allows.
#[derive(Clone, Debug, PartialEq)]
pub enum There {
    /// The names that there are of something, in words.
    Names(String),
    /// Partitions, in words, of which none is said to be the default.
    NoDefault(String),
    /// Nodes of a cluster, by their lists.
    NodeNames(String, Vec<String>),
    /// Indices of arrays below this one.
    IndicesBelow(u32),
    /// Arrays of at most so many elements.
    MostElements(u32),
    /// A partition in a state in which it takes or starts no jobs.
    State(String, PartitionState),
    /// A partition that takes jobs of reservations alone.
    ForReservations(String),
    /// A QOS for jobs of reservations alone.
    QosForReservations(String),
    /// A partition of root's.
    ForRoot(String),
    /// A partition that takes no jobs of root.
    NotForRoot(String),
    /// A partition for members of these groups.
    ForGroups(String, Vec<String>),
    /// A partition of so many nodes.
    NodeCount(String, u32),
    /// A partition without that node.
    NoSuchNode(String),
    /// The fewest nodes that a partition gives a job.
    LeastNodes(String, u32),
    /// The most nodes that a partition gives a job.
    MostNodes(String, u32),
    /// MiB of a node that a partition gives at the most.
    MostMemory(String, u64),
    /// The longest time of a partition, or of whom else the path names.
    MostTime(TimeLimitRequest),
    /// The names that a key lists.
    Rule(&'static str, Vec<String>),
    /// Nothing for that user.
    NoAssociation,
    /// The user's own accounts.
    OwnAccounts(Vec<String>),
    /// An account that the user has for these partitions alone.
    AccountIn(String, Vec<String>),
    /// An account whose limits are other ones in some of the partitions.
    OtherLimits(String),
    /// The user's own QOS.
    OwnQos(Vec<String>),
    /// So many jobs, waiting and running.
    MostJobs(u32),
    /// So much of a countable resource.
    MostTres(String, u64),
    /// No less of a countable resource than so much.
    LeastTres(String, u64),
    /// GPUs of one type for a job of this cluster.
    OneGpuType(String),
    /// Kinds of nodes of a partition or cluster, in words.
    Kinds(String, Vec<String>),
    /// The same, of which some are excluded.
    KindsWithExcluded(String, Vec<String>),
    /// What can't be read as licences.
    NoLicenceList,
    /// None are counted.
    NoLicences,
    /// So many of a licence.
    Licences(LicenceCount),
    /// What an engine says itself.
    Message(String),
}

impl There {
    /// In words; `at` is where it stands.
    pub(super) fn words(&self, at: &LimitPath) -> String {
        match self {
            There::Names(text) | There::Message(text) => text.clone(),
            There::NoDefault(text) => format!("{text}; none of them is said to be the default"),
            There::NodeNames(cluster, names) => {
                format!("{cluster} has nodes {}", names.join(", "))
            }
            There::IndicesBelow(most) => format!("indices end below {most} (MaxArraySize)"),
            There::MostElements(most) => {
                format!("an array has at most {most} elements (max_array_tasks)")
            }
            There::State(name, state) => format!("partition {name} is {}", state.word()),
            There::ForReservations(name) => {
                format!("partition {name} takes jobs of reservations alone")
            }
            There::QosForReservations(name) => {
                format!("QOS {name} takes jobs of reservations alone")
            }
            There::ForRoot(name) => format!("partition {name} is root's"),
            There::NotForRoot(name) => format!("partition {name} takes no jobs of root"),
            There::ForGroups(name, groups) => {
                format!("partition {name} is for groups {}", groups.join(", "))
            }
            There::NodeCount(name, count) => format!("partition {name} has {}", say_nodes(*count)),
            There::NoSuchNode(name) => format!("partition {name} does not have that node"),
            There::LeastNodes(name, least) => {
                format!("partition {name} wants at least {}", say_nodes(*least))
            }
            There::MostNodes(name, most) => {
                format!("partition {name} gives at most {} a job", say_nodes(*most))
            }
            There::MostMemory(name, most) => format!(
                "partition {name} gives at most {} of a node",
                model::mebibytes_text(*most)
            ),
            There::MostTime(most) => match at {
                LimitPath::Partition(name, _) => format!("partition {name} allows {most}"),
                LimitPath::Qos(name, _) => format!("QOS {name} allows {most} ({at})"),
                LimitPath::Account(account, _) | LimitPath::Association { account, .. } => {
                    format!("account {account} allows {most} ({at})")
                }
                at => format!("{at} allows {most}"),
            },
            There::Rule(key, names) => format!("{key} = {}", names.join(", ")),
            There::NoAssociation => "no association of that user".to_owned(),
            There::OwnAccounts(names) => format!("accounts {}", names.join(", ")),
            There::AccountIn(account, names) => {
                format!(
                    "account {account} is yours in partition {} alone",
                    names.join(", ")
                )
            }
            There::OtherLimits(account) => {
                format!("account {account} is not the same association in all of them")
            }
            There::OwnQos(names) => format!("yours are {}", names.join(", ")),
            There::MostJobs(most) => format!("at most {most} waiting and running ({at})"),
            There::MostTres(name, most) => format!("at most {name}={most} ({at})"),
            There::LeastTres(name, least) => format!("at least {name}={least} ({at})"),
            There::OneGpuType(cluster) => format!("{cluster} gives a job GPUs of one type"),
            There::NoLicenceList => "no list of licences".to_owned(),
            There::NoLicences => "no licences are counted there".to_owned(),
            There::Licences(known) => {
                let count = counted(known.count as usize, "licence");
                format!("{count} of {}", known.name)
            }
            There::Kinds(name, kinds) => format!("{name} has {}", kinds.join("; ")),
            There::KindsWithExcluded(name, kinds) => {
                format!("{name} has {}, with those", kinds.join("; "))
            }
        }
    }
}
