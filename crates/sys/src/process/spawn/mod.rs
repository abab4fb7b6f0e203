//! Starting a program with everything about it decided beforehand.

mod child;

use super::NodeView;
use crate::{SoftLimit, odd_text};
use child::{Start, begin, start_between};
use nix::unistd::Gid;
use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::fd::BorrowedFd;
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
}

/// Enough for the child's way to its program, which calls nothing deep.
const STACK: usize = 32 * 1024;

fn pointers(texts: impl Iterator<Item = *const libc::c_char>) -> Vec<*const libc::c_char> {
    texts.chain([std::ptr::null()]).collect()
}

#[cfg(test)]
mod tests;
