//! `sacct`: which jobs it is asked for, and its lines.
//!
//! Of Slurm's columns those are filled that an engine without an accounting database knows; the
//! others are empty, as Slurm leaves what a cluster does not gather.

mod amounts;
mod lived;
mod print;
mod row;
mod row_facts;
mod task_columns;
pub(crate) mod values;

pub use self::print::sacct_columns_text;
pub use self::row::SacctRow;
pub use self::task_columns::{TresUsed, UsedByTask};
use self::values::{columns, flags, jobs, minutes, range, states, units};
use crate::commands::JobName;
use crate::fields::{SACCT_FORMAT, SACCT_LONG, SacctField};
use crate::options::long_options::{
    CommandOption, LongOption, command_options, parse_long_options,
};
use crate::options::option_table::Takes;
use crate::records::JobStateName;
use crate::values::{MomentStyle, NodeName, Timestamp, node_list, parse_past_moment};

/// A command line of `sacct`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SacctArgs {
    /// What it asks for instead of jobs.
    pub show: Option<SacctShow>,
    /// `--json` or `--yaml`, whichever stands last.
    pub data: Option<SacctData>,
    /// `--jobs`
    pub jobs: Option<Vec<SacctJob>>,
    /// `--user`, by name or number; `None` is the caller.
    pub users: Option<Vec<String>>,
    /// `--group`, by name or number.
    pub groups: Option<Vec<String>>,
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
    /// `--whole-hetjob`: whether a component stands for all of its heterogeneous job, or the first one
    /// for itself alone.
    pub whole_het_job: Option<bool>,
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
    /// `--associations`: no job here has a number of one.
    pub of_none: bool,
    /// `--wckeys`
    pub wckeys: Option<Vec<String>>,
    /// `--clusters`
    pub clusters: Option<Vec<String>>,
    /// `--constraints`: a job asks for each.
    pub constraints: Vec<String>,
    /// `--reason`: why it waited.
    pub reasons: Option<Vec<String>>,
    /// `--flags`: what started it, or that accounting heard of it.
    pub flags: Option<Vec<&'static str>>,
    /// `--file`, of job completions: it has to be there.
    pub completions: Option<String>,
    /// `--truncate`: nothing began before this, or ended after that.
    pub window: Option<(Option<Timestamp>, Timestamp)>,
    /// Where states and a moment are named, from when on and before which moment a start was in one of them.
    pub states_within: Option<(Timestamp, Timestamp)>,
    /// `--noconvert`, `--units`
    pub units: SacctUnits,
    /// `--batch-script` or `--env-vars`, in place of jobs.
    pub brought: Option<SacctBrought>,
}

/// What a job was submitted with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SacctBrought {
    /// `--batch-script`
    Script,
    /// `--env-vars`
    Environment,
}

impl SacctBrought {
    /// What stands over it.
    #[must_use]
    pub fn title(self, job: &str) -> String {
        let title = match self {
            SacctBrought::Script => format!("Batch Script for {job}"),
            SacctBrought::Environment => {
                format!("Environment used for {job} (must be batch to display)")
            }
        };
        format!("{title}\n{}\n", "-".repeat(80))
    }
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
    /// `--units`
    #[error(
        "sacct: error: Invalid unit type '{0}'. Possible options are 'KMGTP'\nsacct: fatal: Invalid unit type"
    )]
    Unit(String),
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

/// Records in place of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SacctData {
    /// `--json`
    Json,
    /// `--yaml`
    Yaml,
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
    Clusters,
    Constraints,
    File,
    Flags,
    Reasons,
    Truncate,
    Wckeys,
    Allocations,
    BatchScript,
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
    Groups,
    EnvVars,
    Format,
    Help,
    Jobs,
    Json,
    Name,
    NoHeader,
    Parsable,
    Parsable2,
    Start,
    State,
    User,
    Version,
    WholeHetJob,
    Yaml,
}

