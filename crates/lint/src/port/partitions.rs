//! The partition.

use super::porter::Porter;
use model::cluster::{ClusterFile, Denial, Named, Nodes, Partition};
use model::option_table::Key;
use model::{Given, TimeLimitRequest};

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
        let time = self.script.request().time;
        let allows = |one: &&Named<Partition>| allows(one, time);
        let what = match (&self.model, self.asks_gpus) {
            (_, false) => "nodes for jobs without GPUs".to_owned(),
            (Some(model), true) if self.model_there => model.clone(),
            _ => "GPUs".to_owned(),
        };
        let what = match time.is_some() && candidates.iter().all(allows) {
            true => format!("{what}, and the time"),
            false => what,
        };
        match &candidates[..] {
            [one] => self.take_partition(given, one, &what),
            [] => {
                let names: Vec<&str> = to.partitions.iter().map(|one| one.name.as_str()).collect();
                let names = names.join(", ");
                let about = match &name {
                    Some(name) => format!("partition {name}: none of {names} is known to serve"),
                    None => format!("none of {}'s partitions {names} is known to serve", to.name),
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
                let why = format!(
                    "{cluster}'s file knows no partition of that name; its default has {what}"
                );
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
                (Some(model), true) => nodes.gpus.iter().any(|gpu| gpu.is_called(model)),
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
        let long = |partition: &&Named<Partition>| allows(partition, request.time);
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
