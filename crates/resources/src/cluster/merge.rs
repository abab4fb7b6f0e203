//! Where what a Slurm reports differs from its cluster file.

use super::{Cluster, NodeClass, NodeId, Trust, UNBOUNDED};
use crate::NodeSet;
use crate::amounts::LANE_MAX;
use cluster_file::{ClusterFile, List, Partition, Sourced, has_known_names, is_unseen};
use model::{NodeName, mebibytes_option, node_list};
use std::collections::HashSet;
use std::fmt;

/// One thing of which a cluster file and the Slurm itself say two things.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What it is, such as `node[1-3]: CPUs` or `partition gpu: MaxTime`.
    pub what: String,
    /// What the file says.
    pub file: String,
    /// What the Slurm reports.
    pub reported: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference {
            what,
            file,
            reported,
        } = self;
        write!(f, "{what}: {file} in the file, {reported} reported")
    }
}

/// A cluster file with what its Slurm reports put over it, and where that differs from it.
#[derive(Clone, Debug)]
pub struct Merged {
    /// What is known of the cluster ([`ClusterFile::with_reported`]).
    pub file: ClusterFile,
    /// What both say, and say differently: nodes first, then features, then partitions. What one of
    /// them does not say is no difference, nor is what the file need not name.
    pub differences: Vec<Difference>,
}

/// Puts what a Slurm reports over its file. The report is a document of the same form, as
/// [`cluster_file::import`] makes it.
#[must_use]
pub fn merge(file: &ClusterFile, reported: &ClusterFile) -> Merged {
    let own = Cluster::build(file, Trust::All);
    let theirs = Cluster::build(reported, Trust::All);
    let mut differences = Vec::new();
    if !reported.nodes.is_empty() && !file.nodes.is_empty() {
        nodes(file, &own, &theirs, &mut differences);
        features(&own, &theirs, &mut differences);
    }
    if !reported.partitions.is_empty() && !file.partitions.is_empty() {
        partitions(
            (file, reported),
            &own,
            &theirs,
            limits_told,
            &mut differences,
        );
    }
    Merged {
        file: file.with_reported(reported),
        differences,
    }
}

/// Nodes that differ in the same way are reported together, in the order of the file.
pub(super) fn nodes(
    file: &ClusterFile,
    own: &Cluster,
    theirs: &Cluster,
    found: &mut Vec<Difference>,
) {
    // Those that no document names are called after their group here, and otherwise there.
    let are_named = file.nodes.iter().all(has_known_names);
    let groups = file.nodes.iter();
    let groups = groups.filter(|group| !has_known_names(group) || is_unseen(group));
    let may_lack: HashSet<NodeName> = groups.flat_map(|group| file.names_of(group)).collect();
    let mut groups: Vec<(Difference, Vec<NodeName>)> = Vec::new();
    let mut tell = |names: &NodeName, difference: Difference| match groups
        .iter_mut()
        .rev()
        .find(|(known, _)| *known == difference)
    {
        Some((_, nodes)) => nodes.push(names.clone()),
        None => groups.push((difference, vec![names.clone()])),
    };
    let there = |is_there: bool| if is_there { "there" } else { "not there" };
    let existence = |is_own: bool| Difference {
        what: String::new(),
        file: there(is_own).to_owned(),
        reported: there(!is_own).to_owned(),
    };
    for node in own.nodes() {
        let name = own.node_name(node);
        match theirs.node(name) {
            None if may_lack.contains(name) => {}
            None => tell(name, existence(true)),
            Some(other) => {
                let both = of_classes(own.class(node), theirs.class(other));
                both.into_iter()
                    .for_each(|difference| tell(name, difference));
            }
        }
    }
    let knows_all = file.knows_all(List::Nodes) && are_named;
    for node in theirs.nodes().filter(|_| knows_all) {
        let name = theirs.node_name(node);
        if own.node(name).is_none() {
            tell(name, existence(false));
        }
    }
    found.extend(groups.into_iter().map(|(difference, names)| {
        let list = folded(names);
        let what = if difference.what.is_empty() {
            list
        } else {
            format!("{list}: {}", difference.what)
        };
        Difference { what, ..difference }
    }));
}

fn of_classes(own: &NodeClass, theirs: &NodeClass) -> Vec<Difference> {
    let amount = |what: &str, own: u32, theirs: u32, say: fn(u32) -> String| {
        let is_said = own != UNBOUNDED && theirs != UNBOUNDED && own != theirs;
        is_said.then(|| Difference {
            what: what.to_owned(),
            file: say(own),
            reported: say(theirs),
        })
    };
    let cpus = amount("CPUs", own.total.cpus, theirs.total.cpus, |cpus| {
        cpus.to_string()
    });
    let memory = amount("memory", own.total.mem_mib, theirs.total.mem_mib, |mib| {
        mebibytes_option(mib.into())
    });
    let gpus = (gpus(own), gpus(theirs));
    let gpus = (gpus.0 != gpus.1).then(|| Difference {
        what: "GPUs".to_owned(),
        file: gpus.0.clone(),
        reported: gpus.1.clone(),
    });
    [cpus, memory, gpus].into_iter().flatten().collect()
}

