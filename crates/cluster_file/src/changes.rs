//! What was changed of nodes and partitions since the file was read, over what the file says.

use super::accounting::{Setting, stated, table};
use super::{
    ClusterFile, ConfText, ImportInput, Mib, Named, Nodes, NodesState, Partition, PartitionNodes,
    PartitionState, import,
};
use model::{ClusterChanges, NodeName, Settings, node_list};

impl Setting for bool {
    fn of_kept(text: &str) -> Option<bool> {
        Some(text == "yes")
    }

    fn kept(&self) -> Option<String> {
        Some(if *self { "yes" } else { "no" }.to_owned())
    }
}

impl Setting for Mib {
    fn of_kept(text: &str) -> Option<Mib> {
        text.parse().ok().map(Mib)
    }

    fn kept(&self) -> Option<String> {
        Some(self.0.to_string())
    }
}

impl Setting for PartitionState {
    fn of_kept(text: &str) -> Option<PartitionState> {
        use PartitionState::{Down, Drain, Inactive, Up};
        let mut states = [Up, Down, Drain, Inactive].into_iter();
        states.find(|state| state.word() == text)
    }

    fn kept(&self) -> Option<String> {
        Some(self.word().to_owned())
    }
}

impl Setting for NodesState {
    fn of_kept(text: &str) -> Option<NodesState> {
        let mut states = [NodesState::Future, NodesState::Cloud].into_iter();
        states.find(|state| state.word() == text)
    }

    fn kept(&self) -> Option<String> {
        Some(self.word().to_owned())
    }
}

impl Setting for PartitionNodes {
    fn of_kept(text: &str) -> Option<PartitionNodes> {
        Some(if text.eq_ignore_ascii_case("all") {
            PartitionNodes::All
        } else {
            PartitionNodes::List(text.to_owned())
        })
    }

    fn kept(&self) -> Option<String> {
        match self {
            PartitionNodes::All => Some("ALL".to_owned()),
            PartitionNodes::List(list) => Some(list.clone()),
            PartitionNodes::Groups(_) => None,
        }
    }
}

/// The settings of a table under Slurm's names.
macro_rules! settings {
    ($table:ident { $( $field:ident = $name:literal, )* }) => {
        impl $table {
            /// What it says, under Slurm's names in small letters, for those that can be changed while
            /// a cluster runs.
            #[must_use]
            pub fn settings(&self) -> Settings {
                let mut settings = Settings::new();
                $(
                    let kept = self.$field.as_ref().and_then(|own| own.value.kept());
                    if let Some(text) = kept {
                        settings.insert($name.to_owned(), text);
                    }
                )*
                settings
            }

            /// Puts those settings in its place that are there; an empty text says nothing.
            fn change(&mut self, settings: &Settings) {
                $(
                    if let Some(text) = settings.get($name) {
                        let value = Some(text).filter(|text| !text.is_empty());
                        self.$field = value.and_then(|text| Setting::of_kept(text)).map(stated);
                    }
                )*
            }
        }
    };
}

settings!(Partition {
    default = "default",
    nodes = "nodes",
    max_time = "maxtime",
    default_time = "defaulttime",
    max_nodes = "maxnodes",
    min_nodes = "minnodes",
    max_cpus_per_node = "maxcpuspernode",
    default_memory_per_cpu = "defmempercpu",
    default_memory_per_node = "defmempernode",
    default_memory_per_gpu = "defmempergpu",
    default_cpus_per_gpu = "defcpupergpu",
    max_memory_per_cpu = "maxmempercpu",
    max_memory_per_node = "maxmempernode",
    exclusive_user = "exclusiveuser",
    priority_tier = "prioritytier",
    priority_factor = "priorityjobfactor",
    allow_accounts = "allowaccounts",
    deny_accounts = "denyaccounts",
    allow_qos = "allowqos",
    deny_qos = "denyqos",
    allow_groups = "allowgroups",
    submit_from = "allocnodes",
    alternate = "alternate",
    no_root_jobs = "disablerootjobs",
    over_time_limit = "overtimelimit",
    cpu_bind = "cpubind",
    qos = "qos",
    state = "state",
    preempt_mode = "preemptmode",
    grace_time = "gracetime",
    hidden = "hidden",
    root_only = "rootonly",
    least_loaded = "lln",
    needs_reservation = "reqresv",
    billing_weights = "tresbillingweights",
});

