//! Reservations as the scheduler keeps them: which nodes they close to which jobs, and when.
//!
//! A job without one is given no node that is reserved before it would end. A job of one is given its
//! nodes alone, from its beginning on; it is ended with it, and what still waits for it then is held
//! (`job_test_resv`, `_advance_resv_time` and `job_time_limit` of 22.05).

use crate::expected_ends::UNLIMITED;
use crate::{Action, ClusterRef, Job, State};
use model::{
    JobId, JobState, NodeName, PendingReason, Request, Reservation, ReservationFlag, Seconds,
    Timestamp,
};
use resources::{Denial, Finding, NodeId, NodeSet};
use std::collections::BTreeMap;

/// A reservation with its nodes as the cluster numbers them.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Kept {
    pub(crate) reservation: Reservation,
    pub(crate) nodes: NodeSet,
    /// Of one of cores: its CPUs on each node.
    cpus: Vec<(NodeId, u32)>,
    /// Its running jobs there: each node and its CPUs, until when.
    used: Used,
    /// Tells reservations apart while none is added or removed; 0 is none.
    pub(crate) number: usize,
}

/// All reservations, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Reservations(BTreeMap<String, Kept>);

/// What running jobs of a reservation of cores hold. It follows from what two states are compared by, and is
/// no part of it.
#[derive(Clone, Debug, Default)]
struct Used(Vec<(NodeId, u32, Timestamp)>);

impl PartialEq for Used {
    fn eq(&self, _other: &Used) -> bool {
        true
    }
}

impl Reservations {
    pub(crate) fn new(cluster: &ClusterRef, all: impl IntoIterator<Item = Reservation>) -> Self {
        let mut own = Reservations::default();
        for reservation in all {
            own.set(cluster, reservation);
        }
        own
    }

    pub(crate) fn set(&mut self, cluster: &ClusterRef, reservation: Reservation) {
        let nodes = reservation.nodes.iter();
        let nodes = nodes.filter_map(|name| cluster.node(name)).collect();
        let name = reservation.name.clone();
        let cores = reservation.nodes.iter().zip(&reservation.cores);
        let cpus = cores.filter_map(|(node, cores)| {
            let node = cluster.node(node)?;
            let threads = cluster
                .class(node)
                .sockets
                .map_or(1, |it| it.threads.max(1));
            Some((node, cores.saturating_mul(threads)))
        });
        let cpus = cpus.collect();
        let used = self.0.remove(&name).map(|former| former.used);
        let kept = Kept {
            cpus,
            used: used.unwrap_or_default(),
            reservation,
            nodes,
            number: 0,
        };
        self.0.insert(name, kept);
        self.count();
    }

    pub(crate) fn remove(&mut self, name: &str) {
        self.0.remove(name);
        self.count();
    }

    fn count(&mut self) {
        for (index, kept) in self.0.values_mut().enumerate() {
            kept.number = index + 1;
        }
    }

    /// The nodes of all as another cluster numbers them.
    pub(crate) fn on_cluster(&mut self, cluster: &ClusterRef) {
        let all = std::mem::take(&mut self.0);
        let all = all.into_values().map(|kept| kept.reservation);
        *self = Reservations::new(cluster, all);
    }

    /// How many licences of a name others than its own reservations keep from a job that begins at a moment and
    /// may last for so long.
    pub(crate) fn licences_kept(
        &self,
        own: Option<&str>,
        name: &str,
        from: Timestamp,
        limit: Option<Seconds>,
    ) -> u32 {
        let until = from + limit.unwrap_or(UNLIMITED);
        let is_own = |one: &Reservation| named(own).any(|name| name == one.name);
        let all = self.0.values().map(|kept| &kept.reservation);
        let others = all.filter(|one| !is_own(one) && one.overlaps(from, until));
        others.fold(0, |sum, one| sum.saturating_add(one.licences(name)))
    }

    /// Moves those that float to where they are now.
    pub(crate) fn float(&mut self, now: Timestamp) {
        for kept in self.0.values_mut() {
            kept.reservation.float(now);
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Kept> {
        self.0.get(name)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Kept> {
        self.0.values()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Beginnings and ends.
    pub(crate) fn moments(&self) -> impl Iterator<Item = Timestamp> + '_ {
        self.iter()
            .flat_map(|kept| [kept.reservation.start, kept.reservation.end])
    }

    /// When those go that no job uses.
    fn purges(&self) -> impl Iterator<Item = Timestamp> + '_ {
        self.iter().filter_map(|kept| kept.reservation.purged_at())
    }
}

impl Kept {
    /// The CPUs on each of its nodes that its jobs leave at a moment, where it is one of cores.
    pub(crate) fn left(&self, at: Timestamp) -> impl Iterator<Item = (NodeId, u32)> + '_ {
        self.cpus.iter().map(move |(node, cpus)| {
            let there = self.used.0.iter();
            let there = there.filter(|(own, _, end)| own == node && *end > at);
            let used = there.fold(0, |sum: u32, (_, cpus, _)| sum.saturating_add(*cpus));
            (*node, cpus.saturating_sub(used))
        })
    }
}

/// The reservations of a job or a request, in the order in which they are tried.
pub(crate) fn named(names: Option<&str>) -> impl Iterator<Item = &str> {
    let names = names.unwrap_or_default();
    names.split(',').filter(|name| !name.is_empty())
}

impl State {
    /// All reservations, by name.
    pub fn reservations(&self) -> impl Iterator<Item = &Reservation> {
        self.reservations.iter().map(|kept| &kept.reservation)
    }

