//! The kernel's log, line by line, where the machine lets a user read it.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Where the kernel has it.
pub const KERNEL_LOG: &str = "/dev/kmsg";

/// More records are not read at once: a driver may write without end.
const MOST: usize = 1000;
/// The longest record, by the kernel's own bound.
const LONGEST: usize = 8192;

/// What the kernel writes from now on.
#[derive(Debug)]
pub struct KernelLog(File);

impl KernelLog {
    /// The log; `None` where it may not be read.
    #[must_use]
    pub fn open(path: &Path) -> Option<KernelLog> {
        let mut options = File::options();
        let mut file = options
            .read(true)
            .custom_flags(libc::O_NONBLOCK)
            .open(path)
            .ok()?;
        file.seek(SeekFrom::End(0)).ok()?;
        Some(KernelLog(file))
    }

    /// The lines that came since the last call.
    pub fn lines(&mut self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut record = vec![0; LONGEST];
        for _ in 0..MOST {
            match self.0.read(&mut record) {
                Ok(0) => break,
                // What begins with a blank says which device wrote the line before.
                Ok(length) => lines.extend(
                    String::from_utf8_lossy(&record[..length])
                        .lines()
                        .filter(|line| !line.starts_with(' '))
                        .map(str::to_owned),
                ),
                // Records that were lost before they were read are an error once.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
                Err(_) => break,
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn what_came_since_the_last_look() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kmsg");
        std::fs::write(&path, "6,1,1,-;before\n").unwrap();
        let mut log = KernelLog::open(&path).unwrap();
        assert_eq!(log.lines(), Vec::<String>::new());
        let mut file = File::options().append(true).open(&path).unwrap();
        file.write_all(b"6,2,2,-;one\n SUBSYSTEM=pci\n4,3,3,-;two\n")
            .unwrap();
        assert_eq!(log.lines(), ["6,2,2,-;one", "4,3,3,-;two"]);
        assert_eq!(log.lines(), Vec::<String>::new());
        assert!(KernelLog::open(&folder.path().join("none")).is_none());
    }
}
