//! Amounts with a unit letter as Slurm's commands print them.

/// MiB as Slurm prints them: `0`, `100M`, `1G`, `2.50G`. A unit is taken only where nothing is
/// lost; halves are exact enough for it.
#[must_use]
pub fn mebibytes_text(mib: u64) -> String {
    if mib == 0 {
        return "0".to_owned();
    }
    let units = ['M', 'G', 'T', 'P'];
    let mut value = mib as f64;
    let mut unit = 0;
    while value >= 1024.0 && (value as u64).is_multiple_of(512) && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    if value.fract() == 0.0 {
        format!("{value:.0}{}", units[unit])
    } else {
        format!("{value:.2}{}", units[unit])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(mib: u64, text: &str) {
        assert_eq!(mebibytes_text(mib), text);
    }

    #[test]
    fn a_unit_is_taken_where_nothing_is_lost() {
        check(0, "0");
        check(100, "100M");
        check(1023, "1023M");
        check(1024, "1G");
        check(2048, "2G");
        check(2560, "2.50G");
        check(2000, "2000M");
        check(16_000, "16000M");
        check(1_048_576, "1T");
    }
}
