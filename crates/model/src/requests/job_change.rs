//! What `scontrol update JobId=` changes of a job that is there.

use crate::requests::AskedSwitches;
use crate::values::mail_type::parse_mail_types;
use crate::values::{
    Constraint, MailEvent, MemoryRequest, NodeCount, NodeName, Seconds, TimeLimitRequest,
    Timestamp, node_list, parse_moment,
};
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

/// One change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobChange {
    /// `TimeLimit=`
    TimeLimit(LimitChange),
    /// `Partition=`: one, or several between commas.
    Partition(String),
    /// `QOS=`
    Qos(String),
    /// `Account=`
    Account(String),
    /// `NumNodes=`: at least, and at most.
    Nodes(u32, Option<u32>),
    /// `NumTasks=`
    Tasks(u32),
    /// `NumCPUs=`: one a task, so many tasks.
    Cpus(u32),
    /// `CPUsPerTask=`
    CpusPerTask(u32),
    /// `MinMemoryNode=`, `MinMemoryCPU=`, in MiB.
    Memory(MemoryRequest),
    /// `Features=`; none asks for none.
    Features(Option<String>),
    /// `ReqNodeList=`
    NodeList(Vec<NodeName>),
    /// `ExcNodeList=`
    Exclude(Vec<NodeName>),
    /// `Dependency=`; none waits for no other job.
    Dependency(Option<String>),
    /// `StartTime=`
    Begin(Timestamp),
    /// `JobName=`, `Name=`
    Name(String),
    /// `Comment=`
    Comment(String),
    /// `Priority=`; 0 holds.
    Priority(u32),
    /// `Nice=`
    Nice(i64),
    /// `Requeue=`
    Requeue(bool),
    /// `MinCPUsNode=`
    MinCpus(u32),
    /// `MinTmpDiskNode=`, in MiB.
    TmpDisk(u64),
    /// `Gres=`; empty asks for none.
    Gres(String),
    /// `Licenses=`; none asks for none.
    Licenses(Option<String>),
    /// `Contiguous=`
    Contiguous(bool),
    /// `OverSubscribe=`, `Shared=`: whether others may have its CPUs, or no other job its nodes.
    OverSubscribe(bool),
    /// `WorkDir=`
    WorkDir(String),
    /// `EndTime=` of one that runs.
    End(Timestamp),
    /// `ArrayTaskThrottle=`: so many elements at a time; 0 does not bound them.
    ArrayThrottle(u32),
    /// `ReservationName=`; none leaves it.
    Reservation(Option<String>),
    /// `SiteFactor=`
    SiteFactor(i64),
    /// `Deadline=`
    Deadline(Timestamp),
    /// `MailType=`
    MailTypes(Vec<MailEvent>),
    /// `MailUser=`; none is its owner.
    MailUser(Option<String>),
    /// `StdOut=` as written; none is the file that it has by default.
    Output(Option<String>),
    /// `Switches=`; none asks for none.
    Switches(Option<AskedSwitches>),
    /// `TimeMin=`; none has no shorter limit than its own.
    TimeMin(Option<TimeLimitRequest>),
}

/// How a time limit changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitChange {
    /// It is that.
    To(TimeLimitRequest),
    /// `+N`
    More(Seconds),
    /// `-N`
    Less(Seconds),
}

/// A change that can't be read: what Slurm says, and its exit status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobChangeError {
    /// Lines for standard error.
    pub lines: Vec<String>,
    /// The exit status: `scontrol` ends with 0 after some of its own errors.
    pub status: u8,
}

/// Reads `KEY=VALUE` pairs.
///
/// # Errors
/// The first that can't be read, in Slurm's words; or there is none.
pub fn job_changes(
    pairs: &[(String, String)],
    now: Timestamp,
    zone: &TimeZone,
) -> Result<Vec<JobChange>, JobChangeError> {
    if pairs.is_empty() {
        return Err(wrong(&["No changes specified"]));
    }
    let changes = pairs.iter().map(|(key, value)| one(key, value, now, zone));
    changes.collect()
}

fn wrong(lines: &[&str]) -> JobChangeError {
    JobChangeError {
        lines: lines.iter().map(|line| (*line).to_owned()).collect(),
        status: 1,
    }
}

