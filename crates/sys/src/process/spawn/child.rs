//! What happens between this process and the program: in the child, in memory that is the parent's, so that
//! nothing here may allocate or lock.

use super::{STACK, Spawn};
use crate::cpu;
use crate::process::NodeView;
use std::ffi::CString;
use std::io;
use std::os::fd::AsRawFd;

/// What the child needs.
pub(super) struct Start<'a> {
    pub(super) spawn: &'a Spawn<'a>,
    pub(super) program: &'a CString,
    pub(super) cgroups: &'a [CString],
    pub(super) argv: &'a [*const libc::c_char],
    pub(super) envp: &'a [*const libc::c_char],
    pub(super) pid_text: Option<*mut u8>,
    /// Gets the number of the namespace of the host name.
    pub(super) host: *mut u64,
    pub(super) complaint: &'a [u8],
}

/// What the process needs that stands between this one and the child.
struct Between<'a> {
    view: &'a NodeView,
    flags: libc::c_int,
    stack: *mut libc::c_void,
    start: &'a Start<'a>,
    /// Gets the child's number, or what the system says.
    result: Result<libc::pid_t, i32>,
}

/// Starts the child by a process that enters a PID namespace, as no process can for itself; the child is
/// this one's nevertheless.
///
/// # Safety
/// `top` ends a stack on which `begin` runs with `start`.
pub(super) unsafe fn start_between(
    view: &NodeView,
    flags: libc::c_int,
    top: *mut libc::c_void,
    start: &Start<'_>,
) -> libc::pid_t {
    let mut stack = vec![0_u128; STACK / size_of::<u128>()];
    let mut between = Between {
        view,
        flags: flags | libc::CLONE_PARENT,
        stack: top,
        start,
        result: Err(libc::EIO),
    };
    // SAFETY: as for the child itself.
    unsafe {
        let own = stack.as_mut_ptr().add(stack.len()).cast();
        let first = libc::clone(begin_between, own, flags, (&raw mut between).cast());
        if first < 0 {
            return first;
        }
        while libc::waitpid(first, std::ptr::null_mut(), 0) < 0
            && *libc::__errno_location() == libc::EINTR
        {}
        between.result.unwrap_or_else(|error| {
            *libc::__errno_location() = error;
            -1
        })
    }
}

extern "C" fn begin_between(between: *mut libc::c_void) -> libc::c_int {
    // SAFETY: `between` is the parent's, who waits.
    unsafe {
        let between = &mut *between.cast::<Between<'_>>();
        let mut child = -1;
        if between.view.lead_into_processes() {
            let start = std::ptr::from_ref(between.start).cast_mut().cast();
            child = libc::clone(begin, between.stack, between.flags, start);
        }
        between.result = if child < 0 {
            Err(*libc::__errno_location())
        } else {
            Ok(child)
        };
        libc::_exit(0)
    }
}

/// The child's beginning, on its own stack in the parent's memory.
pub(super) extern "C" fn begin(start: *mut libc::c_void) -> libc::c_int {
    // SAFETY: `start` is the parent's, who waits; its pointers lead to NUL-terminated texts, and
    // `pid_text` to eleven bytes of one of them.
    let error = unsafe {
        let start = &*start.cast::<Start<'_>>();
        start.spawn.child(
            start.program,
            start.cgroups,
            start.argv,
            start.envp,
            start.pid_text,
            start.host,
        );
        let error = io::Error::last_os_error().raw_os_error().unwrap_or(1);
        let mut line = [0; LONGEST_INTERPRETER];
        match missing_interpreter(start.program, error, &mut line) {
            Some(name) => complain(&[BAD_INTERPRETER, name, b"): "], error),
            None => complain(&[start.complaint], error),
        }
        error
    };
    // SAFETY: ends the child without running anything of the parent's.
    unsafe { libc::_exit(error & 0xff) }
}

/// What stands before the name of an interpreter that there is not.
const BAD_INTERPRETER: &[u8] = b"slurmstepd: error: execve(): bad interpreter(";
/// Bytes of a script that are looked at for its interpreter, as in Slurm.
const LONGEST_INTERPRETER: usize = 256;

/// The interpreter that a script names, where that is what was not found: the script itself is there. In the child:
/// no allocation.
fn missing_interpreter<'a>(
    program: &CString,
    error: i32,
    line: &'a mut [u8; LONGEST_INTERPRETER],
) -> Option<&'a [u8]> {
    if error != libc::ENOENT {
        return None;
    }
    // SAFETY: the path ends with NUL, and the buffer has as many bytes as are read.
    let length = unsafe {
        let fd = libc::open(program.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if fd < 0 {
            return None;
        }
        let length = libc::read(fd, line.as_mut_ptr().cast(), line.len());
        libc::close(fd);
        usize::try_from(length).ok()?
    };
    let name = line.get(..length)?.strip_prefix(b"#!")?;
    name.split(|byte| *byte == b'\n').next()
}

