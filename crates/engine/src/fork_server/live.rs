//! The fork server's life.

use super::ForkServerEvent;
use super::child_pool::ChildPool;
use super::order::Order;
use crate::SupervisorKey;
use crate::orphans;
use crate::own_processes::OwnProcesses;
use crate::quick_forkers::kill_at_once;
use crate::stopped::{self, LONGEST_STOP};
use api::EngineFolder;
use serde::de::IgnoredAny;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use sys::poll::{Interest, Poll};
use sys::process::{self, Reaped};
use sys::signals::{SIGKILL, SignalFd};

const SIGCHLD: i32 = 17;

/// Pause between two looks for what a killed supervisor left behind.
const REAPING_PAUSE: Duration = Duration::from_millis(10);
/// Longest reaping: what can't be killed for so long hangs in the kernel.
const LONGEST_REAPING: Duration = Duration::from_secs(5);

struct Live {
    engine: UnixStream,
    pool: ChildPool,
    own: OwnProcesses,
    folder: PathBuf,
    /// Steps whose supervisor is gone without a report: their end is reported once nothing that they
    /// left behind lives.
    lost: Vec<SupervisorKey>,
    reaping_since: Option<Instant>,
    /// Supervisors that were stopped, and when that was heard of.
    stopped: Vec<(u32, Instant)>,
}

/// From the fork to the engine's end.
pub(super) fn live(engine: UnixStream, folder: &Path) -> io::Result<()> {
    process::close_all_but(&[engine.as_fd()]);
    process::leave_stdio()?;
    // Out of the terminal's reach: Ctrl-C is not meant for jobs.
    process::new_session()?;
    process::set_name("yard:forkserver");
    // Inherits what a killed supervisor leaves behind.
    process::become_subreaper()?;
    // Each supervisor would read them for its step's group.
    sys::control_group::remember_mounts();
    let program = std::env::current_exe()?;
    // It ends with its engine, not before: whoever ends both at once means the engine.
    let signals = SignalFd::block(&[SIGCHLD, 1, 2, 15])?;
    engine.set_nonblocking(true)?;
    let mut text = Vec::new();
    let mut served = false;
    let mut live = Live {
        engine,
        pool: ChildPool::new(folder),
        own: OwnProcesses::enter(&EngineFolder::new(folder)),
        folder: folder.to_owned(),
        lost: Vec::new(),
        reaping_since: None,
        stopped: Vec::new(),
    };
    loop {
        let is_signalled = live.wait(&signals)?;
        if is_signalled {
            while signals.next().is_some() {}
            live.note_stopped();
        }
        // First the orders: a step must not wait for the dead.
        let open = read_all(&mut live.engine, &mut text)?;
        while let Some(order) = Order::take(&mut text).map_err(io::Error::other)? {
            match order {
                Order::Start { key, spec } => {
                    served = true;
                    live.start(key, &spec);
                }
                Order::Shutdown => return Ok(()),
            }
        }
        if is_signalled {
            live.reap();
        }
        live.reap_orphans();
        live.continue_stopped();
        if !open {
            // An engine that never came so far as to start anything would die again.
            return if served {
                start_engine(folder, &program)
            } else {
                Ok(())
            };
        }
    }
}

impl Live {
    /// Sleeps until something happens, and passes on the ends of steps; whether a signal came.
    fn wait(&mut self, signals: &SignalFd) -> io::Result<bool> {
        let rest = self.pool.dismiss(Instant::now());
        let reaping = self.reaping_since.map(|_| REAPING_PAUSE);
        let mut poll = Poll::new();
        poll.add(&self.engine, Interest::Read);
        let signal = poll.add(signals, Interest::Read);
        let busy = self.pool.watch(&mut poll);
        let stopped = self.stopped.iter();
        let stopped = stopped.map(|(_, since)| LONGEST_STOP.saturating_sub(since.elapsed()));
        poll.wait(rest.into_iter().chain(reaping).chain(stopped).min())?;
        let spoke: Vec<u32> = (2..)
            .zip(busy)
            .filter_map(|(place, pid)| poll.readable(place).then_some(pid))
            .collect();
        let is_signalled = poll.readable(signal);
        drop(poll);
        for pid in spoke {
            if let Some((key, exit)) = self.pool.hear(pid) {
                self.pass_on(key, &exit);
            }
        }
        Ok(is_signalled)
    }

    fn start(&mut self, key: SupervisorKey, spec: &[u8]) {
        // Each stop is told by a signal: of the others nothing has to be asked.
        let was_stopped = |pid| self.stopped.iter().any(|(known, _)| *known == pid);
        let is_stopped = |pid| was_stopped(pid) && process::is_stopped(pid);
        if let Err(error) = self.pool.start(key, spec, is_stopped) {
            self.tell(&ForkServerEvent::Failed {
                key,
                message: error.to_string(),
                may_pass: sys::disk_errors::may_pass(&error),
            });
        }
    }

    fn reap(&mut self) {
        while let Reaped::Child(pid, status, _used) = process::reap() {
            let Some(key) = self.pool.reaped(pid) else {
                continue;
            };
            if status == 0 {
                self.tell(&ForkServerEvent::Ended { key, exit: None });
            } else {
                self.lost.push(key);
                self.reaping_since.get_or_insert_with(Instant::now);
            }
        }
    }

    /// Notes which supervisors were stopped.
    fn note_stopped(&mut self) {
        while let Some(pid) = process::stopped_child() {
            self.stopped.push((pid, Instant::now()));
        }
    }

