//! What is said of nodes, and another cluster under running jobs.

use super::Owner;
use super::end::may_requeue;
use super::turn::Turn;
use crate::SupervisorKey;
use crate::engine_cluster::{EngineCluster, read_cluster};
use crate::message::Peer;
use crate::spec::{Reach, SupervisorCall};
use api::{Answer, NodeChange, Refusal};
use model::{Ending, JobId, JobState, NodeMark, NodeName, Outcome};
use resources::NodeId;
use sched::Event;

const SIGKILL: i32 = 9;

impl Owner {
    pub(super) fn mark_nodes(
        &mut self,
        nodes: &[NodeName],
        change: NodeChange,
        reason: &str,
        peer: Peer,
        turn: &mut Turn,
    ) -> Result<Answer, Refusal> {
        let cluster = self.state.cluster();
        let known = nodes.iter().map(|node| {
            let id = cluster.node(node);
            id.ok_or_else(|| Refusal::Invalid {
                message: format!("Invalid node name specified: {node}"),
            })
        });
        let known = known.collect::<Result<Vec<NodeId>, Refusal>>()?;
        let user = self.users.user(peer.uid);
        for id in known {
            let node = self.state.cluster().node_name(id).clone();
            let former = self.state.mark(&node).cloned().unwrap_or_default();
            let mark = match change {
                NodeChange::Resume => NodeMark::default(),
                NodeChange::Drain | NodeChange::Down => NodeMark {
                    is_down: former.is_down || change == NodeChange::Down,
                    is_drained: former.is_drained || change == NodeChange::Drain,
                    reason: reason.to_owned(),
                    user: user.clone(),
                    at: turn.now,
                },
            };
            self.state.apply(Event::NodeMarked { node, mark });
            if change == NodeChange::Down {
                self.lose_node(id, turn);
            }
        }
        turn.durable = true;
        Ok(Answer::Done)
    }

    /// Ends at once what runs on a node; jobs that were there are lost, and come back if they may.
    fn lose_node(&mut self, node: NodeId, turn: &mut Turn) {
        let cluster = self.state.cluster();
        let on_it = self.state.running().filter(|record| match &record.state {
            JobState::Running { allocation, .. } => {
                let mut shares = allocation.nodes.iter();
                shares.any(|share| cluster.node(&share.node) == Some(node))
            }
            JobState::Pending { .. } | JobState::Ended { .. } => false,
        });
        let jobs: Vec<(JobId, bool)> = on_it
            .map(|record| (record.id, may_requeue(record)))
            .collect();
        for (job, comes_back) in jobs {
            let ending = if comes_back {
                Ending::Requeue { hold: false }
            } else {
                Ending::End(Outcome::NodeFail)
            };
            for key in self.supervisors_on(job, node) {
                let call = SupervisorCall::Signal {
                    signal: SIGKILL,
                    reach: Reach::All,
                };
                turn.words.push((key, call));
            }
            self.decide(job, ending, turn);
            self.consider_end(job, turn);
        }
    }

    /// The supervisors of a job's steps on a node.
    fn supervisors_on(&self, job: JobId, node: NodeId) -> Vec<SupervisorKey> {
        let Some(active) = self.running.get(&job) else {
            return Vec::new();
        };
        let cluster = self.state.cluster();
        let mut found = Vec::new();
        for (step, live) in &active.steps {
            let nodes = &live.row.record.nodes;
            found.extend(active.live_keys(*step).filter(|key| {
                let share = nodes.get(key.node as usize);
                share.is_some_and(|share| cluster.node(&share.node) == Some(node))
            }));
        }
        found
    }

    /// Reads the cluster's file again. One with a mistake changes nothing; what runs goes on.
    pub(super) fn reconfigure(&mut self, turn: &mut Turn) -> Result<Answer, Refusal> {
        if !self.cluster.is_pretended() {
            return Ok(Answer::Done);
        }
        let own = self.folder.cluster();
        let origin = read_cluster(&self.folder.cluster_origin()).ok();
        let path = origin.map_or_else(|| own.clone(), std::path::PathBuf::from);
        let unchanged = |what: String| Refusal::Invalid {
            message: format!("{}: {what}; nothing was changed", path.display()),
        };
        let text = read_cluster(&path).map_err(|error| unchanged(error.to_string()))?;
        let cluster = EngineCluster::of_text(&self.cluster.name, &text).map_err(unchanged)?;
        if path != own {
            let written = sys::atomic::write_private(&own, text.as_bytes());
            written.map_err(|error| unchanged(format!("{}: {error}", own.display())))?;
        }
        let kept = self.store.accounting();
        let kept = kept.map_err(|error| unchanged(error.to_string()))?;
        let cluster = match kept {
            Some(accounting) => cluster.with_accounting(&accounting),
            None => cluster,
        };
        self.state.apply(Event::Reconfigured {
            cluster: cluster.cluster.clone(),
            at: turn.now,
        });
        self.state.set_backfill(cluster.backfill());
        if let Err(error) = self.isolation.update(cluster.node_names()) {
            tracing::warn!("names of new nodes were not written: {error}");
        }
        self.cluster = cluster;
        Ok(Answer::Done)
    }
}
