//! What srun says on its stderr of tasks that ended badly. Pure.
//!
//! A step whose tasks may end one by one goes on when one is killed: these lines are how its starter
//! learns of it. They are those of Slurm's `_task_finish` and `launch_p_step_launch`
//! (`launch_slurm.c`), and the embedded engine's srun prints the same.

use model::ArraySpec;

/// A loss that srun spoke of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SrunLoss {
    /// Tasks of one kind of end.
    Tasks {
        /// Their numbers.
        tasks: Vec<u32>,
        /// Their nodes, folded.
        nodes: String,
        /// How: `Killed`, `Exited with exit code 1`.
        how: String,
    },
    /// A node, with all of its tasks.
    Node(String),
}

impl SrunLoss {
    /// Reads a line; `None`: it says something else.
    #[must_use]
    pub fn parse(line: &str) -> Option<SrunLoss> {
        let said = line.trim().strip_prefix("srun: error: ")?;
        if let Some(node) = said.strip_prefix("Node failure on ") {
            return Some(SrunLoss::Node(node.trim().to_owned()));
        }
        let (nodes, rest) = said.split_once(": task")?;
        // `task 1: Killed`, `tasks 0-1,3: Killed`.
        let rest = rest.strip_prefix('s').unwrap_or(rest).strip_prefix(' ')?;
        let (tasks, how) = rest.split_once(": ")?;
        Some(SrunLoss::Tasks {
            tasks: ArraySpec::parse(tasks)?.indices,
            nodes: nodes.to_owned(),
            how: how.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, want: Option<(&[u32], &str, &str)>) {
        let found = SrunLoss::parse(line);
        let want = want.map(|(tasks, nodes, how)| SrunLoss::Tasks {
            tasks: tasks.to_vec(),
            nodes: nodes.to_owned(),
            how: how.to_owned(),
        });
        assert_eq!(found, want, "{line}");
    }

    /// Lines of Slurm 22.05.8.
    #[test]
    fn tasks_that_ended_badly() {
        check(
            "srun: error: node2: task 1: Killed",
            Some((&[1], "node2", "Killed")),
        );
        check(
            "srun: error: n[1-2]: tasks 0-1,3: Exited with exit code 1\n",
            Some((&[0, 1, 3], "n[1-2]", "Exited with exit code 1")),
        );
        check("srun: Job step aborted: Waiting up to 32 seconds", None);
        check("srun: error: task", None);
        check("srun: error: a: tasks x: Killed", None);
        check(
            "slurmstepd: error: *** STEP 1.0 ON node1 CANCELLED AT 2026 ***",
            None,
        );
        assert_eq!(
            SrunLoss::parse("srun: error: Node failure on node2"),
            Some(SrunLoss::Node("node2".to_owned()))
        );
    }
}
