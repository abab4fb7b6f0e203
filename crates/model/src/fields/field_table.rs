//! The field table: every column of `squeue`, by letter (`-o`) and by name (`-O`), with its
//! header, the type of what stands in it, and how it is had from a job.
//!
//! The embedded engine's `squeue` prints from it; a reader of a real `squeue`'s answer finds there
//! what a column holds. Facts: Slurm 22.05.

use crate::records::{ArrayTaskInfo, JobInfo, JobStateName, PartitionSharing};
use crate::requests::{ComponentPlace, Sharing};
use crate::values::{MemoryRequest, NodeName, Seconds, TimeLimitRequest, Timestamp};
use crate::values::{array_elements_text, elapsed_text, mebibytes_text};
use std::borrow::Cow;

/// A column of `squeue`.
#[derive(Debug)]
pub struct JobField {
    /// Its letter in `-o`.
    pub letter: Option<char>,
    /// Its names in `-O`, in lower case; any case is taken.
    pub names: &'static [&'static str],
    /// Its header.
    pub header: &'static str,
    /// What stands in it.
    pub kind: FieldKind,
    /// What stands in it for a job.
    pub value: fn(&JobInfo) -> Cell<'_>,
}

/// The type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// Words.
    Text,
    /// A whole number.
    Number,
    /// A number with a point.
    Fraction,
    /// A length of time: `1-02:03:04`, `UNLIMITED`.
    Length,
    /// A moment in local time, or `N/A`.
    Moment,
    /// A list of nodes; never cut.
    Nodes,
}

/// What stands in a column; most of it is lent by the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell<'a> {
    /// Cut at the column's width.
    Text(Cow<'a, str>),
    /// Runs over a narrow column when it is right-aligned: lengths of time and node lists.
    Long(Cow<'a, str>),
    /// Nothing, which Slurm prints as `(null)`, or as nothing in a left-aligned column under 6.
    Null,
}

use FieldKind::{Fraction, Length, Moment, Nodes, Number, Text};

const fn field(
    letter: Option<char>,
    names: &'static [&'static str],
    header: &'static str,
    kind: FieldKind,
    value: fn(&JobInfo) -> Cell<'_>,
) -> JobField {
    JobField {
        letter,
        names,
        header,
        kind,
        value,
    }
}

