//! Users in accounts.

use super::qos::{tres, value};
use super::{Cluster, Counted, Limits};
use crate::Limited;
use cluster_file::{ClusterFile, Tres};
use model::TimeLimitRequest;
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::ops::Range;

/// A user in an account.
#[derive(Clone, Debug, PartialEq)]
pub struct Association {
    /// Whose; `*` is everyone who has no table.
    pub user: String,
    /// In which account.
    pub account: String,
    /// The partition that it is for, where it is for one alone.
    pub partition: Option<String>,
    /// `Fairshare`
    pub shares: Shares,
    /// `Priority`
    pub priority: u32,
    /// The QOS of a job that names none: the association's own, else the user's.
    pub default_qos: Option<String>,
    /// The account of a job of this user that names none is this one.
    pub is_default: bool,
    /// What holds for this user in this account.
    pub limits: Limits,
}

/// `Fairshare`: what a user or an account is due beside its siblings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shares {
    /// So much.
    Number(u32),
    /// Those below count as if they were the parent's own.
    Parent,
}

impl Shares {
    /// Reads a number or `parent`; anything else is 1, as where nothing is said.
    #[must_use]
    pub fn parse(text: &str) -> Shares {
        if text.eq_ignore_ascii_case("parent") {
            Shares::Parent
        } else {
            Shares::Number(text.parse().unwrap_or(1))
        }
    }
}

impl Default for Shares {
    fn default() -> Shares {
        Shares::Number(1)
    }
}

impl fmt::Display for Shares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Shares::Number(number) => number.fmt(f),
            Shares::Parent => f.write_str("parent"),
        }
    }
}

/// All associations of a file, in its order, and where those of each user are.
pub(super) fn associations(
    file: &ClusterFile,
) -> (Vec<Association>, HashMap<String, Range<usize>>) {
    let (mut all, mut of_user) = (Vec::new(), HashMap::new());
    for user in &file.users {
        let first = all.len();
        let accounts = user.accounts.iter().flat_map(|accounts| accounts.iter());
        let mut accounts: Vec<&String> = accounts.collect();
        for own in &user.associations {
            if !accounts.contains(&&own.name) {
                accounts.push(&own.name);
            }
        }
        // One who is named in no account still has a QOS.
        let nowhere = String::new();
        if accounts.is_empty() {
            accounts.push(&nowhere);
        }
        let default = user.default_account.as_ref().map(|name| &name.value);
        let default = default.or(accounts.first().copied()).cloned();
        for account in accounts {
            let own = user.associations.iter().find(|own| own.name == *account);
            all.push(Association {
                user: user.name.clone(),
                account: account.clone(),
                partition: own.and_then(|own| Some(own.partition.as_ref()?.value.clone())),
                shares: own
                    .and_then(|own| own.shares.as_ref())
                    .map_or_else(Shares::default, |shares| Shares::parse(&shares.value)),
                default_qos: own
                    .and_then(|own| own.default_qos.as_ref())
                    .or(user.default_qos.as_ref())
                    .map(|qos| qos.value.clone()),
                is_default: default.as_ref() == Some(account),
                priority: own.and_then(|own| value(&own.priority)).unwrap_or(0),
                limits: own.map_or_else(Limits::default, |own| limits(own)),
            });
        }
        of_user.insert(user.name.clone(), first..all.len());
    }
    (all, of_user)
}

impl Cluster {
    /// A user's association in an account, or in the user's default one; that of everyone for a
    /// user who has none.
    #[must_use]
    pub fn association(&self, user: &str, account: Option<&str>) -> Option<&Association> {
        let own = self.of_user.get(user).or_else(|| self.of_user.get("*"))?;
        let mut own = self.associations.get(own.clone())?.iter();
        own.find(|one| match account {
            Some(account) => one.account.eq_ignore_ascii_case(account) || one.account.is_empty(),
            None => one.is_default,
        })
    }

    /// Whether jobs of a user may run under an account, where accounts are enforced: it is there, and the user is
    /// in it. The root is over all others, whether a file names it or not.
    #[must_use]
    pub fn may_charge(&self, user: &str, account: &str) -> bool {
        let is_member =
            || self.associations.is_empty() || self.association(user, Some(account)).is_some();
        account.eq_ignore_ascii_case("root")
            || (self.find_account(account).is_some() && is_member())
    }

    /// Limits on each user, where accounts and QOS say nothing.
    #[must_use]
    pub fn limits_of_users(&self) -> &Counted {
        &self.of_users
    }

