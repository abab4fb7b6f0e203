//! The recorded transcript, command by command against the virtual twin of the cluster on which it
//! was recorded, which `yard cluster import` makes of that cluster's own configuration.

use crate::own_answers::OwnAnswers;
use crate::recorded_lines::words;
use crate::transcript::{self, Line, masked};
use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use testkit::{Outcome, TestEnv, wait_until};

/// The configuration of the recorded cluster.
const SLURM_CONF: &str = include_str!("manage/slurm.conf");
/// What `cluster.sh` entered into its accounting.
const ACCOUNTS: &str = include_str!("manage/accounts.txt");

/// A transcript, and the command lines of it that are answered otherwise, under the reasons. That list
/// may only become shorter: `UPDATE_EXPECT=1` takes out those that agree. How they are answered stands beside it
/// (`own.txt`), but for those behind `~`, whose answers hang on the machine or the moment.
struct Part {
    recorded: &'static str,
    /// Lines of the cluster's configuration beside those that all have.
    conf: &'static str,
    /// Where GPUs are, on nodes with two sockets.
    gres_conf: Option<&'static str>,
    differ: &'static str,
    /// The list's file, in the folder of the tests.
    file: &'static str,
    /// Names whose values follow from what ran before and when.
    hidden: &'static [&'static str],
    /// Each job has its recorded number, also behind one that is refused here.
    keeps_numbers: bool,
    /// The names of jobs that run until they are cancelled; `-7`: but for job 7, which ends by itself.
    sleepers: &'static [&'static str],
    /// The beginning of the commands whose answers are compared; the others are run.
    only: &'static str,
}

/// The jobs of most transcripts that run until they are cancelled.
const SLEEPERS: &[&str] = &["fast", "runs", "on3"];

const FIRST: Part = Part {
    gres_conf: None,
    recorded: include_str!("manage/answers-22.05.8.txt"),
    conf: "",
    differ: include_str!("manage/differ.txt"),
    file: "manage/differ.txt",
    hidden: &[],
    keeps_numbers: false,
    sleepers: SLEEPERS,
    only: "",
};
/// What was recorded later, on the same cluster without jobs.
const LATER: Part = Part {
    gres_conf: None,
    recorded: include_str!("manage/later/answers-22.05.8.txt"),
    conf: "",
    differ: include_str!("manage/later/differ.txt"),
    file: "manage/later/differ.txt",
    hidden: &[],
    keeps_numbers: false,
    sleepers: SLEEPERS,
    only: "",
};
/// 165 ways to ask for resources: each job, and the environment of its script and of its first task.
const ENVIRONMENT: Part = Part {
    gres_conf: None,
    recorded: include_str!("manage/environment/answers-22.05.8.txt"),
    conf: "",
    differ: include_str!("manage/environment/differ.txt"),
    file: "manage/environment/differ.txt",
    hidden: &["Priority=", " Scheduler="],
    keeps_numbers: true,
    sleepers: SLEEPERS,
    only: "",
};

/// Jobs that are held while they wait and while they run.
const HOLD: Part = Part {
    gres_conf: None,
    recorded: include_str!("manage/hold/answers-22.05.8.txt"),
    conf: "",
    differ: include_str!("manage/hold/differ.txt"),
    file: "manage/hold/differ.txt",
    hidden: &[],
    keeps_numbers: true,
    sleepers: SLEEPERS,
    only: "",
};

/// What is changed of jobs that wait and that run.
const UPDATES: Part = Part {
    gres_conf: None,
    recorded: include_str!("manage/updates/answers-22.05.8.txt"),
    conf: "",
    differ: include_str!("manage/updates/differ.txt"),
    file: "manage/updates/differ.txt",
    hidden: &["Priority=", " Scheduler="],
    keeps_numbers: true,
    sleepers: SLEEPERS,
    only: "",
};

/// Jobs that are queued again and held, with the state SPECIAL_EXIT too.
const REQUEUE: Part = Part {
    gres_conf: None,
    recorded: include_str!("manage/requeue/answers-22.05.8.txt"),
    conf: "",
    differ: include_str!("manage/requeue/differ.txt"),
    file: "manage/requeue/differ.txt",
    hidden: &[],
    keeps_numbers: true,
    sleepers: &["wrap"],
    only: "",
};

/// Every key that `scontrol update` takes of jobs that wait, run and are over.
const JOB_KEYS: Part = Part {
    gres_conf: None,
    recorded: include_str!("manage/job_keys/answers-22.05.8.txt"),
    conf: "",
    differ: include_str!("manage/job_keys/differ.txt"),
    file: "manage/job_keys/differ.txt",
    hidden: &["Priority=", " Scheduler="],
    keeps_numbers: true,
    sleepers: &["wrap"],
    only: "",
};

/// `sacct`, option by option and field by field.
const SACCT: Part = Part {
    gres_conf: None,
    recorded: include_str!("manage/sacct/answers-22.05.8.txt"),
    conf: "",
    differ: include_str!("manage/sacct/differ.txt"),
    file: "manage/sacct/differ.txt",
    hidden: &[],
    keeps_numbers: true,
    sleepers: &["runs"],
    only: "",
};

/// Small things of many commands: what is told with `-v` and `-Q`, files that there are not, commands that are
/// read one by one.
const CORNERS: Part = Part {
    gres_conf: None,
    recorded: include_str!("manage/corners/answers-22.05.8.txt"),
    conf: "",
    differ: include_str!("manage/corners/differ.txt"),
    file: "manage/corners/differ.txt",
    hidden: &[],
    keeps_numbers: true,
    sleepers: &["runs"],
    only: "",
};

