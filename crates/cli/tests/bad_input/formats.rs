//! Formats of Slurm's commands that no person types.

use testkit::{TestEnv, wait_until};

const MANY: usize = 10_000;

#[test]
fn one_of_ten_thousand_columns_is_printed_whole() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.slurm("sbatch", &["--hold", "--wrap", "true"]).success();
    let letters = |field: &str| format!("{field} ").repeat(MANY);
    let names = |field: &str| vec![field; MANY].join(",");
    let users = format!("format={}", names("user"));
    let calls = [
        ("squeue", vec!["-h", "-o"], letters("%i")),
        ("squeue", vec!["-h", "-O"], names("jobid")),
        ("sinfo", vec!["-h", "-o"], letters("%t")),
        ("sinfo", vec!["-h", "-O"], names("nodes")),
        ("sacct", vec!["-n", "-j", "1", "-o"], names("jobid")),
        ("sacctmgr", vec!["-n", "show", "user"], users),
    ];
    for (program, mut args, format) in calls {
        args.push(&format);
        let printed = env.slurm(program, &args).success();
        let line = printed.lines().next().unwrap_or_default();
        assert_eq!(line.split_whitespace().count(), MANY, "{program}");
    }
    let script = "touch begun; while [ ! -e go ]; do sleep 0.05; done";
    env.slurm("sbatch", &["--wrap", script]).success();
    wait_until("the second job runs", || env.work().join("begun").exists());
    let columns = names("jobid");
    let args = ["-n", "-P", "-j", "2.batch", "-o", &columns];
    let printed = env.slurm("sstat", &args).success();
    assert_eq!(printed.trim().split('|').count(), MANY);
    env.write("go", "");
    wait_until("it is over", || {
        let listed = env.slurm("squeue", &["-h", "-t", "R,CG"]).success();
        listed.is_empty()
    });
}

/// Priorities have parts where the cluster's file says so.
#[test]
fn one_of_ten_thousand_columns_of_priorities_is_printed_whole() {
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let file = "[nodes.n]\nnames = \"n1\"\ncpus = 4\nmemory = \"8000M\"\n\
                [partition.main]\ndefault = true\nnodes = \"ALL\"\n\
                [priority]\ntype = \"multifactor\"\n";
    let file = env.write("lab.toml", file).display().to_string();
    env.yard(&["engine", "start", "lab", "--cluster", &file])
        .success();
    env.set_var("TRAINYARD_ENGINE", "lab");
    let format = "%i ".repeat(MANY);
    let printed = env.slurm("sprio", &["-h", "-w", "-o", &format]).success();
    assert_eq!(printed.split_whitespace().count(), MANY);
    let format = vec!["account"; MANY].join(",");
    let printed = env.slurm("sshare", &["-n", "-a", "-o", &format]).success();
    // As in Slurm a column that is named again is the same.
    assert_eq!(printed.lines().next().map(str::trim), Some("root"));
}
