//! Y076: `conda activate` in a shell that doesn't know it.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Finding, Found, LintInput, Severity};

/// Y076.
pub const RULE: Rule = Rule {
    code: "Y076",
    name: "conda-activate",
    severity: Severity::Note,
    summary: "conda activate needs conda's shell function, and nothing here brings it",
    page: "conda activate works through a function of the shell that conda init writes into ~/.bashrc. A
batch script is not interactive and reads no ~/.bashrc: unless the site's BASH_ENV brings it, conda
says \"your shell has not been properly configured\" and the job goes on with another python. Put
source \"$(conda info --base)/etc/profile.d/conda.sh\" before it, or begin with #!/bin/bash -l.

```
#!/bin/bash
#SBATCH --ntasks=1
conda activate train
python train.py
```

Source: conda's documentation of activation; bash's manual page, invocation.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    let shebang = script.lines.line(1);
    if !shebang.contains("bash") || shebang.contains(" -") || !script.shell.sound {
        return;
    }
    for command in &script.shell.commands {
        let words: Vec<&str> = command.program().iter().map(|word| &*word.text).collect();
        match words.as_slice() {
            ["conda", "activate", ..] if !command.function => {
                findings.push(
                    Finding::new(
                        RULE.code,
                        RULE.severity,
                        "conda activate works in a shell that knows conda's function",
                    )
                    .at(
                        command.words[0].range.start
                            ..command
                                .words
                                .get(1)
                                .map_or(command.range.end, |word| word.range.end),
                        "nothing before it brings the function",
                    )
                    .help("source \"$(conda info --base)/etc/profile.d/conda.sh\" before it"),
                );
                return;
            }
            // Each of these may bring it.
            [
                "source" | "." | "eval" | "module" | "ml" | "exec" | "conda" | "bash",
                ..,
            ] => return,
            [first, ..]
                if first.contains("load") || first.contains("init") || first.starts_with('$') =>
            {
                return;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, silent};

    #[test]
    fn speaks() {
        fires(&RULE, "#SBATCH -n 1\ncd x\n«conda activate» env\n");
    }

    #[test]
    fn says_nothing() {
        silent(&RULE, "#!/bin/bash -l\nconda activate env\n");
        silent(&RULE, "source ~/.bashrc\nconda activate env\n");
        silent(
            &RULE,
            "eval \"$(conda shell.bash hook)\"\nconda activate env\n",
        );
        silent(&RULE, "module load anaconda\nconda activate env\n");
        silent(&RULE, "source activate env\n");
    }
}
