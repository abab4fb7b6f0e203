//! Conductor, agents and ranks as processes, with the lowest edge of srun and scontrol faked.
#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use folder::{Attempt, CodeOrigin, Event, EventTail, RunFolder, RunJson, Versions};
use model::{ClusterFacts, Internet, NodeGroup, Seconds, Timestamp};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use testkit::{end_all_that_mention, that_mention, wait_until};
use train::{Overrides, PlanInput, RunFile};

const JOB: u32 = 7;

/// Counts, saves every tenth number under a temporary name and renames it; `$1` is the number at
/// which it is done.
const TRAIN: &str = r#"#!/bin/sh
n=$(ls "$YARD_RESUME" | sed 's/.*-//' | sort -n | tail -1); n=${n:-0}
echo "from $n"
while [ "$n" -lt "$1" ]; do
    n=$((n + 1)); sleep 0.01
    if [ "$SLURM_PROCID" = 0 ] && [ $((n % 10)) = 0 ]; then
        echo "weights $n" > "$YARD_CHECKPOINTS/.part"
        mv "$YARD_CHECKPOINTS/.part" "$YARD_CHECKPOINTS/step-$n"
    fi
done
echo "done at $n"
"#;

struct Run {
    root: tempfile::TempDir,
    run: RunFolder,
    nodes: u32,
}

/// What a cluster would end with the job: no fake does.
impl Drop for Run {
    fn drop(&mut self) {
        end_all_that_mention(self.root.path());
    }
}

impl Run {
    fn new(run_file: &str) -> Run {
        let root = tempfile::tempdir().unwrap();
        let run = RunFolder::at(&root.path().join("scratch/project/train-k3f9"));
        fs::create_dir_all(run.code()).unwrap();
        let bin = root.path().join("bin");
        fs::create_dir(&bin).unwrap();
        let srun = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake-srun");
        std::os::unix::fs::symlink(srun, bin.join("srun")).unwrap();
        let requeued = root.path().join("requeued");
        let said = root.path().join("said");
        script(
            &bin.join("scontrol"),
            &format!(
                "#!/bin/sh\ncase $1 in show) cat {} ;; *) echo \"$@\" >> {} ;; esac\n",
                said.display(),
                requeued.display()
            ),
        );
        // Answers with the next number; what it was asked stands in a file of its own.
        let submitted = root.path().join("submitted");
        script(
            &bin.join("sbatch"),
            &format!(
                "#!/bin/sh\necho \"$SLURM_JOB_ID $@\" >> {0}\necho $((7 + $(wc -l < {0})))\n",
                submitted.display()
            ),
        );
        let cancelled = root.path().join("cancelled");
        script(
            &bin.join("scancel"),
            &format!("#!/bin/sh\necho \"$@\" >> {}\n", cancelled.display()),
        );
        script(&run.code().join("train.sh"), TRAIN);
        let facts = facts(&root.path().join("disk"));
        let (parsed, problems) = RunFile::parse(run_file, "yard.toml");
        assert_eq!(problems, []);
        let plan = train::plan(&PlanInput {
            user_config: None,
            run_file: Some(&parsed),
            variables: &train::Variables::default(),
            overrides: &Overrides::default(),
            facts: &facts,
            base: &run.code(),
            default_name: "train",
        })
        .unwrap();
        let nodes = plan.nodes.value;
        let json = RunJson {
            id: run.id().to_owned(),
            project: "project".to_owned(),
            created: Timestamp(0),
            token: "token".to_owned(),
            cluster: "local".to_owned(),
            plan,
            facts,
            run_file: Some(run_file.to_owned()),
            command_line: vec![],
            code: CodeOrigin {
                root: run.code(),
                subfolder: PathBuf::new(),
                commit: None,
                diff: None,
                files: 1,
                bytes: 1,
            },
            yard: yard(),
            after: vec![],
            from: None,
            environment: None,
            image: None,
            versions: Versions {
                yard: "test".to_owned(),
                scheduler: "test".to_owned(),
            },
        };
        fs::write(run.run_json(), serde_json::to_vec(&json).unwrap()).unwrap();
        Run { root, run, nodes }
    }

    fn conductor(&self, restart: u32) -> Child {
        self.conductor_of(Attempt { job: JOB, restart }, &[])
    }

