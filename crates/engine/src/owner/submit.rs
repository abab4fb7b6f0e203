//! `submit`: a new job.

use super::Owner;
use super::turn::Turn;
use crate::message::Peer;
use crate::store::NewSubmission;
use api::{Answer, Refusal, Submission, WouldStart};
use model::{Dependency, JobId, JobRecord, Request, Timestamp};
use resources::Denial;
use sched::{Event, priority_of};

impl Owner {
    /// When a job of the caller would start, if it could at all.
    pub(super) fn would_start(
        &mut self,
        request: &Request,
        peer: Peer,
        now: Timestamp,
    ) -> Result<Answer, Refusal> {
        self.admit(request, peer)?;
        let estimate = self.state.estimate(request, peer.uid, now);
        let estimate = estimate.map_err(|refusal| never_fits(*refusal))?;
        Ok(Answer::WouldStart(WouldStart {
            job: JobId(self.state.next_id()),
            at: estimate.at,
            cpus: estimate.cpus,
            nodes: estimate.nodes,
            partition: estimate.partition,
        }))
    }

    /// Refuses what the cluster does not take: by its file, then by what it has.
    fn admit(&mut self, request: &Request, peer: Peer) -> Result<(), Refusal> {
        if let Some(file) = &self.cluster.file {
            let user = self.users.user(peer.uid);
            let all = resources::findings(file, request, Some(&user));
            let is_final = |refusal: &resources::Finding| refusal.fate == resources::Fate::Refused;
            if let Some(refusal) = all.into_iter().find(is_final) {
                return Err(never_fits(refusal));
            }
        }
        let admitted = self.state.admit(request);
        admitted.map_err(|refusal| never_fits(*refusal))?;
        let user = self.users.user(peer.uid);
        let reserved = self.state.may_be_reserved(request, &user);
        reserved.map_err(|refusal| never_fits(*refusal))
    }

    pub(super) fn submit(
        &mut self,
        mut submission: Submission,
        peer: Peer,
        turn: &mut Turn,
    ) -> Result<Answer, Refusal> {
        if let Some(job) = self.answered_before(&submission, peer, turn)? {
            if submission.ends_with_client() {
                self.own_allocation(job, peer.connection);
            }
            return Ok(Answer::Submitted { job });
        }
        self.charge(&mut submission.request, peer);
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
        self.admit(&request, peer)?;
        self.check_dependency(request.rare.dependency.as_deref())?;
        let history = self.store.history(request.rare.dependency.as_deref());
        let history = history.map_err(|error| store_refusal(&error))?;
        let invalid = |message: &str| Refusal::Invalid {
            message: message.to_owned(),
        };
        let elements = request.rare.array.as_ref();
        if elements.is_some_and(|spec| spec.indices.is_empty()) {
            return Err(invalid("Invalid job array specification"));
        }
        if elements.is_some() && script.is_none() {
            return Err(invalid("a job array needs a batch script"));
        }
        if request.partition.is_none() {
            let nodes = self.state.cluster();
            let partition = nodes.default_partition();
            request.partition = partition.map(|partition| nodes.partition(partition).name.clone());
        }
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
        let priority = if request.hold || request.rare.priority == Some(0) {
            0
        } else {
            priority_of(&request)
        };
        let record = JobRecord {
            uid: peer.uid,
            gid: peer.gid,
            user: submission.user.clone(),
            group: submission.group.clone(),
            priority,
            batch: submission.script.is_some(),
            command: submission.command.clone(),
            submit_host: submission.submit_host.clone(),
            ..JobRecord::submitted(id, request, turn.now)
        };
        if let Some(limit) = self.state.over_submit_limit(&record) {
            return Err(never_fits(resources::Finding::by_engine(
                Denial::Policy,
                "one more job",
                format!("{} has as many as allowed ({limit})", record.user),
                "submit it when others have ended",
            )));
        }
        if ends_with_client {
            self.own_allocation(id, peer.connection);
        }
        self.state.apply(Event::Submitted {
            record: Box::new(record),
            array: None,
            history,
            at: turn.now,
        });
        turn.submissions.push(submission);
        turn.durable = true;
        Ok(Answer::Submitted { job: id })
    }

    /// The account and the QOS of a job that names none: its user's own, where there are any.
    fn charge(&self, request: &mut Request, peer: Peer) {
        let Some(rules) = self.cluster.rules() else {
            return;
        };
        let charged = resources::charged(rules, request, &self.users.user(peer.uid));
        (request.account, request.qos) = charged;
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

    pub(super) fn check_dependency(&self, dependency: Option<&str>) -> Result<(), Refusal> {
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

fn never_fits(refusal: resources::Finding) -> Refusal {
    Refusal::NeverFits {
        words: refusal.denial.words().to_owned(),
        detail: refusal.detail_line().map(String::into_boxed_str),
        asked: refusal.asked(),
        there: refusal.there(),
        todo: refusal.todo(),
    }
}

pub(super) fn store_refusal(error: &crate::store::StoreError) -> Refusal {
    Refusal::Store {
        message: error.to_string(),
    }
}
