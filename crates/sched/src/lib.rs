//! The scheduler: events in, actions out.
//!
//! ```text
//! State::apply(event)      what happened: a submission, an end, a hold, a cancel
//! State::schedule(now)     what to do about it: starts, expiries
//! State::estimate(request) when a job would start; nothing changes
//! State::next_due()        when to ask again though nothing happened
//! State::take_changes()    which rows to write before anything of it is done
//! ```
//! What is known of each job ([`Job`]) is the truth: [`State::rebuild`] makes the same state from it.
//!
//! ```text
//! queue.rs   the order of those that wait
//! prioritise.rs  where a job stands in it
//! limits.rs  whether one may start now, whatever is free; limit_stop.rs: what one that may not holds up
//! pass.rs    who of them is next; queue_attempt.rs: whether it starts; possible_start.rs: where it could
//! promise.rs who would delay which of those ahead; cycle.rs: when those behind are tried
//! preempt/   whose places they take
//! deadline.rs  until when one may start, and with which limit
//! reasons.rs why those wait that did not
//! held.rs    what running jobs hold, on `resources`
//! ```
//!
//! **Invariant:** pure. No clock, file, process, socket or environment; time is an argument.

mod accrual;
mod admit;
mod apply;
mod array;
mod between_cycles;
mod change;
mod cluster_ref;
mod cpu_book;
mod cycle;
mod deadline;
mod estimate;
mod event;
mod expected_ends;
mod fault;
mod few_switches;
mod first_asked;
mod held;
mod job;
mod kinds;
mod ledger;
mod limit_given;
mod limit_stop;
mod limits;
mod live_job;
mod live_jobs;
mod member;
mod names;
mod outlook;
mod pass;
mod place_step;
mod plan;
mod planner;
mod possible_start;
mod preempt;
mod prioritise;
pub mod priority;
mod promise;
mod queue;
mod queue_attempt;
mod rare_facts;
mod reasons;
mod rebuild;
mod reconfigure;
mod refile;
pub mod replay;
mod reservations;
mod reserve;
mod reserved;
mod shrink;
mod start;
mod state;
mod suspend;
#[cfg(test)]
mod testing;
mod together;
mod update;
mod why;

pub use change::ChangeDenial;
use cluster_ref::ClusterRef;
pub use estimate::Estimate;
pub use event::{Action, Changes, Event, Finished, PassCounts};
pub use job::Job;
pub use ledger::{Spender, Spending};
pub use member::Member;
pub use place_step::{Placement, RunningStep, StepRefusal, place_step, step_against_job};
pub use planner::{BackfillParameters, ParameterError};
pub use prioritise::JobPriority;
pub use queue::priority_of;
pub use rare_facts::{RareFacts, RareFactsBox};
pub use rebuild::Saved;
pub use reserve::GroupMembers;
pub use state::State;
pub use update::JobUpdate;
pub use why::{
    Amount, Awaited, Holder, LicenceNeed, NeverMet, NodesNeeded, NotPlanned, OutOfUse, Preempted,
    Throttle, Unmet, Why, WouldWait,
};
