//! Y058: fewer tasks than nodes.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Found, LintInput, Severity};
use model::option_table::Key;

/// Y058.
pub const RULE: Rule = Rule {
    code: "Y058",
    name: "fewer-tasks",
    severity: Severity::Warning,
    summary: "fewer tasks than nodes: the job gets fewer nodes",
    page:
        "Each node has at least one task. sbatch takes --nodes=4 --ntasks=1 down to one node, with a
warning that scrolls by.

```
#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks=1
srun ./solver
```

Source: slurm_opt.c of 22.05 to 25.11; seen with 22.05.8.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    if !script
        .diagnostics
        .iter()
        .any(|diagnostic| diagnostic.code == "fewer-nodes")
    {
        return;
    }
    let (Some(nodes), Some(tasks)) = (script.last(Key::Nodes), script.request().tasks) else {
        return;
    };
    let count = if tasks == 1 {
        "1 node".to_owned()
    } else {
        format!("{tasks} nodes")
    };
    let mut finding = script.finding(
        RULE.code,
        RULE.severity,
        nodes,
        format!("the job gets {count}: there are no tasks for more"),
        "not all of these",
    );
    if let Some(range) = script
        .last(Key::Tasks)
        .and_then(|given| script.whole(given))
    {
        finding = finding.at(range, "");
    }
    findings.push(finding);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, silent};

    #[test]
    fn speaks() {
        fires(&RULE, "#SBATCH «-N 4» -n 1\n");
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH -N 4 -n 4\n");
        silent(&RULE, "#SBATCH -N 4\n");
    }
}
