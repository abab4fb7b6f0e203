//! `yard engine start`.

use crate::exit_code;
use crate::failure::{Failure, FailureKind, Outcome, not_done, unreachable};
use crate::printer::Printer;
use api::Client;
use clap::Args as ClapArgs;
use cluster_file::ClusterFile;
use model::{Severity, counted};
use runs::{
    AlikeNodes, NewCluster, cluster_files, engine_dir, engine_meant, is_engine, make_engine,
    no_such_engine, places,
};
use sys::Places;

/// What to start.
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// An engine of a cluster of its own; without a name this machine's
    name: Option<String>,
    /// Its cluster: a cluster file, or the name of one
    #[arg(
        long,
        value_name = "FILE|NAME",
        conflicts_with = "nodes",
        requires = "name"
    )]
    cluster: Option<String>,
    /// Its cluster: so many alike nodes
    #[arg(long, value_name = "NUMBER", requires = "name", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    nodes: Option<u32>,
    /// CPUs of each node; as many as this machine has, at least one for each GPU
    #[arg(long, value_name = "NUMBER", requires = "nodes", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    cpus_per_node: Option<u32>,
    /// Memory of each node; as much as this machine has
    #[arg(long, value_name = "SIZE", requires = "nodes")]
    memory_per_node: Option<String>,
    /// GPUs of each node
    #[arg(long, value_name = "NUMBER", requires = "nodes", value_parser = clap::value_parser!(u32).range(0..=64))]
    gpus_per_node: Option<u32>,
    /// Each node gets a network of its own, so that two programs can listen at one port on two nodes; as
    /// root by a bridge on this machine, else nodes reach each other alone
    #[arg(long, requires = "name")]
    networks: bool,
    /// Their type
    #[arg(long, value_name = "TYPE", requires = "gpus_per_node")]
    gpu_type: Option<String>,
}

/// Runs `yard engine start`.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    let places = places()?;
    let dir = match (&args.name, args.new_cluster()?) {
        (Some(name), Some(cluster)) => make_engine(&places, name, &cluster, engine::check_cluster)?,
        (Some(name), None) if is_engine(&places, name) => engine_dir(&places, name),
        (Some(name), None) => return Err(no_such_engine(&places, name)),
        (None, _) => engine_dir(&places, &engine_meant(&places)),
    };
    if let Some(asked) = &args.cluster {
        note_errors(&places, asked, printer)?;
    }
    if args.networks {
        let wanted = api::EngineFolder::new(&dir).networks();
        std::fs::write(&wanted, "").map_err(|error| {
            let what = format!("{} can't be written: {error}", wanted.display());
            Failure::new(FailureKind::Io, what)
        })?;
    }
    let mut client = Client::connect(&dir).map_err(unreachable)?;
    let facts = client.facts().map_err(not_done)?;
    printer.show_line(&format!(
        "engine {} runs (process {}, {})",
        facts.version,
        facts.pid,
        dir.display()
    ));
    if facts.is_pretended {
        let name = &facts.cluster;
        printer.show_line(&format!(
            "{name}: {}; they are pretended: jobs share this machine, and GPUs are numbers",
            super::nodes_words(&facts)
        ));
        printer.show_line(&format!(
            "yard run --on {name}; TRAINYARD_ENGINE={name} for sbatch, squeue and the others"
        ));
    }
    Ok(exit_code::DONE)
}

/// Says that a cluster file has what can't be so, or words that have no effect, which its engine goes on
/// without.
fn note_errors(places: &Places, asked: &str, printer: &Printer) -> Result<(), Failure> {
    let text = cluster_files::find(places, asked)?;
    let file = ClusterFile::parse(&text.name, &text.text).unwrap_or_default();
    let found = file.check();
    let errors = found.iter().filter(|one| one.severity == Severity::Error);
    let words = found
        .iter()
        .filter(|one| ["unknown-word", "no-effect"].contains(&one.code));
    let errors = (errors.count(), "error", "");
    let words = (words.count(), "word", " without effect");
    for (count, noun, how) in [errors, words].into_iter().filter(|(count, ..)| *count > 0) {
        let what = format!("{}{how}", counted(count, noun));
        printer.say(&format!(
            "note: {asked} has {what} that this engine passes over; yard cluster check {asked} shows what"
        ));
    }
    Ok(())
}

impl Args {
    fn new_cluster(&self) -> Result<Option<NewCluster>, Failure> {
        if let Some(file) = &self.cluster {
            return Ok(Some(NewCluster::File(file.clone())));
        }
        let Some(nodes) = self.nodes else {
            return Ok(None);
        };
        let memory = match &self.memory_per_node {
            None => sys::memory::total_mib(),
            Some(text) => model::parse_mebibytes(text).ok_or_else(|| {
                Failure::new(
                    FailureKind::Usage,
                    format!("--memory-per-node {text} is no size"),
                )
                .todo("write 64G or 500M")
            })?,
        };
        let gpus = self.gpus_per_node.unwrap_or(0);
        let there = || u32::try_from(sys::cpu::available().len()).unwrap_or(u32::MAX);
        Ok(Some(NewCluster::Nodes(AlikeNodes {
            nodes,
            cpus: self.cpus_per_node.unwrap_or_else(|| there().max(gpus)),
            memory,
            gpus,
            gpu_type: self.gpu_type.clone(),
        })))
    }
}
