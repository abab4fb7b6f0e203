//! Whose a job is, as limits and priorities count it.

use crate::Job;
use resources::{Association, Cluster, QosId};

/// A user in an account.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Member {
    /// The account.
    pub account: String,
    /// The user.
    pub user: String,
}

impl Member {
    /// Whose usage a job counts as.
    pub(crate) fn of(cluster: &Cluster, record: &Job) -> Member {
        let account = account_of(cluster, record).unwrap_or_default();
        Member {
            account: account_of_shares(&account).to_owned(),
            user: record.submitter.user.clone(),
        }
    }
}

/// The account that shares and usage count in: a user without an account is in the root account.
pub(crate) fn account_of_shares(account: &str) -> &str {
    if account.is_empty() { "root" } else { account }
}

/// The association of a job's user.
pub(crate) fn association_of<'a>(cluster: &'a Cluster, record: &Job) -> Option<&'a Association> {
    cluster.association(&record.submitter.user, record.request.account.as_deref())
}

/// The account that a job names, else its user's default one.
pub(crate) fn account_of(cluster: &Cluster, record: &Job) -> Option<String> {
    let named = record.request.account.clone();
    named.or_else(|| association_of(cluster, record).map(|own| own.account.clone()))
}

/// The QOS that a job names, else its association's, else the one that is called `normal`.
pub(crate) fn qos_of(cluster: &Cluster, record: &Job) -> Option<QosId> {
    let of_association = || association_of(cluster, record)?.default_qos.as_deref();
    let named = record.request.qos.as_deref().or_else(of_association);
    cluster.find_qos(named.unwrap_or("normal"))
}
