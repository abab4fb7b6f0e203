//! Lengths of time and moments as Slurm's commands print them.

use crate::values::Timestamp;
use jiff::tz::TimeZone;

/// Longest length that `squeue` prints: a year.
const LONGEST: i64 = 365 * 86_400;

/// A length of time: `12 ms`, `3.4 s`, `71 s`, `4 min`, `2 h 10`, `3 d 4 h`.
#[must_use]
pub fn say_length(ms: i64) -> String {
    let ms = ms.max(0);
    let seconds = ms / 1000;
    match seconds {
        0 => format!("{ms} ms"),
        1..10 => format!("{:.1} s", ms as f64 / 1000.0),
        10..120 => format!("{seconds} s"),
        120..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h {:02}", seconds / 3600, seconds % 3600 / 60),
        _ => format!("{} d {} h", seconds / 86_400, seconds % 86_400 / 3600),
    }
}

/// A length as `squeue` prints it: `0:05`, `2:03:04`, `1-02:03:04`; `INVALID` below zero and above
/// a year.
#[must_use]
pub fn elapsed_text(seconds: i64) -> String {
    if !(0..=LONGEST).contains(&seconds) {
        return "INVALID".to_owned();
    }
    let (days, hours, minutes, seconds) = split(seconds);
    if days > 0 {
        format!("{days}-{hours:02}:{minutes:02}:{seconds:02}")
    } else if hours > 0 {
        format!("{hours}:{minutes:02}:{seconds:02}")
    } else {
        format!("{minutes}:{seconds:02}")
    }
}

/// A length as `scontrol` prints it: `00:00:05`, `1-02:03:04`; `INVALID` below zero.
#[must_use]
pub fn padded_elapsed_text(seconds: i64) -> String {
    if seconds < 0 {
        return "INVALID".to_owned();
    }
    let (days, hours, minutes, seconds) = split(seconds);
    if days > 0 {
        format!("{days}-{hours:02}:{minutes:02}:{seconds:02}")
    } else {
        format!("{hours:02}:{minutes:02}:{seconds:02}")
    }
}

/// A moment as Slurm prints it, without its zone: `2030-01-20T12:34:00`. Where a
/// [`crate::values::MomentForm`] may be chosen it is printed by a [`crate::values::MomentStyle`].
#[must_use]
pub fn moment_text(moment: Timestamp, zone: &TimeZone) -> String {
    match jiff::Timestamp::from_second(moment.seconds()) {
        Ok(instant) => {
            let at = zone.to_datetime(instant);
            // Mostly by hand: a long list has several of each job.
            let mut text = format!("{:04}", at.year());
            for (mark, part) in [
                ('-', at.month()),
                ('-', at.day()),
                ('T', at.hour()),
                (':', at.minute()),
                (':', at.second()),
            ] {
                text.push(mark);
                push_two_digits(&mut text, part.unsigned_abs());
            }
            text
        }
        // Beyond the year 9999: no such moment comes from a clock.
        Err(_) => "Unknown".to_owned(),
    }
}

fn push_two_digits(text: &mut String, number: u8) {
    text.push(char::from(b'0' + number / 10 % 10));
    text.push(char::from(b'0' + number % 10));
}

fn split(seconds: i64) -> (i64, i64, i64, i64) {
    (
        seconds / 86_400,
        seconds / 3600 % 24,
        seconds / 60 % 60,
        seconds % 60,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn lengths() {
        let all: Vec<String> = [-1, 0, 5, 65, 3600, 3780, 86_400, 93_784, LONGEST + 1]
            .iter()
            .map(|seconds| {
                format!(
                    "{} {}",
                    elapsed_text(*seconds),
                    padded_elapsed_text(*seconds)
                )
            })
            .collect();
        expect![[r#"
            INVALID INVALID
            0:00 00:00:00
            0:05 00:00:05
            1:05 00:01:05
            1:00:00 01:00:00
            1:03:00 01:03:00
            1-00:00:00 1-00:00:00
            1-02:03:04 1-02:03:04
            INVALID 365-00:00:01"#]]
        .assert_eq(&all.join("\n"));
    }

    #[test]
    fn moments_are_local_and_bare() {
        let moment = Timestamp(1_895_056_440_500);
        assert_eq!(moment_text(moment, &TimeZone::UTC), "2030-01-19T12:34:00");
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        assert_eq!(moment_text(moment, &zone), "2030-01-19T14:34:00");
    }
}
