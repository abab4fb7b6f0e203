//! `yard engine`: the embedded engines by hand. This machine's own starts by itself on first use.

mod ls;
mod nodes;
mod preempt;
mod rm;
mod start;

use super::why::out_of_use;
use crate::exit_code;
use crate::failure::{Failure, Outcome, not_done, unreachable};
use crate::other_engines::cpus_held_elsewhere;
use crate::printer::Printer;
use crate::words;
use api::{Client, EngineFacts, HelloAnswer, NodeChange};
use clap::{Args as ClapArgs, Subcommand};
use runs::{engine_dir, engine_meant, engines_asked, is_engine, no_such_engine, places};
use serde_json::json;
use std::path::PathBuf;

/// Start, stop or look at the embedded engines
#[derive(Debug, ClapArgs)]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Start one, if it doesn't run yet
    ///
    /// Without a name it is this machine's own. With one it is an engine of a cluster of its own:
    /// nodes of a cluster file, or so many alike ones, pretended on this machine. It is kept with
    /// its cluster: once it was started, its name is enough.
    Start(start::Args),
    /// Stop one; running jobs keep running, and the engine starts again when one of them ends
    Stop {
        /// Its name; without one this machine's own
        name: Option<String>,
    },
    /// Remove a stopped one that has no unfinished job, with its cluster and what it knows of its jobs
    Rm {
        /// Its name
        name: String,
    },
    /// List the embedded engines of this machine
    Ls {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Have nodes of a cluster answer no more: what runs there is killed at once, and they take no jobs
    FailNode(nodes::Args),
    /// Have nodes answer again: those take jobs that may by the cluster's ReturnToService
    RestoreNode(nodes::Args),
    /// Take a running job's place: it goes back to the queue, ends or stops, as if for another job
    Preempt(preempt::Args),
    /// Show what one is and has
    Status {
        /// Its name; without one this machine's own
        name: Option<String>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
}

/// Runs `yard engine`.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    match &args.verb {
        Verb::Start(args) => start::run(args, printer),
        Verb::Stop { name } => stop_one(name.as_deref(), printer),
        Verb::Rm { name } => rm::run(name, printer),
        Verb::Ls { json } => ls::run(*json, printer),
        Verb::FailNode(args) => nodes::run(args, NodeChange::Lost, printer),
        Verb::RestoreNode(args) => nodes::run(args, NodeChange::Back, printer),
        Verb::Preempt(args) => preempt::run(args, printer),
        Verb::Status { name, json } => status(name.as_deref(), *json, printer),
    }
}

/// The folder of the engine of a name; without one that of this job or machine.
fn dir_of(name: Option<&str>) -> Result<PathBuf, Failure> {
    let places = places()?;
    match name {
        None => Ok(engine_dir(&places, &engine_meant(&places))),
        Some(name) if is_engine(&places, name) => Ok(engine_dir(&places, name)),
        Some(name) => Err(no_such_engine(&places, name)),
    }
}

fn stop_one(name: Option<&str>, printer: &Printer) -> Outcome {
    match Client::connect_running(&dir_of(name)?).map_err(unreachable)? {
        Some(client) if client.engine().is_some_and(is_older) => {
            client.stop().map_err(not_done)?;
            printer.show_line("engine stopped; running jobs keep running");
        }
        Some(client) => {
            let facts = stop(client)?;
            printer.show_line(&stopped(&facts));
        }
        None => printer.show_line("no engine runs"),
    }
    Ok(exit_code::DONE)
}

fn status(name: Option<&str>, json: bool, printer: &Printer) -> Outcome {
    let dir = dir_of(name)?;
    let client = Client::connect_running(&dir).map_err(unreachable)?;
    if let Some(engine) = client.as_ref().and_then(Client::engine)
        && is_older(engine)
        && !json
    {
        printer.show_line(&format!(
            "engine {} · process {} · older than this yard, which replaces it at its next command \
             for jobs; running jobs keep running",
            engine.version, engine.pid
        ));
        return Ok(exit_code::DONE);
    }
    match client {
        Some(mut client) => {
            let facts = client.facts().map_err(not_done)?;
            if json {
                printer.line(&status_json(&facts).to_string());
            } else {
                printer.shown(&status_text(&facts));
            }
            Ok(exit_code::DONE)
        }
        None if json => {
            printer.line(&json!({ "running": false, "state": dir }).to_string());
            Ok(exit_code::FAILED)
        }
        None => {
            printer.show_line(&match name {
                None => not_running(&engines_asked(&places()?)),
                Some(name) => format!(
                    "{name} does not run; yard engine start {name} starts it, and so does yard run \
                     --on {name}"
                ),
            });
            Ok(exit_code::FAILED)
        }
    }
}

