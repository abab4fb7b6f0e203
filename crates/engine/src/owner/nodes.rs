//! Nodes that are lost, and another cluster under running jobs.

use super::Owner;
use super::turn::Turn;
use crate::SupervisorKey;
use crate::engine_cluster::{EngineCluster, file_name, read_cluster};
use crate::spec::{Because, Reach, SupervisorCall};
use crate::store::FormerSize;
use api::{Answer, Refusal};
use model::{
    ClusterChanges, Ending, JobId, JobState, NodeMark, NodeName, Outcome, StepId, Timestamp,
};
use resources::NodeId;
use sched::Event;
use std::collections::BTreeSet;
use sys::signals::SIGKILL;

/// Ends at once all that a supervisor has.
const KILL: SupervisorCall = SupervisorCall::Signal {
    signal: SIGKILL,
    reach: Reach::All,
};

impl Owner {
    /// Ends at once what runs on a node; jobs that were there are lost, and come back if they may.
    pub(super) fn lose_node(&mut self, node: NodeId, turn: &mut Turn) {
        let cluster = self.state.cluster();
        let on_it = self.state.running().filter(|record| match &record.state {
            JobState::Running { allocation, .. } => {
                let mut shares = allocation.nodes.iter();
                shares.any(|share| cluster.node(&share.node) == Some(node))
            }
            JobState::Pending { .. } | JobState::Ended { .. } => false,
        });
        let jobs: Vec<JobId> = on_it.map(|record| record.id).collect();
        for job in jobs {
            let goes_on = self.goes_on_without(job);
            for key in self.supervisors_on(job, node) {
                let lost = self.state.cluster().node_name(node).clone();
                let say = if goes_on {
                    SupervisorCall::NodeLost { node: lost }
                } else {
                    SupervisorCall::Deadline {
                        at: None,
                        because: Because::Stop,
                        lost_node: Some(lost),
                        preempted: false,
                        job: None,
                    }
                };
                turn.words.push((key, say));
                turn.words.push((key, KILL));
            }
            if goes_on {
                self.go_on_without(job, node, turn);
                continue;
            }
            self.tell_of_loss(job, node, turn);
            self.node_failed_under(job, turn);
            self.consider_end(job, turn);
        }
    }

    /// Whether a running job keeps its other nodes (`--no-kill`).
    fn goes_on_without(&self, job: JobId) -> bool {
        let Some(record) = self.state.job(job) else {
            return false;
        };
        let JobState::Running {
            allocation,
            ending: None,
            ..
        } = &record.state
        else {
            return false;
        };
        record.request.rare.no_kill && allocation.nodes.len() > 1
    }

    /// Goes on without a lost node: the steps that had a part there hear of it. Where the script ran there the
    /// job ends, as one that could not be launched.
    fn go_on_without(&mut self, job: JobId, node: NodeId, turn: &mut Turn) {
        let name = self.state.cluster().node_name(node).clone();
        let gone = self.supervisors_on(job, node);
        let steps: BTreeSet<StepId> = gone.iter().map(|key| key.step).collect();
        let keys = steps.iter().flat_map(|step| self.keys_of_step(job, *step));
        for key in keys.filter(|key| !gone.contains(key)) {
            let call = SupervisorCall::NodeLost { node: name.clone() };
            turn.words.push((key, call));
        }
        tracing::warn!(job = job.0, node = %name, "a node was lost, and its job goes on");
        self.shrink(job, vec![name.clone()], turn);
        self.give_up_waiting(job, &[name], turn);
        // Decided here: from the smaller allocation no later engine could tell where the script ran.
        if steps.contains(&StepId::Batch) {
            self.decide(job, Ending::End(Outcome::ScriptLost), turn);
        }
    }

    /// A running job has some nodes less from now on, which are free.
    fn shrink(&mut self, job: JobId, nodes: Vec<NodeName>, turn: &mut Turn) {
        let record = self.state.job(job);
        let former = record.and_then(|record| FormerSize::of(record, turn.now));
        turn.former_sizes.extend(former);
        let at = turn.now;
        self.state.apply(Event::Shrunk { job, nodes, at });
    }

    /// Gives back nodes of a running job that keeps others: what it has there is killed, and its epilog runs there.
    pub(super) fn give_back(&mut self, job: JobId, nodes: Vec<NodeName>, turn: &mut Turn) {
        self.kill_on(job, &nodes, turn);
        self.prepare_epilogs(job, &nodes, turn);
        self.last_busy
            .extend(nodes.iter().map(|node| (node.clone(), turn.now)));
        self.shrink(job, nodes.clone(), turn);
        self.give_up_waiting(job, &nodes, turn);
        self.leave_nodes(job, turn);
    }

