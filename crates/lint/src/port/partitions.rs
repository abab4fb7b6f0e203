//! The partition.

use super::porter::Porter;
use cluster_file::{ClusterFile, Named, Nodes, Partition, Qos, Sourced};
use model::option_table::Key;
use model::{Given, TimeLimitRequest};
use resources::Denial;

impl<'a> Porter<'a> {
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
        if let Some((hint, at)) = self.hint_of_gpus() {
            let covers = match given {
                Some(_) => Denial::Partition,
                None => Denial::NoPartition,
            };
            let names: Vec<&str> = to.partitions.iter().map(|one| one.name.as_str()).collect();
            let partitions = match &names[..] {
                [one] => format!("one partition, {one}"),
                several => format!("the partitions {}", several.join(", ")),
            };
            let about = format!(
                "the script asks for no GPU, and has {hint} in line {at}; {} has {partitions}",
                to.name
            );
            let ask = "does it need GPUs there? then ask for them, and name the partition";
            return self.ask_about(line, about, ask, Some(covers));
        }
        let what = match (&self.model, self.asks_gpus) {
            (_, false) => "nodes for jobs without GPUs".to_owned(),
            (Some(model), true) if self.model_there => model.clone(),
            _ => "GPUs".to_owned(),
        };
        let time = self.script.request().time;
        let what = |of: &[&Named<Partition>]| {
            let enough = time.is_some() && of.iter().all(|one| allows(one, time));
            match (enough, of.iter().any(|one| is_guess(one))) {
                (true, true) => format!("{what}, and the time, which is assumed"),
                (true, false) => format!("{what}, and the time"),
                (false, _) => what.clone(),
            }
        };
        match &candidates[..] {
            [one] => self.take_partition(given, one, &what(&[one])),
            [] => {
                let names: Vec<&str> = to.partitions.iter().map(|one| one.name.as_str()).collect();
                let names = names.join(", ");
                let nodes = self.script.request().min_nodes.filter(|nodes| *nodes > 1);
                let wanted = match (&self.type_there, nodes) {
                    (Some(kind), Some(nodes)) => format!("serve {nodes} nodes with {kind}"),
                    (Some(kind), None) => format!("serve {kind}"),
                    (None, Some(nodes)) => format!("serve {nodes} nodes"),
                    (None, None) => "serve".to_owned(),
                };
                let about = match &name {
                    Some(name) => format!("partition {name}: none of {names} is known to {wanted}"),
                    None => format!("none of {}'s {names} is known to {wanted}", to.name),
                };
                let covers = match &name {
                    Some(_) => Denial::Partition,
                    None => Denial::NoPartition,
                };
                self.ask_about(line, about, "which one?", Some(covers));
            }
            several => {
                // The default among several is where a job goes that says nothing.
                if let Some(default) =
                    default.filter(|default| several.iter().any(|one| one.name == default.name))
                {
                    return self.take_partition(given, default, &what(&[default]));
                }
                let names: Vec<&str> = several.iter().map(|one| one.name.as_str()).collect();
                let covers = if given.is_some() {
                    Denial::Partition
                } else {
                    Denial::NoPartition
                };
                let what = what(several);
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
                let why = format!(
                    "{cluster}'s file knows no partition of that name; its default has {what}"
                );
                self.remove(given, why);
            }
            Some(given) => {
                let why = format!("{cluster}'s partition {name} has {what}");
                self.set_value(given, name, why);
            }
            None => {
                let why = format!("{cluster} has no default that serves; {name} has {what}");
                self.add(&format!("--partition={name}"), why);
            }
        }
    }

    /// Partitions of the other cluster that have the GPUs and allow the time.
    pub fn candidates(&self) -> Vec<&'a Named<Partition>> {
        let to: &'a ClusterFile = self.to;
        let request = self.script.request();
        let asks_gpus = self.asks_gpus;
        let serves = |partition: &&Named<Partition>| {
            let sets = to.nodes_of(partition);
            // A model that isn't there is asked about already.
            let model = self.model.as_ref().filter(|_| self.model_there);
            let fits = |nodes: &Nodes| match (model, asks_gpus) {
                (_, false) => nodes.gpus.is_empty(),
                (None, true) => !nodes.gpus.is_empty(),
                (Some(model), true) => nodes.gpus.iter().any(|gpu| match &self.type_there {
                    // The type stands in the script: a model's other type is no match.
                    Some(kind) => gpu.kind.as_ref().is_some_and(|own| own.value == *kind),
                    None => gpu.is_called(model),
                }),
            };
            // Where GPUs aren't asked, nodes with some serve as well, unless others have none.
            let any = sets.iter().any(|set| fits(set.nodes))
                || (!asks_gpus && to.nodes.iter().all(|nodes| !nodes.gpus.is_empty()));
            let enough = match (&partition.max_nodes, request.min_nodes) {
                (Some(most), Some(nodes)) => nodes <= most.value,
                _ => true,
            };
            any && enough
        };
        let mut all: Vec<&Named<Partition>> = to.partitions.iter().filter(serves).collect();
        // Programs that were made for one machine don't run on another.
        let same_machine = |partition: &&Named<Partition>| {
            let sets = to.nodes_of(partition);
            let mut machines = sets.iter().map(|set| set.nodes.architecture.as_ref());
            machines.any(|machine| machine.map(|m| &m.value) == self.machine.as_ref())
        };
        if self.machine.is_some() && all.iter().any(same_machine) {
            all.retain(same_machine);
        }
        let time = self.wanted_time();
        let long = |partition: &&Named<Partition>| allows(partition, time);
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

    /// The time that the job can have there: what its QOS doesn't allow is cut in any partition.
    fn wanted_time(&self) -> Option<TimeLimitRequest> {
        let asked = self.script.request().time?;
        let most = self.qos_there().and_then(|qos| qos.max_wall.as_ref());
        match most.filter(|most| !most.is_assumed() && seconds(most.value) < seconds(asked)) {
            Some(most) => Some(most.value),
            None => Some(asked),
        }
    }

    /// The QOS that the ported script has, where that is settled.
    pub fn qos_there(&self) -> Option<&'a Named<Qos>> {
        let to: &'a ClusterFile = self.to;
        match self.script.value(Key::Qos) {
            Some(name) => to.qos(name),
            None => {
                // What is only on the other cluster is changed, or asked about.
                let named = self.script.value(Key::Account);
                let accounts = self.accounts_there();
                let named = named.and_then(|asked| {
                    let mut names = accounts.iter();
                    names.find(|name| name.eq_ignore_ascii_case(asked))
                });
                let named = named.map(String::as_str);
                let own = self.user_there();
                let default = own.and_then(|user| user.default_account.as_ref());
                let default = default.map(|account| account.value.as_str());
                let account = named.or(default).unwrap_or_default();
                let first = self.script.value(Key::Partition);
                let first = first.and_then(|names| names.split(',').next());
                let first = first.filter(|name| to.partition(name).is_some());
                let partition = to.first_partition(first);
                let default = to.default_qos(self.user.unwrap_or("*"), account, partition)?;
                let sure = !default.is_assumed() && !default.is_disputed();
                to.qos(&default.value).filter(|_| sure)
            }
        }
    }

    /// What in a script that asks for no GPU speaks of one, and its line.
    fn hint_of_gpus(&self) -> Option<(&'static str, usize)> {
        const HINTS: [&str; 3] = ["nvidia-smi", " --nv ", "CUDA_VISIBLE_DEVICES="];
        if self.asks_gpus {
            return None;
        }
        let text = self.script.text;
        let found = HINTS.into_iter().filter_map(|hint| {
            let mut places = text.match_indices(hint).map(|(at, _)| at);
            let at = places.find(|at| self.is_read(*at))?;
            Some((hint.trim(), self.script.lines.number(at)))
        });
        found.min_by_key(|(_, line)| *line)
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

/// Whether no source says how long its jobs may take.
fn is_guess(partition: &Partition) -> bool {
    let most = partition.max_time.as_ref();
    most.is_some_and(Sourced::is_assumed)
}

fn allows(partition: &Partition, time: Option<TimeLimitRequest>) -> bool {
    match (time, &partition.max_time) {
        (Some(time), Some(most)) => seconds(time) <= seconds(most.value),
        _ => true,
    }
}

pub(super) fn seconds(time: TimeLimitRequest) -> u64 {
    match time {
        TimeLimitRequest::Limit(limit) => limit.0,
        TimeLimitRequest::Unlimited => u64::MAX,
    }
}
