//! Y012: an option that replaces an earlier one.

use super::site;
use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Edit, Finding, Found, LintInput, Severity};
use model::Given;
use model::option_table::{Effect, Key};

/// Y012.
pub const RULE: Rule = Rule {
    code: "Y012",
    name: "given-twice",
    severity: Severity::Error,
    summary: "an option that is given twice: only the last one counts",
    page: "The last of two counts, and nothing is said. Two --constraint do not add up: the job can get
any node that fits the second. Write both in one: --constraint='v100&cpu_intel_gold_6142'. Two
--gres do not add up either: --gres=gpu:1,nvme:1. Of two -n one should perhaps be -N for
one of them.

```
#!/bin/bash
#SBATCH --constraint=v100
#SBATCH --gpus=2
#SBATCH --constraint=cpu_intel_platinum_8260
srun python train.py
```

An error where parts get lost (--constraint, --gres of different names), a warning where two values
differ, a note where they are the same. --mail-type is another matter: see Y046.

Source: getopt_long; seen with 22.05.8.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

/// Options that may be given several times, or of which two names differ in more than spelling.
const MAY_REPEAT: &[Key] = &[
    Key::MailType,
    Key::Verbose,
    Key::Quiet,
    Key::Help,
    Key::Usage,
];

fn check(script: &Script<'_>, input: &LintInput<'_>, findings: &mut Found) {
    for (given, next) in replaced(script) {
        findings.push(finding(script, input, given, next));
    }
}

/// Options of the script that count for nothing, each with the next one that replaces it.
pub(crate) fn replaced<'s>(script: &'s Script<'_>) -> Vec<(&'s Given, &'s Given)> {
    let all: Vec<&Given> = script.directives().collect();
    let mut found = Vec::new();
    for (index, given) in all.iter().enumerate() {
        let same = |other: &&&Given| is_same(other, given);
        let Some(next) = all[index + 1..].iter().find(same) else {
            continue;
        };
        if let Effect::Sets(key) = given.option.effect
            && MAY_REPEAT.contains(&key)
        {
            continue;
        }
        if !script.is_refused(given) && !script.is_refused(next) {
            found.push((*given, *next));
        }
    }
    found
}

fn is_same(one: &Given, other: &Given) -> bool {
    match (one.option.effect, other.option.effect) {
        (Effect::Sets(a), Effect::Sets(b)) => a == b,
        _ => one.option.long == other.option.long,
    }
}

fn finding(script: &Script<'_>, input: &LintInput<'_>, first: &Given, last: &Given) -> Finding {
    let key = match first.option.effect {
        Effect::Sets(key) => Some(key),
        _ => None,
    };
    let equal = first.value == last.value;
    let severity = match key {
        _ if equal => Severity::Note,
        Some(Key::Constraint) => Severity::Error,
        Some(Key::Gres) if !same_resource(first, last) => Severity::Error,
        _ => Severity::Warning,
    };
    let message = if equal {
        format!("{} is given twice", first.written)
    } else {
        format!("the first {} is dropped", first.written)
    };
    let line = script
        .bytes(&last.span)
        .map_or(0, |range| script.lines.number(range.start));
    let same_line = script
        .bytes(&first.span)
        .is_some_and(|range| script.lines.number(range.start) == line);
    let by = if same_line {
        format!("replaced by {} behind it", last.written)
    } else {
        format!("replaced by line {line}")
    };
    let mut finding = script.finding(RULE.code, severity, first, message, by);
    if let Some(range) = script.whole(last) {
        finding = finding.at(range, if equal { "" } else { "this one counts" });
    }
    match key {
        Some(Key::Constraint) if !equal => both(script, input, finding, first, last),
        Some(Key::Gres) if !equal => finding.help("write all in one --gres, with commas between"),
        Some(Key::Tasks) if !equal && (first.written == "-n" || last.written == "-n") => {
            finding.help("-n counts tasks, -N counts nodes: was one of them meant as -N?")
        }
        _ if equal => match script.alone(first) {
            Some(number) => finding.fix([script.without_line(number)]),
            None => finding,
        },
        _ => finding.help("keep the one that you want"),
    }
}

