//! `getopt_long` as the C library does it: options anywhere among the operands, unique
//! abbreviations, letters in a bunch, and its very messages.

/// An option of a command.
#[derive(Clone, Copy, Debug)]
pub struct LongOption<K> {
    /// Without its dashes; empty for one that is only a letter.
    pub long: &'static str,
    /// Its letter.
    pub short: Option<char>,
    /// Whether a value follows.
    pub value: OptionValue,
    /// What it stands for; several may stand for the same.
    pub key: K,
}

/// Whether a value follows an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionValue {
    /// Never.
    None,
    /// Always: `--name=x`, `--name x`, `-nx`, `-n x`.
    Required,
    /// Only where it is glued on: `--jobs=7`, `-j7`.
    Optional,
}

/// A command line, taken apart.
#[derive(Debug)]
pub struct ParsedOptions<K> {
    /// Options with their values, in order.
    pub options: Vec<(K, Option<String>)>,
    /// What is no option, in order.
    pub operands: Vec<String>,
    /// What is wrong with the first wrong option, without the command's name before it.
    pub wrong: Option<String>,
}

/// Takes a command line apart, its command's name left out. Stops at the first wrong option.
#[must_use]
pub fn parse_long_options<K: Copy + PartialEq>(
    known: &[LongOption<K>],
    args: &[String],
) -> ParsedOptions<K> {
    let mut parsed = ParsedOptions {
        options: Vec::new(),
        operands: Vec::new(),
        wrong: None,
    };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let outcome = if arg == "--" {
            parsed.operands.extend(args.by_ref().cloned());
            break;
        } else if let Some(long) = arg.strip_prefix("--") {
            take_long(known, long, &mut args, &mut parsed)
        } else if arg.len() > 1 && arg.starts_with('-') {
            take_letters(known, &arg[1..], &mut args, &mut parsed)
        } else {
            parsed.operands.push(arg.clone());
            Ok(())
        };
        if let Err(message) = outcome {
            parsed.wrong = Some(message);
            break;
        }
    }
    parsed
}

fn take_long<'a, K: Copy + PartialEq>(
    known: &[LongOption<K>],
    text: &str,
    rest: &mut impl Iterator<Item = &'a String>,
    parsed: &mut ParsedOptions<K>,
) -> Result<(), String> {
    let (name, glued) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (text, None),
    };
    let option = find_long(known, name)?;
    let value = match (option.value, glued) {
        (OptionValue::None, Some(_)) => {
            return Err(format!(
                "option '--{}' doesn't allow an argument",
                option.long
            ));
        }
        (OptionValue::Required, None) => Some(
            rest.next()
                .cloned()
                .ok_or_else(|| format!("option '--{}' requires an argument", option.long))?,
        ),
        (_, glued) => glued,
    };
    parsed.options.push((option.key, value));
    Ok(())
}

fn find_long<'a, K: Copy + PartialEq>(
    known: &'a [LongOption<K>],
    name: &str,
) -> Result<&'a LongOption<K>, String> {
    if let Some(exact) = known
        .iter()
        .find(|option| option.long == name && !name.is_empty())
    {
        return Ok(exact);
    }
    let fitting: Vec<&LongOption<K>> = known
        .iter()
        .filter(|option| option.long.starts_with(name) && !option.long.is_empty())
        .collect();
    match fitting.as_slice() {
        [] => Err(format!("unrecognized option '--{name}'")),
        [first, others @ ..]
            if others
                .iter()
                .all(|other| other.key == first.key && other.value == first.value) =>
        {
            Ok(first)
        }
        several => {
            let names: Vec<String> = several
                .iter()
                .map(|option| format!(" '--{}'", option.long))
                .collect();
            Err(format!(
                "option '--{name}' is ambiguous; possibilities:{}",
                names.concat()
            ))
        }
    }
}

fn take_letters<'a, K: Copy>(
    known: &[LongOption<K>],
    letters: &str,
    rest: &mut impl Iterator<Item = &'a String>,
    parsed: &mut ParsedOptions<K>,
) -> Result<(), String> {
    for (start, letter) in letters.char_indices() {
        let option = known
            .iter()
            .find(|option| option.short == Some(letter))
            .ok_or_else(|| format!("invalid option -- '{letter}'"))?;
        let glued = &letters[start + letter.len_utf8()..];
        let value = match option.value {
            OptionValue::None => {
                parsed.options.push((option.key, None));
                continue;
            }
            OptionValue::Required if glued.is_empty() => Some(
                rest.next()
                    .cloned()
                    .ok_or_else(|| format!("option requires an argument -- '{letter}'"))?,
            ),
            OptionValue::Optional if glued.is_empty() => None,
            OptionValue::Required | OptionValue::Optional => Some(glued.to_owned()),
        };
        parsed.options.push((option.key, value));
        break;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    const KNOWN: &[LongOption<char>] = &[
        LongOption {
            long: "jobs",
            short: Some('j'),
            value: OptionValue::Optional,
            key: 'j',
        },
        LongOption {
            long: "noheader",
            short: Some('h'),
            value: OptionValue::None,
            key: 'h',
        },
        LongOption {
            long: "node",
            short: None,
            value: OptionValue::Required,
            key: 'w',
        },
        LongOption {
            long: "nodes",
            short: Some('w'),
            value: OptionValue::Required,
            key: 'w',
        },
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
        check("--nosuch", expect![" |  | unrecognized option '--nosuch'"]);
        check("-hx", expect!["h |  | invalid option -- 'x'"]);
        check("-w", expect![" |  | option requires an argument -- 'w'"]);
        check(
            "--noheader=1",
            expect![" |  | option '--noheader' doesn't allow an argument"],
        );
    }
}