    /// The batch step of one start; `args` are those of the script.
    fn conductor_of(&self, attempt: Attempt, args: &[&str]) -> Child {
        let path = format!(
            "{}:{}",
            self.root.path().join("bin").display(),
            std::env::var("PATH").unwrap()
        );
        let mut command = Command::new(yard());
        command
            .args(["job", "conductor"])
            .arg(self.run.path())
            .args(args)
            .env_clear();
        command
            .env("PATH", path)
            .env("SLURM_JOB_ID", attempt.job.to_string());
        command.env("SLURM_JOB_NODELIST", format!("v[1-{}]", self.nodes));
        // As the job has it, to see that the steps don't inherit it.
        command
            .env("SLURM_NTASKS", "99")
            .env("SLURM_MEM_PER_NODE", "1");
        if attempt.restart > 0 {
            command.env("SLURM_RESTART_COUNT", attempt.restart.to_string());
        }
        command.stdin(Stdio::null()).spawn().unwrap()
    }

    /// Runs one start of the job to its end; returns the exit code.
    fn start(&self, restart: u32) -> i32 {
        self.conductor(restart).wait().unwrap().code().unwrap()
    }

    fn events(&self, restart: u32) -> Vec<Event> {
        let attempt = Attempt { job: JOB, restart };
        let lines = EventTail::new(self.run.events(attempt)).read().unwrap();
        lines.into_iter().map(|line| line.event).collect()
    }

