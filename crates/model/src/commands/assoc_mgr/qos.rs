//! The block of a QOS, with what each account and user has of it.

use super::used::{Used, group_lines, limit, minutes_of, tres, wall};
use super::{AssocMgrFacts, block};
use crate::records::Qos;
use std::collections::BTreeSet;

/// The block of a QOS.
pub(super) fn qos_text(facts: &AssocMgrFacts, qos: &Qos, one_line: bool) -> String {
    let jobs = || facts.jobs.iter().filter(|job| job.qos == qos.name);
    let used = Used::of(facts, jobs());
    let billed = facts.tres.iter().position(|name| name == "billing");
    let raw = billed
        .and_then(|at| used.seconds_of_tres.get(at))
        .unwrap_or(&0.0);
    let [group, minutes, run_minutes] = group_lines(&facts.tres, &qos.settings, &used);
    let own = |key: &str| qos.settings.get(key).map_or("", String::as_str);
    let mode = match own("preemptmode") {
        "" | "cluster" => "OFF".to_owned(),
        mode => mode.to_ascii_uppercase(),
    };
    let mut lines = vec![
        format!("QOS={}({})", qos.name, qos.id),
        format!("UsageRaw={raw:.6}"),
        format!(
            "GrpJobs={} GrpJobsAccrue={} GrpSubmitJobs={} GrpWall={}",
            limit(&qos.settings, "grpjobs", used.running),
            limit(&qos.settings, "grpjobsaccrue", 0),
            limit(&qos.settings, "grpsubmitjobs", used.submitted),
            wall(&qos.settings, &used)
        ),
        group,
        minutes,
        run_minutes,
        format!(
            "MaxWallPJ={}",
            minutes_of(qos.settings.get("maxwall").map(String::as_str))
        ),
        format!("MaxTRESPJ={}", own("maxtres")),
        format!("MaxTRESPN={}", own("maxtrespernode")),
        format!("MaxTRESMinsPJ={}", own("maxtresmins")),
        format!("MinPrioThresh={} ", own("minpriothresh")),
        format!("MinTRESPJ={}", own("mintres")),
        format!("PreemptMode={mode}"),
        format!(
            "Priority={}",
            qos.settings.get("priority").map_or("0", String::as_str)
        ),
    ];
    let accounts: BTreeSet<&String> = jobs().map(|job| &job.account).collect();
    let users: BTreeSet<&String> = jobs().map(|job| &job.user).collect();
    let of_accounts = accounts.into_iter().map(|name| {
        let used = Used::of(facts, jobs().filter(|job| job.account == *name));
        let rows = limits_each(facts, qos, &used, ("PA", "account"));
        (name.clone(), rows)
    });
    let of_users = users.into_iter().map(|name| {
        let used = Used::of(facts, jobs().filter(|job| job.user == *name));
        let rows = limits_each(facts, qos, &used, ("PU", "user"));
        let uid = facts
            .uids
            .get(name)
            .map_or_else(|| name.clone(), u32::to_string);
        (uid, rows)
    });
    for (title, each) in [
        ("Account", of_accounts.collect::<Vec<_>>()),
        ("User", of_users.collect()),
    ] {
        lines.push(each_text(title, &each, one_line));
    }
    block(&lines, one_line)
}

/// What each account or user has of a QOS.
fn limits_each(
    facts: &AssocMgrFacts,
    qos: &Qos,
    used: &Used,
    (short, long): (&str, &str),
) -> [String; 2] {
    let key = |name: &str| format!("{name}per{long}");
    let of = |name: &str, used: u64| limit(&qos.settings, &key(name), used);
    [
        format!(
            "MaxJobs{short}={} MaxJobsAccrue{short}={} MaxSubmitJobs{short}={}",
            of("maxjobs", used.running),
            of("maxjobsaccrue", 0),
            of("maxsubmitjobs", used.submitted)
        ),
        format!(
            "MaxTRES{short}={}",
            tres(&facts.tres, qos.settings.get(&key("maxtres")), &used.tres)
        ),
    ]
}

fn each_text(title: &str, each: &[(String, [String; 2])], one_line: bool) -> String {
    match (each, one_line) {
        ([], true) => format!("{title} Limits=No {title}s"),
        ([], false) => format!("{title} Limits\n        No {title}s"),
        (each, true) => {
            let rows = each
                .iter()
                .map(|(name, [jobs, tres])| format!("{name}={{{jobs} {tres}}}"));
            format!("{title} Limits= {}", rows.collect::<Vec<_>>().join(" "))
        }
        (each, false) => {
            let rows = each.iter().map(|(name, [jobs, tres])| {
                format!("\n      {name}\n        {jobs}\n        {tres}")
            });
            format!("{title} Limits{}", rows.collect::<String>())
        }
    }
}
