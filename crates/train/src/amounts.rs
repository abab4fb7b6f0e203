//! Lengths of time and amounts of memory as people write them in run files and flags.

use model::{Seconds, TimeLimitRequest};

/// What is wrong with an amount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AmountProblem {
    pub message: String,
    pub help: String,
}

fn problem<T>(message: String, help: String) -> Result<T, AmountProblem> {
    Err(AmountProblem { message, help })
}

/// A time limit: a length, or `UNLIMITED`.
pub(crate) fn time_limit(text: &str) -> Result<TimeLimitRequest, AmountProblem> {
    if ["unlimited", "infinite"].contains(&text.trim().to_ascii_lowercase().as_str()) {
        return Ok(TimeLimitRequest::Unlimited);
    }
    let length = seconds(text)?;
    if length.0 == 0 {
        return problem(
            "a time limit of 0".to_owned(),
            "a run can't train in no time; write \"unlimited\" for no limit".to_owned(),
        );
    }
    Ok(TimeLimitRequest::Limit(length))
}

/// A length of time as a run file has it.
///
/// # Errors
/// It is none, with what to write.
pub fn parse_length(text: &str) -> Result<Seconds, String> {
    seconds(text).map_err(|problem| format!("{}: {}", problem.message, problem.help))
}

/// `25s`, `10m`, `24h`, `2d`, `1h30m`, and Slurm's `M:S`, `H:M:S`, `D-H`, `D-H:M`, `D-H:M:S`.
pub(crate) fn seconds(text: &str) -> Result<Seconds, AmountProblem> {
    let text = text.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return problem(
            format!("{text} has no unit"),
            format!("write \"{text}s\", \"{text}m\" or \"{text}h\""),
        );
    }
    let parsed = if text.contains([':', '-']) {
        slurm(text)
    } else {
        model::length_with_units(text)
    };
    parsed.map_or_else(
        || {
            problem(
                format!("{text:?} is not a length of time"),
                "write \"25s\", \"10m\", \"24h\", \"2d\", \"1h30m\", or Slurm's \"1-00:00:00\""
                    .to_owned(),
            )
        },
        |total| Ok(Seconds(total)),
    )
}

/// Slurm's own syntax (`parse_time.c`, `time_str2secs`): with a dash the first part after it is
/// hours, without one `M:S` or `H:M:S`.
fn slurm(text: &str) -> Option<u64> {
    let (days, clock) = match text.split_once('-') {
        Some((days, clock)) => (Some(number(days)?), clock),
        None => (None, text),
    };
    let parts = clock.split(':').map(number).collect::<Option<Vec<u64>>>()?;
    let (hours, minutes, seconds) = match (days, parts.as_slice()) {
        (Some(_), &[hours]) => (hours, 0, 0),
        (Some(_), &[hours, minutes]) => (hours, minutes, 0),
        (None, &[minutes, seconds]) => (0, minutes, seconds),
        (_, &[hours, minutes, seconds]) => (hours, minutes, seconds),
        _ => return None,
    };
    let hours = days.unwrap_or(0).checked_mul(24)?.checked_add(hours)?;
    let minutes = hours.checked_mul(60)?.checked_add(minutes)?;
    minutes.checked_mul(60)?.checked_add(seconds)
}

fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

