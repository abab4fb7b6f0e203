//! Slurm's node lists: `a[1-3,7],b[01-10]`, expanded and folded as `scontrol show hostnames`,
//! `hostlist` and `hostlistsorted` do.
//!
//! Seen on 22.05.8 and in its `hostlist.c`: the last bracket of a name varies fastest and the others
//! from right to left; nothing may follow the last bracket; names given twice stay twice.

mod fold;

use crate::values::NodeName;
pub use fold::drop_repeated;
pub use fold::{fold, fold_list, sort};

/// Most names in one range, as Slurm has it.
const LONGEST_RANGE: u64 = 64 * 1024;
/// Most names in one list, and most bytes in them: ours, so that no text can fill the memory.
const MOST_NAMES: usize = 1 << 20;
const MOST_BYTES: usize = 64 << 20;

/// Why a node list can't be read. Its text is what `scontrol` prints.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NodeListError {
    /// A range that is no range: `[5-3]`, `[a]`, `[1-5:2]`.
    #[error("Invalid hostlist: {list}")]
    Range {
        /// The whole list.
        list: String,
        /// The range.
        range: String,
    },
    /// More than 65,536 names in one range.
    #[error("Invalid hostlist: {list}")]
    LongRange {
        /// The whole list.
        list: String,
        /// The range.
        range: String,
    },
    /// Text after the last bracket, or brackets inside brackets.
    #[error("Invalid hostlist: {list}")]
    Brackets {
        /// The whole list.
        list: String,
    },
    /// More names than anyone has nodes.
    #[error("Invalid hostlist: more than {MOST_NAMES} names")]
    TooMany,
}

impl NodeListError {
    /// What to write instead.
    #[must_use]
    pub fn todo(&self) -> String {
        match self {
            NodeListError::Range { range, .. } => {
                format!("a range goes up and ends in its bracket, such as [1-3,7]; not [{range}]")
            }
            NodeListError::LongRange { range, .. } => {
                format!("a range has at most {LONGEST_RANGE} names: part [{range}] into several")
            }
            NodeListError::Brackets { .. } => {
                "write it as Slurm does, such as \"node[1-3,7]\"".to_owned()
            }
            NodeListError::TooMany => "name fewer nodes".to_owned(),
        }
    }

    /// The line that Slurm's commands print before, after their name and `error: `.
    #[must_use]
    pub fn detail(&self) -> Option<String> {
        match self {
            NodeListError::Range { range, .. } => {
                Some(format!("_parse_single_range: Invalid range: `{range}'"))
            }
            NodeListError::LongRange { range, .. } => Some(format!(
                "_parse_single_range: Too many hosts in range `{range}'"
            )),
            NodeListError::Brackets { .. } | NodeListError::TooMany => None,
        }
    }
}

/// Expands a list into its names, in the list's order, names given twice twice. Commas and white
/// space part its entries; an empty list has no names.
pub fn expand(list: &str) -> Result<Vec<NodeName>, NodeListError> {
    let mut names = Vec::new();
    for_each(list, |name| names.push(NodeName::new(name)))?;
    Ok(names)
}

/// Calls `take` with each name that [`expand`] would give; those before a wrong entry too.
pub fn for_each(list: &str, mut take: impl FnMut(&str)) -> Result<(), NodeListError> {
    for_each_part(list, |part| match part {
        Part::Name(name) => take(name),
        Part::Range(prefix, numbers) => each_name(prefix, numbers, &mut take),
    })
}

/// Whether [`expand`] would give one of these names; told without making what a bracket does.
///
/// # Errors
/// What [`expand`] says of the list.
pub fn has_any(list: &str, names: &[NodeName]) -> Result<bool, NodeListError> {
    let mut found = false;
    for_each_part(list, |part| {
        let is_there = |name: &NodeName| match part {
            Part::Name(own) => own == name.as_str(),
            Part::Range(prefix, numbers) => {
                let number = name.as_str().strip_prefix(prefix);
                number.is_some_and(|digits| numbers.prints(digits))
            }
        };
        found = found || names.iter().any(is_there);
    })?;
    Ok(found)
}

/// What an entry of a list expands to: a name, or names that a bracket makes.
enum Part<'a> {
    Name(&'a str),
    Range(&'a str, &'a Numbers),
}

