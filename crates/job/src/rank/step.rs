//! A task of a step, or a batch script, inside a container.

use super::container::{Inside, OverImage};
use super::private_copy::Copied;
use super::{ProgramError, RankError, Variables, command};
use crate::exit_code;
use crate::shell::Brought;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use std::collections::BTreeMap;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use train::{ContainerStart, EnvChange, Mount, RankCommand, is_misleading};

/// Where a batch script is inside.
const SCRIPT: &str = "/etc/trainyard-script";

/// Becomes a command in a container, which `text` says in JSON.
///
/// # Errors
/// It could not be started.
pub fn in_container(text: &str, words: &[String]) -> Result<u8, RankError> {
    enter(read(text)?, words.to_vec())
}

/// Becomes a batch script in a container.
///
/// # Errors
/// It could not be started.
pub fn script_in_container(text: &str, words: &[String]) -> Result<u8, RankError> {
    let mut container = read(text)?;
    let mut words = words.to_vec();
    if let Some(script) = words.first_mut() {
        let source = std::mem::replace(script, SCRIPT.to_owned());
        // Called by its name, an interpreter that the image lacks is what the runtime names.
        let interpreter = std::fs::read(&source).map(|text| interpreter(&text));
        words.splice(..0, interpreter.unwrap_or_default());
        container.mounts.push(Mount {
            source,
            target: SCRIPT.to_owned(),
            read_only: false,
        });
    }
    enter(container, words)
}

/// The interpreter that a script's first line names, with its argument, of which the kernel knows one.
fn interpreter(script: &[u8]) -> Vec<String> {
    let line = script.split(|byte| *byte == b'\n').next();
    let line = line.and_then(|line| line.strip_prefix(b"#!"));
    let line = line.map(String::from_utf8_lossy).unwrap_or_default();
    let mut words = line.trim().splitn(2, [' ', '\t']);
    let words = [words.next(), words.next()].into_iter().flatten();
    let words = words.map(str::trim).filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}

fn read(text: &str) -> Result<ContainerStart, RankError> {
    serde_json::from_str(text).map_err(|error| RankError::System {
        what: "reading what the container is started with",
        source: io::Error::other(error),
    })
}

fn enter(mut container: ContainerStart, argv: Vec<String>) -> Result<u8, RankError> {
    let cwd = std::env::current_dir().map_err(|source| RankError::System {
        what: "reading the working folder",
        source,
    })?;
    let mut variables: Variables = std::env::vars_os().collect();
    // Everything goes along, but for what would lead the image's programs astray.
    let names = variables.keys().filter_map(|name| name.to_str());
    let kept = |name: &str| container.kept_variables.iter().any(|own| own == name);
    let names = names.filter(|name| {
        let of_image = ["PATH", "HOME"].contains(name) || is_misleading(name);
        kept(name) || !of_image
    });
    let env = names.map(|name| (name.to_owned(), EnvChange::Remove));
    let rank = RankCommand {
        task: 0,
        node: 0,
        env: env.collect(),
        argv,
        binding: None,
    };
    let copied = Copied::make(&mut container)?;
    let inside = Inside {
        container: &container,
        rank: &rank,
        secrets: &BTreeMap::new(),
        name: None,
        over_image: OverImage::Named(&container.kept_variables),
    };
    let (program, words) = inside.start(&cwd, &mut variables)?;
    let held = Held { copied, data: None };
    start(&program, &words, &cwd, &variables, held)
}

/// What a program has on the node's disk, which is removed after it.
pub(super) struct Held {
    /// The copy of the image that it runs in, which is saved before.
    pub copied: Option<Copied>,
    /// What was staged for it.
    pub data: Option<Brought>,
}

/// Becomes a program, or waits for it where something has to be removed after it.
pub(super) fn start(
    program: &Path,
    words: &[String],
    cwd: &Path,
    variables: &Variables,
    held: Held,
) -> Result<u8, RankError> {
    let failed = |source| {
        let program = program.display().to_string();
        RankError::from(ProgramError::of(source, program, cwd))
    };
    let Held { copied, data } = held;
    if copied.is_none() && data.is_none() {
        return Err(failed(command(program, words, cwd, variables).exec()));
    }
    // They go to all processes of the task: what the program makes of them decides.
    for signal in [SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2] {
        let caught = Arc::new(AtomicBool::new(false));
        signal_hook::flag::register(signal, caught).map_err(|source| RankError::System {
            what: "catching signals",
            source,
        })?;
    }
    let status = command(program, words, cwd, variables)
        .status()
        .map_err(failed)?;
    // Tasks beside the first have copies of their own.
    let is_first = std::env::var("SLURM_PROCID").is_ok_and(|task| task == "0");
    let has_ended = is_first && exit_code::signal(status).is_none();
    if let Some(copied) = copied.filter(|_| has_ended) {
        copied.save()?;
    }
    Ok(u8::try_from(exit_code::of(status)).unwrap_or(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_first_line_names() {
        let check = |script: &str, want: &[&str]| {
            assert_eq!(interpreter(script.as_bytes()), want, "{script:?}");
        };
        check("#!/bin/bash\necho", &["/bin/bash"]);
        check("#! /bin/bash -l \n", &["/bin/bash", "-l"]);
        check(
            "#!/usr/bin/env -S python -u\n",
            &["/usr/bin/env", "-S python -u"],
        );
        check("echo\n", &[]);
        check("", &[]);
    }
}
