//! The command line and the environment of `squeue`.

use super::squeue_verbose::Written;
use crate::options::long_options::{
    CommandOption, LongOption, command_options, parse_long_options,
};
use crate::options::option_table::Takes;
use crate::records::JobStateName;
use crate::values::StepId;
use crate::values::number::leading;

/// What a `squeue` asks for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SqueueArgs {
    /// What it does.
    pub action: SqueueAction,
    /// `--account`, any case.
    pub accounts: Option<Vec<String>>,
    /// `--jobs`
    pub jobs: Option<Vec<JobName>>,
    /// `--licenses`: jobs that ask for one of these.
    pub licenses: Option<Vec<String>>,
    /// `--name`, any case.
    pub names: Option<Vec<String>>,
    /// `--nodelist`, unexpanded.
    pub nodes: Option<String>,
    /// `--partition`
    pub partitions: Option<Vec<String>>,
    /// `--qos`, any case.
    pub qos: Option<Vec<String>>,
    /// `--reservation`
    pub reservation: Option<String>,
    /// `--states`
    pub states: StateFilter,
    /// `--steps`: instead of jobs.
    pub steps: Option<Vec<(JobName, StepId)>>,
    /// Whether steps are listed.
    pub by_step: bool,
    /// `--user`: names or numbers.
    pub users: Option<Vec<String>>,
    /// `--me`
    pub me: bool,
    /// `--noheader`
    pub no_header: bool,
    /// `--long`
    pub long: bool,
    /// `--array`: one line an element.
    pub each_element: bool,
    /// `--priority`: one line for each partition that a waiting job may start in.
    pub each_partition: bool,
    /// `--all`: those too that are in hidden partitions alone. Naming a partition says the same.
    pub all: bool,
    /// `--noconvert`: amounts stay in MiB.
    pub in_mebibytes: bool,
    /// `--format`
    pub format: Option<String>,
    /// `--Format`
    pub long_format: Option<String>,
    /// `--sort`
    pub sort: Option<String>,
    /// `--iterate`: again after so many seconds.
    pub every: Option<u32>,
    /// `--clusters`
    pub clusters: Option<Vec<String>>,
    /// The same as it was written, for `--verbose`.
    pub(crate) written: Written,
}

/// What a `squeue` does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SqueueAction {
    /// Lists.
    #[default]
    List,
    /// Lists as JSON.
    Json,
    /// Lists as YAML.
    Yaml,
    /// `--help`
    Help,
    /// `--usage`
    Usage,
    /// `--version`
    Version,
}

/// Which states are listed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum StateFilter {
    /// What is not over.
    #[default]
    Live,
    /// `all`
    All,
    /// These.
    Only(Vec<JobStateName>),
}

/// A job as a person names it: `12` or `12_3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobName {
    /// The job's or the array's id.
    pub job: u32,
    /// The element.
    pub task: Option<u32>,
    /// The component of a heterogeneous job.
    pub component: Option<u32>,
}

/// A command line that `squeue` refuses with exit status 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SqueueUsageError {
    /// As `getopt_long` says it.
    #[error("{program}: {message}\nTry \"squeue --help\" for more information")]
    Option {
        /// `argv[0]`
        program: String,
        /// What is wrong.
        message: String,
    },
    /// `--jobs`
    #[error("squeue: error: Invalid job id: {0}")]
    JobId(String),
    /// `--steps`
    #[error("squeue: error: Invalid job_step id: {0}")]
    StepId(String),
    /// `--states`
    #[error(
        "squeue: error: Invalid job state specified: {0}\nsqueue: error: Valid job states include: {list}\n",
        list = JobStateName::list()
    )]
    State(String),
    /// `--sort`
    #[error("squeue: error: Invalid sort specification: {0}")]
    Sort(char),
    /// `-o` beside `-O` or `-l`.
    #[error("squeue: {0}")]
    Conflict(&'static str),
    /// An operand that belongs to nothing.
    #[error("squeue: error: Unrecognized option: {0}")]
    Operand(String),
    /// `--iterate`
    #[error("squeue: error: --iterate={0}\n")]
    Iterate(String),
}

/// `squeue --usage`
pub const SQUEUE_USAGE: &str = "\
Usage: squeue [-A account] [--clusters names] [-i seconds] [--job jobid]
              [-n name] [-o format] [-p partitions] [--qos qos]
              [--reservation reservation] [--sort fields] [--start]
              [--step step_id] [-t states] [-u user_name] [--usage]
              [-L licenses] [-w nodes] [--federation] [--local] [--sibling]
\t      [-ahjlrsv]
";

