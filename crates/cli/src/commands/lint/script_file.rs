//! Batch scripts and run files on the disk: which there are, reading one, writing one that is there.

use super::STDIN;
use crate::exit_code;
use crate::failure::Failure;
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Longer files are none of ours: sbatch takes 4 MiB.
const LONGEST: u64 = 64 << 20;

/// A file that was read.
#[derive(Debug)]
pub struct ScriptFile {
    /// What it holds.
    pub bytes: Vec<u8>,
    /// From where it is.
    pub kind: Kind,
}

/// From where a script is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A file with a name.
    File,
    /// The output of another program, as in `yard lint <(make-job)`.
    Pipe,
    /// `-`
    Stdin,
}

/// Reads a file, a pipe or standard input. A FIFO with a name is refused: nobody may ever write
/// into it.
pub fn read(path: &Path) -> Result<ScriptFile, Failure> {
    let name = path.display();
    let trouble =
        |error: io::Error| Failure::new(exit_code::IO, format!("{name} can't be read: {error}"));
    let mut bytes = Vec::new();
    let (size, kind) = if path.as_os_str() == STDIN {
        let stdin = io::stdin().lock();
        (stdin.take(LONGEST + 1).read_to_end(&mut bytes), Kind::Stdin)
    } else {
        let facts = fs::metadata(path).map_err(trouble)?;
        let kind = match facts.file_type() {
            kind if kind.is_file() => Kind::File,
            kind if kind.is_fifo() && is_descriptor(path) => Kind::Pipe,
            kind if kind.is_fifo() => {
                return Err(Failure::new(exit_code::IO, format!("{name} is no file"))
                    .there("a FIFO, into which nobody may ever write")
                    .todo(format!("yard lint - < {name}")));
            }
            _ => return Err(Failure::new(exit_code::IO, format!("{name} is no file"))),
        };
        let file = File::open(path).map_err(trouble)?;
        (file.take(LONGEST + 1).read_to_end(&mut bytes), kind)
    };
    if size.map_err(trouble)? as u64 > LONGEST {
        return Err(Failure::new(
            exit_code::IO,
            format!("{name} is no script: it is too long"),
        )
        .there("sbatch takes 4 MiB"));
    }
    Ok(ScriptFile { bytes, kind })
}

/// Whether a path leads to a pipe that a process has open, as `/dev/fd/63` does: it has no name
/// then, and opening it waits for nobody.
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

/// Puts another text into a file that holds `old`: behind a link into the file that is meant, and
/// who owns it, who may do what with it and its other names stay. A file that nobody may write stays
/// as it is.
pub fn write(path: &Path, old: &[u8], new: &[u8]) -> Result<(), Failure> {
    let trouble = |error: io::Error| {
        Failure::new(
            exit_code::IO,
            format!("{} can't be written: {error}", path.display()),
        )
        .there("it is as it was")
    };
    let facts = fs::metadata(path).map_err(trouble)?;
    if facts.permissions().mode() & 0o222 == 0 {
        return Err(Failure::new(
            exit_code::IO,
            format!("{} is read-only and is not changed", path.display()),
        )
        .todo("chmod u+w, or --diff to see what would change"));
    }
    let written = match is_replaceable(path, &facts) {
        true => sys::atomic::write_named(path, new),
        false => write_into(path, old, new),
    };
    written.map_err(trouble)
}

/// Whether a new file in its place would be the same to everybody: it has no other name, and a file
/// of ours would have its owner and group.
fn is_replaceable(path: &Path, facts: &fs::Metadata) -> bool {
    let folder = path.canonicalize().ok();
    let folder = folder.as_deref().and_then(Path::parent);
    let inherits = folder
        .and_then(|folder| fs::metadata(folder).ok())
        .is_none_or(|folder| folder.mode() & 0o2000 != 0);
    let ours = fs::metadata("/proc/self")
        .is_ok_and(|ours| (ours.uid(), ours.gid()) == (facts.uid(), facts.gid()));
    facts.nlink() == 1 && ours && !inherits
}

/// Writes over what a file holds; what was there comes back when that fails.
fn write_into(path: &Path, old: &[u8], new: &[u8]) -> io::Result<()> {
    let mut file = File::options().write(true).open(path)?;
    let mut fill = |bytes: &[u8]| {
        file.rewind()?;
        file.write_all(bytes)?;
        file.set_len(bytes.len() as u64)?;
        file.sync_all()
    };
    fill(new).inspect_err(|_| {
        let _ = fill(old);
    })
}

/// By its name, or for what comes from a pipe by what a script never begins with.
pub fn is_run_file(name: &str, text: &str) -> bool {
    name.ends_with(".toml") && !text.starts_with("#!")
}

/// The batch scripts and run files below a folder, hidden folders left out, in the order of their
/// names; and what could not be read on the way.
pub fn below(folder: &Path) -> (Vec<PathBuf>, Vec<Failure>) {
    let mut found = Vec::new();
    let mut troubles = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        if let Err(error) = look_into(&folder, &mut found, &mut folders) {
            troubles.push(Failure::new(
                exit_code::IO,
                format!("{} can't be read: {error}", folder.display()),
            ));
        }
    }
    found.sort();
    (found, troubles)
}

fn look_into(
    folder: &Path,
    found: &mut Vec<PathBuf>,
    folders: &mut Vec<PathBuf>,
) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        // Links are not followed: they may go in circles.
        if kind.is_dir() {
            folders.push(entry.path());
        } else if kind.is_file() && is_one_of_ours(&entry.path()) {
            found.push(entry.path());
        }
    }
    Ok(())
}

/// A `yard.toml`, or a file that begins with `#!` and has a directive near its beginning.
fn is_one_of_ours(path: &Path) -> bool {
    if path.file_name().is_some_and(|name| name == "yard.toml") {
        return true;
    }
    let mut start = Vec::new();
    // What can't be opened is said when it is read.
    let Ok(file) = File::open(path) else {
        return true;
    };
    if file.take(64 << 10).read_to_end(&mut start).is_err() || !start.starts_with(b"#!") {
        return false;
    }
    start
        .split(|byte| *byte == b'\n')
        .any(|line| line.starts_with(b"#SBATCH"))
}
