//! The words of `sacctmgr`'s command lines, and what it says.

use crate::records::Settings;
use crate::values::{Seconds, TimeLimitRequest, one_line, padded_elapsed_text, parse_mebibytes};

/// What is printed, and the exit status.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
    /// Exit status.
    pub status: u8,
    /// Whether there is something to be kept, once a person has agreed.
    pub changes: bool,
}

impl Answer {
    /// Shown, and nothing changed.
    pub(super) fn shown(stdout: String) -> Answer {
        Answer {
            stdout,
            ..Answer::default()
        }
    }

    /// Changed, and said so.
    pub(super) fn changed(stdout: String) -> Answer {
        Answer {
            stdout,
            changes: true,
            ..Answer::default()
        }
    }

    /// Refused on standard error.
    pub(super) fn refused(stderr: String) -> Answer {
        Answer {
            stderr,
            status: 1,
            ..Answer::default()
        }
    }

    /// Nothing to do, said on standard output.
    pub(super) fn nothing(stdout: &str) -> Answer {
        Answer {
            stdout: format!(" {stdout}\n"),
            status: 1,
            ..Answer::default()
        }
    }
}

/// `a,b`, without what is empty.
pub(super) fn list_of(text: &str) -> Vec<String> {
    let words = text.split(',').filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

/// Refuses names that would end a line or control a terminal wherever they are shown.
///
/// # Errors
/// The first of them.
pub(super) fn check_names<'a>(names: impl IntoIterator<Item = &'a String>) -> Result<(), Answer> {
    for name in names {
        let shown = one_line(name);
        if shown != name.as_str() {
            return Err(Answer::refused(format!(
                "sacctmgr: error: a name has no control characters\n\
                 sacctmgr:   asked   {shown}\n\
                 sacctmgr:   there   names that stand in one line\n\
                 sacctmgr:   do      give it another name\n"
            )));
        }
    }
    Ok(())
}

/// What stands in a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Number,
    /// A number of seconds.
    Seconds,
    Length,
    Tres,
    /// A number that need not be whole, not below 0.
    Factor,
    /// How jobs are stopped for others.
    PreemptMode,
    /// Of a setting of TRES that of one type: `MaxCPUs` of `MaxTRESPerJob`.
    OneTres(&'static str),
    /// Flags of a QOS, which can be added to and removed from.
    Flags,
    /// Names of QOS; the same.
    Names,
    Text,
}

/// A setting: its names, each with how many letters of it are enough, under which it is kept, as it is said,
/// what stands in it.
pub(super) struct Setting {
    names: &'static [(&'static str, usize)],
    pub(super) key: &'static str,
    pub(super) said: &'static str,
    pub(super) kind: Kind,
}

const fn setting(
    names: &'static [(&'static str, usize)],
    key: &'static str,
    said: &'static str,
    kind: Kind,
) -> Setting {
    Setting {
        names,
        key,
        said,
        kind,
    }
}