/// Settings of QOS and associations, their numbers, and options of `sacctmgr`.
const SETTINGS: Part = Part {
    gres_conf: None,
    recorded: include_str!("manage/settings/answers-22.05.8.txt"),
    conf: "",
    differ: include_str!("manage/settings/differ.txt"),
    file: "manage/settings/differ.txt",
    hidden: &["UsageRaw/Norm/Efctv=", "SharesRaw/Norm/Level/Factor="],
    keeps_numbers: true,
    sleepers: &[],
    only: "",
};

/// Running jobs that give back nodes.
const RESIZE: Part = Part {
    gres_conf: None,
    recorded: include_str!("manage/resize/answers-22.05.8.txt"),
    conf: "",
    differ: include_str!("manage/resize/differ.txt"),
    file: "manage/resize/differ.txt",
    // Whether the script or its `srun` is ended first by a signal to both is an accident.
    hidden: &["Priority=", " Scheduler=", " ExitCode="],
    keeps_numbers: true,
    sleepers: &["wrap"],
    only: "",
};

/// The end and the limit of a running job.
const END_TIME: Part = Part {
    gres_conf: None,
    recorded: include_str!("manage/end_time/answers-22.05.8.txt"),
    conf: "",
    differ: include_str!("manage/end_time/differ.txt"),
    file: "manage/end_time/differ.txt",
    hidden: &[],
    keeps_numbers: true,
    sleepers: &["wrap"],
    only: "",
};

/// Moments in a form of one's own.
const TIME_FORMAT: Part = Part {
    gres_conf: None,
    recorded: include_str!("manage/time_format/answers-22.05.8.txt"),
    conf: "",
    differ: include_str!("manage/time_format/differ.txt"),
    file: "manage/time_format/differ.txt",
    hidden: &[],
    keeps_numbers: true,
    sleepers: SLEEPERS,
    only: "",
};

/// Arrays of which elements run, wait and are over, and what waits for whole arrays.
const ARRAYS: Part = Part {
    gres_conf: None,
    recorded: include_str!("manage/arrays/answers-22.05.8.txt"),
    conf: "",
    differ: include_str!("manage/arrays/differ.txt"),
    file: "manage/arrays/differ.txt",
    hidden: &[],
    keeps_numbers: true,
    sleepers: &["runs", "run1"],
    only: "",
};

/// Lists of nodes that can't all be changed, what becomes of a job that loses its node, and variables that
/// Slurm's commands read.
const LOST: Part = Part {
    gres_conf: None,
    recorded: include_str!("manage/lost/answers-22.05.8.txt"),
    conf: "",
    differ: include_str!("manage/lost/differ.txt"),
    file: "manage/lost/differ.txt",
    hidden: &[],
    keeps_numbers: true,
    sleepers: SLEEPERS,
    only: "",
};

/// What `srun --verbose` says of the options that it was given.
const SRUN_VERBOSE: Part = Part {
    gres_conf: None,
    recorded: include_str!("manage/srun_verbose/answers-22.05.8.txt"),
    conf: "",
    differ: include_str!("manage/srun_verbose/differ.txt"),
    file: "manage/srun_verbose/differ.txt",
    hidden: &[],
    keeps_numbers: false,
    sleepers: &[],
    only: "",
};

/// Heterogeneous jobs: what is said and done of their components, and their steps.
const HET: Part = Part {
    gres_conf: None,
    conf: "",
    recorded: include_str!("manage/het/answers-22.05.8.txt"),
    differ: include_str!("manage/het/differ.txt"),
    file: "manage/het/differ.txt",
    hidden: &["Priority=", " Scheduler="],
    keeps_numbers: false,
    sleepers: &["a", "b", "c"],
    only: "",
};

/// Files that name nodes, and tasks that follow a list of nodes.
const NODE_LISTS: Part = Part {
    gres_conf: None,
    recorded: include_str!("manage/node_lists/answers-22.05.8.txt"),
    conf: "",
    differ: include_str!("manage/node_lists/differ.txt"),
    file: "manage/node_lists/differ.txt",
    hidden: &[],
    keeps_numbers: true,
    sleepers: SLEEPERS,
    only: "",
};

/// What programs read of the configuration, GPUs at sockets, jobs of several partitions, and jobs that are over.
const LOOKS: Part = Part {
    gres_conf: Some(include_str!("manage/gpu_sockets/gres.conf")),
    recorded: include_str!("manage/looks/answers-22.05.8.txt"),
    conf: "",
    differ: include_str!("manage/looks/differ.txt"),
    file: "manage/looks/differ.txt",
    hidden: &[],
    keeps_numbers: true,
    sleepers: &["runs", "two", "alloc", "true"],
    only: "",
};

/// Which CPUs and GPUs jobs get where GPUs are at sockets, with and without `--gres-flags`.
const GPU_SOCKETS: Part = Part {
    gres_conf: Some(include_str!("manage/gpu_sockets/gres.conf")),
    recorded: include_str!("manage/gpu_sockets/answers-22.05.8.txt"),
    conf: "",
    differ: include_str!("manage/gpu_sockets/differ.txt"),
    file: "manage/gpu_sockets/differ.txt",
    hidden: &[],
    keeps_numbers: true,
    sleepers: SLEEPERS,
    only: "",
};

