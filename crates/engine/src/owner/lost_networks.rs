//! Networks of nodes of a user who is not root are gone with the process that keeps them. They are made anew once
//! no job runs; until then the nodes take none.

use super::Owner;
use super::turn::Turn;
use crate::job_networks;
use crate::message::Message;
use model::{JobId, NodeMark, NodeName, RestartCount, Seconds};
use sched::Event;
use std::io;
use std::thread;

/// Of nodes that take no jobs.
const REASON: &str = "Network is gone";
/// After networks could not be made: until it is tried again.
const RETRY: Seconds = Seconds(10);
/// What the log and the engine's facts say.
const KILLED: &str = "the process that kept them was killed";

impl Owner {
    /// Has the nodes that a former engine drained take jobs again, and waits for the end of what keeps networks.
    pub(super) fn begin_networks(&mut self, turn: &mut Turn) {
        if self.running.is_empty()
            && let Some(place) = self.isolation.nodes()
        {
            job_networks::forget_all(place);
        }
        self.resume_nodes(turn);
        self.watch_networks();
    }

    /// Makes networks that are gone anew, or drains their nodes while jobs are there.
    pub(super) fn look_at_networks(&mut self, turn: &mut Turn) {
        let is_later = self.retry_networks_at.is_some_and(|at| at > turn.now);
        if is_later || !self.isolation.has_lost_networks() {
            return;
        }
        if !self.running.is_empty() {
            self.without_networks(KILLED, turn);
            return;
        }
        match self.isolation.renew_networks(self.cluster.node_names()) {
            Ok(()) => {
                self.retry_networks_at = None;
                tracing::warn!("networks of nodes were made anew: {KILLED}");
                self.resume_nodes(turn);
                self.watch_networks();
            }
            Err(error) => {
                let why = format!("{KILLED}, and new ones can't be made: {error}");
                self.without_networks(&why, turn);
                self.retry_networks_at = Some(turn.now + RETRY);
            }
        }
    }

    fn without_networks(&mut self, why: &str, turn: &mut Turn) {
        if !self.isolation.note_lost_networks(why) {
            return;
        }
        tracing::error!(
            "the networks of nodes are gone: {why}; no job starts until they are made anew"
        );
        let nodes: Vec<NodeName> = self.cluster.node_names().cloned().collect();
        for node in nodes {
            self.drain(&node, REASON, turn);
        }
    }

    /// Undoes what was drained here.
    fn resume_nodes(&mut self, turn: &mut Turn) {
        let is_drained = |mark: &NodeMark| mark.is_drained && mark.reason == REASON;
        let marks = self.state.marks().filter(|(_, mark)| is_drained(mark));
        let drained: Vec<(NodeName, NodeMark)> = marks
            .map(|(node, mark)| (node.clone(), mark.clone()))
            .collect();
        for (node, former) in drained {
            let mark = NodeMark {
                is_drained: false,
                reason: String::new(),
                ..former
            };
            self.state.apply(Event::NodeMarked { node, mark });
            turn.durable = true;
        }
    }

    /// Has the owner look once one of those that keep networks is gone.
    pub(super) fn watch_networks(&self) {
        for keeper in self.isolation.keepers() {
            let Ok(keeper) = sys::process::PidFd::open(keeper.pid()) else {
                let _owner = self.sender.send(Message::NetworksLost);
                continue;
            };
            let sender = self.sender.clone();
            let thread = thread::Builder::new()
                .name("networks".to_owned())
                .stack_size(64 << 10)
                .spawn(move || {
                    let _gone = keeper.wait_exit(None);
                    let _owner = sender.send(Message::NetworksLost);
                });
            if let Err(error) = thread {
                tracing::warn!("can't wait for process of networks: {error}");
            }
        }
    }

    /// Notes with which networks a job begins, where nodes have some.
    pub(super) fn note_networks(&self, job: JobId, restart: RestartCount) -> io::Result<()> {
        match self.isolation.nodes() {
            Some(place) if self.isolation.has_networks() => job_networks::note(place, job, restart),
            Some(_) | None => Ok(()),
        }
    }

    /// A job ended.
    pub(super) fn forget_networks(&self, job: JobId, restart: RestartCount) {
        if let Some(place) = self.isolation.nodes() {
            job_networks::forget(place, job, restart);
        }
    }
}
