//! `sacct`: which jobs it is asked for, and its lines.
//!
//! Of Slurm's columns those are filled that an engine without an accounting database knows; the
//! others are empty, as Slurm leaves what a cluster does not gather.

use crate::commands::JobName;
use crate::commands::squeue_args::job_names;
use crate::fields::{SACCT_FIELDS, SACCT_FORMAT, SACCT_LONG, SacctField};
use crate::options::long_options::{LongOption, parse_long_options};
use crate::options::option_table::Takes;
use crate::records::{
    ArrayTaskInfo, JobHistory, JobInfo, JobStart, JobState, JobStateName, OUT_OF_MEMORY, Outcome,
    StepRecord, StepState, ViewFacts, WaitStatus,
};
use crate::values::{
    NodeName, NodeShare, Seconds, StepId, TimeLimitRequest, Timestamp, Usage, mebibytes_text,
    moment_text, node_list, one_line, padded_elapsed_text, parse_mebibytes, parse_moment,
};
use jiff::tz::TimeZone;

/// A command line of `sacct`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SacctArgs {
    /// What it asks for instead of jobs.
    pub show: Option<SacctShow>,
    /// `--jobs`
    pub jobs: Option<Vec<SacctJob>>,
    /// `--user`, by name or number; `None` is the caller.
    pub users: Option<Vec<String>>,
    /// `--allusers`
    pub all_users: bool,
    /// `--name`
    pub names: Option<Vec<String>>,
    /// `--state`
    pub states: Option<Vec<JobStateName>>,
    /// `--starttime`
    pub since: Option<Timestamp>,
    /// `--endtime`
    pub until: Option<Timestamp>,
    /// `--duplicates`: each start of a requeued job.
    pub duplicates: bool,
    /// `--allocations`: no steps.
    pub jobs_alone: bool,
    /// `--noheader`
    pub no_header: bool,
    /// `--parsable` and `--parsable2`.
    pub parsable: Option<Parsable>,
    /// `--delimiter`
    pub delimiter: Option<String>,
    /// `--format`
    pub columns: Vec<SacctColumn>,
    /// `--partition`
    pub partitions: Option<Vec<String>>,
    /// `--accounts`
    pub accounts: Option<Vec<String>>,
    /// `--qos`
    pub qos: Option<Vec<String>>,
    /// `--nodelist`
    pub nodes: Option<Vec<NodeName>>,
    /// `--nnodes`, least and most.
    pub node_count: Option<(u32, u32)>,
    /// `--ncpus`, least and most.
    pub cpu_count: Option<(u32, u32)>,
    /// `--timelimit-min` and `--timelimit-max`, in minutes.
    pub limits: (Option<u64>, Option<u64>),
    /// `--associations`, `--wckeys`: no job here has one.
    pub of_none: bool,
    /// `--noconvert`, `--units`
    pub units: SacctUnits,
}

/// How memory is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SacctUnits {
    /// The largest unit that leaves no rest.
    #[default]
    Fitting,
    /// MiB: `--noconvert`.
    Kept,
    /// `K`, `M`, `G`, `T` or `P`: `--units`.
    In(char),
}

/// What is wrong with a command line of `sacct`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SacctError {
    /// As `getopt_long` says it.
    #[error("sacct: {0}")]
    Option(String),
    /// A value.
    #[error("sacct: error: {0}")]
    Value(String),
    /// A value after which Slurm goes no further.
    #[error("sacct: fatal: {0}")]
    Fatal(String),
    /// A moment.
    #[error("{0}")]
    Moment(String),
    /// What is no option.
    #[error("sacct: error: Unknown arguments:{}", .0.iter().map(|it| format!("\nsacct: error:  {it}")).collect::<String>())]
    Operands(Vec<String>),
}

/// A job, or one step of it: `12`, `12_3`, `12.0`, `12.batch`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SacctJob {
    /// The job.
    pub job: JobName,
    /// Its step, where one alone is asked for.
    pub step: Option<String>,
}

/// What `sacct` prints instead of jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SacctShow {
    /// `--help`
    Help,
    /// `--helpformat`
    Columns,
    /// `--version`
    Version,
    /// `--usage`
    Usage,
    /// `--completion`
    Completion,
}

/// Values without spaces to align them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parsable {
    /// A delimiter after each value.
    Ended,
    /// A delimiter between values.
    Separated,
}

