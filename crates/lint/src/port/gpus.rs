//! GPUs: which the script means, what the other cluster calls them, how many of a node.

use super::gpu_items::{Item, asks, types};
use super::porter::Porter;
use cluster_file::{ClusterFile, Gpu, GpuKind, List, Named, Partition};
use model::option_table::Key;
use model::{Constraint, Given};
use resources::Denial;

/// The GPUs that a script means where it runs now.
enum RequestedGpus<'a> {
    /// These kinds of the first cluster.
    Kinds(Vec<GpuKind<'a>>),
    /// Of this name, which the first cluster's file doesn't have.
    Name(String),
    /// Not clear, for this reason.
    Open(String),
}

impl<'a> Porter<'a> {
    /// Rewrites GPU types and features.
    pub fn gpus(&mut self) {
        let keys = [
            Key::Gres,
            Key::Gpus,
            Key::GpusPerNode,
            Key::GpusPerTask,
            Key::GpusPerSocket,
        ];
        let options: Vec<&Given> = keys
            .into_iter()
            .filter_map(|key| self.last(key))
            .filter(|given| asks(given))
            .collect();
        self.asks_gpus = !options.is_empty();
        if !self.asks_gpus {
            self.machine = one(self.nodes_now().map(|machine| machine.map(str::to_owned)));
            return self.constraint(None);
        }
        let line = options.first().and_then(|given| self.line(given));
        let target = match self.requested(&options) {
            RequestedGpus::Kinds(kinds) => {
                let machines = kinds.iter().map(|kind| kind.nodes.architecture.as_ref());
                self.machine = one(machines.map(|machine| machine.map(|m| m.value.clone())));
                let models = kinds.iter().map(|kind| kind.gpu.model.as_ref());
                self.model = one(models.map(|model| model.map(|model| model.value.clone())));
                match self.model.clone() {
                    Some(model) => self.target(&model, line),
                    None => {
                        let models = models_of(&kinds).join(", ");
                        let name = &self.from.name;
                        self.which(line, format!("on {name} the script takes any of {models}"));
                        None
                    }
                }
            }
            RequestedGpus::Open(why) => {
                let why = match self.replaced_gpu() {
                    Some((gpu, line, by)) => {
                        format!("line {line} says {gpu}, but line {by} replaces it: {why}")
                    }
                    None => why,
                };
                self.machine = one(self.nodes_now().map(|machine| machine.map(str::to_owned)));
                self.which(line, why);
                None
            }
            RequestedGpus::Name(name) => {
                self.machine = one(self.nodes_now().map(|machine| machine.map(str::to_owned)));
                self.model = Some(name.clone());
                self.target(&name, line)
            }
        };
        self.model_there = target.is_some()
            || self
                .model
                .as_ref()
                .is_some_and(|model| !self.to.gpus_called(model).is_empty());
        self.type_there = target
            .as_ref()
            .and_then(|kind| Some(kind.gpu.kind.as_ref()?.value.clone()));
        self.most_gpus = target
            .as_ref()
            .and_then(|kind| Some(kind.gpu.count.as_ref()?.value));
        // Which of several options says how many a node has.
        let counts = options
            .iter()
            .find(|given| given.option.long != "gpus-per-task")
            .copied();
        for given in options {
            match target {
                Some(_) => self.types_of(given, target.as_ref()),
                None => self.without_types(given),
            }
        }
        if let (Some(given), Some(target)) = (counts, &target) {
            self.count(given, target);
        }
        self.constraint(target.as_ref());
    }

