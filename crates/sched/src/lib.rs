//! The scheduler: events in, actions out.
//!
//! ```text
//! State::apply(event)      what happened: a submission, an end, a hold, a cancel
//! State::schedule(now)     what to do about it: starts, expiries
//! State::estimate(request) when a job would start; nothing changes
//! State::next_due()        when to ask again though nothing happened
//! State::take_changes()    which rows to write before anything of it is done
//! ```
//! The rows (`JobRecord`) are the truth: [`State::rebuild`] makes the same state from them.
//!
//! **Invariant:** pure. No clock, file, process, socket or environment; time is an argument.

mod apply;
mod array;
mod estimate;
mod event;
mod job;
mod machine;
mod never_fits;
mod outlook;
mod place_step;
mod planner;
mod pool;
pub mod priority;
mod queue;
mod refile;
pub mod replay;
mod shape;
mod state;

pub use estimate::Estimate;
pub use event::{Action, Changes, Event, Finished};
pub use machine::{Gpu, Machine};
pub use never_fits::NeverFits;
pub use place_step::{Placement, StepRefusal, place_step};
pub use queue::priority_of;
pub use shape::{NodeNeed, Shape, shape};
pub use state::{Saved, State};
