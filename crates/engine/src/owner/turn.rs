//! One turn of the owner: what its messages led to, written at once, then answered and done.

use super::active_job::ActiveJob;
use super::allocation::Owned;
use super::statistics::Pass;
use super::unread::FormerPrograms;
use super::{Owner, RETRY_MS};
use crate::SupervisorKey;
use crate::job_program::JobProgram;
use crate::message::{Message, Peer};
use crate::messenger::Caller;
use crate::spec::{StepSpec, SupervisorCall};
use crate::store::{Batch, EndedStart, FormerSize, NewStart, NewSubmission, StepRow};
use api::{Answer, Call, NewStep, Refusal};
use model::{JobId, JobProlog, NodeName, StartedBy, StepId, Timestamp};
use sched::{Action, Job};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, mpsc};
use std::time::Instant;

/// What the messages of one turn led to so far.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) now: Timestamp,
    /// Something that a client waits for: flush it to disk.
    pub(crate) durable: bool,
    pub(crate) submissions: Vec<NewSubmission>,
    /// Steps that are new or changed.
    pub(crate) steps: BTreeSet<(JobId, StepId)>,
    /// Steps that ended.
    pub(crate) ended_steps: Vec<StepRow>,
    /// Jobs that are started.
    pub(crate) started: BTreeMap<JobId, NewStart>,
    /// First steps of allocations that were submitted, and whose they are.
    pub(crate) first_steps: Vec<(JobId, Box<NewStep>, Peer)>,
    /// Starts of jobs that ended.
    pub(crate) ended_starts: Vec<EndedStart>,
    /// What jobs held that lose nodes or give some back.
    pub(crate) former_sizes: Vec<FormerSize>,
    /// Supervisors to start.
    pub(crate) launches: Vec<StepSpec>,
    /// Jobs whose programs before them are to be looked at.
    pub(crate) begun: Vec<JobId>,
    /// Programs after jobs to start.
    pub(crate) programs: Vec<JobProgram>,
    /// How it stood with the programs of jobs' starts, before this turn changed that.
    pub(crate) former_programs: FormerPrograms,
    /// What happened, and no file and no row tells.
    pub(crate) told_once: Vec<Message>,
    /// Nodes that a job gave back, and nothing of it runs on: its own folder goes, and where no other job is all else.
    pub(crate) left: Vec<(JobId, NodeName)>,
    /// By how many milliseconds the clock was set.
    pub(crate) clock_set_by_ms: i64,
    /// Words to supervisors.
    pub(crate) words: Vec<(SupervisorKey, SupervisorCall)>,
    /// Who is to end before words are sent to these.
    pub(crate) callers: BTreeMap<SupervisorKey, Arc<Caller>>,
    /// Calls that only read.
    pub(crate) reads: Vec<(Call, Peer, mpsc::Sender<Answer>)>,
    /// Whose allocations were, before this turn changed that.
    pub(crate) former_owners: Vec<(JobId, Option<Owned>)>,
    /// Connections that closed.
    pub(crate) disconnected: Vec<u64>,
    /// Something that the turn needs could not be read: nothing of it may happen.
    pub(crate) unreadable: Option<String>,
    answers: Vec<(mpsc::Sender<Answer>, Answer)>,
}

impl Turn {
    pub(crate) fn new(now: Timestamp) -> Turn {
        Turn {
            now,
            durable: false,
            submissions: Vec::new(),
            steps: BTreeSet::new(),
            ended_steps: Vec::new(),
            started: BTreeMap::new(),
            first_steps: Vec::new(),
            ended_starts: Vec::new(),
            former_sizes: Vec::new(),
            left: Vec::new(),
            clock_set_by_ms: 0,
            launches: Vec::new(),
            begun: Vec::new(),
            programs: Vec::new(),
            former_programs: FormerPrograms::new(),
            told_once: Vec::new(),
            words: Vec::new(),
            callers: BTreeMap::new(),
            reads: Vec::new(),
            former_owners: Vec::new(),
            disconnected: Vec::new(),
            unreadable: None,
            answers: Vec::new(),
        }
    }

    /// Answers once the turn is written.
    pub(crate) fn answer(&mut self, reply: mpsc::Sender<Answer>, answer: Answer) {
        self.answers.push((reply, answer));
    }
}

