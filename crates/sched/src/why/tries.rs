//! Whether another request would start now.

use super::budget::Budget;
use super::played::starts;
use crate::{Event, Job, State};
use model::{Request, Timestamp};
use std::cell::RefCell;
use std::sync::Arc;

/// What tries requests in the place of a job that waits.
pub(super) struct Tries<'a> {
    state: &'a State,
    record: &'a Job,
    now: Timestamp,
    budget: &'a Budget,
    /// The state without the job, where a pass is long: between two cycles it is known what the last one left,
    /// and a request is looked at without a pass.
    between_cycles: Option<RefCell<State>>,
}

impl<'a> Tries<'a> {
    /// None where it takes too much work: a pass is long, and the next one is a cycle.
    pub(super) fn new(
        state: &'a State,
        record: &'a Job,
        now: Timestamp,
        budget: &'a Budget,
    ) -> Option<Tries<'a>> {
        let is_short = state.is_pass_short();
        if !is_short && (!state.is_between_cycles(now) || record.request.rare.component.is_some()) {
            return None;
        }
        let without = || {
            let mut without = state.clone();
            without.apply(cancelled(record, now));
            RefCell::new(without)
        };
        Some(Tries {
            state,
            record,
            now,
            budget,
            between_cycles: (!is_short).then(without),
        })
    }

    /// What the job asks for.
    pub(super) fn request(&self) -> &'a Request {
        &self.record.request
    }

    /// Whether the job would start now if it asked for that.
    pub(super) fn would_start(&self, request: Request) -> bool {
        match &self.between_cycles {
            Some(without) => self.starts_between_cycles(&mut without.borrow_mut(), request),
            None => self.starts_in_pass(request),
        }
    }

    fn starts_between_cycles(&self, without: &mut State, request: Request) -> bool {
        // It looks at each node once, and at an idle cluster whether it may ever start.
        let looks = 2 * u64::from(self.state.cluster().node_count());
        if !self.budget.pay_looks(looks) || without.admit(&request).is_err() {
            return false;
        }
        let record = self.asking(without, request);
        let wait = without.wait_if_submitted(record, Vec::new(), self.now);
        wait.is_none()
    }

    fn starts_in_pass(&self, request: Request) -> bool {
        if !self.budget.pay(self.state) {
            return false;
        }
        let mut other = self.state.clone();
        if other.admit(&request).is_err() {
            return false;
        }
        let record = self.asking(&other, request);
        let id = other.new_id();
        other.apply(cancelled(self.record, self.now));
        other.apply(Event::Submitted {
            record: Box::new(record),
            array: None,
            history: Vec::new(),
            at: self.now,
        });
        starts(&other.schedule(self.now)).any(|job| job == id)
    }

    /// The job with another request, as the next one of a state.
    fn asking(&self, state: &State, request: Request) -> Job {
        Job {
            id: model::JobId(state.next_id()),
            array: None,
            request: Arc::new(request),
            ..self.record.clone()
        }
    }
}

fn cancelled(record: &Job, at: Timestamp) -> Event {
    Event::CancelledWaiting {
        job: record.id,
        by: record.submitter.uid,
        at,
    }
}
