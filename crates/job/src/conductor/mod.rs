//! The conductor: the batch step of a run's job.
//!
//! One thread drains one channel; what it decides is [`state`], which is pure; what is done about
//! it is here and in [`steps`].

mod allocation;
mod awaited;
mod checkpoints;
mod cluster_word;
mod comeback;
mod conductor_error;
mod copies;
mod event_log;
mod failure;
mod former_loss;
mod history;
mod keeper;
mod launching;
mod loss;
mod opening;
mod pointers;
mod quiet;
mod siblings;
mod slurm_command;
mod state;
mod steps;
mod succession;
mod torchruns;

pub use allocation::{Allocation, AllocationError};
pub use checkpoints::publish;
pub use cluster_word::{BatchStep, ClusterWord, lost_nodes};
pub use conductor_error::ConductorError;
pub use copies::{Part, PartsAsked};
pub(crate) use failure::first_failed;
pub use failure::{FirstFailure, first_failure, quoted};
pub use keeper::keep;
pub use loss::without_batch_step;
pub(crate) use state::say_lost;

use crate::leftovers::remove_saved;
use crate::local_folder::LocalFolder;
use crate::notices::{self, Notices};
use crate::protocol::Order;
use folder::{Event, EventLog, FOLDER_REFUSED, Parts, RunFolder, RunJson, StopReason};
use model::Timestamp;
use opening::Opened;
use pointers::Pointers;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;
use state::{Concerns, ConductorState, Effect, StateEvent, Trainings, TrialId};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;
use steps::{AgentsStep, Steps};
use succession::Place;
use sys::disk_errors;

/// What the loop waits for.
#[derive(Debug)]
pub enum Message {
    /// Something to decide about.
    State(Concerns, StateEvent),
    /// Something to write down only.
    Record(Event),
}

/// Between two tries to write events.
const RETRY: Duration = Duration::from_secs(1);
/// How long a run folder that takes nothing is waited for once the training is done, unless the job is
/// signalled to end.
const END: Duration = Duration::from_secs(600);

/// How long a SIGTERM waits for the cluster's word on why it came.
const WORD: Duration = Duration::from_secs(2);

/// Conducts one start of one job of the run in `folder`, the job of link `number`; returns the
/// batch script's exit code.
///
/// # Errors
/// It could not begin. What goes wrong later is an event in the run folder.
pub fn run(folder: &Path, number: u32) -> Result<u8, ConductorError> {
    // Without its parent the cluster ends the job, and how the ranks end then tells nothing: an
    // agent does what is left to do.
    let _ = sys::process::end_with_parent();
    comeback::or_come_back(folder, conduct(folder, number))
}

fn conduct(folder: &Path, number: u32) -> Result<u8, ConductorError> {
    let now = Timestamp(sys::now());
    let (mut conductor, receiver) = match Conductor::open(folder, number, now)? {
        Opened::Conducts(conductor, receiver) => (*conductor, receiver),
        Opened::Over(code) => return Ok(code),
    };
    listen_to_signals(&conductor)?;
    conductor.begin(now)?;
    conductor.conduct(&receiver, now)
}

/// SIGTERM reaches the loop; what people and `--signal` send otherwise must not end the job.
fn listen_to_signals(conductor: &Conductor) -> Result<(), ConductorError> {
    let sender = conductor.sender.clone();
    let told_to_end = Arc::clone(&conductor.steps.told_to_end);
    let job = conductor.steps.allocation.attempt.job;
    let nodes = model::node_list::fold(&conductor.steps.allocation.nodes);
    let mut signals =
        Signals::new([SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2]).map_err(|source| {
            ConductorError::Start {
                what: "a signal handler",
                source,
            }
        })?;
    std::thread::spawn(move || {
        for signal in signals.forever() {
            if signal != SIGTERM {
                continue;
            }
            let tell = |event| sender.send(Message::State(Concerns::Job, event)).is_ok();
            let sent = tell(StateEvent::Terminated);
            told_to_end.store(true, Ordering::Relaxed);
            if !sent {
                return;
            }
            let cause = ClusterWord::ask(job, WORD).map(|word| word.cancel_cause());
            let mut cause = cause.unwrap_or_default();
            if matches!(cause.reason, None | Some(StopReason::NodeLost)) {
                cause.lost_nodes = lost_nodes(&nodes, WORD);
            }
            if !tell(StateEvent::CancelCause(cause)) {
                return;
            }
        }
    });
    Ok(())
}

