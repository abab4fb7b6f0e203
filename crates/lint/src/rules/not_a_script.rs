//! Y009: a file that `sbatch` takes for no script.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Edit, Finding, Found, LintInput, Severity};

/// Y009.
pub const RULE: Rule = Rule {
    code: "Y009",
    name: "not-a-script",
    severity: Severity::Error,
    summary: "sbatch takes the file for no script: it is refused",
    page: "The first two bytes must be #!, with the interpreter behind them: a blank line, a blank or an
invisible byte order mark before it is enough to be refused. So are an empty file, a NUL byte and
more than 4 MiB.

```
#SBATCH --ntasks=1
srun hostname
```

Source: sbatch.c and job_mgr.c (_test_job_desc_fields) of 22.05 to 25.11; seen with 22.05.8.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

/// slurmctld's limit on a script unless SchedulerParameters has max_script_size.
const LONGEST: usize = 4 << 20;

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    if model::sbatch::script_size(script.text) > LONGEST {
        findings.push(
            Finding::new(RULE.code, RULE.severity, "the script is larger than 4 MiB")
                .refused()
                .really("Pathname of a file, directory or other parameter too long")
                .help("keep its data in another file; a site may allow more (max_script_size)"),
        );
    }
    for diagnostic in &script.diagnostics {
        if !diagnostic.code.starts_with("script-") || diagnostic.code == "script-line-ends" {
            continue;
        }
        let message = match diagnostic.code {
            "script-empty" => "the script is empty",
            "script-interpreter" => "the script does not begin with #! and an interpreter",
            "script-nul" => "the script holds a NUL byte",
            _ => diagnostic.message.lines().next().unwrap_or_default(),
        };
        let mut finding = Finding::new(RULE.code, RULE.severity, message).refused();
        if diagnostic.code == "script-interpreter" {
            let mark = script.text.starts_with('\u{feff}');
            let start = script.text.trim_start_matches('\u{feff}').trim_start();
            let gone = script.text.len() - start.len();
            let label = if mark {
                "begins with an invisible byte order mark"
            } else {
                ""
            };
            finding = finding.at(script.lines.range(1), label);
            if start.starts_with("#!") {
                finding = finding.fix([Edit::new(0..gone, "")]);
            } else if script.text.starts_with("#SBATCH") {
                finding = finding
                    .help("begin with #!/bin/bash")
                    .fix([Edit::new(0..0, "#!/bin/bash\n")]);
            } else {
                finding = finding.help("begin with #!/bin/bash");
            }
        }
        if diagnostic.code == "script-nul"
            && let Some(at) = script.text.find('\0')
        {
            finding = finding.at(at..at + 1, "here");
        }
        findings.push(finding);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, fixes, silent};

    #[test]
    fn speaks() {
        assert!(fires(&RULE, "raw:«#SBATCH -n 1»\ntrue\n").refused);
        assert!(fires(&RULE, "raw:").refused);
        fires(&RULE, "#SBATCH -n 1\na«\0»\n");
    }

    #[test]
    fn four_mebibytes_and_not_a_byte_more() {
        let whole = "raw:#!/bin/sh\n".to_owned() + &"#".repeat((4 << 20) - 10);
        silent(&RULE, &whole);
        let found = fires(&RULE, &(whole + "#"));
        assert!(found.refused && found.message.contains("4 MiB"));
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "raw:#!/bin/sh\n");
        silent(&RULE, "raw:#! /usr/bin/env bash -l\ntrue\n");
    }

    #[test]
    fn fixes_what_stands_before() {
        fixes(
            &RULE,
            "raw:\u{feff}#!/bin/sh\ntrue\n",
            "raw:#!/bin/sh\ntrue\n",
        );
        fixes(&RULE, "raw:\n #!/bin/sh\n", "raw:#!/bin/sh\n");
        fixes(&RULE, "raw:#SBATCH -n 1\n", "#SBATCH -n 1\n");
    }
}
