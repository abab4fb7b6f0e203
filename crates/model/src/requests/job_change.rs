//! What `scontrol update JobId=` changes of a job that is there.

use crate::requests::{AskedSwitches, CpuRange};
use crate::values::mail_type::parse_mail_types;
use crate::values::number;
use crate::values::{
    Constraint, MailEvent, MemoryRequest, NodeCount, NodeName, Seconds, TimeLimitRequest,
    Timestamp, abbreviates, node_list, parse_moment,
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
    /// `NumCPUs=`: in all.
    Cpus(CpuRange),
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
    /// `AdminComment=`
    AdminComment(String),
    /// `WCKey=`; none has none.
    Wckey(Option<String>),
    /// `DelayBoot=`
    DelayBoot(Seconds),
    /// `CoreSpec=`, `ThreadSpec=`: no cluster here keeps cores for the system.
    CoreSpec,
    /// `Reboot=`
    Reboot(bool),
    /// `BurstBuffer=`: there is none.
    BurstBuffer,
    /// `ClusterFeatures=`, `Clusters=`: there is one cluster.
    OtherClusters,
    /// `ReqSockets=`
    Sockets(u32),
    /// `ReqCores=`
    Cores(u32),
    /// `ReqThreads=`
    Threads(u32),
    /// `TasksPerNode=`; 0 asks for none.
    TasksPerNode(u32),
    /// `Prefer=`; none asks for none.
    Prefer(Option<String>),
    /// `wait-for-switch=`, in seconds.
    SwitchWait(u64),
    /// `ResetAccrueTime`: its age begins anew.
    ResetAccrueTime,
    /// `TresBind=`; none asks for none.
    TresBind(Option<String>),
    /// `TresFreq=`; none asks for none.
    TresFrequency(Option<String>),
    /// `CpusPerTres=`, `MemPerTres=`, `TresPerJob=`, `TresPerSocket=`, `TresPerTask=`; nothing asks for none.
    OtherTres(String),
}

impl JobChange {
    /// What is said of one that is kept and shown, and that changes nothing about the job's course.
    #[must_use]
    pub fn note(&self) -> Option<&'static str> {
        match self {
            JobChange::DelayBoot(_) => {
                Some("DelayBoot is kept and shown, and has no effect here: nothing is booted")
            }
            JobChange::TresFrequency(_) => Some(
                "TresFreq is kept and shown, and has no effect here: the speed of GPUs is left alone",
            ),
            JobChange::TresBind(_) => Some(
                "TresBind is kept and shown, and has no effect here: steps are bound as srun or the script says",
            ),
            _ => None,
        }
    }
}

/// A word of `scontrol update`: `KEY=VALUE`, `KEY+=VALUE`, `KEY VALUE`, or a key alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenChange {
    /// Without the sign.
    pub key: String,
    /// `+` or `-` before the `=`.
    pub sign: Option<char>,
    /// None where nothing follows the key.
    pub value: Option<String>,
    /// The last of its words, which an error repeats.
    pub written: String,
}

