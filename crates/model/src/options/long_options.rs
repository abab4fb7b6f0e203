//! The options of `squeue`, `scancel`, `scontrol` and the other commands that ask for no resources: a
//! table for each, and a command line taken apart by it, with options anywhere among the operands.

use crate::options::getopt_long::{self, Row, is_option};
use crate::options::option_table::Takes;

/// An option of a command.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LongOption<K> {
    long: &'static str,
    short: Option<char>,
    takes: Takes,
    use_: OptionUse<K>,
    /// What a value is, in help texts.
    value: &'static str,
    /// What it does; empty for another name of an option.
    help: &'static str,
}

/// What becomes of an option that is given.
#[derive(Clone, Copy, Debug, PartialEq)]
enum OptionUse<K> {
    /// The command reads it.
    Read(K),
    /// Nothing: it can change no result here, for this reason.
    Accepted(&'static str),
    /// The same, but for what the command says of a wrong value.
    Judged(K, &'static str),
    /// It is refused, for this reason.
    Refused(&'static str),
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
        LongOption::row(long, short, takes, OptionUse::Read(key))
    }

    /// One that can change no result here, and why.
    pub(crate) const fn accepted(
        long: &'static str,
        short: Option<char>,
        takes: Takes,
        why: &'static str,
    ) -> LongOption<K> {
        LongOption::row(long, short, takes, OptionUse::Accepted(why))
    }

    /// One that can change no result here, and why, of whose wrong values something is said.
    pub(crate) const fn judged(
        long: &'static str,
        short: Option<char>,
        takes: Takes,
        key: K,
        why: &'static str,
    ) -> LongOption<K> {
        LongOption::row(long, short, takes, OptionUse::Judged(key, why))
    }

    /// One that Slurm has and that is refused here, and why.
    pub(crate) const fn refused(
        long: &'static str,
        short: Option<char>,
        takes: Takes,
        why: &'static str,
    ) -> LongOption<K> {
        LongOption::row(long, short, takes, OptionUse::Refused(why))
    }

    const fn row(
        long: &'static str,
        short: Option<char>,
        takes: Takes,
        use_: OptionUse<K>,
    ) -> LongOption<K> {
        LongOption {
            long,
            short,
            takes,
            use_,
            value: "",
            help: "",
        }
    }

    /// What it does, as a line of help.
    pub(crate) const fn does(mut self, help: &'static str) -> LongOption<K> {
        self.help = help;
        self
    }

    /// What its value is, and what it does with it.
    pub(crate) const fn of(mut self, value: &'static str, help: &'static str) -> LongOption<K> {
        self.value = value;
        self.help = help;
        self
    }
}

impl<K: Copy> LongOption<K> {
    /// What it stands for; `None` for one that does nothing.
    pub(crate) fn key(&self) -> Option<K> {
        match self.use_ {
            OptionUse::Read(key) | OptionUse::Judged(key, _) => Some(key),
            OptionUse::Accepted(_) | OptionUse::Refused(_) => None,
        }
    }
}

/// An option of a command, as help texts and the page of compatibility show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandOption {
    /// Its long name, without dashes; empty for one that is only a letter.
    pub long: &'static str,
    /// Its letter.
    pub short: Option<char>,
    /// Whether a value follows.
    pub takes: Takes,
    /// What a value is, in help texts.
    pub value: &'static str,
    /// What it comes to.
    pub verdict: OptionVerdict,
}

/// What an option comes to on the embedded engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionVerdict {
    /// It works, and does this.
    Works(&'static str),
    /// It is another name of an option that works: that one's long name.
    SameAs(&'static str),
    /// It can change no result here, for this reason.
    Accepted(&'static str),
    /// It is refused, for this reason.
    Refused(&'static str),
}

/// The rows of a table, in its order.
pub(crate) fn command_options<K: Copy + PartialEq>(table: &[LongOption<K>]) -> Vec<CommandOption> {
    let verdict = |row: &LongOption<K>| match row.use_ {
        OptionUse::Read(_) if !row.help.is_empty() => OptionVerdict::Works(row.help),
        OptionUse::Read(_) => {
            let mut others = table.iter();
            let named = others.find(|other| other.use_ == row.use_ && !other.help.is_empty());
            OptionVerdict::SameAs(named.map_or("", |other| other.long))
        }
        OptionUse::Accepted(why) | OptionUse::Judged(_, why) => OptionVerdict::Accepted(why),
        OptionUse::Refused(why) => OptionVerdict::Refused(why),
    };
    let row = |row: &LongOption<K>| CommandOption {
        long: row.long,
        short: row.short,
        takes: row.takes,
        value: row.value,
        verdict: verdict(row),
    };
    table.iter().map(row).collect()
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
        self.use_ == other.use_ && self.takes == other.takes
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
                Ok((option, value)) => match option.use_ {
                    OptionUse::Read(key) | OptionUse::Judged(key, _) => {
                        parsed.options.push((key, value));
                    }
                    OptionUse::Accepted(_) => {}
                    OptionUse::Refused(why) => {
                        parsed.wrong =
                            Some(format!("option '--{}' is refused: {why}", option.long));
                        return parsed;
                    }
                },
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
