//! What `scontrol show job` prints, line by line as Slurm 22.05 does.

use crate::records::job_info::node_list_text;
use crate::records::{ArrayTaskInfo, JobInfo};
use crate::requests::ComponentPlace;
use crate::values::{
    MemoryRequest, NodeName, NodeShare, Timestamp, array_elements_text, mebibytes_text,
    moment_text, one_line, padded_elapsed_text,
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
    lines.push("Power=".to_owned());
    lines.extend(tail(job));
    // Slurm ends every line, the last one too, with what separates lines.
    let (separator, end) = if style.one_line {
        (" ", "\n")
    } else {
        ("\n   ", "\n\n")
    };
    let mut text: String = lines
        .iter()
        .map(|line| format!("{}{separator}", one_line(line)))
        .collect();
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
            "RunTime={} TimeLimit={limit} TimeMin=N/A",
            padded_elapsed_text(job.run_time)
        ),
        format!(
            "SubmitTime={} EligibleTime={}",
            at(Some(job.submitted)),
            at(job.eligible)
        ),
        format!("AccrueTime={}", at(job.eligible)),
        format!(
            "StartTime={} EndTime={} Deadline=N/A",
            at(job.start),
            at(job.end)
        ),
    ];
    if job.preempted.is_some() {
        lines.push(format!(
            "PreemptEligibleTime={} PreemptTime={}",
            at(job.start),
            at(job.preempted)
        ));
    }
    lines.push(format!(
        "SuspendTime={} SecsPreSuspend={} LastSchedEval=Unknown Scheduler=Main",
        job.suspended.map_or_else(
            || "None".to_owned(),
            |(moment, _)| moment_text(moment, &job.zone)
        ),
        job.suspended.map_or(0, |(_, ran)| ran),
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
        "NumNodes={nodes} NumCPUs={} NumTasks={} CPUs/Task={} ReqB:S:C:T=0:0:*:*",
        job.cpus,
        job.tasks,
        job.cpus_per_task
            .map_or_else(|| "N/A".to_owned(), |cpus| cpus.to_string()),
    ));
    lines.push(format!("TRES={}", job.tres));
    lines.push(format!(
        "Socks/Node=* NtasksPerN:B:S:C={}:0:*:* CoreSpec=*",
        job.tasks_per_node
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
            "MinCPUsNode={} MinMemory{unit}={} MinTmpDiskNode=0",
            job.min_cpus_per_node,
            mebibytes_text(memory)
        ),
        format!("Features={} DelayBoot=00:00:00", or_null(&job.features)),
    ];
    if let Some(name) = &job.reservation {
        lines.push(format!("Reservation={name}"));
    }
    lines.push(format!(
        "OverSubscribe={} Contiguous={} Licenses={} Network=(null)",
        crate::fields::field_table::over_subscribe(job),
        u8::from(job.contiguous),
        or_null(&job.licenses)
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
    let mut lines: Vec<String> = named
        .iter()
        .filter_map(|(name, value)| value.as_ref().map(|value| format!("{name}={value}")))
        .collect();
    if let Some((user, events)) = &job.mail {
        lines.push(format!("MailUser={user} MailType={events}"));
    }
    if let Some(tasks) = job.tasks_per_tres {
        lines.push(format!("NtasksPerTRES={tasks}"));
    }
    lines
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
