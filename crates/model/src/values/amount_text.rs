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

/// A number as Slurm prints it with a unit: `3981`, `1348K`, `1.50M`. A unit is taken only where
/// little is lost, as for [`mebibytes_text`].
#[must_use]
pub fn amount_text(number: u64) -> String {
    let mut value = number as f64;
    let mut units = ['K', 'M', 'G', 'T', 'P'].into_iter();
    let mut unit = None;
    while value >= 1024.0 && (value as u64).is_multiple_of(512) {
        let Some(next) = units.next() else { break };
        value /= 1024.0;
        unit = Some(next);
    }
    let unit = unit.map(String::from).unwrap_or_default();
    if value.fract() == 0.0 {
        format!("{value:.0}{unit}")
    } else {
        format!("{value:.2}{unit}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(mib: u64, text: &str) {
        assert_eq!(mebibytes_text(mib), text);
    }

    /// As a real `sstat` prints them.
    #[test]
    fn bytes_have_a_unit_where_little_is_lost() {
        for (number, text) in [
            (0, "0"),
            (3981, "3981"),
            (2500 << 10, "2500K"),
            (1_049_088, "1.00M"),
            (1 << 30, "1G"),
        ] {
            assert_eq!(amount_text(number), text);
        }
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
