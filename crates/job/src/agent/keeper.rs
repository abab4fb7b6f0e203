//! The actor that keeps checkpoints: it takes the conductor's orders, looks at `{checkpoints}`, keeps what
//! is complete from vanishing, and has it copied.

use super::carry::Held;
use super::clean_up::{Left, Removal};
use super::collect::Collecting;
use super::kept::Kept;
use super::log_mirror::LogMirror;
use super::outbox::Outbox;
use super::rescue::all_saved;
use super::services::Services;
use super::tree::tree;
use super::watcher::Watcher;
use super::work::{Copier, Work, Worked};
use super::{
    AgentError, Surroundings, address, loose_containers, ranks, restore, scan, store, unseen,
};
use crate::local_folder::LocalFolder;
use crate::protocol::{DiskId, Order, Report};
use crate::python_stack;
use folder::{Companion, EventTail, Pointer};
use model::Timestamp;
use signal_hook::consts::{SIGTERM, SIGUSR1};
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};
use sys::ProgramPort;
use sys::disk_errors::patiently;
use train::{Meeting, Notify, Shape};

/// How long a disk that takes nothing may keep the node-local folder from being used or removed.
pub(super) const LONGEST_REMOVAL: Duration = Duration::from_secs(5);
/// How long containers whose wrappers were killed may take to end before checkpoints are saved beside them.
const CONTAINERS_END: Duration = Duration::from_secs(5);
/// How often `{checkpoints}` is looked at; a look that takes long is made less often.
pub(super) const LOOK: Duration = Duration::from_millis(100);
const RAREST_LOOK: Duration = Duration::from_secs(2);

/// What the keeper waits for.
pub(super) enum KeeperMessage {
    /// The conductor's.
    Order(Order),
    /// The conductor is gone.
    NoMoreOrders,
    /// What came of a piece of work.
    Worked(Worked),
    /// The node is cleaned up.
    CleanedUp,
}

pub(super) struct Draining {
    pub round: u32,
    pub until: Timestamp,
    /// Whether no process writes any more.
    pub ranks_gone: bool,
}

pub(super) struct Keeper {
    pub outbox: Outbox,
    pub at: Surroundings,
    pub local: LocalFolder,
    pub to_copier: Copier,
    pub clean_up: Sender<Removal>,
    pub watcher: Watcher,
    pub copier: bool,
    /// Whether all nodes of the job write to this disk.
    pub only_copier: bool,
    pub watching: bool,
    /// Whether it was said that this node writes into its `{checkpoints}`.
    pub writes: bool,
    /// In the place of a lost agent: what is out already is not copied again.
    pub rescuing: bool,
    /// Complete entries that are not copied yet.
    pub held: BTreeMap<String, Held>,
    /// What was copied and is not known to be out.
    pub given: BTreeMap<String, Held>,
    /// Asked for while it was not complete yet.
    pub owed: BTreeSet<String>,
    /// In the worker's hands.
    pub copying: BTreeMap<String, Held>,
    /// Whether the folder says that ranks may write what no agent has looked at.
    pub noted_unseen: bool,
    /// Whether all was looked at that the ranks of this node left.
    pub all_seen: bool,
    /// What the program keeps beside its checkpoints to find the newest.
    pub pointers: BTreeSet<Pointer>,
    /// Names that were said to be unspeakable, or unreadable.
    pub said: BTreeSet<String>,
    pub draining: Option<Draining>,
    pub collecting: Collecting,
    /// Copies event files that the ranks write here.
    pub mirror: Option<LogMirror>,
    /// The programs beside the ranks, on the first node.
    pub services: Option<Services>,
    /// Whether it was said that the run folder takes no collected files.
    pub said_refused: bool,
    /// Whether SIGTERM came: to all of the job's tasks, as Slurm sends it.
    pub terminated: Arc<AtomicBool>,
    /// Where the ranks meet; its listener keeps it free until they start.
    pub port: Option<ProgramPort>,
    pub count: u64,
    /// Whether nothing is left to do but the clean-up.
    pub finishing: bool,
    /// Whether the orders ended during the clean-up.
    pub orders_ended: bool,
}

