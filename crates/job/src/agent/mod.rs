//! The agent: one on each node, beside the ranks, for as long as the job lasts.
//!
//! It takes orders from the conductor and reports to it; it watches `{checkpoints}`, keeps what is
//! complete from vanishing, copies it out, and brings one back at the start. It ignores SIGTERM:
//! when a job is ended there are checkpoints to save, and the conductor says when to go.

mod address;
mod carry;
mod collect;
mod copy_out;
mod hold;
pub mod kept;
mod log_mirror;
mod monitor;
mod orphan;
mod ranks;
mod recognise;
mod rescue;
mod restore;
mod scan;
mod stacks;
mod store;
mod tree;
pub mod unseen;
mod watcher;
mod work;

pub use ranks::{RankProcess, any_lives};
pub use recognise::{Recognised, recognise};
pub(crate) use rescue::{all_saved, has_newer};
pub use tree::{make_rest, tree};

use crate::local_folder::{LocalFolder, LocalFolderError};
use crate::protocol::{AgentId, DiskId, Order, Report};
use crate::python_stack;
use carry::Held;
use collect::Collecting;
use folder::{Attempt, EventTail, RunFolder};
use log_mirror::LogMirror;
use model::Timestamp;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, Write};
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use sys::disk_errors::patiently;
use thiserror::Error;
use train::{Meeting, Notify, Plan, Shape};
use watcher::Watcher;
use work::{Work, Worked, Workplace};

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
}

/// Where an agent works.
#[derive(Debug)]
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

/// What the agent's loop waits for.
enum Message {
    Order(Order),
    /// The conductor is gone.
    NoMoreOrders,
    Worked(Worked),
}

struct Draining {
    round: u32,
    until: Timestamp,
    /// Whether no process writes any more.
    ranks_gone: bool,
}

struct Agent {
    at: Surroundings,
    local: LocalFolder,
    work: Sender<Work>,
    watcher: Watcher,
    copier: bool,
    /// Whether all nodes of the job write to this disk.
    only_copier: bool,
    watching: bool,
    /// In the place of a lost agent: what is out already is not copied again.
    rescuing: bool,
    /// Complete entries that are not copied yet.
    held: BTreeMap<String, Held>,
    /// What was copied and is not known to be out.
    given: BTreeMap<String, Held>,
    /// Asked for while it was not complete yet.
    owed: BTreeSet<String>,
    /// In the worker's hands.
    copying: BTreeMap<String, Held>,
    /// Whether all was looked at that the ranks of this node left.
    all_seen: bool,
    /// Names that were said to be unspeakable.
    said: BTreeSet<String>,
    draining: Option<Draining>,
    collecting: Collecting,
    /// Copies event files that the ranks write here.
    mirror: Option<LogMirror>,
    /// Whether it was said that the run folder takes no collected files.
    said_refused: bool,
    /// Whether SIGTERM came: to all of the job's tasks, as Slurm sends it.
    terminated: Arc<AtomicBool>,
    /// Keeps the port free until the ranks start.
    port: Option<TcpListener>,
    count: u64,
}

/// How long a disk that takes nothing may keep the node-local folder from being removed.
const LONGEST_REMOVAL: Duration = Duration::from_secs(5);
/// How often `{checkpoints}` is looked at; a look that takes long is made less often.
const LOOK: Duration = Duration::from_millis(100);
const RAREST_LOOK: Duration = Duration::from_secs(2);
/// How often an agent says that it lives.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// Works until the conductor says that it is over.
///
/// # Errors
/// The node can't be used; the conductor knows.
pub fn run(at: Surroundings) -> Result<(), AgentError> {
    let broken = |error: AgentError| {
        let _ = say(Report::Broken {
            why: error.to_string(),
            disk: sys::disk_errors::may_pass(&error),
        });
        error
    };
    let terminated = ignore_signals().map_err(broken)?;
    let local = LocalFolder::new(&at.plan.node_local.value, at.run.id(), at.attempt);
    let patience = Duration::from_secs(at.plan.resume.grace.value.0);
    let stop = || terminated.load(Ordering::Relaxed);
    let owned = patiently(patience, stop, || local.make())
        .map_err(AgentError::from)
        .map_err(broken)?;
    let (sender, receiver) = channel();
    let (work, works) = channel();
    listen(sender.clone());
    let workplace = Workplace {
        run: at.run.clone(),
        resume: local.resume(),
        patience,
        terminated: Arc::clone(&terminated),
    };
    std::thread::spawn(move || {
        let note = |text| drop(say(Report::Note { text }));
        for one in works {
            let worked = work::perform(one, &workplace, note);
            if sender.send(Message::Worked(worked)).is_err() {
                return;
            }
        }
    });
    let watcher = Watcher::new(at.plan.checkpoints.complete.value.clone());
    let mut agent = Agent {
        at,
        local,
        work,
        watcher,
        copier: false,
        only_copier: false,
        watching: false,
        rescuing: false,
        held: BTreeMap::new(),
        owed: BTreeSet::new(),
        given: BTreeMap::new(),
        copying: BTreeMap::new(),
        all_seen: false,
        said: BTreeSet::new(),
        draining: None,
        collecting: Collecting::Idle,
        mirror: None,
        said_refused: false,
        terminated,
        port: None,
        count: 0,
    };
    agent.hello().map_err(broken)?;
    let monitored = agent.monitored();
    std::thread::spawn(move || monitor::run(&monitored, |text| say(Report::Note { text })));
    // From a thread of its own: a disk that hangs is no loss of the node.
    std::thread::spawn(|| {
        while say(Report::Alive).is_ok() {
            std::thread::sleep(HEARTBEAT);
        }
    });
    let result = agent.work_on(&receiver).map_err(broken);
    drop(owned);
    result
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

fn listen(sender: Sender<Message>) {
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            // A conductor of the same version wrote it: an order that can't be read is a line that
            // someone else put into the step's input.
            if let Ok(order) = Order::parse(&line)
                && sender.send(Message::Order(order)).is_err()
            {
                return;
            }
        }
        let _ = sender.send(Message::NoMoreOrders);
    });
}

