//! What a start of a run had done when it ended, and what of that is lost.

use crate::Run;
use folder::{Event, EventLine, RunFolder, SavedCheckpoint, newest_saved};
use model::Timestamp;

impl Run {
    /// When the ranks of the start at `index` were last known to live: when they ended, else the
    /// last sign of the start, in its events or in what its ranks printed.
    #[must_use]
    pub fn last_sign(&self, index: usize) -> Option<Timestamp> {
        let start = self.starts.get(index)?;
        let ended = |line: &&EventLine| matches!(line.event, Event::RanksEnded { .. });
        if let Some(ended) = start.events.iter().find(ended) {
            return Some(ended.at);
        }
        let said = start.events.last().map(|line| line.at);
        said.max(self.folder.last_output(start.attempt))
    }

    /// Milliseconds of training that the start at `index` did and that no checkpoint holds: since
    /// the checkpoint from which the next start went on, else since the newest that was saved. None
    /// where nothing is lost, or where it never trained.
    ///
    /// `over`: it has ended, which only the cluster knows of the last one.
    #[must_use]
    pub fn lost_work(&self, index: usize, over: bool) -> Option<i64> {
        let start = self.starts.get(index)?;
        let is_last = index + 1 == self.starts.len();
        let done = |line: &EventLine| matches!(line.event, Event::Finished { .. });
        if (is_last && !over) || start.events.iter().any(done) || self.keeps_own_checkpoints() {
            return None;
        }
        let launched = |line: &&EventLine| matches!(line.event, Event::Launched { .. });
        let begun = start.events.iter().find(launched)?.at;
        let resumed = self.starts.get(index + 1).map(|next| {
            next.events.iter().find_map(|line| match &line.event {
                Event::Resumed { checkpoint, .. } => Some(checkpoint.as_str()),
                _ => None,
            })
        });
        let out = start.events.iter().filter_map(|line| match &line.event {
            // What was trained while it was being saved is not in it.
            Event::CheckpointOut { written, .. } => {
                let at = written.map_or(line.at, |written| written.min(line.at));
                Some((SavedCheckpoint::of(&line.event)?, at.max(begun)))
            }
            _ => None,
        });
        let kept = match resumed {
            Some(from) => out
                .filter(|(saved, _)| from == Some(&saved.name))
                .map(|(_, at)| at)
                .max(),
            None => newest_saved(out, |(saved, _)| saved).map(|(_, at)| at),
        };
        let lost = self.last_sign(index)?.since(kept.unwrap_or(begun));
        (lost > 0).then_some(lost)
    }

    /// Whether the program's checkpoints are not seen, so that nothing is known of what is lost.
    fn keeps_own_checkpoints(&self) -> bool {
        let read = RunFolder::open(self.folder.path());
        read.is_ok_and(|(_, json)| json.plan.resume.own_checkpoints.value)
    }
}

#[cfg(test)]
mod tests {
    use crate::Run;
    use folder::{Attempt, Event, EventLog, IndexEntry, RunFolder};
    use model::Timestamp;

    fn launched() -> Event {
        Event::Launched {
            ranks: 1,
            rendezvous: String::new(),
        }
    }

    fn out(step: u64) -> Event {
        Event::CheckpointOut {
            name: format!("c{step}"),
            step: Some(step),
            bytes: 1,
            took_ms: 1,
            proven: true,
            written: None,
            again: false,
        }
    }

    fn resumed(step: u64) -> Event {
        Event::Resumed {
            checkpoint: format!("c{step}"),
            step: Some(step),
            written: None,
            bytes: None,
        }
    }

    fn ended() -> Event {
        Event::RanksEnded {
            status: 143,
            first_failed: None,
        }
    }

    /// What the first start lost, in seconds; `starts` are its events and the next one's, each at a
    /// second.
    #[track_caller]
    fn check(starts: &[&[(i64, Event)]], over: bool, want: Option<i64>) {
        let root = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(root.path(), "shop", "digits-k3f9").unwrap();
        std::fs::write(folder.run_json(), "{}").unwrap();
        for (restart, events) in (0..).zip(starts) {
            let attempt = Attempt { job: 7, restart };
            let mut log = EventLog::open(&folder.events(attempt)).unwrap();
            for (second, event) in *events {
                log.append(Timestamp(second * 1000), event.clone()).unwrap();
            }
        }
        let entry = IndexEntry {
            id: "digits-k3f9".to_owned(),
            name: "digits".to_owned(),
            cluster: "local".to_owned(),
            folder: folder.path().to_owned(),
            created: Timestamp(0),
            repeats: None,
            of: None,
        };
        let run = Run::read(entry).unwrap();
        assert_eq!(run.lost_work(0, over).map(|lost| lost / 1000), want);
    }

    /// Of a checkpoint that had to stand still for 10 s these were counted as saved.
    #[test]
    fn what_was_trained_while_a_checkpoint_was_saved_is_lost_too() {
        let mut slow = out(5);
        if let Event::CheckpointOut { written, .. } = &mut slow {
            *written = Some(Timestamp(10_000));
        }
        let killed: &[(i64, Event)] = &[(1, launched()), (21, slow), (22, ended())];
        check(&[killed, &[(30, resumed(5))]], true, Some(12));
    }

    #[test]
    fn what_no_checkpoint_holds_is_lost() {
        // Killed: nobody wrote that the ranks ended.
        let killed: &[(i64, Event)] = &[(1, launched()), (10, out(5)), (20, out(6)), (25, out(7))];
        check(&[killed, &[(30, resumed(7))]], true, None);
        check(&[killed, &[(30, resumed(6))]], true, Some(5));
        check(&[killed, &[(30, launched())]], true, Some(24));
        let at_limit: &[(i64, Event)] =
            &[(1, launched()), (10, out(5)), (22, ended()), (23, out(6))];
        check(&[at_limit, &[(30, resumed(6))]], true, None);
        check(&[at_limit, &[(30, resumed(5))]], true, Some(12));
        check(&[at_limit], true, None);
        check(
            &[&[(1, launched()), (10, out(5)), (22, ended())]],
            true,
            Some(12),
        );
        check(
            &[&[(1, launched()), (10, out(5)), (22, ended())]],
            false,
            None,
        );
        let done = Event::Finished {
            status: 0,
            left: None,
        };
        check(&[&[(1, launched()), (22, ended()), (22, done)]], true, None);
    }
}
