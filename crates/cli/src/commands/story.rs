//! What a followed run says, line by line: few lines, the answer first.

use crate::words;
use folder::{ComingBack, Event, StopReason};
use model::Timestamp;

/// One thing to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A line of its own.
    Say(String),
    /// How far something is: title and detail of the moving line.
    Moving(String, String),
}

/// What is remembered between lines.
#[derive(Debug, Default)]
pub struct Story {
    /// The newest checkpoint that is out: `260`, or its name.
    checkpoint: Option<CheckpointOut>,
    /// Why this start ends.
    stopping: Option<StopReason>,
    /// The limit of one job in words.
    limit: Option<String>,
    /// Whether this start has said how it began.
    begun: bool,
}

#[derive(Debug)]
struct CheckpointOut {
    step: Option<u64>,
    what: String,
    bytes: u64,
    took_ms: u64,
    proven: bool,
}

impl Story {
    /// A story of jobs with this limit (`25 s`).
    #[must_use]
    pub fn new(limit: Option<String>) -> Story {
        Story {
            limit,
            ..Story::default()
        }
    }

    /// The lines for one event of the `ordinal`-th start (from 1); `submitted` is when that start
    /// began to wait.
    pub fn tell(
        &mut self,
        ordinal: u32,
        at: Timestamp,
        submitted: Option<Timestamp>,
        event: &Event,
    ) -> Vec<Line> {
        let job = |text: String| Line::Say(row(&format!("job {ordinal}"), &text));
        match event {
            Event::Started { nodes, .. } => {
                self.stopping = None;
                self.checkpoint = None;
                self.begun = ordinal == 1;
                if ordinal > 1 {
                    return Vec::new();
                }
                let wait =
                    submitted.map(|since| format!(" after {}", words::length(at.since(since))));
                let place = match nodes.len() {
                    0 | 1 => String::new(),
                    _ => format!(" on {}", nodes.join(", ")),
                };
                vec![job(format!("started{}{place}", wait.unwrap_or_default()))]
            }
            // What was made before the job is only found by it: not worth a line each time.
            Event::Environment { took_ms, .. } if *took_ms < 1000 => Vec::new(),
            Event::Environment { what, took_ms } => vec![Line::Say(row(
                "environment",
                &format!("{what}, {}", words::length(millis(*took_ms))),
            ))],
            Event::Staging { what, done, total } => {
                let of = total.map(|total| format!(" of {}", words::bytes(total)));
                vec![Line::Moving(
                    "stage in".to_owned(),
                    format!("{what}: {}{}", words::bytes(*done), of.unwrap_or_default()),
                )]
            }
            Event::Staged { bytes, took_ms } => vec![Line::Say(row(
                "stage in",
                &format!(
                    "{} in {}",
                    words::bytes(*bytes),
                    words::length(millis(*took_ms))
                ),
            ))],
            Event::Resumed { checkpoint, step } => {
                self.begun = true;
                let what = match step {
                    Some(step) => format!("step {step}"),
                    None => checkpoint.clone(),
                };
                vec![job(format!("resumed at {what}"))]
            }
            Event::Launched { .. } if !self.begun => {
                self.begun = true;
                vec![job(
                    "started again from the beginning: no checkpoint is out yet".to_owned(),
                )]
            }
            Event::Launched { .. } => Vec::new(),
            Event::CheckpointOut {
                name,
                step,
                bytes,
                took_ms,
                proven,
            } => {
                // At the end the newest comes out first.
                if self
                    .checkpoint
                    .as_ref()
                    .is_some_and(|newest| newest.step > *step)
                {
                    return Vec::new();
                }
                self.checkpoint = Some(CheckpointOut {
                    step: *step,
                    what: step.map_or_else(|| name.clone(), |step| step.to_string()),
                    bytes: *bytes,
                    took_ms: *took_ms,
                    proven: *proven,
                });
                Vec::new()
            }
            Event::CheckpointNotOut { name, why } => {
                vec![job(format!("checkpoint {name} is not out: {why}"))]
            }
            Event::Stopping { reason, .. } => {
                self.stopping = Some(*reason);
                Vec::new()
            }
            Event::RanksEnded { .. } | Event::Unknown => Vec::new(),
            Event::Lost { cause } => vec![job(format!("lost: {cause}"))],
            // Who cancelled it knows, and the last line says it.
            Event::Terminated {
                reason: None | Some(StopReason::Cancelled),
            } => Vec::new(),
            Event::Terminated {
                reason: Some(reason),
            } => vec![job(end_word(*reason).to_owned())],
            Event::ComingBack { how } => vec![job(self.coming_back(*how))],
            Event::Finished { .. } => vec![job("finished".to_owned())],
            Event::Failed { cause, .. } => vec![job(format!("failed: {cause}"))],
            Event::Note { text } => vec![job(format!("note: {text}"))],
        }
    }