impl WrittenChange {
    /// One word; a key alone takes the next word as its value, but for those that need none.
    #[must_use]
    pub fn read(word: &str, next: &mut dyn FnMut() -> Option<String>) -> WrittenChange {
        if let Some((key, value)) = word.split_once('=') {
            let sign = key.chars().last().filter(|sign| "+-".contains(*sign));
            let sign = sign.filter(|_| key.len() > 1);
            return WrittenChange {
                key: key[..key.len() - usize::from(sign.is_some())].to_owned(),
                sign,
                value: Some(value.to_owned()),
                written: word.to_owned(),
            };
        }
        let is_bare = abbreviates(word, "Nice", 2) || abbreviates(word, "ResetAccrueTime", 3);
        let value = if is_bare { None } else { next() };
        WrittenChange {
            key: word.to_owned(),
            sign: None,
            written: value.clone().unwrap_or_else(|| word.to_owned()),
            value,
        }
    }
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

/// Reads what `scontrol update` is to change.
///
/// # Errors
/// The first that can't be read, in Slurm's words; or there is none.
pub fn job_changes(
    words: &[WrittenChange],
    now: Timestamp,
    zone: &TimeZone,
) -> Result<Vec<JobChange>, JobChangeError> {
    let changes = words.iter().map(|word| one(word, now, zone));
    let changes = changes.collect::<Result<Vec<_>, _>>()?;
    let changes: Vec<JobChange> = changes.into_iter().flatten().collect();
    if changes.is_empty() {
        return Err(wrong(&["No changes specified"]));
    }
    Ok(changes)
}

fn wrong(lines: &[&str]) -> JobChangeError {
    JobChangeError {
        lines: lines.iter().map(|line| (*line).to_owned()).collect(),
        status: 1,
    }
}

/// None where a word changes nothing by itself.
fn one(
    word: &WrittenChange,
    now: Timestamp,
    zone: &TimeZone,
) -> Result<Option<JobChange>, JobChangeError> {
    // Slurm takes the beginning of a name that is long enough to tell it from others.
    let is = |name: &str, least: usize| abbreviates(&word.key, name, least);
    let Some(value) = word.value.as_deref() else {
        return if is("Nice", 2) {
            Ok(Some(JobChange::Nice(DEFAULT_NICE)))
        } else if is("ResetAccrueTime", 3) {
            Ok(Some(JobChange::ResetAccrueTime))
        } else {
            let what = format!("Invalid input: {}", word.written);
            Err(wrong(&[&what, "Request aborted"]))
        };
    };
    let value = Value {
        text: value,
        now,
        zone,
    };
    let takes_sign = is("TimeLimit", 5) || is("AdminComment", 6);
    let change = match word.sign {
        Some('-') if is("AdminComment", 6) => {
            return Err(wrong(&[
                "scontrol: error: Invalid syntax, AdminComment can not be subtracted from.",
            ]));
        }
        // The sign stands in the comment, as in Slurm.
        Some(sign) if is("AdminComment", 6) => {
            let comment = format!("{sign}={}", value.text);
            Some(JobChange::AdminComment(comment))
        }
        Some(sign) if is("TimeLimit", 5) => {
            if value.text.starts_with(['+', '-']) {
                let what = "scontrol: error: Invalid syntax, variations of +=- are not accepted.";
                return Err(wrong(&[what]));
            }
            let signed = format!("{sign}{}", value.text);
            Some(JobChange::TimeLimit(limit(&signed).ok_or_else(|| {
                wrong(&["scontrol: error: Invalid TimeLimit value"])
            })?))
        }
        _ => value.of_job(&is)?.or(value.of_demand(&is)?),
    };
    match change {
        _ if is("UserID", 3) => Ok(None),
        None => {
            let what = format!(
                "Update of this parameter is not supported: {}",
                word.written
            );
            Err(wrong(&[&what, "Request aborted"]))
        }
        Some(_) if word.sign.is_some() && !takes_sign => Err(wrong(&[&format!(
            "scontrol: error: Option {} does not accept [+|-]= syntax",
            word.written
        )])),
        change => Ok(change),
    }
}

/// What is to be set, and what its reading depends on.
#[derive(Clone, Copy)]
struct Value<'a> {
    text: &'a str,
    now: Timestamp,
    zone: &'a TimeZone,
}

type Read = Result<Option<JobChange>, JobChangeError>;

