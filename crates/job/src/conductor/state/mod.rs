//! What the conductor does when something happens. Pure: events and the time in, effects out.
//!
//! ```text
//! Gathering ─all agents connected─▶ Staging ─▶ Assembling ─▶ Restoring ─all agree─▶ Running
//! Running ──ranks ended──────────────────────────────────▶ Draining(Last)
//! Running ──limit near, SIGTERM──▶ Draining(Saving) ─▶ (Stopping) ─▶ (Killing) ─▶ (Last)
//! Running, Draining ─agents lost─▶ Rescuing ─fresh agents, ranks gone─▶ Draining(Last)
//! Draining(Last) ─all is saved, or no time is left─▶ Closing ─agents finished─▶ ComingBack ─▶ over
//! ```
//! Every phase can fail, which leads to Closing too. Each phase has a file of its own.

mod assembling;
mod closing;
mod copy_progress;
mod copying;
mod draining;
mod gathering;
mod hanging;
mod interface;
mod losing;
mod rescuing;
mod trainings;

pub(super) use closing::lost_too_often;
pub use interface::{CancelCause, Comeback, Effect, Facts, Hello, NotOut, Out, StateEvent};
pub(crate) use losing::say_lost;
pub use rescuing::Loss;
pub use trainings::{Concerns, Trainings, TrialId};

use super::copies::{Copies, Part};
use super::siblings::Siblings;
use crate::grace::Deadlines;
use crate::protocol::{AgentId, Order, Report};
use copy_progress::CopyProgress;
use folder::{Attempt, Candidate, Event, StopReason, TrainingProgress, WholeCheckpoints};
use hanging::Hang;
use model::Timestamp;
use rescuing::Rescuing;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use train::ResumeBy;

/// The conductor's memory.
#[derive(Debug)]
pub struct ConductorState {
    facts: Facts,
    phase: Phase,
    hellos: BTreeMap<AgentId, Hello>,
    /// When each agent was heard of last.
    heard: BTreeMap<AgentId, Timestamp>,
    /// Agents that were lost and have no successor.
    gone: BTreeSet<AgentId>,
    copies: Copies,
    copy_progress: CopyProgress,
    siblings: Siblings,
    /// What was saved, over what `{resume}` holds.
    progress: TrainingProgress,
    /// Whether the ranks were killed because they hung.
    hung: bool,
    /// Checkpoints that are on their nodes only, and why: they could not be copied.
    not_out: BTreeMap<String, NotOut>,
    /// What nodes had not finished when the ranks were gone.
    unfinished: BTreeMap<(String, AgentId), Unfinished>,
    /// What is whole in the run folder.
    out: WholeCheckpoints,
    /// Complete checkpoints of earlier starts that the nodes have, and what each agent sees of them.
    kept: BTreeMap<String, BTreeMap<AgentId, KeptPart>>,
    /// What of that lacks parts and is newer than what was resumed from.
    passed_over: BTreeSet<String>,
    /// What may be resumed from, the best first.
    candidates: Vec<Candidate>,
    deadlines: Option<Deadlines>,
    round: u32,
    /// The job that waits for this one's end.
    successor: Option<u32>,
    /// Whether one is being submitted.
    submitting: bool,
    /// After SIGTERM, until the cluster has said why it came: the deadlines as they were before.
    unexplained: Option<Option<Deadlines>>,
    /// Whether fresh agents took the place of lost ones: that is done once.
    rescued: bool,
    /// Whether the loss of this start was written down.
    loss_recorded: bool,
    /// What is known of ranks that hang.
    hang: Option<Hang>,
}

/// What a node had not finished as far as can be known.
#[derive(Debug)]
struct Unfinished {
    /// Why it is taken for that, in words.
    why: String,
    /// Whether nothing tells that something of it is missing.
    may_be_whole: bool,
}

/// What an agent sees of a checkpoint that its node kept.
#[derive(Clone, Copy, Debug)]
struct KeptPart {
    /// When the program wrote it, where that is known.
    written: Option<Timestamp>,
    /// Its size, where that is known.
    bytes: Option<u64>,
    /// Which start wrote it, where that is known.
    start: Option<Attempt>,
}

#[derive(Debug)]
enum Phase {
    Gathering,
    Staging {
        /// Agents that have not said that their node has the data.
        waiting: BTreeSet<AgentId>,
    },
    Assembling {
        /// What was put together, or could not be.
        tried: Vec<String>,
    },
    Restoring {
        index: usize,
        waiting: BTreeSet<AgentId>,
        /// Whether a node has it.
        is_brought: bool,
        /// What of it a node could not bring, and whether that is because of its bytes.
        failed: BTreeMap<String, bool>,
    },
    Running,
    Draining(Draining),
    Rescuing(Rescuing),
    Closing {
        why: Why,
        until: Timestamp,
        /// Agents that have not finished.
        waiting: BTreeSet<AgentId>,
    },
    ComingBack {
        /// Why requeueing did not do.
        refused: Option<String>,
    },
    /// All is said; a job that takes over is just being submitted, and must be known before this one
    /// ends.
    Leaving {
        code: u8,
        /// Whether no job needs to take over.
        over: bool,
    },
    Over,
}

