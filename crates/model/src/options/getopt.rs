//! A command line of `sbatch`, `salloc` or `srun`, or a script's directives, taken apart: up to the
//! first word that is no option.

use crate::options::diagnostic::{Diagnostic, Span, Voice};
use crate::options::getopt_long::{self, Row, Wrong, is_option};
use crate::options::given::{Given, Origin};
use crate::options::option_table::{Command, Dialect, Opt, Takes, options_in};
use crate::values::SlurmVersion;

/// A word and where it stood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) text: String,
    pub(crate) span: Span,
}

impl Word {
    /// Those of a command line.
    pub(crate) fn of(args: &[String]) -> Vec<Word> {
        let word = |(index, text): (usize, &String)| Word {
            text: text.clone(),
            span: Span::Argument(index),
        };
        args.iter().enumerate().map(word).collect()
    }
}

/// What words were taken apart into.
#[derive(Debug, Default)]
pub(crate) struct Taken {
    /// Options, and what is wrong, in order.
    pub(crate) read: Vec<Result<Given, Diagnostic>>,
    /// The number of words that are options and their values.
    pub(crate) used: usize,
    /// The number of words in all.
    pub(crate) words: usize,
}

impl Taken {
    /// The options that are not wrong.
    pub(crate) fn given(&self) -> impl DoubleEndedIterator<Item = &Given> {
        self.read.iter().filter_map(|read| read.as_ref().ok())
    }
}

/// Takes words apart. A word that is wrong is reported and left out.
pub(crate) fn take(command: Command, dialect: Dialect, origin: Origin, words: &[Word]) -> Taken {
    let known: Vec<Known> = options_in(command, dialect)
        .map(|option| Known { option, dialect })
        .collect();
    let known: Vec<&Known> = known.iter().collect();
    let mut taken = Taken {
        read: Vec::with_capacity(words.len()),
        ..Taken::default()
    };
    let mut rest = words.iter();
    while let Some(word) = rest.as_slice().first() {
        if word.text == "--" {
            rest.next();
            break;
        }
        if !is_option(&word.text) {
            break;
        }
        rest.next();
        let mut behind = None;
        let next = || {
            behind = rest.next();
            behind.map(|word| word.text.clone())
        };
        let all = getopt_long::read(&known, &word.text, next);
        for read in all {
            match read {
                Ok((known, value)) => {
                    let given = given(word, behind, known.option, value, origin);
                    taken.read.push(Ok(given));
                }
                Err(Wrong { code, message }) => taken.read.push(Err(Diagnostic {
                    voice: Voice::Usage,
                    ..Diagnostic::error(code, word.span.clone(), message, 255)
                })),
            }
        }
    }
    taken.used = words.len() - rest.len();
    taken.words = words.len();
    taken
}

/// `behind` is the word that was taken for a value of the last option of `word`.
fn given(
    word: &Word,
    behind: Option<&Word>,
    option: &'static Opt,
    value: Option<String>,
    origin: Origin,
) -> Given {
    let long = word.text.starts_with("--");
    let written = match (long, option.short) {
        (true, _) => word.text.split('=').next().unwrap_or_default().to_owned(),
        (false, letter) => letter.map_or(String::new(), |letter| format!("-{letter}")),
    };
    let value_span = value.as_ref().map(|value| match behind {
        Some(behind) if option.takes == Takes::Required => behind.span.clone(),
        _ => end_of(&word.span, &word.text, value.len()),
    });
    Given {
        option,
        value,
        written,
        span: word.span.clone(),
        value_span,
        origin,
    }
}

/// The last `length` bytes of a word, where the script spells it as it reads.
fn end_of(span: &Span, text: &str, length: usize) -> Span {
    match *span {
        Span::Script { line, start, end } if end - start == text.len() => Span::Script {
            line,
            start: end - length,
            end,
        },
        ref whole => whole.clone(),
    }
}

/// An option of a dialect.
struct Known {
    option: &'static Opt,
    dialect: Dialect,
}

impl Row for Known {
    fn long(&self) -> &'static str {
        self.option.long
    }

    fn short(&self) -> Option<char> {
        self.option.short
    }

    fn takes(&self) -> Takes {
        self.option.takes
    }

    fn is_same(&self, other: &Known) -> bool {
        let (own, other) = (self.option, other.option);
        own.key.is_some() && own.key == other.key && own.takes == other.takes
    }

    fn yields(&self) -> bool {
        let added = self.option.since > SlurmVersion::V22_05 || self.option.plugin.is_some();
        self.dialect == Dialect::Embedded && added
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
        let taken = take(command, Dialect::Embedded, Origin::Arguments, &words);
        let mut lines: Vec<String> = taken
            .given()
            .map(|given| format!("{} {:?}", given.option.long, given.value))
            .collect();
        let wrong = taken.read.iter().filter_map(|read| read.as_ref().err());
        lines.extend(wrong.map(|wrong| wrong.printed(command)));
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
