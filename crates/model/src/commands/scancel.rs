//! The command line and the environment of `scancel`.

use crate::options::long_options::{
    CommandOption, LongOption, command_options, parse_long_options,
};
use crate::options::option_table::Takes;
use crate::records::JobStateName;
use crate::values::{JobId, NodeName, StepId, node_list, parse_signal};

/// What a `scancel` asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScancelArgs {
    /// What it does.
    pub action: ScancelAction,
    /// Jobs, elements and steps by id.
    pub targets: Vec<ScancelTarget>,
    /// `--clusters`
    pub clusters: Option<String>,
    /// What a job must be like.
    pub filter: ScancelFilter,
    /// `--signal`; without it jobs are ended.
    pub signal: Option<i32>,
    /// `--batch`: the batch shell alone.
    pub batch: bool,
    /// `--full`: the batch shell as well as the steps.
    pub full: bool,
    /// `--interactive`: asks for each.
    pub interactive: bool,
    /// `--quiet`
    pub quiet: bool,
    /// `--verbose`
    pub verbose: bool,
}

/// What a `scancel` does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScancelAction {
    /// Cancels or signals.
    #[default]
    Cancel,
    /// `--help`
    Help,
    /// `--usage`
    Usage,
    /// `--version`
    Version,
}

/// What a person names on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScancelTarget {
    /// `12`, or `12_*`: an array whole.
    Job(JobId),
    /// `12_3`, `12_[1-4,7]`
    Elements(JobId, Vec<u32>),
    /// `12+1`: one component of a heterogeneous job.
    Component(JobId, u32),
    /// `12.0`
    Step(JobId, StepId),
    /// `12_3.0`
    ElementStep(JobId, u32, StepId),
}

/// What a job must be like; what is `None` does not matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScancelFilter {
    /// `--account`
    pub account: Option<String>,
    /// `--name`
    pub name: Option<String>,
    /// `--nodelist`
    pub nodes: Option<Vec<NodeName>>,
    /// `--partition`
    pub partition: Option<String>,
    /// `--qos`
    pub qos: Option<String>,
    /// `--reservation`
    pub reservation: Option<String>,
    /// `--state`
    pub state: Option<JobStateName>,
    /// `--user`: name or number.
    pub user: Option<String>,
    /// `--me`
    pub me: bool,
    /// `--wckey`
    pub wckey: Option<String>,
}

impl ScancelFilter {
    /// What `-v` says where no job is like that; none where nothing is asked. `caller` is the user's number.
    #[must_use]
    pub fn unmet(&self, caller: u32) -> Option<String> {
        let me = self.me.then(|| caller.to_string());
        let nodes = self
            .nodes
            .as_ref()
            .map(|nodes| node_list::fold(nodes.iter()));
        let parts = [
            ("account", self.account.as_deref()),
            ("job_name", self.name.as_deref()),
            ("nodelist", nodes.as_deref()),
            ("partition", self.partition.as_deref()),
            ("qos", self.qos.as_deref()),
            ("reservation", self.reservation.as_deref()),
            ("state", self.state.map(JobStateName::long)),
            ("user_name", self.user.as_deref().or(me.as_deref())),
            ("wckey", self.wckey.as_deref()),
        ];
        let asked: String = parts
            .into_iter()
            .filter_map(|(name, value)| Some(format!("{name}={} ", value?)))
            .collect();
        (!asked.is_empty())
            .then(|| format!("No active jobs match ALL job filters, including: {asked}"))
    }
}

/// A command line that `scancel` refuses with exit status 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ScancelUsageError {
    /// As `getopt_long` says it.
    #[error("{program}: {message}\nTry \"scancel --help\" for more information")]
    Option {
        /// `argv[0]`
        program: String,
        /// What is wrong.
        message: String,
    },
    /// Not `12`, `12_3`, `12_[1-4]`, `12_*`, `12.0`.
    #[error("scancel: error: Invalid job id {0}")]
    JobId(String),
    /// `--signal`
    #[error("Unknown job signal: {0}")]
    Signal(String),
    /// `--state`
    #[error(
        "Invalid job state specified: {0}\nValid job states are PENDING, RUNNING, and SUSPENDED"
    )]
    State(String),
    /// `--nodelist`
    #[error("scancel: error: {0}")]
    Nodes(String),
    /// Neither jobs nor a filter.
    #[error("scancel: error: No job identification provided")]
    Nothing,
}

