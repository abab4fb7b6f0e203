//! An interactive shell with what a run's ranks have.

use super::RankError;
use super::private_copy::Copied;
use super::start::Start;
use super::step::{self, Held};
use crate::cache::keep_for_programs;
use crate::shell::{ShellFile, lock_of};
use std::path::Path;

/// Becomes the shell of a file, which is removed.
///
/// # Errors
/// It could not be started.
pub fn shell(file: &Path) -> Result<u8, RankError> {
    let reading = |source| RankError::System {
        what: "reading what the shell is started with",
        source,
    };
    let ShellFile {
        mut launch,
        secrets,
        data,
    } = ShellFile::take(file).map_err(reading)?;
    if let Some(folder) = file.parent() {
        keep_for_programs(&lock_of(folder));
    }
    let data = data.map(|data| data.bring()).transpose()?;
    let copied = match &mut launch.container {
        Some(container) => Copied::make(container)?,
        None => None,
    };
    let Some(rank) = launch.ranks.first() else {
        return Err(RankError::Task {
            variable: "SLURM_PROCID",
            there: None,
            ranks: 0,
        });
    };
    let start = Start {
        launch: &launch,
        rank,
        is_head: false,
        secrets,
    };
    let (program, argv, variables) = start.prepare(None)?;
    step::start(
        &program,
        &argv,
        &launch.cwd,
        &variables,
        Held { copied, data },
    )
}
