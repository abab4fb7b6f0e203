//! A task whose process runs prologs first: the cluster's `TaskProlog`, then `srun --task-prolog`.

use model::{TaskPrologLine, task_prolog_lines};
use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::{Command, Stdio};

/// What Slurm calls each of the two: where it speaks of the program, and where of the failure.
const NAMES: [(&str, &str); 2] = [
    ("slurm task_prolog", "TaskProlog"),
    ("user task_prolog", "--task-prolog"),
];

/// Runs the prologs, each unless its path is empty, and becomes the program with `words`, of which the
/// first is its own name. Returns only where it did not come so far: the task's exit code.
#[must_use]
pub fn after_prologs(prologs: [&Path; 2], program: &OsStr, words: &[OsString]) -> u8 {
    let mut task = Command::new(program);
    if let Some((name, args)) = words.split_first() {
        task.arg0(name).args(args);
    }
    for (prolog, (name, option)) in prologs.into_iter().zip(NAMES) {
        if prolog.as_os_str().is_empty() {
            continue;
        }
        if let Err(status) = run(prolog, name, &mut task) {
            say(&format!("{option} failed status={status}"));
            return status;
        }
    }
    let error = task.exec();
    let words = without_number(&error);
    say(&format!("execve(): {}: {words}", program.display()));
    u8::try_from(error.raw_os_error().unwrap_or(1) & 0xff).unwrap_or(1)
}

/// Runs one and does to the task what it says; its exit code where that is not 0.
fn run(prolog: &Path, name: &str, task: &mut Command) -> Result<(), u8> {
    let refuse = |why: String| {
        say(&format!("run_command: {name} {why}"));
        say(&format!(
            "{name} did not exit normally. reason: Run command failed - configuration error"
        ));
        Err(1)
    };
    if !prolog.is_absolute() {
        let path = prolog.display();
        return refuse(format!("is not fully qualified pathname ({path})"));
    }
    let mut command = Command::new(prolog);
    command
        .env("SLURM_SCRIPT_CONTEXT", "prolog_task")
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    // What one has set is there for the next.
    for (name, value) in task.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            let words = without_number(&error);
            return refuse(format!(
                "can not be executed ({}) {words}",
                prolog.display()
            ));
        }
    };
    if !output.status.success() {
        let code = output.status.code();
        let code = code.unwrap_or_else(|| 128 + output.status.signal().unwrap_or(0));
        return Err(u8::try_from(code).unwrap_or(1));
    }
    for line in task_prolog_lines(&String::from_utf8_lossy(&output.stdout)) {
        match line {
            TaskPrologLine::Export(name, value) => {
                task.env(name, value);
            }
            TaskPrologLine::Unset(name) => {
                task.env_remove(name);
            }
            TaskPrologLine::Print(text) => {
                // Where nobody reads, the task itself finds out.
                let _ = writeln!(io::stdout(), "{text}");
            }
        }
    }
    Ok(())
}

fn say(text: &str) {
    let _ = writeln!(io::stderr(), "slurmstepd: error: {text}");
}

/// The system's words without Rust's error number.
fn without_number(error: &io::Error) -> String {
    let text = error.to_string();
    text.split_once(" (os error")
        .map_or(text.clone(), |(words, _)| words.to_owned())
}
