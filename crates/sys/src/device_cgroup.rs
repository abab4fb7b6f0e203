//! A control group whose processes can't open certain devices: by the controller of version 1, or by a
//! program of the kernel under version 2 (`device_program.rs`), which root alone may load.

use crate::control_group::{OwnedGroup, Version};
use crate::device_program;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// A character device, as the kernel knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DeviceNumber {
    /// Of its driver: 195 is NVIDIA's.
    pub major: u32,
    /// Which of the driver's.
    pub minor: u32,
}

impl DeviceNumber {
    /// The character device that stands at a path.
    ///
    /// # Errors
    /// There is none.
    pub fn at(path: &Path) -> io::Result<DeviceNumber> {
        let facts = std::fs::metadata(path)?;
        if !facts.file_type().is_char_device() {
            return Err(io::Error::other(format!(
                "{} is no character device",
                path.display()
            )));
        }
        Ok(DeviceNumber {
            major: rustix::fs::major(facts.rdev()),
            minor: rustix::fs::minor(facts.rdev()),
        })
    }
}

/// A group that keeps its processes from devices; removed when it is dropped.
#[derive(Debug)]
pub struct DeviceCgroup(OwnedGroup);

impl DeviceCgroup {
    /// Makes the group `name`, whose processes may open all devices that this one may but these.
    ///
    /// # Errors
    /// There is no such controller, or this process may make no group there, or load no program.
    pub fn make(name: &str, denied: &[DeviceNumber]) -> io::Result<DeviceCgroup> {
        let group = OwnedGroup::make("devices", name)?;
        match group.version {
            Version::One => {
                for DeviceNumber { major, minor } in denied {
                    group.set("devices.deny", &format!("c {major}:{minor} rwm"))?;
                }
            }
            Version::Two => device_program::deny(&group.folder, denied).map_err(not_loaded)?,
        }
        Ok(DeviceCgroup(group))
    }

    /// Whether a group can be made here, and of which version.
    ///
    /// # Errors
    /// As [`DeviceCgroup::make`].
    pub fn probe() -> io::Result<Version> {
        let name = format!("yard-probe-{}", std::process::id());
        DeviceCgroup::make(&name, &[]).map(|group| group.0.version)
    }

    /// The file into which a process of one thread writes `0` to enter the group.
    #[must_use]
    pub fn entrance(&self) -> PathBuf {
        self.0.entrance()
    }
}

fn not_loaded(error: io::Error) -> io::Error {
    io::Error::new(
        error.kind(),
        format!(
            "control groups of version 2 keep from devices by a program, which was not loaded: {error}"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where version 2 is mounted, beside version 1 or alone.
    fn of_version_two() -> Option<PathBuf> {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        let line = mounts.lines().find(|line| line.contains(" - cgroup2 "))?;
        line.split(' ').nth(4).map(PathBuf::from)
    }

    fn skip(why: &str) {
        let text = format!("skipped: no program of devices can be loaded here: {why}\n");
        io::Write::write_all(&mut io::stderr(), text.as_bytes()).unwrap();
    }

    #[test]
    fn a_program_keeps_processes_from_devices() {
        let Some(folder) = of_version_two() else {
            return skip("control groups of version 2 are not mounted");
        };
        let name = format!("yard-test-{}", std::process::id());
        let made = OwnedGroup::make_in(&folder, Version::Two, &name).and_then(|group| {
            let zero = DeviceNumber { major: 1, minor: 5 };
            device_program::deny(&group.folder, &[zero]).map(|()| group)
        });
        let lacks = |error: &io::Error| {
            let kind = error.kind();
            kind == io::ErrorKind::PermissionDenied || kind == io::ErrorKind::ReadOnlyFilesystem
        };
        let group = match made {
            Err(error) if lacks(&error) => return skip(&error.to_string()),
            made => made.unwrap(),
        };
        let script = format!(
            "echo 0 > {}; for device in null zero; do ( : < /dev/$device ) 2>/dev/null; echo $device $?; done",
            group.entrance().display()
        );
        let output = std::process::Command::new("bash")
            .args(["-c", &script])
            .output()
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "null 0\nzero 1\n");
    }

    #[test]
    fn a_device_has_a_number_and_other_files_have_none() {
        let null = DeviceNumber { major: 1, minor: 3 };
        assert_eq!(DeviceNumber::at(Path::new("/dev/null")).unwrap(), null);
        let error = DeviceNumber::at(Path::new("/etc/passwd")).unwrap_err();
        assert!(error.to_string().contains("no character device"));
        DeviceNumber::at(Path::new("/nosuch")).unwrap_err();
    }
}
