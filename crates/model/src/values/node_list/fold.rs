//! Names folded into a list, and their order.

use super::{NodeListError, Numbers, Part, for_each_part, push_number};
use crate::values::NodeName;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::hash::{DefaultHasher, Hasher};

/// Folds names into a list, keeping their order: `n3 n1 n2` → `n[3,1-2]`.
#[must_use]
pub fn fold<'a>(names: impl IntoIterator<Item = &'a NodeName>) -> String {
    let mut ranges: Vec<Range<'_>> = Vec::new();
    for name in names {
        let next = Range::of(name.as_str());
        if !ranges.last_mut().is_some_and(|last| last.take(&next)) {
            ranges.push(next);
        }
    }
    print(&ranges)
}

/// Folds a list as `scontrol show hostlist` and `hostlistsorted` do: what a bracket made keeps the
/// text before the bracket as its prefix, so that `a[1-2][3-4]` is `a1[3-4],a2[3-4]`.
///
/// # Errors
/// What [`expand`](super::expand) says of the list.
pub fn fold_list(list: &str, sorted: bool) -> Result<String, NodeListError> {
    let mut ranges: Vec<Range<'static>> = Vec::new();
    let mut push = |next: Range<'static>| {
        if sorted || !ranges.last_mut().is_some_and(|last| last.take(&next)) {
            ranges.push(next);
        }
    };
    for_each_part(list, |part| match part {
        Part::Name(name) => push(Range::of(name).into_owned()),
        Part::Range(prefix, numbers) if sorted => {
            for number in numbers.low..=numbers.high {
                push(Range::new(prefix, number, number, numbers.width));
            }
        }
        Part::Range(prefix, numbers) => {
            push(Range::new(prefix, numbers.low, numbers.high, numbers.width));
        }
    })?;
    if sorted {
        ranges.sort_by(Range::order);
        let single = std::mem::take(&mut ranges);
        for next in single {
            if !ranges.last_mut().is_some_and(|last| last.take(&next)) {
                ranges.push(next);
            }
        }
    }
    Ok(print(&ranges))
}

/// Sorts names as `hostlistsorted` does before folding: by the text before the number, in which
/// digits count as numbers, then by the number.
pub fn sort(names: &mut [NodeName]) {
    names.sort_by(|left, right| {
        let (left, right) = (Range::of(left.as_str()), Range::of(right.as_str()));
        left.order(&right)
    });
}

/// Leaves of names that stand several times the first.
pub fn drop_repeated(names: &mut Vec<NodeName>) {
    // Most lists ascend, and can't hold a name twice.
    let ascends = |one: &NodeName, next: &NodeName| {
        let lengths = one.as_bytes().len().cmp(&next.as_bytes().len());
        lengths.then_with(|| one.cmp(next)).is_lt()
    };
    if names.is_sorted_by(ascends) {
        return;
    }
    // Sorted by what they hash to, for which a million names take no set of a million.
    let hash = |name: &NodeName| {
        let mut hasher = DefaultHasher::new();
        hasher.write(name.as_bytes());
        hasher.finish()
    };
    let mut order: Vec<(u64, usize)> = names.iter().map(hash).zip(0..).collect();
    order.sort_unstable();
    let mut repeated = vec![false; names.len()];
    for alike in order.chunk_by(|one, next| one.0 == next.0) {
        for (index, (_, place)) in alike.iter().enumerate() {
            let before = alike[..index].iter();
            repeated[*place] = before
                .into_iter()
                .any(|(_, other)| names[*other] == names[*place]);
        }
    }
    let mut repeated = repeated.into_iter();
    names.retain(|_| !repeated.next().unwrap_or(false));
}

/// Names that differ in their number alone, and follow each other.
struct Range<'a> {
    prefix: Cow<'a, str>,
    /// Lowest and highest number, and the width of both; none for a name without a number.
    numbers: Option<Numbers>,
}

impl<'a> Range<'a> {
    fn of(name: &'a str) -> Range<'a> {
        let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
        let (prefix, digits) = name.split_at(name.len() - digits);
        match digits.parse() {
            Ok(number) => Range {
                prefix: Cow::Borrowed(prefix),
                numbers: Some(Numbers {
                    low: number,
                    high: number,
                    width: digits.len(),
                }),
            },
            Err(_) => Range {
                prefix: Cow::Borrowed(name),
                numbers: None,
            },
        }
    }

    fn new(prefix: &str, low: u64, high: u64, width: usize) -> Range<'static> {
        Range {
            prefix: Cow::Owned(prefix.to_owned()),
            numbers: Some(Numbers { low, high, width }),
        }
    }

