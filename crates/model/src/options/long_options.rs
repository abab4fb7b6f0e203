//! A command line of `squeue`, `scancel` or `scontrol`, taken apart: options anywhere among the
//! operands.

use crate::options::getopt_long::{self, Row, is_option};
use crate::options::option_table::Takes;

/// An option of a command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LongOption<K> {
    long: &'static str,
    short: Option<char>,
    takes: Takes,
    key: K,
}

impl<K> LongOption<K> {
    /// A row of a table. `long` is without its dashes, and empty for one that is only a letter;
    /// several may stand for one key.
    pub(crate) const fn new(
        long: &'static str,
        short: Option<char>,
        takes: Takes,
        key: K,
    ) -> LongOption<K> {
        LongOption {
            long,
            short,
            takes,
            key,
        }
    }
}

impl<K: Copy> LongOption<K> {
    pub(crate) fn key(&self) -> K {
        self.key
    }
}

impl<K: PartialEq> Row for LongOption<K> {
    fn long(&self) -> &'static str {
        self.long
    }

    fn short(&self) -> Option<char> {
        self.short
    }

    fn takes(&self) -> Takes {
        self.takes
    }

    fn is_same(&self, other: &LongOption<K>) -> bool {
        self.key == other.key && self.takes == other.takes
    }
}

/// A command line, taken apart.
#[derive(Debug)]
pub(crate) struct ParsedOptions<K> {
    /// Options with their values, in order.
    pub(crate) options: Vec<(K, Option<String>)>,
    /// What is no option, in order.
    pub(crate) operands: Vec<String>,
    /// What is wrong with the first wrong option, without the command's name before it.
    pub(crate) wrong: Option<String>,
}

/// Takes a command line apart, its command's name left out. Stops at the first wrong option.
pub(crate) fn parse_long_options<K: Copy + PartialEq>(
    known: &[LongOption<K>],
    args: &[String],
) -> ParsedOptions<K> {
    parse(known, args, false)
}

/// Takes a command line apart whose options stand before its operands.
pub(crate) fn parse_leading_options<K: Copy + PartialEq>(
    known: &[LongOption<K>],
    args: &[String],
) -> ParsedOptions<K> {
    parse(known, args, true)
}

fn parse<K: Copy + PartialEq>(
    known: &[LongOption<K>],
    args: &[String],
    stops_at_operand: bool,
) -> ParsedOptions<K> {
    let known: Vec<&LongOption<K>> = known.iter().collect();
    let mut parsed = ParsedOptions {
        options: Vec::new(),
        operands: Vec::new(),
        wrong: None,
    };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if arg == "--" {
            parsed.operands.extend(args.cloned());
            break;
        }
        if !is_option(arg) {
            parsed.operands.push(arg.clone());
            if stops_at_operand {
                parsed.operands.extend(args.cloned());
                break;
            }
            continue;
        }
        for read in getopt_long::read(&known, arg, || args.next().cloned()) {
            match read {
                Ok((option, value)) => parsed.options.push((option.key, value)),
                Err(wrong) => {
                    parsed.wrong = Some(wrong.message);
                    return parsed;
                }
            }
        }
    }
    parsed
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    const KNOWN: &[LongOption<char>] = &[
        LongOption::new("jobs", Some('j'), Takes::Optional, 'j'),
        LongOption::new("noheader", Some('h'), Takes::No, 'h'),
        LongOption::new("node", None, Takes::Required, 'w'),
        LongOption::new("nodes", Some('w'), Takes::Required, 'w'),
    ];

    #[track_caller]
    fn check(line: &str, want: Expect) {
        let args: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let parsed = parse_long_options(KNOWN, &args);
        let options: Vec<String> = parsed
            .options
            .iter()
            .map(|(key, value)| match value {
                Some(value) => format!("{key}={value}"),
                None => key.to_string(),
            })
            .collect();
        want.assert_eq(&format!(
            "{} | {} | {}",
            options.join(" "),
            parsed.operands.join(" "),
            parsed.wrong.unwrap_or_default()
        ));
    }

    #[test]
    fn options_are_taken_as_getopt_takes_them() {
        check("-hj7 x --jobs=8", expect!["h j=7 j=8 | x | "]);
        check("-hj 7", expect!["h j | 7 | "]);
        check("--nod n1 -wn2", expect!["w=n1 w=n2 |  | "]);
        check("-- -h", expect![" | -h | "]);
        check(
            "--no",
            expect![
                " |  | option '--no' is ambiguous; possibilities: '--noheader' '--node' '--nodes'"
            ],
        );
        check(
            "--n=1",
            expect![
                " |  | option '--n=1' is ambiguous; possibilities: '--noheader' '--node' '--nodes'"
            ],
        );
        check("--nosuch", expect![" |  | unrecognized option '--nosuch'"]);
        check("-hx", expect!["h |  | invalid option -- 'x'"]);
        check("-w", expect![" |  | option requires an argument -- 'w'"]);
        check(
            "--noheader=1",
            expect![" |  | option '--noheader' doesn't allow an argument"],
        );
    }
}