#[derive(Clone, Copy, PartialEq)]
enum Key {
    Account,
    All,
    Help,
    Hide,
    Iterate,
    Jobs,
    Json,
    Licenses,
    Clusters,
    Long,
    LongFormat,
    Me,
    Name,
    NoHeader,
    Nodes,
    Format,
    Partition,
    Qos,
    Reservation,
    EachElement,
    EachPartition,
    InMebibytes,
    Sort,
    Start,
    States,
    Steps,
    Usage,
    User,
    Verbose,
    Version,
    Yaml,
}

#[rustfmt::skip]
const OPTIONS: &[LongOption<Key>] = {
    use Takes::{No as Bare, Optional, Required};
    &[
        LongOption::new("accounts", Some('A'), Required, Key::Account).of("LIST", "jobs of these accounts"),
        LongOption::new("", Some('U'), Required, Key::Account),
        LongOption::new("all", Some('a'), Bare, Key::All).does("jobs in hidden partitions too"),
        LongOption::new("array", Some('r'), Bare, Key::EachElement).does("one line an array element"),
        LongOption::accepted("array-unique", None, Bare, "an array that waits is one line anyway"),
        LongOption::new("Format", Some('O'), Required, Key::LongFormat).of("FORMAT", "columns by name: jobid:.18 ,name"),
        LongOption::new("format", Some('o'), Required, Key::Format).of("FORMAT", "columns by letter: %.18i %.9P %j"),
        LongOption::accepted("federation", None, Bare, "there is one cluster"),
        LongOption::new("help", None, Bare, Key::Help).does("this text"),
        LongOption::new("hide", None, Bare, Key::Hide).does("none of hidden partitions, whatever --all before it says"),
        LongOption::new("iterate", Some('i'), Required, Key::Iterate).of("SECONDS", "again and again"),
        LongOption::new("jobs", Some('j'), Optional, Key::Jobs).of("LIST", "these jobs: 12, 12_3"),
        LongOption::accepted("local", None, Bare, "there is one cluster"),
        LongOption::new("long", Some('l'), Bare, Key::Long).does("with states in words and time limits"),
        LongOption::new("licenses", Some('L'), Required, Key::Licenses).of("LIST", "jobs that ask for one of these licences"),
        LongOption::new("cluster", None, Required, Key::Clusters),
        LongOption::new("clusters", Some('M'), Required, Key::Clusters).of("NAME", "the name of this cluster, or all"),
        LongOption::new("me", None, Bare, Key::Me).does("your own jobs"),
        LongOption::new("name", Some('n'), Required, Key::Name).of("LIST", "jobs of these names"),
        LongOption::new("noconvert", None, Bare, Key::InMebibytes).does("memory in MiB, however much it is"),
        LongOption::new("node", None, Required, Key::Nodes),
        LongOption::new("nodes", None, Required, Key::Nodes),
        LongOption::new("nodelist", Some('w'), Required, Key::Nodes).of("LIST", "jobs on these nodes"),
        LongOption::new("noheader", Some('h'), Bare, Key::NoHeader).does("no headers"),
        LongOption::new("partitions", Some('p'), Required, Key::Partition).of("LIST", "jobs in these partitions"),
        LongOption::new("priority", Some('P'), Bare, Key::EachPartition).does("one line for each partition of a job that waits"),
        LongOption::new("qos", Some('q'), Required, Key::Qos).of("LIST", "jobs of these QOS"),
        LongOption::new("reservation", Some('R'), Required, Key::Reservation).of("NAME", "jobs in this reservation"),
        LongOption::accepted("sib", None, Bare, "there is one cluster"),
        LongOption::accepted("sibling", None, Bare, "there is one cluster"),
        LongOption::new("sort", Some('S'), Required, Key::Sort).of("FIELDS", "order by letters, such as P,t,-p"),
        LongOption::new("start", None, Bare, Key::Start).does("jobs that wait, and when they may start"),
        LongOption::new("steps", Some('s'), Optional, Key::Steps).of("LIST", "steps instead of jobs"),
        LongOption::new("states", Some('t'), Required, Key::States).of("LIST", "states, long or short; `all` for all"),
        LongOption::new("usage", None, Bare, Key::Usage).does("a short list of options"),
        LongOption::new("user", Some('u'), Required, Key::User).of("LIST", "jobs of these users"),
        LongOption::new("users", None, Required, Key::User),
        LongOption::new("verbose", Some('v'), Bare, Key::Verbose).does("what was asked for, before the list"),
        LongOption::new("version", Some('V'), Bare, Key::Version).does("what this is"),
        LongOption::new("json", None, Bare, Key::Json).does("as JSON: an object whose `jobs` is a list, filtered as in versions after 22.05"),
        LongOption::new("yaml", None, Bare, Key::Yaml).does("as YAML"),
    ]
};

