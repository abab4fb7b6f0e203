//! Partitions and QOS of a cluster, as a scheduler reads them.

use super::{PartitionAccess, Shares};
use crate::demand::Defaults;
use crate::{Limited, NodeSet};
use cluster_file::{PartitionState, PreemptMode, Tres};
use model::{BillingWeights, Seconds, TimeLimitRequest};

/// A partition of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PartId(pub u16);

/// A QOS of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QosId(pub u16);

/// An account of a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccountId(pub u16);

/// A partition.
#[derive(Clone, Debug)]
pub struct Partition {
    /// Its name.
    pub name: String,
    /// Where a job goes that names none.
    pub is_default: bool,
    /// Whose jobs it is open to.
    pub access: PartitionAccess,
    /// The partition that takes jobs in its place while it is drained or inactive.
    pub alternate: Option<String>,
    /// Its jobs may run so much longer than their limits; none: as the cluster says.
    pub over_time: Option<Seconds>,
    /// Its nodes.
    pub nodes: NodeSet,
    /// Whether it takes and starts jobs.
    pub state: PartitionState,
    /// `MaxTime`; none is no limit.
    pub max_time: Option<Seconds>,
    /// A job that asks for more than `max_time` starts, and that is its limit.
    pub cuts_at_max_time: bool,
    /// `DefaultTime`: the limit of a job that asks for none.
    pub default_time: Option<TimeLimitRequest>,
    /// `MinNodes`
    pub min_nodes: u32,
    /// Nodes with the most free CPUs go first.
    pub least_loaded: bool,
    /// `MaxNodes`
    pub max_nodes: Option<u32>,
    /// `PriorityTier`: higher ones go first, whatever the priority. 1 where it isn't said.
    pub tier: u32,
    /// `PriorityJobFactor`. 1 where it isn't said.
    pub factor: u32,
    /// What jobs get that do not ask for it, and what they must share.
    pub defaults: Defaults,
    /// The QOS whose limits hold for all jobs here.
    pub qos: Option<QosId>,
    /// What happens to its jobs whose place is taken.
    pub preempt_mode: Option<PreemptMode>,
    /// Between the signal and the end of such a job.
    pub grace_time: Seconds,
    /// What a job is billed for what it has.
    pub billing: BillingWeights,
}

impl Partition {
    /// The limit of a job that neither names one nor has one by a limit of a QOS or an account: `DefaultTime`,
    /// else `MaxTime`.
    #[must_use]
    pub fn limit_if_none(&self) -> Option<Seconds> {
        match self.default_time {
            Some(default) => default.seconds(),
            None => self.max_time,
        }
    }
}

/// A quality of service.
#[derive(Clone, Debug)]
pub struct Qos {
    /// Its name.
    pub name: String,
    /// `Priority`
    pub priority: u32,
    /// Its limits.
    pub limits: Limits,
    /// QOS whose jobs' places can be taken.
    pub preempt: Vec<QosId>,
    /// What happens to its jobs whose place is taken.
    pub preempt_mode: Option<PreemptMode>,
    /// Between the signal and the end of such a job.
    pub grace_time: Seconds,
    /// Its jobs keep their places for so long (`PreemptExemptTime`); none: as the cluster says.
    pub exempt_time: Option<Seconds>,
    /// How much a job's usage counts.
    pub usage_factor: f64,
    /// Limits of accounts and of users in them on a job's TRES and on those of all jobs together are so many
    /// times as much for its jobs (`LimitFactor`).
    pub limit_factor: Option<f64>,
    /// `DenyOnLimit`, `OverPartQOS`, …: in Slurm's words.
    pub flags: Vec<String>,
}

impl Qos {
    /// Whether it has a flag, in any case.
    #[must_use]
    pub fn has_flag(&self, flag: &str) -> bool {
        self.flags.iter().any(|own| own.eq_ignore_ascii_case(flag))
    }
}

/// An account.
#[derive(Clone, Debug)]
pub struct Account {
    /// Its name.
    pub name: String,
    /// The account above it.
    pub parent: Option<AccountId>,
    /// Its limits, which hold for everyone in it.
    pub limits: Limits,
    /// `Fairshare`
    pub shares: Shares,
    /// `Priority`, which users in it have that say none.
    pub priority: u32,
}

/// Limits of a QOS, of an account, or of a user in an account. None is no limit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Limits {
    /// Time of a job.
    pub wall: Option<Seconds>,
    /// Resources of a job.
    pub job: Tres,
    /// Resources of a job on each node.
    pub node: Tres,
    /// Least resources of a job.
    pub least: Tres,
    /// Resources times minutes of a job.
    pub job_minutes: Tres,
    /// Of one user's jobs together.
    pub user: Counted,
    /// Of one account's jobs together.
    pub account: Counted,
    /// Of all jobs together.
    pub group: Counted,
    /// Time of all jobs together.
    pub group_wall: Option<Seconds>,
    /// Resources times minutes, used so far.
    pub group_minutes: Tres,
    /// Resources times minutes that running jobs may still use.
    pub group_run_minutes: Tres,
    /// No place is kept for a job below this priority, and none waits for it (`MinPrioThreshold`).
    pub priority_threshold: Option<u32>,
}

impl Limits {
    /// Those on TRES of one kind.
    #[must_use]
    pub fn on(&self, limited: Limited) -> &Tres {
        match limited {
            Limited::Group => &self.group.tres,
            Limited::GroupMinutes => &self.group_minutes,
            Limited::GroupRunMinutes => &self.group_run_minutes,
            Limited::Job => &self.job,
            Limited::JobMinutes => &self.job_minutes,
            Limited::Node => &self.node,
            Limited::User => &self.user.tres,
            Limited::Account => &self.account.tres,
            Limited::Least => &self.least,
        }
    }
}

/// Limits on several jobs together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counted {
    /// Running jobs.
    pub jobs: Option<u32>,
    /// Running and waiting jobs.
    pub submitted: Option<u32>,
    /// What running jobs hold.
    pub tres: Tres,
    /// Waiting jobs that gain priority by their age.
    pub accruing: Option<u32>,
}
