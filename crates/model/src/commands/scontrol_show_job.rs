//! What `scontrol show job` prints, line by line as Slurm 22.05 does.

use crate::records::job_info::node_list_text;
use crate::records::{ArrayTaskInfo, JobInfo};
use crate::requests::{AskedSwitches, ComponentPlace};
use crate::values::{
    MemoryRequest, NodeName, NodeShare, Seconds, TimeLimitRequest, Timestamp, array_elements_text,
    mebibytes_text, moment_text, one_line, padded_elapsed_text,
};

/// How a job is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShowStyle {
    /// `--oneliner`
    pub one_line: bool,
    /// `--details`: with what it holds node by node.
    pub details: bool,
}

/// The text of one job, its end of line and blank line included.
#[must_use]
pub fn show_job(job: &JobInfo, style: ShowStyle) -> String {
    let mut lines = head(job, style);
    lines.extend(times(job));
    lines.extend(place(job, style));
    lines.extend(request(job));
    lines.extend(files(job));
    if let Some(switches) = job.node_options.switches {
        lines.push(format!("Switches={}", switches_text(switches)));
    }
    lines.push("Power=".to_owned());
    lines.extend(tail(job));
    // Slurm ends every line, the last one too, with what separates lines.
    let (separator, end) = if style.one_line {
        (" ", "\n")
    } else {
        ("\n   ", "\n\n")
    };
    let mut text = String::with_capacity(1536);
    for line in &lines {
        text.push_str(&one_line(line));
        text.push_str(separator);
    }
    text.push_str(end);
    text
}

fn head(job: &JobInfo, style: ShowStyle) -> Vec<String> {
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
    if let Some(place) = job.component {
        let ComponentPlace { leader, offset, .. } = place;
        first.push_str(&format!("HetJobId={leader} HetJobOffset={offset} "));
    }
    first.push_str(&format!("JobName={}", job.name));
    let exit = format!("{}:{}", job.exit_code.code(), job.exit_code.signal_number());
    let mut lines = vec![first];
    lines.extend(
        job.component
            .map(|place| format!("HetJobIdSet={}", place.ids_text())),
    );
    lines.extend([
        format!(
            "UserId={}({}) GroupId={}({}) MCS_label=N/A",
            job.user, job.uid, job.group, job.gid
        ),
        format!(
            "Priority={} Nice={} Account={} QOS={}",
            job.priority,
            job.nice,
            or_null(&job.account),
            job.qos
        ),
        format!(
            "JobState={} Reason={} Dependency={}",
            job.state.long(),
            job.reason.replace(char::is_whitespace, "_"),
            or_null(&job.dependency)
        ),
        format!(
            "Requeue={} Restarts={} BatchFlag={} Reboot=0 ExitCode={exit}",
            u8::from(job.requeue),
            job.restarts,
            u8::from(job.batch),
        ),
    ]);
    if style.details {
        lines.push("DerivedExitCode=0:0".to_owned());
    }
    lines
}

fn times(job: &JobInfo) -> Vec<String> {
    let at = |moment: Option<Timestamp>| {
        moment.map_or_else(
            || "Unknown".to_owned(),
            |moment| moment_text(moment, &job.zone),
        )
    };
    let limit = job.limit.map_or_else(
        || "UNLIMITED".to_owned(),
        |limit| padded_elapsed_text(i64::try_from(limit.0).unwrap_or(i64::MAX)),
    );
    let mut lines = vec![
        format!(
            "RunTime={} TimeLimit={limit} TimeMin={}",
            padded_elapsed_text(job.run_time),
            job.shown
                .time_min
                .map_or_else(|| "N/A".to_owned(), |least| least.to_string())
        ),
        format!(
            "SubmitTime={} EligibleTime={}",
            at(Some(job.submitted)),
            at(job.eligible)
        ),
        format!("AccrueTime={}", at(job.accrues_since())),
        format!(
            "StartTime={} EndTime={} Deadline={}",
            at(job.start),
            at(job.end),
            job.shown.deadline.map_or_else(
                || "N/A".to_owned(),
                |deadline| moment_text(deadline, &job.zone)
            )
        ),
    ];
    let lost = job.preempted.and(job.start);
    if let Some(since) = job.preemptible.or(lost) {
        let taken = job
            .preempted
            .map_or_else(|| "None".to_owned(), |_| at(job.preempted));
        lines.push(format!(
            "PreemptEligibleTime={} PreemptTime={taken}",
            at(Some(since))
        ));
    }
    lines.push(format!(
        "SuspendTime={} SecsPreSuspend={} LastSchedEval={} Scheduler=Main",
        job.suspended.map_or_else(
            || "None".to_owned(),
            |(moment, _)| moment_text(moment, &job.zone)
        ),
        job.suspended.map_or(0, |(_, ran)| ran),
        at(job.looked_at),
    ));
    lines
}

