//! Slips of the pen.

/// Whether one letter more, one less, two swapped, or `_` for `-` is all that parts two words.
pub(crate) fn is_slip(written: &str, meant: &str) -> bool {
    let fold = |text: &str| text.replace('_', "-").to_ascii_lowercase();
    let (written, meant) = (fold(written), fold(meant));
    if written == meant {
        return true;
    }
    let (a, b): (Vec<char>, Vec<char>) = (written.chars().collect(), meant.chars().collect());
    let same = a.iter().zip(&b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[same..], &b[same..]);
    match a.len().cmp(&b.len()) {
        std::cmp::Ordering::Greater => a.len() == b.len() + 1 && a[1..] == *b,
        std::cmp::Ordering::Less => b.len() == a.len() + 1 && b[1..] == *a,
        std::cmp::Ordering::Equal => {
            a.len() >= 2 && a[0] == b[1] && a[1] == b[0] && a[2..] == b[2..]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_slip;

    #[test]
    fn one_letter_is_a_slip_and_two_are_not() {
        for (written, meant) in [
            ("partiton", "partition"),
            ("paritition", "partition"),
            ("ntaks", "ntasks"),
            ("cpus_per_task", "cpus-per-task"),
            ("ntsaks", "ntasks"),
        ] {
            assert!(is_slip(written, meant), "{written}");
        }
        for (written, meant) in [("include", "exclude"), ("grep", "gres"), ("", "ab")] {
            assert!(!is_slip(written, meant), "{written}");
        }
    }
}
