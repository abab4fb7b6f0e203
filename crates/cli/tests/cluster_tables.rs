//! Licences, switches and bills of a cluster file: given, shown, waited for.

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

/// As recorded of 22.05.8.
#[test]
fn a_partition_bills_by_its_weights() {
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    let text = "[nodes.n]\nnames = \"n[1-2]\"\ncpus = 4\nmemory = \"8000M\"\ngpu = { count = 2, type = \"v100\" }\n\
                [partition.main]\ndefault = true\nnodes = \"ALL\"\nmax_memory_per_cpu = \"500M\"\n\
                billing_weights = \"CPU=2,Mem=0.5G,GRES/gpu=3.5\"\n\
                [partition.plain]\nnodes = \"n1\"\n";
    let file = env.write("lab.toml", text).display().to_string();
    env.yard(&["engine", "start", "lab", "--cluster", &file])
        .success();
    env.set_var("TRAINYARD_ENGINE", "lab");
    let run = ["--parsable", "-o/dev/null", "--wrap=sleep 1000", "-n2"];
    let submit = |options: &[&str]| {
        let args = [&run[..], options].concat();
        env.slurm("sbatch", &args).success().trim().to_owned()
    };
    let runs = submit(&["--mem=1500M", "--gpus=v100:2"]);
    let more = submit(&["--mem-per-cpu=1200M", "-H"]);
    wait_until("it runs", || {
        env.slurm("squeue", &["-h", "-j", &runs, "-o", "%t"])
            .success()
            == "R\n"
    });
    let shown = |args: &[&str], key: &str| {
        let text = env.slurm("scontrol", &[&["-o", "show"], args].concat());
        let text = text.success();
        let words = text.split_whitespace();
        let mut own = words.filter_map(|word| Some(word.strip_prefix(key)?.to_owned()));
        own.next().unwrap_or(text.clone())
    };
    assert_eq!(
        shown(&["job", &runs], "TRES="),
        "cpu=3,mem=1500M,node=1,billing=13,gres/gpu=2,gres/gpu:v100=2"
    );
    let alloc = ["-n", "-P", "-X", "-j", &runs, "-o", "AllocTRES"];
    assert_eq!(
        env.slurm("sacct", &alloc).success().trim(),
        "billing=13,cpu=3,gres/gpu:v100=2,gres/gpu=2,mem=1500M,node=1"
    );
    // More memory than a CPU may bring: as much in all, of more CPUs.
    assert_eq!(
        env.slurm("squeue", &["-h", "-j", &more, "-o", "%m %C"])
            .success(),
        "400M 6\n"
    );
    assert_eq!(
        shown(&["job", &more], "TRES="),
        "cpu=2,mem=2400M,node=1,billing=5"
    );
    let all = shown(&["partition", "main"], "TRES=");
    assert_eq!(
        all,
        "cpu=8,mem=16000M,node=2,billing=37,gres/gpu=4,gres/gpu:v100=4"
    );
    let all = shown(&["partition", "plain"], "TRES=");
    assert!(
        all.starts_with("cpu=4,mem=8000M,node=1,billing=4,"),
        "{all}"
    );
    let node = shown(&["node", "n1"], "CfgTRES=");
    assert!(node.starts_with("cpu=4,mem=8000M,billing=18,"), "{node}");
    for job in [runs, more] {
        env.slurm("scancel", &[&job]).success();
    }
}
