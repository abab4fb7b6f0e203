//! What holds in random histories of what is held, of who loses a place, of components and of reservations.

use super::super::properties::rows;
use super::scene::LAYERS;
use crate::preempt::rules;
use crate::{Job, State};
use cluster_file::PreemptMode;
use model::{
    Ending, GresItem, GresList, JobId, JobState, NodeName, NodeShare, Reservation, ReservationFlag,
    Seconds, Timestamp,
};
use resources::{Amounts, Free, NodeId, Share, Sharing};
use std::collections::BTreeMap;

/// Who lost its place could lose it: it was no exempt one and no job keeps its place there, and what
/// became of it is its own mode. A job that took places is there, and limits would let it start.
pub(super) fn check_preempted(before: &State, after: &State, now: Timestamp) {
    for record in after.running() {
        let Some(former) = before.job(record.id) else {
            continue;
        };
        let JobState::Running { since, .. } = &former.state else {
            continue;
        };
        let (state, was) = (&record.state, &former.state);
        let ending = |state: &JobState| match state {
            JobState::Running { ending, .. } => ending.clone(),
            _ => None,
        };
        let mode = match (ending(was), ending(state)) {
            (None, Some(Ending::Preempted { requeue: true, .. })) => PreemptMode::Requeue,
            (None, Some(Ending::Preempted { requeue: false, .. })) => PreemptMode::Cancel,
            _ if !was.is_suspended() && state.is_suspended() => PreemptMode::Suspend,
            _ => continue,
        };
        let cluster = after.cluster();
        assert_eq!(after.preempt_mode(record.id), Some(mode), "{record:?}");
        assert!(
            *since + cluster.preemption().exempt_time <= now,
            "{record:?}"
        );
        let holder = rules::holder(cluster, record);
        let takes = |other: &Job| {
            let choices = after.jobs[&other.id].derived.choices.iter();
            let mut claimants =
                choices.map(|choice| rules::claimant(cluster, other, choice.partition));
            let waits = before
                .job(other.id)
                .is_some_and(|it| matches!(it.state, JobState::Pending { .. }));
            waits && claimants.any(|one| rules::takes_from(cluster, one, holder))
        };
        assert!(
            after.live().any(takes),
            "no job may take the place of {record:?}"
        );
    }
}

/// No job has just been started on nodes that are reserved for others before it would end, and none
/// of a reservation elsewhere or at another time.
pub(super) fn check_reservations(state: &State, started: &[JobId], now: Timestamp) {
    for record in started.iter().filter_map(|id| state.job(*id)) {
        let JobState::Running {
            allocation, limit, ..
        } = &record.state
        else {
            continue;
        };
        let until = now + limit.unwrap_or(Seconds(365 * 24 * 3600));
        let own = record.rare.reservation.as_deref();
        let own = own.map(|name| {
            let own = state.reservation(name);
            own.unwrap_or_else(|| panic!("reserved: {record:?} runs in one that is gone"))
        });
        let may_overlap = own.is_some_and(Reservation::may_overlap);
        for share in &allocation.nodes {
            for other in state.reservations() {
                let is_own = own.is_some_and(|own| own.name == other.name);
                let has_it = other.nodes.contains(&share.node) && other.overlaps(now, until);
                if has_it && other.is_of_cores() && !is_own && !may_overlap {
                    check_cores(state, other, &share.node);
                    continue;
                }
                assert!(
                    is_own || may_overlap || !has_it,
                    "reserved: {record:?} is in {other:?}"
                );
            }
            if let Some(own) = own
                && !own.is(ReservationFlag::Flex)
            {
                assert!(
                    own.is_active(now),
                    "reserved: {own:?} has not begun or is over"
                );
                // One that replaces its nodes has others by now.
                let is_free = own.is(ReservationFlag::AnyNodes) || own.is(ReservationFlag::Replace);
                assert!(
                    is_free || own.nodes.contains(&share.node),
                    "reserved: {record:?} is beside {own:?}"
                );
            }
        }
    }
}