#[derive(Clone, Copy, PartialEq)]
enum Key {
    Account,
    Batch,
    Full,
    Help,
    Interactive,
    Clusters,
    Me,
    Name,
    Nodes,
    Partition,
    Qos,
    Quiet,
    Reservation,
    Signal,
    State,
    Usage,
    User,
    Verbose,
    Version,
    Wckey,
}

#[rustfmt::skip]
const OPTIONS: &[LongOption<Key>] = {
    use Takes::{No as Bare, Required};
    &[
        LongOption::new("account", Some('A'), Required, Key::Account).of("NAME", "only jobs of this account"),
        LongOption::new("batch", Some('b'), Bare, Key::Batch).does("signal the batch shell alone"),
        LongOption::accepted("ctld", None, Bare, "the engine sends every signal itself"),
        LongOption::new("full", Some('f'), Bare, Key::Full).does("signal the batch shell and all steps"),
        LongOption::new("help", None, Bare, Key::Help).does("this text"),
        LongOption::accepted("hurry", Some('H'), Bare, "there is no burst buffer"),
        LongOption::new("interactive", Some('i'), Bare, Key::Interactive).does("ask for each job"),
        LongOption::new("cluster", None, Required, Key::Clusters),
        LongOption::new("clusters", Some('M'), Required, Key::Clusters).of("NAME", "the name of this cluster, or all"),
        LongOption::new("jobname", None, Required, Key::Name),
        LongOption::new("me", None, Bare, Key::Me).does("only your own jobs"),
        LongOption::new("name", Some('n'), Required, Key::Name).of("NAME", "only jobs of this name"),
        LongOption::new("nodelist", Some('w'), Required, Key::Nodes).of("LIST", "only jobs on these nodes"),
        LongOption::new("partition", Some('p'), Required, Key::Partition).of("NAME", "only jobs in this partition"),
        LongOption::new("qos", Some('q'), Required, Key::Qos).of("NAME", "only jobs of this QOS"),
        LongOption::new("quiet", Some('Q'), Bare, Key::Quiet).does("no word about what is wrong"),
        LongOption::new("reservation", Some('R'), Required, Key::Reservation).of("NAME", "only jobs in this reservation"),
        LongOption::accepted("sibling", None, Required, "there is one cluster"),
        LongOption::new("signal", Some('s'), Required, Key::Signal).of("NAME", "send this signal instead of ending the job"),
        LongOption::new("state", Some('t'), Required, Key::State).of("STATE", "only jobs in this state: PENDING or RUNNING"),
        LongOption::new("usage", None, Bare, Key::Usage).does("a short list of options"),
        LongOption::new("user", Some('u'), Required, Key::User).of("NAME", "only jobs of this user"),
        LongOption::new("verbose", Some('v'), Bare, Key::Verbose).does("say what is done"),
        LongOption::new("version", Some('V'), Bare, Key::Version).does("what this is"),
        LongOption::new("wckey", None, Required, Key::Wckey).of("NAME", "only jobs with this workload key"),
    ]
};

/// The options of `scancel`.
pub(crate) fn options() -> Vec<CommandOption> {
    command_options(OPTIONS)
}

