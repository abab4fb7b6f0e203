//! `yard engine ls`.

use crate::exit_code;
use crate::failure::Outcome;
use crate::printer::Printer;
use crate::words;
use api::{Client, ConnectError, EngineFacts, PROTOCOL};
use runs::{engine_dir, engine_names, places};
use serde_json::{Value, json};
use std::path::Path;

/// What a look at an engine finds.
enum Look {
    /// None answers.
    Stopped,
    /// It runs and says what it has.
    Runs(Box<EngineFacts>),
    /// It runs and speaks another protocol: it is asked for no more than that it is there.
    Speaks(u32),
    /// It is not known, and why.
    Unseen(String),
}

impl Look {
    fn at(dir: &Path) -> Look {
        let mut client = match Client::connect_running(dir) {
            Ok(Some(client)) => client,
            Ok(None) => return Look::Stopped,
            Err(ConnectError::Newer { protocol, .. }) => return Look::Speaks(protocol),
            Err(error) => return Look::Unseen(error.to_string()),
        };
        let protocol = client.engine().map(|engine| engine.protocol);
        match (protocol, client.facts()) {
            (Some(protocol), _) if protocol != PROTOCOL => Look::Speaks(protocol),
            (_, Ok(facts)) => Look::Runs(Box::new(facts)),
            (_, Err(error)) => Look::Unseen(error.to_string()),
        }
    }

    /// In the column of engines.
    fn word(&self) -> &'static str {
        match self {
            Look::Stopped => "stopped",
            Look::Runs(_) => "runs",
            Look::Speaks(protocol) if *protocol < PROTOCOL => "older",
            Look::Speaks(_) => "newer",
            Look::Unseen(_) => "not known",
        }
    }

    fn facts(&self) -> Option<&EngineFacts> {
        match self {
            Look::Runs(facts) => Some(facts),
            Look::Stopped | Look::Speaks(_) | Look::Unseen(_) => None,
        }
    }

    /// What there is to say of its nodes, else why that isn't known.
    fn nodes(&self) -> String {
        match self {
            Look::Stopped => String::new(),
            Look::Runs(facts) if facts.is_pretended => super::nodes_words(facts),
            Look::Runs(_) => "this machine".to_owned(),
            Look::Speaks(protocol) => {
                format!("runs with protocol {protocol}, this yard has {PROTOCOL}")
            }
            Look::Unseen(why) => why.clone(),
        }
    }

    fn json(&self, name: &str, dir: &Path) -> Value {
        let facts = self.facts();
        let nodes = |facts: &EngineFacts| {
            let nodes = facts.nodes.iter();
            nodes.filter(|node| !node.is_virtual).count()
        };
        json!({
            "name": name,
            "running": match self {
                Look::Stopped => Some(false),
                Look::Runs(_) | Look::Speaks(_) => Some(true),
                Look::Unseen(_) => None,
            },
            "protocol": match self {
                Look::Runs(_) => Some(PROTOCOL),
                Look::Speaks(protocol) => Some(*protocol),
                Look::Stopped | Look::Unseen(_) => None,
            },
            "state": dir,
            "nodes": facts.map(nodes),
            "jobs_running": facts.map(|facts| facts.running),
            "jobs_waiting": facts.map(|facts| facts.pending),
        })
    }
}

/// Runs `yard engine ls`: a look, which starts none.
pub fn run(is_json: bool, printer: &Printer) -> Outcome {
    let places = places()?;
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut values = Vec::new();
    for name in engine_names(&places) {
        let dir = engine_dir(&places, &name);
        let look = Look::at(&dir);
        values.push(look.json(&name, &dir));
        let jobs = |count: fn(&EngineFacts) -> String| look.facts().map_or_else(String::new, count);
        rows.push(vec![
            name,
            look.word().to_owned(),
            look.nodes(),
            jobs(|facts| facts.running.to_string()),
            jobs(|facts| facts.pending.to_string()),
        ]);
    }
    if is_json {
        printer.line(&Value::Array(values).to_string());
    } else {
        let head = ["NAME", "ENGINE", "NODES", "RUNNING", "WAITING"];
        printer.shown(&words::table(&head, &rows));
    }
    Ok(exit_code::DONE)
}
