//! `scontrol getent`: who runs steps on a node, as entries of passwd(5).

use super::connection::{CommandError, connect, connect_to_look};
use crate::printer::Printer;
use api::JobFilter;
use model::{JobId, StepId};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Prints the user of each step of a node; without one of the node that this machine is.
pub fn step_users(node: Option<&str>, printer: &Printer) -> Result<u8, CommandError> {
    let own = sys::host_name();
    let node = node.unwrap_or(&own);
    let Some(mut client) = connect_to_look()? else {
        return Ok(0);
    };
    if !client
        .cluster()?
        .nodes
        .iter()
        .any(|it| it.name.as_str() == node)
    {
        printer.say(&format!(
            "scontrol: error: no node is called {node}, so that no step runs there"
        ));
        return Ok(0);
    }
    let mut steps = client.holders(None)?;
    steps.retain(|step| step.nodes.iter().any(|(name, _)| name.as_str() == node));
    // As the real one lists them: batch steps last, of others the newest job first.
    steps.sort_by_key(|step| (step.step == StepId::Batch, Reverse(step.job)));
    let jobs = client.jobs(JobFilter {
        ids: Some(steps.iter().map(|step| step.job).collect()),
        ..JobFilter::default()
    })?;
    let owners: BTreeMap<JobId, u32> = jobs.iter().map(|job| (job.id, job.submitter.uid)).collect();
    for step in steps {
        let user = owners.get(&step.job);
        let user = user.and_then(|uid| sys::users::user_by_id(*uid).ok().flatten());
        let Some(user) = user else { continue };
        printer.line(&format!(
            "JobId={}.{}:\nUser:\n{}:x:{}:{}:{}:{}:{}\nGroups:\n",
            step.job,
            step.step,
            user.name,
            user.id,
            user.group,
            user.about,
            user.home.display(),
            user.shell.display()
        ));
    }
    Ok(0)
}

/// `cancel_reboot`: of nodes that there are none waits to be booted.
pub fn cancel_reboot(nodes: &str, printer: &Printer) -> Result<u8, CommandError> {
    let known = connect()?.cluster()?.nodes;
    let named = model::node_list::expand(nodes);
    let are_known = named.is_ok_and(|named| {
        let mut named = named.iter();
        named.all(|name| known.iter().any(|node| node.name == *name))
    });
    let what = if are_known { "state" } else { "name" };
    printer.say(&format!(
        "slurm_update error: Invalid node {what} specified"
    ));
    Ok(1)
}
