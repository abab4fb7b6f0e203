//! Memory sizes: `4000`, `16G`, `1024K`, `2TB`.

use serde::{Deserialize, Serialize};

/// Memory as asked, in MiB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryRequest {
    /// `--mem`; 0 is all of a node's.
    PerNode(u64),
    /// `--mem-per-cpu`
    PerCpu(u64),
    /// `--mem-per-gpu`
    PerGpu(u64),
}

/// Reads a size in MiB as `--mem` takes it: a whole number, MiB without a unit; KiB round up.
/// `None` where Slurm says "Invalid --mem specification".
#[must_use]
pub fn parse_mebibytes(text: &str) -> Option<u64> {
    let text = text.trim_start_matches([' ', '\t', '\n']);
    let text = text.strip_prefix('+').unwrap_or(text);
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let number: u64 = number.parse::<i64>().ok()?.try_into().ok()?;
    let unit = unit.to_ascii_uppercase();
    match unit
        .strip_suffix('B')
        .filter(|unit| !unit.is_empty())
        .unwrap_or(&unit)
    {
        "" | "M" => Some(number),
        "K" => Some(number.div_ceil(1024)),
        "G" => number.checked_mul(1024),
        "T" => number.checked_mul(1024 * 1024),
        _ => None,
    }
}

/// Prints MiB so that they read back the same, in the largest unit that is whole.
#[must_use]
pub fn mebibytes_option(mib: u64) -> String {
    match mib {
        0 => "0".to_owned(),
        mib if mib % (1024 * 1024) == 0 => format!("{}T", mib / (1024 * 1024)),
        mib if mib % 1024 == 0 => format!("{}G", mib / 1024),
        mib => format!("{mib}M"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn units() {
        let sizes = ["0", "100", "100MB", "1g", "1025K", "1T", "+5"].map(parse_mebibytes);
        assert_eq!(sizes, [0, 100, 100, 1024, 2, 1_048_576, 5].map(Some));
        for wrong in [
            "",
            "1.5G",
            "-1",
            "x",
            "1X",
            "1B",
            "1GiB",
            "99999999999999999999",
        ] {
            assert_eq!(parse_mebibytes(wrong), None, "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn print_then_parse(mib in 0_u64..1 << 40) {
            prop_assert_eq!(parse_mebibytes(&mebibytes_option(mib)), Some(mib));
        }
    }
}