fn say(report: Report) -> Result<(), AgentError> {
    let mut out = io::stdout().lock();
    out.write_all(report.line().as_bytes())
        .and_then(|()| out.flush())
        .map_err(|source| AgentError::System {
            what: "reporting to the conductor",
            source,
        })
}

impl Agent {
    fn hello(&mut self) -> Result<(), AgentError> {
        let earlier = self.local.earlier();
        let kept = earlier.iter().flat_map(|earlier| self.kept_in(earlier));
        let names: BTreeSet<String> = kept.map(|kept| kept.record.name).collect();
        for name in names {
            say(Report::Kept { name })?;
        }
        let system = |what| move |source| AgentError::System { what, source };
        let facts =
            std::fs::metadata(self.local.path()).map_err(system("looking at the node's folder"))?;
        let listener = TcpListener::bind("0.0.0.0:0").map_err(system("finding a free port"))?;
        let port = listener
            .local_addr()
            .map_err(system("finding a free port"))?
            .port();
        self.port = Some(listener);
        say(Report::Hello {
            node: self.at.node.clone(),
            node_index: self.at.node_index,
            disk: DiskId {
                boot_id: sys::boot_id(),
                device: facts.dev(),
                inode: facts.ino(),
            },
            address: address::address(&self.at.node, self.at.plan.embedded),
            port,
        })
    }

    fn work_on(&mut self, receiver: &Receiver<Message>) -> Result<(), AgentError> {
        let mut wait = LOOK;
        let events_before = self.events();
        loop {
            match receiver.recv_timeout(wait) {
                Ok(Message::Order(Order::Finish { clean })) => {
                    self.finish(clean);
                    say(Report::Finished)?;
                    while !matches!(receiver.recv(), Ok(Message::NoMoreOrders) | Err(_)) {}
                    self.left_alone(events_before);
                    return Ok(());
                }
                Ok(Message::Order(Order::MakeRoom)) => return Ok(()),
                Ok(Message::Order(order)) => self.obey(order)?,
                Ok(Message::Worked(worked)) => self.worked(worked)?,
                Ok(Message::NoMoreOrders) => return self.orphaned(events_before),
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => {
                    let begun = Instant::now();
                    self.look()?;
                    wait = (begun.elapsed() * 10).clamp(LOOK, RAREST_LOOK);
                }
            }
        }
    }

    /// One agent for each disk copies.
    fn mirror_logs(&mut self) {
        if self.copier && self.at.plan.data.has_local_logs() {
            let (from, to) = (self.local.logs(), self.at.run.tensorboard());
            let note = |text| drop(say(Report::Note { text }));
            self.mirror = Some(LogMirror::start(from, to, note));
        }
    }

    /// What the ranks wrote last.
    fn last_logs(&self) {
        if let Some(mirror) = &self.mirror {
            // The mirror itself says why not all was copied.
            let _ = mirror.copy_now();
        }
    }

    fn finish(&self, clean: bool) {
        self.last_logs();
        // What is held without a link has no record by which it would be found.
        if self.all_seen && self.held.values().all(Held::is_linked) {
            unseen::all_seen(&self.local);
        }
        // One that does not copy shares the folder of one that does.
        if self.local.has_uncollected() {
            let _ = std::fs::remove_dir_all(self.local.resume());
        } else if self.copier && clean && all_saved(&self.at.run, &self.local) {
            // A disk that is read-only for a while would keep it.
            let removed = patiently(LONGEST_REMOVAL, || false, || self.local.remove());
            if let Err(error) = removed {
                let _ = writeln!(io::stderr(), "note: a folder is left on the node: {error}");
            }
        } else if self.copier {
            self.local.remove_bulk();
        }
    }

    fn monitored(&self) -> monitor::Monitored {
        let plan = &self.at.plan;
        monitor::Monitored {
            file: self.at.run.monitor_file(&self.at.node),
            local: self.local.path(),
            attempt: self.at.attempt,
            node: self.at.node.clone(),
            node_index: self.at.node_index,
            has_gpus: plan.gpus_per_node.value > 0,
            cpus_per_rank: plan.cpus_per_rank.value,
        }
    }

