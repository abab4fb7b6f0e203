//! What the conductor does when something happens. Pure: events and the time in, effects out.
//!
//! ```text
//! Gathering ─all agents said hello─▶ Staging ─▶ Restoring ─all agree─▶ Running
//! Running ──ranks ended──────────────────────────────────▶ Draining(Last)
//! Running ──limit near, SIGTERM──▶ Draining(Saving) ─▶ (Stopping) ─▶ (Killing) ─▶ (Last)
//! Draining(Last) ─all is out, or no time is left─▶ Parting ─agents gone─▶ Requeueing ─▶ over
//! ```
//! Every phase can fail, which leads to Parting too.

use super::copies::{Copies, Next, Part};
use super::history::is_newer;
use crate::grace::{Deadlines, KILL_WAIT};
use crate::protocol::{AgentId, DiskId, Order, Report};
use folder::{ComingBack, Event, StopReason};
use model::{Seconds, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

/// What is known before anything happens.
#[derive(Clone, Debug)]
pub struct Facts {
    /// The job's nodes: as many agents say hello.
    pub nodes: u32,
    /// When to stop; `None` where the job has no limit.
    pub deadlines: Option<Deadlines>,
    /// Agents that have not come by then never will.
    pub hello_by: Timestamp,
    /// Whether data is staged.
    pub stage: bool,
    /// Whole checkpoints of the run folder, the best first.
    pub checkpoints: Vec<Known>,
    /// Whether the run comes back after a time limit.
    pub requeue: bool,
    /// Whether the program is told before the end.
    pub notify: bool,
    /// Jobs of this run right before this one that ended at their limit without a new checkpoint.
    pub stuck_before: u32,
    /// The program's `{checkpoints}` on each node.
    pub node_folder: PathBuf,
}

/// A checkpoint in the run folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Its name.
    pub name: String,
    /// The last integer of its name.
    pub step: Option<u64>,
}

/// What an agent said of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Its node's name.
    pub node: String,
    /// Its node's index.
    pub node_index: u32,
    /// An address of its node.
    pub address: String,
    /// A free port there.
    pub port: u16,
    disk: DiskId,
}

/// What happens. Closed: the loop at the edge has no other source.
#[derive(Clone, Debug)]
pub enum Happening {
    /// An agent reported.
    Said(AgentId, Report),
    /// The agents' step ended.
    AgentsEnded(i32),
    /// The staging step ended.
    Staged(Result<(), String>),
    /// The ranks' step ended, or could not be started.
    RanksEnded {
        /// The step's exit code.
        status: i32,
        /// The rank that failed first and its exit code.
        first_failed: Option<(u32, i32)>,
        /// In words, with what that rank printed last.
        cause: String,
    },
    /// Publishing ended.
    Published {
        /// The entry.
        name: String,
        /// What is in the run folder now, or why not.
        result: Result<Out, String>,
    },
    /// SIGTERM came: the job is cancelled, preempted, or its node is taken.
    Terminated,
    /// The answer to the requeue.
    Requeued(Result<(), String>),
    /// Nothing but time.
    Tick,
}

/// A published checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Out {
    /// The last integer of its name.
    pub step: Option<u64>,
    /// Its size.
    pub bytes: u64,
    /// How long copying took, in milliseconds.
    pub took_ms: u64,
    /// Whether its completeness was seen.
    pub proven: bool,
}

/// What is to be done at the edge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Tell the agents.
    Send(Order),
    /// Write an event into the run folder.
    Record(Event),
    /// Start the staging step.
    Stage,
    /// Start the ranks; the agents said hello as listed, in the order of their nodes.
    StartRanks {
        /// The agents' words.
        hellos: Vec<Hello>,
        /// What is in `{resume}`.
        resume: Option<Known>,
    },
    /// End the ranks' step itself, because the agents can't.
    AbortRanks,
    /// Put the parts together and make them a checkpoint.
    Publish {
        /// The entry.
        name: String,
        /// Its parts.
        parts: Vec<Part>,
        /// Whether they join what is there.
        merge: bool,
    },
    /// Remove parts that are of no use.
    Discard(Vec<Part>),
    /// `scontrol requeue`.
    Requeue,
    /// End with this exit code.
    Exit(u8),
}

