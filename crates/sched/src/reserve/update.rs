//! Changing a reservation.

use super::{GroupMembers, know_groups, length_of};
use crate::State;
use model::{
    LengthChange, NamesChange, Reservation, ReservationDenial, ReservationFlag, ReservationRequest,
    ReservedFor, ReservedNodes, Seconds, Timestamp,
};
use resources::NodeSet;

/// A beginning or an end further back than this is refused.
const MOST_DELAY: i64 = 60_000;

impl State {
    pub(super) fn changed_reservation(
        &self,
        asked: &ReservationRequest,
        former: &Reservation,
        members: &GroupMembers,
        now: Timestamp,
    ) -> Result<Reservation, ReservationDenial> {
        let has_nodes = asked.nodes.is_some() || asked.node_counts.is_some();
        if asked.core_counts.is_some() || former.is_of_cores() && has_nodes {
            return Err(ReservationDenial::OfCores);
        }
        let mut next = former.clone();
        self.change_flags(asked, &mut next)?;
        if let Some(delay) = asked.max_start_delay {
            next.max_start_delay = Some(delay).filter(|delay| delay.0 > 0);
        }
        next.purge_after = asked.purge_after.or(next.purge_after);
        match asked.partition.as_deref() {
            Some("") => next.partition = None,
            Some(name) => {
                let partition = self.cluster.find_partition(name);
                partition.ok_or(ReservationDenial::Partition)?;
                next.partition = Some(name.to_owned());
            }
            None => {}
        }
        let changed = |names: &Option<NamesChange>, former: &ReservedFor, is_strict| match names {
            Some(names) => names.of(former, is_strict),
            None => Some(former.clone()),
        };
        self.know_accounts(asked)?;
        next.accounts =
            changed(&asked.accounts, &next.accounts, true).ok_or(ReservationDenial::Account)?;
        match asked.features.as_deref() {
            Some("") => next.features = None,
            Some(_) => return Err(ReservationDenial::NotSupported),
            None => {}
        }
        know_groups(asked, members)?;
        next.groups = changed(&asked.groups, &next.groups, false)
            .filter(|groups| !groups.are_excluded)
            .ok_or(ReservationDenial::Group)?;
        next.users = changed(&asked.users, &next.users, false).ok_or(ReservationDenial::User)?;
        if !next.users.is_empty() && !next.groups.is_empty() {
            return Err(ReservationDenial::UsersAndGroups);
        }
        if next.users.is_empty() && next.groups.is_empty() && next.accounts.is_empty() {
            return Err(ReservationDenial::WithoutUsers);
        }
        change_times(asked, &mut next, now)?;
        if let Some(licences) = &asked.licences {
            next.licences = Some(licences.clone()).filter(|text| !text.is_empty());
            self.has_licences(&next)?;
        }
        self.change_nodes(asked, &mut next)?;
        let nodes = self.nodes_of(&next.nodes);
        self.clashes_with_reservations(&next, &nodes)?;
        self.clashes_with_jobs(&next, &nodes)?;
        if nodes.is_empty() && (next.licences.is_none() || !next.is(ReservationFlag::AnyNodes)) {
            return Err(ReservationDenial::Invalid);
        }
        Ok(next)
    }

    fn change_flags(
        &self,
        asked: &ReservationRequest,
        next: &mut Reservation,
    ) -> Result<(), ReservationDenial> {
        let is_all = asked.nodes == Some(ReservedNodes::All);
        let replaces = [ReservationFlag::Replace, ReservationFlag::ReplaceDown];
        if replaces.iter().any(|flag| asked.sets(*flag)) && next.is(ReservationFlag::SpecNodes) {
            return Err(ReservationDenial::NotSupported);
        }
        if asked.sets(ReservationFlag::PartNodes) {
            if next.partition.is_none() && asked.partition.is_none() {
                return Err(ReservationDenial::Partition);
            }
            if !is_all {
                return Err(ReservationDenial::NodeName);
            }
            if replaces.iter().any(|flag| next.is(*flag)) {
                return Err(ReservationDenial::NotSupported);
            }
        }
        if asked.sets(ReservationFlag::TimeFloat) {
            return Err(ReservationDenial::Time);
        }
        if asked.takes_away(ReservationFlag::PurgeComp) && asked.purge_after.is_none() {
            next.purge_after = Some(Seconds(300));
        }
        for (flag, is_set) in &asked.flags {
            if *is_set {
                next.flags.insert(*flag);
            } else {
                next.flags.remove(flag);
            }
        }
        if asked.skips {
            let length = next.end.since(next.start);
            next.start = next.next_start().ok_or(ReservationDenial::NoSkip)?;
            next.end = Timestamp(next.start.0.saturating_add(length));
        }
        Ok(())
    }

    fn change_nodes(
        &self,
        asked: &ReservationRequest,
        next: &mut Reservation,
    ) -> Result<(), ReservationDenial> {
        let mut nodes = self.nodes_of(&next.nodes);
        let mut count = asked.node_counts.as_ref().map(|counts| counts.iter().sum());
        match &asked.nodes {
            Some(ReservedNodes::To(names)) if names.is_empty() => {
                next.flags.remove(&ReservationFlag::SpecNodes);
                next.flags.remove(&ReservationFlag::AllNodes);
                count = count.filter(|count| *count > 0).or(Some(nodes.len()));
                nodes = NodeSet::default();
            }
            Some(named) => {
                if next.is(ReservationFlag::Replace) || next.is(ReservationFlag::ReplaceDown) {
                    return Err(ReservationDenial::NotSupported);
                }
                nodes = self.named_nodes(named, next)?;
            }
            None => {}
        }
        if let Some(count) = count {
            next.flags.remove(&ReservationFlag::PartNodes);
            next.flags.remove(&ReservationFlag::AllNodes);
            nodes = self.resized(next, nodes, count)?;
        }
        next.nodes = self.names_of(&nodes);
        Ok(())
    }
}

fn change_times(
    asked: &ReservationRequest,
    next: &mut Reservation,
    now: Timestamp,
) -> Result<(), ReservationDenial> {
    if let Some(start) = asked.start {
        if next.start <= now {
            return Err(ReservationDenial::Begun);
        }
        if now.since(start) > MOST_DELAY {
            return Err(ReservationDenial::Time);
        }
        next.start = start;
        if let Some(length) = next.length {
            next.end = start + length;
        }
    }
    if let Some(end) = asked.end {
        if now.since(end) > MOST_DELAY {
            return Err(ReservationDenial::Time);
        }
        next.end = end;
        next.length = None;
    }
    if let Some(change) = asked.length {
        let (Seconds(length), Seconds(by)) = (next.length.unwrap_or_default(), length_of(change));
        let length = match change {
            LengthChange::To(_) => by,
            LengthChange::More(_) => length.saturating_add(by),
            LengthChange::Less(_) => length.saturating_sub(by),
        };
        next.length = Some(Seconds(length));
        next.end = (next.start + Seconds(length)).max(now);
    }
    if next.start >= next.end {
        return Err(ReservationDenial::Time);
    }
    Ok(())
}
