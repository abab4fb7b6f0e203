//! Nodes and partitions that are changed, made and removed while the cluster runs: kept in the store
//! over the cluster's file until that is read again.

use super::Owner;
use super::turn::Turn;
use crate::engine_cluster::EngineCluster;
use crate::message::Peer;
use crate::store::StoreError;
use api::{Answer, ClusterChange, NodeChange, NodeUpdate, Refusal};
use cluster_file::NodesState;
use model::{
    ClusterChanges, JobId, JobState, NodeMark, NodeName, Seconds, Settings, Timestamp, node_list,
};
use resources::{NodeId, NodeSet};
use sched::{Event, Job};
use std::collections::BTreeMap;

/// What Slurm says of a node that there is not.
const NO_NODE: &str = "Invalid node name specified";
/// What Slurm says of a partition that there is not.
const NO_PARTITION: &str = "Invalid partition name specified";
/// Until it is tried again to hand out a changed cluster that could not be written.
const HAND_OUT_PAUSE: Seconds = Seconds(10);

impl Owner {
    /// Changes nodes or partitions: all that is asked, or nothing; but what can be done of nodes that are
    /// named together.
    pub(super) fn change_cluster(
        &mut self,
        change: ClusterChange,
        peer: Peer,
        turn: &mut Turn,
    ) -> Result<Answer, Refusal> {
        let before = self.over_times();
        match change {
            ClusterChange::Nodes { nodes, update } => {
                self.update_nodes(&nodes, &update, peer, turn)?;
            }
            ClusterChange::MakeNodes { nodes, line } => self.make_nodes(&nodes, &line, turn.now)?,
            ClusterChange::RemoveNodes { nodes } => self.remove_nodes(&nodes, turn.now)?,
            ClusterChange::MakePartition { name, settings } => {
                if name.is_empty() || self.has_partition(&name) {
                    return Err(Refusal::invalid(NO_PARTITION));
                }
                self.check_partition(&settings)?;
                let mut all = Settings::from([("minnodes".to_owned(), "1".to_owned())]);
                all.extend(settings);
                let mut changes = self.changeable()?;
                self.leave_default(&mut changes, &all);
                changes.make_partition(&name, all);
                self.keep_changes(changes, turn.now)?;
            }
            ClusterChange::Partition { name, settings } => {
                if !self.has_partition(&name) {
                    return Err(Refusal::invalid(NO_PARTITION));
                }
                self.check_partition(&settings)?;
                let mut changes = self.changeable()?;
                self.leave_default(&mut changes, &settings);
                changes.change_partition(&name, &settings);
                self.keep_changes(changes, turn.now)?;
            }
            ClusterChange::RemovePartition { name } => self.remove_partition(&name, turn.now)?,
        }
        self.tell_deadlines(&before, turn);
        turn.durable = true;
        Ok(Answer::Done)
    }

    /// How much longer than its limit each running job may run.
    pub(super) fn over_times(&self) -> BTreeMap<JobId, Seconds> {
        let running = self.running.keys();
        let over = running.filter_map(|id| Some((*id, self.state.over_time(self.state.job(*id)?))));
        over.collect()
    }

    /// Supervisors end those jobs at another moment that may run for longer than before, or less long.
    pub(super) fn tell_deadlines(&self, before: &BTreeMap<JobId, Seconds>, turn: &mut Turn) {
        for (id, over) in self.over_times() {
            if before.get(&id) != Some(&over) {
                self.tell_deadline(id, turn);
            }
        }
    }

    /// A partition that becomes the default takes that from the one that is it.
    fn leave_default(&self, changes: &mut ClusterChanges, settings: &Settings) {
        let is_default =
            |settings: &Settings| settings.get("default").is_some_and(|is| is == "yes");
        if is_default(settings) {
            let partitions = self.state.cluster().partitions().iter();
            for former in partitions.filter(|one| one.is_default) {
                let no = Settings::from([("default".to_owned(), "no".to_owned())]);
                changes.change_partition(&former.name, &no);
            }
        }
    }

    fn has_partition(&self, name: &str) -> bool {
        self.state.cluster().find_partition(name).is_some()
    }

    /// What was changed so far, of a cluster whose nodes are pretended.
    fn changeable(&self) -> Result<ClusterChanges, Refusal> {
        if self.cluster.is_pretended() {
            Ok(self.cluster.changes.clone())
        } else {
            Err(Refusal::invalid(
                "this engine's node and partition are the machine itself, which has no cluster file: \
                 nodes of yard engine start NAME --nodes can be changed",
            ))
        }
    }