    /// A reservation.
    #[must_use]
    pub fn reservation(&self, name: &str) -> Option<&Reservation> {
        self.reservations.get(name).map(|kept| &kept.reservation)
    }

    /// The reservations that have a node at a moment, in the order of their names.
    pub fn reservations_of<'a>(
        &'a self,
        node: &'a NodeName,
        at: Timestamp,
    ) -> impl Iterator<Item = &'a Reservation> {
        self.reservations()
            .filter(move |one| !one.is_of_cores() && one.is_active(at) && one.nodes.contains(node))
    }

    /// Whether a user's job may be in the reservation that it names, in each of several.
    ///
    /// # Errors
    /// There is no such reservation, it is for others, or none ever has enough nodes.
    pub fn may_be_reserved(
        &self,
        request: &Request,
        user: &str,
        group: &str,
    ) -> Result<(), Box<Finding>> {
        let Some(name) = request.rare.reservation.as_deref() else {
            return Ok(());
        };
        if name.contains(',') && named(Some(name)).next().is_some() {
            let mut too_small = None;
            let mut is_somewhere = false;
            for one in named(Some(name)) {
                let mut request = request.clone();
                request.rare.reservation = Some(one.to_owned());
                match self.may_be_reserved(&request, user, group) {
                    Ok(()) => is_somewhere = true,
                    Err(why) if why.denial == Denial::NodeConfig => too_small = Some(why),
                    Err(why) => return Err(why),
                }
            }
            return too_small.filter(|_| !is_somewhere).map_or(Ok(()), Err);
        }
        let asked = format!("--reservation={name}");
        let Some(own) = self.reservation(name) else {
            let names: Vec<&str> = self.reservations().map(|one| one.name.as_str()).collect();
            let there = if names.is_empty() {
                "there are no reservations".to_owned()
            } else {
                format!("reservations {}", names.join(", "))
            };
            let todo = "name one of those, or leave --reservation out: scontrol show reservation";
            let denial = Denial::Reservation;
            return Err(Finding::by_engine(denial, asked, there, todo).into());
        };
        let account = request.account.clone();
        let account = account.or_else(|| {
            let default = self.cluster.default_account(user);
            default.map(str::to_owned)
        });
        if !own.admits(user, group, account.as_deref()) {
            let who = [own.users.text(), own.groups.text(), own.accounts.text()];
            let who: Vec<String> = who.into_iter().flatten().collect();
            let there = format!("{name} is for {}", who.join(", "));
            let todo = "leave --reservation out, or ask for access to it";
            let denial = Denial::ReservationAccess;
            return Err(Finding::by_engine(denial, asked, there, todo).into());
        }
        let is_bound = ![ReservationFlag::Flex, ReservationFlag::AnyNodes]
            .iter()
            .any(|flag| own.is(*flag));
        let least = request.min_nodes.unwrap_or(1) as usize;
        let named = request.rare.nodelist.iter();
        let is_elsewhere = named.clone().any(|node| !own.nodes.contains(node));
        if is_bound && (own.nodes.len() < least || is_elsewhere) {
            let nodes = model::node_list::fold(own.nodes.iter());
            let there = format!("its nodes are {nodes}");
            let asked = format!("{asked} on {least} nodes");
            let todo = "ask for those or fewer";
            return Err(Finding::by_engine(Denial::NodeConfig, asked, there, todo).into());
        }
        Ok(())
    }

    /// Live jobs that are in a reservation, or wait for it.
    pub fn jobs_of_reservation<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Job> + 'a {
        self.live()
            .filter(move |record| named(record.rare.reservation.as_deref()).any(|one| one == name))
    }

    pub(crate) fn reservation_changed(&mut self, name: String, now: Option<Reservation>) {
        match now {
            Some(reservation) => self.reservations.set(&self.cluster, reservation),
            None => self.reservations.remove(&name),
        }
        self.reserved.insert(name);
    }

    /// When a running job's reservation ends it.
    pub(crate) fn reserved_until(&self, record: &Job) -> Option<Timestamp> {
        let own = &self
            .reservations
            .get(record.rare.reservation.as_deref()?)?
            .reservation;
        (!own.is(ReservationFlag::Flex)).then_some(own.end)
    }

    /// When the next reservation begins or ends after the last pass.
    pub(crate) fn next_reservation(&self) -> Option<Timestamp> {
        let moments = self.reservations.moments();
        let moments = moments.chain(self.reservations.purges());
        moments.filter(|at| *at > self.last_pass.0).min()
    }

    /// Ends reservations whose time is over: running jobs of theirs are ended, a repeated one comes
    /// again, any other goes once no job runs in it, and what waits for it is held.
    pub(crate) fn end_reservations(&mut self, now: Timestamp) -> Vec<Action> {
        let over = self.reservations().filter(|one| one.end <= now).cloned();
        let over: Vec<Reservation> = over.collect();
        for mut reservation in over {
            let name = reservation.name.clone();
            if reservation.advance(now) {
                self.reservation_changed(name, Some(reservation));
                continue;
            }
            let of_it = self.jobs_of_reservation(&name);
            let of_it: Vec<(JobId, bool)> = of_it
                .map(|record| (record.id, matches!(record.state, JobState::Running { .. })))
                .collect();
            let is_used = of_it.iter().any(|(_, runs)| *runs);
            if !is_used || reservation.is(ReservationFlag::Flex) {
                let holds = !reservation.is(ReservationFlag::NoHoldJobsAfterEnd);
                for (job, _) in of_it {
                    self.leave_reservation(job, &name, holds, now);
                }
                self.reservation_changed(name, None);
            }
        }
        let of_ended = self.running().filter(|record| {
            let JobState::Running {
                since,
                ending: None,
                ..
            } = &record.state
            else {
                return false;
            };
            let name = record.rare.reservation.as_deref();
            let own = name.and_then(|name| self.reservation(name));
            own.is_some_and(|own| {
                // One that comes again has begun anew since.
                let is_over = own.end <= now || own.next_start().is_some() && *since < own.start;
                is_over && !own.is(ReservationFlag::Flex)
            })
        });
        of_ended.map(|record| Action::Expire(record.id)).collect()
    }

    /// A job is not in a reservation any more, nor waits for it.
    fn leave_reservation(&mut self, id: JobId, name: &str, holds: bool, at: Timestamp) {
        let is_pending = self
            .jobs
            .get(&id)
            .is_some_and(crate::live_job::LiveJob::is_pending);
        if is_pending {
            self.unfile(id);
        }
        let Some(job) = self.jobs.get_mut(&id) else {
            return;
        };
        let all = job.record.rare.reservation.as_deref();
        let others: Vec<&str> = named(all).filter(|one| *one != name).collect();
        let is_in_none = others.is_empty();
        job.record.rare.reservation = Some(others.join(",").into()).filter(|_| !is_in_none);
        let is_held = job.record.priority == 0;
        if is_pending && is_in_none && holds && !is_held {
            job.record.priority = 0;
            job.record.is_no_more_eligible();
            job.record.state = JobState::Pending {
                reason: PendingReason::ReservationDeleted,
            };
        }
        self.touch(id);
        if is_pending {
            self.refile(id, at);
        }
    }

    /// Counts what running jobs hold of reservations of cores.
    pub(crate) fn count_reserved_cores(&mut self, now: Timestamp) {
        if !self
            .reservations
            .iter()
            .any(|kept| kept.reservation.is_of_cores())
        {
            return;
        }
        let mut used: BTreeMap<String, Vec<(NodeId, u32, Timestamp)>> = BTreeMap::new();
        for (end, job) in self.ends(now) {
            let name = job.record.rare.reservation.as_deref();
            if let (Some(name), Some(holding)) = (name, &job.derived.holding) {
                let shares = holding.shares.iter();
                let shares = shares.map(|share| (share.node, share.cpus(), end));
                used.entry(name.to_owned()).or_default().extend(shares);
            }
        }
        for (name, kept) in &mut self.reservations.0 {
            kept.used = Used(used.remove(name).unwrap_or_default());
        }
    }

    /// The reservation in which a job starts, where it names several.
    pub(crate) fn chosen<'a>(
        &self,
        record: &'a Job,
        nodes: impl Iterator<Item = NodeId> + Clone,
    ) -> Option<&'a str> {
        let names = record.rare.reservation.as_deref()?;
        let has_all = |name: &&str| {
            let own = self.reservations.get(name);
            own.is_some_and(|own| nodes.clone().all(|node| own.nodes.contains(node)))
        };
        let first = named(Some(names)).find(has_all);
        first
            .or(named(Some(names)).next())
            .filter(|_| names.contains(','))
    }

    /// A job that starts is in a reservation that drew it, or one of several that it names.
    pub(crate) fn draw(&mut self, id: JobId, name: Box<str>) {
        if let Some(job) = self.jobs.get_mut(&id) {
            job.record.rare.reservation = Some(name);
            self.touch(id);
        }
    }
}
