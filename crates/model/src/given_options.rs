//! What the options of a command came to, before they become requests: each row of the option
//! table that has an effect sets something here.

use crate::diagnostic::{Diagnostic, Span};
use crate::given::{Given, Origin};
use crate::number::{leading, parse_number};
use crate::option_table::{Command, Dialect, Effect, Key, Opt, Takes, options_in};
use crate::{
    ArraySpec, Dependency, Export, GpuCount, JobId, MailEvent, NodeCount, NodeName, OpenMode,
    SignalSpec, SlurmVersion, TimeLimitRequest, Timestamp, mail_type, memory_size, node_list,
    parse_moment,
};
use jiff::tz::TimeZone;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// What reading options depends on besides the words themselves.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// The time, for `--begin`.
    pub now: Timestamp,
    /// The caller's time zone.
    pub zone: &'a TimeZone,
    /// The caller's working directory, absolute.
    pub cwd: &'a Path,
    /// Whether the embedded engine is asked. Otherwise a real Slurm is, and what is said is what its
    /// command says before it asks a controller; nothing is said of what the engine lacks.
    pub embedded: bool,
    /// The Slurm whose rules hold. The embedded engine speaks 22.05's language, and what came later.
    pub version: SlurmVersion,
    /// Whether the Pyxis plugin is loaded there.
    pub pyxis: bool,
}

impl<'a> Surroundings<'a> {
    /// What surrounds a call of the embedded engine's commands.
    #[must_use]
    pub fn embedded(now: Timestamp, zone: &'a TimeZone, cwd: &'a Path) -> Surroundings<'a> {
        Surroundings {
            now,
            zone,
            cwd,
            embedded: true,
            version: SlurmVersion::V22_05,
            pyxis: false,
        }
    }

    /// Whose commands read the words.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        match self.embedded {
            true => Dialect::Embedded,
            false => Dialect::Slurm {
                version: self.version,
                pyxis: self.pyxis,
            },
        }
    }
}

/// What a command is asked to print instead of doing its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show {
    /// `--help`
    Help,
    /// `--usage`
    Usage,
    /// `--version`
    Version,
}

/// `--exclusive`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exclusive {
    Yes,
    User,
    No,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct GivenOptions {
    pub(crate) account: Option<String>,
    pub(crate) array: Option<ArraySpec>,
    pub(crate) begin: Option<Timestamp>,
    pub(crate) chdir: Option<PathBuf>,
    pub(crate) clusters: Option<String>,
    pub(crate) comment: Option<String>,
    pub(crate) constraint: Option<String>,
    pub(crate) cpu_bind: Option<String>,
    pub(crate) cpus_per_gpu: Option<u32>,
    pub(crate) cpus_per_task: Option<u32>,
    pub(crate) deadline: Option<Timestamp>,
    pub(crate) dependency: Option<String>,
    pub(crate) disable_status: bool,
    pub(crate) error: Option<String>,
    pub(crate) exact: bool,
    pub(crate) exclude: Vec<NodeName>,
    pub(crate) exclusive: Option<Exclusive>,
    pub(crate) export: Option<Export>,
    pub(crate) export_file: Option<String>,
    pub(crate) gpu_bind: Option<String>,
    pub(crate) gpus: Option<GpuCount>,
    pub(crate) gpus_per_node: Option<GpuCount>,
    pub(crate) gpus_per_task: Option<GpuCount>,
    /// `--gres`; the inner value is none for `--gres=none`.
    pub(crate) gres: Option<Option<GpuCount>>,
    pub(crate) hold: bool,
    pub(crate) immediate: Option<u32>,
    pub(crate) input: Option<String>,
    pub(crate) job: Option<JobId>,
    pub(crate) job_name: Option<String>,
    pub(crate) kill_on_bad_exit: Option<bool>,
    pub(crate) label: bool,
    pub(crate) mail_types: Vec<MailEvent>,
    pub(crate) mail_user: Option<String>,
    pub(crate) memory: Option<u64>,
    pub(crate) memory_per_cpu: Option<u64>,
    pub(crate) memory_per_gpu: Option<u64>,
    pub(crate) mpi: Option<String>,
    pub(crate) nice: i64,
    pub(crate) no_shell: bool,
    pub(crate) nodelist: Vec<NodeName>,
    pub(crate) nodes: Option<NodeCount>,
    pub(crate) open_mode: Option<OpenMode>,
    pub(crate) output: Option<String>,
    pub(crate) overcommit: bool,
    pub(crate) overlap: bool,
    pub(crate) parsable: bool,
    pub(crate) partition: Option<String>,
    pub(crate) preserve_env: bool,
    pub(crate) priority: Option<u32>,
    pub(crate) pty: bool,
    pub(crate) qos: Option<String>,
    pub(crate) quiet: bool,
    pub(crate) quit_on_interrupt: bool,
    pub(crate) relative: Option<u32>,
    pub(crate) requeue: Option<bool>,
    pub(crate) reservation: Option<String>,
    pub(crate) show: Option<Show>,
    pub(crate) signal: Option<SignalSpec>,
    pub(crate) step_wait: Option<u32>,
    pub(crate) tasks: Option<u32>,
    pub(crate) tasks_per_gpu: Option<u32>,
    pub(crate) tasks_per_node: Option<u32>,
    pub(crate) test_only: bool,
    pub(crate) time: Option<TimeLimitRequest>,
    pub(crate) unbuffered: bool,
    pub(crate) verbose: u32,
    pub(crate) wait_for_end: bool,
    pub(crate) whole: bool,
    pub(crate) wrap: Option<String>,
    origins: HashMap<Key, Origin>,
}

