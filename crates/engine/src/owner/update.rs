//! `update`: a job that waits or runs is changed.

use super::turn::Turn;
use super::{Owner, rights};
use crate::message::Peer;
use crate::spec::{Because, SupervisorCall};
use api::{Answer, Refusal};
use model::{
    JobChange, JobId, JobState, LimitChange, Request, Seconds, TimeLimitRequest, Timestamp,
};
use sched::{Event, Job, JobUpdate};
use std::sync::Arc;

impl Owner {
    /// Changes a job, or all rows of an array: all that is asked, or nothing.
    pub(super) fn update(
        &mut self,
        job: JobId,
        changes: &[JobChange],
        peer: Peer,
        turn: &mut Turn,
    ) -> Result<Answer, Refusal> {
        match self.owned(job, peer) {
            Err(Refusal::AlreadyEnded { .. }) => {
                return Err(invalid("Job has already finished"));
            }
            owned => owned?,
        }
        let is_operator = rights::is_operator(peer.uid, sys::process::user());
        let mut updates = Vec::new();
        for id in self.jobs_of_id(job) {
            let record = self.state.job(id).ok_or(Refusal::NoSuchJob { job })?;
            let update = self.updated(record, changes, is_operator)?;
            let dependency = update.dependency.as_ref().and_then(Option::as_ref);
            let history = self.store.history(dependency);
            let history = history.map_err(|error| super::submit::store_refusal(&error))?;
            updates.push((id, update, history));
        }
        // Nothing is refused from here on: all rows change, or none did.
        for (job, update, history) in updates {
            let hold = update.hold;
            let limit = update.limit;
            self.state.apply(Event::Updated {
                job,
                update: Box::new(update),
                history,
                at: turn.now,
            });
            if hold {
                let at = turn.now;
                self.state.apply(Event::Held { job, hold, at });
            }
            if let Some(limit) = limit {
                self.tell_deadline(job, limit, turn);
            }
        }
        turn.durable = true;
        Ok(Answer::Done)
    }

    /// A running job's supervisors end it at another moment.
    fn tell_deadline(&self, job: JobId, limit: Option<Seconds>, turn: &mut Turn) {
        let (Some(active), Some(record)) = (self.running.get(&job), self.state.job(job)) else {
            return;
        };
        let JobState::Running {
            since, suspension, ..
        } = &record.state
        else {
            return;
        };
        // Supervisors of a suspended job move it by the time that it stays suspended.
        let before_ms = suspension.map_or(0, |suspension| suspension.before_ms);
        let at = limit.map(|limit| Timestamp((*since + limit).0.saturating_add(before_ms)));
        for step in active.steps.keys() {
            for key in active.live_keys(*step) {
                let because = Because::Limit;
                turn.words
                    .push((key, SupervisorCall::Deadline { at, because }));
            }
        }
    }

    /// What becomes of a job by the changes.
    fn updated(
        &self,
        record: &Job,
        changes: &[JobChange],
        is_operator: bool,
    ) -> Result<JobUpdate, Refusal> {
        let mut update = JobUpdate::of(record);
        for change in changes {
            match &record.state {
                JobState::Pending { .. } => {
                    self.change_waiting(record, &mut update, change, is_operator)?;
                }
                JobState::Running { limit, .. } => {
                    change_running(*limit, &mut update, change, is_operator)?;
                }
                JobState::Ended { .. } => return Err(invalid("Job has already finished")),
            }
        }
        Ok(update)
    }

