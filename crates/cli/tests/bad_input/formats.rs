//! Formats of Slurm's commands that no person types.

use testkit::TestEnv;

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
}