/// Reads options into [`GivenOptions`], collecting what there is to say.
pub(crate) struct Reading<'a> {
    pub(crate) command: Command,
    pub(crate) surroundings: &'a Surroundings<'a>,
    pub(crate) options: GivenOptions,
    pub(crate) diagnostics: Vec<Diagnostic>,
    /// All that was read, in order.
    pub(crate) given: Vec<Given>,
}

/// A message and the exit status that Slurm's command ends with.
struct Wrong(&'static str, String, u8);

impl<'a> Reading<'a> {
    pub(crate) fn new(command: Command, surroundings: &'a Surroundings<'a>) -> Reading<'a> {
        Reading {
            command,
            surroundings,
            options: GivenOptions::default(),
            diagnostics: Vec::new(),
            given: Vec::new(),
        }
    }

    /// Reads the command's input variables.
    pub(crate) fn environment(&mut self, variables: &dyn Fn(&str) -> Option<String>) {
        for option in options_in(self.command, self.surroundings.dialect()) {
            for name in option.variables(self.command) {
                if let Some(value) = variables(name) {
                    self.variable(option, name, value);
                }
            }
        }
    }

    fn variable(&mut self, option: &'static Opt, name: &str, value: String) {
        let value = match option.takes {
            // A flag is set by an empty text, `yes` and any number but 0, and unset by all else.
            Takes::No => {
                let number = matches!(leading(&value), (Some(number), "") if number != 0);
                if !value.is_empty() && !value.eq_ignore_ascii_case("yes") && !number {
                    return;
                }
                None
            }
            Takes::Optional => Some(value).filter(|value| !value.is_empty()),
            Takes::Required => Some(value),
        };
        let span = Span::Variable(name.to_owned());
        let given = Given {
            option,
            value_span: value.as_ref().map(|_| span.clone()),
            value,
            written: name.to_owned(),
            span,
            origin: Origin::Environment,
        };
        self.read(vec![given]);
    }

    /// Reads options that were taken apart.
    pub(crate) fn read(&mut self, given: Vec<Given>) {
        for given in &given {
            self.set(given);
        }
        self.given.extend(given);
    }

    pub(crate) fn origin(&self, key: Key) -> Option<Origin> {
        self.options.origins.get(&key).copied()
    }

    /// True when the key was set by directives or the command line: what Slurm calls "by cli".
    pub(crate) fn by_hand(&self, key: Key) -> bool {
        self.origin(key)
            .is_some_and(|origin| origin != Origin::Environment)
    }

    fn set(&mut self, given: &Given) {
        let long = given.option.long;
        let key = match given.option.effect {
            Effect::Sets(key) => key,
            Effect::Nothing(why) => {
                let message = format!("--{long} has no effect here: {why}");
                return self.note("no-effect", given, message);
            }
            Effect::Refused(why) => {
                let message = format!("--{long} is refused here: {why}");
                let span = given.span.clone();
                return self
                    .diagnostics
                    .push(Diagnostic::error("not-here", span, message, 1));
            }
        };
        let value = given.value.as_deref();
        match self.apply(key, value, given) {
            Ok(()) => {
                self.options.origins.insert(key, given.origin);
            }
            Err(Wrong(code, message, exit)) => {
                let span = given.span.clone();
                self.diagnostics
                    .push(Diagnostic::error(code, span, message, exit));
            }
        }
    }

    fn note(&mut self, code: &'static str, given: &Given, message: String) {
        self.diagnostics
            .push(Diagnostic::note(code, given.span.clone(), message));
    }

    fn apply(&mut self, key: Key, value: Option<&str>, given: &Given) -> Result<(), Wrong> {
        let (command, long) = (self.command, given.option.long);
        let text = value.unwrap_or_default();
        let owned = || Some(text.to_owned());
        let invalid = || {
            Wrong(
                "invalid-value",
                format!("Invalid --{long} specification"),
                255,
            )
        };
        let number = |least| {
            let name = numeric_name(long);
            let number = parse_number(&name, text, least);
            number
                .map(Some)
                .map_err(|message| Wrong("invalid-value", message, 1))
        };
        let gpus = || match GpuCount::parse(text) {
            Some(gpus) => Ok(Some(gpus)),
            None => Err(wrong_gres()),
        };
        let o = &mut self.options;
        match key {
            Key::Account => o.account = owned(),
            Key::Array => {
                o.array = match ArraySpec::parse(text) {
                    Some(array) => Some(array),
                    // An empty text is no array.
                    None if text.is_empty() => None,
                    None => {
                        return Err(refused_by_controller(
                            command,
                            "Invalid job array specification",
                        ));
                    }
                }
            }
            Key::Begin => {
                let moment = self.moment(text, given)?;
                self.options.begin = moment;
            }
            Key::Deadline => {
                let moment = self.moment(text, given)?;
                self.options.deadline = moment;
                self.unheeded(given);
            }
            Key::Chdir => o.chdir = Some(self.surroundings.cwd.join(text)),
            Key::Clusters => o.clusters = owned(),
            Key::Comment => o.comment = owned(),
            Key::Constraint => o.constraint = owned(),
            Key::CpuBind => {
                o.cpu_bind = owned();
                if !matches!(text, "none" | "no" | "verbose" | "v" | "quiet" | "q") {
                    self.unheeded(given);
                }
            }
            Key::CpusPerGpu => o.cpus_per_gpu = number(1)?,
            Key::CpusPerTask => o.cpus_per_task = number(1)?,
            Key::Dependency => {
                o.dependency = match Dependency::parse(text) {
                    Some(dependency) => Some(dependency.to_string()),
                    None if text.is_empty() || text == "0" => None,
                    None => return Err(refused_by_controller(command, "Job dependency problem")),
                }
            }
            Key::DisableStatus => o.disable_status = true,
            Key::Distribution => self.distribution(text, given)?,
            Key::Error => o.error = Some(file(text)),
            Key::Exact => o.exact = true,
            Key::Exclude => o.exclude = names(text)?,
            Key::Exclusive => {
                o.exclusive = Some(match text.to_ascii_lowercase().as_str() {
                    "" | "exclusive" => Exclusive::Yes,
                    "user" => Exclusive::User,
                    "oversubscribe" | "mcs" => Exclusive::No,
                    _ => return Err(invalid()),
                })
            }
            Key::Export => o.export = Some(Export::parse(text)),
            Key::ExportFile => o.export_file = owned(),
            Key::GpuBind => {
                o.gpu_bind = owned();
                if !matches!(text, "none" | "gpu:none" | "gres/gpu:none") {
                    self.unheeded(given);
                }
            }
            Key::Gpus => o.gpus = gpus()?,
            Key::GpusPerNode => o.gpus_per_node = gpus()?,
            Key::GpusPerTask => o.gpus_per_task = gpus()?,
            Key::Gres => {
                o.gres = Some(GpuCount::parse_gres(text).map_err(|_| wrong_gres())?);
            }
            Key::Help => o.show = Some(Show::Help),
            Key::Usage => o.show = Some(Show::Usage),
            Key::Version => o.show = Some(Show::Version),
            Key::Hold => o.hold = true,
            Key::IgnorePbs => {}
            Key::Immediate => {
                o.immediate = match value {
                    Some(_) => number(0)?,
                    // Slurm's DEFAULT_IMMEDIATE: a second.
                    None => Some(1),
                }
            }
            Key::Input => o.input = Some(file(text)),
            Key::Interactive => {}
            Key::JobId => o.job = number(1)?.map(JobId),
            Key::JobName => o.job_name = owned(),
            Key::KillOnBadExit => {
                o.kill_on_bad_exit = match value {
                    Some(_) => number(0)?.map(|number| number != 0),
                    None => Some(true),
                }
            }
            Key::KillOnInvalidDep => {
                if !text.eq_ignore_ascii_case("yes") && !text.eq_ignore_ascii_case("no") {
                    return Err(invalid());
                }
                self.unheeded(given);
            }
            Key::Label => o.label = true,
            Key::Licenses => {
                return Err(refused_by_controller(
                    command,
                    "Invalid license specification",
                ));
            }
            Key::MailType => {
                let types = mail_type::parse_mail_types(text).ok_or_else(invalid)?;
                // Directives and command line add up, until 25.05.
                o.mail_types.extend(types);
            }
            Key::MailUser => o.mail_user = owned(),
            Key::Mem => {
                o.memory = Some(memory_size::parse_mebibytes(text).ok_or_else(invalid)?);
            }
            Key::MemPerCpu => {
                o.memory_per_cpu = Some(memory_size::parse_mebibytes(text).ok_or_else(invalid)?);
            }
            Key::MemPerGpu => {
                o.memory_per_gpu = Some(memory_size::parse_mebibytes(text).ok_or_else(invalid)?);
            }
            Key::MinCpus => {
                number(1)?;
                self.unheeded(given);
            }
            Key::Mpi => {
                o.mpi = owned();
                if text != "none" {
                    self.note(
                        "no-effect",
                        given,
                        format!("--mpi={text}: tasks find each other by SLURM_PROCID alone; no PMI server is started"),
                    );
                }
            }
            Key::MultiProg => {
                let message = "--multi-prog is refused here: start one srun a program, or branch on SLURM_PROCID";
                return Err(Wrong("not-here", message.to_owned(), 1));
            }
            Key::Nice => o.nice = nice(value)?,
            Key::NoRequeue => o.requeue = Some(false),
            Key::Requeue => o.requeue = Some(true),
            Key::NoShell => o.no_shell = true,
            Key::NodeFile => {
                let message = "--nodefile is refused here: name the nodes with --nodelist";
                return Err(Wrong("not-here", message.to_owned(), 1));
            }
            Key::NodeList => o.nodelist = names(text)?,
            Key::Nodes => {
                let nodes = NodeCount::parse(text);
                o.nodes = Some(nodes.map_err(|message| Wrong("invalid-value", message, 255))?);
            }
            Key::OpenMode => {
                o.open_mode = Some(match text.chars().next() {
                    Some('a' | 'A') => OpenMode::Append,
                    Some('t' | 'T') => OpenMode::Truncate,
                    _ => return Err(invalid()),
                })
            }
            Key::Output => o.output = Some(file(text)),
            Key::Overcommit => o.overcommit = true,
            Key::Overlap => o.overlap = true,
            Key::Parsable => o.parsable = true,
            Key::Partition => o.partition = owned(),
            Key::PreserveEnv => o.preserve_env = true,
            Key::Priority => o.priority = Some(priority(text)?),
            Key::Propagate => self.propagate(text, given)?,
            Key::Pty => o.pty = true,
            Key::Qos => o.qos = owned(),
            Key::Quiet => o.quiet = true,
            Key::QuitOnInterrupt => o.quit_on_interrupt = true,
            Key::Relative => o.relative = number(0)?,
            Key::Reservation => {
                o.reservation = owned();
                return Err(refused_by_controller(
                    command,
                    "Requested reservation is invalid",
                ));
            }
            Key::Signal => {
                let batch = self.command == Command::Sbatch;
                o.signal = Some(SignalSpec::parse(text, batch).ok_or_else(invalid)?);
            }
            Key::StepWait => o.step_wait = number(0)?,
            Key::Tasks => o.tasks = number(1)?,
            Key::TasksPerGpu => o.tasks_per_gpu = number(1)?,
            Key::TasksPerNode => o.tasks_per_node = number(1)?,
            Key::TestOnly => o.test_only = true,
            Key::Time => o.time = Some(TimeLimitRequest::parse(text).ok_or_else(invalid)?),
            Key::TimeMin => {
                TimeLimitRequest::parse(text).ok_or_else(invalid)?;
                self.unheeded(given);
            }
            Key::TresPerTask => self.tres_per_task(text, given)?,
            Key::Unbuffered => o.unbuffered = true,
            Key::Verbose => {
                o.verbose += match value.map(leading) {
                    Some((Some(number), "")) => u32::try_from(number).unwrap_or(0),
                    _ => 1,
                }
            }
            Key::WaitForEnd => o.wait_for_end = true,
            Key::Whole => o.whole = true,
            Key::Wrap => o.wrap = owned(),
        }
        Ok(())
    }

    /// Says that an option which was read changes nothing here.
    fn unheeded(&mut self, given: &Given) {
        let value = given.value.as_deref().unwrap_or_default();
        let message = format!("--{}={value} has no effect here", given.option.long);
        self.note("no-effect", given, message);
    }

    fn moment(&mut self, text: &str, given: &Given) -> Result<Option<Timestamp>, Wrong> {
        let around = self.surroundings;
        match parse_moment(text, around.now, around.zone) {
            Ok(moment) => Ok(Some(moment)),
            Err(line) => {
                let said = (!line.is_empty()).then(|| Diagnostic {
                    voice: crate::Voice::Bare,
                    ..Diagnostic::warning("invalid-value", given.span.clone(), line)
                });
                self.diagnostics.extend(said);
                let message = format!("Invalid --{} specification", given.option.long);
                Err(Wrong("invalid-value", message, 255))
            }
        }
    }

    fn distribution(&mut self, text: &str, given: &Given) -> Result<(), Wrong> {
        const WORDS: &[&str] = &[
            "block",
            "cyclic",
            "fcyclic",
            "plane",
            "arbitrary",
            "pack",
            "nopack",
            "*",
            "",
        ];
        let lower = text.to_ascii_lowercase();
        let known = lower.split([':', ',']).all(|word| {
            let word = word.split('=').next().unwrap_or(word);
            WORDS.contains(&word)
        });
        if lower == "plane" || lower == "plane=" {
            let message =
                "Invalid plane size or size not specified\nInvalid --distribution specification";
            return Err(Wrong("invalid-value", message.to_owned(), 255));
        }
        if !known || lower.starts_with("fcyclic") {
            let message = "Invalid --distribution specification".to_owned();
            return Err(Wrong("invalid-value", message, 255));
        }
        if !matches!(
            lower.as_str(),
            "block" | "*" | "block:block" | "block:cyclic" | "block:*"
        ) {
            self.note(
                "no-effect",
                given,
                format!(
                    "--distribution={text} has no effect here: ranks are dealt out node by node"
                ),
            );
        }
        Ok(())
    }

    fn propagate(&mut self, text: &str, given: &Given) -> Result<(), Wrong> {
        const LIMITS: &[&str] = &[
            "ALL", "NONE", "AS", "CORE", "CPU", "DATA", "FSIZE", "MEMLOCK", "NOFILE", "NPROC",
            "RSS", "STACK",
        ];
        for word in text.split(',').filter(|word| !word.is_empty()) {
            if !LIMITS.contains(&word.strip_prefix("RLIMIT_").unwrap_or(word)) {
                let message = format!("Bad rlimit name: {word}\n--propagate={text} is not valid.");
                return Err(Wrong("invalid-value", message, 1));
            }
        }
        self.unheeded(given);
        Ok(())
    }

    /// `cpu=4,gres/gpu:v100=1`, or with `:` where 24.05 has `=`.
    fn tres_per_task(&mut self, text: &str, given: &Given) -> Result<(), Wrong> {
        for part in text.split(',').filter(|part| !part.is_empty()) {
            let gpus = part
                .strip_prefix("gres/gpu")
                .or_else(|| part.strip_prefix("gres:gpu"));
            let number = part
                .strip_prefix("cpu")
                .map(|rest| rest.trim_start_matches(['=', ':']));
            match (gpus.map(|rest| rest.trim_start_matches(['=', ':'])), number) {
                (Some(""), _) => {
                    self.options.gpus_per_task = Some(GpuCount {
                        kind: None,
                        count: 1,
                    })
                }
                (Some(rest), _) if GpuCount::parse(rest).is_some() => {
                    self.options.gpus_per_task = GpuCount::parse(rest);
                }
                (None, Some(number)) if number.parse::<u32>().is_ok_and(|number| number > 0) => {
                    self.options.cpus_per_task = number.parse().ok();
                }
                _ => {
                    let message = format!("Invalid --{} argument: {text}", given.option.long);
                    return Err(Wrong("invalid-value", message, 255));
                }
            }
        }
        Ok(())
    }
}

