//! A person's command beside the ranks, with what they have.

use super::start::Start;
use super::step::{self, Held};
use super::{RankError, secrets};
use folder::{Attempt, RunFolder};
use train::RankCommand;

/// Becomes the command, in the ranks' environment, and in a container as theirs where they have one. It has no rank's
/// number: a program that takes part in their training would be one too many.
///
/// # Errors
/// It could not be started.
pub fn attach(attempt: Attempt, folder: &RunFolder, words: &[String]) -> Result<u8, RankError> {
    let launch = folder.read_launch(attempt, 0)?;
    let (_, json) = RunFolder::open(folder.path())?;
    let set = &json.plan.environment.variables.value;
    let of_rank = launch.ranks.first().map(|rank| rank.env.clone());
    let mut env = of_rank.unwrap_or_default();
    env.retain(|name, _| name.starts_with("YARD_") || set.contains_key(name));
    let rank = RankCommand {
        task: 0,
        node: 0,
        env,
        argv: words.to_vec(),
        binding: None,
    };
    let start = Start {
        launch: &launch,
        rank: &rank,
        is_head: false,
        secrets: secrets(folder, &launch)?,
    };
    let (program, argv, variables) = start.prepare(None)?;
    let held = Held {
        copied: None,
        data: None,
    };
    step::start(&program, &argv, &launch.cwd, &variables, held)
}
