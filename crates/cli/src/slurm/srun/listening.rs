//! The socket on which the step's supervisors call, and the one for those who watch it.
//!
//! ```text
//! <PID>-<RANDOM>         the supervisors'
//! <PID>-<RANDOM>.attach  the watchers'
//! <JOB>.<STEP>           the same, by the name by which `sattach` finds it
//! ```
//! In one folder for all: what a short step costs is mostly the making and removing of files.

use super::session::Event;
use api::step_io::{FrameReader, FromSupervisor, ToSupervisor};
use model::{JobId, StepId};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::SyncSender;
use std::thread;

/// Bytes read at once.
const CHUNK: usize = 256 * 1024;

/// The sockets, gone when this is dropped.
#[derive(Debug)]
pub struct Listening {
    path: PathBuf,
    /// The watchers', by its two names.
    attach: Option<[PathBuf; 2]>,
    listener: UnixListener,
}

impl Listening {
    /// Listens in a folder below the engine's, or in one of the user's own where the engine is another's.
    ///
    /// # Errors
    /// What the system says.
    pub fn below(engine: &Path) -> io::Result<Listening> {
        let all = folder_of_all(engine)?;
        sys::private_folder::make(&all).map_err(io::Error::other)?;
        sweep(&all);
        let path = all.join(sys::unique());
        let listener = sys::socket::listen(&path)?;
        Ok(Listening {
            path,
            attach: None,
            listener,
        })
    }

    /// Where supervisors connect to.
    pub fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// Has `sattach` find this `srun` by its step; best effort.
    pub fn serve_watchers(&mut self, job: JobId, step: StepId, events: &SyncSender<Event>) {
        let own = self.path.with_extension(ATTACH);
        let Ok(listener) = sys::socket::listen(&own) else {
            return;
        };
        let name = self.path.with_file_name(format!("{job}.{step}"));
        // One that is left of a step of this name leads nowhere.
        let _old = std::fs::remove_file(&name);
        let _unseen = std::fs::hard_link(&own, &name);
        self.attach = Some([own, name]);
        let events = events.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let events = events.clone();
                thread::spawn(move || hear_watcher(stream, &events));
            }
        });
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
        for path in self.attach.iter().flatten().chain([&self.path]) {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// What the name of a watchers' socket ends with.
const ATTACH: &str = "attach";

/// The folder of all `srun`s of this user for the engine.
fn folder_of_all(engine: &Path) -> io::Result<PathBuf> {
    let owner = std::fs::metadata(engine)?.uid();
    let (user, engine) = (sys::process::user(), api::EngineFolder::new(engine));
    if owner == user {
        return Ok(engine.srun());
    }
    // An engine of root's makes one when the user first submits something.
    let own = engine.srun_of(user);
    if std::fs::symlink_metadata(&own).is_ok_and(|it| it.is_dir() && it.uid() == user) {
        return Ok(own);
    }
    let name = format!("trainyard-srun-{user}");
    Ok(sys::private_folder::of_user(&std::env::temp_dir(), &name))
}

/// Where the `srun` of a running step listens for those who watch it.
///
/// # Errors
/// What the system says.
pub fn attached_socket(engine: &Path, job: JobId, step: StepId) -> io::Result<PathBuf> {
    Ok(folder_of_all(engine)?.join(format!("{job}.{step}")))
}

/// Passes on what one who watches types.
fn hear_watcher(mut stream: UnixStream, events: &SyncSender<Event>) {
    let Ok(writer) = stream.try_clone() else {
        return;
    };
    if events.send(Event::Watched(writer)).is_err() {
        return;
    }
    let mut reader = FrameReader::default();
    let mut chunk = [0; 4096];
    loop {
        match stream.read(&mut chunk) {
            Ok(length @ 1..) => reader.push(&chunk[..length]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Ok(0) | Err(_) => return,
        }
        while let Ok(Some(frame)) = reader.take::<ToSupervisor>() {
            if let ToSupervisor::Input(bytes) = frame
                && events.send(Event::Input(bytes)).is_err()
            {
                return;
            }
        }
    }
}

/// Takes away what an `srun` that was killed left behind.
fn sweep(all: &Path) {
    for entry in std::fs::read_dir(all).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let pid = name.to_str().and_then(|name| name.split_once('-'));
        let is_left = match pid.and_then(|(pid, _random)| pid.parse().ok()) {
            // One that runs on another node has a number that means nothing here.
            Some(pid) => sys::process::start_time(pid).is_none() && is_left(&entry.path()),
            // The name of a step, whose socket has none of its own any more.
            None => entry.metadata().is_ok_and(|facts| facts.nlink() == 1),
        };
        if is_left {
            // A folder is one of an earlier version's.
            let path = entry.path();
            let _ = std::fs::remove_file(&path).or_else(|_| std::fs::remove_dir_all(&path));
        }
    }
}

/// Whether no process listens at a socket that is there.
fn is_left(socket: &Path) -> bool {
    sys::socket::connect_at_once(socket)
        .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
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
