//! QOS and accounts as a cluster file says they are.

use super::{Account, AccountId, Counted, Limits, Qos, QosId, Shares};
use cluster_file::{ClusterFile, Named, Sourced, Tres};
use model::{Seconds, TimeLimitRequest};

pub(super) fn qos_of(file: &ClusterFile, qos: &Named<cluster_file::Qos>) -> Qos {
    let id = |name: &String| {
        let is_it = |one: &Named<cluster_file::Qos>| one.name.eq_ignore_ascii_case(name);
        let found = file.qos.iter().position(is_it)?;
        u16::try_from(found).ok().map(QosId)
    };
    Qos {
        name: qos.name.clone(),
        priority: value(&qos.priority).unwrap_or(0),
        limits: Limits {
            wall: value(&qos.max_wall).and_then(TimeLimitRequest::seconds),
            job: tres(&qos.max_tres_per_job),
            node: tres(&qos.max_tres_per_node),
            least: tres(&qos.min_tres_per_job),
            job_minutes: tres(&qos.max_tres_minutes_per_job),
            user: Counted {
                jobs: value(&qos.max_jobs_per_user),
                submitted: value(&qos.max_submit_per_user),
                tres: tres(&qos.max_tres_per_user),
                accruing: value(&qos.max_jobs_accrue_per_user),
            },
            account: Counted {
                jobs: value(&qos.max_jobs_per_account),
                submitted: value(&qos.max_submit_per_account),
                tres: tres(&qos.max_tres_per_account),
                accruing: value(&qos.max_jobs_accrue_per_account),
            },
            group: Counted {
                jobs: value(&qos.group_jobs),
                submitted: value(&qos.group_submit),
                tres: tres(&qos.group_tres),
                accruing: value(&qos.group_jobs_accrue),
            },
            group_wall: value(&qos.group_wall).and_then(TimeLimitRequest::seconds),
            group_minutes: tres(&qos.group_tres_minutes),
            group_run_minutes: tres(&qos.group_tres_run_minutes),
            priority_threshold: value(&qos.min_priority_threshold),
        },
        preempt: qos
            .preempt
            .iter()
            .flat_map(|list| list.iter())
            .filter_map(id)
            .collect(),
        preempt_mode: value(&qos.preempt_mode),
        grace_time: grace_time(file, &qos.grace_time),
        exempt_time: value(&qos.preempt_exempt_time),
        usage_factor: value(&qos.usage_factor).unwrap_or(1.0),
        limit_factor: value(&qos.limit_factor),
        flags: qos
            .flags
            .as_ref()
            .map_or_else(Vec::new, |flags| flags.value.clone()),
    }
}

pub(super) fn account(file: &ClusterFile, account: &Named<cluster_file::Account>) -> Account {
    let id = |name: &String| {
        let found = file.accounts.iter().position(|one| one.name == *name)?;
        u16::try_from(found).ok().map(AccountId)
    };
    Account {
        name: account.name.clone(),
        parent: account.parent.as_ref().and_then(|parent| id(&parent.value)),
        limits: Limits {
            wall: value(&account.max_wall).and_then(TimeLimitRequest::seconds),
            job: tres(&account.max_tres_per_job),
            job_minutes: tres(&account.max_tres_minutes_per_job),
            node: tres(&account.max_tres_per_node),
            user: Counted {
                jobs: value(&account.max_jobs),
                submitted: value(&account.max_submit),
                tres: Tres::default(),
                accruing: value(&account.max_jobs_accrue),
            },
            group: Counted {
                jobs: value(&account.group_jobs),
                submitted: value(&account.group_submit),
                tres: tres(&account.group_tres),
                accruing: value(&account.group_jobs_accrue),
            },
            group_wall: value(&account.group_wall).and_then(TimeLimitRequest::seconds),
            group_minutes: tres(&account.group_tres_minutes),
            group_run_minutes: tres(&account.group_tres_run_minutes),
            priority_threshold: value(&account.min_priority_threshold),
            ..Limits::default()
        },
        shares: account
            .shares
            .as_ref()
            .map_or_else(Shares::default, |shares| Shares::parse(&shares.value)),
        priority: value(&account.priority).unwrap_or(0),
    }
}

/// That of a partition or QOS, else the cluster's.
pub(super) fn grace_time(file: &ClusterFile, own: &Option<Sourced<Seconds>>) -> Seconds {
    let of_cluster = || value(&file.preemption.grace_time);
    value(own).or_else(of_cluster).unwrap_or(Seconds(0))
}

/// What a file says, whoever says it.
pub(super) fn value<T: Copy>(value: &Option<Sourced<T>>) -> Option<T> {
    value.as_ref().map(|value| value.value)
}

/// Limits on TRES, in the order in which Slurm looks at them.
pub(super) fn tres(value: &Option<Sourced<Tres>>) -> Tres {
    let tres = value.as_ref().map(|value| value.value.clone().in_order());
    tres.unwrap_or_default()
}
