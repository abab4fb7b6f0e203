//! The field table's second half: every column of `squeue --steps`.

use crate::fields::Cell;
use crate::records::{JobInfo, OUT_OF_MEMORY, StepRecord, StepState};
use crate::values::{StepId, elapsed_text};

/// A step and its job, as Slurm tells of them.
#[derive(Clone, Debug)]
pub struct StepInfo {
    /// The step.
    pub step: StepRecord,
    /// Its job.
    pub job: JobInfo,
}

/// A column of `squeue --steps`.
#[derive(Debug)]
pub struct StepField {
    /// Its letter in `-o`.
    pub letter: Option<char>,
    /// Its names in `-O`, in lower case.
    pub names: &'static [&'static str],
    /// Its header.
    pub header: &'static str,
    /// What stands in it for a step.
    pub value: fn(&StepInfo) -> Cell,
}

const fn field(
    letter: Option<char>,
    names: &'static [&'static str],
    header: &'static str,
    value: fn(&StepInfo) -> Cell,
) -> StepField {
    StepField {
        letter,
        names,
        header,
        value,
    }
}

/// Every column of `squeue --steps`.
#[rustfmt::skip]
pub const STEP_FIELDS: &[StepField] = &[
    field(Some('A'), &["numtasks", "numtask"], "TASKS", |info| number(info.tasks())),
    field(Some('b'), &["gres", "tres-per-node"], "TRES_PER_JOB", gpus_per_node),
    field(Some('i'), &["stepid"], "STEPID", |info| Cell::Text(info.id_text())),
    field(Some('j'), &["stepname"], "NAME", |info| Cell::Text(info.step.name.clone())),
    field(Some('l'), &["timelimit"], "TIME_LIMIT", |_| Cell::Text("UNLIMITED".to_owned())),
    field(Some('M'), &["timeused"], "TIME", |info| Cell::Long(elapsed_text(info.run_time()))),
    field(Some('N'), &["nodes"], "NODELIST", |info| Cell::Long(info.nodes_text())),
    field(Some('P'), &["partition"], "PARTITION", |info| Cell::Text(info.job.partition.to_string())),
    field(Some('S'), &["starttime"], "START_TIME", |info| Cell::Text(info.job.moments.text(info.step.since))),
    field(Some('u'), &["username"], "USER", |info| Cell::Text(info.job.user().to_owned())),
    field(Some('U'), &["userid"], "UID", |info| number(info.job.uid())),
    field(None, &["arrayjobid"], "ARRAY_JOB_ID", |info| number(info.job.array.as_ref().map_or(0, |array| array.job))),
    field(None, &["arraytaskid"], "ARRAY_TASK_ID", |info| info.job.array_task().map_or_else(|| Cell::Text("N/A".to_owned()), number)),
    field(None, &["cluster"], "CLUSTER", |info| Cell::Text(info.job.cluster.to_string())),
    field(None, &["container"], "CONTAINER", |_| Cell::Null),
    field(None, &["cpufreq"], "CPU_FREQ", |info| Cell::Text(info.frequency_text().to_owned())),
    field(None, &["jobid"], "JOB_ID", |info| number(info.job.id)),
    field(None, &["network"], "NETWORK", |_| Cell::Null),
    field(None, &["numcpus"], "NUM_CPUS", |info| number(info.cpus())),
    field(None, &["stepstate"], "STATE", |info| Cell::Text(info.state_text().to_owned())),
    field(None, &["tres-bind"], "TRES_BIND", |_| Cell::Null),
    field(None, &["tres-freq"], "TRES_FREQ", |_| Cell::Null),
    field(None, &["tres-per-step", "tres-per-job"], "TRES_PER_STEP", |_| Cell::Null),
    field(None, &["tres-per-socket"], "TRES_PER_SOCKET", |_| Cell::Null),
    field(None, &["tres-per-task"], "TRES_PER_TASK", |_| Cell::Null),
];

impl StepField {
    /// Its header.
    #[must_use]
    pub fn header_cell(&self) -> Cell {
        Cell::Text(self.header.to_owned())
    }

    /// The column of a letter of `-o`.
    #[must_use]
    pub fn by_letter(letter: char) -> Option<&'static StepField> {
        STEP_FIELDS
            .iter()
            .find(|field| field.letter == Some(letter))
    }

    /// The column of a name of `-O`, in any case.
    #[must_use]
    pub fn by_name(name: &str) -> Option<&'static StepField> {
        STEP_FIELDS.iter().find(|field| {
            field
                .names
                .iter()
                .any(|known| known.eq_ignore_ascii_case(name))
        })
    }
}

impl StepInfo {
    /// `12.0`, `12_3.batch`
    #[must_use]
    pub fn id_text(&self) -> String {
        // A step of a component stands under the component's own number.
        match self.job.component() {
            Some(_) => format!("{}.{}", self.job.id, self.step.step),
            None => format!("{}.{}", self.job.id_text(false), self.step.step),
        }
    }

    fn tasks(&self) -> u32 {
        self.step.nodes.iter().map(|share| share.tasks).sum()
    }

    /// Those of which the batch step has a part are its job's.
    fn cpus(&self) -> u32 {
        if self.step.step == StepId::Batch {
            return 0;
        }
        let cpus: usize = self.step.nodes.iter().map(|share| share.cpus.len()).sum();
        u32::try_from(cpus).unwrap_or(u32::MAX)
    }

    /// No step asks for a frequency here.
    fn frequency_text(&self) -> &'static str {
        match self.step.step {
            StepId::Batch => "0-0:0",
            _ => "Unknown-Unknown:Unknown",
        }
    }

    pub(crate) fn run_time(&self) -> i64 {
        let until = match self.step.state {
            StepState::Running => self.job.now,
            StepState::Ended { at, .. } => at,
        };
        until.seconds() - self.step.since.seconds()
    }

    pub(crate) fn nodes_text(&self) -> String {
        let nodes: Vec<_> = self
            .step
            .nodes
            .iter()
            .map(|share| share.node.clone())
            .collect();
        crate::records::job_info::node_list_text(&nodes)
    }

    fn state_text(&self) -> &'static str {
        match self.step.state {
            StepState::Running => "RUNNING",
            StepState::Ended {
                timed_out: true, ..
            } => "TIMEOUT",
            StepState::Ended { status, .. } if status == OUT_OF_MEMORY => "OUT_OF_MEMORY",
            StepState::Ended { status, .. } if status.success() => "COMPLETED",
            StepState::Ended { .. } => "FAILED",
        }
    }
}

/// `gres:gpu:2` where each node of a step has as many; the batch step has none of its own.
fn gpus_per_node(info: &StepInfo) -> Cell {
    let mut counts = info.step.nodes.iter().map(|share| share.gpus.len());
    match counts.next() {
        Some(count)
            if count > 0
                && info.step.step != StepId::Batch
                && counts.all(|other| other == count) =>
        {
            Cell::Text(format!("gres:gpu:{count}"))
        }
        _ => Cell::Null,
    }
}

fn number(number: u32) -> Cell {
    Cell::Text(number.to_string())
}
