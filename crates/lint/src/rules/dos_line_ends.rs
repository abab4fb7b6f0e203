//! Y010: line ends of DOS.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Edit, Finding, Found, LintInput, Severity};

/// Y010.
pub const RULE: Rule = Rule {
    code: "Y010",
    name: "dos-line-ends",
    severity: Severity::Error,
    summary: "lines end with \\r\\n: the script is refused",
    page:
        "sbatch refuses a script that holds even one line end of DOS. Editors on Windows write them,
and so does git with core.autocrlf. The example has them behind each line, where they can't be
seen.

```
#!/bin/bash\r
#SBATCH --ntasks=1\r
srun hostname\r
```

Source: sbatch.c of 22.05 to 25.11; seen with 22.05.8.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    if !script.text.contains("\r\n") {
        return;
    }
    let lines = 1..=script.lines.count();
    let ends = lines.filter_map(|number| {
        let end = script.lines.with_end(number).end;
        script.text[..end]
            .ends_with("\r\n")
            .then(|| (number, end - 2))
    });
    let ends: Vec<(usize, usize)> = ends.collect();
    let Some((first, _)) = ends.first() else {
        return;
    };
    let count = ends.len();
    let lines = if count == 1 {
        "one line ends".to_owned()
    } else {
        format!("{count} lines end")
    };
    findings.push(
        Finding::new(RULE.code, RULE.severity, format!("{lines} with \\r\\n"))
            .refused()
            .at(script.lines.range(*first), "the first of them")
            .fix(ends.iter().map(|(_, at)| Edit::new(*at..at + 1, ""))),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, fixes, silent};

    #[test]
    fn speaks() {
        assert!(fires(&RULE, "#SBATCH -n 1\n«true»\r\n").refused);
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#SBATCH -n 1\nprintf '\\r\\n'\n");
        silent(&RULE, "true\rtrue\n");
    }

    #[test]
    fn fixes_them_all() {
        fixes(
            &RULE,
            "raw:#!/bin/sh\r\n#SBATCH -n 1\r\ntrue\r\n",
            "raw:#!/bin/sh\n#SBATCH -n 1\ntrue\n",
        );
    }
}
