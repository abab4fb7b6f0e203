//! Time as the store keeps it.

use serde::{Deserialize, Serialize};
use std::ops::{Add, Sub};

/// A moment: milliseconds since 1970-01-01 UTC.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// Whole seconds since 1970, rounded down: what Slurm's variables and columns hold.
    #[must_use]
    pub fn seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// How much later `self` is than `earlier`, in milliseconds; 0 when it is not later.
    #[must_use]
    pub fn since(self, earlier: Timestamp) -> i64 {
        (self.0 - earlier.0).max(0)
    }
}

/// A length of time in whole seconds: what the engine keeps limits in.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Seconds(pub u64);

impl Seconds {
    /// What Slurm counts with where something has no end.
    pub const YEAR: Seconds = Seconds(365 * 24 * 3600);

    /// Rounded up to whole minutes, in which Slurm counts limits.
    #[must_use]
    pub fn whole_minutes(self) -> Seconds {
        Seconds(self.0.div_ceil(60).saturating_mul(60))
    }
}

impl Add<Seconds> for Timestamp {
    type Output = Timestamp;
    fn add(self, length: Seconds) -> Timestamp {
        let millis = i64::try_from(length.0.saturating_mul(1000)).unwrap_or(i64::MAX);
        Timestamp(self.0.saturating_add(millis))
    }
}

impl Sub<Seconds> for Timestamp {
    type Output = Timestamp;
    fn sub(self, length: Seconds) -> Timestamp {
        let millis = i64::try_from(length.0.saturating_mul(1000)).unwrap_or(i64::MAX);
        Timestamp(self.0.saturating_sub(millis))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_rounded_up_to_whole_minutes() {
        for (asked, want) in [(3, 60), (60, 60), (61, 120), (0, 0)] {
            assert_eq!(Seconds(asked).whole_minutes(), Seconds(want), "{asked}");
        }
    }
}
