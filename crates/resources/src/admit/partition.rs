//! What a partition demands of a job: `_part_access_check` of 22.05's `job_mgr.c`.

use super::account::Who;
use super::describe::spare;
use super::nodes::Place;
use super::{Change, Denial, Fate, Finding, LimitPath, Requested, Subject, There};
use super::{Judge, finding, has_flag, seconds};
use crate::Trust;
use crate::demand::over_memory;
use cluster_file::{ClusterFile, EnforcePartLimits, PartitionState};
use cluster_file::{List, Named, Nodes, Partition, PartitionNodes, Qos, Sourced};
use model::option_table::Key;
use model::{NodeName, Request, mebibytes_option};
use std::borrow::Cow;

/// Whether ordinary jobs can be for it.
pub(super) fn is_for_all(partition: &Partition) -> bool {
    let is_set = |flag: &Option<Sourced<bool>>| flag.as_ref().is_some_and(|flag| flag.value);
    !is_set(&partition.hidden)
        && !is_set(&partition.root_only)
        && !is_set(&partition.needs_reservation)
}

/// Whether a cluster refuses jobs beyond the limits of their partitions (`EnforcePartLimits`).
pub(super) fn is_enforced(file: &ClusterFile) -> bool {
    let enforce = file.limits.enforce_partition_limits.as_ref();
    enforce.is_some_and(|enforce| enforce.value != EnforcePartLimits::No)
}

/// Whether a job can be in one partition alone.
pub(super) fn names_one(request: &Request) -> bool {
    let named = request.partition.as_deref();
    named.is_none_or(|names| !names.contains(','))
}

impl Judge<'_, '_> {
    /// Refused where the cluster enforces partition limits, else accepted to wait.
    pub(super) fn over_partition(&mut self, reason: impl Into<Cow<'static, str>>, found: Finding) {
        let fate = if is_enforced(self.file) {
            Fate::Refused
        } else {
            Fate::Waits(reason.into())
        };
        self.found.push(Finding { fate, ..found });
    }

    pub(super) fn partition(&mut self, partition: &Named<Partition>, who: &Who<'_>) {
        let name = &partition.name;
        let path = |key| LimitPath::Partition(name.clone(), key);
        let asked = || Requested::Option(Key::Partition, name.clone());
        if let Some(state) = &partition.state
            && matches!(
                state.value,
                PartitionState::Drain | PartitionState::Inactive
            )
        {
            let there = There::State(name.clone(), state.value);
            let instead = vec![self.elsewhere(name, who)];
            let found = finding(Denial::PartitionClosed, asked(), there, instead);
            self.found.push(found.at(path("state"), state));
        }
        if let Some(down) = partition.state.as_ref()
            && down.value == PartitionState::Down
        {
            let there = There::State(name.clone(), down.value);
            let instead = vec![self.elsewhere(name, who)];
            let found = finding(Denial::PartitionClosed, asked(), there, instead);
            // Until somebody brings it up again, whether or not the cluster enforces limits of partitions.
            self.found.push(Finding {
                fate: Fate::Waits("PartitionDown".into()),
                assumed: true,
                ..found.at(path("state"), down)
            });
        }
        if let Some(needs) = partition
            .needs_reservation
            .as_ref()
            .filter(|needs| needs.value)
            && self.request.rare.reservation.is_none()
        {
            let there = There::ForReservations(name.clone());
            let instead = vec![Change::Reservation, self.elsewhere(name, who)];
            let found = finding(Denial::Access, asked(), there, instead);
            self.found.push(found.at(path("needs_reservation"), needs));
        }
        if let Some(root) = partition.root_only.as_ref().filter(|root| root.value)
            && !who.is_root
        {
            let there = There::ForRoot(name.clone());
            let instead = vec![self.elsewhere(name, who)];
            let found = finding(Denial::Access, asked(), there, instead);
            self.found.push(found.at(path("root_only"), root));
        }
        if let Some(none) = partition.no_root_jobs.as_ref().filter(|none| none.value)
            && who.is_root
        {
            let there = There::NotForRoot(name.clone());
            let instead = vec![self.elsewhere(name, who)];
            let found = finding(Denial::User, asked(), there, instead);
            self.found.push(found.at(path("no_root_jobs"), none));
        }
        self.groups(partition, who);
        self.memory(partition);
        self.sizes(partition, who);
        self.accounts(partition, who);
    }

