//! A limit that a job would pass: Slurm's word for it, and its numbers.

use super::Ledger;
use super::chain::{Chain, Counter};
use model::{JobId, LimitScope, LimitedAmount, PendingReason, ReachedLimit};
use resources::QosId;

/// What keeps a job from starting.
#[derive(Debug)]
pub(crate) struct Passed {
    pub(crate) reason: PendingReason,
    /// The limit; none for licences, which are no one's.
    pub(crate) over: Option<Over>,
}

/// A limit that would be passed.
#[derive(Debug)]
pub(crate) struct Over {
    pub(super) whose: Whose,
    pub(super) on: LimitedAmount,
    pub(super) with_it: u64,
    pub(super) most: u64,
}

/// Whose limit it is.
#[derive(Debug)]
pub(super) enum Whose {
    /// That of jobs which are counted together.
    Together(Counter),
    /// That of each job of a QOS.
    JobOfQos(QosId),
    /// That of each job of an account, or of a user in one.
    JobOfAccount,
}

impl From<Passed> for PendingReason {
    fn from(passed: Passed) -> PendingReason {
        passed.reason
    }
}

impl Over {
    /// It, by Slurm's word for it.
    pub(super) fn stop<T>(self, word: &str) -> Result<T, Passed> {
        Err(Passed {
            reason: PendingReason::OverLimit(word.to_owned()),
            over: Some(self),
        })
    }
}

impl Chain<'_> {
    /// A limit with its numbers.
    pub(crate) fn named(&self, over: &Over) -> ReachedLimit {
        let qos_name = |qos: QosId| self.cluster.qos()[usize::from(qos.0)].name.clone();
        let scope = match &over.whose {
            Whose::Together(Counter::Qos(qos)) => LimitScope::Qos(qos_name(*qos)),
            Whose::Together(Counter::QosUser(qos, _)) => LimitScope::UserOfQos(qos_name(*qos)),
            Whose::Together(Counter::QosAccount(qos, _)) => {
                LimitScope::AccountOfQos(qos_name(*qos))
            }
            Whose::Together(Counter::Account(account)) => {
                LimitScope::Account(self.account_name(*account))
            }
            Whose::Together(Counter::Association(own)) => LimitScope::UserOfAccount {
                account: own.account.clone(),
                partition: own.partition.clone(),
            },
            Whose::Together(Counter::User(_)) => LimitScope::User,
            Whose::JobOfQos(qos) => LimitScope::JobOfQos(qos_name(*qos)),
            Whose::JobOfAccount => LimitScope::JobOfAccount(self.account().to_owned()),
        };
        ReachedLimit {
            scope,
            on: over.on.clone(),
            with_it: over.with_it,
            most: over.most,
        }
    }
}

impl Ledger {
    /// Running jobs that count under a limit.
    pub(crate) fn under<'a>(&'a self, over: &'a Over) -> impl Iterator<Item = JobId> + 'a {
        let counter = match &over.whose {
            Whose::Together(counter) => Some(counter),
            Whose::JobOfQos(_) | Whose::JobOfAccount => None,
        };
        let counted = self.jobs.iter();
        counted
            .filter(move |(_, it)| counter.is_some_and(|own| it.counters.contains(own)))
            .map(|(id, _)| *id)
    }
}
