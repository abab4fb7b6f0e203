//! How many of something, in words.

/// `1 change`, `2 changes`: `what` is the one, and makes its plural with an `s`.
#[must_use]
pub fn counted(count: usize, what: &str) -> String {
    match count {
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn one_alone_has_no_plural() {
        assert_eq!(counted(0, "note"), "0 notes");
        assert_eq!(counted(1, "note"), "1 note");
        assert_eq!(counted(2, "note"), "2 notes");
    }
}
