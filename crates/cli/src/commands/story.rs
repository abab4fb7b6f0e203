//! What a followed run says, line by line: few lines, the answer first.

use crate::words;
use folder::{ComingBack, Event, SavedCheckpoint, StopReason, newest_saved};
use model::{Seconds, Timestamp};
use std::collections::VecDeque;

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
    /// The checkpoints that this start saved.
    saved: Vec<Saved>,
    /// Why this start ends, and the seconds that it had left.
    stopping: Option<(StopReason, Seconds)>,
    /// The checkpoint that this start went on from.
    resumed: Option<String>,
    /// Whether this start has said that it was lost, and why.
    lost: bool,
    /// The limit of one job in words.
    limit: Option<String>,
    /// Whether this start has said how it began.
    begun: bool,
    /// The last lines of the ranks, trimmed.
    last_lines: VecDeque<String>,
}

#[derive(Debug)]
struct Saved {
    checkpoint: SavedCheckpoint,
    took_ms: u64,
    proven: bool,
    /// Whether the training had been as far before.
    again: bool,
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
        let start = |text: String| Line::Say(row(&format!("start {ordinal}"), &text));
        match event {
            Event::Started { nodes, .. } => {
                self.stopping = None;
                self.saved.clear();
                self.resumed = None;
                self.lost = false;
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
                vec![start(format!("started{}{place}", wait.unwrap_or_default()))]
            }
            // What was made before the job is only found by it: not worth a line each time.
            Event::Environment { took_ms, .. } if *took_ms < 1000 => Vec::new(),
            Event::Environment { what, took_ms } => vec![Line::Say(row(
                "environment",
                &format!("{what}, {}", words::length(millis(*took_ms))),
            ))],
            Event::Staging { what, done, total } => {
                let of = total.map(|total| format!(" of {}", words::bytes(total)));
                let of = of.unwrap_or_default();
                let done = match done {
                    0 if of.is_empty() => String::new(),
                    done => format!(": {}{of}", words::bytes(*done)),
                };
                vec![Line::Moving("stage in".to_owned(), format!("{what}{done}"))]
            }
            Event::Staged {
                node,
                bytes,
                took_ms,
            } => {
                let took = words::length(millis(*took_ms));
                let on = node.as_ref().map(|node| format!(" on {node}"));
                let on = on.unwrap_or_default();
                let text = format!("{} in {took}{on}", words::bytes(*bytes));
                vec![Line::Say(row("stage in", &text))]
            }
            Event::Resumed {
                checkpoint, step, ..
            } => {
                self.begun = true;
                self.resumed = step.map(|_| checkpoint.clone());
                let what = match step {
                    Some(step) => format!("step {step}"),
                    None => checkpoint.clone(),
                };
                vec![start(format!("resumed at {what}"))]
            }
            Event::Launched { .. } if !self.begun => {
                self.begun = true;
                vec![start(
                    "begins again: no checkpoint was saved yet".to_owned(),
                )]
            }
            Event::Launched { .. } => Vec::new(),
            Event::CheckpointOut {
                took_ms,
                proven,
                again,
                ..
            } => {
                self.saved
                    .extend(SavedCheckpoint::of(event).map(|checkpoint| Saved {
                        checkpoint,
                        took_ms: *took_ms,
                        proven: *proven,
                        again: *again,
                    }));
                Vec::new()
            }
            Event::CheckpointNotOut { name, why } => {
                vec![start(format!("checkpoint {name} not saved: {why}"))]
            }
            Event::Stopping { reason, left } => {
                self.stopping = Some((*reason, *left));
                Vec::new()
            }
            Event::RanksEnded { .. } | Event::Unknown => Vec::new(),
            Event::DiskError { why, lasted_ms } => vec![start(format!(
                "the run folder could not be written for {}: {why}",
                words::length(millis(*lasted_ms))
            ))],
            Event::Lost { cause } => {
                self.lost = true;
                vec![start(format!("lost: {cause}"))]
            }
            Event::Hung { cause } => vec![start(cause.clone())],
            // Who cancelled it knows, and the last line says it.
            Event::Terminated {
                reason: None | Some(StopReason::Cancelled),
            } => Vec::new(),
            Event::Terminated {
                reason: Some(StopReason::NodeLost),
            } if self.lost => Vec::new(),
            Event::Terminated {
                reason: Some(reason),
            } => vec![start(end_word(*reason).to_owned())],
            Event::ComingBack { how } => vec![start(self.coming_back(*how))],
            Event::Finished { .. } => vec![start("finished".to_owned())],
            Event::Failed { cause, .. } => {
                vec![start(format!("failed: {}", self.without_last_line(cause)))]
            }
            Event::Service { name, address } => {
                vec![Line::Say(row("service", &format!("{name}: {address}")))]
            }
            Event::ServiceEnded { name, status, log } => vec![start(format!(
                "note: service {name} ended with {status} and the run goes on; see logs/{log}"
            ))],
            Event::Note { text } => vec![start(format!("note: {text}"))],
        }
    }

    fn coming_back(&self, how: ComingBack) -> String {
        let why = match (self.stopping, &self.limit) {
            (Some((StopReason::Limit, Seconds(0))), Some(limit)) => {
                format!("reached its limit of {limit}")
            }
            (Some((StopReason::Limit, left)), Some(limit)) => {
                let left = train::say_seconds(left);
                format!("stopped {left} before its limit of {limit}")
            }
            (Some((reason, _)), _) => end_word(reason).to_owned(),
            (None, _) => "ended early".to_owned(),
        };
        let what = |name: &str, step: Option<u64>| {
            step.map_or_else(|| name.to_owned(), |step| step.to_string())
        };
        let newest = newest_saved(&self.saved, |saved| &saved.checkpoint);
        let kept = match (newest, &self.resumed) {
            (Some(_), Some(resumed)) if self.saved.iter().all(|saved| saved.again) => {
                let resumed = what(resumed, folder::step_of(resumed));
                format!("no checkpoint newer than {resumed} saved")
            }
            (Some(saved), _) => format!(
                "checkpoint {} saved ({}, {}){}",
                what(&saved.checkpoint.name, saved.checkpoint.step),
                words::bytes(saved.checkpoint.bytes.unwrap_or(0)),
                words::length(millis(saved.took_ms)),
                if saved.proven {
                    ""
                } else {
                    "; could not verify that it is complete"
                }
            ),
            (None, _) => "no checkpoint saved".to_owned(),
        };
        let back = match how {
            ComingBack::Requeue => "coming back".to_owned(),
            ComingBack::Successor { job } => format!("job {job} takes over"),
        };
        format!("{why}: {kept}; {back}")
    }

    /// Remembers a line of a rank, which was shown.
    pub fn add_output(&mut self, text: &str) {
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        self.last_lines.truncate(LAST_LINES - 1);
        self.last_lines.push_front(text.to_owned());
    }

    /// Why ranks failed, without the line that is quoted from what was shown just before.
    fn without_last_line<'c>(&self, cause: &'c str) -> &'c str {
        let without = |line: &String| {
            let line = job::quoted(line);
            let quoted = format!("; its last line is {line:?}");
            let said = format!(": {line}");
            cause.strip_suffix(&quoted).or(cause.strip_suffix(&said))
        };
        self.last_lines.iter().find_map(without).unwrap_or(cause)
    }
}

