//! Batch scripts and run files on the disk: which there are.

use crate::failure::{Failure, FailureKind};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// How batch scripts' names end.
const ENDINGS: &[&str] = &["sbatch", "slurm", "sh", "bash", "job"];

/// By its name, or for what comes from a pipe by what a script never begins with.
pub fn is_run_file(name: &str, text: &str) -> bool {
    name.ends_with(".toml") && !text.starts_with("#!")
}

/// The batch scripts and run files below a folder, hidden folders left out, in the order of their
/// names; and what could not be read on the way.
pub fn below(folder: &Path) -> (Vec<PathBuf>, Vec<Failure>) {
    let mut found = Vec::new();
    let mut failures = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        if let Err(error) = look_into(&folder, &mut found, &mut folders) {
            failures.push(Failure::new(
                FailureKind::Io,
                format!("{} can't be read: {error}", folder.display()),
            ));
        }
    }
    found.sort();
    (found, failures)
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
            continue;
        }
        // The kernel's own files say that they are empty, and reading one may never end.
        let holds = || entry.metadata().is_ok_and(|data| data.len() > 0);
        if kind.is_file() && holds() && is_one_of_ours(&entry.path()) {
            found.push(entry.path());
        }
    }
    Ok(())
}

/// A `yard.toml`, or a file with a directive near its beginning that begins with `#!`, has a script's
/// name, or has nothing but comments before it: a script without an interpreter is one that `sbatch`
/// refuses. Text and code that only show directives have other lines first.
fn is_one_of_ours(path: &Path) -> bool {
    if path.file_name().is_some_and(|name| name == "yard.toml") {
        return true;
    }
    let mut start = Vec::new();
    // What can't be opened is said when it is read.
    let Ok(file) = File::open(path) else {
        return true;
    };
    if file.take(64 << 10).read_to_end(&mut start).is_err() {
        return false;
    }
    let ending = path.extension().and_then(OsStr::to_str);
    let named = ending.is_some_and(|ending| ENDINGS.contains(&ending));
    let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&start);
    let mut lines = text.split(|byte| *byte == b'\n');
    let is_directive = |line: &&[u8]| line.starts_with(b"#SBATCH");
    if named || text.starts_with(b"#!") {
        lines.any(|line| is_directive(&line))
    } else {
        lines
            .take_while(|line| line.starts_with(b"#") || line.trim_ascii().is_empty())
            .any(|line| is_directive(&line))
    }
}