/// What tasks of steps see of their GPUs.
const GPU_BIND: Part = Part {
    gres_conf: None,
    recorded: include_str!("manage/gpu_bind/answers-22.05.8.txt"),
    conf: "",
    differ: include_str!("manage/gpu_bind/differ.txt"),
    file: "manage/gpu_bind/differ.txt",
    hidden: &[],
    keeps_numbers: true,
    sleepers: SLEEPERS,
    only: "",
};

/// Which nodes and GPUs steps get, and what is said of them.
const STEPS: Part = Part {
    gres_conf: None,
    recorded: include_str!("manage/steps/answers-22.05.8.txt"),
    conf: "",
    differ: include_str!("manage/steps/differ.txt"),
    file: "manage/steps/differ.txt",
    hidden: &[],
    keeps_numbers: true,
    sleepers: SLEEPERS,
    only: "",
};

/// Nodes and partitions that are changed, made and removed.
const CHANGES: Part = Part {
    gres_conf: None,
    recorded: include_str!("manage/changes/answers-22.05.8.txt"),
    conf: "",
    differ: include_str!("manage/changes/differ.txt"),
    file: "manage/changes/differ.txt",
    hidden: &[],
    keeps_numbers: false,
    sleepers: SLEEPERS,
    only: "",
};

/// Reservations that are made, changed and used.
const RESERVATIONS: Part = Part {
    gres_conf: None,
    recorded: include_str!("manage/reservations/answers-22.05.8.txt"),
    conf: "",
    differ: include_str!("manage/reservations/differ.txt"),
    file: "manage/reservations/differ.txt",
    hidden: &[],
    keeps_numbers: true,
    sleepers: &[
        "drawn", "first", "inside", "-7", "job", "more", "others", "outside", "over", "two",
    ],
    only: "",
};

/// Nodes that are not there yet, and nodes that are made.
const FUTURE: Part = Part {
    gres_conf: None,
    recorded: include_str!("manage/future/answers-22.05.8.txt"),
    conf: include_str!("manage/future/slurm.conf"),
    differ: include_str!("manage/future/differ.txt"),
    file: "manage/future/differ.txt",
    hidden: &[],
    keeps_numbers: false,
    sleepers: &["runs"],
    only: "",
};

/// Licences that reservations keep.
const LICENCES: Part = Part {
    gres_conf: None,
    recorded: include_str!("manage/licences/answers-22.05.8.txt"),
    conf: include_str!("manage/licences/slurm.conf"),
    differ: include_str!("manage/licences/differ.txt"),
    file: "manage/licences/differ.txt",
    hidden: &[],
    keeps_numbers: true,
    sleepers: &["fits", "inside", "inlic"],
    only: "",
};

/// What `sinfo` prints of nodes in all states, option by option and column by column.
const SINFO: Part = Part {
    gres_conf: None,
    recorded: include_str!("manage/sinfo/answers-22.05.8.txt"),
    conf: include_str!("manage/sinfo/slurm.conf"),
    differ: include_str!("manage/sinfo/differ.txt"),
    file: "manage/sinfo/differ.txt",
    hidden: &[],
    keeps_numbers: false,
    sleepers: SLEEPERS,
    only: "",
};

/// `sshare`, `sdiag`, `sprio`, `sstat`, `sattach` and `salloc`, option by option and column by column.
const OPTIONS: Part = Part {
    gres_conf: None,
    recorded: include_str!("manage/options/answers-22.05.8.txt"),
    conf: "",
    differ: include_str!("manage/options/differ.txt"),
    file: "manage/options/differ.txt",
    hidden: &[
        "allocation ",
        "SLURM_JOB_ID=",
        "SLURM_JOBID=",
        "SLURM_TASK_PID=",
        "JobId=",
    ],
    keeps_numbers: true,
    sleepers: &["fast", "runs", "no-shell"],
    only: "",
};

/// What sacctmgr shows beside accounts, and what the controller keeps of them.
const ACCOUNTING: Part = Part {
    gres_conf: None,
    recorded: include_str!("manage/accounting/answers-22.05.8.txt"),
    conf: "",
    differ: include_str!("manage/accounting/differ.txt"),
    file: "manage/accounting/differ.txt",
    hidden: &[
        "UsageRaw/Norm/Efctv=",
        "UsageRaw=",
        "SharesRaw/Norm/Level/Factor=",
        "GrpWall=",
        "GrpTRESMins=",
        "GrpTRESRunMins=",
    ],
    keeps_numbers: false,
    sleepers: &["counts", "wrap", "gpus"],
    only: "",
};

/// Jobs, nodes, users, fields and moments that there are not.
const BAD: Part = Part {
    gres_conf: None,
    recorded: include_str!("manage/bad/answers-22.05.8.txt"),
    conf: "",
    differ: include_str!("manage/bad/differ.txt"),
    file: "manage/bad/differ.txt",
    hidden: &[],
    keeps_numbers: true,
    sleepers: &[],
    only: "",
};

/// What `scancel` says, and its exit code; what stands of a job that is just ending hangs on the moment.
const CANCEL: Part = Part {
    gres_conf: None,
    recorded: include_str!("manage/cancel/answers-22.05.8.txt"),
    conf: "",
    differ: include_str!("manage/cancel/differ.txt"),
    file: "manage/cancel/differ.txt",
    hidden: &[],
    keeps_numbers: true,
    sleepers: SLEEPERS,
    only: "scancel",
};

