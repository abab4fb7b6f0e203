//! Y074: a variable of Slurm's, misspelt.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Finding, Found, LintInput, Severity};
use std::collections::HashSet;

/// Y074.
pub const RULE: Rule = Rule {
    code: "Y074",
    name: "unknown-variable",
    severity: Severity::Warning,
    summary: "a SLURM_… variable that no program sets is one letter away from one that Slurm sets",
    page: "An unset variable is empty: $SLURM_NTASKS_PER_NOD is nothing at all, and what was to be a number
is a gap. Variables that sites set (SLURM_TMPDIR) are not counted.

```
#!/bin/bash
#SBATCH --ntasks-per-node=4
srun ./solver $SLURM_NTASKS_PER_NOD
```

Source: sbatch's and srun's manual pages, output environment variables.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

/// What Slurm sets in jobs, in any version.
const KNOWN: &[&str] = &[
    "SLURM_ARRAY_JOB_ID",
    "SLURM_ARRAY_TASK_COUNT",
    "SLURM_ARRAY_TASK_ID",
    "SLURM_ARRAY_TASK_MAX",
    "SLURM_ARRAY_TASK_MIN",
    "SLURM_ARRAY_TASK_STEP",
    "SLURM_CLUSTER_NAME",
    "SLURM_CPUS_ON_NODE",
    "SLURM_CPUS_PER_GPU",
    "SLURM_CPUS_PER_TASK",
    "SLURM_CONF",
    "SLURM_CPU_BIND",
    "SLURM_CPU_BIND_LIST",
    "SLURM_CPU_BIND_TYPE",
    "SLURM_CPU_BIND_VERBOSE",
    "SLURM_CPU_FREQ_REQ",
    "SLURM_DISTRIBUTION",
    "SLURM_DIST_PLANESIZE",
    "SLURM_EXPORT_ENV",
    "SLURM_GPUS",
    "SLURM_GPUS_ON_NODE",
    "SLURM_GPUS_PER_NODE",
    "SLURM_GPUS_PER_SOCKET",
    "SLURM_GPUS_PER_TASK",
    "SLURM_GPU_BIND",
    "SLURM_GPU_FREQ",
    "SLURM_GTIDS",
    "SLURM_HET_SIZE",
    "SLURM_HINT",
    "SLURM_JOBID",
    "SLURM_JOB_ACCOUNT",
    "SLURM_JOB_CPUS_PER_NODE",
    "SLURM_JOB_DEPENDENCY",
    "SLURM_JOB_END_TIME",
    "SLURM_JOB_GID",
    "SLURM_JOB_GPUS",
    "SLURM_JOB_GROUP",
    "SLURM_JOB_ID",
    "SLURM_JOB_NAME",
    "SLURM_JOB_NODELIST",
    "SLURM_JOB_NUM_NODES",
    "SLURM_JOB_PARTITION",
    "SLURM_JOB_QOS",
    "SLURM_JOB_RESERVATION",
    "SLURM_JOB_START_TIME",
    "SLURM_JOB_TMP",
    "SLURM_JOB_UID",
    "SLURM_JOB_USER",
    "SLURM_LAUNCH_NODE_IPADDR",
    "SLURM_LOCALID",
    "SLURM_MEM_BIND",
    "SLURM_MEM_PER_CPU",
    "SLURM_MEM_PER_GPU",
    "SLURM_MEM_PER_NODE",
    "SLURM_NNODES",
    "SLURM_NODEID",
    "SLURM_NODELIST",
    "SLURM_NODE_ALIASES",
    "SLURM_NPROCS",
    "SLURM_NTASKS",
    "SLURM_NTASKS_PER_CORE",
    "SLURM_NTASKS_PER_GPU",
    "SLURM_NTASKS_PER_NODE",
    "SLURM_NTASKS_PER_SOCKET",
    "SLURM_OVERCOMMIT",
    "SLURM_PRIO_PROCESS",
    "SLURM_PROCID",
    "SLURM_PROFILE",
    "SLURM_RESTART_COUNT",
    "SLURM_SHARDS_ON_NODE",
    "SLURM_SPANK_SHIFTER_IMAGE",
    "SLURM_SRUN_COMM_HOST",
    "SLURM_STEPID",
    "SLURM_STEP_GPUS",
    "SLURM_STEP_ID",
    "SLURM_STEP_NODELIST",
    "SLURM_STEP_NUM_NODES",
    "SLURM_STEP_NUM_TASKS",
    "SLURM_STEP_TASKS_PER_NODE",
    "SLURM_SUBMIT_DIR",
    "SLURM_SUBMIT_HOST",
    "SLURM_TASKS_PER_NODE",
    "SLURM_TASK_PID",
    "SLURM_THREADS_PER_CORE",
    "SLURM_TOPOLOGY_ADDR",
    "SLURM_TOPOLOGY_ADDR_PATTERN",
    "SLURM_TRES_PER_TASK",
    "SLURM_UMASK",
    "SLURM_WORKING_CLUSTER",
];
/// What sites, schedulers' tools and people call their own.
const OTHERS: &[&str] = &[
    "SLURM_TMPDIR",
    "SLURM_JOBTMP",
    "SLURM_QUEUE",
    "SLURM_SCRATCH",
    "SLURM_JOB_SCRATCH",
    "SLURM_NODES",
    "SLURM_TASK_ID",
    "SLURM_GPU",
    "SLURM_JOB_NODES",
    "SLURM_TASKS",
    "SLURM_JOB_TMPDIR",
    "SLURM_JOB_NTASKS",
    "SLURM_JOBS",
    "SLURM_STEPS",
    "SLURM_JOB",
];

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    let mut seen: HashSet<&str> = HashSet::new();
    for command in &script.shell.commands {
        let words = command
            .words
            .iter()
            .chain(command.sets.iter().map(|set| &set.value));
        for word in words.filter(|word| word.expands) {
            let written = &script.text[word.range.clone()];
            for (at, _) in written.match_indices("$") {
                let name = written[at + 1..].trim_start_matches('{');
                let start = word.range.start + at + (written.len() - at - name.len());
                let end = name
                    .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                    .unwrap_or(name.len());
                let name = &name[..end];
                if !name.starts_with("SLURM_") || !seen.insert(name) {
                    continue;
                }
                if KNOWN.contains(&name) || OTHERS.contains(&name) {
                    continue;
                }
                let Some(meant) = KNOWN.iter().find(|known| crate::slip::is_slip(name, known))
                else {
                    continue;
                };
                // Last: it reads the whole script.
                if is_set(script, name) {
                    continue;
                }
                // `$SLURM_JOB_ID_x`: the underscore was to stand behind the name.
                let bare = script.text[..start].ends_with('$');
                let right = if name.strip_suffix('_') == Some(meant) && bare {
                    format!("{{{meant}}}_")
                } else {
                    (*meant).to_owned()
                };
                let dollar = if right.starts_with('{') { "$" } else { "" };
                findings.push(
                    Finding::new(RULE.code, RULE.severity, format!("Slurm sets no {name}"))
                        .at(start..start + end, format!("did you mean {dollar}{right}?"))
                        .fix([crate::Edit::new(start..start + end, right)]),
                );
            }
        }
    }
}

