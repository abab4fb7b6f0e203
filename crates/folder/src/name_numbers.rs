//! The numbers in a checkpoint's name, and what each of them counts. Pure.
//!
//! A metric, a date or a rank says nothing of how far a training is: what may be one is ignored, and the time at
//! which a checkpoint was written decides in its place.

use crate::name_dates::mark_dates;

/// What a number counts, by the word before or after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counts {
    /// Epochs: `epoch=12`, `ep12`.
    Epochs,
    /// Steps within a training or an epoch: `step=1000`, `iter_0000500`, `ba500`.
    Steps,
    /// What no word tells, mostly steps: `checkpoint-500`, `260`.
    Something,
    /// Not how far the training is: `val_loss=0.33`, `rank0`, `v1`, `20261126`.
    Other,
}

/// A number of a name.
#[derive(Debug)]
pub struct Number<'a> {
    /// Its integer part.
    pub digits: &'a str,
    /// What it counts.
    pub counts: Counts,
    /// Whether it has decimals.
    pub is_decimal: bool,
    /// The letters before it; empty where another number is nearer.
    pub word: &'a str,
    /// What stands between it and the number before it.
    pub before: &'a str,
}

const EPOCHS: [&str; 3] = ["epoch", "epochs", "ep"];
const STEPS: [&str; 16] = [
    "step",
    "steps",
    "iter",
    "iters",
    "iteration",
    "iterations",
    "it",
    "its",
    "itr",
    "ba",
    "update",
    "updates",
    "gs",
    "nimg",
    "kimg",
    "batches",
];
/// Ends of words such as `globalStep` and `val_loss`.
const STEP_ENDS: [&str; 3] = ["step", "steps", "iteration"];
const METRIC_ENDS: [&str; 12] = [
    "loss",
    "acc",
    "accuracy",
    "error",
    "score",
    "reward",
    "precision",
    "recall",
    "auc",
    "iou",
    "perplexity",
    "metric",
];
#[rustfmt::skip]
const OTHER: &[&str] = &[
    // Metrics.
    "val", "valid", "validation", "eval", "test", "f", "r", "auroc", "ap", "map", "dice", "bleu", "rouge", "meteor",
    "psnr", "ssim", "lpips", "fid", "kid", "is", "ppl", "wer", "cer", "per", "err", "mse", "mae", "rmse", "mape",
    "return", "ret", "prec", "rec", "top", "hit", "hits", "ndcg", "mrr", "elo", "nll", "elbo", "bpb", "bpc", "bpd",
    "kl", "ce", "bce", "cider", "pct", "percent", "success", "winrate", "corr", "pearson", "spearman", "kappa", "mcc",
    // What it was trained with.
    "lr", "wd", "seed", "bs", "batchsize", "dropout", "temp", "beta", "alpha", "gamma", "fp", "bf", "int", "dim", "layers", "heads", "hidden", "crop", "size",
    // Parts of one, and places.
    "rank", "shard", "part", "of", "node", "gpu", "gpus", "worker", "mp", "tp", "pp", "dp", "zero", "fold", "split",
    // Repetitions.
    "run", "exp", "experiment", "trial", "version", "ver", "try", "attempt", "job",
    // Models and data.
    "resnet", "vgg", "gpt", "llama", "bert", "densenet", "cifar", "imagenet",
];

/// Words that follow a number: `7b`, `98pct`.
const AFTER: [&str; 9] = [
    "pct", "percent", "b", "m", "px", "gpu", "gpus", "bit", "bits",
];

/// All of them, in their order.
#[must_use]
pub fn numbers(name: &str) -> Vec<Number<'_>> {
    let name = without_ending(name);
    let mut all = Vec::new();
    let mut from = 0;
    while let Some(start) = find(name, from, |letter| letter.is_ascii_digit()) {
        let number = Number::read(name, from, start, all.last());
        let end = start + number.0;
        all.push(number.1);
        from = end;
    }
    mark_dates(&mut all);
    all
}

