//! The components of a heterogeneous job lose their places and their nodes together, and come back
//! together.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

use testkit::{VirtualCluster, wait_until};

const CLUSTER: &str = "\
[nodes.n]\nnames = \"n[1-2]\"\ncpus = 2\nmemory = \"4000M\"\n\
[account.lab]\n[user.\"*\"]\naccounts = [\"lab\"]\n\
[partition.main]\ndefault = true\nnodes = \"ALL\"\nmax_time = \"1-0\"\n\
[scheduling]\nrequeue_delay = \"00:00:01\"\n\
[preemption]\ntype = \"qos\"\nmode = \"requeue\"\n\
[qos.normal]\npriority = 5\n\
[qos.high]\npriority = 100\npreempt = [\"low\"]\n\
[qos.low]\npriority = 1\n";

const SCRIPT: &str = "#!/bin/sh\n\
#SBATCH -N1 -n1 -c2 --mem=100 -q low -t 60 -o /dev/null\n\
#SBATCH hetjob\n\
#SBATCH -N1 -n1 -c2 --mem=100 -q low -t 60\n\
srun --het-group=0,1 sleep 300\n";

struct Lab(VirtualCluster);

impl Lab {
    /// With both components running, the later one on the second node.
    fn start() -> Lab {
        let lab = Lab(VirtualCluster::start(env!("CARGO_BIN_EXE_yard"), CLUSTER));
        lab.0.write("heta.sh", SCRIPT);
        lab.0.slurm("sbatch", &["heta.sh"]).success();
        lab.are_soon("R");
        lab
    }

    fn shown(&self, format: &str) -> Vec<String> {
        let args = ["-h", "-t", "all", "-j", "1", "-S", "i", "-o", format];
        let listed = self.0.slurm("squeue", &args).success();
        let mut lines: Vec<String> = listed.lines().map(|line| line.trim().to_owned()).collect();
        lines.sort();
        lines
    }

    #[track_caller]
    fn are_soon(&self, state: &str) {
        let want = [format!("1+0 {state}"), format!("1+1 {state}")];
        wait_until(&format!("both are {state}"), || self.shown("%i %t") == want);
    }

    fn restarts(&self) -> String {
        let shown = self.0.slurm("scontrol", &["show", "job", "1"]).success();
        let words = shown.split_whitespace();
        let counts: Vec<&str> = words.filter(|word| word.starts_with("Restarts=")).collect();
        counts.join(" ")
    }
}

/// The first alone came back, and the other was PREEMPTED for ever.
#[test]
fn a_preempted_heterogeneous_job_comes_back_with_all_components() {
    let lab = Lab::start();
    let go = "until [ -e go ]; do sleep 0.05; done";
    let args = [
        "-q",
        "high",
        "-w",
        "n2",
        "-c2",
        "--mem=100",
        "-t60",
        "-o",
        "/dev/null",
        "--wrap",
        go,
    ];
    lab.0.slurm("sbatch", &args).success();
    lab.are_soon("PD");
    lab.0.write("go", "");
    lab.are_soon("R");
    assert_eq!(lab.restarts(), "Restarts=1 Restarts=1");
}

/// It was refused, since a later component has no script.
#[test]
fn an_operator_queues_a_heterogeneous_job_again() {
    let lab = Lab::start();
    let args = ["engine", "preempt", "1", "--mode", "requeue"];
    lab.0.yard(&args).success();
    wait_until("both have started again", || {
        lab.restarts() == "Restarts=1 Restarts=1"
    });
    lab.are_soon("R");
}

/// Only the component ended that was on the node.
#[test]
fn a_lost_node_of_any_component_takes_the_whole_job() {
    for offset in ["1+0", "1+1"] {
        let lab = Lab::start();
        let places = lab.shown("%i %N");
        let place = places.iter().find_map(|line| line.strip_prefix(offset));
        let node = place.unwrap().trim().to_owned();
        lab.0.yard(&["engine", "fail-node", &node]).success();
        lab.are_soon("PD");
        lab.0.yard(&["engine", "restore-node", &node]).success();
        lab.are_soon("R");
        assert_eq!(lab.restarts(), "Restarts=1 Restarts=1", "{offset}");
    }
}
