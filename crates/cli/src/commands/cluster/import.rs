//! `yard cluster import`

use crate::exit_code;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::printer::Printer;
use clap::Args as ClapArgs;
use cluster_file::{ConfText, ImportInput, ImportNote, import};
use model::counted;
use runs::cluster_files as files;
use runs::input_file;
use runs::places;
use std::path::{Path, PathBuf};

/// Print a cluster file made of a Slurm's own configuration
///
/// What can't be carried over stands in comments at its end. Exits with 1 where something in the
/// files is what Slurm itself refuses.
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// The cluster's slurm.conf; what it includes is read too: from beside it where no path is given
    #[arg(long, value_name = "FILE")]
    slurm_conf: PathBuf,
    /// Its gres.conf
    #[arg(long, value_name = "FILE")]
    gres_conf: Option<PathBuf>,
    /// Its topology.conf, of topology/tree
    #[arg(long, value_name = "FILE")]
    topology_conf: Option<PathBuf>,
    /// What `sacctmgr dump CLUSTER` wrote
    #[arg(long, value_name = "FILE")]
    dump: Option<PathBuf>,
    /// The cluster's name, where it isn't ClusterName
    #[arg(long)]
    name: Option<String>,
}

/// Runs `yard cluster import`.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    let read = |path: &PathBuf| text(path).map(|text| (file_name(path), text));
    let slurm_conf = read(&args.slurm_conf)?;
    let gres_conf = args.gres_conf.as_ref().map(read).transpose()?;
    let topology_conf = args.topology_conf.as_ref().map(read).transpose()?;
    let dump = args.dump.as_ref().map(read).transpose()?;
    let folder = args.slurm_conf.parent().unwrap_or(Path::new("."));
    let imported = import(&ImportInput {
        name: args.name.as_deref(),
        slurm_conf: ConfText::new(&slurm_conf.0, &slurm_conf.1),
        include: &|path| text(&folder.join(path)).ok(),
        gres_conf: gres_conf
            .as_ref()
            .map(|(name, text)| ConfText::new(name, text)),
        topology_conf: topology_conf
            .as_ref()
            .map(|(name, text)| ConfText::new(name, text)),
        dump: dump.as_ref().map(|(name, text)| ConfText::new(name, text)),
    });
    for note in imported.notes.iter().filter(|note| note.refused) {
        printer.say(&format!("error: {note}"));
    }
    if imported.file.nodes.is_empty() {
        let what = format!("{} names no nodes", args.slurm_conf.display());
        return Err(Failure::new(FailureKind::Usage, what)
            .asked("a cluster file of it")
            .there("no line with NodeName=, and none in what it includes")
            .todo("name the slurm.conf of the controller: scontrol show config says where it is"));
    }
    printer.data(&imported.toml());
    let count = |is: fn(&ImportNote) -> bool| imported.notes.iter().filter(|note| is(note)).count();
    let refused = count(|note| note.refused);
    let name = &imported.file.name;
    printer.say(&format!(
        "{name:?}: {} not carried over, {} left out that concern daemons; all stand at its end",
        counted(count(|note| note.why.is_some()), "thing"),
        count(|note| note.why.is_none()),
    ));
    if is_file_name(name) {
        let own = files::folder(&places()?).join(format!("{name}.toml"));
        let own = quoted(&own.to_string_lossy());
        printer.say(&format!(
            "keep it as {own}, then: yard cluster check {name}"
        ));
    } else {
        printer.say("its name can't be a file's: give it another with --name")
    }
    if refused > 0 {
        printer.say(&format!(
            "{} that Slurm refuses, each with its line above",
            counted(refused, "thing")
        ));
        return Ok(exit_code::FAILED);
    }
    Ok(exit_code::DONE)
}

/// A name that can stand in a command line and for a file as it is.
fn is_file_name(name: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    name.chars().all(plain)
        && name.starts_with(|letter: char| letter.is_ascii_alphanumeric())
        && name != backend::LOCAL
}

/// A word of a shell's command line.
fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "._-/".contains(letter);
    if word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

/// A configuration file's text. Names in other encodings than UTF-8 are read as well as they can be.
fn text(path: &Path) -> Result<String, Failure> {
    Ok(input_file::read(path)?.into_text())
}