/// Every column of `squeue`: first those with a letter, in the order of letters.
#[rustfmt::skip]
pub const JOB_FIELDS: &[JobField] = &[
    field(Some('a'), &["account"], "ACCOUNT", Text, |job| optional(job.account())),
    field(Some('A'), &["jobid"], "JOBID", Number, |job| number(job.id)),
    field(Some('b'), &["gres", "tres-per-node"], "TRES_PER_NODE", Text, |job| or_na(job.tres_per_node())),
    field(Some('B'), &["batchhost"], "EXEC_HOST", Text, batch_host),
    field(Some('c'), &["mincpus"], "MIN_CPUS", Number, |job| number(job.min_cpus_per_node)),
    field(Some('C'), &["numcpus"], "CPUS", Number, |job| number(job.cpus)),
    field(Some('d'), &["mintmpdisk"], "MIN_TMP_DISK", Number, |job| made(amount(job, job.node_options().tmp_mib.unwrap_or(0)))),
    field(Some('D'), &["numnodes"], "NODES", Number, |job| number(job.node_count)),
    field(Some('e'), &["endtime"], "END_TIME", Moment, end_time),
    field(Some('E'), &["dependency"], "DEPENDENCY", Text, |job| optional(job.dependency.as_deref())),
    field(Some('f'), &["feature"], "FEATURES", Text, |job| optional(job.features())),
    field(Some('F'), &["arrayjobid"], "ARRAY_JOB_ID", Number, |job| number(job.array.as_ref().map_or(job.id, |array| array.job))),
    field(Some('g'), &["groupname"], "GROUP", Text, |job| text(&job.submitter.group)),
    field(Some('G'), &["groupid"], "GROUP", Number, |job| number(job.submitter.gid)),
    field(Some('h'), &["oversubscribe", "shared"], "OVER_SUBSCRIBE", Text, |job| text(over_subscribe(job))),
    field(Some('H'), &["sockets"], "SOCKETS_PER_NODE", Text, |_| text("*")),
    field(Some('i'), &["jobarrayid"], "JOBID", Text, |job| made(job.id_text(false))),
    field(Some('I'), &["cores"], "CORES_PER_SOCKET", Text, |_| text("*")),
    field(Some('j'), &["name"], "NAME", Text, |job| text(job.name())),
    field(Some('J'), &["threads"], "THREADS_PER_CORE", Text, |_| text("*")),
    field(Some('k'), &["comment"], "COMMENT", Text, |job| optional(job.comment())),
    field(Some('K'), &["arraytaskid"], "ARRAY_TASK_ID", Text, array_task),
    field(Some('l'), &["timelimit"], "TIME_LIMIT", Length, |job| limit(job, 0)),
    field(Some('L'), &["timeleft"], "TIME_LEFT", Length, |job| limit(job, job.run_time)),
    field(Some('m'), &["minmemory"], "MIN_MEMORY", Text, |job| made(min_memory(job))),
    field(Some('M'), &["timeused"], "TIME", Length, |job| Cell::Long(elapsed_text(job.run_time).into())),
    field(Some('n'), &["reqnodes"], "REQ_NODES", Nodes, |job| nodes(job.required_nodes())),
    field(Some('N'), &["nodelist"], "NODELIST", Nodes, |job| nodes(&job.nodes)),
    field(Some('o'), &["command"], "COMMAND", Text, |job| optional(job.command())),
    field(Some('O'), &["contiguous"], "CONTIGUOUS", Number, |job| number(u32::from(job.node_options().contiguous))),
    field(Some('p'), &["priority"], "PRIORITY", Fraction, |job| made(format!("{:16.14}", f64::from(job.priority) / f64::from(u32::MAX)))),
    field(Some('P'), &["partition"], "PARTITION", Text, |job| text(&job.partition)),
    field(Some('q'), &["qos"], "QOS", Text, |job| text(&job.qos)),
    field(Some('Q'), &["prioritylong"], "PRIORITY", Number, |job| number(job.priority)),
    field(Some('r'), &["reason"], "REASON", Text, |job| text(&job.reason)),
    field(Some('R'), &["reasonlist"], "NODELIST(REASON)", Nodes, reason_or_nodes),
    field(Some('s'), &["selectjobinfo"], "", Text, |_| text("")),
    field(Some('S'), &["starttime"], "START_TIME", Moment, |job| moment(job, job.start)),
    field(Some('t'), &["statecompact"], "ST", Text, |job| text(job.state.compact())),
    field(Some('T'), &["state"], "STATE", Text, |job| text(job.state.long())),
    field(Some('u'), &["username"], "USER", Text, |job| text(job.user())),
    field(Some('U'), &["userid"], "UID", Number, |job| number(job.uid())),
    field(Some('v'), &["reservation"], "RESERVATION", Text, |job| optional(job.reservation.as_deref())),
    field(Some('V'), &["submittime"], "SUBMIT_TIME", Moment, |job| moment(job, Some(job.submitted))),
    field(Some('w'), &["wckey"], "WCKEY", Text, |job| optional(job.shown().wckey.as_deref())),
    field(Some('W'), &["licenses"], "LICENSES", Text, |job| optional(job.licenses())),
    field(Some('x'), &[], "EXC_NODES", Nodes, |job| nodes(job.excluded_nodes())),
    field(Some('X'), &["corespec"], "CORE_SPEC", Text, |_| text("N/A")),
    field(Some('y'), &["nice"], "NICE", Number, |job| made(job.request.nice.to_string())),
    field(Some('Y'), &["schednodes"], "SCHEDNODES", Nodes, sched_nodes),
    field(Some('z'), &["sct"], "S:C:T", Text, |_| text("*:*:*")),
    field(Some('Z'), &["workdir"], "WORK_DIR", Text, |job| Cell::Text(job.work_dir())),
    field(None, &["accruetime"], "ACCRUE_TIME", Moment, |job| moment(job, job.accrues_since())),
    field(None, &["admin_comment"], "ADMIN_COMMENT", Text, |job| optional(job.shown().admin_comment.as_deref())),
    field(None, &["allocnodes"], "ALLOC_NODES", Text, |job| text(&job.submitter.host)),
    field(None, &["allocsid"], "ALLOC_SID", Number, |job| number(job.shown().session)),
    field(None, &["associd"], "ASSOC_ID", Number, |job| number(job.association)),
    field(None, &["batchflag"], "BATCH_FLAG", Number, |job| number(u32::from(job.batch))),
    field(None, &["boardspernode"], "BOARDS_PER_NODE", Number, |_| number(0)),
    field(None, &["burstbuffer"], "BURST_BUFFER", Text, |_| Cell::Null),
    field(None, &["burstbufferstate"], "BURST_BUFFER_STATE", Text, |_| Cell::Null),
    field(None, &["cluster"], "CLUSTER", Text, |job| text(&job.cluster)),
    field(None, &["clusterfeature"], "CLUSTER_FEATURES", Text, |job| optional(job.shown().cluster_features.as_deref())),
    field(None, &["container"], "CONTAINER", Text, |_| Cell::Null),
    field(None, &["cpus-per-task", "cpuspertask"], "CPUS_PER_TASK", Number, |job| number(job.cpus_per_task.unwrap_or(1))),
    field(None, &["cpus-per-tres"], "CPUS_PER_TRES", Text, |job| or_na(job.cpus_per_tres())),
    field(None, &["deadline"], "DEADLINE", Moment, |job| moment(job, job.request.rare.deadline)),
    field(None, &["delayboot"], "DELAY_BOOT", Length, |_| text("0:00")),
    field(None, &["derivedec"], "DERIVED_EC", Number, |job| made(job.derived_exit_code.0.to_string())),
    field(None, &["eligibletime"], "ELIGIBLE_TIME", Moment, |job| moment(job, job.told_eligible())),
    field(None, &["exit_code"], "EXIT_CODE", Number, |job| made(job.exit_code.0.to_string())),
    field(None, &["hetjobid", "packjobid"], "HET_JOB_ID", Text, |job| of_component(job, |place| place.leader.to_string())),
    field(None, &["hetjobidset", "packjobidset"], "HET_JOB_ID_SET", Text, |job| of_component(job, ComponentPlace::ids_text)),
    field(None, &["hetjoboffset", "packjoboffset"], "HET_JOB_OFFSET", Text, |job| of_component(job, |place| place.offset.to_string())),
    field(None, &["lastschedeval"], "LAST_SCHED_EVAL", Moment, |job| moment(job, job.looked_at)),
    field(None, &["maxcpus"], "MAX_CPUS", Number, |job| number(job.cpus)),
    field(None, &["maxnodes"], "MAX_NODES", Number, |job| number(if job.max_nodes > 0 { job.max_nodes } else { job.node_count })),
    field(None, &["mcslabel"], "MCSLABEL", Text, |job| optional(job.shown().mcs_label.as_deref())),
    field(None, &["mem-per-tres"], "MEM_PER_TRES", Text, |job| or_na(job.mem_per_tres())),
    field(None, &["mintime"], "TIME_MIN", Length, least_time),
    field(None, &["network"], "NETWORK", Text, |job| optional(job.shown().network.as_deref())),
    field(None, &["ntperboard"], "NTASKS_PER_BOARD", Number, |_| number(0)),
    field(None, &["ntpercore"], "NTASKS_PER_CORE", Text, |_| text("N/A")),
    field(None, &["ntpernode"], "NTASKS_PER_NODE", Number, |job| number(job.tasks_per_node())),
    field(None, &["ntpersocket"], "NTASKS_PER_SOCKET", Text, |_| text("N/A")),
    field(None, &["numtasks", "numtask"], "TASKS", Number, |job| number(job.tasks)),
    field(None, &["origin"], "ORIGIN", Text, |_| text("NA")),
    field(None, &["originraw"], "ORIGIN_RAW", Text, |_| text("NA")),
    field(None, &["pendingtime"], "PENDING_TIME", Number, pending_time),
    field(None, &["preempttime"], "PREEMPT_TIME", Moment, |_| text("N/A")),
    field(None, &["prefer"], "PREFER", Text, |job| optional(job.node_options().prefer.as_deref())),
    field(None, &["profile"], "PROFILE", Text, |_| text("NotSet")),
    field(None, &["reboot"], "REBOOT", Number, |_| number(0)),
    field(None, &["reqswitch"], "REQ_SWITCH", Number, |_| number(0)),
    field(None, &["requeue"], "REQUEUE", Number, |job| number(u32::from(job.requeue))),
    field(None, &["resizetime"], "RESIZE_TIME", Length, resize_time),
    field(None, &["restartcnt"], "RESTART_COUNT", Number, |job| number(job.restarts)),
    field(None, &["siblingsactive"], "ACTIVE_SIBLINGS", Text, |_| text("NA")),
    field(None, &["siblingsactiveraw"], "ACTIVE_SIBLINGS_RAW", Text, |_| text("NA")),
    field(None, &["siblingsviable"], "VIABLE_SIBLINGS", Text, |_| text("NA")),
    // The misspelling is Slurm's.
    field(None, &["siblingsviableraw"], "VIALBLE_SIBLINGS_RAW", Text, |_| text("NA")),
    field(None, &["sperboard"], "SOCKETS_PER_BOARD", Number, |_| number(0)),
    field(None, &["stderr"], "STDERR", Text, |job| if job.batch { made(job.stderr().map_or_else(|| output(job), |path| job.in_folder(path))) } else { text("N/A") }),
    field(None, &["stdin"], "STDIN", Text, |job| made(job.in_folder(job.stdin().unwrap_or("/dev/null")))),
    field(None, &["stdout"], "STDOUT", Text, |job| made(output(job))),
    field(None, &["system_comment"], "SYSTEM_COMMENT", Text, |_| Cell::Null),
    field(None, &["tres", "tres-alloc"], "TRES_ALLOC", Text, |job| made(job.tres())),
    field(None, &["tres-bind"], "TRES_BIND", Text, |job| text(job.request.rare.asked.bind.as_deref().unwrap_or("N/A"))),
    field(None, &["tres-freq"], "TRES_FREQ", Text, |job| text(job.request.rare.asked.frequency.as_deref().unwrap_or("N/A"))),
    field(None, &["tres-per-job"], "TRES_PER_JOB", Text, |job| or_na(job.tres_per_job())),
    field(None, &["tres-per-socket"], "TRES_PER_SOCKET", Text, |job| or_na(job.tres_per_socket())),
    field(None, &["tres-per-task"], "TRES_PER_TASK", Text, |job| or_na(job.tres_per_task())),
    field(None, &["wait4switch"], "WAIT4SWITCH", Length, |_| text("0:00")),
];

