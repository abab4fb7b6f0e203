//! `yard attach`

use super::follow::say_outage;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::printer::Printer;
use clap::Args as ClapArgs;
use folder::{LaunchFile, RunFolder};
use model::ContainerRuntime;
use runs::{Run, pin_program, places, select_live};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::unix::process::CommandExt;
use std::process::Command;
use train::EnvChange;

/// Open a shell inside a running job, beside its ranks and in their container
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// A run or a job, by id or name, or @ for the newest one
    #[arg(value_name = "RUN", default_value = "@")]
    run: String,
    /// On this node of the job; the first one if left out
    node: Option<String>,
    /// Run this instead of a shell
    #[arg(last = true)]
    command: Vec<OsString>,
}

/// Runs `yard attach`: an overlapping `srun` of one task.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    let mut selected = super::selected(select_live(&args.run), printer)?;
    let job = selected.job()?;
    let cluster = selected.cluster.name.clone();
    let view = selected.view_after_outage(&mut |seen| say_outage(&cluster, seen, printer))?;
    match view.map(|view| view.state) {
        Some(backend::ViewState::Running { .. }) => {}
        state => {
            let there = match state {
                Some(backend::ViewState::Waiting { reason }) => {
                    format!("it waits: {}", runs::say_wait(&reason))
                }
                _ => "it is over".to_owned(),
            };
            return Err(Failure::new(
                FailureKind::Failed,
                format!("{} is not running", selected.name()),
            )
            .there(there)
            .todo("yard ls shows what runs"));
        }
    }
    let mut options: Vec<OsString> = vec![
        format!("--jobid={job}").into(),
        "--overlap".into(),
        "--nodes=1".into(),
        "--ntasks=1".into(),
        "--mem=0".into(),
    ];
    options.extend(
        args.node
            .as_ref()
            .map(|node| format!("--nodelist={node}").into()),
    );
    // Without a terminal a shell reads its commands from stdin, up to its end.
    if args.command.is_empty() && std::io::stdin().is_terminal() {
        options.push("--pty".into());
    }
    let beside = selected.run.as_ref().and_then(Beside::ranks_of);
    let notes = selected
        .run
        .as_ref()
        .map(|run| place_note(run, beside.as_ref()));
    if let Some(note) = notes.flatten() {
        printer.say(&note);
    }
    if let Some(beside) = &beside {
        options.extend(beside.before_command()?);
    }
    if args.command.is_empty() {
        let is_inside = beside.is_some_and(|beside| beside.launch.container.is_some());
        let own = std::env::var_os(sys::env_vars::SHELL).filter(|_| !is_inside);
        // The one that every image with a shell has.
        let other = if is_inside { "/bin/sh" } else { "/bin/bash" };
        options.push(own.unwrap_or_else(|| other.into()));
    } else {
        options.extend(args.command.iter().cloned());
    }
    if selected.cluster.is_embedded {
        let cluster = &selected.cluster.name;
        return Ok(crate::slurm::srun::run_code(cluster, &options, printer));
    }
    // This process becomes the srun, which owns the terminal from here on.
    let error = Command::new("srun").args(&options).exec();
    Err(Failure::new(
        FailureKind::Unreachable,
        format!("srun can't be started: {error}"),
    ))
}

/// Says of a run in a container whether the command is in one, too.
fn place_note(run: &Run, beside: Option<&Beside<'_>>) -> Option<String> {
    let (_, json) = RunFolder::open(run.folder.path()).ok()?;
    let image = json.plan.environment.container?.image.value;
    Some(
        match beside.and_then(|beside| beside.launch.container.as_ref()) {
            Some(container) => format!(
                "note: in a container of {image} by {}, with what the ranks' containers have",
                container.runtime
            ),
            None => format!(
                "note: on the node itself: no rank is started yet, whose container of {image} it could be in"
            ),
        },
    )
}

/// What ranks that were started have, and a command beside them gets.
struct Beside<'a> {
    run: &'a Run,
    launch: LaunchFile,
}

impl Beside<'_> {
    /// Of a run's last start; none before its ranks are started.
    fn ranks_of(run: &Run) -> Option<Beside<'_>> {
        let last = run.starts.last()?;
        let launch = run.folder.read_launch(last.attempt, 0).ok()?;
        Some(Beside { run, launch })
    }

    /// Options of `srun` and the words before the command.
    fn before_command(&self) -> Result<Vec<OsString>, Failure> {
        let launch = &self.launch;
        let mut before: Vec<OsString> = vec![format!("--chdir={}", launch.cwd.display()).into()];
        let container = launch.container.as_ref();
        if let Some(container) = container.filter(|it| it.runtime == ContainerRuntime::Pyxis) {
            // srun itself starts it, with an image that has no program of ours.
            before.extend(container.srun_options().into_iter().map(OsString::from));
            before.push("env".into());
            let of_container = container.environment(&BTreeMap::new());
            let of_rank = launch.ranks.first().into_iter().flat_map(|rank| &rank.env);
            let of_rank = of_rank.filter(|(name, _)| name.starts_with("YARD_"));
            let set = of_container.iter().chain(of_rank);
            before.extend(set.filter_map(|(name, change)| match change {
                EnvChange::Set(value) => Some(format!("{name}={value}").into()),
                EnvChange::Default(_) | EnvChange::Remove => None,
            }));
            return Ok(before);
        }
        let scratch = match self.run.scratch() {
            Some(scratch) => scratch.to_owned(),
            None => places()?.scratch,
        };
        let yard = pin_program(&scratch)?;
        before.extend([yard.into(), "job".into(), "attach".into()]);
        before.push(launch.attempt.to_string().into());
        before.push(self.run.folder.path().into());
        Ok(before)
    }
}