/// Settings of associations, in the order in which `sacctmgr_set_assoc_rec` of association_functions.c looks
/// for them.
#[rustfmt::skip]
// One address in the whole program, by which the two tables are told apart: a constant may have several.
pub(super) static OF_ASSOCIATIONS: &[Setting] = &[
    setting(&[("defaultqos", 8)], "defaultqos", "DefQOS", Kind::Text),
    setting(&[("fairshare", 1), ("shares", 1)], "fairshare", "Fairshare", Kind::Number),
    setting(&[("grpcpumins", 7)], "grptresmins", "GrpCPUMins", Kind::OneTres("cpu")),
    setting(&[("grpcpurunmins", 7)], "grptresrunmins", "GrpCPURunMins", Kind::OneTres("cpu")),
    setting(&[("grpcpus", 7)], "grptres", "GrpCpus", Kind::OneTres("cpu")),
    setting(&[("grpjobs", 4)], "grpjobs", "GrpJobs", Kind::Number),
    setting(&[("grpjobsaccrue", 8)], "grpjobsaccrue", "GrpJobsAccrue", Kind::Number),
    setting(&[("grpmemory", 4)], "grptres", "GrpMemory", Kind::OneTres("mem")),
    setting(&[("grpnodes", 4)], "grptres", "GrpNodes", Kind::OneTres("node")),
    setting(&[("grpsubmitjobs", 4)], "grpsubmitjobs", "GrpSubmitJobs", Kind::Number),
    setting(&[("grptres", 7)], "grptres", "GrpTRES", Kind::Tres),
    setting(&[("grptresmins", 8)], "grptresmins", "GrpTRESMins", Kind::Tres),
    setting(&[("grptresrunmins", 8)], "grptresrunmins", "GrpTRESRunMins", Kind::Tres),
    setting(&[("grpwall", 4)], "grpwall", "GrpWall", Kind::Length),
    setting(&[("maxcpuminsperjob", 7)], "maxtresmins", "MaxCPUMins", Kind::OneTres("cpu")),
    setting(&[("maxcpusperjob", 7)], "maxtres", "MaxCpus", Kind::OneTres("cpu")),
    setting(&[("maxjobs", 4)], "maxjobs", "MaxJobs", Kind::Number),
    setting(&[("maxjobsaccrue", 8)], "maxjobsaccrue", "MaxJobsAccrue", Kind::Number),
    setting(&[("maxnodesperjob", 4)], "maxtres", "MaxNodes", Kind::OneTres("node")),
    setting(&[("minpriothresh", 4)], "minpriothresh", "MinPrioThresh", Kind::Number),
    setting(&[("maxsubmitjobs", 4)], "maxsubmitjobs", "MaxSubmitJobs", Kind::Number),
    setting(&[("maxtresperjob", 7)], "maxtres", "MaxTRESPerJob", Kind::Tres),
    setting(&[("maxtrespernode", 11)], "maxtrespernode", "MaxTRESPerNode", Kind::Tres),
    setting(&[("maxtresminsperjob", 8)], "maxtresmins", "MaxTRESMinsPerJob", Kind::Tres),
    setting(&[("maxwalldurationperjob", 4)], "maxwall", "MaxWall", Kind::Length),
    setting(&[("priority", 2)], "priority", "Priority", Kind::Number),
];

