//! A store that can't be written, as its engine's clients see it.

use api::{CallError, ConnectError, Refusal};
use std::time::{Duration, Instant};

/// So long a step is asked for again: a user may make room on the disk.
const LONGEST: Duration = Duration::from_secs(600);

/// Since when the engine refuses for its store alone.
#[derive(Debug, Default)]
pub struct StoreOutage(Option<Instant>);

impl StoreOutage {
    /// Whether that has lasted too long; `is_of_store` says whether it is so now.
    fn is_too_long(&mut self, is_of_store: bool, now: Instant) -> bool {
        if !is_of_store {
            self.0 = None;
            return false;
        }
        let since = *self.0.get_or_insert(now);
        now.duration_since(since) >= LONGEST
    }

    /// Why a step is to be asked for again, where that is no failure of it: others hold what it needs, or the store
    /// of the engine, or of the next one where that was killed, can't be written.
    pub fn passing(&mut self, error: &CallError, now: Instant) -> Option<String> {
        let (why, is_of_store) = match error {
            CallError::Refused(Refusal::Busy) => ("Requested nodes are busy".to_owned(), false),
            CallError::Refused(refusal @ Refusal::Store { .. }) => (refusal.to_string(), true),
            CallError::Connect(error) => (self.unreached(error, now)?, true),
            _ => return None,
        };
        (!self.is_too_long(is_of_store, now)).then_some(why)
    }

    /// Why an engine is to be asked for again that could not be reached.
    pub fn unreached(&mut self, error: &ConnectError, now: Instant) -> Option<String> {
        let is_borne = error.may_pass() && !self.is_too_long(true, now);
        is_borne.then(|| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `srun` asked for ever.
    #[test]
    fn it_is_borne_for_ten_minutes_without_a_break() {
        let begun = Instant::now();
        let mut outage = StoreOutage::default();
        let store = CallError::Refused(Refusal::Store {
            message: "disk full".to_owned(),
        });
        let unreached = |may_pass| {
            CallError::Connect(ConnectError::Failed {
                asked: "engine".to_owned(),
                there: "disk I/O error".to_owned(),
                todo: "make room".to_owned(),
                may_pass,
            })
        };
        let busy = CallError::Refused(Refusal::Busy);
        let mut check = |error: &CallError, seconds: u64, want: bool| {
            let now = begun + Duration::from_secs(seconds);
            let is_borne = outage.passing(error, now).is_some();
            assert_eq!(is_borne, want, "after {seconds} s");
        };
        check(&store, 0, true);
        check(&store, 599, true);
        check(&busy, 700, true);
        check(&store, 800, true);
        check(&unreached(false), 801, false);
        check(&unreached(true), 1399, true);
        check(&store, 1400, false);
        check(&unreached(true), 1400, false);
        check(&busy, 100_000, true);
        check(&unreached(true), 100_001, true);
    }
}
