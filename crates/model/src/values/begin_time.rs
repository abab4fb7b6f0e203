//! Moments as `--begin` and `--deadline` take them: `now+1hour`, `16:00`, `teatime`, `tomorrow`,
//! `2030-01-20T12:34`, `01/20/30`.
//!
//! Follows Slurm's `parse_time` step by step, positions in its error message included.

use crate::values::{SlurmVersion, Timestamp};
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;

/// Units that follow a number after `now+`, in seconds, tried in this order.
const UNITS: &[(&str, i64)] = &[
    ("seconds", 1),
    ("second", 1),
    ("minutes", 60),
    ("minute", 60),
    ("hours", 3600),
    ("hour", 3600),
    ("days", 86_400),
    ("day", 86_400),
    ("weeks", 7 * 86_400),
    ("week", 7 * 86_400),
];

/// Words for a time of day.
const TIMES: &[(&str, i8)] = &[("midnight", 0), ("noon", 12), ("fika", 15), ("teatime", 16)];

/// What a moment is of which the date or the year is left open.
#[derive(Clone, Copy, PartialEq)]
enum Open {
    /// The next one.
    Ahead,
    /// A time of today; a date of this year, or of the last one where its month is still to come.
    Past,
}

/// Reads a moment; a time without a date is the next one of it, a date without a time its midnight.
/// The error is Slurm's line, printed without the command's name; it is empty where nothing was
/// named.
pub fn parse_moment(text: &str, now: Timestamp, zone: &TimeZone) -> Result<Timestamp, String> {
    parse_moment_in(SlurmVersion::V22_05, text, now, zone)
}

/// The same of commands that look back: a time without a date is one of today, and no month without a
/// year lies ahead.
pub fn parse_past_moment(text: &str, now: Timestamp, zone: &TimeZone) -> Result<Timestamp, String> {
    parse_open_moment(SlurmVersion::V22_05, Open::Past, text, now, zone)
}

/// [`parse_moment`] by the rules of a version.
pub(crate) fn parse_moment_in(
    version: SlurmVersion,
    text: &str,
    now: Timestamp,
    zone: &TimeZone,
) -> Result<Timestamp, String> {
    parse_open_moment(version, Open::Ahead, text, now, zone)
}

fn parse_open_moment(
    version: SlurmVersion,
    open: Open,
    text: &str,
    now: Timestamp,
    zone: &TimeZone,
) -> Result<Timestamp, String> {
    let mut reader = Reader {
        text: text.as_bytes(),
        at: 0,
        version,
    };
    let wrong = |at| format!("Invalid time specification (pos={at}): {text}");
    if let Some(seconds) = text.get(3..).filter(|_| reader.word("uts")) {
        let seconds = seconds.parse::<i64>().ok().filter(|s| *s >= 1_000_000);
        return seconds
            .map(|s| Timestamp(s.saturating_mul(1000)))
            .ok_or_else(|| wrong(0));
    }
    let instant = jiff::Timestamp::from_second(now.seconds()).map_err(|_| wrong(0))?;
    let local = instant.to_zoned(zone.clone()).datetime();
    let found = reader.moment(local).ok_or_else(|| wrong(reader.at))?;
    if let Found::Exactly(seconds) = found {
        return Ok(Timestamp((now.seconds() + seconds) * 1000));
    }
    if matches!(found, Found::Parts(None, None)) {
        return Err(String::new());
    }
    let moment = found.resolve(open, local).ok_or_else(|| wrong(reader.at))?;
    let instant = moment
        .to_zoned(zone.clone())
        .map_err(|_| wrong(reader.at))?;
    Ok(Timestamp(instant.timestamp().as_second() * 1000))
}

/// What a text names.
enum Found {
    /// So many seconds from now.
    Exactly(i64),
    /// A date, whose year may be open, and a time.
    Parts(Option<(Option<i16>, i8, i8)>, Option<Time>),
}

impl Found {
    fn resolve(self, open: Open, now: DateTime) -> Option<DateTime> {
        let Found::Parts(date, time) = self else {
            return None;
        };
        let minute = |time: Time| (time.hour(), time.minute());
        match (date, time) {
            (None, None) => None,
            (None, Some(time)) if open == Open::Past || minute(time) > minute(now.time()) => {
                Some(now.date().to_datetime(time))
            }
            (None, Some(time)) => Some(now.date().tomorrow().ok()?.to_datetime(time)),
            (Some((year, month, day)), time) => {
                let time = time.unwrap_or(Time::midnight());
                let ahead =
                    (month, day, minute(time)) > (now.month(), now.day(), minute(now.time()));
                let year = year.unwrap_or(match open {
                    Open::Ahead => now.year() + i16::from(!ahead),
                    Open::Past => now.year() - i16::from(month > now.month()),
                });
                // As mktime(3) has it, 30 February is a day of March.
                let first = Date::new(year, month, 1).ok()?;
                let date = first.checked_add(jiff::Span::new().days(day - 1)).ok()?;
                Some(date.to_datetime(time))
            }
        }
    }
}

