//! What a change of nodes may set: their features, and their GPUs alone as they are.

use super::Owner;
use api::Refusal;
use model::{NodeName, Settings};
use resources::NodeId;

impl Owner {
    /// What is kept of nodes' settings: active features are those that there are, unless it is said.
    pub(super) fn node_settings(
        &self,
        nodes: &[NodeId],
        asked: &Settings,
    ) -> Result<Settings, Refusal> {
        let mut settings = asked.clone();
        if let Some(features) = settings.get("features").cloned() {
            settings
                .entry("activefeatures".to_owned())
                .or_insert(features);
        }
        let words = |text: &str| -> Vec<String> {
            let words = text.split(',').filter(|word| !word.is_empty());
            words.map(str::to_owned).collect()
        };
        if let Some(active) = asked.get("activefeatures").or(settings.get("features")) {
            let is_whole = |node: &NodeId| {
                let there = match settings.get("features") {
                    Some(text) => words(text),
                    None => self.available_features(self.state.cluster().node_name(*node)),
                };
                !there.is_empty() && words(active).iter().all(|word| there.contains(word))
            };
            if !nodes.iter().all(is_whole) {
                return Err(Refusal::invalid(
                    "Active features not subset of available features",
                ));
            }
        }
        if let Some(gres) = settings.get("gres") {
            let may_have =
                |node: &NodeId| self.has_gres(*node, gres) || self.may_lose_gres(*node, gres);
            if !nodes.iter().all(may_have) {
                return Err(Refusal::invalid(
                    "Invalid generic resource (gres) specification",
                ));
            }
        }
        Ok(settings)
    }

    /// Whether a text names exactly the GPUs that a node has: others can't be given to it.
    fn has_gres(&self, node: NodeId, text: &str) -> bool {
        let cluster = self.state.cluster();
        let class = cluster.class(node);
        let own = class.gpus.iter().map(|group| {
            let kind = group
                .kind
                .name()
                .map_or(String::new(), |kind| format!(":{kind}"));
            format!("gpu{kind}:{}", group.count)
        });
        let mut own: Vec<String> = own.collect();
        let mut asked: Vec<String> = text.split(',').map(str::to_owned).collect();
        own.sort();
        asked.sort();
        own == asked
    }

    /// Whether a node can do without its GPUs, which a text names none of: no job is there.
    fn may_lose_gres(&self, node: NodeId, text: &str) -> bool {
        let name = self.state.cluster().node_name(node);
        let has_gpus = text
            .split(',')
            .any(|one| one == "gpu" || one.starts_with("gpu:"));
        !has_gpus
            && !self
                .running
                .keys()
                .any(|job| self.nodes_of(*job).contains(name))
    }

    /// The features of a node that its active ones are of.
    pub(super) fn available_features(&self, node: &NodeName) -> Vec<String> {
        let changed = self.cluster.changes.nodes.get(node);
        if let Some(text) = changed.and_then(|settings| settings.get("features")) {
            let words = text.split(',').filter(|word| !word.is_empty());
            return words.map(str::to_owned).collect();
        }
        self.cluster.written_features(node)
    }
}