    /// Whether a partition's settings name nodes and a QOS that there are.
    fn check_partition(&self, settings: &Settings) -> Result<(), Refusal> {
        let cluster = self.state.cluster();
        let named = |key| settings.get(key).filter(|text| !text.is_empty());
        if let Some(list) = named("nodes").filter(|list| !list.eq_ignore_ascii_case("all")) {
            let names = model::node_list::expand(list).map_err(|_| Refusal::invalid(NO_NODE))?;
            if names.iter().any(|name| cluster.node(name).is_none()) {
                return Err(Refusal::invalid(NO_NODE));
            }
        }
        if named("qos").is_some_and(|qos| cluster.find_qos(qos).is_none()) {
            return Err(Refusal::invalid("Invalid qos specification"));
        }
        Ok(())
    }

    fn remove_partition(&mut self, name: &str, at: Timestamp) -> Result<(), Refusal> {
        let cluster = self.state.cluster();
        let Some(id) = cluster.find_partition(name) else {
            return Err(Refusal::invalid(NO_PARTITION));
        };
        let is_default = cluster.partition(id).is_default;
        let is_there = |record: &Job| match record.partitions() {
            Some(names) => names.split(',').any(|one| one == name),
            None => is_default,
        };
        if self.state.live().any(is_there) {
            return Err(Refusal::invalid("Partition is in use"));
        }
        if cluster.partitions().len() == 1 {
            return Err(Refusal::invalid(
                "the cluster's only partition can't be removed: make another one before",
            ));
        }
        let mut changes = self.changeable()?;
        changes.remove_partition(name);
        self.keep_changes(changes, at)
    }

    /// Nodes that are there already are not made again; Slurm leaves them alone and says nothing.
    fn make_nodes(&mut self, nodes: &[NodeName], line: &str, at: Timestamp) -> Result<(), Refusal> {
        let cluster = self.state.cluster();
        let is_there = |node: &NodeName| cluster.node(node).is_some();
        if nodes.is_empty() || nodes.iter().any(is_there) {
            return Err(Refusal::invalid(NO_NODE));
        }
        let mut changes = self.changeable()?;
        for node in nodes {
            let line = format!("NodeName={node} {line}");
            if cluster_file::nodes_of_line(&line).is_none() {
                return Err(Refusal::invalid("Unspecified error"));
            }
            changes.make_node(node, line);
        }
        self.keep_changes(changes, at)
    }

    /// Whether jobs run on one of some nodes.
    fn are_busy(&self, nodes: &[NodeId]) -> bool {
        let cluster = self.state.cluster();
        let is_there = |record: &Job| match &record.state {
            JobState::Running { allocation, .. } => {
                let mut shares = allocation.nodes.iter();
                shares.any(|share| {
                    cluster
                        .node(&share.node)
                        .is_some_and(|id| nodes.contains(&id))
                })
            }
            JobState::Pending { .. } | JobState::Ended { .. } => false,
        };
        self.state.live().any(is_there)
    }

    fn remove_nodes(&mut self, nodes: &[NodeName], at: Timestamp) -> Result<(), Refusal> {
        let known = self.known(nodes);
        if known.is_empty() || known.len() < nodes.len() {
            return Err(Refusal::invalid(NO_NODE));
        }
        let cluster = self.state.cluster();
        if self.are_busy(&known) {
            return Err(Refusal::invalid("Requested nodes are busy"));
        }
        if known.len() == cluster.node_count() as usize {
            return Err(Refusal::invalid("the cluster's last node can't be removed"));
        }
        let mut changes = self.changeable()?;
        for node in known {
            changes.remove_node(self.state.cluster().node_name(node));
        }
        self.keep_changes(changes, at)
    }

    /// The nodes of some names; `ALL` alone is all of them. As in Slurm they are those before
    /// the first name, in their order, that no node has.
    fn known(&self, nodes: &[NodeName]) -> Vec<NodeId> {
        let cluster = self.state.cluster();
        if let [all] = nodes
            && all.as_str().eq_ignore_ascii_case("all")
        {
            return cluster.nodes().collect();
        }
        let all: Option<Vec<NodeId>> = nodes.iter().map(|node| cluster.node(node)).collect();
        all.unwrap_or_else(|| {
            let mut sorted = nodes.to_vec();
            node_list::sort(&mut sorted);
            sorted.iter().map_while(|node| cluster.node(node)).collect()
        })
    }

