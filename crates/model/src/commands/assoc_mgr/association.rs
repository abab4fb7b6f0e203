//! The block of an association.

use super::used::{Used, group_lines, limit, minutes_of, wall};
use super::{AssocMgrFacts, CountedJob};
use crate::records::AccountAssociation;

/// The lines of one association.
pub(super) fn association_lines(
    facts: &AssocMgrFacts,
    it: &AccountAssociation,
    left: Option<u32>,
) -> Vec<String> {
    let accounting = &facts.accounting;
    let counts = |job: &&CountedJob| match &it.user {
        Some(user) => job.account == it.account && job.user == *user,
        None => accounting.is_under(&job.account, &it.account),
    };
    let used = Used::of(&facts.tres, facts.jobs.iter().filter(counts));
    let share = facts
        .shares
        .iter()
        .find(|row| row.account == it.account && row.user == it.user);
    let shares = it.settings.get("fairshare").map_or("1", String::as_str);
    let norm = share.map_or(0.0, |row| row.norm_shares);
    let norm = if it.user.is_none() && it.parent.is_none() {
        0.0
    } else {
        norm
    };
    let level = match shares.parse::<f64>() {
        Ok(shares) if norm > 0.0 => (shares / norm).round(),
        _ => 1.0,
    };
    let parent = it
        .parent
        .as_deref()
        .and_then(|name| accounting.account_association(name));
    let parent = parent.map_or_else(String::new, |it| format!("{}({})", it.account, it.id));
    let user = it
        .user
        .as_deref()
        .map_or_else(String::new, |name| facts.named(name));
    let default = |name: &String| {
        let mut users = accounting.users.iter();
        users.any(|user| user.name == *name && user.default_account == it.account)
    };
    let setting = |key: &str| accounting.setting(it, key);
    let most = |key: &str, used: u64| {
        setting(key).map_or_else(String::new, |limit| format!("{limit}({used})"))
    };
    let [group, minutes, run_minutes] = group_lines(&facts.tres, &it.settings, &used);
    vec![
        format!(
            "ClusterName={} Account={} UserName={user} Partition={} Priority={} ID={}",
            accounting.cluster,
            it.account,
            it.partition.as_deref().unwrap_or_default(),
            setting("priority").unwrap_or("0"),
            it.id
        ),
        format!(
            "SharesRaw/Norm/Level/Factor={shares}/{norm:.2}/{level}/{:.2}",
            share.and_then(|row| row.fair_share).unwrap_or(0.0)
        ),
        format!(
            "UsageRaw/Norm/Efctv={:.2}/{:.2}/{:.2}",
            share.map_or(0.0, |row| row.usage),
            share.map_or(0.0, |row| row.norm_usage),
            share.map_or(0.0, |row| row.effective_usage)
        ),
        format!(
            "ParentAccount={parent} Lft={} DefAssoc={}",
            left.unwrap_or(0),
            if it.user.as_ref().is_some_and(default) {
                "Yes"
            } else {
                "No"
            }
        ),
        format!(
            "GrpJobs={} GrpJobsAccrue={}",
            limit(&it.settings, "grpjobs", used.running),
            limit(&it.settings, "grpjobsaccrue", 0)
        ),
        format!(
            "GrpSubmitJobs={} GrpWall={}",
            limit(&it.settings, "grpsubmitjobs", used.submitted),
            wall(&it.settings, &used)
        ),
        group,
        minutes,
        run_minutes,
        format!(
            "MaxJobs={} MaxJobsAccrue={} MaxSubmitJobs={} MaxWallPJ={}",
            most("maxjobs", used.running),
            most("maxjobsaccrue", 0),
            most("maxsubmitjobs", used.submitted),
            minutes_of(setting("maxwall"))
        ),
        format!("MaxTRESPJ={}", setting("maxtres").unwrap_or_default()),
        format!(
            "MaxTRESPN={}",
            setting("maxtrespernode").unwrap_or_default()
        ),
        format!(
            "MaxTRESMinsPJ={}",
            setting("maxtresmins").unwrap_or_default()
        ),
        format!(
            "MinPrioThresh={}",
            setting("minpriothresh").unwrap_or_default()
        ),
    ]
}
