//! Where a limit stands in the cluster file.

use std::fmt;

/// What decides against a job: a key of the cluster file, or what no single key says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LimitPath {
    /// A name that the file has not got, or not for this user.
    Name,
    /// How many nodes a partition has.
    NodeCount(String),
    /// What the nodes of a partition, or of the whole cluster, have.
    Nodes(Option<String>),
    /// A key of a partition.
    Partition(String, &'static str),
    /// A key of a QOS.
    Qos(String, &'static str),
    /// A key of an account, which holds for its users too.
    Account(String, &'static str),
    /// A key of a user.
    User(String, &'static str),
    /// A key of what a user has in an account.
    Association {
        /// The user.
        user: String,
        /// The account.
        account: String,
        /// The key.
        key: &'static str,
    },
    /// A key of `[limits]`, for the whole cluster.
    Cluster(&'static str),
    /// A key of `[scheduling]`.
    Scheduling(&'static str),
    /// A rule of the embedded engine itself.
    Engine,
    /// A key of the file that an engine has, as it answered.
    Answered(String),
}

impl LimitPath {
    /// The key as the cluster file has it, such as `qos.test.max_wall`; none where no single key
    /// decides.
    #[must_use]
    pub fn key(&self) -> Option<String> {
        match self {
            LimitPath::Name
            | LimitPath::NodeCount(_)
            | LimitPath::Nodes(None)
            | LimitPath::Engine => None,
            path => Some(path.to_string()),
        }
    }
}

impl fmt::Display for LimitPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LimitPath::Name | LimitPath::Engine | LimitPath::Nodes(None) => Ok(()),
            LimitPath::NodeCount(name) | LimitPath::Nodes(Some(name)) => {
                write!(f, "partition.{name}.nodes")
            }
            LimitPath::Partition(name, key) => write!(f, "partition.{name}.{key}"),
            LimitPath::Qos(name, key) => write!(f, "qos.{name}.{key}"),
            LimitPath::Account(name, key) => write!(f, "account.{name}.{key}"),
            LimitPath::User(name, key) => write!(f, "user.{name}.{key}"),
            LimitPath::Association { user, account, key } => {
                write!(f, "user.{user}.account.{account}.{key}")
            }
            LimitPath::Cluster(key) => write!(f, "limits.{key}"),
            LimitPath::Scheduling(key) => write!(f, "scheduling.{key}"),
            LimitPath::Answered(key) => f.write_str(key),
        }
    }
}