/// Settings of QOS, in the order in which `_set_rec` of qos_functions.c looks for them.
#[rustfmt::skip]
pub(super) static OF_QOS: &[Setting] = &[
    setting(&[("flags", 2)], "flags", "Flags", Kind::Flags),
    setting(&[("gracetime", 3)], "gracetime", "GraceTime", Kind::Seconds),
    setting(&[("grpcpumins", 7)], "grptresmins", "GrpCPUMins", Kind::OneTres("cpu")),
    setting(&[("grpcpurunmins", 7)], "grptresrunmins", "GrpCPURunMins", Kind::OneTres("cpu")),
    setting(&[("grpcpus", 7)], "grptres", "GrpCPUs", Kind::OneTres("cpu")),
    setting(&[("grpjobs", 4)], "grpjobs", "GrpJobs", Kind::Number),
    setting(&[("grpjobsaccrue", 8)], "grpjobsaccrue", "GrpJobsAccrue", Kind::Number),
    setting(&[("grpmemory", 4)], "grptres", "GrpMemory", Kind::OneTres("mem")),
    setting(&[("grpnodes", 4)], "grptres", "GrpNodes", Kind::OneTres("node")),
    setting(&[("grpsubmitjobs", 4)], "grpsubmitjobs", "GrpSubmitJobs", Kind::Number),
    setting(&[("grptres", 7)], "grptres", "GrpTRES", Kind::Tres),
    setting(&[("grptresmins", 8)], "grptresmins", "GrpTRESMins", Kind::Tres),
    setting(&[("grptresrunmins", 8)], "grptresrunmins", "GrpTRESRunMins", Kind::Tres),
    setting(&[("grpwall", 4)], "grpwall", "GrpWall", Kind::Length),
    setting(&[("limitfactor", 6)], "limitfactor", "LimitFactor", Kind::Factor),
    setting(&[("maxcpuminsperjob", 7)], "maxtresmins", "MaxCPUMins", Kind::OneTres("cpu")),
    setting(&[("maxcpusperjob", 7)], "maxtres", "MaxCPUs", Kind::OneTres("cpu")),
    setting(&[("maxcpusperuser", 11), ("maxcpuspu", 9)], "maxtresperuser", "MaxCPUsPerUser", Kind::OneTres("cpu")),
    setting(&[("maxjobsaccrueperaccount", 17), ("maxjobsaccruepa", 15)], "maxjobsaccrueperaccount", "MaxJobsAccruePA", Kind::Number),
    setting(&[("maxjobsaccrueperuser", 17), ("maxjobsaccruepu", 15)], "maxjobsaccrueperuser", "MaxJobsAccruePU", Kind::Number),
    setting(&[("maxjobsperaccount", 11), ("maxjobspa", 9)], "maxjobsperaccount", "MaxJobsPerAccount", Kind::Number),
    setting(&[("maxjobsperuser", 4), ("maxjobspu", 4)], "maxjobsperuser", "MaxJobsPerUser", Kind::Number),
    setting(&[("maxnodesperjob", 4)], "maxtres", "MaxNodesPerJob", Kind::OneTres("node")),
    setting(&[("maxnodesperuser", 8), ("maxnodespu", 8)], "maxtresperuser", "MaxNodesPerUser", Kind::OneTres("node")),
    // `maxsubmitpa` and `maxsubmitpu` are what `format=` and the guides call them.
    setting(&[("maxsubmitjobsperaccount", 17), ("maxsubmitjobspa", 15), ("maxsubmitpa", 11)], "maxsubmitjobsperaccount", "MaxSubmitJobsPerAccount", Kind::Number),
    setting(&[("maxsubmitjobsperuser", 4), ("maxsubmitjobspu", 4), ("maxsubmitpu", 11)], "maxsubmitjobsperuser", "MaxSubmitJobsPerUser", Kind::Number),
    setting(&[("maxtresperaccount", 11), ("maxtrespa", 9)], "maxtresperaccount", "MaxTRESPerAccount", Kind::Tres),
    setting(&[("maxtresperjob", 7)], "maxtres", "MaxTRESPerJob", Kind::Tres),
    setting(&[("maxtrespernode", 11)], "maxtrespernode", "MaxTRESPerNode", Kind::Tres),
    setting(&[("maxtresperuser", 11), ("maxtrespu", 9)], "maxtresperuser", "MaxTRESPerUser", Kind::Tres),
    setting(&[("maxtresminsperjob", 8)], "maxtresmins", "MaxTRESMins", Kind::Tres),
    setting(&[("maxwalldurationperjob", 4)], "maxwall", "MaxWall", Kind::Length),
    setting(&[("mincpusperjob", 7)], "mintres", "MinCPUs", Kind::OneTres("cpu")),
    setting(&[("minpriothresh", 4)], "minpriothresh", "MinPrioThresh", Kind::Number),
    setting(&[("mintresperjob", 7)], "mintres", "MinTRESPerJob", Kind::Tres),
    setting(&[("preemptmode", 8)], "preemptmode", "PreemptMode", Kind::PreemptMode),
    setting(&[("preempt", 7)], "preempt", "Preempt", Kind::Names),
    setting(&[("preemptexempttime", 8)], "preemptexempttime", "PreemptExemptTime", Kind::Length),
    setting(&[("priority", 3)], "priority", "Priority", Kind::Number),
    setting(&[("usagefactor", 6)], "usagefactor", "UsageFactor", Kind::Factor),
    setting(&[("usagethreshold", 6)], "usagethreshold", "UsageThreshold", Kind::Factor),
];