    fn groups(&mut self, partition: &Named<Partition>, who: &Who<'_>) {
        let (Some(allowed), Some(own)) = (
            &partition.allow_groups,
            who.user.and_then(|user| user.groups.as_ref()),
        ) else {
            return;
        };
        if who.is_root
            || allowed
                .iter()
                .any(|group| group == "ALL" || own.contains(group))
        {
            return;
        }
        let name = &partition.name;
        let instead = vec![self.elsewhere(name, who)];
        self.found.push(
            finding(
                Denial::Group,
                Requested::PartitionOf(name.clone(), own.value.clone()),
                There::ForGroups(name.clone(), allowed.value.clone()),
                instead,
            )
            .at(LimitPath::Partition(name.clone(), "allow_groups"), allowed),
        );
    }

    /// More memory of a node than the partition gives, asked or by default.
    fn memory(&mut self, partition: &Named<Partition>) {
        let cluster = self.idle.cluster(Trust::All);
        let own = cluster.find_partition(&partition.name);
        let defaults = cluster.defaults(own);
        let memory = self.request.memory;
        let Some((asked, most)) = over_memory(self.request, memory.or(defaults.memory), defaults)
        else {
            return;
        };
        let found = finding(
            if memory.is_some() {
                Denial::TaskMemory
            } else {
                Denial::PartitionConfig
            },
            Requested::Tres("mem".to_owned(), asked),
            There::MostMemory(partition.name.clone(), most),
            vec![Change::Set(Key::Mem, mebibytes_option(most))],
        );
        let limit = partition.max_memory_per_node.as_ref();
        let found = match limit.or(self.file.limits.max_memory_per_node.as_ref()) {
            Some(limit) => {
                let key = "max_memory_per_node";
                let of_partition = LimitPath::Partition(partition.name.clone(), key);
                let is_own = partition.max_memory_per_node.is_some();
                let path = if is_own {
                    of_partition
                } else {
                    LimitPath::Cluster(key)
                };
                found.at(path, limit)
            }
            None => found,
        };
        self.over_partition("MaxMemPerLimit", found);
    }

    /// The shortest time over that of all partitions of a job, or over the default of the first of them where no
    /// time is asked: refused, whether or not the cluster enforces limits of partitions.
    pub(super) fn shortest_time(&mut self, partitions: &[&Named<Partition>], who: &Who<'_>) {
        let passes = |qos: &&Named<Qos>| has_flag(qos, "PartitionTimeLimit");
        let least = self.request.rare.time_min;
        let Some(least) = least.filter(|_| !who.qos.iter().any(passes)) else {
            return;
        };
        let longest = partitions
            .iter()
            .map(|it| Some((it, it.max_time.as_ref()?)));
        let longest: Option<Vec<_>> = longest.collect();
        let longest = longest.unwrap_or_default().into_iter();
        let longest = longest.max_by_key(|(_, limit)| seconds(limit.value));
        let first = partitions.first().filter(|_| self.request.time.is_none());
        let default = first.and_then(|it| Some((it, it.default_time.as_ref()?)));
        let limits = [("max_time", longest), ("default_time", default)];
        let mut over = limits.into_iter().filter_map(|(key, limit)| {
            let (partition, limit) = limit?;
            (seconds(least) > seconds(limit.value)).then_some((key, partition, limit))
        });
        let Some((key, partition, limit)) = over.next() else {
            return;
        };
        let found = finding(
            Denial::TimeMin,
            Requested::Option(Key::TimeMin, least.to_string()),
            There::MostTime(limit.value),
            vec![Change::Set(Key::TimeMin, limit.value.to_string())],
        )
        .most(seconds(limit.value))
        .at(LimitPath::Partition(partition.name.clone(), key), limit);
        self.found.push(found);
    }

