//! Starts the embedded engine again that was killed together with all that would have started it:
//! its fork server and the supervisors of its jobs.
//!
//! An engine that ends on purpose removes its socket. One that was killed leaves it behind, and
//! nothing answers there.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use sys::env_vars::TRAINYARD_ENGINE;

/// How often the socket is looked at.
const PAUSE: Duration = Duration::from_secs(1);
/// So many looks in a row must find nothing: the fork server, or a supervisor, acts at once.
const LOOKS: u32 = 3;

/// What a look at the socket finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    Answers,
    /// Stopped on purpose, or not to be seen from here.
    Stopped,
    /// Left behind by a killed engine.
    LeftBehind,
}

/// Watches the engine of the job that this process belongs to, on a thread of its own. A job of
/// Slurm's has none.
pub fn start() {
    let Some(folder) = std::env::var_os(TRAINYARD_ENGINE).map(PathBuf::from) else {
        return;
    };
    let socket = folder.join(sys::ENGINE_SOCKET);
    // Without the thread the next client starts the engine.
    let _ = std::thread::Builder::new()
        .name("engine-watch".to_owned())
        .stack_size(64 << 10)
        .spawn(move || watch(&socket));
}

fn watch(socket: &Path) {
    let mut missed = 0;
    loop {
        std::thread::sleep(PAUSE);
        let (now_missed, start) = judge(missed, look(socket));
        missed = now_missed;
        if start {
            start_engine();
        }
    }
}

fn look(socket: &Path) -> Seen {
    match sys::socket::connect(socket) {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => Seen::LeftBehind,
        Err(_) => Seen::Stopped,
        Ok(_) => Seen::Answers,
    }
}

/// How many looks in a row have missed it now, and whether it is to be started.
fn judge(missed: u32, seen: Seen) -> (u32, bool) {
    match seen {
        Seen::Answers | Seen::Stopped => (0, false),
        Seen::LeftBehind if missed + 1 >= LOOKS => (0, true),
        Seen::LeftBehind => (missed + 1, false),
    }
}

/// As a client does. Whether it came up shows at the next look.
fn start_engine() {
    let Ok(yard) = std::env::current_exe() else {
        return;
    };
    // It serves other jobs too: all of the machine's CPUs, and nothing of this job.
    let _ = sys::cpu::unbind();
    let mut command = Command::new(yard);
    command.args(["engine", "start"]);
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(is_of_this_job) {
            command.env_remove(name);
        }
    }
    command
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let _ = sys::daemon::spawn(&mut command);
}

fn is_of_this_job(name: &str) -> bool {
    [
        "SLURM_",
        "SLURMD_",
        "SRUN_",
        "CUDA_VISIBLE_",
        "ROCR_VISIBLE_",
        "YARD_",
    ]
    .iter()
    .any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(seen: &[Seen], want: &[bool]) {
        let mut missed = 0;
        let started = seen.iter().map(|seen| {
            let (now_missed, start) = judge(missed, *seen);
            missed = now_missed;
            start
        });
        assert_eq!(started.collect::<Vec<_>>(), want);
    }

    #[test]
    fn only_a_killed_engine_is_started_again() {
        use Seen::{Answers, LeftBehind, Stopped};
        check(&[LeftBehind; 4], &[false, false, true, false]);
        check(&[LeftBehind, LeftBehind, Answers, LeftBehind], &[false; 4]);
        check(&[Stopped; 5], &[false; 5]);
    }
}
