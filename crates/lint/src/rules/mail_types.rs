//! Y046: several `--mail-type`.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Edit, Found, LintInput, Severity};
use model::option_table::Key;
use model::{Given, SlurmVersion};

/// Y046.
pub const RULE: Rule = Rule {
    code: "Y046",
    name: "mail-types",
    severity: Severity::Warning,
    summary: "from Slurm 25.05 on only the last --mail-type counts",
    page: "Up to 24.11 the words of several --mail-type add up. From 25.05 on the last one replaces the
others, as with all options. One option with all words means the same everywhere:
--mail-type=BEGIN,END,FAIL.

```
#!/bin/bash
#SBATCH --mail-type=BEGIN
#SBATCH --mail-type=END
srun hostname
```

Source: slurm_opt.c of 24.11 and 25.05.",
    holds: Holds::Between(SlurmVersion::V25_05, None),
    needs_cluster: false,
    check,
};

/// What ALL stands for, and itself: proc_args.c's parse_mail_type.
const OF_ALL: &[&str] = &[
    "ALL",
    "BEGIN",
    "END",
    "FAIL",
    "INVALID_DEPEND",
    "REQUEUE",
    "STAGE_OUT",
];

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    let all: Vec<&Given> = script
        .given(Key::MailType)
        .filter(|given| given.origin == model::Origin::Script)
        .collect();
    let [first, .., last] = all.as_slice() else {
        return;
    };
    let value = |given: &Given| given.value.clone().unwrap_or_default();
    if all
        .iter()
        .all(|given| value(given).eq_ignore_ascii_case(&value(last)))
    {
        return;
    }
    // ALL holds these already.
    let last_words = value(last);
    let has_all = last_words
        .split(',')
        .any(|word| word.eq_ignore_ascii_case("all"));
    let within = |given: &&Given| {
        value(given)
            .split(',')
            .all(|word| OF_ALL.iter().any(|known| known.eq_ignore_ascii_case(word)))
    };
    if has_all && all[..all.len() - 1].iter().all(within) {
        return;
    }
    let mut words: Vec<String> = Vec::new();
    for given in &all {
        for word in value(given).split(',').filter(|word| !word.is_empty()) {
            if !words.iter().any(|known| known.eq_ignore_ascii_case(word)) {
                words.push(word.to_owned());
            }
        }
    }
    let joined = words.join(",");
    let mut finding = script
        .finding(
            RULE.code,
            RULE.severity,
            first,
            "from Slurm 25.05 on this --mail-type is dropped",
            "up to 24.11 both count",
        )
        .help(format!("write all in one: --mail-type={joined}"));
    if let Some(range) = script.whole(last) {
        finding = finding.at(range, "the last one counts");
    }
    let lines: Option<Vec<usize>> = all[..all.len() - 1]
        .iter()
        .map(|given| script.alone(given))
        .collect();
    let none = words.iter().any(|word| word.eq_ignore_ascii_case("none"));
    let plain = script
        .value_bytes(last)
        .filter(|range| script.text.get(range.clone()) == last.value.as_deref());
    if let (Some(lines), Some(range), false) = (lines, plain, none) {
        let gone = lines.into_iter().map(|number| script.without_line(number));
        finding = finding.fix(gone.chain([Edit::new(range, joined)]));
    }
    findings.push(finding);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, fires_in, fixes, silent, silent_in};

    #[test]
    fn speaks() {
        assert_eq!(
            fires(
                &RULE,
                "#SBATCH «--mail-type=END»\n#SBATCH --mail-type=FAIL\n"
            )
            .severity,
            Severity::Note
        );
        let found = fires_in(
            &RULE,
            "25.05",
            "#SBATCH «--mail-type=END» --mail-type=FAIL\n",
        );
        assert_eq!(found.severity, Severity::Warning);
        // ALL does not hold this one.
        let apart = "#SBATCH «--mail-type=TIME_LIMIT»\n#SBATCH --mail-type=ALL\n";
        fires(&RULE, apart);
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH --mail-type=END,FAIL\n");
        silent(
            &RULE,
            "#SBATCH --mail-type=BEGIN\n#SBATCH --mail-type=ALL\n",
        );
        silent(&RULE, "#SBATCH --mail-type=END\n#SBATCH --mail-type=end\n");
        silent_in(
            &RULE,
            "22.05",
            "#SBATCH --mail-type=END\n#SBATCH --mail-type=FAIL\n",
        );
    }

    #[test]
    fn joins_them() {
        fixes(
            &RULE,
            "#SBATCH --mail-type=BEGIN\n#SBATCH -n 1\n#SBATCH --mail-type=end\n",
            "#SBATCH -n 1\n#SBATCH --mail-type=BEGIN,end\n",
        );
    }
}
