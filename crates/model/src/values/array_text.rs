//! The waiting elements of an array as Slurm's commands print them.

/// Longest text of the elements, unless all of it is asked for: Slurm's buffer of 64 bytes.
const ROOM: usize = 61;

/// `0-3,7`, `0-30:5`, and `%3` behind it when only so many may run at once. `whole` prints what is
/// too long for Slurm's buffer; else it ends in `...`.
#[must_use]
pub fn array_elements_text(indices: &[u32], throttle: Option<u32>, whole: bool) -> String {
    let mut text = stepped(indices).unwrap_or_else(|| {
        let text = number_ranges(indices);
        if whole || text.len() <= ROOM {
            text
        } else {
            format!("{}...", &text[..ROOM - 1])
        }
    });
    if let Some(throttle) = throttle {
        text.push_str(&format!("%{throttle}"));
    }
    text
}

/// `0-30:5`: Slurm's form for more than five elements of equal distance over more than ten.
fn stepped(indices: &[u32]) -> Option<String> {
    let (first, last) = (*indices.first()?, *indices.last()?);
    let step = indices.get(1)? - first;
    let even = indices.windows(2).all(|pair| pair[1] - pair[0] == step);
    (last - first > 10 && indices.len() > 5 && step > 1 && even)
        .then(|| format!("{first}-{last}:{step}"))
}

/// `0-3,5`: ascending numbers, as ranges.
#[must_use]
pub fn number_ranges(indices: &[u32]) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut rest = indices;
    while let [first, ..] = rest {
        let run = rest
            .iter()
            .enumerate()
            .take_while(|(offset, index)| u64::from(**index) == u64::from(*first) + *offset as u64)
            .count();
        let last = rest[run - 1];
        parts.push(if run == 1 {
            first.to_string()
        } else {
            format!("{first}-{last}")
        });
        rest = &rest[run..];
    }
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(indices: &[u32], throttle: Option<u32>, text: &str) {
        assert_eq!(array_elements_text(indices, throttle, false), text);
    }

    #[test]
    fn elements_are_ranges() {
        check(&[0], None, "0");
        check(&[1, 3, 5], None, "1,3,5");
        check(&[0, 4, 8, 12], None, "0,4,8,12");
        check(&[0, 1, 2, 3, 7, 9, 10, 11, 12], None, "0-3,7,9-12");
        check(&[0, 5, 10, 15, 20], Some(3), "0,5,10,15,20%3");
        check(&[0, 5, 10, 15, 20, 25], None, "0-25:5");
    }

    #[test]
    fn long_texts_end_in_dots() {
        let odd: Vec<u32> = (0..60).map(|n| n * n).collect();
        let text = array_elements_text(&odd, None, false);
        assert_eq!(text.len(), 63);
        assert!(text.ends_with("..."));
        assert!(array_elements_text(&odd, None, true).ends_with(",3481"));
    }
}
