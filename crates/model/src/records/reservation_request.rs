//! What `scontrol create|update reservation` asks for.

use super::reservation_flag::ReservationFlag;
use super::reserved_for::NamesChange;
use crate::values::{NodeName, Seconds, Timestamp};
use serde::{Deserialize, Serialize};

/// A reservation that is to be made, or what is to change of one. What is `None` is not said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReservationRequest {
    /// Its name; a new one without is called after its first account, user or group.
    pub name: Option<String>,
    /// `StartTime`
    pub start: Option<Timestamp>,
    /// `EndTime`
    pub end: Option<Timestamp>,
    /// `Duration`
    pub length: Option<LengthChange>,
    /// `Nodes`
    pub nodes: Option<ReservedNodes>,
    /// `NodeCnt`, `TRES=node=N`: so many nodes, each number chosen for itself. Empty: 0 was said.
    pub node_counts: Option<Vec<u32>>,
    /// `CoreCnt`, `TRES=cpu=N`. Empty: 0 was said.
    pub core_counts: Option<Vec<u32>>,
    /// `Features`
    pub features: Option<String>,
    /// `PartitionName`
    pub partition: Option<String>,
    /// `Users`
    pub users: Option<NamesChange>,
    /// `Groups`
    pub groups: Option<NamesChange>,
    /// `Accounts`
    pub accounts: Option<NamesChange>,
    /// `Licenses`
    pub licences: Option<String>,
    /// `Flags`: each with whether it is set or taken away.
    pub flags: Vec<(ReservationFlag, bool)>,
    /// `Flags=PURGE_COMP=TIME`
    pub purge_after: Option<Seconds>,
    /// `MaxStartDelay`; 0 takes it away.
    pub max_start_delay: Option<Seconds>,
    /// `Skip`: a repeated one goes on to its next time.
    pub skips: bool,
}

/// How long a reservation lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LengthChange {
    /// So long.
    To(Seconds),
    /// `Duration+=N`
    More(Seconds),
    /// `Duration-=N`
    Less(Seconds),
}

/// Which nodes a reservation has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReservedNodes {
    /// `ALL`
    All,
    /// These.
    To(Vec<NodeName>),
}

impl ReservationRequest {
    /// Whether it sets a flag.
    #[must_use]
    pub fn sets(&self, flag: ReservationFlag) -> bool {
        self.flags.contains(&(flag, true))
    }

    /// Whether it takes a flag away.
    #[must_use]
    pub fn takes_away(&self, flag: ReservationFlag) -> bool {
        self.flags.contains(&(flag, false))
    }
}
