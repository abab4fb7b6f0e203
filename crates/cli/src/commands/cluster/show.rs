//! `yard cluster show`

use super::sources;
use crate::exit_code;
use crate::failure::Outcome;
use crate::printer::Printer;
use crate::words::{fitted, shortened};
use clap::Args as ClapArgs;
use cluster_file::{
    ClusterFile, Entry, GpuKind, GpuOption, Named, NodeSet, Partition, Section, Source, Sourced,
};
use model::counted;
use runs::cluster_files as files;
use runs::places;
use std::fmt::Display;

/// Show what a cluster has and allows
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// A cluster's name, or a file
    cluster: String,
    /// Every value with the place where it is said
    #[arg(long)]
    sources: bool,
    /// As a cluster file, in its canonical form
    #[arg(long, conflicts_with = "sources")]
    toml: bool,
    /// As JSON, each value with its source
    #[arg(long, conflicts_with_all = ["sources", "toml"])]
    json: bool,
}

/// Runs `yard cluster show`.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    let file = files::read(&places()?, &args.cluster)?;
    if args.json {
        printer.line(&sources::json(&file).to_string());
    } else if args.toml {
        printer.data(&file.to_string());
    } else if args.sources {
        printer.shown(&sources::lines(&file, printer.width()));
    } else {
        printer.shown(&overview(&file, printer.width()));
    }
    Ok(exit_code::DONE)
}

/// All of it in tables of at most so many columns.
fn overview(file: &ClusterFile, width: usize) -> String {
    let mut blocks = vec![
        head(file, width),
        partitions(file, width),
        gpus(file, width),
        qos(file, width),
        users(file, width),
    ];
    blocks.push(rest(file, width));
    blocks.push(foot(file));
    blocks.retain(|block| !block.is_empty());
    blocks.join("\n")
}

/// A value with its mark: `?` where it is assumed, `!` where two things are said.
fn mark<T>(value: &Sourced<T>, text: impl Display) -> String {
    match (value.is_assumed(), value.is_disputed()) {
        (true, _) => format!("{text}?"),
        (false, true) => format!("{text}!"),
        (false, false) => text.to_string(),
    }
}

fn cell<T: Display>(value: &Option<Sourced<T>>) -> String {
    value
        .as_ref()
        .map_or("–".to_owned(), |value| mark(value, &value.value))
}

fn entry(entries: &[Entry], key: &str) -> String {
    entries
        .iter()
        .find(|entry| entry.key == key)
        .map_or("–".to_owned(), marked)
}

fn marked(entry: &Entry) -> String {
    match (&entry.source, entry.others.is_empty()) {
        (Source::Assumed(_), _) => format!("{}?", entry.plain),
        (_, false) => format!("{}!", entry.plain),
        (_, true) => entry.plain.clone(),
    }
}

fn head(file: &ClusterFile, width: usize) -> String {
    let about = file
        .about
        .as_ref()
        .map_or(String::new(), |about| format!(": {}", about.value));
    let mut text = format!("{}\n", shortened(&format!("{}{about}", file.name), width));
    let entries = file.entries();
    let mut facts = Vec::new();
    if file.slurm.is_some() {
        facts.push(format!("Slurm {}", entry(&entries, "slurm")));
    }
    if file.internet.is_some() {
        facts.push(format!("internet: {}", entry(&entries, "internet")));
    }
    if file.submit_from_nodes.is_some() {
        facts.push(format!(
            "jobs can submit jobs: {}",
            entry(&entries, "submit_from_nodes")
        ));
    }
    if file.mail_domain.is_some() {
        facts.push(format!("mail: {}", entry(&entries, "mail_domain")));
    }
    if !facts.is_empty() {
        text.push_str(&format!("  {}\n", shortened(&facts.join(" · "), width - 2)));
    }
    if let Some(document) = &file.document {
        text.push_str(&format!("  from {}\n", shortened(document, width - 8)));
    }
    text
}

