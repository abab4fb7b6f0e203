//! Y017: an unfilled gap of a template.

use crate::rule::{Holds, Rule};
use crate::script::Script;
use crate::{Finding, Found, LintInput, Severity};
use model::Given;
use model::option_table::{Effect, Key};

/// Y017.
pub const RULE: Rule = Rule {
    code: "Y017",
    name: "placeholder",
    severity: Severity::Warning,
    summary: "a gap of a template is left in the script",
    page: "A word such as <account>, {{ nodes }}, @TIME@, %NODES% or {memory} was to be filled in
before the script is submitted. sbatch takes it as it stands: an account of that name doesn't exist,
and as a number it is refused. In a command a shell takes <path to the image> for a redirection from
a file \"path\".

```
#!/bin/bash
#SBATCH --account=<your-account>
srun hostname
```

Source: seen with 22.05.8.",
    holds: Holds::Always,
    needs_cluster: false,
    check,
};

/// Whether a value holds a gap.
pub(crate) fn is_one(given: &Given) -> bool {
    gap_of(given).is_some()
}

/// The gap in an option's value. In the names of files `%A` and the like are patterns.
fn gap_of(given: &Given) -> Option<&str> {
    let value = given.value.as_deref()?;
    let is_file = ["output", "error", "input"].contains(&given.option.long);
    gap(value).or_else(|| {
        let name = value.strip_prefix('%')?.strip_suffix('%')?;
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        (!is_file && name.len() > 1 && name.chars().all(word)).then_some(value)
    })
}

/// The gap in a value.
fn gap(value: &str) -> Option<&str> {
    const PAIRS: &[(&str, &str)] = &[
        ("{{", "}}"),
        ("{%", "%}"),
        ("<%", "%>"),
        ("%(", ")s"),
        ("%%", "%%"),
        ("@@", "@@"),
        ("<", ">"),
        ("@", "@"),
        ("__", "__"),
        ("{", "}"),
    ];
    for (open, close) in PAIRS {
        let Some(start) = value.find(open) else {
            continue;
        };
        let inner = &value[start + open.len()..];
        let Some(end) = inner.find(close) else {
            // A gap with blanks in it is cut at the first.
            if matches!(*open, "{{" | "{%" | "<%") {
                return Some(&value[start..]);
            }
            continue;
        };
        let name = &inner[..end];
        let word = |c: char| c.is_ascii_alphanumeric() || "_- .".contains(c);
        let shell = start > 0 && value[..start].ends_with('$');
        if !name.is_empty()
            && !shell
            && name.chars().all(word)
            && name.contains(|c: char| c.is_ascii_alphabetic())
            && !(*open == "%%" && value.len() > name.len() + 4 && name.contains(['-', '.', ' ']))
        {
            return Some(&value[start..start + open.len() + end + close.len()]);
        }
    }
    None
}

/// A gap of a guide in a command, such as `<path to the image>`, which a shell takes for redirections.
pub(crate) fn gap_in_command(command: &str) -> Option<&str> {
    command.match_indices('<').find_map(|(start, _)| {
        let length = command[start..].find('>')?;
        let inner = &command[start + 1..start + length];
        let begins = inner.starts_with(|first: char| first.is_ascii_alphabetic());
        let ends = inner.ends_with(|last: char| last.is_ascii_alphanumeric());
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_-./ ".contains(letter);
        let is_gap = begins && ends && inner.chars().all(is_plain);
        is_gap.then(|| &command[start..=start + length])
    })
}

/// Those of several words: `sort <a>b` reads one file and writes another.
fn check_body(script: &Script<'_>, findings: &mut Found) {
    for command in &script.shell.commands {
        let text = &script.text[command.range.clone()];
        let Some(gap) = gap_in_command(text).filter(|gap| gap.contains(' ')) else {
            continue;
        };
        let Some(start) = text.find(gap).map(|at| command.range.start + at) else {
            continue;
        };
        let finding = Finding::new(
            RULE.code,
            RULE.severity,
            format!("{gap} is a gap of a template"),
        );
        findings.push(finding.at(start..start + gap.len(), "to be filled in"));
    }
}

fn check(script: &Script<'_>, _: &LintInput<'_>, findings: &mut Found) {
    check_body(script, findings);
    for given in script.directives() {
        let Some(value) = given.value.as_deref() else {
            continue;
        };
        if matches!(
            given.option.effect,
            Effect::Sets(Key::Comment | Key::Wrap | Key::JobName)
        ) && !value.contains("{{")
        {
            continue;
        }
        let (Some(found), Some(range)) = (gap_of(given), script.value_bytes(given)) else {
            continue;
        };
        let mut finding = Finding::new(
            RULE.code,
            RULE.severity,
            format!("{found} is a gap of a template"),
        )
        .at(range, "to be filled in");
        if script.is_refused(given) {
            finding.severity = Severity::Error;
            finding = finding.refused();
        }
        findings.push(finding);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{fires, silent};

    #[test]
    fn speaks() {
        fires(&RULE, "#SBATCH -A «<account>»\n");
        assert!(fires(&RULE, "#SBATCH --nodes=«@@NODES@@»\n").refused);
        fires(&RULE, "#SBATCH --mem=«{memory}»\n");
        fires(&RULE, "#SBATCH -p «__partition__»\n");
        fires(&RULE, "#SBATCH -t «%%TIME%%»\n");
        assert!(fires(&RULE, "#SBATCH -N «%NODES%»\n").refused);
        fires(&RULE, "#SBATCH --mail-user=«<YourNetID>@princeton.edu»\n");
    }

    #[test]
    fn speaks_of_commands() {
        fires(
            &RULE,
            "srun --container-image=«<path to the image>» \\\n  python train.py\n",
        );
    }

    #[test]
    fn says_nothing() {
        silent(
            &RULE,
            "sort <a>b; cat <in.txt >out.txt; python train.py < a > b\n",
        );
        silent(
            &RULE,
            "#SBATCH -o %x-%j.out --mail-user=a@b.c -w n[1-2] -C '[a|b]'\n",
        );
        silent(
            &RULE,
            "#SBATCH -A my_account --gres=gpu:1 -o 100%%-%j.out -J {a}\n",
        );
        silent(&RULE, "#SBATCH -A ${ACCOUNT}\n");
        silent(&RULE, "#SBATCH -o %A_%a% -e %x%\n");
    }
}
