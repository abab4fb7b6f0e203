//! Every option of `sbatch`, `salloc` and `srun`, once: what a row of the table holds, and how rows
//! are found. The rows are in `option_rows.rs`.
//!
//! Parsers, `yard run`'s flags, lint and help texts read this table. It knows 22.05 to 25.11; an
//! option that changed its form has a row for each. The embedded engine speaks 22.05's language
//! with what came later; an option that has no effect there says so when it is used: none is
//! ignored in silence.

use crate::values::SlurmVersion;

pub use crate::options::option_rows::OPTIONS;

/// One of Slurm's commands that ask for resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Submits a script.
    Sbatch,
    /// Takes an allocation and runs a command beside it.
    Salloc,
    /// Runs tasks.
    Srun,
}

impl Command {
    /// Its name as it is typed.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Command::Sbatch => "sbatch",
            Command::Salloc => "salloc",
            Command::Srun => "srun",
        }
    }

    fn bit(self) -> u8 {
        match self {
            Command::Sbatch => SBATCH,
            Command::Salloc => SALLOC,
            Command::Srun => SRUN,
        }
    }
}

/// Whether a value follows an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Never.
    No,
    /// Always: `--name=x`, `--name x`, `-nx`, `-n x`.
    Required,
    /// Only where it is glued on: `--name=x`, `-nx`.
    Optional,
}

/// What an option does here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Sets what the key names.
    Sets(Key),
    /// Nothing, and using it says so, with this reason.
    Nothing(&'static str),
    /// It is refused, with this reason.
    Refused(&'static str),
}

/// What an option sets; two names of one thing have one key.
#[expect(missing_docs, reason = "the row of the table with the key tells what it is")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[rustfmt::skip]
pub enum Key {
    AccelBind, Account, AcctgFreq, Array, Bcast, Begin, BurstBuffer, BurstBufferFile, Chdir, Clusters,
    Comment, Constraint, ContainerEntrypoint, ContainerEntrypointLog, ContainerEnv, ContainerImage,
    ContainerMountHome, ContainerMounts, ContainerName, ContainerRemapRoot, ContainerSave,
    ContainerWorkdir, ContainerWritable, Contiguous, CoreSpec, CoresPerSocket, CpuBind, CpuFreq, CpusPerGpu,
    CpusPerTask, Deadline, DelayBoot, Dependency, DisableStatus, Distribution, Error, Exact,
    Exclude, Exclusive, Export, ExportFile, ExtraNodeInfo, GetUserEnv, Gid, GpuBind, GpuFreq, Gpus,
    GpusPerNode, GpusPerSocket, GpusPerTask, Gres, GresFlags, Help, HetGroup, Hint, Hold, IgnorePbs,
    Immediate, Input, Interactive, JobId, JobName, KillCommand, KillOnBadExit, KillOnInvalidDep,
    Label, Licenses, MailType, MailUser, Mem, MemBind, MemPerCpu, MemPerGpu, MinCpus, Mpi,
    MultiProg, Network, Nice, NoKill, NoRequeue, NoShell, NodeFile, NodeList, Nodes, Number,
    OpenMode, Output, Overcommit, Overlap, Oversubscribe, Parsable, Partition, PositiveNumber,
    Prefer, PreserveEnv, Priority, Profile, Propagate, Pty, Qos, Quiet, QuitOnInterrupt, Reboot, Relative,
    Requeue, Reservation, ResvPorts, SendLibs, Signal, SocketsPerNode, SpreadJob, SrunEpilog, SrunProlog, StepWait,
    Switches, TaskEpilog, TaskProlog, Tasks, TasksPerCore, TasksPerGpu, TasksPerNode, TasksPerSocket, TasksPerTres, TestOnly, ThreadSpec,
    ThreadsPerCore, Time, TimeMin, Tmp, TresPerTask, Uid, Unbuffered, Usage, UseMinNodes, Verbose, Version,
    WaitAllNodes, WaitForEnd, Wckey, Whole, Wrap,
}

/// An option, in one of its forms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opt {
    /// Its long name, without dashes.
    pub long: &'static str,
    /// Its letter.
    pub short: Option<char>,
    /// Whether a value follows.
    pub takes: Takes,
    /// What it sets, or how its value is checked; `None` takes any text and keeps nothing. Two
    /// names of one thing have one key.
    pub key: Option<Key>,
    /// What it does on the embedded engine.
    pub effect: Effect,
    /// One line for help texts.
    pub help: &'static str,
    /// The first version that has it in this form; [`SlurmVersion::V22_05`] stands for "or older".
    pub since: SlurmVersion,
    /// The first version that has it no more, or has it in another form.
    pub until: Option<SlurmVersion>,
    /// The plugin that brings it, where it is not Slurm's own: `pyxis`.
    pub plugin: Option<&'static str>,
    /// What of a row that sets something is not so on the embedded engine: it says so when it is used,
    /// or refuses it.
    pub but: Option<&'static str>,
    /// What is not so on this machine is so on a cluster of several nodes.
    pub on_nodes: bool,
    embedded: bool,
    commands: u8,
    environment: &'static str,
}

