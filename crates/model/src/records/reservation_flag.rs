//! What a reservation is, beside its times and nodes: `Flags=` (`parse_resv_flags` and
//! `reservation_flags_string` of 22.05).

use crate::values::{Seconds, TimeLimitRequest};
use serde::{Deserialize, Serialize};

/// A flag; in the order in which Slurm prints them.
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
    /// Its nodes were named. No word sets it.
    SpecNodes,
    /// All nodes of the cluster were named. No word sets it.
    AllNodes,
    /// Its jobs may use any nodes.
    AnyNodes,
    /// Its nodes stay the same, also where one fails.
    Static,
    /// All nodes of its partition.
    PartNodes,
    /// Of each node the first cores.
    FirstCores,
    /// It begins so long after now, and never comes.
    TimeFloat,
    /// Nodes that jobs use, or that fail, make room for idle ones.
    Replace,
    /// Nodes that fail make room for others.
    ReplaceDown,
    /// It goes once no job has used it for a while.
    PurgeComp,
    /// Jobs that wait for it when it ends go on waiting without it.
    NoHoldJobsAfterEnd,
    /// Jobs that name none start in it.
    Magnetic,
}

/// Which signs may stand before a word.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Signs {
    Any,
    /// It can be set and added, and not taken away.
    NoMinus,
    /// It can only be set.
    None,
}

type Word = (&'static str, usize, ReservationFlag, Signs);

/// In the order in which Slurm tries them, each with its shortest form.
const WORDS: [Word; 21] = [
    ("Maintenance", 3, ReservationFlag::Maint, Signs::Any),
    ("Overlap", 1, ReservationFlag::Overlap, Signs::NoMinus),
    ("Flex", 1, ReservationFlag::Flex, Signs::Any),
    ("Ignore_Jobs", 1, ReservationFlag::IgnoreJobs, Signs::Any),
    ("Hourly", 1, ReservationFlag::Hourly, Signs::Any),
    ("Daily", 1, ReservationFlag::Daily, Signs::Any),
    ("Weekday", 1, ReservationFlag::Weekday, Signs::Any),
    ("Weekend", 1, ReservationFlag::Weekend, Signs::Any),
    ("Weekly", 1, ReservationFlag::Weekly, Signs::Any),
    ("Any_Nodes", 1, ReservationFlag::AnyNodes, Signs::Any),
    ("License_Only", 1, ReservationFlag::AnyNodes, Signs::Any),
    ("Static_Alloc", 1, ReservationFlag::Static, Signs::Any),
    ("Part_Nodes", 2, ReservationFlag::PartNodes, Signs::Any),
    ("Magnetic", 3, ReservationFlag::Magnetic, Signs::Any),
    ("Promiscuous", 2, ReservationFlag::Magnetic, Signs::Any),
    ("Purge_Comp", 2, ReservationFlag::PurgeComp, Signs::Any),
    (
        "First_Cores",
        1,
        ReservationFlag::FirstCores,
        Signs::NoMinus,
    ),
    ("Time_Float", 1, ReservationFlag::TimeFloat, Signs::None),
    ("Replace", 1, ReservationFlag::Replace, Signs::NoMinus),
    (
        "Replace_Down",
        8,
        ReservationFlag::ReplaceDown,
        Signs::NoMinus,
    ),
    (
        "No_Hold_Jobs_After_End",
        1,
        ReservationFlag::NoHoldJobsAfterEnd,
        Signs::NoMinus,
    ),
];

/// What `Flags=` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlagWords {
    /// Each with whether it is set or taken away.
    pub flags: Vec<(ReservationFlag, bool)>,
    /// `PURGE_COMP=TIME`
    pub purge_after: Option<Seconds>,
}

impl ReservationFlag {
    /// Its name in Slurm's output.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            ReservationFlag::Maint => "MAINT",
            ReservationFlag::Flex => "FLEX",
            ReservationFlag::Overlap => "OVERLAP",
            ReservationFlag::IgnoreJobs => "IGNORE_JOBS",
            ReservationFlag::Hourly => "HOURLY",
            ReservationFlag::Daily => "DAILY",
            ReservationFlag::Weekday => "WEEKDAY",
            ReservationFlag::Weekend => "WEEKEND",
            ReservationFlag::Weekly => "WEEKLY",
            ReservationFlag::SpecNodes => "SPEC_NODES",
            ReservationFlag::AllNodes => "ALL_NODES",
            ReservationFlag::AnyNodes => "ANY_NODES",
            ReservationFlag::Static => "STATIC",
            ReservationFlag::PartNodes => "PART_NODES",
            ReservationFlag::FirstCores => "FIRST_CORES",
            ReservationFlag::TimeFloat => "TIME_FLOAT",
            ReservationFlag::Replace => "REPLACE",
            ReservationFlag::ReplaceDown => "REPLACE_DOWN",
            ReservationFlag::PurgeComp => "PURGE_COMP",
            ReservationFlag::NoHoldJobsAfterEnd => "NO_HOLD_JOBS_AFTER_END",
            ReservationFlag::Magnetic => "MAGNETIC",
        }
    }

    /// Whether it makes a reservation come again.
    #[must_use]
    pub fn repeats(self) -> bool {
        matches!(
            self,
            ReservationFlag::Hourly
                | ReservationFlag::Daily
                | ReservationFlag::Weekday
                | ReservationFlag::Weekend
                | ReservationFlag::Weekly
        )
    }
}

