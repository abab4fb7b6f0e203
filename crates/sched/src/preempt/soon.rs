//! In a pass: what is free soon, for as long as a job runs that takes the places of others.

use super::claim::is_ending;
use crate::State;
use crate::pass::Pass;
use crate::planner::Window;
use crate::possible_start::{Attempt, PossibleStart};
use crate::promise::Promises;
use crate::reserved::Reserved;
use cluster_file::PreemptMode;
use model::{JobId, Timestamp};
use resources::{Free, NodeSet};

/// What is free once all are gone that are being ended, but for what others wait for that way.
#[derive(Clone)]
pub(super) struct SoonFree<'a> {
    window: Window<Free>,
    promises: Option<&'a Promises>,
    /// Nodes that the job is not given.
    kept: &'a NodeSet,
}

impl<'a> SoonFree<'a> {
    /// For a job that would run so long from now on, in milliseconds. Claims are what others wait for.
    pub(super) fn new(
        state: &State,
        pass: &'a Pass,
        claims: &[PossibleStart],
        length: i64,
        now: Timestamp,
    ) -> SoonFree<'a> {
        let promises = pass.promises.as_ref();
        let window = match promises {
            Some(promises) => promises.window(now.0.saturating_add(length)),
            // While nothing is promised nothing becomes less.
            None => Window::new(std::iter::once((now.0, state.held.free.clone()))),
        };
        let mut soon = SoonFree {
            window,
            promises,
            kept: &pass.not_now,
        };
        if state.backfill.is_none() {
            soon.window.change(i64::MAX, |free| {
                pass.withdrawn
                    .iter()
                    .for_each(|node| free.set_up(node, false));
            });
        }
        for id in &state.running {
            if is_ending(&state.jobs[id].record.state) {
                soon.lose(state, *id, PreemptMode::Cancel);
            }
        }
        for claim in claims {
            let (user, sharing) = (claim.attempt.user, claim.sharing());
            soon.window.change(claim.needed().1, |free| {
                free.take(&state.cluster, &claim.shares, sharing, user);
            });
        }
        soon
    }

    /// A running job has lost its place: all of it, or its CPUs alone.
    pub(super) fn lose(&mut self, state: &State, id: JobId, mode: PreemptMode) {
        let end = match self.promises {
            Some(promises) => promises.end_of(id),
            None => Some(i64::MAX),
        };
        if let Some(end) = end {
            self.window
                .change(end, |free| state.give_place(id, mode, free));
        }
    }

    /// A place that a job has from now on for as long as it may run.
    pub(super) fn place(
        &self,
        state: &State,
        attempt: &Attempt,
        reserved: &Reserved<'_>,
        now: Timestamp,
    ) -> Option<PossibleStart> {
        let find = |free: &Free| attempt.place(state, now.0, free, Some(self.kept), reserved);
        let keep = |free: &mut Free, other: &Free| free.keep(&state.cluster, other);
        let shares = self.window.find(|free| find(free).is_some(), keep, find);
        shares.map(|shares| attempt.starting(now, shares))
    }
}