/// So many lines of the ranks are remembered: a failure quotes none that is older.
const LAST_LINES: usize = 30;

/// Why a start ended.
#[must_use]
pub fn end_word(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Limit => "reached its time limit",
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

    fn out(again: bool) -> Event {
        Event::CheckpointOut {
            again,
            name: "step-260.npz".to_owned(),
            step: Some(260),
            bytes: 1_200_000,
            took_ms: 31,
            proven: true,
            written: None,
        }
    }

    fn resumed() -> Event {
        Event::Resumed {
            checkpoint: "step-260.npz".to_owned(),
            step: Some(260),
            written: None,
            bytes: None,
        }
    }

    /// The limit is near.
    fn stopping() -> Event {
        Event::Stopping {
            reason: StopReason::Limit,
            left: Seconds(3),
        }
    }

    fn back() -> Event {
        Event::ComingBack {
            how: ComingBack::Requeue,
        }
    }

    #[test]
    fn data_comes_to_the_nodes() {
        let staging = |done, total| Event::Staging {
            what: "points".to_owned(),
            done,
            total,
        };
        let staged = |node: Option<&str>| Event::Staged {
            node: node.map(str::to_owned),
            bytes: 400,
            took_ms: 19,
        };
        check(
            &[
                (1, staging(0, None)),
                (1, staging(0, Some(400))),
                (1, staging(200, None)),
                (1, staged(None)),
                (1, staged(Some("n2"))),
            ],
            expect![[r#"
                shown
                ~ stage in: points
                ~ stage in: points: 0 B of 400 B
                ~ stage in: points: 200 B
                  stage in     400 B in 19 ms
                  stage in     400 B in 19 ms on n2
            "#]],
        );
    }

    #[test]
    fn to_the_limit_and_back() {
        check(
            &[
                (1, started()),
                (1, launched()),
                (1, out(false)),
                (1, stopping()),
                (1, back()),
                (2, started()),
                (2, resumed()),
                (2, launched()),
                (
                    2,
                    Event::Finished {
                        status: 0,
                        left: None,
                    },
                ),
            ],
            expect![[r#"
                shown
                  start 1      started after 12 ms
                  start 1      stopped 3 s before its limit of 25 s: checkpoint 260 saved (1.2 MB, 31 ms); coming back
                  start 2      resumed at step 260
                  start 2      finished
            "#]],
        );
    }

    #[test]
    fn a_start_that_wrote_the_steps_of_the_one_before_says_that_none_is_newer() {
        check(
            &[
                (2, started()),
                (2, resumed()),
                (2, out(true)),
                (2, stopping()),
                (2, back()),
            ],
            expect![[r#"
                shown
                  start 2      resumed at step 260
                  start 2      stopped 3 s before its limit of 25 s: no checkpoint newer than 260 saved; coming back
            "#]],
        );
    }

    #[test]
    fn a_lost_node_is_said_once() {
        let stopping = Event::Stopping {
            reason: StopReason::NodeLost,
            left: Seconds(5),
        };
        let lost = Event::Lost {
            cause: "node n2 was lost".to_owned(),
        };
        let terminated = Event::Terminated {
            reason: Some(StopReason::NodeLost),
        };
        check(
            &[(1, started()), (1, stopping), (1, lost), (1, terminated)],
            expect![[r#"
                shown
                  start 1      started after 12 ms
                  start 1      lost: node n2 was lost
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
                  start 1      started after 12 ms
                  start 1      ended early: no checkpoint saved; job 9 takes over
                  start 2      begins again: no checkpoint was saved yet
            "#]],
        );
    }

    #[test]
    fn a_failure_does_not_repeat_what_was_shown() {
        let mut story = Story::new(None);
        story.add_output("error: no such file\n");
        story.add_output("bye");
        let failed = |cause: &str| Event::Failed {
            cause: cause.to_owned(),
            status: Some(1),
        };
        let mut said = |cause: &str| match &story.tell(1, Timestamp(0), None, &failed(cause))[..] {
            [Line::Say(line)] => line.clone(),
            lines => panic!("{lines:?}"),
        };
        let short = "  start 1      failed: rank 0 on n1 ended with exit code 1";
        let long = "rank 0 on n1 ended with exit code 1";
        assert_eq!(said(&format!("{long}: error: no such file")), short);
        assert_eq!(said(&format!("{long}; its last line is \"bye\"")), short);
        assert_eq!(said(&format!("{long}: other")), format!("{short}: other"));
        // Of a long one the beginning is quoted.
        let line = "x".repeat(3000);
        let cause = format!("{long}; its last line is {:?}", job::quoted(&line));
        assert!(cause.len() < 1000);
        assert_ne!(said(&cause), short);
        story.add_output(&line);
        let told = story.tell(1, Timestamp(0), None, &failed(&cause));
        assert!(
            matches!(&told[..], [Line::Say(line)] if line == short),
            "{told:?}"
        );
    }
}
