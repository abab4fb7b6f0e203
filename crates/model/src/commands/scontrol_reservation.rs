//! `scontrol create|update reservation`: its words, and how a reservation is printed
//! (`create_res.c` and `info_res.c` of 22.05's `scontrol`).

use crate::commands::ShowStyle;
use crate::records::{
    LengthChange, NamesChange, Reservation, ReservationFlag, ReservationRequest, ReservedFor,
    ReservedNodes,
};
use crate::values::{
    NodeName, Seconds, TimeLimitRequest, Timestamp, moment_text, node_list, padded_elapsed_text,
    parse_moment,
};
use jiff::tz::TimeZone;

/// Slurm lets an endless one last a year.
const YEAR: Seconds = Seconds(365 * 24 * 3600);

/// What `scontrol` says of words that it does not take, a line each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReservationWords {
    /// In Slurm's words, but for what is not built in.
    pub lines: Vec<String>,
}

/// How a setting is put: `users=`, `users+=`, `users-=`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Put {
    To,
    More,
    Less,
}

/// Reads the words after `create` or `update`, but for the word `reservation` alone.
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
    let error = |text: String| ReservationWords {
        lines: vec![format!("scontrol: error: {text}  {outcome}")],
    };
    let mut asked = ReservationRequest::default();
    for word in words {
        let Some((key, value)) = word.split_once('=') else {
            return Err(error(format!("Unknown parameter {word}.")));
        };
        let (key, put) = match (key.strip_suffix('+'), key.strip_suffix('-')) {
            (Some(key), _) => (key, Put::More),
            (_, Some(key)) => (key, Put::Less),
            _ => (key, Put::To),
        };
        let is = |name: &str, least: usize| {
            let start = name.get(..key.len());
            key.len() >= least && start.is_some_and(|start| start.eq_ignore_ascii_case(key))
        };
        let owned = || Some(value.to_owned());
        let not_built_in = || {
            error(format!(
                "{key} of reservations is not built in here: {word}."
            ))
        };
        if is("ReservationName", 1) {
            asked.name = owned();
        } else if is("StartTime", 1) || is("EndTime", 1) {
            let which = if is("StartTime", 1) { "start" } else { "end" };
            let moment = parse_moment(value, now, zone).map_err(|said| {
                let mut words = error(format!("Invalid {which} time {word}."));
                words
                    .lines
                    .splice(0..0, Some(said).filter(|said| !said.is_empty()));
                words
            })?;
            match which {
                "start" => asked.start = Some(moment),
                _ => asked.end = Some(moment),
            }
        } else if is("Duration", 1) {
            let (put, value) = match (value.strip_prefix('+'), value.strip_prefix('-')) {
                (Some(value), _) => (Put::More, value),
                (_, Some(value)) if value != "1" => (Put::Less, value),
                _ => (put, value),
            };
            let length = match TimeLimitRequest::parse(value) {
                Some(TimeLimitRequest::Limit(length)) => length,
                Some(TimeLimitRequest::Unlimited) if value != "0" => YEAR,
                _ => return Err(error(format!("Invalid duration {word}."))),
            };
            asked.length = Some(match put {
                Put::To => LengthChange::To(length),
                Put::More => LengthChange::More(length),
                Put::Less => LengthChange::Less(length),
            });
        } else if is("Flags", 2) {
            for flag in value.split(',').filter(|flag| !flag.is_empty()) {
                let (flag, sign) = match (flag.strip_prefix('+'), flag.strip_prefix('-')) {
                    (Some(flag), _) => (flag, true),
                    (_, Some(flag)) => (flag, false),
                    _ => (flag, put != Put::Less),
                };
                let Some(known) = ReservationFlag::of_word(flag) else {
                    return Err(flag_error(flag, word, &error));
                };
                asked.flags.push((known, sign));
            }
        } else if is("NodeCnt", 5) || is("NodeCount", 5) {
            let count = value.parse().ok().filter(|count| *count > 0);
            let count = count.ok_or_else(|| error(format!("Invalid node count {value}.")))?;
            asked.node_count = Some(count);
        } else if is("Nodes", 5) {
            if put != Put::To {
                let what = "The +=/-= notation is not supported when updating nodes.";
                return Err(ReservationWords {
                    lines: vec![
                        format!("scontrol: error: {what}  {outcome}"),
                        "slurm_update error: No error".to_owned(),
                    ],
                });
            }
            asked.nodes = Some(nodes(value).map_err(|lines| ReservationWords { lines })?);
        } else if is("Features", 2) {
            asked.features = owned();
        } else if is("PartitionName", 1) {
            asked.partition = owned();
        } else if is("Users", 1) {
            asked.users = Some(names(value, put));
        } else if is("Accounts", 1) {
            asked.accounts = Some(names(value, put));
        } else if is("Comment", 3) {
            asked.comment = owned();
        } else if is("TRES", 1) {
            let count = value.strip_prefix("node=").and_then(|it| it.parse().ok());
            asked.node_count = Some(count.ok_or_else(not_built_in)?);
        } else if [
            "CoreCnt",
            "Licenses",
            "BurstBuffer",
            "Watts",
            "Groups",
            "MaxStartDelay",
        ]
        .iter()
        .any(|name| is(name, 1))
        {
            return Err(not_built_in());
        } else {
            return Err(error(format!("Unknown parameter {word}.")));
        }
    }
    if is_new {
        let lacks = missing(&asked);
        if let Some(lacks) = lacks {
            return Err(error(lacks.to_owned()));
        }
    } else if asked.name.is_none() {
        return Err(error("Reservation must be given.".to_owned()));
    }
    Ok(asked)
}

