//! Files that a user named: they may lie where other users put pipes.

use rustix::fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl};
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::thread;
use std::time::Duration;

/// How often it is asked whether a pipe is still to be waited on.
const PAUSE: Duration = Duration::from_millis(50);
/// For a thread that opens a file and no more.
const SMALL_STACK: usize = 64 << 10;

/// Opens a file that `user` named. A pipe is waited on for its other end, as `open` does, if that
/// user or root made it, and until `stop` says otherwise; another's is refused.
///
/// # Errors
/// What the system says; the pipe of another user; the wait was stopped.
pub fn open(
    options: &mut OpenOptions,
    path: &Path,
    user: u32,
    stop: &dyn Fn() -> bool,
) -> io::Result<File> {
    // Neither waits for another process nor is seen by one.
    let place = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    if let Ok(place) = place.map(File::from)
        && refused_or_own_pipe(&place.metadata()?, user)?
    {
        return open_pipe(options.clone(), place, stop);
    }
    let no_wait = i32::try_from((OFlags::NONBLOCK | OFlags::NOCTTY).bits()).unwrap_or(0);
    let file = options.clone().custom_flags(no_wait).open(path)?;
    // It took the place of another file meanwhile.
    if refused_or_own_pipe(&file.metadata()?, user)? {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
    Ok(file)
}

/// Waits on a thread, with this one's rights: an `open` that waits ends for a signal alone.
fn open_pipe(options: OpenOptions, place: File, stop: &dyn Fn() -> bool) -> io::Result<File> {
    let same = format!("/proc/self/fd/{}", place.as_raw_fd());
    let path = same.clone();
    let opened = thread::Builder::new()
        .name("pipe".to_owned())
        .stack_size(SMALL_STACK)
        .spawn(move || options.open(path))?;
    let mut both_ends = None;
    while !opened.is_finished() {
        if stop() {
            let no_wait = i32::try_from(OFlags::NONBLOCK.bits()).unwrap_or(0);
            let mut both = File::options();
            let both = both.read(true).write(true).custom_flags(no_wait);
            // Whichever the thread waits for has come with it. Without the right to it, the thread
            // goes on waiting by itself.
            both_ends = Some(both.open(&same)?);
            break;
        }
        thread::sleep(PAUSE);
    }
    let opened = opened.join();
    let opened = opened.unwrap_or_else(|_| Err(io::Error::other("it could not be opened")));
    match both_ends {
        None => opened,
        Some(_) => Err(io::Error::other("no process had opened its other end")),
    }
}

/// Opens a regular file, also behind a link, and waits for nothing.
///
/// # Errors
/// It is no regular file; what the system says.
pub fn open_regular(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let no_wait = i32::try_from((OFlags::NONBLOCK | OFlags::NOCTTY).bits()).unwrap_or(0);
    let file = options.clone().custom_flags(no_wait).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    Ok(file)
}

/// Reads a text that must not be waited for: of a regular file, also behind a link, of at most `most` bytes.
///
/// # Errors
/// It is no regular file, is longer or is no UTF-8; what the system says.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    let file = open_regular(File::options().read(true), path)?;
    let mut text = String::new();
    // One byte more, since a file may grow while it is read.
    file.take(most.saturating_add(1))
        .read_to_string(&mut text)?;
    if text.len() as u64 > most {
        return Err(io::Error::other(format!("it has more than {most} bytes")));
    }
    Ok(text)
}

fn refused_or_own_pipe(facts: &Metadata, user: u32) -> io::Result<bool> {
    if !facts.file_type().is_fifo() {
        return Ok(false);
    }
    if facts.uid() == user || facts.uid() == 0 {
        return Ok(true);
    }
    let problem = format!("it is a pipe of user {}", facts.uid());
    Err(io::Error::other(problem))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_wait_for_the_other_end_of_a_pipe_can_be_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, Mode::RWXU, 0).unwrap();
        let user = crate::process::user();
        let stopped = [File::options().append(true), File::options().read(true)]
            .map(|options| open(options, &pipe, user, &|| true).map(drop).unwrap_err());
        for error in stopped {
            assert_eq!(error.to_string(), "no process had opened its other end");
        }
        let reader = pipe.clone();
        let reader = thread::spawn(move || fs::read_to_string(reader).unwrap());
        let mut file = open(File::options().append(true), &pipe, user, &|| false).unwrap();
        io::Write::write_all(&mut file, b"read").unwrap();
        drop(file);
        assert_eq!(reader.join().unwrap(), "read");
    }

    #[test]
    fn a_text_is_of_a_regular_file_within_a_bound() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "four").unwrap();
        assert_eq!(read_text(&path, 4).unwrap(), "four");
        assert!(read_text(&path, 3).is_err());
        fs::write(&path, b"\xff").unwrap();
        assert!(read_text(&path, 4).is_err());
        let pipe = folder.path().join("pipe");
        let kind = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, Mode::RWXU, 0).unwrap();
        for other in [pipe.as_path(), folder.path(), Path::new("/dev/zero")] {
            assert!(read_text(other, 4).is_err(), "{other:?}");
        }
        let missing = read_text(&folder.path().join("missing"), 4).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }
}