    fn change_waiting(
        &self,
        record: &Job,
        update: &mut JobUpdate,
        change: &JobChange,
        is_operator: bool,
    ) -> Result<(), Refusal> {
        let cluster = self.state.cluster();
        let rules = self.cluster.rules();
        let request = &mut update.request;
        match change {
            JobChange::TimeLimit(change) => {
                let partition = cluster.default_partition();
                let named = request.partition.as_deref();
                let first = named.and_then(|names| names.split(',').next());
                let partition = first
                    .and_then(|name| cluster.find_partition(name))
                    .or(partition);
                let default = partition.and_then(|id| cluster.partition(id).default_time);
                let now = match request.time {
                    Some(TimeLimitRequest::Limit(limit)) => Some(limit),
                    Some(TimeLimitRequest::Unlimited) => None,
                    None => default,
                };
                let limit = changed_limit(now, *change)?;
                request.time =
                    Some(limit.map_or(TimeLimitRequest::Unlimited, TimeLimitRequest::Limit));
            }
            JobChange::Partition(names) => {
                let is_known = |name: &str| cluster.find_partition(name).is_some();
                if names.is_empty() || !names.split(',').all(is_known) {
                    return Err(invalid("Invalid partition name specified"));
                }
                request.partition = Some(names.clone());
            }
            JobChange::Qos(name) => {
                request.qos = Some(name.clone());
                if cluster.find_qos(name).is_none() || self.may_not(request, record) {
                    return Err(invalid("Invalid qos specification"));
                }
            }
            JobChange::Account(name) => {
                request.account = Some(name.clone());
                let is_known = rules.is_none_or(|rules| {
                    rules.accounts.is_empty() || cluster.find_account(name).is_some()
                });
                if !is_known || self.may_not(request, record) {
                    return Err(invalid(
                        "Invalid account or account/partition combination specified",
                    ));
                }
            }
            JobChange::Nodes(least, most) => {
                if *least == 0 {
                    return Err(invalid("Node count specification invalid"));
                }
                (request.min_nodes, request.max_nodes) = (Some(*least), *most);
            }
            JobChange::Tasks(tasks) => request.tasks = Some((*tasks).max(1)),
            JobChange::Cpus(cpus) => {
                let each = request.cpus_per_task.unwrap_or(1).max(1);
                request.tasks = Some(cpus.div_ceil(each));
            }
            JobChange::CpusPerTask(cpus) => request.cpus_per_task = Some(*cpus),
            JobChange::Memory(memory) => request.memory = Some(*memory),
            JobChange::Features(features) => {
                let mut names = features.iter().flat_map(|text| {
                    text.split(|letter: char| !letter.is_alphanumeric() && !"_-.".contains(letter))
                });
                let is_known = |name: &str| {
                    name.is_empty()
                        || name.bytes().all(|byte| byte.is_ascii_digit())
                        || cluster.with_feature(name).is_some()
                };
                if !names.all(is_known) {
                    return Err(invalid("Invalid feature specification"));
                }
                request.rare.constraint.clone_from(features);
            }
            JobChange::NodeList(nodes) | JobChange::Exclude(nodes) => {
                if !nodes.iter().all(|node| cluster.node(node).is_some()) {
                    return Err(invalid("Invalid node name specified"));
                }
                let nodes = Arc::new(nodes.clone());
                if matches!(change, JobChange::NodeList(_)) {
                    request.rare.nodelist = nodes;
                } else {
                    request.rare.exclude = nodes;
                }
            }
            JobChange::Dependency(dependency) => {
                update.dependency = Some(super::submit::dependency_of(dependency.as_deref())?);
            }
            JobChange::Begin(at) => update.begin = Some(*at),
            JobChange::Priority(0) => update.hold = true,
            JobChange::Priority(priority) => {
                if record.priority == 0 {
                    return Err(invalid("Job is in held state, pending scheduler release"));
                }
                if *priority > record.priority && !is_operator {
                    return Err(invalid("Access/permission denied"));
                }
                request.rare.priority = Some(*priority);
            }
            JobChange::Nice(nice) => {
                if *nice < 0 && *nice < request.nice && !is_operator {
                    return Err(invalid("Access/permission denied"));
                }
                request.nice = *nice;
            }
            JobChange::Name(_) | JobChange::Comment(_) | JobChange::Requeue(_) => {
                change_any(request, change);
            }
        }
        Ok(())
    }

    /// Whether the cluster's rules keep a job's user from its account or QOS.
    fn may_not(&self, request: &Request, record: &Job) -> bool {
        use resources::Denial;
        let Some(rules) = self.cluster.rules() else {
            return false;
        };
        let all = resources::findings(rules, request, Some(&record.submitter.user));
        all.iter()
            .any(|refusal| matches!(refusal.denial, Denial::Account | Denial::Qos))
    }
}

fn change_running(
    limit: Option<Seconds>,
    update: &mut JobUpdate,
    change: &JobChange,
    is_operator: bool,
) -> Result<(), Refusal> {
    match change {
        JobChange::TimeLimit(change) => {
            let now = update.limit.unwrap_or(limit);
            let next = changed_limit(now, *change)?;
            let is_more = match (limit, next) {
                (None, _) => false,
                (Some(_), None) => true,
                (Some(limit), Some(next)) => next > limit,
            };
            if is_more && !is_operator {
                return Err(invalid("Access/permission denied"));
            }
            update.request.time =
                Some(next.map_or(TimeLimitRequest::Unlimited, TimeLimitRequest::Limit));
            update.limit = Some(next);
        }
        JobChange::Name(_) | JobChange::Comment(_) | JobChange::Requeue(_) => {
            change_any(&mut update.request, change);
        }
        JobChange::Nodes(..) => {
            return Err(invalid("Requested operation not supported on this system"));
        }
        _ => return Err(invalid("Job is no longer pending execution")),
    }
    Ok(())
}

/// What may change whether or not the job runs.
fn change_any(request: &mut Request, change: &JobChange) {
    match change {
        JobChange::Name(name) => request.name.clone_from(name),
        JobChange::Comment(comment) => {
            request.rare.comment = Some(comment.clone()).filter(|text| !text.is_empty());
        }
        JobChange::Requeue(requeue) => request.rare.requeue = Some(*requeue),
        _ => {}
    }
}

fn changed_limit(now: Option<Seconds>, change: LimitChange) -> Result<Option<Seconds>, Refusal> {
    match (change, now) {
        (LimitChange::To(TimeLimitRequest::Limit(limit)), _) => Ok(Some(limit)),
        (LimitChange::To(TimeLimitRequest::Unlimited), _) => Ok(None),
        (LimitChange::More(_) | LimitChange::Less(_), None) => Ok(None),
        (LimitChange::More(more), Some(now)) => Ok(Some(Seconds(now.0.saturating_add(more.0)))),
        (LimitChange::Less(less), Some(now)) if less < now => Ok(Some(Seconds(now.0 - less.0))),
        (LimitChange::Less(_), Some(_)) => Err(invalid(
            "Requested time limit is invalid (missing or exceeds some limit)",
        )),
    }
}

fn invalid(message: &str) -> Refusal {
    Refusal::Invalid {
        message: message.to_owned(),
    }
}
