//! How much work an answer may take.

use crate::State;
use std::cell::Cell;

/// What an answer may cost, in looks of one waiting job at one node; about a tenth of a second.
const ALL: u64 = 1_000_000;

/// A look at no node.
const LOOK: u64 = 20;

/// An answer is asked of copies of the state for which the scheduler is called again and again; where
/// it would be called only a few times, it isn't at all.
const FEWEST: u64 = 20;

/// What is left of it.
pub(super) struct Budget(Cell<u64>);

impl Budget {
    pub(super) fn new() -> Budget {
        Budget(Cell::new(ALL))
    }

    /// Whether many calls of the scheduler are within it.
    pub(super) fn covers(&self, state: &State) -> bool {
        state.pass_cost() <= ALL / FEWEST
    }

    /// Pays for one call of the scheduler, and a copy of what it looks at; false if nothing is left.
    pub(super) fn pay(&self, state: &State) -> bool {
        let left = self.0.get().checked_sub(state.pass_cost());
        self.0.set(left.unwrap_or(0));
        left.is_some()
    }
}

impl State {
    fn pass_cost(&self) -> u64 {
        let waiting = self.waiting_count();
        let tried = self.backfill.map_or(1, |backfill| backfill.tests);
        let nodes = u64::from(self.cluster().node_count());
        let jobs = waiting + self.running_count();
        tried.min(waiting) as u64 * (nodes + LOOK) + jobs as u64
    }
}
