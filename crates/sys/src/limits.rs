//! Limits of a process: `ulimit`.

use std::io;

/// A limit by the name that Slurm gives it.
type Row = (&'static str, libc::__rlimit_resource_t);

const LIMITS: [Row; 10] = [
    ("AS", libc::RLIMIT_AS),
    ("CORE", libc::RLIMIT_CORE),
    ("CPU", libc::RLIMIT_CPU),
    ("DATA", libc::RLIMIT_DATA),
    ("FSIZE", libc::RLIMIT_FSIZE),
    ("MEMLOCK", libc::RLIMIT_MEMLOCK),
    ("NOFILE", libc::RLIMIT_NOFILE),
    ("NPROC", libc::RLIMIT_NPROC),
    ("RSS", libc::RLIMIT_RSS),
    ("STACK", libc::RLIMIT_STACK),
];

/// A soft limit for a process that this one starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SoftLimit {
    resource: libc::__rlimit_resource_t,
    soft: u64,
    /// This process's hard limit, which the other has too.
    hard: u64,
    is_own: bool,
}

/// This process's soft limits, by name (`CORE`, `NOFILE`, …); `u64::MAX` is none.
#[must_use]
pub fn soft_limits() -> Vec<(&'static str, u64)> {
    let soft = |(name, resource): Row| Some((name, get(resource).ok()?.rlim_cur));
    LIMITS.into_iter().filter_map(soft).collect()
}

/// This process's soft limit of that name.
#[must_use]
pub fn soft_limit(name: &str) -> Option<u64> {
    Some(get(resource(name)?).ok()?.rlim_cur)
}

fn resource(name: &str) -> Option<libc::__rlimit_resource_t> {
    let row = LIMITS.iter().find(|(known, _)| *known == name)?;
    Some(row.1)
}

impl SoftLimit {
    /// The limit of that name.
    ///
    /// # Errors
    /// There is none of that name, or this process's hard limit is below `soft`.
    pub fn new(name: &str, soft: u64) -> io::Result<SoftLimit> {
        let resource = resource(name).ok_or(io::ErrorKind::NotFound)?;
        let own = get(resource)?;
        if own.rlim_max < soft {
            return Err(io::Error::from_raw_os_error(libc::EINVAL));
        }
        Ok(SoftLimit {
            resource,
            soft,
            hard: own.rlim_max,
            is_own: own.rlim_cur == soft,
        })
    }

    /// Whether it is this process's own, which the other has without it.
    #[must_use]
    pub fn is_own(self) -> bool {
        self.is_own
    }

    /// Makes it this process's; best effort. A system call and nothing else, so that a child may
    /// call it that shares its parent's memory.
    pub(crate) fn set(self) {
        let limit = libc::rlimit {
            rlim_cur: self.soft,
            rlim_max: self.hard,
        };
        // SAFETY: the structure is initialised.
        unsafe { libc::setrlimit(self.resource, &raw const limit) };
    }
}

fn get(resource: libc::__rlimit_resource_t) -> io::Result<libc::rlimit> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the structure is ours.
    if unsafe { libc::getrlimit(resource, &raw mut limit) } == 0 {
        Ok(limit)
    } else {
        Err(io::Error::last_os_error())
    }
}
