//! The recorded transcripts, and how each is played.

/// A transcript, and the command lines of it that are answered otherwise, under the reasons. That list
/// may only become shorter: `UPDATE_EXPECT=1` takes out those that agree. How they are answered stands beside it
/// (`own.txt`), but for those behind `~`, whose answers hang on the machine or the moment.
pub(crate) struct Part {
    pub(crate) recorded: &'static str,
    /// Lines of the cluster's configuration beside those that all have.
    pub(crate) conf: &'static str,
    /// Where GPUs are, on nodes with two sockets.
    pub(crate) gres_conf: Option<&'static str>,
    pub(crate) differ: &'static str,
    /// The list's file, in the folder of the tests.
    pub(crate) file: &'static str,
    /// Names whose values follow from what ran before and when.
    pub(crate) hidden: &'static [&'static str],
    /// Each job has its recorded number, also behind one that is refused here.
    pub(crate) keeps_numbers: bool,
    /// The names of jobs that run until they are cancelled; `-7`: but for job 7, which ends by itself.
    pub(crate) sleepers: &'static [&'static str],
    /// The beginning of the commands whose answers are compared; the others are run.
    pub(crate) only: &'static str,
}

/// The part of a folder, of which nothing is to be known but what stands there.
macro_rules! part {
    ($folder:literal) => {
        Part {
            recorded: include_str!(concat!($folder, "/answers-22.05.8.txt")),
            conf: "",
            gres_conf: None,
            differ: include_str!(concat!($folder, "/differ.txt")),
            file: concat!($folder, "/differ.txt"),
            hidden: &[],
            keeps_numbers: false,
            sleepers: &[],
            only: "",
        }
    };
}

/// The jobs of most transcripts that run until they are cancelled.
const SLEEPERS: &[&str] = &["fast", "runs", "on3"];

pub(crate) const FIRST: Part = Part {
    sleepers: SLEEPERS,
    ..part!("manage")
};

/// What was recorded later, on the same cluster without jobs.
pub(crate) const LATER: Part = Part {
    sleepers: SLEEPERS,
    ..part!("manage/later")
};

/// 165 ways to ask for resources: each job, and the environment of its script and of its first task.
pub(crate) const ENVIRONMENT: Part = Part {
    hidden: &["Priority=", " Scheduler="],
    keeps_numbers: true,
    sleepers: SLEEPERS,
    ..part!("manage/environment")
};

/// Jobs that are held while they wait and while they run.
pub(crate) const HOLD: Part = Part {
    keeps_numbers: true,
    sleepers: SLEEPERS,
    ..part!("manage/hold")
};

/// What is changed of jobs that wait and that run.
pub(crate) const UPDATES: Part = Part {
    hidden: &["Priority=", " Scheduler="],
    keeps_numbers: true,
    sleepers: SLEEPERS,
    ..part!("manage/updates")
};

/// Jobs that are queued again and held, with the state SPECIAL_EXIT too.
pub(crate) const REQUEUE: Part = Part {
    keeps_numbers: true,
    sleepers: &["wrap"],
    ..part!("manage/requeue")
};

/// Every key that `scontrol update` takes of jobs that wait, run and are over.
pub(crate) const JOB_KEYS: Part = Part {
    hidden: &["Priority=", " Scheduler="],
    keeps_numbers: true,
    sleepers: &["wrap"],
    ..part!("manage/job_keys")
};

/// `sacct`, option by option and field by field.
pub(crate) const SACCT: Part = Part {
    keeps_numbers: true,
    sleepers: &["runs"],
    ..part!("manage/sacct")
};

/// Small things of many commands: what is told with `-v` and `-Q`, files that there are not, commands that are
/// read one by one.
pub(crate) const CORNERS: Part = Part {
    keeps_numbers: true,
    sleepers: &["runs"],
    ..part!("manage/corners")
};

/// Settings of QOS and associations, their numbers, and options of `sacctmgr`.
pub(crate) const SETTINGS: Part = Part {
    hidden: &["UsageRaw/Norm/Efctv=", "SharesRaw/Norm/Level/Factor="],
    keeps_numbers: true,
    ..part!("manage/settings")
};

/// Running jobs that give back nodes.
pub(crate) const RESIZE: Part = Part {
    // Whether the script or its `srun` is ended first by a signal to both is an accident.
    hidden: &["Priority=", " Scheduler=", " ExitCode="],
    keeps_numbers: true,
    sleepers: &["wrap"],
    ..part!("manage/resize")
};

