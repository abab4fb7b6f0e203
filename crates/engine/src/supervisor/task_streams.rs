//! The three standard streams of a task.

use super::labelled_lines::LabelledLines;
use super::relay::Relay;
use super::task_files::{TaskFiles, Unopened, words};
use crate::spec::{StepSpec, Streams};
use api::StepTask;
use api::step_io::TaskStream;
use model::LabelWidth;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;
use sys::process::User;

/// How long a disk that is full or read-only may keep a batch script from being started. Of an `srun`
/// a person may wait for the message.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// The task's ends of its streams.
pub(super) struct TaskStreams {
    pub(super) input: OwnedFd,
    pub(super) output: OwnedFd,
    pub(super) error: OwnedFd,
    /// All three are a terminal.
    pub(super) terminal: bool,
}

/// Where one stream goes, as `--output`, `--error` and `--input` of srun(1) say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place<'a> {
    /// `srun`'s own.
    Srun,
    /// `none`
    Null,
    /// A task's rank: `srun`'s own for this task, none for the others.
    Only(u32),
    /// A file.
    File(&'a str),
}

/// Opens the streams of every task, in their order; files with the rights of the job's owner.
pub(super) fn open(
    spec: &StepSpec,
    owner: Option<&User>,
    relay: Option<&mut Relay>,
    stop: &dyn Fn() -> bool,
) -> Result<Vec<TaskStreams>, String> {
    match (&spec.streams, relay) {
        (
            Streams::Files {
                output,
                error,
                input,
                open_mode,
            },
            _,
        ) => {
            let mut files = TaskFiles::new(spec, owner, *open_mode, (LONGEST_WAIT, stop));
            let open = |task| {
                let said = |unopened: Unopened| unopened.to_string();
                let input = match input {
                    Some(pattern) => files.input(pattern, task).map_err(said)?.into(),
                    None => null()?,
                };
                let output = OwnedFd::from(files.output(output, task).map_err(said)?);
                let error = match error {
                    Some(pattern) => files.output(pattern, task).map_err(said)?.into(),
                    None => copy(&output)?,
                };
                Ok(TaskStreams {
                    input,
                    output,
                    error,
                    terminal: false,
                })
            };
            spec.tasks.iter().map(open).collect()
        }
        (
            Streams::Srun {
                pty,
                output,
                error,
                input,
                open_mode,
                label,
                ..
            },
            Some(relay),
        ) => {
            let mut files = TaskFiles::new(spec, owner, *open_mode, (Duration::ZERO, stop));
            let places = Places {
                label: label.then(|| LabelWidth::of(spec.step_tasks)),
                input: Place::of(input.as_deref()),
                output: Place::of(output.as_deref()),
                // Where only the output is named, the error goes with it.
                error: error.as_deref().map(|text| Place::of(Some(text))),
            };
            let open = |task: &StepTask| {
                if *pty && task.rank == 0 {
                    let terminal = relay.terminal(task.rank).map_err(|error| system(&error))?;
                    return Ok(TaskStreams {
                        input: copy(&terminal)?,
                        output: copy(&terminal)?,
                        error: terminal,
                        terminal: true,
                    });
                }
                places.open(task, &mut files, relay, *pty)
            };
            spec.tasks.iter().map(open).collect()
        }
        (Streams::Srun { .. }, None) => Err("no connection with srun".to_owned()),
    }
}

/// Where the first task's errors go, if that is a file that can be opened.
pub(super) fn errors(spec: &StepSpec, owner: Option<&User>) -> Option<File> {
    let Streams::Files {
        output,
        error,
        open_mode,
        ..
    } = &spec.streams
    else {
        return None;
    };
    let mut files = TaskFiles::new(spec, owner, *open_mode, (Duration::ZERO, &|| true));
    let pattern = error.as_ref().unwrap_or(output);
    files.output(pattern, spec.tasks.first()?).ok()
}

struct Places<'a> {
    /// `--label`: of lines in files.
    label: Option<LabelWidth>,
    input: Place<'a>,
    output: Place<'a>,
    error: Option<Place<'a>>,
}

impl<'a> Place<'a> {
    fn of(text: Option<&'a str>) -> Place<'a> {
        match text {
            None | Some("all") => Place::Srun,
            Some("none") => Place::Null,
            Some(text) => match text.parse() {
                Ok(rank) => Place::Only(rank),
                Err(_) => Place::File(text),
            },
        }
    }

    /// The place for one task.
    fn for_rank(self, rank: u32) -> Place<'a> {
        match self {
            Place::Only(only) if only == rank => Place::Srun,
            Place::Only(_) => Place::Null,
            other => other,
        }
    }
}

impl Places<'_> {
    fn open(
        &self,
        task: &StepTask,
        files: &mut TaskFiles<'_>,
        relay: &mut Relay,
        pty: bool,
    ) -> Result<TaskStreams, String> {
        let input = match self.input.for_rank(task.rank) {
            // The terminal's keys are for task 0 alone.
            Place::Srun if !pty => relay.input().map_err(|error| system(&error))?,
            Place::File(pattern) => files
                .input(pattern, task)
                .map_err(|unopened| unopened.of_stream(pattern, "stdin"))?
                .into(),
            _ => null()?,
        };
        let mut written = |place: Place<'_>, stream| match place.for_rank(task.rank) {
            Place::Srun => relay
                .output(task.rank, stream)
                .map_err(|error| system(&error)),
            Place::File(pattern) => {
                let name = match stream {
                    TaskStream::Out => "stdout",
                    TaskStream::Err => "stderr",
                };
                let file = files.output(pattern, task);
                let file = file.map_err(|unopened| unopened.of_stream(pattern, name))?;
                // To a pipe or a terminal this process could not write without waiting for its reader.
                let is_plain = file.metadata().is_ok_and(|facts| facts.is_file());
                let Some(width) = self.label.filter(|_| is_plain) else {
                    return Ok(file.into());
                };
                let lines = LabelledLines::new(file, task.rank, width);
                relay
                    .labelled(task.rank, stream, lines)
                    .map_err(|error| system(&error))
            }
            Place::Null | Place::Only(_) => null(),
        };
        let output = written(self.output, TaskStream::Out)?;
        let error = match (self.error, self.output) {
            (Some(place), _) => written(place, TaskStream::Err)?,
            (None, Place::File(_)) if self.label.is_none() => copy(&output)?,
            (None, Place::Null) => copy(&output)?,
            (None, place) => written(place, TaskStream::Err)?,
        };
        Ok(TaskStreams {
            input,
            output,
            error,
            terminal: false,
        })
    }
}

fn null() -> Result<OwnedFd, String> {
    let null = File::options().read(true).write(true).open("/dev/null");
    null.map(OwnedFd::from).map_err(|error| system(&error))
}

fn copy(fd: &OwnedFd) -> Result<OwnedFd, String> {
    fd.try_clone().map_err(|error| system(&error))
}

fn system(error: &io::Error) -> String {
    format!("could not set up the task's streams: {}", words(error))
}
