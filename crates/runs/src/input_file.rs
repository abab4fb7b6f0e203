//! The one reader of the files that a person names: it waits for no one and comes to an end.

use crate::failure::{Failure, FailureKind};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

/// The name of standard input.
pub const STDIN: &str = "-";
/// Longer files are not read: sbatch takes 4 MiB.
const LONGEST: u64 = 64 << 20;
/// File systems whose files are made while they are read; some wait for what is still to come.
const MADE_UP: &[&str] = &["/proc", "/sys/kernel/tracing", "/sys/kernel/debug"];

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputFile {
    /// What it holds.
    pub bytes: Vec<u8>,
    /// From where it is.
    pub kind: Kind,
}

/// From where a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A file with a name.
    File,
    /// The output of another program, as in `yard lint <(make-job)`.
    Pipe,
    /// `-`
    Stdin,
}

impl InputFile {
    /// Its text; none where it is no UTF-8.
    pub fn into_utf8(self) -> Option<String> {
        String::from_utf8(self.bytes).ok()
    }

    /// Its text; bytes that are no UTF-8 are replaced.
    pub fn into_text(self) -> String {
        String::from_utf8(self.bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }
}

/// Reads a file, a pipe or standard input. A FIFO with a name is refused: it may never get a writer
/// into it; so is a device, which may never end, and what is over 64 MiB.
pub fn read(path: &Path) -> Result<InputFile, Failure> {
    read_up_to(path, LONGEST)?.ok_or_else(|| {
        let name = path.display();
        Failure::new(FailureKind::Io, format!("{name} is too long: over 64 MiB"))
            .there("sbatch takes 4 MiB")
    })
}

/// The same with another bound, in bytes: `None` for what is longer.
pub fn read_up_to(path: &Path, longest: u64) -> Result<Option<InputFile>, Failure> {
    let name = path.display();
    let failure =
        |error: io::Error| Failure::new(FailureKind::Io, format!("{name} can't be read: {error}"));
    let mut bytes = Vec::new();
    let (size, kind) = if path.as_os_str() == STDIN {
        let stdin = io::stdin().lock();
        (stdin.take(longest + 1).read_to_end(&mut bytes), Kind::Stdin)
    } else {
        let kind = kind(path)?;
        let file = File::open(path).map_err(failure)?;
        (file.take(longest + 1).read_to_end(&mut bytes), kind)
    };
    let is_whole = size.map_err(failure)? as u64 <= longest;
    Ok(is_whole.then_some(InputFile { bytes, kind }))
}

/// What a path leads to, where it can be read to an end.
fn kind(path: &Path) -> Result<Kind, Failure> {
    let name = path.display();
    let facts = fs::metadata(path).map_err(|error| {
        let failure = Failure::new(FailureKind::Io, format!("{name} can't be read: {error}")).todo(
            if error.kind() == io::ErrorKind::NotFound {
                "name a file that is there"
            } else {
                "name a file that you may read"
            },
        );
        match path.read_link() {
            Ok(target) => failure.there(format!("it is a link to {}", target.display())),
            Err(_) => failure,
        }
    })?;
    let no_file = |there: &str| {
        Failure::new(FailureKind::Io, format!("{name} is not a regular file"))
            .there(there.to_owned())
    };
    match facts.file_type() {
        kind if kind.is_file() && is_made_up(&facts) => {
            Err(no_file("what the kernel makes while it is read"))
        }
        kind if kind.is_file() => Ok(Kind::File),
        kind if kind.is_fifo() && is_descriptor(path) => Ok(Kind::Pipe),
        kind if kind.is_fifo() => Err(no_file("a FIFO, which may never get a writer")
            .todo(format!("use <(cat {name}) if another process writes to it"))),
        kind if kind.is_dir() => Err(no_file("a folder")),
        kind if kind.is_socket() => Err(no_file("a socket")),
        _ => Err(no_file("a device")),
    }
}

/// Whether a path leads to a plain file: not to what is gone once it was read.
pub fn is_plain(path: &Path) -> bool {
    matches!(kind(path), Ok(Kind::File))
}

/// Whether a path leads to a FIFO that has a name: to open it may wait for ever.
#[must_use]
pub fn is_named_pipe(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|facts| facts.file_type().is_fifo()) && !is_descriptor(path)
}

/// Such a file tells no size.
fn is_made_up(facts: &fs::Metadata) -> bool {
    let made_up = |folder: &&str| fs::metadata(folder).is_ok_and(|it| it.dev() == facts.dev());
    facts.len() == 0 && MADE_UP.iter().any(made_up)
}

/// Whether a path leads to a pipe that a process has open, as `/dev/fd/63` does: it has no name
/// then, and opening it waits for no one.
fn is_descriptor(path: &Path) -> bool {
    /// So many links does Linux follow.
    const MOST: usize = 40;
    let mut path = path.to_owned();
    for _ in 0..MOST {
        let Ok(target) = fs::read_link(&path) else {
            return false;
        };
        if target.as_os_str().as_encoded_bytes().starts_with(b"pipe:[") {
            return true;
        }
        path = path.with_file_name("").join(target);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(path: &str, want: &str) {
        let said = read(Path::new(path)).map(|file| file.kind);
        let said = said.map_or_else(|failure| failure.line(), |kind| format!("{kind:?}"));
        assert_eq!(said, want);
    }

    #[test]
    fn what_never_ends_is_not_read() {
        check("/dev/zero", "/dev/zero is not a regular file; a device");
        check(
            "/proc/kmsg",
            "/proc/kmsg is not a regular file; what the kernel makes while it is read",
        );
        check("/", "/ is not a regular file; a folder");
        check(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"), "File");
    }

    #[test]
    fn what_is_too_long_is_said_to_be() {
        let name = format!("yard-too-long-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let made = File::create(&path).and_then(|file| file.set_len(LONGEST + 1));
        let read = read(&path);
        fs::remove_file(&path).expect("the file that was made");
        made.expect("a file that takes no room");
        assert_eq!(
            read.expect_err("too long").line(),
            format!(
                "{} is too long: over 64 MiB; sbatch takes 4 MiB",
                path.display()
            ),
        );
    }
}
