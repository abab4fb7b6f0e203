//! Job arrays: `0-15`, `1,3,5`, `0-30:5%2`.

use crate::ArraySpec;
use std::collections::BTreeSet;
use std::fmt;

/// One more than the greatest index: Slurm's `MaxArraySize` can't be set higher.
const MOST: u32 = 4_000_001;

impl ArraySpec {
    /// Reads what `--array` takes; `None` where Slurm says "Invalid job array specification".
    /// Indices given twice count once.
    #[must_use]
    pub fn parse(text: &str) -> Option<ArraySpec> {
        let (list, throttle) = match text.split_once('%') {
            Some((list, throttle)) => (list, Some(throttle.parse::<u32>().ok()?)),
            None => (text, None),
        };
        let list = match list.strip_prefix('[') {
            Some(list) => list.strip_suffix(']')?,
            None => list,
        };
        let mut indices = BTreeSet::new();
        for part in list.split(',') {
            let (range, step) = match part.split_once(':') {
                Some((range, step)) => (range, number(step).filter(|step| *step > 0)?),
                None => (part, 1),
            };
            let (first, last) = match range.split_once('-') {
                Some((first, last)) => (number(first)?, number(last)?),
                None if part.contains(':') => return None,
                None => (number(range)?, number(range)?),
            };
            if last < first || last >= MOST {
                return None;
            }
            indices.extend((first..=last).step_by(step as usize));
        }
        Some(ArraySpec {
            indices: indices.into_iter().collect(),
            throttle: throttle.filter(|throttle| *throttle > 0),
        })
    }
}

impl fmt::Display for ArraySpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&crate::array_elements_text(
            &self.indices,
            self.throttle,
            true,
        ))
    }
}

fn number(text: &str) -> Option<u32> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok())?
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails loudly")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, printed: &str) {
        let read = ArraySpec::parse(text);
        assert_eq!(
            read.map_or("invalid".to_owned(), |spec| spec.to_string()),
            printed
        );
    }

    #[test]
    fn forms() {
        check("0-15:4", "0,4,8,12");
        check("1-3,2-5", "1-5");
        check("5,1,3%2", "1,3,5%2");
        check("[0-3]", "0-3");
        check("0-20%0", "0-20");
        for wrong in [
            "",
            "1-",
            "-1",
            "1 -4",
            "3-1",
            "0-9:0",
            "5:2",
            "a",
            "1%",
            "1,,2",
            "0-4000001",
        ] {
            check(wrong, "invalid");
        }
    }

    proptest! {
        #[test]
        fn print_then_parse(indices in prop::collection::btree_set(0_u32..100, 1..40), throttle in prop::option::of(1_u32..9)) {
            let spec = ArraySpec { indices: indices.into_iter().collect(), throttle };
            prop_assert_eq!(ArraySpec::parse(&spec.to_string()).unwrap(), spec);
        }

        #[test]
        fn no_text_panics(text in "[0-9,:%-]{0,20}") {
            let _ = ArraySpec::parse(&text);
        }
    }
}
