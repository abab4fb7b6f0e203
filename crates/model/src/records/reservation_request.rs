//! What `scontrol create|update reservation` asks for.

use crate::records::{Reservation, ReservationFlag, ReservedFor};
use crate::values::{NodeName, Seconds, Timestamp};
use serde::{Deserialize, Serialize};

/// A reservation that is to be made, or what is to change of one. What is `None` is not said.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReservationRequest {
    /// Its name; a new one without is called after its first user or account.
    pub name: Option<String>,
    /// `StartTime`
    pub start: Option<Timestamp>,
    /// `EndTime`
    pub end: Option<Timestamp>,
    /// `Duration`
    pub length: Option<LengthChange>,
    /// `Nodes`
    pub nodes: Option<ReservedNodes>,
    /// `NodeCnt`
    pub node_count: Option<u32>,
    /// `Features`
    pub features: Option<String>,
    /// `PartitionName`
    pub partition: Option<String>,
    /// `Users`
    pub users: Option<NamesChange>,
    /// `Accounts`
    pub accounts: Option<NamesChange>,
    /// `Flags`: each with whether it is set or taken away.
    pub flags: Vec<(ReservationFlag, bool)>,
    /// `Comment`
    pub comment: Option<String>,
}

/// How long a reservation lasts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LengthChange {
    /// So long.
    To(Seconds),
    /// `Duration=+N`
    More(Seconds),
    /// `Duration=-N`
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

/// Who may use a reservation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NamesChange {
    /// These.
    To(ReservedFor),
    /// `Users+=`
    More(Vec<String>),
    /// `Users-=`
    Less(Vec<String>),
}

impl NamesChange {
    /// What becomes of names.
    #[must_use]
    pub fn of(&self, former: &ReservedFor) -> ReservedFor {
        let mut now = former.clone();
        match self {
            NamesChange::To(names) => now = names.clone(),
            NamesChange::More(names) => {
                let new = names.iter().filter(|name| !former.names.contains(name));
                now.names.extend(new.cloned());
            }
            NamesChange::Less(names) => now.names.retain(|name| !names.contains(name)),
        }
        now
    }

    /// The names that it names.
    #[must_use]
    pub fn names(&self) -> &[String] {
        match self {
            NamesChange::To(of) => &of.names,
            NamesChange::More(names) | NamesChange::Less(names) => names,
        }
    }
}

/// Why there is no such reservation, in Slurm's words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum ReservationDenial {
    /// There is none of that name, or there is one already.
    #[error("Requested reservation is invalid")]
    Invalid,
    /// It begins in the past, ends before it begins, or is longer than from one time to the next.
    #[error("Invalid time specified")]
    Time,
    /// It names no user and no account.
    #[error("Reservation request lacks users or accounts")]
    WithoutUsers,
    /// No such user.
    #[error("Invalid user id")]
    User,
    /// No such account.
    #[error("Invalid account or account/partition combination specified")]
    Account,
    /// No such partition.
    #[error("Invalid partition name specified")]
    Partition,
    /// No such node.
    #[error("Invalid node name specified")]
    NodeName,
    /// No node has the features.
    #[error("Invalid feature specification")]
    Feature,
    /// Jobs run there at that time.
    #[error("Requested nodes are busy")]
    Busy,
    /// It overlaps another one.
    #[error("Requested reservation overlaps with another reservation")]
    Overlap,
    /// There are not so many nodes.
    #[error("Requested node configuration is not available")]
    TooMany,
    /// Jobs are in it.
    #[error("Requested reservation is in use")]
    InUse,
    /// It began already.
    #[error("Requested reservation is already started")]
    Begun,
}

impl ReservationRequest {
    /// What becomes of a reservation, but for its nodes, which are found in the cluster.
    ///
    /// # Errors
    /// Its times are none.
    pub fn changed(&self, former: &Reservation) -> Result<Reservation, ReservationDenial> {
        let mut now = former.clone();
        if let Some(start) = self.start {
            now.end = Timestamp(start.0.saturating_add(former.end.since(former.start)));
            now.start = start;
        }
        let plus = |at: Timestamp, Seconds(seconds): Seconds| {
            let millis = i64::try_from(seconds).unwrap_or(i64::MAX / 2000);
            Timestamp(at.0.saturating_add(millis.saturating_mul(1000)))
        };
        match self.length {
            Some(LengthChange::To(length)) => now.end = plus(now.start, length),
            Some(LengthChange::More(length)) => now.end = plus(now.end, length),
            Some(LengthChange::Less(length)) => {
                let less = plus(Timestamp(0), length).0;
                now.end = Timestamp(now.end.0.saturating_sub(less));
            }
            None => {}
        }
        now.end = self.end.unwrap_or(now.end);
        for (flag, is_set) in &self.flags {
            if *is_set {
                now.flags.insert(*flag);
            } else {
                now.flags.remove(flag);
            }
        }
        if let Some(users) = &self.users {
            now.users = users.of(&now.users);
        }
        if let Some(accounts) = &self.accounts {
            now.accounts = accounts.of(&now.accounts);
        }
        let text = |text: &Option<String>, former: Option<String>| match text {
            Some(text) => Some(text.clone()).filter(|text| !text.is_empty()),
            None => former,
        };
        now.features = text(&self.features, now.features);
        now.partition = text(&self.partition, now.partition);
        now.comment = text(&self.comment, now.comment);
        let period = now.next_start().map(|next| next.since(now.start));
        let length = now.end.since(now.start);
        if now.end <= now.start || period.is_some_and(|period| length > period) {
            return Err(ReservationDenial::Time);
        }
        if now.users.is_empty() && now.accounts.is_empty() {
            return Err(ReservationDenial::WithoutUsers);
        }
        Ok(now)
    }
}
