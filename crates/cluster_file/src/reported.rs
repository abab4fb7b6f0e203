//! A cluster file with what the cluster itself reports put over it.

use super::accounting::{stated, table};
use super::{
    ClusterFile, Extent, Gpu, Named, Nodes, NodesState, Partition, PartitionNodes, Sourced, named,
};
use model::{NodeName, node_list};
use std::collections::{HashMap, HashSet};

impl ClusterFile {
    /// The same cluster with the nodes and partitions that it reports, in a document of the same form;
    /// the report names every partition, and every node of them but powered down ones of a cloud. What
    /// the report doesn't say of a node or partition is as this file has it, and so is all the rest.
    #[must_use]
    pub fn with_reported(&self, reported: &ClusterFile) -> ClusterFile {
        let mut file = self.clone();
        if !reported.nodes.is_empty() {
            file.nodes = self.nodes_with(reported);
            // Slurm hides nodes of a cloud that are powered down, of which the file need not say that they are.
            if self.lacks_nodes_of(reported) {
                file.lists.nodes = Some(stated(Extent::Some));
            }
            let lost = self.has_features() && !self.nodes.iter().all(has_known_names);
            if lost {
                file.lists.features = Some(stated(Extent::Some));
            }
        }
        if !reported.partitions.is_empty() {
            let unseen = self.unseen_nodes();
            let partitions = reported.partitions.iter();
            file.partitions = partitions
                .map(|theirs| self.partition_with(theirs, reported, &unseen))
                .collect();
            file.lists.partitions = Some(stated(Extent::Whole));
        }
        file
    }

    /// Whether nodes that the file names are not reported.
    fn lacks_nodes_of(&self, reported: &ClusterFile) -> bool {
        let groups = reported.nodes.iter();
        let told: HashSet<NodeName> = groups.flat_map(|group| reported.names_of(group)).collect();
        let mut named = self.nodes.iter().filter(|group| has_known_names(group));
        named.any(|group| {
            !is_unseen(group) && self.names_of(group).iter().any(|it| !told.contains(it))
        })
    }

    fn has_features(&self) -> bool {
        let mut groups = self.nodes.iter();
        groups.any(|group| group.features.is_some())
    }

    /// Groups whose nodes are not reported alike become several.
    fn nodes_with(&self, reported: &ClusterFile) -> Vec<Named<Nodes>> {
        let mut told: HashMap<NodeName, usize> = HashMap::new();
        for (index, group) in reported.nodes.iter().enumerate() {
            let names = reported.names_of(group);
            told.extend(names.into_iter().map(|name| (name, index)));
        }
        let mut found = Vec::with_capacity(self.nodes.len());
        let mut known: HashSet<NodeName> = HashSet::new();
        for group in &self.nodes {
            if is_unseen(group) {
                found.push(group.clone());
                known.extend(self.names_of(group));
                continue;
            }
            let names = self.names_of(group);
            let total = names.len();
            let mut alike: Vec<(usize, Vec<NodeName>)> = Vec::new();
            for name in names {
                let Some(index) = told.get(&name).copied() else {
                    continue;
                };
                known.insert(name.clone());
                match alike.iter_mut().find(|(own, _)| *own == index) {
                    Some((_, nodes)) => nodes.push(name),
                    None => alike.push((index, vec![name])),
                }
            }
            for (at, (index, names)) in alike.into_iter().enumerate() {
                let mut own = group.clone();
                if at > 0 {
                    own.name = self.free_name(&group.name, &found);
                }
                if names.len() < total || !has_known_names(group) {
                    own.body.names = Some(stated(node_list::fold(&names)));
                    own.body.count = None;
                }
                own.body.take_reported(&reported.nodes[index]);
                found.push(own);
            }
        }
        for group in &reported.nodes {
            let mut names = reported.names_of(group);
            names.retain(|name| !known.contains(name));
            if names.is_empty() {
                continue;
            }
            // Of nodes that the file can't name it may know the kind.
            let mut unnamed = self.nodes.iter().filter(|own| !has_known_names(own));
            let body = match unnamed.find(|own| is_alike(own, group)) {
                Some(own) => {
                    let mut body = own.body.clone();
                    body.take_reported(group);
                    body
                }
                None => group.body.clone(),
            };
            let mut own = table(&self.free_name(&group.name, &found), body);
            own.body.names = Some(stated(node_list::fold(&names)));
            own.body.count = None;
            found.push(own);
        }
        found
    }

