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

    /// Makes the run file one of an agent that takes one trial. A sweep that its command names wins, and
    /// a command that starts no agent is left out; then the note says so.
    ///
    /// # Errors
    /// Its command starts an agent within the text of a shell, where no sweep can be read.
    pub(crate) fn apply(&self, file: &mut RunFile) -> Result<Option<String>, Failure> {
        let body = &mut file.body;
        let command = body.command.take();
        let agent = command
            .as_ref()
            .map(|command| Agent::of(&command.value, &command.source))
            .transpose()?
            .flatten();
        let note = match (&agent, &command) {
            (
                Some(Agent {
                    sweep: Some(own), ..
                }),
                Some(command),
            ) if *own != self.0 => Some(format!(
                "the sweep {own} of {} is taken, and not {} of --wandb",
                command.source, self.0
            )),
            (None, Some(command)) => Some(format!(
                "the command of {} is left out: each trial is started by wandb agent, with the program that the \
                 sweep's own configuration names",
                command.source
            )),
            _ => None,
        };
        let source = match command {
            Some(command) if agent.is_some() => command.source,
            _ => Source::default("an agent of --wandb"),
        };
        let agent = agent.unwrap_or_default();
        body.command = Some(Resolved::new(agent.one_trial(&self.0), source));
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
        Ok(note)
    }
}

/// A command that starts an agent.
struct Agent {
    /// Its words up to `agent`.
    starter: Vec<String>,
    /// Its options but `--count`.
    options: Vec<String>,
    /// The sweep that it names.
    sweep: Option<String>,
}

impl Default for Agent {
    fn default() -> Agent {
        Agent {
            starter: ["wandb", "agent"].map(str::to_owned).to_vec(),
            options: Vec::new(),
            sweep: None,
        }
    }
}

impl Agent {
    /// Reads the options of `wandb agent` as W&B's client does; none of another command.
    fn of(command: &[String], source: &Source) -> Result<Option<Agent>, Failure> {
        let is_start = |pair: &[String]| pair[0].ends_with("wandb") && pair[1] == "agent";
        let Some(at) = command.windows(2).position(is_start) else {
            return match command.iter().find(|word| word.contains("wandb agent")) {
                Some(text) => Err(in_shell(text, source)),
                None => Ok(None),
            };
        };
        let (starter, rest) = command.split_at(at + 2);
        let mut agent = Agent {
            starter: starter.to_vec(),
            ..Agent::default()
        };
        let mut words = rest.iter();
        while let Some(word) = words.next() {
            let takes_next =
                ["--count", "--project", "-p", "--entity", "-e"].contains(&word.as_str());
            let value = takes_next.then(|| words.next()).flatten();
            match word.as_str() {
                "--count" => {}
                count if count.starts_with("--count=") => {}
                option if option.starts_with('-') => {
                    agent.options.push(word.clone());
                    agent.options.extend(value.cloned());
                }
                _ => agent.sweep = agent.sweep.or_else(|| Some(word.clone())),
            }
        }
        Ok(Some(agent))
    }

    /// The command that takes one trial, of the sweep `given` where it names none.
    fn one_trial(self, given: &str) -> Vec<String> {
        let sweep = self.sweep.unwrap_or_else(|| given.to_owned());
        let count = ["--count", "1"].map(str::to_owned);
        let words = self.starter.into_iter().chain(count);
        words.chain(self.options).chain([sweep]).collect()
    }
}

/// An agent in the text that a shell is given.
fn in_shell(text: &str, source: &Source) -> Failure {
    let todo = "write the command as words: command = [\"wandb\", \"agent\"]; what the shell does before it goes \
                into [environment]";
    Failure::new(
        FailureKind::Usage,
        "the agent's sweep can't be read in a shell's text",
    )
    .asked(format!("{source}: {text:?}"))
    .there("yard sweep gives each agent one trial, and takes the sweep that its command names")
    .todo(todo)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &str, want: &str, note: Option<&str>) {
        let (mut file, problems) = RunFile::parse(&format!("command = {command}\n"), "yard.toml");
        assert_eq!(problems, []);
        let sweep = WandbSweep::new("me/digits/b2").unwrap();
        let found = sweep.apply(&mut file).unwrap();
        let command = file.body.command.unwrap().value.join(" ");
        assert_eq!((command.as_str(), found.as_deref()), (want, note));
    }

    #[test]
    fn the_command_becomes_an_agent_and_a_sweep_that_it_names_wins() {
        check(
            "[\"train.py\"]",
            "wandb agent --count 1 me/digits/b2",
            Some(
                "the command of yard.toml:1 is left out: each trial is started by wandb agent, with the program that \
                 the sweep's own configuration names",
            ),
        );
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
    fn the_agents_own_options_stay_and_their_values_are_no_sweeps() {
        let taken = |own: &str| {
            format!("the sweep {own} of yard.toml:1 is taken, and not me/digits/b2 of --wandb")
        };
        check(
            r#"["wandb", "agent", "u/p/id1", "--count", "3"]"#,
            "wandb agent --count 1 u/p/id1",
            Some(&taken("u/p/id1")),
        );
        check(
            r#"["wandb", "agent", "--forward-signals", "--count=2", "u/p/id1"]"#,
            "wandb agent --count 1 --forward-signals u/p/id1",
            Some(&taken("u/p/id1")),
        );
        check(
            r#"["wandb", "agent", "--project", "p", "-e", "u", "id1"]"#,
            "wandb agent --count 1 --project p -e u id1",
            Some(&taken("id1")),
        );
    }

    #[test]
    fn an_agent_in_a_shells_text_is_refused() {
        let text = "command = [\"sh\", \"-c\", \"cd x && wandb agent u/p/id1\"]\n";
        let (mut file, _) = RunFile::parse(text, "yard.toml");
        let sweep = WandbSweep::new("me/digits/b2").unwrap();
        let refused = sweep.apply(&mut file).unwrap_err().what;
        assert!(refused.contains("can't be read"), "{refused}");
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