#[rustfmt::skip]
const OPTIONS: &[LongOption<Key>] = {
    use Takes::{No as Bare, Required};
    &[
        LongOption::new("allusers", Some('a'), Bare, Key::AllUsers).does("jobs of all users"),
        LongOption::new("accounts", Some('A'), Required, Key::Accounts).of("LIST", "jobs of these accounts"),
        LongOption::new("allocations", Some('X'), Bare, Key::Allocations).does("no steps"),
        LongOption::new("", Some('t'), Bare, Key::Allocations),
        LongOption::new("brief", Some('b'), Bare, Key::Brief).does("jobid, state and exitcode"),
        LongOption::new("batch-script", Some('B'), Bare, Key::BatchScript).does("the scripts of the jobs of -j, as long as they are kept"),
        LongOption::new("completion", Some('c'), Bare, Key::Completion).does("the records of job completions, of which there are none"),
        LongOption::new("constraints", Some('C'), Required, Key::Constraints).of("LIST", "jobs that ask for each of these features"),
        LongOption::new("delimiter", None, Required, Key::Delimiter).of("TEXT", "instead of | with -p and -P"),
        LongOption::new("duplicates", Some('D'), Bare, Key::Duplicates).does("each start of a requeued job"),
        LongOption::accepted("federation", None, Bare, "there is one cluster"),
        LongOption::new("helpformat", Some('e'), Bare, Key::Columns).does("the names of all columns; --help-fields too"),
        LongOption::new("help-fields", None, Bare, Key::Columns),
        LongOption::new("endtime", Some('E'), Required, Key::End).of("TIME", "jobs from before a moment"),
        LongOption::new("env-vars", None, Bare, Key::EnvVars).does("the variables that the jobs of -j were submitted with"),
        LongOption::new("file", Some('f'), Required, Key::File).of("FILE", "a file of job completions, which has to be there"),
        LongOption::new("flags", Some('F'), Required, Key::Flags).of("LIST", "jobs that were started so: SchedSubmit, SchedMain, SchedBackfill"),
        LongOption::new("gid", None, Required, Key::Groups),
        LongOption::new("group", Some('g'), Required, Key::Groups).of("LIST", "jobs of these groups"),
        LongOption::new("help", Some('h'), Bare, Key::Help).does("this text"),
        LongOption::accepted("local", None, Bare, "there is one cluster"),
        LongOption::new("name", None, Required, Key::Name).of("LIST", "jobs of these names"),
        LongOption::new("nnodes", Some('i'), Required, Key::NodeCount).of("N[-M]", "jobs on so many nodes"),
        LongOption::new("ncpus", Some('I'), Required, Key::Cpus).of("N[-M]", "jobs with so many CPUs"),
        LongOption::new("jobs", Some('j'), Required, Key::Jobs).of("LIST", "these jobs or steps: 12, 12_3, 12.batch"),
        LongOption::new("timelimit-min", Some('k'), Required, Key::LimitLeast).of("T", "jobs with this limit; with -K, with limits from here on"),
        LongOption::new("timelimit-max", Some('K'), Required, Key::LimitMost).of("T", "with -k, up to this limit"),
        LongOption::new("long", Some('l'), Bare, Key::Long).does("all that says what was used"),
        LongOption::accepted("allclusters", Some('L'), Bare, "there is one cluster"),
        LongOption::new("cluster", None, Required, Key::Clusters),
        LongOption::new("clusters", Some('M'), Required, Key::Clusters).of("LIST", "jobs of these clusters, of which there is one"),
        LongOption::new("nodelist", Some('N'), Required, Key::Nodes).of("NODES", "jobs on these nodes"),
        LongOption::new("noconvert", None, Bare, Key::Convert).does("memory in MiB, what tasks used in bytes"),
        LongOption::new("units", None, Required, Key::Units).of("K|M|G|T|P", "memory and what tasks used in this unit"),
        LongOption::new("noheader", Some('n'), Bare, Key::NoHeader).does("no header"),
        LongOption::new("fields", None, Required, Key::Format),
        LongOption::new("format", Some('o'), Required, Key::Format).of("LIST", "columns, with widths: jobid,state%-20; --fields too; else those of SACCT_FORMAT"),
        LongOption::new("parsable", Some('p'), Bare, Key::Parsable).does("a | after each value"),
        LongOption::new("parsable2", Some('P'), Bare, Key::Parsable2).does("a | between values"),
        LongOption::new("qos", Some('q'), Required, Key::Qos).of("LIST", "jobs of these QOS"),
        LongOption::new("partition", Some('r'), Required, Key::Partitions).of("LIST", "jobs of these partitions"),
        LongOption::new("reason", None, Required, Key::Reasons).of("LIST", "jobs that waited for these reasons"),
        LongOption::new("state", Some('s'), Required, Key::State).of("LIST", "states, long or short"),
        LongOption::new("starttime", Some('S'), Required, Key::Start).of("TIME", "jobs that ended after a moment, and those that did not end"),
        LongOption::new("truncate", Some('T'), Bare, Key::Truncate).does("starts and ends no further than --starttime and --endtime"),
        LongOption::new("uid", None, Required, Key::User),
        LongOption::accepted("use-local-uid", None, Bare, "users have the same numbers everywhere"),
        LongOption::new("usage", Some('U'), Bare, Key::Usage).does("the options in short"),
        LongOption::new("user", Some('u'), Required, Key::User).of("LIST", "jobs of these users"),
        LongOption::accepted("verbose", Some('v'), Bare, "there is no more to say"),
        LongOption::new("version", Some('V'), Bare, Key::Version).does("what this is"),
        LongOption::new("wckeys", Some('W'), Required, Key::Wckeys).of("LIST", "jobs with these workload keys"),
        LongOption::new("whole-hetjob", None, Takes::Optional, Key::WholeHetJob).of("yes|no", "all components of a heterogeneous job of which one is named"),
        LongOption::new("associations", Some('x'), Required, Key::OfNone).of("LIST", "none: no job has the number of an association"),
        LongOption::new("json", None, Bare, Key::Json).does("as JSON: an object whose `jobs` is a list, filtered as in versions after 22.05"),
        LongOption::new("yaml", None, Bare, Key::Yaml).does("as YAML"),
    ]
};

