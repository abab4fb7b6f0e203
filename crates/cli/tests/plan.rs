//! `yard plan` from outside: run files and batch scripts, for clusters that are known by their files
//! and for the engine here.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use expect_test::{Expect, expect};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use testkit::{TestEnv, VirtualCluster};

const SITES: [&str; 6] = ["cedar", "ibex", "plai", "satori", "technion", "wilson"];

fn env() -> TestEnv {
    TestEnv::new(env!("CARGO_BIN_EXE_yard"))
}

/// A script with these options, and its plan's answer.
#[track_caller]
fn check(site: &str, options: &str, status: i32, want: Expect) {
    let env = env();
    let script = script(&env, options);
    let plan = env.yard(&["plan", &script, "--on", site]).code(status);
    want.assert_eq(&format!("{}{}", plan.stdout, plan.stderr));
    for line in plan.stdout.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
}

fn script(env: &TestEnv, options: &str) -> String {
    let directives: String = options
        .lines()
        .map(|option| format!("#SBATCH {option}\n"))
        .collect();
    env.write(
        "job.sh",
        &format!("#!/bin/bash\n{directives}srun python train.py\n"),
    );
    "job.sh".to_owned()
}

#[test]
fn options_of_pyxis_are_known_where_pyxis_runs_containers() {
    let env = env();
    let script = script(&env, "--container-image=pytorch.sqsh\n--gpus=2");
    for site in SITES {
        let plan = env.yard(&["plan", &script, "--on", site]).stdout;
        let lint = env.yard(&["lint", &script, "--on", site]).stdout;
        let doubted = plan.contains("options of the plugin pyxis");
        assert_eq!(doubted, lint.contains("[Y001]"), "{site}\n{plan}{lint}");
        assert_eq!(doubted, site != "technion", "{site}\n{plan}");
    }
}

