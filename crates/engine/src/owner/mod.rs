//! The owner: one thread that holds all state and drains one channel.
//!
//! ```text
//! messages that wait ─► applied to the scheduler ─► schedule ─► one transaction
//!   ─► answers ─► effects: supervisors started, signals sent, watchers woken
//! ```
//! Nothing is answered or done before it is written. Where writing fails, memory is dropped and
//! made anew from the store.

mod accounting;
mod active_job;
mod adopted;
mod allocation;
mod barred;
mod batch_step;
mod cancel;
mod change_cluster;
mod clock;
mod cluster_report;
mod components;
mod config;
mod cpu_locks;
mod elements;
mod end;
mod facts;
mod gpu_locks;
mod holders;
mod job_files;
pub(crate) mod job_programs;
mod job_prolog;
mod keep;
mod launch;
mod lost_networks;
mod lost_supervisors;
mod mail;
mod missing_groups;
mod node_events;
mod node_settings;
mod nodes;
mod preempt;
mod priorities;
mod read;
pub(crate) mod recover;
mod requeue;
mod reservations;
mod rights;
mod statistics;
mod step;
mod step_of_job;
mod step_tasks;
mod submit;
mod suspend;
mod sweep;
mod topology;
mod turn;
mod unread;
mod unstarted;
mod update;
mod watch;
mod why;

use crate::call_counts::CallCounts;
use crate::engine_cluster::EngineCluster;
use crate::fork_server::{ForkServer, ForkServerEvent};
use crate::isolation::Isolation;
use crate::message::{Message, PendingCall};
use crate::messenger::Messenger;
use crate::node_disks;
use crate::own_processes::OwnProcesses;
use crate::shared_parts::SharedParts;
use crate::store::Store;
use crate::users::Users;
use active_job::ActiveJob;
pub(crate) use adopted::Adopted;
use api::{Answer, Call, EngineFolder, Refusal};
pub(crate) use clock::Clock;
pub(crate) use cpu_locks::CpuLocks;
pub(crate) use gpu_locks::GpuLocks;
pub(crate) use job_prolog::FailedPrologs;
pub(crate) use keep::{Keep, NotACount};
pub(crate) use mail::MailQueue;
pub(crate) use missing_groups::LastLook;
use model::{JobId, NodeEvent, NodeName, Timestamp};
use requeue::Requeue;
use rights::Act;
use sched::State;
pub(crate) use statistics::Statistics;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;
use turn::Turn;
pub(crate) use unread::Unread;
use watch::Waiter;

/// Most messages of one transaction: an answer must not wait for thousands of others.
const MOST_MESSAGES: usize = 4096;
/// Longest sleep while something lies ahead: the clock may be set, and a machine may be suspended.
const LONGEST_SLEEP: Duration = Duration::from_secs(30);
/// The same where old rows and folders alone are due: an idle engine has nothing that hurries.
const LONGEST_IDLE_SLEEP: Duration = Duration::from_secs(3600);
/// Pause after a failed transaction before the ends that could not be written are looked for again.
const RETRY_MS: i64 = 1000;

