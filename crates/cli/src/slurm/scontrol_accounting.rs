//! `scontrol show assoc_mgr`.

use super::connection::{CommandError, connect, view_facts};
use crate::printer::Printer;
use api::{ClusterReport, JobFilter};
use model::{
    ArrayTaskInfo, AssocMgrFacts, AssocMgrRequest, CountedJob, JobInfo, JobState, Seconds,
    TimeLimitRequest, Timestamp,
};
use std::collections::BTreeMap;

/// Slurm's `PriorityDecayHalfLife` where the cluster says nothing else.
const HALF_LIFE: f64 = 7.0 * 86_400.0;

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
        let half_life = half_life(&client.facts()?.config);
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
            let mut job = count(&info, &facts.tres, half_life);
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

fn half_life(config: &BTreeMap<String, String>) -> f64 {
    let said = config.get("PriorityDecayHalfLife");
    match said.and_then(|text| TimeLimitRequest::parse(text)) {
        Some(TimeLimitRequest::Limit(Seconds(seconds))) => seconds as f64,
        _ => HALF_LIFE,
    }
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

fn count(info: &JobInfo, names: &[String], half_life: f64) -> CountedJob {
    let tres = info.tres();
    let amounts: BTreeMap<&str, u64> = tres
        .split(',')
        .filter_map(|part| {
            let (name, amount) = part.split_once('=')?;
            Some((name, amount_of(amount)?))
        })
        .collect();
    let ran = info.run_time.max(0);
    let limit = info.limit.map_or(0, |limit| limit.0);
    let left = limit.saturating_sub(u64::try_from(ran).unwrap_or(0));
    // What ended is forgotten by halves since then.
    let since_end = info
        .end
        .map_or(0, |end| info.now.since(Timestamp(end.0.min(info.now.0))));
    let kept = if half_life > 0.0 {
        0.5_f64.powf(since_end as f64 / 1000.0 / half_life)
    } else {
        1.0
    };
    let elements = info.array.as_ref().map_or(1, |array| match &array.task {
        ArrayTaskInfo::One(_) => 1,
        ArrayTaskInfo::Waiting(tasks) => tasks.len() as u64,
    });
    CountedJob {
        user: info.user().to_owned(),
        qos: info.qos.to_string(),
        elements,
        tres: names
            .iter()
            .map(|name| amounts.get(name.as_str()).copied().unwrap_or(0))
            .collect(),
        nodes: info.nodes.clone(),
        minutes_left: left / 60,
        seconds: ran as f64 * kept,
        ..CountedJob::default()
    }
}

/// `100M` in MiB; a number without a unit as it is.
fn amount_of(text: &str) -> Option<u64> {
    let unit = text.find(|letter: char| letter.is_ascii_alphabetic());
    let (number, unit) = text.split_at(unit.unwrap_or(text.len()));
    let number: f64 = number.parse().ok()?;
    let factor = match unit {
        "K" => 1.0 / 1024.0,
        "G" => 1024.0,
        "T" => 1024.0 * 1024.0,
        "P" => 1024.0 * 1024.0 * 1024.0,
        _ => 1.0,
    };
    Some((number * factor) as u64)
}
