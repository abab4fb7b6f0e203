//! A program beside the ranks, in their environment.

use super::{RankError, Variables, prelude, program};
use folder::{Attempt, RunFolder};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Becomes the program. It ends when its conductor is killed.
///
/// # Errors
/// It could not be started.
pub fn service(attempt: Attempt, folder: &RunFolder, words: &[String]) -> Result<u8, RankError> {
    let _ = sys::process::end_with_parent();
    let launch = folder.read_launch(attempt, 0)?;
    let mut variables: Variables = std::env::vars_os().collect();
    for prelude in &launch.preludes {
        prelude::apply(prelude, &mut variables)?;
    }
    let found = program::find(words, &launch.cwd, &variables)?;
    let mut command = Command::new(&found);
    command
        .arg0(&words[0])
        .args(&words[1..])
        .current_dir(&launch.cwd)
        .env_clear()
        .envs(&variables);
    let failed = command.exec();
    let name = found.display().to_string();
    Err(program::ProgramError::of(failed, name, &launch.cwd).into())
}