    /// How many events of this start are written down.
    fn events(&self) -> usize {
        let events = EventTail::new(self.at.run.events(self.at.attempt)).read();
        events.map_or(0, |events| events.len())
    }

    fn obey(&mut self, order: Order) -> Result<(), AgentError> {
        match order {
            Order::Roles { copiers } => {
                self.copier = copiers.contains(&self.at.id);
                self.only_copier = copiers == [self.at.id];
                if self.copier {
                    self.adopt();
                }
            }
            Order::Restore { name, kept } => {
                if self.copier {
                    let from = self.held.get(&name).filter(|_| kept);
                    let kept = from.map(|held| held.path().to_owned());
                    self.give(Work::Restore { name, kept });
                }
            }
            Order::Watch { resume } => {
                self.open_port();
                self.watching = self.copier;
                self.mirror_logs();
                if self.at.plan.hang.is_some() {
                    // Without it the kernel says where ranks stand.
                    let _ = python_stack::install(&self.local.path());
                }
                if self.copier && !self.at.plan.data.collect.value.is_empty() {
                    let noted = self.local.note_uncollected();
                    noted.map_err(|source| AgentError::System {
                        what: "noting that files are to be collected",
                        source,
                    })?;
                }
                if self.copier {
                    let rule = &self.at.plan.checkpoints.complete.value;
                    let note = || unseen::note(&self.local, rule);
                    patiently(LONGEST_REMOVAL, || false, note).map_err(|source| {
                        AgentError::System {
                            what: "noting that checkpoints may be written",
                            source,
                        }
                    })?;
                }
                if resume.is_none() && self.copier {
                    let resume = self.local.resume();
                    patiently(LONGEST_REMOVAL, || false, || restore::clear(&resume)).map_err(
                        |source| AgentError::System {
                            what: "emptying {resume}",
                            source,
                        },
                    )?;
                }
                if let Some(name) = resume
                    && self.copier
                    && let Ok(tree) = tree(&self.local.resume().join(&name))
                {
                    self.watcher.was_finished(&name, scan::shape(&tree));
                }
            }
            Order::Rescue { resume } => self.rescue(resume.as_deref())?,
            Order::Copy { name, from } => {
                if from.contains(&self.at.id) {
                    self.copy(name)?;
                }
            }
            Order::Out { name } => self.is_out(&name),
            Order::Forget { name } => self.forget(&name),
            Order::Notify => self.notify()?,
            Order::Stacks => self.look_at_ranks(),
            Order::Signal { kill } => {
                self.ending()?;
                let ranks = ranks::on_node(&self.local.path(), self.at.node_index);
                if kill {
                    ranks::kill(&ranks)
                } else {
                    ranks::terminate(&ranks)
                }
            }
            Order::Drain {
                round,
                until,
                ranks_gone,
                finished,
            } => {
                if ranks_gone {
                    self.last_logs();
                }
                if self.copier {
                    // First what has come since the last look, so that it counts as in work.
                    self.look()?;
                    let now = Timestamp(sys::now());
                    self.watcher.drain(now, ranks_gone, finished);
                    self.draining = Some(Draining {
                        round,
                        until,
                        ranks_gone,
                    });
                    self.look()?;
                }
            }
            // The loop has taken it.
            Order::MakeRoom | Order::Finish { .. } => {}
        }
        Ok(())
    }

    /// Beside the loop: a process may be slow to look at.
    fn look_at_ranks(&self) {
        let ranks = ranks::numbered(&self.local.path(), self.at.node_index);
        let (run, attempt) = (self.at.run.clone(), self.at.attempt);
        let local = self.local.path();
        std::thread::spawn(move || {
            for stack in stacks::look(&run, &local, attempt, &ranks) {
                let _ = say(Report::Stack(stack));
            }
            let _ = say(Report::Looked);
        });
    }

    /// The port is for the ranks now, or for what they ask here.
    fn open_port(&mut self) {
        let meeting = self.at.plan.launcher.value.meeting();
        if let Some(port) = self.port.take()
            && meeting == Meeting::Store
            && self.at.node_index == 0
        {
            store::serve(port);
        }
    }

    fn give(&self, work: Work) {
        // The worker lives as long as the agent: it ends when this sender does.
        let _ = self.work.send(work);
    }

    fn notify(&self) -> Result<(), AgentError> {
        let workers = self.at.plan.launcher.value.shape() == Shape::Agents;
        let ranks = || ranks::on_node(&self.local.path(), self.at.node_index);
        match self.at.plan.resume.notify.value {
            Notify::None => Ok(()),
            Notify::File => {
                std::fs::write(self.local.stop_file(), b"").map_err(|source| AgentError::System {
                    what: "writing the stop file",
                    source,
                })
            }
            Notify::Sigterm => {
                ranks::notify(&ranks(), SIGTERM, workers);
                Ok(())
            }
            Notify::Sigusr1 => {
                ranks::notify(&ranks(), SIGUSR1, workers);
                Ok(())
            }
        }
    }
}