/// A column and its width, below 0 to the left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SacctColumn {
    /// Which.
    pub field: &'static SacctField,
    /// Its width.
    pub width: usize,
    /// Aligned to the left.
    pub left: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Key {
    Accounts,
    AllUsers,
    Allocations,
    Completion,
    Convert,
    Cpus,
    LimitLeast,
    LimitMost,
    Long,
    NodeCount,
    Nodes,
    OfNone,
    Partitions,
    Qos,
    Units,
    Usage,
    Brief,
    Columns,
    Delimiter,
    Duplicates,
    End,
    Format,
    Help,
    Jobs,
    Name,
    NoEffect,
    NoHeader,
    Parsable,
    Parsable2,
    Start,
    State,
    User,
    Version,
}

#[rustfmt::skip]
const OPTIONS: &[LongOption<Key>] = {
    use Takes::{No as Bare, Required};
    &[
        LongOption::new("accounts", Some('A'), Required, Key::Accounts),
        LongOption::new("allusers", Some('a'), Bare, Key::AllUsers),
        LongOption::new("associations", Some('x'), Required, Key::OfNone),
        LongOption::new("clusters", Some('M'), Required, Key::NoEffect),
        LongOption::new("completion", Some('c'), Bare, Key::Completion),
        LongOption::new("federation", None, Bare, Key::NoEffect),
        LongOption::new("long", Some('l'), Bare, Key::Long),
        LongOption::new("ncpus", Some('I'), Required, Key::Cpus),
        LongOption::new("nnodes", Some('i'), Required, Key::NodeCount),
        LongOption::new("nodelist", Some('N'), Required, Key::Nodes),
        LongOption::new("noconvert", None, Bare, Key::Convert),
        LongOption::new("partition", Some('r'), Required, Key::Partitions),
        LongOption::new("qos", Some('q'), Required, Key::Qos),
        LongOption::new("timelimit-max", Some('K'), Required, Key::LimitMost),
        LongOption::new("timelimit-min", Some('k'), Required, Key::LimitLeast),
        LongOption::new("units", None, Required, Key::Units),
        LongOption::new("usage", None, Bare, Key::Usage),
        LongOption::new("wckeys", Some('W'), Required, Key::OfNone),
        LongOption::new("allocations", Some('X'), Bare, Key::Allocations),
        LongOption::new("brief", Some('b'), Bare, Key::Brief),
        LongOption::new("delimiter", None, Required, Key::Delimiter),
        LongOption::new("duplicates", Some('D'), Bare, Key::Duplicates),
        LongOption::new("endtime", Some('E'), Required, Key::End),
        LongOption::new("format", Some('o'), Required, Key::Format),
        LongOption::new("help", Some('h'), Bare, Key::Help),
        LongOption::new("helpformat", Some('e'), Bare, Key::Columns),
        LongOption::new("jobs", Some('j'), Required, Key::Jobs),
        LongOption::new("local", Some('L'), Bare, Key::NoEffect),
        LongOption::new("name", None, Required, Key::Name),
        LongOption::new("noheader", Some('n'), Bare, Key::NoHeader),
        LongOption::new("parsable", Some('p'), Bare, Key::Parsable),
        LongOption::new("parsable2", Some('P'), Bare, Key::Parsable2),
        LongOption::new("starttime", Some('S'), Required, Key::Start),
        LongOption::new("state", Some('s'), Required, Key::State),
        LongOption::new("truncate", Some('T'), Bare, Key::NoEffect),
        LongOption::new("uid", Some('u'), Required, Key::User),
        LongOption::new("user", None, Required, Key::User),
        LongOption::new("verbose", Some('v'), Bare, Key::NoEffect),
        LongOption::new("version", Some('V'), Bare, Key::Version),
    ]
};