impl Value<'_> {
    fn invalid(self, name: &str) -> JobChangeError {
        wrong(&[&format!(
            "scontrol: error: Invalid {name} value: {}",
            self.text
        )])
    }

    /// As `parse_uint32`: nothing is 0.
    fn number(self, name: &str) -> Result<u32, JobChangeError> {
        match self.text {
            "" => Ok(0),
            text => text.parse().map_err(|_| self.invalid(name)),
        }
    }

    /// As `parse_uint16`.
    fn short(self, name: &str) -> Result<u32, JobChangeError> {
        self.number(name)
            .ok()
            .filter(|number| *number <= u32::from(u16::MAX))
            .ok_or_else(|| self.invalid(name))
    }

    fn mebibytes(self, name: &str) -> Result<u64, JobChangeError> {
        self.text.parse().map_err(|_| self.invalid(name))
    }

    /// `yes` and `no`, or the beginning of them, or a number.
    fn flag(self, name: &str) -> Result<bool, JobChangeError> {
        let begins = |word: &str| abbreviates(self.text, word, 1);
        if begins("YES") {
            Ok(true)
        } else if begins("NO") {
            Ok(false)
        } else {
            Ok(self.short(name)? != 0)
        }
    }

    fn text(self) -> Option<String> {
        Some(self.text.to_owned()).filter(|text| !text.is_empty())
    }

    fn moment(self) -> Result<Timestamp, JobChangeError> {
        let moment = parse_moment(self.text, self.now, self.zone);
        moment.map_err(|message| wrong(&[&message, "No changes specified"]))
    }

    fn nodes(self) -> Result<Vec<NodeName>, JobChangeError> {
        let list = node_list::expand(self.text);
        list.map_err(|error| wrong(&[&error.to_string()]))
    }

    /// What is said of the job, and when it may run.
    fn of_job(self, is: &dyn Fn(&str, usize) -> bool) -> Read {
        let value = self.text;
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
        } else if is("AdminComment", 6) {
            JobChange::AdminComment(value.to_owned())
        } else if is("DelayBoot", 5) {
            match TimeLimitRequest::parse(value) {
                Some(TimeLimitRequest::Limit(delay)) => JobChange::DelayBoot(delay),
                _ if value.bytes().all(|byte| byte == b'0') => JobChange::DelayBoot(Seconds(0)),
                _ => return Err(wrong(&["scontrol: error: Invalid DelayBoot value"])),
            }
        } else if is("Deadline", 3) {
            JobChange::Deadline(self.moment()?)
        } else if is("Partition", 2) {
            JobChange::Partition(value.to_owned())
        } else if is("QOS", 3) {
            JobChange::Qos(value.to_owned())
        } else if is("MailType", 5) {
            let types = parse_mail_types(value);
            let types = types.ok_or_else(|| wrong(&[&format!("Invalid MailType: {value}")]))?;
            JobChange::MailTypes(types)
        } else if is("MailUser", 5) {
            JobChange::MailUser(self.text())
        } else if is("StdOut", 6) {
            JobChange::Output(self.text())
        } else if is("WorkDir", 2) {
            JobChange::WorkDir(value.to_owned())
        } else if is("EndTime", 2) {
            JobChange::End(self.moment()?)
        } else if is("StartTime", 2) || is("EligibleTime", 2) {
            JobChange::Begin(self.moment()?)
        } else if is("JobName", 4) || is("Name", 2) {
            JobChange::Name(value.to_owned())
        } else if is("Comment", 3) {
            JobChange::Comment(value.to_owned())
        } else if is("Clusters", 8) || is("ClusterFeatures", 8) {
            JobChange::OtherClusters
        } else if is("Priority", 2) {
            JobChange::Priority(value.parse().map_err(|_| self.invalid("Priority"))?)
        } else if is("Nice", 2) {
            JobChange::Nice(self.factor("Nice")?)
        } else if is("SiteFactor", 5) {
            JobChange::SiteFactor(self.factor("SiteFactor")?)
        } else if is("ArrayTaskThrottle", 10) {
            JobChange::ArrayThrottle(self.number("ArrayTaskThrottle")?)
        } else if is("ReservationName", 3) {
            JobChange::Reservation(self.text())
        } else if is("Requeue", 4) {
            JobChange::Requeue(self.short("Requeue")? != 0)
        } else if is("Reboot", 3) {
            JobChange::Reboot(self.flag("reboot")?)
        } else if is("WCKey", 1) {
            JobChange::Wckey(self.text())
        } else if is("Account", 1) {
            JobChange::Account(value.to_owned())
        } else if is("BurstBuffer", 1) {
            JobChange::BurstBuffer
        } else if is("Dependency", 1) {
            JobChange::Dependency(self.text().filter(|text| text != "0"))
        } else {
            return Ok(None);
        };
        Ok(Some(change))
    }

    /// What it asks of nodes.
    fn of_demand(self, is: &dyn Fn(&str, usize) -> bool) -> Read {
        let value = self.text;
        let change = if is("NumNodes", 8) || is("ReqNodes", 8) {
            let count = NodeCount::parse(value).map_err(|_| JobChangeError {
                lines: vec![format!(
                    "scontrol: error: Invalid numeric value \"{value}\" for requested node count."
                )],
                status: 0,
            })?;
            JobChange::Nodes(count.min, count.max)
        } else if is("NumTasks", 8) || is("ReqProcs", 8) {
            JobChange::Tasks(self.number("NumTasks")?)
        } else if is("NumCPUs", 6) {
            JobChange::Cpus(self.cpus()?)
        } else if is("CPUsPerTask", 9) {
            JobChange::CpusPerTask(self.short("CPUsPerTask")?.max(1))
        } else if is("MinCPUsNode", 4) {
            JobChange::MinCpus(self.short("MinCPUsNode")?)
        } else if is("MinMemoryNode", 10) {
            JobChange::Memory(MemoryRequest::PerNode(self.mebibytes("MinMemoryNode")?))
        } else if is("MinMemoryCPU", 10) {
            JobChange::Memory(MemoryRequest::PerCpu(self.mebibytes("MinMemoryCPU")?))
        } else if is("MinTmpDiskNode", 5) {
            JobChange::TmpDisk(self.mebibytes("MinTmpDiskNode")?)
        } else if is("ReqSockets", 4) {
            JobChange::Sockets(self.short("ReqSockets")?)
        } else if is("ReqCores", 4) {
            JobChange::Cores(self.short("ReqCores")?)
        } else if is("ReqThreads", 4) {
            JobChange::Threads(self.short("ReqThreads")?)
        } else if is("TasksPerNode", 2) {
            JobChange::TasksPerNode(self.short("TasksPerNode")?)
        } else if is("CoreSpec", 4) || is("ThreadSpec", 4) {
            let name = if is("CoreSpec", 4) {
                "CoreSpec"
            } else {
                "ThreadSpec"
            };
            if !matches!(value, "-1" | "*") {
                self.short(name)?;
            }
            JobChange::CoreSpec
        } else if is("Switches", 5) {
            JobChange::Switches(switches(value))
        } else if is("wait-for-switch", 5) {
            JobChange::SwitchWait(self.number("wait-for-switch")?.into())
        } else if is("Gres", 2) {
            JobChange::Gres(value.to_owned())
        } else if is("TresBind", 5) {
            JobChange::TresBind(self.text())
        } else if is("TresFreq", 5) {
            JobChange::TresFrequency(self.text())
        } else if is("CpusPerTres", 9)
            || is("MemPerTres", 5)
            || is("TresPerJob", 8)
            || is("TresPerSocket", 8)
            || is("TresPerTask", 8)
        {
            JobChange::OtherTres(value.to_owned())
        } else if is("TresPerNode", 8) {
            let of = value
                .split(',')
                .map(|it| it.strip_prefix("gres:").unwrap_or(it));
            JobChange::Gres(of.collect::<Vec<_>>().join(","))
        } else if is("Licenses", 1) {
            JobChange::Licenses(self.text())
        } else if is("Contiguous", 3) {
            JobChange::Contiguous(self.flag("Contiguous")?)
        } else if is("OverSubscribe", 2) || is("Shared", 2) {
            JobChange::OverSubscribe(self.flag("OverSubscribe")?)
        } else if is("ExcNodeList", 3) {
            JobChange::Exclude(self.nodes()?)
        } else if is("ReqNodeList", 8) || is("NodeList", 8) {
            JobChange::NodeList(self.nodes()?)
        } else if is("Features", 1) {
            JobChange::Features(self.features("Features")?)
        } else if is("Prefer", 3) {
            JobChange::Prefer(self.features("Prefer")?)
        } else {
            return Ok(None);
        };
        Ok(Some(change))
    }

    fn features(self, name: &str) -> Result<Option<String>, JobChangeError> {
        match self.text() {
            Some(text) if Constraint::parse(&text).is_none() => Err(self.invalid(name)),
            text => Ok(text),
        }
    }

    /// `LEAST[-MOST]`; here a job gets no more than the least.
    fn cpus(self) -> Result<CpuRange, JobChangeError> {
        let value = self.text;
        let (least, most) = value.split_once('-').unwrap_or((value, ""));
        let numeric = || {
            let numeric =
                format!("scontrol: error: Invalid numeric value \"{value}\" for NumCPUs.");
            let invalid = format!("scontrol: error: Invalid NumCPUs value: {value}");
            wrong(&[&numeric, &invalid])
        };
        let least: u32 = least.parse().map_err(|_| numeric())?;
        let most: Option<u32> = match most {
            "" => None,
            most => Some(most.parse().map_err(|_| numeric())?),
        };
        if least == 0 || most.is_some_and(|most| most < least) {
            return Err(self.invalid("NumCPUs"));
        }
        Ok(CpuRange { least, most })
    }

    /// As `strtoll`: what is no number is 0.
    fn factor(self, name: &str) -> Result<i64, JobChangeError> {
        number::nice(self.text).ok_or_else(|| {
            let what = format!("out of range (+/- {}). Value ignored", number::MOST_NICE);
            wrong(&[&format!("scontrol: error: {name} value {what}")])
        })
    }
}