fn one(
    key: &str,
    value: &str,
    now: Timestamp,
    zone: &TimeZone,
) -> Result<JobChange, JobChangeError> {
    let invalid = |name: &str| wrong(&[&format!("scontrol: error: Invalid {name} value: {value}")]);
    let number = |name: &'static str| {
        let read = value.parse::<u32>();
        read.map_err(|_| {
            let numeric = format!("scontrol: error: Invalid numeric value \"{value}\" for {name}.");
            let invalid = format!("scontrol: error: Invalid {name} value: {value}");
            wrong(&[&numeric, &invalid])
        })
    };
    let nodes = || {
        let list = node_list::expand(value);
        list.map_err(|error| wrong(&[&error.to_string()]))
    };
    let lower = key.to_ascii_lowercase();
    // Slurm takes the beginning of a name that is long enough to tell it from others.
    let is = |name: &str, least: usize| {
        lower.len() >= least && name.to_ascii_lowercase().starts_with(&lower)
    };
    let text = || Some(value.to_owned()).filter(|text| !text.is_empty());
    let change = if is("TimeLimit", 5) {
        JobChange::TimeLimit(
            limit(value).ok_or_else(|| wrong(&["scontrol: error: Invalid TimeLimit value"]))?,
        )
    } else if is("TimeMin", 5) {
        let least = TimeLimitRequest::parse(value);
        let least = least.ok_or_else(|| wrong(&["scontrol: error: Invalid TimeMin value"]))?;
        // Here no time is none, and not no limit as in options.
        let is_zero = value.bytes().all(|byte| b"0:-".contains(&byte));
        JobChange::TimeMin(Some(least).filter(|_| !is_zero))
    } else if is("Deadline", 3) {
        let moment = parse_moment(value, now, zone);
        JobChange::Deadline(moment.map_err(|message| wrong(&[&message, "No changes specified"]))?)
    } else if is("Partition", 2) {
        JobChange::Partition(value.to_owned())
    } else if is("QOS", 3) {
        JobChange::Qos(value.to_owned())
    } else if is("Account", 1) {
        JobChange::Account(value.to_owned())
    } else if is("NumNodes", 5) || is("ReqNodes", 8) {
        let count = NodeCount::parse(value).map_err(|_| JobChangeError {
            lines: vec![format!(
                "scontrol: error: Invalid numeric value \"{value}\" for requested node count."
            )],
            status: 0,
        })?;
        JobChange::Nodes(count.min, count.max)
    } else if is("NumTasks", 5) || is("ReqProcs", 8) {
        JobChange::Tasks(number("NumTasks")?)
    } else if is("MinCPUsNode", 4) {
        JobChange::MinCpus(value.parse().map_err(|_| invalid("MinCPUsNode"))?)
    } else if is("MinTmpDiskNode", 5) {
        JobChange::TmpDisk(value.parse().map_err(|_| invalid("MinTmpDiskNode"))?)
    } else if is("MailType", 5) {
        let types = parse_mail_types(value);
        let types = types.ok_or_else(|| wrong(&[&format!("Invalid MailType: {value}")]))?;
        JobChange::MailTypes(types)
    } else if is("MailUser", 5) {
        JobChange::MailUser(text())
    } else if is("StdOut", 6) {
        JobChange::Output(text())
    } else if is("Switches", 5) {
        JobChange::Switches(switches(value))
    } else if is("Gres", 2) {
        JobChange::Gres(value.to_owned())
    } else if is("TresPerNode", 8) {
        let of = value
            .split(',')
            .map(|it| it.strip_prefix("gres:").unwrap_or(it));
        JobChange::Gres(of.collect::<Vec<_>>().join(","))
    } else if is("Licenses", 1) {
        JobChange::Licenses(text())
    } else if is("Contiguous", 3) {
        JobChange::Contiguous(yes_no(value).ok_or_else(|| invalid("Contiguous"))?)
    } else if is("OverSubscribe", 2) || is("Shared", 2) {
        JobChange::OverSubscribe(yes_no(value).ok_or_else(|| invalid("OverSubscribe"))?)
    } else if is("WorkDir", 5) {
        JobChange::WorkDir(value.to_owned())
    } else if is("EndTime", 2) {
        let moment = parse_moment(value, now, zone);
        JobChange::End(moment.map_err(|message| wrong(&[&message, "No changes specified"]))?)
    } else if is("NumCPUs", 6) {
        JobChange::Cpus(number("NumCPUs")?.max(1))
    } else if is("CPUsPerTask", 9) {
        JobChange::CpusPerTask(number("CPUsPerTask")?.max(1))
    } else if is("MinMemoryNode", 10) {
        let mib = value.parse().map_err(|_| invalid("MinMemoryNode"))?;
        JobChange::Memory(MemoryRequest::PerNode(mib))
    } else if is("MinMemoryCPU", 10) {
        let mib = value.parse().map_err(|_| invalid("MinMemoryCPU"))?;
        JobChange::Memory(MemoryRequest::PerCpu(mib))
    } else if is("Features", 1) {
        if text().is_some_and(|text| Constraint::parse(&text).is_none()) {
            return Err(invalid("Features"));
        }
        JobChange::Features(text())
    } else if is("ReqNodeList", 8) || lower == "nodelist" {
        JobChange::NodeList(nodes()?)
    } else if is("ExcNodeList", 3) {
        JobChange::Exclude(nodes()?)
    } else if is("Dependency", 1) {
        JobChange::Dependency(text().filter(|text| text != "0"))
    } else if is("StartTime", 2) || is("EligibleTime", 2) {
        let moment = parse_moment(value, now, zone);
        JobChange::Begin(moment.map_err(|message| wrong(&[&message, "No changes specified"]))?)
    } else if is("JobName", 4) || lower == "name" {
        JobChange::Name(value.to_owned())
    } else if is("Comment", 3) {
        JobChange::Comment(value.to_owned())
    } else if is("Priority", 2) {
        JobChange::Priority(value.parse().map_err(|_| invalid("Priority"))?)
    } else if is("Nice", 2) {
        match value.parse::<i64>() {
            Ok(nice) if nice.abs() <= MOST_NICE => JobChange::Nice(nice),
            Ok(_) => {
                let what = format!("must be between -{MOST_NICE} and {MOST_NICE}");
                return Err(wrong(&[&format!("scontrol: error: Nice value {what}")]));
            }
            Err(_) => return Err(invalid("Nice")),
        }
    } else if is("ArrayTaskThrottle", 10) {
        JobChange::ArrayThrottle(number("ArrayTaskThrottle")?)
    } else if is("ReservationName", 3) {
        JobChange::Reservation(text())
    } else if is("SiteFactor", 5) {
        // As `strtoll`: what is no number is 0.
        let digits = value.trim_start_matches(['-', '+']);
        let end = digits.find(|letter: char| !letter.is_ascii_digit());
        let digits = &digits[..end.unwrap_or(digits.len())];
        let factor = if digits.is_empty() {
            0
        } else {
            digits.parse().unwrap_or(i64::MAX)
        };
        if factor > MOST_NICE {
            let what = format!("out of range (+/- {MOST_NICE}). Value ignored");
            return Err(wrong(&[&format!(
                "scontrol: error: SiteFactor value {what}"
            )]));
        }
        JobChange::SiteFactor(if value.starts_with('-') {
            -factor
        } else {
            factor
        })
    } else if is("Requeue", 4) {
        match value.to_ascii_lowercase().as_str() {
            "0" | "no" => JobChange::Requeue(false),
            "1" | "yes" => JobChange::Requeue(true),
            _ => return Err(invalid("Requeue")),
        }
    } else {
        let what = format!("Update of this parameter is not supported: {key}={value}");
        return Err(wrong(&[&what, "Request aborted"]));
    };
    Ok(change)
}

