//! The agent: one on each node, beside the ranks, for as long as the job lasts.
//!
//! It takes orders from the conductor and reports to it; it watches `{checkpoints}`, keeps what is
//! complete from vanishing, copies it out, and brings one back at the start. It ignores SIGTERM:
//! when a job is ended there are checkpoints to save, and the conductor says when to go.
//!
//! It is a loop ([`agent_loop`]) and actors, each with a thread and an inbox, that share nothing and say
//! what they have to say to the loop ([`outbox`]):
//!
//! ```text
//! conductor ⇄ loop ⇄ keeper ⇄ copier, clean-up, logs, services
//!                  ⇄ ranks, staging
//!                  ← monitor
//! ```

mod actor;
mod address;
mod agent_loop;
mod carry;
mod clean_up;
mod collect;
mod copy_out;
mod forward;
mod hold;
mod keeper;
pub mod kept;
mod log_mirror;
mod loose_containers;
mod monitor;
mod orphan;
mod outbox;
mod ranks;
mod recognise;
mod recognise_file;
mod rescue;
mod restore;
mod scan;
mod services;
mod stacks;
mod staging;
mod store;
mod tree;
pub mod unseen;
mod watcher;
mod work;

pub(crate) use loose_containers::{LooseContainer, forget as forget_container};
pub use ranks::{RankProcess, any_lives};
pub(crate) use ranks::{kill, numbered};
pub use recognise::{Recognised, recognise};
pub(crate) use rescue::{all_saved, has_newer};
pub(crate) use scan::{Scanned, is_being_written, scan};
pub use tree::{make_rest, tree};
pub(crate) use watcher::looks_temporary;

use crate::local_folder::{LocalFolder, LocalFolderError};
use crate::near_gpus;
use crate::protocol::{AgentId, Order};
use crate::visible_gpus;
use actor::ActorName;
use agent_loop::AgentLoop;
use folder::{Attempt, RunFolder};
use keeper::{Keeper, KeeperMessage};
use outbox::{Message, Outbox};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
use staging::Staging;
use std::convert::Infallible;
use std::io::{self, BufRead};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use sys::disk_errors::patiently;
use thiserror::Error;
use train::Plan;
use work::{BreakOff, Copier, Workplace};

/// Why an agent ended before it was ordered to.
#[derive(Debug, Error)]
pub enum AgentError {
    /// The node's disk.
    #[error(transparent)]
    Local(#[from] LocalFolderError),
    /// Anything else that the system refused.
    #[error("{what} failed: {source}")]
    System {
        /// What.
        what: &'static str,
        /// What the system says.
        source: io::Error,
    },
    /// A part without which it can't go on crashed: another agent takes over.
    #[error("{actor} crashed: {why}")]
    Crashed {
        /// Which.
        actor: ActorName,
        /// What it said.
        why: String,
    },
}

/// Where an agent works.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The run's plan.
    pub plan: Plan,
    /// The run folder.
    pub run: RunFolder,
    /// Which start of which job.
    pub attempt: Attempt,
    /// Its number: `SLURM_PROCID`.
    pub id: AgentId,
    /// The node's name.
    pub node: String,
    /// The node's index: `SLURM_NODEID`.
    pub node_index: u32,
}

impl Surroundings {
    fn local(&self) -> LocalFolder {
        LocalFolder::new(&self.plan.node_local.value, self.run.id(), self.attempt)
    }

    /// How long a disk that takes nothing is waited for.
    fn patience(&self) -> Duration {
        Duration::from_secs(self.plan.resume.grace.value.0)
    }

    fn monitored(&self) -> monitor::Monitored {
        monitor::Monitored {
            file: self.run.monitor_file(&self.node),
            local: self.local().path(),
            attempt: self.attempt,
            node: self.node.clone(),
            node_index: self.node_index,
            has_gpus: self.plan.gpus_per_node.value > 0,
            cpus_per_rank: self.plan.cpus_per_rank.value,
        }
    }
}

/// How often an agent says that it lives.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// Works until the conductor says that it is over.
///
/// # Errors
/// The node can't be used; the conductor knows.
pub fn run(at: Surroundings) -> Result<(), AgentError> {
    let (outbox, inbox) = Outbox::new();
    let (keeper, of_keeper) = channel();
    let (ranks, of_ranks) = channel();
    let (staging, of_staging) = channel();
    let node = at.node.clone();
    match ignore_signals() {
        Ok(terminated) => {
            let (look, local) = (at.clone(), at.local());
            actor::start(
                ActorName::Ranks,
                outbox.clone(),
                of_ranks,
                move |inbox, outbox| {
                    stacks::run(&look, &local, inbox, outbox);
                },
            );
            let mut stages = Staging {
                run: at.run.clone(),
                log: at.run.conductor_log(at.attempt.job),
                inbox: staging.clone(),
                terminated: Arc::clone(&terminated),
                process: None,
                failure: None,
            };
            actor::start(
                ActorName::Staging,
                outbox.clone(),
                of_staging,
                move |inbox, outbox| stages.work_on(inbox, outbox),
            );
            start_keeper(at, terminated, (keeper.clone(), of_keeper), outbox.clone());
            listen(outbox);
        }
        Err(error) => drop(outbox.send(Message::Over(Err(error)))),
    }
    let agent = AgentLoop {
        out: io::stdout().lock(),
        node,
        keeper,
        ranks,
        staging,
        copying: None,
        is_alone: false,
    };
    agent.run(&inbox, HEARTBEAT)
}

