//! Makes the fixes of findings, until there is nothing left to fix.

use crate::edit::{Edit, apply};
use crate::{Finding, is_refused};
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// Rounds after which fixing ends, whatever is left: each makes all fixes that don't meet.
const MOST_ROUNDS: usize = 20;

/// Trials of fixes where all together would make `sbatch` refuse the script: each means to look at
/// it again.
const MOST_TRIALS: usize = 100;

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
/// again. What is left over then has no fix: this was to be it.
pub fn fix(text: &str, check: impl Fn(&str) -> Vec<Finding>) -> Fixed {
    let mut fixed = Fixed {
        text: text.to_owned(),
        made: 0,
        findings: check(text),
    };
    let mut seen = vec![digest(text)];
    let mut trials = 0;
    for _ in 0..MOST_ROUNDS {
        // What was there before would come again for ever.
        let next = round(&fixed, &check, &mut trials);
        let Some(next) = next.filter(|next| !seen.contains(&digest(&next.text))) else {
            break;
        };
        seen.push(digest(&next.text));
        fixed = next;
    }
    for finding in &mut fixed.findings {
        finding.fix = None;
    }
    fixed
}

/// What tells one text from another: twenty of 4 MiB would be much to keep.
fn digest(text: &str) -> (usize, u64) {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    (text.len(), hasher.finish())
}

/// As many of the fixes as can be made at once. Of fixes that only together make `sbatch` refuse the
/// script, a half is made, and of that again; one that does so alone is left out.
fn round(from: &Fixed, check: impl Fn(&str) -> Vec<Finding>, trials: &mut usize) -> Option<Fixed> {
    let mut open: Vec<&[Edit]> = from
        .findings
        .iter()
        .filter_map(|finding| finding.fix.as_deref())
        .collect();
    let mut tried = open.len();
    while tried > 0 && *trials < MOST_TRIALS {
        let (edits, made) = choose_of(open[..tried].iter().copied());
        let made = made.into_iter().filter(|made| *made).count();
        if made == 0 {
            return None;
        }
        if let Some(next) = step(from, &edits, made, &check) {
            return Some(next);
        }
        *trials += 1;
        if tried > 1 {
            tried = tried.div_ceil(2);
        } else {
            open.remove(0);
            tried = open.len();
        }
    }
    None
}

/// The text with these edits; none where `sbatch` refuses it then, and didn't before.
fn step(
    from: &Fixed,
    edits: &[Edit],
    made: usize,
    check: impl Fn(&str) -> Vec<Finding>,
) -> Option<Fixed> {
    let text = apply(&from.text, edits);
    let findings = check(&text);
    let refused = is_refused(&findings) && !is_refused(&from.findings);
    (!refused).then(|| Fixed {
        text,
        made: from.made + made,
        findings,
    })
}

/// The edits of as many findings as can be made at once, and how many findings those are.
#[must_use]
pub fn choose(findings: &[Finding]) -> (Vec<Edit>, usize) {
    let fixes = findings.iter().map(|finding| finding.fix.as_deref());
    let (edits, made) = choose_of(fixes.map(Option::unwrap_or_default));
    (edits, made.into_iter().filter(|made| *made).count())
}

