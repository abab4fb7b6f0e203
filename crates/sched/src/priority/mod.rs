//! In which order jobs wait: Slurm's multifactor priority, with fair tree or the classic fair share.
//!
//! ```text
//! Usage      what a user's jobs used, less what was forgotten since; exact at any moment
//! ShareTree  accounts and users, what they are due and what they used: who stands where
//! Factors    what a job's priority is made of, and what it comes to
//! Measure    what a cluster's jobs are measured by
//! Priorities all of it for one cluster
//! ```
//! All of it are functions of values: no period has to pass and no row is written for usage to
//! decay; rows are written where it begins anew (`PriorityUsageResetPeriod`, `RawUsage=0`).

mod classic;
mod factors;
mod held_tres;
mod measure;
mod priorities;
mod share_tree;
mod usage;
mod usage_of_one;
mod usage_reset;

pub use factors::{Factors, JobFacts, Scale};
pub(crate) use measure::{Circumstances, Measure};
pub(crate) use priorities::{Priorities, association_priority};
pub use share_tree::{NodeOfTree, ShareTree, Standing};
pub use usage::{Decay, Usage};
pub(crate) use usage_of_one::{accounts_over, is_within};
pub(crate) use usage_reset::{UsageResets, period_around};
