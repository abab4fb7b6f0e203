//! `yard du`

use crate::exit_code;
use crate::failure::Outcome;
use crate::printer::Printer;
use crate::words;
use clap::Args as ClapArgs;
use folder::RunFolder;
use runs::{all_caches, indexed_runs, places};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Show what runs, caches and node-local folders hold on disks
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// What lies in one place.
struct Held {
    kind: &'static str,
    name: String,
    bytes: u64,
    /// Of a run: its checkpoints.
    checkpoints: Option<u64>,
    path: PathBuf,
}

/// Runs `yard du`.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    let places = places()?;
    let other = |kind, path: &Path| Held {
        kind,
        name: "–".to_owned(),
        bytes: sys::tree_size(path),
        checkpoints: None,
        path: path.to_owned(),
    };
    let mut held = Vec::new();
    for entry in indexed_runs(&places)? {
        let folder = RunFolder::at(&entry.folder);
        held.push(Held {
            kind: "run",
            name: entry.id,
            bytes: sys::tree_size(folder.path()),
            checkpoints: Some(sys::tree_size(&folder.checkpoints())),
            path: entry.folder,
        });
    }
    held.extend(
        all_caches(&places)
            .iter()
            .map(|cache| other("cache", cache)),
    );
    held.push(other("state", &places.state));
    for disk in runs::node_disks(&places) {
        let node_local = job::leftovers::node_local_root(&disk);
        held.push(other("node-local", &node_local));
    }
    held.retain(|one| one.bytes > 0);
    held.sort_by_key(|one| one.bytes);
    if args.json {
        let rows: Vec<_> = held.iter().map(row_json).collect();
        printer.line(&json!({ "held": rows }).to_string());
        return Ok(exit_code::DONE);
    }
    let rows: Vec<Vec<String>> = held.iter().map(row).collect();
    let head = ["WHAT", "NAME", "SIZE", "CHECKPOINTS", "WHERE"];
    printer.shown(&words::fitted(&head, &rows, printer.width()));
    let all = held.iter().map(|one| one.bytes).sum();
    printer.show_line(&format!("{} in all", words::bytes(all)));
    Ok(exit_code::DONE)
}

fn row(one: &Held) -> Vec<String> {
    vec![
        one.kind.to_owned(),
        one.name.clone(),
        words::bytes(one.bytes),
        one.checkpoints.map_or_else(|| "–".to_owned(), words::bytes),
        one.path.display().to_string(),
    ]
}

fn row_json(one: &Held) -> serde_json::Value {
    json!({
        "kind": one.kind,
        "name": one.name,
        "bytes": one.bytes,
        "checkpoint_bytes": one.checkpoints,
        "path": one.path,
    })
}
