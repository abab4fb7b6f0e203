//! `getopt_long` as Slurm's commands call it: it stops at the first word that is no option, takes
//! unique abbreviations and letters in a bunch, and has the C library's words for what is wrong.

use crate::diagnostic::{Diagnostic, Span, Voice};
use crate::option_table::{Command, Effect, Opt, Takes, options_of};

/// A word and where it stood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) text: String,
    pub(crate) span: Span,
}

/// An option that was given.
#[derive(Clone, Debug)]
pub(crate) struct Given {
    pub(crate) option: &'static Opt,
    pub(crate) value: Option<String>,
    pub(crate) span: Span,
}

/// What words were taken apart into.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    pub(crate) given: Vec<Given>,
    /// The number of words that are options and their values.
    pub(crate) used: usize,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// Takes words apart. A word that is wrong is reported and left out.
pub(crate) fn take(command: Command, words: &[Word]) -> Taken {
    let mut taken = Taken::default();
    while let Some(word) = words.get(taken.used) {
        let text = word.text.as_str();
        if text == "--" {
            taken.used += 1;
            break;
        }
        if text.len() < 2 || !text.starts_with('-') {
            break;
        }
        taken.used += 1;
        match text.strip_prefix("--") {
            Some(long) => taken.long(command, long, word, words),
            None => taken.letters(command, &text[1..], word, words),
        }
    }
    taken
}

impl Taken {
    fn long(&mut self, command: Command, text: &str, word: &Word, words: &[Word]) {
        let (name, glued) = match text.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (text, None),
        };
        let option = match lookup(command, name, text) {
            Ok(option) => option,
            Err(message) => return self.wrong("unknown-option", word, message),
        };
        let value = match (option.takes, glued) {
            (Takes::No, Some(_)) => {
                let message = format!("option '--{}' doesn't allow an argument", option.long);
                return self.wrong("unexpected-value", word, message);
            }
            (Takes::Required, None) => match self.next(words) {
                Some(value) => Some(value),
                None => {
                    let message = format!("option '--{}' requires an argument", option.long);
                    return self.wrong("missing-value", word, message);
                }
            },
            (_, glued) => glued,
        };
        self.push(option, value, word);
    }

    fn letters(&mut self, command: Command, letters: &str, word: &Word, words: &[Word]) {
        let mut rest = letters.chars();
        while let Some(letter) = rest.next() {
            let known = options_of(command).find(|option| option.short == Some(letter));
            let Some(option) = known else {
                let message = format!("invalid option -- '{letter}'");
                self.wrong("unknown-option", word, message);
                continue;
            };
            let glued = Some(rest.as_str().to_owned()).filter(|value| !value.is_empty());
            let value = match (option.takes, glued) {
                (Takes::No, _) => {
                    self.push(option, None, word);
                    continue;
                }
                (Takes::Required, None) => match self.next(words) {
                    Some(value) => Some(value),
                    None => {
                        let message = format!("option requires an argument -- '{letter}'");
                        return self.wrong("missing-value", word, message);
                    }
                },
                (_, glued) => glued,
            };
            return self.push(option, value, word);
        }
    }

    fn next(&mut self, words: &[Word]) -> Option<String> {
        let word = words.get(self.used)?;
        self.used += 1;
        Some(word.text.clone())
    }

    fn push(&mut self, option: &'static Opt, value: Option<String>, word: &Word) {
        self.given.push(Given {
            option,
            value,
            span: word.span.clone(),
        });
    }

    fn wrong(&mut self, code: &'static str, word: &Word, message: String) {
        self.diagnostics.push(Diagnostic {
            voice: Voice::Usage,
            ..Diagnostic::error(code, word.span.clone(), message, 255)
        });
    }
}

