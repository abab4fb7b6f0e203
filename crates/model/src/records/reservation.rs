//! Reservations: nodes that are kept for some users, or for maintenance, over a time.

use super::reservation_flag::ReservationFlag;
use super::reserved_for::ReservedFor;
use crate::values::{NodeName, Seconds, Timestamp, parse_licences};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

const HOUR: i64 = 3_600_000;
const DAY: i64 = 24 * HOUR;

/// Nodes that are kept for some users over a time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reservation {
    /// Its name.
    pub name: String,
    /// When it begins; of a repeated one the time that runs or comes next.
    pub start: Timestamp,
    /// When it ends.
    pub end: Timestamp,
    /// Its `Duration`, where it was given or changed by that: a new beginning moves its end.
    pub length: Option<Seconds>,
    /// Its nodes, in the cluster's order.
    pub nodes: Vec<NodeName>,
    /// So many cores of each of them, where it leaves the others to other jobs; none: whole nodes.
    pub cores: Vec<u32>,
    /// Which those are, of each of its nodes.
    pub core_ids: Vec<Vec<u32>>,
    /// The features by which they were chosen.
    pub features: Option<String>,
    /// The partition that it was made in.
    pub partition: Option<String>,
    /// Who may use it.
    pub users: ReservedFor,
    /// Whose members may use it; there are no `users` then.
    pub groups: ReservedFor,
    /// The members of those groups as the system knew them, beside users whose own group it is.
    pub members: Vec<String>,
    /// Whose jobs may use it by their account.
    pub accounts: ReservedFor,
    /// Licences that are kept for its jobs, as they were asked for: `ansys:2`.
    pub licences: Option<String>,
    /// Ascending.
    pub flags: BTreeSet<ReservationFlag>,
    /// With [`ReservationFlag::PurgeComp`]: it goes once no job has used it for so long.
    pub purge_after: Option<Seconds>,
    /// Since when it has begun and no job has named it; kept with [`ReservationFlag::PurgeComp`] alone.
    pub unused_since: Option<Timestamp>,
    /// With [`ReservationFlag::TimeFloat`]: it begins so long after now.
    pub floats_by: Option<Seconds>,
    /// `MaxStartDelay`: jobs that end so soon when told to may use its nodes meanwhile.
    pub max_start_delay: Option<Seconds>,
    /// Counts reservations as they are made: the order in which they are listed.
    pub number: u32,
}

impl Reservation {
    /// Whether it is so.
    #[must_use]
    pub fn is(&self, flag: ReservationFlag) -> bool {
        self.flags.contains(&flag)
    }

    /// Whether it has begun and has not ended.
    #[must_use]
    pub fn is_active(&self, now: Timestamp) -> bool {
        self.start <= now && now < self.end
    }

    /// Whether it leaves what it doesn't need of its nodes to other jobs.
    #[must_use]
    pub fn is_of_cores(&self) -> bool {
        !self.cores.is_empty()
    }

    /// How many cores and CPUs it has. `size` tells a node's CPUs, and its sockets, cores a socket and threads a
    /// core where they are known.
    #[must_use]
    pub fn cores_and_cpus(
        &self,
        size: impl Fn(&NodeName) -> Option<(u32, Option<[u32; 3]>)>,
    ) -> (u32, u32) {
        let sizes = self.nodes.iter().map(size);
        let of_nodes = sizes.enumerate().filter_map(|(index, size)| {
            if !self.is_of_cores() {
                let (cpus, parts) = size?;
                return Some((
                    parts.map_or(cpus, |[sockets, each, _]| sockets * each),
                    cpus,
                ));
            }
            let own = *self.cores.get(index)?;
            let parts = size.and_then(|(_, parts)| parts);
            let threads = parts.map_or(1, |[.., threads]| threads.max(1));
            Some((own, own.saturating_mul(threads)))
        });
        of_nodes.fold((0, 0), |(cores, cpus), of_node| {
            (cores + of_node.0, cpus + of_node.1)
        })
    }

    /// How many licences of a name are its own.
    #[must_use]
    pub fn licences(&self, name: &str) -> u32 {
        let own = self.licences.as_deref().and_then(parse_licences);
        let own = own.unwrap_or_default().into_iter();
        let mut counts = own.filter(|one| one.name == name).map(|one| one.count);
        counts.next().unwrap_or(0)
    }

    /// Whether any of some time is its own.
    #[must_use]
    pub fn overlaps(&self, from: Timestamp, until: Timestamp) -> bool {
        self.start < until && from < self.end
    }

