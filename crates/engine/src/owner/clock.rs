//! The engine's clock: it shows what the machine's does, and knows when that one was set.
//!
//! Rows say when things began by the machine's clock; limits are lengths of time. So where that
//! clock jumps, whatever runs is said to have begun so much later or earlier, and all that the
//! engine itself waits for moves along. How far this has been done is written with the rows, since
//! the clock may also be set while no engine runs.

use super::Owner;
use super::turn::Turn;
use crate::boot_time::BootTime;
use crate::store::{Store, StoreError};
use model::Timestamp;
use sched::Event;
use serde::{Deserialize, Serialize};

/// The clocks of a machine drift apart by less than this.
const DRIFT_MS: i64 = 1000;

/// What the rows go by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Clock {
    boot_id: String,
    /// Milliseconds from the boot's clock to the one that rows are written by.
    offset: i64,
}

impl Clock {
    /// As the rows of this store were written, if that was since the boot.
    pub(crate) fn of(store: &Store) -> Result<Clock, StoreError> {
        let boot_id = sys::boot_id();
        let noted = store.clock()?.filter(|clock| clock.boot_id == boot_id);
        Ok(noted.unwrap_or_else(|| Clock {
            boot_id,
            offset: sys::wall_clock() - sys::boot_clock(),
        }))
    }

    /// What it shows.
    pub(super) fn now(&self) -> Timestamp {
        Timestamp(sys::boot_clock().saturating_add(self.offset))
    }

    /// The moment that it shows as `moment`.
    pub(super) fn boot_time(&self, moment: Timestamp) -> BootTime {
        BootTime(moment.0.saturating_sub(self.offset))
    }

    /// By how much the machine's clock was set.
    fn jump(&self, wall: i64, boot: i64) -> Option<i64> {
        let by = wall.saturating_sub(boot).saturating_sub(self.offset);
        (by.abs() >= DRIFT_MS).then_some(by)
    }
}

impl Owner {
    /// Begins a turn, with a clock that was set taken into account.
    pub(super) fn new_turn(&mut self) -> Turn {
        let jump = self.clock.jump(sys::wall_clock(), sys::boot_clock());
        if let Some(by_ms) = jump {
            self.clock.offset += by_ms;
        }
        let mut turn = Turn::new(self.clock.now());
        if let Some(by_ms) = jump {
            tracing::info!("the clock was set by {by_ms} ms: limits stay");
            self.clock_set(by_ms, &mut turn);
        }
        turn
    }

    fn clock_set(&mut self, by_ms: i64, turn: &mut Turn) {
        turn.clock_set_by_ms = by_ms;
        self.state.apply(Event::ClockSet { by_ms });
        for (job, active) in &mut self.running {
            let ends = active.over.iter_mut().map(|over| &mut over.at);
            for at in ends.chain(&mut active.last_end) {
                shift(at, by_ms);
            }
            for (step, live) in &mut active.steps {
                shift(&mut live.row.record.since, by_ms);
                if *step != model::StepId::Batch {
                    turn.steps.insert((*job, *step));
                }
            }
        }
        let waiters = self.waiters.iter_mut().map(|waiter| &mut waiter.until);
        let own = [
            &mut self.sweep_at,
            &mut self.retry_at,
            &mut self.retry_networks_at,
            &mut self.hand_out_at,
        ];
        for moment in waiters.chain(own.into_iter().flatten()) {
            shift(moment, by_ms);
        }
        self.adopted.shift(by_ms);
        self.shift_allocations(by_ms);
        self.gpus.barred.shift(by_ms);
        self.cpus.barred.shift(by_ms);
    }
}

pub(super) fn shift(moment: &mut Timestamp, by_ms: i64) {
    moment.0 = moment.0.saturating_add(by_ms);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drift_is_no_jump_and_a_jump_is_one_either_way() {
        let clock = Clock {
            boot_id: String::new(),
            offset: 1_000_000,
        };
        assert_eq!(clock.jump(1_000_500, 500), None);
        assert_eq!(clock.jump(1_001_400, 500), None);
        assert_eq!(clock.jump(4_600_500, 500), Some(3_600_000));
        assert_eq!(clock.jump(1_000_500 - 3_600_000, 500), Some(-3_600_000));
        assert_eq!(clock.boot_time(Timestamp(1_000_700)), BootTime(700));
    }
}
