//! Three clocks: the one that people set, the one since the boot, and one for lengths of time.

use std::path::PathBuf;
use std::sync::OnceLock;

/// Milliseconds since 1970-01-01 UTC as the machine's clock has it now. It jumps when the clock is
/// set: for what a person reads, never for a limit.
#[must_use]
pub fn wall_clock() -> i64 {
    millis(libc::CLOCK_REALTIME).saturating_add(pretended_jump())
}

/// Milliseconds since the boot, those of a suspended machine included. Setting the clock does not
/// change it.
#[must_use]
pub fn boot_clock() -> i64 {
    millis(libc::CLOCK_BOOTTIME)
}

/// Milliseconds since 1970-01-01 UTC as this process's first call had it, counted on from there by
/// [`boot_clock`]: a clock that is set does not move it while the process lives.
#[must_use]
pub fn now() -> i64 {
    static OFFSET: OnceLock<i64> = OnceLock::new();
    let boot = boot_clock();
    boot + OFFSET.get_or_init(|| wall_clock() - boot)
}

fn millis(clock: libc::clockid_t) -> i64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // Of the C library, which has found the kernel's quick way already.
    // SAFETY: it writes the time alone. A clock that there is gives no error.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    // Seconds are `time_t`, nanoseconds a C `long`: narrower on some architectures.
    #[expect(
        clippy::useless_conversion,
        reason = "the fields' types differ between architectures"
    )]
    let (seconds, nanos) = (i64::from(time.tv_sec), i64::from(time.tv_nsec));
    seconds * 1000 + nanos / 1_000_000
}

/// What a test says the clock was set by ([`crate::env_vars::TRAINYARD_TEST_CLOCK`]).
fn pretended_jump() -> i64 {
    static FILE: OnceLock<Option<PathBuf>> = OnceLock::new();
    let file = FILE
        .get_or_init(|| std::env::var_os(crate::env_vars::TRAINYARD_TEST_CLOCK).map(PathBuf::from));
    let Some(file) = file else { return 0 };
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.trim().parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clocks_agree_and_go_on() {
        let (now, wall, boot) = (now(), wall_clock(), boot_clock());
        assert!((now - wall).abs() < 60_000, "{now} {wall}");
        assert!(boot > 0 && self::now() >= now && boot_clock() >= boot);
    }
}