impl Opt {
    /// True when the command knows it, in any version.
    #[must_use]
    pub fn is_of(&self, command: Command) -> bool {
        self.commands & command.bit() != 0
    }

    /// True when that version has it in this form.
    #[must_use]
    pub fn is_in(&self, version: SlurmVersion) -> bool {
        self.since <= version && self.until.is_none_or(|until| version < until)
    }

    /// The variables that the command reads it from; a later one goes before an earlier one.
    pub fn variables(&self, command: Command) -> impl Iterator<Item = &'static str> {
        let own: &[&str] = match command {
            Command::Sbatch => &["SBATCH_"],
            Command::Salloc => &["SALLOC_"],
            Command::Srun => &["SLURM_", "SLURMD_", "SRUN_"],
        };
        let known = self.is_of(command);
        self.environment.split_whitespace().filter(move |name| {
            let is_own = own.iter().any(|prefix| name.starts_with(prefix));
            known && (is_own || OF_ALL.contains(name) || name.starts_with("PYXIS_"))
        })
    }

    /// The variables that the command of a dialect reads it from; a later one goes before an earlier
    /// one.
    pub fn variables_in(
        &self,
        command: Command,
        dialect: Dialect,
    ) -> impl Iterator<Item = &'static str> {
        self.variables(command).filter(move |name| {
            let Dialect::Slurm { version, .. } = dialect else {
                return true;
            };
            let mut rows = VARIABLES.iter().filter(|(known, ..)| known == name);
            rows.all(|(_, since, until)| {
                *since <= version && until.is_none_or(|until| version < until)
            })
        })
    }

    pub(crate) const fn key(mut self, key: Key) -> Opt {
        self.key = Some(key);
        self
    }

    pub(crate) const fn since(mut self, version: SlurmVersion) -> Opt {
        self.since = version;
        self
    }

    pub(crate) const fn until(mut self, version: SlurmVersion) -> Opt {
        self.until = Some(version);
        self
    }

    /// A form that the embedded engine does not have: it has another one of the same name.
    pub(crate) const fn not_here(mut self) -> Opt {
        self.embedded = false;
        self
    }

    pub(crate) const fn but(mut self, what: &'static str) -> Opt {
        self.but = Some(what);
        self
    }

    /// On a cluster of several nodes it does what it says.
    pub(crate) const fn on_nodes(mut self) -> Opt {
        self.on_nodes = true;
        self
    }

    pub(crate) const fn plugin(mut self, name: &'static str) -> Opt {
        self.plugin = Some(name);
        self
    }
}

/// The plugin that runs containers for `--container-image` and its like.
pub const PYXIS: &str = "pyxis";

/// Input variables that came or went on their own, with the first version that has them and the
/// first that has them no more.
const VARIABLES: &[(&str, SlurmVersion, Option<SlurmVersion>)] = &[
    ("SALLOC_SEGMENT_SIZE", SlurmVersion::V25_05, None),
    ("SBATCH_SEGMENT_SIZE", SlurmVersion::V25_05, None),
    ("SLURM_CPUS_PER_TASK", SlurmVersion::V23_11, None),
    ("SLURM_NTASKS_PER_CORE", SlurmVersion::V23_02, None),
    (
        "SRUN_CPUS_PER_TASK",
        SlurmVersion::V22_05,
        Some(SlurmVersion::V23_11),
    ),
    ("SRUN_ERROR", SlurmVersion::V23_02, None),
    ("SRUN_INPUT", SlurmVersion::V23_02, None),
    ("SRUN_OUTPUT", SlurmVersion::V23_02, None),
    ("SRUN_SEGMENT_SIZE", SlurmVersion::V25_05, None),
];

/// Input variables that every command reads, whatever their names begin with.
const OF_ALL: &[&str] = &["SLURM_CLUSTERS", "SLURM_HINT"];

