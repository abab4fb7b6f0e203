//! A cluster whose controller does not answer for a while: nothing that follows a run takes it for
//! an end.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

mod slow {
    use std::fs::{self, File};
    use std::path::PathBuf;
    use std::process::Child;
    use std::time::Instant;
    use testkit::{FakeSlurm, RealSlurm, SlurmShape, TestEnv, skip, wait_until};

    const SIGINT: i32 = 2;

    /// A command under way, its two outputs in files.
    struct Under {
        name: &'static str,
        child: Child,
        stdout: PathBuf,
        stderr: PathBuf,
    }

    impl Under {
        fn start(env: &TestEnv, name: &'static str, args: &[&str]) -> Under {
            let stdout = env.root().join(format!("{name}.out"));
            let stderr = env.root().join(format!("{name}.err"));
            let child = env
                .command(args)
                .stdout(File::create(&stdout).unwrap())
                .stderr(File::create(&stderr).unwrap())
                .spawn()
                .unwrap();
            Under {
                name,
                child,
                stdout,
                stderr,
            }
        }

        /// Ends it as Ctrl-C does.
        fn interrupt(self) {
            sys::process::signal(self.child.id(), SIGINT).unwrap();
            assert_eq!(self.end().0, 0);
        }

        fn said(&self) -> String {
            fs::read_to_string(&self.stderr).unwrap()
        }

        /// Its exit status and what it printed.
        fn end(mut self) -> (i32, String) {
            let status = self.child.wait().unwrap();
            let text = fs::read_to_string(&self.stdout).unwrap();
            (status.code().unwrap_or(-1), text + &self.said())
        }
    }

    /// Questions may be so far apart.
    fn set_poll(env: &TestEnv, length: &str) {
        let folder = env.trainyard_home().join("config");
        fs::create_dir_all(&folder).unwrap();
        let text = format!("poll = \"{length}\"\n");
        fs::write(folder.join("config.toml"), text).unwrap();
    }

    /// The only run's folder.
    fn run_folder(env: &TestEnv, name: &str) -> PathBuf {
        let scratch = env.trainyard_home().join("scratch");
        let projects = fs::read_dir(scratch).unwrap().flatten();
        let runs = projects.flat_map(|project| fs::read_dir(project.path()).unwrap().flatten());
        let is_it = |path: &PathBuf| {
            let own = path.file_name().unwrap().to_string_lossy().into_owned();
            own.starts_with(name) && path.join("run.json").exists()
        };
        runs.map(|run| run.path()).find(is_it).unwrap()
    }

    #[test]
    fn all_that_follow_share_one_question_an_interval() {
        const SECONDS: usize = 2;
        let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
        set_poll(&env, &format!("{SECONDS}s"));
        let slurm = FakeSlurm::start(&mut env);
        slurm.set_jobs(&[(17, "RUNNING", "train")]);
        let flags = [
            "run", "--on", "fake", "--detach", "--name", "train", "--", "true",
        ];
        env.yard(&flags).success();
        let followed = ["run", "--on", "fake", "--name", "other", "--", "true"];
        let asked_before = slurm.asked("squeue");
        let begun = Instant::now();
        let under = [
            Under::start(&env, "run", &followed),
            Under::start(&env, "wait", &["wait", "train"]),
            Under::start(&env, "second wait", &["wait", "train"]),
            Under::start(&env, "logs", &["logs", "-f", "train"]),
        ];
        let asked = || slurm.asked("squeue") - asked_before;
        wait_until("several questions", || asked() >= 4);
        let intervals = usize::try_from(begun.elapsed().as_secs()).unwrap() / SECONDS;
        let asked = asked();
        assert!(asked <= intervals + 2, "{asked} in {intervals} intervals");
        for one in under {
            match one.name {
                "run" => one.interrupt(),
                _ => {
                    let mut one = one;
                    one.child.kill().unwrap();
                    one.child.wait().unwrap();
                }
            }
        }
    }

