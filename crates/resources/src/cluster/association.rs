//! Users in accounts.

use super::qos::{tres, value};
use super::{Cluster, Counted, Limits};
use crate::Limited;
use cluster_file::{ClusterFile, ROOT_ACCOUNT, Tres};
use model::{TimeLimitRequest, association_in};
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
        let mut accounts = user.account_names();
        let mut of_account: HashMap<&str, Vec<&cluster_file::Association>> = HashMap::new();
        for own in &user.associations {
            of_account.entry(&own.name).or_default().push(&own.body);
        }
        // One who is named in no account still has a QOS.
        if accounts.is_empty() {
            accounts.push("");
        }
        let default = user.default_account.as_ref();
        let default = default.map(|name| name.value.as_str());
        let default = default.or(accounts.first().copied());
        let nothing_said = cluster_file::Association::default();
        for account in accounts {
            let own = of_account.remove(account);
            for own in own.unwrap_or_else(|| vec![&nothing_said]) {
                let shares = own.shares.as_ref();
                let default_qos = own.default_qos.as_ref().or(user.default_qos.as_ref());
                all.push(Association {
                    user: user.name.clone(),
                    account: account.to_owned(),
                    partition: own.partition.as_ref().map(|name| name.value.clone()),
                    shares: shares.map_or_else(Shares::default, |own| Shares::parse(&own.value)),
                    default_qos: default_qos.map(|qos| qos.value.clone()),
                    is_default: default == Some(account),
                    priority: value(&own.priority).unwrap_or(0),
                    limits: limits(own),
                });
            }
        }
        of_user.insert(user.name.clone(), first..all.len());
    }
    (all, of_user)
}

impl Cluster {
    /// A user's association in an account, or in the user's default one, for jobs of a partition: the one for that
    /// partition, else the one for all; those of everyone for a user who has none.
    #[must_use]
    pub fn association(
        &self,
        user: &str,
        account: Option<&str>,
        partition: Option<&str>,
    ) -> Option<&Association> {
        let all = self.associations_of(user).iter();
        let own = all.filter(|one| match account {
            Some(account) => one.account.eq_ignore_ascii_case(account) || one.account.is_empty(),
            None => one.is_default,
        });
        association_in(own, partition, |one| one.partition.as_deref())
    }

    /// The first of a user's associations in an account that are each for a partition; none where there is one for all.
    #[must_use]
    pub fn first_for_a_partition(&self, user: &str, account: &str) -> Option<&Association> {
        let all = self.associations_of(user).iter();
        let mut own = all.filter(|one| one.account.eq_ignore_ascii_case(account));
        let is_for_all = |one: &Association| one.partition.is_none();
        let first = own.next().filter(|first| !is_for_all(first))?;
        (!own.any(is_for_all)).then_some(first)
    }

    /// The account of a user's jobs that name none.
    #[must_use]
    pub fn default_account(&self, user: &str) -> Option<&str> {
        let mut own = self.associations_of(user).iter();
        let default = own.find(|one| one.is_default)?;
        Some(&default.account)
    }

    /// A user's associations; those of everyone for a user who has none.
    fn associations_of(&self, user: &str) -> &[Association] {
        let own = self.of_user.get(user).or_else(|| self.of_user.get("*"));
        let own = own.and_then(|own| self.associations.get(own.clone()));
        own.unwrap_or_default()
    }

    /// Whether jobs of a user may run under an account in a partition, where accounts are enforced: it is there, and
    /// the user is in it. The root is over all others, whether a file names it or not.
    #[must_use]
    pub fn may_charge(&self, user: &str, account: &str, partition: Option<&str>) -> bool {
        let own = || self.association(user, Some(account), partition);
        let is_member = || self.associations.is_empty() || own().is_some();
        account.eq_ignore_ascii_case(ROOT_ACCOUNT)
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