struct Reader<'a> {
    text: &'a [u8],
    at: usize,
    version: SlurmVersion,
}

impl Reader<'_> {
    fn moment(&mut self, now: DateTime) -> Option<Found> {
        let (mut date, mut time, mut exactly) = (None, None, None);
        while let Some(byte) = self.peek(0) {
            if matches!(byte, b' ' | b'\t' | b'-' | b'T')
                && !self.ahead("teatime")
                && !self.ahead("today")
                && !self.ahead("tomorrow")
            {
                self.at += 1;
            } else if self.word("today") {
                date = Some((Some(now.year()), now.month(), now.day()));
            } else if self.word("tomorrow") {
                let next = now.date().tomorrow().ok()?;
                date = Some((Some(next.year()), next.month(), next.day()));
            } else if let Some((_, hour)) = TIMES.iter().find(|(word, _)| self.word(word)) {
                time = Some(Time::constant(*hour, 0, 0, 0));
            } else if self.version >= SlurmVersion::V24_05 && self.word("elevenses") {
                time = Some(Time::constant(11, 0, 0, 0));
            } else if self.word("now") {
                exactly = Some(self.delta()?);
            } else if !byte.is_ascii_digit() {
                return None;
            } else if self.peek(1) == Some(b':') || self.peek(2) == Some(b':') {
                time = Some(self.time()?);
            } else {
                date = Some(self.date()?);
            }
        }
        Some(exactly.map_or(Found::Parts(date, time), Found::Exactly))
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.text.get(self.at + ahead).copied()
    }

    fn ahead(&self, word: &str) -> bool {
        let end = self.at + word.len();
        let next = self.text.get(self.at..end);
        next.is_some_and(|next| next.eq_ignore_ascii_case(word.as_bytes()))
    }

    fn word(&mut self, word: &str) -> bool {
        let found = self.ahead(word);
        if found {
            self.at += word.len();
        }
        found
    }

    /// `+1hour`, `- 2 days`, or nothing.
    fn delta(&mut self) -> Option<i64> {
        while self
            .peek(0)
            .is_some_and(|byte| byte == b' ' || byte == b'\t')
        {
            self.at += 1;
        }
        let sign = match self.peek(0) {
            None => return Some(0),
            Some(b'+') => 1,
            Some(b'-') => -1,
            Some(_) => return None,
        };
        self.at += 1;
        let (mut number, mut digits): (i64, u32) = (0, 0);
        while let Some(byte) = self.peek(0) {
            if byte.is_ascii_whitespace() {
                self.at += 1;
            } else if let Some((_, seconds)) = UNITS.iter().find(|(unit, _)| self.word(unit)) {
                number = number.checked_mul(*seconds)?;
                break;
            } else if byte.is_ascii_digit() {
                number = number
                    .checked_mul(10)?
                    .checked_add(i64::from(byte - b'0'))?;
                digits += 1;
                self.at += 1;
            } else {
                return self.back(1);
            }
        }
        if digits == 0 {
            return self.back(1);
        }
        // What can be kept as a moment: some 3,000 years.
        (number < 100_000_000_000).then_some(sign * number)
    }

    /// One or two digits.
    fn short(&mut self) -> Option<i8> {
        let first = self.digit()?;
        Some(match self.peek(0).filter(u8::is_ascii_digit) {
            Some(_) => first * 10 + self.digit()?,
            None => first,
        })
    }

    fn two(&mut self) -> Option<i8> {
        Some(self.digit()? * 10 + self.digit()?)
    }

    fn digit(&mut self) -> Option<i8> {
        let byte = self.peek(0).filter(u8::is_ascii_digit)?;
        self.at += 1;
        i8::try_from(byte - b'0').ok()
    }

    /// Keeps a value that is in range; the position goes back to before it.
    fn within(&mut self, value: i8, least: i8, most: i8) -> Option<i8> {
        if (least..=most).contains(&value) {
            return Some(value);
        }
        self.at = self.at.saturating_sub(2);
        None
    }

    /// Fails at a place before this one.
    fn back<T>(&mut self, bytes: usize) -> Option<T> {
        self.at = self.at.saturating_sub(bytes);
        None
    }

    fn time(&mut self) -> Option<Time> {
        let hour = self.short()?;
        let mut hour = self.within(hour, 0, 23)?;
        self.at += usize::from(self.peek(0) == Some(b':'));
        let minute = self.two()?;
        let minute = self.within(minute, 0, 59)?;
        let mut second = 0;
        if self.peek(0) == Some(b':') {
            self.at += 1;
            second = self.two()?;
            second = self.within(second, 0, 59)?;
        }
        while self.peek(0).is_some_and(|byte| byte.is_ascii_whitespace()) {
            self.at += 1;
        }
        if self.word("pm") {
            hour = match hour {
                12 => 12,
                hour if hour < 12 => hour + 12,
                _ => return self.back(2),
            };
        } else if self.word("am") {
            hour = match hour {
                12 => 0,
                hour if hour < 12 => hour,
                _ => return self.back(2),
            };
        }
        Time::new(hour, minute, second, 0).ok()
    }

    fn date(&mut self) -> Option<(Option<i16>, i8, i8)> {
        if self.peek(4) == Some(b'-') && self.peek(7) == Some(b'-') {
            let (century, year) = (self.two()?, self.two()?);
            self.at += 1;
            let month = self.short()?;
            let month = self.within(month, 1, 12)?;
            self.at += 1;
            let day = self.short()?;
            let day = self.within(day, 1, 31)?;
            return Some((Some(i16::from(century) * 100 + i16::from(year)), month, day));
        }
        let month = self.short()?;
        let month = self.within(month, 1, 12)?;
        self.separator();
        let day = self.short()?;
        let day = self.within(day, 1, 31)?;
        self.separator();
        let year = match self.peek(0).filter(u8::is_ascii_digit) {
            Some(_) => Some(2000 + i16::from(self.two()?)).filter(|year| *year > 2000),
            None => None,
        };
        Some((year, month, day))
    }

    fn separator(&mut self) {
        if matches!(self.peek(0), Some(b'.' | b'/')) {
            self.at += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// 2026-03-10 14:30:00 in a zone two hours east.
    const NOW: Timestamp = Timestamp(1_773_145_800_000);

    #[track_caller]
    fn check(text: &str, printed: &str) {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        let read = parse_moment(text, NOW, &zone);
        let read = read.map(|moment| crate::values::moment_text(moment, &zone));
        assert_eq!(read.unwrap_or_else(|error| error), printed);
    }

    #[test]
    fn forms() {
        check("now", "2026-03-10T14:30:00");
        check("now+1hour", "2026-03-10T15:30:00");
        check("now + 2 days", "2026-03-12T14:30:00");
        check("now+60", "2026-03-10T14:31:00");
        check("now-1minute", "2026-03-10T14:29:00");
        check("16:00", "2026-03-10T16:00:00");
        check("14:30", "2026-03-11T14:30:00");
        check("4:00pm", "2026-03-10T16:00:00");
        check("12:15:10 am", "2026-03-11T00:15:10");
        check("noon", "2026-03-11T12:00:00");
        check("teatime", "2026-03-10T16:00:00");
        check("tomorrow", "2026-03-11T00:00:00");
        check("tomorrow 10:00", "2026-03-11T10:00:00");
        check("2030-01-20T12:34", "2030-01-20T12:34:00");
        check("01/20/30", "2030-01-20T00:00:00");
        check("012030", "2030-01-20T00:00:00");
        check("0120", "2027-01-20T00:00:00");
        check("12.24", "2026-12-24T00:00:00");
        check("2027-02-30", "2027-03-02T00:00:00");
    }

    #[test]
    fn what_is_left_open_of_a_moment_that_is_past() {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        for (text, printed) in [
            ("02/01", "2026-02-01T00:00:00"),
            ("0301", "2026-03-01T00:00:00"),
            ("03/31", "2026-03-31T00:00:00"),
            ("04/01", "2025-04-01T00:00:00"),
            ("12.31", "2025-12-31T00:00:00"),
            ("03/10-00:00", "2026-03-10T00:00:00"),
            ("midnight", "2026-03-10T00:00:00"),
            ("05:00", "2026-03-10T05:00:00"),
            ("16:00", "2026-03-10T16:00:00"),
            ("now-1hour", "2026-03-10T13:30:00"),
            ("tomorrow", "2026-03-11T00:00:00"),
            ("04/01/26", "2026-04-01T00:00:00"),
        ] {
            let read = parse_past_moment(text, NOW, &zone);
            let read = read.map(|moment| crate::values::moment_text(moment, &zone));
            assert_eq!(read.as_deref(), Ok(printed), "{text}");
        }
    }

    #[test]
    fn slurms_line_for_what_is_wrong() {
        for (text, at) in [("x", 0), ("25:00", 0), ("elevenses", 0), ("13/01/30", 0)] {
            check(
                text,
                &format!("Invalid time specification (pos={at}): {text}"),
            );
        }
    }

    proptest! {
        #[test]
        fn print_then_parse(seconds in 0_i64..4_000_000_000) {
            let moment = Timestamp(seconds * 1000);
            let printed = crate::values::moment_text(moment, &TimeZone::UTC);
            prop_assert_eq!(parse_moment(&printed, NOW, &TimeZone::UTC), Ok(moment));
        }

        #[test]
        fn no_text_panics(text in "(now|noon|T|today|[0-9:/.+ -]|hour|pm){0,12}") {
            let _ = parse_moment(&text, NOW, &TimeZone::UTC);
        }
    }
}
