//! After the loss of a conductor: its parent ends what it left and brings out what is complete, or,
//! where the parent is gone as well, an agent says what becomes of the run.

use super::opening::Opened;
use super::state::{ConductorState, Loss, Trainings};
use super::{Conductor, ConductorError, history, listen_to_signals};
use crate::trained;
use folder::{Attempt, Event, LinkState, RunFolder, TrainingProgress};
use model::Timestamp;
use signal_hook::consts::{SIGKILL, SIGTERM};
use std::path::Path;
use std::time::{Duration, Instant};
use sys::process::{self, Reaped};

/// How long steps may take to end whose conductor is gone.
const LONGEST_END: Duration = Duration::from_secs(3);

/// What the conductor's parent does after its loss; returns the batch script's exit code.
pub(super) fn after_conductor(
    folder: &Path,
    number: u32,
    signal: i32,
    told_to_end: bool,
) -> Result<u8, ConductorError> {
    let now = Timestamp(sys::now());
    let (mut conductor, receiver) = match Conductor::open(folder, number, now)? {
        Opened::Conducts(conductor, receiver) => (*conductor, receiver),
        Opened::Over(code) => return Ok(code),
    };
    if told_to_end {
        conductor.record(Event::Terminated { reason: None }, now)?;
        return Ok(u8::try_from(128 + signal).unwrap_or(1));
    }
    listen_to_signals(&conductor)?;
    let attempt = conductor.steps.allocation.attempt;
    // Before its steps are ended: then their ends tell nothing.
    let trained = trained::is_done(&conductor.run, attempt);
    let cause = format!("the conductor was ended by signal {signal}");
    let loss = conductor.lost(cause, trained, now)?;
    end_children();
    let facts = conductor.facts(now)?;
    let state = ConductorState::after(loss, facts, Timestamp(sys::now()));
    let mut trainings = Trainings::new([(conductor.steps.trial, state)]);
    conductor.agents = conductor.steps.agents_again();
    conductor.listen(&mut trainings, &receiver)
}

/// What an agent does once the batch step was killed and the cluster ends the job.
///
/// # Errors
/// The run folder can't be read or written.
pub fn without_batch_step(
    folder: &Path,
    attempt: Attempt,
    cause: String,
    trained: bool,
) -> Result<u8, ConductorError> {
    let now = Timestamp(sys::now());
    let number = number_of(&RunFolder::at(folder), attempt.job);
    let (mut conductor, receiver) = match Conductor::open(folder, number, now)? {
        Opened::Conducts(conductor, receiver) => (*conductor, receiver),
        Opened::Over(code) => return Ok(code),
    };
    let loss = conductor.lost(cause, trained, now)?;
    let facts = conductor.facts(now)?;
    let (state, effects) = ConductorState::without_batch_step(loss, facts);
    let trial = conductor.steps.trial;
    let effects = effects.into_iter().map(|effect| (trial, effect));
    let mut trainings = Trainings::new([(trial, state)]);
    match conductor.perform_all(effects.collect(), now)? {
        Some(code) => Ok(code),
        None => conductor.listen(&mut trainings, &receiver),
    }
}

/// The link of a job in its run.
fn number_of(run: &RunFolder, job: u32) -> u32 {
    let links = run.read_links().unwrap_or_default();
    let own = links
        .into_iter()
        .find(|link| matches!(link.state, LinkState::Submitted { job: known, .. } if known == job));
    own.map_or(1, |link| link.number)
}

impl Conductor {
    /// Writes the loss down, so that no other process takes it up.
    fn lost(
        &mut self,
        cause: String,
        trained: bool,
        now: Timestamp,
    ) -> Result<Loss, ConductorError> {
        let attempt = self.steps.allocation.attempt;
        let events = history::events_of(&self.run, attempt).unwrap_or_default();
        let progress = TrainingProgress::of(&events);
        let words = cause.clone();
        self.record(Event::Lost { cause: words }, now)?;
        Ok(Loss {
            cause,
            trained,
            progress,
        })
    }
}

/// Ends the steps that the conductor had started, whose srun this process inherited. Each leads a
/// group; what was just asked or submitted does not and is left to its end, and an engine that was
/// started from here has a session of its own.
fn end_children() {
    let own = std::process::id();
    let steps = || {
        let children = process::children(own).into_iter();
        children.filter(|child| process::leads_a_group(*child))
    };
    steps().for_each(|srun| drop(process::signal(srun, SIGTERM)));
    let begun = Instant::now();
    while steps().next().is_some() && begun.elapsed() < LONGEST_END {
        if !matches!(process::reap(), Reaped::Child(..)) {
            std::thread::sleep(Duration::from_millis(10));
        }
    }
    for srun in steps() {
        let below = process::descendants(srun);
        for process in below.into_iter().chain([srun]) {
            let _ = process::signal(process, SIGKILL);
        }
    }
}
