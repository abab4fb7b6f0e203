//! A change of a job that runs: of its limit, of its nodes, which only become fewer, and of what is noted of it.

use super::{ChangeDenial, changed_limit, changes_any_job, set_site_factor};
use crate::JobUpdate;
use model::{JobChange, JobState, NodeName, Seconds, TimeLimitRequest, Timestamp};

/// A running job is to end at a moment. Its limit follows in whole minutes: Slurm adds as many as are nearest,
/// and takes off half a minute's less.
pub(super) fn change_end(
    state: &JobState,
    update: &mut JobUpdate,
    end: Timestamp,
    is_operator: bool,
) -> Result<(), ChangeDenial> {
    let mut state = state.clone();
    if state.is_suspended() {
        return Err(ChangeDenial::NotRunning);
    }
    if let (JobState::Running { limit, .. }, Some(changed)) = (&mut state, update.limit) {
        *limit = changed;
    }
    let former = state.shown_end();
    if !is_operator && former.is_some_and(|former| end > former) {
        return Err(ChangeDenial::Permission);
    }
    let JobState::Running {
        limit,
        since,
        end_moved_ms,
        ..
    } = &mut state
    else {
        return Ok(());
    };
    let seconds = limit.map_or(0, |limit| i64::try_from(limit.0).unwrap_or(i64::MAX));
    let longer = end.seconds() - former.unwrap_or(*since).seconds();
    let minutes = (longer + 30) / 60;
    let next = seconds.saturating_add(minutes.saturating_mul(60));
    let next = Some(Seconds(u64::try_from(next).unwrap_or(0)));
    (*limit, *end_moved_ms) = (next, 0);
    update.limit = Some(next);
    update.request.time = next.map(TimeLimitRequest::Limit);
    update.end_moved_ms = state.shown_end().map(|whole| end.0 - whole.0);
    Ok(())
}

/// The nodes that a running job gives back by a change of their number or their list; `None` where it is
/// another change. The first one stays where its script runs there.
pub(super) fn given_back(
    change: &JobChange,
    held: &[&NodeName],
    has_script: bool,
) -> Result<Option<Vec<NodeName>>, ChangeDenial> {
    let names = || held.iter().copied();
    match change {
        JobChange::Nodes(0, _) => Err(ChangeDenial::NodeCount),
        JobChange::Nodes(least, _) if *least as usize > held.len() => {
            Err(ChangeDenial::NotSupported)
        }
        JobChange::Nodes(least, Some(most)) if most != least => Err(ChangeDenial::NotPending),
        JobChange::Nodes(least, _) => Ok(Some(names().skip(*least as usize).cloned().collect())),
        JobChange::NodeList(kept) => {
            let host = names().next().filter(|_| has_script);
            let is_part = kept.iter().all(|node| names().any(|held| held == node));
            if kept.is_empty() || !is_part || host.is_some_and(|host| !kept.contains(host)) {
                return Err(ChangeDenial::NodeName);
            }
            let gone = names().filter(|node| !kept.contains(node));
            Ok(Some(gone.cloned().collect()))
        }
        _ => Ok(None),
    }
}