impl SacctArgs {
    /// Reads a command line.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(
        args: &[String],
        now: Timestamp,
        zone: &TimeZone,
    ) -> Result<SacctArgs, SacctError> {
        let moment = |text: &str| parse_moment(text, now, zone).map_err(SacctError::Moment);
        let parsed = parse_long_options(OPTIONS, args);
        let mut asked = SacctArgs::default();
        let mut format = SACCT_FORMAT.to_owned();
        for (key, value) in &parsed.options {
            let value = value.as_deref().unwrap_or_default();
            let list = || value.split(',').map(str::to_owned).collect::<Vec<String>>();
            match key {
                Key::Accounts => asked.accounts = Some(list()),
                Key::AllUsers => asked.all_users = true,
                Key::Completion => asked.show = Some(SacctShow::Completion),
                Key::Convert => asked.units = SacctUnits::Kept,
                Key::Cpus => asked.cpu_count = Some(range(value, "cpu")?),
                Key::LimitLeast => asked.limits.0 = Some(minutes(value)?),
                Key::LimitMost => asked.limits.1 = Some(minutes(value)?),
                Key::Long => SACCT_LONG.clone_into(&mut format),
                Key::NodeCount => asked.node_count = Some(range(value, "node")?),
                Key::Nodes => {
                    let nodes = node_list::expand(value);
                    asked.nodes =
                        Some(nodes.map_err(|error| SacctError::Value(error.to_string()))?);
                }
                Key::OfNone => asked.of_none = true,
                Key::Partitions => asked.partitions = Some(list()),
                Key::Qos => asked.qos = Some(list()),
                Key::Units => asked.units = units(value)?,
                Key::Usage => asked.show = Some(SacctShow::Usage),
                Key::Allocations => asked.jobs_alone = true,
                Key::Brief => format = "jobid,state,exitcode".to_owned(),
                Key::Columns => asked.show = Some(SacctShow::Columns),
                Key::Delimiter => asked.delimiter = Some(value.to_owned()),
                Key::Duplicates => asked.duplicates = true,
                Key::End => asked.until = Some(moment(value)?),
                Key::Format => value.clone_into(&mut format),
                Key::Help => asked.show = Some(SacctShow::Help),
                Key::Jobs => asked.jobs = Some(jobs(value)?),
                Key::Name => asked.names = Some(list()),
                Key::NoEffect => {}
                Key::NoHeader => asked.no_header = true,
                Key::Parsable => asked.parsable = Some(Parsable::Ended),
                Key::Parsable2 => asked.parsable = Some(Parsable::Separated),
                Key::Start => asked.since = Some(moment(value)?),
                Key::State => asked.states = Some(states(value)?),
                Key::User => asked.users = Some(list()),
                Key::Version => asked.show = Some(SacctShow::Version),
            }
        }
        if let Some(message) = parsed.wrong {
            return Err(SacctError::Option(message));
        }
        if !parsed.operands.is_empty() {
            return Err(SacctError::Operands(parsed.operands));
        }
        if let (Some(since), Some(until)) = (asked.since, asked.until)
            && since > until
        {
            let text = |at| moment_text(at, zone);
            return Err(SacctError::Value(format!(
                "Start time ({}) requested is after end time ({}).",
                text(since),
                text(until)
            )));
        }
        asked.columns = columns(&format).map_err(SacctError::Value)?;
        Ok(asked)
    }

    /// The first of the QOS that are asked for which there is not.
    #[must_use]
    pub fn unknown_qos(&self, known: &[String]) -> Option<&str> {
        let mut asked = self.qos.iter().flatten();
        let unknown = asked.find(|name| !known.iter().any(|it| it.eq_ignore_ascii_case(name)));
        unknown.map(String::as_str)
    }

    /// Whether a job is one that is asked for; users and moments aside.
    #[must_use]
    pub fn wants(&self, job: &JobInfo) -> bool {
        let named = |names: &Option<Vec<String>>, name: &str| {
            names
                .as_ref()
                .is_none_or(|all| all.iter().any(|it| it == name))
        };
        let by_state = |states: &Vec<JobStateName>| states.contains(&job.state);
        let in_range = |range: Option<(u32, u32)>, count: u32| {
            range.is_none_or(|(least, most)| (least..=most).contains(&count))
        };
        let held = job.allocation.as_ref();
        let on_node = |nodes: &Vec<NodeName>| job.nodes.iter().any(|node| nodes.contains(node));
        let by_limit = || {
            let minutes = job.limit.map(|limit| limit.0.div_ceil(60));
            match self.limits {
                (None, _) => true,
                // Without the most it is that limit alone.
                (Some(least), None) => minutes == Some(least),
                (Some(least), Some(most)) => {
                    minutes.is_some_and(|minutes| (least..=most).contains(&minutes))
                }
            }
        };
        named(&self.names, &job.name)
            && named(&self.partitions, &job.partition)
            && named(&self.accounts, job.account.as_deref().unwrap_or_default())
            && named(&self.qos, &job.qos)
            && !self.of_none
            && self.nodes.as_ref().is_none_or(on_node)
            && in_range(self.node_count, held.map_or(0, |it| it.nodes.len() as u32))
            && in_range(self.cpu_count, held.map_or(0, |it| it.cpus() as u32))
            && by_limit()
            && self.states.as_ref().is_none_or(by_state)
            && self
                .jobs
                .as_ref()
                .is_none_or(|names| names.iter().any(|name| name.job.is_of(job)))
    }

    /// Whether the job itself is asked for, or one of its steps alone.
    fn wants_row(&self, job: &JobInfo, step: Option<&StepRecord>) -> bool {
        let Some(names) = &self.jobs else { return true };
        let mut names = names.iter().filter(|name| name.job.is_of(job));
        names.any(|name| match (&name.step, step) {
            (None, _) => true,
            (Some(_), None) => false,
            (Some(name), Some(step)) => *name == step.step.to_string(),
        })
    }

    /// The header and its line, then a line for each job, start and step.
    #[must_use]
    pub fn print(&self, jobs: &[(JobInfo, &JobHistory)], facts: &ViewFacts) -> String {
        let mut text = String::new();
        if !self.no_header {
            let name = |column: &SacctColumn| match self.parsable {
                Some(_) => column.field.name.to_owned(),
                // A header is cut off without a sign that it was longer.
                None => column.field.name.chars().take(column.width).collect(),
            };
            let names: Vec<String> = self.columns.iter().map(name).collect();
            self.line(&names, &mut text);
            if self.parsable.is_none() {
                let rules = self.columns.iter().map(|column| "-".repeat(column.width));
                self.line(&rules.collect::<Vec<_>>(), &mut text);
            }
        }
        for (job, history) in jobs {
            let mut starts: Vec<Option<&JobStart>> = history.starts.iter().map(Some).collect();
            if job.is_pending() || starts.is_empty() || job.allocation.is_none() {
                starts.push(None);
            }
            let skipped = if self.duplicates { 0 } else { starts.len() - 1 };
            for start in &starts[skipped..] {
                let row = Row {
                    job,
                    history,
                    start: *start,
                    step: None,
                    facts,
                    units: self.units,
                };
                if self.wants_row(job, None) {
                    self.row(&row, &mut text);
                }
                let Some(start) = start.filter(|_| !self.jobs_alone) else {
                    continue;
                };
                let of_start = |step: &&StepRecord| step.restart == start.restart;
                let steps = history.steps.iter().filter(of_start);
                for step in steps.filter(|step| self.wants_row(job, Some(step))) {
                    self.row(
                        &Row {
                            step: Some(step),
                            ..row
                        },
                        &mut text,
                    );
                }
            }
        }
        text
    }

    fn row(&self, row: &Row<'_>, text: &mut String) {
        let values = self
            .columns
            .iter()
            // Names are a job's own words: none may end a line or move a cursor.
            .map(|column| one_line(&row.value(column.field.name)).into_owned());
        self.line(&values.collect::<Vec<_>>(), text);
    }

    fn line(&self, values: &[String], text: &mut String) {
        let delimiter = self.delimiter.as_deref().unwrap_or("|");
        match self.parsable {
            Some(Parsable::Separated) => text.push_str(&values.join(delimiter)),
            Some(Parsable::Ended) => {
                for value in values {
                    text.push_str(value);
                    text.push_str(delimiter);
                }
            }
            None => {
                for (value, column) in values.iter().zip(&self.columns) {
                    text.push_str(&column.fit(value));
                    text.push(' ');
                }
            }
        }
        text.push('\n');
    }
}

