//! Names that may be shortened.

/// `text` is `name` or the beginning of it, at least so many letters long, in any case.
#[must_use]
pub fn abbreviates(text: &str, name: &str, least: usize) -> bool {
    text.len() >= least
        && name
            .get(..text.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(text))
}