/// `90G`, `512M`, `1T`, `1024K`, with or without `B` or `iB`, in powers of 1,024 as Slurm takes
/// them; MiB, rounded up. Fractions as `1.5G` are fine.
pub(crate) fn mebibytes(text: &str) -> Result<u64, AmountProblem> {
    let text = text.trim();
    let digits = text
        .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
        .unwrap_or(text.len());
    let (amount, unit) = text.split_at(digits);
    let wrong = || {
        problem(
            format!("{text:?} is not an amount of memory"),
            "write \"512M\", \"90G\" or \"1T\"".to_owned(),
        )
    };
    let Ok(number) = amount.parse::<f64>() else {
        return wrong();
    };
    let unit = unit.trim().to_ascii_lowercase();
    let unit = unit
        .strip_suffix("ib")
        .or(unit.strip_suffix('b'))
        .unwrap_or(&unit);
    let factor = match unit {
        "k" => 1.0 / 1024.0,
        "m" => 1.0,
        "g" => 1024.0,
        "t" => 1024.0 * 1024.0,
        "" => {
            return problem(
                format!("{text} has no unit"),
                format!("write \"{amount}M\" or \"{amount}G\""),
            );
        }
        _ => return wrong(),
    };
    let size = (number * factor).ceil();
    if !(1.0..1e15).contains(&size) {
        return wrong();
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "whole, and between 1 and 1e15"
    )]
    Ok(size as u64)
}

/// A time limit in words: `24 h`, `7 days`, `unlimited`.
#[must_use]
pub fn say_limit(limit: TimeLimitRequest) -> String {
    match limit {
        TimeLimitRequest::Limit(limit) => say_seconds(limit),
        TimeLimitRequest::Unlimited => "unlimited".to_owned(),
    }
}

/// A length as people say it: `25 s`, `1 h 30 min`, `2 days`.
#[must_use]
pub fn say_seconds(length: Seconds) -> String {
    let total = length.0;
    let days = total / 86_400;
    let parts = [
        (days, if days == 1 { "day" } else { "days" }),
        (total / 3600 % 24, "h"),
        (total / 60 % 60, "min"),
        (total % 60, "s"),
    ];
    let said: Vec<String> = parts
        .iter()
        .filter(|(amount, _)| *amount > 0)
        .map(|(amount, unit)| format!("{amount} {unit}"))
        .collect();
    if said.is_empty() {
        "0 s".to_owned()
    } else if total == 86_400 {
        "24 h".to_owned()
    } else {
        said.join(" ")
    }
}

/// An amount of MiB as people say it: `512 MiB`, `90 GiB`, `22.9 GiB`.
#[must_use]
pub fn say_mebibytes(size: u64) -> String {
    let (number, unit) = match size {
        0..1024 => return format!("{size} MiB"),
        1024..1_048_576 => (size as f64 / 1024.0, "GiB"),
        _ => (size as f64 / 1_048_576.0, "TiB"),
    };
    let shown = format!("{number:.1}");
    format!("{} {unit}", shown.strip_suffix(".0").unwrap_or(&shown))
}

/// A limit in Slurm's syntax, rounded up to minutes: `D-HH:MM:SS` or `HH:MM:SS`.
#[must_use]
pub(crate) fn slurm_minutes(length: Seconds) -> String {
    let minutes = length.0.div_ceil(60);
    let (days, hours, minutes) = (minutes / 1440, minutes / 60 % 24, minutes % 60);
    if days > 0 {
        format!("{days}-{hours:02}:{minutes:02}:00")
    } else {
        format!("{hours:02}:{minutes:02}:00")
    }
}

