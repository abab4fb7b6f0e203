//! `scontrol create|update reservation`: its words (`create_res.c` of 22.05's `scontrol`).

use super::reservation_counts::{core_counts, node_counts, tres};
use crate::records::{
    FlagWords, LengthChange, NameSign, NamesChange, ReservationFlag, ReservationRequest,
    ReservedNodes,
};
use crate::values::{
    NodeName, Seconds, TimeLimitRequest, Timestamp, node_list, one_line, parse_moment,
};
use jiff::tz::TimeZone;

/// What `scontrol` says of words that it does not take, a line each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReservationWords {
    /// In Slurm's words, but for what is not built in.
    pub lines: Vec<String>,
}

/// A word `KEY=VALUE`, `KEY+=VALUE`.
struct Word<'a> {
    whole: &'a str,
    key: &'a str,
    sign: Option<NameSign>,
    value: &'a str,
}

/// Reads the words.
struct Reader<'a> {
    asked: ReservationRequest,
    has_watts: bool,
    outcome: &'static str,
    now: Timestamp,
    zone: &'a TimeZone,
}

/// Reads the words after `create` or `update`.
///
/// # Errors
/// What `scontrol` says before it asks its controller.
pub fn reservation_request(
    words: &[String],
    is_new: bool,
    now: Timestamp,
    zone: &TimeZone,
) -> Result<ReservationRequest, ReservationWords> {
    let outcome = if is_new {
        "No reservation created."
    } else {
        "No reservation update."
    };
    let mut reader = Reader {
        asked: ReservationRequest::default(),
        has_watts: false,
        outcome,
        now,
        zone,
    };
    for word in words {
        reader.read(word).map_err(|mut lines| {
            if !is_new {
                lines.push("slurm_update error: No error".to_owned());
            }
            ReservationWords { lines }
        })?;
    }
    let of_whole = if is_new {
        reader.complete()
    } else if reader.asked.name.is_none() {
        Err(reader.error("Reservation must be given."))
    } else {
        Ok(())
    };
    of_whole.map_err(|lines| ReservationWords { lines })?;
    Ok(reader.asked)
}

/// Longer than any name that a person reads.
const LONGEST_NAME: usize = 1024;

/// What is wrong with a reservation's name.
fn bad_name(name: &str) -> Option<String> {
    if name.len() > LONGEST_NAME {
        return Some(format!(
            "ReservationName has {} bytes, of which {LONGEST_NAME} are taken.",
            name.len()
        ));
    }
    let shown = one_line(name);
    (shown != name).then(|| format!("ReservationName={shown} has control characters."))
}

impl<'a> Word<'a> {
    fn parse(whole: &'a str) -> Option<Word<'a>> {
        let (key, value) = whole.split_once('=')?;
        let (key, sign) = match (key.strip_suffix('+'), key.strip_suffix('-')) {
            (Some(key), _) => (key, Some(NameSign::More)),
            (_, Some(key)) => (key, Some(NameSign::Less)),
            _ => (key, None),
        };
        Some(Word {
            whole,
            key,
            sign,
            value,
        })
    }

    fn is(&self, name: &str, least: usize) -> bool {
        let start = name.get(..self.key.len());
        self.key.len() >= least && start.is_some_and(|start| start.eq_ignore_ascii_case(self.key))
    }

    fn text(&self) -> Option<String> {
        Some(self.value.to_owned())
    }
}

/// Whether a word begins with `res`.
fn begins_with_res(word: &str) -> bool {
    let start = word.get(..3);
    start.is_some_and(|start| start.eq_ignore_ascii_case("res"))
}

impl Reader<'_> {
    fn error(&self, text: impl std::fmt::Display) -> Vec<String> {
        vec![format!("scontrol: error: {text}  {}", self.outcome)]
    }

    fn not_built_in(&self, word: &Word<'_>) -> Vec<String> {
        let Word { key, whole, .. } = word;
        self.error(format!(
            "{key} of reservations is not built in here; leave it out: {whole}."
        ))
    }

    fn read(&mut self, whole: &str) -> Result<(), Vec<String>> {
        let Some(word) = Word::parse(whole) else {
            if begins_with_res(whole) {
                return Ok(());
            }
            if whole.eq_ignore_ascii_case("skip") {
                self.asked.skips = true;
                return Ok(());
            }
            return Err(self.error(format!(
                "Misformatted parameter '{whole}', most options have a parameter after '='."
            )));
        };
        let takes_sign = self.key(&word)?;
        if word.sign.is_some() && !takes_sign {
            let key = word.key;
            return Err(self.error(format!(
                "The +=/-= notation is not supported when updating {key}."
            )));
        }
        Ok(())
    }

