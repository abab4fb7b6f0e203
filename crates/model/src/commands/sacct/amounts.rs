//! Memory, CPU time and TRES as `sacct` prints them.

use super::SacctUnits;
use crate::values::{mebibytes_text, padded_elapsed_text, parse_mebibytes};

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

/// Bytes in the largest unit that leaves no rest, from KiB on: `7600K`, `2M`.
pub(super) fn bytes_text(bytes: u64) -> String {
    let mut value = bytes / 1024;
    let mut units = ["K", "M", "G", "T"].into_iter();
    let mut unit = units.next().unwrap_or_default();
    while value > 0 && value.is_multiple_of(1024) {
        let Some(larger) = units.next() else { break };
        value /= 1024;
        unit = larger;
    }
    format!("{value}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_and_sizes() {
        assert_eq!(cpu_text(1_234_999), "00:01.234");
        assert_eq!(cpu_text(3_600_000_000), "01:00:00");
        assert_eq!(cpu_text(90_061_000_000), "1-01:01:01");
        assert_eq!(bytes_text(7_782_400), "7600K");
        assert_eq!(bytes_text(2 << 20), "2M");
        assert_eq!(bytes_text(0), "0K");
    }
}