fn partitions(file: &ClusterFile, width: usize) -> String {
    if file.partitions.is_empty() {
        return String::new();
    }
    let mut rows = Vec::new();
    for partition in &file.partitions {
        let entries = partition.entries();
        let is_default = partition.default.as_ref().filter(|default| default.value);
        let name = match is_default {
            Some(default) => mark(default, format!("{}*", partition.name)),
            None => partition.name.clone(),
        };
        let first = [
            name,
            entry(&entries, "max_time"),
            entry(&entries, "default_time"),
            entry(&entries, "max_nodes"),
        ];
        let sets = file.nodes_of(partition);
        let notes = shortened(&notes(partition), 24);
        // A kind of nodes is a line; what the partition says stands on the first.
        for (index, set) in sets.iter().enumerate() {
            let mut row: Vec<String> = match index {
                0 => first.to_vec(),
                _ => vec![String::new(); first.len()],
            };
            row.extend(kind_of_nodes(set));
            row.push(if index == 0 {
                notes.clone()
            } else {
                String::new()
            });
            rows.push(row);
        }
        if sets.is_empty() {
            let mut row = first.to_vec();
            row.extend(["–", "–", "–", "–"].map(str::to_owned));
            row.push(notes);
            rows.push(row);
        }
    }
    let head = [
        "PARTITION",
        "TIME",
        "DEFAULT",
        "NODES/JOB",
        "NODES",
        "CPUS",
        "MEMORY",
        "GPUS",
        "",
    ];
    fitted(&head, &rows, width)
}

/// Count, CPUs, memory, GPUs.
fn kind_of_nodes(set: &NodeSet<'_>) -> [String; 4] {
    let nodes = set.nodes;
    let count = match (&nodes.count, &nodes.names) {
        (Some(count), _) if set.whole => mark(count, count.value),
        (_, Some(names)) => mark(names, set.count),
        _ => set.count.to_string(),
    };
    let gpus: Vec<String> = nodes
        .gpus
        .iter()
        .map(|gpu| {
            let model = gpu.model.as_ref().or(gpu.kind.as_ref());
            let model = model.map_or("GPUs".to_owned(), |model| model.value.clone());
            let count = gpu
                .count
                .as_ref()
                .map_or("?".to_owned(), |count| mark(count, count.value));
            format!("{count} {model}")
        })
        .collect();
    let gpus = if gpus.is_empty() {
        "–".to_owned()
    } else {
        gpus.join(", ")
    };
    [
        count,
        cell(&nodes.cpus),
        cell(&nodes.memory),
        shortened(&gpus, 24),
    ]
}

fn notes(partition: &Named<Partition>) -> String {
    let mut notes = Vec::new();
    if let Some(exclusive) = partition
        .exclusive
        .as_ref()
        .filter(|exclusive| exclusive.value)
    {
        notes.push(mark(exclusive, "whole nodes"));
    }
    if let Some(qos) = &partition.qos {
        notes.push(mark(qos, format!("QOS {}", qos.value)));
    }
    if let Some(accounts) = &partition.allow_accounts {
        notes.push(mark(accounts, format!("for {}", accounts.join(", "))));
    }
    if let Some(state) = &partition.state {
        notes.push(mark(state, state.value.word()));
    }
    notes.join(", ")
}

fn gpus(file: &ClusterFile, width: usize) -> String {
    let kinds = file.gpus(None);
    let rows: Vec<Vec<String>> = kinds
        .iter()
        .map(|kind| {
            vec![
                cell(&kind.gpu.model),
                cell(&kind.gpu.memory),
                format!("{} × {}", file.count_of(kind.nodes), cell(&kind.gpu.count)),
                kind.nodes
                    .architecture
                    .as_ref()
                    .map_or("–".to_owned(), |arch| mark(arch, &arch.value)),
                asked_by(file, kind),
            ]
        })
        .collect();
    if rows.is_empty() {
        String::new()
    } else {
        fitted(
            &["GPU", "MEMORY", "NODES × GPUS", "MACHINE", "ASK BY"],
            &rows,
            width,
        )
    }
}

