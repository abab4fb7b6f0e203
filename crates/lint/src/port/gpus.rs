//! GPU names, features, partition.

use super::porter::Porter;
use model::cluster::{ClusterFile, Denial, Gpu, GpuKind, Named, Nodes, Partition};
use model::option_table::Key;
use model::{Given, TimeLimitRequest};

/// The GPU types in a value of `--gres` or `--gpus*`.
pub(super) fn types(value: &str) -> Vec<String> {
    let items = value.split(',').filter_map(|item| Item::read(item).kind);
    items.collect()
}

/// One item of `--gres` or `--gpus`.
struct Item {
    /// `gpu:` or `gres:gpu:`, for `--gres`.
    before: String,
    kind: Option<String>,
    /// `:2`, `2`, or nothing.
    count: Option<u32>,
    /// It is about GPUs.
    is_gpu: bool,
}

impl Item {
    /// `gpu:v100:2`, `gpu:2`, `v100:2`, `2`.
    fn read(text: &str) -> Item {
        let bare = text.strip_prefix("gres:").unwrap_or(text);
        let (before, rest) = match bare.split_once([':', '/']) {
            Some(("gpu", rest)) => (text[..text.len() - rest.len()].to_owned(), rest),
            None if bare == "gpu" => (text.to_owned(), ""),
            _ => (String::new(), text),
        };
        let mut item = Item {
            before,
            kind: None,
            count: None,
            is_gpu: true,
        };
        match rest.rsplit_once(':') {
            Some((kind, count)) => {
                item.kind = Some(kind.to_owned());
                item.count = count.parse().ok();
            }
            None => match rest.parse() {
                Ok(count) => item.count = Some(count),
                Err(_) if rest.is_empty() => {}
                Err(_) => item.kind = Some(rest.to_owned()),
            },
        }
        item
    }

    fn with_kind(&self, kind: Option<&str>) -> String {
        let mut parts = Vec::new();
        if !self.before.is_empty() {
            parts.push(self.before.trim_end_matches(':').to_owned());
        }
        parts.extend(kind.map(str::to_owned));
        match (self.count, &self.kind, kind) {
            (Some(count), _, _) => parts.push(count.to_string()),
            // `--gpus=v100` without its type would be no number.
            (None, Some(_), None) => parts.push("1".to_owned()),
            (None, _, _) => {}
        }
        parts.join(":")
    }
}

/// The names in a feature expression.
pub(super) fn feature_names(expression: &str) -> Vec<String> {
    let parts = expression.split(['&', '|', ',', '(', ')', '[', ']', '*']);
    let names = parts.filter(|name| !name.is_empty() && !name.bytes().all(|b| b.is_ascii_digit()));
    names.map(str::to_owned).collect()
}

impl<'a> Porter<'a> {
    /// Rewrites GPU types and features.
    pub fn gpus(&mut self) {
        let options: Vec<&Given> = [
            Key::Gres,
            Key::Gpus,
            Key::GpusPerNode,
            Key::GpusPerTask,
            Key::GpusPerSocket,
        ]
        .into_iter()
        .filter_map(|key| self.last(key))
        .collect();
        let kinds = self.kinds_asked(&options);
        self.machine = one(kinds
            .iter()
            .map(|kind| kind.nodes.architecture.as_ref().map(|m| m.value.clone())));
        let models = kinds
            .iter()
            .map(|kind| kind.gpu.model.as_ref().map(|model| model.value.clone()));
        self.model = one(models);
        let asks = options.iter().any(|given| {
            let value = given.value.as_deref().unwrap_or_default();
            given.option.long != "gres" || value.contains("gpu")
        });
        let target = if asks { self.target() } else { None };
        self.model_there = target.is_some()
            || self
                .model
                .as_ref()
                .is_some_and(|model| !self.to.gpus_called(model).is_empty());
        self.most_gpus = target
            .as_ref()
            .and_then(|kind| Some(kind.gpu.count.as_ref()?.value));
        // Which of several options says how many a node has.
        let counts = options
            .iter()
            .find(|given| given.option.long != "gpus-per-task")
            .copied();
        for given in options {
            self.types_of(given, target.as_ref());
        }
        if let (Some(given), Some(target)) = (counts, &target) {
            self.count(given, target);
        }
        self.constraint(target.as_ref());
    }