/// Accounts that are moved, output in missing folders, changes of GPUs and limits, lists of reservations, the order
/// of nodes in reservations, and programs that `srun` copies.
const DETAILS: Part = Part {
    gres_conf: None,
    recorded: include_str!("manage/details/answers-22.05.8.txt"),
    conf: "",
    differ: include_str!("manage/details/differ.txt"),
    file: "manage/details/differ.txt",
    hidden: &[],
    keeps_numbers: true,
    sleepers: &["first", "second", "third", "when", "inside", "beside"],
    only: "",
};

/// What jobs waited for when they were cancelled, and what is left of dependencies.
const REASONS: Part = Part {
    gres_conf: None,
    recorded: include_str!("manage/reasons/answers-22.05.8.txt"),
    conf: "",
    differ: include_str!("manage/reasons/differ.txt"),
    file: "manage/reasons/differ.txt",
    hidden: &[],
    keeps_numbers: true,
    sleepers: SLEEPERS,
    only: "",
};

/// What accounting records of jobs and steps, and what `sacctmgr modify job` changes of it.
const JOB_RECORDS: Part = Part {
    gres_conf: None,
    recorded: include_str!("manage/job_records/answers-22.05.8.txt"),
    conf: "",
    differ: include_str!("manage/job_records/differ.txt"),
    file: "manage/job_records/differ.txt",
    hidden: &[],
    keeps_numbers: true,
    sleepers: SLEEPERS,
    only: "",
};

/// What `sacctmgr dump` writes of settings of every kind, and what `load` makes of a changed file.
const DUMP: Part = Part {
    gres_conf: None,
    recorded: include_str!("manage/dump/answers-22.05.8.txt"),
    conf: "",
    differ: include_str!("manage/dump/differ.txt"),
    file: "manage/dump/differ.txt",
    hidden: &[],
    keeps_numbers: true,
    sleepers: &[],
    only: "",
};

/// CPUs and GPUs of jobs that wait and of elements, priorities of cancelled jobs, and what others than operators may.
const WAITING: Part = Part {
    gres_conf: None,
    recorded: include_str!("manage/waiting/answers-22.05.8.txt"),
    conf: "",
    differ: include_str!("manage/waiting/differ.txt"),
    file: "manage/waiting/differ.txt",
    hidden: &[],
    keeps_numbers: true,
    sleepers: &["runs", "first"],
    only: "",
};

/// Jobs and steps that keep the nodes that are left to them.
const NO_KILL: Part = Part {
    gres_conf: None,
    recorded: include_str!("manage/no_kill/answers-22.05.8.txt"),
    conf: "",
    differ: include_str!("manage/no_kill/differ.txt"),
    file: "manage/no_kill/differ.txt",
    hidden: &[],
    keeps_numbers: true,
    sleepers: &["runs"],
    only: "",
};

/// Steps that share nodes, where steps are to be, and steps of several components.
const OVERLAP: Part = Part {
    gres_conf: None,
    recorded: include_str!("manage/overlap/answers-22.05.8.txt"),
    conf: "",
    differ: include_str!("manage/overlap/differ.txt"),
    file: "manage/overlap/differ.txt",
    hidden: &[],
    keeps_numbers: true,
    sleepers: &[],
    only: "",
};

/// Accounts, users and QOS as programs that manage them add and delete them.
const ADMIN: Part = Part {
    gres_conf: None,
    recorded: include_str!("manage/admin/answers-22.05.8.txt"),
    conf: "",
    differ: include_str!("manage/admin/differ.txt"),
    file: "manage/admin/differ.txt",
    hidden: &[],
    keeps_numbers: false,
    sleepers: &[],
    only: "",
};

/// What JSON and YAML leave out of what is asked for.
const DATA: Part = Part {
    gres_conf: None,
    recorded: include_str!("manage/data/answers-22.05.8.txt"),
    conf: "",
    differ: include_str!("manage/data/differ.txt"),
    file: "manage/data/differ.txt",
    hidden: &[],
    keeps_numbers: true,
    sleepers: SLEEPERS,
    only: "",
};

/// What wrappers and people type: what starts at once or not at all, hints, silence, `sinfo -v`, jobs that are stopped.
const WRAPPERS: Part = Part {
    gres_conf: None,
    recorded: include_str!("manage/wrappers/answers-22.05.8.txt"),
    conf: "",
    differ: include_str!("manage/wrappers/differ.txt"),
    file: "manage/wrappers/differ.txt",
    hidden: &[],
    keeps_numbers: true,
    sleepers: &["runs", "stops"],
    only: "",
};

/// What tasks are told of `srun`, of how they share GPUs and how files are opened, and which processes steps have.
const TOLD: Part = Part {
    gres_conf: None,
    recorded: include_str!("manage/told/answers-22.05.8.txt"),
    conf: "",
    differ: include_str!("manage/told/differ.txt"),
    file: "manage/told/differ.txt",
    hidden: &[],
    keeps_numbers: true,
    sleepers: &["runs"],
    only: "",
};

/// Counts of features, nodes and GPUs that steps leave out, lines of an end, filters that nothing meets.
const REST: Part = Part {
    gres_conf: None,
    recorded: include_str!("manage/rest/answers-22.05.8.txt"),
    conf: "",
    differ: include_str!("manage/rest/differ.txt"),
    file: "manage/rest/differ.txt",
    hidden: &[],
    keeps_numbers: false,
    sleepers: &["runs", "fast"],
    only: "",
};

