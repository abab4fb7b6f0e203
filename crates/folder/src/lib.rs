//! The run folder: its layout, what stands in its files, and who writes them.
//!
//! **Invariant:** nothing else knows a path inside a run folder.

#![cfg_attr(test, expect(clippy::unwrap_used, reason = "a test fails loudly"))]

mod attempt;
mod checkpoint_name;
mod checkpoint_unit;
mod checkpoints;
mod code_snapshot;
mod code_source;
mod comeback;
mod event;
mod event_log;
mod exit_file;
mod file_tail;
mod folder_error;
mod ignored_paths;
mod incoming_part;
mod index;
mod json_file;
mod last_lines;
mod launch_file;
mod leftovers;
mod line_mark;
mod link;
mod log_tail;
mod lost_start;
mod making_place;
mod manifest;
mod name_dates;
mod name_numbers;
mod next_job;
mod pointer;

mod recency;
mod run_folder;
mod run_json;
mod saved_checkpoint;
mod starting_point;
mod submission;
mod submission_turn;
mod training_progress;
mod whole_checkpoints;

pub use attempt::Attempt;
pub use checkpoint_name::{Position, compare_names, is_of_data, series, step_of};
pub use checkpoint_unit::{CheckpointUnit, are_one_checkpoint, checkpoint_units};
pub use checkpoints::{CheckpointsThere, Damage, Unusable};
pub use code_snapshot::copy_code;
pub use code_source::{CODE_LIMIT, CodeError, CodeSource, find_source, is_python_environment};
pub use comeback::{ComebackClaim, ComebackState};
pub use event::{ComingBack, Event, EventLine, StopReason};
pub use event_log::{EventLog, EventTail, FOLDER_REFUSED, has_writer};
pub use exit_file::RankExit;
pub use file_tail::{FileTail, drawn_text};
pub use folder_error::FolderError;
pub use incoming_part::IncomingPart;
pub use index::{Index, IndexEntry, Naming, RemovedRun, Repeat};
pub use last_lines::last_lines;
pub use launch_file::LaunchFile;
pub use leftovers::{Leftover, Standing, Verdict, half_runs};
pub use line_mark::LineMark;
pub use link::{Link, LinkState, link_token};
pub use log_tail::{LogLine, LogTail};
pub use lost_start::{LOST_IN_A_ROW, has_progress, was_lost};
pub use making_place::MakingPlace;
pub use manifest::{Contents, FileHash, LinkInside, Manifest, Parts};
pub use next_job::NextJob;
pub use pointer::{Pointer, Says};
pub use recency::{Age, newest_first};
pub use run_folder::RunFolder;
pub use run_json::{
    AwaitedRun, CodeOrigin, MADE_MARKER, MadeEnvironment, ReadyImage, RunJson, Versions,
};
pub use saved_checkpoint::{SavedCheckpoint, newest_saved};
pub use starting_point::{StartedFrom, StartingPoint};
pub use submission::{NewLink, NotSubmitted, SubmissionError, Submitter};
pub use submission_turn::SubmissionTurn;
pub use training_progress::TrainingProgress;
pub use whole_checkpoints::{Candidate, Companion, KnownCheckpoint, WholeCheckpoints};
