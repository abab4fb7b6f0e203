//! The time limit that a job gets.

use super::Judge;
use super::LimitPath;
use super::account::Who;
use super::limits::order_of;
use crate::{LimitsMet, TimeByLimit, Trust, time_by_limits};
use cluster_file::{Named, Partition};
use model::{Request, TimeLimitRequest};

/// The time limit that a job gets, and from where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobTime {
    /// The limit.
    pub limit: TimeLimitRequest,
    /// Who gives it.
    pub from: TimeFrom,
}

/// From where a job has its time limit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TimeFrom {
    /// The job asks for it.
    Request,
    /// The default of the first partition that it names.
    Default(String),
    /// A limit of a QOS or an account, as there is no default.
    Limit(LimitPath),
    /// The longest that its partition allows, as nothing else gives one.
    Longest(String),
}

impl JobTime {
    /// What a job asks for, else the default of the first partition that it names.
    pub(super) fn said(request: &Request, first: Option<&Named<Partition>>) -> Option<JobTime> {
        let asked = request.time.map(|limit| JobTime {
            limit,
            from: TimeFrom::Request,
        });
        let default = || {
            let first = first?;
            Some(JobTime {
                limit: first.default_time.as_ref()?.value,
                from: TimeFrom::Default(first.name.clone()),
            })
        };
        asked.or_else(default)
    }
}

/// Whose a limit is.
#[derive(Clone)]
enum Whose {
    Qos(String),
    Own,
    Account(String),
}

impl<'a> Judge<'a, '_> {
    /// The time by which a job is judged that could go to these partitions: what it asks for, else what they or
    /// limits give it. None where it gets the longest of the partition in which it starts.
    pub(super) fn time_of(
        &self,
        partitions: &[&'a Named<Partition>],
        who: &Who<'_>,
    ) -> Option<JobTime> {
        let said = JobTime::said(self.request, partitions.first().copied());
        said.or_else(|| self.time_by_limits(partitions, who))
    }

    fn time_by_limits(
        &self,
        partitions: &[&'a Named<Partition>],
        who: &Who<'_>,
    ) -> Option<JobTime> {
        if !self.enforces_limits() {
            return None;
        }
        // Where no partition is known it is not known either whether one has a default.
        let met = partitions.iter().map(|it| self.met(it, who));
        let TimeByLimit { time, whose, key } = time_by_limits(met)?;
        let path = match whose {
            Whose::Qos(name) => LimitPath::Qos(name, key),
            Whose::Account(name) => LimitPath::Account(name, key),
            Whose::Own => LimitPath::Association {
                user: who.user.map_or_else(String::new, |user| user.name.clone()),
                account: who.account.clone().unwrap_or_default(),
                key,
            },
        };
        Some(JobTime {
            limit: TimeLimitRequest::Limit(time),
            from: TimeFrom::Limit(path),
        })
    }

    /// The limits that the job meets in a partition.
    fn met<'s>(&'s self, partition: &'s Named<Partition>, who: &Who<'_>) -> LimitsMet<'s, Whose> {
        let cluster = self.idle.cluster(Trust::All);
        let of_partition = partition.qos.as_ref().and_then(|qos| self.file.qos(qos));
        let order = order_of(of_partition, who.qos.first().copied());
        let qos = order.iter().filter_map(|qos| {
            let id = cluster.find_qos(&qos.name)?;
            Some((
                Whose::Qos(qos.name.clone()),
                &cluster.qos()[usize::from(id.0)],
            ))
        });
        let own = who.account.as_deref().and_then(|account| {
            let user = who.user?;
            let first = self.file.first_partition(self.request.partition.as_deref());
            let own = cluster.association(&user.name, Some(account), first)?;
            Some((Whose::Own, &own.limits))
        });
        let accounts = who.account.as_deref().into_iter();
        let accounts = accounts.flat_map(|account| self.file.accounts_up_from(account));
        let accounts = accounts.filter_map(|account| {
            let id = cluster.find_account(&account.name)?;
            let limits = &cluster.accounts()[usize::from(id.0)].limits;
            Some((Whose::Account(account.name.clone()), limits))
        });
        LimitsMet {
            qos: qos.collect(),
            own,
            accounts: accounts.collect(),
            amount: Box::new(move |tres| self.counts(Some(partition)).of(tres)),
        }
    }
}
