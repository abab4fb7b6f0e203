//! Starting an engine for a folder that has none.

use crate::{ConnectError, EngineFolder, Startup};
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use sys::private_folder::PrivateFolderError;

/// Longest wait for an engine's first word; reading a large store takes its time.
const LONGEST_START: Duration = Duration::from_secs(60);

/// Starts `program engine serve --dir FOLDER` and waits for its first word.
///
/// The engine makes a session of its own; its standard error goes to `engine.log`.
pub(crate) fn start_engine(folder: &EngineFolder, program: &Path) -> Result<Startup, ConnectError> {
    let log = make_folder(folder).map_err(|source| ConnectError::Folder {
        folder: folder.root().to_owned(),
        source,
    })?;
    let mut command = Command::new(program);
    // Not a part of the job whose command starts it. That it was, TRAINYARD_ENGINE still says.
    let of_job = |name: &std::ffi::OsStr| name.as_encoded_bytes().starts_with(b"SLURM_");
    for (name, _) in std::env::vars_os().filter(|(name, _)| of_job(name)) {
        command.env_remove(name);
    }
    let mut engine = command
        .args(["engine", "serve", "--dir"])
        .arg(folder.root())
        // Not a folder that someone may want to unmount.
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
        .map_err(|source| ConnectError::Spawn {
            program: program.to_owned(),
            source,
        })?;
    let words = engine.stdout.take();
    let (sender, receiver) = mpsc::channel();
    // A thread because a pipe can't be read with a time-out; it stays as the engine's reaper, so
    // that a client that lives long leaves no zombie.
    thread::spawn(move || {
        let mut line = String::new();
        if let Some(words) = words {
            // An error leaves the line empty, which is the same as an engine that died.
            let _unread = BufReader::new(words).read_line(&mut line);
        }
        let _no_receiver = sender.send(line);
        engine.wait()
    });
    let line = receiver
        .recv_timeout(LONGEST_START)
        .map_err(|_| ConnectError::Silent {
            folder: folder.root().to_owned(),
            last: format!(
                "nothing heard of its start for {} s",
                LONGEST_START.as_secs()
            ),
        })?;
    serde_json::from_str(&line).map_err(|_| ConnectError::Died {
        folder: folder.root().to_owned(),
        last: last_line(&folder.log()),
    })
}

/// Makes the folder, for its owner alone, and opens the log in it.
fn make_folder(folder: &EngineFolder) -> std::io::Result<File> {
    // A link to it is the user's own, or stands where the user alone can make one.
    let place = folder.root().canonicalize();
    let place = place.unwrap_or_else(|_| folder.root().to_owned());
    sys::private_folder::make(&place).map_err(|error| match error {
        PrivateFolderError::NotOurs { problem, .. } => std::io::Error::other(problem),
        PrivateFolderError::System { source, .. } => source,
    })?;
    OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(folder.log())
}

fn last_line(log: &Path) -> String {
    let text = fs::read_to_string(log).unwrap_or_default();
    let last = text.lines().rev().find(|line| !line.trim().is_empty());
    last.unwrap_or("its log is empty").to_owned()
}
