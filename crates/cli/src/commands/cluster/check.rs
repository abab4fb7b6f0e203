//! `yard cluster check`

use crate::exit_code;
use crate::failure::Outcome;
use crate::printer::Printer;
use clap::Args as ClapArgs;
use cluster_file::{ClusterFile, Contradiction};
use model::Severity;
use model::counted;
use runs::cluster_files as files;
use runs::places;
use serde_json::{Value, json};

/// Find what can't be so in a cluster file; exits with 1 where there is an error
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// A file, or a cluster's name
    cluster: String,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Runs `yard cluster check`.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    let text = files::find(&places()?, &args.cluster)?;
    let (file, found) = match ClusterFile::parse(&text.name, &text.text) {
        Ok(file) => {
            let found = file.check();
            (file, found)
        }
        // What can't be read is one of the things that can't be so.
        Err(problems) => {
            let found = problems.into_iter().map(|problem| Contradiction {
                code: "syntax",
                severity: Severity::Error,
                problem,
            });
            (ClusterFile::default(), found.collect())
        }
    };
    let count = |severity| found.iter().filter(|one| one.severity == severity).count();
    let (errors, warnings, notes) = (
        count(Severity::Error),
        count(Severity::Warning),
        count(Severity::Note),
    );
    if args.json {
        let found: Vec<Value> = found.iter().map(|one| as_json(one, &text.text)).collect();
        printer.line(&json!({ "file": text.origin, "found": found }).to_string());
    } else {
        for one in &found {
            let kind = format!("{}[{}]", word(one.severity), one.code);
            printer.shown(&model::render_as(
                &kind,
                &one.problem,
                &text.text,
                &text.origin,
            ));
        }
        let assumed = file.assumed().len();
        printer.line(&format!(
            "{}: {}, {}, {} · {} assumed",
            text.name,
            counted(errors, "error"),
            counted(warnings, "warning"),
            counted(notes, "note"),
            counted(assumed, "value"),
        ));
    }
    Ok(if errors > 0 {
        exit_code::FAILED
    } else {
        exit_code::DONE
    })
}

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

fn as_json(found: &Contradiction, text: &str) -> Value {
    let (line, column) = found.problem.position(text);
    json!({
        "code": found.code,
        "severity": word(found.severity),
        "line": line,
        "column": column,
        "span": [found.problem.span.start, found.problem.span.end],
        "message": found.problem.message,
        "label": found.problem.label,
        "help": found.problem.help,
    })
}
