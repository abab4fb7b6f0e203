//! What a partition demands of a job: `_part_access_check` of 22.05's `job_mgr.c`.

use super::account::Who;
use super::describe::spare;
use super::nodes::Place;
use super::{Denial, Fate, Refusal, Subject};
use super::{Judge, has_flag, listed, refusal, say_nodes, seconds};
use cluster_file::{EnforcePartLimits, PartitionState};
use cluster_file::{List, Named, Nodes, Partition, PartitionNodes, Sourced};
use model::NodeName;
use model::option_table::Key;

/// Whether ordinary jobs can be for it.
pub(super) fn is_for_all(partition: &Partition) -> bool {
    let is_set = |flag: &Option<Sourced<bool>>| flag.as_ref().is_some_and(|flag| flag.value);
    !is_set(&partition.hidden)
        && !is_set(&partition.root_only)
        && !is_set(&partition.needs_reservation)
}

impl Judge<'_, '_> {
    fn enforced(&self) -> Option<EnforcePartLimits> {
        let enforce = self.file.limits.enforce_partition_limits.as_ref()?;
        (enforce.value != EnforcePartLimits::No).then_some(enforce.value)
    }

    /// Refused where the cluster enforces partition limits, else accepted to wait.
    fn over_partition(&mut self, reason: &'static str, refusal: Refusal) {
        let fate = match self.enforced() {
            None => Fate::Waits(reason),
            Some(_) => Fate::Refused,
        };
        self.found.push(Refusal { fate, ..refusal });
    }

    pub(super) fn partition(&mut self, partition: &Named<Partition>, who: &Who<'_>) {
        let name = &partition.name;
        let path = |key: &str| format!("partition.{name}.{key}");
        let asked = format!("--partition={name}");
        if let Some(state) = &partition.state
            && matches!(
                state.value,
                PartitionState::Drain | PartitionState::Inactive
            )
        {
            let there = format!("partition {name} is {}", state.value.word());
            let todo = self.elsewhere(name, who);
            self.found.push(
                refusal(Denial::PartitionClosed, &*asked, there, todo).at(path("state"), state),
            );
        }
        if let Some(needs) = partition
            .needs_reservation
            .as_ref()
            .filter(|needs| needs.value)
            && self.request.rare.reservation.is_none()
        {
            let there = format!("partition {name} takes jobs of reservations alone");
            let todo = format!("your --reservation, or {}", self.elsewhere(name, who));
            self.found.push(
                refusal(Denial::Access, &*asked, there, todo).at(path("needs_reservation"), needs),
            );
        }
        if let Some(root) = partition.root_only.as_ref().filter(|root| root.value) {
            let there = format!("partition {name} is root's");
            let todo = self.elsewhere(name, who);
            self.found
                .push(refusal(Denial::Access, &*asked, there, todo).at(path("root_only"), root));
        }
        self.groups(partition, who);
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
        if allowed
            .iter()
            .any(|group| group == "ALL" || own.contains(group))
        {
            return;
        }
        let name = &partition.name;
        let todo = self.elsewhere(name, who);
        self.found.push(
            refusal(
                Denial::Group,
                format!("--partition={name}, by a member of {}", own.join(", ")),
                format!("partition {name} is for groups {}", allowed.join(", ")),
                todo,
            )
            .at(format!("partition.{name}.allow_groups"), allowed),
        );
    }