#[derive(Debug)]
struct Draining {
    why: Why,
    stage: Stage,
    /// Agents that have not said that this round is drained.
    waiting: BTreeSet<AgentId>,
    /// What a disk refuses is tried again until then.
    patient_until: Timestamp,
    /// When the next try is due.
    retry_at: Timestamp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The ranks go on; what is complete is saved. `asked`: the program was signalled to save, and a
    /// new checkpoint is waited for.
    Saving {
        asked: bool,
    },
    Stopping,
    Killing,
    /// The ranks are gone.
    Last,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Why {
    Done,
    Failed {
        status: i32,
        cause: String,
    },
    Limit,
    Terminated(Option<StopReason>),
    /// One of our own processes was killed.
    Lost {
        cause: String,
    },
}

impl ConductorState {
    /// The agents' step was just started.
    #[must_use]
    pub fn new(mut facts: Facts) -> ConductorState {
        ConductorState {
            deadlines: facts.deadlines,
            out: std::mem::take(&mut facts.checkpoints),
            successor: facts.comeback.successor,
            facts,
            phase: Phase::Gathering,
            hellos: BTreeMap::new(),
            heard: BTreeMap::new(),
            gone: BTreeSet::new(),
            copies: Copies::default(),
            copy_progress: CopyProgress::default(),
            siblings: Siblings::default(),
            progress: TrainingProgress::default(),
            hung: false,
            not_out: BTreeMap::new(),
            unfinished: BTreeMap::new(),
            kept: BTreeMap::new(),
            passed_over: BTreeSet::new(),
            candidates: Vec::new(),
            round: 0,
            submitting: false,
            unexplained: None,
            rescued: false,
            loss_recorded: false,
            hang: None,
        }
    }

    /// What is to be done before anything happens.
    #[must_use]
    pub fn begin(&mut self) -> Vec<Effect> {
        let comeback = self.facts.comeback;
        let comes_back = comeback.after_limit || comeback.after_loss;
        let submits = comes_back && comeback.by == ResumeBy::Successor && comeback.may_submit;
        if submits && self.successor.is_none() {
            self.submitting = true;
            return vec![Effect::SubmitSuccessor];
        }
        Vec::new()
    }

    /// When [`StateEvent::Tick`] is due at the latest.
    #[must_use]
    pub fn next_due(&self) -> Option<Timestamp> {
        let deadlines = self.deadlines;
        match &self.phase {
            Phase::Gathering => {
                Some(deadlines.map_or(self.facts.hello_by, |at| at.warn.min(self.facts.hello_by)))
            }
            Phase::Staging { .. } | Phase::Assembling { .. } | Phase::Restoring { .. } => {
                deadlines.map(|at| at.warn)
            }
            Phase::Running => {
                let warn = deadlines.map(|at| at.warn);
                let hang = self.hang.as_ref().map(Hang::until);
                let due = [warn, self.copies.next_due(), hang, self.silence_due()];
                due.into_iter().flatten().min()
            }
            Phase::Draining(draining) => {
                let due = deadlines.map(|at| match draining.stage {
                    Stage::Saving { .. } => at.stop,
                    Stage::Stopping => at.kill,
                    Stage::Last if self.retries(draining) => at.leave.min(draining.retry_at),
                    Stage::Killing | Stage::Last => at.leave,
                });
                [due, self.silence_due()].into_iter().flatten().min()
            }
            Phase::Rescuing(rescuing) => Some(rescuing.until),
            // The word on why SIGTERM came is waited for, whatever the time.
            Phase::Closing { .. } if self.unexplained.is_some() => None,
            Phase::Closing { until, .. } => Some(*until),
            Phase::ComingBack { .. } | Phase::Leaving { .. } | Phase::Over => None,
        }
    }

    /// Takes what happened.
    pub fn handle(&mut self, event: StateEvent, now: Timestamp) -> Vec<Effect> {
        let mut effects = Vec::new();
        self.take(event, now, &mut effects);
        self.copy_on(now, &mut effects);
        self.assemble_on(now, &mut effects);
        self.hang_on(now, &mut effects);
        self.go_on(now, &mut effects);
        effects
    }

