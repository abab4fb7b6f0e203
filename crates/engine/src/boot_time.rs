//! Moments that setting the machine's clock does not move.

use model::{Seconds, Timestamp};
use serde::{Deserialize, Serialize};

/// Milliseconds since the boot. Limits are kept in it: it means nothing after another boot, and
/// neither do the processes that a limit is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct BootTime(pub i64);

impl BootTime {
    /// Now.
    #[must_use]
    pub fn now() -> BootTime {
        BootTime(sys::boot_clock())
    }

    /// The moment that a clock shows as `moment` which shows `wall` at `self`.
    #[must_use]
    pub fn when(self, wall: Timestamp, moment: Timestamp) -> BootTime {
        BootTime(self.0.saturating_add(moment.0.saturating_sub(wall.0)))
    }

    /// So many milliseconds later.
    #[must_use]
    pub fn plus(self, millis: i64) -> BootTime {
        BootTime(self.0.saturating_add(millis))
    }

    /// So much earlier.
    #[must_use]
    pub fn minus(self, time: Seconds) -> BootTime {
        let millis = i64::try_from(time.0.saturating_mul(1000)).unwrap_or(i64::MAX);
        BootTime(self.0.saturating_sub(millis))
    }

    /// Milliseconds from `earlier` to `self`.
    #[must_use]
    pub fn since(self, earlier: BootTime) -> i64 {
        self.0.saturating_sub(earlier.0)
    }
}
