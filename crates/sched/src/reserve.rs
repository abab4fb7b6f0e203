//! Making, changing and removing reservations: what of it is refused, and which nodes they get.

use crate::Job;
use crate::State;
use model::{
    JobState, NodeName, Reservation, ReservationDenial, ReservationFlag, ReservationRequest,
    ReservedNodes, Timestamp,
};
use resources::{NodeId, NodeSet};

/// One that begins further back than this is refused.
const MOST_DELAY: i64 = 600_000;

impl State {
    /// What reservation a request makes, or makes of one that there is. Nothing changes.
    ///
    /// # Errors
    /// Slurm would refuse it.
    pub fn reserve(
        &self,
        asked: &ReservationRequest,
        is_new: bool,
        now: Timestamp,
    ) -> Result<Reservation, ReservationDenial> {
        let known = asked
            .name
            .as_deref()
            .and_then(|name| self.reservation(name));
        let former = match (known, is_new) {
            (Some(_), true) if asked.name.is_some() => None,
            (known, false) => Some(known.ok_or(ReservationDenial::Invalid)?.clone()),
            (_, true) => None,
        };
        let begun = former.as_ref().is_some_and(|one| one.start <= now);
        if begun && asked.start.is_some() {
            return Err(ReservationDenial::Begun);
        }
        let started = asked.start.unwrap_or(now);
        if (is_new || asked.start.is_some()) && now.since(started) > MOST_DELAY {
            return Err(ReservationDenial::Time);
        }
        let mut next = asked.changed(former.as_ref().unwrap_or(&Reservation::default()))?;
        if next.end <= now {
            return Err(ReservationDenial::Time);
        }
        let partition = next.partition.as_deref();
        let partition = partition.map(|name| self.cluster.find_partition(name));
        if partition == Some(None) {
            return Err(ReservationDenial::Partition);
        }
        let accounts = asked.accounts.iter().flat_map(|change| change.names());
        let mut accounts = accounts.filter(|name| !name.is_empty());
        if accounts.any(|name| self.cluster.find_account(name).is_none()) {
            return Err(ReservationDenial::Account);
        }
        self.set_nodes(asked, &mut next)?;
        if known.is_some() && is_new {
            return Err(ReservationDenial::Invalid);
        }
        if next.name.is_empty() {
            next.name = match &asked.name {
                Some(name) => name.clone(),
                None => self.free_name(&next),
            };
        }
        Ok(next)
    }

    /// Whether a reservation can be removed.
    ///
    /// # Errors
    /// There is none of that name, or jobs name it.
    pub fn unreserve(&self, name: &str) -> Result<(), ReservationDenial> {
        self.reservation(name).ok_or(ReservationDenial::Invalid)?;
        match self.jobs_of_reservation(name).next() {
            Some(_) => Err(ReservationDenial::InUse),
            None => Ok(()),
        }
    }

    /// `root_1`: the first user or account, and the first number that is free.
    fn free_name(&self, next: &Reservation) -> String {
        let of = [&next.accounts, &next.users];
        let first = of.iter().find_map(|of| of.names.first());
        let first = first.map_or("resv", String::as_str);
        let mut names = (1..).map(|number| format!("{first}_{number}"));
        names
            .find(|name| self.reservation(name).is_none())
            .unwrap_or_default()
    }

    fn set_nodes(
        &self,
        asked: &ReservationRequest,
        next: &mut Reservation,
    ) -> Result<(), ReservationDenial> {
        let of_names = |names: &[NodeName]| {
            let nodes = names.iter().map(|name| self.cluster.node(name));
            let nodes = nodes.collect::<Option<Vec<NodeId>>>();
            let nodes = nodes.ok_or(ReservationDenial::NodeName)?;
            Ok::<NodeSet, ReservationDenial>(nodes.into_iter().collect())
        };
        let mut nodes = of_names(&next.nodes).unwrap_or_default();
        match &asked.nodes {
            Some(ReservedNodes::All) => {
                let of_partition = next.is(ReservationFlag::PartNodes);
                let partition = next.partition.as_deref().filter(|_| of_partition);
                let partition = partition.and_then(|name| self.cluster.find_partition(name));
                nodes = match partition {
                    Some(partition) => self.cluster.partition(partition).nodes.clone(),
                    None => NodeSet::first(self.cluster.node_count()),
                };
                next.flags.insert(ReservationFlag::SpecNodes);
                if partition.is_none() {
                    next.flags.insert(ReservationFlag::AllNodes);
                }
            }
            Some(ReservedNodes::To(names)) => {
                nodes = of_names(names)?;
                next.flags.insert(ReservationFlag::SpecNodes);
                next.flags.remove(&ReservationFlag::AllNodes);
            }
            None => {}
        }
        if let Some(count) = asked.node_count {
            nodes = self.choose_nodes(next, &nodes, count)?;
        }
        if nodes.is_empty() {
            return Err(ReservationDenial::NodeName);
        }
        self.can_be_reserved(next, &nodes)?;
        let names = nodes
            .iter()
            .map(|node| self.cluster.node_name(node).clone());
        next.nodes = names.collect();
        Ok(())
    }