/// What jobs of a reservation of cores leave of them on a node is free, or is given back by jobs that end
/// before it begins.
fn check_cores(state: &State, reservation: &Reservation, node: &NodeName) {
    let cores = reservation.nodes.iter().zip(&reservation.cores);
    let mut cores = cores.filter(|(own, _)| *own == node);
    let (_, cores) = cores.next().unwrap();
    let id = state.cluster().node(node).unwrap();
    let threads = state.cluster().class(id).sockets.map_or(1, |it| it.threads);
    let jobs = state.jobs_of_reservation(&reservation.name);
    let holding = jobs.filter_map(|record| state.jobs[&record.id].derived.holding.as_ref());
    let shares = holding
        .flat_map(|held| &held.shares)
        .filter(|share| share.node == id);
    let used: u32 = shares.map(Share::cpus).sum();
    let left = (cores * threads).saturating_sub(used);
    let given_back = state.running().filter(|record| {
        let end = record.state.limit_ends();
        end.is_some_and(|end| end <= reservation.start)
    });
    let given_back =
        given_back.filter_map(|record| state.jobs[&record.id].derived.holding.as_ref());
    let given_back = given_back
        .flat_map(|held| &held.shares)
        .filter(|share| share.node == id);
    let free = state.free().amounts(id).cpus + given_back.map(Share::cpus).sum::<u32>();
    assert!(free >= left, "reserved: {left} of {reservation:?}");
}

/// What jobs hold and what is free is all there is, node by node; none of it twice.
pub(super) fn check_free(state: &State) {
    let cluster = state.cluster();
    let idle = Free::idle(cluster);
    for node in cluster.nodes() {
        let mut sum: Amounts = *state.free().amounts(node);
        let mut gpus = state.free().gpus(node);
        let mut shared: Vec<u32> = Vec::new();
        for record in state.running() {
            let holding = state.jobs[&record.id].derived.holding.iter();
            for held in holding {
                for share in held.shares.iter().filter(|share| share.node == node) {
                    assert_eq!(gpus & share.gpus, 0, "a GPU was given twice");
                    gpus |= share.gpus;
                    let is_shared = matches!(held.sharing, Sharing::Over(_));
                    let own = if is_shared { 0 } else { share.cpus() };
                    sum.give(&share.amounts.with_cpus(own));
                    shared.extend(is_shared.then_some(share.cpus()));
                }
            }
        }
        // Each of them is several jobs', and no job has one twice.
        let all = shared.iter().sum::<u32>();
        let held = all
            .div_ceil(LAYERS)
            .max(shared.iter().max().copied().unwrap_or(0));
        let there = idle.amounts(node).cpus;
        assert!(
            all == 0 || (all <= there * LAYERS && sum.cpus + held == there),
            "shared: {shared:?} of {there} CPUs, {} of others and free",
            sum.cpus
        );
        sum.cpus += held;
        assert_eq!(
            sum,
            *idle.amounts(node),
            "held and free are all of {node:?}"
        );
        assert_eq!(gpus, idle.gpus(node));
    }
}

/// Of each socket those CPUs are free that no job has for itself; none has the CPU of another. A job that was suspended
/// goes on with its own, whoever has them: nothing is said of its nodes.
pub(super) fn check_sockets(state: &State) {
    let cluster = state.cluster();
    let idle = Free::idle(cluster);
    for node in cluster.nodes() {
        let went_on = |(record, _): (&Job, &NodeShare)| {
            let JobState::Running { suspension, .. } = &record.state else {
                return false;
            };
            suspension.is_some()
        };
        if own_cpus(state, node).any(went_on) {
            continue;
        }
        let mut jobs: BTreeMap<u32, JobId> = BTreeMap::new();
        for (record, share) in own_cpus(state, node) {
            for cpu in &share.cpus {
                let other = jobs.insert(*cpu, record.id);
                assert_eq!(other, None, "sockets: CPU {cpu} is of {:?} too", record.id);
            }
        }
        let Some(each) = cluster.class(node).cpus_of_socket() else {
            continue;
        };
        let free = state.free().sockets(node).each();
        let sockets = (0..).zip(free.zip(idle.sockets(node).each()));
        for (socket, (free, there)) in sockets {
            let cpus = socket * each..(socket + 1) * each;
            let held = jobs.range(cpus).count();
            assert_eq!(
                usize::from(free) + held,
                usize::from(there),
                "sockets: free and held of socket {socket} of {node:?}"
            );
        }
    }
}

