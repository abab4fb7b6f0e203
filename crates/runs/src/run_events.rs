//! What the starts of a run wrote down, in all: checkpoints, services, notes.

use crate::Run;
use folder::{Event, SavedCheckpoint, newest_saved};
use model::Timestamp;
use std::collections::{BTreeMap, HashMap};
use train::Keep;

impl Run {
    /// Whether a start of it resumed from the checkpoint of that name.
    #[must_use]
    pub fn has_resumed_from(&self, name: &str) -> bool {
        let mut events = self.starts.iter().flat_map(|start| &start.events);
        events.any(
            |line| matches!(&line.event, Event::Resumed { checkpoint, .. } if checkpoint == name),
        )
    }

    /// The newest checkpoint that was saved: its name, its step and when. At the end of a start the
    /// newest is saved first and older ones after it, so steps count and not the order. One that a
    /// start resumed at was saved too, even if the start before ended before it recorded that.
    #[must_use]
    pub fn last_checkpoint(&self) -> Option<(String, Option<u64>, Timestamp)> {
        let saved = self.starts.iter().rev().find_map(|start| {
            let saved = start.events.iter();
            let saved = saved.filter_map(|line| Some((SavedCheckpoint::of(&line.event)?, line.at)));
            newest_saved(saved, |(saved, _)| saved)
        });
        let (
            SavedCheckpoint {
                name: newest, step, ..
            },
            seen,
        ) = saved?;
        // A program may write the same name again and again.
        let mut all = self.starts.iter().flat_map(|start| &start.events).rev();
        let recorded = all.find_map(|line| match &line.event {
            Event::CheckpointOut { name, .. } if *name == newest => Some(line.at),
            _ => None,
        });
        Some((newest, step, recorded.unwrap_or(seen)))
    }

    /// The programs beside the ranks that listen in the newest start, by name, and where.
    #[must_use]
    pub fn services(&self) -> BTreeMap<&str, &str> {
        let mut services = BTreeMap::new();
        for line in self.starts.last().iter().flat_map(|start| &start.events) {
            match &line.event {
                Event::Service { name, address } => {
                    services.insert(name.as_str(), address.as_str());
                }
                Event::ServiceEnded { name, .. } => {
                    services.remove(name.as_str());
                }
                _ => {}
            }
        }
        services
    }

    /// What was noted in the newest start, each once.
    #[must_use]
    pub fn notes(&self) -> Vec<&str> {
        let mut notes = Vec::new();
        for line in self.starts.last().iter().flat_map(|start| &start.events) {
            if let Event::Note { text } = &line.event
                && !notes.contains(&text.as_str())
            {
                notes.push(text.as_str());
            }
        }
        notes
    }

    /// The checkpoints that could not be saved, were not later, and would be kept beside those that
    /// were saved after them: names and reasons.
    #[must_use]
    pub fn unsaved_checkpoints(&self, keep: Keep) -> Vec<(&str, &str)> {
        let mut unsaved: Vec<(&str, &str)> = Vec::new();
        // Of each, how many were saved after it.
        let mut later: HashMap<&str, u32> = HashMap::new();
        for line in self.starts.iter().flat_map(|start| &start.events) {
            match &line.event {
                Event::CheckpointNotOut { name, why } => {
                    unsaved.retain(|(known, _)| known != name);
                    unsaved.push((name, why));
                    later.insert(name, 0);
                }
                Event::CheckpointOut { name, .. } => {
                    unsaved.retain(|(known, _)| known != name);
                    for (known, _) in &unsaved {
                        *later.entry(*known).or_default() += 1;
                    }
                }
                Event::Resumed {
                    checkpoint: name, ..
                } => {
                    unsaved.retain(|(known, _)| known != name);
                }
                _ => {}
            }
        }
        if let Keep::Newest(count) = keep {
            unsaved.retain(|(name, _)| later.get(name).is_none_or(|later| *later < count));
        }
        unsaved
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::tests::World;

    #[test]
    fn of_checkpoints_that_came_out_newest_first_the_newest_is_told() {
        let world = World::new();
        world.link(1, 17, None);
        let out = |step| Event::CheckpointOut {
            name: format!("step-{step}"),
            step: Some(step),
            bytes: 1,
            took_ms: 1,
            proven: true,
            written: None,
            again: false,
        };
        world.events(17, 0, &[out(40), out(60), out(50)]);
        let run = world.run();
        assert_eq!(run.last_checkpoint().unwrap().0, "step-60");
    }

    #[test]
    fn a_checkpoint_that_was_resumed_at_was_saved() {
        let world = World::new();
        world.link(1, 17, None);
        let out = |step| Event::CheckpointOut {
            name: format!("step-{step}"),
            step: Some(step),
            bytes: 1,
            took_ms: 1,
            proven: true,
            written: None,
            again: false,
        };
        let not_out = |step| Event::CheckpointNotOut {
            name: format!("step-{step}"),
            why: "the disk is full".to_owned(),
        };
        world.events(17, 0, &[out(40), not_out(50), not_out(60)]);
        let resumed = Event::Resumed {
            checkpoint: "step-60".to_owned(),
            step: Some(60),
            written: None,
            bytes: None,
        };
        world.events(17, 1, &[resumed, out(50)]);
        let run = world.run();
        assert_eq!(run.last_checkpoint().unwrap().0, "step-60");
        assert_eq!(run.unsaved_checkpoints(Keep::All), []);
        world.events(17, 2, &[out(70), not_out(80)]);
        let unsaved = [("step-80", "the disk is full")];
        assert_eq!(world.run().unsaved_checkpoints(Keep::All), unsaved);
        // Of two that are kept it is one until two others are there.
        world.events(17, 3, &[out(90)]);
        let two = Keep::Newest(2);
        assert_eq!(world.run().unsaved_checkpoints(two), unsaved);
        world.events(17, 4, &[out(100)]);
        assert_eq!(world.run().unsaved_checkpoints(two), []);
        assert_eq!(world.run().unsaved_checkpoints(Keep::All), unsaved);
        assert_eq!(world.run().last_checkpoint().unwrap().0, "step-100");
    }
}