/// The first words that `scontrol` and `sacctmgr` take, changes of all accounts and users, what is asked about them
/// column by column, and columns of steps.
const WORDS: Part = Part {
    gres_conf: None,
    recorded: include_str!("manage/words/answers-22.05.8.txt"),
    conf: "",
    differ: include_str!("manage/words/differ.txt"),
    file: "manage/words/differ.txt",
    hidden: &[],
    keeps_numbers: false,
    sleepers: &["runs"],
    only: "",
};

/// Values that are empty, what is handed on and shown of options, and steps that their job can't have.
const ASKED: Part = Part {
    gres_conf: None,
    recorded: include_str!("manage/asked/answers-22.05.8.txt"),
    conf: "",
    differ: include_str!("manage/asked/differ.txt"),
    file: "manage/asked/differ.txt",
    hidden: &[],
    keeps_numbers: true,
    sleepers: &[],
    only: "",
};

/// The longest that a command of the recording ran.
const RECORDED_LONGEST: Duration = Duration::from_secs(10);
/// The longest that one runs here, but for those that hung there: on a busy machine any takes its time.
const LONGEST: Duration = Duration::from_secs(120);
/// So long it may take to end once it is told to.
const TO_END: Duration = Duration::from_secs(10);
/// The recorded answer of a command that was ended because of that.
const HANGS: &str = "= hangs";

/// The virtual twin of the recorded cluster, with its accounts.
pub(crate) struct Twin {
    pub(crate) env: TestEnv,
}

impl Twin {
    pub(crate) fn start(conf: &str) -> Twin {
        Twin::with_gres(conf, None)
    }

    /// Of nodes with two sockets, where their GPUs are said to be at those.
    fn with_gres(conf: &str, gres_conf: Option<&str>) -> Twin {
        let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
        let mut import = vec!["cluster", "import", "--slurm-conf"];
        let path = env.root().join("slurm.conf").display().to_string();
        let gres = env.root().join("gres.conf").display().to_string();
        import.push(&path);
        let mut text = format!("{SLURM_CONF}\n{conf}");
        if let Some(gres_conf) = gres_conf {
            let two = "SocketsPerBoard=2 CoresPerSocket=4";
            text = text.replace("SocketsPerBoard=1 CoresPerSocket=8", two);
            env.write("../gres.conf", gres_conf);
            import.extend(["--gres-conf", &gres]);
        }
        env.write("../slurm.conf", &text);
        let file = env.yard(&import).success();
        let file = env.write("../lab.toml", &file).display().to_string();
        env.yard(&["engine", "start", "lab", "--cluster", &file])
            .success();
        env.set_var("TRAINYARD_ENGINE", "lab");
        // For lines with pipes, which a shell runs.
        let links = env.root().join("links");
        std::fs::create_dir(&links).expect("a folder");
        for name in [
            "salloc", "sattach", "sbatch", "scancel", "scontrol", "sdiag", "sinfo", "sprio",
            "sacct", "sacctmgr", "squeue", "srun", "sshare", "sstat",
        ] {
            symlink(env!("CARGO_BIN_EXE_yard"), links.join(name)).expect("a link");
        }
        let path = std::env::var("PATH").unwrap_or_default();
        env.set_var("PATH", format!("{}:{path}", links.display()));
        env.set_var("LC_ALL", "C");
        env.set_var("USER", "root");
        let twin = Twin { env };
        for line in ACCOUNTS.lines() {
            let said = twin.answer(line);
            assert!(
                !said.iter().any(|row| row.starts_with("= ")),
                "{line}: {said:?}"
            );
        }
        twin
    }

    /// Has nodes that are down say again that they are there, as the `slurmd`s of the recorded cluster do
    /// from time to time: its `ReturnToService` is 2.
    fn register_nodes(&self) {
        for row in self.answer("sinfo -h -N -o '%N %T'") {
            let mut words = row.split_whitespace();
            let (node, state) = (words.next(), words.next());
            if let (Some(node), Some("down" | "down$")) = (node, state) {
                let restore = ["engine", "restore-node", node, "--on", "lab"];
                self.env.yard(&restore).success();
            }
        }
    }

