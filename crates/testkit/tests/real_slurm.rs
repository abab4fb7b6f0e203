//! The harness itself: two real nodes under their own names.

use yard_testkit::{RealSlurm, SlurmShape, skip};

#[test]
fn two_nodes_answer_under_their_names() {
    if let Some(reason) = RealSlurm::missing() {
        return skip("two_nodes_answer_under_their_names", &reason);
    }
    let slurm = RealSlurm::start(SlurmShape { nodes: 2, cpus: 4 }).expect("a real Slurm comes up");
    let printed = slurm.run("srun", &["-N2", "-l", "hostname"]).success();
    let mut lines: Vec<&str> = printed.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["0: node1", "1: node2"]);

    let folder = slurm.folder().to_owned();
    drop(slurm);
    assert_eq!(
        yard_testkit::that_mention(&folder),
        [],
        "nothing of it is left"
    );
}
