//! What jobs used so far, as limits on that count it (`GrpTRESMins`, `GrpWall`): resources times
//! seconds, times the `UsageFactor` of the job's QOS, forgotten by halves as all usage is.

use super::{Chain, Ledger, Used, Wanted, over, usage_factor};
use crate::expected_ends::UNLIMITED;
use crate::live_job::LiveJob;
use crate::member::{self, Member};
use crate::priority::{Decay, Usage, accounts_over, is_within};
use crate::{ClusterRef, Job, State};
use model::{JobId, JobState, PendingReason, Seconds, Timestamp};
use resources::{Cluster, Limited, Limits, QosId, limit_reason};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The name under which the time itself is counted, beside TRES.
const WALL: &str = "wall";

/// For whom it is counted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Spender {
    /// The jobs of a QOS.
    Qos(String),
    /// The jobs of an account and those below it.
    Account(String),
    /// A user's jobs in an account.
    Member(Member),
}

/// What is counted: of whom, and of which TRES (or `wall`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Spending {
    /// Of whom.
    pub spender: Spender,
    /// The TRES as Slurm writes it, or `wall`.
    pub tres: String,
}

/// What ended jobs used. Running ones are counted when it is asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Spent {
    of_ended: BTreeMap<Spending, Usage>,
    /// Of these, the ones that changed since they were last written.
    changed: BTreeSet<Spending>,
    /// What was used before counts no more.
    reset: Timestamp,
}

impl Spent {
    pub(crate) fn new(of_ended: BTreeMap<Spending, Usage>) -> Spent {
        Spent {
            of_ended,
            ..Spent::default()
        }
    }

    /// What was used before a moment counts no more.
    pub(crate) fn forget_before(&mut self, moment: Timestamp) {
        self.reset = moment;
        for (spending, usage) in &mut self.of_ended {
            if usage.forget_before(moment) {
                self.changed.insert(spending.clone());
            }
        }
    }

    /// What changed of what ended jobs used, to be written.
    pub(crate) fn take_changed(&mut self) -> Vec<(Spending, Usage)> {
        let changed = std::mem::take(&mut self.changed).into_iter();
        let used = |spending: Spending| {
            let usage = *self.of_ended.get(&spending)?;
            Some((spending, usage))
        };
        changed.filter_map(used).collect()
    }

    fn of_ended(
        &self,
        cluster: &Cluster,
        spending: &Spending,
        now: Timestamp,
        decay: Decay,
    ) -> f64 {
        let ended = |spending: &Spending| {
            let ended = self.of_ended.get(spending);
            ended.map_or(0.0, |usage| usage.at(now, decay))
        };
        let of_all = match &spending.spender {
            Spender::Member(own) if own.partition.is_some() => {
                let of_all = Member {
                    partition: None,
                    ..own.clone()
                };
                (of_all.now(cluster) == *own).then_some(of_all)
            }
            Spender::Member(_) | Spender::Qos(_) | Spender::Account(_) => None,
        };
        let of_all = of_all.map_or(0.0, |of_all| {
            ended(&Spending {
                spender: Spender::Member(of_all),
                tres: spending.tres.clone(),
            })
        });
        ended(spending) + of_all
    }
}

/// What a running job uses a second of a TRES, or of time.
fn rate(cluster: &Cluster, used: &Used, tres: &str) -> f64 {
    if tres == WALL {
        return 1.0;
    }
    let place = cluster.limited_tres().iter().position(|own| own == tres);
    place.map_or(0.0, |place| used.get(place) as f64)
}

/// What a running job used until now for each a second, less what was forgotten meanwhile.
fn seconds_used(
    cluster: &Cluster,
    record: &Job,
    (reset, now): (Timestamp, Timestamp),
    decay: Decay,
) -> f64 {
    let JobState::Running { since, .. } = &record.state else {
        return 0.0;
    };
    let qos = member::qos_of(cluster, record);
    let factor = usage_factor(qos.map(|qos| &cluster.qos()[usize::from(qos.0)]));
    let ran = now.since(reset.max(*since)) - record.state.suspended_ms(now);
    factor * decay.sum(ran.max(0) as f64 / 1000.0)
}

