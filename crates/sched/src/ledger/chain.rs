//! Whose limits a job meets, and where it counts.

use super::{Spender, licences_of, usage_factor};
use crate::Job;
use crate::fault::{self, Fault};
use crate::member::{self, Member};
use model::{Request, Seconds};
use resources::{
    AccountId, Association, Cluster, Counts, Demand, Limited, Limits, LimitsMet, PartId, QosId,
};
use std::sync::Arc;

/// What is held under one limit.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Counter {
    Qos(QosId),
    QosUser(QosId, u32),
    QosAccount(QosId, String),
    Account(AccountId),
    /// One user in one account, or in one partition there.
    Association(Arc<Member>),
    /// One user in the whole cluster.
    User(u32),
}

/// Whose limits a job meets in a partition.
pub(crate) struct Chain<'a> {
    pub(super) cluster: &'a Cluster,
    /// The partition's and the job's, the first of which counts first.
    qos: Vec<QosId>,
    association: Option<&'a Association>,
    /// The account and those above it.
    accounts: Vec<AccountId>,
    /// Whose jobs it counts with.
    own: Arc<Member>,
    pub(super) uid: u32,
    pub(super) request: &'a Request,
    /// Its reservations.
    pub(crate) reservation: Option<&'a str>,
    /// A second of the job counts so many times of what is used, as its own QOS says (`UsageFactor`).
    usage_factor: f64,
    /// So does its time before it starts (`UsageFactorSafe`).
    counts_ahead: bool,
}