fn for_each_part(list: &str, mut take: impl FnMut(Part<'_>)) -> Result<(), NodeListError> {
    let mut names = Names {
        take: &mut take,
        count: 0,
        bytes: 0,
    };
    for entry in entries(list) {
        expand_entry(entry, &mut names).map_err(|wrong| wrong.in_list(list))?;
    }
    Ok(())
}

/// What is wrong with an entry, before the list around it is known.
enum Wrong {
    Range(String),
    LongRange(String),
    Brackets,
    TooMany,
}

impl Wrong {
    fn in_list(self, list: &str) -> NodeListError {
        let list = list.to_owned();
        match self {
            Wrong::Range(range) => NodeListError::Range { list, range },
            Wrong::LongRange(range) => NodeListError::LongRange { list, range },
            Wrong::Brackets => NodeListError::Brackets { list },
            Wrong::TooMany => NodeListError::TooMany,
        }
    }
}

/// Parts a list at separators that stand outside of brackets.
fn entries(list: &str) -> impl Iterator<Item = &str> {
    // All that counts is ASCII, so bytes are looked at: a list may be of megabytes.
    let bytes = list.as_bytes();
    let mut at = 0;
    let last_close = list.rfind(']').unwrap_or(0);
    std::iter::from_fn(move || {
        while bytes.get(at).copied().is_some_and(is_separator) {
            at += 1;
        }
        let start = at;
        while let Some(byte) = bytes.get(at).copied() {
            if is_separator(byte) {
                break;
            }
            at += match byte {
                // A bracket that nobody closes does not hold separators together.
                b'[' if at < last_close => list[at..].find(']').unwrap_or(1),
                _ => 1,
            };
        }
        (start < at).then(|| &list[start..at])
    })
}

fn is_separator(byte: u8) -> bool {
    matches!(byte, b',' | b' ' | b'\t' | b'\n')
}

/// Where names go, and how much there was of them.
struct Names<'a> {
    take: &'a mut dyn FnMut(Part<'_>),
    count: usize,
    bytes: usize,
}

impl Names<'_> {
    fn push(&mut self, name: &str) -> Result<(), Wrong> {
        self.make_room(1, name.len())?;
        (self.take)(Part::Name(name));
        Ok(())
    }

    /// Counts names of up to so many bytes before the first of them is made.
    fn make_room(&mut self, names: usize, longest: usize) -> Result<(), Wrong> {
        self.count = self.count.saturating_add(names);
        self.bytes = self.bytes.saturating_add(names.saturating_mul(longest));
        if self.count > MOST_NAMES || self.bytes > MOST_BYTES {
            Err(Wrong::TooMany)
        } else {
            Ok(())
        }
    }
}

/// Names of a prefix with each of the numbers behind.
fn each_name(prefix: &str, numbers: &Numbers, take: &mut impl FnMut(&str)) {
    let mut name = prefix.to_owned();
    push_number(&mut name, numbers.low, numbers.width);
    take(&name);
    for _ in numbers.low..numbers.high {
        count_up(&mut name, prefix.len());
        take(&name);
    }
}

/// A number in at least so many digits; faster by far than the formatter, for a million names, and of any
/// width.
fn push_number(text: &mut String, number: u64, width: usize) {
    let digits = number.checked_ilog10().unwrap_or(0) as usize + 1;
    text.extend(std::iter::repeat_n('0', width.saturating_sub(digits)));
    let mut power = 10_u64.pow(u32::try_from(digits - 1).expect("invariant: at most 20 digits"));
    while power > 0 {
        let digit = u8::try_from(number / power % 10).expect("invariant: a digit");
        text.push(char::from(b'0' + digit));
        power /= 10;
    }
}

/// Adds one to the number that begins at `start` and ends the name; faster by far than printing it.
fn count_up(name: &mut String, start: usize) {
    let nines = name.len() - name.trim_end_matches('9').len();
    let nines = nines.min(name.len() - start);
    name.truncate(name.len() - nines);
    let digit = if name.len() > start { name.pop() } else { None };
    name.push(match digit {
        Some(digit) => char::from(digit as u8 + 1),
        None => '1',
    });
    name.extend(std::iter::repeat_n('0', nines));
}

fn expand_entry(entry: &str, names: &mut Names<'_>) -> Result<(), Wrong> {
    let Some((prefix, tail)) = entry.rsplit_once('[') else {
        return names.push(entry);
    };
    let Some((inside, after)) = tail.split_once(']') else {
        // Slurm's own reading of a bracket that is never closed: what stands in it is dropped.
        return match prefix {
            "" => names.push(tail),
            _ => names.push(&format!("{prefix}]")),
        };
    };
    if !after.is_empty() {
        return Err(Wrong::Brackets);
    }
    let last = numbers(inside)?;
    let mut brackets = Vec::new();
    let mut head = prefix;
    while let Some((before, bracket)) = last_bracket(head)? {
        brackets.push(bracket);
        head = before;
    }
    brackets.reverse();
    expand_brackets(head, &mut brackets, &last, names)
}

