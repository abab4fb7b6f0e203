//! Whose a job is, as limits and priorities count it.

use crate::Job;
use resources::{Association, Cluster, QosId};

/// A user in an account: an association, as Slurm tells them apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Member {
    /// The account.
    pub account: String,
    /// The user.
    pub user: String,
    /// The partition that it is for, where it is for one alone.
    pub partition: Option<String>,
}

impl Member {
    /// Whose usage a job counts as.
    pub(crate) fn of(cluster: &Cluster, record: &Job) -> Member {
        let account = account_of(cluster, record).unwrap_or_default();
        let association = association_of(cluster, record);
        Member {
            account: account_of_shares(&account).to_owned(),
            user: record.submitter.user.clone(),
            partition: association.and_then(|own| own.partition.clone()),
        }
    }

    /// Whose usage it is that is kept for all partitions: of a user who is in the account for some alone that of the
    /// first of these. So it is of before associations differed by partition, and once the one for all is gone.
    pub(crate) fn now(&self, cluster: &Cluster) -> Member {
        let narrow = || cluster.first_for_a_partition(&self.user, &self.account);
        let partition = self.partition.clone();
        Member {
            partition: partition.or_else(|| narrow()?.partition.clone()),
            ..self.clone()
        }
    }
}

/// The account that shares and usage count in: a user without an account is in the root account.
pub(crate) fn account_of_shares(account: &str) -> &str {
    if account.is_empty() { "root" } else { account }
}

/// The association of a job's user. A job has one: all of its partitions have the same, else it is refused
/// (`_check_for_part_assocs` of job_mgr.c).
pub(crate) fn association_of<'a>(cluster: &'a Cluster, record: &Job) -> Option<&'a Association> {
    let account = record.request.account.as_deref();
    let partition = first_partition_of(cluster, record);
    cluster.association(&record.submitter.user, account, partition)
}

/// The first partition of a job, by which its association is found.
pub(crate) fn first_partition_of<'a>(cluster: &'a Cluster, record: &'a Job) -> Option<&'a str> {
    let first = record
        .partitions()
        .and_then(|names| names.split(',').next());
    first.or_else(|| {
        let default = cluster.default_partition()?;
        Some(&cluster.partition(default).name)
    })
}

/// The account that a job names, else its user's default one.
pub(crate) fn account_of(cluster: &Cluster, record: &Job) -> Option<String> {
    let named = record.request.account.clone();
    named.or_else(|| Some(cluster.default_account(&record.submitter.user)?.to_owned()))
}

/// The QOS that a job names, else its association's, else the one that is called `normal`.
pub(crate) fn qos_of(cluster: &Cluster, record: &Job) -> Option<QosId> {
    let of_association = || association_of(cluster, record)?.default_qos.as_deref();
    let named = record.request.qos.as_deref().or_else(of_association);
    cluster.find_qos(named.unwrap_or("normal"))
}