    /// A program of the transcript, with what it prints in pipes.
    fn spawn(&self, line: &str) -> Child {
        let dump = self.env.root().join("dump.cfg").display().to_string();
        let line = line.replace("/tmp/sacctmgr-dump.cfg", &dump);
        let root = self.env.root().display().to_string();
        let line = line.replace("/tmp/sacctmgr-", &format!("{root}/sacctmgr-"));
        let words = words(&line);
        let mut command = match &words[..] {
            // Pipes and commands in the line itself, not in a quoted script.
            _ if words
                .iter()
                .any(|word| ["|", "<", ">", "<<<"].contains(&&**word))
                || line.contains("$PWD")
                || line.contains(r#"\""#)
                || line.starts_with("scontrol ") && line.contains("$(") =>
            {
                self.env.program("bash", &["-c", &line])
            }
            [program, ..]
                if matches!(program.as_str(), "cat" | "ls" | "printf" | "stat")
                    || program.contains('=') =>
            {
                self.env.program("bash", &["-c", &line])
            }
            _ => {
                let mut all = vec!["slurm".to_owned()];
                all.extend(words);
                self.env.command(&all)
            }
        };
        // A group of its own: all programs of a pipe are ended together, any of which may hold the others' output.
        command.process_group(0);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("a command can be started")
    }

    fn answer(&self, line: &str) -> Vec<String> {
        self.answer_within(LONGEST, line)
    }

    fn answer_within(&self, longest: Duration, line: &str) -> Vec<String> {
        let (keys, line) = match line.strip_prefix("@keys ") {
            Some(line) => (true, line),
            None => (false, line),
        };
        let child = self.spawn(line);
        let id = child.id();
        let (sender, ended) = std::sync::mpsc::channel();
        let watch = std::thread::spawn(move || {
            let late = ended.recv_timeout(longest).is_err();
            let mut ended_now = !late;
            for signal in ["-TERM", "-KILL"] {
                if !ended_now {
                    // The process is a child that was not waited for: its number is its group's own.
                    let group = format!("-{id}");
                    let _killed = Command::new("kill").args([signal, "--", &group]).status();
                    ended_now = ended.recv_timeout(TO_END).is_ok();
                }
            }
            late
        });
        let output = child.wait_with_output().expect("its output can be read");
        let _watched = sender.send(());
        let late = watch.join().expect("the watch ends");
        let outcome = Outcome::of(&output);
        if late {
            return vec![HANGS.to_owned()];
        }
        let stdout = if keys {
            transcript::keys(&outcome.stdout)
        } else {
            outcome.stdout.clone()
        };
        let dump = self.env.root().join("dump.cfg").display().to_string();
        let work = self.env.work().display().to_string();
        let home = self.env.root().display().to_string();
        let general = |text: &str| {
            let text = text
                .replace(&dump, "/tmp/sacctmgr-dump.cfg")
                .replace(&work, "<WORK>")
                .replace(&home, "<LAB>");
            transcript::replace_word(&text, &sys::host_name(), "<HOST>")
        };
        let status = outcome.status.to_string();
        transcript::answer(&general(&stdout), &general(&outcome.stderr), &status)
    }

    /// Uses up the number of a job that is refused here, so that those after it have theirs.
    fn take_number(&self, job: &str) {
        let wrap = ["--parsable", "-o", "/dev/null", "--wrap", "true"];
        let taken = self.env.slurm("sbatch", &wrap).success();
        assert_eq!(taken.trim(), job, "another number than the recorded job's");
    }

    fn prints(&self, args: &[&str]) -> String {
        self.env.slurm("squeue", args).stdout
    }
}

impl Drop for Twin {
    fn drop(&mut self) {
        let _cancelled = self.env.slurm("scancel", &["-u", "root"]);
        wait_until("no job is left", || self.prints(&["-h"]).is_empty());
        let _stopped = self.env.yard(&["engine", "stop", "lab"]);
    }
}

/// Before a listed line whose answer is not the same each time.
const VARIES: &str = "~ ";

/// How ours answers a listed line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Answered {
    AsWritten,
    Variously,
}

/// The lines that are known to differ: `# REASON`, then command lines; a line that was typed before
/// has which time it is at its end, as `sinfo (2)`.
fn known(part: &Part) -> BTreeMap<&'static str, Answered> {
    let rows = part
        .differ
        .lines()
        .filter(|row| !row.is_empty() && !row.starts_with("# "));
    let mut known = BTreeMap::new();
    for row in rows {
        let (name, answered) = match row.strip_prefix(VARIES) {
            Some(name) => (name, Answered::Variously),
            None => (row, Answered::AsWritten),
        };
        assert!(
            known.insert(name, answered).is_none(),
            "listed twice: {row}"
        );
    }
    known
}

/// The first program of a pipe holds what its last one left open.
#[test]
fn a_pipe_whose_first_program_never_ends_is_ended() {
    let twin = Twin::start("");
    let answer = twin.answer_within(Duration::from_secs(1), "sleep 1000 | true");
    assert_eq!(answer, [HANGS]);
}

#[test]
fn every_recorded_command_is_answered_as_recorded_or_is_listed() {
    play(&FIRST);
}

#[test]
fn every_command_recorded_later_is_answered_as_recorded_or_is_listed() {
    play(&LATER);
}

#[test]
fn every_command_of_accounting_is_answered_as_recorded_or_is_listed() {
    play(&ACCOUNTING);
}

#[test]
fn bad_input_is_answered_as_recorded_or_is_listed() {
    play(&BAD);
}

#[test]
fn heterogeneous_jobs_are_answered_as_recorded_or_are_listed() {
    play(&HET);
}

#[test]
fn jobs_are_held_as_recorded_or_are_listed() {
    play(&HOLD);
}

#[test]
fn jobs_are_changed_as_recorded_or_are_listed() {
    play(&UPDATES);
}

#[test]
fn jobs_are_queued_again_as_recorded_or_are_listed() {
    play(&REQUEUE);
}

#[test]
fn keys_of_updates_are_answered_as_recorded_or_are_listed() {
    play(&JOB_KEYS);
}

#[test]
fn what_is_looked_at_is_shown_as_recorded_or_is_listed() {
    play(&LOOKS);
}

#[test]
fn running_jobs_give_back_nodes_as_recorded_or_are_listed() {
    play(&RESIZE);
}

#[test]
fn ends_of_running_jobs_are_moved_as_recorded_or_are_listed() {
    play(&END_TIME);
}

#[test]
fn settings_of_accounting_are_as_recorded_or_are_listed() {
    play(&SETTINGS);
}