fn place(job: &JobInfo, style: ShowStyle) -> Vec<String> {
    let mut lines = vec![
        // The session's number is not kept.
        format!(
            "Partition={} AllocNode:Sid={}:0",
            job.partition, job.submit_host
        ),
        format!(
            "ReqNodeList={} ExcNodeList={}",
            list_or_null(&job.required_nodes),
            list_or_null(&job.excluded_nodes)
        ),
        // Nothing, where Slurm has no list yet; its own function for sorted lists prints that so.
        format!("NodeList={}", node_list_text(&job.nodes)),
    ];
    if let Some(host) = job.nodes.first().filter(|_| job.batch) {
        lines.push(format!("BatchHost={host}"));
    }
    let nodes = match (job.is_pending(), job.max_nodes) {
        (true, most) if most > 0 => format!("{}-{most}", job.node_count.min(most)),
        _ => job.node_count.to_string(),
    };
    lines.push(format!(
        "NumNodes={nodes} NumCPUs={} NumTasks={} CPUs/Task={} ReqB:S:C:T=0:0:{}:{}",
        job.cpus,
        job.tasks,
        job.cpus_per_task
            .map_or_else(|| "N/A".to_owned(), |cpus| cpus.to_string()),
        or_star(job.node_options.cores_per_socket),
        or_star(job.node_options.threads_per_core),
    ));
    lines.push(format!("TRES={}", job.tres));
    lines.push(format!(
        "Socks/Node={} NtasksPerN:B:S:C={}:0:{}:{} CoreSpec=*",
        or_star(job.node_options.sockets_per_node),
        job.tasks_per_node,
        or_star(job.node_options.tasks_per_socket),
        or_star(job.node_options.tasks_per_core)
    ));
    if style.details {
        lines.extend(holdings(job));
    }
    lines
}

/// What the job holds, node by node; nodes that hold the same share a line.
fn holdings(job: &JobInfo) -> Vec<String> {
    let Some(allocation) = &job.allocation else {
        return Vec::new();
    };
    let gres = match allocation.gpus() {
        0 => "(null)".to_owned(),
        count => format!("gpu:{}{count}", kind_prefix(job)),
    };
    let mut lines = vec![format!("JOB_GRES={gres}")];
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
        lines.push(format!(
            "  Nodes={} {}",
            node_list_text(&names),
            holding(job, first)
        ));
        rest = &rest[alike..];
    }
    lines
}

fn holding(job: &JobInfo, share: &NodeShare) -> String {
    let gres = match share.gpus.len() {
        0 => String::new(),
        count => format!(
            "gpu:{}{count}(IDX:{})",
            kind_prefix(job),
            array_elements_text(&share.gpus, None, true)
        ),
    };
    format!(
        "CPU_IDs={} Mem={} GRES={gres}",
        array_elements_text(&share.cpus, None, true),
        share.memory
    )
}

fn kind_prefix(job: &JobInfo) -> String {
    job.gpu_kind
        .as_ref()
        .map(|kind| format!("{kind}:"))
        .unwrap_or_default()
}

