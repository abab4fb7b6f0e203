//! `yard logs`, of runs and of jobs that are no runs.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use testkit::{TestEnv, wait_until};

#[test]
fn the_bytes_of_a_rank_go_into_a_pipe_as_they_are() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let bytes = r"printf 'a\377b\r50%%\r100%%\r\n\033[1mno end'";
    env.yard(&["run", "--", "sh", "-c", bytes]).success();
    let output = env.command(&["logs", "@", "-r", "0"]).output().unwrap();
    assert_eq!(output.stdout, b"a\xffb\r50%\r100%\r\n\x1b[1mno end");
    for command in [&["logs", "@"][..], &["logs", "-f", "@"]] {
        let output = env.command(command).output().unwrap();
        let want = b"[0] a\xffb\r50%\r100%\r\n[0] \x1b[1mno end\n";
        assert_eq!(output.stdout, want, "{command:?}");
    }
}

/// They were refused: no transport to its cluster could be opened.
#[test]
fn of_a_run_on_a_cluster_that_is_not_here_the_files_are_shown() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.yard(&["run", "--", "echo", "hello"]).success();
    let index = env.trainyard_home().join("index");
    let elsewhere = index.join("cedar");
    std::fs::rename(index.join("local"), &elsewhere).unwrap();
    for entry in std::fs::read_dir(&elsewhere).unwrap() {
        let path = entry.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace(r#""local""#, r#""cedar""#)).unwrap();
    }
    assert_eq!(env.yard(&["logs", "echo"]).success(), "[0] hello\n");
    let shown = env.yard(&["show", "echo"]).success();
    assert!(shown.contains(" · cedar · done\n"), "{shown}");
    let ends = env.yard(&["cancel", "echo"]).code(4);
    assert!(ends.stderr.contains("cedar can't be reached"), "{ends:?}");
}

/// What rank 0 wrote last says nothing of why another rank failed.
#[test]
fn of_a_run_that_failed_the_rank_that_failed_first_is_shown() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let rank = "echo step $RANK; [ $RANK = 1 ] || exec sleep 600; echo boom; exit 3";
    env.write(
        "yard.toml",
        format!(
            "name = \"fails\"\nlauncher = \"srun\"\ncommand = [\"sh\", \"-c\", \"{rank}\"]\n\
             [resources]\nranks_per_node = 2\n"
        )
        .as_str(),
    );
    let _ = env.yard(&["run"]).code(1);
    let shown = env.yard(&["show", "fails"]).success();
    assert!(shown.contains("cause        rank 1 on "), "{shown}");
    assert!(shown.ends_with("\n  [1] step 1\n  [1] boom\n"), "{shown}");
    assert!(!shown.contains("[0] "), "{shown}");
}

/// Its job is still known, and was shown as one that writes elsewhere.
#[test]
fn of_a_job_whose_run_was_removed_that_is_said() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.yard(&["run", "--", "echo", "hello"]).success();
    env.yard(&["rm", "--yes", "echo"]).success();
    for more in [&[][..], &["-r", "0"]] {
        let said = env.yard(&[&["logs", "1"], more].concat()).code(5).stderr;
        assert!(said.contains("job 1 has no output to show"), "{said}");
        assert!(
            said.contains("its run echo-") && said.contains("was removed"),
            "{said}"
        );
    }
    let shown = env.yard(&["show", "1"]).success();
    assert!(shown.contains("note         its run echo-"), "{shown}");
}

#[test]
fn a_job_that_is_no_run_is_followed_and_has_no_ranks() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let script = "#!/bin/sh\necho first\nwhile [ ! -e go ]; do sleep 0.02; done\necho last\n";
    env.write("job.sh", script);
    env.slurm("sbatch", &["job.sh"]).success();
    let refused = env.yard(&["logs", "1", "-r", "0"]).code(2);
    assert!(
        refused.stderr.contains("it has no ranks"),
        "{}",
        refused.stderr
    );
    let file = env.root().join("followed");
    let mut command = env.command(&["logs", "-f", "1"]);
    command.stdout(Stdio::from(std::fs::File::create(&file).unwrap()));
    let mut follows = command.spawn().unwrap();
    let followed = || std::fs::read_to_string(&file).unwrap();
    wait_until("the first line is shown", || followed() == "first\n");
    env.write("go", "");
    assert!(follows.wait().unwrap().success());
    assert_eq!(followed(), "first\nlast\n");
}

#[test]
fn a_file_whose_name_has_codes_that_scontrol_does_not_fill_in_is_found() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.write(
        "job.sh",
        "#!/bin/sh\n#SBATCH -o %x-%N-%5j.out\necho found\n",
    );
    let ran = env.yard(&["run", "job.sh"]).success();
    assert!(ran.contains("\nfound\n"), "{ran}");
    assert_eq!(env.yard(&["logs", "1"]).success(), "found\n");
    let shown = env.yard(&["show", "1"]).success();
    assert!(shown.contains("-00001.out"), "{shown}");
}

