//! Every option of `sbatch`, `salloc` and `srun`, once.
//!
//! Parsers, `yard run`'s flags and help texts read this table. Names, letters, order (it shows in
//! the message for an ambiguous abbreviation) and input variables are those of 22.05, with those
//! that came up to 25.05 behind. An option that has no effect here says so when it is used: none
//! is ignored in silence.

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
    Account, Array, Begin, Chdir, Clusters, Comment, Constraint, CpuBind, CpusPerGpu,
    CpusPerTask, Deadline, Dependency, DisableStatus, Distribution, Error, Exact, Exclude,
    Exclusive, Export, ExportFile, GpuBind, Gpus, GpusPerNode, GpusPerTask, Gres, Help, Hold,
    IgnorePbs, Immediate, Input, Interactive, JobId, JobName, KillOnBadExit, KillOnInvalidDep,
    Label, Licenses, MailType, MailUser, Mem, MemPerCpu, MemPerGpu, MinCpus, Mpi, MultiProg,
    Nice, NoRequeue, NoShell, NodeFile, NodeList, Nodes, OpenMode, Output, Overcommit, Overlap,
    Parsable, Partition, PreserveEnv, Priority, Propagate, Pty, Qos, Quiet, QuitOnInterrupt,
    Relative, Requeue, Reservation, Signal, StepWait, Tasks, TasksPerGpu, TasksPerNode, TestOnly,
    Time, TimeMin, TresPerTask, Unbuffered, Usage, Verbose, Version, WaitForEnd, Whole, Wrap,
}

/// An option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opt {
    /// Its long name, without dashes.
    pub long: &'static str,
    /// Its letter.
    pub short: Option<char>,
    /// Whether a value follows.
    pub takes: Takes,
    /// What it does.
    pub effect: Effect,
    /// One line for help texts.
    pub help: &'static str,
    /// Came after 22.05: an abbreviation that 22.05 understands goes before it.
    pub later: bool,
    commands: u8,
    environment: &'static str,
}

impl Opt {
    /// True when the command knows it.
    #[must_use]
    pub fn is_of(&self, command: Command) -> bool {
        self.commands & command.bit() != 0
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
            known && (own.iter().any(|prefix| name.starts_with(prefix)) || OF_ALL.contains(name))
        })
    }
}

/// Input variables that every command reads, whatever their names begin with.
const OF_ALL: &[&str] = &["SLURM_CLUSTERS", "SLURM_HINT"];

/// Finds an option by its whole long name; where commands differ (`--wait`), `sbatch`'s.
#[must_use]
pub fn find(long: &str) -> Option<&'static Opt> {
    OPTIONS.iter().find(|option| option.long == long)
}

/// Finds a command's option by its whole long name.
#[must_use]
pub fn find_of(command: Command, long: &str) -> Option<&'static Opt> {
    options_of(command).find(|option| option.long == long)
}

/// The options of a command, in the table's order.
pub fn options_of(command: Command) -> impl Iterator<Item = &'static Opt> {
    OPTIONS.iter().filter(move |option| option.is_of(command))
}

const SBATCH: u8 = 1;
const SALLOC: u8 = 2;
const SRUN: u8 = 4;
const SBATCH_SALLOC: u8 = SBATCH | SALLOC;
const SBATCH_SRUN: u8 = SBATCH | SRUN;
const SALLOC_SRUN: u8 = SALLOC | SRUN;
const ALL: u8 = SBATCH | SALLOC | SRUN;

const fn row(
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
        effect,
        help,
        later: false,
        commands,
        environment,
    }
}

const fn later(
    long: &'static str,
    letter: char,
    takes: Takes,
    commands: u8,
    effect: Effect,
    environment: &'static str,
    help: &'static str,
) -> Opt {
    let mut option = row(long, letter, takes, commands, effect, environment, help);
    option.later = true;
    option
}

use Effect::{Nothing, Refused, Sets};
use Takes::{No, Optional, Required};