impl Keeper {
    /// One that has not looked yet.
    pub fn new(
        at: Surroundings,
        local: LocalFolder,
        terminated: Arc<AtomicBool>,
        (outbox, to_copier, clean_up): (Outbox, Copier, Sender<Removal>),
    ) -> Keeper {
        let watcher = Watcher::new(at.plan.checkpoints.complete.value.clone());
        Keeper {
            outbox,
            at,
            local,
            to_copier,
            clean_up,
            watcher,
            copier: false,
            only_copier: false,
            watching: false,
            writes: false,
            rescuing: false,
            held: BTreeMap::new(),
            owed: BTreeSet::new(),
            given: BTreeMap::new(),
            copying: BTreeMap::new(),
            noted_unseen: false,
            all_seen: false,
            pointers: BTreeSet::new(),
            said: BTreeSet::new(),
            draining: None,
            collecting: Collecting::Idle,
            mirror: None,
            services: None,
            said_refused: false,
            terminated,
            port: None,
            count: 0,
            finishing: false,
            orders_ended: false,
        }
    }

    /// Says that the agent is there, and what it finds.
    pub fn hello(&mut self) -> Result<(), AgentError> {
        let written = |kept: &Kept| tree(&kept.path).ok().and_then(|tree| tree.written());
        let mut all: BTreeMap<String, Kept> = BTreeMap::new();
        // The newest first, as they are taken over.
        for earlier in self.local.earlier() {
            for one in self.kept_in(&earlier) {
                all.entry(one.record.name.clone()).or_insert(one);
            }
        }
        for (name, kept) in all {
            self.outbox.say(Report::Kept {
                name,
                written: written(&kept),
                bytes: Some(kept.record.bytes),
                start: kept.record.start,
            });
        }
        let system = |what| move |source| AgentError::System { what, source };
        let facts =
            std::fs::metadata(self.local.path()).map_err(system("looking at the node's folder"))?;
        let port = ProgramPort::choose(Ipv4Addr::UNSPECIFIED);
        let port = self
            .port
            .insert(port.map_err(system("finding a free port"))?)
            .number();
        let is_virtual = self.at.plan.embedded && !address::has_own_network();
        let own = address::address(&self.at.node, is_virtual);
        self.outbox.say(Report::Hello {
            node: self.at.node.clone(),
            node_index: self.at.node_index,
            disk: DiskId {
                boot_id: sys::boot_id(),
                device: facts.dev(),
                inode: facts.ino(),
            },
            address: own.address,
            port,
        });
        // Ranks meet at the first node.
        let is_first_of_several = self.at.node_index == 0 && self.at.plan.nodes.value > 1;
        if let Some(note) = own.note.filter(|_| is_first_of_several) {
            self.outbox.note(note);
        }
        Ok(())
    }

