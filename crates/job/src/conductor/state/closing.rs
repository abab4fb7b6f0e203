//! The end: agents finish, the run is done, has failed, or comes back. Until that is written down,
//! and the cluster has it, the agents stay: they bring the run back where the batch step is killed.

use super::{ConductorState, Effect, Phase, Why, later};
use crate::protocol::Order;
use folder::{ComingBack, Event, LOST_IN_A_ROW, StopReason};
use model::Timestamp;
use std::time::Duration;
use train::ResumeBy;

/// Exit code after SIGTERM.
const TERMINATED: u8 = 143;
/// How long agents may take to remove their folders.
const AGENTS_LEAVE: Duration = Duration::from_secs(10);

impl ConductorState {
    pub(super) fn fail(&mut self, cause: String, now: Timestamp, effects: &mut Vec<Effect>) {
        self.abort(Why::Failed { status: 1, cause }, now, effects);
    }

    /// Ends without bringing anything out.
    pub(super) fn abort(&mut self, why: Why, now: Timestamp, effects: &mut Vec<Effect>) {
        match self.phase {
            Phase::Closing { .. }
            | Phase::ComingBack { .. }
            | Phase::Leaving { .. }
            | Phase::Over => {}
            Phase::Gathering
            | Phase::Staging { .. }
            | Phase::Assembling { .. }
            | Phase::Restoring { .. } => {
                self.part_early(why, now, effects);
            }
            Phase::Rescuing(ref rescuing) => {
                // What it was rescued from counts.
                let why = rescuing.why.clone();
                self.part(why, false, now, effects);
            }
            Phase::Running | Phase::Draining(_) => {
                effects.push(Effect::AbortRanks);
                self.part(why, false, now, effects);
            }
        }
    }

    /// Before the ranks were started: nothing on the nodes is worth keeping.
    pub(super) fn part_early(&mut self, why: Why, now: Timestamp, effects: &mut Vec<Effect>) {
        if matches!(self.phase, Phase::Staging { .. }) {
            // It would go on writing into what the agents remove.
            effects.push(Effect::Send(Order::AbortStage));
        }
        self.part(why, true, now, effects);
    }

    /// Has the agents finish; `clean`: all is saved, nothing needs to stay on the nodes.
    pub(super) fn part(
        &mut self,
        why: Why,
        clean: bool,
        now: Timestamp,
        effects: &mut Vec<Effect>,
    ) {
        let doubtful = match &why {
            // Nothing but a person brings it back, who may know what it is worth.
            Why::Failed { .. } => self.may_be_newest(),
            _ => None,
        };
        self.say_unfinished(effects);
        let clean = clean && doubtful.is_none();
        effects.extend(doubtful.map(|text| Effect::Record(Event::Note { text })));
        effects.push(Effect::Send(Order::Finish { clean }));
        let last = later(now, AGENTS_LEAVE);
        let until = match (self.facts.deadlines, &why) {
            // The little that is left behind `leave` belongs to them, down to the requeue.
            (Some(at), Why::Limit | Why::Lost { .. }) => last.min(Timestamp(now.0.max(at.leave.0))),
            _ => last,
        };
        let all = 0..self.facts.nodes;
        let waiting = all.filter(|agent| !self.gone.contains(agent)).collect();
        self.phase = Phase::Closing {
            why,
            until,
            waiting,
        };
    }

    pub(super) fn agents_gone(&mut self, now: Timestamp, effects: &mut Vec<Effect>) {
        if let Phase::Closing { waiting, .. } = &mut self.phase {
            waiting.clear();
        }
        self.parted(now, effects);
    }

