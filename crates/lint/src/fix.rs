//! Makes the fixes of findings, until there is nothing left to fix.

use crate::Finding;
use crate::edit::{Edit, apply};

/// Rounds after which fixing ends, whatever is left: each makes all fixes that don't meet.
const MOST_ROUNDS: usize = 20;

/// A text with its fixes made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fixed {
    /// The text.
    pub text: String,
    /// How many fixes were made.
    pub made: usize,
    /// What is left.
    pub findings: Vec<Finding>,
}

/// Makes the fixes that `check` finds. Fixes that meet are made in different rounds, after looking
/// again.
pub fn fix(text: &str, check: impl Fn(&str) -> Vec<Finding>) -> Fixed {
    let mut fixed = Fixed {
        text: text.to_owned(),
        made: 0,
        findings: check(text),
    };
    let mut seen = vec![text.to_owned()];
    for _ in 0..MOST_ROUNDS {
        let (edits, made) = choose(&fixed.findings);
        if made == 0 {
            break;
        }
        let text = apply(&fixed.text, &edits);
        // What was there before would come again for ever.
        if seen.contains(&text) {
            break;
        }
        seen.push(text.clone());
        let findings = check(&text);
        fixed = Fixed {
            text,
            made: fixed.made + made,
            findings,
        };
    }
    fixed
}

/// The edits of as many findings as can be made at once, and how many findings those are.
#[must_use]
pub fn choose(findings: &[Finding]) -> (Vec<Edit>, usize) {
    let mut chosen: Vec<Edit> = Vec::new();
    let mut made = 0;
    for edits in findings.iter().filter_map(|finding| finding.fix.as_ref()) {
        let meets = |edit: &Edit| chosen.iter().any(|other| other.meets(edit));
        if !edits.is_empty() && !edits.iter().any(meets) {
            chosen.extend(edits.iter().cloned());
            made += 1;
        }
    }
    (chosen, made)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Setup, lint};
    use proptest::prelude::*;

    fn with_rules(text: &str) -> Fixed {
        fix(text, |text| lint(Setup::PLAIN, text))
    }

    #[test]
    fn fixes_are_made_until_none_is_left() {
        let script =
            "#!/bin/bash\r\n#SBTACH --out=x --cpus_per_task=4\r\n#SBATCH -C a\r\n#SBATCH -C b\r\n";
        let fixed = with_rules(script);
        assert_eq!(
            fixed.text,
            "#!/bin/bash\n#SBATCH --output=x --cpus-per-task=4\n#SBATCH -C a&b\n"
        );
        assert!(fixed.made >= 4);
        assert!(!fixed.findings.iter().any(|finding| finding.refused));
    }

    #[test]
    fn fixes_that_meet_are_not_made_at_once() {
        let finding = |edit: Edit| Finding::new("Y001", crate::Severity::Note, "").fix([edit]);
        let findings = [
            finding(Edit::new(0..4, "a")),
            finding(Edit::new(2..3, "b")),
            finding(Edit::new(5..6, "c")),
        ];
        assert_eq!(choose(&findings).1, 2);
    }

    fn lines() -> impl Strategy<Value = String> {
        let line = prop::sample::select(vec![
            "#SBATCH --constraint=a",
            "#SBATCH -C b # c",
            "#SBTACH -n 4",
            " #SBATCH --time=1:00",
            "#SBATCH",
            "#SBATCH -n=4 --out=x",
            "#SBATCH \u{2014}nodes=1 -J \u{201c}a b\u{201d}",
            "#SBATCH -output=x --cpus-per-gpus=4",
            "#SBATCH --gpus=8 \\",
            "#SBATCH --time=0:30 --time=0:30",
            "#SBATCH --signal=USR1@60 --requeue",
            "#SBATCH --mem=0 --array=1-4 -o out",
            "#SBATCH -t 5 # yard: ignore[Y012, Y999]",
            "# yard: ignore[Y012]",
            "trap 'x' USR1",
            "srun python train.py",
            "export MASTER_PORT=29500",
            "cat <<EOF",
            "EOF",
            "",
        ]);
        let end = prop::sample::select(vec!["\n", "\r\n", "\n"]);
        prop::collection::vec((line, end), 0..12).prop_map(|lines| {
            lines
                .into_iter()
                .fold("#!/bin/bash\n".to_owned(), |text, (line, end)| {
                    text + line + end
                })
        })
    }

    proptest! {
        #[test]
        fn fixing_twice_changes_nothing_more(text in lines()) {
            let once = with_rules(&text);
            let twice = with_rules(&once.text);
            prop_assert_eq!(&twice.text, &once.text);
            let open: Vec<&Finding> = once.findings.iter().filter(|f| f.fix.is_some()).collect();
            prop_assert!(open.is_empty(), "{open:#?} left in {}", once.text);
        }
    }
}