    #[test]
    fn where_a_script_s_job_writes_is_asked_no_oftener_than_how_it_is() {
        let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
        set_poll(&env, "1s");
        let slurm = FakeSlurm::start(&mut env);
        slurm.set_jobs(&[(17, "RUNNING", "job")]);
        let script = env.write("job.sbatch", "#!/bin/bash\ntrue\n");
        let script = script.to_str().unwrap();
        let run = Under::start(&env, "run", &["run", "--on", "fake", script]);
        // This one never says where the job writes.
        let count = || (slurm.asked("squeue"), slurm.asked("scontrol"));
        wait_until("it is asked about the job and its files", || {
            count().0 >= 2 && count().1 >= 2
        });
        let before = count();
        wait_until("several looks", || count().0 >= before.0 + 3);
        let now = count();
        let (looks, questions) = (now.0 - before.0, now.1 - before.1);
        assert!(questions <= looks + 1, "{questions} beside {looks} looks");
        slurm.set_down(true);
        wait_until("the outage is said", || {
            run.said().contains("fake does not answer")
        });
        let before = count();
        wait_until("it is asked in vain", || count().0 >= before.0 + 2);
        assert_eq!(count().1, before.1);
        slurm.set_down(false);
        run.interrupt();
    }

    #[test]
    fn a_cluster_that_never_says_where_a_job_writes_keeps_nobody_waiting() {
        let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
        set_poll(&env, "1s");
        let slurm = FakeSlurm::start(&mut env);
        let scontrol = env.root().join("slurm/scontrol");
        let answers = fs::read_to_string(&scontrol).unwrap();
        let forbids = "case \"$*\" in *'show job'*) echo forbidden >&2; exit 1 ;; esac\nprintf";
        fs::write(&scontrol, answers.replace("printf", forbids)).unwrap();
        slurm.set_jobs(&[(17, "RUNNING", "job")]);
        let script = env.write("job.sbatch", "#!/bin/bash\ntrue\n");
        let script = script.to_str().unwrap();
        let run = Under::start(&env, "run", &["run", "--on", "fake", script]);
        wait_until("it follows", || slurm.asked("squeue") >= 2);
        slurm.set_jobs(&[(17, "COMPLETED", "job")]);
        let (code, text) = run.end();
        assert_eq!(code, 0, "{text}");
    }

