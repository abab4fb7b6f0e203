//! Mail about jobs that asked for it with `--mail-type`.
//!
//! One thread sends, one mail after the other: each through `yard job mail`, as the job's owner, whose
//! config names the mail server. Nothing waits for it.

use super::Owner;
use super::turn::Turn;
use crate::job_record::record_of;
use api::JobMail;
use model::{JobState, JobStateName, MailEvent, Outcome, StepId};
use sched::Job;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;
use sys::env_vars::{TRAINYARD_HOME, XDG_CONFIG_HOME, XDG_STATE_HOME};
use sys::run_bounded;

/// How long one mail may take.
const LIMIT: Duration = Duration::from_secs(15);

/// What is to be sent.
#[derive(Debug, Default)]
pub(crate) struct MailQueue {
    /// To the thread that sends; none before the first mail.
    sender: Option<Sender<JobMail>>,
}

impl MailQueue {
    fn send(&mut self, binary: &Path, mail: JobMail) {
        let binary = binary.to_owned();
        let sender = self.sender.get_or_insert_with(|| {
            let (sender, mails) = channel();
            std::thread::spawn(move || {
                for mail in mails {
                    deliver(&binary, &mail);
                }
            });
            sender
        });
        // The thread lives as long as this sender.
        let _ = sender.send(mail);
    }
}

impl Owner {
    /// Sends what a turn that was written is worth.
    pub(super) fn send_mail(&mut self, turn: &Turn, ended: &[Job]) {
        let mut mails: Vec<(MailEvent, Job)> = Vec::new();
        for spec in turn
            .launches
            .iter()
            .filter(|spec| spec.step == StepId::Batch)
        {
            let record = self
                .state
                .job(spec.job)
                .filter(|job| wants(job, MailEvent::Begin));
            mails.extend(record.map(|job| (MailEvent::Begin, job.clone())));
        }
        for start in &turn.ended_starts {
            if start.state == JobStateName::Requeued {
                let record = self.state.job(start.job);
                let record = record.filter(|job| wants(job, MailEvent::Requeue));
                mails.extend(record.map(|job| (MailEvent::Requeue, job.clone())));
            }
        }
        for job in ended {
            mails.extend(about_end(job).map(|about| (about, job.clone())));
        }
        for (about, job) in mails {
            let cluster = self.folder.name();
            let mail = JobMail {
                about,
                job: record_of(&job, None),
                cluster,
            };
            self.mail.send(&self.binary, mail);
        }
    }
}

/// What the mail about an end is about, where one is wanted: one mail, whichever words ask for it.
fn about_end(job: &Job) -> Option<MailEvent> {
    let JobState::Ended { outcome, .. } = &job.state else {
        return None;
    };
    let words: &[MailEvent] = match outcome {
        Outcome::Completed | Outcome::Cancelled { .. } => &[MailEvent::End],
        Outcome::Timeout { .. } => &[MailEvent::TimeLimit, MailEvent::Fail, MailEvent::End],
        Outcome::Failed { .. }
        | Outcome::Preempted { .. }
        | Outcome::NodeFail
        | Outcome::ScriptLost
        | Outcome::OutOfMemory
        | Outcome::Deadline
        | Outcome::LaunchFailed { .. } => &[MailEvent::Fail, MailEvent::End],
    };
    words.iter().copied().find(|word| wants(job, *word))
}

/// Of an array mail is sent about single elements, where that is asked for.
fn wants(job: &Job, about: MailEvent) -> bool {
    let types = &job.request.rare.mail_types;
    types.contains(&about) && (job.array.is_none() || types.contains(&MailEvent::ArrayTasks))
}

fn deliver(binary: &PathBuf, mail: &JobMail) {
    let Ok(text) = serde_json::to_vec(mail) else {
        return;
    };
    let mut command = Command::new(binary);
    command
        .args(["job", "mail"])
        .current_dir("/")
        .stdout(Stdio::null());
    let (uid, gid) = (mail.job.submitter.uid, mail.job.submitter.gid);
    if uid != sys::process::user() {
        let Ok(Some(owner)) = sys::users::user_by_id(uid) else {
            tracing::warn!(
                "mail about job {}: its owner {uid} is not known",
                mail.job.id
            );
            return;
        };
        command
            .uid(uid)
            .gid(gid)
            .env("HOME", owner.home)
            .env("USER", owner.name);
        for own in [TRAINYARD_HOME, XDG_CONFIG_HOME, XDG_STATE_HOME] {
            command.env_remove(own);
        }
    }
    match run_bounded(&mut command, text, LIMIT) {
        Ok(ended) if ended.code == 0 => {}
        Ok(ended) => tracing::warn!("mail about job {}: {}", mail.job.id, ended.output.trim()),
        Err(error) => tracing::warn!("mail about job {}: {error}", mail.job.id),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use MailEvent::{ArrayTasks, Begin, End, Fail, TimeLimit};
    use model::{ArrayPlace, ArrayTask, JobId, Request, Timestamp, WaitStatus};
    use std::sync::Arc;

    fn job(types: &[MailEvent], outcome: Outcome) -> Job {
        let mut request = Request::default();
        request.rare.mail_types = types.to_vec();
        let mut job = Job::submitted(JobId(1), request, Arc::default(), Timestamp(0));
        let at = Timestamp(1);
        job.state = JobState::Ended {
            outcome,
            at,
            ran: None,
        };
        job
    }

    #[test]
    fn one_mail_about_each_end_that_is_asked_for() {
        let failed = || Outcome::Failed {
            status: WaitStatus::exit(3),
        };
        let timeout = || Outcome::Timeout {
            status: WaitStatus(15),
        };
        let about = |types: &[MailEvent], outcome| about_end(&job(types, outcome));
        assert_eq!(about(&[End, Fail], failed()), Some(Fail));
        assert_eq!(about(&[End], failed()), Some(End));
        assert_eq!(about(&[Fail], Outcome::Completed), None);
        assert_eq!(about(&[TimeLimit, End], timeout()), Some(TimeLimit));
        assert_eq!(about(&[Begin], timeout()), None);
    }

    #[test]
    fn of_an_array_only_where_its_elements_are_asked_for() {
        let mut element = job(&[End], Outcome::Completed);
        element.array = Some(Box::new(ArrayPlace {
            array_job: JobId(1),
            task: ArrayTask::One(3),
            throttle: None,
        }));
        assert_eq!(about_end(&element), None);
        let mut each = job(&[End, ArrayTasks], Outcome::Completed);
        each.array = element.array;
        assert_eq!(about_end(&each), Some(End));
    }
}