/// `4 v100, 2 GPUs`
fn gpus(class: &NodeClass) -> String {
    let groups = class.gpus.iter().filter(|group| group.count < LANE_MAX);
    let mut words: Vec<String> = groups
        .map(|group| format!("{} {}", group.count, group.kind.name().unwrap_or("GPUs")))
        .collect();
    words.sort_unstable();
    if words.is_empty() {
        return "none".to_owned();
    }
    words.join(", ")
}

/// Features that other nodes have. Those that only one side names are no difference: a file need
/// not name them all.
pub(super) fn features(own: &Cluster, theirs: &Cluster, found: &mut Vec<Difference>) {
    for feature in own.features() {
        let sets = own.with_feature(feature).zip(theirs.with_feature(feature));
        if let Some((first, other)) = sets {
            found.extend(sets_differ(
                &format!("feature {feature}"),
                (own, first),
                (theirs, other),
            ));
        }
    }
}

pub(super) fn partitions(
    documents: (&ClusterFile, &ClusterFile),
    own: &Cluster,
    theirs: &Cluster,
    settings: fn(&Partition, &Partition) -> Vec<Setting>,
    found: &mut Vec<Difference>,
) {
    let there = |name: &str, is_own: bool| {
        let say = |is_there: bool| if is_there { "there" } else { "not there" };
        Difference {
            what: format!("partition {name}"),
            file: say(is_own).to_owned(),
            reported: say(!is_own).to_owned(),
        }
    };
    for first in own.partitions() {
        let name = &first.name;
        let Some(other) = theirs.find_partition(name) else {
            found.push(there(name, true));
            continue;
        };
        let other = theirs.partition(other);
        if !first.nodes.is_empty() && !other.nodes.is_empty() {
            let what = format!("partition {name}: nodes");
            found.extend(sets_differ(
                &what,
                (own, &first.nodes),
                (theirs, &other.nodes),
            ));
        }
        let limits = documents.0.partition(name).zip(documents.1.partition(name));
        if let Some((first, other)) = limits {
            let said = settings(first, other);
            found.extend(said.into_iter().filter_map(|(key, both)| {
                let (file, reported) = both?;
                Some(Difference {
                    what: format!("partition {name}: {key}"),
                    file,
                    reported,
                })
            }));
        }
    }
    let default = |file: &ClusterFile| Some(file.default_partition()?.name.clone());
    let defaults = default(documents.0).zip(default(documents.1));
    if let Some((file, reported)) = defaults.filter(|(own, theirs)| own != theirs) {
        found.push(Difference {
            what: "default partition".to_owned(),
            file,
            reported,
        });
    }
    let knows_all = documents.0.knows_all(List::Partitions);
    for other in theirs.partitions().iter().filter(|_| knows_all) {
        if own.find_partition(&other.name).is_none() {
            found.push(there(&other.name, false));
        }
    }
}