/// The name that Slurm's sentence about a wrong number has for an option.
fn numeric_name(long: &str) -> String {
    match long {
        "immediate" => "immediate".to_owned(),
        "tasks-per-node" => "--ntasks-per-node".to_owned(),
        long => format!("--{long}"),
    }
}

/// `none` is `/dev/null`.
fn file(text: &str) -> String {
    if text.eq_ignore_ascii_case("none") {
        return "/dev/null".to_owned();
    }
    text.to_owned()
}

/// Reads a node list; names given twice count once.
fn names(text: &str) -> Result<Vec<NodeName>, Wrong> {
    let mut names = node_list::expand(text).map_err(|error| {
        let message = match error.detail() {
            Some(detail) => format!("{detail}\n{error}"),
            None => error.to_string(),
        };
        Wrong("invalid-value", message, 1)
    })?;
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    Ok(names)
}

/// `--nice[=N]`: what `strtoll` makes of a text, 0 of most.
fn nice(value: Option<&str>) -> Result<i64, Wrong> {
    const MOST: i64 = 2_147_483_645;
    let number = match value {
        Some(text) => leading(text).0.unwrap_or(0),
        None => 100,
    };
    if number.checked_abs().is_none_or(|size| size > MOST) {
        let message = format!("Invalid --nice value, out of range (+/- {MOST})");
        return Err(Wrong("invalid-value", message, 255));
    }
    Ok(number)
}

/// `--priority=N|TOP`.
fn priority(text: &str) -> Result<u32, Wrong> {
    const MOST: u32 = 0xffff_fffe;
    if text.eq_ignore_ascii_case("TOP") {
        return Ok(MOST - 1);
    }
    let number = leading(text).0.unwrap_or(0);
    if number < 0 {
        return Err(Wrong(
            "invalid-value",
            "Priority must be >= 0".to_owned(),
            255,
        ));
    }
    let number = u32::try_from(number).ok().filter(|number| *number < MOST);
    number.ok_or_else(|| Wrong("invalid-value", format!("Priority must be < {MOST}"), 255))
}

/// What slurmctld would say, in the words of the command that it says it to.
fn refused_by_controller(command: Command, message: &str) -> Wrong {
    let before = match command {
        Command::Sbatch => "Batch job submission failed",
        Command::Salloc => "Failed to allocate resources",
        Command::Srun => "Unable to allocate resources",
    };
    Wrong("refused", format!("{before}: {message}"), 1)
}

/// GPUs are the only generic resource here.
fn wrong_gres() -> Wrong {
    let message = "Invalid generic resource (gres) specification";
    Wrong("refused", message.to_owned(), 1)
}
