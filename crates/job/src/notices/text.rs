//! A message as text and as a document.

use super::{LINES, Occasion};
use crate::conductor::first_failed;
use folder::{
    Attempt, EventTail, RunFolder, RunJson, SavedCheckpoint, last_lines, newest_saved, step_of,
};
use model::{Timestamp, one_line, say_length};
use serde::Serialize;

/// A message about a run: also the JSON document that web hooks get (docs/notify.md).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Notice {
    /// `begin`, `done`, `failed`, `cancelled`, `timeout` or `requeue`.
    pub event: &'static str,
    /// The run's id.
    pub run: String,
    /// Its name.
    pub name: String,
    /// Its cluster.
    pub cluster: String,
    /// The job.
    pub job: u32,
    /// How often it was requeued before.
    pub restart: u32,
    /// What became of it, in one line.
    pub title: String,
    /// Why, where there is more to say.
    pub cause: Option<String>,
    /// How long this start lasted, in milliseconds.
    pub lasted_ms: i64,
    /// The newest checkpoint that was saved.
    pub checkpoint: Option<String>,
    /// The rank whose lines these are.
    pub rank: u32,
    /// Of a job that is no run, the file whose last lines these are.
    #[serde(skip)]
    pub output: Option<String>,
    /// Its last lines.
    pub last_lines: Vec<String>,
    /// What to type next.
    pub next: Vec<String>,
    /// The run folder.
    pub folder: String,
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
}

/// What is to be said of a start of a run.
pub(super) fn notice(
    occasion: &Occasion,
    run: &RunFolder,
    json: &RunJson,
    attempt: Attempt,
    now: Timestamp,
) -> Notice {
    let events = EventTail::new(run.events(attempt))
        .read()
        .unwrap_or_default();
    let began = events.first().map_or(now, |line| line.at);
    let saved = events.iter();
    let saved = saved.filter_map(|line| SavedCheckpoint::of(&line.event));
    let checkpoint = newest_saved(saved, |one| one).map(|newest| newest.name);
    let rank = first_failed(run, attempt).map_or(0, |exit| exit.rank);
    let lines = last_lines(&run.rank_log(attempt, rank), LINES).unwrap_or_default();
    let (id, cluster) = (run.id().to_owned(), json.cluster.clone());
    let next = match occasion {
        Occasion::Begin => vec![format!("yard logs -f {id}"), format!("yard cancel {id}")],
        Occasion::Done => vec![format!("yard report {id}"), format!("yard logs {id}")],
        Occasion::Failed { .. } => {
            vec![
                format!("yard logs {id} --rank {rank}"),
                format!("yard requeue {id}"),
            ]
        }
        Occasion::Cancelled => vec![format!("yard show {id}"), format!("yard requeue {id}")],
        Occasion::Limit | Occasion::ComesBack => vec![format!("yard show {id}")],
    };
    Notice {
        event: occasion.word(),
        title: format!("{id} {} on {cluster}", occasion.verb()),
        name: json.plan.name.value.clone(),
        run: id,
        cluster,
        job: attempt.job,
        restart: attempt.restart,
        cause: match occasion {
            Occasion::Failed { cause } => Some(cause.clone()),
            _ => None,
        },
        lasted_ms: now.since(began),
        checkpoint,
        rank,
        output: None,
        last_lines: lines.iter().map(|line| shortened(line)).collect(),
        next,
        folder: run.path().display().to_string(),
        at_ms: now.0,
    }
}

/// A line of a log, without what controls a terminal, and no longer than a mail's line may be.
pub(super) fn shortened(line: &str) -> String {
    const LONGEST: usize = 200;
    let line = one_line(line);
    match line.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.into_owned(),
    }
}

impl Notice {
    /// All of it for a person.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!("{}\n\n", self.title);
        if let Some(cause) = &self.cause {
            text.push_str(&format!("why         {cause}\n"));
        }
        let lasted = say_length(self.lasted_ms);
        text.push_str(&format!("job         {}, for {lasted}\n", self.job));
        if let Some(name) = &self.checkpoint {
            let step = step_of(name).map_or_else(|| name.clone(), |step| format!("step {step}"));
            text.push_str(&format!("checkpoint  {step}\n"));
        }
        text.push_str(&format!("folder      {}\n", self.folder));
        if !self.last_lines.is_empty() {
            let of = match &self.output {
                Some(file) => file.clone(),
                None => format!("rank {}", self.rank),
            };
            text.push_str(&format!("\nlast lines of {of}\n"));
            for line in &self.last_lines {
                text.push_str(&format!("  {line}\n"));
            }
        }
        text.push_str("\nnext\n");
        for command in &self.next {
            text.push_str(&format!("  {command}\n"));
        }
        text
    }
}