/// The edits of as many fixes as can be made at once, and which those are.
pub(crate) fn choose_of<'e>(fixes: impl Iterator<Item = &'e [Edit]>) -> (Vec<Edit>, Vec<bool>) {
    let mut chosen: Vec<Edit> = Vec::new();
    // Where they begin and end: none of one fix meets one of another.
    let mut taken: BTreeMap<usize, usize> = BTreeMap::new();
    let made = fixes.map(|edits| {
        let meets = |edit: &Edit| {
            let before = taken.range(..=edit.start).next_back();
            let behind = taken.range(edit.start..).next();
            before.is_some_and(|(start, end)| *start == edit.start || *end > edit.start)
                || behind.is_some_and(|(start, _)| *start < edit.end)
        };
        if edits.is_empty() || edits.iter().any(meets) {
            return false;
        }
        for edit in edits {
            let end = taken.entry(edit.start).or_default();
            *end = edit.end.max(*end);
        }
        chosen.extend(edits.iter().cloned());
        true
    });
    let made = made.collect();
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
            "#!/bin/bash\r\n#SBATCH --out=x --cpus_per_task=4\r\n#SBATCH -C a\r\n#SBATCH -C a\r\n";
        let fixed = with_rules(script);
        assert_eq!(
            fixed.text,
            "#!/bin/bash\n#SBATCH --output=x --cpus-per-task=4\n#SBATCH -C a\n"
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

    #[test]
    fn what_sbatch_takes_it_takes_with_all_fixes_made() {
        for line in [
            "#sbatch --x11",
            "#SBATCH -J=",
            "#SBATCH -output",
            "#SBATCH -open-mode=x",
            "#SBATCH -J Ada\u{2019}s",
            "#SBATCH -J my\u{a0}job",
            "#SBATCH --comment=a\\\\",
            "#SBATCH --gres=gpu:1\n#SBATCH --gres=gpu:2 --gpus-per-node=2",
            "#SBATCH --requeue",
            "#SBATCH --mail-type=END --mail-type=FAIL",
        ] {
            let text = format!("#!/bin/sh\n#SBATCH -n 1\n{line}\n#SBATCH --time=1\ntrue\n");
            assert!(!is_refused(&lint(Setup::PLAIN, &text)), "{line} at first");
            let fixed = with_rules(&text);
            assert!(!is_refused(&fixed.findings), "{line} as {}", fixed.text);
        }
    }

    /// A rule that finds each `a`, and a script that is refused with more than three `b`.
    fn letters(text: &str) -> Vec<Finding> {
        let at = |letter: char| {
            let places = text.char_indices().filter(move |(_, c)| *c == letter);
            places.map(|(at, _)| at)
        };
        let edit = |at: usize| Edit::new(at..at + 1, "b");
        let finding = |at: usize| {
            let finding = Finding::new("Y001", crate::Severity::Note, "").at(at..at + 1, "");
            finding.fix([edit(at)])
        };
        let mut found: Vec<Finding> = at('a').map(finding).collect();
        if at('b').count() > 3 {
            found.push(Finding::new("Y002", crate::Severity::Error, "").refused());
        }
        found
    }

    #[test]
    fn of_fixes_that_only_together_do_harm_some_are_made_and_none_promised() {
        let fixed = fix(&"a".repeat(500), letters);
        assert_eq!(fixed.text, format!("bbb{}", "a".repeat(497)));
        assert_eq!((fixed.made, fixed.findings.len()), (3, 497));
        assert!(fixed.findings.iter().all(|finding| finding.fix.is_none()));
    }

    #[test]
    fn what_the_rounds_left_over_is_not_promised() {
        // Each fix brings the next.
        let one = |text: &str| {
            let at = text.len();
            vec![Finding::new("Y001", crate::Severity::Note, "").fix([Edit::new(at..at, "a")])]
        };
        let fixed = fix("", one);
        assert_eq!(
            (fixed.made, fixed.findings[0].fix.clone()),
            (MOST_ROUNDS, None)
        );
    }

    fn lines() -> impl Strategy<Value = String> {
        let line = prop::sample::select(vec![
            "#SBATCH --constraint=a",
            "#SBATCH -C b # c",
            "#SBTACH -n 4",
            "#sbatch --x11",
            "#SBATCH -J=",
            "#SBATCH -output",
            "#SBATCH -J Ada\u{2019}s",
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
        fn no_fix_makes_sbatch_refuse_a_script(text in lines()) {
            let refused = is_refused(&lint(Setup::PLAIN, &text));
            let fixed = with_rules(&text);
            prop_assert!(refused || !is_refused(&fixed.findings), "{}", fixed.text);
        }

        #[test]
        fn fixing_twice_changes_nothing_more(text in lines()) {
            let once = with_rules(&text);
            let twice = with_rules(&once.text);
            prop_assert_eq!(&twice.text, &once.text);
            let promised = |found: &[Finding]| found.iter().any(|one| one.fix.is_some());
            prop_assert!(!promised(&once.findings), "left in {}", once.text);
            prop_assert!(!promised(&lint(Setup::PLAIN, &once.text)), "left in {}", once.text);
        }
    }
}