    #[test]
    fn start_and_end_are_seen_in_the_files_while_the_cluster_is_asked_seldom() {
        let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
        set_poll(&env, "10m");
        let slurm = FakeSlurm::start(&mut env);
        slurm.set_jobs(&[(17, "PENDING", "train")]);
        let flags = ["run", "--on", "fake", "--name", "train", "--", "true"];
        let run = Under::start(&env, "run", &flags);
        wait_until("it follows", || slurm.asked("squeue") >= 1);
        let wait = Under::start(&env, "wait", &["wait", "train"]);
        let events = run_folder(&env, "train").join("links/17.0.events");
        let mut text = String::new();
        let mut say = |event: &str| {
            text.push_str(&format!("{{\"at\":{},{event}}}\n", sys::now()));
            fs::write(&events, &text).unwrap();
        };
        say(r#""event":"started","job":17,"restart":0,"nodes":["node1"]"#);
        say(r#""event":"launched","ranks":1,"rendezvous":"node1:1""#);
        let stdout = || fs::read_to_string(&run.stdout).unwrap();
        wait_until("the start is said", || stdout().contains("start 1"));
        slurm.set_jobs(&[(17, "COMPLETED", "train")]);
        say(r#""event":"ranks-ended","status":0,"first_failed":null"#);
        say(r#""event":"finished","status":0"#);
        let (code, text) = run.end();
        assert_eq!(code, 0, "{text}");
        assert!(text.contains(" done in "), "{text}");
        let (code, text) = wait.end();
        assert_eq!(code, 0, "{text}");
        // The next question would be minutes away.
        let asked = slurm.asked("squeue");
        assert!(asked <= 3, "{asked}");
    }

    #[test]
    fn an_outage_is_waited_through_and_said_once() {
        let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
        set_poll(&env, "1s");
        let slurm = FakeSlurm::start(&mut env);
        slurm.set_jobs(&[(17, "RUNNING", "train")]);
        let flags = [
            "run", "--on", "fake", "--detach", "--name", "train", "--", "true",
        ];
        env.yard(&flags).success();

        let followed = ["run", "--on", "fake", "--name", "other", "--", "true"];
        let run = Under::start(&env, "run", &followed);
        wait_until("it follows", || slurm.asked("squeue") >= 1);
        let under = [
            run,
            Under::start(&env, "wait", &["wait", "train"]),
            Under::start(&env, "logs", &["logs", "-f", "train"]),
        ];
        slurm.set_down(true);
        wait_until("all of them say it", || {
            under
                .iter()
                .all(|one| one.said().contains("fake does not answer"))
        });

        let listed = env.yard(&["ls"]).code(0);
        assert!(listed.stdout.contains("train"), "{}", listed.snapshot());
        assert!(
            listed.stderr.contains("fake does not answer"),
            "{}",
            listed.snapshot()
        );
        let shown = env.yard(&["show", "train"]).code(0);
        assert!(
            shown.stdout.contains("does not answer now"),
            "{}",
            shown.snapshot()
        );

        slurm.set_jobs(&[(17, "CANCELLED", "train")]);
        let asked = slurm.asked("squeue");
        wait_until("they go on asking", || slurm.asked("squeue") >= asked + 3);
        slurm.set_down(false);
        for one in under {
            let name = one.name;
            let (code, text) = one.end();
            let wanted = i32::from(name != "logs");
            assert_eq!(code, wanted, "{name}: {text}");
            assert_eq!(
                text.matches("fake does not answer").count(),
                1,
                "{name}: {text}"
            );
            assert_eq!(
                text.matches("fake answers again").count(),
                1,
                "{name}: {text}"
            );
        }
    }

    #[test]
    fn what_an_outage_hides_is_not_taken_for_nothing_live() {
        let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
        let slurm = FakeSlurm::start(&mut env);
        slurm.set_jobs(&[(17, "CANCELLED", "train")]);
        let flags = [
            "run", "--on", "fake", "--detach", "--name", "train", "--", "true",
        ];
        env.yard(&flags).success();
        let live = || env.yard(&["ls", "--live"]).code(0);
        assert_eq!(
            live().snapshot(),
            "status 0\n-- stdout\nnothing waits or runs; yard ls shows what has ended\n-- stderr\n"
        );
        slurm.set_down(true);
        let listed = live();
        let (stdout, text) = (&listed.stdout, listed.snapshot());
        assert!(!stdout.contains("nothing waits or runs"), "{text}");
        assert!(
            stdout.contains("not everything answers") || stdout.contains("train"),
            "{text}"
        );
        assert!(listed.stderr.contains("fake does not answer"), "{text}");
    }

    #[test]
    fn a_question_that_hangs_does_not_block_an_interrupt() {
        let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
        set_poll(&env, "1s");
        let slurm = FakeSlurm::start(&mut env);
        slurm.set_jobs(&[(17, "RUNNING", "train")]);
        let run = Under::start(&env, "run", &["run", "--on", "fake", "--", "true"]);
        wait_until("it follows", || slurm.asked("squeue") >= 1);
        slurm.set_hanging(true);
        let asked = slurm.asked("squeue");
        wait_until("a question hangs", || slurm.asked("squeue") > asked);
        sys::process::signal(run.child.id(), SIGINT).unwrap();
        let (code, text) = run.end();
        assert_eq!(code, 0, "{text}");
        assert!(text.contains("without this terminal"), "{text}");
        slurm.set_hanging(false);
    }

    #[test]
    fn a_real_controller_that_goes_away_ends_no_run() {
        if let Some(reason) = RealSlurm::missing() {
            return skip("a_real_controller_that_goes_away_ends_no_run", &reason);
        }
        let shape = SlurmShape { nodes: 1, cpus: 2 };
        let mut slurm = RealSlurm::start(shape).expect("a Slurm comes up");
        let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
        set_poll(&env, "1s");
        env.set_var("SLURM_CONF", slurm.conf());
        let (begun, go) = (env.work().join("begun"), env.work().join("go"));
        let (begin, end) = (begun.display(), go.display());
        let command = format!("touch {begin}; until [ -e {end} ]; do sleep 0.1; done");
        let flags = [
            "run", "--on", "rig", "--time", "10m", "--", "sh", "-c", &command,
        ];
        let run = Under::start(&env, "run", &flags);
        wait_until("the training runs", || begun.exists());
        slurm.stop_controller();
        wait_until("the outage is said", || {
            run.said().contains("rig does not answer")
        });
        // It ends while no one can be asked about it: the files say so.
        fs::write(&go, "").unwrap();
        slurm.start_controller().unwrap();
        let (code, text) = run.end();
        assert_eq!(code, 0, "{text}");
        assert!(text.contains(" done in "), "{text}");
    }

    #[test]
    fn a_job_that_the_controller_forgot_is_no_outage() {
        let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
        let slurm = FakeSlurm::start(&mut env);
        let outcome = env.yard(&["run", "--on", "fake", "--", "true"]).code(1);
        let text = outcome.snapshot();
        assert!(text.contains("no longer knows"), "{text}");
        assert!(!text.contains("does not answer"), "{text}");
        drop(slurm);
    }
}