/// The table: name, letter, value, commands, what it does, input variables, help.
#[rustfmt::skip]
pub const OPTIONS: &[Opt] = &[
    row("accel-bind", ' ', Required, SRUN, Nothing("tasks are not bound to devices near their CPUs"), "", "Bind tasks to the GPUs or network cards next to their CPUs"),
    row("account", 'A', Required, ALL, Sets(Key::Account), "SBATCH_ACCOUNT SALLOC_ACCOUNT SLURM_ACCOUNT", "Charge the job to this account"),
    row("acctg-freq", ' ', Required, ALL, Nothing("nothing is sampled for accounting"), "SBATCH_ACCTG_FREQ SALLOC_ACCTG_FREQ SLURM_ACCTG_FREQ", "How often to sample for accounting"),
    row("array", 'a', Required, SBATCH, Sets(Key::Array), "SBATCH_ARRAY_INX", "Submit an array of jobs, such as 0-15 or 0-30:5%2"),
    row("batch", ' ', Required, SBATCH, Nothing("the batch script runs on the only machine"), "SBATCH_BATCH", "Features that the node of the batch script must have"),
    row("bcast", ' ', Optional, SRUN, Nothing("tasks read the program from the same disk"), "SLURM_BCAST", "Copy the program to the nodes first"),
    row("bcast-exclude", ' ', Required, SRUN, Nothing("tasks read the program from the same disk"), "SLURM_BCAST_EXCLUDE", "Libraries that --bcast leaves out"),
    row("begin", 'b', Required, ALL, Sets(Key::Begin), "", "Start no earlier, such as now+1hour, 16:00 or 2030-01-20T12:34"),
    row("bell", ' ', No, SALLOC, Nothing("no bell is rung"), "SALLOC_BELL", "Ring the terminal bell when the allocation is there"),
    row("bb", ' ', Required, ALL, Refused("there is no burst buffer"), "SBATCH_BURST_BUFFER SALLOC_BURST_BUFFER SLURM_BURST_BUFFER", "Burst buffer to use"),
    row("bbf", ' ', Required, ALL, Refused("there is no burst buffer"), "", "File that describes the burst buffer to use"),
    row("cluster-constraint", ' ', Required, ALL, Nothing("there is one cluster"), "SBATCH_CLUSTER_CONSTRAINT SALLOC_CLUSTER_CONSTRAINT SLURM_CLUSTER_CONSTRAINT", "Features that the cluster must have"),
    row("chdir", 'D', Required, ALL, Sets(Key::Chdir), "SLURM_REMOTE_CWD SLURM_WORKING_DIR", "Run in this folder"),
    row("cluster", ' ', Required, ALL, Sets(Key::Clusters), "", "Clusters to submit to (the same as --clusters)"),
    row("clusters", 'M', Required, ALL, Sets(Key::Clusters), "SBATCH_CLUSTERS SLURM_CLUSTERS SALLOC_CLUSTERS", "Clusters to submit to"),
    row("comment", ' ', Required, ALL, Sets(Key::Comment), "", "A word about the job"),
    row("compress", ' ', Optional, SRUN, Nothing("tasks read the program from the same disk"), "SLURM_COMPRESS", "Compress what --bcast copies"),
    row("container", ' ', Required, ALL, Refused("OCI bundles are not run; start the container in the script"), "SBATCH_CONTAINER SALLOC_CONTAINER SRUN_CONTAINER", "Run in this OCI container bundle"),
    row("context", ' ', Required, ALL, Nothing("names no more than accounting would"), "", "Name of a context, for plugins"),
    row("contiguous", ' ', No, ALL, Nothing("there is one machine"), "", "Take nodes that stand side by side"),
    row("constraint", 'C', Required, ALL, Sets(Key::Constraint), "SBATCH_CONSTRAINT SALLOC_CONSTRAINT SLURM_CONSTRAINT", "Features that the nodes must have"),
    row("core-spec", 'S', Required, ALL, Nothing("no cores are set aside for the system"), "SBATCH_CORE_SPEC SALLOC_CORE_SPEC SLURM_CORE_SPEC", "Cores to set aside for the system"),
    row("cores-per-socket", ' ', Required, ALL, Nothing("sockets are not told apart"), "SLURM_NCORES_PER_SOCKET", "Take nodes with at least so many cores a socket"),
    row("cpu-bind", ' ', Required, SRUN, Sets(Key::CpuBind), "SLURM_CPU_BIND", "How to bind tasks to CPUs"),
    row("cpu_bind", ' ', Required, SRUN, Sets(Key::CpuBind), "", "How to bind tasks to CPUs (the same as --cpu-bind)"),
    row("cpu-freq", ' ', Required, ALL, Nothing("the speed of CPUs is left alone"), "SBATCH_CPU_FREQ_REQ SALLOC_CPU_FREQ_REQ SLURM_CPU_FREQ_REQ", "Speed of the CPUs"),
    row("cpus-per-gpu", ' ', Required, ALL, Sets(Key::CpusPerGpu), "SBATCH_CPUS_PER_GPU SALLOC_CPUS_PER_GPU SLURM_CPUS_PER_GPU", "CPUs for each GPU"),
    row("cpus-per-task", 'c', Required, ALL, Sets(Key::CpusPerTask), "SLURM_CPUS_PER_TASK SRUN_CPUS_PER_TASK", "CPUs for each task"),
    row("deadline", ' ', Required, ALL, Sets(Key::Deadline), "", "Drop the job if it can not end before this moment"),
    row("debugger-test", ' ', No, SRUN, Nothing("no debugger is asked"), "", "Start as a parallel debugger would"),
    row("delay-boot", ' ', Required, ALL, Nothing("nothing is booted"), "SBATCH_DELAY_BOOT SALLOC_DELAY_BOOT SLURM_DELAY_BOOT", "Wait so long before nodes are booted"),
    row("dependency", 'd', Required, ALL, Sets(Key::Dependency), "SLURM_DEPENDENCY", "Start after other jobs, such as afterok:42"),
    row("disable-status", 'X', No, SRUN, Sets(Key::DisableStatus), "SLURM_DISABLE_STATUS", "End at the first Ctrl-C instead of showing the status"),
    row("distribution", 'm', Required, ALL, Sets(Key::Distribution), "SBATCH_DISTRIBUTION SLURM_DISTRIBUTION", "How tasks are dealt out to nodes"),
    row("epilog", ' ', Required, SRUN, Nothing("no program is run after the step"), "SLURM_EPILOG", "Program that srun runs after the step"),
    row("error", 'e', Required, SBATCH_SRUN, Sets(Key::Error), "SBATCH_ERROR SLURM_STDERRMODE SRUN_ERROR", "File for the error output; %j is the job, %x its name"),
    row("exact", ' ', No, SRUN, Sets(Key::Exact), "SLURM_EXACT", "Give the step no more CPUs than it asks for"),
    row("exclude", 'x', Required, ALL, Sets(Key::Exclude), "", "Nodes to leave out"),
    row("exclusive", ' ', Optional, ALL, Sets(Key::Exclusive), "SBATCH_EXCLUSIVE SALLOC_EXCLUSIVE SLURM_EXCLUSIVE", "Share the nodes with no other job"),
    row("export", ' ', Required, SBATCH_SRUN, Sets(Key::Export), "SBATCH_EXPORT SLURM_EXPORT_ENV SRUN_EXPORT_ENV", "Variables that the job gets: ALL, NONE, NIL or a list"),
    row("export-file", ' ', Required, SBATCH, Sets(Key::ExportFile), "", "File with the variables that the job gets"),
    row("extra-node-info", 'B', Required, ALL, Nothing("sockets are not told apart"), "", "Take nodes with so many sockets, cores and threads"),
    row("get-user-env", ' ', Optional, SBATCH_SALLOC, Nothing("the job gets the environment of the submission"), "SBATCH_GET_USER_ENV", "Make the environment anew from a login"),
    row("gid", ' ', Required, ALL, Refused("only root may, and its jobs are its own"), "", "Run with this group"),
    row("gpu-bind", ' ', Required, ALL, Sets(Key::GpuBind), "SBATCH_GPU_BIND SALLOC_GPU_BIND SLURM_GPU_BIND", "How to bind tasks to GPUs"),
    row("gpu-freq", ' ', Required, ALL, Nothing("the speed of GPUs is left alone"), "SBATCH_GPU_FREQ SALLOC_GPU_FREQ SLURM_GPU_FREQ", "Speed of the GPUs"),
    row("gpus", 'G', Required, ALL, Sets(Key::Gpus), "SBATCH_GPUS SALLOC_GPUS SLURM_GPUS", "GPUs of the job in all, as [TYPE:]NUMBER"),
    row("gpus-per-node", ' ', Required, ALL, Sets(Key::GpusPerNode), "SBATCH_GPUS_PER_NODE SALLOC_GPUS_PER_NODE SLURM_GPUS_PER_NODE", "GPUs on each node, as [TYPE:]NUMBER"),
    row("gpus-per-socket", ' ', Required, ALL, Refused("sockets are not told apart; use --gpus-per-node"), "SBATCH_GPUS_PER_SOCKET SALLOC_GPUS_PER_SOCKET SLURM_GPUS_PER_SOCKET", "GPUs on each socket, as [TYPE:]NUMBER"),
    row("gpus-per-task", ' ', Required, ALL, Sets(Key::GpusPerTask), "SBATCH_GPUS_PER_TASK SALLOC_GPUS_PER_TASK SLURM_GPUS_PER_TASK", "GPUs for each task, as [TYPE:]NUMBER"),
    row("gres", ' ', Required, ALL, Sets(Key::Gres), "SBATCH_GRES SALLOC_GRES SLURM_GRES", "Generic resources on each node, such as gpu:v100:2"),
    row("gres-flags", ' ', Required, ALL, Nothing("GPUs are not bound to sockets"), "SBATCH_GRES_FLAGS SALLOC_GRES_FLAGS SLURM_GRES_FLAGS", "How generic resources follow the CPUs"),
    row("help", 'h', No, ALL, Sets(Key::Help), "", "Print the options"),
    row("het-group", ' ', Required, SRUN, Refused("there are no heterogeneous jobs"), "", "Components of a heterogeneous job to start the step on"),
    row("hint", ' ', Required, ALL, Nothing("threads and cores are not told apart"), "SLURM_HINT SBATCH_HINT SALLOC_HINT", "Hint about the program, such as nomultithread"),
    row("hold", 'H', No, ALL, Sets(Key::Hold), "", "Submit held: scontrol release lets it start"),
    row("ignore-pbs", ' ', No, SBATCH, Sets(Key::IgnorePbs), "SBATCH_IGNORE_PBS", "Leave #PBS and #BSUB lines unread"),
    row("immediate", 'I', Optional, SALLOC_SRUN, Sets(Key::Immediate), "SALLOC_IMMEDIATE", "Give up when nothing is free within so many seconds"),
    row("input", 'i', Required, SBATCH_SRUN, Sets(Key::Input), "SBATCH_INPUT SLURM_STDINMODE SRUN_INPUT", "File for the input"),
    row("interactive", ' ', No, SRUN, Sets(Key::Interactive), "", "Step that salloc starts its shell in"),
    row("jobid", ' ', Required, SRUN, Sets(Key::JobId), "SLURM_JOB_ID", "Start the step in this job"),
    row("job-name", 'J', Required, ALL, Sets(Key::JobName), "SBATCH_JOB_NAME SLURM_JOB_NAME", "Name of the job"),
    row("kill-command", 'K', Optional, SALLOC, Nothing("the command is ended with SIGTERM"), "SALLOC_KILL_CMD", "Signal that ends the command of salloc when its time is over"),
    row("kill-on-bad-exit", 'K', Optional, SRUN, Sets(Key::KillOnBadExit), "SLURM_KILL_BAD_EXIT", "End the step when a task ends badly"),
    row("kill-on-invalid-dep", ' ', Required, SBATCH, Sets(Key::KillOnInvalidDep), "", "End the job when its dependency can no longer be met (yes or no)"),
    row("label", 'l', No, SRUN, Sets(Key::Label), "SLURM_LABELIO", "Put the number of the task before each line"),
    row("licenses", 'L', Required, ALL, Sets(Key::Licenses), "", "Licences that the job needs"),
    row("mail-type", ' ', Required, ALL, Sets(Key::MailType), "", "When to send mail: BEGIN, END, FAIL, REQUEUE, ALL …"),
    row("mail-user", ' ', Required, ALL, Sets(Key::MailUser), "", "Whom to send mail"),
    row("threads", 'T', Required, SRUN, Nothing("steps are started at once"), "SLURM_THREADS", "Threads that srun starts the step with"),
    row("mcs-label", ' ', Required, ALL, Nothing("jobs carry no security label"), "", "Label of multi-category security"),
    row("mem", ' ', Required, ALL, Sets(Key::Mem), "SBATCH_MEM_PER_NODE SALLOC_MEM_PER_NODE SLURM_MEM_PER_NODE", "Memory on each node, such as 16G; 0 is all of it"),
    row("mem-bind", ' ', Required, ALL, Nothing("memory is not bound"), "SBATCH_MEM_BIND SALLOC_MEM_BIND SLURM_MEM_BIND", "How to bind tasks to memory"),
    row("mem-per-cpu", ' ', Required, ALL, Sets(Key::MemPerCpu), "SBATCH_MEM_PER_CPU SALLOC_MEM_PER_CPU SLURM_MEM_PER_CPU", "Memory for each CPU"),
    row("mem-per-gpu", ' ', Required, ALL, Sets(Key::MemPerGpu), "SBATCH_MEM_PER_GPU SALLOC_MEM_PER_GPU SLURM_MEM_PER_GPU", "Memory for each GPU"),
    row("mincpus", ' ', Required, ALL, Sets(Key::MinCpus), "", "Take nodes with at least so many CPUs"),
    row("mpi", ' ', Required, SRUN, Sets(Key::Mpi), "SLURM_MPI_TYPE", "Kind of MPI to start"),
    row("msg-timeout", ' ', Required, SRUN, Nothing("nothing is sent over a network"), "", "Time for messages between nodes"),
    row("multi-prog", ' ', No, SRUN, Sets(Key::MultiProg), "SLURM_SRUN_MULTI", "Run several programs as a file tells"),
    row("network", ' ', Required, ALL, Nothing("the network is left alone"), "SBATCH_NETWORK SALLOC_NETWORK SLURM_NETWORK", "What to ask of the network"),
    row("nice", ' ', Optional, ALL, Sets(Key::Nice), "", "Lower the priority (100 without a number)"),
    row("no-allocate", 'Z', No, SRUN, Refused("a step needs a job"), "", "Start without an allocation"),
    row("no-bell", ' ', No, SALLOC, Nothing("no bell is rung"), "SALLOC_NO_BELL", "Do not ring the terminal bell"),
    row("no-kill", 'k', Optional, ALL, Nothing("one machine fails as a whole"), "SBATCH_NO_KILL SALLOC_NO_KILL SLURM_NO_KILL", "Keep the job when one of its nodes fails"),
    row("no-shell", ' ', No, SALLOC, Sets(Key::NoShell), "", "Take the allocation and end, without a command"),
    row("no-requeue", ' ', No, SBATCH, Sets(Key::NoRequeue), "SBATCH_NO_REQUEUE", "Never put the job back into the queue"),
    row("nodefile", 'F', Required, ALL, Sets(Key::NodeFile), "", "File with the nodes to take"),
    row("nodelist", 'w', Required, ALL, Sets(Key::NodeList), "", "Nodes to take, such as n[1-3]"),
    row("nodes", 'N', Required, ALL, Sets(Key::Nodes), "SLURM_JOB_NUM_NODES", "Nodes, as N or MIN-MAX"),
    row("ntasks", 'n', Required, ALL, Sets(Key::Tasks), "SLURM_NPROCS SLURM_NTASKS", "Tasks in all"),
    row("ntasks-per-core", ' ', Required, ALL, Nothing("threads and cores are not told apart"), "SLURM_NTASKS_PER_CORE", "Tasks on each core at most"),
    row("ntasks-per-gpu", ' ', Required, ALL, Sets(Key::TasksPerGpu), "SLURM_NTASKS_PER_GPU", "Tasks for each GPU"),
    row("ntasks-per-node", ' ', Required, ALL, Sets(Key::TasksPerNode), "SLURM_NTASKS_PER_NODE", "Tasks on each node"),
    row("ntasks-per-socket", ' ', Required, ALL, Nothing("sockets are not told apart"), "", "Tasks on each socket at most"),
    row("ntasks-per-tres", ' ', Required, ALL, Sets(Key::TasksPerGpu), "SLURM_NTASKS_PER_TRES", "Tasks for each GPU (the old name of --ntasks-per-gpu)"),
    row("open-mode", ' ', Required, SBATCH_SRUN, Sets(Key::OpenMode), "SBATCH_OPEN_MODE SLURM_OPEN_MODE", "Append to output files, or truncate them"),
    row("output", 'o', Required, SBATCH_SRUN, Sets(Key::Output), "SBATCH_OUTPUT SLURM_STDOUTMODE SRUN_OUTPUT", "File for the output; %j is the job, %x its name"),
    row("overcommit", 'O', No, ALL, Sets(Key::Overcommit), "SBATCH_OVERCOMMIT SALLOC_OVERCOMMIT SLURM_OVERCOMMIT", "Let several tasks share a CPU"),
    row("overlap", ' ', Optional, SRUN, Sets(Key::Overlap), "SLURM_OVERLAP", "Let the step share what other steps hold"),
    row("oversubscribe", 's', No, ALL, Nothing("whether jobs share CPUs is not up to a job"), "", "Let other jobs share the nodes"),
    row("pack-group", ' ', Required, SRUN, Refused("there are no heterogeneous jobs"), "", "Components of a heterogeneous job (the old name of --het-group)"),
    row("parsable", ' ', No, SBATCH, Sets(Key::Parsable), "", "Print the id of the job and nothing else"),
    row("partition", 'p', Required, ALL, Sets(Key::Partition), "SBATCH_PARTITION SALLOC_PARTITION SLURM_PARTITION", "Partition to run in"),
    row("power", ' ', Required, ALL, Nothing("power is left alone"), "SBATCH_POWER SALLOC_POWER SLURM_POWER", "Flags of power management"),
    row("prefer", ' ', Required, ALL, Nothing("there is one machine"), "", "Features that the nodes should rather have"),
    row("preserve-env", 'E', No, SRUN, Sets(Key::PreserveEnv), "", "Keep SLURM_NNODES and SLURM_NTASKS of the job in the step"),
    row("priority", ' ', Required, ALL, Sets(Key::Priority), "", "Priority of the job"),
    row("profile", ' ', Required, ALL, Nothing("nothing is profiled"), "SBATCH_PROFILE SALLOC_PROFILE SLURM_PROFILE", "What to profile"),
    row("prolog", ' ', Required, SRUN, Nothing("no program is run before the step"), "SLURM_PROLOG", "Program that srun runs before the step"),
    row("propagate", ' ', Optional, SBATCH_SRUN, Sets(Key::Propagate), "", "Resource limits that the job takes over"),
    row("pty", ' ', Optional, SRUN, Sets(Key::Pty), "", "Give the first task a terminal"),
    row("qos", 'q', Required, ALL, Sets(Key::Qos), "SBATCH_QOS SALLOC_QOS SLURM_QOS", "Quality of service"),
    row("quiet", 'Q', No, ALL, Sets(Key::Quiet), "", "Say nothing that is not an error"),
    row("quit-on-interrupt", ' ', No, SRUN, Sets(Key::QuitOnInterrupt), "", "End at the first Ctrl-C"),
    row("reboot", ' ', No, ALL, Refused("the machine is not booted for a job"), "", "Boot the nodes first"),
    row("relative", 'r', Required, SRUN, Sets(Key::Relative), "", "Start the step at this node of the job, counted from 0"),
    row("requeue", ' ', No, SBATCH, Sets(Key::Requeue), "SBATCH_REQUEUE", "Let the job be put back into the queue"),
    row("reservation", ' ', Required, ALL, Sets(Key::Reservation), "SBATCH_RESERVATION SALLOC_RESERVATION SLURM_RESERVATION", "Reservation to run in"),
    row("resv-ports", ' ', Optional, ALL, Nothing("no ports are set aside"), "SLURM_RESV_PORTS", "Ports to set aside"),
    row("send-libs", ' ', Optional, SRUN, Nothing("tasks read the program from the same disk"), "SLURM_SEND_LIBS", "Send the libraries with what --bcast copies"),
    row("signal", ' ', Required, ALL, Sets(Key::Signal), "SBATCH_SIGNAL SALLOC_SIGNAL SLURM_SIGNAL", "Send a signal before the end, as [B:]SIGNAL[@SECONDS]"),
    row("slurmd-debug", ' ', Required, SRUN, Nothing("there is no such daemon"), "SLURMD_DEBUG", "How much the daemon says"),
    row("sockets-per-node", ' ', Required, ALL, Nothing("sockets are not told apart"), "SLURM_NSOCKETS_PER_NODE", "Take nodes with at least so many sockets"),
    row("spread-job", ' ', No, ALL, Nothing("there is one machine"), "SBATCH_SPREAD_JOB SALLOC_SPREAD_JOB SLURM_SPREAD_JOB", "Spread over as many nodes as can be"),
    row("switches", ' ', Required, ALL, Nothing("there is one machine"), "SBATCH_REQ_SWITCH SALLOC_REQ_SWITCH SLURM_REQ_SWITCH", "Take nodes behind at most so many switches"),
    row("task-epilog", ' ', Required, SRUN, Nothing("no program is run after a task"), "SLURM_TASK_EPILOG", "Program that runs after each task"),
    row("task-prolog", ' ', Required, SRUN, Nothing("no program is run before a task"), "SLURM_TASK_PROLOG", "Program that runs before each task"),
    row("tasks-per-node", ' ', Required, ALL, Sets(Key::TasksPerNode), "", "Tasks on each node (the same as --ntasks-per-node)"),
    row("test-only", ' ', No, SBATCH_SRUN, Sets(Key::TestOnly), "", "Say when the job would start, and do not submit it"),
    row("thread-spec", ' ', Required, ALL, Nothing("no threads are set aside for the system"), "SBATCH_THREAD_SPEC SALLOC_THREAD_SPEC SLURM_THREAD_SPEC", "Threads to set aside for the system"),
    row("threads-per-core", ' ', Required, ALL, Nothing("threads and cores are not told apart"), "SBATCH_THREADS_PER_CORE SALLOC_THREADS_PER_CORE SLURM_THREADS_PER_CORE", "Take nodes with at least so many threads a core"),
    row("time", 't', Required, ALL, Sets(Key::Time), "SBATCH_TIMELIMIT SALLOC_TIMELIMIT SLURM_TIMELIMIT", "Longest run time, such as 30, 10:00, 24:00:00 or 2-12"),
    row("time-min", ' ', Required, ALL, Sets(Key::TimeMin), "", "Shortest run time that is still of use"),
    row("tmp", ' ', Required, ALL, Nothing("the disk is shared"), "", "Take nodes with so much temporary disk"),
    row("uid", ' ', Required, ALL, Refused("only root may, and its jobs are its own"), "", "Run as this user"),
    row("unbuffered", 'u', No, SRUN, Sets(Key::Unbuffered), "SLURM_UNBUFFEREDIO", "Pass output on at once, not in whole lines"),
    row("use-min-nodes", ' ', No, ALL, Nothing("the least number of nodes is always taken"), "SBATCH_USE_MIN_NODES SALLOC_USE_MIN_NODES SLURM_USE_MIN_NODES", "Take the least number of nodes"),
    row("verbose", 'v', No, ALL, Sets(Key::Verbose), "SBATCH_DEBUG SALLOC_DEBUG SLURM_DEBUG", "Say more"),
    row("version", 'V', No, ALL, Sets(Key::Version), "", "Print the version"),
    row("usage", ' ', No, ALL, Sets(Key::Usage), "", "Print the options in brief"),
    row("wait", 'W', No, SBATCH, Sets(Key::WaitForEnd), "SBATCH_WAIT", "Wait until the job has ended and end as it did"),
    row("wait-all-nodes", ' ', Required, SBATCH_SALLOC, Nothing("the machine is there when the job starts"), "SBATCH_WAIT_ALL_NODES SALLOC_WAIT_ALL_NODES", "Wait until all nodes are booted"),
    row("wait", 'W', Required, SRUN, Sets(Key::StepWait), "SLURM_WAIT", "Seconds to wait for other tasks after the first one ended"),
    row("wckey", ' ', Required, ALL, Nothing("nothing is counted under keys"), "SBATCH_WCKEY SALLOC_WCKEY SLURM_WCKEY", "Key to count the job under"),
    row("whole", ' ', No, SRUN, Sets(Key::Whole), "", "Give the step all that the job has on its nodes"),
    row("wrap", ' ', Required, SBATCH, Sets(Key::Wrap), "", "Run this command line as the script"),
    row("x11", ' ', Optional, SALLOC_SRUN, Refused("no display is passed on; use ssh -X"), "", "Pass X11 windows on"),
    later("autocomplete", ' ', Required, ALL, Refused("completions come from yard completions"), "", "Print completions"),
    later("container-id", ' ', Required, ALL, Refused("OCI bundles are not run; start the container in the script"), "SBATCH_CONTAINER_ID SALLOC_CONTAINER_ID SRUN_CONTAINER_ID", "Name of the container"),
    later("external", ' ', No, SBATCH, Refused("a job without a script can not be submitted"), "", "Submit a job that runs elsewhere"),
    later("external-launcher", ' ', Optional, SRUN, Refused("launchers of others start their own processes"), "SLURM_EXTERNAL_LAUNCHER", "Make a step for another launcher"),
    later("extra", ' ', Required, ALL, Nothing("names no more than accounting would"), "", "A word for plugins"),
    later("oom-kill-step", ' ', Optional, ALL, Nothing("the kernel chooses what it kills"), "SLURM_OOM_KILL_STEP", "End the whole step when memory runs out"),
    later("segment", ' ', Required, ALL, Nothing("there is one machine"), "SBATCH_SEGMENT_SIZE SALLOC_SEGMENT_SIZE SRUN_SEGMENT_SIZE", "Nodes of each block"),
    later("stepmgr", ' ', No, ALL, Nothing("steps are always made this way"), "", "Let the job manage its own steps"),
    later("treewidth", ' ', Required, SRUN, Nothing("nothing is sent over a network"), "", "Width of the tree that messages go through"),
    later("tres-bind", ' ', Required, ALL, Sets(Key::GpuBind), "SBATCH_TRES_BIND SALLOC_TRES_BIND SLURM_TRES_BIND", "How to bind tasks to resources, such as gres/gpu:none"),
    later("tres-per-task", ' ', Required, ALL, Sets(Key::TresPerTask), "SBATCH_TRES_PER_TASK SALLOC_TRES_PER_TASK SLURM_TRES_PER_TASK", "Resources for each task, such as cpu=4,gres/gpu=1"),
    later("wait-for-children", ' ', No, SRUN, Nothing("a step ends when its processes are gone"), "", "Wait for the children of tasks"),
];

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