impl JobField {
    /// The column of a letter of `-o`.
    #[must_use]
    pub fn by_letter(letter: char) -> Option<&'static JobField> {
        JOB_FIELDS.iter().find(|field| field.letter == Some(letter))
    }

    /// The column of a name of `-O`, in any case.
    #[must_use]
    pub fn by_name(name: &str) -> Option<&'static JobField> {
        JOB_FIELDS.iter().find(|field| {
            field
                .names
                .iter()
                .any(|known| known.eq_ignore_ascii_case(name))
        })
    }

    /// Its header; those of node lists that a running job fills are never cut.
    #[must_use]
    pub fn header_cell(&self) -> Cell<'static> {
        match self.letter {
            Some('N' | 'R' | 'Y') => Cell::Long(self.header.into()),
            _ => text(self.header),
        }
    }
}

/// `--exclusive` and `--oversubscribe` as Slurm tells of them.
pub(crate) fn over_subscribe(job: &JobInfo) -> &'static str {
    match job.node_options().sharing {
        Some(Sharing::User) => "USER",
        Some(Sharing::Mcs) => "MCS",
        Some(Sharing::Exclusive) => "NO",
        _ if job.request.exclusive => "NO",
        Some(Sharing::Anybody) => "YES",
        None => match job.partition_view.sharing {
            PartitionSharing::Nodes => "OK",
            PartitionSharing::Cpus => "YES",
            PartitionSharing::User => "USER",
            PartitionSharing::None => "NO",
        },
    }
}

