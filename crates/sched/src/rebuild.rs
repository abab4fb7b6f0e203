//! The state that a store kept, made anew of its rows.

use crate::array::Array;
use crate::fault::{self, Fault};
use crate::ledger::{Spending, Spent};
use crate::member::Member;
use crate::priority::{Priorities, Usage};
use crate::reservations::Reservations;
use crate::{Finished, Job, State};
use model::{ArrayFacts, ArraySpec, JobId, JobState, NodeMark, NodeName, Reservation, Timestamp};
use resources::Cluster;
use std::sync::Arc;

/// What a store keeps of a [`State`].
#[derive(Clone, Debug, Default)]
pub struct Saved {
    /// The next job's id.
    pub next_id: u32,
    /// The newest row's version.
    pub version: u64,
    /// Rows of live jobs.
    pub live: Vec<Job>,
    /// As submitted: the elements of each array that has a live row.
    pub arrays: Vec<(JobId, ArraySpec)>,
    /// What became of ended jobs that dependencies of live ones name.
    pub history: Vec<Finished>,
    /// What is said of nodes.
    pub nodes: Vec<(NodeName, NodeMark)>,
    /// What ended jobs used.
    pub usage: Vec<(Member, Usage)>,
    /// The same as limits on what is used count it.
    pub spent: Vec<(Spending, Usage)>,
    /// Reservations.
    pub reservations: Vec<Reservation>,
}

impl State {
    /// The state that the rows tell of.
    #[must_use]
    pub fn rebuild(
        cluster: Arc<Cluster>,
        numbers: Arc<[u32]>,
        saved: Saved,
        now: Timestamp,
    ) -> State {
        let mut state = State::new(cluster, numbers);
        if !fault::is(Fault::MarksForgotten) {
            state.marks = saved.nodes.into_iter().collect();
        }
        state.priorities = Priorities::new(saved.usage.into_iter().collect());
        state.spent = Spent::new(saved.spent.into_iter().collect());
        state.reset_usage_at_start(now);
        state.reservations = Reservations::new(&state.cluster, saved.reservations);
        state.tell_cores_apart();
        state.next_id = saved.next_id.max(1);
        state.version = saved.version;
        for (array_job, spec) in saved.arrays {
            let array = Array::new(ArrayFacts::of(&spec));
            state.arrays.insert(array_job, array);
        }
        // All rows are in before any is filed: a dependency may name a later one.
        // Running ones are filed first: whether an array is full shows in them.
        let runs = |record: &Job| matches!(record.state, JobState::Running { .. });
        let (running, waiting): (Vec<_>, Vec<_>) = saved.live.iter().partition(|row| runs(row));
        let ids: Vec<JobId> = running.iter().chain(&waiting).map(|row| row.id).collect();
        for record in saved.live {
            state.insert(record);
        }
        state.recount();
        for finished in saved.history {
            if state.dependents.contains_key(&finished.target) {
                let all = state.finished.entry(finished.target).or_default();
                all.insert(finished);
            }
        }
        for id in ids {
            state.refile(id, now);
        }
        if state.cluster.priority().is_multifactor {
            state.work_out_first_priorities(now);
        }
        state
    }
}