/// The options of `squeue`.
pub(crate) fn options() -> Vec<CommandOption> {
    command_options(OPTIONS)
}

impl SqueueArgs {
    /// Whether numbers of associations are printed.
    #[must_use]
    pub fn shows_numbers(&self) -> bool {
        let format = self.long_format.as_deref().unwrap_or_default();
        self.is_data() || format.to_ascii_lowercase().contains("associd")
    }

    /// Whether the ends of jobs' steps are printed.
    #[must_use]
    pub fn shows_step_ends(&self) -> bool {
        let format = self.long_format.as_deref().unwrap_or_default();
        !self.is_data() && format.to_ascii_lowercase().contains("derivedec")
    }

    /// Whether it prints JSON or YAML: once, of jobs, whatever else is asked for.
    #[must_use]
    pub fn is_data(&self) -> bool {
        matches!(self.action, SqueueAction::Json | SqueueAction::Yaml)
    }

    /// Reads a command line. `program` is `argv[0]`; `variable` tells of the environment.
    ///
    /// # Errors
    /// What Slurm refuses, in its words; options of it that this program lacks.
    pub fn parse(
        program: &str,
        args: &[String],
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<SqueueArgs, SqueueUsageError> {
        let parsed = parse_long_options(OPTIONS, args);
        let mut asked = SqueueArgs {
            all: variable("SQUEUE_ALL").is_some(),
            each_element: variable("SQUEUE_ARRAY").is_some(),
            each_partition: variable("SQUEUE_PRIORITY").is_some(),
            sort: variable("SQUEUE_SORT"),
            ..SqueueArgs::default()
        };
        let mut start = false;
        let mut jobs_flag = false;
        let mut own_format = false;
        for (key, value) in parsed.options {
            let text = value.clone().unwrap_or_default();
            match key {
                Key::Account => asked.accounts = Some(words(&text)),
                Key::All => asked.all = true,
                Key::Hide => asked.all = false,
                Key::Help | Key::Usage | Key::Version => {
                    asked.action = match key {
                        Key::Help => SqueueAction::Help,
                        Key::Usage => SqueueAction::Usage,
                        _ => SqueueAction::Version,
                    };
                    return Ok(asked);
                }
                Key::Json => asked.action = SqueueAction::Json,
                Key::Jobs => {
                    jobs_flag = true;
                    if value.is_some() {
                        asked.jobs = Some(job_names(&text)?);
                        asked.written.jobs = Some(text);
                    }
                }
                Key::Licenses => asked.licenses = Some(words(&text)),
                Key::Long => (asked.long, own_format) = (true, true),
                Key::Format => {
                    if asked.long_format.is_some() {
                        return Err(SqueueUsageError::Conflict(
                            "error: -o (--format) is incompatible with -O (--Format)",
                        ));
                    }
                    (asked.format, own_format) = (Some(text), true);
                }
                Key::LongFormat => {
                    if asked.format.is_some() {
                        return Err(SqueueUsageError::Conflict(
                            "error: -O (--Format) is incompatible with -o (--format)",
                        ));
                    }
                    (asked.long_format, own_format) = (Some(text), true);
                }
                Key::Me => asked.me = true,
                Key::Name => asked.names = Some(words(&text)),
                Key::NoHeader => asked.no_header = true,
                Key::Nodes => asked.nodes = Some(text),
                Key::Partition => (asked.partitions, asked.all) = (Some(words(&text)), true),
                Key::Qos => asked.qos = Some(words(&text)),
                Key::Reservation => asked.reservation = Some(text),
                Key::EachElement => asked.each_element = true,
                Key::EachPartition => asked.each_partition = true,
                Key::InMebibytes => asked.in_mebibytes = true,
                Key::Sort => asked.sort = Some(text),
                Key::Start => (start, own_format) = (true, true),
                Key::States => {
                    asked.states = states(&text)?;
                    asked.written.states = Some(text);
                }
                Key::Verbose => asked.written.verbose += 1,
                Key::Steps => {
                    (asked.by_step, own_format) = (true, true);
                    if value.is_some() {
                        asked.steps = Some(step_names(&text)?);
                        asked.written.steps = Some(text);
                    }
                }
                Key::User => (asked.users, asked.me) = (Some(words(&text)), false),
                Key::Iterate => {
                    let seconds = text.parse().ok().filter(|seconds| *seconds > 0);
                    asked.every = Some(seconds.ok_or(SqueueUsageError::Iterate(text))?);
                }
                Key::Clusters => asked.clusters = Some(cluster_names(&text)),
                Key::Yaml => asked.action = SqueueAction::Yaml,
            }
        }
        if let Some(message) = parsed.wrong {
            return Err(SqueueUsageError::Option {
                program: program.to_owned(),
                message,
            });
        }
        if asked.long && asked.format.is_some() {
            return Err(SqueueUsageError::Conflict(
                "fatal: Options -o(--format) and -l(--long) are mutually exclusive. Please remove one and retry.",
            ));
        }
        if !own_format {
            asked.format = variable("SQUEUE_FORMAT");
            if asked.format.is_none() {
                asked.long_format = variable("SQUEUE_FORMAT2");
            }
        }
        // `-j 7`: the value of an optional argument may stand apart, once, at the end.
        let mut operands = parsed.operands.into_iter();
        (asked.written.has_jobs, asked.written.start) = (jobs_flag, start);
        if jobs_flag && asked.jobs.is_none() {
            asked.written.jobs = operands.next();
            let list = asked.written.jobs.as_deref();
            asked.jobs = list.map(job_names).transpose()?;
        } else if asked.by_step && asked.steps.is_none() {
            asked.written.steps = operands.next();
            let list = asked.written.steps.as_deref();
            asked.steps = list.map(step_names).transpose()?;
        }
        if let Some(operand) = operands.next() {
            return Err(SqueueUsageError::Operand(operand));
        }
        if jobs_flag && asked.by_step && asked.jobs.is_none() {
            return Err(SqueueUsageError::Conflict(
                "error: Incompatible options --jobs and --steps",
            ));
        }
        asked.defaults_from(variable)?;
        if start && !asked.by_step {
            asked.start_defaults();
        }
        asked.check_sort()?;
        Ok(asked)
    }

    /// Variables that stand in for options that were not given.
    fn defaults_from(
        &mut self,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<(), SqueueUsageError> {
        let list = |name: &str| variable(name).map(|text| words(&text));
        self.accounts = self.accounts.take().or_else(|| list("SQUEUE_ACCOUNT"));
        self.licenses = self.licenses.take().or_else(|| list("SQUEUE_LICENSES"));
        self.names = self.names.take().or_else(|| list("SQUEUE_NAMES"));
        if self.partitions.is_none() {
            self.partitions = list("SQUEUE_PARTITION");
            self.all |= self.partitions.is_some();
        }
        self.qos = self.qos.take().or_else(|| list("SQUEUE_QOS"));
        if self.users.is_none() && !self.me {
            self.users = list("SQUEUE_USERS");
        }
        if self.states == StateFilter::Live
            && let Some(text) = variable("SQUEUE_STATES")
        {
            self.states = states(&text)?;
            self.written.states = Some(text);
        }
        Ok(())
    }

    fn start_defaults(&mut self) {
        if self.format.is_none() && self.long_format.is_none() {
            self.format = Some("%.18i %.9P %.8j %.8u %.2t %.19S %.6D %20Y %R".to_owned());
        }
        self.sort.get_or_insert_with(|| "S".to_owned());
        if self.states == StateFilter::Live {
            self.states = StateFilter::Only(vec![JobStateName::Pending]);
        }
    }

    fn check_sort(&self) -> Result<(), SqueueUsageError> {
        let text = self.sort.as_deref().unwrap_or_default();
        // Slurm reads it from its end.
        match text
            .chars()
            .rev()
            .find(|letter| !"+-,BbcCdDefgGhHiIjJlLmMnNOpPQStTuUvVz".contains(*letter))
        {
            // Steps are sorted by what is known, and the rest is passed over.
            Some(letter) if !self.by_step => Err(SqueueUsageError::Sort(letter)),
            _ => Ok(()),
        }
    }
}

fn words(text: &str) -> Vec<String> {
    text.split(',')
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// What `--clusters` names; where that is nothing, the empty name, which no cluster has.
pub(crate) fn cluster_names(text: &str) -> Vec<String> {
    let mut names = words(text);
    if names.is_empty() {
        names.push(String::new());
    }
    names
}

fn states(text: &str) -> Result<StateFilter, SqueueUsageError> {
    if text.eq_ignore_ascii_case("all") {
        return Ok(StateFilter::All);
    }
    let names: Result<Vec<JobStateName>, SqueueUsageError> = words(text)
        .into_iter()
        .map(|word| JobStateName::parse(&word).ok_or(SqueueUsageError::State(word)))
        .collect();
    Ok(StateFilter::Only(names?))
}

fn job_names(text: &str) -> Result<Vec<JobName>, SqueueUsageError> {
    words(text)
        .into_iter()
        .map(|word| job_name(&word).ok_or(SqueueUsageError::JobId(word)))
        .collect()
}

/// As C's `strtol` reads it: what follows the digits is passed over.
pub(crate) fn job_name(word: &str) -> Option<JobName> {
    let (job, rest) = id_number(word)?;
    let task = rest
        .strip_prefix('_')
        .map(|rest| id_number(rest).map_or(0, |(task, _)| task));
    let component = rest.strip_prefix('+').and_then(id_number);
    let component = component.map(|(component, _)| component);
    (job > 0).then_some(JobName {
        job,
        task,
        component,
    })
}

/// A number at the beginning, and what follows it.
fn id_number(text: &str) -> Option<(u32, &str)> {
    let (number, rest) = leading(text);
    Some((u32::try_from(number?).ok()?, rest))
}

fn step_names(text: &str) -> Result<Vec<(JobName, StepId)>, SqueueUsageError> {
    words(text)
        .into_iter()
        .map(|word| {
            let Some((job, step)) = word.split_once('.') else {
                return Err(SqueueUsageError::StepId(format!("{word}.??")));
            };
            let step = match (step, id_number(step)) {
                ("batch", _) => Some(StepId::Batch),
                (_, Some((number, _))) => Some(StepId::Number(number)),
                (_, None) => None,
            };
            match (job_name(job), step) {
                (Some(job), Some(step)) => Ok((job, step)),
                _ => Err(SqueueUsageError::StepId(word.clone())),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn parse(line: &str, env: &[(&str, &str)]) -> Result<SqueueArgs, SqueueUsageError> {
        let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        SqueueArgs::parse("squeue", &args, &|name| {
            env.iter()
                .find(|(known, _)| *known == name)
                .map(|(_, value)| (*value).to_owned())
        })
    }

    #[track_caller]
    fn refused(line: &str, want: Expect) {
        let error = parse(line, &[]).err().map(|error| error.to_string());
        want.assert_eq(&error.unwrap_or_default());
    }

    #[test]
    fn a_job_may_stand_apart() {
        let one = Some(vec![JobName {
            job: 7,
            task: None,
            component: None,
        }]);
        assert_eq!(parse("-j 7", &[]).map(|args| args.jobs), Ok(one.clone()));
        assert_eq!(parse("-j7", &[]).map(|args| args.jobs), Ok(one.clone()));
        assert_eq!(parse("--jobs=7", &[]).map(|args| args.jobs), Ok(one));
        assert_eq!(
            parse("--job 7_3 -h", &[]).map(|args| args.jobs),
            Ok(Some(vec![JobName {
                job: 7,
                task: Some(3),
                component: None,
            }]))
        );
    }

    #[test]
    fn the_environment_gives_way_to_options() {
        let env = [("SQUEUE_FORMAT", "%i"), ("SQUEUE_STATES", "R")];
        let plain = parse("", &env).map(|args| args.format);
        assert_eq!(plain, Ok(Some("%i".to_owned())));
        assert_eq!(parse("-l", &env).map(|args| args.format), Ok(None));
        let states = parse("-t all", &env).map(|args| args.states);
        assert_eq!(states, Ok(StateFilter::All));
        let licences = |line| parse(line, &[("SQUEUE_LICENSES", "a")]).map(|args| args.licenses);
        assert_eq!(licences(""), Ok(Some(vec!["a".to_owned()])));
        assert_eq!(licences("-L b"), Ok(Some(vec!["b".to_owned()])));
    }

    #[test]
    fn an_empty_list_of_clusters_names_none_that_there_is() {
        assert_eq!(cluster_names(""), [""]);
        assert_eq!(cluster_names("lab,"), ["lab"]);
        assert_eq!(cluster_names(",lab,b"), ["lab", "b"]);
    }

    #[test]
    fn refusals_have_slurms_words() {
        refused("-j abc", expect!["squeue: error: Invalid job id: abc"]);
        refused("-s 5", expect!["squeue: error: Invalid job_step id: 5.??"]);
        refused(
            "-S k",
            expect!["squeue: error: Invalid sort specification: k"],
        );
        refused(
            "--nosuch",
            expect![[r#"
                squeue: unrecognized option '--nosuch'
                Try "squeue --help" for more information"#]],
        );
        refused(
            "-o x -O name",
            expect!["squeue: error: -O (--Format) is incompatible with -o (--format)"],
        );
        refused("-i 0", expect!["squeue: error: --iterate=0\n"]);
    }
}