fn request(job: &JobInfo) -> Vec<String> {
    let (unit, memory) = match job.memory {
        MemoryRequest::PerNode(mib) => ("Node", mib),
        MemoryRequest::PerCpu(mib) => ("CPU", mib),
        MemoryRequest::PerGpu(_) => ("Node", 0),
    };
    let mut lines = vec![
        format!(
            "MinCPUsNode={} MinMemory{unit}={} MinTmpDiskNode={}",
            job.min_cpus_per_node,
            mebibytes_text(memory),
            mebibytes_text(job.node_options.tmp_mib.unwrap_or(0))
        ),
        format!(
            "Features={} DelayBoot={}",
            or_null(&job.features),
            job.shown.delay_boot.map_or_else(
                || "00:00:00".to_owned(),
                |delay| padded_elapsed_text(i64::try_from(delay.0).unwrap_or(i64::MAX))
            )
        ),
    ];
    if let Some(features) = &job.shown.cluster_features {
        lines.push(format!("ClusterFeatures={features}"));
    }
    if let Some(name) = &job.reservation {
        lines.push(format!("Reservation={name}"));
    }
    lines.push(format!(
        "OverSubscribe={} Contiguous={} Licenses={} Network={}",
        crate::fields::field_table::over_subscribe(job),
        u8::from(job.node_options.contiguous),
        or_null(&job.licenses),
        or_null(&job.shown.network)
    ));
    lines.push(format!("Command={}", or_null(&job.command)));
    lines.push(format!("WorkDir={}", job.work_dir));
    lines
}

fn files(job: &JobInfo) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(comment) = &job.comment {
        lines.push(format!("Comment={comment} "));
    }
    if job.batch {
        lines.push(format!("StdErr={}", job.stderr_path()));
        lines.push(format!("StdIn={}", job.stdin_path()));
        lines.push(format!("StdOut={}", job.stdout_path()));
    }
    lines
}

fn tail(job: &JobInfo) -> Vec<String> {
    let named = [
        ("CpusPerTres", &job.cpus_per_tres),
        ("MemPerTres", &job.mem_per_tres),
        ("TresBind", &job.tres_bind),
        ("TresFreq", &job.tres_freq),
        ("TresPerJob", &job.tres_per_job),
        ("TresPerNode", &job.tres_per_node),
        ("TresPerSocket", &job.tres_per_socket),
        ("TresPerTask", &job.tres_per_task),
    ];
    let mut lines = Vec::new();
    if let Some(kills) = job.shown.kills_on_invalid_dependency {
        // The misspelling is Slurm's.
        let word = if kills { "Yes" } else { "No" };
        lines.push(format!("KillOInInvalidDependent={word}"));
    }
    if job.node_options.spread {
        lines.push("SpreadJob=Yes".to_owned());
    }
    let named = named
        .iter()
        .filter_map(|(name, value)| value.as_ref().map(|value| format!("{name}={value}")));
    lines.extend(named);
    if let Some((user, events)) = &job.mail {
        lines.push(format!("MailUser={user} MailType={events}"));
    }
    if let Some(tasks) = job.tasks_per_tres {
        lines.push(format!("NtasksPerTRES={tasks}"));
    }
    lines
}

/// `1@00:05:00`: how many, and how long it waits for so few.
fn switches_text(switches: AskedSwitches) -> String {
    let wait = switches.wait.unwrap_or(MOST_SWITCH_WAIT);
    let wait = TimeLimitRequest::Limit(Seconds(wait.min(MOST_SWITCH_WAIT)));
    format!("{}@{wait}", switches.count)
}

/// `max_switch_wait` of a controller where nothing else is configured, in seconds.
const MOST_SWITCH_WAIT: u64 = 300;

fn or_star(count: Option<u32>) -> String {
    count.map_or_else(|| "*".to_owned(), |count| count.to_string())
}

fn or_null(text: &Option<String>) -> &str {
    text.as_deref().unwrap_or("(null)")
}

/// Nodes as the records of jobs have them.
pub(crate) fn list_or_null(nodes: &[NodeName]) -> String {
    if nodes.is_empty() {
        return "(null)".to_owned();
    }
    node_list_text(nodes)
}
