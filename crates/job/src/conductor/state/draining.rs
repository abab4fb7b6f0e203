//! From the first sign of an end until all is saved: what ends a training, and Draining.

use super::{CancelCause, ConductorState, Draining, Effect, Phase, Stage, Why, later};
use crate::grace::Deadlines;
use crate::protocol::Order;
use folder::{Event, StopReason};
use model::{Seconds, Timestamp};
use std::time::Duration;

/// How long the last copying may take where the job has no limit that says so.
const LONGEST_LAST_DRAIN: Duration = Duration::from_secs(3600);
/// Between two tries to copy out what a disk refuses.
const RETRY: Duration = Duration::from_secs(1);
/// srun's exit code for a step that a signal ended begins here.
const BY_SIGNAL: i32 = 128;

/// Signals that a program gets for its own mistakes: SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV.
const OF_CRASHES: [i32; 5] = [4, 6, 7, 8, 11];

/// How a rank crashed, in words.
fn crash(own: &Why) -> Option<String> {
    match own {
        Why::Failed { status, cause } if OF_CRASHES.contains(&(status - BY_SIGNAL)) => {
            Some(cause.clone())
        }
        _ => None,
    }
}

impl ConductorState {
    /// `own`: what their end says of the training, where no one had ended them. `exited`: none was ended by a
    /// signal.
    pub(super) fn ranks_ended(
        &mut self,
        own: Why,
        exited: bool,
        now: Timestamp,
        effects: &mut Vec<Effect>,
    ) {
        // Who ends well was not in the middle of a file, whoever told them to end.
        let finished = matches!(own, Why::Done);
        let crashed = crash(&own);
        let why = match &self.phase {
            Phase::Running => own,
            Phase::Draining(Draining {
                stage: Stage::Saving { .. },
                why: Why::Limit,
                ..
            }) if !self.facts.notify => own,
            // They were told to end: how they took it says nothing about the training.
            Phase::Draining(draining) => draining.why.clone(),
            Phase::Rescuing(_) => return self.ranks_gone(finished, now, effects),
            Phase::Gathering
            | Phase::Staging { .. }
            | Phase::Assembling { .. }
            | Phase::Restoring { .. }
            | Phase::Closing { .. }
            | Phase::ComingBack { .. }
            | Phase::Leaving { .. }
            | Phase::Over => return,
        };
        // Who saves, and then crashes as it ends, has lost nothing; who crashes each time instead is ended by
        // having made no progress. Either way it is said.
        if let (Phase::Draining(_), Why::Limit, Some(cause)) = (&self.phase, &why, &crashed) {
            let text = format!("after it was asked to save and end: {cause}");
            effects.push(Effect::Record(Event::Note { text }));
        }
        // They were asked to save and end, and did so in their own time.
        let were_asked = |draining: &Draining| match draining.stage {
            Stage::Saving { asked } => asked,
            Stage::Stopping | Stage::Killing => true,
            Stage::Last => false,
        };
        let left = exited && matches!(&self.phase, Phase::Draining(it) if were_asked(it));
        if left {
            effects.push(Effect::Send(Order::Left));
        }
        if let Why::Lost { cause } = &why {
            self.record_loss(cause, effects);
            // Without their srun or their wrapper they may go on.
            effects.push(Effect::Send(Order::Kill));
        }
        self.drain(why, Stage::Last, finished, now, effects);
    }

    pub(super) fn agents_ended(&mut self, status: i32, now: Timestamp, effects: &mut Vec<Effect>) {
        match self.phase {
            Phase::Closing { .. } => self.agents_gone(now, effects),
            Phase::ComingBack { .. } | Phase::Leaving { .. } | Phase::Over => {}
            Phase::Gathering
            | Phase::Staging { .. }
            | Phase::Assembling { .. }
            | Phase::Restoring { .. }
            | Phase::Running
            | Phase::Draining(_)
            | Phase::Rescuing(_)
                if status >= BY_SIGNAL =>
            {
                let cause = format!(
                    "the agents' step was ended by signal {}",
                    status - BY_SIGNAL
                );
                self.agents_lost(cause, now, effects);
            }
            // Agents that were there and have not said what is wrong are lost with their srun, which
            // says 1 of a node that failed.
            Phase::Staging { .. }
            | Phase::Assembling { .. }
            | Phase::Restoring { .. }
            | Phase::Running
            | Phase::Draining(_) => {
                let cause = format!("the agents' step ended with {status}");
                self.agents_lost(cause, now, effects);
            }
            Phase::Gathering | Phase::Rescuing(_) => {
                let cause = format!(
                    "the agents' step ended with {status} before the training did; the conductor's log has srun's output"
                );
                self.fail(cause, now, effects);
                self.agents_gone(now, effects);
            }
        }
    }

