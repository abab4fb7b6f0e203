//! Making, changing and removing reservations: what of it is refused (`create_resv`, `update_resv` of
//! 22.05). Which nodes they get is in [`choose`], with what they may not meet in [`clash`].

mod choose;
mod clash;
mod cores;
mod lending;
#[cfg(test)]
mod tests;
mod update;
mod upkeep;

use crate::State;
pub(crate) use lending::ends_within;
use model::{
    LengthChange, NamesChange, NodeName, Reservation, ReservationDenial, ReservationFlag,
    ReservationRequest, ReservedFor, ReservedNodes, Seconds, Timestamp,
};
use resources::{NodeId, NodeSet};
use std::collections::BTreeMap;

/// One that begins further back than this is refused.
const MOST_DELAY: i64 = 600_000;

/// One without length ends when Slurm's clock of 32 bits does.
const LAST: Timestamp = Timestamp(u32::MAX as i64 * 1000);

/// The members of groups that there are, as the system knows them.
pub type GroupMembers = BTreeMap<String, Vec<String>>;

impl State {
    /// What reservation a request makes, or makes of one that there is. Nothing changes.
    ///
    /// # Errors
    /// Slurm would refuse it.
    pub fn reserve(
        &self,
        asked: &ReservationRequest,
        is_new: bool,
        members: &GroupMembers,
        now: Timestamp,
    ) -> Result<Reservation, ReservationDenial> {
        let mut next = if is_new {
            self.new_reservation(asked, members, now)?
        } else {
            let name = asked.name.as_deref().unwrap_or_default();
            let former = self.reservation(name).ok_or(ReservationDenial::Invalid)?;
            self.changed_reservation(asked, former, members, now)?
        };
        let groups = next
            .groups
            .names
            .iter()
            .filter_map(|name| members.get(name));
        next.members = groups.flatten().cloned().collect();
        Ok(next)
    }

    /// The groups of which a request of a reservation needs to know the members.
    #[must_use]
    pub fn groups_of(&self, asked: &ReservationRequest) -> Vec<String> {
        let former = asked
            .name
            .as_deref()
            .and_then(|name| self.reservation(name));
        let own = former
            .iter()
            .flat_map(|one| one.groups.names.iter().cloned());
        let asked = asked.groups.iter().flat_map(NamesChange::names);
        own.chain(asked.map(str::to_owned)).collect()
    }

    /// Whether a reservation can be removed.
    ///
    /// # Errors
    /// There is none of that name, or jobs name it that are not over.
    pub fn unreserve(&self, name: &str) -> Result<(), ReservationDenial> {
        self.reservation(name).ok_or(ReservationDenial::Invalid)?;
        let mut jobs = self.jobs_of_reservation(name);
        if jobs.any(|job| !job.state.is_finished()) {
            return Err(ReservationDenial::InUse);
        }
        Ok(())
    }

    fn new_reservation(
        &self,
        asked: &ReservationRequest,
        members: &GroupMembers,
        now: Timestamp,
    ) -> Result<Reservation, ReservationDenial> {
        let mut next = Reservation {
            flags: asked
                .flags
                .iter()
                .filter(|(_, is_set)| *is_set)
                .map(|(flag, _)| *flag)
                .collect(),
            purge_after: asked.purge_after.or(Some(Seconds(300))),
            max_start_delay: asked.max_start_delay.filter(|delay| delay.0 > 0),
            features: asked.features.clone(),
            partition: asked.partition.clone(),
            ..Reservation::default()
        };
        next.start = asked.start.unwrap_or(now);
        next.end = match (asked.end, asked.length.map(length_of)) {
            (Some(end), _) => end,
            (None, Some(Seconds(0)) | None) => LAST,
            (None, Some(length)) => next.start + length,
        };
        next.length = asked.length.map(length_of).filter(|_| asked.end.is_none());
        if now.since(next.start) > MOST_DELAY || now.since(next.end) > MOST_DELAY {
            return Err(ReservationDenial::Time);
        }
        if next.is(ReservationFlag::Replace) || next.is(ReservationFlag::ReplaceDown) {
            if asked.nodes.is_some() {
                return Err(ReservationDenial::NodeName);
            }
            if asked.core_counts.is_some() {
                return Err(ReservationDenial::CpuCount);
            }
        }
        if let Some(name) = &next.partition {
            let partition = self.cluster.find_partition(name);
            partition.ok_or(ReservationDenial::Partition)?;
        }
        let first = |names: &Option<NamesChange>, denial| match names {
            Some(names) => names.first().ok_or(denial),
            None => Ok(ReservedFor::default()),
        };
        next.accounts = first(&asked.accounts, ReservationDenial::Account)?;
        self.know_accounts(asked)?;
        next.users = first(&asked.users, ReservationDenial::User)?;
        next.groups = first(&asked.groups, ReservationDenial::Group)?;
        if next.groups.are_excluded {
            return Err(ReservationDenial::Group);
        }
        know_groups(asked, members)?;
        let floats = next.is(ReservationFlag::TimeFloat);
        let until = u64::try_from(next.start.since(now).max(0)).unwrap_or(0);
        next.floats_by = floats.then_some(Seconds(until / 1000));
        let repeats = next.flags.iter().any(|flag| flag.repeats());
        if next.is(ReservationFlag::TimeFloat) && repeats {
            return Err(ReservationDenial::NotSupported);
        }
        next.licences = asked.licences.clone().filter(|text| !text.is_empty());
        self.has_licences(&next)?;
        self.first_nodes(asked, &mut next)?;
        let name = asked.name.as_deref().filter(|name| !name.is_empty());
        if name.is_some_and(|name| self.reservation(name).is_some()) {
            return Err(ReservationDenial::Duplicate);
        }
        let numbers = self.reservations().map(|one| one.number);
        next.number = numbers.max().unwrap_or(0) + 1;
        next.name = match name {
            Some(name) => name.to_owned(),
            None => self.free_name(&mut next),
        };
        Ok(next)
    }

