//! A program of Python's that is started on what a run has left, with the run's own environment
//! where that has it.

use crate::failure::{Failure, FailureKind, Outcome};
use crate::printer::Printer;
use clap::Args as ClapArgs;
use folder::RunFolder;
use runs::select;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use sys::ProgramPort;
use train::Python;

/// Which run, and where the program listens.
#[derive(Debug, ClapArgs)]
#[group(skip)]
pub struct Args {
    /// A run, by id or name, or @ for the newest one
    #[arg(value_name = "RUN", default_value = "@")]
    run: String,
    /// Its port; a free one without it
    #[arg(long)]
    port: Option<u16>,
}

/// Which program, and how it is started.
pub struct RunProgram {
    /// Its name.
    pub name: &'static str,
    /// What installs it.
    pub install: &'static str,
    /// Its arguments, of the run folder and its port.
    pub words: fn(&RunFolder, u16) -> Vec<String>,
}

/// Becomes the program, after its address was said.
pub fn start(program: &RunProgram, args: &Args, printer: &Printer) -> Outcome {
    let selected = super::selected(select(&args.run), printer)?;
    let Some(run) = &selected.run else {
        let what = format!(
            "{} is not a run of yard: it has no run folder",
            selected.name()
        );
        return Err(Failure::new(FailureKind::Usage, what).todo("name a run; yard ls lists them"));
    };
    let (folder, json) = RunFolder::open(&run.entry.folder).map_err(Failure::from)?;
    let made = json.environment.as_ref().map(|made| made.path.clone());
    let own = match &json.plan.environment.python.value {
        Python::Venv(path) | Python::CondaFolder(path) => Some(path.clone()),
        _ => made,
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let own = own.map(|path| path.join("bin"));
    let mut places = own.into_iter().chain(std::env::split_paths(&path));
    let found: Option<PathBuf> =
        places.find_map(|place| Some(place.join(program.name)).filter(|path| path.is_file()));
    let Some(found) = found else {
        let what = format!("{} is not installed", program.name);
        return Err(Failure::new(FailureKind::Failed, what)
            .there("neither the run's environment nor PATH has it")
            .todo(program.install));
    };
    let port = free_port(args.port)?;
    let host = sys::host_name();
    printer.say(&format!(
        "{} of {}: http://127.0.0.1:{port}",
        program.name, run.entry.id
    ));
    printer.say(&format!(
        "from elsewhere: ssh -N -L {port}:127.0.0.1:{port} {host}"
    ));
    let error = Command::new(&found)
        .args((program.words)(&folder, port))
        .exec();
    let what = format!("{} can't be started: {error}", found.display());
    Err(Failure::new(FailureKind::Io, what))
}

fn free_port(wanted: Option<u16>) -> Result<u16, Failure> {
    let here = Ipv4Addr::LOCALHOST;
    let port = match wanted {
        Some(port) => TcpListener::bind((here, port)).map(|_free| port),
        None => ProgramPort::choose(here).map(|port| port.number()),
    };
    port.map_err(|error| {
        let what = format!("port {} can't be used: {error}", wanted.unwrap_or(0));
        Failure::new(FailureKind::Io, what).todo("leave --port out for a free one")
    })
}
