//! `yard tensorboard`

use super::on_run::{self, RunProgram, start};
use crate::failure::Outcome;
use crate::printer::Printer;
use clap::Args as ClapArgs;

/// Start TensorBoard on this machine on a run's event files, until Ctrl-C
#[derive(Debug, ClapArgs)]
pub struct Args {
    #[command(flatten)]
    asked: on_run::Args,
}

/// Runs `yard tensorboard`.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    let program = RunProgram {
        name: "tensorboard",
        install: "pip install tensorboard",
        words: |folder, port| {
            let logs = folder.tensorboard().display().to_string();
            let words = [
                "--logdir",
                &logs,
                "--host",
                "127.0.0.1",
                "--port",
                &port.to_string(),
            ];
            words.map(str::to_owned).to_vec()
        },
    };
    start(&program, &args.asked, printer)
}
