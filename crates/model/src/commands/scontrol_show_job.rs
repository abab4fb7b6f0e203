//! What `scontrol show job` prints, line by line as Slurm 22.05 does.

use crate::records::job_info::node_list_text;
use crate::records::{ArrayTaskInfo, JobInfo, held_gpus_text};
use crate::requests::{AskedSwitches, ComponentPlace};
use crate::values::{
    MemoryRequest, NodeName, NodeShare, Seconds, TimeLimitRequest, Timestamp, array_elements_text,
    cpu_frequency, mebibytes_text, one_line, padded_elapsed_text,
};
use std::borrow::Cow;
use std::fmt::{self, Write};

/// How a job is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShowStyle {
    /// `--oneliner`
    pub one_line: bool,
    /// `--details`: with what it holds node by node.
    pub details: bool,
    /// `--all`: hidden partitions too.
    pub all: bool,
    /// `--future`: nodes of the future too.
    pub future: bool,
}

/// Puts the text of one job behind others, its end of line and blank line included.
pub fn show_job(text: &mut String, job: &JobInfo, style: ShowStyle) {
    // Slurm ends every line, the last one too, with what separates lines.
    let (separator, end) = if style.one_line {
        (" ", "\n")
    } else {
        ("\n   ", "\n\n")
    };
    let mut lines = Lines { text, separator };
    head(&mut lines, job, style);
    times(&mut lines, job);
    place(&mut lines, job, style);
    request(&mut lines, job);
    files(&mut lines, job);
    if let Some(switches) = job.node_options().switches {
        lines.add(format_args!("Switches={}", switches_text(switches)));
    }
    if let Some(asked) = &job.shown().cpu_frequency {
        lines.add(format_args!("{}", frequency_text(asked)));
    }
    let levels = if job.shown().levels_power {
        "LEVEL"
    } else {
        ""
    };
    lines.add(format_args!("Power={levels}"));
    let binding = match (
        job.request.rare.asked.enforce_binding,
        job.shown().disables_binding,
    ) {
        (true, _) => Some("Yes"),
        (false, true) => Some("No"),
        (false, false) => None,
    };
    if let Some(binding) = binding {
        lines.add(format_args!("GresEnforceBind={binding}"));
    }
    tail(&mut lines, job);
    text.push_str(end);
}

/// Lines that are made where they stand: there may be many thousands of jobs.
struct Lines<'a> {
    text: &'a mut String,
    separator: &'static str,
}

impl Lines<'_> {
    fn add(&mut self, line: fmt::Arguments<'_>) {
        let begin = self.text.len();
        // Writing to a string cannot fail.
        let _written = self.text.write_fmt(line);
        let safe = match one_line(&self.text[begin..]) {
            Cow::Borrowed(_) => None,
            Cow::Owned(safe) => Some(safe),
        };
        if let Some(safe) = safe {
            self.text.truncate(begin);
            self.text.push_str(&safe);
        }
        self.text.push_str(self.separator);
    }
}

fn head(lines: &mut Lines<'_>, job: &JobInfo, style: ShowStyle) {
    let mut first = format!("JobId={} ", job.id);
    if let Some(array) = &job.array {
        let task = match &array.task {
            ArrayTaskInfo::One(task) => task.to_string(),
            ArrayTaskInfo::Waiting(tasks) => array_elements_text(tasks, array.throttle, false),
        };
        first.push_str(&format!("ArrayJobId={} ArrayTaskId={task} ", array.job));
        if let Some(throttle) = array.throttle {
            first.push_str(&format!("ArrayTaskThrottle={throttle} "));
        }
    }
    if let Some(place) = job.component() {
        let ComponentPlace { leader, offset, .. } = place;
        first.push_str(&format!("HetJobId={leader} HetJobOffset={offset} "));
    }
    first.push_str(&format!("JobName={}", job.name()));
    let exit = format!("{}:{}", job.exit_code.code(), job.exit_code.signal_number());
    lines.add(format_args!("{first}"));
    if let Some(place) = job.component() {
        lines.add(format_args!("HetJobIdSet={}", place.ids_text()));
    }
    lines.add(format_args!(
        "UserId={}({}) GroupId={}({}) MCS_label={}",
        job.user(),
        job.uid(),
        job.submitter.group,
        job.submitter.gid,
        job.shown().mcs_label.as_deref().unwrap_or("N/A")
    ));
    lines.add(format_args!(
        "Priority={} Nice={} Account={} QOS={}",
        job.priority,
        job.request.nice,
        or_null(job.account()),
        job.qos
    ));
    lines.add(format_args!(
        "JobState={} Reason={} Dependency={}",
        job.state.long(),
        job.reason.replace(char::is_whitespace, "_"),
        or_null(job.dependency.as_deref())
    ));
    lines.add(format_args!(
        "Requeue={} Restarts={} BatchFlag={} Reboot=0 ExitCode={exit}",
        u8::from(job.requeue),
        job.restarts,
        u8::from(job.batch),
    ));
    if style.details {
        let derived = job.derived_exit_code;
        let (code, signal) = (derived.code(), derived.signal_number());
        lines.add(format_args!("DerivedExitCode={code}:{signal}"));
    }
}

