//! Which names of a folder are one checkpoint: a program may write `model-80.pt` and `optim-80.pt` side by side. Pure.

use crate::checkpoint_name::{Position, series};
use crate::name_numbers::without_ending;
use std::collections::BTreeMap;

/// Words of what is of no use without the model beside it.
const SIDE: [&str; 16] = [
    "optim",
    "optims",
    "optimizer",
    "optimizers",
    "optimiser",
    "optimisers",
    "opt",
    "sched",
    "scheduler",
    "schedulers",
    "scaler",
    "gradscaler",
    "rng",
    "random",
    "ema",
    "loader",
];
/// Words that tell the parts of one from each other, or nothing.
const OTHER: [&str; 17] = [
    "model",
    "models",
    "net",
    "network",
    "weight",
    "weights",
    "param",
    "params",
    "module",
    "checkpoint",
    "ckpt",
    "cp",
    "state",
    "states",
    "dict",
    "lr",
    "data",
];

/// What is one checkpoint: saved at one step, resumed from together, and kept and removed together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointUnit<T> {
    /// What it is known by: the model.
    pub head: T,
    /// What goes with it, in no order.
    pub sides: Vec<T>,
}

impl<T> CheckpointUnit<T> {
    /// The head and what goes with it.
    pub fn members(&self) -> impl Iterator<Item = &T> {
        std::iter::once(&self.head).chain(&self.sides)
    }

    /// The same, borrowed.
    pub fn as_ref(&self) -> CheckpointUnit<&T> {
        CheckpointUnit {
            head: &self.head,
            sides: self.sides.iter().collect(),
        }
    }

    /// The same of what each member stands for.
    pub fn map<U>(self, of: impl Fn(T) -> U) -> CheckpointUnit<U> {
        CheckpointUnit {
            head: of(self.head),
            sides: self.sides.into_iter().map(of).collect(),
        }
    }
}

/// A name without what tells the parts of one checkpoint from each other.
struct Key {
    rest: Vec<String>,
    is_side: bool,
}

impl Key {
    /// None of what has no step: it is written again and again, and what stands beside it may be of another time.
    fn of(name: &str) -> Option<Key> {
        Position::of(name)?;
        let mut words = words(without_ending(name));
        let is_side = words.iter().any(|word| SIDE.contains(&word.as_str()));
        words.retain(|word| !SIDE.contains(&word.as_str()) && !OTHER.contains(&word.as_str()));
        Some(Key {
            rest: words,
            is_side,
        })
    }
}

/// Letters or digits that stand together, in small letters.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut last = None;
    for letter in name.chars() {
        let kind = (letter.is_alphanumeric()).then(|| letter.is_ascii_digit());
        match (kind, words.last_mut()) {
            (Some(_), Some(word)) if kind == last => word.extend(letter.to_lowercase()),
            (Some(_), _) => words.push(letter.to_lowercase().collect()),
            (None, _) => {}
        }
        last = kind;
    }
    words
}

/// What is one checkpoint of these, in their order.
pub fn checkpoint_units<T>(all: Vec<T>, name: impl Fn(&T) -> &str) -> Vec<CheckpointUnit<T>> {
    // By key: the places of models, and whether there is something that goes with one.
    let mut found: BTreeMap<Vec<String>, (Option<usize>, bool)> = BTreeMap::new();
    let keys: Vec<Option<Key>> = all.iter().map(|one| Key::of(name(one))).collect();
    for (at, key) in keys.iter().enumerate() {
        let Some(Key { rest, is_side }) = key else {
            continue;
        };
        let (head, has_side) = found.entry(rest.clone()).or_default();
        *has_side |= is_side;
        // Of two that may be one the shorter name.
        let length = |at: usize| (name(&all[at]).len(), name(&all[at]));
        if !is_side && head.is_none_or(|head| length(at) < length(head)) {
            *head = Some(at);
        }
    }
    let mut sides: BTreeMap<usize, Vec<T>> = BTreeMap::new();
    let mut heads: Vec<(usize, T)> = Vec::new();
    for ((at, one), key) in all.into_iter().enumerate().zip(keys) {
        let head = key.and_then(|key| match found.get(&key.rest) {
            Some((Some(head), true)) => Some(*head),
            _ => None,
        });
        match head {
            Some(head) if head != at => sides.entry(head).or_default().push(one),
            _ => heads.push((at, one)),
        }
    }
    let unit = |(at, head)| CheckpointUnit {
        head,
        sides: sides.remove(&at).unwrap_or_default(),
    };
    heads.into_iter().map(unit).collect()
}

