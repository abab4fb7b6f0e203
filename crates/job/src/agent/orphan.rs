//! An agent whose conductor is gone, and the conductor's parent with it: the batch step was killed,
//! so that the cluster ends the job. Its other steps have the time between SIGTERM and SIGKILL; in
//! that time an agent brings the run back and copies what is complete.

use super::carry::Held;
use super::keeper::{Keeper, LOOK};
use super::rescue::is_out;
use super::{AgentError, copy_out, tree, unseen};
use crate::conductor;
use crate::deputy::{Deputy, Stopping};
use crate::trained;
use folder::{
    Age, Attempt, ComebackClaim, Event, EventLog, EventTail, IncomingPart, StopReason,
    TrainingProgress,
};
use model::Timestamp;
use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long it is asked whether the batch step is gone: a conductor's parent that lives acts first.
const LONGEST_DOUBT: Duration = Duration::from_secs(60);
/// How long the cluster is asked which nodes are down.
const LONGEST_ANSWER: Duration = Duration::from_secs(5);
/// How long what was just being written is waited for.
const LAST_LOOKS: Duration = Duration::from_secs(5);

/// What is saved without a conductor.
struct Found {
    path: PathBuf,
    proven: bool,
    /// Which start wrote it.
    start: Option<Attempt>,
}

impl Found {
    fn of(held: &Held) -> Found {
        Found {
            path: held.path().to_owned(),
            proven: held.proven(),
            start: held.start(),
        }
    }
}

impl Keeper {
    /// The orders have ended after the last one: what becomes of the run is written down, unless the
    /// batch step was killed right before.
    pub(super) fn left_alone(&mut self, events_before: usize) {
        let trained = trained::is_done(&self.at.run, self.at.attempt);
        if let Some(_held) = self.must_act(events_before) {
            self.bring_back(trained);
        }
    }

    fn bring_back(&self, trained: bool) {
        let cause = "the batch step was killed".to_owned();
        let (folder, attempt) = (self.at.run.path(), self.at.attempt);
        if let Err(error) = conductor::without_batch_step(folder, attempt, cause, trained) {
            // The log of the agents' step is what is left to say it in.
            let _ = writeln!(io::stderr(), "the run could not be brought back: {error}");
        }
    }

    /// The orders have ended without the last one.
    pub(super) fn orphaned(&mut self, events_before: usize) -> Result<(), AgentError> {
        // Before the ranks are ended by others: then their ends tell nothing.
        let trained = trained::is_done(&self.at.run, self.at.attempt);
        let Some(held) = self.must_act(events_before) else {
            // The last orders went to an srun that was killed.
            if self.is_done() {
                self.save_alone(true);
            } else if self.record_lost_nodes() {
                self.save_alone(trained);
            }
            return Ok(());
        };
        // The training may have come to its end meanwhile.
        let trained = trained || trained::is_done(&self.at.run, self.at.attempt);
        // A run that comes back is first of all brought back: little time may be left. One that is
        // done is so when its last checkpoint is out.
        if trained {
            self.save_alone(trained);
            self.bring_back(trained);
        } else {
            self.bring_back(trained);
            drop(held);
            self.save_alone(trained);
        }
        Ok(())
    }

    /// Writes down that the job is ended because its first node, with the batch step, or another one is
    /// down; whether this agent did. The cluster brings such a job back by itself.
    fn record_lost_nodes(&self) -> bool {
        let nodes = std::env::var("SLURM_JOB_NODELIST").unwrap_or_default();
        let lost = conductor::lost_nodes(&nodes, LONGEST_ANSWER);
        let attempt = self.at.attempt;
        if lost.is_empty() {
            return false;
        }
        let Ok(Some(_held)) = self.at.run.claim_comeback(attempt) else {
            return false;
        };
        let Ok(mut log) = EventLog::open(&self.at.run.events(attempt)) else {
            return false;
        };
        let cause = conductor::say_lost(&lost);
        let reason = Some(StopReason::NodeLost);
        for event in [Event::Lost { cause }, Event::Terminated { reason }] {
            // What finds no room is said by the start that follows, without a reason.
            let _ = log.append(Timestamp(sys::now()), event);
        }
        true
    }

    /// Whether the run is: then it needs nothing of the node but a checkpoint that is here only.
    fn is_done(&self) -> bool {
        let events = EventTail::new(self.at.run.events(self.at.attempt)).read();
        let mut events = events.unwrap_or_default().into_iter();
        events.any(|line| matches!(line.event, Event::Finished { .. }))
    }