    /// A name that no group of the file has, nor one of those.
    fn free_name(&self, name: &str, others: &[Named<Nodes>]) -> String {
        let is_taken = |name: &str| named(&self.nodes, name).or(named(others, name)).is_some();
        let numbered = (2..).map(|number: u32| format!("{name}-{number}"));
        let mut names = std::iter::once(name.to_owned()).chain(numbered);
        names
            .find(|name| !is_taken(name))
            .expect("invariant: there are more numbers than groups")
    }

    /// Nodes that a Slurm has without reporting them.
    fn unseen_nodes(&self) -> HashSet<NodeName> {
        let groups = self.nodes.iter().filter(|group| is_unseen(group));
        groups.flat_map(|group| self.names_of(group)).collect()
    }

    fn partition_with(
        &self,
        theirs: &Named<Partition>,
        reported: &ClusterFile,
        unseen: &HashSet<NodeName>,
    ) -> Named<Partition> {
        let Some(own) = self.partition(&theirs.name) else {
            return theirs.clone();
        };
        let mut own = own.clone();
        let body = &mut own.body;
        let is_default = theirs.default.as_ref().is_some_and(|it| it.value);
        if is_default {
            take(&mut body.default, theirs.default.as_ref());
            // The site may choose another, whatever the file says.
            if theirs.default.as_ref().is_some_and(Sourced::is_disputed) {
                body.default.clone_from(&theirs.default);
            }
        } else if reported.default_partition().is_some() {
            body.default = None;
        }
        take(&mut body.max_time, theirs.max_time.as_ref());
        take(&mut body.min_nodes, theirs.min_nodes.as_ref());
        if theirs.tells_all_limits() {
            body.default_time.clone_from(&theirs.default_time);
            body.max_nodes.clone_from(&theirs.max_nodes);
        }
        let listed = theirs.nodes.as_ref().map(|nodes| &nodes.value);
        if let Some(PartitionNodes::List(list)) = listed {
            let mut names = node_list::expand(list).unwrap_or_default();
            names.extend(
                self.names_of_partition(body)
                    .filter(|name| unseen.contains(name)),
            );
            body.nodes = Some(stated(PartitionNodes::List(node_list::fold(&names))));
        }
        own
    }

    fn names_of_partition(&self, partition: &Partition) -> impl Iterator<Item = NodeName> {
        let names: Vec<NodeName> = match partition.nodes.as_ref().map(|nodes| &nodes.value) {
            Some(PartitionNodes::List(list)) => node_list::expand(list).unwrap_or_default(),
            _ => {
                let sets = self.nodes_of(partition).into_iter();
                sets.flat_map(|set| self.names_of(set.nodes)).collect()
            }
        };
        names.into_iter()
    }
}

impl Partition {
    /// Whether it is of a report that tells all limits of partitions: one that it doesn't tell is none there.
    /// Such a report tells the fewest nodes of a job of each.
    #[must_use]
    pub fn tells_all_limits(&self) -> bool {
        self.min_nodes.is_some()
    }
}

/// Whether a document names a group's nodes: others are called after their group.
#[must_use]
pub fn has_known_names(group: &Named<Nodes>) -> bool {
    match &group.names {
        Some(names) => !names.is_assumed(),
        None => group.count.is_none(),
    }
}

/// Whether a Slurm has nodes without reporting them: those that are not there yet, and those of a cloud
/// while they are powered down.
#[must_use]
pub fn is_unseen(group: &Nodes) -> bool {
    let state = group.state.as_ref().map(|state| state.value);
    matches!(state, Some(NodesState::Future | NodesState::Cloud))
}

fn is_alike(own: &Nodes, reported: &Nodes) -> bool {
    let is_same = |own: Option<u32>, reported: Option<u32>| {
        own.zip(reported).is_none_or(|(own, theirs)| own == theirs)
    };
    let cpus = |nodes: &Nodes| nodes.cpus.as_ref().map(|cpus| cpus.value);
    is_same(cpus(own), cpus(reported))
        && own.gpus.len() == reported.gpus.len()
        && reported
            .gpus
            .iter()
            .all(|theirs| own.gpus.iter().any(|gpu| is_same_gpus(gpu, theirs)))
}

/// Whether two groups of GPUs are said to be as many of the same kind.
fn is_same_gpus(own: &Gpu, reported: &Gpu) -> bool {
    let count = |gpu: &Gpu| gpu.count.as_ref().map(|count| count.value);
    let is_kind = match &reported.kind {
        Some(kind) => own.is_called(kind),
        None => own.kind.is_none(),
    };
    is_kind
        && count(own)
            .zip(count(reported))
            .is_none_or(|(own, theirs)| own == theirs)
}