/// `COUNT[@TIME]`: as `strtol`, what is no number is 0, which asks for none; the wait is one of whole minutes.
fn switches(value: &str) -> Option<AskedSwitches> {
    let (count, wait) = match value.split_once('@') {
        Some((count, wait)) => (count, TimeLimitRequest::parse(wait)),
        None => (value, None),
    };
    let count = count.parse().ok().filter(|count| *count > 0)?;
    let wait = wait.map(|wait| match wait {
        TimeLimitRequest::Limit(Seconds(seconds)) => seconds.div_ceil(60) * 60,
        TimeLimitRequest::Unlimited => 0,
    });
    Some(AskedSwitches { count, wait })
}

fn yes_no(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "0" | "no" => Some(false),
        "1" | "yes" => Some(true),
        _ => None,
    }
}

/// `NICE_OFFSET` - 3 of Slurm.
const MOST_NICE: i64 = 2_147_483_645;

fn limit(value: &str) -> Option<LimitChange> {
    let seconds = |text: &str| match TimeLimitRequest::parse(text)? {
        TimeLimitRequest::Limit(limit) => Some(limit),
        TimeLimitRequest::Unlimited => None,
    };
    match (value.strip_prefix('+'), value.strip_prefix('-')) {
        (Some(more), _) => seconds(more).map(LimitChange::More),
        (None, Some(less)) if value != "-1" => seconds(less).map(LimitChange::Less),
        _ if value.is_empty() => None,
        _ => TimeLimitRequest::parse(value).map(LimitChange::To),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(key: &str, value: &str, want: &str) {
        let pairs = [(key.to_owned(), value.to_owned())];
        let text = match job_changes(&pairs, Timestamp(0), &TimeZone::UTC) {
            Ok(changes) => format!("{changes:?}"),
            Err(error) => format!("{} ({})", error.lines.join("; "), error.status),
        };
        assert_eq!(text, want);
    }

    #[test]
    fn what_can_be_changed() {
        check("timelimit", "+10", "[TimeLimit(More(Seconds(600)))]");
        check("TimeLimit", "-5", "[TimeLimit(Less(Seconds(300)))]");
        check("TimeLimit", "1-0", "[TimeLimit(To(Limit(Seconds(86400))))]");
        check("TimeLimit", "UNLIMITED", "[TimeLimit(To(Unlimited))]");
        check("numnodes", "2-3", "[Nodes(2, Some(3))]");
        check("dependency", "", "[Dependency(None)]");
        check("nice", "-5", "[Nice(-5)]");
        check("reservation", "j1", r#"[Reservation(Some("j1"))]"#);
        check("ReservationName", "", "[Reservation(None)]");
        check("sitefactor", "-5", "[SiteFactor(-5)]");
        check("sitefactor", "x", "[SiteFactor(0)]");
        check("requeue", "0", "[Requeue(false)]");
        check("gres", "gpu:2", "[Gres(\"gpu:2\")]");
        check("trespernode", "gres:gpu:2", "[Gres(\"gpu:2\")]");
        check("mailtype", "BEGIN,END", "[MailTypes([Begin, End])]");
        check("mailt", "NONE", "[MailTypes([])]");
        check("mailuser", "", "[MailUser(None)]");
        check("stdout", "a.%j", "[Output(Some(\"a.%j\"))]");
        let two = "[Switches(Some(AskedSwitches { count: 2, wait: Some(300) }))]";
        check("switches", "2@00:05:00", two);
        check("switches", "0", "[Switches(None)]");
        check("mincpusnode", "2", "[MinCpus(2)]");
        check("shared", "yes", "[OverSubscribe(true)]");
        check("arraytaskthrottle", "3", "[ArrayThrottle(3)]");
        check("timemin", "3", "[TimeMin(Some(Limit(Seconds(180))))]");
        check("timemin", "0", "[TimeMin(None)]");
        check("deadl", "1970-01-02", "[Deadline(Timestamp(86400000))]");
    }

    /// As recorded of a real one.
    #[test]
    fn what_can_not_be_read() {
        check(
            "timelimit",
            "x",
            "scontrol: error: Invalid TimeLimit value (1)",
        );
        check(
            "timelimit",
            "",
            "scontrol: error: Invalid TimeLimit value (1)",
        );
        check("timemin", "x", "scontrol: error: Invalid TimeMin value (1)");
        check(
            "deadline",
            "x",
            "Invalid time specification (pos=0): x; No changes specified (1)",
        );
        check("mailtype", "x", "Invalid MailType: x (1)");
        check(
            "contiguous",
            "x",
            "scontrol: error: Invalid Contiguous value: x (1)",
        );
        check(
            "priority",
            "x",
            "scontrol: error: Invalid Priority value: x (1)",
        );
        check(
            "numnodes",
            "x",
            "scontrol: error: Invalid numeric value \"x\" for requested node count. (0)",
        );
        check(
            "nosuch",
            "1",
            "Update of this parameter is not supported: nosuch=1; Request aborted (1)",
        );
        check(
            "minmemorynode",
            "1G",
            "scontrol: error: Invalid MinMemoryNode value: 1G (1)",
        );
        check(
            "nice",
            "99999999999",
            "scontrol: error: Nice value must be between -2147483645 and 2147483645 (1)",
        );
    }
}
