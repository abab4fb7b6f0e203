//! The socket on which the step's supervisors call, and the one for those who watch it.
//!
//! ```text
//! <PID>-<RANDOM>         the supervisors'
//! <PID>-<RANDOM>.attach  the watchers'
//! <JOB>.<STEP>           the same, by the name by which `sattach` finds it
//! ```
//! In one folder for all: what a short step costs is mostly the making and removing of files.

use model::{JobId, StepId};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

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

    /// Where supervisors call.
    pub fn listener(&self) -> &UnixListener {
        &self.listener
    }

    /// Has `sattach` find this `srun` by its step; best effort. Where those call who watch.
    pub fn for_watchers(&mut self, job: JobId, step: StepId) -> Option<UnixListener> {
        let own = self.path.with_extension(ATTACH);
        let listener = sys::socket::listen(&own).ok()?;
        let name = self.path.with_file_name(format!("{job}.{step}"));
        // One that is left of a step of this name leads nowhere.
        let _old = std::fs::remove_file(&name);
        let _unseen = std::fs::hard_link(&own, &name);
        self.attach = Some([own, name]);
        Some(listener)
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
    if let Some(folder) = folder_below(engine)? {
        return Ok(folder);
    }
    let name = format!("trainyard-srun-{}", sys::process::user());
    Ok(sys::private_folder::of_user(&std::env::temp_dir(), &name))
}

/// That below the engine's, where this user may have one there.
fn folder_below(engine: &Path) -> io::Result<Option<PathBuf>> {
    let owner = std::fs::metadata(engine)?.uid();
    let (user, engine) = (sys::process::user(), api::EngineFolder::new(engine));
    if owner == user {
        return Ok(Some(engine.srun()));
    }
    // An engine of root's makes one when the user first submits something.
    let own = engine.srun_of(user);
    let is_there = std::fs::symlink_metadata(&own).is_ok_and(|it| it.is_dir() && it.uid() == user);
    Ok(is_there.then_some(own))
}

/// Whether an `srun` can listen below the engine's folder before it submitted anything.
pub fn has_folder(engine: &Path) -> bool {
    folder_below(engine).is_ok_and(|folder| folder.is_some())
}

/// Where the `srun` of a running step listens for those who watch it.
///
/// # Errors
/// What the system says.
pub fn attached_socket(engine: &Path, job: JobId, step: StepId) -> io::Result<PathBuf> {
    Ok(folder_of_all(engine)?.join(format!("{job}.{step}")))
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

/// Whether no process listens at a socket that is there. One that was made just now may be another
/// `srun`'s which comes to listen in a moment.
fn is_left(socket: &Path) -> bool {
    let age = std::fs::symlink_metadata(socket)
        .and_then(|facts| facts.modified())
        .map(|made| made.elapsed().unwrap_or_default());
    age.is_ok_and(|age| age >= YOUNG)
        && sys::socket::connect_at_once(socket)
            .is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused)
}

/// How long a socket is left alone that no process listens at.
const YOUNG: Duration = Duration::from_mins(1);

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails loudly")]
    use super::*;
    use std::process::Command;

    /// An `srun` of another node, whose number means nothing here, bound its socket and did not listen yet.
    #[test]
    fn a_socket_that_is_being_made_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let of_no_process = |name: &str| {
            let path = folder.path().join(name);
            drop(UnixListener::bind(&path).unwrap());
            path
        };
        let (young, old) = (of_no_process("4294967294-1"), of_no_process("4294967294-2"));
        // A socket can't be opened, which std's own way needs.
        let mut touch = Command::new("touch");
        let touched = touch.args(["-d", "2 minutes ago"]).arg(&old);
        assert!(touched.status().unwrap().success());
        sweep(folder.path());
        assert!(young.exists() && !old.exists());
    }
}