#[test]
fn moments_have_the_form_that_was_recorded_or_are_listed() {
    play(&TIME_FORMAT);
}

#[test]
fn elements_of_arrays_are_changed_as_recorded_or_are_listed() {
    play(&ARRAYS);
}

#[test]
fn lost_nodes_and_variables_are_as_recorded_or_are_listed() {
    play(&LOST);
}

#[test]
fn srun_says_its_options_as_recorded_or_is_listed() {
    play(&SRUN_VERBOSE);
}

#[test]
fn sacct_is_as_recorded_or_is_listed() {
    play(&SACCT);
}

#[test]
fn nodes_of_the_future_are_answered_as_recorded_or_are_listed() {
    play(&FUTURE);
}

#[test]
fn licences_of_reservations_are_answered_as_recorded_or_are_listed() {
    play(&LICENCES);
}

#[test]
fn sinfo_shows_nodes_of_all_states_as_recorded_or_is_listed() {
    play(&SINFO);
}

#[test]
fn what_differed_in_small_things_is_as_recorded_or_is_listed() {
    play(&DETAILS);
}

#[test]
fn reasons_and_dependencies_are_as_recorded_or_are_listed() {
    play(&REASONS);
}

#[test]
fn records_of_jobs_are_as_recorded_or_are_listed() {
    play(&JOB_RECORDS);
}

#[test]
fn dumps_of_accounting_are_as_recorded_or_are_listed() {
    play(&DUMP);
}

#[test]
fn waiting_jobs_are_changed_as_recorded_or_are_listed() {
    play(&WAITING);
}

#[test]
fn jobs_keep_their_other_nodes_as_recorded_or_are_listed() {
    play(&NO_KILL);
}

#[test]
fn small_things_are_as_recorded_or_are_listed() {
    play(&CORNERS);
}

#[test]
fn steps_that_overlap_are_as_recorded_or_are_listed() {
    play(&OVERLAP);
}

#[test]
fn accounts_are_managed_as_recorded_or_listed() {
    play(&ADMIN);
}

#[test]
fn what_wrappers_type_is_answered_as_recorded_or_is_listed() {
    play(&WRAPPERS);
}

#[test]
fn data_leaves_out_what_was_recorded_or_is_listed() {
    play(&DATA);
}

#[test]
fn counts_of_features_and_what_is_left_out_are_as_recorded_or_listed() {
    play(&REST);
}

#[test]
fn first_words_and_columns_are_as_recorded_or_are_listed() {
    play(&WORDS);
}

#[test]
fn what_tasks_are_told_is_as_recorded_or_listed() {
    play(&TOLD);
}

#[test]
fn tasks_follow_lists_of_nodes_as_recorded_or_are_listed() {
    play(&NODE_LISTS);
}

#[test]
fn what_is_asked_for_is_as_recorded_or_listed() {
    play(&ASKED);
}

mod slow {
    use super::*;

    #[test]
    fn scancel_says_what_was_recorded_or_is_listed() {
        play(&CANCEL);
    }

    #[test]
    fn jobs_are_shown_and_started_as_recorded_or_are_listed() {
        play(&ENVIRONMENT);
    }

    #[test]
    fn options_of_views_and_allocations_are_as_recorded_or_are_listed() {
        play(&OPTIONS);
    }

    #[test]
    fn tasks_are_bound_to_gpus_as_recorded_or_are_listed() {
        play(&GPU_BIND);
    }

    #[test]
    fn steps_get_nodes_and_gpus_as_recorded_or_are_listed() {
        play(&STEPS);
    }

    #[test]
    fn gpus_at_sockets_are_given_as_recorded_or_are_listed() {
        play(&GPU_SOCKETS);
    }

    #[test]
    fn every_change_of_nodes_and_partitions_is_answered_as_recorded_or_is_listed() {
        play(&CHANGES);
    }

    #[test]
    fn every_reservation_is_answered_as_recorded_or_is_listed() {
        play(&RESERVATIONS);
    }
}

impl Twin {
    /// Between the commands of a real one seconds pass: nothing ended in the one in which it is asked, and what
    /// runs did so for longer than what waits.
    fn outlive_second(&self) {
        let second = jiff::Timestamp::now().as_second();
        wait_until("jobs have run for a second", || {
            let times = self.prints(&["-h", "-t", "R", "-o", "%M"]);
            jiff::Timestamp::now().as_second() > second
                && times.lines().all(|time| time.trim() != "0:00")
        });
    }
}