struct Conductor {
    run: RunFolder,
    json: RunJson,
    steps: Steps,
    log: EventLog,
    sender: Sender<Message>,
    place: Place,
    agents: Option<AgentsStep>,
    /// srun of the ranks.
    ranks: Option<u32>,
    local: LocalFolder,
    /// Whether the run is.
    done: bool,
    /// Whether it is, has failed or was cancelled, and has its secrets still.
    is_over: bool,
    /// How long a disk that takes nothing is waited for.
    patience: Duration,
    /// Mail and web hooks.
    notices: Notices,
    /// What the run folder did not take of them yet.
    pointers: Pointers,
}

impl Conductor {
    fn conduct(
        &mut self,
        receiver: &Receiver<Message>,
        now: Timestamp,
    ) -> Result<u8, ConductorError> {
        let state = ConductorState::new(self.facts(now)?);
        let mut trainings = Trainings::new([(self.steps.trial, state)]);
        let agents = self.steps.agents();
        self.agents = Some(agents.map_err(|source| ConductorError::Start {
            what: "srun",
            source,
        })?);
        let first = trainings.begin();
        if let Some(code) = self.perform_all(first, now)? {
            return Ok(code);
        }
        self.listen(&mut trainings, receiver)
    }

    /// Takes what comes until all trainings are over.
    fn listen(
        &mut self,
        trainings: &mut Trainings,
        receiver: &Receiver<Message>,
    ) -> Result<u8, ConductorError> {
        loop {
            // Events that the disk did not take are tried again.
            let retry = (self.log.is_behind() || self.pointers.is_behind()).then_some(RETRY);
            let due = trainings
                .next_due()
                .map(until)
                .into_iter()
                .chain(retry)
                .min();
            let received = match due {
                Some(wait) => receiver.recv_timeout(wait),
                None => receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            let now = Timestamp(sys::now());
            if self.log.is_behind() {
                self.catch_up(now)?;
            }
            // Why not was said at the first try.
            let _ = self.pointers.note(&self.run);
            let (concerns, event) = match received {
                Ok(Message::State(concerns, event)) => (concerns, event),
                Ok(Message::Record(event)) => {
                    self.record(event, now)?;
                    continue;
                }
                // The conductor holds a sender itself: only time can have come.
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    (Concerns::Job, StateEvent::Tick)
                }
            };
            let effects = trainings.handle(concerns, &event, now);
            let result = match self.perform_all(effects, now) {
                Err(error) if disk_errors::may_pass(&error) => {
                    let cause = in_words(&error);
                    let event = StateEvent::DiskRefuses { cause };
                    let effects = trainings.handle(Concerns::Job, &event, now);
                    self.perform_all(effects, now)
                }
                result => result,
            };
            if let Some(code) = result? {
                if let Some(agents) = self.agents.take() {
                    agents.end();
                }
                // What a killed agent did not copy of event files is on the node only.
                if self.done && !self.json.plan.data.has_local_logs() {
                    let rule = &self.json.plan.checkpoints.complete.value;
                    // Also of earlier starts: an agent that was ended while it looked there left them.
                    let earlier = self.local.earlier();
                    for local in earlier.iter().chain([&self.local]) {
                        remove_saved(&self.run, local, rule);
                    }
                }
                return Ok(code);
            }
        }
    }

    fn perform_all(
        &mut self,
        effects: Vec<(TrialId, Effect)>,
        now: Timestamp,
    ) -> Result<Option<u8>, ConductorError> {
        for (trial, effect) in effects {
            if let Some(code) = self.perform(trial, effect, now)? {
                return Ok(Some(code));
            }
        }
        Ok(None)
    }

