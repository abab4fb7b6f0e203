//! Files that never end, that are no files, and output that nobody can take.

use crate::house::env;
use std::fs;
use testkit::{Outcome, TestEnv};

/// Runs a line in which `$YARD` is the program.
fn bash(env: &TestEnv, line: &str) -> Outcome {
    let mut command = env.program("bash", &["-c", line]);
    command.env("YARD", env!("CARGO_BIN_EXE_yard"));
    let output = command.output().unwrap();
    Outcome {
        status: output.status.code().unwrap(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

const SCRIPT: &str = "#!/bin/sh\n#SBATCH -J a\x1b[2Jb\n#SBATCH -p p\x1b[2J\n#SBATCH -t 5\ntrue\n";

#[test]
fn what_never_ends_is_not_waited_for() {
    let env = env();
    fs::write(env.work().join("yard.toml"), "command = [\"true\"]\n").unwrap();
    fs::write(
        env.work().join("slurm.conf"),
        "Include fifo\nNodeName=n CPUs=2\n",
    )
    .unwrap();
    assert!(bash(&env, "mkfifo fifo").status == 0);
    for (line, code) in [
        ("cluster import --slurm-conf FILE", 5),
        ("cluster import --slurm-conf slurm.conf --gres-conf FILE", 5),
        ("cluster import --slurm-conf slurm.conf --dump FILE", 5),
        ("plan FILE --on ibex", 5),
        ("plan yard.toml --on ibex --beside FILE", 5),
        ("port FILE --from ibex --to wilson", 5),
        ("lint FILE", 5),
    ] {
        for (file, words) in [("fifo", "a FIFO"), ("/dev/zero", "a device")] {
            let line = format!("\"$YARD\" {}", line.replace("FILE", file));
            let said = bash(&env, &line);
            assert!(said.stderr.contains(words), "{line}: {}", said.stderr);
            assert_eq!(said.status, code, "{line}: {}", said.stderr);
        }
    }
    let said = bash(&env, "\"$YARD\" cluster import --slurm-conf slurm.conf");
    assert!(
        said.stdout.contains("that file can't be read"),
        "{}",
        said.stdout
    );
}

#[test]
fn a_folder_is_not_staged_into_itself() {
    let env = env();
    env.write("data/deep/file", "1\n");
    let into = env.work().join("data/new/place");
    let to = into.display().to_string();
    let refused = env.yard(&["stage", "data", "--to", &to]).code(2).snapshot();
    assert!(refused.contains("can't be copied into itself"), "{refused}");
    assert!(!env.work().join("data/new").exists(), "nothing was made");
    env.yard(&["stage", "data", "--to", "beside"]).success();
    let copied = std::fs::read_to_string(env.work().join("beside/data/deep/file")).unwrap();
    assert_eq!(copied, "1\n");
}

#[test]
fn a_script_may_come_through_a_pipe() {
    let env = env();
    let script = "#!/bin/sh\n#SBATCH -t 5\ntrue\n";
    fs::write(env.work().join("job.sh"), script).unwrap();
    for line in [
        "\"$YARD\" plan <(cat job.sh) --on ibex --script",
        "\"$YARD\" plan - --on ibex --script < job.sh",
        "\"$YARD\" port - --from ibex --to ibex < job.sh",
        "\"$YARD\" port <(cat job.sh) --from ibex --to ibex --output -",
    ] {
        let said = bash(&env, line);
        assert_eq!(said.stdout, script, "{line}: {}", said.stderr);
    }
}

#[test]
fn a_script_moves_nobodys_cursor() {
    let env = env();
    fs::write(env.work().join("esc"), SCRIPT).unwrap();
    for line in [
        "\"$YARD\" plan esc --on ibex",
        "\"$YARD\" port esc --from wilson --to ibex >/dev/null",
        "\"$YARD\" port esc --to ibex",
        "\"$YARD\" lint esc --on ibex",
    ] {
        let said = bash(&env, line);
        let all = format!("{}{}", said.stdout, said.stderr);
        assert!(!all.contains('\x1b'), "{line}: {all:?}");
        assert!(
            all.contains("[2J") || all.contains("it names nothing"),
            "{line}: {all:?}"
        );
    }
}

#[test]
fn a_full_disk_is_said_once_and_a_closed_pipe_is_not() {
    let env = env();
    fs::write(env.work().join("job.sh"), "#!/bin/sh\n#SBATCH -t 5\ntrue\n").unwrap();
    fs::write(env.work().join("bad.sh"), "#!/bin/sh\n#SBATCH --nosuch\n").unwrap();
    fs::write(env.work().join("slurm.conf"), "NodeName=n CPUs=2\n").unwrap();
    for words in [
        "port job.sh --from ibex --to ibex",
        "lint --list",
        "lint bad.sh",
        "lint --format sarif bad.sh",
        "plan job.sh --on ibex",
        "plan job.sh --on ibex --json",
        "cluster import --slurm-conf slurm.conf",
        "--help",
    ] {
        let said = bash(&env, &format!("\"$YARD\" {words} >/dev/full"));
        let told = said.stderr.matches("standard output can't be written");
        assert_eq!(told.count(), 1, "{words}: {}", said.stderr);
        assert_eq!(said.status, 5, "{words}: {}", said.stderr);
    }
    let said = bash(&env, "\"$YARD\" slurm sbatch --help >/dev/full");
    assert_eq!(said.status, 1, "{}", said.stderr);
    let closed = "set -o pipefail; \"$YARD\" lint --list | true";
    let said = bash(&env, closed);
    assert_eq!((said.status, said.stderr.as_str()), (0, ""));
}

#[test]
fn a_ported_script_leaves_links_what_they_are() {
    let env = env();
    let work = env.work();
    fs::write(work.join("job.sh"), "#!/bin/sh\n#SBATCH -t 5\ntrue\n").unwrap();
    let port = "\"$YARD\" port job.sh --from ibex --to ibex --force --output";
    let said = bash(&env, &format!("ln -s target dangling && {port} dangling"));
    assert_eq!(said.status, 0, "{}", said.stderr);
    assert!(work.join("dangling").is_symlink());
    let text = fs::read_to_string(work.join("target")).unwrap();
    assert!(text.starts_with("#!/bin/sh"), "{text}");
    let said = bash(&env, &format!("echo old >one && ln one two && {port} one"));
    assert_eq!(said.status, 5, "{}", said.stderr);
    assert!(said.stderr.contains("a hard link"), "{}", said.stderr);
    for name in ["one", "two"] {
        assert_eq!(fs::read_to_string(work.join(name)).unwrap(), "old\n");
    }
}

#[test]
fn an_own_cluster_file_that_cannot_be_read_hides_the_shipped_one() {
    let env = env();
    fs::create_dir_all(env.trainyard_home().join("config/clusters/ibex.toml")).unwrap();
    let listed = env.yard(&["cluster", "ls"]);
    let is_it = |line: &str| line.starts_with("ibex ");
    assert!(!listed.stdout.lines().any(is_it), "{}", listed.stdout);
    assert!(listed.stderr.contains("ibex.toml"), "{}", listed.stderr);
}

#[test]
fn nodes_and_users_that_are_not_there() {
    let env = env();
    for (words, status, said) in [
        ("-w nope", 1, "squeue: error: Invalid node name nope\n"),
        ("-w 'a['", 1, "squeue: error: Invalid node name a]\n"),
        (
            "-u no.such.user",
            0,
            "squeue: error: Invalid user: no.such.user\n\n",
        ),
        ("-w localhost", 0, ""),
    ] {
        let outcome = bash(&env, &format!("\"$YARD\" slurm squeue {words}"));
        assert_eq!(
            (outcome.status, outcome.stderr.as_str()),
            (status, said),
            "{words}"
        );
    }
}

#[test]
fn slurms_commands_wait_for_no_fifo_and_for_no_end() {
    let env = env();
    assert_eq!(bash(&env, "mkfifo fifo").status, 0);
    let cluster = env.slurm("sacctmgr", &["-nP", "show", "cluster", "format=cluster"]);
    let cluster = cluster.success().trim().to_owned();
    for (line, words) in [
        ("sacctmgr -i load fifo", "a FIFO"),
        ("sacctmgr -i load /dev/zero", "a device"),
        (&format!("sacctmgr dump {cluster} file=fifo"), "a FIFO"),
        ("sbatch fifo", "a FIFO"),
        ("srun --multi-prog fifo", "Could not open multi_prog"),
        (
            "sbatch --export-file=fifo --wrap true",
            "Could not open user environment file",
        ),
    ] {
        let (name, args) = line.split_once(' ').unwrap();
        let args: Vec<&str> = args.split(' ').collect();
        let said = env.slurm(name, &args);
        assert_ne!(said.status, 0, "{line}");
        assert!(said.stderr.contains(words), "{line}: {}", said.stderr);
    }
    let piped = bash(
        &env,
        "\"$YARD\" slurm sbatch --hold <(printf '#!/bin/sh\\ntrue\\n')",
    );
    assert_eq!(piped.status, 0, "{}", piped.stderr);
}
