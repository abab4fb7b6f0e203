//! An agent whose conductor is gone, and the conductor's parent with it: the batch step was killed,
//! so that the cluster ends the job. Its other steps have the time between SIGTERM and SIGKILL; in
//! that time an agent brings the run back and copies what is complete.

use super::rescue::is_out;
use super::{Agent, AgentError, LOOK, copy_out, tree};
use crate::conductor::{self, ClusterWord};
use crate::trained;
use folder::{Event, EventLog, EventTail, IncomingPart};
use model::Timestamp;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long it is asked whether the batch step is gone: a conductor's parent that lives acts first.
const LONGEST_DOUBT: Duration = Duration::from_secs(60);
/// How long one answer of the cluster is waited for.
const ANSWER: Duration = Duration::from_secs(5);
/// The first and the longest pause between two questions.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));
/// So many agents may act; each further one later, where those before it are gone as well.
const DEPUTIES: u32 = 3;
const NEXT_DEPUTY: Duration = Duration::from_secs(2);
/// How long what was just being written is waited for.
const LAST_LOOKS: Duration = Duration::from_secs(5);

impl Agent {
    /// The orders have ended without the last one.
    pub(super) fn orphaned(&mut self, events_before: usize) -> Result<(), AgentError> {
        // Before the ranks are ended by others: then their ends tell nothing.
        let trained = trained::is_done(&self.at.run, self.at.attempt);
        if !self.must_act(events_before) {
            return Ok(());
        }
        let cause = "the batch step was killed".to_owned();
        let (folder, attempt) = (self.at.run.path().to_owned(), self.at.attempt);
        let bring_back = |cause| conductor::without_batch_step(&folder, attempt, cause, trained);
        // A run that comes back is first of all brought back: little time may be left. One that is
        // done is so when its last checkpoint is out.
        let result = if trained {
            self.save_alone(trained);
            bring_back(cause)
        } else {
            let result = bring_back(cause);
            self.save_alone(trained);
            result
        };
        if let Err(error) = result {
            // The log of the agents' step is what is left to say it in.
            let _ = writeln!(io::stderr(), "the run could not be brought back: {error}");
        }
        Ok(())
    }

    fn must_act(&self, events_before: usize) -> bool {
        if self.at.node_index >= DEPUTIES {
            return false;
        }
        std::thread::sleep(NEXT_DEPUTY * self.at.node_index);
        let (begun, mut pause) = (Instant::now(), PAUSES.0);
        while begun.elapsed() < LONGEST_DOUBT {
            if self.others_act(events_before) {
                return false;
            }
            let word = ClusterWord::ask(self.at.attempt.job, ANSWER);
            match word.map(|word| word.batch_step()) {
                Some(conductor::BatchStep::Killed) => {
                    return self.at.run.claim_comeback(self.at.attempt).unwrap_or(false);
                }
                Some(conductor::BatchStep::Ended) => return false,
                Some(conductor::BatchStep::Lives) | None => {}
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(PAUSES.1);
        }
        false
    }

    /// Whether the conductor's parent, or another agent, has said what becomes of the start.
    fn others_act(&self, events_before: usize) -> bool {
        let events = EventTail::new(self.at.run.events(self.at.attempt)).read();
        events
            .unwrap_or_default()
            .iter()
            .skip(events_before)
            .any(|line| {
                matches!(
                    line.event,
                    Event::Lost { .. }
                        | Event::ComingBack { .. }
                        | Event::Terminated { .. }
                        | Event::Finished { .. }
                        | Event::Failed { .. }
                )
            })
    }

    /// Copies and publishes what is complete, without a conductor. Of several nodes none knows what
    /// the others have: there it stays on the disks for the next start.
    fn save_alone(&mut self, finished: bool) {
        if self.at.plan.nodes.value > 1 || !self.watching {
            return;
        }
        self.end_ranks();
        // What can't be read now can't be copied.
        let _ = self.ending();
        self.watcher.drain(Timestamp(sys::now()), true, finished);
        let begun = Instant::now();
        loop {
            if self.look().is_err() || !self.watcher.waits() || begun.elapsed() > LAST_LOOKS {
                break;
            }
            std::thread::sleep(LOOK);
        }
        let kept = self.held.iter().chain(&self.copying).chain(&self.given);
        let mut kept: Vec<(String, PathBuf, bool)> = kept
            .map(|(name, held)| (name.clone(), held.path().to_owned(), held.proven()))
            .collect();
        kept.sort_by_key(|(name, ..)| std::cmp::Reverse(folder::step_of(name)));
        let mut all_out = true;
        let mut log = EventLog::open(&self.at.run.events(self.at.attempt)).ok();
        for (name, path, proven) in kept {
            let event = match self.publish(&name, &path, proven) {
                Ok(Some(event)) => event,
                Ok(None) => continue,
                Err(why) => {
                    all_out = false;
                    Event::CheckpointNotOut { name, why }
                }
            };
            if let Some(log) = &mut log {
                let _ = log.append(Timestamp(sys::now()), event);
            }
        }
        if all_out {
            self.local.remove();
        }
    }

    /// `None`: it is out already.
    fn publish(&mut self, name: &str, path: &Path, proven: bool) -> Result<Option<Event>, String> {
        let run = &self.at.run;
        let tree = tree::tree(path).map_err(|error| error.to_string())?;
        if is_out(run, name, path, &tree) {
            return Ok(None);
        }
        self.count += 1;
        let incoming = self.incoming();
        let begun = Instant::now();
        let part = IncomingPart::new(run, &incoming);
        let bytes = copy_out::copy_out(path, &part).map_err(|error| error.to_string())?;
        let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let part = conductor::Part {
            incoming,
            bytes,
            took_ms,
            proven,
        };
        let now = Timestamp(sys::now());
        let out =
            conductor::publish(run, name, &[part], false, now).map_err(|not_out| not_out.why)?;
        Ok(Some(Event::CheckpointOut {
            name: name.to_owned(),
            step: out.step,
            bytes: out.bytes,
            took_ms: out.took_ms,
            proven: out.proven,
        }))
    }
}
