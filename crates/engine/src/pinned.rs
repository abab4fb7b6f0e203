//! The pinned program: a copy of this binary in the engine's folder, so that supervisors and the
//! commands of running jobs stay what they are while the original is replaced.

use crate::supervisor::slurm_links;
use api::{EngineFolder, pinned_name};
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Makes the copy and the links named like Slurm's commands beside it, where they are missing;
/// returns the copy's path.
///
/// # Errors
/// What the system says.
pub(crate) fn pin(folder: &EngineFolder, program: &Path) -> io::Result<PathBuf> {
    if program.starts_with(folder.bin()) {
        return Ok(program.to_owned());
    }
    let place = folder.bin().join(pinned_name(&hash(program)?));
    let pinned = place.join("yard");
    if !pinned.exists() {
        fs::create_dir_all(&place)?;
        // Two engines may do this at once: whoever renames last, the file is the same.
        let beside = place.join(format!("yard.{}", std::process::id()));
        let made = sys::copy::file(program, &beside)
            .and_then(|_bytes| fs::set_permissions(&beside, PermissionsExt::from_mode(0o755)))
            .and_then(|()| fs::rename(&beside, &pinned));
        if made.is_err() {
            // Half a copy on a full disk would keep it full.
            let _left = fs::remove_file(&beside);
        }
        made?;
    }
    let links = slurm_links::links_of(&pinned);
    fs::create_dir_all(&links)?;
    // A pretended cluster's nodes are reached by no other way.
    let ssh = folder.cluster().exists().then_some("ssh");
    for name in slurm_links::NAMES.iter().copied().chain(ssh) {
        match symlink("../yard", links.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    slurm_links::prepare(&pinned)?;
    Ok(pinned)
}

/// Has Slurm's commands found in an environment, as jobs of this engine find them: for a command that
/// holds an allocation outside of it. Does nothing where the engine left no program to link to.
/// `terminal`: also by a login shell that someone types into.
pub fn add_slurm_commands(
    environment: &mut Vec<(String, String)>,
    folder: &EngineFolder,
    terminal: bool,
) {
    let entries = fs::read_dir(folder.bin()).into_iter().flatten().flatten();
    let of_version = entries.filter(|entry| {
        let name = entry.file_name();
        name.to_string_lossy().starts_with(&pinned_name(""))
    });
    let newest = of_version.max_by_key(|entry| entry.metadata().and_then(|it| it.modified()).ok());
    if let Some(place) = newest {
        slurm_links::add_to(environment, &place.path().join("yard"), terminal);
    }
}

/// Removes pinned programs other than `keep` that no process runs from.
pub(crate) fn remove_others(folder: &EngineFolder, keep: &Path, used: &dyn Fn(&Path) -> bool) {
    let Ok(entries) = fs::read_dir(folder.bin()) else {
        return;
    };
    for entry in entries.flatten() {
        let place = entry.path();
        if place == folder.serving_program() {
            continue;
        }
        if !keep.starts_with(&place) && !used(&place.join("yard")) {
            // What can't be removed now is tried again at the next start.
            let _left = fs::remove_dir_all(place);
        }
    }
}

/// Twelve hexadecimal digits that differ where the content does. Not against an adversary (the
/// folder is its owner's alone), but quick: a person waits for it.
fn hash(program: &Path) -> io::Result<String> {
    const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut file = File::open(program)?;
    let mut hash = file.metadata()?.len();
    // A multiple of the word, so that only the file's end is cut short.
    let mut buffer = vec![0; 1 << 20];
    loop {
        let count = fill(&mut file, &mut buffer)?;
        let (words, _) = buffer[..count.next_multiple_of(8)].as_chunks::<8>();
        for word in words {
            hash = (hash ^ u64::from_le_bytes(*word)).wrapping_mul(MULTIPLIER);
            hash ^= hash >> 29;
        }
        if count < buffer.len() {
            return Ok(format!("{:012x}", hash >> 16));
        }
    }
}

/// Reads as much as fits; what is left of the buffer is zero.
fn fill(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..])? {
            0 => break,
            count => filled += count,
        }
    }
    buffer[filled..].fill(0);
    Ok(filled)
}
