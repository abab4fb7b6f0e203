//! Ends: of supervisors, of steps, of jobs.

use super::Owner;
use super::active_job::{ActiveJob, Over};
use super::adopted::untold;
use super::turn::Turn;
use crate::SupervisorKey;
use crate::node_disks;
use crate::outcome::{self, NodeEnd};
use crate::record;
use crate::spec::{Because, ExitFile, JobStop, SupervisorCall};
use crate::store::EndedStart;
use api::EngineFolder;
use model::{
    Ending, JobId, JobState, JobStateName, NodeName, Outcome, RequeueHold, StepId, StepState,
    Timestamp, Usage, WaitStatus,
};
use sched::Event;
use std::collections::HashSet;
use std::io;
use std::path::Path;

impl Owner {
    /// A supervisor told how its step ended.
    pub(super) fn supervisor_ended(&mut self, key: SupervisorKey, exit: ExitFile, turn: &mut Turn) {
        if self.is_awaited(key) {
            self.node_ended(key, NodeEnd::Exit(exit), turn);
        }
    }

    /// A supervisor ended, or says that it is about to.
    pub(super) fn supervisor_gone(&mut self, key: SupervisorKey, turn: &mut Turn) {
        if !self.is_awaited(key) {
            return;
        }
        match self.supervisor_end(key) {
            Ok(Some(end)) => self.node_ended(key, end, turn),
            // Of two supervisors of this step another one lives, which a former engine started.
            Ok(None) => {}
            Err(error) => self.look_later(key, &untold(&error), turn.now),
        }
    }

    /// How a supervisor ended; `None`: it lives, and is waited for.
    fn supervisor_end(&mut self, key: SupervisorKey) -> io::Result<Option<NodeEnd>> {
        if let Some(exit) = read_exit(&self.folder, key)? {
            return Ok(Some(NodeEnd::Exit(exit)));
        }
        if self.adopt(key)? {
            return Ok(None);
        }
        // It may have written its word and ended between the two looks: now it is final.
        let exit = read_exit(&self.folder, key)?;
        Ok(Some(exit.map_or(NodeEnd::Lost, NodeEnd::Exit)))
    }

    /// A supervisor could not be forked, or what it needs not be written; `may_pass`: that may be over in a while.
    pub(super) fn not_started(
        &mut self,
        key: SupervisorKey,
        message: &str,
        may_pass: bool,
        turn: &mut Turn,
    ) {
        if !self.is_awaited(key) {
            return;
        }
        if may_pass && key.step == StepId::Batch {
            let what = format!("it could not be started ({message})");
            self.look_later(key, &what, turn.now);
            return;
        }
        tracing::error!(step = %key, "it was not started: {message}");
        // One that is ending ends so.
        if key.step == StepId::Batch && !is_decided(self.ending(key.job)) {
            self.start_failed(key.job, message, turn);
            return;
        }
        let exit = ExitFile::unstarted(turn.now, Some(message.to_owned()));
        self.node_ended(key, NodeEnd::Exit(exit), turn);
    }

    /// Nothing of the job ran: it waits until someone has looked, and with it the components that it leads.
    pub(super) fn start_failed(&mut self, job: JobId, message: &str, turn: &mut Turn) {
        let at = turn.now;
        let others = self.led_by(job);
        if let Some(active) = self.running.remove(&job) {
            self.messenger.forget(active.key(StepId::Batch, 0));
            self.forget_networks(job, active.restart);
            let nodes = self.nodes_of(job).into_iter();
            self.last_busy.extend(nodes.map(|node| (node, at)));
            turn.ended_starts.push(EndedStart {
                job,
                restart: active.restart,
                at,
                state: JobStateName::Requeued,
                outcome: Outcome::LaunchFailed {
                    message: message.to_owned(),
                },
                usage: None,
            });
        }
        self.state.apply(Event::StartFailed { job, at });
        for job in others {
            self.note_programs(job, turn);
            match self.running.get_mut(&job) {
                Some(active) => {
                    active.programs.failed = Some(message.to_owned());
                    self.consider_end(job, turn);
                }
                // It has its nodes, and nothing else yet.
                None => self.state.apply(Event::StartFailed { job, at }),
            }
        }
    }

    /// Whether the end of this supervisor is still to come as far as the owner knows.
    pub(super) fn is_awaited(&self, key: SupervisorKey) -> bool {
        let active = self.running.get(&key.job);
        let active = active.filter(|active| active.key(key.step, key.node) == key);
        let step = active.and_then(|active| active.steps.get(&key.step));
        let end = step.and_then(|step| step.ends.get(key.node as usize));
        matches!(end, Some(None))
    }