    /// Whether anything limits how much runs; most clusters of one person have no such limit.
    #[must_use]
    pub fn has_limits(&self) -> bool {
        self.has_limits
    }

    /// The TRES that limits name, as Slurm writes them, each once.
    #[must_use]
    pub fn limited_tres(&self) -> &[String] {
        &self.limited_tres
    }

    /// Of these, the ones of which limits say how much may be used (`GrpTRESMins`).
    #[must_use]
    pub fn budgeted_tres(&self) -> &[String] {
        &self.budgeted_tres
    }

    /// Whether a limit says on how many nodes several jobs may be together (`GrpTRES=node=2`, …).
    #[must_use]
    pub fn limits_shared_nodes(&self) -> bool {
        self.limits_shared_nodes
    }

    /// Whether a limit says how long jobs together may run (`GrpWall`).
    #[must_use]
    pub fn has_budgeted_time(&self) -> bool {
        self.has_budgeted_time
    }

    /// Whether a limit says how many waiting jobs gain priority by their age (`GrpJobsAccrue`, …).
    #[must_use]
    pub fn limits_accrual(&self) -> bool {
        self.limits_accrual
    }

    /// Whether jobs run only under accounts that there are (`AccountingStorageEnforce`).
    #[must_use]
    pub fn needs_accounts(&self) -> bool {
        self.needs_accounts && !self.accounts().is_empty()
    }

    /// Whether a job starts only where it may use what it asks for until its end, and none is ended for
    /// what others use (`AccountingStorageEnforce=safe`).
    #[must_use]
    pub fn is_safe(&self) -> bool {
        self.is_safe
    }

    /// Looks for limits; once, when the cluster is made: a site has thousands of associations.
    pub(super) fn find_limits(&mut self) {
        let none = Limits::default();
        let limits = self.qos.iter().map(|qos| &qos.limits);
        let limits = limits.chain(self.accounts.iter().map(|account| &account.limits));
        let limits = limits.chain(self.associations.iter().map(|one| &one.limits));
        let mut names: BTreeSet<&String> = BTreeSet::new();
        let mut budgeted: BTreeSet<&String> = BTreeSet::new();
        let (mut has_budgeted_time, mut limits_accrual) = (false, false);
        let mut limits_shared_nodes = false;
        let mut has_limits = self.of_users != Counted::default();
        for limits in limits.filter(|limits| **limits != none) {
            has_limits = true;
            has_budgeted_time |= limits.group_wall.is_some();
            let counted = [&limits.user, &limits.account, &limits.group];
            limits_accrual |= counted.iter().any(|counted| counted.accruing.is_some());
            let mut shared = counted.iter().flat_map(|counted| &counted.tres.0);
            limits_shared_nodes |= shared.any(|(name, _)| name == "node");
            budgeted.extend(limits.group_minutes.0.iter().map(|(name, _)| name));
            let all = Limited::ALL.into_iter().map(|limited| limits.on(limited));
            names.extend(all.flat_map(|tres| tres.0.iter().map(|(name, _)| name)));
        }
        let names = names.into_iter().cloned().collect();
        self.budgeted_tres = budgeted.into_iter().cloned().collect();
        self.has_budgeted_time = has_budgeted_time;
        self.limits_accrual = limits_accrual;
        self.limits_shared_nodes = limits_shared_nodes;
        (self.has_limits, self.limited_tres) = (has_limits, names);
    }
}

fn limits(own: &cluster_file::Association) -> Limits {
    Limits {
        wall: value(&own.max_wall).and_then(TimeLimitRequest::seconds),
        job: tres(&own.max_tres_per_job),
        job_minutes: tres(&own.max_tres_minutes_per_job),
        node: tres(&own.max_tres_per_node),
        user: Counted {
            jobs: value(&own.max_jobs),
            submitted: value(&own.max_submit),
            tres: Tres::default(),
            accruing: value(&own.max_jobs_accrue),
        },
        group: Counted {
            jobs: value(&own.group_jobs),
            submitted: value(&own.group_submit),
            tres: tres(&own.group_tres),
            accruing: value(&own.group_jobs_accrue),
        },
        group_wall: value(&own.group_wall).and_then(TimeLimitRequest::seconds),
        group_minutes: tres(&own.group_tres_minutes),
        group_run_minutes: tres(&own.group_tres_run_minutes),
        priority_threshold: value(&own.min_priority_threshold),
        ..Limits::default()
    }
}
