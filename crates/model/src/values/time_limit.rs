//! Time limits: `30`, `10:00`, `24:00:00`, `2-12`, `2-12:30`, `2-12:30:15`, `UNLIMITED`.

use crate::values::Seconds;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A time limit as asked: seconds, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TimeLimitRequest {
    /// At most this long. The embedded engine keeps seconds; Slurm's syntax rounds up to minutes.
    Limit(Seconds),
    /// `UNLIMITED`
    Unlimited,
}

impl TimeLimitRequest {
    /// Reads a time limit as `--time` takes it; `None` where Slurm says "Invalid --time
    /// specification". Lengths are counted in 32 bits, as there; 0 asks for no limit. Seconds are kept:
    /// Slurm itself rounds up to minutes.
    #[must_use]
    pub fn parse(text: &str) -> Option<TimeLimitRequest> {
        if is_unlimited(text) {
            return Some(TimeLimitRequest::Unlimited);
        }
        let [a, b, c, d, ..] = exact_seconds(text)?.to_le_bytes();
        match i32::from_le_bytes([a, b, c, d]) {
            // Its `INFINITE` and `NO_VAL`.
            -1 => Some(TimeLimitRequest::Unlimited),
            -2 => None,
            seconds => Some(of_seconds(seconds.into())),
        }
    }

    /// As [`parse`](TimeLimitRequest::parse), of any length: for files of our own, which refuse what Slurm
    /// would cut.
    #[must_use]
    pub fn parse_uncut(text: &str) -> Option<TimeLimitRequest> {
        if is_unlimited(text) {
            return Some(TimeLimitRequest::Unlimited);
        }
        exact_seconds(text).map(of_seconds)
    }

    /// How long that is; none without a limit.
    #[must_use]
    pub fn seconds(self) -> Option<Seconds> {
        match self {
            TimeLimitRequest::Limit(limit) => Some(limit),
            TimeLimitRequest::Unlimited => None,
        }
    }
}

impl fmt::Display for TimeLimitRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TimeLimitRequest::Unlimited => f.write_str("UNLIMITED"),
            TimeLimitRequest::Limit(Seconds(seconds)) => {
                let (days, hours) = (seconds / 86_400, seconds / 3600 % 24);
                let (minutes, seconds) = (seconds / 60 % 60, seconds % 60);
                if days > 0 {
                    write!(f, "{days}-")?;
                }
                write!(f, "{hours:02}:{minutes:02}:{seconds:02}")
            }
        }
    }
}

fn is_unlimited(text: &str) -> bool {
    let words = ["-1", "INFINITE", "UNLIMITED"];
    words.iter().any(|word| word.eq_ignore_ascii_case(text))
}

/// What a length below zero becomes: Slurm counts minutes in 32 bits without a sign.
const MINUTES: i128 = 1 << 32;

fn of_seconds(seconds: i128) -> TimeLimitRequest {
    let seconds = if seconds < 0 {
        // Rounded up to minutes, which are none of almost two minutes below zero.
        match (seconds + 59) / 60 {
            0 => 0,
            minutes => (MINUTES + minutes) * 60,
        }
    } else {
        seconds
    };
    match u64::try_from(seconds) {
        Ok(0) => TimeLimitRequest::Unlimited,
        Ok(seconds) => TimeLimitRequest::Limit(Seconds(seconds)),
        Err(_) => TimeLimitRequest::Limit(Seconds(u64::MAX)),
    }
}

/// What `time_str2secs` reads; it adds up in 32 bits, so that programs ask for no limit by the largest number
/// that they know.
fn exact_seconds(text: &str) -> Option<i128> {
    if !is_time(text) {
        return None;
    }
    let (days, rest) = match text.split_once('-') {
        // `-5` is minus five days: `sscanf` takes the dash for a sign.
        Some(("", days)) => (-field(days)?, ""),
        Some((days, rest)) => (field(days)?, rest),
        None => (0, text),
    };
    let fields: Vec<i128> = rest.split(':').map(field).collect::<Option<_>>()?;
    let [hours, minutes, seconds] = match (text.contains('-'), fields.as_slice()) {
        (true, fields) => [0, 1, 2].map(|index| fields.get(index).copied().unwrap_or(0)),
        (false, [minutes]) => [0, *minutes, 0],
        (false, [minutes, seconds]) => [0, *minutes, *seconds],
        (false, [hours, minutes, seconds]) => [*hours, *minutes, *seconds],
        _ => return None,
    };
    Some(days * 86_400 + hours * 3600 + minutes * 60 + seconds)
}

