//! Contradictions of nodes.

use super::{Checker, unless_assumed};
use crate::{Gpu, Named, Nodes, gpu_model};
use model::{NodeName, Severity, node_list};
use std::collections::{HashMap, HashSet};

/// Names that a group without names gets stand in one range, which has no more.
const MOST_NODES: u32 = 64 * 1024;

impl Checker<'_> {
    pub(super) fn nodes(&mut self) {
        let file = self.file;
        // One of accounts alone may be of a cluster whose nodes are told elsewhere.
        let is_empty =
            file.partitions.is_empty() && file.qos.is_empty() && file.accounts.is_empty();
        if is_empty && file.nodes.is_empty() {
            let message = "there are no nodes".to_owned();
            let help = "add [nodes.NAME] with cpus: yard knows nothing of this cluster's nodes, and no engine can be of it";
            self.say(("no-nodes", Severity::Warning), &(0..0), message, "", help);
        }
        let mut seen: HashMap<NodeName, &str> = HashMap::new();
        let mut lists: HashMap<String, Option<NodeName>> = HashMap::new();
        for nodes in &file.nodes {
            self.names(nodes);
            self.zeros(nodes);
            self.sizes(nodes);
            self.gpus(nodes);
            let span = nodes
                .names
                .as_ref()
                .map_or(&nodes.span, |names| &names.span);
            // A list that stands above has nothing that is new.
            let list = file.list_of(nodes);
            let (names, twice) = match lists.get(&list) {
                Some(first) => {
                    let twice = first
                        .clone()
                        .and_then(|name| Some((seen.get(&name).copied()?, name)));
                    (Vec::new(), twice.map(|(other, name)| (name, other)))
                }
                None => {
                    let names = file.names_of(nodes);
                    lists.insert(list, names.first().cloned());
                    let found = names
                        .iter()
                        .find_map(|name| Some((name.clone(), *seen.get(name)?)));
                    (names, found)
                }
            };
            if let Some((name, other)) = twice {
                let message = format!("node {} stands twice", name.as_str());
                let label = format!("also in [nodes.{other}]");
                let severity = match &nodes.names {
                    Some(names) => unless_assumed(Severity::Error, &[names]),
                    None => Severity::Note,
                };
                let help = "a node belongs to one group: change one of the two lists";
                self.say(("node-twice", severity), span, message, label, help);
            }
            for name in names {
                seen.entry(name).or_insert(&nodes.name);
            }
        }
    }

    fn names(&mut self, nodes: &Named<Nodes>) {
        let name = &nodes.name;
        let Some(names) = &nodes.names else { return };
        let expanded = match node_list::expand(names) {
            Ok(expanded) => expanded,
            Err(error) => {
                let found = ("node-list", Severity::Error);
                return self.say(found, &names.span, error.to_string(), "", error.todo());
            }
        };
        let mut seen = HashSet::new();
        if let Some(twice) = expanded.iter().find(|one| !seen.insert(one.as_str())) {
            let message = format!("node {} stands twice", twice.as_str());
            let label = "in this list; it counts once";
            let help = "leave the second out, or correct its name";
            let found = ("node-twice", Severity::Error);
            return self.say(found, &names.span, message, label, help);
        }
        if let Some(count) = &nodes.count
            && count.value as usize != expanded.len()
        {
            let message = format!(
                "[nodes.{name}] has {} names and count = {}",
                expanded.len(),
                count.value
            );
            let help = "correct one of the two, or leave count out";
            // Names that are made up have as many as they were given.
            self.say(
                ("node-count", Severity::Error),
                &count.span,
                message,
                "",
                help,
            );
        }
    }

    /// What no node can have none of.
    fn zeros(&mut self, nodes: &Named<Nodes>) {
        let of_nodes = [
            ("count", &nodes.count),
            ("cpus", &nodes.cpus),
            ("sockets", &nodes.sockets),
            ("cores_per_socket", &nodes.cores_per_socket),
            ("threads_per_core", &nodes.threads_per_core),
        ];
        let of_gpus = nodes.gpus.iter().map(|gpu| ("gpu.count", &gpu.count));
        for (key, value) in of_nodes.into_iter().chain(of_gpus) {
            let Some(value) = value.as_ref().filter(|value| value.value == 0) else {
                continue;
            };
            let message = format!("{key} of [nodes.{}] is 0", nodes.name);
            let label = "no job could have any";
            let help = "write how many there are, or leave the table out";
            self.say(("zero", Severity::Error), &value.span, message, label, help);
        }
        for gpu in &nodes.gpus {
            self.gpu_sockets(nodes, gpu);
        }
        if let Some(memory) = nodes.memory.as_ref().filter(|memory| memory.value.0 == 0) {
            let message = format!("memory of [nodes.{}] is 0", nodes.name);
            let label = "no job could have any";
            let help = "write how much there is, or leave the key out";
            self.say(
                ("zero", Severity::Error),
                &memory.span,
                message,
                label,
                help,
            );
        }
        if let Some(count) = nodes
            .count
            .as_ref()
            .filter(|count| count.value > MOST_NODES)
            && nodes.names.is_none()
        {
            let message = format!("[nodes.{}] has {} nodes", nodes.name, count.value);
            let label = format!("a range has at most {MOST_NODES} names");
            let help = "correct count, or list the nodes in names";
            self.say(
                ("node-count", Severity::Error),
                &count.span,
                message,
                label,
                help,
            );
        }
    }

    /// Each GPU is at a socket that there is.
    fn gpu_sockets(&mut self, nodes: &Named<Nodes>, gpu: &Gpu) {
        let Some(own) = &gpu.sockets else {
            return;
        };
        let there = nodes.sockets.as_ref().map_or(0, |sockets| sockets.value);
        let count = gpu.count.as_ref().map_or(1, |count| count.value);
        let has_all = u32::try_from(own.value.0.len()) == Ok(count);
        if has_all && own.value.0.iter().all(|socket| *socket < there) {
            return;
        }
        let message = format!(
            "gpu.sockets of [nodes.{}] does not fit its nodes",
            nodes.name
        );
        let label = format!(
            "they have {} and {}",
            model::counted(count as usize, "GPU"),
            model::counted(there as usize, "socket")
        );
        let help = "write the socket of each GPU, from 0 on, or leave the key out";
        self.say(
            ("gpu-sockets", Severity::Error),
            &own.span,
            message,
            label,
            help,
        );
    }

    fn sizes(&mut self, nodes: &Named<Nodes>) {
        let (Some(cpus), Some(sockets), Some(cores)) =
            (&nodes.cpus, &nodes.sockets, &nodes.cores_per_socket)
        else {
            return;
        };
        let all_cores = u64::from(sockets.value) * u64::from(cores.value);
        let threads = nodes
            .threads_per_core
            .as_ref()
            .map_or(1, |threads| threads.value);
        // Slurm counts threads, or cores where it is configured so.
        let all = all_cores * u64::from(threads);
        if ![all_cores, all].contains(&u64::from(cpus.value)) {
            let message = format!("[nodes.{}] has {} CPUs", nodes.name, cpus.value);
            let label = format!(
                "{} sockets of {} cores of {threads} threads are {all}",
                sockets.value, cores.value
            );
            let severity = unless_assumed(Severity::Warning, &[cpus, sockets, cores]);
            self.say(
                ("cpu-count", severity),
                &cpus.span,
                message,
                label,
                "correct one of them",
            );
        }
    }

    fn gpus(&mut self, nodes: &Named<Nodes>) {
        for gpu in &nodes.gpus {
            if gpu.count.is_none() {
                let message = format!("GPUs of [nodes.{}] have no count", nodes.name);
                let help = "write gpu = { count = 4, model = \"v100\", … }";
                self.say(("gpu-count", Severity::Error), &gpu.span, message, "", help);
            }
            if let (Some(kind), None) = (&gpu.kind, &gpu.model) {
                let message = format!("GPU type {} names no model", kind.value);
                let model = gpu_model::of_type(&kind.value);
                let help = format!("add model = \"{model}\": run files and ports ask for models");
                self.say(
                    ("gpu-model", Severity::Warning),
                    &kind.span,
                    message,
                    "",
                    help,
                );
            }
            if let Some(feature) = &gpu.feature
                && !nodes
                    .features
                    .as_ref()
                    .is_some_and(|own| own.contains(&feature.value))
            {
                let message = format!(
                    "[nodes.{}] lacks the feature {} of its GPUs",
                    nodes.name, feature.value
                );
                let help = format!("add {} to features, or leave feature out", feature.value);
                self.say(
                    ("gpu-feature", Severity::Error),
                    &feature.span,
                    message,
                    "",
                    help,
                );
            }
        }
    }
}
