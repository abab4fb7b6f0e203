//! Slurm's multifactor priorities of a trace's jobs: those of the engine, on what a log says.
//!
//! A log tells whose a job was, when it was submitted, what it asked for and its queue. A user is in
//! the account in which the cluster file has them, else in the root account; no job names a QOS.

use super::machine::{Kinds, TraceRequest};
use super::{Rules, Trace};
use crate::member::{Member, account_of_shares};
use crate::priority::{
    Circumstances, Decay, Measure, ShareTree, Standing, Usage, association_priority, period_around,
};
use cluster_file::UsageReset;
use jiff::tz::TimeZone;
use model::{Seconds, Timestamp};
use resources::{Association, Cluster, PartId};
use std::collections::{BTreeMap, HashMap};

/// What priorities come from, as of the last time that it was worked out.
pub(crate) struct Multifactor<'a> {
    trace: &'a Trace,
    cluster: &'a Cluster,
    rules: Rules,
    kinds: &'a Kinds,
    measure: Measure,
    decay: Decay,
    tree: ShareTree,
    standings: Vec<Standing>,
    /// Whose each job is.
    owners: Vec<u32>,
    all_owners: Vec<Owner>,
    /// When running jobs started.
    running: BTreeMap<u32, i64>,
    /// The moment of the last time.
    at: Option<i64>,
    /// What was used before the first moment counts no more; at the second one usage begins anew.
    period: Option<(i64, i64)>,
}

/// A user of the trace, by association.
struct Owner {
    member: Member,
    /// The place in the tree; users that the cluster file does not name have one from their first
    /// job on.
    place: Option<usize>,
    /// `Priority` of the association, and of the QOS that its jobs have.
    association: u32,
    qos: u32,
    /// By what that QOS multiplies usage.
    factor: f64,
    /// What those of its jobs used that ended.
    used: Usage,
}

