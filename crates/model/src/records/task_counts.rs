//! Counts of CPUs or tasks node by node, as Slurm's variables hold them.

/// Counts node by node as Slurm's variables hold them: `2(x3),1`.
#[must_use]
pub fn counts_text(counts: &[u32]) -> String {
    let parts: Vec<String> = counts
        .chunk_by(|left, right| left == right)
        .map(|run| match run {
            [one] => one.to_string(),
            run => format!("{}(x{})", run[0], run.len()),
        })
        .collect();
    parts.join(",")
}

/// Reads `2(x3),1` back; `None` when it is no such text.
#[must_use]
pub fn parse_counts(text: &str) -> Option<Vec<u32>> {
    let mut counts = Vec::new();
    for part in text.split(',') {
        let (count, times) = match part.split_once("(x") {
            Some((count, times)) => (count, times.strip_suffix(')')?.parse().ok()?),
            None => (part, 1_usize),
        };
        if times > MOST_NODES {
            return None;
        }
        counts.extend(std::iter::repeat_n(count.parse::<u32>().ok()?, times));
    }
    Some(counts)
}

/// More nodes than any list has; keeps `1(x4000000000)` from filling the memory.
const MOST_NODES: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn counts_print_and_parse(counts in prop::collection::vec(0_u32..4, 1..20)) {
            prop_assert_eq!(parse_counts(&counts_text(&counts)), Some(counts));
        }
    }
}
