//! A trace: the jobs that a machine was given, as its log tells of them.

use model::Timestamp;
use std::collections::BTreeMap;
use std::fmt;

/// The jobs of a trace, by time of submission, then by id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// The jobs.
    pub jobs: Vec<TraceJob>,
    /// How many processors the log says that the machine had.
    pub processors: Option<u32>,
    /// How the log writes moments.
    pub moments: Moments,
    /// Lines of which no job could be made.
    pub left_out: LeftOut,
}

/// A job of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceJob {
    /// Its number in the log, or its line's.
    pub id: u64,
    /// The name that the log gives it, where that is no number.
    pub name: Option<Box<str>>,
    /// When it was submitted.
    pub submit: Timestamp,
    /// How long it ran, in milliseconds; more than 0.
    pub run: i64,
    /// How long it was expected to run, in milliseconds: its time limit. `None`: not said.
    pub estimate: Option<i64>,
    /// Processors; more than 0, but for a job that asks for GPUs alone.
    pub cpus: u32,
    /// GPUs.
    pub gpus: u32,
    /// Their type, where one was asked for.
    pub gpu_type: Option<Box<str>>,
    /// Memory in MiB; 0 where the log says none.
    pub memory: u64,
    /// Whose it was; empty where the log does not say.
    pub user: Box<str>,
    /// Its queue or partition; empty where the log does not say.
    pub queue: Box<str>,
}

/// How a log writes moments, and so how they are written again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moments {
    /// Seconds since some beginning.
    Seconds,
    /// `2017-10-09 07:01:55`
    DateTime,
}

/// Lines of which no job could be made, by reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut(BTreeMap<NoJob, Lines>);

/// How many lines, and the first of them, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Lines {
    count: usize,
    first: usize,
}

/// Why a line is no job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoJob {
    /// A column is missing, or is not what it should be.
    Unreadable,
    /// This column holds no number.
    NoNumber(&'static str),
    /// It was submitted before the log begins, or at a time that no clock has.
    Submit,
    /// It did not run, or the log does not say for how long.
    NoRunTime,
    /// It asked for no processors and no GPUs.
    NoResources,
}

impl LeftOut {
    /// Counts a line.
    pub(crate) fn add(&mut self, line: usize, why: NoJob) {
        let lines = Lines {
            count: 0,
            first: line,
        };
        self.0.entry(why).or_insert(lines).count += 1;
    }

    /// How many lines in all.
    #[must_use]
    pub fn count(&self) -> usize {
        self.0.values().map(|lines| lines.count).sum()
    }
}

impl fmt::Display for NoJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NoJob::NoNumber(column) => return write!(f, "no number in `{column}`"),
            NoJob::Unreadable => "not a job",
            NoJob::Submit => "no moment of submission",
            NoJob::NoRunTime => "did not run",
            NoJob::NoResources => "asked for nothing",
        })
    }
}

impl fmt::Display for LeftOut {
    /// `8 did not run (the first in line 17), 3 not a job (line 4)`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (why, lines)) in self.0.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            let first = if lines.count > 1 { "the first in " } else { "" };
            write!(
                f,
                "{comma}{} {why} ({first}line {})",
                lines.count, lines.first
            )?;
        }
        Ok(())
    }
}

/// A file that is no trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoTrace {
    /// No line is a job.
    #[error("no line of it is a job{}", if .0.count() > 0 { format!(": {}", .0) } else { String::new() })]
    NoJobs(LeftOut),
    /// A table without a column that is needed.
    #[error("its table has no column `{missing}`; its columns are {}", .there.join(", "))]
    NoColumn {
        /// What is needed.
        missing: &'static str,
        /// What there is.
        there: Vec<String>,
    },
    /// A table of which no column says how large a job is, with those that it has and that mean nothing.
    #[error(
        "its table has no column `cpus` or `gpus`{}",
        if .unknown.is_empty() { String::new() } else { format!("; not known: {}", .unknown.join(", ")) }
    )]
    NoSize {
        /// Columns that no such table has.
        unknown: Vec<String>,
    },
}

impl Trace {
    /// Puts the jobs in order.
    pub(crate) fn new(
        mut jobs: Vec<TraceJob>,
        processors: Option<u32>,
        moments: Moments,
        left_out: LeftOut,
    ) -> Result<Trace, NoTrace> {
        if jobs.is_empty() {
            return Err(NoTrace::NoJobs(left_out));
        }
        jobs.sort_by_key(|job| (job.submit, job.id));
        Ok(Trace {
            jobs,
            processors,
            moments,
            left_out,
        })
    }
}