    /// The kinds of GPUs that the script means where it runs now.
    fn kinds_asked(&self, options: &[&Given]) -> Vec<GpuKind<'a>> {
        let mut kinds = self
            .from
            .gpus(self.partition_now().map(|partition| &partition.body));
        let named: Vec<String> = options
            .iter()
            .flat_map(|given| types(given.value.as_deref().unwrap_or_default()))
            .collect();
        if !named.is_empty() {
            kinds = self.from.gpus(None);
            kinds.retain(|kind| {
                kind.gpu
                    .kind
                    .as_ref()
                    .is_some_and(|own| named.contains(&own.value))
            });
            return kinds;
        }
        let features = self
            .script
            .value(Key::Constraint)
            .map(feature_names)
            .unwrap_or_default();
        let by_feature = |kind: &GpuKind<'_>| {
            kind.gpu
                .feature
                .as_ref()
                .is_some_and(|own| features.contains(&own.value))
        };
        if kinds.iter().any(by_feature) {
            kinds.retain(by_feature);
        }
        kinds
    }

    /// The partition that the script runs in now.
    pub fn partition_now(&self) -> Option<&'a Named<Partition>> {
        let from: &'a ClusterFile = self.from;
        match self.script.value(Key::Partition) {
            Some(name) => from.partition(name),
            None => from.default_partition(),
        }
    }

    /// What the other cluster has of the model: none where it has none, or where it is not clear.
    fn target(&mut self) -> Option<GpuKind<'a>> {
        let to: &'a ClusterFile = self.to;
        let line = [Key::Gres, Key::Gpus, Key::GpusPerNode, Key::GpusPerTask]
            .into_iter()
            .find_map(|key| self.last(key))
            .and_then(|given| self.line(given));
        let Some(model) = self.model.clone() else {
            let text = format!("any GPU of {}", self.from.name);
            let models = models(to);
            if models.len() > 1 {
                self.ask(
                    line,
                    format!(
                        "the script takes {text}; {} has {}",
                        to.name,
                        models.join(", ")
                    ),
                    "which of them? without a type it takes any",
                );
            }
            return None;
        };
        let mut kinds = to.gpus_called(&model);
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
        if kinds.is_empty() {
            let there: Vec<String> = to.gpus(None).iter().map(|kind| say(kind.gpu)).collect();
            let ask = match there.is_empty() {
                true => "is there another cluster, or does it run without a GPU?".to_owned(),
                false => format!("which instead? it has {}", distinct(there).join(", ")),
            };
            self.ask_about(
                line,
                format!("the script runs on {model}, and {} has none", to.name),
                ask,
                Some(Denial::NodeConfig),
            );
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
        let is_gres = given.option.long == "gres";
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
                if !item.is_gpu || (is_gres && item.before.is_empty()) {
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
            let why = match (&kind, types(value).is_empty()) {
                (Some(kind), true) => {
                    format!(
                        "{} has {model} alone; {} has other GPUs too, and calls {model} {kind}{machine}",
                        self.from.name, self.to.name
                    )
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

    /// More GPUs of a node than there are.
    fn count(&mut self, given: &Given, target: &GpuKind<'_>) {
        let (Some(asked), Some(most)) = (self.gpus_of_node(), &target.gpu.count) else {
            return;
        };
        if asked <= most.value {
            return;
        }
        let nodes = self.script.request().min_nodes.unwrap_or(1).max(1);
        let all = asked.saturating_mul(nodes);
        let instead = all.div_ceil(most.value.max(1));
        let kind = target
            .gpu
            .kind
            .as_ref()
            .map_or(String::new(), |kind| format!("{}:", kind.value));
        let there = self.to.count_of(target.nodes);
        let each = most.value;
        // What is asked for the whole job stays; what is asked of a node is less.
        let option = match given.option.long {
            "gpus" => String::new(),
            "gres" => format!(" --gres=gpu:{kind}{each}"),
            long => format!(" --{long}={kind}{each}"),
        };
        let ask = match instead <= there && all.is_multiple_of(each.max(1)) {
            true => format!(
                "spread over nodes? --nodes={instead}{option} --ntasks-per-node={each} has the same {all} in all"
            ),
            false => format!(
                "fewer? all its nodes of that kind have {}",
                each.saturating_mul(there)
            ),
        };
        let about = format!(
            "{} is {asked} GPUs of a node; nodes of {} with {} have {}",
            self.written(given),
            self.to.name,
            self.model.clone().unwrap_or_else(|| "GPUs".to_owned()),
            most.value
        );
        self.ask_about(self.line(given), about, ask, Some(Denial::NodeConfig));
    }

    /// Features: those of GPUs are translated, those that the other cluster hasn't are asked about.
    fn constraint(&mut self, target: Option<&GpuKind<'a>>) {
        let wanted = target.and_then(|kind| Some(kind.gpu.feature.as_ref()?.value.clone()));
        let given = self.last(Key::Constraint);
        let known = |name: &str| {
            let mut features = self
                .to
                .nodes
                .iter()
                .filter_map(|nodes| nodes.features.as_ref());
            features.any(|features| features.iter().any(|own| own == name))
        };
        let Some(given) = given else {
            if let Some(feature) = wanted {
                let why = format!(
                    "by this feature {} gives {}",
                    self.to.name,
                    self.model.clone().unwrap_or_default()
                );
                self.add(&format!("--constraint={feature}"), why);
            }
            return;
        };
        let text = given.value.clone().unwrap_or_default();
        let names = feature_names(&text);
        let of_gpus: Vec<String> = self
            .from
            .gpus(None)
            .iter()
            .filter_map(|kind| Some(kind.gpu.feature.as_ref()?.value.clone()))
            .collect();
        let odd: Vec<&String> = names.iter().filter(|name| !known(name)).collect();
        let (gpu, other): (Vec<&String>, Vec<&String>) =
            odd.into_iter().partition(|name| of_gpus.contains(name));
        let plain = !text.contains(['|', '(', '[', '*']);
        let unknown = !gpu.is_empty() || !other.is_empty();
        if unknown && !plain {
            let about = format!(
                "--constraint={text}: {} has no {}",
                self.to.name,
                names.join(", ")
            );
            return self.ask_about(
                self.line(given),
                about,
                "what of it is needed there?",
                Some(Denial::Feature),
            );
        }
        let mut kept: Vec<String> = names.iter().filter(|name| known(name)).cloned().collect();
        if let Some(feature) = wanted.filter(|feature| !kept.contains(feature)) {
            kept.insert(0, feature);
        }
        for name in &other {
            let machine = self.to.name.clone();
            self.ask_about(
                self.line(given),
                format!("feature {name}: {machine} has no such feature, so it was taken out"),
                "was it for speed, or does the program need it?",
                Some(Denial::Feature),
            );
        }
        let kept = kept.join("&");
        if kept == text {
            return;
        }
        let mut why: Vec<String> = Vec::new();
        if !gpu.is_empty() {
            let gpu: Vec<&str> = gpu.iter().map(|name| name.as_str()).collect();
            why.push(match target {
                Some(_) => format!("on {} the GPU's type says {}", self.to.name, gpu.join(", ")),
                None => format!(
                    "{} has no GPU of that feature, {}",
                    self.to.name,
                    gpu.join(", ")
                ),
            });
        }
        if !other.is_empty() {
            let other: Vec<&str> = other.iter().map(|name| name.as_str()).collect();
            why.push(format!(
                "{} has no feature {}",
                self.to.name,
                other.join(", ")
            ));
        }
        if why.is_empty() {
            why.push(format!("by this feature {} gives the GPU", self.to.name));
        }
        match kept.is_empty() {
            true => self.remove(given, why.join("; ")),
            false => self.set_value(given, &kept, why.join("; ")),
        }
    }

    /// The partition: one that has what is asked and allows the time.
    pub fn partition(&mut self) {
        let to: &'a ClusterFile = self.to;
        let given = self.last(Key::Partition);
        let name = given.and_then(|given| given.value.clone());
        if to.partitions.is_empty() {
            if let (Some(given), Some(name)) = (given, &name) {
                let about = format!("partition {name}: {}'s file names none", to.name);
                self.ask(self.line(given), about, "which partition there?");
            }
            return;
        }
        let candidates = self.candidates();
        let default = to.default_partition();
        if given.is_none()
            && default.is_some_and(|default| candidates.iter().any(|one| one.name == default.name))
        {
            return;
        }
        if let Some(name) = &name
            && candidates.iter().any(|one| one.name == *name)
        {
            return;
        }
        let line = given.and_then(|given| self.line(given));
        let what = match &self.model {
            Some(model) if self.model_there => format!("{model}, and the time"),
            _ => "what is asked".to_owned(),
        };
        match &candidates[..] {
            [one] => self.take_partition(given, one, &what),
            [] => {
                let names: Vec<&str> = to.partitions.iter().map(|one| one.name.as_str()).collect();
                let about = match &name {
                    Some(name) => format!(
                        "partition {name}: none of {} is known to serve",
                        names.join(", ")
                    ),
                    None => format!("no partition of {} is known to serve", names.join(", ")),
                };
                self.ask_about(line, about, "which one?", Some(Denial::Partition));
            }
            several => {
                // The default among several is where a job goes that says nothing.
                if let Some(default) =
                    default.filter(|default| several.iter().any(|one| one.name == default.name))
                {
                    return self.take_partition(given, default, &what);
                }
                let names: Vec<&str> = several.iter().map(|one| one.name.as_str()).collect();
                let covers = if given.is_some() {
                    Denial::Partition
                } else {
                    Denial::NoPartition
                };
                let about = format!("{} of {} have {what}", names.join(", "), to.name);
                self.ask_about(line, about, "which of them?", Some(covers));
            }
        }
    }

    fn take_partition(&mut self, given: Option<&'a Given>, to: &'a Named<Partition>, what: &str) {
        let name = &to.name;
        let cluster = &self.to.name;
        let guessed = to
            .default
            .as_ref()
            .is_some_and(|default| default.value && default.is_assumed());
        match given {
            Some(given) if guessed => {
                let why =
                    format!("{cluster} has no partition of that name, and its default serves");
                self.remove(given, why);
            }
            Some(given) => {
                let why = format!("of {cluster}'s partitions {name} has {what}");
                self.set_value(given, name, why);
            }
            None => {
                let why = format!("{cluster} has no default that serves; {name} has {what}");
                self.add(&format!("--partition={name}"), why);
            }
        }
    }

    /// Partitions of the other cluster that have the GPUs and allow the time.
    fn candidates(&self) -> Vec<&'a Named<Partition>> {
        let to: &'a ClusterFile = self.to;
        let request = self.script.request();
        let asks_gpus = self.gpus_of_node().is_some() || request.gpus_per_task.is_some();
        let serves = |partition: &&Named<Partition>| {
            let sets = to.nodes_of(partition);
            // A model that isn't there is asked about already.
            let model = self.model.as_ref().filter(|_| self.model_there);
            let fits = |nodes: &Nodes| match (model, asks_gpus) {
                (_, false) => nodes.gpus.is_empty(),
                (None, true) => !nodes.gpus.is_empty(),
                (Some(model), true) => nodes.gpus.iter().any(|gpu| gpu.is_called(model)),
            };
            // Where GPUs aren't asked, nodes with some serve as well, unless others have none.
            let any = sets.iter().any(|set| fits(set.nodes))
                || (!asks_gpus && to.nodes.iter().all(|nodes| !nodes.gpus.is_empty()));
            let same_machine = self.machine.is_none()
                || to.nodes.iter().all(|nodes| {
                    nodes.architecture.as_ref().map(|m| &m.value) != self.machine.as_ref()
                })
                || sets.iter().any(|set| {
                    set.nodes.architecture.as_ref().map(|m| &m.value) == self.machine.as_ref()
                });
            let enough = match (&partition.max_nodes, request.min_nodes) {
                (Some(most), Some(nodes)) => nodes <= most.value,
                _ => true,
            };
            any && same_machine && enough
        };
        let all: Vec<&Named<Partition>> = to.partitions.iter().filter(serves).collect();
        let long = |partition: &&Named<Partition>| match (request.time, &partition.max_time) {
            (Some(time), Some(most)) => seconds(time) <= seconds(most.value),
            _ => true,
        };
        // The time can be cut; what isn't there can't be made.
        let allowed: Vec<&Named<Partition>> = all.iter().copied().filter(long).collect();
        if !allowed.is_empty() {
            return allowed;
        }
        let longest = all
            .iter()
            .map(|one| {
                one.max_time
                    .as_ref()
                    .map_or(u64::MAX, |most| seconds(most.value))
            })
            .max();
        let is_longest = |one: &&Named<Partition>| {
            Some(
                one.max_time
                    .as_ref()
                    .map_or(u64::MAX, |most| seconds(most.value)),
            ) == longest
        };
        all.into_iter().filter(is_longest).collect()
    }

    /// The partition that the ported script goes to, where that is settled.
    pub fn partition_there(&self) -> Option<&'a Named<Partition>> {
        let to: &'a ClusterFile = self.to;
        let candidates = self.candidates();
        let named = self.script.value(Key::Partition);
        let same = named.and_then(|name| candidates.iter().find(|one| one.name == name));
        match (same, &candidates[..]) {
            (Some(same), _) => Some(same),
            (None, [one]) => Some(one),
            (None, several) => {
                let default = to.default_partition()?;
                several.iter().find(|one| one.name == default.name).copied()
            }
        }
    }
}

pub(super) fn seconds(time: TimeLimitRequest) -> u64 {
    match time {
        TimeLimitRequest::Limit(limit) => limit.0,
        TimeLimitRequest::Unlimited => u64::MAX,
    }
}

/// Models of a cluster's GPUs, each once.
fn models(cluster: &ClusterFile) -> Vec<String> {
    let kinds = cluster.gpus(None);
    let names = kinds.iter().map(|kind| {
        let name = kind.gpu.model.as_ref().or(kind.gpu.kind.as_ref());
        name.map_or_else(
            || "a GPU of unknown model".to_owned(),
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