/// Whether the script sets it itself, or takes something in its place.
fn is_set(script: &Script<'_>, name: &str) -> bool {
    let sets = script
        .shell
        .commands
        .iter()
        .flat_map(|command| &command.sets);
    sets.into_iter().any(|set| set.name == name)
        || script.text.contains(&format!("{name}="))
        || script.text.contains(&format!("{name}:"))
        || script.text.contains(&format!("{name}-"))
        || script.text.contains(&format!("read {name}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, fixes, silent};

    #[test]
    fn speaks() {
        fires(&RULE, "echo $«SLURM_NTASKS_PER_NOD»\n");
        fires(&RULE, "x=\"a ${«SLURM_SBUMIT_DIR»}\"\n");
    }

    #[test]
    fn says_nothing() {
        silent(
            &RULE,
            "cd $SLURM_SUBMIT_DIR; echo ${SLURM_TMPDIR} '$SLURM_JOB_I'\n# $SLURM_JOB_I\n",
        );
        silent(&RULE, "SLURM_JOB_I=1\necho $SLURM_JOB_I\n");
        silent(&RULE, "echo ${SLURM_JOB_I:-0} $SLURM_MY_OWN\n");
    }

    /// Names that are no slips are not searched for in the whole script.
    #[test]
    fn many_names_of_somebody_s_own() {
        let lines: String = (0..25_000)
            .map(|i| format!("echo $SLURM_FOO{i}\n"))
            .collect();
        silent(&RULE, &lines);
    }

    #[test]
    fn fixes_the_name() {
        fixes(
            &RULE,
            "echo $SLURM_JOB_NODELIS\n",
            "echo $SLURM_JOB_NODELIST\n",
        );
        fixes(
            &RULE,
            "echo $SLURM_ARRAY_JOB_ID_$SLURM_ARRAY_TASK_ID\n",
            "echo ${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID\n",
        );
    }
}
