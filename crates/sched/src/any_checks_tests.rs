//! What holds in random histories of what is held, of who loses a place, of components and of reservations.

use super::scene::LAYERS;
use crate::preempt::rules;
use crate::{Job, State};
use cluster_file::PreemptMode;
use model::{Ending, JobId, JobState, NodeName, Reservation, ReservationFlag, Seconds, Timestamp};
use resources::{Amounts, Free, Share};

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
        let own = record.request.rare.reservation.as_deref();
        let own = own.map(|name| state.reservation(name).unwrap());
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
                    "{record:?} is in {other:?}"
                );
            }
            if let Some(own) = own
                && !own.is(ReservationFlag::Flex)
            {
                assert!(own.is_active(now), "{own:?} has not begun or is over");
                // One that replaces its nodes has others by now.
                let is_free = own.is(ReservationFlag::AnyNodes) || own.is(ReservationFlag::Replace);
                assert!(is_free || own.nodes.contains(&share.node), "{own:?}");
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
    assert!(free >= left, "{left} of {reservation:?}");
}

/// What jobs hold and what is free is all there is, node by node; none of it twice.
pub(super) fn check_free(state: &State) {
    let cluster = state.cluster();
    let idle = Free::idle(cluster);
    for node in cluster.nodes() {
        let mut sum: Amounts = *state.free().amounts(node);
        let mut gpus = state.free().gpus(node);
        let mut cpus = 0;
        for record in state.running() {
            let job = &state.jobs[&record.id];
            let shares = job.derived.holding.iter().flat_map(|held| &held.shares);
            for share in shares.filter(|share| share.node == node) {
                assert_eq!(gpus & share.gpus, 0, "a GPU was given twice");
                gpus |= share.gpus;
                sum.give(&share.amounts);
                cpus += share.cpus();
            }
        }
        // CPUs that jobs share are held by each of them.
        if cluster.node_name(node).as_str().starts_with('c') {
            let all = idle.amounts(node).cpus;
            assert!(cpus <= all * LAYERS, "{cpus} CPUs of {node:?} are held");
            sum.cpus = all;
        }
        assert_eq!(
            sum,
            *idle.amounts(node),
            "held and free are all of {node:?}"
        );
        assert_eq!(gpus, idle.gpus(node));
    }
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