impl Nodes {
    fn take_reported(&mut self, reported: &Nodes) {
        if let (Some(own), Some(theirs)) = (&self.cpus, &reported.cpus)
            && own.value != theirs.value
        {
            // Of how many cores those are it says nothing.
            self.sockets = None;
            self.cores_per_socket = None;
            self.threads_per_core = None;
        }
        take(&mut self.cpus, reported.cpus.as_ref());
        take(&mut self.memory, reported.memory.as_ref());
        let gpus = reported.gpus.iter().map(|theirs| {
            let own = self.gpus.iter().find(|own| match &theirs.kind {
                Some(kind) => own.is_called(kind),
                None => own.kind.is_none(),
            });
            let Some(own) = own else {
                return theirs.clone();
            };
            let mut gpu = own.clone();
            if own.count.as_ref().map(|it| it.value) != theirs.count.as_ref().map(|it| it.value) {
                gpu.sockets = None;
            }
            take(&mut gpu.kind, theirs.kind.as_ref());
            take(&mut gpu.count, theirs.count.as_ref());
            gpu
        });
        self.gpus = gpus.collect();
    }
}

/// What is reported counts, and settles what the file assumes or leaves open.
fn take<T: Clone + PartialEq>(own: &mut Option<Sourced<T>>, reported: Option<&Sourced<T>>) {
    let Some(reported) = reported else {
        return;
    };
    let is_known = own
        .as_ref()
        .is_some_and(|own| own.value == reported.value && !own.is_assumed() && !own.is_disputed());
    if !is_known {
        *own = Some(reported.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    const FILE: &str = r#"
        [nodes.gpu]
        names = "n[1-4]"
        cpus = 8
        sockets = 2
        features = ["ib"]
        gpu = { model = "V100", count = 4, memory = "32G" }
        [nodes.far]
        names = "f[1-2]"
        cpus = 4
        state = "cloud"
        [nodes.old]
        names = "o1"
        cpus = 2
        [partition.main]
        default = true
        nodes = "ALL"
        max_time = { value = "1:00:00", assumed = "a guess" }
        allow_qos = ["normal"]
        [partition.gone]
        nodes = ["old"]
        [qos.normal]
    "#;

    #[track_caller]
    fn check(file: &str, reported: &str, want: Expect) {
        let parse = |text: &str| ClusterFile::parse("lab", text).expect("it can be read");
        let merged = parse(file).with_reported(&parse(reported));
        want.assert_eq(&merged.to_string());
    }

    #[test]
    fn reported_nodes_and_partitions_go_over_those_of_the_file() {
        check(
            FILE,
            r#"
            [nodes.kind0]
            names = "n[1-2]"
            cpus = 8
            memory = "16000M"
            gpu = { type = "v100", count = 4 }
            [nodes.kind1]
            names = "n[3,5]"
            cpus = 6
            [partition.main]
            nodes = "n[1-3,5]"
            max_time = "1:00:00"
            [partition.new]
            default = true
            nodes = "n5"
            "#,
            expect![[r#"
                [lists]
                nodes = "some"
                partitions = "whole"

                [nodes.gpu]
                names = "n[1-2]"
                cpus = 8
                sockets = 2
                memory = "16000M"
                features = ["ib"]

                [[nodes.gpu.gpu]]
                type = "v100"
                model = "V100"
                count = 4
                memory = "32G"

                [nodes.gpu-2]
                names = "n3"
                cpus = 6
                features = ["ib"]

                [nodes.far]
                names = "f[1-2]"
                cpus = 4
                state = "cloud"

                [nodes.kind1]
                names = "n5"
                cpus = 6

                [partition.main]
                nodes = "n[1-3,5],f[1-2]"
                max_time = "01:00:00"
                allow_qos = ["normal"]

                [partition.new]
                default = true
                nodes = "n5"

                [qos.normal]
            "#]],
        );
    }

    #[test]
    fn nodes_without_names_are_known_by_their_kind() {
        check(
            "[nodes.gpu]\ncount = 40\ncpus = 8\nfeatures = [\"ib\"]\n[nodes.fat]\ncount = 2\ncpus = 64\n",
            "[nodes.kind0]\nnames = \"n[1-3]\"\ncpus = 8\nmemory = \"16000M\"\n",
            expect![[r#"
                [lists]
                features = "some"

                [nodes.kind0]
                names = "n[1-3]"
                cpus = 8
                memory = "16000M"
                features = ["ib"]
            "#]],
        );
    }
}
