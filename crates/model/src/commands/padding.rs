//! Columns of tables: how wide they are asked for, and texts filled up to that.

/// Wider than any line: a larger number would only fill the memory.
const WIDEST: isize = 65_536;

/// What stands after `%` in a list of columns, below 0 to the left; `None` where it is no number.
pub(super) fn asked_width(text: &str) -> Option<isize> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|it| it.is_ascii_digit()) {
        return None;
    }
    let width = digits.parse().unwrap_or(WIDEST).min(WIDEST);
    Some(if text.starts_with('-') { -width } else { width })
}

/// A text filled up to a width. The formatter of the standard library panics on widths of 65,536
/// and more.
pub(super) fn padded(text: &str, width: usize, left: bool) -> String {
    let fill = " ".repeat(width.saturating_sub(text.chars().count()));
    if left {
        format!("{text}{fill}")
    } else {
        format!("{fill}{text}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_beyond_what_the_formatter_takes() {
        let check = |text: &str, want: Option<isize>| assert_eq!(asked_width(text), want, "{text}");
        check("20", Some(20));
        check("-8", Some(-8));
        check("65535", Some(65_535));
        check("-65536", Some(-65_536));
        check("99999999999", Some(WIDEST));
        check("-99999999999999999999999", Some(-WIDEST));
        check("", None);
        check("-", None);
        check("x", None);
        assert_eq!(padded("größe", 7, false), "  größe");
        assert_eq!(padded("größe", 3, true), "größe");
        assert_eq!(padded("a", 65_536, true).len(), 65_536);
    }
}
