//! Reservations: nodes that are kept for some users, or for maintenance, over a time.

use crate::values::{NodeName, Timestamp};
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
    /// Its nodes, in the cluster's order.
    pub nodes: Vec<NodeName>,
    /// The features by which they were chosen.
    pub features: Option<String>,
    /// The partition that it was made in.
    pub partition: Option<String>,
    /// Who may use it.
    pub users: ReservedFor,
    /// Whose jobs may use it by their account.
    pub accounts: ReservedFor,
    /// Ascending.
    pub flags: BTreeSet<ReservationFlag>,
    /// `Comment`
    pub comment: Option<String>,
}

/// Names of users or accounts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReservedFor {
    /// In the order in which they were given.
    pub names: Vec<String>,
    /// It is for all others: `-NAME`.
    pub are_excluded: bool,
}

impl ReservedFor {
    /// Whether it says nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Whether a name may use it.
    #[must_use]
    pub fn admits(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|own| own == name) != self.are_excluded
    }

    /// As it is printed: `root,-ann`; none where it says nothing.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        let sign = if self.are_excluded { "-" } else { "" };
        let names: Vec<String> = self
            .names
            .iter()
            .map(|name| format!("{sign}{name}"))
            .collect();
        (!names.is_empty()).then(|| names.join(","))
    }
}

/// What a reservation is, beside its times and nodes; in the order in which Slurm prints them
/// (`reservation_flags_string` of 22.05's `slurm_protocol_defs.c`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReservationFlag {
    /// For maintenance: it may take nodes of other reservations.
    Maint,
    /// Its jobs may use other nodes too, and start before it and end after it.
    Flex,
    /// It may take nodes of other reservations.
    Overlap,
    /// Jobs that run on its nodes when it is made are no hindrance.
    IgnoreJobs,
    /// Each hour.
    Hourly,
    /// Each day.
    Daily,
    /// From Monday to Friday.
    Weekday,
    /// Saturday and Sunday.
    Weekend,
    /// Each week.
    Weekly,
    /// Its nodes were named.
    SpecNodes,
    /// All nodes of the cluster were named.
    AllNodes,
    /// Its jobs may use any nodes.
    AnyNodes,
    /// Its nodes stay the same, also where one fails.
    Static,
    /// All nodes of its partition.
    PartNodes,
    /// Jobs that wait for it when it ends go on waiting without it.
    NoHoldJobsAfterEnd,
}

impl ReservationFlag {
    const ALL: [(ReservationFlag, &'static str); 15] = [
        (ReservationFlag::Maint, "MAINT"),
        (ReservationFlag::Flex, "FLEX"),
        (ReservationFlag::Overlap, "OVERLAP"),
        (ReservationFlag::IgnoreJobs, "IGNORE_JOBS"),
        (ReservationFlag::Hourly, "HOURLY"),
        (ReservationFlag::Daily, "DAILY"),
        (ReservationFlag::Weekday, "WEEKDAY"),
        (ReservationFlag::Weekend, "WEEKEND"),
        (ReservationFlag::Weekly, "WEEKLY"),
        (ReservationFlag::SpecNodes, "SPEC_NODES"),
        (ReservationFlag::AllNodes, "ALL_NODES"),
        (ReservationFlag::AnyNodes, "ANY_NODES"),
        (ReservationFlag::Static, "STATIC"),
        (ReservationFlag::PartNodes, "PART_NODES"),
        (
            ReservationFlag::NoHoldJobsAfterEnd,
            "NO_HOLD_JOBS_AFTER_END",
        ),
    ];

    /// Its name in Slurm's output.
    #[must_use]
    pub fn word(self) -> &'static str {
        let mut all = ReservationFlag::ALL.iter();
        all.find(|(flag, _)| *flag == self)
            .map_or("", |(_, word)| word)
    }

    /// The flag that a word names or abbreviates; the shortest forms are those of 22.05's
    /// `parse_resv_flags`.
    #[must_use]
    pub fn of_word(word: &str) -> Option<ReservationFlag> {
        let least = |flag: ReservationFlag| match flag {
            ReservationFlag::Maint
            | ReservationFlag::Overlap
            | ReservationFlag::IgnoreJobs
            | ReservationFlag::Hourly
            | ReservationFlag::Daily
            | ReservationFlag::SpecNodes
            | ReservationFlag::Flex => 1,
            ReservationFlag::Static
            | ReservationFlag::AnyNodes
            | ReservationFlag::AllNodes
            | ReservationFlag::PartNodes => 2,
            ReservationFlag::Weekly | ReservationFlag::Weekday | ReservationFlag::Weekend => 4,
            ReservationFlag::NoHoldJobsAfterEnd => 2,
        };
        let long = |flag: ReservationFlag| match flag {
            ReservationFlag::Static => "STATIC_ALLOC",
            flag => flag.word(),
        };
        let mut all = ReservationFlag::ALL.iter().map(|(flag, _)| *flag);
        all.find(|flag| {
            let start = long(*flag).get(..word.len());
            word.len() >= least(*flag)
                && start.is_some_and(|start| start.eq_ignore_ascii_case(word))
        })
    }
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

    /// Whether a user may run jobs in it in an account.
    #[must_use]
    pub fn admits(&self, user: &str, account: Option<&str>) -> bool {
        self.users.admits(user) && self.accounts.admits(account.unwrap_or_default())
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

    #[test]
    fn each_flag_has_a_word_that_is_read_again() {
        for (flag, word) in ReservationFlag::ALL {
            assert_eq!(ReservationFlag::of_word(word), Some(flag));
            assert_eq!(flag.word(), word);
        }
        assert_eq!(
            ReservationFlag::of_word("maint"),
            Some(ReservationFlag::Maint)
        );
        assert_eq!(ReservationFlag::of_word("nosuch"), None);
    }

    #[test]
    fn who_may_use_it() {
        let of = |names: &[&str], are_excluded| ReservedFor {
            names: names.iter().map(|name| (*name).to_owned()).collect(),
            are_excluded,
        };
        assert!(of(&["ann"], false).admits("ann") && !of(&["ann"], false).admits("bob"));
        assert!(!of(&["ann"], true).admits("ann") && of(&["ann"], true).admits("bob"));
        assert!(of(&[], false).admits("bob"));
        assert_eq!(of(&["a", "b"], true).text().as_deref(), Some("-a,-b"));
    }
}
