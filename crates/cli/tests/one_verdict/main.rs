//! `plan`, `lint`, `run` and `port` give one verdict: tables of scripts, each through all doors.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

mod changed_engine;
mod doors;
mod held_jobs;
mod job_times;
mod reported;
mod scripts;
