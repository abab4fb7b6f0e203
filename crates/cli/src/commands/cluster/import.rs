//! `yard cluster import`

use super::files;
use crate::commands::place::places;
use crate::exit_code;
use crate::failure::{Failure, Outcome};
use crate::printer::Printer;
use clap::Args as ClapArgs;
use model::cluster::{ImportInput, import};
use std::path::{Path, PathBuf};

/// Print a cluster file made of a Slurm's own configuration
///
/// What can't be carried over stands in comments at its end.
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// The cluster's slurm.conf; files that it includes are read from beside it
    #[arg(long, value_name = "FILE")]
    slurm_conf: PathBuf,
    /// Its gres.conf
    #[arg(long, value_name = "FILE")]
    gres_conf: Option<PathBuf>,
    /// What `sacctmgr dump CLUSTER` wrote
    #[arg(long, value_name = "FILE")]
    dump: Option<PathBuf>,
    /// The cluster's name, where it isn't ClusterName
    #[arg(long)]
    name: Option<String>,
}

/// Runs `yard cluster import`.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    let slurm_conf = text(&args.slurm_conf)?;
    let gres_conf = args.gres_conf.as_deref().map(text).transpose()?;
    let dump = args.dump.as_deref().map(text).transpose()?;
    let folder = args.slurm_conf.parent().unwrap_or(Path::new("."));
    let imported = import(&ImportInput {
        name: args.name.as_deref(),
        slurm_conf: &slurm_conf,
        include: &|path| text(&folder.join(path)).ok(),
        gres_conf: gres_conf.as_deref(),
        dump: dump.as_deref(),
    });
    if imported.file.nodes.is_empty() {
        let what = format!("{} names no nodes", args.slurm_conf.display());
        return Err(Failure::new(exit_code::USAGE, what)
            .asked("a cluster file of it")
            .there("no line with NodeName=, and none in what it includes")
            .todo("name the slurm.conf of the controller: scontrol show config says where it is"));
    }
    printer.data(&imported.toml());
    let (said, daemons): (Vec<_>, Vec<_>) =
        imported.notes.iter().partition(|note| note.why.is_some());
    printer.say(&format!(
        "{}: {} not carried over, {} left out that concern daemons; both stand at its end",
        imported.file.name,
        said.len(),
        daemons.len()
    ));
    let own = files::folder(&places()?).join(format!("{}.toml", imported.file.name));
    printer.say(&format!(
        "keep it as {}, then: yard cluster check {}",
        own.display(),
        imported.file.name
    ));
    Ok(exit_code::DONE)
}

/// A configuration file's text. Names in other encodings than UTF-8 are read as well as they can be.
fn text(path: &Path) -> Result<String, Failure> {
    let bytes = std::fs::read(path).map_err(|error| {
        Failure::new(
            exit_code::IO,
            format!("{} can't be read: {error}", path.display()),
        )
        .todo("name a file that you may read")
    })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
