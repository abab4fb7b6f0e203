//! Starting a program with everything about it decided beforehand.

use super::NodeView;
use crate::{SoftLimit, cpu, odd_text};
use nix::unistd::Gid;
use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// A program to be started by [`Spawn::start`].
///
/// The child becomes the leader of a process group of its own, gets every signal, and inherits no
/// other descriptors than those that are not close-on-exec. When the program can't be executed it
/// says so on its stderr as `slurmstepd` does and exits with the error's number.
#[derive(Debug)]
pub struct Spawn<'a> {
    /// The file to execute.
    pub program: &'a OsStr,
    /// Arguments, the program's own name first.
    pub args: &'a [OsString],
    /// The whole environment; text as [`odd_text`] makes it.
    pub environment: &'a [(String, String)],
    /// A variable that gets the child's process number.
    pub pid_variable: Option<&'a str>,
    /// Standard streams.
    pub streams: [BorrowedFd<'a>; 3],
    /// Its stdin is a terminal, and becomes the controlling one of a session of its own.
    pub terminal: bool,
    /// CPUs that it is bound to; an empty list binds to none.
    pub cpus: &'a [u32],
    /// Its umask.
    pub umask: u32,
    /// How readily the kernel kills it for memory.
    pub oom_score_adj: i32,
    /// The `cgroup.procs` of control groups that it enters; best effort.
    pub cgroups: &'a [PathBuf],
    /// Limits that it has instead of this process's.
    pub limits: &'a [SoftLimit],
    /// Becomes this user first.
    pub user: Option<&'a User>,
    /// What it sees as its machine.
    pub view: Option<&'a NodeView>,
}

/// A program that was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spawned {
    /// Its process number.
    pub pid: u32,
    /// Where it has a view, the namespace of its host name, as [`namespace_of`](super::namespace_of) tells
    /// it: whatever it starts has the same.
    pub host: Option<u64>,
}

/// A user to become.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User {
    /// The user.
    pub uid: u32,
    /// The main group.
    pub gid: u32,
    /// All groups.
    pub groups: Vec<u32>,
}

impl User {
    /// The user with the groups that the system's data base knows; the main one alone where it
    /// does not know the name.
    #[must_use]
    pub fn look_up(name: &str, uid: u32, gid: u32) -> User {
        let name = CString::new(name).ok();
        let all = name.and_then(|name| nix::unistd::getgrouplist(&name, Gid::from_raw(gid)).ok());
        let groups = all.map_or_else(
            || vec![gid],
            |all| all.into_iter().map(Gid::as_raw).collect(),
        );
        User { uid, gid, groups }
    }
}