impl SacctColumn {
    /// A value in the column's width; a `+` says that it was longer.
    fn fit(self, value: &str) -> String {
        let width = self.width;
        if value.chars().count() > width {
            let kept: String = value.chars().take(width.saturating_sub(1)).collect();
            return format!("{kept}+");
        }
        if self.left {
            format!("{value:<width$}")
        } else {
            format!("{value:>width$}")
        }
    }
}

/// `jobid,state%-20,jobname%30`.
fn columns(format: &str) -> Result<Vec<SacctColumn>, String> {
    let column = |word: &str| {
        let (name, width) = word.split_once('%').unwrap_or((word, ""));
        let field = SacctField::by_name(name)
            .ok_or_else(|| format!("Invalid field requested: \"{name}\""))?;
        let left = width.starts_with('-') || width.is_empty() && field.left;
        let width = width.trim_start_matches('-').parse().unwrap_or(field.width);
        Ok(SacctColumn { field, width, left })
    };
    let words = format.split(',').map(str::trim);
    words.filter(|word| !word.is_empty()).map(column).collect()
}

fn states(list: &str) -> Result<Vec<JobStateName>, SacctError> {
    let state = |name: &str| {
        let wrong = || SacctError::Fatal(format!("unrecognized job state value '{name}'"));
        JobStateName::parse(name).ok_or_else(wrong)
    };
    list.split(',').map(state).collect()
}

