//! `NodeName` lines.

use super::conf_line::{ConfLine, Pair};
use super::global::{list, megabytes};
use super::{Importer, known_options, said};
use crate::gpu_model;
use crate::{Gpu, Mib, Named, Nodes, NodesState, Source, Sourced};
use model::{NodeName, node_list};
use std::collections::HashSet;

impl Importer {
    pub(super) fn node(&mut self, line: &ConfLine) {
        let Some(names) = line.value("NodeName") else {
            return;
        };
        if names.eq_ignore_ascii_case("DEFAULT") {
            let own = self.defaults(line, known_options::NODE);
            self.node_defaults = merged(&self.node_defaults, &own);
            return;
        }
        let added = self.listed.add(names, self.file.nodes.len());
        let option = || format!("NodeName={names}");
        let added = match added {
            Ok(added) => added,
            Err(why) => return self.refused(line, &option(), why),
        };
        if let Some(twice) = &added.twice {
            self.refused(line, &option(), format!("node {twice} stands twice"));
        }
        let Some(names) = added.new else { return };
        let mut nodes = Nodes {
            names: said(line, names.clone()),
            ..Nodes::default()
        };
        let mut parts = Parts::default();
        for pair in merged(&self.node_defaults, &line.pairs[1..]) {
            self.node_pair(line, &mut nodes, &mut parts, &pair);
        }
        if let Some(sockets) = parts.sockets {
            nodes.sockets = said(line, sockets.saturating_mul(parts.boards.unwrap_or(1)));
        } else if let Some(sockets) = parts.sockets_per_board {
            nodes.sockets = said(line, sockets.saturating_mul(parts.boards.unwrap_or(1)));
        }
        if nodes.cpus.is_none() && !parts.cpus_refused {
            // Slurm counts them from their parts.
            let part = |value: &Option<Sourced<u32>>| value.as_ref().map_or(1, |value| value.value);
            let known = nodes.sockets.is_some() || nodes.cores_per_socket.is_some();
            let cpus = part(&nodes.sockets)
                .saturating_mul(part(&nodes.cores_per_socket))
                .saturating_mul(part(&nodes.threads_per_core));
            nodes.cpus = said(line, if known { cpus } else { 1 });
        }
        // Slurm's own default.
        if nodes.tmp_disk.is_none() {
            nodes.tmp_disk = said(line, Mib(0));
        }
        let name = self.group_name(&nodes, &names);
        self.file.nodes.push(Named {
            name,
            span: 0..0,
            body: nodes,
        });
    }

    fn node_pair(&mut self, line: &ConfLine, nodes: &mut Nodes, parts: &mut Parts, pair: &Pair) {
        let value = pair.value.as_str();
        let number = value.parse::<u32>().ok();
        let count = || number.and_then(|number| said(line, number));
        let size = || megabytes(value).and_then(|size| said(line, size));
        macro_rules! set {
            ($place:expr, $value:expr) => {{
                $place = $value;
                Some($place.is_some())
            }};
        }
        let taken = match pair.key.to_ascii_lowercase().as_str() {
            "cpus" | "procs" => {
                parts.cpus_refused = number.is_none();
                set!(nodes.cpus, count())
            }
            "boards" => set!(parts.boards, number),
            "sockets" => set!(parts.sockets, number),
            "socketsperboard" => set!(parts.sockets_per_board, number),
            "corespersocket" => set!(nodes.cores_per_socket, count()),
            "threadspercore" => set!(nodes.threads_per_core, count()),
            "weight" => set!(nodes.weight, count()),
            "realmemory" => set!(nodes.memory, size()),
            "memspeclimit" => set!(nodes.reserved_memory, size()),
            "tmpdisk" => set!(nodes.tmp_disk, size()),
            "feature" | "features" => {
                nodes.features = said(line, list(value));
                Some(true)
            }
            "gres" => {
                self.node_gres(line, nodes, value);
                Some(true)
            }
            "state" => match value.to_ascii_lowercase().as_str() {
                "future" => set!(nodes.state, said(line, NodesState::Future)),
                "cloud" => set!(nodes.state, said(line, NodesState::Cloud)),
                "unknown" | "idle" => return self.daemon(line, &pair.key),
                // What state a node is in today is no fact of the cluster.
                _ => {
                    return self.note(
                        line,
                        &format!("State={value}"),
                        "the nodes are taken as usable",
                    );
                }
            },
            "nodeaddr" | "nodehostname" | "bcastaddr" | "port" | "reason" => {
                return self.daemon(line, &pair.key);
            }
            _ => None,
        };
        self.not_taken(line, pair, taken, known_options::NODE);
    }

