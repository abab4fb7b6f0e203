//! The block of an association.

use super::used::{Used, group_lines, limit, minutes_of, wall};
use super::{AssocMgrFacts, CountedJob};
use crate::records::{AccountAssociation, AccountChains, ShareRow};
use std::collections::{HashMap, HashSet};

/// Whose something is: an account's, a user's in one, or a user's in a partition of one.
type Whose<'a> = (&'a str, Option<&'a str>, Option<&'a str>);

fn whose(it: &AccountAssociation) -> Whose<'_> {
    (&it.account, it.user.as_deref(), it.partition.as_deref())
}

/// What blocks of associations tell of, found once for all of them.
pub(super) struct Associations<'a> {
    facts: &'a AssocMgrFacts,
    chains: AccountChains<'a>,
    /// The jobs that count for each; those of an account and all under it.
    jobs: HashMap<Whose<'a>, Vec<&'a CountedJob>>,
    shares: HashMap<Whose<'a>, &'a ShareRow>,
    default_accounts: HashMap<&'a str, &'a str>,
}

impl<'a> Associations<'a> {
    pub(super) fn of(facts: &'a AssocMgrFacts) -> Associations<'a> {
        let chains = AccountChains::of(&facts.accounting);
        let mut jobs: HashMap<Whose<'_>, Vec<&CountedJob>> = HashMap::new();
        let known: HashSet<Whose<'_>> = facts.accounting.associations.iter().map(whose).collect();
        for job in &facts.jobs {
            let (account, user) = (&*job.account, Some(&*job.user));
            let narrow = (account, user, Some(&*job.partition));
            let own = if known.contains(&narrow) {
                narrow
            } else {
                (account, user, None)
            };
            jobs.entry(own).or_default().push(job);
            for over in chains.line_of_account(&job.account) {
                jobs.entry((&over.account, None, None))
                    .or_default()
                    .push(job);
            }
        }
        let shares = facts.shares.iter();
        let shares = shares.map(|row| {
            let partition = row.partition.as_deref();
            ((&*row.account, row.user.as_deref(), partition), row)
        });
        let users = facts.accounting.users.iter();
        let users = users.map(|user| (&*user.name, &*user.default_account));
        Associations {
            facts,
            jobs,
            shares: shares.collect(),
            default_accounts: users.collect(),
            chains,
        }
    }
}

/// The lines of one association.
pub(super) fn association_lines<'a>(
    all: &Associations<'a>,
    it: &'a AccountAssociation,
    left: Option<u32>,
) -> Vec<String> {
    let facts = all.facts;
    let whose = whose(it);
    let jobs = all.jobs.get(&whose).into_iter().flatten();
    let used = Used::of(facts, jobs.copied());
    let share = all.shares.get(&whose);
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
        .and_then(|name| all.chains.account(name));
    let parent = parent.map_or_else(String::new, |it| format!("{}({})", it.account, it.id));
    let user = it
        .user
        .as_deref()
        .map_or_else(String::new, |name| facts.named(name));
    let default = |name: &String| all.default_accounts.get(&**name) == Some(&&*it.account);
    let setting = |key: &str| all.chains.setting(it, key);
    let most = |key: &str, used: u64| {
        setting(key).map_or_else(String::new, |limit| format!("{limit}({used})"))
    };
    let [group, minutes, run_minutes] = group_lines(&facts.tres, &it.settings, &used);
    vec![
        format!(
            "ClusterName={} Account={} UserName={user} Partition={} Priority={} ID={}",
            facts.accounting.cluster,
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
