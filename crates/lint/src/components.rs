//! The later components of a heterogeneous job, each as a script of its own.

use crate::input::LintInput;
use crate::script::Script;
use crate::{Finding, Found, RULES};
use model::script_lines::LineKind;

/// What is found in the components behind the first: in their own lines by all rules, and of what
/// they ask together by those that know the cluster. Fixes are left to the first.
pub(crate) fn later_components(
    script: &Script<'_>,
    input: &LintInput<'_>,
    first: &[Finding],
    check: fn(&Script<'_>, &LintInput<'_>) -> Vec<Finding>,
) -> Vec<Finding> {
    let is_separator = |kind: &LineKind| *kind == LineKind::Separator;
    let kinds = script.kinds.kinds.iter().enumerate();
    let separators: Vec<usize> = kinds
        .filter(|(_, kind)| is_separator(kind))
        .map(|(index, _)| index + 1)
        .collect();
    let end = script.kinds.first_command;
    let end = end.map_or(script.text.len(), |line| script.lines.range(line).start);
    let mut found = Found::default();
    let mut text = script.text.to_owned();
    for (index, line) in separators.iter().enumerate() {
        text = without_first(&text, input, *line);
        let input = LintInput {
            text: &text,
            ..*input
        };
        let start = script.lines.with_end(*line).end;
        let until = separators.get(index + 1);
        let until = until.map_or(end, |next| script.lines.range(*next).start);
        let component = Script::read(&input);
        for mut finding in check(&component, &input) {
            let here = finding.labels.first();
            let here = here.is_some_and(|label| (start..until).contains(&label.range.start));
            let of_cluster = || {
                let mut rules = RULES.iter().filter(|rule| rule.needs_cluster);
                rules.any(|rule| rule.code == finding.code)
            };
            // What goes on from the first component is said of that.
            let said = |one: &Finding| {
                (one.code, &one.message, &one.labels)
                    == (finding.code, &finding.message, &finding.labels)
            };
            if here || of_cluster() && !first.iter().any(said) {
                finding.message = format!("component {}: {}", index + 1, finding.message);
                finding.fix = None;
                found.push(finding);
            }
        }
    }
    found.told()
}

/// The text without what only the first component asks, and without the separator in that line;
/// everything else stays where it is.
pub(crate) fn without_first(text: &str, input: &LintInput<'_>, separator: usize) -> String {
    let script = Script::read(&LintInput { text, ..*input });
    let own = script
        .directives()
        .filter(|given| model::OWN_OF_COMPONENTS.contains(&given.option.long));
    let mut gone: Vec<_> = own.filter_map(|given| script.whole(given)).collect();
    let line = script.lines.range(separator);
    gone.push(line.start + 1..line.end);
    let mut bytes = text.as_bytes().to_vec();
    for range in gone {
        bytes[range].fill(b' ');
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use crate::testing::{Setup, lint};

    #[track_caller]
    fn check(script: &str, want: &[(&str, &str)]) {
        let setup = Setup {
            cluster: true,
            ..Setup::PLAIN
        };
        let found = lint(setup, &format!("#!/bin/sh\n{script}srun x\n"));
        let found = found
            .iter()
            .filter(|one| one.message.starts_with("component"));
        let found: Vec<_> = found.map(|one| (one.code, &*one.message)).collect();
        assert_eq!(found, want, "{script}");
    }

    #[test]
    fn each_component_is_held_against_the_cluster() {
        check(
            "#SBATCH -p gpu --gres=gpu:v100:4 -t 1:00:00\n#SBATCH hetjob\n#SBATCH -p nosuch\n",
            &[("Y100", "component 1: test has no partition nosuch")],
        );
        check(
            "#SBATCH -p gpu -t 1:00:00\n#SBATCH hetjob\n#SBATCH -p batch\n#SBATCH hetjob\n\
             #SBATCH -p gpu --gres=gpu:a100:1\n",
            &[("Y103", "component 2: partition gpu has no a100 GPUs")],
        );
        // The time goes on from the first component, its GPUs don't.
        check(
            "#SBATCH -p batch -t 20:00:00\n#SBATCH hetjob\n#SBATCH -p gpu\n",
            &[("Y101", "component 1: partition gpu allows 12:00:00")],
        );
        check(
            "#SBATCH -p gpu --gres=gpu:v100:4 -t 1:00:00\n#SBATCH hetjob\n#SBATCH -p batch\n",
            &[],
        );
    }

    #[test]
    fn what_goes_on_from_the_first_component_is_said_once() {
        check(
            "#SBATCH -A ghost -t 1:00:00\n#SBATCH hetjob\n#SBATCH -n 2\n",
            &[],
        );
        check(
            "#SBATCH -t 1:00:00\n#SBATCH hetjob\n#SBATCH -n 2 -A ghost\n",
            &[(
                "Y102",
                "component 1: ada is not known to have account ghost on test",
            )],
        );
    }

    #[test]
    fn a_later_component_s_bad_option_is_said_once() {
        let script = "#!/bin/sh\n#SBATCH -n 1\n#SBATCH hetjob\n#SBATCH --nosuch\nsrun x\n";
        let found = lint(Setup::PLAIN, script);
        assert_eq!(found.iter().filter(|one| one.code == "Y001").count(), 1);
    }

    #[test]
    fn options_of_a_later_component_are_read() {
        check(
            "#SBATCH -n 1 -t 1:00:00\n#SBATCH hetjob\n#SBATCH --nosuch\n",
            &[(
                "Y001",
                "component 1: Slurm's own sbatch has no option --nosuch",
            )],
        );
    }
}