/// The options that ask for one kind of GPU.
fn asked_by(file: &ClusterFile, kind: &GpuKind<'_>) -> String {
    let typed = match &kind.gpu.kind {
        Some(kind) => format!("{}:", kind.value),
        None => String::new(),
    };
    let option = match file.policy.gpu_option.as_ref().map(|option| option.value) {
        Some(GpuOption::Gpus) => format!("--gpus={typed}N"),
        Some(GpuOption::GpusPerNode) => format!("--gpus-per-node={typed}N"),
        Some(GpuOption::Gres) | None => format!("--gres=gpu:{typed}N"),
    };
    match &kind.gpu.feature {
        Some(feature) => format!("{option} --constraint={}", feature.value),
        None => option,
    }
}

fn qos(file: &ClusterFile, width: usize) -> String {
    let rows: Vec<Vec<String>> = file
        .qos
        .iter()
        .map(|qos| {
            let entries = qos.entries();
            let jobs = |running: &str, all: &str| match (
                entry(&entries, running).as_str(),
                entry(&entries, all).as_str(),
            ) {
                ("–", "–") => "–".to_owned(),
                (running, "–") => format!("{running} run"),
                ("–", all) => format!("{all} in all"),
                (running, all) => format!("{running} run, {all} in all"),
            };
            vec![
                qos.name.clone(),
                entry(&entries, "priority"),
                entry(&entries, "max_wall"),
                jobs("max_jobs_per_user", "max_submit_per_user"),
                shortened(&entry(&entries, "max_tres_per_job"), 24),
                shortened(&entry(&entries, "preempt"), 20),
            ]
        })
        .collect();
    if rows.is_empty() {
        String::new()
    } else {
        fitted(
            &[
                "QOS",
                "PRIORITY",
                "TIME",
                "JOBS OF A USER",
                "A JOB",
                "TAKES PLACES OF",
            ],
            &rows,
            width,
        )
    }
}

fn users(file: &ClusterFile, width: usize) -> String {
    let rows: Vec<Vec<String>> = file
        .users
        .iter()
        .map(|user| {
            let entries = user.entries();
            vec![
                if user.name == "*" {
                    "anyone".to_owned()
                } else {
                    user.name.clone()
                },
                shortened(&entry(&entries, "accounts"), 40),
                entry(&entries, "default_account"),
                shortened(&entry(&entries, "qos"), 24),
                entry(&entries, "default_qos"),
            ]
        })
        .collect();
    if rows.is_empty() {
        String::new()
    } else {
        fitted(
            &["USER", "ACCOUNTS", "DEFAULT", "QOS", "DEFAULT"],
            &rows,
            width,
        )
    }
}

/// Policy, paths and the rest, a line a value.
fn rest(file: &ClusterFile, width: usize) -> String {
    let mut text = String::new();
    let shown = [
        "lists",
        "policy",
        "paths",
        "node_local",
        "containers",
        "modules",
        "preemption",
        "programs",
        "scheduling",
        "limits",
    ];
    file.visit("", &mut |path, _, entries| {
        let top = path.split('.').next().unwrap_or_default();
        if !shown.contains(&top) || entries.is_empty() {
            return;
        }
        for (index, entry) in entries.iter().enumerate() {
            let title = if index == 0 {
                shortened(&path.replace("policy.gpu.", "policy "), 28)
            } else {
                String::new()
            };
            let key = entry.key.replace('_', " ");
            let line = format!("{title:<12} {key:<24} {}", marked(entry));
            text.push_str(&format!("{}\n", shortened(&line, width)));
        }
    });
    text
}

fn foot(file: &ClusterFile) -> String {
    let assumed = file.assumed().len();
    let mut disputed = 0;
    file.visit("", &mut |_, _, entries| {
        disputed += entries
            .iter()
            .filter(|entry| !entry.others.is_empty())
            .count();
    });
    let mut parts = Vec::new();
    if assumed > 0 {
        parts.push(format!("? {} assumed", counted(assumed, "value")));
    }
    if disputed > 0 {
        parts.push(format!(
            "! {} with two sources that differ",
            counted(disputed, "value")
        ));
    }
    if parts.is_empty() {
        String::new()
    } else {
        format!(
            "{}: yard cluster show {} --sources\n",
            parts.join(", "),
            file.name
        )
    }
}