fn used(cluster: &ClusterRef, job: &LiveJob) -> Used {
    let partition = job.record.partitions();
    let partition = partition.and_then(|name| cluster.find_partition(name));
    let partition = partition.map(|partition| cluster.partition(partition));
    let shares = job.counted_shares(cluster).unwrap_or_default();
    Used::of(cluster, partition, &job.record.request, &shares)
}

/// How usage of one is forgotten: a QOS may say `NoDecay`.
fn decay_of(cluster: &Cluster, spender: &Spender) -> Decay {
    let keeps = match spender {
        Spender::Qos(name) => cluster
            .find_qos(name)
            .is_some_and(|qos| cluster.qos()[usize::from(qos.0)].has_flag("NoDecay")),
        Spender::Account(_) | Spender::Member(_) => false,
    };
    Decay::of_half_life(if keeps {
        Seconds(0)
    } else {
        cluster.priority().half_life
    })
}

impl State {
    /// A run of a job ends: what it used is kept, where a limit counts it.
    pub(crate) fn settle_spent(&mut self, id: JobId, now: Timestamp) {
        self.keep_spent(id, true, now);
    }

    /// Keeps what a running job used of what it holds; `with_time`: and how long it ran.
    pub(crate) fn keep_spent(&mut self, id: JobId, with_time: bool, now: Timestamp) {
        let Some(job) = self.jobs.get(&id) else {
            return;
        };
        if !has_budgets(&self.cluster) {
            return;
        }
        let (cluster, record) = (&self.cluster, &job.record);
        let partition = record.partitions();
        let partition = partition.and_then(|name| cluster.find_partition(name));
        let spenders = Chain::of(cluster, record, partition).spenders();
        let used = used(cluster, job);
        let time = (with_time && cluster.has_budgeted_time()).then_some(WALL);
        // A job's licences and its time are its own, whatever it loses of its nodes.
        let names = cluster.budgeted_tres().iter().map(String::as_str);
        let names = names.filter(|tres| with_time || !tres.starts_with("license/"));
        for tres in names.chain(time) {
            for spender in &spenders {
                let decay = decay_of(cluster, spender);
                let seconds = seconds_used(cluster, record, (self.spent.reset, now), decay);
                let amount = rate(cluster, &used, tres) * seconds;
                if amount > 0.0 {
                    let spending = Spending {
                        spender: spender.clone(),
                        tres: tres.to_owned(),
                    };
                    let all = self.spent.of_ended.entry(spending.clone()).or_default();
                    all.add(amount, now, decay);
                    self.spent.changed.insert(spending);
                }
            }
        }
    }

    /// What was used so far, times seconds.
    fn spent_by(&self, spender: Spender, tres: &str, now: Timestamp) -> f64 {
        let cluster = &self.cluster;
        let decay = decay_of(cluster, &spender);
        let of_running = |job: &LiveJob| {
            let partition = job.record.partitions();
            let partition = partition.and_then(|name| cluster.find_partition(name));
            let counts = Chain::of(cluster, &job.record, partition).spenders();
            if !counts.contains(&spender) {
                return 0.0;
            }
            let seconds = seconds_used(cluster, &job.record, (self.spent.reset, now), decay);
            rate(cluster, &used(cluster, job), tres) * seconds
        };
        // What no limit counts is not kept at a job's end either.
        let running = self.running.iter().filter(|_| is_budgeted(cluster, tres));
        let running = running.filter_map(|id| self.jobs.get(id));
        let of_running: f64 = running.map(of_running).sum();
        let spending = Spending {
            spender,
            tres: tres.to_owned(),
        };
        (of_running + self.spent.of_ended(cluster, &spending, now, decay)).max(0.0)
    }