impl<'a> Multifactor<'a> {
    /// Those of a trace's jobs, before any of them was submitted.
    pub(crate) fn new(
        trace: &'a Trace,
        cluster: &'a Cluster,
        rules: Rules,
        kinds: &'a Kinds,
    ) -> Multifactor<'a> {
        let tree = ShareTree::of(cluster);
        let mut known = HashMap::new();
        let mut all_owners = Vec::new();
        let owners = (0..).zip(&trace.jobs).map(|(slot, job)| {
            let asked = kinds.asked(slot);
            let partition = asked.and_then(|asked| asked.partition);
            let partition = partition.or(cluster.default_partition());
            let partition = partition.map(|id| cluster.partition(id).name.as_str());
            let association = cluster.association(&job.user, None, partition);
            let of = association.and_then(|own| own.partition.as_deref());
            *known.entry((&*job.user, of)).or_insert_with(|| {
                all_owners.push(Owner::of(cluster, &tree, &job.user, association));
                (all_owners.len() - 1) as u32
            })
        });
        Multifactor {
            owners: owners.collect(),
            all_owners,
            measure: Measure::of(cluster),
            decay: Decay::of_half_life(cluster.priority().half_life),
            standings: tree.standings_by(cluster.priority()),
            tree,
            trace,
            cluster,
            rules,
            kinds,
            running: BTreeMap::new(),
            at: None,
            period: None,
        }
    }

    /// Forgets what was used before usage began anew: in the days of the log's own clock.
    fn begin_period(&mut self, now: i64) {
        let reset = self.cluster.priority().usage_reset;
        if reset == UsageReset::None || self.period.is_some_and(|(_, next)| now < next) {
            return;
        }
        let bounds = period_around(reset, Timestamp(now), &TimeZone::UTC);
        self.period = bounds.map(|(last, next)| (last.0, next.0));
        if let Some((last, _)) = bounds {
            for owner in &mut self.all_owners {
                owner.used.forget_before(last);
            }
        }
    }

    /// When priorities are worked out next, where jobs wait.
    pub(crate) fn due(&self) -> i64 {
        // Slurm's least is a second.
        let period = self.cluster.priority().calc_period.0.max(1);
        let period = i64::try_from(period)
            .unwrap_or(i64::MAX)
            .saturating_mul(1000);
        let reset = self.period.map_or(i64::MAX, |(_, next)| next);
        self.at
            .map_or(i64::MIN, |at| at.saturating_add(period).min(reset))
    }

    /// Works out anew what everyone is due.
    pub(crate) fn work_out(&mut self, now: i64) {
        self.begin_period(now);
        let mut usage = vec![0.0; self.tree.nodes().len()];
        for owner in &self.all_owners {
            if let Some(place) = owner.place {
                usage[place] += owner.used.at(Timestamp(now), self.decay);
            }
        }
        for (slot, since) in &self.running {
            let owner = &self.all_owners[self.owners[*slot as usize] as usize];
            if let Some(place) = owner.place {
                usage[place] += self.used(*slot, *since, now);
            }
        }
        self.tree.set_usage(|place| usage[place]);
        self.standings = self.tree.standings_by(self.cluster.priority());
        self.at = Some(now);
    }

    /// The priority of a job that waits, as of the last time.
    pub(crate) fn priority(&self, slot: u32) -> u32 {
        let job = &self.trace.jobs[slot as usize];
        let owner = &self.all_owners[self.owners[slot as usize] as usize];
        let at = Timestamp(self.at.unwrap_or(job.submit.0));
        let waited = at.since(job.submit) as f64 / 1000.0;
        let limit = self.rules.estimates.limit(job);
        let circumstances = Circumstances {
            waited,
            since_submission: waited,
            fair_share: owner
                .place
                .and_then(|place| self.standings.get(place)?.fair_share),
            association: owner.association,
            qos: owner.qos,
            limit: u64::try_from(limit / 1000).ok().map(Seconds),
            nice: 0,
            site: 0,
        };
        let factors = self.asked(slot).and_then(|(asked, partition)| {
            let demand = &asked.compiled.demand;
            self.measure
                .factors(self.cluster, partition, demand, circumstances)
        });
        factors.map_or(1, |factors| factors.priority())
    }

    /// A job comes into the queue. One more user changes the shares of all.
    pub(crate) fn submitted(&mut self, slot: u32) {
        let owner = &mut self.all_owners[self.owners[slot as usize] as usize];
        if owner.place.is_none() {
            owner.place = Some(self.tree.member(&owner.member));
            self.at = None;
        }
    }

    /// A job starts.
    pub(crate) fn started(&mut self, slot: u32, now: i64) {
        self.running.insert(slot, now);
    }

    /// A job ends.
    pub(crate) fn ended(&mut self, slot: u32, now: i64) {
        let Some(since) = self.running.remove(&slot) else {
            return;
        };
        self.begin_period(now);
        let used = self.used(slot, since, now);
        let owner = &mut self.all_owners[self.owners[slot as usize] as usize];
        owner.used.add(used, Timestamp(now), self.decay);
    }

    /// What a running job used since its start, less what was forgotten since.
    fn used(&self, slot: u32, since: i64, now: i64) -> f64 {
        let rate = self.asked(slot).and_then(|(asked, partition)| {
            let demand = &asked.compiled.demand;
            self.measure.rate(self.cluster, partition, demand)
        });
        let owner = &self.all_owners[self.owners[slot as usize] as usize];
        let since = self.period.map_or(since, |(last, _)| since.max(last));
        let seconds = now.saturating_sub(since).max(0) as f64 / 1000.0;
        rate.unwrap_or(0.0) * owner.factor * self.decay.sum(seconds)
    }

    /// What a job asks for, and the partition that measures it: its own, else the default one.
    fn asked(&self, slot: u32) -> Option<(&TraceRequest, PartId)> {
        let asked = self.kinds.asked(slot)?;
        let partition = asked.partition.or(self.cluster.default_partition());
        Some((asked, partition.unwrap_or(PartId(0))))
    }
}

impl Owner {
    fn of(
        cluster: &Cluster,
        tree: &ShareTree,
        user: &str,
        association: Option<&Association>,
    ) -> Owner {
        let account = association.map_or("root", |own| account_of_shares(&own.account));
        let member = Member {
            account: account.to_owned(),
            user: user.to_owned(),
            partition: association.and_then(|own| own.partition.clone()),
        };
        let qos = association.and_then(|own| own.default_qos.as_deref());
        let qos = cluster.find_qos(qos.unwrap_or("normal"));
        let qos = qos.map(|qos| &cluster.qos()[usize::from(qos.0)]);
        Owner {
            place: tree.find_member(&member),
            association: association_priority(cluster, association, Some(account)),
            qos: qos.map_or(0, |qos| qos.priority),
            factor: qos.map_or(1.0, |qos| qos.usage_factor),
            used: Usage::default(),
            member,
        }
    }
}
