//! A small disk that can be made to fail for a while.

use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_change,
    mount_remount, unmount,
};
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// A small disk in a mount namespace that only this thread and what it starts are in: nothing stays
/// mounted, whatever becomes of the test.
#[derive(Debug)]
pub struct FailingDisk {
    at: PathBuf,
}

impl FailingDisk {
    /// Mounts one of so many MiB at the folder, which it makes. This thread is in a mount namespace
    /// of its own from then on.
    ///
    /// # Errors
    /// This user may not mount anything.
    pub fn new(at: &Path, mib: u32) -> io::Result<FailingDisk> {
        fs::create_dir_all(at)?;
        sys::mounts::unshare()?;
        let flags = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        mount_change("/", flags)?;
        let options = std::ffi::CString::new(format!("size={mib}m,mode=0700"))?;
        mount("none", at, "tmpfs", MountFlags::empty(), options.as_c_str())?;
        Ok(FailingDisk { at: at.to_owned() })
    }

    /// Takes all room; [`FailingDisk::make_room`] gives it back.
    ///
    /// # Errors
    /// Nothing can be written to it at all.
    pub fn fill(&self) -> io::Result<()> {
        let mut file = fs::File::create(self.filling())?;
        let block = [0; 4096];
        while file.write_all(&block).is_ok() {}
        Ok(())
    }

    /// Gives back the room that [`FailingDisk::fill`] took.
    ///
    /// # Errors
    /// It took none.
    pub fn make_room(&self) -> io::Result<()> {
        fs::remove_file(self.filling())
    }

    fn filling(&self) -> PathBuf {
        self.at.join(".filling")
    }

    /// Makes it read-only for all that opens files from now on; what is open stays writable, which
    /// the system doesn't allow otherwise.
    ///
    /// # Errors
    /// The system refuses.
    pub fn read_only(&self) -> io::Result<()> {
        mount_bind(&self.at, &self.at)?;
        mount_remount(&self.at, MountFlags::BIND | MountFlags::RDONLY, "")?;
        Ok(())
    }

    /// Takes [`FailingDisk::read_only`] back.
    ///
    /// # Errors
    /// It was not read-only.
    pub fn writable(&self) -> io::Result<()> {
        unmount(&self.at, UnmountFlags::DETACH)?;
        Ok(())
    }
}

impl Drop for FailingDisk {
    fn drop(&mut self) {
        // Both, where it is read-only. What still uses it keeps it.
        while unmount(&self.at, UnmountFlags::DETACH).is_ok() {}
    }
}