/// Shares of a node that jobs run on now and whose CPUs they share with no other.
fn own_cpus(state: &State, node: NodeId) -> impl Iterator<Item = (&Job, &NodeShare)> {
    let runs = state.running().filter(|record| {
        let holding = state.jobs[&record.id].derived.holding.as_ref();
        holding.is_some_and(|held| !held.is_suspended && !matches!(held.sharing, Sharing::Over(_)))
    });
    let name = state.cluster().node_name(node);
    let shares = runs.flat_map(|record| {
        let JobState::Running { allocation, .. } = &record.state else {
            return Vec::new();
        };
        allocation
            .nodes
            .iter()
            .map(|share| (record, share))
            .collect()
    });
    shares.filter(move |(_, share)| share.node == *name)
}

/// What just started has as many GPUs as it asks for, of the types that it names.
pub(super) fn check_types(state: &State, started: &[JobId]) {
    for own in rows(state, started) {
        let JobState::Running { allocation, .. } = &own.state else {
            continue;
        };
        let asked = &own.request.rare.asked;
        let options = own.request.rare.node_options.as_deref();
        let sockets = options.and_then(|options| options.sockets_per_node);
        let mut in_all = 0;
        let mut check = |list: &GresList, shares: &[NodeShare], times: u64| {
            for GresItem { kind, count, .. } in list.items().unwrap_or_default() {
                let has: u64 = shares
                    .iter()
                    .map(|share| gpus_of(state, share, kind.as_deref()))
                    .sum();
                let wants = count * times;
                in_all += wants;
                assert!(
                    has >= wants,
                    "types: {:?} has {has} GPUs of {kind:?}, not {wants}",
                    own.id
                );
            }
        };
        check(&asked.per_job, &allocation.nodes, 1);
        for share in allocation.nodes.chunks(1) {
            check(&asked.per_node, share, 1);
            check(&asked.per_socket, share, sockets.unwrap_or(1).into());
            check(&asked.per_task, share, share[0].tasks.into());
        }
        let has: u64 = allocation.gpus() as u64;
        let is_whole = own.request.exclusive || own.partition.as_deref() == Some("whole");
        assert!(
            is_whole || has == in_all,
            "types: {:?} has {has} GPUs in all, not {in_all}",
            own.id
        );
    }
}

/// How many GPUs a share has of a type, or of any.
fn gpus_of(state: &State, share: &NodeShare, kind: Option<&str>) -> u64 {
    let cluster = state.cluster();
    let class = cluster.class(cluster.node(&share.node).unwrap());
    let groups = class.gpus.iter();
    let groups = groups.filter(|group| kind.is_none_or(|kind| group.kind.is_called(kind)));
    let of_kind = groups.fold(0, |all, group| all | group.indices);
    let own = share.gpus.iter().filter(|gpu| of_kind & (1 << **gpu) != 0);
    own.count() as u64
}

/// A component that just started did so with all others, and on nodes of its own.
pub(super) fn check_together(state: &State, started: &Job) {
    let own = started.request.rare.component;
    let others = state.components(started.id).into_iter();
    for other in others.filter(|id| own.is_some() && *id != started.id) {
        let other = state.job(other).unwrap();
        let JobState::Running {
            since, allocation, ..
        } = &other.state
        else {
            panic!("{:?} started without {:?}", started.id, other.id);
        };
        let JobState::Running {
            since: at,
            allocation: own,
            ..
        } = &started.state
        else {
            continue;
        };
        assert_eq!(since, at);
        let has = |share: &model::NodeShare| own.nodes.iter().any(|own| own.node == share.node);
        assert!(
            !allocation.nodes.iter().any(has),
            "two components on one node"
        );
    }
}
