//! Programs that outlive whoever starts them.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Starts `command` in a session of its own, as a child of init (forked twice), and returns once it
/// was executed. Nothing has to wait for it. Its streams are what `command` says: give it a log
/// file and no terminal. It has no other open files of whoever starts it, and so none of its locks.
///
/// # Errors
/// It could not be forked or executed.
pub fn spawn(command: &mut Command) -> io::Result<()> {
    crate::inherited::hand_on_streams_alone(command);
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
    fn holds_no_lock_of_who_starts_it() {
        let folder = tempfile::tempdir().unwrap();
        let (lock, ended) = (folder.path().join("lock"), folder.path().join("ended"));
        let held = crate::lock::FileLock::share(&lock).unwrap();
        held.hand_on().unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", r#"ls /proc/$$/fd >"$0.new"; mv "$0.new" "$0""#]);
        spawn(command.arg(&ended).stdin(Stdio::null())).unwrap();
        while !ended.exists() {
            std::thread::yield_now();
        }
        let open = std::fs::read_to_string(&ended).unwrap();
        let held = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
        let held = held.filter(|fd| std::fs::read_link(fd.path()).is_ok_and(|file| file == lock));
        let held = held.map(|fd| fd.file_name().into_string().unwrap());
        let held: Vec<String> = held.collect();
        assert_eq!(held.len(), 1);
        assert!(!open.lines().any(|fd| fd == held[0]), "{open}");
    }

    #[test]
    fn tells_a_missing_program() {
        assert!(spawn(&mut Command::new("/no/such/program")).is_err());
    }
}