    fn sizes(&mut self, partition: &Named<Partition>, who: &Who<'_>) {
        let name = &partition.name;
        let path = |key| LimitPath::Partition(name.clone(), key);
        let file = self.file;
        let sets = file.nodes_of(partition);
        let total: u32 = sets
            .iter()
            .map(|set| set.count)
            .fold(0, u32::saturating_add);
        let min = self.request.min_nodes.unwrap_or(1);
        // A node has a CPU at the least, and those are counted first.
        let (too_many, reason) = if u64::from(min) > Place::of(self.idle, Some(partition)).cpus() {
            (Denial::TooManyCpus, "PartitionConfig")
        } else {
            (Denial::NodeCount, "PartitionNodeLimit")
        };
        let asked_most = self.request.max_nodes.unwrap_or(min).max(min);
        let uncounted = |nodes: &Nodes| {
            nodes.count.is_none() && nodes.names.as_ref().is_none_or(Sourced::is_assumed)
        };
        let assumed = !file.knows_all(List::Nodes)
            || total.saturating_add(spare(partition, &sets)) >= min
            || sets.iter().any(|set| uncounted(set.nodes));
        let nodes = |count: u32| Change::Set(Key::Nodes, count.to_string());
        let nodes_asked = || Requested::Option(Key::Nodes, min.to_string());
        let over_most = partition
            .max_nodes
            .as_ref()
            .is_some_and(|most| min > most.value);
        if total > 0 && min > total && !over_most {
            let other = self.other_partition(name, who).map(Change::partition);
            // Of several partitions some nodes are looked for, unless the job is held.
            let waits_or_is_refused =
                is_enforced(self.file) || self.request.hold || names_one(self.request);
            let found = Finding {
                at: LimitPath::NodeCount(name.clone()),
                assumed,
                ..finding(
                    if waits_or_is_refused {
                        too_many
                    } else {
                        Denial::NodeConfig
                    },
                    nodes_asked(),
                    There::NodeCount(name.clone(), total),
                    std::iter::once(nodes(total)).chain(other).collect(),
                )
                .about(Subject::Option(Key::Nodes))
                .most(total)
            };
            if waits_or_is_refused {
                self.over_partition(reason, found)
            } else {
                self.found.push(found)
            }
        }
        if let Some(listed) = self.listed_outside(partition) {
            let guessed =
                |nodes: &Named<Nodes>| nodes.names.as_ref().is_none_or(Sourced::is_assumed);
            let own = partition.nodes.as_ref();
            // One that the file does not know, though the cluster may, is in partitions of which it says "ALL".
            let mut names = file.nodes.iter().flat_map(|nodes| file.names_of(nodes));
            let is_unknown =
                !file.knows_all(List::Nodes) && !names.any(|name| name.as_str() == listed);
            let other = self.partition_with(&listed).map(Change::partition);
            let out = Change::LeaveNodeOut {
                is_elsewhere: other.is_some(),
            };
            let found = Finding {
                assumed: is_unknown
                    || own.is_some_and(Sourced::is_assumed)
                    || file.nodes.iter().any(guessed),
                ..finding(
                    Denial::NodesNotInPartition,
                    Requested::ListedNode(listed),
                    There::NoSuchNode(name.clone()),
                    std::iter::once(out).chain(other).collect(),
                )
            };
            self.over_partition("PartitionConfig", found);
        }
        let has = |flag: &str| who.qos.iter().any(|qos| has_flag(qos, flag));
        let request = self.request;
        // One that a file need not name may lift these limits.
        let named = request.qos.as_ref();
        let may_be_lifted =
            !file.knows_all(List::Qos) && named.is_some_and(|name| file.qos(name).is_none());
        let unless_lifted = |found: Finding| Finding {
            assumed: found.assumed || may_be_lifted,
            ..found
        };
        // Where such jobs are refused a range has to begin there; else it is enough that it ends there.
        let reaches = if is_enforced(file) {
            request.min_nodes
        } else {
            request.max_nodes.or(request.min_nodes)
        };
        if let Some(least) = &partition.min_nodes
            && reaches.is_some_and(|nodes| nodes < least.value)
            && !has("PartitionMinNodes")
        {
            let there = There::LeastNodes(name.clone(), least.value);
            let instead = vec![nodes(least.value)];
            let found = finding(Denial::NodeCount, nodes_asked(), there, instead);
            let found = unless_lifted(found.at(path("min_nodes"), least));
            self.over_partition("PartitionNodeLimit", found);
        }
        if let Some(most) = &partition.max_nodes
            && asked_most > most.value
            && !has("PartitionMaxNodes")
        {
            let there = There::MostNodes(name.clone(), most.value);
            let instead = vec![nodes(most.value)];
            let text = if asked_most > min {
                format!("{min}-{asked_most}")
            } else {
                min.to_string()
            };
            let asked = Requested::Option(Key::Nodes, text);
            let found = finding(too_many, asked, there, instead)
                .most(most.value)
                .at(path("max_nodes"), most);
            self.over_partition(reason, unless_lifted(found));
        }
        if let (Some(most), Some(time)) = (&partition.max_time, self.time_limit())
            && seconds(time) > seconds(most.value)
            && !has("PartitionTimeLimit")
        {
            let found = finding(
                Denial::TimeLimit,
                self.asked_time(time),
                There::MostTime(most.value),
                vec![Change::Links(most.value)],
            )
            .over_time(time, most)
            .at(path("max_time"), most);
            let found = unless_lifted(found);
            if self.request.time.is_some() {
                self.over_partition("PartitionTimeLimit", found);
            } else {
                // One that names no time has none yet when Slurm looks at partitions: it is taken, and waits.
                let fate = Fate::Waits("PartitionTimeLimit".into());
                self.found.push(Finding { fate, ..found });
            }
            if let Some(over) = self.found.pop() {
                let over = self.cut(over);
                self.found.push(over);
            }
        }
    }

