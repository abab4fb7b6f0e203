//! A node is lost during a run on two nodes of a pretended cluster: the run comes back, and says why.

use testkit::{TestEnv, wait_until};

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
    env.yard(&["engine", "fail-node", lost, "--on", "two"])
        .success();
    wait_until("it waits for the node", || {
        env.yard(&["show"]).stdout.contains("resuming")
    });
    env.yard(&["engine", "restore-node", lost, "--on", "two"])
        .success();
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