/// Where the output goes, as `squeue` tells of it: patterns unexpanded.
fn output(job: &JobInfo) -> String {
    let asked = job.stdout().map(|path| job.in_folder(path));
    asked.unwrap_or_else(|| format!("{}/slurm-{}.out", job.work_dir(), job.id))
}

fn text(text: &str) -> Cell<'_> {
    Cell::Text(text.into())
}

fn made(text: String) -> Cell<'static> {
    Cell::Text(text.into())
}

fn number(number: u32) -> Cell<'static> {
    made(number.to_string())
}

fn optional(value: Option<&str>) -> Cell<'_> {
    value.map_or(Cell::Null, text)
}

fn of_component(job: &JobInfo, tell: impl FnOnce(ComponentPlace) -> String) -> Cell<'_> {
    or_na(job.component().map(tell))
}

fn or_na(value: Option<String>) -> Cell<'static> {
    value.map_or(text("N/A"), made)
}

fn sched_nodes(job: &JobInfo) -> Cell<'_> {
    if job.planned_nodes.is_empty() {
        return Cell::Null;
    }
    nodes(&job.planned_nodes)
}

fn nodes(nodes: &[NodeName]) -> Cell<'_> {
    Cell::Long(crate::records::job_info::node_list_text(nodes).into())
}