    /// Reads one word; true where its key takes a sign.
    fn key(&mut self, word: &Word<'_>) -> Result<bool, Vec<String>> {
        let plain = |text: String| vec![format!("scontrol: error: {text}")];
        let value = word.value;
        if word.is("Accounts", 1) {
            self.asked.accounts = Some(self.names(&self.asked.accounts, word)?);
            return Ok(true);
        } else if word.is("Flags", 2) {
            self.flags(word)?;
            return Ok(true);
        } else if word.is("Groups", 1) {
            self.asked.groups = Some(self.names(&self.asked.groups, word)?);
            return Ok(true);
        } else if word.is("Users", 1) {
            self.asked.users = Some(self.names(&self.asked.users, word)?);
            return Ok(true);
        } else if word.is("ReservationName", 1) {
            if let Some(why) = bad_name(value) {
                return Err(self.error(why));
            }
            self.asked.name = word.text();
        } else if word.is("BurstBuffer", 2) {
            if !value.is_empty() {
                return Err(self.not_built_in(word));
            }
        } else if word.is("StartTime", 2) {
            self.asked.start = Some(self.moment("start", word)?);
        } else if word.is("EndTime", 1) {
            self.asked.end = Some(self.moment("end", word)?);
        } else if word.is("Duration", 1) {
            self.asked.length = Some(self.duration(word)?);
            return Ok(true);
        } else if word.is("MaxStartDelay", 2) {
            self.asked.max_start_delay = Some(match length(value) {
                Some(Some(length)) => length,
                _ => return Err(self.error(format!("Invalid duration {}.", word.whole))),
            });
        } else if word.is("NodeCnt", 5) || word.is("NodeCount", 5) {
            let counts = node_counts(value);
            let counts = counts.map_err(|()| plain(format!("Invalid node count {value}")))?;
            self.asked.node_counts = counts;
        } else if ["CoreCnt", "CoreCount", "CPUCnt", "CPUCount"]
            .iter()
            .any(|name| word.is(name, 5))
        {
            let counts = core_counts(value);
            let counts = counts.map_err(|()| plain(format!("Invalid core count {value}")))?;
            self.asked.core_counts = counts;
        } else if word.is("Nodes", 5) {
            self.asked.nodes = Some(nodes(value)?);
        } else if word.is("Features", 2) {
            self.asked.features = word.text();
        } else if word.is("Licenses", 2) {
            self.asked.licences = word.text();
        } else if word.is("PartitionName", 1) {
            self.asked.partition = word.text();
        } else if word.is("TRES", 1) {
            let counts = tres(value).map_err(plain)?;
            if let Some(cores) = &counts.cores {
                let cores = core_counts(cores);
                self.asked.core_counts =
                    cores.map_err(|()| plain(format!("Invalid TRES core count {value}")))?;
            }
            if let Some(nodes) = &counts.nodes {
                let counts = node_counts(nodes);
                self.asked.node_counts =
                    counts.map_err(|()| plain(format!("Invalid TRES node count {nodes}")))?;
            }
        } else if word.is("Watts", 1) {
            self.watts(word)?;
        } else if !begins_with_res(word.whole) {
            return Err(self.error(format!("Unknown parameter {}.", word.whole)));
        }
        Ok(false)
    }

    fn names(
        &self,
        former: &Option<NamesChange>,
        word: &Word<'_>,
    ) -> Result<NamesChange, Vec<String>> {
        if former.is_some() {
            let whole = word.whole;
            return Err(vec![format!(
                "scontrol: error: Parameter {whole} specified more than once"
            )]);
        }
        Ok(NamesChange::parse(word.value, word.sign))
    }

    fn flags(&mut self, word: &Word<'_>) -> Result<(), Vec<String>> {
        let text = match word.sign {
            None => word.value.to_owned(),
            Some(sign) => {
                let sign = if sign == NameSign::More { "+" } else { "-" };
                let words: Vec<String> = word
                    .value
                    .split(',')
                    .map(|flag| format!("{sign}{flag}"))
                    .collect();
                words.join(",")
            }
        };
        let Some(words) = FlagWords::parse(&text) else {
            return Err(self.error(format!("Error parsing flags {text}.")));
        };
        self.asked.flags.extend(words.flags);
        self.asked.purge_after = words.purge_after.or(self.asked.purge_after);
        Ok(())
    }

    fn moment(&self, which: &str, word: &Word<'_>) -> Result<Timestamp, Vec<String>> {
        parse_moment(word.value, self.now, self.zone).map_err(|said| {
            let mut lines = self.error(format!("Invalid {which} time {}.", word.whole));
            lines.splice(0..0, Some(said).filter(|said| !said.is_empty()));
            lines
        })
    }

    fn duration(&self, word: &Word<'_>) -> Result<LengthChange, Vec<String>> {
        let length = match length(word.value) {
            // In whole minutes.
            Some(Some(length)) => length.whole_minutes(),
            Some(None) => return Ok(LengthChange::To(Seconds::YEAR)),
            None => return Err(self.error(format!("Invalid duration {}.", word.whole))),
        };
        Ok(match word.sign {
            None => LengthChange::To(length),
            Some(NameSign::More) => LengthChange::More(length),
            Some(NameSign::Less) => LengthChange::Less(length),
        })
    }