    /// Where jobs need no account that there is, neither does a reservation.
    ///
    /// # Errors
    /// An account is named that there is not.
    fn know_accounts(&self, asked: &ReservationRequest) -> Result<(), ReservationDenial> {
        let is_known = |name: &str| {
            name.eq_ignore_ascii_case("root") || self.cluster.find_account(name).is_some()
        };
        let mut names = asked.accounts.iter().flat_map(NamesChange::names);
        if self.cluster.needs_accounts() && names.any(|name| !is_known(name)) {
            return Err(ReservationDenial::Account);
        }
        Ok(())
    }

    /// `root_1`: the first account, user or group, and its number, or the next one that is free.
    fn free_name(&self, next: &mut Reservation) -> String {
        let of = [&next.accounts, &next.users, &next.groups];
        let first = of.iter().find_map(|of| of.names.first());
        let first = first.map_or("resv", String::as_str);
        let mut numbers = next.number..;
        let name = |number: &u32| format!("{first}_{number}");
        let free = numbers.find(|number| self.reservation(&name(number)).is_none());
        let free = free.unwrap_or(next.number);
        let name = name(&free);
        next.number = free;
        name
    }

    /// The nodes of one that is made.
    fn first_nodes(
        &self,
        asked: &ReservationRequest,
        next: &mut Reservation,
    ) -> Result<(), ReservationDenial> {
        let cores = asked.core_counts.as_ref();
        let cores = cores.filter(|cores| !cores.is_empty());
        let Some(named) = &asked.nodes else {
            next.flags.remove(&ReservationFlag::PartNodes);
            let counts = asked.node_counts.as_deref().unwrap_or_default();
            if next.is(ReservationFlag::AnyNodes) {
                return match next.licences {
                    Some(_) => Ok(()),
                    None => Err(ReservationDenial::Invalid),
                };
            }
            if counts.is_empty() && asked.core_counts.is_none() {
                return Err(ReservationDenial::NodeName);
            }
            let nodes = match cores {
                Some(cores) => self.nodes_with_cores(next, counts, cores)?,
                None => self.choose_nodes(next, counts, None)?,
            };
            next.partition = next.partition.take().or_else(|| self.default_partition());
            next.nodes = self.names_of(&nodes);
            return Ok(());
        };
        let nodes = self.named_nodes(named, next)?;
        if nodes.is_empty() {
            return Err(ReservationDenial::NodeName);
        }
        self.clashes_with_reservations(next, &nodes)?;
        if let Some(cores) = cores {
            next.partition = next.partition.take().or_else(|| self.default_partition());
            let nodes: Vec<NodeId> = nodes.iter().collect();
            return self.share_cores(next, &nodes, cores);
        }
        if asked.core_counts.is_none() {
            self.clashes_with_jobs(next, &nodes)?;
        }
        next.nodes = self.names_of(&nodes);
        Ok(())
    }

    /// The nodes that are named, with the flags that this sets.
    fn named_nodes(
        &self,
        named: &ReservedNodes,
        next: &mut Reservation,
    ) -> Result<NodeSet, ReservationDenial> {
        next.flags.insert(ReservationFlag::SpecNodes);
        match named {
            ReservedNodes::All => {
                let of_partition = next.is(ReservationFlag::PartNodes);
                let partition = next.partition.as_deref().filter(|_| of_partition);
                let partition = partition.and_then(|name| self.cluster.find_partition(name));
                if let Some(partition) = partition {
                    return Ok(self.cluster.partition(partition).nodes.clone());
                }
                next.flags.remove(&ReservationFlag::PartNodes);
                next.flags.insert(ReservationFlag::AllNodes);
                Ok(NodeSet::first(self.cluster.node_count()))
            }
            ReservedNodes::To(names) => {
                next.flags.remove(&ReservationFlag::PartNodes);
                next.flags.remove(&ReservationFlag::AllNodes);
                let nodes = names.iter().map(|name| self.cluster.node(name));
                let nodes = nodes.collect::<Option<Vec<NodeId>>>();
                let nodes = nodes.ok_or(ReservationDenial::NodeName)?;
                Ok(nodes.into_iter().collect())
            }
        }
    }

    fn default_partition(&self) -> Option<String> {
        let default = self.cluster.default_partition()?;
        Some(self.cluster.partition(default).name.clone())
    }

    fn names_of(&self, nodes: &NodeSet) -> Vec<NodeName> {
        let names = nodes.iter().map(|node| self.cluster.node_name(node));
        names.cloned().collect()
    }

    /// Nodes by name; those that are gone are left out.
    fn nodes_of(&self, names: &[NodeName]) -> NodeSet {
        let nodes = names.iter().filter_map(|name| self.cluster.node(name));
        nodes.collect()
    }
}

fn length_of(change: LengthChange) -> Seconds {
    let (LengthChange::To(length) | LengthChange::More(length) | LengthChange::Less(length)) =
        change;
    length
}

/// # Errors
/// A group is named that there is not.
fn know_groups(
    asked: &ReservationRequest,
    members: &GroupMembers,
) -> Result<(), ReservationDenial> {
    let mut names = asked.groups.iter().flat_map(NamesChange::names);
    if names.any(|name| !members.contains_key(name)) {
        return Err(ReservationDenial::Group);
    }
    Ok(())
}
