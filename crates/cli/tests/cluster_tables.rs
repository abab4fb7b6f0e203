//! Licences and switches of a cluster file: given, shown, waited for.

use testkit::{TestEnv, wait_until};

const CLUSTER: &str = "\
[nodes.n]\nnames = \"n[1-2]\"\ncpus = 4\nmemory = \"8000M\"\n\
[partition.main]\ndefault = true\nnodes = \"ALL\"\nmax_time = \"1-0\"\n\
[license.matlab]\ncount = 2\n[license.ansys]\ncount = 1\n\
[switch.s1]\nnodes = \"n1\"\n[switch.s2]\nnodes = \"n2\"\n[switch.top]\nswitches = \"s[1-2]\"\n";

#[test]
fn licences_are_given_once() {
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let file = env.write("lab.toml", CLUSTER).display().to_string();
    env.yard(&["engine", "start", "lab", "--cluster", &file])
        .success();
    env.set_var("TRAINYARD_ENGINE", "lab");
    let submit = |licences: &str| {
        let args = [
            "--parsable",
            "-o/dev/null",
            "-L",
            licences,
            "--wrap=sleep 1000",
        ];
        env.slurm("sbatch", &args).success().trim().to_owned()
    };
    let shown = |job: &str| {
        let args = ["-h", "-j", job, "-o", "%t %W %r"];
        env.slurm("squeue", &args).success().trim().to_owned()
    };
    let is_soon = |job: &str, want: &str| {
        wait_until(&format!("job {job} is {want}"), || shown(job) == want);
    };
    let (first, second) = (submit("matlab"), submit("matlab:2"));
    is_soon(&first, "R matlab None");
    is_soon(&second, "PD matlab:2 Licenses");
    let third = submit("ansys,matlab");
    is_soon(&third, "R ansys,matlab None");
    assert_eq!(
        env.slurm("scontrol", &["show", "licenses"]).success(),
        "LicenseName=matlab\n    Total=2 Used=2 Free=0 Reserved=0 Remote=no\n\
         LicenseName=ansys\n    Total=1 Used=1 Free=0 Reserved=0 Remote=no\n"
    );
    assert_eq!(
        env.slurm("scontrol", &["show", "topology"]).success(),
        "SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n1\n\
         SwitchName=s2 Level=0 LinkSpeed=1 Nodes=n2\n\
         SwitchName=top Level=1 LinkSpeed=1 Nodes=n[1-2] Switches=s[1-2]\n"
    );
    let tasks = ["-N2", "sh", "-c", "echo $SLURM_TOPOLOGY_ADDR"];
    let printed = env.slurm("srun", &tasks).success();
    let mut places: Vec<&str> = printed.lines().collect();
    places.sort_unstable();
    assert_eq!(places, ["top.s1.n1", "top.s2.n2"]);
    let two = [
        "--parsable",
        "-o/dev/null",
        "-N2",
        "--switches=1",
        "--wrap=true",
    ];
    let waits = env.slurm("sbatch", &two).success().trim().to_owned();
    is_soon(&waits, "PD (null) Resources");
    env.slurm("scancel", &[&waits]).success();
    let of_ansys = env.slurm("squeue", &["-h", "-L", "ansys", "-o", "%i"]);
    assert_eq!(of_ansys.success().trim(), third);
    let why = env.yard(&["why", &second]);
    let why = why.success();
    let held = format!("2 matlab asked, 2 of 2 held: 1 by job {first}, 1 by job {third}");
    assert!(why.contains(&held), "{why}");
    let refused = env.slurm("sbatch", &["-L", "matlab:3", "--wrap=true"]);
    let said = refused.code(1).stderr;
    assert!(said.contains("Invalid license specification"), "{said}");
    env.slurm("scancel", &[&first]).success();
    env.slurm("scancel", &[&third]).success();
    is_soon(&second, "R matlab:2 None");
    env.slurm("scancel", &[&second]).success();
    wait_until("no job is left", || {
        env.slurm("squeue", &["-h"]).success().is_empty()
    });
}
