//! Starting an engine for a folder that has none.

use crate::{ConnectError, EngineFolder, Startup};
use serde::{Deserialize, Serialize};
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;
use sys::env_vars::TRAINYARD_SUPERVISOR;
use sys::private_folder::PrivateFolderError;

/// Longest wait for an engine's first word; reading a large store takes its time.
const LONGEST_START: Duration = Duration::from_secs(60);

/// What a command of a job asks its step's supervisor for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StartRequest {
    /// The folder of the engine.
    pub folder: PathBuf,
    /// The program to start.
    pub program: PathBuf,
}

/// What it is answered, as a line of JSON.
pub type StartAnswer = Result<Startup, String>;

/// Starts an engine for the folder: by the supervisor of the step, where this process is in a PID namespace
/// that ends with its job.
pub(crate) fn start_engine(folder: &EngineFolder, program: &Path) -> Result<Startup, ConnectError> {
    let outside = std::env::var_os(TRAINYARD_SUPERVISOR);
    // Where it does not answer this is no job of its own any more.
    let supervisor = outside.and_then(|socket| sys::socket::connect(Path::new(&socket)).ok());
    match supervisor {
        None => start_engine_here(folder, program),
        Some(supervisor) => ask(&supervisor, folder, program).map_err(|last| ConnectError::Died {
            folder: folder.root().to_owned(),
            last,
        }),
    }
}

fn ask(
    mut supervisor: &UnixStream,
    folder: &EngineFolder,
    program: &Path,
) -> Result<Startup, String> {
    let request = serde_json::json!({
        "verb": "start_engine",
        "folder": folder.root(),
        "program": program,
    });
    let mut answer = || -> std::io::Result<StartAnswer> {
        supervisor.set_read_timeout(Some(LONGEST_START))?;
        supervisor.write_all(format!("{request}\n").as_bytes())?;
        let mut line = String::new();
        BufReader::new(supervisor).read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    };
    answer().map_err(|error| format!("the supervisor of this step: {error}"))?
}

/// Starts `program engine serve --dir FOLDER` and waits for its first word.
///
/// The engine makes a session of its own; its standard error goes to `engine.log`.
///
/// # Errors
/// The folder can't be made, or the program not started; it ended or said nothing.
pub fn start_engine_here(folder: &EngineFolder, program: &Path) -> Result<Startup, ConnectError> {
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
    sys::inherited::hand_on_streams_alone(&mut command);
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