impl Spawn<'_> {
    /// Starts the program and returns its process number; the execution has then succeeded, or
    /// failed with the word on stderr.
    ///
    /// # Errors
    /// A NUL byte in a text, or the system refused to fork.
    pub fn start(&self) -> io::Result<u32> {
        self.spawn().map(|spawned| spawned.pid)
    }

    /// The same, and says by what its processes are known.
    ///
    /// # Errors
    /// As [`Spawn::start`].
    pub fn spawn(&self) -> io::Result<Spawned> {
        let program = CString::new(self.program.as_bytes())?;
        let args: Vec<CString> = self
            .args
            .iter()
            .map(|arg| CString::new(arg.as_bytes()))
            .collect::<Result<_, _>>()?;
        let cgroups: Vec<CString> = self
            .cgroups
            .iter()
            .map(|file| CString::new(file.as_os_str().as_bytes()))
            .collect::<Result<_, _>>()?;
        let mut environment: Vec<Vec<u8>> = Vec::with_capacity(self.environment.len() + 1);
        for (name, value) in self.environment {
            let mut text = Vec::with_capacity(name.len() + value.len() + 2);
            text.extend_from_slice(odd_text::bytes(name).as_bytes());
            text.push(b'=');
            text.extend_from_slice(odd_text::bytes(value).as_bytes());
            if text.contains(&0) {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            text.push(0);
            environment.push(text);
        }
        let mut pid_text = None;
        if let Some(name) = self.pid_variable {
            let mut text = format!("{name}=").into_bytes();
            let digits = text.len();
            // Room for the largest number and the final NUL; the child fills it in.
            text.resize(digits + 11, 0);
            environment.push(text);
            pid_text = Some((environment.len() - 1, digits));
        }
        let complaint = [
            b"slurmstepd: error: execve(): ",
            self.program.as_bytes(),
            b": ",
        ]
        .concat();
        let argv = pointers(args.iter().map(|arg| arg.as_ptr()));
        // Taken as mutable, since the child writes its number into one of them.
        let pid_pointer =
            pid_text.map(|(index, digits)| environment[index].as_mut_ptr().wrapping_add(digits));
        let envp = pointers(environment.iter().map(|text| text.as_ptr().cast()));

        let mut stack = vec![0_u128; STACK / size_of::<u128>()];
        let mut host = 0;
        let start = Start {
            spawn: self,
            program: &program,
            cgroups: &cgroups,
            argv: &argv,
            envp: &envp,
            pid_text: pid_pointer,
            host: &raw mut host,
            complaint: &complaint,
        };
        // This process's memory is lent to the child instead of copied: copying its page tables
        // and then its pages would cost more than all else here. The calling thread waits until
        // the child executes or exits (CLONE_VFORK), so that nothing is used by both at once.
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        // SAFETY: the child runs `begin` on a stack of its own, calls only what is safe there, and
        // all that `start` leads to lives until it has executed or exited.
        let pid = unsafe {
            let top = stack.as_mut_ptr().add(stack.len()).cast();
            match self.view.filter(|view| view.has_processes()) {
                None => libc::clone(begin, top, flags, (&raw const start).cast_mut().cast()),
                Some(view) => start_between(view, flags, top, &start),
            }
        };
        let pid = u32::try_from(pid).map_err(|_| io::Error::last_os_error())?;
        let host = self.view.map(|_| host);
        Ok(Spawned { pid, host })
    }

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

/// Enough for the child's way to its program, which calls nothing deep.
const STACK: usize = 32 * 1024;

/// What the child needs.
struct Start<'a> {
    spawn: &'a Spawn<'a>,
    program: &'a CString,
    cgroups: &'a [CString],
    argv: &'a [*const libc::c_char],
    envp: &'a [*const libc::c_char],
    pid_text: Option<*mut u8>,
    /// Gets the number of the namespace of the host name.
    host: *mut u64,
    complaint: &'a [u8],
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
unsafe fn start_between(
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
extern "C" fn begin(start: *mut libc::c_void) -> libc::c_int {
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

fn pointers(texts: impl Iterator<Item = *const libc::c_char>) -> Vec<*const libc::c_char> {
    texts.chain([std::ptr::null()]).collect()
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

/// Best effort, in the child: no allocation. `0` is whoever writes it.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::AsFd;

    #[track_caller]
    fn run(program: &str, args: &[&str]) -> (i32, String) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("output");
        let (null, output) = (
            File::open("/dev/null").unwrap(),
            File::create(&path).unwrap(),
        );
        let args: Vec<OsString> = args.iter().map(OsString::from).collect();
        let pid = Spawn {
            program: OsStr::new(program),
            args: &args,
            environment: &[("A".to_owned(), "b c".to_owned())],
            pid_variable: Some("PID"),
            streams: [null.as_fd(), output.as_fd(), output.as_fd()],
            terminal: false,
            cpus: &[crate::cpu::available()[0]],
            umask: 0o27,
            oom_score_adj: 250,
            cgroups: &[],
            limits: &[],
            user: None,
            view: None,
        }
        .start()
        .unwrap();
        let mut status = 0;
        // SAFETY: waits for the child made above.
        unsafe { libc::waitpid(pid.cast_signed(), &raw mut status, 0) };
        let text = std::fs::read_to_string(&path).unwrap();
        (status, text.replace(&pid.to_string(), "<pid>"))
    }

    #[test]
    fn everything_is_as_decided() {
        let script = "echo $A $PID $$; umask; cat /proc/self/oom_score_adj; nproc; \
                      ps -o pgid= -p $$ | tr -d ' '; kill -USR1 $$";
        let (status, text) = run("/bin/sh", &["sh", "-c", script]);
        assert_eq!(text, "b c <pid> <pid>\n0027\n250\n1\n<pid>\n");
        assert_eq!(status, libc::SIGUSR1);
    }

    /// Where the system lets it: `hostname`, and a file that another folder shows.
    #[test]
    fn a_view_has_a_host_name_and_folders_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["disk", "shown/kept/deep"] {
            std::fs::create_dir_all(at(name)).unwrap();
        }
        std::fs::write(at("disk/a"), "of the node").unwrap();
        std::fs::write(at("shown/kept/b"), "kept").unwrap();
        let mut view = NodeView::new("node7").unwrap();
        let kept = [at("shown/kept/deep"), at("elsewhere")];
        view.replace(&at("disk"), &at("shown"), &kept).unwrap();
        let output = File::create(at("output")).unwrap();
        let null = File::open("/dev/null").unwrap();
        let shown = at("shown");
        let script = format!("uname -n; cd {}; cat a kept/b", shown.display());
        let args = ["sh", "-c", &script].map(OsString::from);
        let pid = Spawn {
            program: OsStr::new("/bin/sh"),
            args: &args,
            environment: &[("PATH".to_owned(), "/usr/bin:/bin".to_owned())],
            pid_variable: None,
            streams: [null.as_fd(), output.as_fd(), output.as_fd()],
            terminal: false,
            cpus: &[],
            umask: 0o22,
            oom_score_adj: 0,
            cgroups: &[],
            limits: &[],
            user: None,
            view: Some(&view),
        }
        .start()
        .unwrap();
        let mut status = 0;
        // SAFETY: waits for the child made above.
        unsafe { libc::waitpid(pid.cast_signed(), &raw mut status, 0) };
        let text = std::fs::read_to_string(at("output")).unwrap();
        if text.contains("can't be made") {
            let text = format!("skipped: this system makes no namespaces: {text}\n");
            io::Write::write_all(&mut io::stderr(), text.as_bytes()).unwrap();
            return;
        }
        assert_eq!((status, text.as_str()), (0, "node7\nof the nodekept"));
        assert!(!at("shown/a").exists());
    }

    #[test]
    fn a_missing_interpreter_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("script");
        std::fs::write(&script, "#!/bin/nosuch -x\ntrue\n").unwrap();
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        std::fs::set_permissions(&script, executable).unwrap();
        let (status, text) = run(script.to_str().unwrap(), &["script"]);
        assert_eq!(status, libc::ENOENT << 8);
        assert_eq!(
            text,
            "slurmstepd: error: execve(): bad interpreter(/bin/nosuch -x): No such file or directory\n"
        );
    }

    #[test]
    fn a_missing_program_is_said_as_slurmstepd_does() {
        let (status, text) = run("/no/such", &["such"]);
        assert_eq!(status, libc::ENOENT << 8);
        assert_eq!(
            text,
            "slurmstepd: error: execve(): /no/such: No such file or directory\n"
        );
    }
}