    /// What one of the recorded commands was given, a line a call.
    fn asked(&self, file: &str) -> Vec<String> {
        let text = fs::read_to_string(self.root.path().join(file)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// A process of the job whose command line has `word` behind `job`.
    fn process(&self, word: &str) -> Option<u32> {
        let own = format!("{} job {word} ", yard().display());
        let mut all = that_mention(self.run.path()).into_iter();
        all.find(|(_, command)| command.starts_with(&own))
            .map(|(pid, _)| pid)
    }

    #[track_caller]
    fn kill(&self, word: &str) {
        let pid = self.process(word).unwrap().to_string();
        let killed = Command::new("kill").args(["-KILL", &pid]).status();
        assert!(killed.unwrap().success());
    }

    fn log(&self, restart: u32, rank: u32) -> String {
        fs::read_to_string(self.run.rank_log(Attempt { job: JOB, restart }, rank)).unwrap()
    }

    fn requeued(&self) -> usize {
        fs::read_to_string(self.root.path().join("requeued"))
            .unwrap_or_default()
            .lines()
            .count()
    }

    /// Steps of the checkpoints that came out, sorted: at the end the newest goes first.
    fn out(&self, restart: u32) -> Vec<u64> {
        let step = |event: &Event| match event {
            Event::CheckpointOut { step, .. } => *step,
            _ => None,
        };
        let mut out: Vec<u64> = self.events(restart).iter().filter_map(step).collect();
        out.sort_unstable();
        out
    }

    fn resumed(&self, restart: u32) -> Option<u64> {
        self.events(restart).iter().find_map(|event| match event {
            Event::Resumed { step, .. } => *step,
            _ => None,
        })
    }

    #[track_caller]
    fn nothing_is_left_on_the_nodes(&self) {
        let left: Vec<_> = fs::read_dir(self.root.path().join("disk"))
            .map(|entries| entries.map(|entry| entry.unwrap().path()).collect())
            .unwrap_or_default();
        assert_eq!(left, Vec::<PathBuf>::new());
        assert_eq!(fs::read_dir(self.run.incoming()).unwrap().count(), 0);
    }
}

fn script(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

fn yard() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_yard-for-job-tests"))
}

fn facts(disk: &Path) -> ClusterFacts {
    ClusterFacts {
        name: "local".to_owned(),
        embedded: true,
        nodes: vec![NodeGroup {
            count: 1,
            cpus: 8,
            memory_mib: 8000,
            gpus: vec![],
        }],
        node_local: disk.to_owned(),
        nodes_share_disk: false,
        internet: Internet::Login,
        default_time: None,
        time_granularity: Seconds(1),
        comeback: model::Comeback::default(),
        containers: model::ContainerFacts::default(),
    }
}

#[track_caller]
fn trains_to_its_end_over_several_jobs(nodes: u32) {
    // Of the 10 s of a job 6 s are for training, and 700 numbers need at least 7 s: it is interrupted
    // however quick the machine is, and a slow one has time for a checkpoint.
    let run = Run::new(&format!(
        r#"
        command = ["./train.sh", "700"]
        launcher = "srun"
        resources = {{ nodes = {nodes}, ranks_per_node = 2, cpus_per_rank = 1, time = "10s" }}
        checkpoints = {{ complete = "rename" }}
        resume = {{ on = ["timeout"], grace = "4s" }}
        "#
    ));
    let mut restart = 0;
    // The newest checkpoint that came out so far.
    let mut newest = None;
    loop {
        assert_eq!(run.start(restart), 0, "{:?}", run.events(restart));
        let before = newest;
        newest = run.out(restart).last().copied().or(before);
        if let Some(before) = before {
            assert_eq!(run.resumed(restart), Some(before));
            for rank in 0..nodes * 2 {
                assert!(
                    run.log(restart, rank)
                        .starts_with(&format!("from {before}\n"))
                );
            }
        }
        run.nothing_is_left_on_the_nodes();
        if run.events(restart).last()
            == Some(&Event::Finished {
                status: 0,
                left: None,
            })
        {
            break;
        }
        restart += 1;
        assert!(restart < 20);
    }
    assert!(restart > 0, "it was meant to be interrupted");
    assert_eq!(run.requeued(), restart as usize);
    assert!(run.log(restart, 0).ends_with("done at 700\n"));
    assert_eq!(newest, Some(700));
}

#[test]
fn on_one_node() {
    trains_to_its_end_over_several_jobs(1);
}

#[test]
fn on_two_virtual_nodes() {
    trains_to_its_end_over_several_jobs(2);
}

const SIMPLE: &str = r#"
    launcher = "srun"
    resources = { ranks_per_node = 2, time = "10m" }
    checkpoints = { complete = "rename" }
"#;

#[test]
fn a_rank_that_fails_is_named() {
    let run = Run::new(&format!(
        "command = ['sh', '-c', 'if [ $SLURM_PROCID = 1 ]; then echo out of memory; exit 3; fi; exec sleep 60']\n{SIMPLE}"
    ));
    assert_eq!(run.start(0), 3);
    let events = run.events(0);
    let Some(Event::Failed { cause, status }) = events.last() else {
        panic!("{events:?}")
    };
    assert!(
        cause.starts_with("rank 1 on v1 ended with exit code 3: out of memory"),
        "{cause}"
    );
    assert_eq!(*status, Some(3));
    assert_eq!(run.requeued(), 0);
    run.nothing_is_left_on_the_nodes();
}

#[test]
fn no_such_command() {
    let run = Run::new(&format!("command = ['pyhton', 'train.py']\n{SIMPLE}"));
    assert_eq!(run.start(0), 127);
    // Of several ranks the first to fail ends the others, which may then have said nothing.
    let events = run.events(0);
    let Some(Event::Failed { cause, .. }) = events.last() else {
        panic!("{events:?}")
    };
    assert!(
        cause.contains("command \"pyhton\" can't be run: no folder of PATH has it"),
        "{cause}"
    );
}

/// `yard run` and `yard show` print the events, not the conductor's log.
#[test]
fn why_data_could_not_be_staged_is_in_the_events() {
    let run = Run::new(&format!(
        "command = ['./train.sh', '5']\n{SIMPLE}\n[data]\nstage = ['no.tar']\n"
    ));
    assert_eq!(run.start(0), 1);
    let events = run.events(0);
    let Some(Event::Failed { cause, .. }) = events.last() else {
        panic!("{events:?}")
    };
    assert!(cause.starts_with("staging failed: "), "{cause}");
    assert!(
        cause.contains("no.tar") && cause.contains("No such file"),
        "{cause}"
    );
}

#[test]
fn cancelled_while_it_runs() {
    let run = Run::new(&format!("command = ['./train.sh', '1000000']\n{SIMPLE}"));
    let mut conductor = run.conductor(0);
    wait_until("there is a checkpoint", || {
        run.run.checkpoints().exists() && !run.out(0).is_empty()
    });
    assert!(
        Command::new("kill")
            .arg(conductor.id().to_string())
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(conductor.wait().unwrap().code(), Some(143));
    assert!(
        run.events(0)
            .iter()
            .any(|event| matches!(event, Event::Stopping { .. }))
    );
    assert_eq!(run.requeued(), 0);
    run.nothing_is_left_on_the_nodes();
}

#[test]
fn a_checkpoint_that_was_cut_in_half_is_passed_over() {
    let run = Run::new(&format!("command = ['./train.sh', '40']\n{SIMPLE}"));
    assert_eq!(run.start(0), 0);
    assert_eq!(run.out(0), [10, 20, 30, 40]);
    fs::write(run.run.checkpoint("step-40"), "wei").unwrap();
    // Of the same length: only its hash tells.
    fs::write(run.run.checkpoint("step-30"), "weights 3O\n").unwrap();
    run.run.write_asked_again().unwrap();
    assert_eq!(run.start(1), 0);
    assert_eq!(run.resumed(1), Some(20));
    let notes: Vec<String> = run
        .events(1)
        .into_iter()
        .filter_map(|event| match event {
            Event::Note { text } => Some(text),
            _ => None,
        })
        .collect();
    assert!(
        notes.iter().any(|text| text.contains("step-40 is damaged")),
        "{notes:?}"
    );
    assert!(
        notes
            .iter()
            .any(|text| text.contains("step-30 can't be resumed from")),
        "{notes:?}"
    );
    assert!(run.log(1, 0).starts_with("from 20\n"));
}

#[test]
fn without_progress_it_does_not_come_back_for_ever() {
    let run = Run::new(
        r#"
        command = ["sleep", "600"]
        launcher = "none"
        resources = { time = "4s" }
        resume = { on = ["timeout"], grace = "2s" }
        "#,
    );
    assert_eq!(run.start(0), 0);
    assert_eq!(run.requeued(), 1);
    assert_eq!(run.start(1), 1);
    assert_eq!(run.requeued(), 1);
    let events = run.events(1);
    let Some(Event::Failed { cause, .. }) = events.last() else {
        panic!("{events:?}")
    };
    assert!(cause.contains("2 jobs in a row"), "{cause}");
}

/// Waits for the first checkpoint of the first start.
#[track_caller]
fn first_checkpoint(run: &Run) {
    wait_until("there is a checkpoint", || {
        run.run.checkpoints().exists() && !run.out(0).is_empty()
    });
}

/// Kills one of our own processes; the run comes back from its last checkpoint.
#[track_caller]
fn check_survives(word: &str, cause: &str) {
    let run = Run::new(&format!("command = ['./train.sh', '1000000']\n{SIMPLE}"));
    let mut conductor = run.conductor(0);
    first_checkpoint(&run);
    run.kill(word);
    assert_eq!(
        conductor.wait().unwrap().code(),
        Some(0),
        "{:?}",
        run.events(0)
    );
    let lost = run.events(0).into_iter().find_map(|event| match event {
        Event::Lost { cause } => Some(cause),
        _ => None,
    });
    let lost = lost.unwrap_or_else(|| panic!("{:?}", run.events(0)));
    assert!(lost.contains(cause), "{lost}");
    assert_eq!(run.requeued(), 1);
}

#[test]
fn a_killed_agent_does_not_end_the_run() {
    check_survives("agent", "the agents' step was ended by signal 9");
}

#[test]
fn a_killed_rank_wrapper_does_not_end_the_run() {
    check_survives("rank", "rank 0 could not say why");
}

#[test]
fn a_killed_conductor_does_not_end_the_run() {
    check_survives("conduct", "the conductor was ended by signal 9");
}

const BY_SUCCESSOR: &str = r#"
    launcher = "srun"
    resources = { ranks_per_node = 1, time = "10m" }
    checkpoints = { complete = "rename" }
    resume = { by = "successor", grace = "2s" }
"#;

#[test]
fn a_successor_waits_from_the_start_takes_over_and_is_dropped_in_the_end() {
    let run_file = format!("command = ['./train.sh', '1000']\n{BY_SUCCESSOR}");
    let run = Run::new(&run_file.replace("10m", "8s"));
    let mut job = JOB;
    let mut links = vec![];
    loop {
        let attempt = Attempt { job, restart: 0 };
        let args: Vec<&str> = links.last().map(String::as_str).into_iter().collect();
        let mut conductor = run.conductor_of(attempt, &args);
        assert_eq!(conductor.wait().unwrap().code(), Some(0));
        let lines = EventTail::new(run.run.events(attempt)).read().unwrap();
        let last = lines.last().map(|line| line.event.clone());
        if last
            == Some(Event::Finished {
                status: 0,
                left: None,
            })
        {
            break;
        }
        let how = folder::ComingBack::Successor { job: job + 1 };
        assert_eq!(last, Some(Event::ComingBack { how }), "{lines:?}");
        let asked = run.asked("submitted");
        let asked = asked.last().unwrap();
        let dependency = format!("--dependency=afterany:{job}");
        assert!(asked.contains(&dependency), "{asked}");
        // Nothing of this job's own is taken along.
        assert!(asked.starts_with(' '), "{asked}");
        links.push(asked.rsplit(' ').next().unwrap().to_owned());
        job += 1;
        assert!(job < JOB + 20);
    }
    assert!(job > JOB, "it was meant to be interrupted");
    assert_eq!(run.requeued(), 0);
    assert_eq!(run.asked("cancelled"), [(job + 1).to_string()]);
    let attempts = run.run.attempts().unwrap();
    // The one that nobody could cancel in time ends at once, and is no start of the run.
    let late = Attempt {
        job: job + 1,
        restart: 0,
    };
    let number = (links.len() + 2).to_string();
    let mut late = run.conductor_of(late, &[&number]);
    assert_eq!(late.wait().unwrap().code(), Some(0));
    assert_eq!(run.run.attempts().unwrap(), attempts);
}

#[test]
fn a_run_that_was_cancelled_has_no_successor() {
    let run = Run::new(&format!(
        "command = ['./train.sh', '1000000']\n{BY_SUCCESSOR}"
    ));
    let said = run.root.path().join("said");
    fs::write(&said, "JobState=CANCELLED Reason=None\n").unwrap();
    let mut conductor = run.conductor(0);
    first_checkpoint(&run);
    let pid = conductor.id().to_string();
    assert!(Command::new("kill").arg(pid).status().unwrap().success());
    assert_eq!(conductor.wait().unwrap().code(), Some(143));
    let reason = Some(folder::StopReason::Cancelled);
    assert_eq!(run.events(0).last(), Some(&Event::Terminated { reason }));
    assert_eq!(run.asked("cancelled"), ["8"]);
    run.nothing_is_left_on_the_nodes();
    // Started by hand all the same.
    let next = Attempt { job: 8, restart: 0 };
    let mut successor = run.conductor_of(next, &["2"]);
    assert_eq!(successor.wait().unwrap().code(), Some(0));
    assert_eq!(run.run.attempts().unwrap().len(), 1);
}

#[test]
fn a_preempted_job_is_taken_over() {
    let run = Run::new(&format!(
        "command = ['./train.sh', '1000000']\n{BY_SUCCESSOR}"
    ));
    let said = run.root.path().join("said");
    fs::write(&said, "JobState=PREEMPTED Reason=None\n").unwrap();
    let mut conductor = run.conductor(0);
    first_checkpoint(&run);
    let pid = conductor.id().to_string();
    assert!(Command::new("kill").arg(pid).status().unwrap().success());
    assert_eq!(conductor.wait().unwrap().code(), Some(143));
    let before = *run.out(0).last().unwrap();
    assert_eq!(run.asked("cancelled"), Vec::<String>::new());
    let next = Attempt { job: 8, restart: 0 };
    let mut successor = run.conductor_of(next, &["2"]);
    let resumed = || {
        let lines = EventTail::new(run.run.events(next)).read().unwrap();
        lines.into_iter().find_map(|line| match line.event {
            Event::Resumed { step, .. } => step,
            _ => None,
        })
    };
    wait_until("it resumes", || resumed().is_some());
    assert_eq!(resumed(), Some(before));
    wait_until("one waits for each", || run.asked("submitted").len() == 2);
    let pid = successor.id().to_string();
    assert!(Command::new("kill").arg(pid).status().unwrap().success());
    assert_eq!(successor.wait().unwrap().code(), Some(143));
}