impl Setting {
    /// The setting of a name or of enough of it, in any case.
    pub(super) fn named(all: &'static [Setting], name: &str) -> Option<&'static Setting> {
        let lower = name.to_ascii_lowercase();
        let is_it =
            |(name, least): &(&str, usize)| lower.len() >= *least && name.starts_with(&lower);
        all.iter().find(|it| it.names.iter().any(is_it))
    }

    /// Puts a value in; -1 and nothing take it away.
    ///
    /// # Errors
    /// What is wrong with the value, in Slurm's words.
    pub(super) fn put(&self, word: &str, value: &str, into: &mut Settings) -> Result<(), Wrong> {
        let value = value.trim_matches(['"', '\'']);
        if matches!(value, "-1" | "") && !matches!(self.kind, Kind::OneTres(_)) {
            into.remove(self.key);
            return Ok(());
        }
        let kept = match self.kind {
            Kind::Number if self.key == "fairshare" && value.eq_ignore_ascii_case("parent") => {
                value.to_owned()
            }
            Kind::Number | Kind::Seconds => match value.parse::<u32>() {
                Ok(number) => number.to_string(),
                Err(_) => return Err(Wrong::Number(self.invalid(value))),
            },
            Kind::Factor => match value.parse::<f64>() {
                Ok(number) if number.is_finite() && number >= 0.0 => value.to_owned(),
                _ => return Err(Wrong::Number(self.invalid(value))),
            },
            Kind::PreemptMode => {
                let mode = value.to_ascii_lowercase();
                if !PREEMPT_MODES.contains(&mode.as_str()) {
                    return Err(Wrong::Word(format!(" Bad Preempt Mode given: {value}\n")));
                }
                mode
            }
            Kind::Length => match TimeLimitRequest::parse(value) {
                Some(TimeLimitRequest::Limit(Seconds(seconds))) => seconds.to_string(),
                // A limit of no time at all; only the words stand for none.
                Some(TimeLimitRequest::Unlimited) if !value.contains(char::is_alphabetic) => {
                    "0".to_owned()
                }
                Some(TimeLimitRequest::Unlimited) => {
                    into.remove(self.key);
                    return Ok(());
                }
                None => {
                    let said = match self.said {
                        "PreemptExemptTime" => "PreemptExemptTime".to_owned(),
                        said => format!("{said} time"),
                    };
                    return Err(Wrong::Word(format!(" Bad {said} format: {word}\n")));
                }
            },
            Kind::Tres => {
                let old = into.get(self.key).map_or("", String::as_str);
                merged(old, value).map_err(|wrong| {
                    Wrong::Tres(match wrong {
                        WrongTres::Kind(kind) => format!(
                            "sacctmgr: error: slurmdb_format_tres_str: no TRES known by type {kind}\n"
                        ),
                        WrongTres::Count(part) => self.invalid(&part),
                    })
                })?
            }
            Kind::OneTres(name) => {
                if value != "-1" && value.parse::<u64>().is_err() {
                    return Err(Wrong::Number(self.invalid(value)));
                }
                let old = into.get(self.key).map_or("", String::as_str);
                // A number of MiB, shown as such.
                let unit = if name == "mem" && value != "-1" {
                    "M"
                } else {
                    ""
                };
                merged(old, &format!("{name}={value}{unit}"))
                    .map_err(|_| Wrong::Number(self.invalid(value)))?
            }
            Kind::Flags => {
                let flags = flags_in(value);
                if flags.is_empty() {
                    return Err(Wrong::Flags);
                }
                let old = list_of(into.get(self.key).map_or("", String::as_str));
                changed_list(old, &list_change(operator(word), flags)).join(",")
            }
            Kind::Names => {
                let old = list_of(into.get(self.key).map_or("", String::as_str));
                let changes = list_changes(operator(word), value);
                changes.iter().fold(old, changed_list).join(",")
            }
            Kind::Text => value.to_owned(),
        };
        if kept.is_empty() {
            into.remove(self.key);
        } else {
            into.insert(self.key.to_owned(), kept);
        }
        Ok(())
    }

    fn invalid(&self, value: &str) -> String {
        format!(
            "sacctmgr: error: Invalid value for {} ({value})\n",
            self.said
        )
    }

    /// The value as it is said when something is added.
    pub(super) fn value_text(&self, value: &str) -> String {
        match (self.kind, value.parse()) {
            (Kind::Length, Ok(seconds)) => padded_elapsed_text(seconds),
            _ => value.to_owned(),
        }
    }
}

/// How a list of names changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ListChange {
    Set(Vec<String>),
    Add(Vec<String>),
    Remove(Vec<String>),
}

impl ListChange {
    /// The names that it is about.
    pub(super) fn names(&self) -> &[String] {
        match self {
            ListChange::Set(names) | ListChange::Add(names) | ListChange::Remove(names) => names,
        }
    }
}

/// What stands between a key and its value beside the `=`: `+` or `-`.
pub(super) fn operator(word: &str) -> Option<char> {
    let key = word.split_once('=')?.0;
    key.chars().last().filter(|last| matches!(last, '+' | '-'))
}

/// The changes that a value asks for: of all its names by what stands before the `=`, or of each by what it
/// begins with.
pub(super) fn list_changes(operator: Option<char>, value: &str) -> Vec<ListChange> {
    let names = list_of(value);
    if operator.is_some() || !names.iter().any(|name| name.starts_with(['+', '-'])) {
        return vec![list_change(operator, names)];
    }
    let each = names.iter().map(|name| {
        let own = name
            .chars()
            .next()
            .filter(|first| matches!(first, '+' | '-'));
        let rest = name.trim_start_matches(['+', '-']).to_owned();
        list_change(own.or(Some('+')), vec![rest])
    });
    each.collect()
}

