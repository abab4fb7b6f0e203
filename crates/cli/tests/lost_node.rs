//! A node is lost during a run on two nodes of a pretended cluster: the run comes back, and says why.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use std::fs;
use testkit::{RealSlurm, SlurmShape, TestEnv, skip, wait_until};

/// The first start never ends by itself.
const RUN_FILE: &str = "name = \"two\"\n\
command = [\"sh\", \"-c\", \"echo began; test $SLURM_RESTART_COUNT -gt 0 || sleep 600\"]\n\
[resources]\nnodes = 2\ntime = \"10m\"\n";

#[track_caller]
fn check(lost: &str) {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.write("yard.toml", RUN_FILE);
    env.yard(&["engine", "start", "two", "--nodes", "2"])
        .success();
    env.yard(&["run", "--on", "two", "--detach"]).success();
    wait_until("both ranks have begun", || {
        let printed = env.yard(&["logs"]).stdout;
        printed.matches("began").count() == 2
    });
    env.yard(&["engine", "fail-node", lost, "two"]).success();
    let status = env.yard(&["engine", "status", "two"]).success();
    assert!(
        status.contains(&format!("no jobs   {lost}: lost")),
        "{status}"
    );
    let status = env.yard(&["engine", "status", "two", "--json"]).success();
    assert!(
        status.contains(&format!("\"nodes\":[\"{lost}\"]")),
        "{status}"
    );
    wait_until("it waits for the node", || {
        env.yard(&["show"]).stdout.contains("resuming")
    });
    env.yard(&["engine", "restore-node", lost, "two"]).success();
    let status = env.yard(&["engine", "status", "two"]).success();
    assert!(!status.contains("no jobs"), "{status}");
    env.yard(&["wait"]).success();
    let shown = env.yard(&["show"]).success();
    let words = format!("on node1, node2, lost, node {lost} was lost");
    assert!(shown.contains(&words), "{shown}");
    assert!(!shown.contains("failed"), "{shown}");
    env.yard(&["engine", "stop", "two"]).success();
}

#[test]
fn a_run_comes_back_from_the_loss_of_a_node() {
    check("node2");
}

/// The batch step is lost with it: an agent of the other node writes down why.
#[test]
fn a_run_comes_back_from_the_loss_of_its_first_node() {
    check("node1");
}

/// No process of the start is left to say so: the one that follows on another node does.
#[test]
fn a_run_on_one_node_says_which_node_it_lost() {
    let env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.write("yard.toml", &RUN_FILE.replace("nodes = 2", "nodes = 1"));
    env.yard(&["engine", "start", "two", "--nodes", "2"])
        .success();
    env.yard(&["run", "--on", "two", "--detach"]).success();
    wait_until("its rank has begun", || {
        env.yard(&["logs"]).stdout.contains("began")
    });
    env.yard(&["engine", "fail-node", "node1", "--on", "two"])
        .success();
    env.yard(&["wait"]).success();
    let shown = env.yard(&["show"]).success();
    let words = "on node1, lost, node node1 was lost";
    assert!(shown.contains(words), "{shown}");
    env.yard(&["engine", "stop", "two"]).success();
}

/// Which node had the script is in no row: that it is lost is decided with the loss of its node.
#[test]
fn a_job_that_loses_its_script_failed_also_where_the_engine_is_killed() {
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.yard(&["engine", "start", "two", "--nodes", "2"])
        .success();
    env.set_var("TRAINYARD_ENGINE", "two");
    let script = "touch begun; exec sleep 4711";
    env.slurm("sbatch", &["-N2", "--no-kill", "--wrap", script])
        .success();
    wait_until("the script has begun", || env.work().join("begun").exists());
    let engine = env.engine_pid("two");
    let fork_server = sys::process::children(engine)[0];
    let scripts = || {
        let all = testkit::that_mention(env.root());
        let mut of_job = all.into_iter().filter(|(_, words)| words == "sleep 4711");
        of_job.next().map(|(pid, _)| pid)
    };
    wait_until("the script sleeps", || scripts().is_some());
    // Its supervisor hears nothing until the next engine has begun.
    let ancestors = std::iter::successors(scripts(), |pid| sys::process::parent(*pid));
    let above = ancestors.skip(1).take_while(|pid| *pid != fork_server);
    let above: Vec<u32> = above.collect();
    let signal = |number: i32| {
        for pid in &above {
            sys::process::signal(*pid, number).unwrap();
        }
    };
    signal(19);
    env.yard(&["engine", "fail-node", "node1", "two"]).success();
    for pid in [fork_server, engine] {
        sys::process::signal(pid, 9).unwrap();
    }
    let listed = |states: &str| {
        let args = ["-h", "-t", states, "-o", "%r %N"];
        env.slurm("squeue", &args).success().trim().to_owned()
    };
    wait_until("another engine knows it", || {
        listed("all") == "JobLaunchFailure node2"
    });
    signal(18);
    wait_until("the job is over", || {
        listed("FAILED") == "JobLaunchFailure node2"
    });
    let args = ["-n", "-X", "-P", "-j", "1", "-o", "state,exitcode"];
    let rows = env.slurm("sacct", &args).success();
    assert_eq!(rows.lines().last(), Some("FAILED|0:9"), "{rows}");
    assert_eq!(scripts(), None);
    env.yard(&["engine", "stop", "two"]).success();
}

/// The agents of the runs in a folder that are the second of their job.
fn second_agents(env: &TestEnv) -> Vec<u32> {
    let root = env.root().display().to_string();
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_it = |pid: &u32| {
        let read = |name: &str| fs::read(format!("/proc/{pid}/{name}")).unwrap_or_default();
        let words = String::from_utf8_lossy(&read("cmdline")).replace('\0', " ");
        let variables = String::from_utf8_lossy(&read("environ")).into_owned();
        let is_second = variables.split('\0').any(|one| one == "SLURM_PROCID=1");
        words.contains(&format!(" job agent {root}")) && is_second
    };
    numbers.filter(is_it).collect()
}

/// What a real srun says of one task that is killed is understood; the other agent makes room.
#[test]
#[ignore = "brings up a real Slurm: cargo test -p yard-cli --test lost_node -- --ignored"]
fn a_run_on_a_real_slurm_comes_back_from_the_loss_of_one_agent() {
    if let Some(reason) = RealSlurm::missing() {
        let test = "a_run_on_a_real_slurm_comes_back_from_the_loss_of_one_agent";
        return skip(test, &reason);
    }
    let slurm = RealSlurm::start(SlurmShape { nodes: 2, cpus: 4 }).unwrap();
    let mut env = TestEnv::new(env!("CARGO_BIN_EXE_yard"));
    env.set_var("SLURM_CONF", slurm.conf());
    env.write("yard.toml", RUN_FILE);
    env.yard(&["run", "--on", "rig", "--detach"]).success();
    wait_until("both ranks have begun", || {
        env.yard(&["logs"]).stdout.matches("began").count() == 2
    });
    let agents = second_agents(&env);
    assert_eq!(agents.len(), 1, "{agents:?}");
    sys::process::signal(agents[0], 9).unwrap();
    env.yard(&["wait"]).success();
    let shown = env.yard(&["show"]).success();
    assert!(
        shown.contains(", lost, ") && shown.contains("start 2"),
        "{shown}"
    );
    let printed = env.yard(&["show", "--json"]).success();
    assert!(
        printed.contains("the agent on node2 was lost: Killed"),
        "{printed}"
    );
}