/// `12,12_3,12.batch`
fn jobs(list: &str) -> Result<Vec<SacctJob>, SacctError> {
    let wrong = |word: &str| SacctError::Fatal(format!("Bad job/step specified: {word}"));
    let mut depth = 0;
    // A comma in `12_[1,3]` ends no word.
    let words = list.split(|letter| {
        match letter {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        letter == ',' && depth == 0
    });
    let mut jobs = Vec::new();
    for word in words.map(str::trim).filter(|word| !word.is_empty()) {
        let (job, step) = match word.split_once('.') {
            Some((job, step)) => (job, Some(step.to_owned())),
            None => (word, None),
        };
        for job in job_names(job).map_err(|_| wrong(word))? {
            let step = step.clone();
            jobs.push(SacctJob { job, step });
        }
    }
    Ok(jobs)
}

/// `2`, `1-4`
fn range(text: &str, of: &str) -> Result<(u32, u32), SacctError> {
    let (least, most) = text.split_once('-').unwrap_or((text, text));
    match (least.parse(), most.parse()) {
        (Ok(least), Ok(most)) => Ok((least, most)),
        _ => Err(SacctError::Value(format!(
            "Invalid numeric value \"{text}\" for requested {of} range."
        ))),
    }
}

fn minutes(text: &str) -> Result<u64, SacctError> {
    match TimeLimitRequest::parse(text) {
        Some(TimeLimitRequest::Limit(limit)) => Ok(limit.0.div_ceil(60)),
        _ => Err(SacctError::Fatal(
            "Invalid time limit specification".to_owned(),
        )),
    }
}

fn units(text: &str) -> Result<SacctUnits, SacctError> {
    match text
        .chars()
        .next()
        .map(|letter| letter.to_ascii_uppercase())
    {
        Some(unit @ ('K' | 'M' | 'G' | 'T' | 'P')) => Ok(SacctUnits::In(unit)),
        _ => Err(SacctError::Fatal(format!("Invalid unit type: {text}"))),
    }
}

/// What `--helpformat` prints: the names of all columns, four in a line.
#[must_use]
pub fn sacct_columns_text() -> String {
    let mut text = String::new();
    for four in SACCT_FIELDS.chunks(4) {
        let names = four.iter().map(|field| format!("{:<19}", field.name));
        text.push_str(&names.collect::<Vec<_>>().join(" "));
        text.push('\n');
    }
    text
}

/// A line: a job, one of its starts, or a step.
#[derive(Clone, Copy)]
struct Row<'a> {
    job: &'a JobInfo,
    history: &'a JobHistory,
    start: Option<&'a JobStart>,
    step: Option<&'a StepRecord>,
    facts: &'a ViewFacts,
    units: SacctUnits,
}