    /// Changes nodes: of each its state and reason, and the settings of all of them together. One that can't
    /// have the state keeps no other from it.
    fn update_nodes(
        &mut self,
        nodes: &[NodeName],
        update: &NodeUpdate,
        peer: Peer,
        turn: &mut Turn,
    ) -> Result<(), Refusal> {
        let known = self.known(nodes);
        if known.is_empty() {
            return Err(Refusal::invalid(NO_NODE));
        }
        let mut settings = self.node_settings(&known, &update.settings)?;
        let is_all = nodes.len() <= known.len();
        if !is_all {
            // What each node has for itself.
            settings.retain(|key, _| matches!(key.as_str(), "comment" | "extra"));
        }
        let refused = self.refused_nodes(&known, update.state);
        let cluster = self.state.cluster();
        let is_future = |node: &NodeId| cluster.future_nodes().contains(*node);
        match update.state {
            Some(NodeChange::Future) => {
                settings.insert("state".to_owned(), NodesState::Future.word().to_owned());
            }
            Some(NodeChange::Lost | NodeChange::Back | NodeChange::Undrain) | None => {}
            // Those that are none of the future have no other state to lose.
            Some(_) if known.iter().any(is_future) => {
                settings.insert("state".to_owned(), String::new());
            }
            _ => {}
        }
        let addresses = ["nodeaddr", "nodehostname"].map(|key| {
            let list = settings.remove(key);
            list.map(|list| one_each(&list, known.len()))
        });
        let [addresses, hosts] = addresses.map(Option::transpose);
        let (addresses, hosts) = (addresses?, hosts?);
        if !settings.is_empty() || addresses.is_some() || hosts.is_some() {
            let mut changes = self.changeable()?;
            for (index, node) in known.iter().enumerate() {
                let mut own = settings.clone();
                for (key, names) in [("nodeaddr", &addresses), ("nodehostname", &hosts)] {
                    let name = names.as_ref().and_then(|names| names.get(index));
                    own.extend(name.map(|name| (key.to_owned(), name.clone())));
                }
                let name = self.state.cluster().node_name(*node);
                if refused.contains(*node) {
                    own.remove("state");
                }
                changes.change_node(name, &own);
            }
            self.keep_changes(changes, turn.now)?;
        }
        self.mark_nodes(&known, &refused, update, peer, turn);
        // Also where it was done with some of them alone.
        turn.durable = true;
        match (is_all, refused.is_empty()) {
            (false, _) => Err(Refusal::invalid(NO_NODE)),
            (true, false) => Err(Refusal::invalid("Invalid node state specified")),
            (true, true) => Ok(()),
        }
    }

    /// Those of the nodes that can't come into a state.
    fn refused_nodes(&self, known: &[NodeId], state: Option<NodeChange>) -> NodeSet {
        let cluster = self.state.cluster();
        let takes_jobs = |node: NodeId| {
            let mark = self.state.mark(cluster.node_name(node));
            mark.is_none_or(NodeMark::takes_jobs) && !cluster.future_nodes().contains(node)
        };
        let is_refused = |node: &NodeId| match state {
            Some(NodeChange::Resume) => takes_jobs(*node),
            Some(NodeChange::Future) => self.are_busy(&[*node]),
            _ => false,
        };
        known.iter().copied().filter(is_refused).collect()
    }

    /// Gives nodes their new states and reasons, and ends what runs on those that are lost.
    fn mark_nodes(
        &mut self,
        known: &[NodeId],
        refused: &NodeSet,
        update: &NodeUpdate,
        peer: Peer,
        turn: &mut Turn,
    ) {
        let user = self.users.user(peer.uid);
        let return_to_service = self.return_to_service();
        for id in known.iter().copied() {
            let node = self.state.cluster().node_name(id).clone();
            let former = self.state.mark(&node).cloned().unwrap_or_default();
            let reason = update.reason.as_deref();
            let mark = match update.state {
                Some(NodeChange::Lost) => former.lost(&user, turn.now),
                Some(NodeChange::Back) => former.back(return_to_service),
                state => {
                    let state = state.filter(|_| !refused.contains(id));
                    marked(former, state, reason, &user, turn.now)
                }
            };
            self.state.apply(Event::NodeMarked { node, mark });
            if matches!(update.state, Some(NodeChange::Down | NodeChange::Lost)) {
                self.lose_node(id, turn);
            }
        }
    }

