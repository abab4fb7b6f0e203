//! `yard attach`

use super::follow::say_outage;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::printer::Printer;
use clap::Args as ClapArgs;
use runs::Run;
use runs::select_live;
use std::ffi::OsString;
use std::io::IsTerminal;
use std::os::unix::process::CommandExt;
use std::process::Command;
use train::EnvChange;

/// Open a shell inside a running job, beside its ranks
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
    options.extend(selected.run.as_ref().map_or_else(Vec::new, beside_ranks));
    if args.command.is_empty() {
        options.push(std::env::var_os(sys::env_vars::SHELL).unwrap_or_else(|| "/bin/bash".into()));
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

/// Options and words before the command that give it the ranks' folder and rank 0's `YARD_*`; none
/// before the ranks are started.
fn beside_ranks(run: &Run) -> Vec<OsString> {
    let last = run.starts.last();
    let Some(launch) = last.and_then(|start| run.folder.read_launch(start.attempt, 0).ok()) else {
        return Vec::new();
    };
    let variables = launch.ranks.first().into_iter().flat_map(|rank| &rank.env);
    let variables = variables.filter_map(|(name, change)| match change {
        EnvChange::Set(value) if name.starts_with("YARD_") => Some(format!("{name}={value}")),
        _ => None,
    });
    let chdir = format!("--chdir={}", launch.cwd.display());
    let before = [chdir, "env".to_owned()].into_iter();
    before.chain(variables).map(OsString::from).collect()
}
