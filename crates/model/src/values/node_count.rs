//! Numbers of nodes: `4`, `2-4`, `1k`, `2-0` (no greatest number).

use crate::values::SlurmVersion;
use crate::values::number::leading;
use std::fmt;

/// `--nodes`: how many nodes at least and at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeCount {
    /// At least.
    pub min: u32,
    /// At most; `None` leaves it open.
    pub max: Option<u32>,
}

impl NodeCount {
    /// Reads what `--nodes` takes; `k` and `m` stand for 1024 and 1048576. The error is Slurm's
    /// sentence.
    pub fn parse(text: &str) -> Result<NodeCount, String> {
        NodeCount::parse_in(SlurmVersion::V22_05, text)
    }

    /// The same by the rules of a version: 23.02 takes a list of numbers, of which the least and the
    /// greatest count here, and no number that an `int` can't hold (`verify_node_count` of
    /// `proc_args.c`).
    pub(crate) fn parse_in(version: SlurmVersion, text: &str) -> Result<NodeCount, String> {
        let invalid = |text: &str| format!("\"{text}\" is not a valid node count");
        let later = version >= SlurmVersion::V23_02;
        if later && text.contains([',', ':']) {
            return of_list(text).ok_or_else(|| invalid(text));
        }
        let fits = |count: &i64| !later || *count <= i64::from(i32::MAX);
        let count = |text: &str| count(text).filter(fits).ok_or_else(|| invalid(text));
        let (min, max) = match text.split_once('-') {
            Some((min, max)) => {
                let min = count(min)?;
                (if min < 0 { 1 } else { min }, count(max)?)
            }
            None => {
                let number = count(text)?;
                (number, number)
            }
        };
        if min < 0 {
            return Err(invalid(text));
        }
        if max != 0 && max < min {
            return Err(format!(
                "Maximum node count {max} is less than minimum node count {min}"
            ));
        }
        let max = u32::try_from(max).map_err(|_| invalid(text))?;
        let min = u32::try_from(min).map_err(|_| invalid(text))?;
        Ok(NodeCount {
            min,
            max: (max != 0).then_some(max),
        })
    }
}

impl fmt::Display for NodeCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.max {
            Some(max) if max == self.min => self.min.fmt(f),
            Some(max) => write!(f, "{}-{max}", self.min),
            None => write!(f, "{}-0", self.min),
        }
    }
}

/// `1,3,8-10` or `2-10:2`: the least and the greatest number of the list.
fn of_list(text: &str) -> Option<NodeCount> {
    let number = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse::<u32>().ok())?
    };
    let mut bounds: Option<(u32, u32)> = None;
    for part in text.split(',') {
        let (range, step) = match part.split_once(':') {
            Some((range, step)) => (range, Some(number(step).filter(|step| *step > 0)?)),
            None => (part, None),
        };
        let (low, high) = match range.split_once('-') {
            Some((low, high)) => (number(low)?, number(high)?),
            None if step.is_some() => return None,
            None => (number(range)?, number(range)?),
        };
        let last = low + high.checked_sub(low)? / step.unwrap_or(1) * step.unwrap_or(1);
        let (least, most) = bounds.unwrap_or((low, last));
        bounds = Some((least.min(low), most.max(last)));
    }
    let (min, max) = bounds?;
    Some(NodeCount {
        min,
        max: Some(max),
    })
}

fn count(text: &str) -> Option<i64> {
    let (number, rest) = leading(text);
    let factor = match rest.chars().next() {
        Some('k' | 'K') => 1024,
        Some('m' | 'M') => 1_048_576,
        _ => 1,
    };
    let factor = if number.is_some() { factor } else { 1 };
    let rest = if factor == 1 { rest } else { &rest[1..] };
    // No number at all is -1 to Slurm, which it calls a range's end, too.
    let number = match number {
        Some(number) => number.checked_mul(factor)?,
        None => -1,
    };
    rest.trim().is_empty().then_some(number)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails loudly")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[track_caller]
    fn check(text: &str, printed: &str) {
        let read = NodeCount::parse(text).map(|count| count.to_string());
        assert_eq!(read.unwrap_or_else(|error| error), printed);
    }

    #[test]
    fn forms() {
        check("2", "2");
        check("2-4", "2-4");
        check("1k", "1024");
        check("2-0", "2-0");
        check(
            "2-",
            "Maximum node count -1 is less than minimum node count 2",
        );
        check("1-k", "\"k\" is not a valid node count");
        check("", "\"\" is not a valid node count");
        check(
            "4-2",
            "Maximum node count 2 is less than minimum node count 4",
        );
        check("1,3", "\"1,3\" is not a valid node count");
        check("two", "\"two\" is not a valid node count");
    }

    proptest! {
        #[test]
        fn print_then_parse(min in 1_u32..2000, more in prop::option::of(0_u32..50)) {
            let count = NodeCount { min, max: more.map(|more| min + more) };
            prop_assert_eq!(NodeCount::parse(&count.to_string()).unwrap(), count);
        }
    }
}