    /// What one used until now counts no more, for the accounts over it and all below it either.
    pub(crate) fn spent_begins_anew(&mut self, of: &Spender, now: Timestamp) {
        let cluster = &self.cluster;
        let over: Vec<&str> = match of {
            Spender::Qos(_) => Vec::new(),
            Spender::Account(account) => accounts_over(cluster, account).collect(),
            Spender::Member(Member { account, .. }) => std::iter::once(&**account)
                .chain(accounts_over(cluster, account))
                .collect(),
        };
        let is_below = |other: &Spender| match (of, other) {
            (
                Spender::Account(own),
                Spender::Account(account) | Spender::Member(Member { account, .. }),
            ) => is_within(cluster, account, own),
            _ => other == of,
        };
        let running = self.running.iter().filter_map(|id| self.jobs.get(id));
        let of_running = running.flat_map(|job| {
            let partition = job.record.partitions();
            let partition = partition.and_then(|name| cluster.find_partition(name));
            Chain::of(cluster, &job.record, partition).spenders()
        });
        let of_ended = self.spent.of_ended.keys().map(|it| match &it.spender {
            Spender::Member(member) => Spender::Member(member.now(cluster)),
            other => other.clone(),
        });
        let all: BTreeSet<Spender> = of_running
            .chain(of_ended)
            .filter(|it| is_below(it))
            .collect();
        // A limit that counts what was used may have been removed, and may come back.
        let kept = self.spent.of_ended.keys().map(|it| it.tres.as_str());
        let names = cluster.budgeted_tres().iter().map(String::as_str);
        let names: BTreeSet<&str> = names.chain([WALL]).chain(kept).collect();
        let mut less: Vec<(Spending, f64)> = Vec::new();
        for tres in names {
            let spending = |spender: Spender| Spending {
                spender,
                tres: tres.to_owned(),
            };
            let own = self.spent_by(of.clone(), tres, now);
            let over = over.iter().map(|name| Spender::Account((*name).to_owned()));
            less.extend(over.map(|account| (spending(account), own)));
            let below = all.iter().cloned();
            less.extend(below.map(|it| (spending(it.clone()), self.spent_by(it, tres, now))));
        }
        for (spending, amount) in less.into_iter().filter(|(_, amount)| *amount > 0.0) {
            let decay = decay_of(&self.cluster, &spending.spender);
            let all = self.spent.of_ended.entry(spending.clone()).or_default();
            all.add(-amount, now, decay);
            self.spent.changed.insert(spending);
        }
    }

    /// Whether a limit on what was used so far keeps a job from starting.
    pub(crate) fn may_spend(&self, chain: &Chain<'_>, now: Timestamp) -> Result<(), PendingReason> {
        if !has_budgets(&self.cluster) {
            return Ok(());
        }
        first_spent(chain, &|spender, tres, most| {
            let counts = tres == WALL || chain.minds_minutes();
            counts && chain.asks_for(tres) && self.spent_by(spender.clone(), tres, now) >= most
        })
    }

    /// Whether what is left to be used, beside what running jobs still may, is enough for a job until its
    /// end, where that is asked (`safe`).
    pub(crate) fn may_use(
        &self,
        ledger: &Ledger,
        chain: &Chain<'_>,
        wanted: Wanted<'_>,
    ) -> Result<(), PendingReason> {
        let cluster = &self.cluster;
        if !cluster.is_safe() || !has_budgets(cluster) {
            return Ok(());
        }
        first_spent(chain, &|spender, tres, most| {
            let place = cluster.limited_tres().iter().position(|own| own == tres);
            let to_use = if let Some(place) = place {
                if wanted.used.get(place) == 0 {
                    return false;
                }
                if !chain.minds_minutes() {
                    return wanted.to_use(place) as f64 > most;
                }
                let counter = chain.counter_of(spender);
                let others = counter.map(|it| ledger.still_to_use(&it, place, wanted.now));
                others.unwrap_or(0) + wanted.to_use(place)
            } else {
                wanted.limit.unwrap_or(UNLIMITED).0.into()
            };
            self.spent_by(spender.clone(), tres, wanted.now) + to_use as f64 > most
        })
    }