    fn coming_back(&self, how: ComingBack) -> String {
        let why = match (self.stopping, &self.limit) {
            (Some(StopReason::Limit), Some(limit)) => format!("{limit} are over"),
            (Some(reason), _) => end_word(reason).to_owned(),
            (None, _) => "ended early".to_owned(),
        };
        let kept = match &self.checkpoint {
            Some(out) => format!(
                "checkpoint {} is out ({}, {}{})",
                out.what,
                words::bytes(out.bytes),
                words::length(millis(out.took_ms)),
                if out.proven { "" } else { ", not proven whole" }
            ),
            None => "no checkpoint is out".to_owned(),
        };
        let back = match how {
            ComingBack::Requeue => "coming back".to_owned(),
            ComingBack::Successor { job } => format!("job {job} takes over"),
        };
        format!("{why}: {kept}, {back}")
    }
}

/// Why a start ended.
#[must_use]
pub fn end_word(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Limit => "its time is over",
        StopReason::Preempted => "preempted",
        StopReason::NodeLost => "a node was lost",
        StopReason::Cancelled => "cancelled",
    }
}

/// A title and its text, as all lines of a run stand.
#[must_use]
pub fn row(title: &str, text: &str) -> String {
    format!("  {title:<12} {text}")
}

fn millis(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    #[track_caller]
    fn check(events: &[(u32, Event)], want: Expect) {
        let mut story = Story::new(Some("25 s".to_owned()));
        // A first line without indent: expect! takes away what all lines share.
        let mut text = String::from("shown\n");
        for (ordinal, event) in events {
            for line in story.tell(*ordinal, Timestamp(12), Some(Timestamp(0)), event) {
                match line {
                    Line::Say(line) => text.push_str(&format!("{line}\n")),
                    Line::Moving(title, detail) => text.push_str(&format!("~ {title}: {detail}\n")),
                }
            }
        }
        want.assert_eq(&text);
    }

    fn started() -> Event {
        Event::Started {
            job: 7,
            restart: 0,
            nodes: vec!["n1".to_owned()],
        }
    }

    fn launched() -> Event {
        Event::Launched {
            ranks: 2,
            rendezvous: "127.0.0.1:4000".to_owned(),
        }
    }

    fn out() -> Event {
        Event::CheckpointOut {
            name: "step-260.npz".to_owned(),
            step: Some(260),
            bytes: 1_200_000,
            took_ms: 31,
            proven: true,
        }
    }

    #[test]
    fn to_the_limit_and_back() {
        let resumed = Event::Resumed {
            checkpoint: "step-260.npz".to_owned(),
            step: Some(260),
        };
        let stopping = Event::Stopping {
            reason: StopReason::Limit,
            left: model::Seconds(3),
        };
        let back = Event::ComingBack {
            how: ComingBack::Requeue,
        };
        check(
            &[
                (1, started()),
                (1, launched()),
                (1, out()),
                (1, stopping),
                (1, back),
                (2, started()),
                (2, resumed),
                (2, launched()),
                (2, Event::Finished { status: 0 }),
            ],
            expect![[r#"
                shown
                  job 1        started after 12 ms
                  job 1        25 s are over: checkpoint 260 is out (1.2 MB, 31 ms), coming back
                  job 2        resumed at step 260
                  job 2        finished
            "#]],
        );
    }

    #[test]
    fn back_without_a_checkpoint_is_said() {
        let back = Event::ComingBack {
            how: ComingBack::Successor { job: 9 },
        };
        check(
            &[(1, started()), (1, back), (2, started()), (2, launched())],
            expect![[r#"
                shown
                  job 1        started after 12 ms
                  job 1        ended early: no checkpoint is out, job 9 takes over
                  job 2        started again from the beginning: no checkpoint is out yet
            "#]],
        );
    }
}
