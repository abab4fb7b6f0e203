//! What a shell in a job sets anew once the size of the job was changed.

use super::job_variables::cpus_per_node;
use crate::values::{Allocation, NodeName, node_list};
use std::fmt::Write as _;

/// The scripts that `scontrol update` leaves where it changed the size of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResizeScripts {
    /// For bash and sh.
    pub sh: String,
    /// For csh.
    pub csh: String,
}

impl ResizeScripts {
    /// For a job that holds so much by now; of what `is_set` where the command runs.
    #[must_use]
    pub fn of(allocation: &Allocation, is_set: impl Fn(&str) -> bool) -> ResizeScripts {
        let names: Vec<NodeName> = allocation.nodes.iter().map(|it| it.node.clone()).collect();
        let nodes = format!("\"{}\"", node_list::fold(&names));
        let count = names.len().to_string();
        let cpus = format!("\"{}\"", cpus_per_node(allocation));
        let told = [
            ("SLURM_NODELIST", &nodes),
            ("SLURM_JOB_NODELIST", &nodes),
            ("SLURM_NNODES", &count),
            ("SLURM_JOB_NUM_NODES", &count),
            ("SLURM_JOB_CPUS_PER_NODE", &cpus),
        ];
        let (mut sh, mut csh) = (String::new(), String::new());
        for (name, value) in told.into_iter().filter(|(name, _)| is_set(name)) {
            let _ = writeln!(sh, "export {name}={value}");
            let _ = writeln!(csh, "setenv {name} {value}");
        }
        // How its tasks would lie on what is left isn't known.
        if is_set("SLURM_TASKS_PER_NODE") {
            for name in ["SLURM_NPROCS", "SLURM_NTASKS", "SLURM_TASKS_PER_NODE"] {
                let _ = writeln!(sh, "unset {name}");
                let _ = writeln!(csh, "unsetenv {name}");
            }
        }
        ResizeScripts { sh, csh }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::NodeShare;
    use expect_test::{Expect, expect};

    #[track_caller]
    fn check(set: &[&str], want: Expect) {
        let share = |name: &str, cpus: u32| NodeShare {
            node: NodeName::new(name),
            cpus: (0..cpus).collect(),
            memory: 0,
            gpus: Vec::new(),
            tasks: 1,
        };
        let nodes = vec![share("n1", 4), share("n2", 1)];
        let scripts = ResizeScripts::of(&Allocation { nodes }, |name| set.contains(&name));
        want.assert_eq(&format!("{}--\n{}", scripts.sh, scripts.csh));
    }

    #[test]
    fn only_what_is_set_is_set_anew() {
        check(&[], expect![["--\n"]]);
        check(
            &[
                "SLURM_JOB_NODELIST",
                "SLURM_NNODES",
                "SLURM_JOB_CPUS_PER_NODE",
                "SLURM_TASKS_PER_NODE",
            ],
            expect![[r#"
                export SLURM_JOB_NODELIST="n[1-2]"
                export SLURM_NNODES=2
                export SLURM_JOB_CPUS_PER_NODE="4,1"
                unset SLURM_NPROCS
                unset SLURM_NTASKS
                unset SLURM_TASKS_PER_NODE
                --
                setenv SLURM_JOB_NODELIST "n[1-2]"
                setenv SLURM_NNODES 2
                setenv SLURM_JOB_CPUS_PER_NODE "4,1"
                unsetenv SLURM_NPROCS
                unsetenv SLURM_NTASKS
                unsetenv SLURM_TASKS_PER_NODE
            "#]],
        );
    }
}
