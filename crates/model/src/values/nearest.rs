//! The known word that a person most likely meant.

/// The nearest of `known`, when it is near enough to be meant: at most a third of the letters
/// differ, swapped neighbours count once.
#[must_use]
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().count();
    let limit = (length / 3).max(1);
    known
        .into_iter()
        // Also what keeps a word of a megabyte from being compared letter by letter.
        .filter(|candidate| candidate.chars().count().abs_diff(length) <= limit)
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Insertions, deletions, replacements and swaps of neighbours (optimal string alignment). Case,
/// `-` and `_` make no difference.
fn distance(one: &str, other: &str) -> usize {
    let fold = |text: &str| -> Vec<char> {
        let text = text.to_lowercase().replace('-', "_");
        text.chars().collect()
    };
    let (one, other) = (fold(one), fold(other));
    let mut rows = vec![(0..=other.len()).collect::<Vec<usize>>()];
    for (i, a) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let mut least = (rows[i][j + 1] + 1)
                .min(row[j] + 1)
                .min(rows[i][j] + usize::from(a != b));
            if i > 0 && j > 0 && *a == other[j - 1] && one[i - 1] == *b {
                least = least.min(rows[i - 1][j - 1] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[one.len()][other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(word: &str, want: Option<&str>) {
        let known = ["nodes", "gpus_per_node", "cpus_per_rank", "time", "memory"];
        assert_eq!(nearest(word, known), want);
    }

    #[test]
    fn near_words_are_found_and_far_ones_are_not() {
        check("node", Some("nodes"));
        check("gpus-per-node", Some("gpus_per_node"));
        check("gpu_per_nodes", Some("gpus_per_node"));
        check("tiem", Some("time"));
        check("walltime_limit", None);
        check("x", None);
    }
}