    /// What a running job has on nodes that are not its own any more is killed again: a former engine may not have
    /// come so far. Its epilog runs there once that has ended, which it had not with that engine.
    pub(super) fn kill_what_stayed(&mut self, job: JobId, turn: &mut Turn) {
        let own = self.nodes_of(job);
        let Some(active) = self.running.get(&job) else {
            return;
        };
        let mut nodes = BTreeSet::new();
        for (step, live) in &active.steps {
            let shares = &live.row.record.nodes;
            let alive = active.live_keys(*step);
            let alive = alive.filter_map(|key| Some(&shares.get(key.node as usize)?.node));
            nodes.extend(alive.filter(|node| !own.contains(node)).cloned());
        }
        let mut nodes: Vec<NodeName> = nodes.into_iter().collect();
        self.kill_on(job, &nodes, turn);
        // On a node that the job lost, and did not give back, none runs.
        nodes.retain(|node| self.state.mark(node).is_none_or(NodeMark::takes_jobs));
        self.prepare_epilogs(job, &nodes, turn);
    }

    fn kill_on(&self, job: JobId, nodes: &[NodeName], turn: &mut Turn) {
        let cluster = self.state.cluster();
        let ids = nodes.iter().filter_map(|node| cluster.node(node));
        for key in ids.flat_map(|node| self.supervisors_on(job, node)) {
            turn.words.push((key, KILL));
        }
    }

    /// Has the epilog run on nodes that a job gave back, and their disks emptied, once nothing of it runs there.
    pub(super) fn leave_nodes(&mut self, job: JobId, turn: &mut Turn) {
        let cluster = self.state.cluster();
        let Some(active) = self.running.get(&job) else {
            return;
        };
        let is_left = |node: &NodeName| {
            let node = cluster.node(node);
            node.is_none_or(|node| self.supervisors_on(job, node).is_empty())
        };
        let left = active.programs.given_back.keys().filter(|it| is_left(it));
        let left: Vec<NodeName> = left.cloned().collect();
        for node in left {
            if !self.begin_epilog(job, &node, turn) {
                turn.left.push((job, node));
            }
        }
    }

    /// Has the steps of a job end that had a part on a lost node, and say so.
    fn tell_of_loss(&self, job: JobId, node: NodeId, turn: &mut Turn) {
        let name = self.state.cluster().node_name(node);
        let gone = self.supervisors_on(job, node);
        let Some(active) = self.running.get(&job) else {
            return;
        };
        for step in active.steps.keys() {
            let all = self.keys_of_step(job, *step).into_iter();
            for key in all.filter(|key| !gone.contains(key)) {
                let call = SupervisorCall::Deadline {
                    at: Some(Timestamp(0)),
                    because: Because::Stop,
                    lost_node: Some(name.clone()),
                    preempted: false,
                    job: None,
                };
                turn.words.push((key, call));
            }
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
        let cluster = EngineCluster::of_text(&self.cluster.name, &text, &file_name(&path));
        let cluster = cluster.map_err(unchanged)?;
        let kept = self.store.accounting();
        let kept = kept.map_err(|error| unchanged(error.to_string()))?;
        let mistakes = cluster.new_mistakes(&self.cluster, kept.as_ref());
        if !mistakes.is_empty() {
            let origin = file_name(&path);
            let said = mistakes
                .iter()
                .map(|one| model::render(&one.problem, &text, &origin));
            let said: Vec<String> = said.map(|one| one.trim_end().to_owned()).collect();
            let mistakes = said.join("\n");
            return Err(unchanged(mistakes));
        }
        let cluster = match kept {
            Some(accounting) => cluster.with_accounting(&accounting),
            None => cluster,
        };
        self.taken_back(turn.now, |owner| {
            if path != own {
                let written = sys::atomic::write_private(&own, text.as_bytes());
                written.map_err(|error| unchanged(format!("{}: {error}", own.display())))?;
            }
            // What was changed by hand stood over the former text.
            let cleared = owner.store.set_cluster_changes(&ClusterChanges::default());
            cleared.map_err(|error| unchanged(error.to_string()))
        })?;
        let before = self.over_times();
        self.take_cluster(cluster, turn.now);
        self.tell_deadlines(&before, turn);
        Ok(Answer::Done)
    }
}