    /// Ends as if it were cancelled until the cluster has said more: the ranks have SIGTERM too, and
    /// their end must not be taken for the training's.
    pub(super) fn terminated(&mut self, now: Timestamp, effects: &mut Vec<Effect>) {
        if self.unexplained.is_none() {
            self.unexplained = Some(self.deadlines);
        }
        self.hurry(self.deadlines, now, self.facts.kill_wait);
        let why = Why::Terminated(None);
        match &mut self.phase {
            Phase::Gathering
            | Phase::Staging { .. }
            | Phase::Assembling { .. }
            | Phase::Restoring { .. } => {
                self.part_early(why, now, effects);
            }
            Phase::Running => {
                self.drain(why, Stage::Saving { asked: false }, false, now, effects);
            }
            Phase::Rescuing(rescuing) => {
                let why = rescuing.why_when_ended();
                self.part(why, false, now, effects);
            }
            // A job that someone cancels must not come back.
            Phase::Draining(draining) if draining.why == Why::Limit => draining.why = why,
            Phase::Draining(_)
            | Phase::Closing { .. }
            | Phase::ComingBack { .. }
            | Phase::Leaving { .. }
            | Phase::Over => {}
        }
    }

    /// What the cluster says of the SIGTERM.
    pub(super) fn cancel_cause(
        &mut self,
        cause: CancelCause,
        now: Timestamp,
        effects: &mut Vec<Effect>,
    ) {
        let Some(before) = self.unexplained.take() else {
            return;
        };
        if let Some(until) = cause.until {
            let wait = u64::try_from(until.since(now)).unwrap_or(0);
            self.hurry(before, now, Duration::from_millis(wait));
        }
        let is_lost = !cause.lost_nodes.is_empty();
        let reason = cause.reason.or(is_lost.then_some(StopReason::NodeLost));
        let why = match &mut self.phase {
            Phase::Draining(Draining { why, .. }) | Phase::Closing { why, .. } => why,
            Phase::Gathering
            | Phase::Staging { .. }
            | Phase::Assembling { .. }
            | Phase::Restoring { .. }
            | Phase::Running
            | Phase::Rescuing(_)
            | Phase::ComingBack { .. }
            | Phase::Leaving { .. }
            | Phase::Over => return,
        };
        if *why != Why::Terminated(None) {
            return;
        }
        // Slurm's own end of a job at its limit is no reason not to come back; how the ranks end
        // after its SIGTERM says nothing about the training.
        *why = match reason {
            Some(StopReason::Limit) => Why::Limit,
            reason => Why::Terminated(reason),
        };
        if let Phase::Draining(Draining {
            stage: stage @ Stage::Saving { .. },
            why: Why::Limit,
            ..
        }) = &mut self.phase
        {
            *stage = Stage::Stopping;
        }
        effects.push(Effect::Record(Event::Stopping {
            reason: reason.unwrap_or(StopReason::Cancelled),
            left: self.deadlines.map_or(Seconds(0), |at| at.left_at(now)),
        }));
        if is_lost {
            self.nodes_lost(&cause.lost_nodes, effects);
        }
    }

    /// Leaves no more time than `wait`, nor than `before` did.
    fn hurry(&mut self, before: Option<Deadlines>, now: Timestamp, wait: Duration) {
        let soon = Deadlines::after_signal(now, wait);
        self.deadlines = Some(before.map_or(soon, |at| Deadlines {
            warn: at.warn.min(soon.warn),
            stop: at.stop.min(soon.stop),
            kill: at.kill.min(soon.kill),
            leave: at.leave.min(soon.leave),
            end: at.end.min(soon.end),
        }));
    }