settings!(Nodes {
    weight = "weight",
    state = "state",
});

impl ClusterFile {
    /// The same cluster with what was changed of its nodes and partitions. Changes of what it doesn't
    /// have change nothing.
    #[must_use]
    pub fn with_changes(&self, changes: &ClusterChanges) -> ClusterFile {
        let mut file = self.clone();
        file.change_nodes(changes);
        for change in &changes.partitions {
            if change.is_new || change.is_removed {
                file.partitions.retain(|one| one.name != change.name);
            }
            if change.is_new {
                let made = table(&change.name, Partition::default());
                file.partitions.push(made);
            }
            let settings = &change.settings;
            let mut partitions = file.partitions.iter_mut();
            if let Some(own) = partitions.find(|one| one.name == change.name) {
                own.body.change(settings);
                own.body.share(settings);
            }
        }
        file
    }

    /// Groups of nodes that are no longer alike become several.
    fn change_nodes(&mut self, changes: &ClusterChanges) {
        let is_same = changes.nodes.is_empty() && changes.removed.is_empty();
        if is_same && changes.made.is_empty() {
            return;
        }
        let mut groups: Vec<Named<Nodes>> = Vec::with_capacity(self.nodes.len());
        let mut split: Vec<(String, Vec<NodeName>)> = Vec::new();
        for group in &self.nodes {
            let names = self.names_of(group);
            let is_changed = |name: &NodeName| {
                changes.nodes.contains_key(name) || changes.removed.contains(name)
            };
            if !names.iter().any(is_changed) {
                groups.push(group.clone());
                continue;
            }
            let left = names
                .into_iter()
                .filter(|name| !changes.removed.contains(name));
            let left: Vec<NodeName> = left.collect();
            for alike in
                left.chunk_by(|one, next| changes.nodes.get(one) == changes.nodes.get(next))
            {
                let mut own = group.clone();
                own.body.names = Some(stated(node_list::fold(alike)));
                own.body.count = None;
                if let Some(settings) = changes.nodes.get(&alike[0]) {
                    own.body.change_all(settings);
                }
                groups.push(own);
            }
            split.push((group.name.clone(), left));
        }
        // Partitions name such a group no more: they name its nodes.
        for at in 0..self.partitions.len() {
            let Some(PartitionNodes::Groups(names)) =
                self.partitions[at].nodes.as_ref().map(|nodes| &nodes.value)
            else {
                continue;
            };
            if !names
                .iter()
                .any(|name| split.iter().any(|(own, _)| own == name))
            {
                continue;
            }
            let all = names.iter().flat_map(|name| {
                let split = split.iter().find(|(own, _)| own == name);
                match split {
                    Some((_, names)) => names.clone(),
                    None => {
                        let group = self.nodes.iter().find(|group| group.name == *name);
                        group.map_or_else(Vec::new, |group| self.names_of(group))
                    }
                }
            });
            let all: Vec<NodeName> = all.collect();
            let nodes = PartitionNodes::List(node_list::fold(&all));
            self.partitions[at].body.nodes = Some(stated(nodes));
        }
        for (name, line) in &changes.made {
            let mut made = nodes_of_line(line);
            if let (Some(own), Some(settings)) = (&mut made, changes.nodes.get(name)) {
                own.change_all(settings);
            }
            groups.extend(made.map(|body| table(name.as_str(), body)));
        }
        self.nodes = groups;
    }
}

/// The nodes of a `NodeName` line of `slurm.conf`; none where it can't be taken whole.
#[must_use]
pub fn nodes_of_line(line: &str) -> Option<Nodes> {
    let imported = import(&ImportInput {
        slurm_conf: ConfText {
            name: "scontrol create",
            text: line,
        },
        gres_conf: None,
        topology_conf: None,
        dump: None,
        name: None,
        include: &|_| None,
    });
    let is_whole = imported.notes.iter().all(|note| note.why.is_none());
    let mut nodes = imported.file.nodes.into_iter();
    nodes.next().map(|group| group.body).filter(|_| is_whole)
}

