//! Network namespaces of a user who is not root: in a user namespace where this user alone is, kept by a process.

use super::{fork, user_namespace};
use rustix::fs::{Mode, OFlags};
use rustix::thread::{LinkNameSpaceType, UnshareFlags, move_into_link_name_space, unshare_unsafe};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// What this process has begun or joined.
#[derive(Debug)]
pub struct UserNetworks {
    /// The first network namespace, which others are connected to.
    middle: OwnedFd,
}

impl UserNetworks {
    /// Puts this process into a new user namespace with a network namespace, or into those of the process
    /// `keeper`. Programs that it starts may change networks there.
    ///
    /// # Errors
    /// This process has several threads; the system refuses.
    pub fn enter(keeper: Option<u32>) -> io::Result<UserNetworks> {
        match keeper {
            Some(_) if fork::threads() != 1 => {
                return Err(io::Error::other(
                    "a process with threads can't enter a user namespace",
                ));
            }
            Some(keeper) => {
                join(
                    open(&format!("/proc/{keeper}/ns/user"))?,
                    LinkNameSpaceType::User,
                )?;
                join(
                    open(&format!("/proc/{keeper}/ns/net"))?,
                    LinkNameSpaceType::Network,
                )?;
            }
            None => user_namespace::enter_new(UnshareFlags::NEWNET)?,
        }
        pass_rights_on()?;
        Ok(UserNetworks {
            middle: open("/proc/self/ns/net")?,
        })
    }

    /// Makes another network namespace, which lives as long as what is returned is open.
    ///
    /// # Errors
    /// What the system says.
    pub fn add(&self) -> io::Result<OwnedFd> {
        // SAFETY: the flag takes no descriptor away.
        unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?;
        let made = open("/proc/self/ns/net");
        join(self.middle.as_fd(), LinkNameSpaceType::Network)?;
        made
    }

    /// Does something with another network namespace as this process's.
    ///
    /// # Errors
    /// What the system says, or `act` returns.
    pub fn within<T>(
        &self,
        namespace: &OwnedFd,
        act: impl FnOnce() -> io::Result<T>,
    ) -> io::Result<T> {
        join(namespace.as_fd(), LinkNameSpaceType::Network)?;
        let done = act();
        join(self.middle.as_fd(), LinkNameSpaceType::Network)?;
        done
    }
}

fn open(path: &str) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(
        path,
        OFlags::RDONLY | OFlags::CLOEXEC,
        Mode::empty(),
    )?)
}

fn join(namespace: impl AsFd, kind: LinkNameSpaceType) -> io::Result<()> {
    let namespace: BorrowedFd<'_> = namespace.as_fd();
    Ok(move_into_link_name_space(namespace, Some(kind))?)
}

/// What this process may do in its user namespace is what programs may that it executes.
fn pass_rights_on() -> io::Result<()> {
    use rustix::thread::{capabilities, configure_capability_in_ambient_set, set_capabilities};
    let mut sets = capabilities(None)?;
    sets.inheritable = sets.permitted;
    set_capabilities(None, sets)?;
    for right in sets.permitted.iter() {
        configure_capability_in_ambient_set(right, true)?;
    }
    Ok(())
}
