//! What of a cluster a script names.

use crate::script::Script;
use cluster_file::ClusterFile;
use model::option_table::Key;

/// The features of a cluster's nodes.
pub(super) fn features(cluster: &ClusterFile) -> impl Iterator<Item = &String> {
    let nodes = cluster.nodes.iter();
    let features = nodes.filter_map(|nodes| nodes.features.as_ref());
    features.flat_map(|features| features.iter())
}

/// What of a cluster a script names; none where it names something that the cluster hasn't. A feature that none of
/// `all` has is a mistake, and speaks against no cluster.
pub(super) fn traces(
    script: &Script<'_>,
    cluster: &ClusterFile,
    all: &[ClusterFile],
) -> Option<Vec<String>> {
    let mut found = Vec::new();
    if let Some(partition) = script.value(Key::Partition) {
        let all = partition
            .split(',')
            .all(|name| cluster.partition(name).is_some());
        if !all {
            return None;
        }
        found.push(format!("partition {partition}"));
    }
    // A document lists its author's accounts: another one speaks against nothing.
    if let Some(account) = script.value(Key::Account)
        && cluster.accounts.iter().any(|known| known.name == account)
    {
        found.push(format!("account {account}"));
    }
    if let Some(qos) = script.value(Key::Qos)
        && !cluster.qos.is_empty()
    {
        cluster.qos(qos)?;
        found.push(format!("QOS {qos}"));
    }
    let types = [Key::Gres, Key::Gpus, Key::GpusPerNode, Key::GpusPerTask];
    for given in types.iter().filter_map(|key| script.last(*key)) {
        for kind in super::gpu_items::types(given) {
            let known = cluster.gpus(None);
            if !known
                .iter()
                .any(|gpu| gpu.gpu.kind.as_ref().is_some_and(|own| own.value == kind))
            {
                return None;
            }
            found.push(format!("GPU type {kind}"));
        }
    }
    let own: Vec<&String> = features(cluster).collect();
    for given in script.given(Key::Constraint) {
        for name in super::features::names(given.value.as_deref().unwrap_or_default()) {
            if !own.iter().any(|known| **known == name) {
                if all.iter().flat_map(features).any(|known| *known == name) {
                    return None;
                }
                continue;
            }
            found.push(format!("feature {name}"));
        }
    }
    if let Some(mail) = script.value(Key::MailUser)
        && let Some(domain) = &cluster.mail_domain
        && !domain.is_assumed()
        && mail
            .split_once('@')
            .is_some_and(|(_, own)| own.ends_with(domain.as_str()))
    {
        found.push(format!("mail at {}", domain.value));
    }
    let paths = &cluster.paths;
    for path in [
        &paths.scratch,
        &paths.project,
        &paths.data,
        &cluster.node_local.path,
    ] {
        let Some(path) = path.as_ref().filter(|path| path.as_str() != "/tmp") else {
            continue;
        };
        if super::folders::mentions(script.text, path) {
            found.push(path.value.clone());
        }
    }
    (!found.is_empty()).then_some(found)
}