impl Nodes {
    fn change_all(&mut self, settings: &Settings) {
        self.change(settings);
        self.give_features(settings);
        self.take_gpus(settings);
    }

    /// The features with which jobs are placed: the active ones.
    fn give_features(&mut self, settings: &Settings) {
        let active = settings.get("activefeatures");
        if let Some(text) = active.or_else(|| settings.get("features")) {
            let words = text.split(',').filter(|word| !word.is_empty());
            self.features = Some(stated(words.map(str::to_owned).collect()));
        }
    }
}

impl Nodes {
    /// GRES that name no GPUs take those that are there.
    fn take_gpus(&mut self, settings: &Settings) {
        let Some(text) = settings.get("gres") else {
            return;
        };
        let is_gpu = |one: &str| one == "gpu" || one.starts_with("gpu:");
        if !text.split(',').any(is_gpu) {
            self.gpus.clear();
        }
    }
}

impl Partition {
    /// `OverSubscribe` is two keys here.
    fn share(&mut self, settings: &Settings) {
        let Some(text) = settings.get("oversubscribe") else {
            return;
        };
        let is_whole = text == "EXCLUSIVE";
        self.exclusive = is_whole.then(|| stated(true));
        let layers = Some(text.clone()).filter(|text| !is_whole && !text.is_empty());
        self.oversubscribe = layers.map(stated);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    const FILE: &str = "\
[nodes.a]\nnames = \"a[1-4]\"\ncpus = 2\nfeatures = [\"x\"]\n\
[nodes.b]\ncpus = 2\n\
[partition.all]\nnodes = \"ALL\"\ndefault = true\n\
[partition.some]\nnodes = [\"a\", \"b\"]\nmax_time = \"1:00:00\"\n";

    fn settings(words: &str) -> Settings {
        let words = words.split(' ').filter_map(|word| word.split_once('='));
        let owned = words.map(|(key, value)| (key.to_owned(), value.to_owned()));
        owned.collect()
    }

    #[track_caller]
    fn check(change: impl FnOnce(&mut ClusterChanges), want: Expect) {
        let file = ClusterFile::parse("lab", FILE).expect("it can be read");
        let mut changes = ClusterChanges::default();
        change(&mut changes);
        let file = file.with_changes(&changes);
        let nodes = file.nodes.iter().map(|group| {
            let features = group.features.as_ref().map(|it| it.value.join(","));
            let weight = group.weight.as_ref().map(|it| it.value);
            format!(
                "{} {features:?} {weight:?}\n",
                node_list::fold(&file.names_of(group))
            )
        });
        let partitions = file
            .partitions
            .iter()
            .map(|one| format!("{} {:?}\n", one.name, one.settings()));
        want.assert_eq(&nodes.chain(partitions).collect::<String>());
    }

    #[test]
    fn a_node_of_a_group_becomes_a_group() {
        check(
            |changes| {
                let name = NodeName::new("a2");
                changes.change_node(&name, &settings("weight=5 features=x,y activefeatures=y"));
                changes.remove_node(&NodeName::new("a4"));
            },
            expect![[r#"
                a1 Some("x") None
                a2 Some("y") Some(5)
                a3 Some("x") None
                b None None
                all {"default": "yes", "nodes": "ALL"}
                some {"maxtime": "3600", "nodes": "a[1-3],b"}
            "#]],
        );
    }

    #[test]
    fn partitions_are_changed_made_and_removed() {
        check(
            |changes| {
                changes.change_partition("some", &settings("maxtime= state=down"));
                changes.make_partition("new", settings("nodes=b oversubscribe=YES:4"));
                changes.remove_partition("all");
            },
            expect![[r#"
                a[1-4] Some("x") None
                b None None
                some {"state": "down"}
                new {"nodes": "b"}
            "#]],
        );
    }
}