    fn watts(&mut self, word: &Word<'_>) -> Result<(), Vec<String>> {
        let value = word.value;
        self.has_watts = true;
        if ["n/a", "none"]
            .iter()
            .any(|none| none.eq_ignore_ascii_case(value))
        {
            return Ok(());
        }
        let is_endless = value.eq_ignore_ascii_case("infinite");
        let digits = value.trim_end_matches(|unit: char| "kKmM".contains(unit));
        if !is_endless && (value.len() > digits.len() + 1 || digits.parse::<u64>().is_err()) {
            return Err(vec![format!(
                "scontrol: error: Invalid Watts value: {value}"
            )]);
        }
        // One that is made must be empty, which is said first.
        if self.outcome.ends_with("update.") {
            return Err(self.not_built_in(word));
        }
        Ok(())
    }

    /// What a new one lacks, or has too much of; what Slurm adds itself.
    fn complete(&mut self) -> Result<(), Vec<String>> {
        let asked = &mut self.asked;
        let sets_part_nodes = asked.sets(ReservationFlag::PartNodes);
        let (is_all, has_nodes) = match &asked.nodes {
            Some(ReservedNodes::All) => (true, true),
            Some(ReservedNodes::To(names)) => (false, !names.is_empty()),
            None => (false, false),
        };
        let licences = asked.licences.as_deref().unwrap_or_default();
        let has_counts = asked.node_counts.as_ref().is_some_and(|it| !it.is_empty());
        let has_other =
            has_nodes || has_counts || asked.core_counts.is_some() || !licences.is_empty();
        let named = |names: &Option<NamesChange>| {
            names.as_ref().is_some_and(|names| !names.names.is_empty())
        };
        let end = match (asked.start, asked.length) {
            (Some(start), Some(length)) => {
                let (LengthChange::To(length)
                | LengthChange::More(length)
                | LengthChange::Less(length)) = length;
                Some(start + length)
            }
            _ => None,
        };
        let lacks = if asked.start.is_none() {
            Some("A start time must be given.")
        } else if asked.end.is_none() && asked.length.is_none() {
            Some("An end time or duration must be given.")
        } else if asked.end.is_some() && end.is_some() && asked.end != end {
            Some("StartTime + Duration does not equal EndTime.")
        } else if asked.end.is_some() && asked.start > asked.end {
            Some("Start time cannot be after end time.")
        } else if sets_part_nodes && (asked.partition.is_none() || !is_all) {
            Some("PART_NODES flag requires specifying a Partition and ALL nodes.")
        } else if !has_other && !self.has_watts && asked.partition.is_none() {
            Some("CoreCnt, Nodes, NodeCnt, BurstBuffer, Licenses or Watts must be specified.")
        } else if !named(&asked.users) && !named(&asked.groups) && !named(&asked.accounts) {
            Some("Either Users/Groups and/or Accounts must be specified.")
        } else if asked.users.is_some() && asked.groups.is_some() {
            Some(
                "Users and Groups are mutually exclusive.  You can have one or the other, but not both.",
            )
        } else if self.has_watts && (has_other || !asked.sets(ReservationFlag::AnyNodes)) {
            Some("A power reservation must be empty and set the LICENSE_ONLY flag.")
        } else if self.has_watts {
            Some("Watts of reservations is not built in here; leave it out.")
        } else {
            None
        };
        if asked.partition.is_some() && (is_all || !has_other) {
            asked.nodes = Some(ReservedNodes::All);
            if !sets_part_nodes {
                asked.flags.push((ReservationFlag::PartNodes, true));
            }
        }
        lacks.map_or(Ok(()), |lacks| Err(self.error(lacks)))
    }
}

/// A length; `Some(None)` is one without bound.
fn length(text: &str) -> Option<Option<Seconds>> {
    match TimeLimitRequest::parse(text) {
        Some(TimeLimitRequest::Limit(length)) if !text.starts_with('-') => Some(Some(length)),
        Some(TimeLimitRequest::Unlimited) if text.starts_with('0') => Some(Some(Seconds(0))),
        Some(TimeLimitRequest::Unlimited) => Some(None),
        _ => None,
    }
}

fn nodes(value: &str) -> Result<ReservedNodes, Vec<String>> {
    if value.is_empty() {
        return Ok(ReservedNodes::To(Vec::new()));
    }
    if value.eq_ignore_ascii_case("ALL") {
        return Ok(ReservedNodes::All);
    }
    let names: Vec<NodeName> = node_list::expand(value).map_err(|error| vec![error.to_string()])?;
    Ok(ReservedNodes::To(names))
}
