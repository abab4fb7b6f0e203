//! Staging: brings files, folders and archives onto each node's own disk before the ranks start.
//!
//! One task a node; where nodes share a disk the first one works and the others wait for it. It
//! prints events as JSON lines, which the conductor writes down.

use crate::local_folder::LocalFolder;
use folder::Event;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use sys::lock::FileLock;
use thiserror::Error;

/// Why data is not on a node.
#[derive(Debug, Error)]
pub enum StageError {
    /// A source can't be read.
    #[error(
        "[data] stage names {path:?}, which can't be read on {host}: {source}; correct the path, or put it where the nodes see it"
    )]
    Source {
        /// The file or folder.
        path: PathBuf,
        /// The node.
        host: String,
        /// What the system says.
        source: io::Error,
    },
    /// The node's disk is full.
    #[error(
        "{asked} bytes of {path:?} are to be staged, {there} are free in {folder:?} on {host}; request nodes with a larger disk, or stage less"
    )]
    DiskFull {
        /// The file or folder.
        path: PathBuf,
        /// Its size as it stands there; an archive needs more.
        asked: u64,
        /// What is free.
        there: u64,
        /// The node-local folder.
        folder: PathBuf,
        /// The node.
        host: String,
    },
    /// It could not be unpacked or copied.
    #[error("{path:?} can't be staged on {host}: {source}")]
    Copy {
        /// The file or folder.
        path: PathBuf,
        /// The node.
        host: String,
        /// What the system or the unpacker says.
        source: io::Error,
    },
}

/// How a source is brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Tar,
    TarGz,
    TarZst,
    Plain,
}

impl Kind {
    fn of(path: &Path) -> Kind {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .to_lowercase();
        let ends = |end: &str| name.ends_with(end);
        match () {
            () if ends(".tar") => Kind::Tar,
            () if ends(".tar.gz") || ends(".tgz") => Kind::TarGz,
            () if ends(".tar.zst") => Kind::TarZst,
            () => Kind::Plain,
        }
    }
}

/// Stages all sources into `{data}`. `say` gets the events, some times a second at most.
///
/// # Errors
/// The first source that can't be brought.
pub fn run(
    sources: &[PathBuf],
    local: &LocalFolder,
    say: &mut dyn FnMut(Event),
) -> Result<(), StageError> {
    let host = sys::host_name();
    let data = local.data();
    let copy = |path: &Path| {
        let (path, host) = (path.to_owned(), host.clone());
        move |source| StageError::Copy { path, host, source }
    };
    let _lock = FileLock::acquire(&local.path().join("stage.lock")).map_err(copy(&data))?;
    let marker = local.path().join("staged");
    if marker.exists() {
        return Ok(());
    }
    let mut sizes = Vec::new();
    for path in sources {
        let size = size(path).map_err(|source| StageError::Source {
            path: path.clone(),
            host: host.clone(),
            source,
        })?;
        sizes.push(size);
    }
    let begun = Instant::now();
    let total = sizes.iter().sum();
    let mut progress = Progress {
        say,
        what: String::new(),
        done: 0,
        total,
        told: None,
    };
    for (path, size) in sources.iter().zip(sizes) {
        progress.begin(path);
        bring(path, &data, &mut progress).map_err(|source| {
            if source.kind() == io::ErrorKind::StorageFull {
                let there = sys::disk_free(&data).unwrap_or(0);
                let (path, folder, host) = (path.clone(), data.clone(), host.clone());
                StageError::DiskFull {
                    path,
                    asked: size,
                    there,
                    folder,
                    host,
                }
            } else {
                copy(path)(source)
            }
        })?;
    }
    let bytes = progress.done;
    fs::write(&marker, b"").map_err(copy(&data))?;
    let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    say(Event::Staged { bytes, took_ms });
    Ok(())
}

fn size(path: &Path) -> io::Result<u64> {
    let facts = fs::metadata(path)?;
    if !facts.is_dir() {
        return Ok(facts.len());
    }
    let mut all = 0;
    for entry in fs::read_dir(path)? {
        all += size(&entry?.path())?;
    }
    Ok(all)
}

fn bring(path: &Path, data: &Path, progress: &mut Progress<'_>) -> io::Result<()> {
    match Kind::of(path) {
        Kind::Tar => unpack(
            Counted {
                inner: File::open(path)?,
                progress,
            },
            data,
        ),
        Kind::TarZst => unpack(
            zstd::stream::read::Decoder::new(Counted {
                inner: File::open(path)?,
                progress,
            })?,
            data,
        ),
        Kind::TarGz => {
            // gzip is everywhere, and a process of its own uses a second CPU.
            let mut gzip = Gzip::start(File::open(path)?)?;
            unpack(
                Counted {
                    inner: gzip.output()?,
                    progress,
                },
                data,
            )?;
            gzip.end()
        }
        Kind::Plain => {
            let name = path.file_name().unwrap_or_default();
            copy_all(path, &data.join(name), progress)
        }
    }
}

fn unpack(from: impl Read, data: &Path) -> io::Result<()> {
    let mut archive = tar::Archive::new(from);
    archive.set_preserve_mtime(false);
    archive.unpack(data)
}

