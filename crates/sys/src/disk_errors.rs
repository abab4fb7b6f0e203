//! Which errors of a disk may be over in a while, and how they are waited for. Whatever a job
//! writes goes by this one rule.

use rustix::io::Errno;
use std::error::Error;
use std::io::{self, ErrorKind};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Between two tries.
const PAUSE: Duration = Duration::from_millis(200);

/// Whether an error, or what caused it, is one that a disk gives for a while: it is full, the quota
/// is used up, it is read-only after an error, its server does not answer. What a retry can't mend,
/// such as a folder that is not there or a right that is missing, is not.
#[must_use]
pub fn may_pass(error: &(dyn Error + 'static)) -> bool {
    if let Some(system) = error.downcast_ref::<io::Error>() {
        return system_may_pass(system);
    }
    error.source().is_some_and(may_pass)
}

fn system_may_pass(error: &io::Error) -> bool {
    if let Some(number) = error.raw_os_error() {
        return PASSING.contains(&Errno::from_raw_os_error(number));
    }
    // One that was put into words keeps the kind, and mostly the cause.
    let by_kind = matches!(
        error.kind(),
        ErrorKind::StorageFull
            | ErrorKind::QuotaExceeded
            | ErrorKind::ReadOnlyFilesystem
            | ErrorKind::StaleNetworkFileHandle
            | ErrorKind::TimedOut
            | ErrorKind::HostUnreachable
            | ErrorKind::NetworkUnreachable
            | ErrorKind::NetworkDown
    );
    by_kind || error.get_ref().is_some_and(|inner| may_pass(inner))
}

const PASSING: [Errno; 15] = [
    Errno::NOSPC,
    Errno::DQUOT,
    Errno::ROFS,
    Errno::IO,
    Errno::REMOTEIO,
    Errno::STALE,
    Errno::TIMEDOUT,
    Errno::AGAIN,
    Errno::NOLCK,
    Errno::HOSTDOWN,
    Errno::HOSTUNREACH,
    Errno::NETDOWN,
    Errno::NETUNREACH,
    // A parallel file system whose server was lost.
    Errno::SHUTDOWN,
    Errno::NOTCONN,
];

/// Tries again for as long as `patience` what a disk refuses for a while; `stop` ends the waiting.
///
/// # Errors
/// The last one, or the first that does not pass by itself.
pub fn patiently<T, E: Error + 'static>(
    patience: Duration,
    stop: impl Fn() -> bool,
    mut attempt: impl FnMut() -> Result<T, E>,
) -> Result<T, E> {
    let begun = Instant::now();
    loop {
        match attempt() {
            Err(error) if may_pass(&error) && begun.elapsed() < patience && !stop() => {
                sleep(PAUSE);
            }
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("it can't be written")]
    struct Worded {
        source: io::Error,
    }

    fn of(errno: Errno) -> io::Error {
        io::Error::from_raw_os_error(errno.raw_os_error())
    }

    #[test]
    fn a_disk_recovers_and_a_mistake_does_not() {
        for errno in PASSING {
            let why = format!("{errno:?}");
            assert!(may_pass(&of(errno)), "{why}");
            assert!(may_pass(&Worded { source: of(errno) }), "{why}");
            let wrapped = io::Error::other(Worded { source: of(errno) });
            assert!(may_pass(&wrapped), "{why}");
        }
        for errno in [
            Errno::NOENT,
            Errno::ACCESS,
            Errno::PERM,
            Errno::ISDIR,
            Errno::NAMETOOLONG,
            Errno::FBIG,
        ] {
            assert!(!may_pass(&of(errno)), "{errno:?}");
            assert!(!may_pass(&Worded { source: of(errno) }), "{errno:?}");
        }
        assert!(may_pass(&io::Error::from(ErrorKind::StorageFull)));
        assert!(!may_pass(&io::Error::other("no")));
    }

    #[test]
    fn waits_for_what_may_pass_alone() {
        let long = Duration::from_secs(600);
        let mut tries = 0;
        let result = patiently(
            long,
            || false,
            || {
                tries += 1;
                if tries < 3 {
                    Err(of(Errno::NOSPC))
                } else {
                    Ok(tries)
                }
            },
        );
        assert_eq!(result.unwrap(), 3);
        let refused: io::Result<()> = patiently(long, || false, || Err(of(Errno::ACCESS)));
        assert!(refused.is_err());
        let stopped: io::Result<()> = patiently(long, || true, || Err(of(Errno::NOSPC)));
        assert!(stopped.is_err());
    }
}