/// All state of the engine.
#[derive(Debug)]
pub(crate) struct Owner {
    pub(crate) folder: EngineFolder,
    /// The pinned program.
    pub(crate) binary: PathBuf,
    pub(crate) since: Timestamp,
    pub(crate) clock: Clock,
    pub(crate) store: Store,
    pub(crate) cluster: EngineCluster,
    /// Whether its nodes are machines of their own.
    pub(crate) isolation: Isolation,
    /// How often a disk of theirs was emptied.
    pub(crate) emptied: u64,
    pub(crate) state: State,
    /// What running jobs have.
    pub(crate) running: BTreeMap<JobId, ActiveJob>,
    pub(crate) fork_server: ForkServer,
    pub(crate) own: Arc<OwnProcesses>,
    pub(crate) messenger: Messenger,
    /// For threads that wait for adopted supervisors.
    pub(crate) sender: mpsc::Sender<Message>,
    pub(crate) users: Arc<Users>,
    pub(crate) waiters: Vec<Waiter>,
    pub(crate) gpus: GpuLocks,
    pub(crate) cpus: CpuLocks,
    /// Connections that allocations without a script belong to.
    pub(crate) allocations: BTreeMap<JobId, allocation::Owned>,
    /// Submissions whose script and environment this engine has written for their supervisors.
    pub(crate) has_files: BTreeSet<JobId>,
    /// When the next folder of an ended job may go.
    pub(crate) sweep_at: Option<Timestamp>,
    /// Jobs that ended since folders were last removed.
    pub(crate) ended_since_sweep: usize,
    /// When a job last ended on a node, as far as this engine knows.
    pub(crate) last_busy: HashMap<NodeName, Timestamp>,
    /// Times in which nodes take no jobs, that have not ended.
    pub(crate) open_events: Vec<NodeEvent>,
    /// Programs before jobs that failed.
    pub(crate) failed_prologs: FailedPrologs,
    /// How many ended jobs are remembered.
    pub(crate) keep: Keep,
    /// When to look again for what a failed transaction could not write.
    pub(crate) retry_at: Option<Timestamp>,
    /// What could be neither written nor read again, and what waits for that.
    pub(crate) unread: Unread,
    /// Supervisors that are no children of the fork server.
    pub(crate) adopted: Adopted,
    /// When networks that could not be made are tried again.
    pub(crate) retry_networks_at: Option<Timestamp>,
    /// When the changed cluster that could not be written is written again.
    pub(crate) hand_out_at: Option<Timestamp>,
    /// From SIGTERM to SIGKILL, where the cluster is not asked.
    pub(crate) set_kill_wait_ms: Option<u64>,
    /// Mail about jobs.
    pub(crate) mail: MailQueue,
    /// What the scheduler did.
    pub(crate) statistics: Statistics,
    /// What jobs that were submitted lately have alike.
    pub(crate) parts: SharedParts,
    /// What callers wanted.
    pub(crate) calls: Arc<CallCounts>,
    /// Which control groups can't be made.
    pub(crate) groups: LastLook,
}

/// Why the owner ended.
#[derive(Debug)]
pub(crate) enum Leaving {
    /// A client requested it, and waits for the answer.
    Requested(mpsc::Sender<Answer>, Box<Answer>),
    /// SIGTERM.
    Signal,
    /// The fork server is gone: only another engine can have one.
    ForkServerLost,
    /// No client finds this engine any more: only another engine can have a new socket, and where
    /// the folder is gone none has anything to serve.
    SocketGone,
}

impl Owner {
    /// Lives until it is ended.
    pub(crate) fn live(&mut self, messages: &mpsc::Receiver<Message>) -> Leaving {
        let mut turn = self.new_turn();
        self.recover(&mut turn, true);
        self.begin_networks(&mut turn);
        self.finish(turn);
        loop {
            let first = match self.time_left() {
                None => messages.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(left) => messages.recv_timeout(left),
            };
            let first = match first {
                Ok(message) => Some(message),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return Leaving::Signal,
            };
            let put_off = self.put_off();
            let mut turn = self.new_turn();
            let mut leaving = None;
            // What was taken out of where it waited can't wait there for the next turn.
            let taken = put_off.into_iter().chain(first);
            for message in taken.chain(messages.try_iter().take(MOST_MESSAGES)) {
                let message = self.unless_unread(message);
                leaving = message.and_then(|message| self.take(message, &mut turn));
                if leaving.is_some() {
                    break;
                }
            }
            // What is in memory then was never written.
            if !self.unread.is_so() {
                self.on_time(&mut turn);
                self.finish(turn);
            }
            if let Some(leaving) = leaving {
                self.leave(messages);
                return leaving;
            }
        }
    }