impl Row<'_> {
    fn value(&self, column: &str) -> String {
        let job = self.job;
        let is_job = self.step.is_none();
        let of_job = |text: String| if is_job { text } else { String::new() };
        let moment = |at: Option<Timestamp>| {
            at.map_or_else(
                || "Unknown".to_owned(),
                |at| moment_text(at, &self.facts.zone),
            )
        };
        let elapsed = self.elapsed();
        let cpus = self.cpus();
        let cpu_time = i64::from(cpus).saturating_mul(elapsed);
        let usage = self.usage();
        let cpu_text = |of: fn(Usage) -> u64| usage.map_or_else(String::new, |it| cpu_text(of(it)));
        match column {
            "Account" => job.account.clone().unwrap_or_default(),
            // What a job will need counts while it has nothing.
            "AllocCPUS" | "NCPUS" if self.has_none() => job.cpus.to_string(),
            "AllocCPUS" | "NCPUS" => cpus.to_string(),
            "AllocNodes" | "NNodes" if self.has_none() => job.node_count.to_string(),
            "AllocNodes" | "NNodes" => self.shares().len().to_string(),
            "AllocTRES" => self.held_text(),
            "AveCPU" => match (self.step, usage) {
                (Some(step), Some(usage)) => {
                    let tasks = u64::from(step.nodes.iter().map(|share| share.tasks).sum::<u32>());
                    padded(usage.cpu() / 1_000_000 / tasks.max(1))
                }
                _ => String::new(),
            },
            "Cluster" => job.cluster.clone(),
            "Comment" => of_job(job.comment.clone().unwrap_or_default()),
            "Constraints" => of_job(job.features.clone().unwrap_or_default()),
            "CPUTime" => padded_elapsed_text(cpu_time),
            "CPUTimeRAW" => cpu_time.to_string(),
            "DerivedExitCode" => of_job("0:0".to_owned()),
            "Elapsed" => padded_elapsed_text(elapsed),
            "ElapsedRaw" => elapsed.to_string(),
            "Eligible" => of_job(moment(
                self.start.map_or(job.eligible, |start| start.eligible),
            )),
            "End" => moment(self.end()),
            "ExitCode" => {
                let status = self.status();
                format!("{}:{}", status.code(), status.signal_number())
            }
            "GID" => of_job(job.gid.to_string()),
            "Group" => of_job(job.group.clone()),
            "JobID" => self.id(&job.id_text(false)),
            "JobIDRaw" => self.id(&job.id.to_string()),
            "JobName" => self.step.map_or(&job.name, |step| &step.name).clone(),
            // Slurm knows it of steps alone.
            "MaxRSS" if !is_job => usage.map_or_else(String::new, |it| bytes_text(it.peak_memory)),
            "NodeList" => match self.shares() {
                [] => "None assigned".to_owned(),
                shares => {
                    let names: Vec<_> = shares.iter().map(|share| share.node.clone()).collect();
                    node_list::fold(&names)
                }
            },
            "NTasks" => self.step.map_or_else(String::new, |step| {
                step.nodes
                    .iter()
                    .map(|share| share.tasks)
                    .sum::<u32>()
                    .to_string()
            }),
            "Partition" => of_job(job.partition.clone()),
            "Layout" => self.layout(),
            "Priority" => of_job(
                self.start
                    .and_then(|start| start.priority)
                    .unwrap_or(job.priority)
                    .to_string(),
            ),
            "QOS" => of_job(job.qos.clone()),
            "Reason" => of_job(match self.start {
                Some(start) => start.reason.clone().unwrap_or_else(|| "None".to_owned()),
                None => job.reason.clone(),
            }),
            "ReqCPUS" => if is_job { job.cpus } else { cpus }.to_string(),
            "ReqMem" => of_job(
                tres_memory(&job.tres).map_or_else(String::new, |text| self.units.of_text(text)),
            ),
            "ReqNodes" => of_job(job.node_count.to_string()),
            "ReqTRES" => of_job(self.units.of_tres(&job.tres)),
            // Slurm keeps them as words of their own for jobs, and as numbers for steps.
            "ReqCPUFreqMin" | "ReqCPUFreqMax" | "ReqCPUFreqGov" => {
                (if is_job { "Unknown" } else { "0" }).to_owned()
            }
            "AveCPUFreq" | "ConsumedEnergy" if self.is_over_step() => "0".to_owned(),
            "Reservation" => of_job(job.reservation.clone().unwrap_or_default()),
            "Reserved" => {
                let until = self.start.map_or(self.facts.now, |start| start.since);
                let eligible = self.start.map_or(job.eligible, |start| start.eligible);
                of_job(eligible.map_or_else(String::new, |eligible| {
                    padded_elapsed_text((until.seconds() - eligible.seconds()).max(0))
                }))
            }
            "Start" => moment(self.since()),
            "State" => self.state(),
            "Submit" => moment(Some(match (self.step, self.start) {
                (Some(step), _) => step.since,
                (None, Some(start)) => start.submitted,
                (None, None) => job.submitted,
            })),
            "SystemCPU" => cpu_text(|usage| usage.system),
            "Timelimit" => of_job(self.limit().map_or_else(
                || "UNLIMITED".to_owned(),
                |limit| padded(limit.0.div_ceil(60) * 60),
            )),
            "TimelimitRaw" => of_job(self.limit().map_or_else(
                || "UNLIMITED".to_owned(),
                |limit| limit.0.div_ceil(60).to_string(),
            )),
            "TotalCPU" => cpu_text(Usage::cpu),
            "UID" => of_job(job.uid.to_string()),
            "User" => of_job(job.user.clone()),
            "UserCPU" => cpu_text(|usage| usage.user),
            "WorkDir" => of_job(job.work_dir.clone()),
            // Not gathered here.
            _ => String::new(),
        }
    }

    /// How a step's tasks are dealt out to its nodes: in turns where there are not more than nodes.
    fn layout(&self) -> String {
        let Some(step) = self.step else {
            return String::new();
        };
        let tasks: u32 = step.nodes.iter().map(|share| share.tasks).sum();
        let name = match step.step {
            StepId::Number(_) if tasks as usize <= step.nodes.len() => "Cyclic",
            StepId::Number(_) => "Block",
            _ => "Unknown",
        };
        name.to_owned()
    }

    /// A job that holds nothing yet.
    fn has_none(&self) -> bool {
        self.step.is_none() && self.shares().is_empty() && self.job.is_pending()
    }

    fn is_over_step(&self) -> bool {
        self.step
            .is_some_and(|step| matches!(step.state, StepState::Ended { .. }))
    }

    /// What a job or a step holds: `billing=2,cpu=2,gres/gpu=1,mem=4G,node=1`; steps are not billed.
    fn held_text(&self) -> String {
        let shares = self.shares();
        if shares.is_empty() {
            return String::new();
        }
        let gpus: usize = shares.iter().map(|share| share.gpus.len()).sum();
        let memory = shares.iter().map(|share| share.memory).sum();
        let mut parts = Vec::new();
        if self.step.is_none() {
            parts.push(format!("billing={}", self.cpus()));
        }
        parts.push(format!("cpu={}", self.cpus()));
        if gpus > 0 {
            // The types are those that the job was given; a step's are not told apart.
            let types = self
                .job
                .tres
                .split(',')
                .filter(|part| part.starts_with("gres/gpu:"));
            parts.extend(types.filter(|_| self.step.is_none()).map(str::to_owned));
            parts.push(format!("gres/gpu={gpus}"));
        }
        parts.push(format!("mem={}", self.units.of_mebibytes(memory)));
        parts.push(format!("node={}", shares.len()));
        parts.join(",")
    }

    fn id(&self, job: &str) -> String {
        match self.step {
            Some(step) => format!("{job}.{}", step.step),
            None => job.to_owned(),
        }
    }

    fn shares(&self) -> &[NodeShare] {
        match (self.step, self.start) {
            (Some(step), _) => &step.nodes,
            (None, Some(start)) => &start.nodes,
            (None, None) => &[],
        }
    }

    fn cpus(&self) -> u32 {
        let cpus = self
            .shares()
            .iter()
            .map(|share| share.cpus.len())
            .sum::<usize>();
        u32::try_from(cpus).unwrap_or(u32::MAX)
    }

    fn since(&self) -> Option<Timestamp> {
        match (self.step, self.start) {
            (Some(step), _) => Some(step.since),
            (None, Some(start)) => Some(start.since),
            // One that was cancelled while it waited began and ended at once.
            (None, None) => self.job.end.filter(|_| !self.job.is_pending()),
        }
    }

    fn end(&self) -> Option<Timestamp> {
        match (self.step.map(|step| &step.state), self.start) {
            (Some(StepState::Ended { at, .. }), _) => Some(*at),
            (Some(StepState::Running), _) => None,
            (None, Some(start)) => start.ended,
            (None, None) => self.job.end.filter(|_| !self.job.is_pending()),
        }
    }

    fn elapsed(&self) -> i64 {
        let end = self.end().unwrap_or(self.facts.now);
        self.since()
            .map_or(0, |since| (end.seconds() - since.seconds()).max(0))
    }

    fn limit(&self) -> Option<Seconds> {
        self.start.map_or(self.job.limit, |start| start.limit)
    }

    fn usage(&self) -> Option<Usage> {
        match self.step {
            Some(step) => step.usage,
            None => self.start.and_then(|start| start.usage),
        }
    }

    fn status(&self) -> WaitStatus {
        match (self.step.map(|step| &step.state), self.start) {
            (Some(StepState::Ended { status, .. }), _) => *status,
            (Some(StepState::Running), _) => WaitStatus::default(),
            (None, Some(start)) => start.status,
            (None, None) => self.job.exit_code,
        }
    }

    fn state(&self) -> String {
        let name = match (self.step.map(|step| &step.state), self.start) {
            (Some(StepState::Running), _) => JobStateName::Running,
            (
                Some(StepState::Ended {
                    timed_out: true, ..
                }),
                _,
            ) => JobStateName::Timeout,
            (Some(StepState::Ended { status, .. }), _) if *status == OUT_OF_MEMORY => {
                JobStateName::OutOfMemory
            }
            (Some(StepState::Ended { status, .. }), _) if status.success() => {
                JobStateName::Completed
            }
            (Some(StepState::Ended { status, .. }), _) if status.signal_number() > 0 => {
                JobStateName::Cancelled
            }
            (Some(StepState::Ended { .. }), _) => JobStateName::Failed,
            (None, Some(start)) => start.state,
            (None, None) => self.job.state,
        };
        let by = match &self.history.job.state {
            JobState::Ended {
                outcome: Outcome::Cancelled { by, .. },
                ..
            } => Some(*by),
            _ => None,
        };
        match by.filter(|_| self.step.is_none() && name == JobStateName::Cancelled) {
            Some(by) => format!("{} by {by}", name.long()),
            None => name.long().to_owned(),
        }
    }
}

