//! How much work an answer may take that is asked of copies of the state, for which the scheduler is
//! called again and again.

use crate::State;
use std::cell::Cell;

/// What an answer may cost, in looks of one waiting job at one node; about a tenth of a second.
const ALL: u64 = 1_000_000;

/// What is left of it.
pub(super) struct Budget(Cell<u64>);

impl Budget {
    pub(super) fn new() -> Budget {
        Budget(Cell::new(ALL))
    }

    /// Pays for one call of the scheduler, and a copy of what it looks at; false if nothing is left.
    pub(super) fn pay(&self, state: &State) -> bool {
        self.pay_looks(state.pass_cost())
    }

    /// The same for so many looks at a node.
    pub(super) fn pay_looks(&self, looks: u64) -> bool {
        let left = self.0.get().checked_sub(looks);
        self.0.set(left.unwrap_or(0));
        left.is_some()
    }

    /// Whether something could not be paid for.
    pub(super) fn is_spent(&self) -> bool {
        self.0.get() == 0
    }
}