/// Reads a command line. `program` is `argv[0]`; `variable` tells of the environment.
///
/// # Errors
/// What Slurm refuses, in its words; options of it that this program lacks.
pub fn parse(
    program: &str,
    args: &[String],
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<ScancelArgs, ScancelUsageError> {
    let mut asked = from_environment(variable)?;
    let parsed = parse_long_options(OPTIONS, args);
    for (key, value) in parsed.options {
        let text = value.unwrap_or_default();
        let filter = &mut asked.filter;
        match key {
            Key::Account => filter.account = Some(text.to_lowercase()),
            Key::Batch => asked.batch = true,
            Key::Full => asked.full = true,
            Key::Help | Key::Usage | Key::Version => {
                asked.action = match key {
                    Key::Help => ScancelAction::Help,
                    Key::Usage => ScancelAction::Usage,
                    _ => ScancelAction::Version,
                };
                return Ok(asked);
            }
            Key::Interactive => asked.interactive = true,
            Key::Clusters => asked.clusters = Some(text),
            Key::Me => (filter.me, filter.user) = (true, None),
            Key::Name => filter.name = Some(text),
            Key::Nodes => {
                let nodes = node_list::expand(&text)
                    .map_err(|error| ScancelUsageError::Nodes(error.to_string()))?;
                filter.nodes = Some(nodes);
            }
            Key::Partition => filter.partition = Some(text),
            Key::Qos => filter.qos = Some(text.to_lowercase()),
            Key::Quiet => (asked.quiet, asked.verbose) = (true, false),
            // As counted in Slurm, where -Q is one less than nothing.
            Key::Verbose if asked.quiet => asked.quiet = false,
            Key::Reservation => filter.reservation = Some(text),
            Key::Signal => {
                asked.signal = Some(parse_signal(&text).ok_or(ScancelUsageError::Signal(text))?);
            }
            Key::State => filter.state = Some(state(&text)?),
            Key::User => (filter.user, filter.me) = (Some(text), false),
            Key::Verbose => asked.verbose = true,
            Key::Wckey => filter.wckey = Some(text),
        }
    }
    if let Some(message) = parsed.wrong {
        return Err(ScancelUsageError::Option {
            program: program.to_owned(),
            message,
        });
    }
    for operand in &parsed.operands {
        if operand.is_empty() {
            return Err(ScancelUsageError::JobId(String::new()));
        }
        for word in words(operand) {
            let target = target(word).ok_or_else(|| ScancelUsageError::JobId(word.to_owned()))?;
            asked.targets.push(target);
        }
    }
    if asked.targets.is_empty() && asked.filter == ScancelFilter::default() {
        return Err(ScancelUsageError::Nothing);
    }
    Ok(asked)
}

/// What stands in `SCANCEL_*`.
fn from_environment(
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<ScancelArgs, ScancelUsageError> {
    let truth = |name: &str| {
        variable(name).is_some_and(|value| {
            value.eq_ignore_ascii_case("true") || value.to_lowercase().starts_with('t')
        })
    };
    Ok(ScancelArgs {
        batch: truth("SCANCEL_BATCH"),
        full: truth("SCANCEL_FULL"),
        interactive: truth("SCANCEL_INTERACTIVE"),
        verbose: truth("SCANCEL_VERBOSE"),
        filter: ScancelFilter {
            account: variable("SCANCEL_ACCOUNT"),
            name: variable("SCANCEL_NAME"),
            partition: variable("SCANCEL_PARTITION"),
            qos: variable("SCANCEL_QOS"),
            state: variable("SCANCEL_STATE")
                .map(|text| state(&text))
                .transpose()?,
            user: variable("SCANCEL_USER"),
            wckey: variable("SCANCEL_WCKEY"),
            ..ScancelFilter::default()
        },
        ..ScancelArgs::default()
    })
}

fn state(text: &str) -> Result<JobStateName, ScancelUsageError> {
    JobStateName::parse(text).ok_or_else(|| ScancelUsageError::State(text.to_owned()))
}

/// Splits `12,13_[1,3]` at the commas that stand outside brackets.
fn words(text: &str) -> Vec<&str> {
    let mut depth = 0;
    text.split(|letter| {
        match letter {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        letter == ',' && depth == 0
    })
    .filter(|word| !word.is_empty())
    .collect()
}

fn target(word: &str) -> Option<ScancelTarget> {
    let (job, step) = match word.split_once('.') {
        None => (word, None),
        // `JOB.batch` is no step to Slurm's: --batch signals that one.
        Some((job, step)) => (job, Some(StepId::Number(step.parse().ok()?))),
    };
    if let (Some((leader, offset)), None) = (job.split_once('+'), step) {
        let leader = JobId(leader.parse().ok()?);
        return Some(ScancelTarget::Component(leader, offset.parse().ok()?));
    }
    let (job, task) = match job.split_once('_') {
        None => (job, None),
        Some((job, task)) => (job, Some(task)),
    };
    let job = JobId(job.parse().ok().filter(|job| *job > 0)?);
    match (task, step) {
        (None | Some("*"), None) => Some(ScancelTarget::Job(job)),
        (None | Some("*"), Some(step)) => Some(ScancelTarget::Step(job, step)),
        (Some(task), None) if task.starts_with('[') => {
            let tasks = node_list::expand(task).ok()?;
            let tasks: Option<Vec<u32>> = tasks
                .iter()
                .map(|task| task.as_str().parse().ok())
                .collect();
            Some(ScancelTarget::Elements(job, tasks?))
        }
        (Some(task), None) => Some(ScancelTarget::Elements(job, vec![task.parse().ok()?])),
        (Some(task), Some(step)) => Some(ScancelTarget::ElementStep(job, task.parse().ok()?, step)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    #[track_caller]
    fn check(line: &str, want: Expect) {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        let text = match parse("scancel", &args, &|_| None) {
            Ok(asked) => format!("{:?} {:?}", asked.targets, asked.signal),
            Err(error) => error.to_string(),
        };
        want.assert_eq(&text);
    }

    #[test]
    fn ids_have_many_forms() {
        check(
            "12 13_4",
            expect!["[Job(JobId(12)), Elements(JobId(13), [4])] None"],
        );
        check(
            "12_[1-3,7],15",
            expect!["[Elements(JobId(12), [1, 2, 3, 7]), Job(JobId(15))] None"],
        );
        check(
            "12_* 13.0 14_2.1",
            expect![
                "[Job(JobId(12)), Step(JobId(13), Number(0)), ElementStep(JobId(14), 2, Number(1))] None"
            ],
        );
        check("-s USR1 -b 5", expect!["[Job(JobId(5))] Some(10)"]);
        check("--signal=sigterm 5", expect!["[Job(JobId(5))] Some(15)"]);
    }

    /// `_filter_job_records` of 22.05.8's scancel.c.
    #[test]
    fn filters_that_no_job_meets_are_told_in_its_order() {
        let said = |line: &str| {
            let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let asked = parse("scancel", &args, &|_| None);
            asked.ok().and_then(|asked| asked.filter.unmet(7))
        };
        let of = |parts: &str| {
            Some(format!(
                "No active jobs match ALL job filters, including: {parts} "
            ))
        };
        assert_eq!(said("-v -n nosuch"), of("job_name=nosuch"));
        assert_eq!(
            said("-t PD -p gpu -u alice -w n1,n2 -v"),
            of("nodelist=n[1-2] partition=gpu state=PENDING user_name=alice")
        );
        assert_eq!(said("--me -v"), of("user_name=7"));
        assert_eq!(said("-v 12"), None);
    }

    #[test]
    fn refusals_have_slurms_words() {
        check(
            "",
            expect!["scancel: error: No job identification provided"],
        );
        check("abc", expect!["scancel: error: Invalid job id abc"]);
        check("0", expect!["scancel: error: Invalid job id 0"]);
        check("2.batch", expect!["scancel: error: Invalid job id 2.batch"]);
        check("-s NOSUCH 4", expect!["Unknown job signal: NOSUCH"]);
        check(
            "-t bad",
            expect![[r#"
            Invalid job state specified: bad
            Valid job states are PENDING, RUNNING, and SUSPENDED"#]],
        );
        check(
            "--nosuch",
            expect![[r#"
            scancel: unrecognized option '--nosuch'
            Try "scancel --help" for more information"#]],
        );
    }
}