    fn must_act(&self, events_before: usize) -> Option<ComebackClaim> {
        let deputy = Deputy {
            run: &self.at.run,
            attempt: self.at.attempt,
            events_before,
            place: self.at.node_index,
            after: Duration::ZERO,
            doubt: LONGEST_DOUBT,
            stopping: Stopping::IsDoubt,
        };
        deputy.must_act()
    }

    /// Copies and publishes what is complete, without a conductor. Of several disks none knows what
    /// the others have: there it stays where it is for the next start.
    fn save_alone(&mut self, finished: bool) {
        if !self.only_copier || !self.watching {
            return;
        }
        self.end_ranks();
        self.last_logs();
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
        if !self.watcher.waits() && self.held.values().all(Held::is_linked) {
            unseen::all_seen(&self.local);
        }
        let kept = newest_versions([&self.given, &self.copying, &self.held]);
        let kept: Vec<(String, Found)> = kept
            .into_iter()
            .map(|(name, held)| (name.clone(), Found::of(held)))
            .collect();
        let kept = folder::newest_first(kept, |(name, Found { path, .. })| {
            let tree = tree::tree(path).ok();
            let written = tree.as_ref().and_then(tree::Tree::written);
            let bytes = tree.map(|tree| tree.files.iter().map(|(_, facts)| facts.len()).sum());
            Age::new(name, written, bytes)
        });
        let mut all_out = true;
        let mut progress = self.progress();
        let mut log = EventLog::open(&self.at.run.events(self.at.attempt)).ok();
        for (name, found) in kept {
            let event = match self.publish(&name, &found, &mut progress) {
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
            // What stays is removed by the run's next start here.
            let _left = self.local.remove();
        }
    }

    /// What this start has saved over what it resumed from.
    fn progress(&self) -> TrainingProgress {
        let lines = EventTail::new(self.at.run.events(self.at.attempt)).read();
        let events = lines.unwrap_or_default().into_iter();
        TrainingProgress::of(&events.map(|line| line.event).collect::<Vec<_>>())
    }

    /// `None`: it is out already.
    fn publish(
        &mut self,
        name: &str,
        found: &Found,
        progress: &mut TrainingProgress,
    ) -> Result<Option<Event>, String> {
        let path = found.path.as_path();
        let run = &self.at.run;
        let tree = tree::tree(path).map_err(|error| error.to_string())?;
        if is_out(run, name, path, &tree) {
            return Ok(None);
        }
        self.count += 1;
        let incoming = self.incoming();
        let begun = Instant::now();
        let part = IncomingPart::new(run, &incoming);
        let bytes = copy_out::copy_out(path, &part, &mut |_, _| Ok(()))
            .map_err(|error| error.to_string())?;
        let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let part = conductor::Part {
            incoming,
            bytes,
            took_ms,
            proven: found.proven,
            node: self.at.node.clone(),
            start: found.start,
            written: tree.written(),
        };
        let asked = conductor::PartsAsked {
            least: 1,
            of: 1,
            unconfirmed: false,
        };
        let now = Timestamp(sys::now());
        let before = run.look_at_checkpoints().unwrap_or_default().known();
        let keep = self.at.plan.checkpoints.keep.value;
        let known = conductor::publish(run, name, &[part], false, asked, now, keep)
            .map_err(|not_out| not_out.why)?
            .known;
        Ok(Some(Event::CheckpointOut {
            again: !progress.saved(&known, &before),
            name: known.name,
            step: known.step,
            bytes,
            took_ms,
            proven: known.proven,
            written: known.written,
        }))
    }
}

/// The newest version of each name: a program that writes `last` again while the one before is copied has two of
/// them, and the older must not take the newer one's place. What is `given` was held before what is being copied.
fn newest_versions<T>(oldest_first: [&BTreeMap<String, T>; 3]) -> BTreeMap<&String, &T> {
    oldest_first.into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The older version was published last and was resumed from.
    #[test]
    fn of_a_name_that_was_written_again_the_newest_is_saved() {
        let of = |all: &[(&str, u32)]| -> BTreeMap<String, u32> {
            let all = all.iter();
            all.map(|(name, version)| ((*name).to_owned(), *version))
                .collect()
        };
        let (given, copying) = (of(&[("last", 1), ("step-5", 1)]), of(&[("best", 2)]));
        let held = of(&[("best", 3), ("last", 2)]);
        let newest = newest_versions([&given, &copying, &held]);
        let shown: Vec<(&str, u32)> = newest
            .iter()
            .map(|(name, version)| (name.as_str(), **version))
            .collect();
        assert_eq!(shown, [("best", 3), ("last", 2), ("step-5", 1)]);
    }
}
