//! What each option does with its value.

use crate::options::given::{Given, Origin};
use crate::options::given_options::Exclusive;
use crate::options::option_table::{Command, Key};
use crate::options::option_texts::{exclusive, file, nice, priority, switches};
use crate::options::reading::Reading;
use crate::options::{Show, value_check};
use crate::values::licences::parse_licences;
use crate::values::number::{leading, parse_number};
use crate::values::{
    ArraySpec, Distribution, Export, JobId, NodeCount, OpenMode, PassedLimits, SignalSpec,
    TimeLimitRequest, memory_size, signal_spec,
};

/// What `--kill-command` sends where it names nothing.
const SIGTERM: i32 = 15;

/// What is wrong with a value: a diagnostic's code, Slurm's words, and the exit status of its
/// command.
pub(crate) struct Wrong(pub(crate) &'static str, pub(crate) String, pub(crate) u8);

impl Reading<'_> {
    /// Sets what an option names, or tells what is wrong with its value.
    pub(crate) fn apply(&mut self, key: Key, given: &Given) -> Result<(), Wrong> {
        let long = given.option.long;
        let value = given.value.as_deref();
        let text = value.unwrap_or_default();
        let owned = || Some(text.to_owned());
        let invalid = || invalid(format!("Invalid --{long} specification"));
        let version = self.surroundings.version;
        let number = |least| {
            let number = parse_number(&numeric_name(long), text, least, version);
            number.map(Some).map_err(wrong_number)
        };
        let mebibytes = || {
            memory_size::parse_mebibytes(text)
                .map(Some)
                .ok_or_else(invalid)
        };
        let may_be_another = self.surroundings.by_root && self.command == Command::Sbatch;
        let o = &mut self.options;
        match key {
            Key::AccelBind => {
                if !text.contains(['v', 'g', 'n']) {
                    return Err(invalid());
                }
            }
            Key::Account => o.account = owned(),
            Key::AcctgFreq => {
                value_check::accounting_frequency(text)?;
                o.accounting_frequency = owned();
            }
            Key::Array => self.array(text, given),
            Key::Bcast => o.bcast = Some(text.to_owned()),
            Key::Begin => self.options.begin = self.moment(text, given)?,
            Key::BurstBuffer => o.burst_buffer = true,
            Key::BurstBufferFile => o.burst_buffer_file = true,
            Key::Chdir => o.chdir = Some(self.surroundings.cwd.join(text)),
            Key::Clusters => o.clusters = owned(),
            Key::Comment => o.comment = owned(),
            Key::Constraint => {
                o.constraint = owned().filter(|features| !features.is_empty());
                self.features(text, given);
            }
            Key::ContainerEntrypoint => o.container.entrypoint = !long.starts_with("no-"),
            Key::ContainerEntrypointLog => {}
            Key::ContainerEnv => {
                o.container.variables = text.split(',').map(str::to_owned).collect();
                if o.container.variables.iter().any(String::is_empty) {
                    let message = format!("pyxis: --container-env: invalid format: {text}");
                    return Err(Wrong("invalid-value", message, 1));
                }
            }
            Key::ContainerImage | Key::ContainerWorkdir | Key::ContainerSave if text.is_empty() => {
                let message = format!("pyxis: --{long}: argument required");
                return Err(Wrong("invalid-value", message, 1));
            }
            Key::ContainerImage => o.container.image = owned(),
            Key::ContainerMountHome => o.container.mount_home = !long.starts_with("no-"),
            Key::ContainerMounts => {
                o.container.mounts.clear();
                let added = o.container.add_mounts(text);
                added.map_err(|message| Wrong("invalid-value", message, 1))?;
            }
            Key::ContainerName => {
                let named = o.container.set_name(text);
                named.map_err(|message| Wrong("invalid-value", message, 1))?;
            }
            Key::ContainerRemapRoot => o.container.root = !long.starts_with("no-"),
            Key::ContainerSave => o.container.save = owned(),
            Key::ContainerWorkdir => o.container.workdir = owned(),
            Key::ContainerWritable => o.container.writable = long != "container-readonly",
            Key::Contiguous => o.contiguous = true,
            Key::CoreSpec => o.core_spec = number(0)?,
            Key::CoresPerSocket => o.cores_per_socket = number(1)?,
            Key::CpuBind if value_check::asks_for_help(text) => o.show = Some(Show::CpuBind),
            Key::CpuBind => {
                value_check::cpu_bind(text)?;
                o.cpu_bind = owned();
            }
            Key::CpuFreq => {
                value_check::cpu_frequency(text)?;
                o.cpu_frequency = owned();
            }
            Key::CpusPerGpu => o.cpus_per_gpu = number(1)?,
            Key::CpusPerTask => o.cpus_per_task = number(1)?,
            Key::Deadline => self.options.deadline = self.moment(text, given)?,
            Key::DelayBoot => {
                TimeLimitRequest::parse(text).ok_or_else(invalid)?;
            }
            Key::Dependency => self.dependency(text, given),
            Key::DisableStatus => o.disable_status = true,
            Key::Distribution => {
                let dealt = Distribution::parse(text);
                o.distribution =
                    Some(dealt.map_err(|message| Wrong("invalid-value", message, 255))?);
            }
            Key::Error => o.error = Some(file(text)),
            Key::Exact => o.exact = true,
            Key::Exclude => self.exclude(text, given),
            Key::Exclusive => o.exclusive = Some(exclusive(text, version).ok_or_else(invalid)?),
            Key::Export => o.export = Some(Export::parse(text)),
            Key::ExportFile => o.export_file = owned(),
            Key::ExtraNodeInfo => {
                self.extra_node_info(text)?;
                self.binds_alone(given);
            }
            Key::GetUserEnv => {
                value_check::user_environment(text).ok_or_else(invalid)?;
                o.get_user_env = true;
            }
            Key::Gid if may_be_another => o.gid = owned(),
            Key::Uid if may_be_another => o.uid = owned(),
            // What is refused says so.
            Key::Gid | Key::Uid if self.surroundings.by_root => {}
            Key::Gid | Key::Uid => {
                let message = format!("--{long} only permitted by root user");
                return Err(Wrong("invalid-value", message, 255));
            }
            Key::GpuBind => {
                value_check::gpu_bind(long, text, version)?;
                o.gpu_bind = Some(match long {
                    "gpu-bind" => format!("gpu:{text}"),
                    _ => text.to_owned(),
                });
                if text.to_ascii_lowercase().contains("closest") {
                    self.unheeded(given);
                }
            }
            Key::GpuFreq => {
                value_check::gpu_frequency(text)?;
                o.gpu_frequency = Some(format!("gpu:{text}"));
            }
            Key::Gpus => self.options.gpus = self.gpus(text, given),
            Key::GpusPerNode => self.options.gpus_per_node = self.gpus(text, given),
            Key::GpusPerSocket => self.options.gpus_per_socket = self.gpus(text, given),
            Key::GpusPerTask => self.options.gpus_per_task = self.gpus(text, given),
            Key::Gres if text == "help" => o.show = Some(Show::Gres),
            Key::Gres => self.gres(text, given),
            Key::GresFlags => {
                value_check::gres_flags(text, version, self.command)?;
                let flags = text.to_ascii_lowercase();
                o.enforce_binding = flags.contains("enforce-binding");
                if flags.contains("disable-binding") {
                    let message = "--gres-flags=disable-binding has no effect here: CPUs near GPUs go first, and no others are refused";
                    self.note("no-effect", given, message.to_owned());
                }
            }
            Key::Help => o.show = Some(Show::Help),
            Key::Usage => o.show = Some(Show::Usage),
            Key::Version => o.show = Some(Show::Version),
            Key::HetGroup => {
                let groups = ArraySpec::parse(text).ok_or_else(|| {
                    let range = text
                        .split(',')
                        .find(|part| ArraySpec::parse(part).is_none());
                    let range = range.unwrap_or(text);
                    let message = format!(
                        "_parse_single_range: Invalid range: `{range}'\nInvalid --{long} value: \
                         {text}"
                    );
                    Wrong("invalid-value", message, 1)
                })?;
                o.het_groups = groups.indices;
            }
            Key::Hint => {
                o.hint = owned();
                self.binds_alone(given);
            }
            Key::Hold => o.hold = true,
            Key::IgnorePbs => o.ignore_pbs = true,
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
            Key::KillCommand => {
                o.kill_command = match value {
                    Some("") | None => Some(SIGTERM),
                    Some(text) => Some(signal_spec::parse_signal(text).ok_or_else(invalid)?),
                };
            }
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
                o.kill_on_invalid_dep = Some(text.eq_ignore_ascii_case("yes"));
            }
            Key::Label => o.label = true,
            Key::Licenses => {
                o.licenses = owned();
                if parse_licences(text).is_none() {
                    self.refuse_as_controller(given, "Invalid license specification");
                }
            }
            Key::MailType => self.mail_type(text, given).ok_or_else(invalid)?,
            Key::MailUser => o.mail_user = owned(),
            Key::Mem => o.memory = mebibytes()?,
            Key::MemBind if value_check::asks_for_help(text) => o.show = Some(Show::MemBind),
            Key::MemBind => {
                value_check::memory_bind(text, version)?;
                o.memory_bind = owned();
            }
            Key::MemPerCpu => o.memory_per_cpu = mebibytes()?,
            Key::MemPerGpu => o.memory_per_gpu = mebibytes()?,
            Key::MinCpus => {
                o.min_cpus = number(1)?;
                self.unheeded(given);
            }
            Key::Mpi if text == "list" => o.show = Some(Show::Mpi),
            Key::Mpi => {
                o.mpi = owned();
                if text != "none" {
                    let message = format!(
                        "--mpi={text}: tasks find each other by SLURM_PROCID alone; no PMI server is started"
                    );
                    self.note("no-effect", given, message);
                }
            }
            Key::MultiProg => o.multi_prog = true,
            Key::Network => o.network = owned(),
            Key::Nice => o.nice = nice(value)?,
            Key::NoKill => o.no_kill = value_check::no_kill(text).ok_or_else(invalid)?,
            Key::NoRequeue => o.requeue = Some(false),
            Key::Requeue => {
                o.requeue = Some(true);
                // A variable says by its value that it is set.
                if let Some(value) = value.filter(|_| given.origin != Origin::Environment) {
                    // 25.11 looks for `expedite` and takes all else without a word.
                    let message = format!("--requeue={value} is --requeue alone here");
                    self.note("no-effect", given, message);
                }
            }
            Key::NoShell => o.no_shell = true,
            Key::NodeFile => o.node_file = owned(),
            Key::NodeList => self.nodelist(text),
            Key::Nodes => {
                let nodes = NodeCount::parse_in(version, text);
                o.nodes = Some(nodes.map_err(|message| Wrong("invalid-value", message, 255))?);
            }
            Key::Number => {
                number(0)?;
            }
            Key::OpenMode => {
                o.open_mode = Some(match text.chars().next() {
                    Some('a' | 'A') => OpenMode::Append,
                    Some('t' | 'T') => OpenMode::Truncate,
                    _ => return Err(invalid()),
                })
            }
            Key::Output => o.output = Some(file(text)),
            Key::Overcommit => {
                o.overcommit = true;
                self.unheeded(given);
            }
            Key::Overlap => o.overlap = true,
            Key::Oversubscribe => o.exclusive = Some(Exclusive::No),
            Key::Parsable => o.parsable = true,
            Key::Partition => o.partition = owned(),
            Key::PositiveNumber => {
                number(1)?;
            }
            Key::Prefer => {
                o.prefer = owned();
                self.features(text, given);
            }
            Key::PreserveEnv => o.preserve_env = true,
            Key::SrunProlog => o.programs.prolog = owned(),
            Key::SrunEpilog => o.programs.epilog = owned(),
            Key::TaskProlog => o.programs.task_prolog = owned(),
            Key::TaskEpilog => o.programs.task_epilog = owned(),
            Key::Priority => o.priority = Some(priority(text)?),
            Key::Profile => {
                value_check::profile(text)?;
                o.profile = owned();
            }
            Key::Propagate => {
                // The command looks at it when all else is read.
                o.propagate = Some(PassedLimits::parse(text));
            }
            Key::Pty => o.pty = true,
            Key::Qos => o.qos = owned(),
            Key::Quiet => o.quiet += 1,
            Key::QuitOnInterrupt => o.quit_on_interrupt = true,
            Key::Reboot => o.reboot = true,
            Key::Relative => o.relative = number(0)?,
            Key::Reservation => o.reservation = owned().filter(|name| !name.is_empty()),
            Key::ResvPorts => {
                o.reserved_ports = match value {
                    Some(_) => number(0)?,
                    None => None,
                };
            }
            Key::SendLibs => value_check::send_libraries(text).ok_or_else(invalid)?,
            Key::Signal => {
                let batch = self.command == Command::Sbatch;
                let signal = SignalSpec::parse_in(version, text, batch).ok_or_else(invalid)?;
                o.signal = Some(signal);
                if signal.signal > signal_spec::GREATEST {
                    let message = format!("--signal={text} names no signal of this system");
                    self.refuse(given, "not-here", message);
                }
            }
            Key::SocketsPerNode => o.sockets_per_node = number(1)?,
            Key::SpreadJob => o.spread = true,
            Key::UseMinNodes => o.use_min_nodes = true,
            Key::StepWait => o.step_wait = number(0)?,
            Key::Switches => {
                // A variable has the count alone.
                if given.origin == Origin::Environment {
                    number(1)?;
                }
                o.switches = Some(switches(text, version)?);
            }
            Key::Tasks => o.tasks = number(1)?,
            Key::TasksPerCore => {
                o.tasks_per_core = number(1)?;
                self.binds_alone(given);
            }
            Key::TasksPerGpu => o.tasks_per_gpu = number(1)?,
            Key::TasksPerNode => o.tasks_per_node = number(1)?,
            Key::TasksPerSocket => {
                o.tasks_per_socket = number(1)?;
                self.binds_alone(given);
            }
            Key::TasksPerTres => o.tasks_per_tres = number(1)?,
            Key::TestOnly => o.test_only = true,
            Key::ThreadSpec => o.thread_spec = number(1)?,
            Key::ThreadsPerCore => {
                o.threads_per_core = number(1)?;
                self.binds_alone(given);
            }
            Key::Time => o.time = Some(TimeLimitRequest::parse(text).ok_or_else(invalid)?),
            Key::TimeMin => {
                o.time_min = Some(TimeLimitRequest::parse(text).ok_or_else(invalid)?);
            }
            Key::Tmp => o.tmp = mebibytes()?,
            Key::TresPerTask => self.tres_per_task(text, given)?,
            Key::Unbuffered => o.unbuffered = true,
            Key::Verbose => {
                let more = match value {
                    Some(text) => times_of_variable(text)?,
                    None => 1,
                };
                o.verbose = o.verbose.saturating_add(more);
            }
            Key::WaitAllNodes => {
                if number(0)?.is_some_and(|number| number > 1) {
                    return Err(invalid());
                }
            }
            Key::WaitForEnd => o.wait_for_end = true,
            Key::Wckey => o.wckey = owned(),
            Key::Whole => o.whole = true,
            Key::Wrap => o.wrap = owned(),
        }
        Ok(())
    }
}

pub(crate) fn invalid(message: String) -> Wrong {
    Wrong("invalid-value", message, 255)
}

/// Slurm's commands end with 1 at a wrong number, wherever it stands.
pub(crate) fn wrong_number(message: String) -> Wrong {
    Wrong("invalid-value", message, 1)
}

/// How often `SBATCH_DEBUG` and its like say `--verbose`.
fn times_of_variable(text: &str) -> Result<u32, Wrong> {
    if text.is_empty() {
        return Ok(0);
    }
    let number = leading(text)
        .0
        .and_then(|number| u32::try_from(number).ok());
    number.ok_or_else(|| wrong_number(format!("Invalid numeric value \"{text}\" for --verbose.")))
}

/// The name that Slurm's sentence about a wrong number has for an option.
fn numeric_name(long: &str) -> String {
    match long {
        "immediate" => "immediate".to_owned(),
        "tasks-per-node" => "--ntasks-per-node".to_owned(),
        "resv-ports" => "--resv-port".to_owned(),
        long => format!("--{long}"),
    }
}
