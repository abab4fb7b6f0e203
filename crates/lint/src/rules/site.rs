//! What rules about a cluster ask in common.

use crate::input::LintInput;
use crate::script::Script;
use crate::{Finding, Severity};
use cluster_file::{ClusterFile, Doubt, List, Named, Partition, Sourced};
use model::Request;
use model::option_table::Key;
use resources::{Denial, Finding as Denied, Subject};

/// The partition that a job would run in, where the cluster file knows it; of several, none.
pub(crate) fn partition<'a>(
    script: &Script<'_>,
    input: &LintInput<'a>,
) -> Option<&'a Named<Partition>> {
    let cluster = input.cluster?;
    match script.value(Key::Partition) {
        None => cluster.default_partition(),
        Some(name) => cluster.partition(name),
    }
}

/// What rests on an assumed or disputed value is a note, and says so; `what` says which value.
pub(crate) fn resting_on<T>(finding: Finding, value: &Sourced<T>, what: &str) -> Finding {
    doubted(finding, value.doubt(), what)
}

/// The same, of a value of which only that is known why it is not sure.
pub(crate) fn doubted(mut finding: Finding, doubt: Option<Doubt>, what: &str) -> Finding {
    if let Some(doubt) = doubt {
        finding.severity = Severity::Note;
        let why = match doubt {
            Doubt::Assumed => format!("the cluster file assumes {what}"),
            Doubt::Disputed => format!("the cluster's documents say two things of {what}"),
        };
        finding.really = Some(match finding.really.take() {
            Some(really) if really.ends_with(&why) => really,
            Some(really) => format!("{really}; {why}"),
            None => why,
        });
    }
    finding
}

/// Whether nodes of the cluster have all features that stand in a text with `&` between them.
pub(crate) fn have_together(cluster: &ClusterFile, features: &str) -> bool {
    cluster.nodes.iter().any(|nodes| {
        let listed = nodes.features.iter().flat_map(|list| &list.value);
        let of_gpus = nodes.gpus.iter().filter_map(|gpu| gpu.feature.as_ref());
        let mut known = listed.chain(of_gpus.map(|feature| &feature.value));
        features
            .split('&')
            .all(|name| known.clone().any(|own| own == name))
            && known.next().is_some()
    })
}

/// Why the cluster would not take the job, as `yard plan` tells it: the first reason of that kind
/// that is about this option.
pub(crate) fn refusal(
    script: &Script<'_>,
    input: &LintInput<'_>,
    denial: Denial,
    about: Key,
) -> Option<Denied> {
    let cluster = input.cluster?;
    let fits =
        |refusal: &Denied| refusal.denial == denial && refusal.about == Subject::Option(about);
    let refusals = resources::findings(cluster, script.request(), input.user);
    // Without a partition Slurm looks no further: that is another finding.
    let stopped = matches!(
        refusals.last()?.denial,
        Denial::Partition | Denial::NoPartition
    );
    if stopped && denial != Denial::Partition {
        let request = Request {
            partition: Some(cluster.partitions.first()?.name.clone()),
            ..script.request().clone()
        };
        return resources::findings(cluster, &request, input.user)
            .into_iter()
            .find(fits);
    }
    refusals.into_iter().find(fits)
}

/// What becomes of a held job that stands against a limit.
pub(crate) fn once_released(reason: &str) -> String {
    format!("the job is held, and will not start once released: {reason}")
}

/// What nodes lack is a warning of a held job: it is taken, and looked at when it is released.
pub(crate) fn unless_held(mut finding: Finding, script: &Script<'_>) -> Finding {
    if script.request().hold && finding.severity == Severity::Error {
        finding.severity = Severity::Warning;
        return finding.really(once_released("BadConstraints"));
    }
    finding
}

/// What rests on a list that need not be whole is a note, and says so.
pub(crate) fn as_sure_as(mut finding: Finding, refusal: &Denied, list: &str) -> Finding {
    if refusal.assumed {
        finding.severity = Severity::Note;
        return finding.really(format!("the cluster file need not know all {list}"));
    }
    finding
}

/// What rests on the nodes that a cluster file knows is a note where it need not know all of them.
pub(crate) fn of_known_nodes(mut finding: Finding, cluster: &ClusterFile) -> Finding {
    if finding.severity == Severity::Note || cluster.knows_all(List::Nodes) {
        return finding;
    }
    finding.severity = Severity::Note;
    finding.really("the cluster file need not know all nodes")
}
