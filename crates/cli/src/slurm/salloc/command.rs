//! The command that lives beside an allocation, and what ends either.

use super::super::login_environment::bare_login;
use api::{Client, JobFilter};
use model::{JobId, JobState, NodeName, Outcome, Variables, WaitStatus};
use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;
use sys::process::Spawn;
use sys::signals::{SIGKILL, SignalFd};

const SIGHUP: i32 = 1;
const SIGINT: i32 = 2;
const SIGQUIT: i32 = 3;
const SIGCONT: i32 = 18;
const SIGSTOP: i32 = 19;

/// Longest wait for news of the allocation in one question. The engine sees a client that was killed
/// when its question is over.
const PATIENCE: Duration = Duration::from_secs(1);
/// How often a command at a terminal is looked at: it may have been stopped by Ctrl-Z.
const LOOK: Duration = Duration::from_millis(200);

/// An allocation and what its command is run with.
pub struct Held<'a> {
    /// The allocation.
    pub job: JobId,
    /// The command's environment.
    pub environment: &'a Variables,
    /// `--kill-command`
    pub kill_command: Option<i32>,
    /// Is called once the command runs.
    pub started: &'a dyn Fn(),
    /// Says something unless `--quiet`.
    pub say: &'a dyn Fn(&str),
    /// Says what is wrong.
    pub complain: &'a dyn Fn(&str),
}

/// How the command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// `salloc`'s exit code.
    pub code: u8,
    /// For the job's record.
    pub status: WaitStatus,
    /// The allocation ended first.
    pub revoked: bool,
}

/// Something that happened.
enum Event {
    /// What `wait` said; `None` where it can't be known.
    Command(Option<WaitStatus>),
    Signal(i32),
    /// How the allocation ended, and the node whose loss ended it.
    Revoked(Outcome, Option<NodeName>),
    /// A node without which it goes on.
    NodeLost(NodeName),
}

