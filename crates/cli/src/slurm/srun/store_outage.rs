//! A store that can't be written, as its engine's clients see it.

use api::Refusal;
use std::time::{Duration, Instant};

/// So long a step is asked for again: a user may make room on the disk.
const LONGEST: Duration = Duration::from_secs(600);

/// Since when the engine refuses for its store alone.
#[derive(Debug, Default)]
pub struct StoreOutage(Option<Instant>);

impl StoreOutage {
    /// Whether that has lasted too long, by what the engine answers now.
    pub fn is_too_long(&mut self, refusal: &Refusal, now: Instant) -> bool {
        if !matches!(refusal, Refusal::Store { .. }) {
            self.0 = None;
            return false;
        }
        let since = *self.0.get_or_insert(now);
        now.duration_since(since) >= LONGEST
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
        let store = Refusal::Store {
            message: "disk full".to_owned(),
        };
        let mut check = |refusal: &Refusal, seconds: u64, want: bool| {
            let now = begun + Duration::from_secs(seconds);
            assert_eq!(outage.is_too_long(refusal, now), want, "after {seconds} s");
        };
        check(&store, 0, false);
        check(&store, 599, false);
        check(&Refusal::Busy, 700, false);
        check(&store, 800, false);
        check(&store, 1399, false);
        check(&store, 1400, true);
        check(&Refusal::Busy, 100_000, false);
    }
}
