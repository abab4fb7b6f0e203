//! A sealed engine folder and a client of its engine.

use api::{CancelRequest, Client, JobFilter, Selector, Submission};
use model::{
    JobChange, JobId, JobRecord, JobState, LimitChange, Outcome, Request, Seconds,
    TimeLimitRequest, Timestamp,
};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Longest wait for anything; reached only where something is broken.
const LONGEST: Duration = Duration::from_secs(60);

/// An engine folder that is gone, with its engine, when this is dropped.
pub struct House {
    folder: tempfile::TempDir,
}

/// This program, which becomes an engine.
pub fn program() -> PathBuf {
    std::env::current_exe().unwrap()
}

impl House {
    pub fn new() -> House {
        House {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    /// The engine's folder.
    pub fn dir(&self) -> PathBuf {
        self.folder.path().join("main")
    }

    /// A folder for jobs to write to.
    pub fn work(&self) -> PathBuf {
        let work = self.folder.path().join("work");
        std::fs::create_dir_all(&work).unwrap();
        work
    }

    pub fn client(&self) -> Client {
        Client::connect_with(&self.dir(), &program()).unwrap()
    }

    /// A submission of a script that runs in the work folder.
    pub fn script(&self, body: &str) -> Submission {
        let path = std::env::var("PATH").unwrap();
        Submission {
            token: format!("{:?}-{}", Instant::now(), body.len()),
            request: Request {
                name: "test".to_owned(),
                chdir: self.work(),
                ..Request::default()
            },
            later: Vec::new(),
            script: Some(format!("#!/bin/sh\n{body}\n")),
            args: Vec::new(),
            command: None,
            environment: vec![("PATH".to_owned(), path)],
            umask: 0o022,
            submit_host: "here".to_owned(),
            as_user: None,
            step: None,
        }
    }

    pub fn submit(&self, client: &mut Client, body: &str) -> JobId {
        client.submit(self.script(body)).unwrap()
    }

    /// The text of a file in the work folder; empty where there is none.
    pub fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.work().join(name)).unwrap_or_default()
    }

    /// The record of a job's batch step.
    pub fn record(&self, job: JobId) -> PathBuf {
        self.record_of(&format!("{job}.0.batch.0"))
    }

    /// The record whose name begins so, once it is there.
    pub fn record_of(&self, start: &str) -> PathBuf {
        let is_it = |path: &PathBuf| {
            let name = path.file_name().unwrap().to_str().unwrap();
            name.starts_with(start) && !name.ends_with(".sock")
        };
        let mut found = None;
        until("it has a record", || {
            let steps = std::fs::read_dir(self.dir().join("steps"));
            let mut paths = steps
                .into_iter()
                .flatten()
                .map(|entry| entry.unwrap().path());
            found = paths.find(is_it);
            found.is_some()
        });
        found.unwrap()
    }

    /// Kills the fork server first, while the engine can do nothing about it: then no process is left
    /// that starts an engine at once.
    pub fn kill_engine_and_fork_server(&self, client: &Client) {
        let pid = client.engine().unwrap().pid;
        let children = sys::process::children(pid);
        sys::process::signal(pid, 19).unwrap();
        for child in children {
            sys::process::signal(child, 9).unwrap();
        }
        self.kill_engine(client);
    }

    pub fn kill_engine(&self, client: &Client) {
        let pid = client.engine().unwrap().pid;
        sys::process::signal(pid, 9).unwrap();
        until("the engine is dead", || {
            sys::process::start_time(pid).is_none()
        });
    }
}

impl Drop for House {
    fn drop(&mut self) {
        if let Ok(Some(mut client)) = Client::connect_running(&self.dir()) {
            let _ = client.cancel(CancelRequest {
                selector: Selector::Matching {
                    uid: None,
                    name: None,
                    state: None,
                    partition: None,
                    account: None,
                    qos: None,
                },
                signal: Some(9),
                batch: false,
                full: true,
            });
            until("all jobs are gone", || {
                client
                    .jobs(JobFilter::default())
                    .is_ok_and(|jobs| jobs.is_empty())
            });
            let _ = client.stop();
        }
    }
}

/// Waits until something is so. In a test that has failed it gives up without a word: a second panic, while
/// its house is removed, would end all tests.
#[track_caller]
pub fn until(what: &str, mut so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !so() {
        if begun.elapsed() >= LONGEST {
            assert!(std::thread::panicking(), "waited in vain until {what}");
            return;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// All rows of jobs, ended ones too.
pub fn all(client: &mut Client) -> Vec<JobRecord> {
    let filter = JobFilter {
        ended_since: Some(Timestamp(0)),
        ..JobFilter::default()
    };
    client.jobs(filter).unwrap()
}

pub fn row(client: &mut Client, job: JobId) -> JobRecord {
    let filter = JobFilter {
        ids: Some(vec![job]),
        ended_since: Some(Timestamp(0)),
        ..JobFilter::default()
    };
    let rows = client.jobs(filter).unwrap();
    rows.into_iter().find(|row| row.id == job).unwrap()
}

/// Waits for the end of a job by watching it.
#[track_caller]
pub fn ended(client: &mut Client, job: JobId) -> (Outcome, JobRecord) {
    let filter = JobFilter {
        ids: Some(vec![job]),
        ..JobFilter::default()
    };
    let mut after = 0;
    let begun = Instant::now();
    loop {
        let watched = client
            .watch(filter.clone(), after, Duration::from_secs(5))
            .unwrap();
        after = watched.version;
        for row in watched.jobs {
            if row.id == job
                && let JobState::Ended { outcome, .. } = &row.state
            {
                return (outcome.clone(), row);
            }
        }
        assert!(begun.elapsed() < LONGEST, "job {job} did not end");
    }
}

#[track_caller]
pub fn running(client: &mut Client, job: JobId) {
    until("the job runs", || {
        matches!(row(client, job).state, JobState::Running { .. })
    });
}

/// Gives a job another limit.
#[track_caller]
pub fn limit(client: &mut Client, job: JobId, seconds: u64) {
    let limit = TimeLimitRequest::Limit(Seconds(seconds));
    let change = JobChange::TimeLimit(LimitChange::To(limit));
    client.update(job, vec![change]).unwrap();
}

/// Whether a file is there.
pub fn is_there(folder: &Path, name: &str) -> bool {
    folder.join(name).exists()
}
