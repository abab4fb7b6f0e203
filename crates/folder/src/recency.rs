//! Which of a run's checkpoints is the newest.

use model::Timestamp;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// How much later than a name with a step one without must have been written to be the newer: `last`
/// beside `step-100` is mostly a copy of it, and a program may look for names with steps alone.
const COPY_MS: i64 = 60_000;

/// What tells which of two checkpoints is the newer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Age {
    /// What those of its series have in common.
    series: String,
    step: Option<u64>,
    /// When the program wrote it.
    written: Option<Timestamp>,
    bytes: Option<u64>,
}

impl Age {
    /// Of the checkpoint of that name and step, which the program wrote then and which has so many bytes, where
    /// that is known.
    #[must_use]
    pub fn new(
        name: &str,
        step: Option<u64>,
        written: Option<Timestamp>,
        bytes: Option<u64>,
    ) -> Age {
        Age {
            series: series(name),
            step,
            written,
            bytes,
        }
    }

    /// Whether it has less than half of the bytes of the largest: `log.txt` and `metrics-rank0.jsonl` are no
    /// checkpoints. One with a step is so beside others with steps alone: `adapter-10` may be smaller than the
    /// `base.pt` that it goes with.
    fn is_beside(&self, largest: &Largest) -> bool {
        let largest = match self.step {
            Some(_) => largest.with_step,
            None => largest.of_all,
        };
        let is_small = |bytes: u64| bytes.saturating_mul(2) < largest;
        self.bytes.is_some_and(is_small)
    }

    /// Compares those of one series.
    fn in_series(&self) -> (Option<u64>, Option<Timestamp>) {
        (self.step, self.written)
    }

    /// Compares the newest of each series.
    fn among_series(&self) -> (Option<i64>, Option<u64>) {
        let ahead = if self.step.is_some() { COPY_MS } else { 0 };
        let written = self.written.map(|at| at.0.saturating_add(ahead));
        (written, self.step)
    }
}

/// The most bytes that one has.
struct Largest {
    of_all: u64,
    with_step: u64,
}

/// The newest first: in a series (names that differ in numbers alone) by step, else by when the program
/// wrote them. Those that are equally new keep their order. Series whose newest is small come last.
pub fn newest_first<T>(all: Vec<T>, age: impl Fn(&T) -> Age) -> Vec<T> {
    let ages: Vec<Age> = all.iter().map(&age).collect();
    let most = |is: &dyn Fn(&&Age) -> bool| {
        let bytes = ages.iter().filter(is).filter_map(|age| age.bytes);
        bytes.max().unwrap_or(0)
    };
    let largest = Largest {
        of_all: most(&|_| true),
        with_step: most(&|age| age.step.is_some()),
    };
    let mut by_series: BTreeMap<String, Vec<(Age, T)>> = BTreeMap::new();
    for one in all {
        let age = age(&one);
        let same = by_series.entry(age.series.clone()).or_default();
        same.push((age, one));
    }
    for same in by_series.values_mut() {
        same.sort_by_key(|(age, _)| Reverse(age.in_series()));
        // The newest is the last, where it is taken from.
        same.reverse();
    }
    let mut ordered = Vec::new();
    loop {
        let heads = by_series.values_mut().filter(|same| !same.is_empty());
        let key = |(age, _): &(Age, T)| (!age.is_beside(&largest), age.among_series());
        let newest = heads.max_by_key(|same| same.last().map(key));
        match newest.and_then(Vec::pop) {
            Some((_, one)) => ordered.push(one),
            None => return ordered,
        }
    }
}

/// What entries have in common of which one is written after the other: the name without numbers.
#[must_use]
pub fn series(name: &str) -> String {
    let mut series = String::with_capacity(name.len());
    for letter in name.chars() {
        let next = if letter.is_ascii_digit() { '#' } else { letter };
        // Digits that follow each other are one number.
        if !letter.is_ascii_digit() || !series.ends_with('#') {
            series.push(next);
        }
    }
    series
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names with the second at which each was written; `-`: not known.
    #[track_caller]
    fn check(all: &[(&str, &str)], want: &[&str]) {
        let age = |(name, at): &(&str, &str)| {
            let written = at.parse().ok().map(|second: i64| Timestamp(second * 1000));
            let small = ["log.txt", "metrics-rank0.jsonl", "adapter-10"];
            let is_small = small.contains(name);
            let bytes = if is_small { 9 } else { 20 };
            Age::new(name, crate::step_of(name), written, Some(bytes))
        };
        let ordered = newest_first(all.to_vec(), age);
        let names: Vec<&str> = ordered.iter().map(|(name, _)| *name).collect();
        assert_eq!(names, want, "{all:?}");
    }

    /// It was resumed from the older one, since at a stop the newest is copied first.
    #[test]
    fn best_that_was_copied_after_last_is_older_if_it_was_written_before() {
        check(
            &[("best.pt", "10"), ("last.pt", "40")],
            &["last.pt", "best.pt"],
        );
        check(
            &[("last.pt", "10"), ("best.pt", "11")],
            &["best.pt", "last.pt"],
        );
    }

    #[test]
    fn in_a_series_by_step_and_else_by_when_they_were_written() {
        check(&[("a-5", "9"), ("a-10", "3")], &["a-10", "a-5"]);
        check(
            &[("a-5", "100"), ("a-10", "200"), ("b-7", "150")],
            &["a-10", "b-7", "a-5"],
        );
        check(&[("a-5", "-"), ("last", "-")], &["a-5", "last"]);
    }

    #[test]
    fn a_name_without_a_step_is_a_copy_unless_it_was_written_much_later() {
        check(&[("last", "101"), ("a-10", "100")], &["a-10", "last"]);
        check(&[("a-10", "100"), ("last", "161")], &["last", "a-10"]);
    }

    #[test]
    fn a_small_file_beside_the_checkpoints_is_none_however_new() {
        check(&[("log.txt", "900"), ("a-10", "100")], &["a-10", "log.txt"]);
        check(&[("log.txt", "900"), ("last", "100")], &["last", "log.txt"]);
        check(
            &[("metrics-rank0.jsonl", "900"), ("a-10", "100")],
            &["a-10", "metrics-rank0.jsonl"],
        );
        check(
            &[("base.pt", "1"), ("adapter-10", "100")],
            &["adapter-10", "base.pt"],
        );
    }

    #[test]
    fn names_of_one_series() {
        assert_eq!(series("epoch=13-step=1000.ckpt"), "epoch=#-step=#.ckpt");
        assert_eq!(series("last"), "last");
    }
}
