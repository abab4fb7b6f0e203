//! Who of those that wait starts now: the policies, over one view of what is free and of what
//! becomes free.
//!
//! A pass sees the queue in its order, what is free ([`Room`]) and when running jobs are expected
//! to end. It changes nothing but its own copies: it says which jobs start.

mod backfill;
mod conservative;
mod easy;
mod in_order;
mod kinds;
mod room;
mod timeline;
mod window;

pub use backfill::{BackfillParameters, ParameterError};
pub use conservative::{Planning, conservative_pass};
pub use easy::{Backfill, Blocked, easy_pass, try_one};
pub use in_order::{Lines, in_order_pass};
pub use room::{NeedOfNodes, Nodes, OneNode, Room};
pub(crate) use timeline::Timeline;
pub(crate) use window::Window;

/// A job as the policies see it. Moments and lengths are in milliseconds.
#[derive(Debug)]
pub struct Candidate<'a, N> {
    /// What it needs.
    pub need: &'a N,
    /// Jobs that need the same have the same number: where one does not fit, none does.
    pub kind: u32,
    /// How long it may run.
    pub limit: i64,
}

/// A running job as the policies see it.
#[derive(Debug)]
pub struct Release<'a, H> {
    /// When it is expected to be over.
    pub at: i64,
    /// What it holds.
    pub held: &'a H,
}

impl<H> Release<'_, H> {
    /// When it is expected to be over, seen from now: what is overdue is killed so much later.
    fn expected(&self, now: i64, overdue: i64) -> i64 {
        if self.at > now {
            self.at
        } else {
            now.saturating_add(overdue)
        }
    }
}
