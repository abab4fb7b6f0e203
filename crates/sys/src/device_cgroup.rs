//! A control group whose processes can't open certain devices: version 1's controller.
//!
//! Version 2 has no controller for it, but programs of the kernel, which root alone may load.

use crate::control_group::{OwnedGroup, Version};
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
    /// There is no such controller, or this process may make no group there.
    pub fn make(name: &str, denied: &[DeviceNumber]) -> io::Result<DeviceCgroup> {
        let group = OwnedGroup::make("devices", name)?;
        if group.version != Version::One {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "control groups of version 1 have a controller of devices, those of version 2 none",
            ));
        }
        for DeviceNumber { major, minor } in denied {
            group.set("devices.deny", &format!("c {major}:{minor} rwm"))?;
        }
        Ok(DeviceCgroup(group))
    }

    /// Whether a group can be made here.
    ///
    /// # Errors
    /// As [`DeviceCgroup::make`].
    pub fn probe() -> io::Result<()> {
        let name = format!("yard-probe-{}", std::process::id());
        DeviceCgroup::make(&name, &[]).map(drop)
    }

    /// The file into which a process writes `0` to enter the group.
    #[must_use]
    pub fn entrance(&self) -> PathBuf {
        self.0.entrance()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_has_a_number_and_other_files_have_none() {
        let null = DeviceNumber { major: 1, minor: 3 };
        assert_eq!(DeviceNumber::at(Path::new("/dev/null")).unwrap(), null);
        let error = DeviceNumber::at(Path::new("/etc/passwd")).unwrap_err();
        assert!(error.to_string().contains("no character device"));
        DeviceNumber::at(Path::new("/nosuch")).unwrap_err();
    }
}
