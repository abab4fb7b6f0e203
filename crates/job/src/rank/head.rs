//! The first node's only task, where its program starts the ranks of all nodes.

use super::{RankError, Start, secrets, write_exit};
use crate::exit_code;
use folder::{Attempt, RankExit, RunFolder};
use model::Timestamp;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Runs it; returns its exit code. Where it fails before any rank has written down how it ended, that
/// stands as the end of rank 0, whose log has its output. What is to signal the ranks finds their own
/// processes, and not this one.
///
/// # Errors
/// It could not be started.
pub fn head(attempt: Attempt, folder: &RunFolder, _local: &Path) -> Result<u8, RankError> {
    let launch = folder.read_launch(attempt, 0)?;
    let Some(head) = &launch.head else {
        return Err(RankError::Task {
            variable: "SLURM_PROCID",
            there: None,
            ranks: launch.count,
        });
    };
    let told_to_end = Arc::new(AtomicBool::new(false));
    let start = Start {
        launch: &launch,
        rank: head,
        is_head: true,
        secrets: secrets(folder, &launch)?,
    };
    let status = start.and_wait(None, &told_to_end);
    let (code, signal) = match &status {
        Ok(status) => (exit_code::of(*status), exit_code::signal(*status)),
        Err(error) => (i32::from(error.code()), None),
    };
    let silent = folder
        .read_exits(attempt)
        .is_ok_and(|exits| exits.is_empty());
    if code != 0 && silent {
        let exit = RankExit {
            rank: head.task,
            status: code,
            signal,
            at: Timestamp(sys::now()),
            host: std::env::var("SLURMD_NODENAME").unwrap_or_else(|_| sys::host_name()),
            told_to_end: told_to_end.load(Ordering::Relaxed),
        };
        write_exit(folder, &launch, &exit)?;
    }
    status.map(|_| u8::try_from(code).unwrap_or(1))
}