    fn take(&mut self, message: Message, turn: &mut Turn) -> Option<Leaving> {
        match message {
            Message::Call(asked) => return self.call(*asked, turn),
            Message::Disconnected(connection) => self.disconnected(connection, turn),
            Message::ForkServer(ForkServerEvent::Failed {
                key,
                message,
                may_pass,
            }) => {
                self.not_started(key, &message, may_pass, turn);
                let failed = ForkServerEvent::Failed {
                    key,
                    message,
                    may_pass,
                };
                turn.told_once.push(Message::ForkServer(failed));
            }
            Message::ForkServer(ForkServerEvent::Ended { key, exit }) => match exit {
                Some(exit) => self.supervisor_ended(key, exit, turn),
                None => self.supervisor_gone(key, turn),
            },
            Message::NoticeShown => {
                if let Err(error) = self.store.losses_shown() {
                    tracing::warn!("what was lost will be reported again: {error}");
                }
            }
            Message::ProgramEnded(run, result) => {
                self.program_ended(run.clone(), result.clone(), turn);
                turn.told_once.push(Message::ProgramEnded(run, result));
            }
            Message::Gone(key) => self.adopted_gone(key, turn),
            Message::OrphansEnded(job, restart) => self.orphans_ended(job, restart, turn),
            // Each turn looks for it.
            Message::NetworksLost => {}
            Message::ForkServerLost => return Some(Leaving::ForkServerLost),
            Message::SocketGone => return Some(Leaving::SocketGone),
            Message::Stop => return Some(Leaving::Signal),
        }
        None
    }

    fn call(&mut self, asked: PendingCall, turn: &mut Turn) -> Option<Leaving> {
        let PendingCall { call, peer, reply } = asked;
        let may = rights::check(peer.uid, sys::process::user(), Act::of(&call));
        if let Err(refusal) = may {
            turn.answer(reply, Answer::Refused(refusal));
            return None;
        }
        let result = match call {
            Call::Handover(handover) => {
                tracing::info!("handing over to {}", handover.to);
                return Some(Leaving::Requested(reply, Box::new(Answer::HandedOver)));
            }
            Call::Stop => return Some(Leaving::Requested(reply, Box::new(Answer::Done))),
            // What only reads is answered after the transaction, from what it wrote.
            Call::Jobs { .. }
            | Call::Watch { .. }
            | Call::Steps { .. }
            | Call::Histories { .. }
            | Call::Facts
            | Call::Cluster
            | Call::Accounting
            | Call::Events
            | Call::Transactions
            | Call::Priorities
            | Call::Shares
            | Call::Holders { .. }
            | Call::Statistics
            | Call::Test { .. }
            | Call::Why { .. } => {
                turn.reads.push((call, peer, reply));
                return None;
            }
            Call::Submit(submission) => self.submit(*submission, peer, turn),
            Call::Script { job, environment } => self.script(job, environment, peer),
            Call::ResetStatistics => {
                self.reset_statistics(turn.now);
                Ok(Answer::Done)
            }
            Call::Cancel(request) => self.cancel(request, peer, turn),
            Call::CancelEach { requests } => {
                let each = requests.into_iter();
                let refusals = each.map(|request| self.cancel(request, peer, turn).err());
                Ok(Answer::Cancelled {
                    refusals: refusals.collect(),
                })
            }
            Call::Requeue {
                job,
                hold,
                restart,
                only_running,
            } => {
                let again = Requeue {
                    hold,
                    restart,
                    only_running,
                };
                self.requeue(job, again, peer, turn)
            }
            Call::Update { job, changes } => self.update(job, &changes, peer, turn),
            Call::Hold { job, hold, user } => {
                let by = hold.then(|| rights::holder(peer.uid, user));
                self.hold(job, by, peer, turn)
            }
            Call::Suspend { job, suspend } => self.suspend(job, suspend, peer, turn),
            Call::Notify { job, text } => self.notify(job, &text, peer, turn),
            Call::Preempt { job, mode } => self.preempt(job, mode, peer, turn),
            Call::CreateStep { job, step } => {
                let made = self.create_step(job, &step, peer, turn);
                made.map(Answer::Step)
            }
            Call::ChangeCluster(change) => self.change_cluster(*change, peer, turn),
            Call::Reconfigure => self.reconfigure(turn),
            Call::Reserve { asked, is_new } => self.reserve(&asked, is_new, turn),
            Call::Unreserve { name } => self.unreserve(name, turn),
            Call::SignalStep { job, step, signal } => {
                self.signal_step(job, step, signal, peer, turn)
            }
            Call::SetAccounting(accounting) => {
                let actor = self.users.user(peer.uid);
                self.set_accounting(&accounting, &actor, turn.now)
            }
            Call::ResetUsage { of } => Ok(self.reset_usage(of, turn)),
            Call::ModifyRecords { jobs, change } => {
                self.modify_records(&jobs, &change, peer, turn.now)
            }
            Call::Release { job, status } => self.release(job, status, peer, turn),
            Call::StepEnded {
                job,
                restart,
                step,
                node,
            } => {
                let active = self.running.get(&job);
                let active = active.filter(|active| active.restart == restart);
                if let Some(key) = active.map(|active| active.key(step, node)) {
                    self.supervisor_gone(key, turn);
                }
                Ok(Answer::Done)
            }
        };
        turn.answer(reply, result.unwrap_or_else(Answer::Refused));
        None
    }

