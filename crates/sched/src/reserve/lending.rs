//! Nodes that a reservation lends to jobs that end soon after a signal (`MaxStartDelay`, `--signal=R:`).

use crate::live_job::LiveJob;
use crate::reservations::{Kept, Reservations};
use crate::{Job, State};
use model::{Request, Seconds};

/// How soon a job ends after its signal, where it may borrow reserved nodes for that.
pub(crate) fn ends_within(request: &Request) -> Option<Seconds> {
    let signal = request.rare.signal.filter(|signal| signal.borrows)?;
    Some(signal.before)
}

impl Reservations {
    /// Whether one lends its nodes to jobs that end soon after their signal.
    pub(crate) fn lend(&self) -> bool {
        self.iter()
            .any(|kept| kept.reservation.max_start_delay.is_some())
    }
}

impl Kept {
    /// Whether a job may use its nodes that ends so soon when they are wanted back.
    pub(crate) fn is_lent(&self, ends_within: Option<Seconds>) -> bool {
        let delay = self.reservation.max_start_delay;
        delay.is_some_and(|delay| ends_within.is_some_and(|within| within <= delay))
    }

    /// Whether a running job borrows some of its nodes.
    fn lends_to(&self, job: &LiveJob) -> bool {
        let nodes = job.derived.holding.iter();
        let mut nodes = nodes.flat_map(|held| &held.shares).map(|share| share.node);
        ends_within(&job.record.request).is_some() && nodes.any(|node| self.nodes.contains(node))
    }
}

impl State {
    /// Whether a job of a reservation with `MaxStartDelay` may take the places of those that borrow its nodes.
    pub(crate) fn takes_back(&self, record: &Job) -> Option<&Kept> {
        let own = self.reservations.get(record.rare.reservation.as_deref()?)?;
        let lends = own.reservation.max_start_delay.is_some() && !own.nodes.is_empty();
        lends.then_some(own)
    }

    /// How long a running job may go on that borrows nodes which a reservation wants back.
    pub(crate) fn borrows_from(&self, own: Option<&Kept>, job: &LiveJob) -> Option<Seconds> {
        own.filter(|own| own.lends_to(job))?;
        ends_within(&job.record.request)
    }
}
