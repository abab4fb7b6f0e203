//! Versions of Slurm, as far as its language depends on them.

use std::fmt;
use std::str::FromStr;

/// A version of Slurm: year and month, such as 22.05. What comes behind them (`22.05.8`) changes
/// no option and is dropped in parsing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SlurmVersion {
    /// The year's last two digits.
    pub year: u8,
    /// The month, 1 to 12.
    pub month: u8,
}

impl SlurmVersion {
    /// 22.05, the oldest that differs here: an option "since 22.05" may be older.
    pub const V22_05: SlurmVersion = SlurmVersion::new(22, 5);
    /// 23.02
    pub const V23_02: SlurmVersion = SlurmVersion::new(23, 2);
    /// 23.11
    pub const V23_11: SlurmVersion = SlurmVersion::new(23, 11);
    /// 24.05
    pub const V24_05: SlurmVersion = SlurmVersion::new(24, 5);
    /// 24.11
    pub const V24_11: SlurmVersion = SlurmVersion::new(24, 11);
    /// 25.05
    pub const V25_05: SlurmVersion = SlurmVersion::new(25, 5);
    /// 25.11, the newest that is known.
    pub const V25_11: SlurmVersion = SlurmVersion::new(25, 11);

    /// All that differ here, ascending.
    pub const KNOWN: [SlurmVersion; 7] = [
        SlurmVersion::V22_05,
        SlurmVersion::V23_02,
        SlurmVersion::V23_11,
        SlurmVersion::V24_05,
        SlurmVersion::V24_11,
        SlurmVersion::V25_05,
        SlurmVersion::V25_11,
    ];

    const fn new(year: u8, month: u8) -> SlurmVersion {
        SlurmVersion { year, month }
    }
}

impl fmt::Display for SlurmVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:02}", self.year, self.month)
    }
}

/// A text that is no version of Slurm.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no version of Slurm: write it as 23.11")]
pub struct NoSlurmVersion(pub String);

impl FromStr for SlurmVersion {
    type Err = NoSlurmVersion;

    /// Reads `22.05`, `22.05.8`, `slurm 22.05.8` or `slurm-wlm 22.05.8`: what `--version` of
    /// Slurm's commands prints.
    fn from_str(text: &str) -> Result<SlurmVersion, NoSlurmVersion> {
        let wrong = || NoSlurmVersion(text.to_owned());
        let word = text.split_whitespace().last().ok_or_else(wrong)?;
        let mut parts = word.split('.');
        let mut part = || {
            let digits = parts.next().filter(|part| part.len() <= 2)?;
            let digits = digits
                .bytes()
                .all(|byte| byte.is_ascii_digit())
                .then_some(digits)?;
            digits.parse::<u8>().ok()
        };
        let (year, month) = part().zip(part()).ok_or_else(wrong)?;
        if !(1..=12).contains(&month) {
            return Err(wrong());
        }
        Ok(SlurmVersion { year, month })
    }
}

/// The version of Slurm whose commands and answers the embedded engine's are.
pub const SPOKEN_VERSION: &str = "22.05.8";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_as_slurm_prints_them() {
        for text in ["22.05", "22.05.8", "slurm-wlm 22.05.8", "slurm 22.05.8-1"] {
            assert_eq!(text.parse(), Ok(SlurmVersion::V22_05), "{text}");
        }
        for text in ["", "22", "22.", "22.13", "22.0x5", "222.05", "-1.05"] {
            assert!(text.parse::<SlurmVersion>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_version_prints_as_it_is_read() {
        for version in SlurmVersion::KNOWN {
            assert_eq!(version.to_string().parse(), Ok(version));
        }
        assert!(SlurmVersion::KNOWN.is_sorted());
    }
}