/// The memory in `cpu=2,mem=500M,node=1`.
fn tres_memory(tres: &str) -> Option<&str> {
    tres.split(',').find_map(|part| part.strip_prefix("mem="))
}

impl SacctUnits {
    /// An amount in MiB.
    fn of_mebibytes(self, mebibytes: u64) -> String {
        let power = match self {
            SacctUnits::Fitting => return mebibytes_text(mebibytes),
            SacctUnits::Kept | SacctUnits::In('M') => return format!("{mebibytes}M"),
            SacctUnits::In('K') => return format!("{}K", mebibytes.saturating_mul(1024)),
            SacctUnits::In('G') => 1,
            SacctUnits::In('T') => 2,
            SacctUnits::In(_) => 3,
        };
        let SacctUnits::In(unit) = self else {
            return String::new();
        };
        let size = 1024_u64.pow(power);
        if mebibytes.is_multiple_of(size) {
            return format!("{}{unit}", mebibytes / size);
        }
        let hundredths = (u128::from(mebibytes) * 100 + u128::from(size) / 2) / u128::from(size);
        format!("{}.{:02}{unit}", hundredths / 100, hundredths % 100)
    }

    /// An amount that was printed in the largest unit that fits.
    fn of_text(self, text: &str) -> String {
        let mebibytes = parse_mebibytes(text);
        mebibytes.map_or_else(|| text.to_owned(), |it| self.of_mebibytes(it))
    }

