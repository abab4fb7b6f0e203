//! Job arrays: `0-15`, `1,3,5`, `0-30:5%2`.

use crate::ArraySpec;
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
        let (indices, step) = elements(list)?;
        Some(ArraySpec {
            indices,
            step,
            throttle: throttle.filter(|throttle| *throttle > 0),
        })
    }
}

/// Reads `0-3,7,10-20:5`: the indices, and the first step that is written.
fn elements(list: &str) -> Option<(Vec<u32>, u32)> {
    let mut indices = Vec::new();
    let mut written = None;
    for part in list.split(',') {
        let (range, step) = match part.split_once(':') {
            Some((range, step)) => (range, Some(number(step).filter(|step| *step > 0)?)),
            None => (part, None),
        };
        let (first, last) = match range.split_once('-') {
            Some((first, last)) => (number(first)?, number(last)?),
            None if step.is_some() => return None,
            None => (number(range)?, number(range)?),
        };
        if last < first || last >= MOST {
            return None;
        }
        indices.extend((first..=last).step_by(step.unwrap_or(1) as usize));
        written = written.or(step);
    }
    indices.sort_unstable();
    indices.dedup();
    Some((indices, written.unwrap_or(1)))
}

/// Indices as `0-3,7`.
pub(crate) mod indices_as_text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use std::borrow::Cow;

    pub(crate) fn serialize<S: Serializer>(indices: &[u32], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&crate::array_elements_text(indices, None, true))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u32>, D::Error> {
        let text = Cow::<str>::deserialize(from)?;
        if text.is_empty() {
            return Ok(Vec::new());
        }
        let (indices, _) = super::elements(&text)
            .ok_or_else(|| D::Error::custom(format!("{text}: no indices of an array")))?;
        Ok(indices)
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

    #[test]
    fn the_step_that_is_written_is_kept() {
        let step = |text: &str| ArraySpec::parse(text).unwrap().step;
        assert_eq!(step("1-5:2"), 2);
        assert_eq!(step("1,3,5"), 1);
        assert_eq!(step("0-9%2"), 1);
        assert_eq!(step("0-4,10-20:5%3"), 5);
    }

    proptest! {
        #[test]
        fn print_then_parse(indices in prop::collection::btree_set(0_u32..100, 1..40), throttle in prop::option::of(1_u32..9)) {
            let spec = ArraySpec { indices: indices.into_iter().collect(), step: 1, throttle };
            prop_assert_eq!(ArraySpec::parse(&spec.to_string()).unwrap(), spec);
        }

        #[test]
        fn no_text_panics(text in "[0-9,:%-]{0,20}") {
            let _ = ArraySpec::parse(&text);
        }
    }
}