#[test]
fn whole_nodes_and_several_limits_for_one_thing() {
    let options = "--partition=cpu_gce\n--nodes=60\n--time=30:00:00\n--array=0-99";
    check(
        "wilson",
        options,
        3,
        expect![[r#"
            job.sh · wilson · 60 nodes · 60 tasks · 16 CPUs a node · 1 day 6 h · 100 times

              nodes          60         line 3: --nodes=60
              tasks          60         default: 1 per node
              cpus per node  16         all of the node: wilson gives whole nodes in partition cpu_gce
              memory         –          not set; the default of wilson is not known
              time           1 day 6 h  line 4: --time=30:00:00
              partition      cpu_gce    line 2: --partition=cpu_gce
              exclusive      yes        wilson gives whole nodes in partition cpu_gce
              qos            opp        wilson names opp and regular as its default
              in the queue   100 jobs   each task of the array is one; 50 may (qos.opp.max_submit_per_user)

              would wait for ever: PartitionNodeLimit
                asked   --nodes=60
                there   partition cpu_gce gives at most 50 nodes a job (partition.cpu_gce.max_nodes)
                do      --nodes=50

              would wait for ever: PartitionTimeLimit, QOSMaxWallDurationPerJobLimit
                asked   --time=1-06:00:00
                there   partition cpu_gce allows 1-00:00:00 (partition.cpu_gce.max_time)
                        QOS opp allows 08:00:00 (qos.opp.max_wall)
                do      --time=08:00:00

              would be refused: Job violates accounting/QOS policy (job submit limit, user's size and/or time
              limits)
                asked   100 jobs at once
                there   at most 50 waiting and running (qos.opp.max_submit_per_user)
                do      arrays of at most 50
        "#]],
    );
}

#[test]
fn an_array_over_the_limit_is_told_even_where_no_partition_is_known() {
    check(
        "wilson",
        "--array=1-200",
        0,
        expect![[r#"
            job.sh · wilson · 1 node · 1 task · 1 CPU · 200 times

              nodes          1         default: 1 node
              tasks          1         default: 1 per node
              cpus per node  1         default: 1 per task
              memory         –         not set; the default of wilson is not known
              time           –         not set; the default of wilson is not known
              partition      –         not set; the default of wilson is not known
              qos            opp       wilson names opp and regular as its default
              in the queue   200 jobs  each task of the array is one; 50 may (qos.opp.max_submit_per_user)

              might be refused: No partition specified or system default partition
                asked   no partition
                there   wilson has partitions cpu_gce, cpu_gce_test, gpu_gce, gpu_gce_ppc; none of them is said
                        to be the default
                do      --partition=cpu_gce

              might be refused: Job violates accounting/QOS policy (job submit limit, user's size and/or time
              limits)
                asked   200 jobs at once
                there   at most 50 waiting and running (qos.opp.max_submit_per_user)
                do      arrays of at most 50
        "#]],
    );
}

#[test]
fn a_gpu_type_and_memory_that_no_node_has() {
    check(
        "ibex",
        "--gres=gpu:h100:2\n--mem=2000G\n--constraint=v100",
        0,
        expect![[r#"
            job.sh · ibex · 1 node · 1 task · 1 CPU, 2 h100, 2 TiB · 14 days

              nodes          1        default: 1 node
              tasks          1        default: 1 per node
              cpus per node  1        default: 1 per task
              gpus per node  2 h100   line 2: --gres=gpu:h100:2
              memory         2 TiB    line 3: --mem=2000G
              time           14 days  not set: the longest that ibex is assumed to allow there
              partition      batch    assumed to be ibex's default
              constraint     v100     line 4: --constraint=v100
              in the queue   1 job    no limit known

              might be refused: Requested node configuration is not available
                asked   1 node, 2 h100 a node, 1 CPU a node, 2000G a node, feature v100
                there   partition batch has 30 nodes of 48 CPUs, 748G, 8 v100; 6 nodes of 32 CPUs, 372G, 4 v100
                        (partition.batch.nodes)
                do      ask without a type for its v100, or where h100 are

              note: rests on what ibex is assumed to have: partition.batch.default, partition.batch.max_time
                    (yard cluster show ibex)
        "#]],
    );
}

/// The first words of a plan, and its lines that begin so.
#[track_caller]
fn says(site: &str, options: &str, status: i32, head: &str, lines: &[&str]) {
    let env = env();
    let script = script(&env, options);
    let plan = env.yard(&["plan", &script, "--on", site]).code(status);
    let begins = format!("job.sh · {site} · {head}");
    assert!(plan.stdout.starts_with(&begins), "{}", plan.stdout);
    let unbroken = plan.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for line in lines {
        assert!(unbroken.contains(line), "{line:?} in\n{}", plan.stdout);
    }
}

#[test]
fn without_a_number_of_nodes_it_is_the_fewest_that_hold_the_job() {
    let why = ["the fewest that hold 64 tasks"];
    says(
        "wilson",
        "-p cpu_gce -n 64",
        0,
        "4 nodes · 64 tasks · 16 CPUs",
        &why,
    );
    says("wilson", "-p cpu_gce -N1-8 -n 64", 0, "4 to 8 nodes", &why);
    says("cedar", "-n 64 --mem-per-cpu=4G", 0, "2 nodes", &why);
    says(
        "wilson",
        "-p gpu_gce -n 64 --gres=gpu:v100:2",
        0,
        "2 nodes",
        &why,
    );
    // It has so many of all types together, and mixes none.
    says(
        "wilson",
        "-p gpu_gce -n 16 --gpus=16",
        0,
        "2 nodes",
        &["might be refused", "do --gpus=8"],
    );
    says(
        "wilson",
        "-p cpu_gce -n 2000",
        3,
        "125 nodes",
        &["asked 2000 tasks, 2000 CPUs in all"],
    );
}

#[test]
fn of_several_partitions_the_one_that_takes_the_job() {
    let listed = "-p gpu_gce,gpu_gce_ppc -N2-4 --gres=gpu:1";
    says("wilson", listed, 0, "2 to 4 nodes", &["partition gpu_gce"]);
    let listed = "-p cpu_gce,gpu_gce --gres=gpu:v100:1";
    says("wilson", listed, 0, "1 node", &["partition gpu_gce "]);
}

#[test]
fn what_no_node_has_together() {
    says(
        "wilson",
        "-p gpu_gce --gres=gpu:v100:1,gpu:p100:1",
        3,
        "1 node",
        &["do GPUs of one type a node, such as gpu:v100:1"],
    );
    says(
        "wilson",
        "-p gpu_gce --gres=gpu:a100:1 --mem=600G",
        3,
        "1 node",
        &["do --mem=512G"],
    );
    says(
        "wilson",
        "--gres=gpu:1",
        0,
        "1 node",
        &["do --partition=gpu_gce"],
    );
}

#[test]
fn folders_in_which_jobs_cannot_run_and_other_components_are_told() {
    says(
        "wilson",
        "-p gpu_gce -D /nashome/m/me",
        3,
        "1 node",
        &[
            "would fail as it starts",
            "asked to start in /nashome/m/me (line 2: --chdir=/nashome/m/me)",
        ],
    );
    says(
        "wilson",
        "-p gpu_gce -o /nashome/m/x.%j",
        3,
        "1 node",
        &["asked to write to /nashome/m (line 2:"],
    );
    says(
        "wilson",
        "-p gpu_gce\nhetjob\n-p cpu_gce",
        0,
        "1 node",
        &["line 3: a heterogeneous job with another component, and only the first is planned"],
    );
}

#[test]
fn flags_go_into_the_script_that_is_printed() {
    let env = env();
    let script = script(&env, "--time=5");
    let printed = env.yard(&["plan", &script, "--on", "plai", "--script", "--time", "1h"]);
    expect![[r#"
        #!/bin/bash
        #SBATCH --time=5
        #SBATCH --time=01:00:00
        srun python train.py
    "#]]
    .assert_eq(&printed.success());
    env.write("yard.toml", "command = [\"true\"]\n");
    let printed = env
        .yard(&["plan", "--on", "local", "--script", "--time", "1h"])
        .success();
    assert!(printed.contains("#SBATCH --time=01:00:00\n"), "{printed}");
}

#[test]
fn code_that_is_too_large_is_refused_wherever_it_would_run() {
    let env = env();
    env.write(
        "yard.toml",
        "command = [\"true\"]\nresources.time = \"1h\"\n",
    );
    let large = fs::File::create(env.work().join("model.bin")).unwrap();
    large.set_len(300_000_000).unwrap();
    for on in ["local", "plai"] {
        let said = env.yard(&["plan", "--on", on]).code(5).stderr;
        assert!(
            said.contains("has 300 MB and at most 200 MB are copied"),
            "{on}: {said}"
        );
    }
}

#[test]
fn a_script_is_planned_for_the_engine_here() {
    let env = env();
    let script = script(&env, "--ntasks=1\n--time=5");
    let plan = env.yard(&["plan", &script, "--on", "local"]).success();
    expect![[r#"
        job.sh · local · 1 node · 1 task · 1 CPU · 5 min

          nodes          1        default: 1 node
          tasks          1        line 2: --ntasks=1
          cpus per node  1        default: 1 per task
          memory         –        not set; the default of local is not known
          time           5 min    line 3: --time=5
          partition      local    local's default
          in the queue   1 job    no limit known
          start          at once  by the engine, just now
    "#]]
    .assert_eq(&plan);
    let refused = env
        .yard(&["plan", &script, "--on", "local", "--partition", "nope"])
        .code(3);
    assert!(
        refused
            .stdout
            .contains("this machine has one partition, local")
    );
}

#[test]
fn a_partition_that_the_engine_here_does_not_have_is_told() {
    let mut env = env();
    env.write("yard.toml", "command = [\"true\"]\n");
    env.set_var("SBATCH_PARTITION", "nope");
    let plan = env.yard(&["plan", "--on", "local"]).code(3);
    let (_, refusal) = plan.stdout.split_once("would be refused").unwrap();
    expect![[r#"
        : Invalid partition name specified
            asked   --partition=nope
            there   this machine has one partition, local
            do      leave --partition out, or run it where that partition is
    "#]]
    .assert_eq(refusal);
}

#[test]
fn an_engine_names_its_limit_to_whoever_asks() {
    let lab = VirtualCluster::start(
        env!("CARGO_BIN_EXE_yard"),
        "[nodes.n]\ncount = 2\ncpus = 4\nmemory = \"4G\"\n\
         [partition.short]\nnodes = \"ALL\"\ndefault = true\nmax_time = \"1:00:00\"\n\
         [limits]\nenforce_partition_limits = \"ALL\"\n",
    );
    let script = script(&lab, "--time=02:00:00");
    let said = |words: &[&str], code: i32| {
        let outcome = lab.yard(words).code(code);
        format!("{}{}", outcome.stdout, outcome.stderr)
    };
    let plan = said(&["plan", &script, "--on", "lab"], 3);
    let (_, refusal) = plan.split_once("would be refused").unwrap();
    expect![[r#"
        : Requested time limit is invalid (missing or exceeds some limit)
            asked   --time=02:00:00
            there   partition short allows 01:00:00 (partition.short.max_time)
            do      --time=01:00:00, and come back from a checkpoint
    "#]]
    .assert_eq(refusal);
    expect![[r#"
        error[Y101]: job.sh:2: partition short allows 01:00:00
        error: job.sh was not submitted: it has 1 error
          do      yard lint job.sh shows what to change; --no-lint submits it as it is
    "#]]
    .assert_eq(&said(&["run", &script, "--on", "lab"], 3));
    expect![[r#"
        sbatch: error: Batch job submission failed: Requested time limit is invalid (missing or exceeds some limit)
        sbatch:   asked   --time=02:00:00
        sbatch:   there   partition short allows 01:00:00 (partition.short.max_time)
        sbatch:   do      --time=01:00:00, and come back from a checkpoint
    "#]].assert_eq(&lab.slurm("sbatch", &[&script]).code(1).stderr);
    let nowhere = lab.slurm("sbatch", &["-p", "nope", &script]).code(1).stderr;
    expect![[r#"
        sbatch: error: invalid partition specified: nope
        sbatch: error: Batch job submission failed: Invalid partition name specified
        sbatch:   asked   --partition=nope
        sbatch:   there   lab has partitions short
        sbatch:   do      change several options: no other value of one alone is enough
    "#]]
    .assert_eq(&nowhere);
}

/// The engine's own file has them; what it says of its nodes alone has none.
#[test]
fn a_script_is_planned_with_the_partitions_and_qos_of_its_engine() {
    let twin = VirtualCluster::of_site(env!("CARGO_BIN_EXE_yard"), "satori");
    let script = script(&twin, "--gres=gpu:4\n--partition=sched_system_all");
    let plan = twin.yard(&["plan", &script, "--on", "lab"]).success();
    let row = |name: &str| {
        let mut lines = plan.lines().map(str::trim_start);
        lines.find(|line| line.starts_with(name)).map(str::to_owned)
    };
    let row = |name: &str| row(name).unwrap_or_else(|| panic!("no {name}: {plan}"));
    let words = |name: &str| row(name).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(
        words("partition"),
        "partition sched_system_all line 3: --partition=sched_system_all"
    );
    assert!(words("qos").starts_with("qos normal"), "{plan}");
    assert!(!plan.contains("no effect"), "{plan}");
}

#[test]
fn what_is_no_text_is_refused_at_once() {
    let mut env = env();
    let odd = OsStr::from_bytes(b"d\xff");
    let folder = env.work().join(odd);
    std::fs::create_dir(&folder).unwrap();
    std::fs::write(folder.join("yard.toml"), "command = [\"true\"]\n").unwrap();
    for command in ["plan", "run"] {
        let refused = env.yard(&[OsStr::new(command), odd]).code(2);
        assert!(
            refused.stderr.contains("its path is not UTF-8 text"),
            "{}",
            refused.stderr
        );
    }
    env.write("yard.toml", "command = [\"true\"]\n");
    env.set_var("SBATCH_PARTITION", odd);
    let refused = env.yard(&["plan", "--on", "local"]).code(2);
    assert!(
        refused
            .stderr
            .contains("SBATCH_PARTITION is not UTF-8 text"),
        "{}",
        refused.stderr
    );
    let home = env.trainyard_home();
    env.set_var("TRAINYARD_HOME", home.join(odd));
    let refused = env.yard(&["engine", "start"]).code(5);
    assert!(
        refused.stderr.contains("which is not UTF-8 text"),
        "{}",
        refused.stderr
    );
    env.set_var("TRAINYARD_HOME", home);
}

#[test]
fn json_has_all_that_the_text_has() {
    let env = env();
    let script = script(&env, "--array=1-60\n--time=9:00:00\n--partition=gpu_gce");
    env.write("yard.toml", "command = [\"true\"]\n");
    for what in [&script, "."] {
        let text = env.yard(&["plan", what, "--on", "wilson"]);
        let json = env.yard(&["plan", what, "--on", "wilson", "--json"]);
        let json: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
        let texts = |list: &str, key: &str| -> Vec<String> {
            let list = json[list].as_array().unwrap().iter();
            list.map(|one| one[key].as_str().unwrap().to_owned())
                .collect()
        };
        let unbroken = text.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        for said in [texts("values", "why"), texts("refusals", "there")].concat() {
            let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(
                unbroken.contains(&said),
                "{said:?} is missing in\n{}",
                text.stdout
            );
        }
        for key in ["allocation", "in_queue", "notes", "script", "refused"] {
            assert!(!json[key].is_null(), "{key}");
        }
    }
}

/// The one partition of the default engine was named in its place, and `--beside` printed nothing.
#[test]
fn a_script_is_planned_for_an_engine_of_its_own_partitions() {
    let env = env();
    let script = script(&env, "--partition=all\n--time=5");
    env.yard(&["engine", "start", "lab", "--nodes", "2"])
        .success();
    let plan = env.yard(&["plan", &script, "--on", "lab"]).success();
    let has = |plan: &str, words: &[&str]| {
        let lines = plan
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>());
        lines.into_iter().any(|line| line == words)
    };
    assert!(
        has(
            &plan,
            &["partition", "all", "line", "2:", "--partition=all"]
        ),
        "{plan}"
    );
    env.write("yard.toml", "command = [\"true\"]\n");
    let plan = env
        .yard(&["plan", "--on", "lab", "--beside", &script])
        .success();
    assert!(plan.contains("\nbeside job.sh: "), "{plan}");
    env.yard(&["engine", "stop", "lab"]).success();
}

#[test]
fn a_run_file_beside_a_script() {
    let env = env();
    let script = script(
        &env,
        "--gpus=8\n--gpus-per-task=1\n--cpus-per-gpu=6\n--mem-per-gpu=64G\n--tasks-per-node=8\n--time=1:00:00\n--licenses=matlab",
    );
    env.write(
        "yard.toml",
        "command = [\"true\"]\n[resources]\ngpus_per_node = 8\ntime = \"1h\"\n",
    );
    let plan = env
        .yard(&["plan", "--on", "ibex", "--beside", &script])
        .success();
    let (_, beside) = plan.split_once("\nbeside ").unwrap();
    expect![[r#"
        job.sh: another allocation
          differs  memory: 512 GiB → 720 GiB: ibex: 64G-90G a v100 (policy), the upper end
          changed  line 2: --gpus=8 → --gpus-per-node=8: a run asks for its GPUs by the node
          dropped  line 3: --gpus-per-task=1: it binds each task to its own GPU, so that tasks on a node
                   can't reach each other's; a run file gives each task its node's GPUs and a local rank
          changed  line 4: --cpus-per-gpu=6 → --cpus-per-task=6: ibex: 5-6 CPUs a v100 (policy)
          changed  line 5: --mem-per-gpu=64G → --mem=737280M: ibex: 64G-90G a v100 (policy), the upper end
          dropped  line 8: --licenses=matlab: no key of a run file: [resources] sbatch =
                   ["--licenses=matlab"] carries it
    "#]].assert_eq(beside);
}

/// What is asked twice is compared once, with what the run asks in its place.
#[test]
fn gpus_that_a_script_asks_twice_are_changed_once() {
    let env = env();
    let script = script(&env, "--gres=gpu:4\n--gpus-per-node=4");
    env.write(
        "yard.toml",
        "command = [\"true\"]\n[resources]\ngpus_per_node = 2\ntime = \"1h\"\n",
    );
    let plan = env.yard(&["plan", "--on", "satori", "--beside", &script]);
    let (_, beside) = plan.stdout.split_once("\nbeside ").unwrap();
    let changes: Vec<&str> = beside
        .lines()
        .filter(|line| line.contains("line "))
        .map(str::trim)
        .collect();
    expect![[r#"
        changed  line 2: --gres=gpu:4 → --gres=gpu:2: from yard.toml:3
        dropped  line 3: --gpus-per-node=4: GPUs are requested twice, by --gres and by --gpus-per-node:"#]].assert_eq(&changes.join("\n"));
    env.write(
        "job.sh",
        "#!/bin/sh\n#SBATCH --gres=gpu_mem:32G\n#SBATCH --gpus-per-node=1\nsrun x\n",
    );
    let plan = env.yard(&["plan", "job.sh", "--on", "satori"]).stdout;
    assert!(!plan.contains("asked twice"), "{plan}");
}

/// A script that lacks its first line is told so, not read as TOML.
#[test]
fn a_script_without_an_interpreter_is_no_run_file() {
    let env = env();
    for directive in ["SBATCH -t 10", "PBS -l walltime=1:00", "BSUB -n 1"] {
        env.write("job", &format!("#{directive}\nexport X=1\nsrun hostname\n"));
        let plan = env.yard(&["plan", "job", "--on", "wilson"]).code(3);
        assert!(
            plan.stderr.contains("The first line must start with #!"),
            "{}",
            plan.stderr
        );
        for line in plan.stderr.lines() {
            assert!(line.chars().count() <= 100, "{line}");
        }
    }
    env.write("yard.toml", "#SBATCH -t 10\ncommand = [\"true\"]\n");
    env.yard(&["plan", "yard.toml", "--on", "wilson"]).success();
}

/// Each of many lines is compared with one other.
#[test]
fn an_option_on_forty_thousand_lines() {
    let env = env();
    let lines = "#SBATCH -n 4\n".repeat(40_000);
    env.write("job.sh", &format!("#!/bin/sh\n#SBATCH -n 3\n{lines}true\n"));
    let plan = env.yard(&["plan", "job.sh", "--on", "plai"]).success();
    let dropped: Vec<&str> = plan.lines().filter(|l| l.contains("is dropped")).collect();
    assert_eq!(
        dropped,
        ["  note: line 2: --ntasks=3 is dropped: --ntasks=4 comes later"]
    );
}

/// A share of the memory would be all that the job may use of a node that is its own.
#[test]
fn a_run_has_all_memory_of_a_node_in_a_partition_of_whole_nodes() {
    let env = env();
    let file = "command = [\"true\"]\n[resources]\nranks_per_node = 2\ncpus_per_rank = 1\npartition = \"cpu_gce\"\n";
    env.write("yard.toml", file);
    let plan = env.yard(&["plan", "--on", "wilson"]).success();
    let memory = plan
        .lines()
        .find(|line| line.trim_start().starts_with("memory"));
    expect!["  memory          all                           wilson allocates whole nodes in partition cpu_gce"].assert_eq(memory.unwrap());
    let script = env.yard(&["plan", "--on", "wilson", "--script"]).success();
    assert!(script.contains("#SBATCH --mem=0\n"), "{script}");
}

/// A FIFO in place of the user's config is waited for by nobody, nor is it passed over.
#[test]
fn a_config_that_is_no_file_is_said_to_be_none() {
    let env = env();
    let config = env.trainyard_home().join("config/config.toml");
    std::fs::create_dir_all(config.parent().unwrap()).unwrap();
    let run_file = env.work().join("yard.toml");
    std::fs::write(&run_file, "command = [\"true\"]\n").unwrap();
    let run_file = run_file.display().to_string();
    let fifo = config.display().to_string();
    assert!(env.program("mkfifo", &[&fifo]).status().unwrap().success());
    let said = env.yard(&["plan", &run_file, "--on", "cedar"]).code(2);
    assert!(
        said.stderr.contains("config.toml is no plain file"),
        "{said:?}"
    );
    std::fs::remove_file(&config).unwrap();
    std::fs::create_dir(&config).unwrap();
    let said = env.yard(&["plan", &run_file, "--on", "cedar"]).code(2);
    assert!(
        said.stderr.contains("config.toml is no plain file"),
        "{said:?}"
    );
}

/// What is missing is found before anything is submitted, not by the job.
#[track_caller]
fn missing(run_file: &str, want: Expect) {
    let env = env();
    env.write("data/train.tar", "");
    env.write("requirements.txt", "");
    env.write("yard.toml", &format!("command = [\"true\"]\n{run_file}"));
    let refused = env.yard(&["plan", "--on", "local"]).code(2);
    let folder = env.work().canonicalize().unwrap().display().to_string();
    want.assert_eq(&refused.stderr.replace(&folder, "WORK"));
    let refused_run = env.yard(&["run", "--on", "local"]).code(2);
    assert_eq!(refused_run.stderr, refused.stderr);
}

#[test]
fn files_that_are_not_there_are_refused() {
    missing(
        "[data]\nstage = [\"data/train.tar\", \"data/trian.tar\"]\n",
        expect![[r#"
            error: WORK/data/trian.tar is not there
              asked   [data] stage (yard.toml:3)
              there   WORK/data has no trian.tar
              do      did you mean WORK/data/train.tar?
        "#]],
    );
    missing(
        "[data]\nstage = [\"dta/train.tar\"]\n",
        expect![[r#"
        error: WORK/dta/train.tar is not there
          asked   [data] stage (yard.toml:3)
          there   WORK has no dta
          do      did you mean WORK/data?
    "#]],
    );
    missing(
        "[environment]\nrequirements = \"requirments.txt\"\n",
        expect![[r#"
            error: WORK/requirments.txt is not there
              asked   [environment] requirements (yard.toml:3)
              there   WORK has no requirments.txt
              do      did you mean WORK/requirements.txt?
        "#]],
    );
    missing(
        "[environment]\nvenv = \"/missing/venv\"\n",
        expect![[r#"
            error: /missing/venv is not there
              asked   [environment] venv (yard.toml:3)
              there   / has no missing
              do      correct [environment] venv, or put the file there
        "#]],
    );
    missing(
        "[environment]\nconda = \"./conda\"\n",
        expect![[r#"
        error: WORK/conda is not there
          asked   [environment] conda (yard.toml:3)
          there   WORK has no conda
          do      correct [environment] conda, or put the file there
    "#]],
    );
}

#[test]
fn a_mistyped_cluster_is_refused() {
    missing(
        "[cluster.wilosn.resources]\nnodes = 1\n",
        expect![[r#"
        error: no cluster is called wilosn
          asked   [cluster.wilosn]
          there   cedar, ibex, local, plai, satori, technion, wilson
          do      write [cluster.wilson], or describe wilosn in a cluster file (yard cluster import)
    "#]],
    );
    let env = env();
    env.write(
        "yard.toml",
        "command = [\"true\"]\n[cluster.narval.resources]\nnodes = 1\n",
    );
    env.yard(&["plan", "--on", "local"]).success();
    env.yard(&["plan", "--on", "wilson"]).success();
}

/// The notes of a plan of this run file, in a folder with these ignored.
#[track_caller]
fn notes(ignored: &str, run_file: &str, want: Expect) {
    want.assert_eq(&notes_of(ignored, run_file));
}

#[track_caller]
fn notes_of(ignored: &str, run_file: &str) -> String {
    let env = env();
    env.write(".gitignore", ignored);
    env.write("data/train.bin", "");
    env.write("saves.py", "os.environ['YARD_CHECKPOINTS']\n");
    env.write("resumes.py", "os.environ['YARD_RESUME']\n");
    env.write("train.py", "print()\n");
    env.write("yard.toml", run_file);
    let of = |cluster| {
        let plan = env.yard(&["plan", "--on", cluster]).success();
        let notes = plan.split_once("\n  note: ");
        let lines = notes.map_or("", |(_, notes)| notes).lines();
        lines.map(|line| format!("{}\n", line.trim())).collect()
    };
    let (here, there): (String, String) = (of("local"), of("wilson"));
    assert!(there.contains(&here), "{there}");
    here
}

/// Both would requeue the job.
#[test]
fn a_signal_at_which_lightning_requeues_is_refused() {
    let plan = |launcher: &str, notify: &str, status: i32| {
        let env = env();
        let command = "command = [\"train.py\", \"{checkpoints}\", \"{resume}\"]\n";
        let resume = format!("[resume]\nnotify = {notify:?}\n");
        env.write("train.py", "");
        env.write(
            "yard.toml",
            &format!("launcher = {launcher:?}\n{command}{resume}"),
        );
        env.yard(&["plan"]).code(status).stderr
    };
    expect![[r#"
        error: Lightning requeues the job itself at SIGUSR1, as the run does
          asked   launcher = "lightning" (yard.toml:1), [resume] notify = "SIGUSR1" (yard.toml:4)
          there   a job that is requeued twice is ended in the middle of its next start
          do      set notify to "file" or "SIGTERM"; the run comes back by itself
    "#]]
    .assert_eq(&plan("lightning", "SIGUSR1", 2));
    plan("lightning", "SIGTERM", 0);
    plan("torchrun", "SIGUSR1", 0);
}

/// It would use its limit twice before it fails.
#[test]
fn a_run_that_saves_nothing_is_noted() {
    let note = |args: &str, more: &str, want| {
        let command = format!("command = [\"python\", {args}]\n");
        notes("", &format!("{command}[resources]\n{more}"), want);
    };
    let hour = "time = \"1h\"\n";
    note(
        "\"train.py\"",
        hour,
        expect![[r#"
            no {checkpoints} in the command: at its limit of 1 h it begins again, once; a program that
            goes on from checkpoints of its own needs [resume] own_checkpoints = true
        "#]],
    );
    note("\"train.py\"", "", expect![""]);
    note("\"resumes.py\"", hour, expect![""]);
    note(
        "\"train.py\"",
        "time = \"1h\"\n[resume]\non = []\n",
        expect![""],
    );
}

/// What would be refused as it is submitted, and what the embedded engine leaves out.
#[test]
fn what_this_machine_has_not_is_noted() {
    let env = env();
    env.write(
        "yard.toml",
        "command = [\"true\"]\n[resources]\nsbatch = [\"--gres=x:1\"]\n[environment]\nconda = \"foo\"\n\
         secrets = [\"NO_SUCH_KEY\"]\n",
    );
    let plan = env.yard(&["plan"]).success();
    let notes = plan.lines().map(str::trim);
    let notes: Vec<&str> = notes.filter(|line| line.starts_with("note: ")).collect();
    expect![[r#"
        note: options for sbatch are left out: the embedded engine has none of a site's own: --gres=x:1
        note: the secret NO_SUCH_KEY is not known: it is not set in this shell
        note: [environment] conda = "foo": there is no conda on this machine"#]]
    .assert_eq(&notes.join("\n"));
}

/// It would write the same steps after each start, and never end.
#[test]
fn a_run_that_saves_and_does_not_resume_is_noted() {
    let begins_anew = "\
each start begins anew and writes the same checkpoints: nothing reads {resume} or
YARD_RESUME; [resume] args = [\"--resume\", \"{resume_file}\"] adds them to the command
";
    let empty = "\
{resume_file} is empty at the first start: in [resume] args it is added only where there is
a checkpoint
";
    let rows = [
        ("\"saves.py\"", "", begins_anew),
        ("\"train.py\", \"--to={checkpoints}\"", "", begins_anew),
        ("\"resumes.py\", \"{checkpoints}\"", "", ""),
        ("\"train.py\", \"{checkpoints}\", \"{resume}\"", "", ""),
        ("\"saves.py\"", "args = [\"--from\", \"{resume_file}\"]", ""),
        ("\"saves.py\"", "on = []", ""),
        ("\"saves.py\", \"{resume_file}\"", "", empty),
    ];
    for (args, resume, want) in rows {
        let run_file = format!("command = [\"python\", {args}]\n[resume]\n{resume}\n");
        assert_eq!(notes_of("", &run_file), want, "{run_file}");
    }
}

/// Python's "can't open file" names a path in the copy, where no one looks for it.
#[test]
fn a_program_outside_of_the_code_is_noted() {
    let env = env();
    env.write("t.py", "");
    env.write("sub/x.py", "");
    env.write("sub/yard.toml", "command = [\"python\", \"../t.py\"]\n");
    let plan = env.yard(&["plan", "sub/yard.toml"]).success();
    assert!(
        plan.contains("../t.py, which the command starts, is outside of"),
        "{plan}"
    );
    env.write("yard.toml", "command = [\"python\", \"sub/../t.py\"]\n");
    let plan = env.yard(&["plan"]).success();
    assert!(!plan.contains("is outside of"), "{plan}");
}

#[test]
fn an_environment_that_is_left_out_of_the_code_is_noted() {
    let env = env();
    env.write("t.py", "");
    env.write(".venv/pyvenv.cfg", "");
    let command = "command = [\"python\", \"t.py\"]\n";
    env.write("yard.toml", command);
    let plan = env.yard(&["plan"]).success();
    assert!(
        plan.contains("note: .venv is an environment of Python's"),
        "{plan}"
    );
    let used = "[environment]\nvenv = \"./.venv\"\n";
    env.write("yard.toml", &format!("{command}{used}"));
    let plan = env.yard(&["plan"]).success();
    assert!(!plan.contains("is an environment of Python's"), "{plan}");
}

#[test]
fn a_variable_of_the_command_that_nothing_sets_is_noted() {
    let note = |more: &str, want| {
        let command = "command = [\"bash\", \"-c\", \"exec python train.py --out \\\"$NO_OUT/a b\\\" $HOME $RANK\"]\n";
        notes("", &format!("{command}{more}"), want);
    };
    note(
        "",
        expect![[r#"
            $NO_OUT in the command is empty: nothing sets it; [environment] variables = { NO_OUT = "…" }
            does
        "#]],
    );
    note(
        "[environment]\nvariables = { NO_OUT = \"x\" }\n",
        expect![""],
    );
    for (launcher, own) in [
        ("srun", "$scratch_dir $exp_name $source_dir $project_name"),
        ("horovod", "$HOROVOD_RANK"),
        ("jax", "$JAX_COORDINATOR_ADDRESS"),
    ] {
        let command = format!("command = [\"bash\", \"-c\", \"echo {own}\"]\n");
        notes(
            "",
            &format!("launcher = \"{launcher}\"\n{command}[resources]\nranks_per_node = 2\n"),
            expect![""],
        );
    }
}

#[test]
fn what_the_copy_of_the_code_is_without_is_noted() {
    let note = |ignored, args: &str, want| {
        let command = format!("command = [\"python\", {args}]\n");
        notes(ignored, &command, want);
    };
    let data = "\"resumes.py\", \"--data=data/train.bin\"";
    note(
        "data/\n",
        data,
        expect![[r#"
        the run's copy of the code is without data/train.bin, which git ignores, and relative
        outputs are written into that copy; use a full path or [data] stage for data, and a full
        path or {logs} for outputs
    "#]],
    );
    note(
        "data/\n",
        "\"resumes.py\", \"./data/\"",
        expect![[r#"
        the run's copy of the code is without data, which git ignores, and relative outputs are
        written into that copy; use a full path or [data] stage for data, and a full path or {logs}
        for outputs
    "#]],
    );
    note(
        "data/\n",
        "\"resumes.py\"",
        expect![[r#"
        the run's copy of the code is without data, which git ignores, and relative outputs are
        written into that copy; use a full path or [data] stage for data, and a full path or {logs}
        for outputs
    "#]],
    );
    note("/results\n", data, expect![""]);
}

/// What wraps a rank, its environment, its command.
#[test]
fn what_the_first_task_is_started_with_is_shown() {
    let env = env();
    env.write("train.py", "");
    env.write(
        "yard.toml",
        "launcher = \"mpi\"\ncommand = [\"train.py\"]\n[resources]\nnodes = 2\nranks_per_node = 2\n",
    );
    let plan = |more: &[&str]| {
        let args = [&["plan", "--on", "plai"], more].concat();
        env.yard(&args).success()
    };
    let json: serde_json::Value = serde_json::from_str(&plan(&["--json"])).unwrap();
    let task = &json["first_task"];
    assert_eq!(task["argv"], serde_json::json!(["python3", "train.py"]));
    assert_eq!(task["head"][0], "mpirun");
    assert_eq!(task["container"], serde_json::json!([]));
    for (name, value) in [
        ("LOCAL_RANK", "0"),
        ("WORLD_SIZE", "4"),
        ("MASTER_ADDR", "FIRST_NODE"),
    ] {
        assert_eq!(task["environment"][name], value, "{name}");
    }
    assert!(task["environment"]["OMP_NUM_THREADS"].is_string(), "{task}");
    let text = plan(&[]);
    let gives = text.lines().find(|line| line.starts_with("  gives"));
    assert!(
        gives.is_some_and(|line| line.contains("LOCAL_RANK=0")),
        "{text}"
    );
}