    /// Works until the conductor says that it is over.
    pub fn work_on(&mut self, inbox: &Receiver<KeeperMessage>) -> Result<(), AgentError> {
        let mut wait = LOOK;
        let events_before = self.events();
        loop {
            match inbox.recv_timeout(wait) {
                Ok(KeeperMessage::Order(Order::MakeRoom)) => return Ok(()),
                Ok(KeeperMessage::Order(order)) => self.obey(order)?,
                Ok(KeeperMessage::Worked(worked)) => self.worked(worked),
                Ok(KeeperMessage::CleanedUp) => {
                    self.outbox.say(Report::Finished);
                    let is_last = |message| matches!(message, KeeperMessage::NoMoreOrders);
                    while !self.orders_ended && !inbox.recv().map_or(true, is_last) {}
                    self.left_alone(events_before);
                    return Ok(());
                }
                Ok(KeeperMessage::NoMoreOrders) if self.finishing => self.orders_ended = true,
                Ok(KeeperMessage::NoMoreOrders) => {
                    if let Some(services) = &self.services {
                        services.end_soon();
                    }
                    return self.orphaned(events_before);
                }
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
    pub(super) fn mirror_logs(&mut self) {
        if self.copier && self.at.plan.data.has_local_logs() {
            let (from, to) = (self.local.logs(), self.at.run.tensorboard());
            self.mirror = Some(LogMirror::start(from, to, self.outbox.clone()));
        }
    }

    /// What the ranks wrote last.
    pub(super) fn last_logs(&self) {
        if let Some(mirror) = &self.mirror {
            // The mirror itself says why not all was copied.
            let _ = mirror.copy_now();
        }
    }

    /// One that can't be started costs no run.
    fn start_services(&mut self, resume: Option<&str>) {
        if self.at.node_index != 0 || self.at.plan.services.is_empty() {
            return;
        }
        let terminated = Arc::clone(&self.terminated);
        match Services::start(&self.at, resume, terminated, self.outbox.clone()) {
            Ok(services) => self.services = Some(services),
            Err(error) => self
                .outbox
                .note(format!("no services are started: {error}")),
        }
    }

    fn finish(&mut self, clean: bool) {
        if let Some(services) = self.services.take() {
            services.end();
        }
        self.last_logs();
        // What is held without a link has no record by which it would be found.
        // And what may be complete of a run that has failed is not looked at again by itself.
        if clean && self.all_seen && self.held.values().all(Held::is_linked) {
            unseen::all_seen(&self.local);
        }
        if clean && self.copier {
            self.remove_earlier();
        }
        let removal = Removal::of(Left {
            copier: self.copier,
            uncollected: self.local.has_uncollected(),
            saved: self.copier && clean && all_saved(&self.at.run, &self.local),
        });
        // Nothing is looked at any more that may be removed.
        self.watching = false;
        self.finishing = true;
        // It lives as long as the agent.
        let _ = self.clean_up.send(removal);
    }

    /// A disk that takes nothing must not end the job: it is tried again at the next look.
    pub(super) fn note_unseen(&mut self) {
        let rule = &self.at.plan.checkpoints.complete.value;
        self.noted_unseen = unseen::note(&self.local, rule).is_ok();
    }

    /// How many events of this start are written down.
    pub(super) fn events(&self) -> usize {
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
            Order::Restore { name, kept, with } => {
                if self.copier {
                    let head = Companion { name, kept };
                    let all = [head].into_iter().chain(with);
                    let members = all.map(|Companion { name, kept }| {
                        let from = self.held.get(&name).filter(|_| kept);
                        let kept = from.map(|held| held.path().to_owned());
                        (name, kept)
                    });
                    let members = members.collect();
                    self.give(Work::Restore { members });
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
                    self.note_unseen();
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
                if self.copier {
                    self.compare_with_resumed();
                }
            }
            Order::StartServices { resume } => self.start_services(resume.as_deref()),
            Order::Rescue => self.rescue()?,
            Order::Marked { name } => {
                if self.copier {
                    self.watcher.marked_elsewhere(name);
                    self.look()?;
                }
            }
            Order::Left => self.watcher.left_by_themselves(),
            Order::Copy { name, from } => {
                if from.contains(&self.at.id) {
                    self.copy(name);
                }
            }
            Order::BreakOff { name } => {
                if self.copying.contains_key(&name) {
                    self.to_copier.break_off.set(Some(name));
                }
            }
            Order::Out { name } => self.is_out(&name),
            Order::Forget { name } => self.forget(&name),
            Order::Notify => self.notify()?,
            Order::Terminate { by_cluster } => {
                self.ending()?;
                if !by_cluster || !self.terminated.load(Ordering::Relaxed) {
                    ranks::terminate(&ranks::on_node(&self.local.path(), self.at.node_index));
                }
            }
            Order::Kill => {
                self.ending()?;
                ranks::kill(&ranks::on_node(&self.local.path(), self.at.node_index));
            }
            Order::Drain {
                round,
                until,
                ranks_gone,
                finished,
            } => {
                if ranks_gone {
                    let own = Some(self.at.node_index);
                    loose_containers::end_left(&self.local.path(), own, CONTAINERS_END);
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
            Order::Finish { clean } => self.finish(clean),
            // The loop has taken them.
            Order::MakeRoom | Order::Stacks | Order::Stage | Order::AbortStage => {}
        }
        Ok(())
    }

    /// What was resumed from is whole: what the ranks write is compared with it.
    pub(super) fn compare_with_resumed(&mut self) {
        let resumed = std::fs::read_dir(self.local.resume());
        for entry in resumed.into_iter().flatten().flatten() {
            if let Some(name) = entry.file_name().to_str()
                && let Ok(tree) = tree(&entry.path())
            {
                self.watcher.was_finished(name, scan::shape(&tree));
            }
        }
    }

    /// The port is for the ranks now, or for what they ask here.
    fn open_port(&mut self) {
        let meeting = self.at.plan.launcher.value.meeting();
        if let Some(port) = self.port.as_mut().and_then(ProgramPort::take_listener)
            && meeting == Meeting::Store
            && self.at.node_index == 0
        {
            store::serve(port);
        }
    }

    pub(super) fn give(&self, work: Work) {
        // The worker lives as long as the agent: it ends when this sender does.
        let _ = self.to_copier.work.send(work);
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
