//! The run service: what can be done with runs, for a terminal, a page or another program alike.
//!
//! **Invariant:** it knows no terminal and prints nothing; what goes in and comes out is
//! serialisable, but for the way to a cluster.

#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test fails loudly"))]

mod awaited;
mod cancel;
pub mod cluster_files;
mod cluster_now;
mod container_runtime;
mod engines;
mod environment_job;
mod failure;
mod follower;
mod image_cache;
pub mod input_file;
mod job_follower;
mod job_output;
mod known_cluster;
mod known_runs;
mod last_deputy;
mod listing;
mod live_clusters;
mod live_list;
mod lost_work;
mod make;
mod notify_notes;
mod plain_jobs;
mod plan_by_cluster;
mod plan_inputs;
mod plan_notes;
mod program;
mod reach;
mod reason_words;
mod removal;
mod repeats;
mod repeats_wait;
mod report;
mod requeue;
mod run;
mod run_links;
mod run_look;
mod run_places;
mod run_request;
mod run_state;
mod script_lint;
mod script_request;
mod secrets;
mod select;
mod service_notes;
mod spoken_name;
mod submit;
mod sweep;
mod target;
mod target_choice;
mod usage;
mod user_config;
mod wait;

pub use cancel::cancel;
pub use cluster_now::{ClusterNow, NodeRow, QueueRow};
pub use engines::{
    AlikeNodes, NewCluster, SaidEngine, engine_dir, engine_meant, engine_names, engines_asked,
    is_engine, make_engine, no_such_engine,
};
pub use failure::{Failure, FailureKind};
pub use follower::{FILE_PAUSE, Follower, RunEvent};
pub use image_cache::image_cache;
pub use job_follower::{JobEnd, JobEvent, JobFollower, JobLine};
pub use job_output::is_written_since;
pub use known_cluster::known_cluster;
pub use known_runs::{indexed_runs, places};
pub use last_deputy::{Comeback, LastDeputy};
pub use listing::{Listed, ListedKind, Listing, list};
pub use live_clusters::LiveClusters;
pub use live_list::LiveList;
pub use make::{Ready, Submitted, submit};
pub use notify_notes::mail_notes;
pub use plain_jobs::{PlainJob, plain_jobs};
pub use plan_inputs::missing_in_file;
pub use plan_notes::missing_program;
pub use program::pin_program;
pub use reach::{engines, open, poller};
pub use reason_words::{hold_remedy, say_reason, say_wait};
pub use removal::{remove, repeats_to_remove, to_remove};
pub use repeats::{Repeats, counts_in_words, select_repeats, together};
pub use repeats_wait::{RepeatsEnd, RepeatsEvent};
pub use report::{report_facts, run_findings};
pub use requeue::{Requeued, requeue};
pub use run::{Element, Run, Start, ask_for};
pub use run_look::{RunLook, RunWatch};
pub use run_places::{all_places, scratch_on};
pub use run_request::{GivenResource, Planned, RunRequest, user};
pub use run_state::{RunState, run_state};
pub use script_lint::{ScriptCheck, ScriptFinding, ScriptPlace, check_script};
pub use secrets::secrets;
pub use select::{Selected, select, select_live, select_only, select_to_change};
pub use spoken_name::{JobNumber, NEWEST, SLURM, SpokenName};
pub use submit::submit_next;
pub use sweep::WandbSweep;
pub use target::{Target, target};
pub use target_choice::Why;
pub use user_config::user_config;
pub use wait::{Outage, Outages, WaitEnd, WaitEvent, Waiting};