    pub(super) fn node_ended(&mut self, key: SupervisorKey, end: NodeEnd, turn: &mut Turn) {
        let deadline = self.deadline(key.job);
        let Some(active) = self.running.get_mut(&key.job) else {
            return;
        };
        let Some(step) = active.steps.get_mut(&key.step) else {
            return;
        };
        let lost = end == NodeEnd::Lost;
        // It was started a moment after what kept its networks was killed.
        let is_without_network = key.step == StepId::Batch
            && matches!(&end, NodeEnd::Exit(exit) if exit.launch_error.is_some())
            && self.isolation.has_lost_networks();
        let may_be_unbegun = match &end {
            NodeEnd::Exit(exit) => exit.tasks.is_empty(),
            NodeEnd::Lost => true,
        };
        if may_be_unbegun {
            self.messenger.forget(key);
        }
        step.ends[key.node as usize] = Some(end);
        let ends: Vec<NodeEnd> = step.ends.iter().flatten().cloned().collect();
        if ends.len() == step.ends.len()
            && let Some(mut step) = active.steps.remove(&key.step)
        {
            let status = ends.iter().map(NodeEnd::status);
            let status = status.fold(WaitStatus::default(), outcome::worst);
            step.row.record.state = StepState::Ended {
                at: last_moment(&ends, turn.now),
                status,
                timed_out: ends.iter().any(NodeEnd::timed_out),
            };
            let used = ends.iter().filter_map(NodeEnd::usage);
            step.row.record.usage = used.reduce(Usage::and);
            step.row.record.tasks_usage = outcome::tasks_usage(&ends).map(Box::new);
            active.note_usage(step.row.record.usage);
            active.note_end(&step.row.record.state);
            turn.steps.remove(&(key.job, key.step));
            if key.step != StepId::Batch || active.next_step > 0 {
                turn.ended_steps.push(step.row);
            }
            if let (StepId::Batch, Some(end)) = (key.step, ends.first()) {
                let outcome = outcome::of_batch(end, deadline);
                let at = last_moment(&ends, turn.now);
                active.over = Some(Over {
                    outcome,
                    status,
                    at,
                });
            }
            active.met_memory |= ends.iter().any(NodeEnd::met_job_memory);
        }
        if lost {
            self.lost(key, turn);
        } else if is_without_network {
            self.node_failed_under(key.job, turn);
        }
        self.leave_nodes(key.job, turn);
        self.consider_end(key.job, turn);
    }

    /// A supervisor was killed: to the job that is as if its node had failed.
    fn lost(&mut self, key: SupervisorKey, turn: &mut Turn) {
        if let Some(active) = self.running.get_mut(&key.job) {
            active.lost.keys.push(key);
        }
        tracing::warn!(job = key.job.0, step = %key, "a supervisor was lost");
        self.node_failed_under(key.job, turn);
    }

    /// A node of the job is lost, and with it all of its components, as in Slurm.
    pub(super) fn node_failed_under(&mut self, job: JobId, turn: &mut Turn) {
        let ending = if self.state.may_requeue(job) {
            Ending::Requeue {
                hold: RequeueHold::No,
                node_failed: true,
            }
        } else {
            Ending::End(Outcome::NodeFail)
        };
        for component in self.state.components(job) {
            self.decide(component, ending.clone(), turn);
            // Of the job itself the caller may have more to say.
            if component != job {
                self.consider_end(component, turn);
            }
        }
    }

    /// Decides how a running job ends, and has its steps ended.
    pub(super) fn decide(&mut self, job: JobId, ending: Ending, turn: &mut Turn) {
        self.state.apply(Event::Ending { job, ending });
        self.stop_steps(job, turn);
    }

    /// Has the live steps of a job ended.
    pub(super) fn stop_steps(&self, job: JobId, turn: &mut Turn) {
        let Some(active) = self.running.get(&job) else {
            return;
        };
        for step in active.steps.keys() {
            self.stop_step((job, active), *step, turn);
        }
    }

    /// Has one step ended: SIGCONT, SIGTERM, and SIGKILL after a while.
    pub(super) fn stop_step(
        &self,
        (job, active): (JobId, &ActiveJob),
        step: StepId,
        turn: &mut Turn,
    ) {
        let call = SupervisorCall::Deadline {
            at: Some(Timestamp(0)),
            because: Because::Stop,
            lost_node: None,
            preempted: matches!(self.ending(job), Some(Ending::Preempted { .. })),
            job: self.ending(job).and_then(job_stop),
        };
        for key in active.live_keys(step) {
            turn.words.push((key, call.clone()));
        }
    }

