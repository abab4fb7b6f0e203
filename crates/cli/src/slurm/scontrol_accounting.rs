//! `scontrol show assoc_mgr`.

use super::connection::{CommandError, connect, view_facts};
use crate::printer::Printer;
use api::{ClusterReport, JobFilter};
use model::{AssocMgrFacts, AssocMgrRequest, CountedJob, JobInfo, JobState, decay_half_life};
use sched::priority::Decay;

/// Users, associations and QOS, with what jobs use of their limits.
pub fn show_accounting(
    words: &[String],
    one_line: bool,
    printer: &Printer,
) -> Result<u8, CommandError> {
    let asked = match AssocMgrRequest::parse(words) {
        Ok(asked) => asked,
        Err(refusal) => {
            printer.say(&refusal.words);
            return Ok(refusal.status);
        }
    };
    let mut client = connect()?;
    let accounting = client.accounting()?;
    let mut facts = AssocMgrFacts::default();
    let names = accounting.users.iter().map(|user| user.name.clone());
    facts.uids = names
        .filter_map(|name| {
            let entry = sys::users::user_by_name(&name).ok().flatten()?;
            Some((name, entry.id))
        })
        .collect();
    if asked.shows_use() {
        let cluster = client.cluster()?;
        let decay = Decay::of_half_life(decay_half_life(&client.facts()?.config));
        facts.tres = counted(&cluster);
        facts.shares = client.shares()?;
        let records = client.jobs(JobFilter {
            ended_since: Some(cluster.since),
            ..JobFilter::default()
        })?;
        let view = view_facts(Some(&mut client))?;
        let jobs = records.iter().map(|record| {
            let info = JobInfo::of(record, &view);
            let is_running = matches!(record.state, JobState::Running { .. });
            let is_live = is_running || matches!(record.state, JobState::Pending { .. });
            let user = accounting
                .users
                .iter()
                .find(|user| user.name == info.user());
            let default = user.map(|user| user.default_account.clone());
            let mut job = CountedJob::of(&info, &facts.tres, |seconds| decay.left(seconds));
            (job.is_live, job.is_running) = (is_live, is_running);
            job.account = info
                .account()
                .map(str::to_owned)
                .or(default)
                .unwrap_or_default();
            facts
                .uids
                .entry(info.user().to_owned())
                .or_insert(info.uid());
            job
        });
        facts.jobs = jobs.collect();
    }
    facts.accounting = accounting;
    printer.data(&asked.print(&facts, one_line));
    Ok(0)
}

/// Slurm's own TRES, in its order, then GPUs and their types by name.
fn counted(cluster: &ClusterReport) -> Vec<String> {
    let own = [
        "cpu", "mem", "energy", "node", "billing", "fs/disk", "vmem", "pages",
    ];
    let gpus = cluster.nodes.iter().flat_map(|node| &node.gpus);
    let mut kinds: Vec<String> = gpus
        .map(|gpu| match &gpu.kind {
            Some(kind) => format!("gres/gpu:{kind}"),
            None => "gres/gpu".to_owned(),
        })
        .collect();
    if !kinds.is_empty() {
        kinds.push("gres/gpu".to_owned());
    }
    kinds.sort();
    kinds.dedup();
    own.map(str::to_owned).into_iter().chain(kinds).collect()
}
