//! What Slurm's commands print of jobs, with the counts that a controller records of those that wait.
#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

mod jobs;
mod recorded_counts;
mod show_job;
mod squeue_lists;
mod squeue_recorded;
