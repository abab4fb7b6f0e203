//! `yard completions`

use crate::exit_code;
use crate::failure::Outcome;
use crate::printer::Printer;
use clap::Args as ClapArgs;
use clap_complete::Shell;

/// Print what a shell needs to complete yard's commands and options
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// The shell
    shell: Shell,
}

/// Runs `yard completions`.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::command(), "yard", &mut script);
    printer.bytes(&script);
    Ok(exit_code::DONE)
}
