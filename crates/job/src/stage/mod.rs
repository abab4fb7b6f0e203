//! Staging: brings files, folders and archives onto each node's own disk before the ranks start.
//!
//! A process of each node's agent; where nodes share a disk the first one works and the others wait for
//! it. It prints events as JSON lines, which the agent passes on.

mod archive;
mod progress;

use crate::local_folder::LocalFolder;
use archive::Gzip;
use folder::Event;
use progress::{Counted, Progress};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;
use sys::lock::FileLock;
use thiserror::Error;
use train::{DataPlan, StageKind};

/// Why data is not on a node.
#[derive(Debug, Error)]
pub enum StageError {
    /// A source can't be read.
    #[error(
        "{path:?} is to be staged and can't be read on {host}: {source}; correct the path, or put it where the nodes see it, which /tmp is not"
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

/// Stages all sources into `{data}`, and over them what an earlier start collected, so that programs go
/// on with their own files. `say` gets the events, some times a second at most.
///
/// # Errors
/// The first source that can't be brought.
pub fn run(
    plan: &DataPlan,
    local: &LocalFolder,
    collected: Option<&Path>,
    say: &mut dyn FnMut(Event),
) -> Result<(), StageError> {
    let data = local.data();
    let copy = |source| StageError::Copy {
        path: data.clone(),
        host: sys::host_name(),
        source,
    };
    let _lock = FileLock::acquire(&local.path().join("stage.lock")).map_err(copy)?;
    let marker = local.path().join("staged");
    if marker.exists() {
        return Ok(());
    }
    let sources: Vec<(&Path, &Path)> = plan
        .stage
        .value
        .iter()
        .map(|path| (path.as_path(), plan.place(path)))
        .collect();
    bring_all(&sources, &data, say)?;
    if let Some(folder) = collected.filter(|folder| folder.is_dir()) {
        let again = sys::copy_tree::folder(folder, &data, &mut |_| {});
        again.map_err(|error| copy(error.source))?;
    }
    fs::write(&marker, b"").map_err(copy)
}

/// Brings sources below a folder, each to its place there; archives are unpacked into the folder
/// itself.
///
/// # Errors
/// The first source that can't be brought.
pub fn bring_all(
    sources: &[(&Path, &Path)],
    data: &Path,
    say: &mut dyn FnMut(Event),
) -> Result<(), StageError> {
    let host = sys::host_name();
    let mut sizes = Vec::new();
    for (path, _) in sources {
        let size = size(path).map_err(|source| StageError::Source {
            path: path.to_path_buf(),
            host: host.clone(),
            source,
        })?;
        sizes.push(size);
    }
    let (begun, mut bytes) = (Instant::now(), 0);
    let mut progress = Progress::new(say, sizes.iter().copied().sum());
    for ((path, place), size) in sources.iter().zip(sizes) {
        progress.begin(path);
        let brought = bring(path, place, data, &mut progress);
        bytes += brought.map_err(|source| {
            let (path, host) = (path.to_path_buf(), host.clone());
            match source.kind() {
                io::ErrorKind::StorageFull => StageError::DiskFull {
                    asked: size.unwrap_or_else(|| sys::tree_size(&path)),
                    there: sys::disk_free(data).unwrap_or(0),
                    folder: data.to_owned(),
                    path,
                    host,
                },
                _ => StageError::Copy { path, host, source },
            }
        })?;
    }
    let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    progress.say(Event::Staged {
        node: None,
        bytes,
        took_ms,
    });
    Ok(())
}

/// What is known of a source's size before it is read: of a folder nothing, since to look at each of
/// its files takes as long as to copy small ones.
fn size(path: &Path) -> io::Result<Option<u64>> {
    let facts = fs::metadata(path)?;
    if facts.is_dir() {
        // Whether it can be read is told before anything is copied.
        fs::read_dir(path)?;
        return Ok(None);
    }
    File::open(path)?;
    Ok(Some(facts.len()))
}

/// Brings a source below `data`: a file or folder as `place`, an archive unpacked. Returns the bytes that
/// arrived.
fn bring(path: &Path, place: &Path, data: &Path, progress: &mut Progress<'_>) -> io::Result<u64> {
    match StageKind::of(path) {
        StageKind::Tar => archive::unpack(
            Counted {
                inner: File::open(path)?,
                progress,
            },
            data,
        ),
        StageKind::TarZst => archive::unpack(
            zstd::stream::read::Decoder::new(Counted {
                inner: File::open(path)?,
                progress,
            })?,
            data,
        ),
        StageKind::TarGz => {
            // gzip is everywhere, and a process of its own uses a second CPU.
            let mut gzip = Gzip::start(File::open(path)?)?;
            let inner = gzip.output()?;
            let unpacked = archive::unpack(Counted { inner, progress }, data);
            // Where gzip fails it says more than an archive that breaks off.
            match (unpacked, gzip.end()) {
                (unpacked, Ok(())) => unpacked,
                (Ok(_), Err(error)) => Err(error),
                (Err(error), Err(_)) if error.kind() == io::ErrorKind::StorageFull => Err(error),
                (Err(_), Err(error)) => Err(error),
            }
        }
        StageKind::Plain => {
            let target = data.join(place);
            if fs::metadata(path)?.is_dir() {
                let copied =
                    sys::copy_tree::folder(path, &target, &mut |bytes| progress.came(bytes));
                // What failed is said with the source; of a full disk the kind counts.
                return match copied {
                    Ok(copied) => {
                        if let Some(text) = lead_nowhere(&copied.dangling) {
                            progress.say(Event::Note { text });
                        }
                        Ok(copied.bytes)
                    }
                    Err(error) if error.path == path => Err(error.source),
                    Err(error) => Err(of_part(error)),
                };
            }
            if let Some(folder) = target.parent() {
                fs::create_dir_all(folder)?;
            }
            let bytes = sys::copy::file(path, &target)?;
            progress.came(bytes);
            Ok(bytes)
        }
    }
}

/// What is said of a file of a folder that could not be copied, with what to do.
fn of_part(error: sys::copy_tree::CopyError) -> io::Error {
    let kind = error.source.kind();
    let todo = match kind {
        io::ErrorKind::NotFound => {
            ": it was there a moment ago, so the folder changed while it was copied; let what writes there end, or stage a copy, and yard requeue"
        }
        io::ErrorKind::InvalidInput => {
            "; move it away, or stage the folders and files beside it one by one"
        }
        _ => return io::Error::new(kind, error),
    };
    io::Error::new(kind, format!("{error}{todo}"))
}

/// What is said of links that lead nowhere.
fn lead_nowhere(dangling: &[PathBuf]) -> Option<String> {
    let first = dangling.first()?;
    let more = match dangling.len() - 1 {
        0 => String::new(),
        more => format!(", and {} like it", model::counted(more, "link")),
    };
    Some(format!(
        "{first:?} is a link that leads nowhere{more}: staged as it is"
    ))
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
    use std::process::Command;
    use train::{Resolved, Source};

    fn data_plan(base: &Path, source: &Path) -> DataPlan {
        let nothing = Source::default("none");
        DataPlan {
            stage: Resolved::new(vec![source.to_owned()], nothing.clone()),
            base: Some(base.to_owned()),
            collect: Resolved::new(Vec::new(), nothing),
            local_logs: None,
        }
    }

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
        for kind in [
            "a.tar",
            "b.tar.gz",
            "c.tar.zst",
            "folder",
            "folder/deep",
            "plain.bin",
        ] {
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
                "folder" | "folder/deep" => "folder/deep/x",
                _ => "plain.bin",
            };
            let mut events = Vec::new();
            let plan = data_plan(&from, &path);
            run(&plan, &local, None, &mut |event| events.push(event)).unwrap();
            assert!(local.data().join(want).is_file(), "{kind}");
            assert!(matches!(events.first(), Some(Event::Staging { .. })));
            let arrived = if kind.starts_with("folder") { 1 } else { 5 };
            assert!(
                matches!(events.last(), Some(Event::Staged { bytes, .. }) if *bytes == arrived)
            );
            // A second task on the same disk finds it done.
            fs::remove_file(local.data().join(want)).unwrap();
            run(&plan, &local, None, &mut |event| panic!("{event:?}")).unwrap();
        }
    }

    #[track_caller]
    fn check_refused(make: impl Fn(&Path) -> PathBuf, want: &[&str]) {
        let root = tempfile::tempdir().unwrap();
        let local = LocalFolder::new(root.path(), "run", Attempt { job: 1, restart: 0 });
        let _owned = local.make().unwrap();
        let plan = data_plan(root.path(), &make(root.path()));
        let error = run(&plan, &local, None, &mut |_| {})
            .unwrap_err()
            .to_string();
        assert!(want.iter().all(|words| error.contains(words)), "{error}");
    }

    #[test]
    fn an_archive_with_what_can_not_be_unpacked_is_refused() {
        let packed = |name: &str, is_sparse: bool| {
            let mut archive = tar::Builder::new(Vec::new());
            if is_sparse {
                let keys = [("GNU.sparse.major", &b"1"[..])];
                archive.append_pax_extensions(keys).unwrap();
            }
            let mut header = tar::Header::new_ustar();
            // Not by the crate's own way, which refuses such a name.
            header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
            header.set_size(1);
            header.set_mode(0o644);
            header.set_cksum();
            archive.append(&header, &b"x"[..]).unwrap();
            archive.into_inner().unwrap()
        };
        let written = |bytes: Vec<u8>| {
            move |root: &Path| {
                let path = root.join("a.tar");
                fs::write(&path, &bytes).unwrap();
                path
            }
        };
        check_refused(
            written(packed("set/../../one", false)),
            &["\"set/../../one\"", "outside", "make the archive again"],
        );
        check_refused(
            written(packed("GNUSparseFile.1/one", true)),
            &["sparse", "without --sparse"],
        );
        let data = tempfile::tempdir().unwrap();
        let plain = packed("./one", false);
        assert_eq!(archive::unpack(&plain[..], data.path()).unwrap(), 1);
        assert_eq!(fs::read(data.path().join("one")).unwrap(), b"x");
    }

    #[test]
    fn what_can_not_be_staged_is_said_with_what_to_do() {
        let socket = |root: &Path| {
            fs::create_dir(root.join("d")).unwrap();
            std::os::unix::net::UnixListener::bind(root.join("d/socket")).unwrap();
            root.join("d")
        };
        check_refused(
            socket,
            &["d/socket", "neither a file nor a folder", "; move it away"],
        );
        let odd = |root: &Path| {
            fs::write(root.join("bad.tar.gz"), b"no archive").unwrap();
            root.join("bad.tar.gz")
        };
        check_refused(odd, &["not in gzip format", "; make the archive again"]);
        let short = |root: &Path| {
            let mut archive = tar::Builder::new(Vec::new());
            let mut header = tar::Header::new_gnu();
            header.set_size(100_000);
            let bytes = [7; 100_000];
            archive.append_data(&mut header, "x", &bytes[..]).unwrap();
            gzip(&archive.into_inner().unwrap(), &root.join("short.tar"));
            let whole = fs::read(root.join("short.tar.gz")).unwrap();
            fs::write(root.join("short.tar.gz"), &whole[..whole.len() / 2]).unwrap();
            root.join("short.tar.gz")
        };
        check_refused(short, &["unexpected end of file; make the archive again"]);
    }

    #[test]
    fn a_folder_that_changes_while_it_is_copied_is_said_to() {
        let error = of_part(sys::copy_tree::CopyError {
            path: "/data/d/400".into(),
            source: io::ErrorKind::NotFound.into(),
        });
        assert!(
            error.to_string().contains("changed while it was copied"),
            "{error}"
        );
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_missing_source_is_told_before_anything_is_copied() {
        let root = tempfile::tempdir().unwrap();
        let local = LocalFolder::new(root.path(), "run", Attempt { job: 1, restart: 0 });
        let _owned = local.make().unwrap();
        let plan = data_plan(root.path(), &root.path().join("no.tar"));
        let error = run(&plan, &local, None, &mut |event| panic!("{event:?}")).unwrap_err();
        assert!(error.to_string().contains("no.tar"), "{error}");
    }
}