    /// `finished`: the ranks have ended, and well.
    pub(super) fn drain(
        &mut self,
        why: Why,
        stage: Stage,
        finished: bool,
        now: Timestamp,
        effects: &mut Vec<Effect>,
    ) {
        self.round += 1;
        if finished {
            self.copies.ended_well();
        }
        // What is being written when the ranks are gone won't become complete any more, except by
        // standing still: a moment is enough for that.
        let until = match (stage, self.deadlines) {
            (Stage::Last, Some(at)) => at.leave.min(later(now, Duration::from_secs(5))),
            (Stage::Last, None) => later(now, Duration::from_secs(5)),
            (_, Some(at)) => at.stop,
            (_, None) => now,
        };
        if self.deadlines.is_none() {
            let end = later(now, LONGEST_LAST_DRAIN);
            self.deadlines = Some(Deadlines {
                warn: now,
                stop: end,
                kill: end,
                leave: end,
                end,
            });
        }
        effects.push(Effect::Send(Order::Drain {
            round: self.round,
            until,
            ranks_gone: stage == Stage::Last,
            finished,
        }));
        // What could not be copied so far gets another chance: it is the last.
        self.copies.retry_all();
        self.phase = Phase::Draining(Draining {
            why,
            stage,
            waiting: self.copiers(),
            patient_until: later(now, self.facts.grace),
            retry_at: later(now, RETRY),
        });
    }

    /// What time, or the end of what was waited for, brings about.
    pub(super) fn go_on(&mut self, now: Timestamp, effects: &mut Vec<Effect>) {
        if matches!(self.phase, Phase::Rescuing(_)) {
            self.rescue_on(now, effects);
        }
        let Some(at) = self.deadlines else {
            if matches!(self.phase, Phase::Gathering) && now >= self.facts.hello_by {
                self.missing_agents(now, effects);
            }
            return self.parted(now, effects);
        };
        match &mut self.phase {
            Phase::Gathering if now >= self.facts.hello_by => self.missing_agents(now, effects),
            Phase::Gathering
            | Phase::Staging { .. }
            | Phase::Assembling { .. }
            | Phase::Restoring { .. }
                if now >= at.warn =>
            {
                self.part_early(Why::Limit, now, effects);
            }
            Phase::Running if now >= at.warn => {
                effects.push(Effect::Record(Event::Stopping {
                    reason: StopReason::Limit,
                    left: at.left_at(now),
                }));
                let asked = self.facts.notify;
                if asked {
                    effects.push(Effect::Send(Order::Notify));
                }
                self.drain(Why::Limit, Stage::Saving { asked }, false, now, effects);
                self.copy_on(now, effects);
            }
            Phase::Draining(_) => self.drain_on(at, now, effects),
            _ => {}
        }
        self.parted(now, effects);
    }

    /// Whether nothing is waited for but a disk that takes something again.
    pub(super) fn retries(&self, draining: &Draining) -> bool {
        draining.waiting.is_empty() && self.copies.is_idle() && self.disk_refuses()
    }

    fn drain_on(&mut self, at: Deadlines, now: Timestamp, effects: &mut Vec<Effect>) {
        let refuses = self.disk_refuses();
        let Phase::Draining(draining) = &mut self.phase else {
            return;
        };
        let out = draining.waiting.is_empty() && self.copies.is_idle();
        let patient_until = draining.patient_until.min(at.leave);
        match draining.stage {
            Stage::Saving { asked } if now >= at.stop || (out && !asked) => {
                draining.stage = Stage::Stopping;
                let by_cluster = matches!(draining.why, Why::Terminated(_));
                effects.push(Effect::Send(Order::Terminate { by_cluster }));
            }
            Stage::Stopping if now >= at.kill => {
                draining.stage = Stage::Killing;
                effects.push(Effect::Send(Order::Kill));
            }
            Stage::Last if out && refuses && now < patient_until => {
                if now >= draining.retry_at {
                    draining.retry_at = later(now, RETRY);
                    self.copies.retry_all();
                    self.copy_on(now, effects);
                }
            }
            Stage::Last if out => {
                let why = draining.why.clone();
                let clean = self.not_out.is_empty();
                if !clean {
                    effects.push(Effect::Record(Event::Note {
                        text: self.left_behind(),
                    }));
                }
                self.part(why, clean, now, effects);
            }
            Stage::Last | Stage::Killing if now >= at.leave => {
                // A last checkpoint that is not out is not lost where the run comes back.
                let why = match draining.why.clone() {
                    Why::Done if self.facts.comeback.after_limit => Why::Limit,
                    why => why,
                };
                let mut text = "time was over before everything was copied out".to_owned();
                if let Some(copies) = self.copy_progress.now(|agent| self.node_of(agent)) {
                    text.push_str(&format!(": {copies}"));
                }
                if let Some(names) = self.unanswered() {
                    text.push_str(&format!("; not saved: {names}"));
                }
                effects.push(Effect::Record(Event::Note { text }));
                self.part(why, false, now, effects);
            }
            Stage::Saving { .. } | Stage::Stopping | Stage::Killing | Stage::Last => {}
        }
    }
}
