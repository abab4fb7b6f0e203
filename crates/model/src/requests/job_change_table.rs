//! How `scontrol update JobId=` reads what it is to change: one table of what it knows.

use crate::requests::job_change::{JobChange, JobChangeError, WrittenChange};
use crate::requests::job_change_value::{Value, switches, wrong};
use crate::values::{MemoryRequest, Timestamp, abbreviates};
use jiff::tz::TimeZone;

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
    let read = match word.sign {
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
            let limit = Value {
                text: &signed,
                ..value
            };
            Some(JobChange::TimeLimit(limit.limit()?))
        }
        _ => change(value, &word.key)?,
    };
    match read {
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
        read => Ok(read),
    }
}

/// How a value becomes a change; the name is the one that an error says.
type Reader = fn(Value<'_>, &str) -> Result<JobChange, JobChangeError>;

/// What can be changed: Slurm's name, how much of its beginning tells it from others, and how its value is read. The
/// first row that a key begins counts.
#[rustfmt::skip]
const ROWS: &[(&str, usize, Reader)] = &[
    // What is said of the job, and when it may run.
    ("TimeLimit", 5, |value, _| Ok(JobChange::TimeLimit(value.limit()?))),
    ("TimeMin", 5, |value, _| Ok(JobChange::TimeMin(value.least_time()?))),
    ("AdminComment", 6, |value, _| Ok(JobChange::AdminComment(value.owned()))),
    ("DelayBoot", 5, |value, _| Ok(JobChange::DelayBoot(value.delay()?))),
    ("Deadline", 3, |value, _| Ok(JobChange::Deadline(value.moment()?))),
    ("Partition", 2, |value, _| Ok(JobChange::Partition(value.owned()))),
    ("QOS", 3, |value, _| Ok(JobChange::Qos(value.owned()))),
    ("MailType", 5, |value, _| Ok(JobChange::MailTypes(value.mail_types()?))),
    ("MailUser", 5, |value, _| Ok(JobChange::MailUser(value.text()))),
    ("StdOut", 6, |value, _| Ok(JobChange::Output(value.text()))),
    ("WorkDir", 2, |value, _| Ok(JobChange::WorkDir(value.owned()))),
    ("EndTime", 2, |value, _| Ok(JobChange::End(value.moment()?))),
    ("StartTime", 2, |value, _| Ok(JobChange::Begin(value.moment()?))),
    ("EligibleTime", 2, |value, _| Ok(JobChange::Begin(value.moment()?))),
    ("JobName", 4, |value, _| Ok(JobChange::Name(value.owned()))),
    ("Name", 2, |value, _| Ok(JobChange::Name(value.owned()))),
    ("Comment", 3, |value, _| Ok(JobChange::Comment(value.owned()))),
    ("Clusters", 8, |_, _| Ok(JobChange::OtherClusters)),
    ("ClusterFeatures", 8, |_, _| Ok(JobChange::OtherClusters)),
    ("Priority", 2, |value, name| {
        let priority = value.text.parse().map_err(|_| value.invalid(name))?;
        Ok(JobChange::Priority(priority))
    }),
    ("Nice", 2, |value, name| Ok(JobChange::Nice(value.factor(name)?))),
    ("SiteFactor", 5, |value, name| Ok(JobChange::SiteFactor(value.factor(name)?))),
    ("ArrayTaskThrottle", 10, |value, name| Ok(JobChange::ArrayThrottle(value.number(name)?))),
    ("ReservationName", 3, |value, _| Ok(JobChange::Reservation(value.text()))),
    ("Requeue", 4, |value, name| Ok(JobChange::Requeue(value.short(name)? != 0))),
    ("Reboot", 3, |value, _| Ok(JobChange::Reboot(value.flag("reboot")?))),
    ("WCKey", 1, |value, _| Ok(JobChange::Wckey(value.text()))),
    ("Account", 1, |value, _| Ok(JobChange::Account(value.owned()))),
    ("BurstBuffer", 1, |_, _| Ok(JobChange::BurstBuffer)),
    ("Dependency", 1, |value, _| {
        Ok(JobChange::Dependency(value.text().filter(|text| text != "0")))
    }),
    // What it asks of nodes.
    ("NumNodes", 8, |value, _| value.node_count()),
    ("ReqNodes", 8, |value, _| value.node_count()),
    ("NumTasks", 8, |value, name| Ok(JobChange::Tasks(value.number(name)?))),
    ("ReqProcs", 8, |value, _| Ok(JobChange::Tasks(value.number("NumTasks")?))),
    ("NumCPUs", 6, |value, _| Ok(JobChange::Cpus(value.cpus()?))),
    ("CPUsPerTask", 9, |value, name| Ok(JobChange::CpusPerTask(value.short(name)?.max(1)))),
    ("MinCPUsNode", 4, |value, name| Ok(JobChange::MinCpus(value.short(name)?))),
    ("MinMemoryNode", 10, |value, name| {
        Ok(JobChange::Memory(MemoryRequest::PerNode(value.mebibytes(name)?)))
    }),
    ("MinMemoryCPU", 10, |value, name| {
        Ok(JobChange::Memory(MemoryRequest::PerCpu(value.mebibytes(name)?)))
    }),
    ("MinTmpDiskNode", 5, |value, name| Ok(JobChange::TmpDisk(value.mebibytes(name)?))),
    ("ReqSockets", 4, |value, name| Ok(JobChange::Sockets(value.short(name)?))),
    ("ReqCores", 4, |value, name| Ok(JobChange::Cores(value.short(name)?))),
    ("ReqThreads", 4, |value, name| Ok(JobChange::Threads(value.short(name)?))),
    ("TasksPerNode", 2, |value, name| Ok(JobChange::TasksPerNode(value.short(name)?))),
    ("CoreSpec", 4, |value, name| value.spared(name)),
    ("ThreadSpec", 4, |value, name| value.spared(name)),
    ("Switches", 5, |value, _| Ok(JobChange::Switches(switches(value.text)))),
    ("wait-for-switch", 5, |value, name| Ok(JobChange::SwitchWait(value.number(name)?.into()))),
    ("Gres", 2, |value, _| Ok(JobChange::Gres(value.owned()))),
    ("TresBind", 5, |value, _| Ok(JobChange::TresBind(value.text()))),
    ("TresFreq", 5, |value, _| Ok(JobChange::TresFrequency(value.text()))),
    ("CpusPerTres", 9, |value, _| Ok(JobChange::OtherTres(value.owned()))),
    ("MemPerTres", 5, |value, _| Ok(JobChange::OtherTres(value.owned()))),
    ("TresPerJob", 8, |value, _| Ok(JobChange::OtherTres(value.owned()))),
    ("TresPerSocket", 8, |value, _| Ok(JobChange::OtherTres(value.owned()))),
    ("TresPerTask", 8, |value, _| Ok(JobChange::OtherTres(value.owned()))),
    ("TresPerNode", 8, |value, _| {
        let of = value.text.split(',');
        let of = of.map(|it| it.strip_prefix("gres:").unwrap_or(it));
        Ok(JobChange::Gres(of.collect::<Vec<_>>().join(",")))
    }),
    ("Licenses", 1, |value, _| Ok(JobChange::Licenses(value.text()))),
    ("Contiguous", 3, |value, name| Ok(JobChange::Contiguous(value.flag(name)?))),
    ("OverSubscribe", 2, |value, name| Ok(JobChange::OverSubscribe(value.flag(name)?))),
    ("Shared", 2, |value, _| Ok(JobChange::OverSubscribe(value.flag("OverSubscribe")?))),
    ("ExcNodeList", 3, |value, _| Ok(JobChange::Exclude(value.nodes()?))),
    ("ReqNodeList", 8, |value, _| Ok(JobChange::NodeList(value.nodes()?))),
    ("NodeList", 8, |value, _| Ok(JobChange::NodeList(value.nodes()?))),
    ("Features", 1, |value, name| Ok(JobChange::Features(value.features(name)?))),
    ("Prefer", 3, |value, name| Ok(JobChange::Prefer(value.features(name)?))),
];

/// The change that the first row makes of a value whose name the key begins; none where no row's name is that.
fn change(value: Value<'_>, key: &str) -> Result<Option<JobChange>, JobChangeError> {
    let is_own = |(name, least, _): &&(&str, usize, Reader)| abbreviates(key, name, *least);
    let row = ROWS.iter().find(is_own);
    row.map(|(name, _, read)| read(value, name)).transpose()
}

/// `Nice` without a number.
const DEFAULT_NICE: i64 = 100;

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
    fn no_row_hides_another() {
        for (index, (name, ..)) in ROWS.iter().enumerate() {
            let is_own =
                |(other, least, _): &(&str, usize, Reader)| abbreviates(name, other, *least);
            let first = ROWS.iter().position(is_own);
            assert_eq!(first, Some(index), "{name}");
        }
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