    /// `gpu:v100:4(S:0-1),nvme:1`
    fn node_gres(&mut self, line: &ConfLine, nodes: &mut Nodes, value: &str) {
        let mut others = Vec::new();
        for item in super::gres::items(value) {
            let bare = item.split('(').next().unwrap_or_default();
            let mut parts = bare.split(':').filter(|part| *part != "no_consume");
            let name = parts.next().unwrap_or_default();
            if name != "gpu" {
                others.push(item.clone());
                continue;
            }
            let rest: Vec<&str> = parts.collect();
            let count = |text: &str| super::gres::count(text);
            let (kind, count) = match rest[..] {
                [] => (None, Some(1)),
                [one] => match count(one) {
                    Some(number) => (None, Some(number)),
                    None => (Some(one.to_owned()), Some(1)),
                },
                [kind, number, ..] => (Some(kind.to_owned()), count(number)),
            };
            let Some(count) = count else {
                self.refused(line, &format!("Gres={item}"), "its count can't be read");
                continue;
            };
            let kind = kind.filter(|kind| !kind.trim().is_empty());
            nodes.gpus.push(Gpu {
                kind: kind.and_then(|kind| said(line, kind)),
                count: said(line, count),
                ..Gpu::default()
            });
        }
        if !others.is_empty() {
            nodes.gres = said(line, others);
        }
    }

    /// A name for a group: its GPUs' type, else what its nodes' names begin with.
    fn group_name(&mut self, nodes: &Nodes, names: &str) -> String {
        let of_gpus = nodes.gpus.iter().find_map(|gpu| gpu.kind.as_ref());
        let mut first: Option<NodeName> = None;
        // It was read before: it has no mistakes.
        let _ = node_list::for_each(names, |name| {
            first.get_or_insert_with(|| NodeName::from(name.to_owned()));
        });
        let prefix = first.map_or_else(String::new, |name| {
            name.as_str()
                .trim_end_matches(|c: char| c.is_ascii_digit() || c == '-')
                .to_owned()
        });
        let base = match of_gpus {
            Some(kind) => kind.value.clone(),
            None if prefix.is_empty() => "nodes".to_owned(),
            None => prefix,
        };
        if self.group_names.insert(base.clone()) {
            return base;
        }
        let next = self.group_numbers.entry(base.clone()).or_insert(2);
        loop {
            let name = format!("{base}-{next}");
            *next += 1;
            if self.group_names.insert(name.clone()) {
                return name;
            }
        }
    }

    /// The options of a line of defaults, of each the last. Those that Slurm hasn't are noted here, not
    /// with each line behind it.
    pub(super) fn defaults(&mut self, line: &ConfLine, known: &[&str]) -> Vec<Pair> {
        self.unknown_options(line, known);
        let mut seen = HashSet::new();
        let mut own: Vec<Pair> = line.pairs[1..].to_vec();
        own.reverse();
        own.retain(|pair| {
            known_options::has(known, &pair.key) && seen.insert(pair.key.to_ascii_lowercase())
        });
        own.reverse();
        own
    }

    /// Models of GPUs, as far as their types tell.
    pub(super) fn models(&mut self) {
        for nodes in &mut self.file.nodes {
            for gpu in &mut nodes.body.gpus {
                let Some(kind) = &gpu.kind else { continue };
                let model = gpu_model::of_type(&kind.value);
                let why = "its GRES type says so".to_owned();
                gpu.model = Some(Sourced::new(model, Source::Assumed(why)));
            }
        }
    }
}

/// What CPUs are made of.
#[derive(Default)]
struct Parts {
    /// `CPUs` has a value that Slurm doesn't take: then they don't follow from the parts either.
    cpus_refused: bool,
    boards: Option<u32>,
    sockets: Option<u32>,
    sockets_per_board: Option<u32>,
}

/// A line's own pairs over the defaults.
pub(super) fn merged(defaults: &[Pair], own: &[Pair]) -> Vec<Pair> {
    let keys: HashSet<String> = own.iter().map(|own| own.key.to_ascii_lowercase()).collect();
    let given = |pair: &&Pair| !keys.contains(&pair.key.to_ascii_lowercase());
    defaults.iter().filter(given).chain(own).cloned().collect()
}