    /// Lets supervisors go on that have been stopped for long.
    fn continue_stopped(&mut self) {
        self.stopped.retain(|(pid, since)| {
            let is_due = since.elapsed() >= LONGEST_STOP;
            // One that was to leave is none of the pool's any more.
            let is_supervisor = self.pool.has(*pid) || self.own.has(*pid);
            if is_due && is_supervisor && process::is_stopped(*pid) {
                tracing::warn!("supervisor {pid} was stopped, and goes on");
                stopped::let_child_go_on(*pid);
            }
            !is_due
        });
    }

    /// Ends what lost supervisors left behind, then tells of their end.
    fn reap_orphans(&mut self) {
        let Some(since) = self.reaping_since else {
            return;
        };
        // Whatever is below this process is of a step, but supervisors and what they hold, and
        // engines, which serve other jobs.
        let is_orphan = |pid: u32| !self.pool.has(pid) && !self.own.has(pid);
        let own = std::process::id();
        let mut orphans = process::descendants_where(own, &is_orphan);
        let keepers = self.keepers();
        let inside = process::descendants_of_all(&keepers, &|_| true);
        orphans.extend(inside.into_iter().filter(|pid| self.is_left(*pid)));
        for orphan in &orphans {
            // Gone in between is as good.
            let _gone = process::signal(*orphan, SIGKILL);
        }
        let come = kill_at_once(|known| {
            let listed = |pid| process::listed_children(pid).unwrap_or_default();
            let here = listed(own).into_iter().filter(|pid| is_orphan(*pid));
            let inside = keepers.iter().flat_map(|keeper| listed(*keeper));
            let all = here.chain(inside.filter(|pid| self.is_left(*pid)));
            all.filter(|pid| !known.contains(pid) && !orphans.contains(pid))
                .collect()
        });
        let are_gone = orphans.is_empty() && come.is_empty();
        if are_gone || since.elapsed() > LONGEST_REAPING {
            self.reaping_since = None;
            for key in std::mem::take(&mut self.lost) {
                self.tell(&ForkServerEvent::Ended { key, exit: None });
            }
        }
    }

    /// Processes that keep the PID namespaces of jobs which have other steps there.
    fn keepers(&self) -> Vec<u32> {
        let mut keepers = process::children(std::process::id());
        keepers.retain(|pid| self.own.has(*pid) && !self.pool.has(*pid));
        keepers
    }

    /// Whether a process of such a namespace is what a task of a lost supervisor left there.
    fn is_left(&self, pid: u32) -> bool {
        let mut lost = self.lost.iter();
        lost.any(|key| orphans::is_of_step(pid, &self.folder, *key))
    }

    /// Tells the engine.
    fn tell(&mut self, event: &ForkServerEvent) {
        if let Ok(mut line) = serde_json::to_vec(event) {
            line.push(b'\n');
            self.write(&line);
        }
    }

    /// Tells the engine in a supervisor's own words that its step ended: a line of JSON.
    fn pass_on(&mut self, key: SupervisorKey, exit: &[u8]) {
        if let Ok(line) = ended_line(key, exit) {
            self.write(&line);
        }
    }

    /// Writes to the engine, waiting for it where its socket is full. That it is gone shows at the
    /// next read.
    fn write(&mut self, line: &[u8]) {
        let written = self.engine.write(line).unwrap_or(0);
        if written < line.len() {
            let _ = self.engine.set_nonblocking(false);
            let _ = self.engine.write_all(&line[written..]);
            let _ = self.engine.set_nonblocking(true);
        }
    }
}

/// The line of [`ForkServerEvent::Ended`] with what a supervisor wrote; what is no JSON is as nothing.
fn ended_line(key: SupervisorKey, exit: &[u8]) -> serde_json::Result<Vec<u8>> {
    let is_json = serde_json::from_slice::<IgnoredAny>(exit).is_ok();
    let exit = if is_json {
        exit.trim_ascii_end()
    } else {
        b"null"
    };
    let key = serde_json::to_vec(&key)?;
    Ok([br#"{"ended":{"key":"#, &*key, br#","exit":"#, exit, b"}}\n"].concat())
}

/// Reads what is there; whether the engine's end is open.
fn read_all(engine: &mut UnixStream, text: &mut Vec<u8>) -> io::Result<bool> {
    let mut chunk = [0; 16 * 1024];
    loop {
        match engine.read(&mut chunk) {
            Ok(0) => return Ok(false),
            Ok(length) => {
                text.extend_from_slice(&chunk[..length]);
                // What comes after that wakes this process again.
                if length < chunk.len() {
                    return Ok(true);
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(true),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(false),
            Err(error) => return Err(error),
        }
    }
}

/// Starts the engine that takes over from one that died.
fn start_engine(folder: &Path, program: &Path) -> io::Result<()> {
    api::Client::connect_with(folder, program)
        .map(drop)
        .map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::ExitFile;
    use model::{JobId, StepId, Timestamp};

    #[test]
    fn the_engine_hears_what_the_supervisor_wrote() {
        let key = SupervisorKey {
            job: JobId(7),
            restart: 1,
            step: StepId::Batch,
            node: 2,
            tag: None,
        };
        let exit = ExitFile::unstarted(Timestamp(9), Some("a \"reason\"".to_owned()));
        let check = |text: &[u8], exit: Option<ExitFile>| {
            let line = ended_line(key, text).unwrap();
            assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1);
            let read: ForkServerEvent = serde_json::from_slice(&line).unwrap();
            assert_eq!(read, ForkServerEvent::Ended { key, exit });
        };
        let mut text = serde_json::to_vec(&exit).unwrap();
        text.push(b'\n');
        check(&text, Some(exit));
        check(b"half of a li\n", None);
        check(b"\n", None);
    }
}
