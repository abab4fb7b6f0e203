//! The socket on which the step's supervisors call.

use super::session::Event;
use api::step_io::{FrameReader, FromSupervisor};
use std::fs::DirBuilder;
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::SyncSender;
use std::thread;

/// Bytes read at once.
const CHUNK: usize = 256 * 1024;

/// A socket in a folder of its own, both gone when this is dropped.
#[derive(Debug)]
pub struct Listening {
    folder: PathBuf,
    listener: UnixListener,
}

impl Listening {
    /// Listens in a new folder below the engine's, or in one of the user's own where the engine is
    /// another's.
    ///
    /// # Errors
    /// What the system says.
    pub fn below(engine: &Path) -> io::Result<Listening> {
        let owner = std::fs::metadata(engine)?.uid();
        let all = if owner == sys::process::user() {
            engine.join("srun")
        } else {
            let name = format!("trainyard-srun-{}", sys::process::user());
            sys::private_folder::of_user(&std::env::temp_dir(), &name)
        };
        sys::private_folder::make(&all).map_err(io::Error::other)?;
        sweep(&all);
        let folder = all.join(format!("{}-{}", std::process::id(), sys::now()));
        DirBuilder::new().mode(0o700).create(&folder)?;
        let listener = sys::socket::listen(&folder.join("sock"))?;
        Ok(Listening { folder, listener })
    }

    /// Where supervisors connect to.
    pub fn path(&self) -> PathBuf {
        self.folder.join("sock")
    }

    /// Takes calls in threads, until the receiver of `events` is gone.
    ///
    /// # Errors
    /// What the system says.
    pub fn take_calls(&self, events: &SyncSender<Event>) -> io::Result<()> {
        let listener = self.listener.try_clone()?;
        let events = events.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let events = events.clone();
                thread::spawn(move || hear(stream, &events));
            }
        });
        Ok(())
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Takes away what an `srun` that was killed left behind.
fn sweep(all: &Path) {
    for entry in std::fs::read_dir(all).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name
            .to_str()
            .and_then(|name| name.split('-').next()?.parse().ok());
        if pid.is_some_and(|pid| sys::process::start_time(pid).is_none()) {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

/// Passes on what one supervisor says.
fn hear(mut stream: UnixStream, events: &SyncSender<Event>) {
    let mut reader = FrameReader::default();
    let mut chunk = vec![0; CHUNK];
    let mut node = None;
    loop {
        match stream.read(&mut chunk) {
            Ok(length @ 1..) => reader.push(&chunk[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Ok(0) | Err(_) => break,
        }
        while let Ok(Some(frame)) = reader.take::<FromSupervisor>() {
            let event = match (frame, node) {
                (FromSupervisor::Header(header), None) => {
                    let Ok(writer) = stream.try_clone() else {
                        return;
                    };
                    node = Some(header.node_index);
                    Event::Joined(header, writer)
                }
                (frame, Some(node)) => Event::Frame(node, frame),
                // Not a supervisor.
                (_, None) => return,
            };
            if events.send(event).is_err() {
                return;
            }
        }
    }
    if let Some(node) = node {
        let _ = events.send(Event::Left(node));
    }
}