/// The end and the limit of a running job.
pub(crate) const END_TIME: Part = Part {
    keeps_numbers: true,
    sleepers: &["wrap"],
    ..part!("manage/end_time")
};

/// Moments in a form of one's own.
pub(crate) const TIME_FORMAT: Part = Part {
    keeps_numbers: true,
    sleepers: SLEEPERS,
    ..part!("manage/time_format")
};

/// Arrays of which elements run, wait and are over, and what waits for whole arrays.
pub(crate) const ARRAYS: Part = Part {
    keeps_numbers: true,
    sleepers: &["runs", "run1"],
    ..part!("manage/arrays")
};

/// Lists of nodes that can't all be changed, what becomes of a job that loses its node, and variables that
/// Slurm's commands read.
pub(crate) const LOST: Part = Part {
    keeps_numbers: true,
    sleepers: SLEEPERS,
    ..part!("manage/lost")
};

/// What `srun --verbose` says of the options that it was given.
pub(crate) const SRUN_VERBOSE: Part = part!("manage/srun_verbose");

/// Heterogeneous jobs: what is said and done of their components, and their steps.
pub(crate) const HET: Part = Part {
    hidden: &["Priority=", " Scheduler="],
    sleepers: &["a", "b", "c"],
    ..part!("manage/het")
};

/// Files that name nodes, and tasks that follow a list of nodes.
pub(crate) const NODE_LISTS: Part = Part {
    keeps_numbers: true,
    sleepers: SLEEPERS,
    ..part!("manage/node_lists")
};

/// What programs read of the configuration, GPUs at sockets, jobs of several partitions, and jobs that are over.
pub(crate) const LOOKS: Part = Part {
    gres_conf: Some(include_str!("manage/gpu_sockets/gres.conf")),
    keeps_numbers: true,
    sleepers: &["runs", "two", "alloc", "true"],
    ..part!("manage/looks")
};

/// Which CPUs and GPUs jobs get where GPUs are at sockets, with and without `--gres-flags`.
pub(crate) const GPU_SOCKETS: Part = Part {
    gres_conf: Some(include_str!("manage/gpu_sockets/gres.conf")),
    keeps_numbers: true,
    sleepers: SLEEPERS,
    ..part!("manage/gpu_sockets")
};

/// What tasks of steps see of their GPUs.
pub(crate) const GPU_BIND: Part = Part {
    keeps_numbers: true,
    sleepers: SLEEPERS,
    ..part!("manage/gpu_bind")
};

/// Which nodes and GPUs steps get, and what is said of them.
pub(crate) const STEPS: Part = Part {
    keeps_numbers: true,
    sleepers: SLEEPERS,
    ..part!("manage/steps")
};

/// Nodes and partitions that are changed, made and removed.
pub(crate) const CHANGES: Part = Part {
    sleepers: SLEEPERS,
    ..part!("manage/changes")
};

/// Reservations that are made, changed and used.
pub(crate) const RESERVATIONS: Part = Part {
    keeps_numbers: true,
    sleepers: &[
        "drawn", "first", "inside", "-7", "job", "more", "others", "outside", "over", "two",
    ],
    ..part!("manage/reservations")
};

/// Nodes that are not there yet, and nodes that are made.
pub(crate) const FUTURE: Part = Part {
    conf: include_str!("manage/future/slurm.conf"),
    sleepers: &["runs"],
    ..part!("manage/future")
};

/// Licences that reservations keep.
pub(crate) const LICENCES: Part = Part {
    conf: include_str!("manage/licences/slurm.conf"),
    keeps_numbers: true,
    sleepers: &["fits", "inside", "inlic"],
    ..part!("manage/licences")
};

/// What `sinfo` prints of nodes in all states, option by option and column by column.
pub(crate) const SINFO: Part = Part {
    conf: include_str!("manage/sinfo/slurm.conf"),
    sleepers: SLEEPERS,
    ..part!("manage/sinfo")
};

/// `sshare`, `sdiag`, `sprio`, `sstat`, `sattach` and `salloc`, option by option and column by column.
pub(crate) const OPTIONS: Part = Part {
    hidden: &[
        "allocation ",
        "SLURM_JOB_ID=",
        "SLURM_JOBID=",
        "SLURM_TASK_PID=",
        "JobId=",
    ],
    keeps_numbers: true,
    sleepers: &["fast", "runs", "no-shell"],
    ..part!("manage/options")
};