    /// `Some`: the end, with this exit code.
    fn perform(
        &mut self,
        trial: TrialId,
        effect: Effect,
        now: Timestamp,
    ) -> Result<Option<u8>, ConductorError> {
        match effect {
            Effect::Exit(code) => {
                self.settle_notices(notices::PATIENCE)?;
                // A training that is done is worth a longer wait than its end costs.
                let patience = if self.done { END } else { Duration::ZERO };
                let is_told = self.settle_log(self.patience.max(patience))?;
                // How the run ended is told in the one way that is left.
                return Ok(Some(if is_told || !matches!(code, 0 | 1) {
                    code
                } else {
                    FOLDER_REFUSED
                }));
            }
            Effect::Send(order) => {
                if matches!(order, Order::Terminate { .. } | Order::Kill | Order::Notify) {
                    self.steps.told_to_end.store(true, Ordering::Relaxed);
                }
                if let Some(agents) = &mut self.agents {
                    agents.send(&order);
                }
            }
            Effect::Record(event) => {
                if matches!(event, Event::Finished { .. }) {
                    // What an agent had half copied that was killed. It is not worth the run.
                    let _ = checkpoints::recover(&self.run);
                    self.done = true;
                }
                self.record(event, now)?;
            }
            Effect::StartAgents => {
                if let Some(old) = self.agents.take() {
                    old.make_room();
                }
                self.agents = self.steps.agents_again();
            }
            Effect::StartRanks { hellos, resume } => {
                self.start_ranks(&hellos, resume.as_ref(), now)?
            }
            Effect::AbortRanks => abort(self.ranks),
            Effect::Publish {
                name,
                parts,
                merge,
                asked,
            } => self.publish(trial, name, parts, merge, asked),
            Effect::PassOver(names) => {
                for name in names {
                    self.change_parts(&name, |parts| parts.passed_over = true, now)?;
                }
            }
            Effect::Lack(names) => {
                for (name, lacks) in names {
                    self.change_parts(&name, |parts| parts.lacks = lacks, now)?;
                }
            }
            Effect::SetAside(name) => {
                if let Err(error) = self.run.set_aside(&name) {
                    let text = format!("{name}, which is damaged, can't be put aside: {error}");
                    self.record(Event::Note { text }, now)?;
                }
            }
            Effect::AddPointer(pointer) => {
                let name = pointer.name.clone();
                let was_behind = self.pointers.is_behind();
                self.pointers.add(pointer);
                if let Err(error) = self.pointers.note(&self.run)
                    && !was_behind
                {
                    let text = format!("{name} can't be noted yet, which is tried again: {error}");
                    self.record(Event::Note { text }, now)?;
                }
            }
            Effect::Discard(parts) => {
                for part in parts {
                    folder::IncomingPart::new(&self.run, &part.incoming).remove();
                }
            }
            Effect::Requeue => {
                // What comes behind it may be ended with the job.
                self.settle_notices(notices::SHORT_PATIENCE)?;
                self.settle_log(Duration::ZERO)?;
                self.steps.requeue();
            }
            Effect::SubmitSuccessor => self.steps.succeed(self.place.clone()),
            Effect::DropSuccessor(job) => steps::cancel(job),
        }
        Ok(None)
    }

    fn change_parts(
        &mut self,
        name: &str,
        change: impl FnOnce(&mut Parts),
        now: Timestamp,
    ) -> Result<(), ConductorError> {
        match checkpoints::change_parts(&self.run, name, change) {
            Ok(()) => Ok(()),
            Err(error) => {
                let text = format!("that {name} lacks parts can't be written down: {error}");
                self.record(Event::Note { text }, now)
            }
        }
    }

    /// Beside the loop: a parallel file system may take its time for a rename.
    fn publish(
        &self,
        trial: TrialId,
        name: String,
        parts: Vec<Part>,
        merge: bool,
        asked: PartsAsked,
    ) {
        let (run, sender, keep) = (
            self.run.clone(),
            self.sender.clone(),
            self.json.plan.checkpoints.keep.value,
        );
        std::thread::spawn(move || {
            let result = {
                let now = Timestamp(sys::now());
                checkpoints::publish(&run, &name, &parts, merge, asked, now, keep)
            };
            let removed = match &result {
                Ok(_) => checkpoints::retain(&run, keep),
                Err(_) => Ok(Vec::new()),
            };
            let published = StateEvent::Published { name, result };
            let _ = sender.send(Message::State(Concerns::Trial(trial), published));
            let _ = sender.send(match removed {
                Ok(names) => Message::State(Concerns::Trial(trial), StateEvent::Retired { names }),
                Err(error) => {
                    let text = format!("older checkpoints could not be removed: {error}");
                    Message::Record(Event::Note { text })
                }
            });
        });
    }
}

/// srun ends its tasks then; it may have ended by itself already.
fn abort(srun: Option<u32>) {
    if let Some(srun) = srun {
        let _ = sys::process::signal(srun, SIGTERM);
    }
}

/// What failed and its first cause, in one line.
fn in_words(error: &dyn std::error::Error) -> String {
    let words = error.to_string();
    let what = words.split("; ").next().unwrap_or_default();
    let mut cause = error.source();
    while let Some(deeper) = cause.and_then(std::error::Error::source) {
        cause = Some(deeper);
    }
    cause.map_or_else(|| what.to_owned(), |cause| format!("{what}: {cause}"))
}

fn until(due: Timestamp) -> Duration {
    Duration::from_millis(due.since(Timestamp(sys::now())).unsigned_abs())
}
