//! A length of time as people write it.

/// `25s`, `10m`, `24h`, `2d`, `1h30m`, in seconds: numbers with units, each unit smaller than the one before.
#[must_use]
pub fn length_with_units(text: &str) -> Option<u64> {
    let mut rest = text;
    let mut total = 0_u64;
    let mut above = u64::MAX;
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit())?;
        let amount: u64 = rest[..digits].parse().ok()?;
        rest = &rest[digits..];
        let letters = rest
            .find(|letter: char| !letter.is_ascii_alphabetic())
            .unwrap_or(rest.len());
        let unit = match rest[..letters].to_ascii_lowercase().as_str() {
            "s" | "sec" => 1,
            "m" | "min" => 60,
            "h" => 3600,
            "d" => 86_400,
            _ => return None,
        };
        if unit >= above {
            return None;
        }
        above = unit;
        total = total.checked_add(amount.checked_mul(unit)?)?;
        rest = rest[letters..].trim_start();
    }
    (above != u64::MAX).then_some(total)
}
