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
    Length,
    Tres,
    /// A number that need not be whole, not below 0.
    Factor,
    /// How jobs are stopped for others.
    PreemptMode,
    Text,
}

/// A setting: its names, under which it is kept, as it is said, what stands in it.
pub(super) struct Setting {
    names: &'static [&'static str],
    pub(super) key: &'static str,
    pub(super) said: &'static str,
    pub(super) kind: Kind,
}

const fn setting(
    names: &'static [&'static str],
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

/// Settings of associations.
#[rustfmt::skip]
// One address in the whole program, by which the two tables are told apart: a constant may have several.
pub(super) static OF_ASSOCIATIONS: &[Setting] = &[
    setting(&["fairshare", "shares", "share"], "fairshare", "Fairshare", Kind::Number),
    setting(&["grpjobs"], "grpjobs", "GrpJobs", Kind::Number),
    setting(&["grpsubmitjobs"], "grpsubmitjobs", "GrpSubmitJobs", Kind::Number),
    setting(&["grptres"], "grptres", "GrpTRES", Kind::Tres),
    setting(&["grptresmins"], "grptresmins", "GrpTRESMins", Kind::Tres),
    setting(&["grptresrunmins"], "grptresrunmins", "GrpTRESRunMins", Kind::Tres),
    setting(&["grpwall"], "grpwall", "GrpWall", Kind::Length),
    setting(&["maxjobs"], "maxjobs", "MaxJobs", Kind::Number),
    setting(&["maxsubmitjobs"], "maxsubmitjobs", "MaxSubmitJobs", Kind::Number),
    setting(&["maxtres", "maxtresperjob"], "maxtres", "MaxTRESPerJob", Kind::Tres),
    setting(&["maxtresmins", "maxtresminsperjob"], "maxtresmins", "MaxTRESMinsPerJob", Kind::Tres),
    setting(&["maxtrespernode"], "maxtrespernode", "MaxTRESPerNode", Kind::Tres),
    setting(&["maxwall", "maxwalldurationperjob"], "maxwall", "MaxWall", Kind::Length),
    setting(&["priority"], "priority", "Priority", Kind::Number),
    setting(&["defaultqos"], "defaultqos", "DefQOS", Kind::Text),
];

/// Settings of QOS.
#[rustfmt::skip]
pub(super) static OF_QOS: &[Setting] = &[
    setting(&["flags"], "flags", "Flags", Kind::Text),
    setting(&["gracetime"], "gracetime", "GraceTime", Kind::Length),
    setting(&["grpjobs"], "grpjobs", "GrpJobs", Kind::Number),
    setting(&["grpsubmitjobs"], "grpsubmitjobs", "GrpSubmitJobs", Kind::Number),
    setting(&["grptres"], "grptres", "GrpTRES", Kind::Tres),
    setting(&["grptresmins"], "grptresmins", "GrpTRESMins", Kind::Tres),
    setting(&["grptresrunmins"], "grptresrunmins", "GrpTRESRunMins", Kind::Tres),
    setting(&["grpwall"], "grpwall", "GrpWall", Kind::Length),
    setting(&["maxjobsperaccount", "maxjobspa"], "maxjobsperaccount", "MaxJobsPerAccount", Kind::Number),
    setting(&["maxjobsperuser", "maxjobspu"], "maxjobsperuser", "MaxJobsPerUser", Kind::Number),
    setting(&["maxsubmitjobsperaccount", "maxsubmitpa"], "maxsubmitjobsperaccount", "MaxSubmitJobsPerAccount", Kind::Number),
    setting(&["maxsubmitjobsperuser", "maxsubmitpu"], "maxsubmitjobsperuser", "MaxSubmitJobsPerUser", Kind::Number),
    setting(&["maxtres", "maxtresperjob"], "maxtres", "MaxTRESPerJob", Kind::Tres),
    setting(&["maxtresmins", "maxtresminsperjob"], "maxtresmins", "MaxTRESMins", Kind::Tres),
    setting(&["maxtresperaccount", "maxtrespa"], "maxtresperaccount", "MaxTRESPerAccount", Kind::Tres),
    setting(&["maxtrespernode"], "maxtrespernode", "MaxTRESPerNode", Kind::Tres),
    setting(&["maxtresperuser", "maxtrespu"], "maxtresperuser", "MaxTRESPerUser", Kind::Tres),
    setting(&["maxwall", "maxwalldurationperjob"], "maxwall", "MaxWall", Kind::Length),
    setting(&["mintres", "mintresperjob"], "mintres", "MinTRESPerJob", Kind::Tres),
    setting(&["preempt"], "preempt", "Preempt", Kind::Text),
    setting(&["preemptmode"], "preemptmode", "PreemptMode", Kind::PreemptMode),
    setting(&["priority"], "priority", "Priority", Kind::Number),
    setting(&["usagefactor"], "usagefactor", "UsageFactor", Kind::Factor),
    setting(&["usagethreshold"], "usagethreshold", "UsageThreshold", Kind::Factor),
];

impl Setting {
    /// The setting of a name, in any case.
    pub(super) fn named(all: &'static [Setting], name: &str) -> Option<&'static Setting> {
        let lower = name.to_ascii_lowercase();
        all.iter().find(|it| it.names.contains(&lower.as_str()))
    }

    /// Puts a value in; -1 and nothing take it away.
    ///
    /// # Errors
    /// What is wrong with the value, in Slurm's words.
    pub(super) fn put(&self, word: &str, value: &str, into: &mut Settings) -> Result<(), Wrong> {
        let value = value.trim_matches(['"', '\'']);
        if matches!(value, "-1" | "") {
            into.remove(self.key);
            return Ok(());
        }
        let kept = match self.kind {
            Kind::Number if self.key == "fairshare" && value.eq_ignore_ascii_case("parent") => {
                value.to_owned()
            }
            Kind::Number => match value.parse::<u32>() {
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
                    let said = self.said;
                    return Err(Wrong::Word(format!(" Bad {said} time format: {word}\n")));
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

/// What is wrong with a value.
#[derive(Debug)]
pub(super) enum Wrong {
    /// Said, and the rest is done all the same.
    Number(String),
    /// Said in place of everything else.
    Word(String),
    /// Said before the word is called unknown.
    Tres(String),
}

/// `cluster` is that of the cluster.
const PREEMPT_MODES: &[&str] = &["cluster", "off", "cancel", "requeue", "suspend", "gang"];

/// What of TRES can't be read.
enum WrongTres {
    /// A type that there is not.
    Kind(String),
    /// Something else than a count: `cpu=abc`.
    Count(String),
}

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
        let plain = ["cpu", "mem", "energy", "node", "billing", "vmem", "pages"].contains(&name);
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
            all.push((name.to_owned(), count.to_owned()));
        }
    }
    let parts = all.iter().map(|(name, count)| format!("{name}={count}"));
    Ok(parts.collect::<Vec<_>>().join(","))
}