    /// Whether nodes are free of other reservations and of jobs in a reservation's time.
    fn can_be_reserved(
        &self,
        next: &Reservation,
        nodes: &NodeSet,
    ) -> Result<(), ReservationDenial> {
        let overlaps = |set: &NodeSet| nodes.iter().any(|node| set.contains(node));
        if overlaps(&self.reserved_at(next)) {
            return Err(ReservationDenial::Overlap);
        }
        if !next.is(ReservationFlag::IgnoreJobs) && overlaps(&self.busy_at(next)) {
            return Err(ReservationDenial::Busy);
        }
        Ok(())
    }

    /// Nodes that other reservations have in its time, of which it may take none.
    fn reserved_at(&self, next: &Reservation) -> NodeSet {
        let mut taken = NodeSet::default();
        if next.may_overlap() {
            return taken;
        }
        for kept in self.reservations.iter() {
            if kept.reservation.name != next.name && meet(&kept.reservation, next) {
                taken.add(&kept.nodes);
            }
        }
        taken
    }

    /// Nodes on which jobs of others run at its beginning.
    fn busy_at(&self, next: &Reservation) -> NodeSet {
        let of_it =
            |record: &Job| record.request.rare.reservation.as_deref() == Some(next.name.as_str());
        let ends = self.ends(self.last_pass.0).into_iter();
        let there = ends.filter(|(end, job)| *end > next.start && !of_it(&job.record));
        let held = there.filter_map(|(_, job)| match &job.record.state {
            JobState::Running { allocation, .. } => Some(allocation),
            JobState::Pending { .. } | JobState::Ended { .. } => None,
        });
        let shares = held.flat_map(|allocation| &allocation.nodes);
        shares
            .filter_map(|share| self.cluster.node(&share.node))
            .collect::<NodeSet>()
    }

    /// So many nodes for a reservation: those that it has stay, idle ones come first.
    fn choose_nodes(
        &self,
        next: &Reservation,
        own: &NodeSet,
        count: u32,
    ) -> Result<NodeSet, ReservationDenial> {
        let partition = match next.partition.as_deref() {
            Some(name) => self.cluster.find_partition(name),
            None => self.cluster.default_partition(),
        };
        let mut there = match partition {
            Some(partition) => self.cluster.partition(partition).nodes.clone(),
            None => NodeSet::first(self.cluster.node_count()),
        };
        if let Some(features) = &next.features {
            for feature in features.split(['&', ',']) {
                let with = self.cluster.with_feature(feature);
                there.keep(with.ok_or(ReservationDenial::Feature)?);
            }
        }
        if there.len() < count {
            return Err(ReservationDenial::TooMany);
        }
        there.keep(self.held.free.up());
        there.drop_all(&self.reserved_at(next));
        if !next.is(ReservationFlag::IgnoreJobs) {
            there.drop_all(&self.busy_at(next));
        }
        if there.len() < count {
            return Err(ReservationDenial::Busy);
        }
        let is_idle = |node: NodeId| {
            let total = self.cluster.class(node).total.cpus;
            self.held.free.amounts(node).cpus == total
        };
        let mut nodes: Vec<NodeId> = there.iter().collect();
        nodes.sort_by_key(|node| (!own.contains(*node), !is_idle(*node), node.0));
        Ok(nodes.into_iter().take(count as usize).collect())
    }
}

/// Whether two reservations meet, now or within a week of times that come again.
fn meet(one: &Reservation, other: &Reservation) -> bool {
    const WEEK: i64 = 7 * 24 * 3_600_000;
    let until = Timestamp(one.start.max(other.start).0.saturating_add(WEEK));
    let times = |reservation: &Reservation| {
        let mut all = vec![reservation.clone()];
        while let Some(last) = all.last()
            && let Some(next) = last.next_start().filter(|next| *next < until)
        {
            let length = last.end.since(last.start);
            let mut later = last.clone();
            later.start = next;
            later.end = Timestamp(next.0.saturating_add(length));
            all.push(later);
        }
        all
    };
    let others = times(other);
    times(one).iter().any(|own| {
        others
            .iter()
            .any(|other| own.overlaps(other.start, other.end))
    })
}