fn moment(job: &JobInfo, moment: Option<Timestamp>) -> Cell<'_> {
    or_na(moment.map(|moment| job.moments.text(moment)))
}

fn end_time(job: &JobInfo) -> Cell<'_> {
    let runs =
        matches!(job.base_state, JobStateName::Running) || job.state == JobStateName::Completing;
    if runs && job.limit.is_none() {
        return text("NONE");
    }
    moment(job, job.end)
}

fn batch_host(job: &JobInfo) -> Cell<'_> {
    if !job.batch {
        return text(&job.submitter.host);
    }
    text(job.nodes.first().map_or("n/a", NodeName::as_str))
}

fn array_task(job: &JobInfo) -> Cell<'_> {
    match job
        .array
        .as_ref()
        .map(|array| (&array.task, array.throttle))
    {
        None => text("N/A"),
        Some((ArrayTaskInfo::One(task), _)) => number(*task),
        Some((ArrayTaskInfo::Waiting(tasks), throttle)) => {
            made(array_elements_text(tasks, throttle, false))
        }
    }
}

fn limit(job: &JobInfo, used: i64) -> Cell<'_> {
    let left = |limit: Seconds| i64::try_from(limit.0).map_or(i64::MAX, |limit| limit - used);
    Cell::Long(
        job.limit
            .map_or("UNLIMITED".into(), |limit| elapsed_text(left(limit)).into()),
    )
}

fn least_time(job: &JobInfo) -> Cell<'_> {
    let least = match job.request.rare.time_min {
        Some(TimeLimitRequest::Limit(least)) => i64::try_from(least.0).unwrap_or(i64::MAX),
        Some(TimeLimitRequest::Unlimited) | None => 0,
    };
    Cell::Long(elapsed_text(least).into())
}

/// In the largest unit that loses nothing, unless it is to stay in MiB.
fn amount(job: &JobInfo, mib: u64) -> String {
    if job.in_mebibytes && mib > 0 {
        format!("{mib}M")
    } else {
        mebibytes_text(mib)
    }
}

fn min_memory(job: &JobInfo) -> String {
    match job.memory {
        MemoryRequest::PerNode(mib) | MemoryRequest::PerCpu(mib) => amount(job, mib),
        MemoryRequest::PerGpu(_) => "0".to_owned(),
    }
}

/// 22.05 takes the moment for a length of time, which is too long for one.
fn resize_time(job: &JobInfo) -> Cell<'_> {
    text(job.resized.map_or("N/A", |_| "INVALID"))
}

fn pending_time(job: &JobInfo) -> Cell<'_> {
    let until = job
        .start
        .filter(|start| *start < job.now)
        .unwrap_or(job.now);
    made((until.seconds() - job.submitted.seconds()).to_string())
}

fn reason_or_nodes(job: &JobInfo) -> Cell<'_> {
    let tells_reason = matches!(
        job.state,
        JobStateName::Pending
            | JobStateName::SpecialExit
            | JobStateName::Timeout
            | JobStateName::OutOfMemory
            | JobStateName::Deadline
            | JobStateName::Failed
    );
    if tells_reason {
        made(format!("({})", job.reason))
    } else {
        nodes(&job.nodes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_letter_and_no_name_stands_twice() {
        let mut letters = HashSet::new();
        let mut names = HashSet::new();
        for field in JOB_FIELDS {
            if let Some(letter) = field.letter {
                assert!(letters.insert(letter), "{letter}");
            }
            for name in field.names {
                assert!(names.insert(*name), "{name}");
                assert_eq!(*name, name.to_lowercase());
            }
        }
        assert_eq!(letters.len(), 52);
    }
}
