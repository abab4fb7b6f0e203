//! A program beside the ranks, in their environment, and in their container where they have one.

use super::container::{Inside, OverImage};
use super::{RankError, Variables, change, prelude, program};
use crate::srun;
use folder::{Attempt, RunFolder};
use model::ContainerRuntime;
use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::process::Command;
use train::RankCommand;

/// Becomes the program. It ends when its agent is killed.
///
/// # Errors
/// It could not be started.
pub fn service(attempt: Attempt, folder: &RunFolder, words: &[String]) -> Result<u8, RankError> {
    let _ = sys::process::end_with_parent();
    let launch = folder.read_launch(attempt, 0)?;
    let mut variables: Variables = std::env::vars_os().collect();
    // It is no task of the agents' step, and what it starts with srun or MPI is none either.
    variables.retain(|name, _| !name.to_str().is_some_and(srun::is_of_step));
    for prelude in &launch.preludes {
        prelude::apply(prelude, &mut variables)?;
    }
    // What the run file sets; what makes a rank of a program is none of a service's.
    let (_, json) = RunFolder::open(folder.path())?;
    let set = &json.plan.environment.variables.value;
    let of_rank = launch.ranks.first().map(|rank| rank.env.clone());
    let mut env = of_rank.unwrap_or_default();
    env.retain(|name, _| set.contains_key(name));
    change(&mut variables, &env);
    // Pyxis starts steps alone, and this is none: there it stays outside.
    let container = launch.container.as_ref();
    let container = container.filter(|container| container.runtime != ContainerRuntime::Pyxis);
    let (found, words) = match container {
        Some(container) => {
            let own = RankCommand {
                task: 0,
                node: 0,
                env,
                argv: words.to_vec(),
                binding: None,
            };
            let inside = Inside {
                container,
                rank: &own,
                name: None,
                secrets: &BTreeMap::new(),
                over_image: OverImage::All,
            };
            inside.start(&launch.cwd, &mut variables)?
        }
        None => {
            let found = program::find(words, &launch.cwd, &variables)?;
            (found, words.to_vec())
        }
    };
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
