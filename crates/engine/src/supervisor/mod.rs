//! The holder of one step on one node: its own small process with one thread.
//!
//! ```text
//! spec ─► pid, sock ─► streams, tasks ─► wait, signal, relay ─► exit ─► word to the engine
//! ```

mod control;
mod ending;
mod launch;
mod processes;
mod relay;
mod run;
pub(crate) mod slurm_links;
mod step_files;
mod task_environment;
mod task_files;
mod task_streams;
#[cfg(test)]
mod test_spec;

use crate::spec::{StepSpec, Streams};
use control::Control;
use relay::Relay;
use run::Run;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use sys::process;
use sys::signals::SignalFd;

/// Between two attempts to write down how a step ended.
const ROOM_PAUSE: std::time::Duration = std::time::Duration::from_secs(1);

/// Runs the node's part of the step whose `spec` lies in `folder`, to its end. The process has one
/// thread when this is called, and ends with what it returns.
///
/// While its parent is the nursery, writing `exit` and ending is all that the engine needs. Once
/// the parent is another (the engine is gone, or came back) it calls `StepEnded` after writing
/// `exit`, and starts an engine where none answers.
#[must_use]
pub fn main(folder: &Path) -> ExitCode {
    match supervise(folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            log(&format!("{}: {error}", folder.display()));
            ExitCode::FAILURE
        }
    }
}

fn supervise(folder: &Path) -> io::Result<()> {
    let spec = step_files::read_spec(folder)?;
    let parent = process::parent_of_this();
    let boot_id = sys::boot_id();
    process::set_name(&format!("yard:{}.{}", spec.job, spec.step));
    process::become_subreaper()?;
    let signals = SignalFd::block(run::SIGNALS)?;
    // Before the socket: the one of another supervisor must stay.
    step_files::write_pid(folder, &boot_id)?;
    let mut control = Control::listen(folder)?;

    let mut tasks = Vec::new();
    let (mut relay, mut result) = match connect(&spec) {
        Ok(relay) => (relay, Ok(None)),
        Err(message) => (None, Err(message)),
    };
    if result.is_ok() {
        result = launch::launch(&spec, folder, relay.as_mut(), &mut tasks);
    }
    let (messages, launch_error) = match result {
        Ok(messages) => (messages, None),
        Err(message) => (None, Some(message)),
    };
    let mut run = Run::new(&spec, tasks, relay, messages);
    if launch_error.is_some() {
        run.give_up();
    }
    run.live(&signals, &mut control);

    // Before `srun` hears of it: the next step may be asked for at once.
    let exit = run.exit_file(boot_id, launch_error.clone());
    // On a full disk it waits for room: ending without a word would have the job run again.
    while step_files::write_exit(folder, &exit).is_err() && folder.is_dir() {
        std::thread::sleep(ROOM_PAUSE);
    }
    if let Some(relay) = run.into_relay() {
        relay.finish(launch_error);
    }
    if process::parent_of_this() != parent {
        tell_engine(&spec);
    }
    Ok(())
}

/// The connection with `srun`, for a step that has one.
fn connect(spec: &StepSpec) -> Result<Option<Relay>, String> {
    let Streams::Srun { listen, .. } = &spec.streams else {
        return Ok(None);
    };
    sys::socket::connect(listen)
        .and_then(|stream| Relay::new(stream, spec))
        .map(Some)
        .map_err(|error| format!("srun does not answer: {}", task_files::words(&error)))
}

/// Tells the engine that came after the one that started this step, or starts it.
fn tell_engine(spec: &StepSpec) {
    let told = api::Client::connect_with(&spec.engine, &spec.binary)
        .map_err(|error| error.to_string())
        .and_then(|mut client| {
            client
                .step_ended(spec.job, spec.restart, spec.step, spec.node_index)
                .map_err(|error| error.to_string())
        });
    if let Err(error) = told {
        log(&format!("step {}.{} ended: {error}", spec.job, spec.step));
    }
}

/// Writes a line to the engine's log, which is every supervisor's stderr.
fn log(text: &str) {
    let _ = writeln!(io::stderr(), "supervisor: {text}");
}
