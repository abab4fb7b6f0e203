//! What `sacctmgr` shows beside the accounting: resources, events, what was changed.

use super::connection::CommandError;
use super::scontrol_show::tres_of;
use api::{Client, ClusterReport, JobFilter};
use model::{
    Accounting, AccountingUse, JobRecord, SacctmgrArgs, SacctmgrFacts, Timestamp, TresName,
};
use std::collections::BTreeMap;

/// Asks the engine for what a command line shows.
pub fn sacctmgr_facts(
    asked: &SacctmgrArgs,
    client: &mut Client,
    accounting: &Accounting,
) -> Result<SacctmgrFacts, CommandError> {
    let mut facts = SacctmgrFacts {
        now: Timestamp(sys::now()),
        moments: super::moment_style(),
        ..SacctmgrFacts::default()
    };
    let shows =
        |names: &[(&str, usize)]| names.iter().any(|(name, least)| asked.shows(name, *least));
    if shows(&[
        ("events", 1),
        ("clusters", 2),
        ("tres", 3),
        ("reservations", 4),
    ]) {
        take_cluster(&mut facts, client.cluster()?);
    }
    if shows(&[("events", 1)]) {
        facts.events = client.events()?;
        let names = facts.events.iter().map(|event| event.user.clone());
        let known = names.filter_map(|name| {
            let entry = sys::users::user_by_name(&name).ok().flatten()?;
            Some((name, entry.id))
        });
        facts.uids = known.collect();
    }
    if shows(&[("transactions", 1)]) {
        facts.transactions = client.transactions()?;
    }
    if shows(&[("problems", 1)]) {
        let names = accounting.users.iter().map(|user| user.name.clone());
        let is_unknown = |name: &String| matches!(sys::users::user_by_name(name), Ok(None));
        facts.unknown_users = names.filter(is_unknown).collect();
    }
    if shows(&[("configuration", 2)]) {
        facts.config = client.facts()?.config;
        let me = sys::process::user();
        let entry = sys::users::user_by_id(me).ok().flatten();
        let name = entry.map_or_else(|| me.to_string(), |entry| entry.name);
        let own = ("SlurmUser".to_owned(), format!("{name}({me})"));
        facts.config.extend([own]);
        if let Some(path) = super::variable("SLURM_CONF") {
            facts.config.insert("SLURM_CONF".to_owned(), path);
        }
    }
    if asked.deletes() {
        facts.uses = uses(client, accounting)?;
    }
    Ok(facts)
}

fn take_cluster(facts: &mut SacctmgrFacts, cluster: ClusterReport) {
    let mut kinds: Vec<String> = Vec::new();
    let gpus = cluster.nodes.iter().flat_map(|node| &node.gpus);
    for kind in gpus.filter_map(|gpu| gpu.kind.clone()) {
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    let has_gpus = cluster.nodes.iter().any(|node| !node.gpus.is_empty());
    let typed = kinds.iter().map(|kind| format!("gpu:{kind}"));
    let names = has_gpus.then(|| "gpu".to_owned()).into_iter().chain(typed);
    facts.tres = names
        .map(|name| TresName {
            kind: "gres".to_owned(),
            name,
        })
        .collect();
    facts.nodes = cluster.nodes.iter().map(|node| node.name.clone()).collect();
    let of_node =
        |node: &api::NodeReport| (node.name.to_string(), tres_of(&[node], &cluster, false));
    facts.node_tres = cluster
        .nodes
        .iter()
        .map(of_node)
        .collect::<BTreeMap<_, _>>();
    let all: Vec<&api::NodeReport> = cluster.nodes.iter().collect();
    facts.cluster_tres = tres_of(&all, &cluster, true);
    facts.is_pretended = cluster.is_pretended;
    facts.reservations = cluster.reservations;
}

/// Jobs that wait or run, by the accounts that they count for.
fn uses(client: &mut Client, accounting: &Accounting) -> Result<Vec<AccountingUse>, CommandError> {
    let jobs = client.jobs(JobFilter::default())?;
    let default_partition = client.facts()?.partition;
    let uses = jobs.into_iter().map(|job| {
        let user = accounting
            .users
            .iter()
            .find(|user| user.name == job.submitter.user);
        let default = user.map(|user| user.default_account.clone());
        AccountingUse {
            job: job.id.0,
            account: job.request.account.clone().or(default).unwrap_or_default(),
            user: job.submitter.user.clone(),
            partition: first_partition(&job).unwrap_or_else(|| default_partition.clone()),
        }
    });
    Ok(uses.collect())
}

/// The first of those that a job names.
fn first_partition(job: &JobRecord) -> Option<String> {
    let mut names = job.partitions()?.split(',');
    names.next().map(str::to_owned)
}