    /// The first other partition for everyone that takes the job.
    pub(super) fn other_partition(&self, but: &str, who: &Who<'_>) -> Option<&str> {
        if self.seeks {
            return None;
        }
        let takes = |partition: &&Named<Partition>| {
            let mut judge = Judge {
                file: self.file,
                idle: self.idle,
                request: self.request,
                time: self.time.clone(),
                found: Vec::new(),
                seeks: true,
            };
            judge.partition(partition, who);
            judge.found.is_empty() && Place::of(self.idle, Some(partition)).serves(self.request)
        };
        let mut others = self.file.partitions.iter();
        let found = others.find(|other| other.name != but && is_for_all(other) && takes(other));
        found.map(|partition| partition.name.as_str())
    }

    /// Where to go instead.
    pub(super) fn elsewhere(&self, but: &str, who: &Who<'_>) -> Change {
        match self.other_partition(but, who) {
            Some(other) => Change::partition(other),
            None => Change::NoOtherPartition(self.file.name.clone()),
        }
    }

    /// The partition that has a node.
    fn partition_with(&self, node: &str) -> Option<&str> {
        let has = |partition: &&Named<Partition>| {
            let sets = self.file.nodes_of(partition);
            let list = partition.nodes.as_ref().map(|nodes| &nodes.value);
            match list {
                Some(PartitionNodes::List(list)) => model::node_list::expand(list)
                    .is_ok_and(|names| names.iter().any(|name| name.as_str() == node)),
                _ => sets.iter().any(|set| {
                    let names = self.file.names_of(set.nodes);
                    names.iter().any(|name| name.as_str() == node)
                }),
            }
        };
        let found = self.file.partitions.iter().find(has);
        found.map(|partition| partition.name.as_str())
    }

    /// A node of `--nodelist` that a partition doesn't have.
    fn listed_outside(&self, partition: &Partition) -> Option<String> {
        if self.request.rare.nodelist.is_empty() {
            return None;
        }
        let PartitionNodes::List(list) = &partition.nodes.as_ref()?.value else {
            let sets = self.file.nodes_of(partition);
            let names: Vec<NodeName> = sets
                .iter()
                .flat_map(|set| self.file.names_of(set.nodes))
                .collect();
            let odd = self
                .request
                .rare
                .nodelist
                .iter()
                .find(|name| !names.contains(name))?;
            return Some(odd.as_str().to_owned());
        };
        let names = model::node_list::expand(list).ok()?;
        let odd = self
            .request
            .rare
            .nodelist
            .iter()
            .find(|name| !names.contains(name))?;
        Some(odd.as_str().to_owned())
    }
}