    /// Whether it may take nodes that another has at the same time.
    #[must_use]
    pub fn may_overlap(&self) -> bool {
        self.is(ReservationFlag::Maint) || self.is(ReservationFlag::Overlap)
    }

    /// Whether a user of a group may run jobs in it in an account. One that never begins has none.
    #[must_use]
    pub fn admits(&self, user: &str, group: &str, account: Option<&str>) -> bool {
        let is_member = || {
            self.groups.names.iter().any(|own| own == group)
                || self.members.iter().any(|own| own == user)
        };
        !self.is(ReservationFlag::TimeFloat)
            && self.users.admits(user)
            && (self.groups.is_empty() || is_member())
            && self.accounts.admits(account.unwrap_or_default())
    }

    /// Moves one that floats to where it is at a moment.
    pub fn float(&mut self, now: Timestamp) {
        if let Some(by) = self.floats_by {
            let length = self.end.since(self.start);
            self.start = now + by;
            self.end = Timestamp(self.start.0.saturating_add(length));
        }
    }

    /// When it goes for want of jobs.
    #[must_use]
    pub fn purged_at(&self) -> Option<Timestamp> {
        let since = self
            .unused_since
            .filter(|_| self.is(ReservationFlag::PurgeComp))?;
        Some(since + self.purge_after.unwrap_or_default())
    }

    /// From one of its times to the next; none where it is not repeated.
    #[must_use]
    pub fn next_start(&self) -> Option<Timestamp> {
        let plus = |millis: i64| Timestamp(self.start.0.saturating_add(millis));
        if self.is(ReservationFlag::Hourly) {
            return Some(plus(HOUR));
        }
        if self.is(ReservationFlag::Daily) {
            return Some(plus(DAY));
        }
        if self.is(ReservationFlag::Weekly) {
            return Some(plus(7 * DAY));
        }
        let is_weekday = match (
            self.is(ReservationFlag::Weekday),
            self.is(ReservationFlag::Weekend),
        ) {
            (false, false) => return None,
            (wanted, _) => wanted,
        };
        // 1 January 1970 was a Thursday.
        let day = |at: Timestamp| (at.0.div_euclid(DAY) + 3).rem_euclid(7);
        let days = (1..=7).map(|days| plus(days * DAY));
        let mut days = days.filter(|at| (day(*at) < 5) == is_weekday);
        days.next()
    }

    /// Moves a repeated one on until it ends after a moment; false where it isn't repeated.
    pub fn advance(&mut self, now: Timestamp) -> bool {
        let length = self.end.since(self.start);
        while self.end <= now {
            let Some(next) = self.next_start() else {
                return false;
            };
            self.start = next;
            self.end = Timestamp(next.0.saturating_add(length));
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reservation(flag: ReservationFlag, start: i64) -> Reservation {
        Reservation {
            start: Timestamp(start),
            end: Timestamp(start + HOUR / 2),
            flags: [flag].into(),
            ..Reservation::default()
        }
    }

    #[test]
    fn cores_of_whole_nodes_and_of_parts() {
        let check = |cores: &[u32], want| {
            let reservation = Reservation {
                nodes: vec![
                    NodeName::new("known"),
                    NodeName::new("plain"),
                    NodeName::new("gone"),
                ],
                cores: cores.to_vec(),
                ..Reservation::default()
            };
            let size = |node: &NodeName| match node.as_str() {
                "known" => Some((16, Some([2, 4, 2]))),
                "plain" => Some((4, None)),
                _ => None,
            };
            assert_eq!(reservation.cores_and_cpus(size), want);
        };
        check(&[], (12, 20));
        check(&[3, 2, 1], (6, 9));
    }

    #[test]
    fn a_repeated_one_comes_again() {
        // Thursday, 1 January 1970.
        let check = |flag, now: i64, want: Option<i64>| {
            let mut own = reservation(flag, 0);
            let moved = own.advance(Timestamp(now));
            assert_eq!(moved.then_some(own.start.0), want, "{flag:?}");
        };
        check(ReservationFlag::Hourly, 2 * HOUR, Some(2 * HOUR));
        check(ReservationFlag::Daily, DAY - 1, Some(DAY));
        check(ReservationFlag::Weekly, HOUR, Some(7 * DAY));
        check(ReservationFlag::Weekday, DAY + HOUR, Some(4 * DAY));
        check(ReservationFlag::Weekend, HOUR, Some(2 * DAY));
        check(ReservationFlag::Maint, HOUR, None);
        check(ReservationFlag::Daily, 0, Some(0));
    }
}
