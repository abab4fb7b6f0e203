//! Job arrays: `0-15`, `1,3,5`, `0-30:5%2`.

use crate::values::number::leading;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The elements of a job array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArraySpec {
    /// Indices, ascending, each once. Stored and sent as text: an array's row is written anew at
    /// the start of each of its elements.
    #[serde(with = "crate::values::array_spec::indices_as_text")]
    pub indices: Vec<u32>,
    /// The step that was written, `2` in `1-5:2`; 1 where none was. Jobs know it.
    pub step: u32,
    /// `%N`: at most so many at once.
    pub throttle: Option<u32>,
}

/// One more than the greatest index: Slurm's `MaxArraySize` can't be set higher.
const MOST: u32 = 4_000_001;
/// Most indices in one text, those given again counted again: ours, so that no text can fill the
/// memory.
const MOST_WRITTEN: usize = 4 * MOST as usize;

impl ArraySpec {
    /// Reads what `--array` takes; `None` where Slurm says "Invalid job array specification".
    /// Indices given twice count once. What a `%` is followed by is no error, and nothing where it
    /// is no number above 0 (`_valid_array_inx` and `_create_job_array` of job_mgr.c).
    #[must_use]
    pub fn parse(text: &str) -> Option<ArraySpec> {
        let (indices, step) = elements(text)?;
        let throttle = text.split_once('%').and_then(|(_, text)| leading(text).0);
        Some(ArraySpec {
            indices,
            step,
            throttle: throttle
                .and_then(|throttle| u32::try_from(throttle).ok())
                .filter(|throttle| *throttle > 0),
        })
    }
}

/// Reads `0-3,7,10-20:5`: the indices, and the first step that is written.
fn elements(list: &str) -> Option<(Vec<u32>, u32)> {
    let mut indices = Vec::new();
    let mut written = None;
    for part in list.split(',').filter(|part| !part.is_empty()) {
        let (first, last, step) = element(part)?;
        if indices.len() > MOST_WRITTEN {
            return None;
        }
        indices.extend((first..=last).step_by(step.unwrap_or(1) as usize));
        written = written.or(step);
    }
    indices.sort_unstable();
    indices.dedup();
    (!indices.is_empty()).then(|| (indices, written.unwrap_or(1)))
}

/// Reads `3`, `3-7` or `3-7:2`, each with brackets round it or not, up to a `%`
/// (`_parse_array_tok`, job_mgr.c).
fn element(part: &str) -> Option<(u32, u32, Option<u32>)> {
    let (first, rest) = number(part.strip_prefix('[').unwrap_or(part));
    let rest = closed(rest);
    let (last, step, rest) = match rest.strip_prefix('-') {
        None => (first, None, rest),
        Some(rest) => {
            let (last, rest) = number(rest);
            let rest = closed(rest);
            match rest.strip_prefix(':') {
                None => (last, None, rest),
                Some(rest) => {
                    let (step, rest) = number(rest);
                    (last, Some(step), closed(rest))
                }
            }
        }
    };
    let fits = |number: &i64| (0..i64::from(MOST)).contains(number);
    let is_over = rest.is_empty() || rest.starts_with('%');
    if !is_over || last < first || !fits(&first) || !fits(&last) {
        return None;
    }
    let index = |number: i64| u32::try_from(number).ok();
    let step = match step {
        Some(step) => Some(index(step).filter(|step| *step > 0 && *step < MOST)?),
        None => None,
    };
    Some((index(first)?, index(last)?, step))
}

/// What follows the bracket that may stand here.
fn closed(rest: &str) -> &str {
    rest.strip_prefix(']').unwrap_or(rest)
}

/// What `strtol` reads, 0 where there is no number, and what follows.
fn number(text: &str) -> (i64, &str) {
    let (number, rest) = leading(text);
    (number.unwrap_or(0), rest)
}

/// Indices as `0-3,7`.
pub(crate) mod indices_as_text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};
    use std::borrow::Cow;

    pub(crate) fn serialize<S: Serializer>(indices: &[u32], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&crate::values::array_elements_text(indices, None, true))
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
        f.write_str(&crate::values::array_elements_text(
            &self.indices,
            self.throttle,
            true,
        ))
    }
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
        // What no manual page has and a real 22.05.8 takes.
        check("+5", "5");
        check("1%2%3", "1%2");
        check("1%", "1");
        check("%A_%a", "0");
        check("1,,2", "1-2");
        check("[1],[3-5:2]", "1,3,5");
        check("0-", "0");
        for wrong in [
            "",
            ",",
            "1-",
            "-1",
            "1 -4",
            "3-1",
            "0-9:0",
            "5:2",
            "a",
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
