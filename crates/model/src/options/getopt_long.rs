//! `getopt_long` as the C library has it, for one word: exact names, unique abbreviations, letters
//! in a bunch, values glued on or in the next word, and its very messages.

use crate::options::option_table::Takes;

/// A row of a command's table of options.
pub(crate) trait Row {
    /// Its long name without dashes; empty for one that is only a letter.
    fn long(&self) -> &'static str;
    /// Its letter.
    fn short(&self) -> Option<char>;
    /// Whether a value follows.
    fn takes(&self) -> Takes;
    /// Whether both stand for one thing: two such names of an abbreviation are no ambiguity.
    fn is_same(&self, other: &Self) -> bool;
    /// Whether an abbreviation that fits another option too means the other.
    fn yields(&self) -> bool {
        false
    }
}

/// What is wrong with an option.
#[derive(Debug)]
pub(crate) struct Wrong {
    /// Which kind of mistake, as a diagnostic's code.
    pub(crate) code: &'static str,
    /// The C library's words, without the command's name before them.
    pub(crate) message: String,
}

/// An option with its value.
pub(crate) type Read<'t, R> = Result<(&'t R, Option<String>), Wrong>;

/// Whether a word is an option; `-` alone and `--` are none.
pub(crate) fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-') && word != "--"
}

/// Reads a word that [`is_option`]: one long option, or letters. `next` takes the word behind it,
/// for a value.
pub(crate) fn read<'t, R: Row>(
    known: &[&'t R],
    word: &str,
    mut next: impl FnMut() -> Option<String>,
) -> Vec<Read<'t, R>> {
    match word.strip_prefix("--") {
        Some(text) => vec![long(known, text, next)],
        None => letters(known, &word[1..], &mut next),
    }
}

fn long<'t, R: Row>(
    known: &[&'t R],
    text: &str,
    next: impl FnOnce() -> Option<String>,
) -> Read<'t, R> {
    let (name, glued) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (text, None),
    };
    let option = find(known, name, text)?;
    let value = match (option.takes(), glued) {
        (Takes::No, Some(_)) => {
            let message = format!("option '--{}' doesn't allow an argument", option.long());
            return Err(wrong("unexpected-value", message));
        }
        (Takes::Required, None) => Some(next().ok_or_else(|| {
            let message = format!("option '--{}' requires an argument", option.long());
            wrong("missing-value", message)
        })?),
        (_, glued) => glued,
    };
    Ok((option, value))
}

/// Finds an option by its name or a unique beginning of it; `text` is the whole word, which the
/// messages repeat.
fn find<'t, R: Row>(known: &[&'t R], name: &str, text: &str) -> Result<&'t R, Wrong> {
    let named = known.iter().filter(|option| !option.long().is_empty());
    if let Some(exact) = named.clone().find(|option| option.long() == name) {
        return Ok(exact);
    }
    let mut fitting: Vec<&R> = named
        .copied()
        .filter(|option| option.long().starts_with(name))
        .collect();
    if fitting.iter().any(|option| !option.yields()) {
        fitting.retain(|option| !option.yields());
    }
    match fitting.as_slice() {
        [] => {
            let message = format!("unrecognized option '--{text}'");
            Err(wrong("unknown-option", message))
        }
        [first, others @ ..] if others.iter().all(|other| first.is_same(other)) => Ok(first),
        several => {
            let names: Vec<String> = several
                .iter()
                .map(|option| format!(" '--{}'", option.long()))
                .collect();
            let names = names.concat();
            let message = format!("option '--{text}' is ambiguous; possibilities:{names}");
            Err(wrong("unknown-option", message))
        }
    }
}

fn letters<'t, R: Row>(
    known: &[&'t R],
    letters: &str,
    next: &mut impl FnMut() -> Option<String>,
) -> Vec<Read<'t, R>> {
    let mut all = Vec::new();
    let mut rest = letters.chars();
    while let Some(letter) = rest.next() {
        let found = known.iter().find(|option| option.short() == Some(letter));
        let Some(option) = found else {
            let message = format!("invalid option -- '{letter}'");
            all.push(Err(wrong("unknown-option", message)));
            continue;
        };
        let glued = Some(rest.as_str().to_owned()).filter(|value| !value.is_empty());
        let value = match (option.takes(), glued) {
            (Takes::No, _) => {
                all.push(Ok((*option, None)));
                continue;
            }
            (Takes::Required, None) => next().map(Some).ok_or_else(|| {
                let message = format!("option requires an argument -- '{letter}'");
                wrong("missing-value", message)
            }),
            (_, glued) => Ok(glued),
        };
        all.push(value.map(|value| (*option, value)));
        break;
    }
    all
}

fn wrong(code: &'static str, message: String) -> Wrong {
    Wrong { code, message }
}
