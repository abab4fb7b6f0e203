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
    pub value: fn(&StepInfo) -> Cell<'_>,
}

const fn field(
    letter: Option<char>,
    names: &'static [&'static str],
    header: &'static str,
    value: fn(&StepInfo) -> Cell<'_>,
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
    field(Some('i'), &["stepid"], "STEPID", |info| Cell::Text(info.id_text().into())),
    field(Some('j'), &["stepname"], "NAME", |info| text(&info.step.name)),
    field(Some('l'), &["timelimit"], "TIME_LIMIT", |_| text("UNLIMITED")),
    field(Some('M'), &["timeused"], "TIME", |info| Cell::Long(elapsed_text(info.run_time()).into())),
    field(Some('N'), &["nodes"], "NODELIST", |info| Cell::Long(info.nodes_text().into())),
    field(Some('P'), &["partition"], "PARTITION", |info| text(&info.job.partition)),
    field(Some('S'), &["starttime"], "START_TIME", |info| Cell::Text(info.job.moments.text(info.step.since).into())),
    field(Some('u'), &["username"], "USER", |info| text(info.job.user())),
    field(Some('U'), &["userid"], "UID", |info| number(info.job.uid())),
    field(None, &["arrayjobid"], "ARRAY_JOB_ID", |info| number(info.job.array.as_ref().map_or(0, |array| array.job))),
    field(None, &["arraytaskid"], "ARRAY_TASK_ID", |info| info.job.array_task().map_or(text("N/A"), number)),
    field(None, &["cluster"], "CLUSTER", |info| text(&info.job.cluster)),
    field(None, &["container"], "CONTAINER", |_| Cell::Null),
    field(None, &["cpufreq"], "CPU_FREQ", |info| text(info.frequency_text())),
    field(None, &["jobid"], "JOB_ID", |info| number(info.job.id)),
    field(None, &["network"], "NETWORK", |_| Cell::Null),
    field(None, &["numcpus"], "NUM_CPUS", |info| number(info.cpus())),
    field(None, &["stepstate"], "STATE", |info| text(info.state_text())),
    field(None, &["tres-bind"], "TRES_BIND", |_| Cell::Null),
    field(None, &["tres-freq"], "TRES_FREQ", |_| Cell::Null),
    field(None, &["tres-per-step", "tres-per-job"], "TRES_PER_STEP", |_| Cell::Null),
    field(None, &["tres-per-socket"], "TRES_PER_SOCKET", |_| Cell::Null),
    field(None, &["tres-per-task"], "TRES_PER_TASK", |_| Cell::Null),
];

impl StepField {
    /// Its header.
    #[must_use]
    pub fn header_cell(&self) -> Cell<'static> {
        text(self.header)
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
fn gpus_per_node(info: &StepInfo) -> Cell<'_> {
    let mut counts = info.step.nodes.iter().map(|share| share.gpus.len());
    match counts.next() {
        Some(count)
            if count > 0
                && info.step.step != StepId::Batch
                && counts.all(|other| other == count) =>
        {
            Cell::Text(format!("gres:gpu:{count}").into())
        }
        _ => Cell::Null,
    }
}

fn text(text: &str) -> Cell<'_> {
    Cell::Text(text.into())
}

fn number(number: u32) -> Cell<'static> {
    Cell::Text(number.to_string().into())
}