/// The options of `sacct`.
pub(crate) fn options() -> Vec<CommandOption> {
    command_options(OPTIONS)
}

impl SacctArgs {
    /// Reads a command line; `variable` tells of the environment.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(
        args: &[String],
        variable: &dyn Fn(&str) -> Option<String>,
        now: Timestamp,
        moments: &MomentStyle,
    ) -> Result<SacctArgs, SacctError> {
        let zone = &moments.zone;
        let moment = |text: &str| parse_past_moment(text, now, zone).map_err(SacctError::Moment);
        let parsed = parse_long_options(OPTIONS, args);
        let mut asked = SacctArgs::default();
        // All that is asked for is shown, one after another.
        let mut formats: Vec<&str> = Vec::new();
        let (mut long, mut brief, mut truncate) = (false, false, false);
        let mut brought = Vec::new();
        for (key, value) in &parsed.options {
            let value = value.as_deref().unwrap_or_default();
            let list = || value.split(',').map(str::to_owned).collect::<Vec<String>>();
            match key {
                Key::Accounts => asked.accounts = Some(list()),
                Key::AllUsers => asked.all_users = true,
                Key::BatchScript => brought.push(SacctBrought::Script),
                Key::Groups => asked.groups = Some(list()),
                Key::EnvVars => brought.push(SacctBrought::Environment),
                Key::Completion => asked.show = Some(SacctShow::Completion),
                Key::Convert => asked.units = SacctUnits::Kept,
                Key::Cpus => asked.cpu_count = Some(range(value, "cpu")?),
                Key::LimitLeast => asked.limits.0 = Some(minutes(value)?),
                Key::LimitMost => asked.limits.1 = Some(minutes(value)?),
                Key::Long => long = true,
                Key::NodeCount => asked.node_count = Some(range(value, "node")?),
                Key::Nodes => {
                    let nodes = node_list::expand(value);
                    asked.nodes =
                        Some(nodes.map_err(|error| SacctError::Value(error.to_string()))?);
                }
                Key::OfNone => asked.of_none = true,
                Key::Wckeys => asked.wckeys = Some(list()),
                Key::Clusters => {
                    let of_all = matches!(value.to_ascii_lowercase().as_str(), "all" | "-1");
                    asked.clusters = (!of_all).then(list);
                }
                Key::Constraints => asked.constraints = list(),
                Key::File => asked.completions = Some(value.to_owned()),
                Key::Flags => asked.flags = Some(flags(value)?),
                Key::Reasons => asked.reasons = Some(list()),
                Key::Truncate => truncate = true,
                Key::Partitions => asked.partitions = Some(list()),
                Key::Qos => asked.qos = Some(list()),
                Key::Units => asked.units = units(value)?,
                Key::Usage => asked.show = Some(SacctShow::Usage),
                Key::Allocations => asked.jobs_alone = true,
                Key::Brief => brief = true,
                Key::Columns => asked.show = Some(SacctShow::Columns),
                Key::Delimiter => asked.delimiter = Some(value.to_owned()),
                Key::Duplicates => asked.duplicates = true,
                Key::End => asked.until = Some(moment(value)?),
                Key::Format => formats.push(value),
                Key::Help => asked.show = Some(SacctShow::Help),
                // An empty list names all.
                Key::Jobs => asked.jobs = Some(jobs(value)?).filter(|jobs| !jobs.is_empty()),
                Key::Name => asked.names = Some(list()),
                Key::NoHeader => asked.no_header = true,
                Key::Parsable => asked.parsable = Some(Parsable::Ended),
                Key::Parsable2 => asked.parsable = Some(Parsable::Separated),
                Key::Start => asked.since = Some(moment(value)?),
                Key::State => asked.states = Some(states(value)?),
                Key::User if value == "-1" => asked.all_users = true,
                Key::User => {
                    asked.users = Some(list());
                    asked.all_users = false;
                }
                Key::Version => asked.show = Some(SacctShow::Version),
                Key::WholeHetJob => {
                    asked.whole_het_job = Some(match value.to_ascii_lowercase().as_str() {
                        "" | "yes" | "1" => true,
                        "no" | "0" => false,
                        _ => {
                            return Err(SacctError::Value(format!(
                                "Invalid --whole-hetjob value \"{value}\". Valid values: [yes|no]."
                            )));
                        }
                    });
                }
                Key::Json => asked.data = Some(SacctData::Json),
                Key::Yaml => asked.data = Some(SacctData::Yaml),
            }
        }
        if let Some(message) = parsed.wrong {
            return Err(SacctError::Option(message));
        }
        if !parsed.operands.is_empty() {
            return Err(SacctError::Operands(parsed.operands));
        }
        // States are those of one moment, where no other is named.
        if asked.states.is_some() {
            asked.until = asked.until.or(asked.since);
        }
        asked.states_within = asked.states_within(now);
        // Without a moment, jobs or states it begins at midnight.
        let from_midnight = asked.until.is_some() && asked.jobs.is_none() && asked.states.is_none();
        let midnight = || parse_past_moment("today", now, zone).ok();
        let since = asked.since.or_else(|| midnight().filter(|_| from_midnight));
        if let (Some(since), Some(until)) = (since, asked.until.or(Some(now)))
            && since > until
        {
            return Err(SacctError::Value(format!(
                "Start time ({}) requested is after end time ({}).",
                moments.text(since),
                moments.text(until)
            )));
        }
        if brought.contains(&SacctBrought::Script) && brought.contains(&SacctBrought::Environment) {
            return Err(SacctError::Fatal(
                "Options --batch-script and --env-vars are mutually exclusive".to_owned(),
            ));
        }
        asked.brought = brought.first().copied();
        if let (Some(brought), None) = (asked.brought, &asked.jobs) {
            let what = match brought {
                SacctBrought::Script => "scripts",
                SacctBrought::Environment => "environment",
            };
            return Err(SacctError::Fatal(format!(
                "When requesting job {what} you must also request specific jobs with the '-j' option."
            )));
        }
        if truncate {
            asked.window = Some((since, asked.until.unwrap_or(now)));
        }
        if long && !formats.is_empty() {
            return Err(SacctError::Fatal(
                "Options -o(--format) and -l(--long) are mutually exclusive. Please remove one and retry."
                    .to_owned(),
            ));
        }
        if brief {
            formats.push("jobid,state,exitcode");
        }
        if long {
            formats.push(SACCT_LONG);
        }
        let of_variable = variable("SACCT_FORMAT");
        if formats.is_empty() {
            formats.push(of_variable.as_deref().unwrap_or(SACCT_FORMAT));
        }
        asked.columns = columns(&formats.join(","))?;
        Ok(asked)
    }

    /// Whether numbers of associations and QOS are printed.
    #[must_use]
    pub fn shows_numbers(&self) -> bool {
        let mut columns = self.columns.iter();
        columns.any(|column| ["AssocID", "QOSRAW"].contains(&column.field.name))
    }

    /// The first of the QOS that are asked for which there is not.
    #[must_use]
    pub fn unknown_qos(&self, known: &[String]) -> Option<&str> {
        let mut asked = self.qos.iter().flatten();
        let unknown = asked.find(|name| !known.iter().any(|it| it.eq_ignore_ascii_case(name)));
        unknown.map(String::as_str)
    }
}