impl<'a> Chain<'a> {
    pub(crate) fn of(
        cluster: &'a Cluster,
        record: &'a Job,
        partition: Option<PartId>,
    ) -> Chain<'a> {
        let association = member::association_of(cluster, record);
        let account = member::account_of(cluster, record).unwrap_or_default();
        let of_job = member::qos_of(cluster, record);
        let of_partition = partition.and_then(|partition| cluster.partition(partition).qos);
        let own_qos = of_job.map(|qos| &cluster.qos()[usize::from(qos.0)]);
        let goes_first = own_qos.is_some_and(|qos| qos.has_flag("OverPartQOS"));
        let counts_ahead = own_qos.is_some_and(|qos| qos.has_flag("UsageFactorSafe"));
        let mut qos: Vec<QosId> = [of_partition, of_job].into_iter().flatten().collect();
        qos.dedup();
        if goes_first {
            qos.reverse();
        }
        let mut accounts: Vec<AccountId> = Vec::new();
        let mut next = cluster.find_account(&account);
        // An account below itself is met once.
        while let Some(id) = next.filter(|id| !accounts.contains(id)) {
            accounts.push(id);
            next = cluster.accounts()[usize::from(id.0)].parent;
            if fault::is(Fault::OneLevelOnly) {
                break;
            }
        }
        let own = Member {
            account,
            user: record.submitter.user.clone(),
            partition: association.and_then(|own| own.partition.clone()),
        };
        Chain {
            cluster,
            qos,
            association,
            accounts,
            own: Arc::new(own),
            uid: record.submitter.uid,
            request: &record.request,
            reservation: record.rare.reservation.as_deref(),
            usage_factor: usage_factor(own_qos),
            counts_ahead,
        }
    }

    /// For how long a job with a limit counts under limits on its time and on what it will use
    /// (`acct_policy_job_runnable_post_select`), in whole minutes.
    pub(crate) fn counted_time(&self, limit: Option<Seconds>) -> Option<Seconds> {
        if !self.counts_ahead {
            return limit;
        }
        let factor = self.usage_factor;
        if factor <= 0.0 {
            return Some(Seconds(0));
        }
        let minutes = cluster_file::times(limit?.0.div_ceil(60), factor);
        Some(Seconds(minutes.saturating_mul(60)))
    }

    /// A second of the job counts so many times of what is used.
    pub(super) fn usage_factor(&self) -> f64 {
        self.usage_factor
    }

    /// Whether limits on minutes keep the job for what others used, or may still use: not where it counts nothing
    /// itself.
    pub(super) fn minds_minutes(&self) -> bool {
        self.usage_factor > 0.0
    }

    /// Where the job counts when it runs.
    pub(crate) fn counters(&self) -> Vec<Counter> {
        let mut counters = vec![Counter::User(self.uid)];
        for qos in &self.qos {
            counters.push(Counter::Qos(*qos));
            counters.push(Counter::QosUser(*qos, self.uid));
            counters.push(Counter::QosAccount(*qos, self.account().to_owned()));
        }
        counters.extend(
            self.accounts
                .iter()
                .map(|account| Counter::Account(*account)),
        );
        counters.push(self.own_counter());
        counters
    }

    /// For whom what the job uses is counted.
    pub(super) fn spenders(&self) -> Vec<Spender> {
        let qos = self.qos.iter();
        let qos = qos.map(|qos| self.cluster.qos()[usize::from(qos.0)].name.clone());
        let accounts = self.accounts.iter();
        let accounts = accounts.map(|account| self.account_name(*account));
        let mut spenders: Vec<Spender> = qos.map(Spender::Qos).collect();
        spenders.extend(accounts.map(Spender::Account));
        spenders.push(self.own_spender());
        spenders
    }

    /// Of the user in the account, then of the accounts upwards: who spends, and under which limits.
    pub(super) fn association_spenders(&self) -> Vec<(Spender, &'a Limits)> {
        let own = self
            .association
            .map(|own| (self.own_spender(), &own.limits));
        let accounts = self.accounts.iter().map(|account| {
            let limits = &self.cluster.accounts()[usize::from(account.0)].limits;
            (Spender::Account(self.account_name(*account)), limits)
        });
        own.into_iter().chain(accounts).collect()
    }

    /// Where what one of its spenders holds is counted.
    pub(super) fn counter_of(&self, spender: &Spender) -> Option<Counter> {
        Some(match spender {
            Spender::Qos(name) => Counter::Qos(self.cluster.find_qos(name)?),
            Spender::Account(name) => Counter::Account(self.cluster.find_account(name)?),
            Spender::Member(_) => self.own_counter(),
        })
    }

    /// How many waiting jobs gain priority by their age where it is counted: the first limit that is set decides,
    /// of the job's QOS, then of the user in the account, then of the accounts upwards (`_get_accrue_limits`).
    pub(crate) fn accrual_limit(&self) -> Option<(Counter, u32)> {
        let of_qos = self.qos_limits().find_map(|(qos, limits)| {
            let group = limits.group.accruing.map(|most| (Counter::Qos(qos), most));
            let account = || {
                let counter = Counter::QosAccount(qos, self.account().to_owned());
                Some((counter, limits.account.accruing?))
            };
            let user = || Some((Counter::QosUser(qos, self.uid), limits.user.accruing?));
            group.or_else(account).or_else(user)
        });
        of_qos.or_else(|| {
            let own = self.own_counter();
            // What an account says of each user holds where the user's own association says nothing, and counts
            // that user's jobs.
            let of_user = || {
                let mut all = self.association_limits();
                let most = all.find_map(|(_, limits)| limits.user.accruing)?;
                Some((own.clone(), most))
            };
            let group = |(counter, limits): (Counter, &Limits)| {
                limits.group.accruing.map(|most| (counter, most))
            };
            let of_group = self.association_limits().find_map(group);
            match of_group {
                Some((counter, most)) if counter == own => Some((counter, most)),
                of_group => of_user().or(of_group),
            }
        })
    }

    /// Below this priority no place is kept for the job, and none waits for it (`acct_policy_get_prio_thresh`).
    pub(crate) fn priority_threshold(&self) -> Option<u32> {
        let of_qos = self.qos_limits().map(|(_, limits)| limits);
        // What an account says holds for users in it.
        let of_accounts = self.association_limits().map(|(_, limits)| limits);
        let mut all = of_qos.chain(of_accounts);
        all.find_map(|limits| limits.priority_threshold.filter(|least| *least > 0))
    }

    /// The limits that may give the job its time in a partition.
    pub(crate) fn met(&self, partition: PartId) -> LimitsMet<'a, ()> {
        let cluster = self.cluster;
        let qos = self.qos.iter();
        let accounts = self.accounts.iter();
        let accounts = accounts.map(|account| &cluster.accounts()[usize::from(account.0)].limits);
        let request = self.request;
        LimitsMet {
            qos: qos
                .map(|qos| ((), &cluster.qos()[usize::from(qos.0)]))
                .collect(),
            own: self.association.map(|own| ((), &own.limits)),
            accounts: accounts.map(|limits| ((), limits)).collect(),
            amount: Box::new(move |tres| {
                let demand = Demand::of(request, cluster.defaults(Some(partition)));
                Counts::new(&demand, request).of(tres)
            }),
        }
    }

    /// How many times as much limits of accounts on TRES are: what the first QOS says that says it (`LimitFactor`).
    pub(super) fn limit_factor(&self) -> Option<f64> {
        let all = self.cluster.qos();
        let mut qos = self.qos.iter();
        qos.find_map(|qos| all[usize::from(qos.0)].limit_factor)
    }

    /// The QOS whose limits count, the first one first.
    pub(crate) fn qos(&self) -> &[QosId] {
        &self.qos
    }

    /// The first QOS that limits what all of its jobs have together.
    pub(crate) fn limited_together(&self) -> Option<QosId> {
        let is_limited = |limits: &Limits| {
            let of_group = [
                Limited::Group,
                Limited::GroupMinutes,
                Limited::GroupRunMinutes,
            ];
            let has = |limited: &Limited| limits.on(*limited).but_for([].into_iter()).next();
            let (jobs, wall) = (limits.group.jobs, limits.group_wall);
            jobs.is_some() || wall.is_some() || of_group.iter().any(|it| has(it).is_some())
        };
        let mut all = self.qos_limits();
        all.find_map(|(qos, limits)| is_limited(limits).then_some(qos))
    }

    /// Where jobs of the user in the account count.
    pub(super) fn own_counter(&self) -> Counter {
        Counter::Association(Arc::clone(&self.own))
    }

    fn own_spender(&self) -> Spender {
        Spender::Member((*self.own).clone())
    }

    /// The account that it counts for; empty is none.
    pub(super) fn account(&self) -> &str {
        &self.own.account
    }

    pub(super) fn account_name(&self, account: AccountId) -> String {
        self.cluster.accounts()[usize::from(account.0)].name.clone()
    }

    pub(super) fn qos_limits(&self) -> impl Iterator<Item = (QosId, &'a Limits)> + Clone {
        let all = self.cluster.qos();
        let qos = self.qos.iter();
        qos.map(move |qos| (*qos, &all[usize::from(qos.0)].limits))
    }

    /// Limits of QOS on TRES of one kind: of each TRES that of the first QOS that limits it.
    pub(super) fn qos_tres(&self, limited: Limited) -> impl Iterator<Item = (QosId, &'a str, u64)> {
        let all = self.qos_limits();
        all.clone()
            .enumerate()
            .flat_map(move |(at, (qos, limits))| {
                let before = all
                    .clone()
                    .take(at)
                    .map(move |(_, limits)| limits.on(limited));
                let own = limits.on(limited).but_for(before);
                own.map(move |(tres, most)| (qos, tres, most))
            })
    }

    /// Whether the job asks for any of a TRES, or for all that its nodes have.
    pub(super) fn asks_for(&self, tres: &str) -> bool {
        let request = self.request;
        let asked = &request.rare.asked;
        match tres.split_once('/') {
            Some(("license", name)) => licences_of(request).iter().any(|own| own.name == name),
            Some(("gres", _)) if request.exclusive => true,
            Some(("gres", name)) => {
                let name = name.split(':').next().unwrap_or(name);
                let counts = [
                    &request.gpus,
                    &request.gpus_per_node,
                    &request.rare.gpus_per_task,
                ];
                let lists = [
                    &asked.per_job,
                    &asked.per_node,
                    &asked.per_socket,
                    &asked.per_task,
                ];
                let is_listed = lists.iter().any(|list| {
                    let items = list.items().unwrap_or_default();
                    items.iter().any(|item| item.name == name)
                });
                is_listed || (name == "gpu" && counts.iter().any(|count| count.is_some()))
            }
            _ => true,
        }
    }

    /// Of the user in the account, then of the accounts upwards.
    pub(super) fn association_limits(&self) -> impl Iterator<Item = (Counter, &'a Limits)> {
        let own = self.own_counter();
        let own = self
            .association
            .map(|association| (own, &association.limits));
        let all = self.cluster.accounts();
        let accounts = self.accounts.iter();
        let accounts = accounts.map(move |account| {
            let limits = &all[usize::from(account.0)].limits;
            (Counter::Account(*account), limits)
        });
        own.into_iter().chain(accounts)
    }
}
