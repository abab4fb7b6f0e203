//! Usage that is forgotten by halves.

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
        let per_second = if half_life.0 == 0 {
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

    /// What a rate of 1 a second comes to after a time, less what is forgotten meanwhile.
    fn sum(self, seconds: f64) -> f64 {
        if self.per_second == 0.0 {
            seconds
        } else {
            (self.left(seconds) - 1.0) / self.per_second
        }
    }
}

/// What the jobs of one user used: billed amounts times seconds. It is known at each moment without
/// a step in between: an amount at some moment, and what running jobs add a second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    amount: f64,
    rate: f64,
    at: Timestamp,
}

impl Usage {
    /// An amount at a moment, with no job running.
    #[must_use]
    pub fn new(amount: f64, at: Timestamp) -> Usage {
        Usage {
            amount,
            rate: 0.0,
            at,
        }
    }

    /// How much it is; a moment before the last change counts as that.
    #[must_use]
    pub fn at(&self, now: Timestamp, decay: Decay) -> f64 {
        let seconds = now.since(self.at) as f64 / 1000.0;
        let amount = self.amount * decay.left(seconds) + self.rate * decay.sum(seconds);
        amount.clamp(0.0, f64::MAX)
    }

    /// A job starts (more a second) or ends (less).
    pub fn change_rate(&mut self, by: f64, now: Timestamp, decay: Decay) {
        self.amount = self.at(now, decay);
        self.at = self.at.max(now);
        // What is left of sums that cancel is no rate.
        let rate = self.rate + by;
        self.rate = if rate.abs() < 1e-9 {
            0.0
        } else {
            rate.max(0.0)
        };
    }
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
        usage.change_rate(f64::MAX, Timestamp(0), decay);
        assert!(usage.at(Timestamp(i64::MAX), decay).is_finite());
    }

    proptest! {
        /// However often it is looked at and changed in between, it comes to the same.
        #[test]
        fn steps_change_nothing(
            half_life in 0_u64..100_000,
            changes in prop::collection::vec((0_i64..5000, 0.0_f64..64.0), 1..20),
        ) {
            let decay = Decay::of_half_life(Seconds(half_life));
            let (mut stepped, mut now, mut rate) = (Usage::default(), 0, 0.0);
            let mut parts = Vec::new();
            for (length, next) in changes {
                stepped.change_rate(next - rate, Timestamp(now), decay);
                stepped.change_rate(0.0, Timestamp(now + length / 2), decay);
                parts.push((now, now + length, next));
                rate = next;
                now += length;
            }
            let whole: f64 = parts
                .iter()
                .map(|(from, to, rate)| {
                    let mut part = Usage::default();
                    part.change_rate(*rate, Timestamp(*from), decay);
                    part.change_rate(-*rate, Timestamp(*to), decay);
                    part.at(Timestamp(now), decay)
                })
                .sum();
            let stepped = stepped.at(Timestamp(now), decay);
            prop_assert!((stepped - whole).abs() <= 1e-6 * whole.max(1.0), "{stepped} {whole}");
        }
    }
}
