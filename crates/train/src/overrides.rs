//! What the command line says beside, or instead of, a run file.

use crate::keys::{self, Section};
use crate::reader::{From, Raw, Reader};
use crate::{Launcher, Problem, Resolved, ResourceSection, Source, render};
use model::TimeLimitRequest;
use std::fmt;

/// The flags of `yard run`: the strongest layer of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `--name`
    pub name: Option<Resolved<String>>,
    /// `--launcher`
    pub launcher: Option<Resolved<Launcher>>,
    /// `--repeat`
    pub repeat: Option<Resolved<u32>>,
    /// `--at-once`
    pub at_once: Option<Resolved<u32>>,
    /// What stands after `--`.
    pub command: Option<Resolved<Vec<String>>>,
    /// Slurm's flags.
    pub resources: ResourceSection,
}

/// A flag or a variable whose value is not understood; its text is what a person sees, several
/// lines.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct OverrideProblem {
    /// The flag and its value as text, `--time=25`.
    pub text: String,
    /// `command line` or `environment`.
    pub origin: &'static str,
    /// What is wrong; spans are of `text`.
    pub problem: Box<Problem>,
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

const COMMAND_LINE: &str = "command line";

impl fmt::Display for OverrideProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = render(&self.problem, &self.text, self.origin);
        let shown = shown.strip_prefix("error: ").unwrap_or(&shown);
        f.write_str(shown.trim_end())
    }
}

impl Overrides {
    /// Takes one flag: `flag` with its dashes as the person knows it, `key` the run file's own
    /// (`name`, `launcher`, `repeat`, `at_once`, or one of `[resources]`), `text` what was given.
    ///
    /// Values are read as in a run file, but for a time limit without a unit, which is minutes as
    /// Slurm's are.
    ///
    /// # Errors
    /// What is wrong with the text, or an unknown key.
    pub fn set(&mut self, flag: &str, key: &str, text: &str) -> Result<(), OverrideProblem> {
        let whole = format!("{flag}={text}");
        let from = From::Flag {
            flag: flag.to_owned(),
        };
        let mut reader = Reader::new(&whole, from);
        let raw = Raw::Flag(text, flag.len() + 1);
        match key {
            "name" => self.name = keys::name(&mut reader, raw),
            "launcher" => self.launcher = reader.word(&keys::LAUNCHER, raw),
            "repeat" => self.repeat = reader.count(&keys::REPEAT, raw),
            "at_once" => self.at_once = reader.count(&keys::AT_ONCE, raw),
            // Slurm's own form: minutes.
            "time" if is_number(text) => {
                let source = Source::Flag {
                    flag: flag.to_owned(),
                };
                let time = TimeLimitRequest::parse(text);
                self.resources.time = time.map(|time| Resolved::new(time, source));
            }
            "sbatch" => self.add_sbatch(&mut reader, flag, text),
            _ => match ResourceSection::key(key) {
                Some(known) => known.read_into(&mut self.resources, &mut reader, raw),
                None => {
                    let known = ResourceSection::names();
                    reader.unknown_key(0..flag.len(), key, "[resources]", &known);
                }
            },
        }
        match reader.problems.pop() {
            Some(problem) => Err(OverrideProblem {
                text: whole,
                origin: COMMAND_LINE,
                problem: Box::new(problem),
            }),
            None => Ok(()),
        }
    }

    /// Takes the command after `--`.
    ///
    /// # Errors
    /// An unknown placeholder.
    pub fn set_command(&mut self, command: Vec<String>) -> Result<(), OverrideProblem> {
        let whole = command.join(" ");
        let from = From::Flag {
            flag: "--".to_owned(),
        };
        let mut reader = Reader::new(&whole, from);
        let mut start = 0;
        for word in &command {
            reader.placeholders(word, start..start + word.len());
            start += word.len() + 1;
        }
        if let Some(problem) = reader.problems.into_iter().next() {
            return Err(OverrideProblem {
                text: whole,
                origin: COMMAND_LINE,
                problem: Box::new(problem),
            });
        }
        let source = Source::Flag {
            flag: COMMAND_LINE.to_owned(),
        };
        self.command = (!command.is_empty()).then(|| Resolved::new(command, source));
        Ok(())
    }

    /// One of several: each flag adds one.
    fn add_sbatch(&mut self, reader: &mut Reader<'_>, flag: &str, option: &str) {
        let start = flag.len() + 1;
        let mut options = match self.resources.sbatch.take() {
            Some(options) => options.value,
            None => Vec::new(),
        };
        if !option.starts_with('-') || option.contains(['\n', '\r']) {
            let help = "write it with its dashes and its value: --sbatch=--reservation=x";
            let message = format!("{option:?} is not an option of sbatch");
            reader.complain(start..start + option.len(), message, "", help);
            return;
        }
        options.push(option.to_owned());
        let source = Source::Flag {
            flag: flag.to_owned(),
        };
        self.resources.sbatch = Some(Resolved::new(options, source));
    }
}
