//! Which of a run's checkpoints is the newest.

use crate::checkpoint_name::{Position, is_of_data, series};
use model::Timestamp;
use std::collections::BTreeMap;

/// How much later than a name with a step one without must have been written to be the newer: `last`
/// beside `step-100` is mostly a copy of it, and a program may look for names with steps alone.
const COPY_MS: i64 = 60_000;

/// What tells which of two checkpoints is the newer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Age {
    /// What those of its series have in common.
    series: String,
    position: Option<Position>,
    /// Whether it is a table, a text or a picture by its name.
    is_of_data: bool,
    /// When the program wrote it.
    written: Option<Timestamp>,
    bytes: Option<u64>,
}

impl Age {
    /// Of the checkpoint of that name, which the program wrote then and which has so many bytes, where that is
    /// known.
    #[must_use]
    pub fn new(name: &str, written: Option<Timestamp>, bytes: Option<u64>) -> Age {
        Age {
            series: series(name),
            position: Position::of(name),
            is_of_data: is_of_data(name),
            written,
            bytes,
        }
    }

    /// The same, of one whose number counts nothing here: it is of another run's training.
    #[must_use]
    pub fn without_step(self) -> Age {
        Age {
            position: None,
            ..self
        }
    }

    /// How far the training was by its name.
    #[must_use]
    pub fn position(&self) -> Option<&Position> {
        self.position.as_ref()
    }

    /// Whether it has less than half of the bytes of the largest: a small state of the program is no checkpoint.
    /// One with a step is so beside others with steps alone: `adapter-10` may be smaller than the
    /// `base.pt` that it goes with.
    fn is_beside(&self, largest: &Largest) -> bool {
        let largest = match self.position {
            Some(_) => largest.with_step,
            None => largest.of_all,
        };
        let is_small = |bytes: u64| bytes.saturating_mul(2) < largest;
        self.bytes.is_some_and(is_small)
    }

    /// Compares those of one series.
    fn in_series(&self, by_number: bool) -> (Option<&Position>, Option<Timestamp>) {
        let position = self.position.as_ref().filter(|_| by_number);
        (position, self.written)
    }

    /// Compares the newest of each series.
    fn among_series(&self) -> (Option<i64>, Option<&Position>) {
        let ahead = if self.position.is_some() { COPY_MS } else { 0 };
        let written = self.written.map(|at| at.0.saturating_add(ahead));
        (written, self.position.as_ref())
    }
}

/// Whether the numbers in the names of these, which are of one series, tell which is the newest. They don't
/// where no word says what they count and they fall more often than they rise while time goes on: then they are a
/// metric.
#[must_use]
pub fn goes_by_number(same: &[Age]) -> bool {
    let with_step = same
        .iter()
        .filter_map(|age| Some((age.written, age.position()?)));
    let mut known: Vec<_> = with_step.collect();
    // Where times are not known of all, numbers are what there is.
    let is_certain = |(written, position): &(Option<Timestamp>, &Position)| {
        written.is_none() || position.is_named()
    };
    if known.iter().any(is_certain) {
        return true;
    }
    known.sort();
    let pairs = known.windows(2);
    let falls = pairs.clone().filter(|pair| pair[1].1 < pair[0].1).count();
    let rises = pairs.filter(|pair| pair[1].1 > pair[0].1).count();
    // One may be of a training that went on from an older one.
    falls < 2 || falls <= rises
}

/// The most bytes that one has.
struct Largest {
    of_all: u64,
    with_step: u64,
}

/// The newest first: in a series (names that differ in numbers alone) by step, else by when the program
/// wrote them. Those that are equally new keep their order. Series whose newest is small come after the others, and
/// then tables, texts and pictures.
pub fn newest_first<T>(all: Vec<T>, age: impl Fn(&T) -> Age) -> Vec<T> {
    let ages: Vec<Age> = all.iter().map(&age).collect();
    let most = |is: &dyn Fn(&&Age) -> bool| {
        let bytes = ages.iter().filter(|age| !age.is_of_data);
        let bytes = bytes.filter(is).filter_map(|age| age.bytes);
        bytes.max().unwrap_or(0)
    };
    let largest = Largest {
        of_all: most(&|_| true),
        with_step: most(&|age| age.position.is_some()),
    };
    let mut by_series: BTreeMap<String, Vec<(Age, T)>> = BTreeMap::new();
    for (age, one) in ages.iter().cloned().zip(all) {
        let same = by_series.entry(age.series.clone()).or_default();
        same.push((age, one));
    }
    for same in by_series.values_mut() {
        let ages: Vec<Age> = same.iter().map(|(age, _)| age.clone()).collect();
        let by_number = goes_by_number(&ages);
        same.sort_by(|(a, _), (b, _)| b.in_series(by_number).cmp(&a.in_series(by_number)));
        // The newest is the last, where it is taken from.
        same.reverse();
    }
    let mut ordered = Vec::new();
    loop {
        let heads = by_series.values_mut().filter(|same| !same.is_empty());
        let newest = heads.max_by(|a, b| {
            let key = |(age, _): &(Age, T)| {
                let is_main = (!age.is_of_data, !age.is_beside(&largest));
                let (written, position) = age.among_series();
                (is_main, written, position.cloned())
            };
            a.last().map(key).cmp(&b.last().map(key))
        });
        match newest.and_then(Vec::pop) {
            Some((_, one)) => ordered.push(one),
            None => return ordered,
        }
    }
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
            Age::new(name, written, Some(bytes))
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

    /// A training was resumed from its worst checkpoint.
    #[test]
    fn a_metric_a_date_or_a_step_within_an_epoch_makes_none_older() {
        let check_last = |names: &[&str]| {
            let seconds: Vec<String> = (10..)
                .step_by(12)
                .take(names.len())
                .map(|at| at.to_string())
                .collect();
            let all = names
                .iter()
                .copied()
                .zip(seconds.iter().map(String::as_str));
            let want: Vec<&str> = names.iter().rev().copied().collect();
            check(&all.collect::<Vec<_>>(), &want);
        };
        check_last(&[
            "m-epoch=12-val_loss=0.33",
            "m-epoch=24-val_loss=0.21",
            "m-epoch=36-val_loss=0.19",
        ]);
        check_last(&["s3-loss0.3333.pt", "s6-loss0.1000.pt"]);
        check_last(&["model-loss0.50.bin", "model-loss0.09.bin"]);
        check_last(&[
            "best-train_loss_epoch=2.31.ckpt",
            "best-train_loss_epoch=1.90.ckpt",
        ]);
        check_last(&["ck_20261126_235948.bin", "ck_20261127_000000.bin"]);
        check_last(&["ep00-step0027", "ep01-step0015"]);
        check_last(&["ck-90", "ck-70", "ck-75", "ck-50"]);
        check_last(&["loss=nan-epoch=1", "loss=0.5-epoch=2", "loss=1e-05-epoch=3"]);
        check_last(&["epoch=3-step=100.ckpt", "epoch=3-step=100-v1.ckpt"]);
    }

    /// Predictions of a training were resumed from.
    #[test]
    fn a_table_is_no_checkpoint_where_others_are_however_new_and_large() {
        let predictions = ("predictions.csv", "174");
        check(
            &[predictions, ("adapter-10", "100")],
            &["adapter-10", "predictions.csv"],
        );
        check(
            &[predictions, ("state", "10")],
            &["state", "predictions.csv"],
        );
        check(&[predictions], &["predictions.csv"]);
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
}