/// A bracket with others behind it, and where its names are: the number in one of its ranges.
struct Bracket<'a> {
    ranges: Vec<Numbers>,
    after: &'a str,
    range: usize,
    number: u64,
}

/// What stands before the last bracket of `text`, and that bracket.
fn last_bracket(text: &str) -> Result<Option<(&str, Bracket<'_>)>, Wrong> {
    let parts = text
        .rsplit_once('[')
        .and_then(|(before, tail)| Some((before, tail.rsplit_once(']')?)));
    let Some((before, (inside, after))) = parts else {
        return Ok(None);
    };
    let ranges = numbers(inside)?;
    let number = ranges[0].low;
    Ok(Some((
        before,
        Bracket {
            ranges,
            after,
            range: 0,
            number,
        },
    )))
}

impl Bracket<'_> {
    /// Goes on to the next number; false, and at the first again, after the last.
    fn advance(&mut self) -> bool {
        if self.number < self.ranges[self.range].high {
            self.number += 1;
            return true;
        }
        self.range = (self.range + 1) % self.ranges.len();
        self.number = self.ranges[self.range].low;
        self.range > 0
    }
}

/// Puts each number of `last` behind `head` with each choice of numbers from its brackets, of which
/// the first varies fastest.
fn expand_brackets(
    head: &str,
    brackets: &mut [Bracket<'_>],
    last: &[Numbers],
    names: &mut Names<'_>,
) -> Result<(), Wrong> {
    let (mut count, mut longest) = (how_many(last), head.len() + longest(last));
    for bracket in &*brackets {
        count = count.saturating_mul(how_many(&bracket.ranges));
        longest += self::longest(&bracket.ranges) + bracket.after.len();
    }
    names.make_room(count, longest)?;
    loop {
        let mut prefix = head.to_owned();
        for bracket in &*brackets {
            let width = bracket.ranges[bracket.range].width;
            push_number(&mut prefix, bracket.number, width);
            prefix.push_str(bracket.after);
        }
        for numbers in last {
            (names.take)(Part::Range(&prefix, numbers));
        }
        if !brackets.iter_mut().any(Bracket::advance) {
            return Ok(());
        }
    }
}

/// How many numbers the ranges of a bracket have.
fn how_many(ranges: &[Numbers]) -> usize {
    let count =
        |numbers: &Numbers| usize::try_from(numbers.high - numbers.low + 1).unwrap_or(usize::MAX);
    ranges.iter().map(count).fold(0, usize::saturating_add)
}

/// Most digits that a number of these ranges prints in.
fn longest(ranges: &[Numbers]) -> usize {
    let digits = |numbers: &Numbers| numbers.high.checked_ilog10().unwrap_or(0) as usize + 1;
    let width = |numbers: &Numbers| digits(numbers).max(numbers.width);
    ranges.iter().map(width).max().unwrap_or(0)
}

/// One range inside a bracket.
struct Numbers {
    low: u64,
    high: u64,
    width: usize,
}

impl Numbers {
    /// Whether one of these numbers is printed as this.
    fn prints(&self, digits: &str) -> bool {
        let number = digits.parse().ok().filter(|number| {
            let are_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
            are_digits && (self.low..=self.high).contains(number)
        });
        number.is_some_and(|number: u64| {
            let own = number.checked_ilog10().unwrap_or(0) as usize + 1;
            digits.len() == own.max(self.width)
        })
    }
}

fn numbers(inside: &str) -> Result<Vec<Numbers>, Wrong> {
    inside.split(',').map(range).collect()
}

/// Reads `3`, `1-5`, `01-10` as C's `strtoul` does: blanks and a sign before the number count
/// towards its width; `1-` is 1.
fn range(text: &str) -> Result<Numbers, Wrong> {
    let wrong = || Wrong::Range(text.to_owned());
    let (first, second) = match text.split_once('-') {
        Some((first, second)) => (first, Some(second)),
        None => (text, None),
    };
    let (low, rest) = leading_number(first).ok_or_else(wrong)?;
    let (high, rest) = match second {
        Some(second) if !second.is_empty() => leading_number(second).ok_or_else(wrong)?,
        _ => (low, rest),
    };
    if !rest.is_empty() || low > high {
        return Err(wrong());
    }
    if high - low >= LONGEST_RANGE {
        return Err(Wrong::LongRange(text.to_owned()));
    }
    Ok(Numbers {
        low,
        high,
        width: first.len(),
    })
}

fn leading_number(text: &str) -> Option<(u64, &str)> {
    let digits = text.trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
    let digits = digits.strip_prefix('+').unwrap_or(digits);
    let end = digits
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(digits.len());
    Some((digits[..end].parse().ok()?, &digits[end..]))
}

#[cfg(test)]
mod tests;
