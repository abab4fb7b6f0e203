//! Runs one of Slurm's commands: bounded in time, with an environment that can't change its meaning.

use crate::transport::TransportError;
use std::ffi::OsStr;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What a command answered.
#[derive(Debug)]
pub struct Answer {
    /// How it ended.
    pub status: ExitStatus,
    /// Its stdout.
    pub stdout: String,
    /// Its stderr, trimmed.
    pub stderr: String,
}

/// Longest wait for one answer; a busy controller can take tens of seconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// A command by name, found on PATH, without what would change its meaning: a job submitted from
/// inside another job must not inherit that job's `SLURM_*` and `SBATCH_*`, nor take itself for a job of the
/// embedded engine.
pub fn slurm_command(program: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if is_inherited_option(&name) {
            command.env_remove(&name);
        }
    }
    command
}

/// Whether a variable is an option of a Slurm command in disguise.
fn is_inherited_option(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else {
        return false;
    };
    // SLURM_CONF says which cluster is meant, so it stays.
    let prefixes = [
        "SLURM_", "SBATCH_", "SQUEUE_", "SACCT_", "SINFO_", "SCANCEL_", "PMIX_",
    ];
    let of_slurm = prefixes.iter().any(|prefix| name.starts_with(prefix));
    let of_an_engine = sys::env_vars::IN_JOBS.iter().any(|(own, _)| *own == name);
    name != "SLURM_CONF" && (of_slurm || of_an_engine)
}

/// Runs a command to its end. A failed start and a missing answer are errors; a non-zero status is
/// the caller's to judge.
pub fn ask(mut command: Command) -> Result<Answer, TransportError> {
    command.stdin(Stdio::null());
    answer(command, None, &AtomicBool::new(false))
}

/// As [`ask`]; the command is ended early once `stop` is set.
pub fn ask_until(mut command: Command, stop: &AtomicBool) -> Result<Answer, TransportError> {
    command.stdin(Stdio::null());
    answer(command, None, stop)
}

/// As [`ask`], with this on its standard input.
pub fn ask_with(mut command: Command, input: Vec<u8>) -> Result<Answer, TransportError> {
    command.stdin(Stdio::piped());
    answer(command, Some(input), &AtomicBool::new(false))
}

fn answer(
    mut command: Command,
    input: Option<Vec<u8>>,
    stop: &AtomicBool,
) -> Result<Answer, TransportError> {
    let name = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|source| TransportError::File {
            path: PathBuf::from(&name),
            source,
        })?;
    if let (Some(input), Some(mut pipe)) = (input, child.stdin.take()) {
        // Beside the reading, so that full pipes can't block both; one that doesn't read to the end
        // has its reasons.
        std::thread::spawn(move || drop(pipe.write_all(&input)));
    }
    let stdout = reader(child.stdout.take());
    let stderr = reader(child.stderr.take());
    let Some(status) = wait(&mut child, PATIENCE, stop) else {
        let _ = child.kill();
        let _ = child.wait();
        return Err(TransportError::TimedOut {
            command: name,
            seconds: PATIENCE.as_secs(),
        });
    };
    let text = |handle: std::thread::JoinHandle<Vec<u8>>| {
        String::from_utf8_lossy(&handle.join().unwrap_or_default()).into_owned()
    };
    Ok(Answer {
        status,
        stdout: text(stdout),
        stderr: text(stderr).trim().to_owned(),
    })
}

/// Runs a command that must succeed, and returns its stdout.
pub fn ask_ok(command: Command) -> Result<String, TransportError> {
    let name = command.get_program().to_string_lossy().into_owned();
    let answer = ask(command)?;
    if answer.status.success() {
        return Ok(answer.stdout);
    }
    Err(TransportError::Command {
        command: name,
        status: answer.status.to_string(),
        message: answer.stderr,
    })
}

/// Reads a pipe to its end beside the waiting, so that a full pipe can't block the command.
fn reader(pipe: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.read_to_end(&mut bytes);
        }
        bytes
    })
}

/// Waits for the end, at most so long or until it is to stop.
fn wait(child: &mut Child, patience: Duration, stop: &AtomicBool) -> Option<ExitStatus> {
    let until = Instant::now() + patience;
    let mut pause = Duration::from_millis(1);
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < until && !stop.load(Ordering::Relaxed) => {
                std::thread::sleep(pause)
            }
            _ => return None,
        }
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}