    /// Which nodes that are down take jobs again once they answer: those that did not answer, where the
    /// cluster's file doesn't say it.
    pub(super) fn return_to_service(&self) -> u32 {
        let file = self.cluster.file.as_ref();
        let rule = file.and_then(|file| file.scheduling.return_to_service.as_ref());
        rule.map_or(1, |rule| rule.value)
    }

    /// From SIGTERM to SIGKILL.
    pub(super) fn kill_wait_ms(&self) -> u64 {
        let of_file = || {
            let wait = self.cluster.file.as_ref()?.scheduling.kill_wait.as_ref()?;
            Some(wait.value.0.saturating_mul(1000))
        };
        let set = self.set_kill_wait_ms.or_else(of_file);
        set.unwrap_or(model::KILL_WAIT.0 * 1000)
    }

    /// Keeps changes, and goes on with the cluster that they make.
    fn keep_changes(&mut self, changes: ClusterChanges, at: Timestamp) -> Result<(), Refusal> {
        let failed = |error: StoreError| Refusal::Store {
            message: error.to_string(),
        };
        let accounting = self.store.accounting().map_err(failed)?;
        let cluster = self.cluster.with_changes(changes, accounting.as_ref());
        self.taken_back(at, |owner| {
            owner
                .store
                .set_cluster_changes(&cluster.changes)
                .map_err(failed)
        })?;
        self.take_cluster(cluster, at);
        Ok(())
    }

    /// Keeps what makes the cluster another one, while what clients judge by is taken back.
    pub(super) fn taken_back(
        &mut self,
        at: Timestamp,
        keep: impl FnOnce(&mut Owner) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let taken_back = self.cluster.take_back(&self.folder);
        taken_back.map_err(|error| {
            let path = self.folder.changed_cluster();
            let message = format!("{} can't be emptied: {error}", path.display());
            Refusal::Store { message }
        })?;
        let kept = keep(self);
        if kept.is_err() {
            self.hand_out(at);
        }
        kept
    }

    /// Goes on with another cluster; what runs and waits stays.
    pub(super) fn take_cluster(&mut self, cluster: EngineCluster, at: Timestamp) {
        self.state.apply(Event::Reconfigured {
            cluster: cluster.cluster.clone(),
            at,
        });
        self.state.set_backfill(cluster.backfill());
        if let Err(error) = self.isolation.update(cluster.node_names()) {
            tracing::warn!("names of new nodes were not written: {error}");
        }
        self.cluster = cluster;
        self.hand_out(at);
    }

    /// Hands out what the cluster is now, and what could not be written before once that may be so.
    pub(super) fn hand_out_again(&mut self, now: Timestamp) {
        if self.hand_out_at.is_some_and(|at| at <= now) {
            self.hand_out(now);
        }
    }

    fn hand_out(&mut self, now: Timestamp) {
        let done = self.cluster.hand_out(&self.folder);
        self.hand_out_at = (!done).then(|| now + HAND_OUT_PAUSE);
    }
}

/// An address for each of so many nodes.
fn one_each(list: &str, nodes: usize) -> Result<Vec<String>, Refusal> {
    let names = node_list::expand(list).map_err(|_| Refusal::invalid(NO_NODE))?;
    if names.len() != nodes {
        return Err(Refusal::invalid(NO_NODE));
    }
    Ok(names.iter().map(ToString::to_string).collect())
}

/// What is said of a node from now on.
fn marked(
    former: NodeMark,
    change: Option<NodeChange>,
    reason: Option<&str>,
    user: &str,
    at: Timestamp,
) -> NodeMark {
    let mut mark = former;
    match change {
        None => {}
        Some(NodeChange::Drain) => mark.is_drained = true,
        Some(NodeChange::Fail) => mark.is_failing = true,
        Some(NodeChange::Down) => mark.is_down = true,
        Some(NodeChange::Undrain) => mark.is_drained = false,
        Some(NodeChange::Resume | NodeChange::Idle | NodeChange::Future) => {
            mark = NodeMark::default();
        }
        // What becomes of them is no word of a person.
        Some(NodeChange::Lost | NodeChange::Back) => {}
    }
    let is_back = !matches!(
        change,
        None | Some(NodeChange::Drain | NodeChange::Fail | NodeChange::Down)
    );
    if is_back && mark.takes_jobs() {
        mark = NodeMark::default();
    }
    if let Some(reason) = reason.filter(|_| !is_back) {
        reason.clone_into(&mut mark.reason);
        user.clone_into(&mut mark.user);
        mark.at = at;
        if reason.is_empty() && mark.takes_jobs() {
            mark = NodeMark::default();
        }
    }
    mark
}
