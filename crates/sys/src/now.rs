use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970-01-01 UTC; within this process it never goes back, even where the
/// clock is set back.
#[must_use]
pub fn now() -> i64 {
    static LATEST: AtomicI64 = AtomicI64::new(i64::MIN);
    let clock = match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
        Err(_) => 0,
    };
    LATEST.fetch_max(clock, Ordering::Relaxed).max(clock)
}
