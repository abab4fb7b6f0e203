//! Lines of Slurm's configuration files: `Key=value Key="a value" # a remark`.

use std::rc::Rc;

/// A line, continued ones put together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ConfLine {
    pub file: Rc<str>,
    /// Where it begins, from 1.
    pub number: usize,
    pub pairs: Vec<Pair>,
    /// Whether some of it is no `Key=value`, at which Slurm stops.
    pub junk: bool,
    /// The file that an `Include` line names.
    pub include: Option<String>,
}

/// `Key=value`
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub key: String,
    pub value: String,
}

impl ConfLine {
    /// The first key; empty where there is none.
    pub fn first(&self) -> &str {
        self.pairs.first().map_or("", |pair| &pair.key)
    }

    /// The value of a key, in any case.
    pub fn value(&self, key: &str) -> Option<&str> {
        let is = |pair: &&Pair| pair.key.eq_ignore_ascii_case(key);
        self.pairs.iter().find(is).map(|pair| pair.value.as_str())
    }
}

impl Pair {
    /// The option without its value, for what Slurm doesn't know: a file that was included may be
    /// of anything, so what could be more than a key is not named.
    pub fn option(&self) -> &str {
        if self.value.starts_with('=') {
            AN_OPTION
        } else {
            key_alone(&self.key)
        }
    }
}

/// What stands for a key that is not named.
pub(super) const AN_OPTION: &str = "an option";

/// A key that has the form of Slurm's; else words that stand for it.
pub(super) fn key_alone(key: &str) -> &str {
    let letters = key
        .bytes()
        .all(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    if letters && !key.is_empty() && key.len() <= LONGEST_KEY {
        key
    } else {
        AN_OPTION
    }
}

/// No option of Slurm is longer.
const LONGEST_KEY: usize = 40;

/// Parts a text into lines, without those that hold nothing.
pub(super) fn conf_lines(file: &str, text: &str) -> Vec<ConfLine> {
    let file: Rc<str> = file.into();
    let mut lines = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (index, line) in text.split('\n').enumerate() {
        let line = without_remark(line.trim_end_matches('\r'));
        let (number, mut whole) = open.take().unwrap_or((index + 1, String::new()));
        match line.trim_end().strip_suffix('\\') {
            Some(part) => {
                whole.push_str(part);
                open = Some((number, whole));
            }
            None => {
                whole.push_str(&line);
                lines.extend(conf_line(&file, number, &whole));
            }
        }
    }
    if let Some((number, whole)) = open {
        lines.extend(conf_line(&file, number, &whole));
    }
    lines
}

fn conf_line(file: &Rc<str>, number: usize, text: &str) -> Option<ConfLine> {
    let (pairs, junk) = pairs(text);
    if pairs.is_empty() && !junk {
        return None;
    }
    Some(ConfLine {
        file: Rc::clone(file),
        number,
        pairs,
        junk,
        include: include(text),
    })
}

fn include(text: &str) -> Option<String> {
    let (word, path) = text.trim().split_once(char::is_whitespace)?;
    word.eq_ignore_ascii_case("include").then(|| clean(path))
}

/// A `#` begins a remark, `\#` is a `#`.
fn without_remark(line: &str) -> String {
    let mut kept = String::new();
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if letters.peek() == Some(&'#') => kept.extend(letters.next()),
            '#' => break,
            letter => kept.push(letter),
        }
    }
    kept
}

/// As `s_p_parse_line` of `parse_config.c` reads a line: what follows no key is left over.
fn pairs(text: &str) -> (Vec<Pair>, bool) {
    let mut pairs = Vec::new();
    let mut junk = false;
    let mut rest = text;
    while let Some((before, tail)) = rest.split_once('=') {
        let mut words = before.split_whitespace();
        // `+=` adds in newer versions.
        let key = words.next_back().unwrap_or_default();
        let key = key.trim_end_matches(['+', '-', '*', '/']).to_owned();
        junk |= words.next().is_some();
        let tail = tail.trim_start();
        let (value, after) = match tail.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or_else(|| {
                junk = true;
                (quoted, "")
            }),
            None => tail.split_once(char::is_whitespace).unwrap_or((tail, "")),
        };
        if key.is_empty() {
            junk = true
        } else {
            pairs.push(Pair {
                key: clean(&key),
                value: clean(value),
            })
        }
        rest = after;
    }
    junk |= !rest.trim().is_empty();
    (pairs, junk)
}

/// A value without what no cluster file can hold.
pub(super) fn clean(value: &str) -> String {
    let plain = value
        .trim()
        .chars()
        .map(|letter| if letter.is_control() { ' ' } else { letter });
    plain.collect()
}