impl<'a> Number<'a> {
    /// The one that begins at `start`, where the one before it ended at `from`; with its length.
    fn read(
        name: &'a str,
        from: usize,
        start: usize,
        last: Option<&Number<'a>>,
    ) -> (usize, Number<'a>) {
        let before = &name[from..start];
        let trimmed = before.trim_end_matches(|letter: char| !letter.is_alphabetic());
        let is_glued = trimmed.len() == before.len() && !before.is_empty();
        let word = match trimmed.rfind(|letter: char| !letter.is_alphabetic()) {
            Some(at) => trimmed[at..].trim_start_matches(|letter: char| !letter.is_alphabetic()),
            None => trimmed,
        };
        let is_version = is_glued && is_word(word, &["v"]);
        let integer = digits_end(name, start);
        let mut end = integer;
        // `v2.500` is step 500 of a second version.
        while !is_version && name[end..].starts_with('.') && digits_end(name, end + 1) > end + 1 {
            end = digits_end(name, end + 1);
        }
        let is_decimal = end > integer;
        let exponent = exponent(&name[end..], is_decimal);
        let rest = &name[end + exponent..];
        let after_end = find(rest, 0, |letter| !letter.is_alphabetic()).unwrap_or(rest.len());
        let (after, rest) = rest.split_at(after_end);
        let is_followed = rest.starts_with(|letter: char| letter.is_ascii_digit());
        let ends_here = |is: &dyn Fn(&str) -> bool| !is_followed && is(after);
        // `train_loss_epoch=2.31` is a loss.
        let is_of_epoch = is_decimal && (is_epochs(word) || is_steps(word));
        let is_metric_of_one = is_of_epoch && {
            let run = trimmed.rsplit(|letter: char| !letter.is_alphabetic() && letter != '_');
            let parts = run.take(1).flat_map(|run| run.split('_'));
            parts.filter(|part| *part != word).any(is_other)
        };
        let counts = if is_metric_of_one {
            Counts::Other
        } else if is_epochs(word) {
            Counts::Epochs
        } else if is_steps(word) {
            Counts::Steps
        } else if is_version
            || is_other(word)
            // `f1=0.93`: the number is of the word.
            || (rest.starts_with('=') && after.is_empty() && is_glued)
            || is_first_of_several(rest, after)
        {
            Counts::Other
        } else if ends_here(&is_epochs) {
            Counts::Epochs
        } else if ends_here(&is_steps) {
            Counts::Steps
        } else if is_decimal
            || exponent > 0
            || ends_here(&|after| is_word(after, &AFTER))
            // `acc_93_5`, `f1-0.93`.
            || (word.is_empty() && last.is_some_and(Number::is_begun_other))
        {
            Counts::Other
        } else {
            Counts::Something
        };
        let number = Number {
            digits: &name[start..integer],
            counts,
            is_decimal: is_decimal || exponent > 0,
            word,
            before,
        };
        (end + exponent - start, number)
    }

    /// Whether a number that follows at once may belong to it.
    fn is_begun_other(&self) -> bool {
        let is_version = is_word(self.word, &["v", "version"]);
        self.counts == Counts::Other && !self.is_decimal && !is_version
    }
}

/// The name without what tells its format: `h5`, `mp4`, `npz`.
pub(crate) fn without_ending(name: &str) -> &str {
    match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() && is_ending(ending) => stem,
        _ => name,
    }
}

/// Begins with a letter, and is no number with what it counts: `step500`.
fn is_ending(text: &str) -> bool {
    let word = text.trim_end_matches(|letter: char| letter.is_ascii_digit());
    text.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && !(word.len() < text.len() && (is_epochs(word) || is_steps(word)))
}

/// The length of an exponent: of `1e-05` or `3.2e4`.
fn exponent(rest: &str, is_decimal: bool) -> usize {
    let Some(after) = rest.strip_prefix(['e', 'E']) else {
        return 0;
    };
    let digits = after.strip_prefix(['-', '+']);
    if digits.is_none() && !is_decimal {
        return 0;
    }
    let digits = digits.unwrap_or(after);
    match digits_end(digits, 0) {
        0 => 0,
        length => rest.len() - digits.len() + length,
    }
}

/// `00001-of-00003`.
fn is_first_of_several(rest: &str, after: &str) -> bool {
    let between = rest.trim_start_matches(['-', '_']);
    after.is_empty()
        && between.strip_prefix("of").is_some_and(|next| {
            next.trim_start_matches(['-', '_'])
                .starts_with(|letter: char| letter.is_ascii_digit())
        })
}

fn is_epochs(word: &str) -> bool {
    is_word(word, &EPOCHS) || ends(word, &["epoch"])
}

fn is_steps(word: &str) -> bool {
    is_word(word, &STEPS) || ends(word, &STEP_ENDS)
}

fn is_other(word: &str) -> bool {
    is_word(word, OTHER) || ends(word, &METRIC_ENDS)
}

fn is_word(word: &str, words: &[&str]) -> bool {
    words.iter().any(|one| one.eq_ignore_ascii_case(word))
}

fn ends(word: &str, ends: &[&str]) -> bool {
    let lower = word.to_ascii_lowercase();
    ends.iter().any(|end| lower.ends_with(end))
}

fn find(text: &str, from: usize, is: impl Fn(char) -> bool) -> Option<usize> {
    text[from..].find(is).map(|at| from + at)
}

fn digits_end(text: &str, from: usize) -> usize {
    find(text, from, |letter| !letter.is_ascii_digit()).unwrap_or(text.len())
}
