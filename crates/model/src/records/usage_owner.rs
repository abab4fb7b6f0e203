//! Whose usage accounting counts.

use serde::{Deserialize, Serialize};

/// One whose usage is counted by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "of")]
pub enum UsageOwner {
    /// A QOS, all of its jobs.
    Qos {
        /// Its name.
        name: String,
    },
    /// An account with all below it.
    Account {
        /// Its name.
        account: String,
    },
    /// A user in an account.
    User {
        /// The account.
        account: String,
        /// The user.
        user: String,
        /// The partition for which that association is, where it is for one alone.
        partition: Option<String>,
    },
}