    fn into_owned(self) -> Range<'static> {
        Range {
            prefix: Cow::Owned(self.prefix.into_owned()),
            numbers: self.numbers,
        }
    }

    fn order(&self, other: &Range<'_>) -> Ordering {
        natural(&self.prefix, &other.prefix).then_with(|| self.key().cmp(&other.key()))
    }

    /// Grows by `next` if that is the name that follows.
    fn take(&mut self, next: &Range<'_>) -> bool {
        let (Some(mine), Some(its)) = (&mut self.numbers, &next.numbers) else {
            return false;
        };
        let follows = self.prefix == next.prefix && its.low.checked_sub(1) == Some(mine.high);
        if !follows {
            return false;
        }
        let Some(width) = common_width(mine, its) else {
            return false;
        };
        *mine = Numbers {
            low: mine.low,
            high: its.high,
            width,
        };
        true
    }

    /// Orders names with one prefix: numbers first, by width and number, so that a number without
    /// leading zeros counts as its own width.
    fn key(&self) -> (bool, usize, bool, u64) {
        match &self.numbers {
            None => (true, 0, false, 0),
            Some(numbers) if padding(numbers.low, numbers.width) > 0 => {
                (false, numbers.width, false, numbers.low)
            }
            Some(numbers) => (false, numbers.width, true, numbers.low),
        }
    }
}

/// The width in which both ranges print as they were written.
fn common_width(left: &Numbers, right: &Numbers) -> Option<usize> {
    if left.width == right.width
        || padding(right.low, right.width) == padding(right.low, left.width)
    {
        Some(left.width)
    } else if padding(left.low, left.width) == padding(left.low, right.width) {
        Some(right.width)
    } else {
        None
    }
}

/// How many zeros stand before `number` in `width` places.
fn padding(number: u64, width: usize) -> usize {
    let digits = number.checked_ilog10().unwrap_or(0) as usize + 1;
    width.saturating_sub(digits)
}

/// Compares texts with the numbers in them as numbers.
fn natural(left: &str, right: &str) -> Ordering {
    let (mut left_rest, mut right_rest) = (left, right);
    loop {
        let (left_text, left_number, left_next) = chunk(left_rest);
        let (right_text, right_number, right_next) = chunk(right_rest);
        let order = left_text
            .cmp(right_text)
            .then_with(|| left_number.len().cmp(&right_number.len()))
            .then_with(|| left_number.cmp(right_number));
        if order != Ordering::Equal {
            return order;
        }
        if left_next.is_empty() || right_next.is_empty() {
            // `a01` and `a1` are told apart by the whole text, so that equal means the same.
            return left_next
                .len()
                .cmp(&right_next.len())
                .then_with(|| left.cmp(right));
        }
        (left_rest, right_rest) = (left_next, right_next);
    }
}

/// Text up to a number, the number without its leading zeros, and what follows.
fn chunk(text: &str) -> (&str, &str, &str) {
    let start = text
        .find(|c: char| c.is_ascii_digit())
        .unwrap_or(text.len());
    let (before, rest) = text.split_at(start);
    let end = rest
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(rest.len());
    let (number, rest) = rest.split_at(end);
    (before, number.trim_start_matches('0'), rest)
}

fn print(ranges: &[Range<'_>]) -> String {
    let mut text = String::new();
    let same = |left: &Range<'_>, right: &Range<'_>| {
        left.numbers.is_some() && right.numbers.is_some() && left.prefix == right.prefix
    };
    for group in ranges.chunk_by(same) {
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(&group[0].prefix);
        let several = |numbers: &Numbers| numbers.low < numbers.high;
        let bracket = group.len() > 1 || group[0].numbers.as_ref().is_some_and(several);
        text.push_str(if bracket { "[" } else { "" });
        let numbers = group.iter().filter_map(|range| range.numbers.as_ref());
        for (index, numbers) in numbers.enumerate() {
            text.push_str(if index > 0 { "," } else { "" });
            push_number(&mut text, numbers.low, numbers.width);
            if several(numbers) {
                text.push('-');
                push_number(&mut text, numbers.high, numbers.width);
            }
        }
        text.push_str(if bracket { "]" } else { "" });
    }
    text
}