pub(super) fn change_running(
    limit: Option<Seconds>,
    update: &mut JobUpdate,
    change: &JobChange,
    is_operator: bool,
) -> Result<(), ChangeDenial> {
    match change {
        JobChange::TimeLimit(change) => {
            let now = update.limit.unwrap_or(limit);
            let next = changed_limit(now, *change)?;
            let is_more = match (limit, next) {
                (None, _) => false,
                (Some(_), None) => true,
                (Some(limit), Some(next)) => next > limit,
            };
            if is_more && !is_operator {
                return Err(ChangeDenial::Permission);
            }
            update.request.time =
                Some(next.map_or(TimeLimitRequest::Unlimited, TimeLimitRequest::Limit));
            update.limit = Some(next);
        }
        JobChange::AdminComment(_) if !is_operator => return Err(ChangeDenial::Permission),
        JobChange::BurstBuffer => return Err(ChangeDenial::NotSupported),
        JobChange::OtherClusters => return Err(ChangeDenial::OtherClusters),
        JobChange::Priority(0) => update.hold = true,
        JobChange::Priority(priority) if is_operator => {
            update.set_priority(*priority);
        }
        // They decide when it starts and with which limit.
        JobChange::Deadline(_) | JobChange::TimeMin(_) => {}
        // It may leave its reservation, and enters none.
        JobChange::Reservation(None) => update.set_reservation(None),
        JobChange::SiteFactor(factor) => {
            set_site_factor(&mut update.request, *factor, is_operator)?;
        }
        JobChange::Nice(nice) if is_operator || *nice >= 0 => update.request.nice = *nice,
        change if changes_any_job(&mut update.request, change) => {}
        _ => return Err(ChangeDenial::NotPending),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails loudly")]
    use super::*;
    use crate::Job;
    use model::{JobId, Request};
    use std::sync::Arc;

    #[track_caller]
    fn gives(change: &JobChange, has_script: bool, want: Result<&[&str], ChangeDenial>) {
        let held = ["n1", "n2", "n3"].map(NodeName::new);
        let held: Vec<&NodeName> = held.iter().collect();
        let given = given_back(change, &held, has_script);
        let given = given.map(|nodes| nodes.unwrap_or_default());
        let names = want.map(|names| names.iter().map(|name| NodeName::new(name)).collect());
        assert_eq!(given, names, "{change:?}");
    }

    /// `scontrol update JobId= NumNodes=` and `NodeList=`
    #[test]
    fn a_running_job_gives_back_nodes() {
        let list = |names: &[&str]| {
            JobChange::NodeList(names.iter().map(|name| NodeName::new(name)).collect())
        };
        gives(&JobChange::Nodes(3, Some(3)), true, Ok(&[]));
        gives(&JobChange::Nodes(2, Some(2)), true, Ok(&["n3"]));
        gives(&JobChange::Nodes(1, None), false, Ok(&["n2", "n3"]));
        gives(
            &JobChange::Nodes(0, None),
            true,
            Err(ChangeDenial::NodeCount),
        );
        gives(
            &JobChange::Nodes(4, None),
            true,
            Err(ChangeDenial::NotSupported),
        );
        gives(
            &JobChange::Nodes(1, Some(2)),
            true,
            Err(ChangeDenial::NotPending),
        );
        gives(&list(&["n1", "n3"]), true, Ok(&["n2"]));
        gives(&list(&["n3"]), false, Ok(&["n1", "n2"]));
        for list in [list(&["n2", "n3"]), list(&["n1", "n4"]), list(&[])] {
            gives(&list, true, Err(ChangeDenial::NodeName));
        }
    }

    /// A job since 0 with a limit that ends so much later than that, and what an end makes of both.
    #[track_caller]
    fn check((limit, moved): (Option<u64>, i64), end: i64, want: (u64, i64)) {
        let state = JobState::Running {
            since: Timestamp(0),
            allocation: model::Allocation { nodes: Vec::new() },
            limit: limit.map(Seconds),
            ending: None,
            suspension: None,
            held: None,
            end_moved_ms: moved * 1000,
        };
        let job = Job::submitted(JobId(1), Request::default(), Arc::default(), Timestamp(0));
        let mut update = JobUpdate::of(&job);
        change_end(&state, &mut update, Timestamp(end * 1000), true).unwrap();
        let limit = update.limit.unwrap().unwrap();
        assert_eq!((limit.0, update.end_moved_ms.unwrap() / 1000), want);
    }

    /// `scontrol update JobId= EndTime=`
    #[test]
    fn an_end_is_kept_and_moves_the_limit_by_whole_minutes() {
        check((Some(600), 0), 1207, (1200, 7));
        check((Some(1200), 7), 1237, (1260, -23));
        check((Some(1260), -23), 100, (180, -80));
        check((Some(180), -80), 160, (240, -80));
        check((Some(240), -80), 95, (240, -145));
        check((None, 0), 1207, (1200, 7));
    }
}