impl Owner {
    /// Schedules, writes, answers and does what the turn led to.
    pub(super) fn finish(&mut self, mut turn: Turn) {
        self.bar_gpus(turn.now);
        self.bar_cpus(turn.now);
        let began = Instant::now();
        let actions = self.state.schedule(turn.now);
        let length = began.elapsed();
        let mut started = 0;
        for action in actions {
            match action {
                Action::Start {
                    job,
                    reason,
                    is_backfill,
                } => {
                    started += 1;
                    let by = started_by(job, is_backfill, &turn.submissions);
                    turn.started.insert(job, NewStart { reason, by });
                    turn.begun.push(job);
                    self.start_job(job, &mut turn);
                }
                Action::Expire(job) => self.expire(job, &mut turn),
                Action::Preempt(job) => self.lost_place(job, &mut turn),
                Action::Suspend(job) | Action::Resume(job) => {
                    self.tell_suspension(job, &mut turn);
                }
            }
        }
        let mut first_steps = BTreeMap::new();
        for (job, step, peer) in std::mem::take(&mut turn.first_steps) {
            if let Some(made) = self.first_step(job, &step, peer, &mut turn) {
                first_steps.insert(job, Box::new(made));
            }
        }
        if let Some(message) = turn.unreadable.take() {
            self.failed(turn, &message);
            return;
        }
        self.keep_gpu_locks();
        self.keep_cpu_locks();
        let changes = self.state.take_changes();
        let submitted = turn.submissions.len() as u64;
        let waiting = self.state.waiting_count() as u64;
        let pass = Pass {
            at: turn.now,
            length,
            looked: changes.looked,
            waiting,
        };
        self.statistics.note_pass(&pass);
        self.statistics
            .note_jobs(submitted, started, &changes.ended);
        if !changes.ended.is_empty() {
            self.note_ended(changes.ended.len(), turn.now);
        }
        let events = self.changed_events(turn.now);
        let live = changes.live.iter().filter_map(|id| self.state.job(*id));
        let jobs: Vec<&Job> = live.chain(&changes.ended).collect();
        let steps = turn.steps.iter().filter_map(|(job, step)| {
            let active: &ActiveJob = self.running.get(job)?;
            Some(&active.steps.get(step)?.row)
        });
        let batch = Batch {
            durable: turn.durable,
            next_id: self.state.next_id(),
            clock: &self.clock,
            steps: steps.chain(&turn.ended_steps).collect(),
            submissions: turn.submissions.iter().collect(),
            started: &turn.started,
            ended_starts: &turn.ended_starts,
            former_sizes: &turn.former_sizes,
            clock_set_by_ms: turn.clock_set_by_ms,
            jobs,
            updated: &changes.updated,
            usage: &changes.usage,
            spent: &changes.spent,
            nodes: changes
                .nodes
                .iter()
                .map(|node| (node, self.state.mark(node)))
                .collect(),
            events,
            reservations: changes
                .reservations
                .iter()
                .map(|name| (name.as_str(), self.state.reservation(name)))
                .collect(),
        };
        for submission in &turn.submissions {
            tracing::debug!(job = submission.job.0, "submitted");
        }
        for record in &changes.ended {
            tracing::debug!(job = record.id.0, state = ?record.state, "ended");
        }
        let nothing = batch.jobs.is_empty()
            && batch.steps.is_empty()
            && batch.submissions.is_empty()
            && batch.nodes.is_empty()
            && batch.events.is_empty()
            && batch.reservations.is_empty()
            && batch.usage.is_empty()
            && batch.spent.is_empty();
        if !nothing && let Err(error) = self.store.write(&batch) {
            self.failed(turn, &error.to_string());
            return;
        }
        let shown = changes.shown.iter().filter_map(|id| self.state.job(*id));
        let changed = batch.jobs.iter().copied().chain(shown);
        let changed: Vec<(&Job, Option<JobProlog>)> =
            changed.map(|job| (job, self.prolog_of(job.id))).collect();
        super::watch::wake(&mut self.waiters, &changed, self.state.version());
        for (reply, mut answer) in turn.answers.drain(..) {
            if let Answer::Submitted {
                job,
                now,
                programs,
                step,
            } = &mut answer
                && let Some(record) = self.allocation_now(*job)
            {
                *now = Some(Box::new(record));
                *programs = self.step_programs();
                *step = first_steps.remove(job);
            }
            // A client that is gone asks again, or never will.
            let _gone = reply.send(answer);
        }
        self.send_mail(&turn, &changes.ended);
        for (call, peer, reply) in turn.reads.drain(..) {
            self.read(call, peer, reply, turn.now);
        }
        for spec in turn.launches {
            tracing::debug!(step = %spec.key(), "a supervisor is asked for");
            self.launch_after_programs(spec);
        }
        for job in turn.begun {
            self.begin_programs(job);
        }
        for program in turn.programs {
            program.start(self.sender.clone());
        }
        for (key, call) in turn.words {
            // What ended in this turn needs none.
            if self.is_awaited(key) {
                let caller = turn.callers.get(&key).cloned();
                self.messenger.send(key, call, caller);
            }
        }
        for (job, node) in turn.left {
            let left = [node];
            self.remove_job_folders(job, &left);
            self.empty_disks(&left);
        }
    }

    /// The turn could not be written: nothing of it happened.
    fn failed(&mut self, mut turn: Turn, message: &str) {
        tracing::error!("nothing was accepted: {message}");
        let refusal = || {
            Answer::Refused(Refusal::Store {
                message: message.to_owned(),
            })
        };
        for (reply, _answer) in turn.answers.drain(..) {
            let _gone = reply.send(refusal());
        }
        let retry_at = Timestamp(turn.now.0 + RETRY_MS);
        self.retry_at = Some(retry_at);
        self.restore_owners(&mut turn, retry_at);
        self.keep_unwritten(&mut turn);
        let is_read = self.reload(turn.now);
        for (call, peer, reply) in turn.reads {
            // What is written needs no room to be read.
            if is_read {
                self.read(call, peer, reply, turn.now);
            } else {
                let _gone = reply.send(refusal());
            }
        }
    }
}

/// What started a job in this turn. An allocation starts with its submission, a batch script at its turn.
fn started_by(job: JobId, is_backfill: bool, submissions: &[NewSubmission]) -> StartedBy {
    let is_new = |it: &NewSubmission| it.job == job && it.script.is_none();
    if is_backfill {
        StartedBy::Backfill
    } else if submissions.iter().any(is_new) {
        StartedBy::Submission
    } else {
        StartedBy::Main
    }
}
