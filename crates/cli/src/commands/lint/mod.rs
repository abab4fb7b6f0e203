//! `yard lint`

mod around;
mod before_submission;
mod report;
mod script_file;

pub use before_submission::before_submission;

use crate::exit_code;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::printer::Printer;
use ::lint::{RULES, Rule};
use clap::{Args as ClapArgs, ValueEnum};
use model::nearest;
use report::Report;
use runs::input_file::STDIN;
use std::path::PathBuf;

/// Find the mistakes of batch scripts and run files before the queue does
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// Batch scripts, run files, folders of them; - for standard input; without one the folder's yard.toml
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The cluster that they are for
    #[arg(long, value_name = "CLUSTER")]
    on: Option<String>,
    /// The Slurm that they are for, such as 23.11
    #[arg(long, value_name = "VERSION")]
    slurm: Option<String>,
    /// How findings are printed
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// Put right what can be put right safely, in the files
    #[arg(long)]
    fix: bool,
    /// Show what --fix would change, and change nothing
    #[arg(long, conflicts_with = "fix")]
    diff: bool,
    /// End with 1 for these too, not for errors alone
    #[arg(long, value_enum, value_name = "WHAT")]
    deny: Option<Deny>,
    /// Explain a rule
    #[arg(long, value_name = "CODE", conflicts_with_all = ["files", "list"])]
    explain: Option<String>,
    /// List all rules
    #[arg(long, conflicts_with = "files")]
    list: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// One document
    Json,
    /// SARIF 2.1.0, for code hosts and editors
    Sarif,
    /// Workflow commands of GitHub's runners
    Github,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Deny {
    Warnings,
    Notes,
}

/// Runs `yard lint`.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    if let Some(code) = &args.explain {
        return explain(code, printer);
    }
    if args.list {
        for rule in RULES {
            printer.line(&format!(
                "{} {:<8} {:<24} {}",
                rule.code,
                rule.severity.name(),
                rule.name,
                rule.summary
            ));
        }
        return Ok(exit_code::DONE);
    }
    let around = around::place(args, printer)?;
    let mut report = Report::new(args, printer);
    let own = [PathBuf::from("yard.toml")];
    let files = if args.files.is_empty() {
        &own[..]
    } else {
        &args.files
    };
    if args.files.is_empty() && !own[0].exists() {
        return Err(
            Failure::new(FailureKind::Usage, "there is nothing to look at")
                .there("no yard.toml in this folder")
                .todo("yard lint FILE"),
        );
    }
    for path in files {
        if path.as_os_str() != STDIN && path.is_dir() {
            let (found, failures) = script_file::below(path);
            for file in found {
                report.file(&file, &around);
            }
            for failure in failures {
                report.failed(&failure);
            }
        } else {
            report.file(path, &around);
        }
    }
    Ok(report.end())
}

fn explain(code: &str, printer: &Printer) -> Outcome {
    let by_name = |rule: &&Rule| rule.name.eq_ignore_ascii_case(code);
    let rule = Rule::find(code).or_else(|| RULES.iter().find(by_name));
    let Some(rule) = rule else {
        let near = nearest(
            &code.to_ascii_uppercase(),
            RULES.iter().map(|rule| rule.code),
        );
        let failure = Failure::new(FailureKind::Usage, format!("there is no rule {code}"))
            .asked(format!("--explain {code}"));
        return Err(match near {
            Some(near) => failure.todo(format!("did you mean {near}? yard lint --list shows all")),
            None => failure.todo("yard lint --list shows all"),
        });
    };
    printer.data(&rule.explanation());
    Ok(exit_code::DONE)
}