fn list_change(operator: Option<char>, names: Vec<String>) -> ListChange {
    match operator {
        Some('+') => ListChange::Add(names),
        Some('-') => ListChange::Remove(names),
        _ => ListChange::Set(names),
    }
}

/// The flags that a text names, one a word, wherever in the word it stands (`_str_2_qos_flags` of
/// slurmdb_defs.c).
fn flags_in(text: &str) -> Vec<String> {
    let words = list_of(text).into_iter();
    let flags = words.filter_map(|word| {
        let word = word.to_ascii_lowercase();
        let mut known = QOS_FLAGS.iter();
        known.find(|flag| word.contains(&flag.to_ascii_lowercase()))
    });
    flags.map(|flag| (*flag).to_owned()).collect()
}

/// A list after one of its changes.
pub(super) fn changed_list(mut now: Vec<String>, change: &ListChange) -> Vec<String> {
    let is = |one: &str, other: &str| one.eq_ignore_ascii_case(other);
    match change {
        ListChange::Set(names) => return names.clone(),
        ListChange::Add(names) => {
            for name in names {
                if !now.iter().any(|it| is(it, name)) {
                    now.push(name.clone());
                }
            }
        }
        ListChange::Remove(names) => now.retain(|it| !names.iter().any(|name| is(it, name))),
    }
    now
}

/// What is wrong with a value.
#[derive(Debug)]
pub(super) enum Wrong {
    /// Said, and the rest is done all the same.
    Number(String),
    /// Said in place of everything else.
    Word(String),
    /// Said before the word is called unknown.
    Tres(String),
    /// No flag of a QOS.
    Flags,
}

/// Flags of QOS.
pub(super) const QOS_FLAGS: &[&str] = &[
    "DenyOnLimit",
    "EnforceUsageThreshold",
    "NoReserve",
    "PartitionMaxNodes",
    "PartitionMinNodes",
    "OverPartQOS",
    "PartitionTimeLimit",
    "RequiresReservation",
    "NoDecay",
    "UsageFactorSafe",
];

/// `cluster` is that of the cluster.
const PREEMPT_MODES: &[&str] = &["cluster", "off", "cancel", "requeue", "suspend", "gang"];

/// What of TRES can't be read.
enum WrongTres {
    /// A type that there is not.
    Kind(String),
    /// Something else than a count: `cpu=abc`.
    Count(String),
}

/// TRES that every Slurm has, in the order of their numbers.
const PLAIN_TRES: &[&str] = &["cpu", "mem", "energy", "node", "billing", "vmem", "pages"];

/// TRES with others in their place: `cpu=10,gres/gpu=4`; a count of -1 takes one away.
fn merged(old: &str, new: &str) -> Result<String, WrongTres> {
    let mut all: Vec<(String, String)> = Vec::new();
    for part in old
        .split(',')
        .chain(new.split(','))
        .filter(|part| !part.is_empty())
    {
        let (name, count) = part.split_once('=').unwrap_or((part, ""));
        let base = name.split('/').next().unwrap_or_default();
        let plain = PLAIN_TRES.contains(&name);
        let typed = ["gres", "fs", "license", "bb", "ic"].contains(&base) && name.contains('/');
        if !plain && !typed {
            return Err(WrongTres::Kind(base.to_owned()));
        }
        let is_read = match name {
            _ if count == "-1" => true,
            "mem" => parse_mebibytes(count).is_some(),
            _ => count.bytes().all(|it| it.is_ascii_digit()) && count.parse::<u64>().is_ok(),
        };
        if !is_read {
            return Err(WrongTres::Count(part.to_owned()));
        }
        all.retain(|(known, _)| known != name);
        if count != "-1" {
            let is_plain = name == "mem" && count.bytes().all(|it| it.is_ascii_digit());
            let unit = if is_plain { "M" } else { "" };
            all.push((name.to_owned(), format!("{count}{unit}")));
        }
    }
    // By their numbers, of which a site's own have the greatest.
    let place = |name: &str| PLAIN_TRES.iter().position(|plain| *plain == name);
    all.sort_by_key(|(name, _)| place(name).unwrap_or(PLAIN_TRES.len()));
    let parts = all.iter().map(|(name, count)| format!("{name}={count}"));
    Ok(parts.collect::<Vec<_>>().join(","))
}
