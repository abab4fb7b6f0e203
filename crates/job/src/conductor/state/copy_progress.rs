//! How far agents are with copies that take long: said now and then, and when the time is over.

use super::later;
use crate::protocol::{AgentId, Copying, Progress};
use model::Timestamp;
use std::collections::BTreeMap;
use std::time::Duration;
use train::say_bytes;

/// A copy that takes so long is spoken of; then each time that it has taken twice as long.
const FIRST: Duration = Duration::from_secs(60);

/// The copies that are being made.
#[derive(Debug, Default)]
pub(super) struct CopyProgress(BTreeMap<AgentId, Seen>);

#[derive(Debug)]
struct Seen {
    progress: Progress,
    since: Timestamp,
    due: Timestamp,
}

impl CopyProgress {
    /// Takes an agent's word. What is to be said of it, where it has taken long.
    pub fn alive(
        &mut self,
        agent: AgentId,
        node: &str,
        progress: Option<Progress>,
        now: Timestamp,
    ) -> Option<String> {
        let Some(progress) = progress else {
            self.0.remove(&agent);
            return None;
        };
        let is_same = |seen: &Seen| {
            let before = &seen.progress;
            (before.kind, &before.name) == (progress.kind, &progress.name)
                && before.bytes <= progress.bytes
        };
        if let Some(seen) = self.0.get_mut(&agent).filter(|seen| is_same(seen)) {
            seen.progress = progress;
            if now < seen.due {
                return None;
            }
            let took = u64::try_from(now.since(seen.since)).unwrap_or(0);
            seen.due = later(now, Duration::from_millis(took));
            return Some(say(node, &seen.progress));
        }
        let seen = Seen {
            progress,
            since: now,
            due: later(now, FIRST),
        };
        self.0.insert(agent, seen);
        None
    }

    /// What an agent copied is of no account any more.
    pub fn forget(&mut self, agent: AgentId) {
        self.0.remove(&agent);
    }

    /// How much of this checkpoint is still to be saved on the node that has most of it left; none where no
    /// copy has taken long.
    pub fn left(&self, name: &str) -> Option<u64> {
        let copied = self.0.values().map(|seen| &seen.progress);
        let saved = copied.filter(|it| it.kind == Copying::Save && it.name == name);
        saved.map(|it| it.of.saturating_sub(it.bytes)).max()
    }

    /// What is being copied, in words; `node` names an agent's node.
    pub fn now(&self, node: impl Fn(AgentId) -> String) -> Option<String> {
        let each = self.0.iter();
        let texts: Vec<String> = each
            .map(|(agent, seen)| say(&node(*agent), &seen.progress))
            .collect();
        (!texts.is_empty()).then(|| texts.join("; "))
    }
}

/// `3.2 GB of 12 GB of checkpoint step-20 saved from n1`
fn say(node: &str, progress: &Progress) -> String {
    let Progress {
        kind,
        name,
        bytes,
        of,
    } = progress;
    let way = match kind {
        Copying::Save => "saved from",
        Copying::Restore => "restored on",
    };
    let (bytes, of) = (say_bytes(*bytes), say_bytes(*of));
    format!("{bytes} of {of} of checkpoint {name} {way} {node}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copied(name: &str, bytes: u64) -> Option<Progress> {
        Some(Progress {
            kind: Copying::Save,
            name: name.to_owned(),
            bytes,
            of: 12_000_000_000,
        })
    }

    #[test]
    fn a_long_copy_is_said_ever_more_rarely() {
        let mut copies = CopyProgress::default();
        let mut said = Vec::new();
        for second in (0..600i64).step_by(10) {
            let bytes = u64::try_from(second).unwrap() * 10_000_000;
            let progress = copied("step-20", bytes);
            let text = copies.alive(0, "n1", progress, Timestamp(second * 1000));
            said.extend(text.map(|text| (second, text)));
        }
        let when: Vec<i64> = said.iter().map(|(second, _)| *second).collect();
        assert_eq!(when, [60, 120, 240, 480]);
        assert_eq!(
            said[0].1,
            "600 MB of 12.0 GB of checkpoint step-20 saved from n1"
        );
    }

    #[test]
    fn another_copy_begins_anew_and_an_ended_one_is_forgotten() {
        let mut copies = CopyProgress::default();
        let mut take = |progress, second: i64| {
            let text = copies.alive(0, "n1", progress, Timestamp(second * 1000));
            (text.is_some(), copies.now(|_| "n1".to_owned()).is_some())
        };
        assert_eq!(take(copied("step-1", 5), 0), (false, true));
        assert_eq!(take(copied("step-2", 5), 70), (false, true));
        // Copied again from the start.
        assert_eq!(take(copied("step-2", 4), 140), (false, true));
        assert_eq!(take(None, 150), (false, false));
        assert_eq!(take(copied("step-2", 9), 300), (false, true));
    }
}