    fn sizes(&mut self, partition: &Named<Partition>, who: &Who<'_>) {
        let name = &partition.name;
        let path = |key: &str| format!("partition.{name}.{key}");
        let file = self.file;
        let sets = file.nodes_of(partition);
        let total: u32 = sets
            .iter()
            .map(|set| set.count)
            .fold(0, u32::saturating_add);
        let min = self.request.min_nodes.unwrap_or(1);
        let uncounted = |nodes: &Nodes| {
            nodes.count.is_none() && nodes.names.as_ref().is_none_or(Sourced::is_assumed)
        };
        let assumed = !file.knows_all(List::Nodes)
            || total.saturating_add(spare(partition, &sets)) >= min
            || sets.iter().any(|set| uncounted(set.nodes));
        let nodes_asked = format!("--nodes={min}");
        let over_most = partition
            .max_nodes
            .as_ref()
            .is_some_and(|most| min > most.value);
        if total > 0 && min > total && !over_most {
            let todo = match self.other_partition(name, who) {
                Some(other) => format!("--nodes={total}, or --partition={other}"),
                None => format!("--nodes={total}"),
            };
            let refusal = Refusal {
                assumed,
                // No limit of the partition is passed: it is the choice of nodes that fails, which
                // a held job doesn't come to.
                ..refusal(
                    if self.enforced().is_some() || self.request.hold {
                        Denial::NodeCount
                    } else {
                        Denial::NodeConfig
                    },
                    &*nodes_asked,
                    format!("partition {name} has {}", say_nodes(total)),
                    todo,
                )
                .about(Subject::Option(Key::Nodes))
                .most(total)
            };
            if self.request.hold {
                self.over_partition("PartitionNodeLimit", refusal)
            } else {
                self.found.push(refusal)
            }
        }
        if let Some(listed) = self.listed_outside(partition) {
            let guessed =
                |nodes: &Named<Nodes>| nodes.names.as_ref().is_none_or(Sourced::is_assumed);
            let nodes = partition.nodes.as_ref();
            let refusal = Refusal {
                assumed: nodes.is_some_and(Sourced::is_assumed) || file.nodes.iter().any(guessed),
                ..refusal(
                    Denial::NodesNotInPartition,
                    format!("--nodelist with {listed}"),
                    format!("partition {name} does not have that node"),
                    match self.partition_with(&listed) {
                        Some(other) => format!("leave it out, or --partition={other}"),
                        None => "leave it out: no partition has it".to_owned(),
                    },
                )
            };
            self.over_partition("PartitionConfig", refusal);
        }
        let has = |flag: &str| who.qos.iter().any(|qos| has_flag(qos, flag));
        if let Some(least) = &partition.min_nodes
            && self
                .request
                .max_nodes
                .or(self.request.min_nodes)
                .is_some_and(|max| max < least.value)
            && !has("PartitionMinNodes")
        {
            let there = format!("partition {name} wants at least {}", say_nodes(least.value));
            let todo = format!("--nodes={}", least.value);
            let refusal =
                refusal(Denial::NodeCount, &*nodes_asked, there, todo).at(path("min_nodes"), least);
            self.over_partition("PartitionNodeLimit", refusal);
        }
        if let Some(most) = &partition.max_nodes
            && min > most.value
            && !has("PartitionMaxNodes")
        {
            let there = format!(
                "partition {name} gives at most {} a job",
                say_nodes(most.value)
            );
            let todo = format!("--nodes={}", most.value);
            let refusal = refusal(Denial::NodeCount, nodes_asked, there, todo)
                .most(most.value)
                .at(path("max_nodes"), most);
            self.over_partition("PartitionNodeLimit", refusal);
        }
        if let (Some(most), Some(time)) = (&partition.max_time, self.request.time)
            && seconds(time) > seconds(most.value)
            && !has("PartitionTimeLimit")
        {
            let refusal = refusal(
                Denial::TimeLimit,
                format!("--time={time}"),
                format!("partition {name} allows {}", most.value),
                format!("--time={}, and come back from a checkpoint", most.value),
            )
            .most(seconds(most.value))
            .at(path("max_time"), most);
            self.over_partition("PartitionTimeLimit", refusal);
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
    fn elsewhere(&self, but: &str, who: &Who<'_>) -> String {
        match self.other_partition(but, who) {
            Some(other) => format!("--partition={other}"),
            None => format!("no other partition of {} takes it as it is", self.file.name),
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

    /// `AllowAccounts`, `DenyAccounts`, `AllowQos`, `DenyQos`.
    fn accounts(&mut self, partition: &Named<Partition>, who: &Who<'_>) {
        let name = &partition.name;
        if let Some(account) = &who.account {
            let rules = [
                ("allow_accounts", &partition.allow_accounts, true),
                ("deny_accounts", &partition.deny_accounts, false),
            ];
            for (key, rule, wanted) in rules {
                if let Some(list) = rule.as_ref().filter(|list| listed(list, account) != wanted) {
                    let todo = match (wanted, list.first()) {
                        (true, Some(first)) => format!("--account={first} where it is yours, or "),
                        _ => String::new(),
                    };
                    let refusal = refusal(
                        Denial::PartitionAccount,
                        format!("account {account} in partition {name}"),
                        format!("{key} = {}", list.join(", ")),
                        format!("{todo}{}", self.elsewhere(name, who)),
                    )
                    .at(format!("partition.{name}.{key}"), list);
                    self.over_partition("AccountNotAllowed", refusal);
                }
            }
        }
        let Some(qos) = who.qos.first() else { return };
        let rules = [
            ("allow_qos", &partition.allow_qos, true),
            ("deny_qos", &partition.deny_qos, false),
        ];
        for (key, rule, wanted) in rules {
            if let Some(list) = rule
                .as_ref()
                .filter(|list| listed(list, &qos.name) != wanted)
            {
                let own = who.own_qos(self.file);
                let names = self.file.qos.iter().map(|qos| qos.name.as_str());
                let mut usable = names
                    .filter(|name| own.is_none_or(|own| listed(own, name)))
                    .filter(|name| listed(list, name) == wanted);
                let todo = match usable.next() {
                    Some(other) => format!("--qos={other}, or "),
                    None => String::new(),
                };
                let refusal = refusal(
                    Denial::PartitionQos,
                    format!("QOS {} in partition {name}", qos.name),
                    format!("{key} = {}", list.join(", ")),
                    format!("{todo}{}", self.elsewhere(name, who)),
                )
                .at(format!("partition.{name}.{key}"), list);
                self.over_partition("QOSNotAllowed", refusal);
            }
        }
    }
}
