//! `PartitionName` lines.

use super::conf_line::{ConfLine, Pair};
use super::global::{boolean, list, megabytes, over_time, preempt_mode, time, unlimited};
use super::nodes::merged;
use super::{Importer, known_options, said};
use crate::{Named, Partition, PartitionNodes, PartitionState};
use model::Seconds;

impl Importer {
    pub(super) fn partition(&mut self, line: &ConfLine) {
        let Some(name) = line.value("PartitionName") else {
            return;
        };
        if name.eq_ignore_ascii_case("DEFAULT") {
            let own = self.defaults(line, known_options::PARTITION);
            self.partition_defaults = merged(&self.partition_defaults, &own);
            return;
        }
        if !self.partition_names.insert(name.to_owned()) {
            return self.whole(line, "a partition of that name stands above");
        }
        let mut partition = Partition::default();
        for pair in merged(&self.partition_defaults, &line.pairs[1..]) {
            let taken = self.partition_pair(line, &mut partition, &pair);
            self.not_taken(line, &pair, taken, known_options::PARTITION);
        }
        self.file.partitions.push(Named {
            name: name.to_owned(),
            span: 0..0,
            body: partition,
        });
    }

    /// Takes a value over; false where it can't be read, none where there is no key for it.
    fn partition_pair(
        &mut self,
        line: &ConfLine,
        own: &mut Partition,
        pair: &Pair,
    ) -> Option<bool> {
        let value = pair.value.trim();
        let number = || {
            value
                .parse::<u32>()
                .ok()
                .and_then(|number| said(line, number))
        };
        let flag = || boolean(value).and_then(|flag| said(line, flag));
        let mib = || megabytes(value).and_then(|size| said(line, size));
        let words = || said(line, list(value));
        let time = || time(value).and_then(|time| said(line, time));
        let all = value.eq_ignore_ascii_case("all");
        macro_rules! set {
            ($place:expr, $value:expr) => {{
                $place = $value;
                $place.is_some()
            }};
        }
        Some(match pair.key.to_ascii_lowercase().as_str() {
            "nodes" => {
                self.nodes_listed(line, own, value);
                true
            }
            "default" => set!(own.default, flag()),
            "maxtime" => set!(own.max_time, time()),
            "defaulttime" => value.eq_ignore_ascii_case("none") || set!(own.default_time, time()),
            "maxnodes" => unlimited(value) || set!(own.max_nodes, number()),
            "minnodes" => set!(own.min_nodes, number()),
            "maxcpuspernode" => unlimited(value) || set!(own.max_cpus_per_node, number()),
            "defmempercpu" => unlimited(value) || set!(own.default_memory_per_cpu, mib()),
            "defmempernode" => unlimited(value) || set!(own.default_memory_per_node, mib()),
            "defmempergpu" => set!(own.default_memory_per_gpu, mib()),
            "defcpupergpu" => set!(own.default_cpus_per_gpu, number()),
            "maxmempercpu" => unlimited(value) || set!(own.max_memory_per_cpu, mib()),
            "maxmempernode" => unlimited(value) || set!(own.max_memory_per_node, mib()),
            "oversubscribe" | "shared" => match value.to_ascii_uppercase().as_str() {
                "EXCLUSIVE" => set!(own.exclusive, said(line, true)),
                word => set!(own.oversubscribe, said(line, word.to_owned())),
            },
            "exclusiveuser" => set!(own.exclusive_user, flag()),
            "priority" => {
                own.priority_factor = number();
                set!(own.priority_tier, number())
            }
            "prioritytier" => set!(own.priority_tier, number()),
            "priorityjobfactor" => set!(own.priority_factor, number()),
            "allowaccounts" => all || set!(own.allow_accounts, words()),
            "denyaccounts" => set!(own.deny_accounts, words()),
            "allowqos" => all || set!(own.allow_qos, words()),
            "denyqos" => set!(own.deny_qos, words()),
            "allocnodes" => all || set!(own.submit_from, said(line, value.to_owned())),
            "alternate" => {
                value.eq_ignore_ascii_case("none")
                    || set!(own.alternate, said(line, value.to_owned()))
            }
            "disablerootjobs" => set!(own.no_root_jobs, flag()),
            "overtimelimit" => set!(
                own.over_time_limit,
                over_time(value).and_then(|time| said(line, time))
            ),
            "cpubind" => set!(own.cpu_bind, said(line, value.to_ascii_lowercase())),
            "allowgroups" => all || set!(own.allow_groups, words()),
            "qos" => {
                value.eq_ignore_ascii_case("n/a") || set!(own.qos, said(line, value.to_owned()))
            }
            "state" => {
                let state = match value.to_ascii_lowercase().as_str() {
                    "up" => PartitionState::Up,
                    "down" => PartitionState::Down,
                    "drain" => PartitionState::Drain,
                    "inactive" => PartitionState::Inactive,
                    _ => return Some(false),
                };
                set!(own.state, said(line, state))
            }
            "preemptmode" => set!(
                own.preempt_mode,
                preempt_mode(value).and_then(|mode| said(line, mode))
            ),
            "gracetime" => {
                let seconds = value
                    .parse::<u32>()
                    .ok()
                    .map(|number| Seconds(number.into()));
                set!(
                    own.grace_time,
                    seconds.and_then(|seconds| said(line, seconds))
                )
            }
            "hidden" => set!(own.hidden, flag()),
            "rootonly" => set!(own.root_only, flag()),
            "lln" => set!(own.least_loaded, flag()),
            "reqresv" => set!(own.needs_reservation, flag()),
            "tresbillingweights" => set!(own.billing_weights, said(line, value.to_owned())),
            _ => return None,
        })
    }

    /// Takes nodes by name, with node sets put in their place.
    fn nodes_listed(&mut self, line: &ConfLine, own: &mut Partition, value: &str) {
        if value.eq_ignore_ascii_case("all") {
            own.nodes = said(line, PartitionNodes::All);
            return;
        }
        let option = || format!("Nodes={value}");
        let list = match self.sets.put_in(value) {
            Ok(list) => list,
            Err(why) => return self.refused(line, &option(), why),
        };
        match self.listed.unknown(&list) {
            Ok(None) => {}
            // They may stand in a file that wasn't read.
            Ok(Some(odd)) if self.unread => {
                self.note(line, &option(), format!("no line has NodeName={odd}"));
            }
            Ok(Some(odd)) => {
                self.refused(line, &option(), format!("no line has NodeName={odd}"));
            }
            Err(why) => return self.refused(line, &option(), why),
        }
        own.nodes = said(line, PartitionNodes::List(list));
    }
}
