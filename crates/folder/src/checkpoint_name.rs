//! How far a training was, as the name of a checkpoint tells it. Pure.

use crate::name_numbers::{Counts, numbers};
use std::cmp::Ordering;

/// How far the training was by the numbers of a name: of one series the higher is the later.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Epochs before steps: a program may count its steps anew in each epoch.
    numbers: Vec<u64>,
    /// Whether words say that they count epochs or steps.
    is_named: bool,
    /// Whether a word says that one counts steps.
    has_steps: bool,
}

impl Position {
    /// The one in that name.
    #[must_use]
    pub fn of(name: &str) -> Option<Position> {
        let all = numbers(name);
        let of = |counts: Counts| all.iter().filter(move |one| one.counts == counts);
        let epoch = all.iter().position(|one| one.counts == Counts::Epochs);
        let has_steps = of(Counts::Steps).next().is_some();
        let mut counted: Vec<&str> = of(Counts::Epochs).map(|one| one.digits).collect();
        counted.extend(of(Counts::Steps).map(|one| one.digits));
        if !has_steps {
            // What stands before the epoch is mostly of the model's name: `net50-epoch=3`.
            let rest = &all[epoch.unwrap_or(0)..];
            let rest = rest.iter().filter(|one| one.counts == Counts::Something);
            counted.extend(rest.map(|one| one.digits));
        }
        let numbers = counted.iter().map(|digits| digits.parse().ok());
        let numbers: Vec<u64> = numbers.collect::<Option<_>>()?;
        (!numbers.is_empty()).then_some(Position {
            numbers,
            is_named: epoch.is_some() || has_steps,
            has_steps,
        })
    }

    /// Whether words say that it counts epochs, within each of which a training may be saved many times.
    #[must_use]
    pub fn counts_epochs(&self) -> bool {
        self.is_named && !self.has_steps
    }

    /// Whether words say what it counts, so that it is certain.
    #[must_use]
    pub fn is_named(&self) -> bool {
        self.is_named
    }
}

/// The step in a checkpoint's name, as it is shown: what words call so, else its last integer that may be one, as
/// in `step-260.npz`, `epoch=3-step=1000.ckpt`, `checkpoint-500`, `global_step5`, `epoch=3-val_loss=0.25.ckpt`.
#[must_use]
pub fn step_of(name: &str) -> Option<u64> {
    Position::of(name)?.numbers.last().copied()
}

/// Which of two checkpoints is the further by their names; `None` where these don't tell.
#[must_use]
pub fn compare_names(one: &str, other: &str) -> Option<Ordering> {
    let (mine, theirs) = (Position::of(one)?, Position::of(other)?);
    if series(one) != series(other) {
        return step_of(one).zip(step_of(other)).map(|(a, b)| a.cmp(&b));
    }
    // The numbers may be of the model's name, and what differs a metric.
    let may_be_none = mine == theirs && !mine.is_named() && one != other;
    (!may_be_none).then(|| mine.cmp(&theirs))
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

/// Whether its ending is that of tables, texts and pictures, which are checkpoints only where nothing else is.
#[must_use]
pub fn is_of_data(name: &str) -> bool {
    const ENDINGS: [&str; 21] = [
        "csv", "tsv", "json", "jsonl", "txt", "log", "png", "jpg", "jpeg", "gif", "svg", "pdf",
        "html", "md", "yaml", "yml", "toml", "out", "err", "xml", "mp4",
    ];
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    ENDINGS.iter().any(|one| one.eq_ignore_ascii_case(ending)) || name.contains(".tfevents.")
}

#[cfg(test)]
mod tests;
