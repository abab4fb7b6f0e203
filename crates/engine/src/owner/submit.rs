//! `submit`: a new job.

use super::Owner;
use super::turn::Turn;
use crate::message::Peer;
use crate::store::{NewSubmission, split_environment};
use api::{Answer, Refusal, StepPrograms, Submission, WouldStart, WouldWait};
use cluster_file::ClusterFile;
use model::{
    ComponentPlace, Dependency, JobId, JobState, NodeName, Request, Submitter, Timestamp,
    exclude_nodes_of_others,
};
use sched::{Event, Finished, Job};
use std::collections::HashSet;
use std::sync::Arc;

impl Owner {
    /// When a job of the caller would start, if it could at all: as Slurm's test, which counts neither jobs that wait
    /// nor limits of what runs, and beside that what it would wait for.
    pub(super) fn would_start(
        &mut self,
        request: &Request,
        peer: Peer,
        is_by_root: bool,
        now: Timestamp,
    ) -> Result<Answer, Refusal> {
        let mut request = request.clone();
        // It is asked about alone: no other job is touched by the question.
        request.rare.component = None;
        self.take_alternates(&mut request);
        self.charge(&mut request, peer);
        self.state.give_least_nodes(&mut request);
        let submitter = self.submitter(peer, sys::host_name(), None);
        self.admit(&request, &submitter, is_by_root)?;
        let dependency = dependency_of(request.rare.dependency.as_deref())?;
        let history = self.store.history(dependency.as_ref());
        let history = history.map_err(|error| store_refusal(&error))?;
        let id = JobId(self.state.next_id());
        let record = Job::submitted(id, request.clone(), Arc::new(submitter), now);
        let room = self.state.has_room_for(std::iter::once(&record));
        room.map_err(|refusal| never_fits(&refusal))?;
        let estimate = self.state.estimate(&request, peer.uid, now);
        let estimate = estimate.map_err(|refusal| never_fits(&refusal))?;
        let wait = self.state.wait_if_submitted(record, history, now);
        Ok(Answer::WouldStart(WouldStart {
            job: id,
            at: estimate.at,
            cpus: estimate.cpus,
            nodes: estimate.nodes,
            partition: estimate.partition,
            no_limit: estimate.no_limit,
            waits: wait.map(|wait| Box::new(would_wait(wait))),
        }))
    }

    /// A partition that takes no jobs gives way to another one, where that is said of it.
    fn take_alternates(&self, request: &mut Request) {
        let cluster = self.state.cluster();
        if let Some(names) = cluster.alternates(request.partition.as_deref()) {
            request.partition = Some(names);
        }
    }

    fn submitter(&self, peer: Peer, host: String, command: Option<String>) -> Submitter {
        Submitter {
            uid: peer.uid,
            gid: peer.gid,
            user: self.users.user(peer.uid),
            group: self.users.group(peer.gid),
            host,
            command,
        }
    }

    /// Refuses what the cluster does not take: by its file, then by what it has. Root may submit it for its user.
    fn admit(
        &mut self,
        request: &Request,
        who: &Submitter,
        is_by_root: bool,
    ) -> Result<(), Refusal> {
        let user = &who.user;
        if let Some(file) = &self.cluster.file {
            let all = resources::findings(file, request, Some(user));
            let is_final = |refusal: &resources::Finding| {
                refusal.fate == resources::Fate::Refused
                    && (!is_by_root || refusal.stands_for_root())
            };
            if let Some(refusal) = all.into_iter().find(is_final) {
                return Err(never_fits(&refusal));
            }
        }
        let says_size = |file: &Arc<ClusterFile>| file.limits.max_array_size.is_some();
        if !self.cluster.file.as_ref().is_some_and(says_size)
            && let Some(refusal) = resources::beyond_default_array(request)
        {
            return Err(never_fits(&refusal));
        }
        let entered = self.state.may_enter(request, who, is_by_root);
        entered.map_err(|refusal| never_fits(&refusal))?;
        let admitted = self.state.admit(request);
        admitted.map_err(|refusal| never_fits(&refusal))?;
        let reserved = self.state.may_be_reserved(request, user, &who.group);
        reserved.map_err(|refusal| never_fits(&refusal))
    }

