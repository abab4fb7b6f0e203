//! Slurm's node lists: `a[1-3,7],b[01-10]`, expanded and folded as `scontrol show hostnames`,
//! `hostlist` and `hostlistsorted` do.
//!
//! Seen on 22.05.8 and in its `hostlist.c`: the last bracket of a name varies fastest and the others
//! from right to left; nothing may follow the last bracket; names given twice stay twice.

mod fold;

use crate::NodeName;
pub(crate) use fold::drop_repeated;
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
        match self.count > MOST_NAMES || self.bytes > MOST_BYTES {
            true => Err(Wrong::TooMany),
            false => Ok(()),
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
#[expect(clippy::unwrap_used, reason = "a test fails loudly")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(list: &str, names: &str) {
        let got = expand(list).map(|names| {
            let names: Vec<String> = names.iter().map(ToString::to_string).collect();
            names.join(" ")
        });
        assert_eq!(got.unwrap_or_else(|error| error.to_string()), names);
    }

    #[track_caller]
    fn check_fold(names: &str, kept: &str, sorted: &str) {
        let mut names = expand(names).unwrap();
        assert_eq!(fold(&names), kept);
        sort(&mut names);
        assert_eq!(fold(&names), sorted);
    }

    /// Wider than what the formatter can do.
    #[test]
    fn numbers_of_any_width() {
        let zeros = "0".repeat(70_000);
        check(&format!("n[{zeros}1]"), &format!("n{zeros}1"));
        check(&format!("n[{zeros}1]m[1]"), &format!("n{zeros}1m1"));
    }

    #[test]
    fn brackets_expand() {
        check("a[9-11]", "a9 a10 a11");
        check(
            "a[1-2]b[3-4]c[5-6]",
            "a1b3c5 a1b3c6 a2b3c5 a2b3c6 a1b4c5 a1b4c6 a2b4c5 a2b4c6",
        );
        check("n[1-]", "n1");
        check("n9[8-12]", "n98 n99 n910 n911 n912");
        check("n[098-101]", "n098 n099 n100 n101");
        check("n[99-100]", "n99 n100");
        check("n[1", "n]");
        check("n[+1-3]", "n01 n02 n03");
        check("a,,b\tc\nd", "a b c d");
        check("a]b[1-2]", "a]b1 a]b2");
        check("", "");
    }

    #[test]
    fn what_slurm_refuses_is_refused() {
        for list in [
            "c[1-2]-ib",
            "n[1-2]]",
            "n[[1-2]]",
            "n[]",
            "n[1,,2]",
            "n[-3]",
            "n[0-70000]",
        ] {
            check(list, &format!("Invalid hostlist: {list}"));
        }
        let detail = expand("n[0-70000]").unwrap_err().detail();
        assert_eq!(
            detail.as_deref(),
            Some("_parse_single_range: Too many hosts in range `0-70000'")
        );
    }

    /// As a real 22.05.8 folds them (`scontrol show hostlist`): a prefix stays what a bracket had.
    #[test]
    fn lists_are_folded_by_the_prefixes_that_they_have() {
        let folded = |list: &str, sorted| fold_list(list, sorted).unwrap();
        assert_eq!(folded("a[1-2][3-4]", false), "a1[3-4],a2[3-4]");
        assert_eq!(folded("a13,a14,a23,a24", false), "a[13-14,23-24]");
        assert_eq!(folded("n[1-2],n3,n[4-5]", false), "n[1-5]");
        assert_eq!(folded("n[4-5],n[1-3]", true), "n[1-5]");
        assert_eq!(folded("n[1-3],n2", true), "n[1-2,2-3]");
        assert!(fold_list("n[", false).is_ok());
    }

    #[test]
    fn brackets_that_nobody_closes() {
        let many = "[".repeat(1 << 20);
        assert_eq!(expand(&many).unwrap().len(), 1);
        assert_eq!(expand(&format!("a]{many},b")).unwrap().len(), 2);
    }

    #[test]
    fn a_list_that_would_fill_the_memory_is_refused() {
        let long = format!("{}[1-60000]b[1-2]", "a".repeat(4000));
        let deep = format!("a{}[1-2]", "[1]".repeat(1 << 20));
        for list in ["a[0-60000]b[0-60000]", "a[1-2]".repeat(64).as_str(), &long] {
            assert_eq!(expand(list).unwrap_err(), NodeListError::TooMany, "{list}");
        }
        assert_eq!(expand(&deep).unwrap().len(), 2);
    }

    #[test]
    fn folding_keeps_the_order_or_sorts() {
        check_fold(
            "n01,n02,n03,n05,m1,n10,n4",
            "n[01-03,05],m1,n[10,4]",
            "m1,n[4,01-03,05,10]",
        );
        check_fold("a3,b,n[01-02,05]", "a3,b,n[01-02,05]", "a3,b,n[01-02,05]");
        check_fold("x,x,1,2,x", "x,x,[1-2],x", "[1-2],x,x,x");
        check_fold("a10b,a9b,a10,a9", "a10b,a9b,a[10,9]", "a[9-10],a9b,a10b");
        check_fold("rack10n1,rack9n1", "rack10n1,rack9n1", "rack9n1,rack10n1");
    }

    #[test]
    fn of_repeated_names_the_first_stays() {
        let mut names = expand("b,a,b,a1,a[1-2],a").unwrap();
        drop_repeated(&mut names);
        assert_eq!(fold(&names), "b,a,a[1-2]");
    }

    proptest! {
        #[test]
        fn of_each_name_one_is_left(names in prop::collection::vec("[a-c][0-9]{0,2}", 0..40)) {
            let mut names: Vec<NodeName> = names.into_iter().map(NodeName::from).collect();
            let mut want: Vec<NodeName> = Vec::new();
            for name in &names {
                if !want.contains(name) {
                    want.push(name.clone());
                }
            }
            drop_repeated(&mut names);
            prop_assert_eq!(names, want);
        }

        #[test]
        fn fold_then_expand_is_the_same(names in prop::collection::vec("[a-c]{1,2}[0-9]{0,4}(x[0-9]{1,2})?", 0..40)) {
            let names: Vec<NodeName> = names.into_iter().map(NodeName::from).collect();
            prop_assert_eq!(expand(&fold(&names)).unwrap(), names);
        }

        #[test]
        fn no_text_panics(list in "[a-c\\[\\],0-9 x-]{0,24}") {
            let _ = expand(&list);
        }
    }
}