/// Whose commands read the words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// The embedded engine's: 22.05's options and all that came later, which an abbreviation that
    /// 22.05 understands goes before.
    Embedded,
    /// A real Slurm's.
    Slurm {
        /// Which one's.
        version: SlurmVersion,
        /// Whether the Pyxis plugin is loaded there.
        pyxis: bool,
    },
}

impl Dialect {
    /// True when that dialect has the option in this form.
    #[must_use]
    pub fn has(self, option: &Opt) -> bool {
        match self {
            Dialect::Embedded => option.embedded,
            Dialect::Slurm { version, pyxis } => {
                option.is_in(version) && (pyxis || option.plugin != Some(PYXIS))
            }
        }
    }
}

/// The long name, without dashes, of the first option that sets this.
#[must_use]
pub fn long_name(key: Key) -> &'static str {
    let mut options = OPTIONS.iter();
    let found = options.find(|option| option.key == Some(key));
    found.map_or("", |option| option.long)
}

/// Finds an option of the embedded engine by its whole long name; where commands differ
/// (`--wait`), `sbatch`'s.
#[must_use]
pub fn find(long: &str) -> Option<&'static Opt> {
    let here = |option: &&Opt| option.embedded && option.long == long;
    OPTIONS.iter().find(here)
}

/// Finds a command's option of the embedded engine by its whole long name.
#[must_use]
pub fn find_of(command: Command, long: &str) -> Option<&'static Opt> {
    options_of(command).find(|option| option.long == long)
}

/// The options of a command of the embedded engine, in the table's order.
pub fn options_of(command: Command) -> impl Iterator<Item = &'static Opt> {
    options_in(command, Dialect::Embedded)
}

/// The options of a command in a dialect, in the table's order.
pub fn options_in(command: Command, dialect: Dialect) -> impl Iterator<Item = &'static Opt> {
    let known = move |option: &&Opt| option.is_of(command) && dialect.has(option);
    OPTIONS.iter().filter(known)
}

pub(crate) const SBATCH: u8 = 1;
pub(crate) const SALLOC: u8 = 2;
pub(crate) const SRUN: u8 = 4;
pub(crate) const SBATCH_SALLOC: u8 = SBATCH | SALLOC;
pub(crate) const SBATCH_SRUN: u8 = SBATCH | SRUN;
pub(crate) const SALLOC_SRUN: u8 = SALLOC | SRUN;
pub(crate) const ALL: u8 = SBATCH | SALLOC | SRUN;

pub(crate) const fn row(
    long: &'static str,
    letter: char,
    takes: Takes,
    commands: u8,
    effect: Effect,
    environment: &'static str,
    help: &'static str,
) -> Opt {
    let short = if letter == ' ' { None } else { Some(letter) };
    Opt {
        long,
        short,
        takes,
        key: match effect {
            Effect::Sets(key) => Some(key),
            Effect::Nothing(_) | Effect::Refused(_) => None,
        },
        effect,
        help,
        since: SlurmVersion::V22_05,
        until: None,
        plugin: None,
        but: None,
        on_nodes: false,
        embedded: true,
        commands,
        environment,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn names_and_letters_are_given_once_a_command() {
        for command in [Command::Sbatch, Command::Salloc, Command::Srun] {
            let mut names = HashSet::new();
            let mut letters = HashSet::new();
            for option in options_of(command) {
                assert!(names.insert(option.long), "{} twice", option.long);
                if let Some(short) = option.short {
                    assert!(letters.insert(short), "-{short} twice");
                }
            }
        }
    }

    #[test]
    fn every_row_can_be_shown() {
        for option in OPTIONS {
            assert!(option.commands != 0, "{} is of no command", option.long);
            assert!(
                !option.help.is_empty() && !option.help.ends_with('.'),
                "{}",
                option.long
            );
        }
    }

    #[test]
    fn variables_are_read_by_their_own_command() {
        let variables = |command, long| -> Vec<&str> {
            find_of(command, long).map_or(Vec::new(), |option| option.variables(command).collect())
        };
        assert_eq!(variables(Command::Sbatch, "time"), ["SBATCH_TIMELIMIT"]);
        assert_eq!(
            variables(Command::Srun, "ntasks"),
            ["SLURM_NPROCS", "SLURM_NTASKS"]
        );
        assert_eq!(variables(Command::Sbatch, "ntasks"), [""; 0]);
        assert_eq!(
            variables(Command::Sbatch, "clusters"),
            ["SBATCH_CLUSTERS", "SLURM_CLUSTERS"]
        );
    }
}