/// `COUNT[@TIME]`: as `strtol`, what is no number is 0, which asks for none; the wait is one of whole minutes.
fn switches(value: &str) -> Option<AskedSwitches> {
    let (count, wait) = match value.split_once('@') {
        Some((count, wait)) => (count, TimeLimitRequest::parse(wait)),
        None => (value, None),
    };
    let count = u32::try_from(number::leading_number(count)).ok();
    let count = count.filter(|count| *count > 0)?;
    let wait = wait.map(|wait| match wait {
        TimeLimitRequest::Limit(Seconds(seconds)) => seconds.div_ceil(60) * 60,
        TimeLimitRequest::Unlimited => 0,
    });
    Some(AskedSwitches { count, wait })
}

/// `Nice` without a number.
const DEFAULT_NICE: i64 = 100;

fn limit(value: &str) -> Option<LimitChange> {
    let seconds = |text: &str| match TimeLimitRequest::parse(text)? {
        TimeLimitRequest::Limit(limit) => Some(limit),
        TimeLimitRequest::Unlimited => None,
    };
    match (value.strip_prefix('+'), value.strip_prefix('-')) {
        (Some(more), _) => seconds(more).map(LimitChange::More),
        (None, Some(less)) => seconds(less).map(LimitChange::Less),
        _ if value.is_empty() => None,
        _ => TimeLimitRequest::parse(value).map(LimitChange::To),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails loudly")]

    use super::*;

    #[track_caller]
    fn check(key: &str, value: &str, want: &str) {
        let word = WrittenChange::read(&format!("{key}={value}"), &mut || None);
        let text = match job_changes(&[word], Timestamp(0), &TimeZone::UTC) {
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
        check("nice", "--5", "[Nice(0)]");
        check("nice", " 7x", "[Nice(7)]");
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
        let three = "[Switches(Some(AskedSwitches { count: 3, wait: None }))]";
        check("switches", "3x", three);
        check("switches", "0", "[Switches(None)]");
        check("mincpusnode", "2", "[MinCpus(2)]");
        check("shared", "yes", "[OverSubscribe(true)]");
        check("arraytaskthrottle", "3", "[ArrayThrottle(3)]");
        check("timemin", "3", "[TimeMin(Some(Limit(Seconds(180))))]");
        check("timemin", "0", "[TimeMin(None)]");
        check("deadl", "1970-01-02", "[Deadline(Timestamp(86400000))]");
    }

    #[track_caller]
    fn check_note(word: &str, has_one: bool) {
        let word = WrittenChange::read(word, &mut || None);
        let changes = job_changes(&[word], Timestamp(0), &TimeZone::UTC).unwrap();
        let notes = changes.iter().filter_map(JobChange::note);
        let said: Vec<&str> = notes.collect();
        assert_eq!(said.len(), usize::from(has_one), "{changes:?}");
        assert!(said.iter().all(|note| note.contains("has no effect here")));
    }

    #[test]
    fn what_has_no_effect_is_said() {
        check_note("DelayBoot=5", true);
        check_note("TresFreq=gpu:low", true);
        check_note("TresBind=gpu:closest", true);
        check_note("Prefer=fast", false);
        check_note("Comment=words", false);
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
            "scontrol: error: Nice value out of range (+/- 2147483645). Value ignored (1)",
        );
        check(
            "sitefactor",
            "-99999999999999999999",
            "scontrol: error: SiteFactor value out of range (+/- 2147483645). Value ignored (1)",
        );
    }
}
