//! How much of a script is looked at. No script that a person wrote is cut short; one that a program
//! went wrong with must not fill the memory.

use crate::rules::not_looked_at::RULE;
use crate::script::Script;
use crate::{Finding, Lines};
use model::script_lines::{LineKind, script_lines};
use std::borrow::Cow;
use std::ops::Range;

/// Words of directives that are looked at: real scripts have some tens.
const MOST_WORDS: usize = 10_000;

/// Components of a heterogeneous job that are looked at: Slurm's steps know no more
/// (`MAX_HET_JOB_COMPONENTS`, srun's opt.h).
const MOST_COMPONENTS: usize = 128;

/// Each component is read together with all others: so many bytes in all.
const MOST_READ: usize = 64 << 20;

/// The directives that are looked at, with all else of the script.
pub(crate) struct LookedAt<'a> {
    /// The script, with blanks in the place of directives that are not looked at.
    pub(crate) text: Cow<'a, str>,
    /// What there is to say of those.
    pub(crate) rest: Option<Finding>,
}

impl<'a> LookedAt<'a> {
    pub(crate) fn of(text: &'a str) -> LookedAt<'a> {
        let whole = LookedAt {
            text: Cow::Borrowed(text),
            rest: None,
        };
        // A word and its blank have two bytes at least; a separator has a line of its own.
        if text.len() < 2 * MOST_WORDS && text.matches("#SBATCH").count() < MOST_COMPONENTS {
            return whole;
        }
        let gone = too_much(text);
        let Some(first) = gone.first() else {
            return whole;
        };
        let finding = not_looked_at(
            first.clone(),
            "directives behind this place are not looked at: there are too many",
        );
        let mut bytes = text.as_bytes().to_vec();
        for range in gone {
            bytes[range].fill(b' ');
        }
        LookedAt {
            text: Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
            rest: Some(finding),
        }
    }
}

/// The parts of directives that are too many, each in one line.
fn too_much(text: &str) -> Vec<Range<usize>> {
    let lines = Lines::new(text);
    let most_components = (MOST_READ / text.len().max(1)).isqrt();
    let most_components = most_components.clamp(2, MOST_COMPONENTS);
    let (mut words, mut components) = (0, 1);
    let mut gone = Vec::new();
    for (number, kind) in (1..).zip(script_lines(text).kinds) {
        let range = lines.range(number);
        match kind {
            LineKind::Separator => components += 1,
            LineKind::Directive | LineKind::OldDirective | LineKind::Foreign => {}
            LineKind::Body => break,
            _ => continue,
        }
        if words >= MOST_WORDS || components > most_components {
            components = usize::MAX / 2;
            gone.push(range);
            continue;
        }
        let line = &text[range.clone()];
        let room = MOST_WORDS - words;
        words += line.split_ascii_whitespace().count();
        if words > MOST_WORDS {
            let start = nth_option(line, room);
            gone.push(range.start + start..range.end);
        }
    }
    gone.retain(|range| !range.is_empty());
    gone
}

/// Where in a directive the first option behind that many words begins; a line whose quotes could be
/// cut through is cut behind its first word.
fn nth_option(line: &str, words: usize) -> usize {
    let bytes = line.as_bytes();
    let begins = |at: &usize| {
        !bytes[*at].is_ascii_whitespace() && (*at == 0 || bytes[*at - 1].is_ascii_whitespace())
    };
    let quoted = line.contains(['"', '\'', '\\']);
    let mut starts = (0..bytes.len()).filter(begins);
    let start = if quoted {
        starts.nth(1)
    } else {
        // Between an option and its value is no place for a cut; stray words are refused anyway.
        let mut near = starts.skip(words).take(MOST_WORDS);
        let first = near.next();
        let option = first.filter(|at| bytes[*at] == b'-');
        option
            .or_else(|| near.find(|at| bytes[*at] == b'-'))
            .or(first)
    };
    start.unwrap_or(bytes.len())
}

/// Commands that the reader of the shell had no room for.
pub(crate) fn commands_not_looked_at(script: &Script<'_>) -> Option<Finding> {
    let from = script.shell.full_at?;
    let line = script.lines.range(script.lines.number(from));
    let from = from.clamp(line.start, line.end);
    Some(not_looked_at(
        from..line.end,
        "commands behind this place are not looked at: there are too many",
    ))
}

/// A finding at the first byte of what is left out.
pub(crate) fn not_looked_at(range: Range<usize>, message: &str) -> Finding {
    let end = (range.start + 1).min(range.end);
    Finding::new(RULE.code, RULE.severity, message).at(range.start..end, "from here on")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Setup, lint};

    #[track_caller]
    fn check(script: &str, want: &[(&str, usize)]) {
        let found = lint(Setup::PLAIN, script);
        let lines = Lines::new(script);
        let told: Vec<_> = found
            .iter()
            .filter(|one| one.code == RULE.code || one.refused)
            .map(|one| (one.code, lines.number(one.start())))
            .collect();
        assert_eq!(told, want);
    }

    #[test]
    fn directives_without_end_are_cut_short() {
        let line = "#SBATCH -n 1 -c 1\n";
        let many = format!("#!/bin/sh\n{}#SBATCH --nosuch\nsrun a\n", line.repeat(2500));
        check(&many, &[("Y902", 2002)]);
        let long = format!("#!/bin/sh\n#SBATCH{}\nsrun a\n", " -n 1".repeat(1 << 19));
        check(&long, &[("Y902", 2)]);
        let stray = format!("#!/bin/sh\n#SBATCH{}\nsrun a\n", " x".repeat(1 << 20));
        check(&stray, &[("Y006", 2), ("Y902", 2)]);
        let quoted = format!("#!/bin/sh\n#SBATCH{}\nsrun a\n", " -J 'a b'".repeat(10_000));
        check(&quoted, &[("Y902", 2)]);
        let few = format!("#!/bin/sh\n{}#SBATCH --nosuch\nsrun a\n", line.repeat(1900));
        check(&few, &[("Y001", 1902)]);
    }

    #[test]
    fn components_without_end_are_cut_short() {
        let many = format!(
            "#!/bin/sh\n{}srun a\n",
            "#SBATCH -n1\n#SBATCH hetjob\n".repeat(3000)
        );
        check(&many, &[("Y902", 57)]);
    }

    #[test]
    fn a_script_of_a_megabyte_is_looked_at_whole() {
        let line = "srun python train.py --epoch 1   # and once more\n";
        let lines = line.repeat((1 << 20) / line.len());
        check(&format!("#!/bin/sh\n#SBATCH -t 1:00:00\n{lines}"), &[]);
    }

    #[test]
    fn commands_without_end_are_cut_short() {
        for piece in [
            "a;",
            "a ",
            "$(a)",
            "( ",
            "<<a ",
            "a=1 ",
            "{ ",
            "export a=1 b=1\n",
        ] {
            let script = format!("#!/bin/sh\n#SBATCH -n 1\n{}\n", piece.repeat(1 << 18));
            let found = lint(Setup::PLAIN, &script);
            let told = found.iter().filter(|one| one.code == RULE.code);
            assert_eq!(told.count(), 1, "{piece}");
        }
    }
}
