//! `NodeSet` lines: names that stand for lists of nodes.

use super::Importer;
use super::conf_line::ConfLine;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Most entries that all partitions together take out of sets.
const MOST_ENTRIES: usize = 1 << 21;

/// Names of sets, and the entries of their lists.
#[derive(Default)]
pub(super) struct NodeSets {
    sets: HashMap<String, Rc<Vec<String>>>,
    taken: usize,
}

impl NodeSets {
    /// A list with sets put in their places, each entry once.
    pub fn put_in(&mut self, list: &str) -> Result<String, &'static str> {
        let own = super::gres::items(list);
        // A set stands between commas as a name does.
        if self.sets.is_empty() || !own.iter().any(|entry| self.sets.contains_key(entry)) {
            return Ok(list.to_owned());
        }
        let mut seen: HashSet<&str> = HashSet::new();
        let mut kept: Vec<&str> = Vec::new();
        // The sets that are being put in, one in another.
        let mut open = vec![("", own.iter())];
        let mut above: HashSet<&str> = HashSet::new();
        while let Some((set, rest)) = open.last_mut() {
            let Some(entry) = rest.next() else {
                above.remove(set);
                open.pop();
                continue;
            };
            if above.contains(entry.as_str()) {
                return Err("node sets name each other in a circle");
            }
            if !seen.insert(entry) {
                continue;
            }
            self.taken += 1;
            if self.taken > MOST_ENTRIES {
                return Err("node sets stand for more than is read");
            }
            match self.sets.get(entry) {
                Some(entries) => {
                    above.insert(entry);
                    open.push((entry, entries.iter()));
                }
                None => kept.push(entry),
            }
        }
        Ok(kept.join(","))
    }
}

impl Importer {
    pub(super) fn node_sets(&mut self, lines: &[ConfLine]) {
        let mut of_feature: HashMap<&str, Rc<Vec<String>>> = HashMap::new();
        for nodes in &self.file.nodes {
            let features = nodes.features.iter().flat_map(|features| features.iter());
            let distinct: HashSet<&String> = features.collect();
            for feature in distinct {
                let names = nodes.names.iter().map(|names| names.value.clone());
                let all = of_feature.entry(feature).or_default();
                Rc::make_mut(all).extend(names);
            }
        }
        for line in lines
            .iter()
            .filter(|line| line.first().eq_ignore_ascii_case("NodeSet"))
        {
            let Some(name) = line.value("NodeSet") else {
                continue;
            };
            let nodes = match (line.value("Nodes"), line.value("Feature")) {
                (Some(nodes), _) => Rc::new(super::gres::items(nodes)),
                (None, Some(feature)) => of_feature.get(feature).cloned().unwrap_or_default(),
                (None, None) => continue,
            };
            self.sets.sets.entry(name.to_owned()).or_insert(nodes);
        }
    }
}