/// As `sscanf` reads it: what is too large is the largest `long`.
fn field(text: &str) -> Option<i128> {
    if text.is_empty() {
        return Some(0);
    }
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse::<i64>().unwrap_or(i64::MAX).into())
}

/// Slurm's own check: digits with at most one dash before at most two colons, a number on each
/// side of a colon.
fn is_time(text: &str) -> bool {
    let numbers = text
        .split(['-', ':'])
        .filter(|field| !field.is_empty())
        .count();
    let colons = text.matches(':').count();
    let dashes = text.matches('-').count();
    let last_dash = text.rfind('-').unwrap_or(0);
    text.bytes()
        .all(|b| b.is_ascii_digit() || b == b'-' || b == b':')
        && text
            .find(':')
            .is_none_or(|colon| colon > last_dash || dashes == 0)
        && numbers > 0
        && dashes <= 1
        && colons <= 2
        && (colons == 0 || numbers >= colons + 1 + dashes)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails loudly")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, printed: &str) {
        let limit = TimeLimitRequest::parse(text);
        assert_eq!(
            limit.map_or("invalid".to_owned(), |limit| limit.to_string()),
            printed
        );
    }

    #[test]
    fn all_forms() {
        check("90", "01:30:00");
        check("60:15", "01:00:15");
        check("1:60:15", "02:00:15");
        check("1-", "1-00:00:00");
        check("1-12", "1-12:00:00");
        check("0-30:00:00", "1-06:00:00");
        check("2-12:30", "2-12:30:00");
        check("2-12:30:15", "2-12:30:15");
        check("0", "UNLIMITED");
        check("infinite", "UNLIMITED");
        for wrong in [
            "", "10m", " 5", "60:", "1:2:3:4", "1-2-3", "1:2-3", "-", "1-:2",
        ] {
            check(wrong, "invalid");
        }
    }

    /// As recorded of a real 22.05.8, but for the last, whose minutes it shows as INVALID.
    #[test]
    fn lengths_beyond_32_bits_are_cut_as_slurm_cuts_them() {
        let unlimited = [
            "9223372036854775807",
            "40000000000000000000",
            "2147483647",
            "2147483648",
            "4294967295",
        ];
        for text in unlimited {
            check(text, "UNLIMITED");
        }
        let minutes = 4_293_812_088;
        let limit = TimeLimitRequest::Limit(Seconds(minutes * 60));
        assert_eq!(TimeLimitRequest::parse("99999999999"), Some(limit));
        let days = 9_999_999;
        let uncut = TimeLimitRequest::Limit(Seconds(days * 86_400));
        assert_eq!(
            TimeLimitRequest::parse_uncut("9999999-00:00:00"),
            Some(uncut)
        );
        assert_eq!(TimeLimitRequest::parse_uncut("12h"), None);
        let none = Some(TimeLimitRequest::Unlimited);
        assert_eq!(TimeLimitRequest::parse_uncut("unlimited"), none);
        assert_eq!(TimeLimitRequest::parse_uncut("-1"), none);
    }

    proptest! {
        #[test]
        fn print_then_parse(seconds in 1_u64..100_000_000) {
            let limit = TimeLimitRequest::Limit(Seconds(seconds));
            prop_assert_eq!(TimeLimitRequest::parse(&limit.to_string()).unwrap(), limit);
        }

        #[test]
        fn no_text_panics(text in "[0-9:-]{0,30}") {
            let _ = TimeLimitRequest::parse(&text);
        }
    }
}