/// The conductor's memory.
#[derive(Debug)]
pub struct ConductorState {
    facts: Facts,
    phase: Phase,
    hellos: BTreeMap<AgentId, Hello>,
    copies: Copies,
    /// What `{resume}` holds.
    resumed: Option<Known>,
    /// Whether a checkpoint came out that is newer than the one resumed from.
    progress: bool,
    /// Checkpoints that are on their nodes only: they could not be copied.
    not_out: BTreeSet<String>,
    deadlines: Option<Deadlines>,
    round: u32,
}

#[derive(Debug)]
enum Phase {
    Gathering,
    Staging,
    Restoring {
        index: usize,
        waiting: BTreeSet<AgentId>,
        failed: bool,
    },
    Running,
    Draining(Draining),
    Parting {
        why: Why,
        until: Timestamp,
    },
    Requeueing,
    Over,
}

#[derive(Debug)]
struct Draining {
    why: Why,
    stage: Stage,
    /// Agents that have not said that this round is drained.
    waiting: BTreeSet<AgentId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The ranks go on; what is complete goes out. `asked`: the program was told to save, and a
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
    Failed { status: i32, cause: String },
    Limit,
    Terminated,
}

/// Exit code after SIGTERM.
const TERMINATED: u8 = 143;
/// How long the last copying may take where the job has no limit that says so.
const LONGEST_LAST_DRAIN: Duration = Duration::from_secs(3600);
/// How long agents may take to remove their folders and end.
const PARTING: Duration = Duration::from_secs(10);

impl ConductorState {
    /// The agents' step was just started.
    #[must_use]
    pub fn new(facts: Facts) -> ConductorState {
        ConductorState {
            deadlines: facts.deadlines,
            facts,
            phase: Phase::Gathering,
            hellos: BTreeMap::new(),
            copies: Copies::default(),
            resumed: None,
            progress: false,
            not_out: BTreeSet::new(),
            round: 0,
        }
    }

    /// When [`Happening::Tick`] is due at the latest.
    #[must_use]
    pub fn next_due(&self) -> Option<Timestamp> {
        let deadlines = self.deadlines;
        match &self.phase {
            Phase::Gathering => {
                Some(deadlines.map_or(self.facts.hello_by, |at| at.warn.min(self.facts.hello_by)))
            }
            Phase::Staging | Phase::Restoring { .. } | Phase::Running => {
                deadlines.map(|at| at.warn)
            }
            Phase::Draining(draining) => deadlines.map(|at| match draining.stage {
                Stage::Saving { .. } => at.stop,
                Stage::Stopping => at.kill,
                Stage::Killing | Stage::Last => at.leave,
            }),
            Phase::Parting { until, .. } => Some(*until),
            Phase::Requeueing | Phase::Over => None,
        }
    }

    /// Takes what happened.
    pub fn handle(&mut self, happening: Happening, now: Timestamp) -> Vec<Effect> {
        let mut effects = Vec::new();
        self.take(happening, now, &mut effects);
        self.copy_on(&mut effects);
        self.go_on(now, &mut effects);
        effects
    }

    fn take(&mut self, happening: Happening, now: Timestamp, effects: &mut Vec<Effect>) {
        match happening {
            Happening::Said(agent, report) => self.said(agent, report, now, effects),
            Happening::AgentsEnded(status) => self.agents_ended(status, now, effects),
            Happening::Staged(result) => {
                if matches!(self.phase, Phase::Staging) {
                    match result {
                        Ok(()) => self.restore(0, effects),
                        Err(why) => self.fail(format!("staging failed: {why}"), now, effects),
                    }
                }
            }
            Happening::RanksEnded {
                status,
                first_failed,
                cause,
            } => {
                self.ranks_ended(status, first_failed, cause, now, effects);
            }
            Happening::Published { name, result } => self.published(&name, result, effects),
            Happening::Terminated => self.terminated(now, effects),
            Happening::Requeued(result) => {
                if matches!(self.phase, Phase::Requeueing) {
                    let code = match result {
                        Ok(()) => 0,
                        Err(why) => {
                            let cause = format!(
                                "the time limit came and the job could not be requeued: {why}; checkpoints are out, submit the run again"
                            );
                            effects.push(Effect::Record(Event::Failed {
                                cause,
                                status: None,
                            }));
                            1
                        }
                    };
                    self.exit(code, effects);
                }
            }
            Happening::Tick => {}
        }
    }

