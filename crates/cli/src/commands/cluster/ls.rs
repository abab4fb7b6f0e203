//! `yard cluster ls`

use crate::exit_code;
use crate::failure::Outcome;
use crate::printer::Printer;
use crate::words;
use clap::Args as ClapArgs;
use cluster_file::{ClusterFile, Nodes, Sourced};
use runs::cluster_files::{self as files, ClusterText, Kind};
use runs::places;
use serde_json::{Value, json};

/// List clusters: what answers here, your cluster files, and those that come with yard
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// One line.
struct Row {
    name: String,
    from: &'static str,
    nodes: Option<u32>,
    /// Some of that count is assumed.
    guessed: bool,
    gpus: String,
    assumed: usize,
    about: String,
}

/// Runs `yard cluster ls`.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    let (texts, mut problems) = files::all(&places()?);
    let mut rows = present(&mut problems);
    for text in &texts {
        match ClusterFile::parse(&text.name, &text.text) {
            Ok(file) => rows.push(row(text, &file)),
            Err(found) => problems.push(format!(
                "{} can't be read: {} (yard cluster check {} shows all)",
                text.origin,
                found.first().map_or("", |problem| &problem.message),
                text.name
            )),
        }
    }
    if args.json {
        let rows: Vec<Value> = rows.iter().map(row_json).collect();
        printer.line(&json!({ "clusters": rows, "problems": problems }).to_string());
        return Ok(exit_code::DONE);
    }
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            vec![
                row.name.clone(),
                row.from.to_owned(),
                match (row.nodes, row.guessed) {
                    (None, _) => "–".to_owned(),
                    (Some(nodes), true) => format!("{nodes}?"),
                    (Some(nodes), false) => nodes.to_string(),
                },
                words::shortened(&row.gpus, 26),
                words::shortened(&row.about, 46),
            ]
        })
        .collect();
    printer.shown(&words::fitted(
        &["CLUSTER", "FROM", "NODES", "GPUS", "WHAT IT IS"],
        &cells,
        printer.width(),
    ));
    for problem in &problems {
        printer.say(&words::folded(&format!("note: {problem}"), 96, 4));
    }
    Ok(exit_code::DONE)
}

/// What answers on this machine.
fn present(problems: &mut Vec<String>) -> Vec<Row> {
    let mut rows = vec![Row {
        name: backend::LOCAL.to_owned(),
        from: "here",
        nodes: Some(1),
        guessed: false,
        gpus: String::new(),
        assumed: 0,
        about: "this machine, by yard's own engine".to_owned(),
    }];
    match backend::discover() {
        Ok(None) => {}
        Ok(Some(found)) => {
            let gpus = found.facts.nodes.iter().flat_map(|group| {
                let count = group.count;
                group.gpus.iter().map(move |gpu| {
                    let kind = gpu.kind.clone().unwrap_or_else(|| "GPU".to_owned());
                    (kind, gpu.count.saturating_mul(count), false)
                })
            });
            rows.push(Row {
                nodes: Some(found.facts.nodes.iter().map(|group| group.count).sum()),
                guessed: false,
                gpus: counted(gpus),
                name: found.facts.name,
                from: "here",
                assumed: 0,
                about: format!("Slurm {} that answers here", found.version),
            });
        }
        Err(error) => problems.push(error.to_string()),
    }
    rows
}

fn row(text: &ClusterText, file: &ClusterFile) -> Row {
    let gpus = file.gpus(None).into_iter().map(|kind| {
        let model = kind.gpu.model.as_ref().or(kind.gpu.kind.as_ref());
        let name = model.map_or("GPU".to_owned(), |model| model.value.clone());
        let count = kind.gpu.count.as_ref();
        let each = count.map_or(1, |count| count.value);
        let guessed = count.is_some_and(Sourced::is_assumed) || is_guessed(kind.nodes);
        (
            name,
            each.saturating_mul(file.count_of(kind.nodes)),
            guessed,
        )
    });
    Row {
        name: text.name.clone(),
        from: match text.kind {
            Kind::Shipped => "shipped",
            Kind::Own | Kind::Named => "yours",
        },
        nodes: Some(
            file.nodes
                .iter()
                .map(|nodes| file.count_of(nodes))
                .fold(0, u32::saturating_add),
        ),
        guessed: file.nodes.iter().any(|nodes| is_guessed(nodes)),
        gpus: counted(gpus),
        assumed: file.assumed().len(),
        about: file
            .about
            .as_ref()
            .map_or(String::new(), |about| about.value.clone()),
    }
}

/// Whether the number of nodes of a group is a guess.
fn is_guessed(nodes: &Nodes) -> bool {
    match (&nodes.names, &nodes.count) {
        (None, Some(count)) => count.is_assumed(),
        (names, _) => names.as_ref().is_some_and(Sourced::is_assumed),
    }
}

/// `12 v100, 4? a100`, in the order in which they come; `?` behind a count of which some is assumed.
fn counted(gpus: impl Iterator<Item = (String, u32, bool)>) -> String {
    let mut sums: Vec<(String, u32, bool)> = Vec::new();
    for (kind, count, guessed) in gpus {
        match sums.iter_mut().find(|(known, ..)| *known == kind) {
            Some((_, sum, some)) => (*sum, *some) = (sum.saturating_add(count), *some || guessed),
            None => sums.push((kind, count, guessed)),
        }
    }
    let parts: Vec<String> = sums
        .iter()
        .map(|(kind, count, guessed)| match guessed {
            true => format!("{count}? {kind}"),
            false => format!("{count} {kind}"),
        })
        .collect();
    if parts.is_empty() {
        "–".to_owned()
    } else {
        parts.join(", ")
    }
}

fn row_json(row: &Row) -> Value {
    json!({
        "name": row.name,
        "from": row.from,
        "nodes": row.nodes,
        "gpus": row.gpus,
        "assumed_values": row.assumed,
        "about": row.about,
    })
}
