//! Y106: a feature that no node has.

use super::site;
use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Edit, Finding, Found, LintInput, Severity};
use model::nearest;
use model::option_table::Key;
use resources::Denial;

/// Y106.
pub const RULE: Rule = Rule {
    code: "Y106",
    name: "unknown-feature",
    severity: Severity::Error,
    summary: "no node of the cluster has a feature that --constraint names",
    page: "slurmctld refuses a job whose --constraint names a feature that no node has (\"Invalid feature
specification\"). Case tells names apart.

```
#!/bin/bash
#SBATCH --constraint=cput_intel_gold_6142
srun hostname
```

Source: the cluster file's features.",
    holds: Holds::Always,
    needs_cluster: true,
    check,
};

fn check(script: &Script<'_>, input: &LintInput<'_>, findings: &mut Found) {
    let (Some(cluster), Some(given)) = (input.cluster, script.last(Key::Constraint)) else {
        return;
    };
    let lists = cluster
        .nodes
        .iter()
        .filter_map(|nodes| nodes.features.as_ref());
    let of_gpus = cluster
        .gpus(None)
        .into_iter()
        .filter_map(|kind| kind.gpu.feature.as_ref());
    let known: Vec<&str> = lists
        .flat_map(|list| list.all().flatten())
        .map(String::as_str)
        .chain(of_gpus.map(|feature| feature.value.as_str()))
        .collect();
    if known.is_empty() {
        return;
    }
    let value = given.value.as_deref().unwrap_or_default();
    let words = value.split(['&', '|', ',', '[', ']', '(', ')']);
    let words = words.map(|word| word.split('*').next().unwrap_or(word).trim());
    let missing = words
        .filter(|word| !word.is_empty())
        .find(|word| !known.contains(word));
    let Some(missing) = missing else {
        return;
    };
    let near = nearest(missing, known.iter().copied());
    let label = near.map_or(String::new(), |near| format!("did you mean {near}?"));
    let range = script.value_bytes(given);
    let place = range.clone().and_then(|range| {
        let at = script.text[range.clone()].find(missing)?;
        Some(range.start + at..range.start + at + missing.len())
    });
    let mut finding = Finding::new(
        RULE.code,
        RULE.severity,
        format!("no node of {} has the feature {missing}", cluster.name),
    );
    if let Some(place) = place {
        if let Some(near) = near.filter(|near| crate::slip::is_slip(missing, near)) {
            finding = finding.fix([Edit::new(place.clone(), near)]);
        }
        finding = finding.at(place, label);
    }
    let refusal = site::refusal(script, input, Denial::Feature, Key::Constraint);
    findings.push(match refusal {
        Some(refusal) => site::as_sure_as(finding, &refusal, "features"),
        None => finding,
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, fixes, silent};

    #[test]
    fn speaks() {
        let found = fires(&RULE, "#SBATCH -C v100&«cput_intel_gold_6142»\n");
        assert_eq!(found.labels[0].text, "did you mean cpu_intel_gold_6142?");
        fires(&RULE, "#SBATCH --constraint=«nosuch»\n");
    }

    #[test]
    fn says_nothing() {
        silent(
            &RULE,
            "#SBATCH -C '[v100*2&cpu_intel_gold_6142*1]|(v100)'\n",
        );
        silent(&RULE, "#SBATCH -n 1\n");
    }

    #[test]
    fn fixes_a_slip() {
        fixes(
            &RULE,
            "#SBATCH -C cput_intel_gold_6142\n",
            "#SBATCH -C cpu_intel_gold_6142\n",
        );
    }
}