    pub(super) fn parted(&mut self, now: Timestamp, effects: &mut Vec<Effect>) {
        let Phase::Closing {
            why,
            until,
            waiting,
        } = &self.phase
        else {
            return;
        };
        if self.unexplained.is_some() || (!waiting.is_empty() && now < *until) {
            return;
        }
        match why.clone() {
            Why::Done => self.done(effects),
            Why::Failed { status, cause } => {
                effects.push(Effect::Record(Event::Failed {
                    cause,
                    status: Some(status),
                }));
                self.over(u8::try_from(status).unwrap_or(1).max(1), effects);
            }
            Why::Terminated(reason) => {
                effects.push(Effect::Record(Event::Terminated { reason }));
                if reason == Some(StopReason::Cancelled) {
                    self.over(TERMINATED, effects);
                } else {
                    // The one that waits looks at what became of this job.
                    self.exit(TERMINATED, effects);
                }
            }
            Why::Limit => self.come_back_from_limit(effects),
            Why::Lost { cause } => self.come_back_from_loss(cause, effects),
        }
    }

    pub(super) fn done(&mut self, effects: &mut Vec<Effect>) {
        let left = self.left_on_nodes();
        effects.push(Effect::Record(Event::Finished { status: 0, left }));
        self.over(0, effects);
    }

    fn come_back_from_limit(&mut self, effects: &mut Vec<Effect>) {
        if !self.facts.comeback.after_limit {
            let cause = "the time limit came, and [resume] on does not name \"timeout\": yard requeue continues it";
            self.failed(cause.to_owned(), effects);
        } else if self.disk_refuses() {
            self.come_back_lost(self.refused_by_disk(), effects);
        } else if self.gets_nowhere() && self.facts.stuck_before > 0 {
            let cause = format!(
                "{} jobs in a row reached their time limit without a new checkpoint; ask for more time or save more often, see that the program resumes from {{resume}}, or set [resume] own_checkpoints = true where it keeps checkpoints of its own",
                self.facts.stuck_before + 1
            );
            self.failed(cause, effects);
        } else {
            self.come_back(effects);
        }
    }

    /// Whether what is saved tells that the training is where it was when this start began.
    fn gets_nowhere(&self) -> bool {
        !self.progress.is_made() && !self.facts.own_checkpoints
    }

    /// Whether a job waits to take over that may have been cancelled meanwhile, and the cluster can be asked.
    fn may_ask_for_successor(&self) -> bool {
        let comeback = self.facts.comeback;
        let by_successor = comeback.by == ResumeBy::Successor && comeback.may_submit;
        by_successor && self.successor.is_some() && !self.submitting
    }

    pub(super) fn come_back_from_loss(&mut self, cause: String, effects: &mut Vec<Effect>) {
        if self.facts.comeback.after_loss {
            self.come_back_lost(cause, effects);
        } else {
            let cause = format!(
                "{cause}, and [resume] on does not name \"node-failure\": yard requeue continues it"
            );
            self.failed(cause, effects);
        }
    }

    fn come_back_lost(&mut self, cause: String, effects: &mut Vec<Effect>) {
        let times = self.facts.lost_before + 1;
        if self.gets_nowhere() && times >= LOST_IN_A_ROW {
            self.failed(lost_too_often(times, &cause, self.hung), effects);
        } else {
            self.record_loss(&cause, effects);
            self.come_back(effects);
        }
    }

    fn refused_by_disk(&self) -> String {
        let refused = self.not_out.iter().filter(|(_, not_out)| not_out.disk);
        let names: Vec<&str> = refused.map(|(name, _)| name.as_str()).collect();
        format!(
            "the run folder takes nothing, and {} is on the node only",
            names.join(", ")
        )
    }

    fn come_back(&mut self, effects: &mut Vec<Effect>) {
        let comeback = self.facts.comeback;
        self.phase = Phase::ComingBack { refused: None };
        match (comeback.by, self.successor) {
            (ResumeBy::Requeue, _) => {
                let how = ComingBack::Requeue;
                effects.push(Effect::Record(Event::ComingBack { how }));
                effects.push(Effect::Requeue);
            }
            (ResumeBy::Successor, Some(_)) if self.may_ask_for_successor() => {
                self.submitting = true;
                effects.push(Effect::SubmitSuccessor);
            }
            (ResumeBy::Successor, Some(job)) => self.hand_over(job, effects),
            (ResumeBy::Successor, None) => self.submit("no job waits to take over", effects),
        }
    }