fn copy_all(from: &Path, to: &Path, progress: &mut Progress<'_>) -> io::Result<()> {
    if fs::metadata(from)?.is_dir() {
        fs::create_dir_all(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy_all(&entry.path(), &to.join(entry.file_name()), progress)?;
        }
        return Ok(());
    }
    let bytes = sys::copy::file(from, to)?;
    progress.came(bytes);
    Ok(())
}

struct Gzip {
    child: Child,
}

impl Gzip {
    fn start(archive: File) -> io::Result<Gzip> {
        let child = Command::new("gzip")
            .arg("-dc")
            .stdin(archive)
            .stdout(Stdio::piped())
            .spawn()?;
        Ok(Gzip { child })
    }

    fn output(&mut self) -> io::Result<impl Read + use<>> {
        self.child
            .stdout
            .take()
            .ok_or_else(|| io::Error::other("gzip has no output"))
    }

    fn end(&mut self) -> io::Result<()> {
        let status = self.child.wait()?;
        if status.success() {
            Ok(())
        } else {
            Err(io::Error::other(format!("gzip: {status}")))
        }
    }
}

/// Counts what is read.
struct Counted<'a, 'b, R> {
    inner: R,
    progress: &'a mut Progress<'b>,
}

impl<R: Read> Read for Counted<'_, '_, R> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(bytes)?;
        self.progress.came(u64::try_from(read).unwrap_or(0));
        Ok(read)
    }
}

struct Progress<'a> {
    say: &'a mut dyn FnMut(Event),
    what: String,
    done: u64,
    total: u64,
    told: Option<Instant>,
}

impl Progress<'_> {
    const PAUSE: Duration = Duration::from_millis(500);

    fn begin(&mut self, path: &Path) {
        self.what = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        self.told = None;
        self.came(0);
    }

    fn came(&mut self, bytes: u64) {
        self.done += bytes;
        if self
            .told
            .is_none_or(|told| told.elapsed() >= Progress::PAUSE)
        {
            self.told = Some(Instant::now());
            // What comes out of a compressed archive is more than the archive.
            let total = (self.done <= self.total).then_some(self.total);
            (self.say)(Event::Staging {
                what: self.what.clone(),
                done: self.done,
                total,
            });
        }
    }
}

/// Prints an event as the conductor reads it.
///
/// # Errors
/// The conductor is gone.
pub fn print(event: &Event) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let mut line = serde_json::to_vec(event)?;
    line.push(b'\n');
    out.write_all(&line)?;
    out.flush()
}

#[cfg(test)]
mod tests {
    use super::*;
    use folder::Attempt;

    fn tar() -> Vec<u8> {
        let mut archive = tar::Builder::new(Vec::new());
        let mut header = tar::Header::new_gnu();
        header.set_size(5);
        header.set_mode(0o644);
        header.set_cksum();
        archive
            .append_data(&mut header, "set/one", &b"hello"[..])
            .unwrap();
        archive.into_inner().unwrap()
    }

    fn gzip(bytes: &[u8], path: &Path) {
        fs::write(path, bytes).unwrap();
        assert!(Command::new("gzip").arg(path).status().unwrap().success());
    }

    #[test]
    fn archives_files_and_folders() {
        let root = tempfile::tempdir().unwrap();
        let from = root.path().join("from");
        fs::create_dir_all(from.join("folder/deep")).unwrap();
        fs::write(from.join("folder/deep/x"), b"x").unwrap();
        fs::write(from.join("plain.bin"), b"plain").unwrap();
        for kind in ["a.tar", "b.tar.gz", "c.tar.zst", "folder", "plain.bin"] {
            let local = LocalFolder::new(
                &root.path().join(kind),
                "run",
                Attempt { job: 1, restart: 0 },
            );
            let _owned = local.make().unwrap();
            let path = from.join(kind);
            let want = match kind {
                "a.tar" => {
                    fs::write(&path, tar()).unwrap();
                    "set/one"
                }
                "b.tar.gz" => {
                    gzip(&tar(), &from.join("b.tar"));
                    "set/one"
                }
                "c.tar.zst" => {
                    fs::write(&path, zstd::encode_all(&tar()[..], 3).unwrap()).unwrap();
                    "set/one"
                }
                "folder" => "folder/deep/x",
                _ => "plain.bin",
            };
            let mut events = Vec::new();
            run(std::slice::from_ref(&path), &local, &mut |event| {
                events.push(event)
            })
            .unwrap();
            assert!(local.data().join(want).is_file(), "{kind}");
            assert!(matches!(events.first(), Some(Event::Staging { .. })));
            assert!(matches!(events.last(), Some(Event::Staged { bytes, .. }) if *bytes > 0));
            // A second task on the same disk finds it done.
            fs::remove_file(local.data().join(want)).unwrap();
            run(&[path], &local, &mut |event| panic!("{event:?}")).unwrap();
        }
    }

    #[test]
    fn a_missing_source_is_told_before_anything_is_copied() {
        let root = tempfile::tempdir().unwrap();
        let local = LocalFolder::new(root.path(), "run", Attempt { job: 1, restart: 0 });
        let _owned = local.make().unwrap();
        let error = run(&[root.path().join("no.tar")], &local, &mut |event| {
            panic!("{event:?}")
        })
        .unwrap_err();
        assert!(error.to_string().contains("no.tar"), "{error}");
    }
}
