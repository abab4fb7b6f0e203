//! `yard notebook`

use super::on_run::{self, RunProgram, start};
use crate::failure::Outcome;
use crate::printer::Printer;
use clap::Args as ClapArgs;

/// Start JupyterLab on this machine in a run's folder, until Ctrl-C
#[derive(Debug, ClapArgs)]
pub struct Args {
    #[command(flatten)]
    asked: on_run::Args,
}

/// Runs `yard notebook`.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    let program = RunProgram {
        name: "jupyter",
        install: "pip install jupyterlab",
        words: |folder, port| {
            let root = format!("--ServerApp.root_dir={}", folder.path().display());
            let port = format!("--port={port}");
            let words = [
                "lab",
                "--allow-root",
                "--no-browser",
                "--ip=127.0.0.1",
                &port,
                &root,
            ];
            words.map(str::to_owned).to_vec()
        },
    };
    start(&program, &args.asked, printer)
}