impl Spawn<'_> {
    /// The child's way to its program; returns only when it failed, with `errno` set.
    ///
    /// # Safety
    /// Runs in a child that shares this memory, so it may neither allocate nor lock: only system
    /// calls.
    unsafe fn child(
        &self,
        program: &CString,
        cgroups: &[CString],
        argv: &[*const libc::c_char],
        envp: &[*const libc::c_char],
        pid_text: Option<*mut u8>,
        host: *mut u64,
    ) {
        // SAFETY: system calls on integers, and on memory that the caller vouches for.
        unsafe {
            // A session of processes that it does not see would have no number.
            if self.terminal || self.view.is_some_and(NodeView::has_processes) {
                libc::setsid();
            } else {
                libc::setpgid(0, 0);
            }
            if self.terminal {
                libc::ioctl(self.streams[0].as_raw_fd(), libc::TIOCSCTTY, 0);
            }
            if let Some(place) = pid_text {
                write_number(place, libc::getpid().unsigned_abs());
            }
            // First out of the way of 0, 1 and 2, which may be among them in another order.
            let mut high = [-1; 3];
            for (copy, stream) in high.iter_mut().zip(&self.streams) {
                *copy = libc::fcntl(stream.as_raw_fd(), libc::F_DUPFD_CLOEXEC, 3);
                if *copy < 0 {
                    return;
                }
            }
            for (number, copy) in (0..).zip(high) {
                if libc::dup2(copy, number) < 0 {
                    return;
                }
            }
            // Best effort: a CPU that went away, or a container that forbids these, must not keep
            // the program from running.
            set_oom_score_adj(self.oom_score_adj);
            for file in cgroups {
                enter_cgroup(file);
            }
            // Who enters a group of CPUs is bound to all of them.
            let _ = cpu::bind(self.cpus);
            if let Some(view) = self.view
                && !view.enter()
            {
                let error = io::Error::last_os_error().raw_os_error().unwrap_or(1);
                complain(
                    &[b"slurmstepd: error: the node's namespaces can't be made: "],
                    error,
                );
                libc::_exit(error & 0xff);
            }
            if self.view.is_some() {
                let mut facts = std::mem::MaybeUninit::<libc::stat64>::uninit();
                if libc::stat64(c"/proc/self/ns/uts".as_ptr(), facts.as_mut_ptr()) == 0 {
                    *host = facts.assume_init().st_ino;
                }
            }
            libc::umask(self.umask & 0o777);
            // The system calls themselves: the library's functions are for all threads of a
            // process, and the memory is the parent's.
            if let Some(user) = self.user
                && (libc::syscall(libc::SYS_setgroups, user.groups.len(), user.groups.as_ptr())
                    != 0
                    || libc::syscall(libc::SYS_setgid, user.gid) != 0
                    || libc::syscall(libc::SYS_setuid, user.uid) != 0)
            {
                return;
            }
            if let Some(view) = self.view {
                view.enter_folder();
            }
            for signal in 1..32 {
                libc::signal(signal, libc::SIG_DFL);
            }
            let mut none = std::mem::MaybeUninit::<libc::sigset_t>::uninit();
            libc::sigemptyset(none.as_mut_ptr());
            libc::sigprocmask(libc::SIG_SETMASK, none.as_ptr(), std::ptr::null_mut());
            for limit in self.limits {
                limit.set();
            }
            libc::execve(program.as_ptr(), argv.as_ptr(), envp.as_ptr());
        }
    }
}

/// Writes a number in decimal, and nothing after it.
///
/// # Safety
/// `place` leads to at least ten writable bytes.
unsafe fn write_number(place: *mut u8, number: u32) {
    let mut digits = [0_u8; 10];
    let mut left = number;
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            break;
        }
    }
    let text = &digits[first..];
    // SAFETY: at most ten bytes, which the caller vouches for.
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr(), place, text.len()) };
}

/// Best effort, in the child: no allocation.
fn set_oom_score_adj(score: i32) {
    let mut text = [0_u8; 12];
    let mut length = 0;
    if score < 0 {
        text[0] = b'-';
        length = 1;
    }
    // SAFETY: the text has room for a sign and ten digits; the path ends with NUL.
    unsafe {
        write_number(text.as_mut_ptr().add(length), score.unsigned_abs());
        while text[length.min(11)] != 0 && length < 11 {
            length += 1;
        }
        let path = c"/proc/self/oom_score_adj".as_ptr();
        let fd = libc::open(path, libc::O_WRONLY | libc::O_CLOEXEC);
        if fd >= 0 {
            libc::write(fd, text.as_ptr().cast(), length);
            libc::close(fd);
        }
    }
}

/// Best effort, in the child, which has one thread: no allocation. `0` is whoever writes it.
fn enter_cgroup(file: &CString) {
    // SAFETY: the path ends with NUL, and one byte of a literal is written.
    unsafe {
        let fd = libc::open(file.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC);
        if fd >= 0 {
            libc::write(fd, c"0".as_ptr().cast(), 1);
            libc::close(fd);
        }
    }
}

/// Says on stderr why nothing was executed, in the child: no allocation.
fn complain(prefix: &[&[u8]], error: i32) {
    let reason: &[u8] = match error {
        libc::ENOENT => b"No such file or directory",
        libc::EACCES => b"Permission denied",
        libc::ENOEXEC => b"Exec format error",
        libc::E2BIG => b"Argument list too long",
        libc::ENOMEM => b"Cannot allocate memory",
        libc::EPERM => b"Operation not permitted",
        libc::ENOTDIR => b"Not a directory",
        libc::EISDIR => b"Is a directory",
        libc::ELOOP => b"Too many levels of symbolic links",
        _ => b"Unknown error",
    };
    for text in prefix.iter().copied().chain([reason, b"\n"]) {
        // SAFETY: writes bytes that live here.
        unsafe { libc::write(2, text.as_ptr().cast(), text.len()) };
    }
}
