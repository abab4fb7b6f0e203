//! Texts in lines that fit a terminal.

/// No line that is written for people is longer, in characters, unless a single word is.
pub const WIDEST: usize = 100;

/// Writes words into lines of at most [`WIDEST`], `head` before the first and `more` before the
/// others. Ends with a line feed.
pub fn wrap(shown: &mut String, head: &str, more: &str, text: &str) {
    wrap_within(WIDEST, shown, head, more, text);
}

/// Like [`wrap`], into lines of at most `width`.
pub fn wrap_within(width: usize, shown: &mut String, head: &str, more: &str, text: &str) {
    let columns = |text: &str| text.chars().count();
    let mut used = columns(head);
    shown.push_str(head);
    let room = width.saturating_sub(columns(more));
    for (index, word) in text.split(' ').enumerate() {
        // A list that has no room in a line ends it behind one of its commas.
        let is_list = columns(word) > room;
        let parts: Vec<&str> = if is_list {
            word.split_inclusive(',').collect()
        } else {
            vec![word]
        };
        for (place, part) in parts.into_iter().enumerate() {
            let long = columns(part);
            let blank = usize::from(index > 0 && place == 0);
            if (index > 0 || place > 0) && used + blank + long > width {
                shown.push('\n');
                shown.push_str(more);
                used = columns(more);
            } else if blank > 0 {
                shown.push(' ');
                used += 1;
            }
            shown.push_str(part);
            used += long;
        }
    }
    shown.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: &str) {
        let mut shown = String::new();
        wrap(&mut shown, "  help: ", "        ", text);
        assert_eq!(shown, want);
    }

    #[test]
    fn lines_end_between_words() {
        check("do it", "  help: do it\n");
        let (fits, long) = ("x".repeat(92), "y".repeat(93));
        check(&fits, &format!("  help: {fits}\n"));
        check(
            &format!("a {fits} b"),
            &format!("  help: a\n        {fits}\n        b\n"),
        );
        check(&long, &format!("  help: {long}\n"));
        let (first, second) = (format!("{},", "z".repeat(60)), "z".repeat(60));
        check(
            &format!("of {first}{second}"),
            &format!("  help: of {first}\n        {second}\n"),
        );
    }
}
