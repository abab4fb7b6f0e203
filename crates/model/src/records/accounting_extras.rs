//! What `sacctmgr` manages beside accounts, users, QOS and associations: workload keys, licences of a
//! server and federations' names.

use serde::{Deserialize, Serialize};

/// A workload key of a user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Wckey {
    /// The key.
    pub name: String,
    /// Whose.
    pub user: String,
}

/// Licences that a server gives out, and how much of them the cluster may have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LicenceResource {
    /// Their name.
    pub name: String,
    /// The server.
    pub server: String,
    /// What they are.
    pub description: String,
    /// The kind of server.
    pub server_type: String,
    /// How many there are.
    pub count: u32,
    /// The percentage that the cluster may have; `None` is nothing at all.
    pub allowed: Option<u32>,
}

impl LicenceResource {
    /// `NAME@SERVER`, as jobs ask for them.
    #[must_use]
    pub fn full_name(&self) -> String {
        format!("{}@{}", self.name, self.server)
    }

    /// How many the cluster may have.
    #[must_use]
    pub fn of_cluster(&self) -> u32 {
        let share = u64::from(self.count) * u64::from(self.allowed.unwrap_or(0)) / 100;
        u32::try_from(share).unwrap_or(u32::MAX)
    }
}
