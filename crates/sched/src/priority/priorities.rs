//! What the priorities of a cluster's jobs come from: its policy, usage and shares.

use super::held_tres::{amount_held, usage_factor_of};
use super::measure::{Circumstances, Measure};
use super::{Decay, Factors, ShareTree, Standing, Usage};
use crate::Job;
use crate::accrual::accrues_since;
use crate::limit_given::limit_in;
use crate::live_job::LiveJob;
use crate::member::{self, Member};
use model::{JobState, Seconds, Timestamp};
use resources::{Association, Cluster, Demand, PartId};
use std::collections::{BTreeMap, BTreeSet};

/// What priorities come from, as of the last time that it was worked out.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Priorities {
    tree: ShareTree,
    standings: Vec<Standing>,
    places: BTreeMap<Member, usize>,
    /// What ended jobs used. Running ones are counted when it is worked out.
    used: BTreeMap<Member, Usage>,
    /// Of these, the ones that changed since they were last written.
    changed: BTreeSet<Member>,
    measure: Option<Measure>,
    /// The moment at which it was worked out.
    at: Option<Timestamp>,
    /// What was used before counts no more.
    reset: Timestamp,
    /// It stays as it is, whatever the time: a plan goes by today's order.
    is_fixed: bool,
}

impl Priorities {
    /// Those of a cluster at which nothing ran yet.
    pub(crate) fn new(used: BTreeMap<Member, Usage>) -> Priorities {
        Priorities {
            used,
            ..Priorities::default()
        }
    }

    /// When a period of `PriorityCalcPeriod` will be over.
    pub(crate) fn next(&self, cluster: &Cluster) -> Option<Timestamp> {
        // Slurm's least is a second.
        let period = Seconds(cluster.priority().calc_period.0.max(1));
        let next = self.at.map_or(Timestamp(i64::MIN), |at| at + period);
        (!self.is_fixed).then_some(next)
    }

    /// What was used before a moment counts no more.
    pub(crate) fn forget_before(&mut self, moment: Timestamp) {
        self.reset = moment;
        for (member, usage) in &mut self.used {
            if usage.forget_before(moment) {
                self.changed.insert(member.clone());
            }
        }
    }