    fn said(&mut self, agent: AgentId, report: Report, now: Timestamp, effects: &mut Vec<Effect>) {
        match report {
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
                self.hellos.insert(agent, hello);
                if matches!(self.phase, Phase::Gathering)
                    && self.hellos.len() == self.facts.nodes as usize
                {
                    self.gathered(effects);
                }
            }
            Report::Restored { .. } => self.restored(agent, None, effects),
            Report::NotRestored { name, why } => {
                let text = format!("checkpoint {name} can't be resumed from: {why}");
                self.restored(agent, Some(text), effects);
            }
            Report::Complete { name } => self.copies.complete(agent, name),
            Report::Part {
                name,
                incoming,
                bytes,
                took_ms,
                proven,
            } => {
                self.copies.part(
                    agent,
                    &name,
                    Part {
                        incoming,
                        bytes,
                        took_ms,
                        proven,
                    },
                );
            }
            Report::NoPart { name } => self.copies.no_part(agent, &name),
            Report::NotCopied { name, why } => self.copies.refused(agent, &name, why),
            Report::Unfinished { name } => {
                let why = "it was not seen to be whole before the job ended".to_owned();
                effects.push(Effect::Record(Event::CheckpointNotOut { name, why }));
            }
            Report::Drained { round } => {
                if let Phase::Draining(draining) = &mut self.phase
                    && round == self.round
                {
                    draining.waiting.remove(&agent);
                }
            }
            Report::Note { text } => effects.push(Effect::Record(Event::Note { text })),
            Report::Broken { why } => {
                let node = self
                    .hellos
                    .get(&agent)
                    .map_or_else(|| format!("task {agent}"), |hello| hello.node.clone());
                self.fail(
                    format!("the agent on {node} can't work: {why}"),
                    now,
                    effects,
                );
            }
        }
    }

    fn gathered(&mut self, effects: &mut Vec<Effect>) {
        // The first agent of each distinct disk.
        let mut disks = BTreeMap::new();
        for (agent, hello) in &self.hellos {
            disks.entry(hello.disk.clone()).or_insert(*agent);
        }
        let copiers: BTreeSet<AgentId> = disks.into_values().collect();
        self.copies = Copies::new(copiers.iter().copied());
        effects.push(Effect::Send(Order::Roles {
            copiers: copiers.into_iter().collect(),
        }));
        if self.facts.stage {
            self.phase = Phase::Staging;
            effects.push(Effect::Stage);
        } else {
            self.restore(0, effects);
        }
    }

    /// Tries the checkpoint at `index`, or starts without one.
    fn restore(&mut self, index: usize, effects: &mut Vec<Effect>) {
        let Some(known) = self.facts.checkpoints.get(index) else {
            if index > 0 {
                let text =
                    "no checkpoint could be resumed from: the training starts from its beginning"
                        .to_owned();
                effects.push(Effect::Record(Event::Note { text }));
            }
            return self.start(None, effects);
        };
        effects.push(Effect::Send(Order::Restore {
            name: known.name.clone(),
        }));
        self.phase = Phase::Restoring {
            index,
            waiting: self.copiers(),
            failed: false,
        };
    }

    fn restored(&mut self, agent: AgentId, failed: Option<String>, effects: &mut Vec<Effect>) {
        let Phase::Restoring {
            index,
            waiting,
            failed: any,
        } = &mut self.phase
        else {
            return;
        };
        waiting.remove(&agent);
        *any |= failed.is_some();
        effects.extend(failed.map(|text| Effect::Record(Event::Note { text })));
        if waiting.is_empty() {
            let (index, any) = (*index, *any);
            if any {
                self.restore(index + 1, effects);
            } else {
                self.start(self.facts.checkpoints.get(index).cloned(), effects);
            }
        }
    }

    fn start(&mut self, resume: Option<Known>, effects: &mut Vec<Effect>) {
        if let Some(known) = &resume {
            effects.push(Effect::Record(Event::Resumed {
                checkpoint: known.name.clone(),
                step: known.step,
            }));
        }
        self.resumed.clone_from(&resume);
        let name = resume.as_ref().map(|known| known.name.clone());
        effects.push(Effect::Send(Order::Watch { resume: name }));
        let mut hellos: Vec<Hello> = self.hellos.values().cloned().collect();
        hellos.sort_by_key(|hello| hello.node_index);
        effects.push(Effect::StartRanks { hellos, resume });
        self.phase = Phase::Running;
    }

    fn copiers(&self) -> BTreeSet<AgentId> {
        self.copies.copiers().clone()
    }

    fn ranks_ended(
        &mut self,
        status: i32,
        first_failed: Option<(u32, i32)>,
        cause: String,
        now: Timestamp,
        effects: &mut Vec<Effect>,
    ) {
        effects.push(Effect::Record(Event::RanksEnded {
            status,
            first_failed,
        }));
        // The rank's own code tells more than srun's, which may be that of one that was killed for it.
        let code = first_failed.map_or(status, |(_, code)| code);
        let own = if status == 0 {
            Why::Done
        } else {
            Why::Failed {
                status: code,
                cause,
            }
        };
        let why = match &self.phase {
            Phase::Running => own,
            Phase::Draining(Draining {
                stage: Stage::Saving { .. },
                why: Why::Limit,
                ..
            }) if !self.facts.notify => own,
            // They were told to end: how they took it says nothing about the training.
            Phase::Draining(draining) => draining.why.clone(),
            Phase::Gathering
            | Phase::Staging
            | Phase::Restoring { .. }
            | Phase::Parting { .. }
            | Phase::Requeueing
            | Phase::Over => return,
        };
        self.drain(why, Stage::Last, now, effects);
    }

    fn drain(&mut self, why: Why, stage: Stage, now: Timestamp, effects: &mut Vec<Effect>) {
        self.round += 1;
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
            });
        }
        effects.push(Effect::Send(Order::Drain {
            round: self.round,
            until,
            ranks_gone: stage == Stage::Last,
            finished: stage == Stage::Last && matches!(why, Why::Done),
        }));
        self.phase = Phase::Draining(Draining {
            why,
            stage,
            waiting: self.copiers(),
        });
    }

    fn published(&mut self, name: &str, result: Result<Out, String>, effects: &mut Vec<Effect>) {
        self.copies.published(name);
        let name = name.to_owned();
        effects.push(Effect::Record(match result {
            Ok(Out {
                step,
                bytes,
                took_ms,
                proven,
            }) => {
                let resumed = self.resumed.as_ref().and_then(|known| known.step);
                self.progress |= is_newer(step, resumed);
                if let Phase::Draining(Draining {
                    stage: Stage::Saving { asked },
                    ..
                }) = &mut self.phase
                {
                    *asked = false;
                }
                self.not_out.remove(&name);
                Event::CheckpointOut {
                    name,
                    step,
                    bytes,
                    took_ms,
                    proven,
                }
            }
            Err(why) => {
                self.not_out.insert(name.clone());
                Event::CheckpointNotOut { name, why }
            }
        }));
    }

    fn copy_on(&mut self, effects: &mut Vec<Effect>) {
        let hurry = matches!(self.phase, Phase::Draining(_));
        while let Some(next) = self.copies.next(hurry) {
            effects.extend(match next {
                Next::Ask { name, from } => vec![Effect::Send(Order::Copy { name, from })],
                Next::Publish { name, parts, merge } => {
                    vec![Effect::Publish { name, parts, merge }]
                }
                Next::GiveUp { name, why, parts } => {
                    let discard = (!parts.is_empty()).then_some(Effect::Discard(parts));
                    self.not_out.insert(name.clone());
                    let event = Effect::Record(Event::CheckpointNotOut { name, why });
                    discard.into_iter().chain([event]).collect()
                }
            });
        }
    }

    /// What time, or the end of what was waited for, brings about.
    fn go_on(&mut self, now: Timestamp, effects: &mut Vec<Effect>) {
        let Some(at) = self.deadlines else {
            if matches!(self.phase, Phase::Gathering) && now >= self.facts.hello_by {
                self.missing_agents(now, effects);
            }
            return self.parted(now, None, effects);
        };
        match &mut self.phase {
            Phase::Gathering if now >= self.facts.hello_by => self.missing_agents(now, effects),
            Phase::Gathering | Phase::Staging | Phase::Restoring { .. } if now >= at.warn => {
                self.part(Why::Limit, false, now, effects);
            }
            Phase::Running if now >= at.warn => {
                let left = Seconds(at.leave.since(now).unsigned_abs() / 1000);
                effects.push(Effect::Record(Event::Stopping {
                    reason: StopReason::Limit,
                    left,
                }));
                if self.facts.notify {
                    effects.push(Effect::Send(Order::Notify));
                }
                self.drain(
                    Why::Limit,
                    Stage::Saving {
                        asked: self.facts.notify,
                    },
                    now,
                    effects,
                );
            }
            Phase::Draining(draining) => {
                let out = draining.waiting.is_empty() && self.copies.is_idle();
                match draining.stage {
                    Stage::Saving { asked } if now >= at.stop || (out && !asked) => {
                        draining.stage = Stage::Stopping;
                        effects.push(Effect::Send(Order::Signal { kill: false }));
                    }
                    Stage::Stopping if now >= at.kill => {
                        draining.stage = Stage::Killing;
                        effects.push(Effect::Send(Order::Signal { kill: true }));
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
                            Why::Done if self.facts.requeue => Why::Limit,
                            why => why,
                        };
                        let text = "time was over before everything was copied out".to_owned();
                        effects.push(Effect::Record(Event::Note { text }));
                        self.part(why, false, now, effects);
                    }
                    Stage::Saving { .. } | Stage::Stopping | Stage::Killing | Stage::Last => {}
                }
            }
            _ => {}
        }
        self.parted(now, None, effects);
    }

    fn missing_agents(&mut self, now: Timestamp, effects: &mut Vec<Effect>) {
        let cause = format!(
            "{} agents were started, {} said hello; the conductor's log has what srun said",
            self.facts.nodes,
            self.hellos.len()
        );
        self.fail(cause, now, effects);
    }

    fn agents_ended(&mut self, status: i32, now: Timestamp, effects: &mut Vec<Effect>) {
        match self.phase {
            Phase::Parting { .. } => self.parted(now, Some(()), effects),
            Phase::Requeueing | Phase::Over => {}
            Phase::Gathering
            | Phase::Staging
            | Phase::Restoring { .. }
            | Phase::Running
            | Phase::Draining(_) => {
                let cause = format!(
                    "the agents' step ended with {status} before the training did; the conductor's log has what srun said"
                );
                self.fail(cause, now, effects);
                self.parted(now, Some(()), effects);
            }
        }
    }

    fn terminated(&mut self, now: Timestamp, effects: &mut Vec<Effect>) {
        let stopping = |left: Seconds| {
            Effect::Record(Event::Stopping {
                reason: StopReason::Cancelled,
                left,
            })
        };
        let soon = Deadlines::after_signal(now, KILL_WAIT);
        let left = Seconds(soon.leave.since(now).unsigned_abs() / 1000);
        self.deadlines = Some(match self.deadlines {
            None => soon,
            Some(at) => Deadlines {
                warn: at.warn.min(soon.warn),
                stop: at.stop.min(soon.stop),
                kill: at.kill.min(soon.kill),
                leave: at.leave.min(soon.leave),
            },
        });
        match &mut self.phase {
            Phase::Gathering | Phase::Staging | Phase::Restoring { .. } => {
                effects.push(stopping(left));
                self.part(Why::Terminated, false, now, effects);
            }
            Phase::Running => {
                effects.push(stopping(left));
                // Slurm has sent SIGTERM to the ranks as well: no use in asking them to save.
                self.drain(
                    Why::Terminated,
                    Stage::Saving { asked: false },
                    now,
                    effects,
                );
            }
            Phase::Draining(draining) if draining.why == Why::Limit => {
                // A job that someone cancels must not come back.
                draining.why = Why::Terminated;
                effects.push(stopping(left));
            }
            Phase::Draining(_) | Phase::Parting { .. } | Phase::Requeueing | Phase::Over => {}
        }
    }

    fn fail(&mut self, cause: String, now: Timestamp, effects: &mut Vec<Effect>) {
        if matches!(
            self.phase,
            Phase::Parting { .. } | Phase::Requeueing | Phase::Over
        ) {
            return;
        }
        if matches!(self.phase, Phase::Running | Phase::Draining(_)) {
            effects.push(Effect::AbortRanks);
        }
        self.part(Why::Failed { status: 1, cause }, false, now, effects);
    }

    /// What only the nodes have, in words.
    fn left_behind(&self) -> String {
        let names: Vec<&str> = self.not_out.iter().map(String::as_str).collect();
        format!(
            "{} could not be copied and stays on the node in {:?} until your next job there",
            names.join(", "),
            self.facts.node_folder
        )
    }

    /// Sends the agents home; `clean`: all is out, nothing needs to stay on the nodes.
    fn part(&mut self, why: Why, clean: bool, now: Timestamp, effects: &mut Vec<Effect>) {
        effects.push(Effect::Send(Order::Finish { clean }));
        let last = later(now, PARTING);
        let until = match (self.facts.deadlines, &why) {
            // The little that is left behind `leave` belongs to them, down to the requeue.
            (Some(at), Why::Limit) => last.min(Timestamp(now.0.max(at.leave.0))),
            _ => last,
        };
        self.phase = Phase::Parting { why, until };
    }

    fn parted(&mut self, now: Timestamp, gone: Option<()>, effects: &mut Vec<Effect>) {
        let Phase::Parting { why, until } = &self.phase else {
            return;
        };
        if gone.is_none() && now < *until {
            return;
        }
        match why.clone() {
            Why::Done => {
                effects.push(Effect::Record(Event::Finished { status: 0 }));
                self.exit(0, effects);
            }
            Why::Failed { status, cause } => {
                effects.push(Effect::Record(Event::Failed {
                    cause,
                    status: Some(status),
                }));
                self.exit(u8::try_from(status).unwrap_or(1).max(1), effects);
            }
            Why::Terminated => self.exit(TERMINATED, effects),
            Why::Limit => self.come_back(effects),
        }
    }

    fn come_back(&mut self, effects: &mut Vec<Effect>) {
        let cause = if !self.facts.requeue {
            "the time limit came, and [resume] on does not name \"timeout\"".to_owned()
        } else if !self.progress && self.facts.stuck_before > 0 {
            format!(
                "{} jobs in a row reached their time limit without a new checkpoint; ask for more time or save more often, and see that the program resumes from {{resume}}",
                self.facts.stuck_before + 1
            )
        } else {
            effects.push(Effect::Record(Event::ComingBack {
                how: ComingBack::Requeue,
            }));
            effects.push(Effect::Requeue);
            self.phase = Phase::Requeueing;
            return;
        };
        effects.push(Effect::Record(Event::Failed {
            cause,
            status: None,
        }));
        self.exit(1, effects);
    }

    fn exit(&mut self, code: u8, effects: &mut Vec<Effect>) {
        effects.push(Effect::Exit(code));
        self.phase = Phase::Over;
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
