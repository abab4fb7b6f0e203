//! Whose a job is, and where it came from.

use serde::{Deserialize, Serialize};

/// Who submitted a job, and with what: the same for all that one submission made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Submitter {
    /// Owner.
    pub uid: u32,
    /// Owner's group.
    pub gid: u32,
    /// Owner's name.
    pub user: String,
    /// Owner's group's name.
    pub group: String,
    /// The host.
    pub host: String,
    /// The script's path as given, for `Command=` of `scontrol show job`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}