#[test]
fn a_run_whose_job_is_held_says_what_lets_it_start() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let waits = "touch begun; while [ ! -e go ]; do sleep 0.02; done";
    let waits = format!("cd {} && {waits}", env.work().display());
    let file = env.root().join("run.out");
    let mut command = env.command(&["run", "--", "sh", "-c", &waits]);
    command.stderr(Stdio::from(std::fs::File::create(&file).unwrap()));
    command.stdout(Stdio::from(file_to_append(&file)));
    let mut run = command.spawn().unwrap();
    let said = || std::fs::read_to_string(&file).unwrap();
    wait_until("it runs", || env.work().join("begun").exists());
    env.slurm("scontrol", &["requeuehold", "1"]).success();
    wait_until("it says why it waits", || {
        said().contains("scontrol release 1 lets it start") || run.try_wait().unwrap().is_some()
    });
    env.write("go", "");
    env.slurm("scontrol", &["release", "1"]).success();
    assert!(run.wait().unwrap().success(), "{}", said());
    assert_eq!(
        said().matches("job requeued in held state").count(),
        1,
        "{}",
        said()
    );
}

fn file_to_append(path: &std::path::Path) -> std::fs::File {
    std::fs::File::options().append(true).open(path).unwrap()
}

/// On a terminal only: its own words come whole, and the cause right after the first lines of the others.
#[test]
fn what_ranks_print_while_they_are_ended_for_a_failed_one_is_folded() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.write(
        "yard.toml",
        "launcher = \"srun\"\ncommand = [\"bash\", \"train.sh\"]\n[resources]\nranks_per_node = 2\n",
    );
    env.write(
        "train.sh",
        "lines() { for line in {1..30}; do echo \"$1 $line\"; done; }\n\
         if [ $SLURM_PROCID = 0 ]; then\n\
           until [ -e up ]; do sleep 0.05; done; lines trace; exit 7\n\
         fi\n\
         trap 'lines stack; exit 1' TERM; touch up; sleep 600 & wait\n",
    );
    let line = format!("{} run", env!("CARGO_BIN_EXE_yard"));
    let run = env
        .program("script", &["-qec", &line, "/dev/null"])
        .output();
    let shown = String::from_utf8(run.unwrap().stdout).unwrap();
    assert_eq!(shown.matches("[0] trace ").count(), 30, "{shown}");
    assert_eq!(shown.matches("[1] stack ").count(), 4, "{shown}");
    let (_, folded) = shown.split_once("[1] stack 4").unwrap();
    assert!(
        folded
            .trim_start()
            .starts_with("… 26 more lines of ranks that were being ended"),
        "{shown}"
    );
    assert!(folded.contains("failed: rank 0 on "), "{shown}");
    let logs = env.yard(&["logs", "work"]).success();
    assert_eq!(logs.matches("stack ").count(), 30, "{logs}");
}

/// It said that the ranks were so many as there are agents.
#[test]
fn a_rank_of_an_agent_has_no_log_of_its_own() {
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let torchrun = env.write("bin/torchrun", "#!/bin/sh\necho of an agent\n");
    std::fs::set_permissions(&torchrun, PermissionsExt::from_mode(0o755)).unwrap();
    let bin = torchrun.parent().unwrap().display().to_string();
    env.set_var("PATH", format!("{bin}:/usr/bin:/bin"));
    env.write(
        "yard.toml",
        "launcher = \"torchrun\"\ncommand = [\"./train\"]\n[resources]\nranks_per_node = 4\n\
         cpus_per_rank = 1\nmemory = \"100M\"\n",
    );
    let cluster = "[nodes.n]\ncount = 1\ncpus = 4\nmemory = \"1G\"\n\
                   [partition.p]\ndefault = true\nnodes = \"ALL\"\nmax_time = \"1:00\"\n";
    let cluster = env.write("lab.toml", cluster).display().to_string();
    env.yard(&["engine", "start", "lab", "--cluster", &cluster])
        .success();
    env.yard(&["run", "--on", "lab"]).success();
    assert_eq!(env.yard(&["logs", "-r", "0"]).success(), "of an agent\n");
    let refused = env.yard(&["logs", "-r", "3"]).code(2).stderr;
    // With PET_TEE each line says whose it is.
    let marks = "#!/bin/sh\necho of the agent\necho \"[default0:0]:first\"\n\
                 echo \"[default3:3]:as $TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE\"\n";
    env.write("bin/torchrun", marks);
    env.yard(&["run", "--on", "lab"]).success();
    let template = "as [${role_name}${local_rank}:${rank}]:";
    assert_eq!(
        env.yard(&["logs", "-r", "3"]).success(),
        format!("{template}\n")
    );
    assert_eq!(
        env.yard(&["logs"]).success(),
        format!("[agent 0] of the agent\n[0] first\n[3] {template}\n")
    );
    let beyond = env.yard(&["logs", "-r", "4"]).code(2).stderr;
    assert!(beyond.contains("ranks 0 to 3"), "{beyond}");
    env.yard(&["engine", "stop", "lab"]).success();
    let said = refused.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains(
            "agents 0 to 0 of torchrun, one a node: the 4 ranks of each write into its log"
        ),
        "{refused}"
    );
}
