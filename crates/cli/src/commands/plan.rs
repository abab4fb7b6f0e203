//! `yard plan`

use super::asked::{Asked, Planned};
use super::place::places;
use crate::exit_code;
use crate::failure::Outcome;
use crate::printer::Printer;
use clap::Args as ClapArgs;
use serde_json::json;

/// Show what a run would be, and why each value is what it is; nothing is submitted
#[derive(Debug, ClapArgs)]
pub struct Args {
    #[command(flatten)]
    asked: Asked,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Runs `yard plan`.
pub fn run(args: Args, printer: &Printer) -> Outcome {
    let Planned { plan, door, .. } = args.asked.plan(&places()?, printer)?;
    if args.json {
        printer.line(&json!({ "plan": plan, "cluster": door.facts() }).to_string());
    } else {
        printer.data(&plan.show(door.facts()));
    }
    Ok(exit_code::DONE)
}
