//! What could not be copied, and is tried again or given up.

use super::{Copies, Current, Wanted};
use model::Timestamp;

/// The first pause before another try; each further one is twice as long.
const PAUSE_MS: i64 = 30_000;
/// The longest one.
const LONGEST_PAUSE_MS: i64 = 600_000;

#[derive(Debug)]
pub(super) struct Failed {
    pub(super) wanted: Wanted,
    tries: u32,
    pub(super) due: Timestamp,
}

impl Copies {
    /// Tries the current one again later.
    pub(super) fn set_aside(&mut self, now: Timestamp) {
        let Some(Current { wanted, .. }) = self.current.take() else {
            return;
        };
        let before = self.failed.get(&wanted.name);
        let tries = before.map_or(0, |failed| failed.tries + 1);
        let pause = (PAUSE_MS << tries.min(5)).min(LONGEST_PAUSE_MS);
        let due = Timestamp(now.0.saturating_add(pause));
        let name = wanted.name.clone();
        if wanted.only.is_none() {
            // All are asked again: a part that came late must not go before, alone.
            self.waiting
                .retain(|other| other.name != name || other.only.is_none());
        }
        let failed = Failed { wanted, tries, due };
        self.failed.insert(name, failed);
    }

    /// Has everything tried once more that could not be copied, after all that waits already.
    pub fn retry_all(&mut self) {
        for failed in self.failed.values() {
            if !self.waiting.contains(&failed.wanted) {
                self.waiting.push_front(failed.wanted.clone());
            }
        }
    }

    /// Gives an entry up that could not be copied, or waits; whether there was one.
    pub fn forget(&mut self, name: &str) -> bool {
        let before = self.waiting.len();
        self.waiting.retain(|wanted| wanted.name != name);
        let waited = self.waiting.len() < before;
        self.lagging.remove(name);
        self.complete.remove(name);
        self.asked.remove(name);
        let stayed = self.drop_beside(name);
        self.failed.remove(name).is_some() || waited || stayed
    }

    /// When the next try is due.
    #[must_use]
    pub fn next_due(&self) -> Option<Timestamp> {
        match &self.current {
            // It is tried when that one is through.
            Some(_) => None,
            None => {
                let failed = self.failed.values().map(|failed| failed.due);
                let lagging = self.lagging.keys();
                let lagging = lagging.filter_map(|name| self.waits_until(name));
                failed.chain(lagging).min()
            }
        }
    }
}
