//! `yard engine ls`.

use crate::exit_code;
use crate::failure::Outcome;
use crate::printer::Printer;
use crate::words;
use api::Client;
use runs::{engine_dir, engine_names, places};
use serde_json::json;

/// Runs `yard engine ls`: a look, which starts none.
pub fn run(is_json: bool, printer: &Printer) -> Outcome {
    let places = places()?;
    let mut rows: Vec<Vec<String>> = Vec::new();
    let mut values = Vec::new();
    for name in engine_names(&places) {
        let dir = engine_dir(&places, &name);
        // One of another version is not asked for more than that it is there.
        let facts = match Client::connect_running(&dir) {
            Ok(Some(mut client)) => client.facts().ok(),
            Ok(None) | Err(_) => None,
        };
        values.push(json!({
            "name": name,
            "running": facts.is_some(),
            "state": dir,
            "nodes": facts.as_ref().map(|facts| facts.nodes.iter().filter(|node| !node.is_virtual).count()),
            "jobs_running": facts.as_ref().map(|facts| facts.running),
            "jobs_waiting": facts.as_ref().map(|facts| facts.pending),
        }));
        rows.push(match &facts {
            None => vec![
                name,
                "stopped".to_owned(),
                String::new(),
                String::new(),
                String::new(),
            ],
            Some(facts) => vec![
                name,
                "runs".to_owned(),
                if facts.is_pretended {
                    super::nodes_words(facts)
                } else {
                    "this machine".to_owned()
                },
                facts.running.to_string(),
                facts.pending.to_string(),
            ],
        });
    }
    if is_json {
        printer.line(&serde_json::Value::Array(values).to_string());
    } else {
        let head = ["NAME", "ENGINE", "NODES", "RUNNING", "WAITING"];
        printer.shown(&words::table(&head, &rows));
    }
    Ok(exit_code::DONE)
}
