//! What a cluster would take instead.

use super::option_name;
use model::option_table::Key;
use model::{TimeLimitRequest, mebibytes_option};
use std::fmt;

/// A change of a job after which the finding would not stand, or as near to one as is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// This option with this value.
    Set(Key, String),
    /// This time, and the rest of the work in later jobs.
    Links(TimeLimitRequest),
    /// That account, where it is the user's.
    AccountIfYours(String),
    /// A name of this kind that is nearly the one that was given.
    DidYouMean(Key, String),
    /// Without this option.
    LeaveOut(Key),
    /// Without the option, of which nothing else would be taken.
    LeaveNodeOut {
        /// Whether another partition has the node.
        is_elsewhere: bool,
    },
    /// Without these features.
    WithoutFeatures(Vec<String>),
    /// Another node.
    NodeThatIsThere,
    /// A partition of those that there are: none has all that is asked.
    NoneServes,
    /// No other partition of this cluster takes the job as it is.
    NoOtherPartition(String),
    /// A reservation of the user's own.
    Reservation,
    /// An account for the user.
    GetAccount,
    /// An array of at most so many elements.
    ArraysOf(u32),
    /// An array up to this index, and another one for the rest.
    SplitArray(u32),
    /// So much of a countable resource in all.
    InAll(String, u64),
    /// At least so much of a countable resource in all.
    AtLeast(String, u64),
    /// So many GPUs of each node.
    GpusOfNode(u64, Option<String>),
    /// GPUs of one type on each node.
    OneTypeOfNode(String, u64),
    /// GPUs of one type alone.
    OneTypeOfJob,
    /// Another type of GPUs, or none.
    GpuType(GpuTypeChange),
    /// A partition with GPUs.
    WithGpus,
    /// Fewer nodes excluded.
    ExcludeFewer,
    /// No more than these nodes have.
    NoMoreThan(Vec<String>),
    /// Licences, as a list of names and numbers.
    LicenceList,
    /// A name of those that there are.
    OneOfThose,
    /// No change of one option alone.
    SeveralOptions,
    /// What an engine says itself.
    Message(String),
}

/// How to ask for GPUs of a type that none is called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GpuTypeChange {
    /// Without a type: the GPUs of this model have none.
    OwnHaveNone(String),
    /// Without a type, or where that type is.
    Without {
        /// The type that is asked for.
        asked: String,
        /// The models that there are.
        models: Vec<String>,
    },
    /// By the type that the cluster gave them.
    CalledHere {
        /// The type that is asked for.
        asked: String,
        /// The cluster's own.
        own: String,
    },
    /// One of the types that there are.
    OneOf(Vec<String>),
}

impl Change {
    /// A partition to go to.
    pub(super) fn partition(name: &str) -> Change {
        Change::Set(Key::Partition, name.to_owned())
    }
}

/// Changes of which each is enough.
pub(super) fn any_of(changes: &[Change]) -> String {
    let changes: Vec<String> = changes.iter().map(Change::to_string).collect();
    changes.join(", or ")
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::Set(key, value) => write!(f, "{}={value}", option_name(*key)),
            Change::Links(time) => write!(f, "--time={time}, and come back from a checkpoint"),
            Change::AccountIfYours(name) => write!(f, "--account={name} where it is yours"),
            Change::DidYouMean(_, name) => write!(f, "did you mean {name}?"),
            Change::LeaveOut(key) => write!(f, "leave {} out", option_name(*key)),
            Change::LeaveNodeOut { is_elsewhere: true } => f.write_str("leave it out"),
            Change::LeaveNodeOut {
                is_elsewhere: false,
            } => f.write_str("leave it out: no partition has it"),
            Change::WithoutFeatures(names) => write!(f, "leave {} out", names.join(", ")),
            Change::NodeThatIsThere => f.write_str("name a node that is there"),
            Change::NoneServes => {
                f.write_str("name one of those; none of them has all that is asked")
            }
            Change::NoOtherPartition(cluster) => {
                write!(f, "no other partition of {cluster} takes it as it is")
            }
            Change::Reservation => f.write_str("your --reservation"),
            Change::GetAccount => f.write_str("ask the cluster's people for an account"),
            Change::ArraysOf(most) => write!(f, "arrays of at most {most}"),
            Change::SplitArray(last) => write!(
                f,
                "--array=0-{last}, and the rest as another array with an offset in the script"
            ),
            Change::InAll(name, most) => match name.as_str() {
                "node" => write!(f, "{}={most}", option_name(Key::Nodes)),
                "cpu" => write!(f, "at most {most} CPUs in all"),
                "mem" => write!(f, "at most {} in all", mebibytes_option(*most)),
                "gres/gpu" => write!(f, "at most {most} GPUs in all"),
                name => write!(f, "at most {most} of {name} in all"),
            },
            Change::AtLeast(name, least) => write!(f, "ask for {name}={least} or more"),
            Change::GpusOfNode(count, Some(kind)) => write!(f, "{count} {kind} a node"),
            Change::GpusOfNode(1, None) => f.write_str("1 GPU a node"),
            Change::GpusOfNode(count, None) => write!(f, "{count} GPUs a node"),
            Change::OneTypeOfNode(kind, count) => {
                write!(f, "GPUs of one type a node, such as gpu:{kind}:{count}")
            }
            Change::OneTypeOfJob => f.write_str("GPUs of one type, or a job for each type"),
            Change::GpuType(change) => change.fmt(f),
            Change::WithGpus => f.write_str("a partition with GPUs"),
            Change::ExcludeFewer => f.write_str("exclude fewer of them"),
            Change::NoMoreThan(kinds) => {
                write!(f, "no more at once than they have: {}", kinds.join("; "))
            }
            Change::LicenceList => f.write_str("write them as NAME:NUMBER,NAME:NUMBER"),
            Change::OneOfThose => f.write_str("name one of those"),
            Change::SeveralOptions => {
                f.write_str("change several options: no other value of one alone is enough")
            }
            Change::Message(text) => f.write_str(text),
        }
    }
}

impl fmt::Display for GpuTypeChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GpuTypeChange::OwnHaveNone(model) => {
                write!(f, "ask without a type: its {model} GPUs have none")
            }
            GpuTypeChange::Without { asked, models } if models.is_empty() => {
                write!(f, "ask without a type, or where {asked} are")
            }
            GpuTypeChange::Without { asked, models } => write!(
                f,
                "ask without a type for its {}, or where {asked} are",
                models.join(", ")
            ),
            GpuTypeChange::CalledHere { asked, own } => {
                write!(f, "its {asked} are asked for as gpu:{own}")
            }
            GpuTypeChange::OneOf(types) => match &types[..] {
                [one] => write!(f, "ask for its {one}, the only type"),
                types => write!(f, "ask for one of its GPU types: {}", types.join(", ")),
            },
        }
    }
}
