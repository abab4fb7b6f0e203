//! Programs that outlive whoever starts them.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Starts `command` in a session of its own, as a child of init (forked twice), and returns once it
/// was executed. Nothing has to wait for it. Its streams are what `command` says: give it a log
/// file and no terminal.
///
/// # Errors
/// It could not be forked or executed.
pub fn spawn(command: &mut Command) -> io::Result<()> {
    // SAFETY: between fork and exec only setsid, fork and _exit are called, which are safe after
    // a fork of a process with threads; nothing is allocated and no lock is taken.
    unsafe {
        command.pre_exec(|| {
            if libc::setsid() < 0 {
                return Err(io::Error::last_os_error());
            }
            match libc::fork() {
                0 => Ok(()),
                error if error < 0 => Err(io::Error::last_os_error()),
                _ => libc::_exit(0),
            }
        });
    }
    // `spawn` returns when the grandchild's exec has closed the error pipe; the child in between
    // has then ended, or is about to.
    command.spawn()?.wait()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Stdio;

    #[test]
    fn is_a_child_of_init() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pid");
        let fifo = rustix::fs::mknodat(
            rustix::fs::CWD,
            &path,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        );
        fifo.unwrap();
        let mut command = Command::new("sh");
        command.arg("-c").arg(r#"echo $$ $PPID > "$0""#).arg(&path);
        spawn(command.stdin(Stdio::null())).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let mut words = text
            .split_whitespace()
            .map(|word| word.parse::<u32>().unwrap());
        let (pid, parent) = (words.next().unwrap(), words.next().unwrap());
        assert_ne!(pid, std::process::id());
        assert_ne!(parent, std::process::id());
    }

    #[test]
    fn tells_a_missing_program() {
        assert!(spawn(&mut Command::new("/no/such/program")).is_err());
    }
}
