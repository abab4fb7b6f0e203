//! Starts and checkpoints of a run over its time.

use super::facts::{MarkKind, RunFacts};
use super::html::escaped;
use model::{Timestamp, say_length};
use std::fmt::Write;

/// More checkpoints would only be a grey area.
const MOST_MARKS: usize = 400;

/// A bar for each start, and a mark for each checkpoint.
pub(super) fn timeline(run: &RunFacts) -> String {
    let length = run.extent.length_ms() as f64;
    let place = |at: Timestamp| {
        let ms = at.since(run.extent.from) as f64;
        (ms / length * 100.0).clamp(0.0, 100.0)
    };
    let mut html = String::from("<div class=timeline>");
    for start in &run.starts {
        let (from, to) = (place(start.from), place(start.to));
        let class = if start.is_bad { "bar bad" } else { "bar" };
        let took = say_length(start.to.since(start.from));
        let text = escaped(&format!("{}: {took}, {}", start.title, start.end));
        write!(
            html,
            "<div class=\"{class}\" style=\"left:{from:.2}%;width:{:.2}%\" title=\"{text}\"></div>",
            (to - from).max(0.3)
        )
        .expect("invariant: a string takes all");
    }
    let checkpoints = run
        .marks
        .iter()
        .filter(|mark| mark.kind == MarkKind::Checkpoint);
    let every = (checkpoints.clone().count() / MOST_MARKS).max(1);
    for mark in checkpoints.step_by(every) {
        write!(
            html,
            "<i style=\"left:{:.2}%\" title=\"{}\"></i>",
            place(mark.at),
            escaped(&mark.text)
        )
        .expect("invariant: a string takes all");
    }
    for hang in run.marks.iter().filter(|mark| mark.kind == MarkKind::Hang) {
        write!(
            html,
            "<i class=hang style=\"left:{:.2}%\" title=\"{}\"></i>",
            place(hang.at),
            escaped(&hang.text)
        )
        .expect("invariant: a string takes all");
    }
    writeln!(
        html,
        "</div><div class=ends><span>{}</span><span>{}</span></div>",
        escaped(&run.began),
        say_length(run.extent.length_ms())
    )
    .expect("invariant: a string takes all");
    html
}
