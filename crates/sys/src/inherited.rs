//! Open files that the programs have which this process starts or becomes.

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::{FdFlags, fcntl_setfd};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::IntoRawFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// A text in memory, under a path by which this process and the programs that it becomes or starts read it. It is on
/// no disk, and gone when the last of them has ended.
///
/// # Errors
/// The system has no memory for it.
pub fn text(text: &str) -> io::Result<PathBuf> {
    let mut file = File::from(memfd_create("text", MemfdFlags::empty())?);
    file.write_all(text.as_bytes())?;
    // Open for as long as this process lives.
    let fd = file.into_raw_fd();
    Ok(PathBuf::from(format!("/proc/self/fd/{fd}")))
}

/// Leaves a file open in the programs that this process becomes or starts from now on; what is locked by it stays so
/// until the last of them has ended.
///
/// # Errors
/// The system refuses.
pub fn keep_open(file: File) -> io::Result<()> {
    fcntl_setfd(&file, FdFlags::empty())?;
    let _open = file.into_raw_fd();
    Ok(())
}

/// Leaves a file open in the program that a command starts, and in those that it starts; not in others of this process.
pub(crate) fn hand_to(command: &mut Command, file: File) {
    // SAFETY: between fork and exec only dup is called, which is safe after a fork of a process with threads.
    unsafe {
        command.pre_exec(move || {
            let _open = rustix::io::dup(&file)?.into_raw_fd();
            Ok(())
        });
    }
}

/// Has a command that outlives this process inherit its streams alone: no lock that [`keep_open`] handed on here.
pub fn hand_on_streams_alone(command: &mut Command) {
    // SAFETY: between fork and exec only close_range is called, which is safe after a fork of a process with threads.
    unsafe {
        command.pre_exec(|| {
            // At the exec, until which the pipe is needed that tells of its failure. A kernel that is too old leaves
            // them open.
            libc::syscall(
                libc::SYS_close_range,
                3,
                libc::c_uint::MAX,
                libc::CLOSE_RANGE_CLOEXEC,
            );
            Ok(())
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_reads_a_text_that_is_on_no_disk() {
        let path = text("A=1\nB=2\n").unwrap();
        for _ in 0..2 {
            let read = Command::new("cat").arg(&path).output().unwrap();
            assert_eq!(read.stdout, b"A=1\nB=2\n");
        }
    }
}