    /// `cpu=2,mem=4G`, by name, with the memory so.
    fn of_tres(self, tres: &str) -> String {
        let parts = tres.split(',').filter(|part| !part.is_empty());
        let mut parts: Vec<String> = parts
            .map(|part| match part.strip_prefix("mem=") {
                Some(text) => format!("mem={}", self.of_text(text)),
                None => part.to_owned(),
            })
            .collect();
        parts.sort_by_key(|part| tres_order(part));
        parts.join(",")
    }
}

/// Slurm sorts names, and a type of GPU stands before the sum.
fn tres_order(part: &str) -> (String, bool) {
    let name = part.split('=').next().unwrap_or_default();
    let base = name.split(':').next().unwrap_or_default();
    (base.to_owned(), !name.contains(':'))
}

/// Microseconds as `sacct` prints CPU time: `00:01.234`, `01:02:03`, `1-02:03:04`.
fn cpu_text(micros: u64) -> String {
    let seconds = micros / 1_000_000;
    if seconds >= 3600 {
        return padded(seconds);
    }
    let millis = micros / 1000 % 1000;
    format!("{:02}:{:02}.{millis:03}", seconds / 60, seconds % 60)
}

fn padded(seconds: u64) -> String {
    padded_elapsed_text(i64::try_from(seconds).unwrap_or(i64::MAX))
}

/// Bytes in the largest unit that leaves no rest, from KiB on: `7600K`, `2M`.
fn bytes_text(bytes: u64) -> String {
    let mut value = bytes / 1024;
    let mut units = ["K", "M", "G", "T"].into_iter();
    let mut unit = units.next().unwrap_or_default();
    while value > 0 && value.is_multiple_of(1024) {
        let Some(larger) = units.next() else { break };
        value /= 1024;
        unit = larger;
    }
    format!("{value}{unit}")
}

impl JobName {
    /// Whether it names this job: by its own number, its array's, or as an element of it.
    fn is_of(&self, job: &JobInfo) -> bool {
        let Some(array) = &job.array else {
            return self.job == job.id;
        };
        let is_element = |task: u32| match &array.task {
            ArrayTaskInfo::One(one) => *one == task,
            ArrayTaskInfo::Waiting(tasks) => tasks.contains(&task),
        };
        let by_array = self.job == array.job && self.task.is_none_or(is_element);
        by_array || self.job == job.id && self.task.is_none()
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails loudly")]
    use super::*;

    #[test]
    fn lengths_and_sizes() {
        assert_eq!(cpu_text(1_234_999), "00:01.234");
        assert_eq!(cpu_text(3_600_000_000), "01:00:00");
        assert_eq!(cpu_text(90_061_000_000), "1-01:01:01");
        assert_eq!(bytes_text(7_782_400), "7600K");
        assert_eq!(bytes_text(2 << 20), "2M");
        assert_eq!(bytes_text(0), "0K");
    }

    #[test]
    fn columns_have_widths() {
        let of = |format| {
            columns(format).map(|all| {
                let one = |column: SacctColumn| (column.field.name, column.width, column.left);
                all.into_iter().map(one).collect::<Vec<_>>()
            })
        };
        let want = vec![
            ("JobID", 12, true),
            ("State", 20, true),
            ("MaxRSS", 3, false),
        ];
        assert_eq!(of("jobid,state%-20,maxrss%3"), Ok(want));
        assert_eq!(
            of("jobid,nonsense").unwrap_err(),
            "Invalid field requested: \"nonsense\""
        );
        assert_eq!(columns("maxrss%3").unwrap()[0].fit("12345K"), "12+");
    }
}