fn play(part: &Part) {
    let began = Instant::now();
    let twin = Twin::with_gres(part.conf, part.gres_conf);
    let mut known = known(part);
    let mut own = OwnAnswers::beside(part.file);
    let mut times = BTreeMap::new();
    let (mut wrong, mut count, mut agree) = (String::new(), 0, 0);
    let mut agree_now = Vec::new();
    for line in transcript::lines(part.recorded) {
        match line {
            Line::Part => {}
            Line::Restart => {
                for verb in ["stop", "start"] {
                    twin.env.yard(&["engine", verb, "lab"]).success();
                }
                twin.register_nodes();
            }
            Line::WaitState { state, job } => {
                wait_until(&format!("job {job} is {state}"), || {
                    let all = ["-h", "-t", "all", "-o", "%t", "-j", &job];
                    let states = twin.prints(&all);
                    let mut states = states.lines().map(str::trim).peekable();
                    states.peek().is_some() && states.all(|it| it == state)
                });
                if state == "R" {
                    twin.outlive_second();
                }
            }
            Line::Pause => {
                wait_until("short jobs are over", || {
                    let running = twin.prints(&["-h", "-t", "R,CG", "-o", "%t %i %j"]);
                    running.lines().all(|line| {
                        let mut words = line.split_whitespace();
                        let (state, job, name) = (words.next(), words.next(), words.next());
                        state == Some("R")
                            && job.is_some_and(|job| !part.sleepers.contains(&&*format!("-{job}")))
                            && name.is_some_and(|name| part.sleepers.contains(&name))
                    })
                });
                twin.register_nodes();
            }
            Line::WaitSteps { job, count } => {
                wait_until(&format!("{count} steps of job {job} run"), || {
                    let steps = twin.prints(&["-h", "-s", "-o", " %i"]);
                    steps.matches(&format!(" {job}.")).count() >= count
                });
            }
            // Time for a real one's rounds; ours is done when it answers.
            Line::Command { text, .. } if text.starts_with("sleep ") => {}
            Line::Command { text, answer } => {
                let time: &mut usize = times.entry(text.clone()).or_default();
                *time += 1;
                let name = match time {
                    1 => text.clone(),
                    time => format!("{text} ({time})"),
                };
                let masked = |rows: &[String]| {
                    let rows = rows.iter();
                    let kept = rows.filter(|row| {
                        !transcript::is_incidental(&text, row) && !transcript::explains(row)
                    });
                    let masked = |row: &String| transcript::hide(masked(&text, row), part.hidden);
                    kept.map(masked).collect()
                };
                // What a real one refuses and ours takes would shift the numbers of all that follow.
                if part.keeps_numbers
                    && transcript::refuses_job(&answer)
                    && known.remove(&name[..]).is_some()
                {
                    count += 1;
                    continue;
                }
                let mut want: Vec<String> = masked(&answer);
                let hung = answer == [HANGS];
                let longest = if hung { RECORDED_LONGEST } else { LONGEST };
                // The real one had both within a second: the first is not to begin before the second is over.
                let typed = text.replace("=c9 starttime=now+1hour", "=c9 starttime=now+2hours");
                let answered = twin.answer_within(longest, &typed);
                if text.contains("sbatch")
                    && let Some(job) = transcript::submitted(&answer)
                    && part.keeps_numbers
                    && transcript::submitted(&answered).is_none()
                {
                    twin.take_number(job);
                }
                if !text.starts_with(part.only) {
                    continue;
                }
                let mut got: Vec<String> = masked(&answered);
                for rows in [&mut want, &mut got] {
                    transcript::sort_racing(&text, rows);
                }
                let listed = known.remove(&name[..]);
                count += 1;
                agree += usize::from(want == got);
                let is_shown = listed.is_none() || std::env::var_os("TRAINYARD_SHOW").is_some();
                if want != got && is_shown {
                    wrong.push_str(&difference(&name, ["real", "ours"], &want, &got));
                }
                match listed {
                    Some(_) if want == got => agree_now.push(name),
                    Some(Answered::AsWritten) => own.note(&name, got),
                    Some(Answered::Variously) | None => {}
                }
            }
        }
    }
    let updates = std::env::var_os("UPDATE_EXPECT").is_some();
    let changed = own.differences(updates, |name, want, got| {
        difference(name, ["was", "is"], want, got)
    });
    wrong.push_str(&changed);
    if updates {
        take_out(part, &agree_now);
    } else {
        for name in &agree_now {
            wrong.push_str(&format!("{name}\n  agrees, and is listed\n"));
        }
    }
    for name in known.into_keys() {
        wrong.push_str(&format!(
            "{name}\n  is listed, and is no line of the transcript\n"
        ));
    }
    // Past the test runner's capture, as it is worth knowing when all is well too.
    let _said = writeln!(
        std::io::stderr(),
        "{agree} of {count} recorded commands are answered as a real Slurm does, in {:?}",
        began.elapsed()
    );
    assert!(wrong.is_empty(), "{wrong}{agree} of {count} agree");
}

/// Writes the list anew without the lines that agree, and without reasons that stand for none.
fn take_out(part: &Part, agree: &[String]) {
    let left = |part: &&str| {
        part.lines()
            .any(|row| !row.is_empty() && !row.starts_with("# "))
    };
    let rows = part.differ.lines().filter(|row| {
        let row = row.strip_prefix(VARIES).unwrap_or(row);
        !agree.iter().any(|name| name == row)
    });
    let text: String = rows.map(|row| format!("{row}\n")).collect();
    let parts: Vec<&str> = text.split("\n\n").filter(left).map(str::trim_end).collect();
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/oracle")
        .join(part.file);
    std::fs::write(file, parts.join("\n\n") + "\n").expect("the list is written");
}

/// The lines that two answers do not have in common.
fn difference(name: &str, marks: [&str; 2], want: &[String], got: &[String]) -> String {
    let same = |a: &[String], b: &[String]| a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let start = same(want, got);
    let reversed = |rows: &[String]| rows[start..].iter().rev().cloned().collect::<Vec<_>>();
    let end = same(&reversed(want), &reversed(got));
    let mut text = format!("{name}\n");
    for (mark, rows) in marks.into_iter().zip([want, got]) {
        for row in &rows[start..rows.len() - end] {
            text.push_str(&format!("  {mark}{row}\n"));
        }
    }
    text
}
