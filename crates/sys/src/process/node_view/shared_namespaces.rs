//! Namespaces of mounts and of the host name that the programs of one view share: to make others for each
//! takes longer than to start it.
//!
//! The first program hands them over before it is executed. Later they might be others, which the program
//! has made for itself.

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

/// Room for two descriptors.
const ROOM: usize = rustix::cmsg_space!(ScmRights(2));

/// What is handed over.
#[derive(Debug)]
pub(super) struct Namespaces {
    mounts: OwnedFd,
    host: OwnedFd,
}

/// The way from the first program to who starts it.
#[derive(Debug)]
pub(super) struct Handover {
    here: OwnedFd,
    there: OwnedFd,
}

impl Handover {
    pub(super) fn new() -> io::Result<Handover> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (here, there) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        Ok(Handover { here, there })
    }

    /// Sends this process's; makes system calls alone.
    pub(super) fn send(&self) -> Result<(), Errno> {
        let open =
            |path| rustix::fs::openat(CWD, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
        let (mounts, host) = (open(c"/proc/self/ns/mnt")?, open(c"/proc/self/ns/uts")?);
        let mut space = [MaybeUninit::uninit(); ROOM];
        let mut words = SendAncillaryBuffer::new(&mut space);
        let both = [mounts.as_fd(), host.as_fd()];
        words.push(SendAncillaryMessage::ScmRights(&both));
        sendmsg(
            &self.there,
            &[IoSlice::new(b".")],
            &mut words,
            SendFlags::NOSIGNAL,
        )?;
        Ok(())
    }

    /// What was sent, if anything was.
    pub(super) fn receive(&self) -> Option<Namespaces> {
        let mut byte = [0];
        let mut space = [MaybeUninit::uninit(); ROOM];
        let mut words = RecvAncillaryBuffer::new(&mut space);
        let bytes = &mut [IoSliceMut::new(&mut byte)];
        recvmsg(&self.here, bytes, &mut words, RecvFlags::CMSG_CLOEXEC).ok()?;
        let mut found = words.drain().filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(found) => Some(found),
            _ => None,
        });
        let mut both = found.next()?;
        let (mounts, host) = (both.next()?, both.next()?);
        Some(Namespaces { mounts, host })
    }
}

impl Namespaces {
    /// Puts the calling process into them; makes system calls alone.
    pub(super) fn enter(&self) -> Result<(), Errno> {
        let (mounts, host) = (
            LinkNameSpaceType::Mount,
            LinkNameSpaceType::HostNameAndNISDomainName,
        );
        move_into_link_name_space(self.mounts.as_fd(), Some(mounts))?;
        move_into_link_name_space(self.host.as_fd(), Some(host))
    }
}