/// Whether both ask for one resource of the same name.
fn same_resource(one: &Given, other: &Given) -> bool {
    let name = |given: &Given| {
        let value = given.value.as_deref().unwrap_or_default();
        let name = value.split([':', '=']).next().unwrap_or(value);
        (!value.contains(',')).then(|| name.to_owned())
    };
    name(one).is_some() && name(one) == name(other)
}

/// Both constraints in one, where they are plain names. Only a cluster file can tell that a node has
/// both: where none has, Slurm refuses the one that asks for both.
fn both(
    script: &Script<'_>,
    input: &LintInput<'_>,
    finding: Finding,
    first: &Given,
    last: &Given,
) -> Finding {
    let plain = |given: &Given| {
        given.value.clone().filter(|value| {
            let name = |c: char| c.is_ascii_alphanumeric() || "_-.:&".contains(c);
            !value.is_empty() && value.chars().all(name)
        })
    };
    let (Some(one), Some(other)) = (plain(first), plain(last)) else {
        return finding.help("write both in one, joined with &");
    };
    // The shell's own `&` has no meaning in a directive: no quotes are needed.
    let joined = format!("{one}&{other}");
    let finding = finding
        .help(format!("write both in one: --constraint={joined}"))
        .really("Slurm keeps the last of two: nodes need not have the first");
    let more = script.given(Key::Constraint).count() > 2;
    let together = input
        .cluster
        .is_some_and(|cluster| site::have_together(cluster, &joined));
    match (script.alone(first), script.value_bytes(last)) {
        (Some(number), Some(value))
            if !more && together && script.text.get(value.clone()) == Some(&*other) =>
        {
            finding.fix([script.without_line(number), Edit::new(value, joined)])
        }
        _ => finding,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Setup, fires, fires_with, fixes, fixes_not, fixes_with, silent};

    #[test]
    fn speaks() {
        let found = fires(&RULE, "#SBATCH «--constraint=v100»\n#SBATCH -C gold\n");
        assert_eq!(found.severity, Severity::Error);
        assert_eq!(found.labels[0].text, "replaced by line 3");
        let found = fires(&RULE, "#SBATCH «-n 4»\n#SBATCH -n 8\n");
        assert_eq!(found.severity, Severity::Warning);
        assert!(found.help.unwrap().contains("-N"));
        let found = fires(&RULE, "#SBATCH «-t 1»\n#SBATCH --time=1\n");
        assert_eq!(found.severity, Severity::Note);
        let found = fires(&RULE, "#SBATCH «--gres=gpu:1» --gres=gpu:2\n");
        assert_eq!(found.severity, Severity::Warning);
        let found = fires(&RULE, "#SBATCH «--gres=gpu:1» --gres=nvme:2\n");
        assert_eq!(found.severity, Severity::Error);
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH --mail-type=END\n#SBATCH --mail-type=FAIL\n");
        silent(&RULE, "#SBATCH -t 1\n##SBATCH -t 2\ntrue\n#SBATCH -t 3\n");
        silent(
            &RULE,
            "#SBATCH --ntasks=1 --ntasks-per-node=1 --mem=1 -v -v\n",
        );
    }

    #[test]
    fn fixes_two_constraints_that_a_node_has() {
        let cluster = Setup {
            cluster: true,
            ..Setup::PLAIN
        };
        let apart = "#SBATCH -p gpu -n 1\n#SBATCH -C v100\n#SBATCH -C cpu_intel_gold_6142\n";
        fixes_with(
            &RULE,
            cluster,
            apart,
            "#SBATCH -p gpu -n 1\n#SBATCH -C v100&cpu_intel_gold_6142\n",
        );
        fixes_not(&RULE, apart);
        let never = "#SBATCH -C v100\n#SBATCH -C cpu_intel_platinum_8260\n";
        assert_eq!(fires_with(&RULE, cluster, never).fix, None);
    }

    #[test]
    fn fixes_what_is_said_twice() {
        fixes(
            &RULE,
            "#SBATCH -t 5 # short\n#SBATCH -t 5\n",
            "#SBATCH -t 5\n",
        );
    }
}
