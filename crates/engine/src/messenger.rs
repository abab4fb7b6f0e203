//! Words to supervisors, on a thread of its own: the owner waits for nobody.

use crate::spec::{self, PidFile, SupervisorAnswer, SupervisorCall};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Longest wait for a supervisor that was started but does not listen yet, and for its answer.
const LONGEST: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(5);

/// Sends calls to supervisors in order.
#[derive(Debug)]
pub(crate) struct Messenger {
    calls: mpsc::Sender<(PathBuf, SupervisorCall)>,
}

impl Messenger {
    /// Starts the thread.
    pub(crate) fn start() -> io::Result<Messenger> {
        let (calls, receiver) = mpsc::channel::<(PathBuf, SupervisorCall)>();
        thread::Builder::new()
            .name("messenger".to_owned())
            .stack_size(128 << 10)
            .spawn(move || {
                for (folder, call) in receiver {
                    deliver(&folder, &call);
                }
            })?;
        Ok(Messenger { calls })
    }

    /// Sends a call to the supervisor of `folder`, soon.
    pub(crate) fn send(&self, folder: PathBuf, call: SupervisorCall) {
        // The thread lives as long as the sender.
        let _lives = self.calls.send((folder, call));
    }
}

/// Delivers a call, waiting for a supervisor that is still starting.
fn deliver(folder: &Path, call: &SupervisorCall) {
    let begun = Instant::now();
    loop {
        match say(folder, call) {
            Ok(()) => return,
            Err(_) if is_over(folder) => return,
            Err(error) if begun.elapsed() > LONGEST => {
                crate::log::line(&format!("{} does not answer: {error}", folder.display()));
                return;
            }
            Err(_) => thread::sleep(PAUSE),
        }
    }
}

fn say(folder: &Path, call: &SupervisorCall) -> io::Result<()> {
    let mut stream = sys::socket::connect(&folder.join(spec::SOCK))?;
    stream.set_read_timeout(Some(LONGEST))?;
    let mut line = serde_json::to_vec(call)?;
    line.push(b'\n');
    stream.write_all(&line)?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer)?;
    if answer.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    match serde_json::from_str(&answer)? {
        SupervisorAnswer::Unknown => Err(io::ErrorKind::Unsupported.into()),
        _ => Ok(()),
    }
}

/// Whether the supervisor ended: it left its exit file, or it is there no more.
fn is_over(folder: &Path) -> bool {
    folder.join(spec::EXIT).exists()
        || !folder.exists()
        || read_pid(folder).is_some_and(|pid| !lives(&pid))
}

/// The supervisor's pid file.
pub(crate) fn read_pid(folder: &Path) -> Option<PidFile> {
    let bytes = std::fs::read(folder.join(spec::PID)).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Whether the process of a pid file still lives.
pub(crate) fn lives(pid: &PidFile) -> bool {
    pid.boot_id == sys::boot_id() && sys::process::is_same(pid.pid, pid.start_time)
}
