//! Contradictions of partitions.

use super::{Checker, unless_assumed};
use crate::{Named, Partition, PartitionNodes};
use model::{Severity, TimeLimitRequest, node_list};

impl<'a> Checker<'a> {
    pub(super) fn partitions(&mut self) {
        self.default();
        let file = self.file;
        for partition in &file.partitions {
            self.nodes_of_partition(partition);
            self.zeros_of_partition(partition);
            self.limits_of_partition(partition);
            self.qos_of_partition(partition);
        }
    }

    fn default(&mut self) {
        let file = self.file;
        let Some(first) = file.partitions.first() else {
            return;
        };
        let is_default =
            |partition: &&Named<Partition>| partition.default.as_ref().is_some_and(|d| d.value);
        let defaults: Vec<&Named<Partition>> = file.partitions.iter().filter(is_default).collect();
        match &defaults[..] {
            [_] => {}
            [] => {
                let silent = file
                    .partitions
                    .iter()
                    .all(|partition| partition.default.is_none());
                let severity = if silent {
                    Severity::Note
                } else {
                    Severity::Warning
                };
                let message = "no partition is the default: a job must name one".to_owned();
                let help = format!(
                    "add default = true to one, such as [partition.{}]",
                    first.name
                );
                self.say(
                    ("default-partition", severity),
                    &first.span,
                    message,
                    "",
                    help,
                );
            }
            [one, others @ ..] => {
                for other in others {
                    let message = format!(
                        "partitions {} and {} are both the default",
                        one.name, other.name
                    );
                    let span = other.default.as_ref().map_or(&other.span, |d| &d.span);
                    let help = "leave default = true on one of them";
                    self.say(
                        ("default-partition", Severity::Error),
                        span,
                        message,
                        "",
                        help,
                    );
                }
            }
        }
    }

    /// Limits with which no job starts.
    fn zeros_of_partition(&mut self, partition: &Named<Partition>) {
        let limits = [
            ("max_nodes", &partition.max_nodes),
            ("max_cpus_per_node", &partition.max_cpus_per_node),
        ];
        for (key, value) in limits {
            let Some(value) = value.as_ref().filter(|value| value.value == 0) else {
                continue;
            };
            let message = format!("{key} of partition {} is 0", partition.name);
            let help = "leave it out where there is no limit; state = \"down\" closes a partition";
            let found = ("zero", Severity::Error);
            self.say(found, &value.span, message, "no job could start", help);
        }
    }

    fn nodes_of_partition(&mut self, partition: &'a Named<Partition>) {
        let name = &partition.name;
        let Some(nodes) = &partition.nodes else {
            let message = format!("partition {name} names no nodes");
            let help = "write nodes = \"node[1-4]\", \"ALL\", or names of [nodes.…]";
            return self.say(
                ("no-nodes", Severity::Warning),
                &partition.span,
                message,
                "",
                help,
            );
        };
        match &nodes.value {
            PartitionNodes::All => {}
            PartitionNodes::Groups(groups) => {
                let known = self.groups.clone();
                for group in groups {
                    self.known("unknown-nodes", "nodes", group, &nodes.span, &known);
                }
            }
            PartitionNodes::List(list) => {
                let odd = self.index.unknown(list);
                if !odd.is_empty() {
                    let message = format!("partition {name} names nodes that aren't there");
                    let label = format!("no [nodes.…] has {}", node_list::fold(&odd));
                    let help = "add them to a group of nodes, or take them out";
                    let found = ("unknown-nodes", Severity::Error);
                    self.say(found, &nodes.span, message, label, help);
                }
            }
        }
        self.counts(partition);
    }

