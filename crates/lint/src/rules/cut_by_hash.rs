//! Y022: a `#` inside a word.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Finding, Found, LintInput, Severity};

/// Y022.
pub const RULE: Rule = Rule {
    code: "Y022",
    name: "cut-by-hash",
    severity: Severity::Warning,
    summary: "a # inside a word begins a comment: the value is cut there",
    page: "In a directive an unquoted # begins a comment wherever it stands, even inside a word. In
--comment=run#3 the value is \"run\", and an image nvcr.io#nvidia/pytorch is cut to nvcr.io. Put the
value in quotes, or write \\#.

```
#!/bin/bash
#SBATCH --job-name=run#3
srun hostname
```

Source: sbatch's opt.c; seen with 22.05.8.",
    holds: Holds::SeenIn2205,
    needs_cluster: false,
    check,
};

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    for given in script.directives() {
        let Some(range) = script.value_bytes(given) else {
            continue;
        };
        let line = script.lines.range(script.lines.number(range.start));
        let behind = &script.text[range.end..line.end];
        // `--time=1#` and `-n 4## four`, with nothing or a blank behind the hashes, are comments.
        let text = behind.trim_start_matches('#');
        let is_cut = behind.starts_with('#')
            && behind.len() == text.len() + 1
            && text.starts_with(|c: char| c.is_alphanumeric() || c == '/');
        let value = given.value.as_deref().unwrap_or_default();
        // A number is whole before the comment, where it isn't a name and no directive was stuck to it.
        let is_name = ["job-name", "output", "error", "comment"].contains(&given.option.long);
        let is_whole = is_amount(value) && !is_name && !text.starts_with("SBATCH");
        if !is_cut || value.is_empty() || is_whole {
            continue;
        }
        let end = text.find(char::is_whitespace).unwrap_or(text.len());
        findings.push(
            Finding::new(
                RULE.code,
                RULE.severity,
                format!("the value is {value:?}: # begins a comment"),
            )
            .at(range.end..range.end + 1 + end, "not read")
            .help("put the value in quotes if the # belongs to it, or a blank before the comment"),
        );
    }
}

/// Numbers, times and sizes.
fn is_amount(value: &str) -> bool {
    value
        .chars()
        .all(|c| c.is_ascii_digit() || ":-.,".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, silent};

    #[test]
    fn speaks() {
        let found = fires(&RULE, "#SBATCH -J run«#3»\n");
        assert!(found.message.contains("\"run\""));
        fires(&RULE, "#SBATCH --comment=a«#b/c» # d\n");
        fires(&RULE, "#SBATCH --job-name=2353«#SBATCH» -o out_%j.log\n");
        fires(&RULE, "#SBATCH -n 4«#SBATCH» -t 10\n");
    }

    #[test]
    fn says_nothing() {
        silent(
            &RULE,
            "#SBATCH -J 'run#3' # a comment\n#SBATCH -n 4#tasks\n#SBATCH -t 1:00#\n",
        );
        silent(
            &RULE,
            "#SBATCH -p gpu## the partition\n#SBATCH -A x\\#y\n#SBATCH --mem=4G# memory\n",
        );
    }
}
