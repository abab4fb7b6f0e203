//! The actor that stages: it has the node's data brought by a process of its own (`yard job stage`), which
//! can be ended at any moment, and passes on what that says.

use super::outbox::Outbox;
use crate::exit_code;
use crate::protocol::Report;
use folder::{Event, RunFolder};
use signal_hook::consts::{SIGKILL, SIGTERM};
use std::io::{self, BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};
use sys::process::kill_group;

/// A process that was ended by SIGTERM waits so long for the agent's own.
const OWN_SIGNAL: Duration = Duration::from_secs(1);

/// What the actor waits for.
#[derive(Debug)]
pub(super) enum StagingMessage {
    /// Stage.
    Start,
    /// Leave it.
    Abort,
    /// A line of the process.
    Line(String),
    /// The process prints no more.
    Closed,
}

/// The actor's memory: it is one staging a start of a job.
pub(super) struct Staging {
    /// The run.
    pub run: RunFolder,
    /// What its process prints besides.
    pub log: PathBuf,
    /// Its own inbox.
    pub inbox: Sender<StagingMessage>,
    /// Whether SIGTERM came: to all of the job's processes, as Slurm sends it.
    pub terminated: Arc<AtomicBool>,
    /// The process, which leads a group.
    pub process: Option<Child>,
    /// Why it could not stage, by its own words.
    pub failure: Option<String>,
}

impl Staging {
    /// Works until no message can come any more.
    pub fn work_on(&mut self, messages: &Receiver<StagingMessage>, outbox: &Outbox) {
        for message in messages {
            match message {
                StagingMessage::Start => {
                    let yard = std::env::current_exe();
                    if let Err(error) = yard.and_then(|yard| self.start(&yard)) {
                        let why = format!("yard job stage can't be started: {error}");
                        outbox.say(Report::NotStaged { why });
                    }
                }
                StagingMessage::Abort => {
                    if let Some(process) = self.process.take() {
                        end(process);
                    }
                }
                StagingMessage::Line(line) => match serde_json::from_str(&line) {
                    Ok(Event::Failed { cause, .. }) => {
                        self.failure.get_or_insert(cause);
                    }
                    Ok(event) => outbox.record(event),
                    // What a library prints there is not ours.
                    Err(_) => {}
                },
                StagingMessage::Closed => {
                    let status = self.process.take().map(|mut process| process.wait());
                    if let Some(report) = status.and_then(|status| self.report(status)) {
                        outbox.say(report);
                    }
                }
            }
        }
    }

    fn start(&mut self, yard: &Path) -> io::Result<()> {
        let mut process = Command::new(yard)
            .args(["job", "stage"])
            .arg(self.run.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let output = process.stdout.take();
        let output = output.ok_or_else(|| io::Error::other("it has no output"))?;
        let inbox = self.inbox.clone();
        std::thread::spawn(move || pass_on(output, &inbox));
        self.process = Some(process);
        Ok(())
    }

    /// What the end of the process means; `None` where it was ended with the job, which others say.
    fn report(&mut self, ended: io::Result<ExitStatus>) -> Option<Report> {
        let status = match ended {
            Ok(status) if status.success() => return Some(Report::Staged),
            Ok(status) => status,
            Err(error) => {
                let why = error.to_string();
                return Some(Report::NotStaged { why });
            }
        };
        if exit_code::signal(status) == Some(SIGTERM) && self.is_terminated() {
            return None;
        }
        let why = self.failure.take().unwrap_or_else(|| {
            let code = exit_code::of(status);
            format!(
                "it ended with {code}; see what it printed in {:?}",
                self.log
            )
        });
        Some(Report::NotStaged { why })
    }

    fn is_terminated(&self) -> bool {
        let begun = Instant::now();
        while !self.terminated.load(Ordering::Relaxed) && begun.elapsed() < OWN_SIGNAL {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.terminated.load(Ordering::Relaxed)
    }
}

fn pass_on(output: ChildStdout, inbox: &Sender<StagingMessage>) {
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        if inbox.send(StagingMessage::Line(line)).is_err() {
            return;
        }
    }
    let _ = inbox.send(StagingMessage::Closed);
}

/// Ends it, with the unpackers that it started.
fn end(mut process: Child) {
    let _ = kill_group(process.id(), SIGKILL);
    let _ = process.wait();
}

#[cfg(test)]
mod tests {
    use super::super::outbox::Message;
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::sync::mpsc::channel;
    use testkit::wait_until;

    /// A staging whose program is this script, and what it reports until `is_enough` of it.
    fn staged(script: &str, abort: bool, count: usize) -> Vec<Report> {
        let folder = tempfile::tempdir().unwrap();
        let yard = folder.path().join("yard");
        fs::write(&yard, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&yard, fs::Permissions::from_mode(0o755)).unwrap();
        let (inbox, messages) = channel();
        let (outbox, reports) = Outbox::new();
        let mut staging = Staging {
            run: RunFolder::at(folder.path()),
            log: folder.path().join("log"),
            inbox: inbox.clone(),
            terminated: Arc::default(),
            process: None,
            failure: None,
        };
        staging.start(&yard).unwrap();
        let group = staging.process.as_ref().unwrap().id();
        std::thread::spawn(move || staging.work_on(&messages, &outbox));
        if abort {
            inbox.send(StagingMessage::Abort).unwrap();
            wait_until("all of its group is gone", || kill_group(group, 0).is_err());
        }
        let said = reports.iter().take(count).map(|message| match message {
            Message::Say(report) => report,
            other => panic!("{other:?}"),
        });
        said.collect()
    }

    #[test]
    fn what_the_process_says_is_passed_on() {
        let event = Event::Staged {
            node: None,
            bytes: 5,
            took_ms: 1,
        };
        let line = serde_json::to_string(&event).unwrap();
        assert_eq!(
            staged(&format!("echo '{line}'; echo odd"), false, 2),
            [Report::Record { event }, Report::Staged]
        );
        let failed = Event::Failed {
            cause: "no.tar is not there".to_owned(),
            status: None,
        };
        let line = serde_json::to_string(&failed).unwrap();
        let why = "no.tar is not there".to_owned();
        assert_eq!(
            staged(&format!("echo '{line}'; exit 1"), false, 1),
            [Report::NotStaged { why }]
        );
        let [Report::NotStaged { why }] = &staged("exit 7", false, 1)[..] else {
            panic!("one report");
        };
        assert!(why.starts_with("it ended with 7"), "{why}");
    }

    #[test]
    fn one_that_is_aborted_ends_with_what_it_started_and_says_nothing() {
        assert_eq!(staged("sleep 1000 & sleep 1000", true, 0), []);
    }
}
