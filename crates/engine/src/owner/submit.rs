//! `submit`: a new job.

use super::Owner;
use super::turn::Turn;
use crate::message::Peer;
use crate::store::NewSubmission;
use api::{Answer, Refusal, Submission, WouldStart};
use model::{
    ArrayPlace, ArrayTask, Dependency, JobId, JobRecord, JobState, PendingReason, Request,
    Timestamp,
};
use sched::{Event, NeverFits, priority_of};

/// The only partition.
pub(super) const PARTITION: &str = "local";

impl Owner {
    /// When a job would start, if it could at all.
    pub(super) fn would_start(&self, request: &Request, now: Timestamp) -> Result<Answer, Refusal> {
        let estimate = self.state.estimate(request, now).map_err(never_fits)?;
        let allocation = estimate.allocation;
        Ok(Answer::WouldStart(WouldStart {
            job: JobId(self.state.next_id()),
            at: estimate.at,
            cpus: u32::try_from(allocation.cpus()).unwrap_or(u32::MAX),
            nodes: allocation
                .nodes
                .into_iter()
                .map(|share| share.node)
                .collect(),
            partition: PARTITION.to_owned(),
        }))
    }

    pub(super) fn submit(
        &mut self,
        submission: Submission,
        peer: Peer,
        turn: &mut Turn,
    ) -> Result<Answer, Refusal> {
        if let Some(job) = self.answered_before(&submission, peer, turn)? {
            if submission.ends_with_client() {
                self.own_allocation(job, peer.connection);
            }
            return Ok(Answer::Submitted { job });
        }
        let asked = serde_json::to_string(&submission.request);
        let asked = asked.map_err(|error| Refusal::Invalid {
            message: format!("request: {error}"),
        })?;
        let ends_with_client = submission.ends_with_client();
        let Submission {
            token,
            mut request,
            script,
            args,
            command,
            environment,
            umask,
            submit_host,
        } = submission;
        self.state.admit(&request).map_err(never_fits)?;
        self.check_dependency(request.dependency.as_deref())?;
        let history = self.store.history(request.dependency.as_deref());
        let history = history.map_err(|error| store_refusal(&error))?;
        let invalid = |message: &str| Refusal::Invalid {
            message: message.to_owned(),
        };
        let elements = request.array.clone();
        if elements
            .as_ref()
            .is_some_and(|spec| spec.indices.is_empty())
        {
            return Err(invalid("Invalid job array specification"));
        }
        if elements.is_some() && script.is_none() {
            return Err(invalid("a job array needs a batch script"));
        }
        request.partition = Some(PARTITION.to_owned());

        let id = self.state.new_id();
        let environment =
            serde_json::to_string(&environment).map_err(|error| Refusal::Invalid {
                message: format!("environment: {error}"),
            })?;
        let submission = NewSubmission {
            job: id,
            token,
            uid: peer.uid,
            gid: peer.gid,
            user: self.users.user(peer.uid),
            group: self.users.group(peer.gid),
            umask,
            arguments: args,
            command,
            submit_host,
            request: asked,
            script,
            environment,
        };
        let priority = if request.hold || request.priority == Some(0) {
            0
        } else {
            priority_of(&request)
        };
        let record = JobRecord {
            id,
            array: elements.map(|spec| ArrayPlace {
                array_job: id,
                task: ArrayTask::Waiting(spec),
            }),
            uid: peer.uid,
            gid: peer.gid,
            user: submission.user.clone(),
            group: submission.group.clone(),
            state: JobState::Pending {
                reason: PendingReason::None,
            },
            submitted: turn.now,
            eligible: None,
            priority,
            restarts: 0,
            batch: submission.script.is_some(),
            command: submission.command.clone(),
            submit_host: submission.submit_host.clone(),
            version: 0,
            request,
        };
        if ends_with_client {
            self.own_allocation(id, peer.connection);
        }
        self.state.apply(Event::Submitted {
            record: Box::new(record),
            history,
            at: turn.now,
        });
        turn.submissions.push(submission);
        turn.durable = true;
        Ok(Answer::Submitted { job: id })
    }

    /// The job that this token was answered with before.
    fn answered_before(
        &self,
        submission: &Submission,
        peer: Peer,
        turn: &Turn,
    ) -> Result<Option<JobId>, Refusal> {
        let mut new = turn.submissions.iter();
        let known = match new.find(|new| new.token == submission.token) {
            Some(new) => Some((new.job, new.uid)),
            None => self
                .store
                .by_token(&submission.token)
                .map_err(|error| store_refusal(&error))?,
        };
        match known {
            Some((job, uid)) if uid == peer.uid => Ok(Some(job)),
            Some(_) => Err(Refusal::Invalid {
                message: "this token was used by another user".to_owned(),
            }),
            None => Ok(None),
        }
    }

    fn check_dependency(&self, dependency: Option<&str>) -> Result<(), Refusal> {
        let Some(text) = dependency else {
            return Ok(());
        };
        let dependency = Dependency::parse(text).ok_or_else(|| Refusal::Invalid {
            message: format!("Job dependency problem: {text} names no jobs in Slurm's way"),
        })?;
        for target in dependency.targets() {
            if target.0 >= self.state.next_id() {
                return Err(Refusal::Invalid {
                    message: format!("Job dependency problem: there is no job {target}"),
                });
            }
        }
        Ok(())
    }
}

pub(super) fn never_fits(refusal: NeverFits) -> Refusal {
    let NeverFits { asked, there, todo } = refusal;
    Refusal::NeverFits { asked, there, todo }
}

pub(super) fn store_refusal(error: &crate::store::StoreError) -> Refusal {
    Refusal::Store {
        message: error.to_string(),
    }
}
