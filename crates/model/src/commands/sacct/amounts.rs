//! Memory, CPU time and TRES as `sacct` prints them.

use super::SacctUnits;
use crate::values::{amount_text, mebibytes_text, padded_elapsed_text, parse_mebibytes};

/// The memory in `cpu=2,mem=500M,node=1`.
pub(super) fn tres_memory(tres: &str) -> Option<&str> {
    tres.split(',').find_map(|part| part.strip_prefix("mem="))
}

impl SacctUnits {
    /// An amount in MiB.
    pub(super) fn of_mebibytes(self, mebibytes: u64) -> String {
        let power = match self {
            SacctUnits::Fitting => return mebibytes_text(mebibytes),
            SacctUnits::Kept | SacctUnits::In('M') => return format!("{mebibytes}M"),
            SacctUnits::In('K') => return format!("{}K", mebibytes.saturating_mul(1024)),
            SacctUnits::In('G') => 1,
            SacctUnits::In('T') => 2,
            SacctUnits::In(_) => 3,
        };
        let SacctUnits::In(unit) = self else {
            return String::new();
        };
        let size = 1024_u64.pow(power);
        if mebibytes.is_multiple_of(size) {
            return format!("{}{unit}", mebibytes / size);
        }
        let hundredths = (u128::from(mebibytes) * 100 + u128::from(size) / 2) / u128::from(size);
        format!("{}.{:02}{unit}", hundredths / 100, hundredths % 100)
    }

    /// A number of bytes, or of anything else.
    pub(super) fn of_bytes(self, number: u64) -> String {
        match self {
            SacctUnits::Fitting => amount_text(number),
            SacctUnits::Kept => number.to_string(),
            SacctUnits::In(_) if number == 0 => "0".to_owned(),
            SacctUnits::In(unit) => in_unit(number as f64 / size_of_unit(unit), unit),
        }
    }

    /// Bytes that came from a disk or went there: in MiB, where no unit is asked for or there is not one.
    pub(super) fn of_disk_bytes(self, bytes: u64) -> String {
        let mebibytes = bytes as f64 / size_of_unit('M');
        match self {
            SacctUnits::In(unit) if mebibytes >= 1.0 => {
                format!("{:.2}{unit}", bytes as f64 / size_of_unit(unit))
            }
            _ => format!("{mebibytes:.2}M"),
        }
    }

    /// An amount that was printed in the largest unit that fits.
    pub(super) fn of_text(self, text: &str) -> String {
        let mebibytes = parse_mebibytes(text);
        mebibytes.map_or_else(|| text.to_owned(), |it| self.of_mebibytes(it))
    }

    /// `cpu=2,mem=4G`, by name, with the memory so.
    pub(super) fn of_tres(self, tres: &str) -> String {
        let parts = tres.split(',').filter(|part| !part.is_empty());
        let mut parts: Vec<String> = parts
            .map(|part| match part.strip_prefix("mem=") {
                Some(text) => format!("mem={}", self.of_text(text)),
                None => part.to_owned(),
            })
            .collect();
        parts.sort_by_key(|part| tres_order(part));
        parts.join(",")
    }
}

/// Bytes of a `K`, an `M` and so on.
fn size_of_unit(unit: char) -> f64 {
    let power = "KMGTP".find(unit).map_or(0, |index| index + 1);
    1024_f64.powi(i32::try_from(power).unwrap_or(0))
}

fn in_unit(value: f64, unit: char) -> String {
    if value.fract() == 0.0 {
        format!("{value:.0}{unit}")
    } else {
        format!("{value:.2}{unit}")
    }
}

/// Slurm sorts names, and a type of GPU stands before the sum.
fn tres_order(part: &str) -> (String, bool) {
    let name = part.split('=').next().unwrap_or_default();
    let base = name.split(':').next().unwrap_or_default();
    (base.to_owned(), !name.contains(':'))
}

/// Microseconds as `sacct` prints CPU time: `00:01.234`, `01:02:03`, `1-02:03:04`.
pub(super) fn cpu_text(micros: u64) -> String {
    let seconds = micros / 1_000_000;
    if seconds >= 3600 {
        return padded(seconds);
    }
    let millis = micros / 1000 % 1000;
    format!("{:02}:{:02}.{millis:03}", seconds / 60, seconds % 60)
}

pub(super) fn padded(seconds: u64) -> String {
    padded_elapsed_text(i64::try_from(seconds).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_sizes() {
        assert_eq!(cpu_text(1_234_999), "00:01.234");
        assert_eq!(cpu_text(3_600_000_000), "01:00:00");
        assert_eq!(cpu_text(90_061_000_000), "1-01:01:01");
        assert_eq!(SacctUnits::Fitting.of_bytes(7_782_400), "7600K");
        assert_eq!(SacctUnits::Fitting.of_bytes(2 << 20), "2M");
        assert_eq!(SacctUnits::In('G').of_bytes(0), "0");
        assert_eq!(SacctUnits::In('G').of_disk_bytes(34_889), "0.03M");
        assert_eq!(SacctUnits::Fitting.of_disk_bytes(0), "0.00M");
    }
}