    /// What these used until now counts no more, also of jobs that run.
    pub(crate) fn begin_anew<'a>(
        &mut self,
        cluster: &Cluster,
        is_meant: impl Fn(&Cluster, &Member) -> bool,
        running: impl Iterator<Item = &'a Job>,
        now: Timestamp,
    ) {
        let known = self.used.keys().filter(|member| is_meant(cluster, member));
        let mut begun: BTreeMap<Member, f64> = known.map(|it| (it.clone(), 0.0)).collect();
        for record in running {
            let member = Member::of(cluster, record);
            if is_meant(cluster, &member) {
                *begun.entry(member).or_default() +=
                    used_since_start(cluster, record, self.reset, now);
            }
        }
        for (member, used) in begun {
            self.changed.insert(member.clone());
            self.used.insert(member, Usage::new(-used, now));
        }
    }

    /// It stays as it is from now on.
    pub(crate) fn fix(&mut self) {
        self.is_fixed = true;
    }

    /// Nothing of the cluster that it was worked out for holds any more.
    pub(crate) fn forget(&mut self) {
        self.at = None;
    }

    /// Whether it was worked out, and knows the owner of that job.
    pub(crate) fn knows(&self, cluster: &Cluster, record: &Job) -> bool {
        self.at.is_some() && self.places.contains_key(&Member::of(cluster, record))
    }

    /// Works out anew what everyone is due.
    pub(crate) fn work_out<'a>(
        &mut self,
        cluster: &Cluster,
        live: impl Iterator<Item = &'a Job>,
        now: Timestamp,
    ) {
        let decay = decay(cluster);
        let mut tree = ShareTree::of(cluster);
        let mut usage: BTreeMap<Member, f64> = BTreeMap::new();
        for (member, used) in &self.used {
            *usage.entry(member.now(cluster)).or_default() += used.at(now, decay);
        }
        for record in live {
            let used = usage.entry(Member::of(cluster, record)).or_default();
            *used += used_since_start(cluster, record, self.reset, now);
        }
        usage.values_mut().for_each(|used| *used = used.max(0.0));
        self.places = BTreeMap::new();
        let mut by_place: BTreeMap<usize, f64> = BTreeMap::new();
        for (member, used) in usage {
            let place = tree.member(&member);
            by_place.insert(place, used);
        }
        // Users of the cluster file have a place before their first job.
        for (place, node) in tree.nodes().iter().enumerate() {
            if let Some(member) = node.member() {
                self.places.insert(member, place);
            }
        }
        tree.set_usage(|place| by_place.get(&place).copied().unwrap_or_default());
        self.standings = tree.standings_by(cluster.priority());
        self.tree = tree;
        self.measure = Some(Measure::of(cluster));
        self.at = Some(now);
    }

    /// A run of a job ends: what it used is kept.
    pub(crate) fn settle(&mut self, cluster: &Cluster, record: &Job, now: Timestamp) {
        let used = used_since_start(cluster, record, self.reset, now);
        if used > 0.0 {
            let member = Member::of(cluster, record);
            let all = self.used.entry(member.clone()).or_default();
            all.add(used, now, decay(cluster));
            self.changed.insert(member);
        }
    }

    /// What changed of what ended jobs used, to be written.
    pub(crate) fn take_changed(&mut self) -> Vec<(Member, Usage)> {
        let changed = std::mem::take(&mut self.changed);
        let used = |member: Member| {
            let usage = *self.used.get(&member)?;
            Some((member, usage))
        };
        changed.into_iter().filter_map(used).collect()
    }

    /// Accounts and users, with how they stand.
    pub(crate) fn shares(&self) -> (&ShareTree, &[Standing]) {
        (&self.tree, &self.standings)
    }

    /// What a job's priority in a partition is made of; the factors alone, too, each up to 1.
    pub(crate) fn factors(
        &self,
        cluster: &Cluster,
        LiveJob { record, derived }: &LiveJob,
        partition: PartId,
        demand: &Demand,
    ) -> Option<Factors> {
        let at = self.at?;
        let member = Member::of(cluster, record);
        let place = self.places.get(&member).copied();
        let qos = member::qos_of(cluster, record).map(|qos| &cluster.qos()[usize::from(qos.0)]);
        let limit = limit_in(cluster, derived.limit, partition);
        let seconds = |since: Timestamp| at.since(since) as f64 / 1000.0;
        let circumstances = Circumstances {
            waited: accrues_since(cluster, record).map_or(0.0, seconds),
            since_submission: seconds(record.submitted),
            fair_share: place.and_then(|place| self.standings.get(place)?.fair_share),
            association: association_priority(
                cluster,
                member::association_of(cluster, record),
                member::account_of(cluster, record).as_deref(),
            ),
            qos: qos.map_or(0, |qos| qos.priority),
            limit,
            nice: record.request.nice,
            site: record.request.rare.site_factor,
        };
        self.measure
            .as_ref()?
            .factors(cluster, partition, demand, circumstances)
    }
}

fn decay(cluster: &Cluster) -> Decay {
    Decay::of_half_life(cluster.priority().half_life)
}

/// The user's own, else the account's.
pub(crate) fn association_priority(
    cluster: &Cluster,
    association: Option<&Association>,
    account: Option<&str>,
) -> u32 {
    let own = association.map_or(0, |own| own.priority);
    if own > 0 {
        return own;
    }
    let account = account.and_then(|name| cluster.find_account(name));
    account.map_or(0, |account| {
        cluster.accounts()[usize::from(account.0)].priority
    })
}

/// What a running job used since its start, or since a moment after it, less what was forgotten since;
/// nothing of another.
fn used_since_start(cluster: &Cluster, record: &Job, reset: Timestamp, now: Timestamp) -> f64 {
    let JobState::Running { since, .. } = &record.state else {
        return 0.0;
    };
    let rate = amount_held(cluster, record, "billing");
    let ran = now.since(reset.max(*since)) - record.state.suspended_ms(now);
    let seconds = ran.max(0) as f64 / 1000.0;
    (rate * usage_factor_of(cluster, record) * decay(cluster).sum(seconds)).clamp(0.0, f64::MAX)
}