/// What a new one lacks.
fn missing(asked: &ReservationRequest) -> Option<&'static str> {
    let has_names = |names: &Option<NamesChange>| {
        names
            .as_ref()
            .is_some_and(|names| !names.names().is_empty())
    };
    if asked.start.is_none() {
        return Some("A start time must be given.");
    }
    if asked.end.is_none() && asked.length.is_none() {
        return Some("An end time or duration must be given.");
    }
    if asked.nodes.is_none() && asked.node_count.is_none() && asked.features.is_none() {
        return Some("Nodes, NodeCnt or TRES must be specified.");
    }
    if !has_names(&asked.users) && !has_names(&asked.accounts) {
        return Some("Either Users/Groups and/or Accounts must be specified.");
    }
    None
}

fn flag_error(
    flag: &str,
    word: &str,
    error: &dyn Fn(String) -> ReservationWords,
) -> ReservationWords {
    let others = [
        "FIRST_CORES",
        "LICENSE_ONLY",
        "MAGNETIC",
        "PURGE_COMP",
        "REPLACE",
        "REPLACE_DOWN",
        "SKIP",
        "TIME_FLOAT",
        "USER_DELETE",
    ];
    let name = flag.split('=').next().unwrap_or_default();
    if others.iter().any(|other| other.eq_ignore_ascii_case(name)) {
        return error(format!("Flag {name} of reservations is not built in here."));
    }
    error(format!("Invalid flags {word}."))
}

fn nodes(value: &str) -> Result<ReservedNodes, Vec<String>> {
    if value.eq_ignore_ascii_case("ALL") {
        return Ok(ReservedNodes::All);
    }
    let names: Vec<NodeName> = node_list::expand(value).map_err(|error| vec![error.to_string()])?;
    Ok(ReservedNodes::To(names))
}

fn names(value: &str, put: Put) -> NamesChange {
    let words = value.split(',').filter(|name| !name.is_empty());
    let are_excluded = put == Put::To && value.starts_with('-');
    let names: Vec<String> = words
        .map(|name| name.trim_start_matches(['-', '+']).to_owned())
        .collect();
    match put {
        Put::To => NamesChange::To(ReservedFor {
            names,
            are_excluded,
        }),
        Put::More => NamesChange::More(names),
        Put::Less => NamesChange::Less(names),
    }
}

/// A reservation as `scontrol show reservation` prints it; `cores` and `cpus` are those of its nodes.
#[must_use]
pub fn show_reservation(
    reservation: &Reservation,
    (cores, cpus): (u32, u32),
    style: ShowStyle,
    now: Timestamp,
    zone: &TimeZone,
) -> String {
    let flags: Vec<&str> = reservation.flags.iter().map(|flag| flag.word()).collect();
    let or_null = |text: Option<String>| text.unwrap_or_else(|| "(null)".to_owned());
    let state = if reservation.is_active(now) {
        "ACTIVE"
    } else {
        "INACTIVE"
    };
    let mut lines = vec![
        format!(
            "ReservationName={} StartTime={} EndTime={} Duration={}",
            reservation.name,
            moment_text(reservation.start, zone),
            moment_text(reservation.end, zone),
            padded_elapsed_text(reservation.end.since(reservation.start) / 1000)
        ),
        format!(
            "Nodes={} NodeCnt={} CoreCnt={cores} Features={} PartitionName={} Flags={}",
            node_list::fold(&reservation.nodes),
            reservation.nodes.len(),
            or_null(reservation.features.clone()),
            or_null(reservation.partition.clone()),
            flags.join(",")
        ),
        format!("TRES=cpu={cpus}"),
        format!(
            "Users={} Groups=(null) Accounts={} Licenses=(null) State={state} BurstBuffer=(null) Watts=n/a",
            or_null(reservation.users.text()),
            or_null(reservation.accounts.text()),
        ),
        "MaxStartDelay=(null)".to_owned(),
    ];
    if let Some(comment) = &reservation.comment {
        lines.push(format!("Comment={comment}"));
    }
    if style.one_line {
        return format!("{}\n", lines.join(" "));
    }
    format!("{}\n\n", lines.join("\n   "))
}
