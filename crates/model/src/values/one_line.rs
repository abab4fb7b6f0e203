//! Values that stand in one line of a record or a table.

use std::borrow::Cow;
use std::fmt::Write;

/// A text in one line: line ends and other control characters stand as `\n`, `\x1b` and the like,
/// so that no value makes a row of its own or controls the terminal of whoever lists jobs. So do
/// marks that reverse the direction of what follows.
#[must_use]
pub fn one_line(text: &str) -> Cow<'_, str> {
    // Almost all is plain ASCII, which is seen at a glance.
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_plain || !text.contains(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut line = String::with_capacity(text.len() + 8);
    for letter in text.chars() {
        match letter {
            '\n' => line.push_str("\\n"),
            '\r' => line.push_str("\\r"),
            '\t' => line.push_str("\\t"),
            letter if !is_unsafe(letter) => line.push(letter),
            letter => {
                let code = u32::from(letter);
                // Writing to a string cannot fail.
                let _written = if code < 0x100 {
                    write!(line, "\\x{code:02x}")
                } else {
                    write!(line, "\\u{{{code:x}}}")
                };
            }
        }
    }
    Cow::Owned(line)
}

fn is_unsafe(letter: char) -> bool {
    letter.is_control()
        || matches!(letter, '\u{2028}' | '\u{2029}')
        || matches!(letter, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_plain_stays() {
        assert!(matches!(one_line("größer \\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn control_characters_are_shown() {
        assert_eq!(one_line("a\nb\r\tc"), "a\\nb\\r\\tc");
        assert_eq!(
            one_line("\x1b[2J\u{9b}2J\x7f\0"),
            "\\x1b[2J\\x9b2J\\x7f\\x00"
        );
        assert_eq!(one_line("x\u{202e}y\u{2028}"), "x\\u{202e}y\\u{2028}");
    }
}