fn times(lines: &mut Lines<'_>, job: &JobInfo) {
    let at = |moment: Option<Timestamp>| {
        moment.map_or_else(|| "Unknown".to_owned(), |moment| job.moments.text(moment))
    };
    let limit = job.limit.map_or_else(
        || "UNLIMITED".to_owned(),
        |limit| padded_elapsed_text(i64::try_from(limit.0).unwrap_or(i64::MAX)),
    );
    lines.add(format_args!(
        "RunTime={} TimeLimit={limit} TimeMin={}",
        padded_elapsed_text(job.run_time),
        job.request
            .rare
            .time_min
            .map_or_else(|| "N/A".to_owned(), |least| least.to_string())
    ));
    lines.add(format_args!(
        "SubmitTime={} EligibleTime={}",
        at(Some(job.submitted)),
        at(job.told_eligible())
    ));
    lines.add(format_args!("AccrueTime={}", at(job.accrues_since())));
    if job.resized.is_some() {
        lines.add(format_args!("ResizeTime={}", at(job.resized)));
    }
    lines.add(format_args!(
        "StartTime={} EndTime={} Deadline={}",
        at(job.start),
        at(job.end),
        job.request
            .rare
            .deadline
            .map_or_else(|| "N/A".to_owned(), |deadline| job.moments.text(deadline))
    ));
    let lost = job.preempted.and(job.start);
    if let Some(since) = job.preemptible.or(lost) {
        let taken = job
            .preempted
            .map_or_else(|| "None".to_owned(), |_| at(job.preempted));
        lines.add(format_args!(
            "PreemptEligibleTime={} PreemptTime={taken}",
            at(Some(since))
        ));
    }
    lines.add(format_args!(
        "SuspendTime={} SecsPreSuspend={} LastSchedEval={} Scheduler=Main",
        job.suspended
            .map_or_else(|| "None".to_owned(), |(moment, _)| job.moments.text(moment)),
        job.suspended.map_or(0, |(_, ran)| ran),
        at(job.looked_at),
    ));
}

fn place(lines: &mut Lines<'_>, job: &JobInfo, style: ShowStyle) {
    lines.add(format_args!(
        "Partition={} AllocNode:Sid={}:{}",
        job.partition,
        job.submitter.host,
        job.shown().session
    ));
    lines.add(format_args!(
        "ReqNodeList={} ExcNodeList={}",
        list_or_null(job.required_nodes()),
        list_or_null(job.excluded_nodes())
    ));
    // Nothing, where Slurm has no list yet; its own function for sorted lists prints that so.
    let planned = match &job.planned_nodes[..] {
        [] => String::new(),
        nodes => format!(" SchedNodeList={}", node_list_text(nodes)),
    };
    let nodes = node_list_text(&job.nodes);
    lines.add(format_args!("NodeList={nodes}{planned}"));
    if let Some(host) = job.nodes.first() {
        lines.add(format_args!("BatchHost={host}"));
    }
    if let Some(features) = &job.shown().batch_features {
        lines.add(format_args!("BatchFeatures={features}"));
    }
    let nodes = match (job.is_pending(), job.max_nodes) {
        (true, most) if most > 0 => format!("{}-{most}", job.node_count.min(most)),
        _ => job.node_count.to_string(),
    };
    lines.add(format_args!(
        "NumNodes={nodes} NumCPUs={} NumTasks={} CPUs/Task={} ReqB:S:C:T=0:0:{}:{}",
        job.cpus_text(),
        job.tasks,
        job.cpus_per_task
            .map_or_else(|| "N/A".to_owned(), |cpus| cpus.to_string()),
        or_star(job.node_options().cores_per_socket),
        or_star(job.node_options().threads_per_core),
    ));
    lines.add(format_args!("TRES={}", job.tres()));
    lines.add(format_args!(
        "Socks/Node={} NtasksPerN:B:S:C={}:0:{}:{} CoreSpec=*",
        or_star(job.node_options().sockets_per_node),
        job.tasks_per_node(),
        or_star(job.node_options().tasks_per_socket),
        or_star(job.node_options().tasks_per_core)
    ));
    if style.details {
        holdings(lines, job);
    }
}

