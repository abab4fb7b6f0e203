//! The run service: what can be done with runs, for a terminal, a page or another program alike.
//!
//! Calls take and return values that can be sent (`sent.rs` holds all of them to that), and open the way to a
//! cluster by themselves. What lasts is a session of the service's process, such as a [`Follower`], which keeps one
//! connection for as long as it lives and tells what is new as events; a call that waits takes the client's word
//! whether it is still wanted.
//!
//! **Invariant:** it knows no terminal and prints nothing; no client holds a connection to a cluster.

#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test fails loudly"))]

mod awaited;
mod cancel;
pub mod cluster_files;
mod cluster_now;
mod container_runtime;
mod described;
mod engines;
mod environment_job;
mod failure;
mod follower;
mod image_cache;
pub mod input_file;
mod job_follower;
mod job_output;
mod known_cluster;
mod known_run;
mod known_runs;
mod last_deputy;
mod listing;
mod live_clusters;
mod live_list;
mod lost_work;
mod make;
mod notify_notes;
mod places_value;
mod plain_jobs;
mod plan_by_cluster;
mod plan_inputs;
mod plan_notes;
mod prepare;
mod program;
mod reach;
mod reason_words;
mod removal;
mod repeats;
mod repeats_wait;
mod report;
mod requeue;
mod run;
mod run_events;
mod run_file_lint;
mod run_links;
mod run_look;
mod run_places;
mod run_request;
mod run_state;
mod script_lint;
mod script_request;
mod secrets;
mod select;
mod selected;
#[cfg(test)]
mod sent;
mod service_notes;
mod spoken_name;
mod submit;
mod submit_script;
mod sweep;
mod target;
mod target_choice;
mod usage;
mod user_config;
mod wait;
mod would_take;

pub use cancel::cancel;
pub use cluster_now::{ClusterNow, NodeRow, QueueRow};
pub use described::Described;
pub use engines::{
    AlikeNodes, NewCluster, SaidEngine, engine_dir, engine_meant, engine_names, engines_asked,
    is_engine, make_engine, no_such_engine, node_disks,
};
pub use failure::{Failure, FailureKind};
pub use follower::{FILE_PAUSE, Follower, RunEvent};
pub use image_cache::image_cache;
pub use job_follower::{JobEnd, JobEvent, JobFollower, JobLine};
pub use job_output::is_written_since;
pub use known_run::{KnownRun, known_runs};
pub use known_runs::{indexed_runs, places};
pub use last_deputy::{Comeback, LastDeputy};
pub use listing::{BEING_CANCELLED, Listed, ListedKind, Listing, list};
pub use live_clusters::LiveClusters;
pub use live_list::LiveList;
pub use make::{Ready, Submitted, submit};
pub use notify_notes::mail_notes;
pub use plain_jobs::{PlainJob, plain_jobs};
pub use prepare::Preparer;
pub use program::pin_program;
pub use reach::ClusterRef;
pub use reason_words::{hold_remedy, say_reason, say_wait};
pub use removal::{refuse_awaited, remove, repeats_to_remove, to_remove};
pub use repeats::{Repeats, counts_in_words, select_repeats, together};
pub use repeats_wait::{RepeatsEnd, RepeatsEvent};
pub use report::{report, run_findings};
pub use requeue::{Requeued, requeue};
pub use run::{Element, Run, Start};
pub use run_file_lint::check_run_file;
pub use run_look::{RunLook, RunWatch};
pub use run_places::{all_caches, all_places, no_place_on, scratch_on};
pub use run_request::{GivenResource, Planned, RunRequest};
pub use run_state::{RunState, run_state};
pub use script_lint::{ScriptCheck, ScriptFinding, ScriptPlace, check_script};
pub use secrets::secrets;
pub use select::{select, select_live, select_only, select_to_change};
pub use selected::Selected;
pub use spoken_name::{JobNumber, NEWEST, SLURM, SpokenName};
pub use submit_script::submit_script;
pub use sweep::WandbSweep;
pub use target::{Target, target};
pub use target_choice::Why;
pub use user_config::user_config;
pub use wait::{Outage, Pollers, WaitEnd, WaitEvent, Waiting};
pub use would_take::{JobToTest, WouldTake, would_take};
