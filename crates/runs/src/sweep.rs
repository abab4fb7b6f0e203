//! Trials of a sweep of Weights & Biases: each repeat of a run is an agent that takes one trial.

use crate::failure::{Failure, FailureKind};
use serde::{Deserialize, Serialize};
use train::{Launcher, Resolved, RunFile, Source};

/// How many trials run at once where nothing says otherwise, as PLAI's scripts have it.
const AT_ONCE: u32 = 10;
/// The key that the agent logs in with.
const KEY: &str = "WANDB_API_KEY";

/// A sweep, as `ENTITY/PROJECT/ID`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WandbSweep(String);

impl WandbSweep {
    /// Of its text.
    ///
    /// # Errors
    /// It has not three parts.
    pub fn new(text: &str) -> Result<WandbSweep, Failure> {
        let parts: Vec<&str> = text.split('/').collect();
        let is_word = |part: &&str| {
            let plain = |letter: char| letter.is_alphanumeric() || "-_.".contains(letter);
            !part.is_empty() && !part.starts_with('-') && part.chars().all(plain)
        };
        if parts.len() == 3 && parts.iter().all(is_word) {
            return Ok(WandbSweep(text.to_owned()));
        }
        Err(Failure::new(
            FailureKind::Usage,
            "no sweep of Weights & Biases has this name",
        )
        .asked(format!("--wandb {text}"))
        .there("a sweep is named ENTITY/PROJECT/ID")
        .todo("copy it from what wandb sweep printed, or from the sweep's page"))
    }

    /// Makes the run file one of an agent that takes one trial. A sweep that its command names wins;
    /// then the words say so.
    pub(crate) fn apply(&self, file: &mut RunFile) -> Option<String> {
        let body = &mut file.body;
        let written = body
            .command
            .as_ref()
            .and_then(|command| agent(&command.value));
        let (starter, sweep) = match &written {
            Some((starter, sweep)) => (starter.clone(), sweep.as_str()),
            None => (
                vec!["wandb".to_owned(), "agent".to_owned()],
                self.0.as_str(),
            ),
        };
        let note = (sweep != self.0).then(|| {
            let source = body
                .command
                .as_ref()
                .map(|command| command.source.to_string());
            format!(
                "the sweep {sweep} of {} is taken, and not {} of --wandb",
                source.unwrap_or_default(),
                self.0
            )
        });
        let words = ["--count", "1", sweep].map(str::to_owned);
        let command = starter.into_iter().chain(words).collect();
        let source = match body.command.take() {
            Some(command) if written.is_some() => command.source,
            _ => Source::default("an agent of --wandb"),
        };
        body.command = Some(Resolved::new(command, source));
        let of_agent = Source::launcher("one agent a trial");
        body.launcher
            .get_or_insert_with(|| Resolved::new(Launcher::None, of_agent));
        let why = Source::default("default: trials of a sweep");
        body.at_once
            .get_or_insert_with(|| Resolved::new(AT_ONCE, why));
        let why = Source::default("a restarted agent would take another trial");
        body.resume
            .on
            .get_or_insert_with(|| Resolved::new(Vec::new(), why));
        let secrets = &mut body.environment.secrets;
        let secrets = secrets.get_or_insert_with(|| {
            Resolved::new(Vec::new(), Source::default("the agent logs in with it"))
        });
        if !secrets.value.iter().any(|name| name == KEY) {
            secrets.value.push(KEY.to_owned());
        }
        note
    }
}

/// The words that start an agent, up to `agent`, and its sweep; none of another command.
fn agent(command: &[String]) -> Option<(Vec<String>, String)> {
    let is_start = |pair: &[String]| pair[0].ends_with("wandb") && pair[1] == "agent";
    let at = command.windows(2).position(is_start)?;
    let (starter, rest) = command.split_at(at + 2);
    let sweep = rest.last().filter(|word| !word.starts_with('-'))?;
    // The value of an option is no sweep.
    let before = rest.len().checked_sub(2).map(|at| rest[at].as_str());
    let is_value = before.is_some_and(|word| word.starts_with('-') && !word.contains('='));
    (!is_value || rest.len() > 2).then(|| (starter.to_vec(), sweep.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &str, want: &str, note: Option<&str>) {
        let (mut file, problems) = RunFile::parse(&format!("command = {command}\n"), "yard.toml");
        assert_eq!(problems, []);
        let found = WandbSweep::new("me/digits/b2").unwrap().apply(&mut file);
        let command = file.body.command.unwrap().value.join(" ");
        assert_eq!((command.as_str(), found.as_deref()), (want, note));
    }

    #[test]
    fn the_command_becomes_an_agent_and_a_sweep_that_it_names_wins() {
        check("[\"train.py\"]", "wandb agent --count 1 me/digits/b2", None);
        check(
            "[\"wandb\", \"agent\", \"--count\", \"1\", \"me/digits/b2\"]",
            "wandb agent --count 1 me/digits/b2",
            None,
        );
        check(
            "[\"python\", \"-m\", \"wandb\", \"agent\", \"me/digits/a1\"]",
            "python -m wandb agent --count 1 me/digits/a1",
            Some("the sweep me/digits/a1 of yard.toml:1 is taken, and not me/digits/b2 of --wandb"),
        );
        check(
            "[\"wandb\", \"agent\", \"--count\", \"1\"]",
            "wandb agent --count 1 me/digits/b2",
            None,
        );
    }

    #[test]
    fn a_sweep_has_three_parts() {
        let check = |text: &str, ok: bool| assert_eq!(WandbSweep::new(text).is_ok(), ok, "{text}");
        check("me/digits/a1b2", true);
        check("a1b2", false);
        check("me//a1b2", false);
        check("me/digits/a1/b2", false);
        check("me/digits/$(x)", false);
        check("me/digits/--x", false);
    }
}
