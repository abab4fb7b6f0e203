//! Dates and times of day among the numbers of a name. Pure.

use crate::name_numbers::{Counts, Number};

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];

/// Marks those that are a date or a time of day as none that count.
pub fn mark_dates(numbers: &mut [Number<'_>]) {
    let mut at = 0;
    while at < numbers.len() {
        let date = date_length(&numbers[at..]);
        let time = match date {
            0 => 0,
            // After a date stands a time.
            _ => time_length(&numbers[at + date..], true),
        };
        let length = date + time;
        let length = match length {
            0 => time_length(&numbers[at..], false),
            _ => length,
        };
        for number in &mut numbers[at..at + length] {
            number.counts = Counts::Other;
        }
        at += length.max(1);
    }
}

/// How many of them, from the first on, are a date.
fn date_length(numbers: &[Number<'_>]) -> usize {
    let Some(first) = numbers.first().filter(|one| may_be(one)) else {
        return 0;
    };
    let is_month = |word: &str| MONTHS.iter().any(|month| month.eq_ignore_ascii_case(word));
    let two = |at: usize, most: u64| {
        let follows = |one: &&Number<'_>| is_joined(one) && one.digits.len() == 2;
        let one = numbers.get(at).filter(follows);
        one.is_some_and(|one| within(one.digits, 1, most))
    };
    let digits = first.digits;
    match digits.len() {
        1 | 2 if is_month(first.word) && within(digits, 1, 31) => 1,
        4 if is_year(digits) && two(1, 12) && two(2, 31) => 3,
        // `261126_235959`.
        6 if is_day(&digits[2..]) && numbers.get(1).is_some_and(|one| is_clock(one, true)) => 1,
        8 if is_year(&digits[..4]) && is_day(&digits[4..]) => 1,
        // Seconds and milliseconds since 1970.
        10 if within(digits, 1_400_000_000, 2_200_000_000) => 1,
        13 if within(digits, 1_400_000_000_000, 2_200_000_000_000) => 1,
        12 | 14 if is_year(&digits[..4]) && is_day(&digits[4..8]) => 1,
        _ => 0,
    }
}

/// How many of them, from the first on, are a time of day. `joined`: it follows a date.
fn time_length(numbers: &[Number<'_>], joined: bool) -> usize {
    let Some(first) = numbers.first().filter(|one| may_be(one)) else {
        return 0;
    };
    if joined && is_clock(first, true) {
        return 1;
    }
    let pair = |at: usize, most: u64, joined: bool| {
        let one = numbers.get(at).filter(|one| !joined || is_joined(one));
        one.is_some_and(|one| one.digits.len() == 2 && within(one.digits, 0, most))
    };
    if !pair(0, 23, joined) || !pair(1, 59, true) {
        return 0;
    }
    match (pair(2, 59, true), joined) {
        (true, _) => 3,
        (false, true) => 2,
        (false, false) => 0,
    }
}

/// `235959`, `2359`.
fn is_clock(number: &Number<'_>, joined: bool) -> bool {
    let digits = number.digits;
    (!joined || is_joined(number))
        && may_be(number)
        && matches!(digits.len(), 4 | 6)
        && within(&digits[..2], 0, 23)
        && within(&digits[2..4], 0, 59)
        && (digits.len() == 4 || within(&digits[4..], 0, 59))
}

/// Of what a word says that it counts steps or epochs is no date.
fn may_be(number: &Number<'_>) -> bool {
    matches!(number.counts, Counts::Something | Counts::Other)
}

/// Whether it stands after the one before it as numbers of a date do.
fn is_joined(number: &Number<'_>) -> bool {
    !number.before.is_empty()
        && number.before.len() <= 2
        && !number
            .before
            .contains(|letter: char| letter.is_alphabetic() && !letter.eq_ignore_ascii_case(&'t'))
}

fn is_year(digits: &str) -> bool {
    within(digits, 1990, 2099)
}

fn is_day(digits: &str) -> bool {
    within(&digits[..2], 1, 12) && within(&digits[2..], 1, 31)
}

fn within(digits: &str, least: u64, most: u64) -> bool {
    digits
        .parse()
        .is_ok_and(|number: u64| (least..=most).contains(&number))
}