impl FlagWords {
    /// Reads `MAINT,+DAILY,-FLEX`; `None` where Slurm does not. A sign holds until the next one.
    #[must_use]
    pub fn parse(text: &str) -> Option<FlagWords> {
        let mut words = FlagWords::default();
        let mut sign = None;
        let mut rest = text;
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix(['+', '-']) {
                sign = rest.chars().next();
                rest = after;
            }
            let end = rest.find([',', '=']).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            let flag = flag_of(word, sign)?;
            rest = after;
            if flag == ReservationFlag::PurgeComp
                && let Some(value) = rest.strip_prefix('=')
            {
                let end = value.find(',').unwrap_or(value.len());
                let (value, after) = value.split_at(end);
                words.purge_after = purge_after(value).or(words.purge_after);
                rest = after;
            }
            words.flags.push((flag, sign != Some('-')));
            rest = rest.strip_prefix(',').unwrap_or(rest);
        }
        Some(words)
    }
}

fn flag_of(word: &str, sign: Option<char>) -> Option<ReservationFlag> {
    let names = |(name, least, _, signs): &&Word| {
        let start = name.get(..word.len());
        word.len() >= *least
            && start.is_some_and(|start| start.eq_ignore_ascii_case(word))
            && match signs {
                Signs::Any => true,
                Signs::NoMinus => sign != Some('-'),
                Signs::None => sign.is_none(),
            }
    };
    WORDS.iter().find(names).map(|(_, _, flag, _)| *flag)
}

/// A length without bound is one of 2^32 seconds; what is no length is not said.
fn purge_after(text: &str) -> Option<Seconds> {
    match TimeLimitRequest::parse(text)? {
        TimeLimitRequest::Limit(length) => Some(length),
        TimeLimitRequest::Unlimited if text.starts_with('0') => Some(Seconds(0)),
        TimeLimitRequest::Unlimited => Some(Seconds(u64::from(u32::MAX))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ReservationFlag as Flag;

    #[track_caller]
    fn check(text: &str, want: Option<&[(Flag, bool)]>) {
        let words = FlagWords::parse(text).map(|words| words.flags);
        assert_eq!(words.as_deref(), want, "{text}");
    }

    /// As recorded from a real one.
    #[test]
    fn words_and_their_shortest_forms() {
        for (text, flag) in [
            ("s", Flag::Static),
            ("STATIC_ALLOC", Flag::Static),
            ("mai", Flag::Maint),
            ("MAINT", Flag::Maint),
            ("mag", Flag::Magnetic),
            ("PROMISCUOUS", Flag::Magnetic),
            ("pr", Flag::Magnetic),
            ("pa", Flag::PartNodes),
            ("pu", Flag::PurgeComp),
            ("w", Flag::Weekday),
            ("week", Flag::Weekday),
            ("weeke", Flag::Weekend),
            ("weekl", Flag::Weekly),
            ("r", Flag::Replace),
            ("replace_", Flag::ReplaceDown),
            ("a", Flag::AnyNodes),
            ("LICENSE_ONLY", Flag::AnyNodes),
            ("t", Flag::TimeFloat),
            ("first", Flag::FirstCores),
            ("n", Flag::NoHoldJobsAfterEnd),
            ("i", Flag::IgnoreJobs),
        ] {
            check(text, Some(&[(flag, true)]));
        }
        for text in [
            "m",
            "ma",
            "p",
            ",,",
            "maint=5",
            "USER_DELETE",
            "FORCE_START",
            "GRES_REQ",
            "SKIP",
            "SPEC_NODES",
            "ALL_NODES",
            "STATIC_ALLOC,NOSUCH",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn signs() {
        check("", Some(&[]));
        check("daily,", Some(&[(Flag::Daily, true)]));
        check(
            "+maint,daily,-flex,week",
            Some(&[
                (Flag::Maint, true),
                (Flag::Daily, true),
                (Flag::Flex, false),
                (Flag::Weekday, false),
            ]),
        );
        for text in [
            "-overlap",
            "-first_cores",
            "-no_hold",
            "-replace",
            "-REPLACE_DOWN",
            "+time_float",
            "-time_float",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn how_long_one_stays_without_jobs() {
        for (text, want) in [
            ("PURGE_COMP", None),
            ("PURGE_COMP=", None),
            ("PURGE_COMP=abc", None),
            ("PURGE_COMP=5", Some(300)),
            ("PURGE_COMP=1:00:00,MAINT", Some(3600)),
            ("PURGE_COMP=0", Some(0)),
            ("PURGE_COMP=UNLIMITED", Some(u64::from(u32::MAX))),
        ] {
            let words = FlagWords::parse(text).expect(text);
            assert_eq!(words.purge_after, want.map(Seconds), "{text}");
        }
    }
}