    fn submit(&mut self, because: &str, effects: &mut Vec<Effect>) {
        if self.submitting {
            return;
        }
        if !self.facts.comeback.may_submit {
            let cause = format!(
                "{because}, and this cluster's nodes can't submit a job; checkpoints are saved, and yard requeue continues from them"
            );
            return self.failed(cause, effects);
        }
        self.submitting = true;
        effects.push(Effect::SubmitSuccessor);
    }

    fn hand_over(&mut self, job: u32, effects: &mut Vec<Effect>) {
        let how = ComingBack::Successor { job };
        effects.push(Effect::Record(Event::ComingBack { how }));
        self.exit(0, effects);
    }

    pub(super) fn requeued(&mut self, result: Result<(), String>, effects: &mut Vec<Effect>) {
        let Phase::ComingBack { refused } = &mut self.phase else {
            return;
        };
        match result {
            Ok(()) => self.exit(0, effects),
            // Such as where a site takes --requeue back behind our back.
            Err(why) => {
                let because = format!("the job could not be requeued: {why}");
                *refused = Some(why);
                self.submit(&because, effects);
            }
        }
    }

    pub(super) fn succeeded(&mut self, result: Result<u32, String>, effects: &mut Vec<Effect>) {
        self.submitting = false;
        match (&self.phase, result) {
            (Phase::ComingBack { .. }, Ok(job)) => {
                self.successor = Some(job);
                self.hand_over(job, effects);
            }
            (Phase::ComingBack { refused }, Err(why)) => {
                let requeue = refused
                    .as_ref()
                    .map(|why| format!("the job could not be requeued ({why}), and "));
                let cause = format!(
                    "{}the job that takes over could not be submitted: {why}; checkpoints are saved, and yard requeue continues from them",
                    requeue.unwrap_or_default()
                );
                self.failed(cause, effects);
            }
            (&Phase::Leaving { code, over }, result) => {
                let job = result.ok().filter(|_| over);
                effects.extend(job.map(Effect::DropSuccessor));
                self.exit(code, effects);
            }
            (Phase::Over, _) => {}
            (_, Ok(job)) => self.successor = Some(job),
            (_, Err(why)) => {
                let text = format!(
                    "the job that takes over could not be submitted: {why}; it is tried again at the end"
                );
                effects.push(Effect::Record(Event::Note { text }));
            }
        }
    }

    fn failed(&mut self, cause: String, effects: &mut Vec<Effect>) {
        effects.push(Effect::Record(Event::Failed {
            cause,
            status: None,
        }));
        self.over(1, effects);
    }

    /// The run is over: no job needs to take over.
    fn over(&mut self, code: u8, effects: &mut Vec<Effect>) {
        effects.extend(self.successor.map(Effect::DropSuccessor));
        self.leave(code, true, effects);
    }

    fn exit(&mut self, code: u8, effects: &mut Vec<Effect>) {
        self.leave(code, false, effects);
    }

    fn leave(&mut self, code: u8, over: bool, effects: &mut Vec<Effect>) {
        if self.submitting {
            self.phase = Phase::Leaving { code, over };
            return;
        }
        effects.push(Effect::Exit(code));
        self.phase = Phase::Over;
    }
}

/// Why a run that was lost again and again does not come back. `hung`: its ranks did.
pub(in crate::conductor) fn lost_too_often(times: u32, cause: &str, hung: bool) -> String {
    let todo = if hung {
        "see in yard show where each rank stood, set [watch] hang longer if it was at work, then yard requeue"
    } else {
        "compare the memory that the job requests with what it uses, look at the space left in the run folder, then yard requeue"
    };
    format!(
        "{times} starts in a row were lost without a new checkpoint, the last because {cause}; {todo}"
    )
}
