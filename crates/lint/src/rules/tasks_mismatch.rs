//! Y057: tasks that nodes and tasks of a node don't make.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Found, LintInput, Severity};
use model::option_table::Key;

/// Y057.
pub const RULE: Rule = Rule {
    code: "Y057",
    name: "tasks-mismatch",
    severity: Severity::Warning,
    summary: "more tasks are asked for than nodes times tasks of a node",
    page: "--ntasks beside --ntasks-per-node: the second is an upper bound then. More tasks than fit so on
the nodes cannot be placed as it is written. Say two of --nodes, --ntasks and --ntasks-per-node; the
third follows.

```
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --ntasks=100
#SBATCH --ntasks-per-node=8
srun ./solver
```

Source: sbatch's manual page, --ntasks-per-node.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    let request = script.request();
    let (Some(given), Some(_), Some(_)) = (
        script.last(Key::Tasks),
        script.last(Key::TasksPerNode),
        script.last(Key::Nodes),
    ) else {
        return;
    };
    let (Some(tasks), Some(per_node), Some(nodes)) =
        (request.tasks, request.tasks_per_node, request.max_nodes)
    else {
        return;
    };
    let most = nodes.saturating_mul(per_node);
    let written = given
        .value
        .as_deref()
        .and_then(|value| value.parse::<u32>().ok());
    if written != Some(tasks) || tasks <= most {
        return;
    }
    let mut finding = script.finding(
        RULE.code,
        RULE.severity,
        given,
        format!("{tasks} tasks on {nodes} × {per_node} = {most} places"),
        "",
    );
    for key in [Key::Nodes, Key::TasksPerNode] {
        if let Some(range) = script.last(key).and_then(|given| script.whole(given)) {
            finding = finding.at(range, "");
        }
    }
    findings.push(finding.help("leave one of the three out: it follows from the others"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, silent};

    #[test]
    fn speaks() {
        fires(&RULE, "#SBATCH -N1 «-n 100» --ntasks-per-node=8\n");
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH -N2 -n 16 --ntasks-per-node=8\n");
        silent(&RULE, "#SBATCH -N2 -n 12 --ntasks-per-node=8\n");
        silent(&RULE, "#SBATCH -n 100 --ntasks-per-node=8\n");
    }
}