    pub(super) fn submit(
        &mut self,
        mut submission: Submission,
        peer: Peer,
        turn: &mut Turn,
    ) -> Result<Answer, Refusal> {
        let ends_with_client = submission.ends_with_client();
        if let Some(job) = self.answered_before(&submission, peer, turn)? {
            if ends_with_client {
                self.own_allocation(job, peer.connection, turn);
            }
            return Ok(submitted(job));
        }
        let all = std::iter::once(&mut submission.request).chain(&mut submission.later);
        let mut all: Vec<&mut Request> = all.collect();
        exclude_nodes_of_others(&mut all);
        let is_named_twice = |request: &&mut Request| {
            let excluded: HashSet<&NodeName> = request.rare.exclude.iter().collect();
            let mut names = request.rare.nodelist.iter();
            names.any(|name| excluded.contains(name))
        };
        if all.len() > 1 && all.iter().any(is_named_twice) {
            return Err(Refusal::invalid("Invalid node name specified"));
        }
        for request in all {
            self.take_alternates(request);
            self.charge(request, peer);
            self.state.give_least_nodes(request);
        }
        let who = self.submitter(peer, submission.submit_host.clone(), None);
        let requests = || std::iter::once(&submission.request).chain(&submission.later);
        if requests().any(|request| request.rare.array.is_some()) && !submission.later.is_empty() {
            return Err(Refusal::invalid("Invalid job array specification"));
        }
        let mut histories: Vec<Vec<Finished>> = Vec::new();
        for request in requests() {
            self.admit(request, &who, submission.as_user.is_some())?;
            let dependency = dependency_of(request.rare.dependency.as_deref())?;
            let history = self.store.history(dependency.as_ref());
            histories.push(history.map_err(|error| store_refusal(&error))?);
        }
        let elements = submission.request.rare.array.as_ref();
        if elements.is_some_and(|spec| spec.indices.is_empty()) {
            return Err(Refusal::invalid("Invalid job array specification"));
        }
        if elements.is_some() && submission.script.is_none() {
            return Err(Refusal::invalid("a job array needs a batch script"));
        }
        let step = submission.step.take().map(|mut step| {
            step.launch.environment.clone_from(&submission.environment);
            step
        });
        let rows = self.rows(submission, peer, turn.now)?;
        let room = self.state.has_room_for(rows.iter().map(|(job, _)| job));
        room.map_err(|refusal| never_fits(&refusal))?;
        let id = JobId(self.state.next_id());
        for ((record, new), history) in rows.into_iter().zip(histories) {
            if ends_with_client && new.job == id {
                self.own_allocation(id, peer.connection, turn);
            }
            self.state.apply(Event::Submitted {
                record: Box::new(record),
                array: None,
                history,
                at: turn.now,
            });
            turn.submissions.push(new);
        }
        turn.first_steps.extend(step.map(|step| (id, step, peer)));
        turn.durable = true;
        Ok(submitted(id))
    }

    /// A submission's rows: one, or one for each component of a heterogeneous job. Their ids are the
    /// next ones, which submitting them takes.
    fn rows(
        &mut self,
        submission: Submission,
        peer: Peer,
        now: Timestamp,
    ) -> Result<Vec<(Job, NewSubmission)>, Refusal> {
        let Submission {
            token,
            request,
            later,
            script,
            args,
            command,
            environment,
            umask,
            submit_host,
            // Whose job it is, the connection knows.
            as_user: _,
            step: _,
        } = submission;
        let [shared, own] = split_environment(environment);
        let environment = text_of("environment", &shared)?;
        let own_environment = text_of("environment", &own)?;
        let submitter = self.submitter(peer, submit_host, command);
        let submitter = self.parts.submitter(submitter);
        let leader = JobId(self.state.next_id());
        let size = u32::try_from(later.len() + 1).unwrap_or(u32::MAX);
        let requests = std::iter::once(request).chain(later);
        let row = |(offset, mut request): (u32, Request)| {
            let id = JobId(leader.0.saturating_add(offset));
            if size > 1 {
                let place = ComponentPlace {
                    leader,
                    offset,
                    size,
                    batch: script.is_some(),
                };
                request.rare.component = Some(place);
            }
            if let Some(dependency) = dependency_of(request.rare.dependency.as_deref())? {
                let named = self.state.naming_arrays(dependency);
                request.rare.dependency = Some(named.to_string());
            }
            let asked = text_of("request", &request)?;
            if request.partition.is_none() {
                let nodes = self.state.cluster();
                let partition = nodes.default_partition();
                let partition = partition.map(|partition| nodes.partition(partition));
                request.partition = partition.map(|partition| partition.name.clone());
            }
            // The script is the first one's, and the others last as long as it does.
            let script = script.clone().filter(|_| offset == 0);
            let mut record = Job {
                batch: script.is_some(),
                ..Job::submitted(id, request, Arc::clone(&submitter), now)
            };
            if record.array.is_none() {
                let own = || Ok(record.request.as_ref().clone());
                let partition = record.request.partition.as_deref();
                (record.request, _) = self.parts.request(&asked, partition, own)?;
            }
            let new = NewSubmission {
                job: id,
                token: match offset {
                    0 => token.clone(),
                    offset => format!("{token}+{offset}"),
                },
                submitter: Arc::clone(&submitter),
                umask,
                arguments: args.clone(),
                request: asked,
                script,
                environment: environment.clone(),
                own_environment: own_environment.clone(),
            };
            Ok((record, new))
        };
        (0..).zip(requests).map(row).collect()
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
            Some(new) => Some((new.job, new.submitter.uid)),
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
}

/// What a job is to wait for. As in Slurm a job that there isn't, any more or yet, keeps it up no more
/// than one that was forgotten.
pub(super) fn dependency_of(text: Option<&str>) -> Result<Option<Dependency>, Refusal> {
    let Some(text) = text else {
        return Ok(None);
    };
    match Dependency::parse(text) {
        Some(dependency) => Ok(Some(dependency)),
        None => Err(Refusal::Invalid {
            message: "Job dependency problem".to_owned(),
        }),
    }
}

fn would_wait(wait: sched::WouldWait) -> WouldWait {
    let sched::WouldWait {
        reason,
        start,
        limit,
    } = wait;
    WouldWait {
        reason: model::reason_text(&JobState::Pending { reason }).into_owned(),
        start,
        limit,
    }
}

/// How an allocation stands is said once the turn is written.
fn submitted(job: JobId) -> Answer {
    Answer::Submitted {
        job,
        now: None,
        programs: StepPrograms::default(),
        step: None,
    }
}

fn never_fits(refusal: &resources::Finding) -> Refusal {
    Refusal::NeverFits(Box::new(refusal.answer()))
}

fn text_of(what: &str, value: &impl serde::Serialize) -> Result<String, Refusal> {
    serde_json::to_string(value).map_err(|error| Refusal::Invalid {
        message: format!("{what}: {error}"),
    })
}

pub(super) fn store_refusal(error: &crate::store::StoreError) -> Refusal {
    Refusal::Store {
        message: error.to_string(),
    }
}
