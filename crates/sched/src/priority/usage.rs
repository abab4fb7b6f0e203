//! Usage that is forgotten by halves.

use crate::fault::{self, Fault};
use model::{Seconds, Timestamp};

/// How fast usage is forgotten: `PriorityDecayHalfLife`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decay {
    /// Logarithm of what is left after a second; 0: nothing is forgotten.
    per_second: f64,
}

impl Decay {
    /// Slurm's: each second `1 - 0.693 / half-life` is left. A half-life of 0 forgets nothing.
    #[must_use]
    pub fn of_half_life(half_life: Seconds) -> Decay {
        let seconds = half_life.0 as f64;
        let per_second = if half_life.0 == 0 && !fault::is(Fault::HalfLifeDividedBy) {
            0.0
        } else {
            (1.0 - 0.693 / seconds).ln()
        };
        Decay { per_second }
    }

    /// What is left of 1 after a time in seconds.
    #[must_use]
    pub fn left(self, seconds: f64) -> f64 {
        (self.per_second * seconds).exp()
    }

    /// What a rate of 1 a second comes to after a time in seconds, less what is forgotten meanwhile.
    #[must_use]
    pub fn sum(self, seconds: f64) -> f64 {
        if self.per_second == 0.0 {
            seconds
        } else {
            (self.left(seconds) - 1.0) / self.per_second
        }
    }
}

/// What jobs that ended used: billed amounts times seconds. It is known at each moment without a
/// step in between. What running jobs used is added when it is looked at ([`Decay::sum`]); where their usage
/// began anew meanwhile, what they had used until then is taken off here.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    amount: f64,
    at: Timestamp,
}

impl Usage {
    /// An amount at a moment.
    #[must_use]
    pub fn new(amount: f64, at: Timestamp) -> Usage {
        Usage { amount, at }
    }

    /// How much is left of it, with that of running jobs at least 0; a moment before the last change counts as that.
    #[must_use]
    pub fn at(&self, now: Timestamp, decay: Decay) -> f64 {
        let seconds = now.since(self.at) as f64 / 1000.0;
        within_bounds(self.amount * decay.left(seconds))
    }

    /// What was used before a moment counts no more; whether that was anything.
    pub(crate) fn forget_before(&mut self, moment: Timestamp) -> bool {
        let forgets = self.at < moment && self.amount != 0.0;
        if forgets {
            *self = Usage::new(0.0, moment);
        }
        forgets
    }

    /// Adds what a job used that just ended.
    pub fn add(&mut self, amount: f64, now: Timestamp, decay: Decay) {
        let left = if fault::is(Fault::AddsUndecayed) {
            self.amount
        } else {
            self.at(now, decay)
        };
        self.amount = within_bounds(left + amount);
        self.at = self.at.max(now);
    }

    /// As it is kept: the amount, and the moment at which it was that.
    #[must_use]
    pub fn kept(&self) -> (f64, Timestamp) {
        (self.amount, self.at)
    }
}

fn within_bounds(amount: f64) -> f64 {
    amount.clamp(f64::MIN, f64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const HOUR: Seconds = Seconds(3600);

    #[track_caller]
    fn check(half_life: Seconds, after: i64, want: f64) {
        let usage = Usage::new(1000.0, Timestamp(0));
        let left = usage.at(Timestamp(after * 1000), Decay::of_half_life(half_life));
        assert!((left - want).abs() < 0.5, "{left}");
    }

    #[test]
    fn half_is_left_after_a_half_life() {
        check(HOUR, 3600, 500.0);
        check(HOUR, 7200, 250.0);
        check(HOUR, 0, 1000.0);
    }

    #[test]
    fn a_half_life_of_zero_forgets_nothing() {
        check(Seconds(0), 1_000_000_000, 1000.0);
    }

    #[test]
    fn the_shortest_and_the_longest_half_life() {
        check(Seconds(1), 1000, 0.0);
        check(Seconds(u64::MAX), 1000, 1000.0);
    }

    #[test]
    fn amounts_beyond_all_bounds_stay_numbers() {
        let decay = Decay::of_half_life(Seconds(0));
        let mut usage = Usage::new(f64::MAX, Timestamp(0));
        usage.add(f64::MAX, Timestamp(0), decay);
        assert!(usage.at(Timestamp(i64::MAX), decay).is_finite());
    }

    proptest! {
        /// A job that is looked at in between used the same as one that is not.
        #[test]
        fn steps_change_nothing(
            half_life in 0_u64..100_000,
            parts in prop::collection::vec(0_i64..5000, 1..20),
            rate in 0.0_f64..64.0,
        ) {
            let decay = Decay::of_half_life(Seconds(half_life));
            let (mut stepped, mut now) = (Usage::default(), 0);
            for length in parts {
                now += length;
                let seconds = length as f64 / 1000.0;
                stepped.add(rate * decay.sum(seconds), Timestamp(now), decay);
            }
            let whole = rate * decay.sum(now as f64 / 1000.0);
            let stepped = stepped.at(Timestamp(now), decay);
            prop_assert!((stepped - whole).abs() <= 1e-6 * whole.max(1.0), "{stepped} {whole}");
        }
    }
}