    fn counts(&mut self, partition: &'a Named<Partition>) {
        let name = &partition.name;
        let sets = self.index.nodes_of(partition);
        let count = sets
            .iter()
            .fold(0_u32, |sum, set| sum.saturating_add(set.count));
        if let Some(total) = &partition.total_nodes
            && total.value != count
        {
            // Where the document itself says two things, one of them is what stands here.
            let said: Vec<String> = total.all().map(ToString::to_string).collect();
            let message = format!(
                "partition {name} is said to have {} nodes",
                said.join(" and ")
            );
            let label = format!("its nodes are {count}");
            let (severity, help) = if total.is_disputed() && total.all().any(|said| *said == count)
            {
                (Severity::Note, "")
            } else {
                (
                    unless_assumed(Severity::Warning, &[total]),
                    "correct the nodes, or say both with or = { value, from }",
                )
            };
            self.say(("node-total", severity), &total.span, message, label, help);
        }
        if let Some(most) = partition
            .max_nodes
            .as_ref()
            .filter(|most| most.value > count)
            && count > 0
        {
            let message = format!("partition {name} allows {} nodes a job", most.value);
            let label = format!("it has {count}");
            self.say(
                ("max-nodes", Severity::Note),
                &most.span,
                message,
                label,
                "",
            );
        }
        if let (Some(least), Some(most)) = (&partition.min_nodes, &partition.max_nodes)
            && least.value > most.value
        {
            let message = format!("partition {name} takes no job at all");
            let label = format!("max_nodes = {} is less", most.value);
            let help = "correct one of the two";
            self.say(
                ("node-bounds", Severity::Error),
                &least.span,
                message,
                label,
                help,
            );
        }
        let mut machines: Vec<&str> = Vec::new();
        for set in &sets {
            if let Some(machine) = &set.nodes.architecture
                && !machines.contains(&machine.as_str())
            {
                machines.push(machine);
            }
        }
        if machines.len() > 1 {
            let message = format!("partition {name} mixes {}", machines.join(" and "));
            let help = "a program runs on one of them: a constraint, or two partitions";
            self.say(
                ("architectures", Severity::Note),
                &partition.span,
                message,
                "",
                help,
            );
        }
    }

    fn limits_of_partition(&mut self, partition: &Named<Partition>) {
        let name = &partition.name;
        if let (Some(default), Some(most)) = (&partition.default_time, &partition.max_time)
            && over(default.value, most.value)
        {
            let message = format!("partition {name}: the default time is over the limit");
            let label = format!("max_time = {}", most.value);
            let severity = unless_assumed(Severity::Error, &[default, most]);
            let help = "a job that asks for no time would never start: lower default_time";
            self.say(
                ("default-time", severity),
                &default.span,
                message,
                label,
                help,
            );
        }
        if let (Some(default), Some(most)) = (
            &partition.default_memory_per_cpu,
            &partition.max_memory_per_cpu,
        ) && default.value > most.value
        {
            let message = format!("partition {name}: the default memory is over the limit");
            let label = format!("max_memory_per_cpu = {}", most.value);
            let found = ("default-memory", Severity::Error);
            self.say(
                found,
                &default.span,
                message,
                label,
                "correct one of the two",
            );
        }
    }

    fn qos_of_partition(&mut self, partition: &Named<Partition>) {
        let (qos, accounts) = (self.qos.clone(), self.accounts.clone());
        if let Some(name) = &partition.qos {
            self.known("unknown-qos", "qos", name, &name.span, &qos);
        }
        for list in [&partition.allow_qos, &partition.deny_qos]
            .into_iter()
            .flatten()
        {
            for name in list.iter().filter(|name| *name != "ALL") {
                self.known("unknown-qos", "qos", name, &list.span, &qos);
            }
        }
        // A slurm.conf alone knows no accounts.
        let lists = [&partition.allow_accounts, &partition.deny_accounts];
        for list in lists
            .into_iter()
            .flatten()
            .filter(|_| !accounts.all.is_empty())
        {
            for name in list.iter().filter(|name| *name != "ALL") {
                self.known("unknown-account", "account", name, &list.span, &accounts);
            }
        }
    }
}

pub(super) fn over(time: TimeLimitRequest, most: TimeLimitRequest) -> bool {
    match (time, most) {
        (_, TimeLimitRequest::Unlimited) => false,
        (TimeLimitRequest::Unlimited, TimeLimitRequest::Limit(_)) => true,
        (TimeLimitRequest::Limit(time), TimeLimitRequest::Limit(most)) => time > most,
    }
}