/// What the job holds, node by node; nodes that hold the same share a line.
fn holdings(lines: &mut Lines<'_>, job: &JobInfo) {
    let Some(allocation) = &job.allocation else {
        return;
    };
    let gres = match allocation.gpus() {
        0 => "(null)".to_owned(),
        count => format!("gpu{}:{count}", job.gpu_kind_text()),
    };
    lines.add(format_args!("JOB_GRES={gres}"));
    let mut rest = allocation.nodes.as_slice();
    while let [first, ..] = rest {
        let alike = rest
            .iter()
            .take_while(|share| holding(job, share) == holding(job, first))
            .count();
        let names: Vec<NodeName> = rest[..alike]
            .iter()
            .map(|share| share.node.clone())
            .collect();
        lines.add(format_args!(
            "  Nodes={} {}",
            node_list_text(&names),
            holding(job, first)
        ));
        rest = &rest[alike..];
    }
}

fn holding(job: &JobInfo, share: &NodeShare) -> String {
    let gres = match share.gpus.len() {
        0 => String::new(),
        _ => held_gpus_text(&job.gpu_kind_text(), &share.gpus),
    };
    format!(
        "CPU_IDs={} Mem={} GRES={gres}",
        array_elements_text(&share.cpus, None, true),
        share.memory
    )
}

fn request(lines: &mut Lines<'_>, job: &JobInfo) {
    let (unit, memory) = match job.memory {
        MemoryRequest::PerNode(mib) => ("Node", mib),
        MemoryRequest::PerCpu(mib) => ("CPU", mib),
        MemoryRequest::PerGpu(_) => ("Node", 0),
    };
    lines.add(format_args!(
        "MinCPUsNode={} MinMemory{unit}={} MinTmpDiskNode={}",
        job.min_cpus_per_node,
        mebibytes_text(memory),
        mebibytes_text(job.node_options().tmp_mib.unwrap_or(0))
    ));
    lines.add(format_args!(
        "Features={} DelayBoot={}",
        or_null(job.features()),
        job.shown().delay_boot.map_or_else(
            || "00:00:00".to_owned(),
            |delay| padded_elapsed_text(i64::try_from(delay.0).unwrap_or(i64::MAX))
        )
    ));
    if let Some(features) = &job.shown().cluster_features {
        lines.add(format_args!("ClusterFeatures={features}"));
    }
    if job.is_pending()
        && let Some(features) = &job.node_options().prefer
    {
        lines.add(format_args!("Prefer={features}"));
    }
    if let Some(name) = &job.reservation {
        lines.add(format_args!("Reservation={name}"));
    }
    lines.add(format_args!(
        "OverSubscribe={} Contiguous={} Licenses={} Network={}",
        crate::fields::field_table::over_subscribe(job),
        u8::from(job.node_options().contiguous),
        or_null(job.licenses()),
        or_null(job.shown().network.as_deref())
    ));
    lines.add(format_args!("Command={}", or_null(job.command())));
    lines.add(format_args!("WorkDir={}", job.work_dir()));
}