    fn take(&mut self, event: StateEvent, now: Timestamp, effects: &mut Vec<Effect>) {
        match event {
            StateEvent::Report(agent, report) => self.said(agent, report, now, effects),
            StateEvent::AgentsLost(loss) => self.srun_said(loss, now, effects),
            StateEvent::AgentsEnded(status) => self.agents_ended(status, now, effects),
            StateEvent::RanksEnded {
                status,
                first_failed,
                exited,
                lost,
                cause,
            } => {
                effects.push(Effect::Record(Event::RanksEnded {
                    status,
                    first_failed,
                }));
                // The rank's own code tells more than srun's, which may be that of one that was
                // killed for it.
                let status = first_failed.map_or(status, |(_, code)| code);
                let why = match (status, lost) {
                    (0, _) => Why::Done,
                    (_, true) => Why::Lost { cause },
                    (_, false) => Why::Failed { status, cause },
                };
                let why = self.why_killed().filter(|_| status != 0).unwrap_or(why);
                self.ranks_ended(why, exited, now, effects);
            }
            StateEvent::Retired { names } => {
                for name in &names {
                    self.copies.is_removed(name);
                }
            }
            StateEvent::Published { name, result } => self.published(&name, result, now, effects),
            StateEvent::Terminated => self.terminated(now, effects),
            StateEvent::CancelCause(cause) => self.cancel_cause(cause, now, effects),
            StateEvent::Quiet { quiet } => self.quiet(quiet, now, effects),
            StateEvent::DiskRefuses { cause } => self.abort(Why::Lost { cause }, now, effects),
            StateEvent::Requeued(result) => self.requeued(result, effects),
            StateEvent::SuccessorSubmitted(result) => self.succeeded(result, effects),
            StateEvent::Tick => self.silent(now, effects),
        }
    }

    fn said(&mut self, agent: AgentId, report: Report, now: Timestamp, effects: &mut Vec<Effect>) {
        self.heard.insert(agent, now);
        match report {
            Report::Alive { progress } => {
                let node = self.node_of(agent);
                let text = self.copy_progress.alive(agent, &node, progress, now);
                effects.extend(text.map(|text| Effect::Record(Event::Note { text })));
            }
            Report::Hello {
                node,
                node_index,
                disk,
                address,
                port,
            } => {
                let hello = Hello {
                    node,
                    node_index,
                    address,
                    port,
                    disk,
                };
                self.hello(agent, hello, now, effects);
            }
            Report::Record { event } => effects.push(Effect::Record(event)),
            Report::Staged => self.staged(agent, effects),
            Report::NotStaged { why } => self.not_staged(&why, now, effects),
            Report::Restored { .. } => self.is_restored(agent, effects),
            Report::NotRestored {
                name,
                why,
                is_damaged,
            } => {
                let text = format!("checkpoint {name} can't be resumed from: {why}");
                effects.push(Effect::Record(Event::Note { text }));
                self.not_restored(agent, name, is_damaged, effects);
            }
            Report::Complete {
                name,
                bytes,
                written,
            } => {
                if self.facts.by_marker && self.copies.copiers().len() > 1 {
                    effects.push(Effect::Send(Order::Marked { name: name.clone() }));
                }
                self.passed_over.remove(&name);
                self.copies.complete(agent, name, Some(bytes), written);
            }
            Report::Part {
                name,
                incoming,
                bytes,
                took_ms,
                proven,
                start,
                written,
            } => {
                let part = Part {
                    incoming,
                    bytes,
                    took_ms,
                    proven,
                    node: self.node_of(agent),
                    start,
                    written,
                };
                self.copies.part(agent, &name, part);
            }
            Report::Writes => {
                let lacking = self.copies.writes(agent);
                self.lack(lacking, effects);
            }
            Report::NoPart { name } => self.copies.no_part(agent, &name),
            Report::NotCopied {
                name,
                why,
                again,
                disk,
            } => self
                .copies
                .refused(agent, &name, NotOut { why, disk }, again),
            Report::Unfinished {
                name,
                why,
                may_be_whole,
            } => {
                let unfinished = Unfinished { why, may_be_whole };
                self.unfinished.insert((name, agent), unfinished);
            }
            Report::Left { name, why } => {
                self.is_not_out(name, NotOut { why, disk: false }, effects);
            }
            Report::Drained { round } => {
                if let Phase::Draining(draining) = &mut self.phase
                    && round == self.round
                {
                    draining.waiting.remove(&agent);
                }
            }
            Report::Finished => {
                if let Phase::Closing { waiting, .. } = &mut self.phase {
                    waiting.remove(&agent);
                }
            }
            Report::Pointer { pointer } => effects.push(Effect::AddPointer(pointer)),
            Report::Note { text } => effects.push(Effect::Record(Event::Note { text })),
            Report::Stack(stack) => self.stack(stack),
            Report::Looked => self.looked(agent),
            Report::Kept {
                name,
                written,
                bytes,
                start,
            } => {
                let part = KeptPart {
                    written,
                    bytes,
                    start,
                };
                self.kept.entry(name).or_default().insert(agent, part);
            }
            Report::Broken { why, disk } => {
                let node = self.node_of(agent);
                let cause = format!("the agent on {node} can't work: {why}");
                if disk {
                    self.abort(Why::Lost { cause }, now, effects);
                } else {
                    self.fail(cause, now, effects);
                }
            }
        }
    }

    fn node_of(&self, agent: AgentId) -> String {
        let hello = self.hellos.get(&agent);
        hello.map_or_else(|| format!("task {agent}"), |hello| hello.node.clone())
    }
}

fn later(now: Timestamp, by: Duration) -> Timestamp {
    Timestamp(
        now.0
            .saturating_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX)),
    )
}

#[cfg(test)]
mod tests;