/// Finds an option by its name or a unique beginning of it; `text` is the whole word.
fn lookup(command: Command, name: &str, text: &str) -> Result<&'static Opt, String> {
    if let Some(exact) = options_of(command).find(|option| option.long == name) {
        return Ok(exact);
    }
    let mut candidates: Vec<&Opt> = options_of(command)
        .filter(|option| option.long.starts_with(name))
        .collect();
    if candidates.iter().any(|option| !option.later) {
        candidates.retain(|option| !option.later);
    }
    match candidates.as_slice() {
        [] => Err(format!("unrecognized option '--{text}'")),
        // Two names of one thing are no ambiguity.
        [first, rest @ ..]
            if matches!(first.effect, Effect::Sets(_))
                && rest.iter().all(|option| option.effect == first.effect) =>
        {
            Ok(first)
        }
        candidates => {
            let names: Vec<String> = candidates
                .iter()
                .map(|o| format!("'--{}'", o.long))
                .collect();
            Err(format!(
                "option '--{text}' is ambiguous; possibilities: {}",
                names.join(" ")
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    #[track_caller]
    fn check(command: Command, line: &str, want: Expect) {
        let words: Vec<Word> = line
            .split(' ')
            .enumerate()
            .map(|(index, text)| Word {
                text: text.to_owned(),
                span: Span::Argument(index),
            })
            .collect();
        let taken = take(command, &words);
        let mut lines: Vec<String> = taken
            .given
            .iter()
            .map(|given| format!("{} {:?}", given.option.long, given.value))
            .collect();
        lines.extend(taken.diagnostics.iter().map(|d| d.printed(command)));
        lines.push(format!(
            "rest: {}",
            line.split(' ')
                .skip(taken.used)
                .collect::<Vec<_>>()
                .join(" ")
        ));
        want.assert_eq(&lines.join("\n"));
    }

    #[test]
    fn all_ways_to_give_a_value() {
        check(
            Command::Sbatch,
            "-n4 -N 2 --time=5 --mem 1G --ntasks-per 2 -Hk script -x",
            expect![[r#"
                ntasks Some("4")
                nodes Some("2")
                time Some("5")
                mem Some("1G")
                sbatch: option '--ntasks-per' is ambiguous; possibilities: '--ntasks-per-core' '--ntasks-per-gpu' '--ntasks-per-node' '--ntasks-per-socket' '--ntasks-per-tres'
                Try "sbatch --help" for more information

                rest: 2 -Hk script -x"#]],
        );
    }

    #[test]
    fn what_is_wrong() {
        check(
            Command::Sbatch,
            "--nosuch --cpus -y --hold=1 --time",
            expect![[r#"
                sbatch: unrecognized option '--nosuch'
                Try "sbatch --help" for more information

                sbatch: option '--cpus' is ambiguous; possibilities: '--cpus-per-gpu' '--cpus-per-task'
                Try "sbatch --help" for more information

                sbatch: invalid option -- 'y'
                Try "sbatch --help" for more information

                sbatch: option '--hold' doesn't allow an argument
                Try "sbatch --help" for more information

                sbatch: option '--time' requires an argument
                Try "sbatch --help" for more information

                rest: "#]],
        );
        check(
            Command::Srun,
            "--cpu=x -lK0 -n",
            expect![[r#"
                label None
                kill-on-bad-exit Some("0")
                srun: option '--cpu=x' is ambiguous; possibilities: '--cpu-bind' '--cpu_bind' '--cpu-freq' '--cpus-per-gpu' '--cpus-per-task'
                Try "srun --help" for more information

                srun: option requires an argument -- 'n'
                Try "srun --help" for more information

                rest: "#]],
        );
    }

    #[test]
    fn an_abbreviation_of_two_names_of_one_thing() {
        check(
            Command::Sbatch,
            "--cluster=a --clus=b",
            expect![[r#"
                cluster Some("a")
                sbatch: option '--clus=b' is ambiguous; possibilities: '--cluster-constraint' '--cluster' '--clusters'
                Try "sbatch --help" for more information

                rest: "#]],
        );
    }
}