fn files(lines: &mut Lines<'_>, job: &JobInfo) {
    if let Some(comment) = &job.shown().admin_comment {
        lines.add(format_args!("AdminComment={comment} "));
    }
    if let Some(comment) = &job.comment() {
        lines.add(format_args!("Comment={comment} "));
    }
    if job.batch {
        lines.add(format_args!("StdErr={}", job.stderr_path()));
        lines.add(format_args!("StdIn={}", job.stdin_path()));
        lines.add(format_args!("StdOut={}", job.stdout_path()));
    }
}

fn tail(lines: &mut Lines<'_>, job: &JobInfo) {
    let named = [
        ("CpusPerTres", job.cpus_per_tres()),
        ("MemPerTres", job.mem_per_tres()),
        ("TresBind", job.request.rare.asked.bind.clone()),
        ("TresFreq", job.request.rare.asked.frequency.clone()),
        ("TresPerJob", job.tres_per_job()),
        ("TresPerNode", job.tres_per_node()),
        ("TresPerSocket", job.tres_per_socket()),
        ("TresPerTask", job.tres_per_task()),
    ];
    if let Some(kills) = job.shown().kills_on_invalid_dependency {
        // The misspelling is Slurm's.
        let word = if kills { "Yes" } else { "No" };
        lines.add(format_args!("KillOInInvalidDependent={word}"));
    }
    if job.node_options().spread {
        lines.add(format_args!("SpreadJob=Yes"));
    }
    for (name, value) in named {
        if let Some(value) = value {
            lines.add(format_args!("{name}={value}"));
        }
    }
    if let Some((user, events)) = job.mail() {
        lines.add(format_args!("MailUser={user} MailType={events}"));
    }
    if let Some(tasks) = job.request.rare.asked.tasks_of_each {
        lines.add(format_args!("NtasksPerTRES={tasks}"));
    }
}

/// `1@00:05:00`: how many, and how long it waits for so few.
fn switches_text(switches: AskedSwitches) -> String {
    let wait = switches.wait.unwrap_or(MOST_SWITCH_WAIT);
    let wait = TimeLimitRequest::Limit(Seconds(wait.min(MOST_SWITCH_WAIT)));
    format!("{}@{wait}", switches.count)
}

/// `max_switch_wait` of a controller where nothing else is configured, in seconds.
const MOST_SWITCH_WAIT: u64 = 300;

/// `Low-High:OnDemand` as the values that it stands for, of one of which each but the last ends with a blank.
fn frequency_text(asked: &str) -> String {
    let (range, mut governor) = match asked.split_once(':') {
        Some((range, governor)) => (range, Some(governor)),
        None => (asked, None),
    };
    let (least, most) = match range.split_once('-') {
        Some((least, most)) => (Some(least), Some(most)),
        None if cpu_frequency::governor(range).is_some() => {
            governor = Some(range);
            (None, None)
        }
        None => (None, Some(range)),
    };
    let least = least.map_or_else(String::new, |least| format!("CPU_min_freq={least} "));
    let most = most.map_or_else(String::new, |most| format!("CPU_max_freq={most} "));
    let governor = governor.map_or_else(String::new, |name| format!("Governor={name}"));
    format!("{least}{most}{governor}")
}

fn or_star(count: Option<u32>) -> String {
    count.map_or_else(|| "*".to_owned(), |count| count.to_string())
}

fn or_null(text: Option<&str>) -> &str {
    text.unwrap_or("(null)")
}

/// Nodes as the records of jobs have them.
pub(crate) fn list_or_null(nodes: &[NodeName]) -> String {
    if nodes.is_empty() {
        return "(null)".to_owned();
    }
    node_list_text(nodes)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `cpu_freq_debug` of 22.05.8 writes it.
    #[test]
    fn frequencies_that_were_asked_for() {
        for (asked, want) in [
            ("High", "CPU_max_freq=High "),
            ("2400000", "CPU_max_freq=2400000 "),
            ("Low-Medium", "CPU_min_freq=Low CPU_max_freq=Medium "),
            ("Performance", "Governor=Performance"),
            (
                "Low-High:UserSpace",
                "CPU_min_freq=Low CPU_max_freq=High Governor=UserSpace",
            ),
        ] {
            assert_eq!(frequency_text(asked), want);
        }
    }
}