/// What is said where this machine's own engine does not run; `asked` are those that do, and it.
fn not_running(asked: &[String]) -> String {
    let others: Vec<&str> = asked
        .iter()
        .map(String::as_str)
        .filter(|name| *name != backend::LOCAL)
        .collect();
    match others.as_slice() {
        [] => "no engine runs; yard engine start starts one, and so does yard run".to_owned(),
        [one] => {
            format!("this machine's own engine does not run; {one} does: yard engine status {one}")
        }
        others => format!(
            "this machine's own engine does not run; {} do: yard engine ls",
            others.join(", ")
        ),
    }
}

/// Whether the engine understands no more than to hand over.
fn is_older(engine: &HelloAnswer) -> bool {
    engine.protocol < api::PROTOCOL
}

fn stop(mut client: Client) -> Result<EngineFacts, Failure> {
    let facts = client.facts().map_err(not_done)?;
    client.stop().map_err(not_done)?;
    Ok(facts)
}

fn stopped(facts: &EngineFacts) -> String {
    match facts.running {
        0 => "engine stopped".to_owned(),
        1 => "engine stopped; 1 job keeps running, and the engine starts again when it ends"
            .to_owned(),
        n => format!(
            "engine stopped; {n} jobs keep running, and the engine starts again when one ends"
        ),
    }
}

fn status_text(facts: &EngineFacts) -> String {
    let gpus = match facts.gpus.as_slice() {
        [] => "no GPU".to_owned(),
        [one] => format!("1 GPU ({one})"),
        all => format!("{} GPUs ({})", all.len(), model::counted_gpus(all)),
    };
    let machine = if facts.is_pretended {
        format!("nodes     {} ·", nodes_words(facts))
    } else {
        "machine  ".to_owned()
    };
    let up = words::length(sys::now() - facts.since.0);
    let mut text = format!(
        "engine    {} · process {} · up {up}\n\
         state     {}\n\
         {machine} {} CPUs ({} in use) · {} · {gpus}\n\
         jobs      {} running, {} waiting\n",
        facts.version,
        facts.pid,
        facts.state.display(),
        facts.cpus,
        facts.cpus_used,
        memory_words(facts.memory),
        facts.running,
        facts.pending,
    );
    for away in &facts.out_of_use {
        text.push_str(&format!("no jobs   {}\n", out_of_use(away)));
    }
    for note in notes(facts) {
        text.push_str(&format!("note      {note}\n"));
    }
    for loss in &facts.losses {
        text.push_str(&format!("lost      {loss}\n"));
    }
    text
}

/// Memory of that many MiB: `94.2 GiB`.
fn memory_words(mebibytes: u64) -> String {
    let gibibytes = mebibytes as f64 / 1024.0;
    if gibibytes < 1024.0 {
        format!("{gibibytes:.1} GiB")
    } else {
        format!("{:.1} TiB", gibibytes / 1024.0)
    }
}

/// How many nodes of how many kinds it has: `4 nodes`.
fn nodes_words(facts: &EngineFacts) -> String {
    match facts.nodes.len() {
        1 => "1 node".to_owned(),
        count => format!("{count} nodes"),
    }
}

fn status_json(facts: &EngineFacts) -> serde_json::Value {
    json!({
        "running": true,
        "version": facts.version,
        "pid": facts.pid,
        "since": facts.since,
        "state": facts.state,
        "cluster": facts.cluster,
        "pretended": facts.is_pretended,
        "nodes": facts.nodes.iter().filter(|node| !node.is_virtual).count(),
        "cpus": facts.cpus,
        "cpus_used": facts.cpus_used,
        "memory_mib": facts.memory,
        "gpus": facts.gpus,
        "jobs_running": facts.running,
        "jobs_waiting": facts.pending,
        "out_of_use": facts.out_of_use,
        "notes": notes(facts).collect::<Vec<_>>(),
        "losses": facts.losses,
    })
}

/// What a person should know of it, a sentence each.
fn notes(facts: &EngineFacts) -> impl Iterator<Item = String> + '_ {
    let others = cpus_held_elsewhere(&facts.cpus_held_elsewhere);
    facts.limits.iter().cloned().chain(others)
}