    /// What is due by the clock.
    fn on_time(&mut self, turn: &mut Turn) {
        if self.retry_at.is_some_and(|at| at <= turn.now) {
            self.retry_at = None;
            self.recover(turn, false);
        }
        self.look_at_unsure(turn);
        self.expire_waiters(turn.now);
        self.release_abandoned(turn);
        self.sweep(turn.now);
        self.look_at_networks(turn);
        self.hand_out_again(turn.now);
    }

    /// Time until something is due; `None`: nothing is.
    fn time_left(&self) -> Option<Duration> {
        if self.unread.is_so() {
            return Some(Duration::from_millis(RETRY_MS.unsigned_abs()));
        }
        let put_off = self.unread.has_put_off().then_some(Timestamp(0));
        let due = [
            self.state.next_due(),
            self.retry_at.or(put_off),
            self.next_waiter(),
            self.next_abandoned(),
            self.gpus.barred.next_look(),
            self.cpus.barred.next_look(),
            self.adopted.next_look(),
            self.retry_networks_at,
            self.hand_out_at,
        ];
        let now = self.clock.now();
        let left = |due: Timestamp| {
            let left = u64::try_from(due.0 - now.0).unwrap_or(0);
            Duration::from_millis(left)
        };
        sleep(
            due.into_iter().flatten().min().map(left),
            self.sweep_at.map(left),
        )
    }

    /// Refuses what still waits, so that its clients ask the next engine.
    fn leave(&mut self, messages: &mpsc::Receiver<Message>) {
        for message in messages.try_iter() {
            if let Message::Call(asked) = message {
                let _gone = asked.reply.send(Answer::Refused(Refusal::Stopping));
            }
        }
        for waiter in self.waiters.drain(..) {
            let _gone = waiter.reply.send(Answer::Refused(Refusal::Stopping));
        }
        // Jobs that run keep theirs; the next engine finds or makes them.
        if self.running.is_empty() && !self.unread.is_so() {
            if let Some(networks) = self.isolation.networks() {
                networks.remove();
            }
            if let Some(nodes) = self.isolation.nodes() {
                node_disks::forget_all_memory(nodes);
            }
        }
        self.fork_server.shutdown();
    }
}

/// How long to sleep where something is due after a while, and folders and rows after another.
fn sleep(due: Option<Duration>, sweep: Option<Duration>) -> Option<Duration> {
    let due = due.map(|left| left.min(LONGEST_SLEEP));
    let sweep = sweep.map(|left| left.min(LONGEST_IDLE_SLEEP));
    due.into_iter().chain(sweep).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_idle_engine_sleeps_until_the_next_sweep() {
        let check = |due: Option<u64>, sweep: Option<u64>, want: Option<u64>| {
            let seconds = |left: Option<u64>| left.map(Duration::from_secs);
            let slept = sleep(seconds(due), seconds(sweep));
            assert_eq!(slept, seconds(want), "{due:?} {sweep:?}");
        };
        check(None, None, None);
        check(None, Some(320), Some(320));
        check(None, Some(86_400), Some(3600));
        check(Some(5), Some(320), Some(5));
        check(Some(100), Some(320), Some(30));
        check(Some(100), Some(3), Some(3));
    }
}