    /// Ends a running job whose script (or allocation) is over once its last step is.
    pub(super) fn consider_end(&mut self, job: JobId, turn: &mut Turn) {
        let Some(active) = self.running.get(&job) else {
            return;
        };
        let ending = self.ending(job);
        let script_over = active.over.clone().map(|over| Over {
            outcome: if active.met_memory {
                outcome::beyond_memory(over.outcome)
            } else {
                over.outcome
            },
            ..over
        });
        if !active.steps.is_empty() {
            // The script ended before steps that it started: they go with it.
            let ending = match (&script_over, ending) {
                (Some(over), None) => Some(Ending::End(over.outcome.clone())),
                (
                    Some(_),
                    Some(Ending::Preempted {
                        grace: Some(_), at, ..
                    }),
                ) => Some(Ending::Preempted {
                    requeue: false,
                    grace: None,
                    at: *at,
                }),
                _ => None,
            };
            if let Some(ending) = ending {
                self.decide(job, ending, turn);
            }
            return;
        }
        if let Some(message) = active.programs.failed.clone()
            && !is_decided(ending)
        {
            if !self.ends_after_programs(job, WaitStatus::default(), turn) {
                self.start_failed(job, &message, turn);
            }
            return;
        }
        let Some(over) = script_over.or_else(|| {
            // An allocation that was cancelled or expired: nothing else will be heard of it.
            let (status, at) = (WaitStatus::default(), turn.now);
            match ending? {
                Ending::End(outcome) => Some(Over {
                    outcome: outcome.clone(),
                    status,
                    at,
                }),
                // An allocation in its grace time that nobody uses.
                Ending::Preempted { grace: Some(_), .. } => None,
                Ending::Preempted { grace: None, .. } => Some(Over {
                    outcome: Outcome::Preempted { status },
                    status,
                    at,
                }),
                Ending::Requeue { node_failed, .. } => Some(Over {
                    // One whose start failed has no script either.
                    outcome: match &active.programs.failed {
                        Some(why) if !node_failed => Outcome::LaunchFailed {
                            message: why.clone(),
                        },
                        _ => Outcome::NodeFail,
                    },
                    status,
                    at,
                }),
            }
        }) else {
            return;
        };
        let outcome = outcome::of_job(ending, over.outcome.clone(), over.status);
        let decided = ending.is_some();
        let waits =
            self.ends_after_orphans(job) || self.ends_after_programs(job, over.status, turn);
        if waits {
            if !decided {
                let ending = Ending::End(outcome);
                self.state.apply(Event::Ending { job, ending });
            }
            return;
        }
        let ending = self.ending(job);
        let Some(active) = self.running.get(&job) else {
            return;
        };
        let at = self.ended_at(active, over.at, turn.now);
        turn.ended_starts.push(EndedStart {
            job,
            restart: active.restart,
            at,
            state: match (ending, &outcome) {
                (Some(Ending::Requeue { node_failed, .. }), outcome) => {
                    if *node_failed || *outcome == Outcome::NodeFail {
                        JobStateName::NodeFail
                    } else {
                        JobStateName::Requeued
                    }
                }
                (Some(Ending::End(_) | Ending::Preempted { .. }) | None, outcome) => {
                    JobStateName::of_outcome(outcome)
                }
            },
            outcome: outcome.clone(),
            usage: active.usage,
        });
        let (others, ending) = (self.led_by(job), ending.cloned());
        if let Some(active) = self.running.remove(&job) {
            self.forget_networks(job, active.restart);
        }
        let nodes = self.nodes_of(job);
        self.remove_job_folders(job, &nodes);
        self.disown_allocation(job, turn);
        let (gone, status) = (outcome.clone(), over.status);
        self.state.apply(Event::Gone { job, outcome, at });
        self.empty_disks(&nodes);
        self.end_with_leader(&others, ending.as_ref(), &gone, (status, at), turn);
    }