    /// What the nodes are that a script without GPUs runs on now.
    fn nodes_now(&self) -> impl Iterator<Item = Option<&'a str>> {
        let from: &'a ClusterFile = self.from;
        let nodes: Vec<_> = match self.partition_now() {
            Some(partition) => {
                let sets = from.nodes_of(partition);
                sets.into_iter().map(|set| &set.nodes.body).collect()
            }
            None => from.nodes.iter().map(|nodes| &nodes.body).collect(),
        };
        let machine = |nodes: &'a cluster_file::Nodes| {
            nodes.architecture.as_ref().map(|machine| machine.as_str())
        };
        nodes.into_iter().map(machine)
    }

    /// The GPUs that the script means where it runs now: by type, by a feature that names them,
    /// else all that its partition has.
    fn requested(&self, options: &[&Given]) -> RequestedGpus<'a> {
        let from: &'a ClusterFile = self.from;
        let named: Vec<String> = options.iter().flat_map(|given| types(given)).collect();
        let all = from.gpus(None);
        if let Some(first) = named.first() {
            let mut kinds = all;
            kinds.retain(|kind| {
                let own = kind.gpu.kind.as_ref();
                own.is_some_and(|own| named.contains(&own.value))
            });
            // A type that the file doesn't know is a name for GPUs all the same.
            return if kinds.is_empty() {
                RequestedGpus::Name(first.clone())
            } else {
                RequestedGpus::Kinds(kinds)
            };
        }
        let wanted = self
            .script
            .value(Key::Constraint)
            .and_then(Constraint::parse);
        let features = wanted.as_ref().map_or(Vec::new(), Constraint::names);
        let mut kinds = from.gpus(self.partition_now().map(|partition| &partition.body));
        let by_feature = |kind: &GpuKind<'_>| {
            let own = kind.gpu.feature.as_ref();
            own.is_some_and(|own| features.contains(&own.as_str()))
        };
        if kinds.iter().any(by_feature) {
            kinds.retain(by_feature);
            return RequestedGpus::Kinds(kinds);
        }
        // Where features name GPUs, one that the file doesn't have can name others.
        let names_gpus = all.iter().any(|kind| kind.gpu.feature.is_some());
        let unknown = |name: &&&str| !super::features::has(from, name);
        let is_gpu = |name: &&str| !self.to.gpus_called(name).is_empty();
        let unknown: Vec<&&str> = features.iter().filter(unknown).collect();
        let name = &from.name;
        match unknown.iter().find(|name| is_gpu(name)) {
            Some(gpu) if names_gpus => return RequestedGpus::Name((**gpu).to_owned()),
            _ => {}
        }
        match unknown.first() {
            Some(feature) if names_gpus => RequestedGpus::Open(format!(
                "{feature} may name GPUs of {name}, and its file doesn't know it"
            )),
            _ if kinds.is_empty() => RequestedGpus::Open(format!(
                "which GPUs the script takes, {name}'s file doesn't say"
            )),
            _ if !from.knows_all(List::Nodes) => RequestedGpus::Open(format!(
                "on {name} the script takes any GPU, and its file knows only some: {}",
                models_of(&kinds).join(", ")
            )),
            _ => RequestedGpus::Kinds(kinds),
        }
    }

    /// Which of the other cluster's GPUs, where it is not clear which of them?
    fn which(&mut self, line: Option<usize>, about: String) {
        let there = models(self.to);
        let about = match &there[..] {
            [] => format!("{about}; {}'s file names no GPUs", self.to.name),
            there => format!("{about}; {} has {}", self.to.name, there.join(", ")),
        };
        let ask = match there.len() {
            0 => "what GPUs are there, and how are they asked for?",
            1 => "will those do?",
            _ => "which of them? without a type it takes any",
        };
        self.ask(line, about, ask);
    }

    /// The partition that the script runs in now.
    pub fn partition_now(&self) -> Option<&'a Named<Partition>> {
        let from: &'a ClusterFile = self.from;
        match self.script.value(Key::Partition) {
            Some(name) => from.partition(name),
            None => from.default_partition(),
        }
    }

    /// What the other cluster has of a model: none where it has none, or where it is not clear.
    fn target(&mut self, model: &str, line: Option<usize>) -> Option<GpuKind<'a>> {
        let to: &'a ClusterFile = self.to;
        let mut kinds = to.gpus_called(model);
        // Of too few nodes no partition is found.
        let nodes = self.script.request().min_nodes.unwrap_or(1);
        let there = |kind: &GpuKind<'_>| nodes <= to.count_of(kind.nodes);
        if kinds.iter().any(there) {
            kinds.retain(there);
        }
        let same = |kind: &GpuKind<'_>| {
            let machine = kind
                .nodes
                .architecture
                .as_ref()
                .map(|machine| &machine.value);
            self.machine.is_some() && machine == self.machine.as_ref()
        };
        if kinds.iter().any(same) && kinds.iter().any(|kind| !same(kind)) {
            kinds.retain(same);
        }
        let enough = |kind: &GpuKind<'_>| {
            let asked = self.script.request().gpus_per_node.as_ref();
            let count = kind.gpu.count.as_ref();
            asked.is_none_or(|asked| count.is_none_or(|count| asked.count <= count.value))
        };
        if kinds.iter().any(enough) {
            kinds.retain(enough);
        }
        if kinds.is_empty() {
            let there: Vec<String> = to.gpus(None).iter().map(|kind| say(kind.gpu)).collect();
            let ask = if there.is_empty() {
                "is there another cluster, or does it run without a GPU?".to_owned()
            } else {
                format!("which instead? it has {}", distinct(there).join(", "))
            };
            let nameless = |kind: &GpuKind<'_>| kind.gpu.model.is_none() && kind.gpu.kind.is_none();
            let about = if to.gpus(None).iter().any(nameless) {
                format!(
                    "the script runs on {model}, and {}'s file doesn't say what its GPUs are",
                    to.name
                )
            } else {
                format!("the script runs on {model}, and {} has none", to.name)
            };
            self.ask_about(line, about, ask, Some(Denial::NodeConfig));
            return None;
        }
        let types = distinct(
            kinds
                .iter()
                .filter_map(|kind| Some(kind.gpu.kind.as_ref()?.value.clone())),
        );
        if types.len() > 1 {
            self.ask(
                line,
                format!(
                    "{} has {model} of several types: {}",
                    to.name,
                    types.join(", ")
                ),
                "which of them? they stand in nodes of different kinds",
            );
            return None;
        }
        kinds
            .into_iter()
            .max_by_key(|kind| kind.gpu.count.as_ref().map_or(0, |count| count.value))
    }

    fn types_of(&mut self, given: &'a Given, target: Option<&GpuKind<'a>>) {
        let Some(target) = target else { return };
        let Some(value) = &given.value else { return };
        let own_types = distinct(
            self.to
                .gpus(None)
                .iter()
                .filter_map(|kind| Some(kind.gpu.kind.as_ref()?.value.clone())),
        );
        let kind = target.gpu.kind.as_ref().map(|kind| kind.value.clone());
        let mut changed = false;
        let items: Vec<String> = value
            .split(',')
            .map(|text| {
                let item = Item::read(text);
                if !item.is_of_gpus(given) {
                    return text.to_owned();
                }
                let wanted = match (&item.kind, &kind) {
                    // A type is added where any GPU would do otherwise.
                    (None, Some(kind)) if own_types.len() > 1 || models(self.to).len() > 1 => {
                        Some(kind)
                    }
                    (None, _) => None,
                    (Some(_), kind) => kind.as_ref(),
                };
                if item.kind.as_ref() == wanted {
                    return text.to_owned();
                }
                changed = true;
                item.with_kind(wanted.map(String::as_str))
            })
            .collect();
        let model = self.model.clone().unwrap_or_default();
        if changed {
            let several = self.to.gpus_called(&model).len() > 1;
            let machine = match &self.machine {
                Some(machine)
                    if several
                        && target
                            .nodes
                            .architecture
                            .as_ref()
                            .is_some_and(|own| own.value == *machine) =>
                {
                    format!(" where nodes are {machine}, as {}'s", self.from.name)
                }
                _ => String::new(),
            };
            let why = match (&kind, types(given).is_empty()) {
                (Some(kind), true) if *kind == model => format!(
                    "it runs on {model} now, and {} has other GPUs too{machine}",
                    self.to.name
                ),
                (Some(kind), true) => format!(
                    "it runs on {model} now; {} has other GPUs too, and calls these {kind}{machine}",
                    self.to.name
                ),
                (Some(kind), false) if *kind == model => {
                    format!("{kind} is the type on {}{machine}", self.to.name)
                }
                (Some(kind), false) => format!("{} calls {model} {kind}{machine}", self.to.name),
                (None, _) => match &target.gpu.feature {
                    Some(feature) => format!(
                        "GPUs of {} have no type: --constraint={}",
                        self.to.name, feature.value
                    ),
                    None => format!("GPUs of {} have no type: all are {model}", self.to.name),
                },
            };
            self.set_value(given, &items.join(","), why);
        }
    }

    /// Takes types out where the other cluster's file names GPUs, and none of a type.
    fn without_types(&mut self, given: &Given) {
        let there = self.to.gpus(None);
        let named = there
            .iter()
            .any(|kind| kind.gpu.kind.is_some() || kind.gpu.feature.is_some());
        let (false, false, Some(value)) = (there.is_empty(), named, &given.value) else {
            return;
        };
        let plain = |text: &str| {
            let item = Item::read(text);
            if item.is_of_gpus(given) && item.kind.is_some() {
                item.with_kind(None)
            } else {
                text.to_owned()
            }
        };
        let items: Vec<String> = value.split(',').map(plain).collect();
        let why = format!("GPUs of {} have no type", self.to.name);
        if items.join(",") != *value {
            self.set_value(given, &items.join(","), why);
        }
    }

    /// More GPUs of a node than there are.
    fn count(&mut self, given: &Given, target: &GpuKind<'_>) {
        let (Some(asked), Some(most)) = (self.gpus_of_node(), &target.gpu.count) else {
            return;
        };
        let request = self.script.request();
        let of_job = given.option.long == "gpus";
        // GPUs of the job are spread over nodes by Slurm, unless something holds them together.
        let open = of_job && request.max_nodes.is_none() && request.tasks_per_node.is_none();
        if asked <= most.value || open {
            return;
        }
        let nodes = request.min_nodes.unwrap_or(1).max(1);
        let all = asked.saturating_mul(nodes);
        let each = most.value.max(1);
        let instead = all.div_ceil(each);
        let kind = target.gpu.kind.as_ref();
        let kind = kind.map_or(String::new(), |kind| format!("{}:", kind.value));
        let there = self.to.count_of(target.nodes);
        // What is asked for the whole job stays; what is asked of a node is less.
        let option = match given.option.long {
            "gpus" => String::new(),
            "gres" => format!(" --gres=gpu:{kind}{each}"),
            long => format!(" --{long}={kind}{each}"),
        };
        let ask = if instead <= there && all.is_multiple_of(each) {
            format!(
                "spread over nodes? --nodes={instead}{option} --ntasks-per-node={each} has the same {all} in all"
            )
        } else {
            format!(
                "fewer? all its nodes of that kind have {}",
                each.saturating_mul(there)
            )
        };
        let written = self.written(given);
        let what = match (of_job, request.max_nodes) {
            (false, _) => format!("{written} asks {asked} GPUs of each node"),
            (true, Some(nodes)) => {
                let nodes = model::counted(nodes as usize, "node");
                format!("{written} asks {all} GPUs for the job, on {nodes}")
            }
            (true, None) => format!(
                "{written} asks {all} GPUs for the job, with {} on a node",
                model::counted(request.tasks_per_node.unwrap_or(1) as usize, "task")
            ),
        };
        let about = format!(
            "{what}; nodes of {} with {} have {}",
            self.to.name,
            self.model.clone().unwrap_or_else(|| "GPUs".to_owned()),
            most.value
        );
        self.ask_about(self.line(given), about, ask, Some(Denial::NodeConfig));
    }
}

/// Models of a cluster's GPUs, each once.
pub(super) fn models(cluster: &ClusterFile) -> Vec<String> {
    models_of(&cluster.gpus(None))
}

fn models_of(kinds: &[GpuKind<'_>]) -> Vec<String> {
    let names = kinds.iter().map(|kind| {
        let name = kind.gpu.model.as_ref().or(kind.gpu.kind.as_ref());
        name.map_or_else(
            || "GPUs of unknown model".to_owned(),
            |name| name.value.clone(),
        )
    });
    distinct(names)
}

fn say(gpu: &Gpu) -> String {
    let name = gpu.model.as_ref().or(gpu.kind.as_ref());
    let name = name.map_or_else(|| "GPUs".to_owned(), |name| name.value.clone());
    match &gpu.memory {
        Some(memory) => format!("{name} ({})", memory.value),
        None => name,
    }
}

fn distinct(names: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for name in names {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// What all say; none where one says nothing or they differ.
fn one(values: impl Iterator<Item = Option<String>>) -> Option<String> {
    let mut values = values;
    let first = values.next()??;
    values
        .all(|value| value.as_ref() == Some(&first))
        .then_some(first)
}