/// A size in decimal units: `512 B`, `1.2 MB`, `144 GB`.
#[must_use]
pub fn say_bytes(count: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB", "PB"];
    let mut value = count as f64;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    if unit == 0 || value >= 99.5 {
        format!("{value:.0} {}", units[unit])
    } else {
        format!("{value:.1} {}", units[unit])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    #[track_caller]
    fn check_time(rows: &[&str], want: Expect) {
        let shown = rows.iter().map(|text| match time_limit(text) {
            Ok(TimeLimitRequest::Limit(length)) => format!("{text}: {}\n", length.0),
            Ok(TimeLimitRequest::Unlimited) => format!("{text}: unlimited\n"),
            Err(problem) => format!("{text}: {}; {}\n", problem.message, problem.help),
        });
        want.assert_eq(&shown.collect::<String>());
    }

    #[test]
    fn times() {
        check_time(
            &[
                "25s",
                "10m",
                "24h",
                "2d",
                "1h30m",
                "1h 30m",
                "90min",
                "1-00:00:00",
                "1-12",
                "2-3:30",
                "10:30",
                "24:00:00",
                "unlimited",
                "25",
                "0s",
                "1-",
                "1m1h",
                "5w",
                "",
                "-5m",
                "99999999999999999999d",
            ],
            expect![[r#"
                25s: 25
                10m: 600
                24h: 86400
                2d: 172800
                1h30m: 5400
                1h 30m: 5400
                90min: 5400
                1-00:00:00: 86400
                1-12: 129600
                2-3:30: 185400
                10:30: 630
                24:00:00: 86400
                unlimited: unlimited
                25: 25 has no unit; write "25s", "25m" or "25h"
                0s: a time limit of 0; a run can't train in no time; write "unlimited" for no limit
                1-: "1-" is not a length of time; write "25s", "10m", "24h", "2d", "1h30m", or Slurm's "1-00:00:00"
                1m1h: "1m1h" is not a length of time; write "25s", "10m", "24h", "2d", "1h30m", or Slurm's "1-00:00:00"
                5w: "5w" is not a length of time; write "25s", "10m", "24h", "2d", "1h30m", or Slurm's "1-00:00:00"
                : "" is not a length of time; write "25s", "10m", "24h", "2d", "1h30m", or Slurm's "1-00:00:00"
                -5m: "-5m" is not a length of time; write "25s", "10m", "24h", "2d", "1h30m", or Slurm's "1-00:00:00"
                99999999999999999999d: "99999999999999999999d" is not a length of time; write "25s", "10m", "24h", "2d", "1h30m", or Slurm's "1-00:00:00"
            "#]],
        );
    }

    #[track_caller]
    fn check_memory(rows: &[&str], want: Expect) {
        let shown = rows.iter().map(|text| match mebibytes(text) {
            Ok(size) => format!("{text}: {size}\n"),
            Err(problem) => format!("{text}: {}; {}\n", problem.message, problem.help),
        });
        want.assert_eq(&shown.collect::<String>());
    }

    #[test]
    fn memory() {
        check_memory(
            &[
                "90G", "90GB", "90 GiB", "1.5g", "1T", "1K", "16384", "lots", "-4G", "0G", "4X",
            ],
            expect![[r#"
                90G: 92160
                90GB: 92160
                90 GiB: 92160
                1.5g: 1536
                1T: 1048576
                1K: 1
                16384: 16384 has no unit; write "16384M" or "16384G"
                lots: "lots" is not an amount of memory; write "512M", "90G" or "1T"
                -4G: "-4G" is not an amount of memory; write "512M", "90G" or "1T"
                0G: "0G" is not an amount of memory; write "512M", "90G" or "1T"
                4X: "4X" is not an amount of memory; write "512M", "90G" or "1T"
            "#]],
        );
    }

    #[test]
    fn said() {
        let rows = [0, 25, 90, 5400, 86_400, 90_000, 180_000];
        let shown: Vec<String> = rows.map(|total| say_seconds(Seconds(total))).to_vec();
        expect!["0 s, 25 s, 1 min 30 s, 1 h 30 min, 24 h, 1 day 1 h, 2 days 2 h"]
            .assert_eq(&shown.join(", "));
        let shown: Vec<String> = [500, 1024, 23_450, 92_160, 2_097_152]
            .map(say_mebibytes)
            .to_vec();
        expect!["500 MiB, 1 GiB, 22.9 GiB, 90 GiB, 2 TiB"].assert_eq(&shown.join(", "));
    }

    proptest! {
        #[test]
        fn slurm_reads_back_what_is_written_rounded_up(total in 1_u64..40_000_000) {
            let read = seconds(&slurm_minutes(Seconds(total))).unwrap();
            prop_assert_eq!(read.0, total.div_ceil(60) * 60);
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,12}") {
            let _ = (time_limit(&text), mebibytes(&text));
        }
    }
}