    /// Running jobs whose QOS or account has used what it may, or that used what one job may.
    pub(super) fn overdrawn(&self, now: Timestamp) -> Vec<JobId> {
        let cluster = &self.cluster;
        let names = cluster.budgeted_tres().iter().map(String::as_str);
        let names: Vec<&str> = names.chain(Some(WALL)).collect();
        let running = self.running.iter().filter_map(|id| self.jobs.get(id));
        let running: Vec<(&LiveJob, Chain<'_>)> = running
            .map(|job| {
                let partition = job.record.partitions();
                let partition = partition.and_then(|name| cluster.find_partition(name));
                (job, Chain::of(cluster, &job.record, partition))
            })
            .collect();
        // What each has used by all that run, in one go.
        let mut spent: HashMap<(Spender, &str), f64> = HashMap::new();
        for (job, chain) in &running {
            let used = used(cluster, job);
            for spender in chain.spenders() {
                let decay = decay_of(cluster, &spender);
                let seconds = seconds_used(cluster, &job.record, (self.spent.reset, now), decay);
                for tres in &names {
                    let all = spent.entry((spender.clone(), *tres)).or_insert_with(|| {
                        let spending = Spending {
                            spender: spender.clone(),
                            tres: (*tres).to_owned(),
                        };
                        self.spent.of_ended(cluster, &spending, now, decay)
                    });
                    *all += rate(cluster, &used, tres) * seconds;
                }
            }
        }
        let over = running.into_iter().filter(|(job, chain)| {
            let goes_on = matches!(job.record.state, JobState::Running { ending: None, .. });
            let own = used(cluster, job);
            let is_spent = |spender: &Spender, tres: &str, most: f64| {
                let tres = names.iter().find(|name| **name == tres);
                let spent = tres.and_then(|tres| spent.get(&(spender.clone(), *tres)));
                let is_used = tres.is_some_and(|tres| rate(cluster, &own, tres) > 0.0);
                is_used && spent.is_some_and(|spent| *spent >= most)
            };
            goes_on
                && (first_spent(chain, &is_spent).is_err()
                    || has_used_its_own(cluster, job, chain, now))
        });
        over.map(|(job, _)| job.record.id).collect()
    }
}

/// Whether limits say how much may be used.
pub(super) fn has_budgets(cluster: &Cluster) -> bool {
    !cluster.budgeted_tres().is_empty() || cluster.has_budgeted_time()
}

/// Whether a limit says how much of a TRES, or of time, may be used.
fn is_budgeted(cluster: &Cluster, tres: &str) -> bool {
    if tres == WALL {
        return cluster.has_budgeted_time();
    }
    cluster.budgeted_tres().iter().any(|own| own == tres)
}

/// Whether a job used what its QOS gives to one job (`MaxTRESMinsPerJob`): in whole minutes, as Slurm
/// counts them.
fn has_used_its_own(
    cluster: &ClusterRef,
    job: &LiveJob,
    chain: &Chain<'_>,
    now: Timestamp,
) -> bool {
    let JobState::Running { since, .. } = &job.record.state else {
        return false;
    };
    let minutes = (now.since(*since) - job.record.state.suspended_ms(now)).max(0) / 60_000;
    let used = used(cluster, job);
    let own = chain.qos_tres(Limited::JobMinutes);
    let mut own = own.filter(|(_, tres, _)| rate(cluster, &used, tres) > 0.0);
    own.any(|(_, tres, most)| rate(cluster, &used, tres) * minutes as f64 >= most as f64)
}

/// The first limit on what was used so far that is used up, in Slurm's order. `is_spent` answers for whom,
/// which TRES, and how much times seconds.
fn first_spent(
    chain: &Chain<'_>,
    is_spent: &dyn Fn(&Spender, &str, f64) -> bool,
) -> Result<(), PendingReason> {
    let time_is_spent = |spender: &Spender, limits: &Limits| {
        let most = limits.group_wall;
        most.is_some_and(|most| is_spent(spender, WALL, most.0 as f64))
    };
    let minutes_are_spent =
        |spender: &Spender, tres: &str, most: u64| is_spent(spender, tres, most as f64 * 60.0);
    let name = |qos: QosId| {
        let qos = &chain.cluster.qos()[usize::from(qos.0)];
        Spender::Qos(qos.name.clone())
    };
    let mut qos = chain.qos_limits();
    let by_time = qos.find(|(_, limits)| limits.group_wall.is_some());
    if let Some((qos, limits)) = by_time
        && time_is_spent(&name(qos), limits)
    {
        return over("QOSGrpWallLimit");
    }
    for (qos, tres, most) in chain.qos_tres(Limited::GroupMinutes) {
        if minutes_are_spent(&name(qos), tres, most) {
            return over(limit_reason(true, Limited::GroupMinutes, tres));
        }
    }
    for (spender, limits) in chain.association_spenders() {
        if by_time.is_none() && time_is_spent(&spender, limits) {
            return over("AssocGrpWallLimit");
        }
        let qos = chain.qos_limits();
        let by_qos = qos.map(|(_, limits)| limits.on(Limited::GroupMinutes));
        for (tres, most) in limits.group_minutes.but_for(by_qos) {
            if minutes_are_spent(&spender, tres, most) {
                return over(limit_reason(false, Limited::GroupMinutes, tres));
            }
        }
    }
    Ok(())
}
