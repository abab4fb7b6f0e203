//! Unpacks an archive below a folder, or says what in it can't be unpacked as it was packed.

use crate::exit_code;
use signal_hook::consts::SIGPIPE;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Unpacks a tar archive; returns the bytes of its files, which are fewer than those of the archive.
pub(super) fn unpack(from: impl Read, data: &Path) -> io::Result<u64> {
    let mut archive = tar::Archive::new(from);
    archive.set_preserve_mtime(false);
    let data = data.canonicalize()?;
    let (mut bytes, mut folders) = (0, Vec::new());
    for entry in archive.entries()? {
        let mut entry = entry?;
        if is_pax_sparse(&mut entry)? {
            let todo = "pack it without --sparse";
            return Err(unpackable(
                &entry,
                "is a sparse file of the pax format",
                todo,
            ));
        }
        if entry.header().entry_type().is_dir() {
            folders.push(entry);
            continue;
        }
        bytes += entry.size();
        unpack_one(&mut entry, &data)?;
    }
    // Last, and the inner ones first: one that may not be written to would take no files.
    folders.sort_by(|one, other| other.path_bytes().cmp(&one.path_bytes()));
    for mut folder in folders {
        unpack_one(&mut folder, &data)?;
    }
    Ok(bytes)
}

/// Unpacks an entry, or says that its name leads out of the folder.
fn unpack_one(entry: &mut tar::Entry<'_, impl Read>, data: &Path) -> io::Result<()> {
    if entry.unpack_in(data)? {
        return Ok(());
    }
    let todo = "make the archive again with paths below one folder";
    Err(unpackable(
        entry,
        "has a .. in its path, which may lead outside of what is unpacked",
        todo,
    ))
}

/// Whether the bytes of an entry are those of a sparse file as `tar --sparse --format=posix` packs it: a map, and
/// the parts that are no holes, under a name that is not the file's.
fn is_pax_sparse(entry: &mut tar::Entry<'_, impl Read>) -> io::Result<bool> {
    let Some(extensions) = entry.pax_extensions()? else {
        return Ok(false);
    };
    let mut keys = extensions.flatten();
    Ok(keys.any(|extension| extension.key_bytes().starts_with(b"GNU.sparse.")))
}

/// An entry of an archive that can't be unpacked as it was packed.
fn unpackable(entry: &tar::Entry<'_, impl Read>, what: &str, todo: &str) -> io::Error {
    let name = entry.path_bytes();
    let name = String::from_utf8_lossy(&name);
    io::Error::other(format!("{name:?} in it {what}; {todo}"))
}

/// A process that unpacks gzip.
pub(super) struct Gzip {
    child: Child,
}

impl Gzip {
    pub(super) fn start(archive: File) -> io::Result<Gzip> {
        let child = Command::new("gzip")
            .arg("-dc")
            .stdin(archive)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        Ok(Gzip { child })
    }

    pub(super) fn output(&mut self) -> io::Result<impl Read + use<>> {
        self.child
            .stdout
            .take()
            .ok_or_else(|| io::Error::other("gzip has no output"))
    }

    /// Its output is read, or dropped: then SIGPIPE ends it, which is no failure of its own.
    pub(super) fn end(&mut self) -> io::Result<()> {
        let mut words = Vec::new();
        if let Some(mut said) = self.child.stderr.take() {
            said.read_to_end(&mut words)?;
        }
        let status = self.child.wait()?;
        if status.success() || exit_code::signal(status) == Some(SIGPIPE) {
            return Ok(());
        }
        let words = String::from_utf8_lossy(&words);
        let words: Vec<&str> = words.split_whitespace().collect();
        let words = match words.join(" ") {
            none if none.is_empty() => format!("gzip: {status}"),
            words => words,
        };
        Err(io::Error::other(format!(
            "{words}; make the archive again, or stage what is in it"
        )))
    }
}