    /// When a job ended of which nothing runs any more. Its supervisors say it: that could be written only now, as
    /// once a disk has room again.
    fn ended_at(&self, active: &ActiveJob, over: Timestamp, now: Timestamp) -> Timestamp {
        // What a lost one left behind ran on.
        if !active.lost.keys.is_empty() {
            return now;
        }
        let state = self.state.job(active.job).map(|record| &record.state);
        let since = match state {
            Some(JobState::Running { since, .. }) => *since,
            Some(JobState::Pending { .. } | JobState::Ended { .. }) | None => now,
        };
        // By the clock of a supervisor, which may have been set since.
        let end = active.last_end.map_or(over, |last| last.max(over));
        end.min(now).max(since)
    }

    pub(super) fn nodes_of(&self, job: JobId) -> Vec<NodeName> {
        let record = self.state.job(job);
        let allocation = record.and_then(|record| match &record.state {
            JobState::Running { allocation, .. } => Some(allocation),
            JobState::Pending { .. } | JobState::Ended { .. } => None,
        });
        let shares = allocation.map(|allocation| allocation.nodes.as_slice());
        let shares = shares.unwrap_or_default().iter();
        shares.map(|share| share.node.clone()).collect()
    }

    /// Removes what a job had to itself on nodes that are not its own any more, which may have other jobs.
    pub(super) fn remove_job_folders(&mut self, job: JobId, nodes: &[NodeName]) {
        let Some(place) = self.isolation.nodes().map(Path::to_owned) else {
            return;
        };
        let Some(record) = self.state.job(job) else {
            return;
        };
        let Some(own) = self.job_folder(job, record.restarts, &record.submitter) else {
            return;
        };
        let uid = record.submitter.uid;
        let guest = Some(uid).filter(|uid| *uid != sys::process::user());
        for node in nodes {
            self.emptied += 1;
            node_disks::remove_of_job(&place, node.as_str(), guest, &own.name, self.emptied);
        }
    }

    /// Empties `/tmp` of those of the nodes that have no job now.
    pub(super) fn empty_disks(&mut self, nodes: &[NodeName]) {
        let Some(place) = self.isolation.nodes().map(Path::to_owned) else {
            return;
        };
        let is_used = |node: &&NodeName| node_disks::is_used(&place, node.as_str());
        let used: Vec<&NodeName> = nodes.iter().filter(is_used).collect();
        if used.is_empty() {
            return;
        }
        let running: Vec<JobId> = self.running.keys().copied().collect();
        let busy: HashSet<NodeName> = running
            .into_iter()
            .flat_map(|job| self.nodes_of(job))
            .collect();
        for node in used.into_iter().filter(|node| !busy.contains(*node)) {
            self.emptied += 1;
            node_disks::empty(&place, node.as_str(), self.emptied);
        }
    }

    /// When the time of a running job is over: at its limit, or as much later as its partition lets it run.
    pub(super) fn deadline(&self, job: JobId) -> Option<Timestamp> {
        self.state.ends_at_the_latest(self.state.job(job)?)
    }

    pub(super) fn ending(&self, job: JobId) -> Option<&Ending> {
        match &self.state.job(job)?.state {
            JobState::Running { ending, .. } => ending.as_ref(),
            JobState::Pending { .. } | JobState::Ended { .. } => None,
        }
    }
}

/// Whether a job ends, however its steps do. In its grace time it may end in any way.
fn is_decided(ending: Option<&Ending>) -> bool {
    match ending {
        None | Some(Ending::Preempted { grace: Some(_), .. }) => false,
        Some(Ending::End(_) | Ending::Requeue { .. } | Ending::Preempted { grace: None, .. }) => {
            true
        }
    }
}

/// What is said of a job where its steps are ended.
fn job_stop(ending: &Ending) -> Option<JobStop> {
    match ending {
        Ending::End(Outcome::NodeFail)
        | Ending::Requeue {
            node_failed: true, ..
        } => Some(JobStop::NodeFailure),
        Ending::End(Outcome::Failed { .. } | Outcome::ScriptLost) => Some(JobStop::Failure),
        Ending::Requeue { .. } => Some(JobStop::Requeue),
        Ending::End(_) | Ending::Preempted { .. } => None,
    }
}

/// How a step ended on a node; `None` where it was not recorded.
pub(super) fn read_exit(engine: &EngineFolder, key: SupervisorKey) -> io::Result<Option<ExitFile>> {
    Ok(record::look(engine, key)?.and_then(|found| found.exit))
}

fn last_moment(ends: &[NodeEnd], now: Timestamp) -> Timestamp {
    let moments = ends.iter().map(|end| match end {
        NodeEnd::Exit(exit) => exit.at,
        NodeEnd::Lost => now,
    });
    moments.max().unwrap_or(now)
}
