//! What a run has come to, as its events and the journals of its ranks tell.

use crate::scenario::Counter;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// One start of the program, by rank 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramStart {
    /// `<job>.<restart>`
    pub attempt: String,
    /// The step that it resumed from.
    pub from: u32,
}

/// What one rank wrote down.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Journal {
    /// Each start, with the newest checkpoint that was complete on the node before it.
    pub starts: Vec<(ProgramStart, u32)>,
    pub steps: u32,
    pub saved: u32,
    /// The parameters at each end.
    pub done: Vec<u64>,
    /// Whether the rank was computed twice at the same time.
    pub twice: bool,
}

/// What a run has come to.
#[derive(Clone, Debug, Default)]
pub struct Progress {
    /// Whether there is a run folder.
    pub submitted: bool,
    /// By rank.
    pub journals: Vec<Journal>,
    /// The events of each start, in order.
    pub events: Vec<(String, Vec<Value>)>,
}

impl Journal {
    /// Reads a journal; a line that is being written is left out.
    pub fn parse(text: &str) -> Journal {
        let mut journal = Journal::default();
        let mut saved = 0;
        for line in text
            .split_inclusive('\n')
            .filter(|line| line.ends_with('\n'))
        {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                ["start", attempt, from] => {
                    let attempt = attempt.to_owned();
                    let from = from.parse().unwrap();
                    journal.starts.push((ProgramStart { attempt, from }, saved));
                }
                ["step", _] => journal.steps += 1,
                ["saved", step] => {
                    saved = saved.max(step.parse().unwrap());
                    journal.saved += 1;
                }
                ["done", _, parameters] => journal.done.push(parameters.parse().unwrap()),
                ["twice", _] => journal.twice = true,
                _ => {}
            }
        }
        journal
    }
}

impl Progress {
    /// Reads what is there now.
    pub fn read(work: &Path, ranks: u32, run: Option<&Path>) -> Progress {
        let journals = (0..ranks).map(|rank| {
            let text = fs::read_to_string(work.join(format!("journal.{rank}")));
            Journal::parse(&text.unwrap_or_default())
        });
        Progress {
            submitted: run.is_some(),
            journals: journals.collect(),
            events: run.map(events).unwrap_or_default(),
        }
    }

    /// The first start that came to its limit.
    pub fn first_at_limit(&self) -> Option<&str> {
        let is_at_limit =
            |events: &[Value]| events.iter().any(|event| event["event"] == "stopping");
        let found = self.events.iter().find(|(_, events)| is_at_limit(events));
        found.map(|(attempt, _)| attempt.as_str())
    }

    /// How far a counter has come.
    pub fn count(&self, counter: Counter) -> u32 {
        let event = |name: &str| {
            let all = self.events.iter().flat_map(|(_, events)| events);
            let named = all.filter(|event| event["event"] == name).count();
            u32::try_from(named).unwrap()
        };
        let first = self.journals.first();
        match counter {
            Counter::Submitted => u32::from(self.submitted),
            Counter::Started => event("started"),
            Counter::Launched => event("launched"),
            Counter::Steps => first.map_or(0, |journal| journal.steps),
            Counter::Saved => first.map_or(0, |journal| journal.saved),
            Counter::Announced => event("checkpoint-out"),
            Counter::Stopping => event("stopping"),
            Counter::ComingBack => event("coming-back"),
            Counter::Done => {
                let done = self
                    .journals
                    .iter()
                    .map(|journal| journal.done.len())
                    .sum::<usize>();
                u32::try_from(done).unwrap()
            }
        }
    }

    /// Whether the last start says that the run is over.
    pub fn is_over(&self) -> bool {
        let Some((_, events)) = self.events.last() else {
            return false;
        };
        let end = |event: &Value| event["event"] == "finished" || event["event"] == "failed";
        events.iter().any(end)
    }
}

/// `links/<job>.<restart>.events`, in order.
fn events(run: &Path) -> Vec<(String, Vec<Value>)> {
    let mut found: Vec<((u32, u32), PathBuf)> = Vec::new();
    for entry in fs::read_dir(run.join("links"))
        .into_iter()
        .flatten()
        .flatten()
    {
        let name = entry.file_name().to_string_lossy().into_owned();
        let numbers = name.strip_suffix(".events").and_then(|stem| {
            let (job, restart) = stem.split_once('.')?;
            Some((job.parse().ok()?, restart.parse().ok()?))
        });
        if let Some(numbers) = numbers {
            found.push((numbers, entry.path()));
        }
    }
    found.sort();
    let read = |((job, restart), path): ((u32, u32), PathBuf)| {
        let text = fs::read_to_string(path).unwrap_or_default();
        // The last line may be half written.
        let lines = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        (format!("{job}.{restart}"), lines.collect())
    };
    found.into_iter().map(read).collect()
}

#[test]
fn a_journal_tells_what_each_start_had_before_it() {
    let text = "start 1.0 0\nstep 1\nsaved 5\nsaved 10\nstart 1.1 5\nstep 6\nst";
    let journal = Journal::parse(text);
    let before: Vec<(u32, u32)> = journal
        .starts
        .iter()
        .map(|(start, saved)| (start.from, *saved))
        .collect();
    assert_eq!(before, [(0, 0), (5, 10)]);
    assert_eq!((journal.steps, journal.saved), (2, 2));
}
