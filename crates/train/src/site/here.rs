//! A cluster file of what is known of the cluster that answers here.

use cluster_file::ClusterFile;
use model::ClusterFacts;
use std::fmt::Write as _;

/// The name of the embedded engine's partition.
const PARTITION: &str = "local";

/// The nodes of the cluster that answers here, as a cluster file has them; its limits are its own
/// to say. The embedded engine's is the machine of that host name, of which all is known.
#[must_use]
pub fn file_of(facts: &ClusterFacts, host: &str) -> ClusterFile {
    // Names of a site's own are no mistakes there.
    let mut text = String::from("[lists]\nqos = \"some\"\naccounts = \"some\"\n");
    text.push_str(if facts.embedded {
        "features = \"whole\"\n"
    } else {
        "partitions = \"some\"\nfeatures = \"some\"\n"
    });
    for (index, group) in facts.nodes.iter().enumerate() {
        let (count, cpus, memory) = (group.count, group.cpus, group.memory_mib);
        let _ = write!(
            text,
            "[nodes.kind{index}]\ncount = {count}\ncpus = {cpus}\nmemory = \"{memory}M\"\n"
        );
        for gpu in &group.gpus {
            let _ = writeln!(text, "[[nodes.kind{index}.gpu]]\ncount = {}", gpu.count);
            if let Some(kind) = &gpu.kind {
                let _ = writeln!(text, "type = {}", toml::Value::from(kind.as_str()));
            }
        }
    }
    if facts.embedded {
        let _ = writeln!(
            text,
            "[partition.{PARTITION}]\ndefault = true\nnodes = \"ALL\"\n\
             default_time = \"UNLIMITED\""
        );
    }
    let file = ClusterFile::parse(&facts.name, &text)
        .expect("invariant: numbers and quoted words in the form's own keys");
    ClusterFile {
        machine: facts.embedded.then(|| host.to_owned()),
        ..file
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Comeback, GpuGroup, Internet, NodeGroup, Seconds};

    #[test]
    fn says_what_the_facts_say() {
        let facts = ClusterFacts {
            name: "local".to_owned(),
            embedded: true,
            nodes: vec![NodeGroup {
                count: 1,
                cpus: 8,
                memory_mib: 1000,
                gpus: vec![GpuGroup {
                    kind: Some("odd \"name\\".to_owned()),
                    count: 2,
                    memory_mib: None,
                }],
            }],
            node_local: "/tmp".into(),
            nodes_share_disk: false,
            internet: Internet::Compute,
            default_time: None,
            time_granularity: Seconds(1),
            comeback: Comeback::default(),
            containers: model::ContainerFacts::default(),
        };
        let file = file_of(&facts, "box");
        let nodes = file.facts(None).nodes;
        assert_eq!(nodes, facts.nodes);
        assert_eq!(file.default_partition().unwrap().name, "local");
    }
}
