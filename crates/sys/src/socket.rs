//! Unix sockets, at paths of any length.

use rustix::fs::{CWD, Mode, OFlags};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, socket_with};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// Longest path that fits into a socket's address, its final NUL left out.
const LONGEST: usize = 107;

/// Listens at `path`, in place of a socket that a dead process left there. Only the owner can
/// connect, where the file system keeps modes.
///
/// # Errors
/// What the system says.
pub fn listen(path: &Path) -> io::Result<UnixListener> {
    match std::fs::remove_file(path) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let short = Short::of(path)?;
    let listener = UnixListener::bind(&short.path)?;
    std::fs::set_permissions(&short.path, PermissionsExt::from_mode(0o600))?;
    Ok(listener)
}

/// Connects to the socket at `path`.
///
/// # Errors
/// What the system says: `NotFound` or `ConnectionRefused` where no process listens.
pub fn connect(path: &Path) -> io::Result<UnixStream> {
    let short = Short::of(path)?;
    UnixStream::connect(&short.path)
}

/// As [`connect`], for a stream that never waits, nor is waited for: a listener whose queue is full is
/// an error.
///
/// # Errors
/// What the system says: `WouldBlock` where the listener accepts no connection now.
pub fn connect_at_once(path: &Path) -> io::Result<UnixStream> {
    let short = Short::of(path)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    rustix::net::connect(&socket, &SocketAddrUnix::new(&short.path)?)?;
    Ok(socket.into())
}

/// The user at the other end.
///
/// # Errors
/// What the system says.
pub fn peer_uid(stream: &UnixStream) -> io::Result<u32> {
    Ok(rustix::net::sockopt::socket_peercred(stream)?.uid.as_raw())
}

/// The process that connected at the other end.
///
/// # Errors
/// What the system says.
pub fn peer_pid(stream: &UnixStream) -> io::Result<u32> {
    let pid = rustix::net::sockopt::socket_peercred(stream)?.pid;
    Ok(pid.as_raw_nonzero().get().unsigned_abs())
}

/// The group of the user at the other end.
///
/// # Errors
/// What the system says.
pub fn peer_gid(stream: &UnixStream) -> io::Result<u32> {
    Ok(rustix::net::sockopt::socket_peercred(stream)?.gid.as_raw())
}

/// A path for the same socket that fits: the path itself, or one through its opened folder.
struct Short {
    path: PathBuf,
    _folder: Option<OwnedFd>,
}

impl Short {
    fn of(path: &Path) -> io::Result<Short> {
        if path.as_os_str().len() <= LONGEST {
            return Ok(Short {
                path: path.to_owned(),
                _folder: None,
            });
        }
        let invalid = || io::Error::from(io::ErrorKind::InvalidInput);
        let folder = path.parent().ok_or_else(invalid)?;
        let name = path.file_name().ok_or_else(invalid)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::openat(CWD, folder, flags, Mode::empty())?;
        let mut path = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
        path.push(name);
        Ok(Short {
            path,
            _folder: Some(folder),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[track_caller]
    fn check(folder: &Path) {
        std::fs::create_dir_all(folder).unwrap();
        let path = folder.join("sock");
        drop(listen(&path).unwrap());
        let listener = listen(&path).unwrap();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let mut client = connect(&path).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        assert_eq!(
            peer_uid(&server).unwrap(),
            rustix::process::getuid().as_raw()
        );
        client.write_all(b"x").unwrap();
        drop(client);
        let mut text = String::new();
        server.read_to_string(&mut text).unwrap();
        assert_eq!(text, "x");
    }

    #[test]
    fn a_listener_that_accepts_nothing_holds_no_caller_up() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sock");
        let listener = listen(&path).unwrap();
        let mut queued = Vec::new();
        let error = loop {
            match connect_at_once(&path) {
                Ok(stream) => queued.push(stream),
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        drop(listener);
        let error = connect_at_once(&path).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
    }

    #[test]
    fn short_and_long_paths() {
        let folder = tempfile::tempdir().unwrap();
        check(folder.path());
        check(
            &folder
                .path()
                .join("long".repeat(40))
                .join("longer".repeat(30)),
        );
    }
}
