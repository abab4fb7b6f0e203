//! Y109: more nodes, or fewer, than the partition gives a job.

use super::site;
use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Found, LintInput, Severity};
use model::option_table::Key;
use resources::{Denial, Fate};

/// Y109.
pub const RULE: Rule = Rule {
    code: "Y109",
    name: "node-count",
    severity: Severity::Error,
    summary: "more nodes, or fewer, than the partition gives a job",
    page: "A partition has a number of nodes, and may have a most and a least that one job gets of them
(MaxNodes, MinNodes). A job outside of that waits for ever with PartitionNodeLimit, or is refused
where the site enforces its partitions' limits (EnforcePartLimits). A job of no node (--nodes=0)
never starts: it is for burst buffers alone.

```
#!/bin/bash
#SBATCH --partition=gpu
#SBATCH --nodes=64
srun hostname
```

Source: the cluster file; slurm.conf's MaxNodes, MinNodes and EnforcePartLimits.",
    holds: Holds::Always,
    needs_cluster: true,
    check,
};

fn check(script: &Script<'_>, input: &LintInput<'_>, findings: &mut Found) {
    let said = [Key::Nodes, Key::Tasks, Key::NodeList];
    let Some(given) = said.into_iter().find_map(|key| script.last(key)) else {
        return;
    };
    if script.is_refused(given) || site::partition(script, input).is_none() {
        return;
    }
    let request = script.request();
    if request.min_nodes == Some(0) && request.max_nodes.is_none_or(|most| most == 0) {
        let there = "a job has one node at the least".to_owned();
        let finding = script.finding(RULE.code, RULE.severity, given, there, String::new());
        let really = "Slurm takes the job and never starts it (BadConstraints); yard's own engine refuses it";
        let finding = finding.really(really);
        findings.push(finding.help("ask for one or more, or leave --nodes out"));
        return;
    }
    let refusal = |denial| site::refusal(script, input, denial, Key::Nodes);
    let refusal = refusal(Denial::NodeCount).or_else(|| refusal(Denial::NodeConfig));
    let Some(refusal) = refusal else {
        return;
    };
    let label = match script.request().min_nodes {
        Some(nodes) if given.option.long != "nodes" => format!("{nodes} nodes at least"),
        _ => String::new(),
    };
    let mut finding = script.finding(RULE.code, RULE.severity, given, refusal.there(), label);
    let really = match &refusal.fate {
        Fate::Waits(reason) => format!("the job waits for ever: {reason}"),
        Fate::WaitsOnceReleased(reason) => site::once_released(reason),
        Fate::Refused | Fate::Cut => format!("the job is refused: {}", refusal.denial.words()),
    };
    finding = finding.really(really).help(refusal.todo());
    if matches!(refusal.fate, Fate::WaitsOnceReleased(_)) {
        finding.severity = Severity::Warning;
    } else if refusal.assumed {
        finding.severity = Severity::Note;
        finding = finding.really("the cluster file assumes this number");
    }
    findings.push(finding);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, silent};

    #[test]
    fn speaks() {
        let found = fires(&RULE, "#SBATCH -p gpu «--nodes=5»\n");
        assert_eq!(found.message, "partition gpu has 4 nodes");
        let found = fires(&RULE, "#SBATCH -p wide «-N 3»\n");
        assert_eq!(found.message, "partition wide wants at least 4 nodes");
        let found = fires(&RULE, "#SBATCH -p wide «-N 8»\n");
        assert_eq!(found.message, "partition wide gives at most 6 nodes a job");
        assert_eq!(
            found.really.as_deref(),
            Some("the job waits for ever: PartitionNodeLimit")
        );
        for none in ["-N 0", "--nodes=0-0"] {
            let found = fires(&RULE, &format!("#SBATCH -p gpu -H «{none}»\n"));
            assert_eq!(found.message, "a job has one node at the least");
            assert_eq!(found.severity, Severity::Error);
        }
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH -p gpu --nodes=4\n");
        silent(&RULE, "#SBATCH -p wide --nodes=4-6\n");
        silent(&RULE, "#SBATCH -p nosuch --nodes=99\n");
        silent(&RULE, "#SBATCH --nodes=8x\n");
    }
}