/// Whether these two names are of one checkpoint.
#[must_use]
pub fn are_one_checkpoint(one: &str, other: &str) -> bool {
    one == other || checkpoint_units(vec![one, other], |name| name).len() == 1
}

/// What units have in common of which one is written after the other; none where nothing else may belong to it.
pub(crate) fn unit_series(name: &str) -> Option<String> {
    Key::of(name).map(|key| series(&key.rest.join(" ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names in, units out: `head + side + side`.
    #[track_caller]
    fn check(names: &[&str], want: &[&str]) {
        let units = checkpoint_units(names.to_vec(), |name| name);
        let shown: Vec<String> = units
            .iter()
            .map(|unit| unit.members().copied().collect::<Vec<_>>().join(" + "))
            .collect();
        assert_eq!(shown, want);
    }

    /// Training went on with a new optimizer.
    #[test]
    fn what_belongs_to_one_step_is_one() {
        check(
            &["model-80.pt", "optim-80.pt", "model-90.pt"],
            &["model-80.pt + optim-80.pt", "model-90.pt"],
        );
        check(
            &["optim_140.pt", "model_140.pt"],
            &["model_140.pt + optim_140.pt"],
        );
        check(
            &[
                "80.pt",
                "80_scheduler.pt",
                "80.optimizer.pt",
                "rng_state_80.pth",
            ],
            &["80.pt + 80_scheduler.pt + 80.optimizer.pt + rng_state_80.pth"],
        );
        check(
            &["checkpoint-80", "lr_scheduler-80.bin"],
            &["checkpoint-80 + lr_scheduler-80.bin"],
        );
        check(
            &["vit_model_epoch=3.pt", "vit_optim_epoch=3.pt"],
            &["vit_model_epoch=3.pt + vit_optim_epoch=3.pt"],
        );
        check(
            &["model80.safetensors", "optim80.pt", "scaler80.pt"],
            &["model80.safetensors + optim80.pt + scaler80.pt"],
        );
        check(
            &["net_G_80.pth", "net_D_80.pth", "optim_G_80.pth"],
            &["net_G_80.pth + optim_G_80.pth", "net_D_80.pth"],
        );
    }

    #[test]
    fn what_may_stand_for_itself_is_by_itself() {
        check(&["best-80.pt", "step-80.pt"], &["best-80.pt", "step-80.pt"]);
        check(
            &["model-80.pt", "checkpoint-80.pt"],
            &["model-80.pt", "checkpoint-80.pt"],
        );
        check(
            &["model-80.pt", "optim-90.pt"],
            &["model-80.pt", "optim-90.pt"],
        );
        check(&["optim-80.pt", "rng-80.pt"], &["optim-80.pt", "rng-80.pt"]);
        check(&["model.pt", "optim.pt"], &["model.pt", "optim.pt"]);
        check(
            &["epoch=3.pt", "epoch=3-optim.pt", "step=3.pt"],
            &["epoch=3.pt + epoch=3-optim.pt", "step=3.pt"],
        );
        check(&["opt-125m-step80.pt"], &["opt-125m-step80.pt"]);
        check(&[], &[]);
        assert!(are_one_checkpoint("model-80.pt", "optim-80.pt"));
        assert!(!are_one_checkpoint("model-80.pt", "optim-90.pt"));
        assert_eq!(unit_series("model-80.pt"), unit_series("optim-90.pt"));
    }
}