/// What sacctmgr shows beside accounts, and what the controller keeps of them.
pub(crate) const ACCOUNTING: Part = Part {
    hidden: &[
        "UsageRaw/Norm/Efctv=",
        "UsageRaw=",
        "SharesRaw/Norm/Level/Factor=",
        "GrpWall=",
        "GrpTRESMins=",
        "GrpTRESRunMins=",
    ],
    sleepers: &["counts", "wrap", "gpus"],
    ..part!("manage/accounting")
};

/// Jobs, nodes, users, fields and moments that there are not.
pub(crate) const BAD: Part = Part {
    keeps_numbers: true,
    ..part!("manage/bad")
};

/// What `scancel` says, and its exit code; what stands of a job that is just ending hangs on the moment.
pub(crate) const CANCEL: Part = Part {
    keeps_numbers: true,
    sleepers: SLEEPERS,
    only: "scancel",
    ..part!("manage/cancel")
};

/// Accounts that are moved, output in missing folders, changes of GPUs and limits, lists of reservations, the order
/// of nodes in reservations, and programs that `srun` copies.
pub(crate) const DETAILS: Part = Part {
    keeps_numbers: true,
    sleepers: &["first", "second", "third", "when", "inside", "beside"],
    ..part!("manage/details")
};

/// What jobs waited for when they were cancelled, and what is left of dependencies.
pub(crate) const REASONS: Part = Part {
    keeps_numbers: true,
    sleepers: SLEEPERS,
    ..part!("manage/reasons")
};

/// What accounting records of jobs and steps, and what `sacctmgr modify job` changes of it.
pub(crate) const JOB_RECORDS: Part = Part {
    keeps_numbers: true,
    sleepers: SLEEPERS,
    ..part!("manage/job_records")
};

/// What `sacctmgr dump` writes of settings of every kind, and what `load` makes of a changed file.
pub(crate) const DUMP: Part = Part {
    keeps_numbers: true,
    ..part!("manage/dump")
};

/// CPUs and GPUs of jobs that wait and of elements, priorities of cancelled jobs, and what others than operators may.
pub(crate) const WAITING: Part = Part {
    keeps_numbers: true,
    sleepers: &["runs", "first"],
    ..part!("manage/waiting")
};

/// Jobs and steps that keep the nodes that are left to them.
pub(crate) const NO_KILL: Part = Part {
    keeps_numbers: true,
    sleepers: &["runs"],
    ..part!("manage/no_kill")
};

/// Steps that share nodes, where steps are to be, and steps of several components.
pub(crate) const OVERLAP: Part = Part {
    keeps_numbers: true,
    ..part!("manage/overlap")
};

/// Accounts, users and QOS as programs that manage them add and delete them.
pub(crate) const ADMIN: Part = part!("manage/admin");

/// What JSON and YAML leave out of what is asked for.
pub(crate) const DATA: Part = Part {
    keeps_numbers: true,
    sleepers: SLEEPERS,
    ..part!("manage/data")
};

/// What wrappers and people type: what starts at once or not at all, hints, silence, `sinfo -v`, jobs that are stopped.
pub(crate) const WRAPPERS: Part = Part {
    keeps_numbers: true,
    sleepers: &["runs", "stops"],
    ..part!("manage/wrappers")
};

/// What tasks are told of `srun`, of how they share GPUs and how files are opened, and which processes steps have.
pub(crate) const TOLD: Part = Part {
    keeps_numbers: true,
    sleepers: &["runs"],
    ..part!("manage/told")
};

/// Counts of features, nodes and GPUs that steps leave out, lines of an end, filters that nothing meets.
pub(crate) const REST: Part = Part {
    sleepers: &["runs", "fast"],
    ..part!("manage/rest")
};

/// The first words that `scontrol` and `sacctmgr` take, changes of all accounts and users, what is asked about them
/// column by column, and columns of steps.
pub(crate) const WORDS: Part = Part {
    sleepers: &["runs"],
    ..part!("manage/words")
};

/// Values that are empty, what is handed on and shown of options, and steps that their job can't have.
pub(crate) const ASKED: Part = Part {
    keeps_numbers: true,
    ..part!("manage/asked")
};
