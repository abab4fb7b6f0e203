//! Whole numbers as Slurm's options take them: what C's `strtol` reads, to the end of the text.

use crate::values::SlurmVersion;

/// Reads a number of at least `least`; the error is Slurm's sentence, for which `name` is the
/// option's name as Slurm writes it there.
///
/// 22.05 takes up to a `long`, and cuts off what an `int` can't hold; 23.02 refuses that, and 23.11
/// found better words (`proc_args.c`).
pub(crate) fn parse_number(
    name: &str,
    text: &str,
    least: u32,
    version: SlurmVersion,
) -> Result<u32, String> {
    let invalid = || format!("Invalid numeric value \"{text}\" for {name}.");
    let (number, rest) = leading(text);
    match number {
        // Slurm reads an empty text as 0.
        _ if !rest.is_empty() => Err(invalid()),
        None if text.is_empty() && least == 0 => Ok(0),
        None => Err(invalid()),
        Some(number) if number < i64::from(least) => Err(invalid()),
        Some(number) if number >= most(version) => {
            let large = if version < SlurmVersion::V23_11 {
                "to big"
            } else {
                "too large"
            };
            Err(format!("Numeric argument ({number}) {large} for {name}."))
        }
        // Slurm cuts off what does not fit; a number that was not asked for helps nobody.
        Some(number) => u32::try_from(number).map_err(|_| invalid()),
    }
}

/// The least number that is too large.
fn most(version: SlurmVersion) -> i64 {
    if version < SlurmVersion::V23_02 {
        i64::MAX
    } else {
        i64::from(i32::MAX)
    }
}

/// What `strtoll` reads at the beginning of a text; one that is too large is the largest, and of what is
/// no number it is 0.
#[must_use]
pub fn leading_number(text: &str) -> i64 {
    leading(text).0.unwrap_or(0)
}

/// What `--nice` and its like add to a job's priority, or take from it; none where it is out of range.
pub(crate) fn nice(text: &str) -> Option<i64> {
    let number = leading_number(text);
    (number.unsigned_abs() <= MOST_NICE).then_some(number)
}

/// `NICE_OFFSET` - 3 of Slurm.
pub(crate) const MOST_NICE: u64 = 2_147_483_645;

/// Reads a number at the beginning as `strtol` does; what follows it comes back.
pub(crate) fn leading(text: &str) -> (Option<i64>, &str) {
    let start = text.trim_start_matches([' ', '\t', '\n', '\x0b', '\x0c', '\r']);
    let digits = start.strip_prefix(['+', '-']).unwrap_or(start);
    let end = digits
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(digits.len());
    if end == 0 {
        return (None, text);
    }
    let rest = &digits[end..];
    let number = start[..start.len() - rest.len()].parse();
    let bound = if start.starts_with('-') {
        i64::MIN
    } else {
        i64::MAX
    };
    (Some(number.unwrap_or(bound)), rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number, and what it is as `--nice`.
    #[track_caller]
    fn check_leading(text: &str, number: i64, wanted_nice: Option<i64>) {
        assert_eq!(leading_number(text), number, "{text}");
        assert_eq!(nice(text), wanted_nice, "{text}");
    }

    #[test]
    fn what_strtoll_reads() {
        check_leading("77x", 77, Some(77));
        check_leading(" -5", -5, Some(-5));
        check_leading("+5", 5, Some(5));
        check_leading("--5", 0, Some(0));
        check_leading("x", 0, Some(0));
        check_leading("", 0, Some(0));
        check_leading("2147483645", 2_147_483_645, Some(2_147_483_645));
        check_leading("-2147483646", -2_147_483_646, None);
        check_leading("99999999999999999999", i64::MAX, None);
        check_leading("-99999999999999999999", i64::MIN, None);
    }

    #[test]
    fn slurms_sentences() {
        let read = |text| parse_number("--ntasks", text, 1, SlurmVersion::V22_05);
        assert_eq!(read(" +4"), Ok(4));
        for wrong in ["0", "-1", "4x", "", "1.5"] {
            assert_eq!(
                read(wrong),
                Err(format!("Invalid numeric value \"{wrong}\" for --ntasks."))
            );
        }
        assert_eq!(
            read("99999999999999999999"),
            Err("Numeric argument (9223372036854775807) to big for --ntasks.".to_owned())
        );
    }
}