/// A setting's name, and what both say of it where that differs.
pub(super) type Setting = (&'static str, Option<(String, String)>);

/// Those that a report of a real Slurm tells.
fn limits_told(own: &Partition, theirs: &Partition) -> Vec<Setting> {
    let tells_all = theirs.tells_all_limits();
    let (defaults, most) = (
        differ(&own.default_time, &theirs.default_time),
        differ(&own.max_nodes, &theirs.max_nodes),
    );
    let no_default = || lifted(&own.default_time, &theirs.default_time, "NONE");
    let no_most = || lifted(&own.max_nodes, &theirs.max_nodes, "UNLIMITED");
    vec![
        ("MaxTime", differ(&own.max_time, &theirs.max_time)),
        (
            "DefaultTime",
            defaults.or_else(|| no_default().filter(|_| tells_all)),
        ),
        ("MaxNodes", most.or_else(|| no_most().filter(|_| tells_all))),
        ("MinNodes", differ(&own.min_nodes, &theirs.min_nodes)),
    ]
}

/// What the file alone says, beside the word for none.
fn lifted<T: fmt::Display>(
    file: &Option<Sourced<T>>,
    reported: &Option<Sourced<T>>,
    none: &str,
) -> Option<(String, String)> {
    let own = file.as_ref().filter(|_| reported.is_none())?;
    Some((own.value.to_string(), none.to_owned()))
}

/// What both say, where it is not the same.
fn differ<T: PartialEq + fmt::Display>(
    own: &Option<Sourced<T>>,
    theirs: &Option<Sourced<T>>,
) -> Option<(String, String)> {
    let (own, theirs) = own.as_ref().zip(theirs.as_ref())?;
    (own.value != theirs.value).then(|| (own.value.to_string(), theirs.value.to_string()))
}

fn sets_differ(
    what: &str,
    (own, first): (&Cluster, &NodeSet),
    (theirs, other): (&Cluster, &NodeSet),
) -> Option<Difference> {
    let names = |cluster: &Cluster, set: &NodeSet| {
        let names = set
            .iter()
            .map(|node: NodeId| cluster.node_name(node).clone());
        folded(names.collect())
    };
    let (file, reported) = (names(own, first), names(theirs, other));
    (file != reported).then(|| Difference {
        what: what.to_owned(),
        file,
        reported,
    })
}

fn folded(mut names: Vec<NodeName>) -> String {
    node_list::sort(&mut names);
    node_list::fold(&names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use std::fmt::Write;

    fn file(text: &str) -> ClusterFile {
        ClusterFile::parse("test", text).unwrap_or_else(|problems| panic!("{problems:?}"))
    }

    const FILE: &str = r#"
        [nodes.gpu]
        names = "node[1-4]"
        cpus = 40
        memory = "188G"
        features = ["ib"]
        gpu = { type = "v100", count = 4 }
        [partition.gpu]
        nodes = "node[1-4]"
        max_time = "12:00:00"
        [partition.old]
        nodes = "node1"
    "#;

    #[track_caller]
    fn check(reported: &str, want: Expect) {
        let merged = merge(&file(FILE), &file(reported));
        let lines: Vec<String> = merged.differences.iter().map(ToString::to_string).collect();
        want.assert_eq(&lines.join("\n"));
    }

    #[test]
    fn a_report_that_contradicts_its_file() {
        check(FILE, expect![""]);
        check("", expect![""]);
        check(
            r#"
            [nodes.a]
            names = "node[1-2]"
            cpus = 80
            memory = "188G"
            features = ["ib"]
            gpu = { type = "v100", count = 4 }
            [nodes.b]
            names = "node[3,5]"
            cpus = 40
            memory = "180G"
            gpu = { type = "a100", count = 4 }
            [partition.gpu]
            nodes = "node[1-3]"
            max_time = "1-00:00:00"
            [partition.new]
            nodes = "node5"
            "#,
            expect![[r#"
                node[1-2]: CPUs: 40 in the file, 80 reported
                node3: memory: 188G in the file, 180G reported
                node3: GPUs: 4 v100 in the file, 4 a100 reported
                node4: there in the file, not there reported
                node5: not there in the file, there reported
                feature ib: node[1-4] in the file, node[1-2] reported
                partition gpu: nodes: node[1-4] in the file, node[1-3] reported
                partition gpu: MaxTime: 12:00:00 in the file, 1-00:00:00 reported
                partition old: there in the file, not there reported
                partition new: not there in the file, there reported"#]],
        );
    }

    #[test]
    fn what_a_file_need_not_name_is_no_difference() {
        let some = "[lists]\nnodes = \"some\"\npartitions = \"some\"\n";
        let check = |file: &str, want: Expect| {
            let reported = "[nodes.kind0]\nnames = \"n[1-2]\"\ncpus = 4\n\
                [partition.main]\nnodes = \"n[1-2]\"\n[partition.new]\nnodes = \"n2\"\n";
            let merged = merge(&self::file(file), &self::file(reported));
            let lines: Vec<String> = merged.differences.iter().map(ToString::to_string).collect();
            want.assert_eq(&lines.join("\n"));
        };
        let one = "[nodes.n1]\ncpus = 4\n[partition.main]\nmax_nodes = 1\n";
        check(&format!("{some}{one}"), expect![""]);
        check(
            one,
            expect![[r#"
                n2: not there in the file, there reported
                partition new: not there in the file, there reported"#]],
        );
        let unnamed = "[nodes.gpu]\ncount = 2\ncpus = 4\n[nodes.far]\nstate = \"cloud\"\n";
        check(unnamed, expect![""]);
    }

    /// A file of ten thousand nodes is built, merged and asked: alike nodes are of one class.
    #[test]
    fn ten_thousand_nodes() {
        let mut text = String::new();
        for rack in 0..100 {
            let first = rack * 100;
            let _ = write!(
                text,
                "[nodes.rack{rack}]\nnames = \"node[{first:05}-{:05}]\"\ncpus = {}\nmemory = \"500G\"\n\
                 features = [\"rack{rack}\"]\ngpu = {{ type = \"h100\", count = 8 }}\n",
                first + 99,
                64 + rack % 3,
            );
        }
        text.push_str("[partition.all]\nnodes = \"ALL\"\n");
        let file = file(&text);
        let merged = merge(&file, &file);
        assert!(merged.differences.is_empty());
        let cluster = Cluster::build(&merged.file, Trust::All);
        assert_eq!((cluster.node_count(), cluster.classes().len()), (10_000, 3));
        let request = model::Request {
            min_nodes: Some(9_999),
            rare: model::RareOptions {
                constraint: Some("rack1|rack2".to_owned()),
                ..model::RareOptions::default()
            }
            .into(),
            ..model::Request::default()
        };
        let all = cluster.find_partition("all");
        let demand = crate::Demand::of(&request, cluster.defaults(all));
        let fits = |demand: crate::Demand| {
            let compiled = crate::Compiled::new(&cluster, all, demand);
            let free = crate::Free::idle(&cluster);
            crate::place(&cluster, &compiled, &free, crate::Pick::default())
        };
        assert_eq!(fits(demand.clone()), None);
        let anywhere = crate::Demand {
            constraint: None,
            ..demand
        };
        assert_eq!(fits(anywhere).map(|shares| shares.len()), Some(9_999));
    }
}