impl Held<'_> {
    /// Runs the command, the user's shell where `words` is empty. `client` is the connection that the
    /// allocation belongs to: while the command runs it watches for the allocation's end.
    pub fn run(&self, words: &[String], client: Client, signals: SignalFd) -> Ended {
        let is_shell = words.is_empty();
        let group = match self.start(words) {
            Ok(pid) => pid,
            Err(why) => {
                (self.complain)(&why);
                return Ended {
                    code: 1,
                    status: WaitStatus::exit(1),
                    revoked: false,
                };
            }
        };
        let terminal = Terminal::hand_to(group);
        let (sender, events) = mpsc::channel();
        wait_for(group, sender.clone());
        watch(self.job, client, sender.clone());
        (self.started)();
        // Those of the terminal are blocked for `set_foreground` alone.
        signals.watch(move |signal| {
            matches!(signal, 21 | 22) || sender.send(Event::Signal(signal)).is_ok()
        });
        let mut revoked = false;
        loop {
            let event = match &terminal {
                Some(_) => events.recv_timeout(LOOK),
                None => events.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match event {
                Ok(Event::Command(status)) => return ended(status, revoked),
                // The shell in the foreground gets its keys from the terminal itself.
                Ok(Event::Signal(SIGINT | SIGQUIT)) => {}
                Ok(Event::Signal(SIGHUP)) => {
                    let _ = sys::process::kill_group(group, SIGHUP);
                    return Ended {
                        code: 1,
                        status: WaitStatus::exit(1),
                        revoked,
                    };
                }
                Ok(Event::Signal(SIGCONT)) => {
                    if let Some(terminal) = &terminal {
                        terminal.go_on(group);
                    }
                }
                Ok(Event::Signal(signal)) => {
                    let _ = sys::process::kill_group(group, signal);
                }
                Ok(Event::Revoked(outcome, lost)) => {
                    revoked = true;
                    if let Some(node) = lost {
                        (self.complain)(&format!("Node failure on {node}"));
                    }
                    (self.say)(&revoked_text(self.job, &outcome));
                    // A command of the user's own is let to end by itself.
                    let signal = self.kill_command.or(is_shell.then_some(SIGHUP));
                    if let Some(signal) = signal {
                        let _ = sys::process::kill_group(group, signal);
                    }
                }
                Ok(Event::NodeLost(node)) => {
                    (self.complain)(&format!("Node failure on {node}"));
                }
                Err(RecvTimeoutError::Timeout) => {
                    if let Some(terminal) = &terminal
                        && sys::process::is_stopped(group)
                    {
                        terminal.stop();
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return ended(None, revoked);
                }
            }
        }
    }

    /// Starts it in a process group of its own: keys reach the group in the terminal's foreground,
    /// which this process is not of.
    fn start(&self, words: &[String]) -> Result<u32, String> {
        let words = match words {
            [] => vec![shell()],
            words => words.to_vec(),
        };
        let args: Vec<OsString> = words
            .iter()
            .map(|word| sys::odd_text::bytes(word).into_owned())
            .collect();
        let variables = self.environment.iter();
        let path = variables.clone().find(|(name, _)| name == "PATH");
        let path = path.map_or("/usr/bin:/bin", |(_, path)| path);
        let program = sys::process::find_program(&args[0], path);
        let program = program
            .filter(|program| program.is_file())
            .ok_or_else(|| format!("_fork_command: Unable to find command \"{}\"", words[0]))?;
        let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
        let spawn = Spawn {
            program: program.as_os_str(),
            args: &args,
            environment: self.environment,
            pid_variable: None,
            streams: [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()],
            terminal: false,
            cpus: &[],
            umask: sys::process::umask(),
            oom_score_adj: sys::process::oom_score_adj(),
            cgroups: &[],
            limits: &[],
            user: None,
            view: None,
        };
        let failed = |error| format!("_fork_command: {}: {error}", words[0]);
        spawn.start().map_err(failed)
    }
}

/// The user's own shell.
fn shell() -> String {
    let login = bare_login(None);
    let found = login.into_iter().find(|(name, _)| name == "SHELL");
    found.map_or_else(|| "/bin/sh".to_owned(), |(_, shell)| shell)
}

/// What Slurm says of an allocation that ended before its command.
fn revoked_text(job: JobId, outcome: &Outcome) -> String {
    match outcome {
        Outcome::Timeout { .. } => {
            format!("Job {job} has exceeded its time limit and its allocation has been revoked.")
        }
        _ => format!("Job allocation {job} has been revoked."),
    }
}

/// The exit code as `salloc` makes it: a command that was ended by a signal of its user's counts as
/// ended well (`salloc.c` of 22.05).
fn ended(status: Option<WaitStatus>, revoked: bool) -> Ended {
    let (code, status) = match status {
        Some(status) => match status.signal_number() {
            0 => (status.code(), status),
            SIGHUP | SIGINT | SIGQUIT | SIGKILL => (0, WaitStatus::default()),
            _ => (1, WaitStatus::exit(1)),
        },
        None => (1, WaitStatus::exit(1)),
    };
    Ended {
        code,
        status,
        revoked,
    }
}

/// This process's terminal, while its foreground is the command's.
struct Terminal {
    /// Whose it was.
    before: u32,
}

impl Terminal {
    /// Hands the terminal to the command's group; `None` where this process isn't in its foreground.
    fn hand_to(group: u32) -> Option<Terminal> {
        let before = sys::terminal::foreground(&io::stdin())?;
        if before != sys::process::group_of_this() {
            return None;
        }
        let terminal = Terminal { before };
        terminal.go_on(group);
        Some(terminal)
    }

    /// The command's group is in the foreground; it may have stopped as it read before it was.
    fn go_on(&self, group: u32) {
        let foreground = sys::terminal::foreground(&io::stdin());
        if foreground == Some(self.before) {
            let _ = sys::terminal::set_foreground(&io::stdin(), group);
        }
        let _ = sys::process::kill_group(group, SIGCONT);
    }

    /// The command was stopped: so is this process, for the shell that started it.
    fn stop(&self) {
        let _ = sys::terminal::set_foreground(&io::stdin(), self.before);
        let _ = sys::process::kill_group(self.before, SIGSTOP);
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = sys::terminal::set_foreground(&io::stdin(), self.before);
    }
}

fn wait_for(pid: u32, events: Sender<Event>) {
    thread::spawn(move || {
        let status = sys::process::wait(pid).map(WaitStatus);
        let _ended = events.send(Event::Command(status));
    });
}

/// The first of these nodes that is down.
fn lost_node(client: &mut Client, nodes: &[NodeName]) -> Option<NodeName> {
    let report = client.cluster().ok()?;
    let mut down = report.nodes.iter().filter(|node| node.state.is_down);
    let lost = down.find(|node| nodes.contains(&node.name));
    lost.map(|node| node.name.clone())
}

/// Says when the allocation has ended, and keeps the connection that it belongs to.
fn watch(job: JobId, mut client: Client, events: Sender<Event>) {
    thread::spawn(move || {
        let filter = JobFilter::of(&[job]);
        let mut after = 0;
        let mut had: Vec<NodeName> = Vec::new();
        loop {
            match client.watch(filter.clone(), after, PATIENCE) {
                Ok(watched) => {
                    after = watched.version;
                    for record in watched.jobs {
                        let held = match &record.state {
                            JobState::Running { allocation, .. } => Some(allocation),
                            JobState::Ended { ran, .. } => ran.as_ref().map(|ran| &ran.allocation),
                            JobState::Pending { .. } => None,
                        };
                        if let Some(held) = held {
                            let nodes: Vec<NodeName> =
                                held.nodes.iter().map(|share| share.node.clone()).collect();
                            had.retain(|node| !nodes.contains(node));
                            // What was given back is not lost.
                            let lost = Some(&had[..]).filter(|gone| !gone.is_empty());
                            if let Some(lost) = lost.and_then(|gone| lost_node(&mut client, gone)) {
                                let _ended = events.send(Event::NodeLost(lost));
                            }
                            had = nodes;
                        }
                        // As soon as its end is decided: its steps may take a while.
                        let outcome = match record.standing.state {
                            JobState::Ended { outcome, .. } => outcome,
                            JobState::Running {
                                ending: Some(model::Ending::End(outcome)),
                                ..
                            } => outcome,
                            ref state @ JobState::Running {
                                ending: Some(model::Ending::Preempted { .. }),
                                ..
                            } if state.is_ending() => model::Outcome::Preempted {
                                status: model::WaitStatus::default(),
                            },
                            JobState::Pending { .. } | JobState::Running { .. } => continue,
                        };
                        let lost = (outcome == Outcome::NodeFail)
                            .then(|| lost_node(&mut client, &had))
                            .flatten();
                        let _ended = events.send(Event::Revoked(outcome, lost));
                        return;
                    }
                }
                // No engine can be started: the allocation is told of when one can.
                Err(_) => thread::sleep(Duration::from_secs(1)),
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(status: WaitStatus, code: u8) {
        assert_eq!(ended(Some(status), false).code, code);
    }

    #[test]
    fn exit_codes_of_22_05() {
        check(WaitStatus::exit(0), 0);
        check(WaitStatus::exit(7), 7);
        check(WaitStatus::signal(9), 0);
        check(WaitStatus::signal(1), 0);
        check(WaitStatus::signal(15), 1);
    }
}
