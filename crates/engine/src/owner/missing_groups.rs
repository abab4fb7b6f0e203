//! Which control groups this machine lets no engine make.

use model::Timestamp;
use std::io;
use sys::control_group::Version;
use sys::cpu_cgroup::CpuCgroup;
use sys::device_cgroup::DeviceCgroup;
use sys::memory_cgroup::MemoryCgroup;
use sys::process_cgroup::ProcessCgroup;

/// For how long a look holds: it makes groups, which takes longer than all else that most callers want,
/// and what it sees changes when someone changes the machine.
const HOLDS_MS: i64 = 60_000;

/// Why a group of each kind can't be made; `None` where it can.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MissingGroups {
    pub(crate) devices: Option<String>,
    /// Of the group of devices, where it can be made.
    pub(crate) device_version: Option<Version>,
    pub(crate) memory: Option<String>,
    pub(crate) cpus: Option<String>,
    pub(crate) processes: Option<String>,
}

/// The last look.
#[derive(Debug, Default)]
pub(crate) struct LastLook(Option<(Timestamp, MissingGroups)>);

impl LastLook {
    /// What is missing, by the last look if that is fresh.
    pub(crate) fn missing(&mut self, now: Timestamp) -> MissingGroups {
        self.or_look(now, MissingGroups::look)
    }

    fn or_look(&mut self, now: Timestamp, look: impl FnOnce() -> MissingGroups) -> MissingGroups {
        if let Some((at, seen)) = &self.0
            && (at.0..at.0.saturating_add(HOLDS_MS)).contains(&now.0)
        {
            return seen.clone();
        }
        let seen = look();
        self.0 = Some((now, seen.clone()));
        seen
    }
}

impl MissingGroups {
    fn look() -> MissingGroups {
        let why = |tried: io::Result<()>| tried.err().map(|error| error.to_string());
        let devices = DeviceCgroup::probe();
        MissingGroups {
            device_version: devices.as_ref().ok().copied(),
            devices: why(devices.map(drop)),
            memory: why(MemoryCgroup::probe()),
            cpus: why(CpuCgroup::probe()),
            processes: why(ProcessCgroup::probe()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_holds_for_a_minute_and_not_in_the_past() {
        let mut last = LastLook::default();
        let mut looks = 0;
        for moment in [1000, 60_999, 61_000, 60_000] {
            last.or_look(Timestamp(moment), || {
                looks += 1;
                MissingGroups::default()
            });
        }
        assert_eq!(looks, 3);
    }
}
