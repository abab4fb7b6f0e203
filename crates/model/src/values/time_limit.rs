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
    /// specification". Fields may be of any size; 0 asks for no limit. Seconds are kept: Slurm
    /// itself rounds up to minutes.
    #[must_use]
    pub fn parse(text: &str) -> Option<TimeLimitRequest> {
        let unlimited = ["-1", "INFINITE", "UNLIMITED"];
        if unlimited.iter().any(|word| word.eq_ignore_ascii_case(text)) {
            return Some(TimeLimitRequest::Unlimited);
        }
        match seconds(text)? {
            0 => Some(TimeLimitRequest::Unlimited),
            seconds => Some(TimeLimitRequest::Limit(Seconds(seconds))),
        }
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

/// What a length below zero becomes: Slurm counts minutes in 32 bits without a sign.
const MINUTES: i64 = 1 << 32;

fn seconds(text: &str) -> Option<u64> {
    if !is_time(text) {
        return None;
    }
    let number = |text: &str| text.parse::<i64>().ok().or(text.is_empty().then_some(0));
    let (days, rest) = match text.split_once('-') {
        // `-5` is minus five days: `sscanf` takes the dash for a sign.
        Some(("", days)) => (-number(days)?, ""),
        Some((days, rest)) => (number(days)?, rest),
        None => (0, text),
    };
    let fields: Vec<i64> = rest.split(':').map(number).collect::<Option<_>>()?;
    let seconds = match (text.contains('-'), fields.as_slice()) {
        (true, fields) => {
            let field = |index| fields.get(index).copied().unwrap_or(0);
            days.checked_mul(86_400)?
                .checked_add(field(0).checked_mul(3600)?)?
                .checked_add(field(1).checked_mul(60)?)?
                .checked_add(field(2))?
        }
        (false, [minutes]) => minutes.checked_mul(60)?,
        (false, [minutes, seconds]) => minutes.checked_mul(60)?.checked_add(*seconds)?,
        (false, [hours, minutes, seconds]) => hours
            .checked_mul(3600)?
            .checked_add(minutes.checked_mul(60)?)?
            .checked_add(*seconds)?,
        _ => return None,
    };
    if seconds < 0 {
        return u64::try_from((MINUTES + (seconds + 59) / 60) * 60).ok();
    }
    u64::try_from(seconds).ok()
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