/// Starts the keeper, and with it what it gives work to.
fn start_keeper(
    at: Surroundings,
    terminated: Arc<AtomicBool>,
    (keeper, inbox): (Sender<KeeperMessage>, Receiver<KeeperMessage>),
    outbox: Outbox,
) {
    let local = at.local();
    let (work, of_copier) = channel();
    let workplace = Workplace {
        run: at.run.clone(),
        resume: local.resume(),
        patience: at.patience(),
        terminated: Arc::clone(&terminated),
        break_off: BreakOff::default(),
    };
    let copier = Copier {
        work,
        break_off: workplace.break_off.clone(),
    };
    let results = keeper.clone();
    actor::start(
        ActorName::Copier,
        outbox.clone(),
        of_copier,
        move |inbox, outbox| {
            work::run(&workplace, inbox, &results, outbox);
        },
    );
    let (clean_up, of_clean_up) = channel();
    let cleaned = local.clone();
    actor::start(
        ActorName::CleanUp,
        outbox.clone(),
        of_clean_up,
        move |inbox, _| {
            clean_up::run(&cleaned, inbox, &keeper);
        },
    );
    let mut start = Some((at, copier, clean_up));
    actor::start(ActorName::Keeper, outbox, inbox, move |inbox, outbox| {
        // A crash ends the agent: it begins once.
        let Some((at, copier, clean_up)) = start.take() else {
            return;
        };
        let stop = || terminated.load(Ordering::Relaxed);
        let make = || {
            let owned = local.make()?;
            make_mounted(&at.plan, &local).map(|()| owned)
        };
        let end = patiently(at.patience(), stop, make)
            .map_err(AgentError::from)
            .and_then(|_owned| {
                // Before the conductor knows of it, which starts the ranks then.
                let note = local.gpus_note(at.node_index);
                if let Err(error) = visible_gpus::write_down(&note) {
                    outbox.note(format!("{} can't be written: {error}", note.display()));
                }
                if at.plan.gpus_per_node.value > 0 {
                    let note = local.near_gpus_note(at.node_index);
                    if let Err(error) = near_gpus::write_down(&note) {
                        outbox.note(format!("{} can't be written: {error}", note.display()));
                    }
                }
                let monitored = at.monitored();
                let channels = (outbox.clone(), copier, clean_up);
                let mut keeper = Keeper::new(at, local.clone(), Arc::clone(&terminated), channels);
                keeper.hello()?;
                start_monitor(monitored, outbox.clone());
                keeper.work_on(inbox)
            });
        outbox.send(Message::Over(end));
    });
}

/// Makes the folders of the node's own that containers mount: where `srun` starts these, no process of the ranks runs
/// before.
fn make_mounted(plan: &Plan, local: &LocalFolder) -> Result<(), LocalFolderError> {
    let local = local.path();
    let container = plan.environment.container.iter();
    let mut folders = container.flat_map(|container| container.own_folders(&local));
    folders.try_for_each(|path| {
        std::fs::create_dir_all(&path).map_err(|source| LocalFolderError::System { path, source })
    })
}

fn start_monitor(monitored: monitor::Monitored, outbox: Outbox) {
    let (_none, no_messages) = channel::<Infallible>();
    actor::start(ActorName::Monitor, outbox, no_messages, move |_, outbox| {
        monitor::run(&monitored, |text| outbox.note(text));
    });
}

/// Slurm and people signal all tasks of a job; only the conductor ends an agent. Returns what
/// SIGTERM sets.
fn ignore_signals() -> Result<Arc<AtomicBool>, AgentError> {
    let terminated = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2] {
        let flag = match signal {
            SIGTERM => Arc::clone(&terminated),
            _ => Arc::default(),
        };
        signal_hook::flag::register(signal, flag).map_err(|source| AgentError::System {
            what: "catching signals",
            source,
        })?;
    }
    Ok(terminated)
}

fn listen(outbox: Outbox) {
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            // A conductor of the same version wrote it: an order that can't be read is a line that
            // someone else put into the step's input.
            if let Ok(order) = Order::parse(&line)
                && !outbox.send(Message::Order(order))
            {
                return;
            }
        }
        outbox.send(Message::NoMoreOrders);
    });
}
