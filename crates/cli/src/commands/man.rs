//! `yard man`

use crate::exit_code;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::printer::Printer;
use crate::reference;
use clap::Args as ClapArgs;
use std::path::PathBuf;

/// Print a command's man page, or write those of all commands into a folder
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// The command, such as run or cluster show; yard itself if left out
    #[arg(value_name = "COMMAND", conflicts_with = "out")]
    command: Vec<String>,
    /// Write all pages there, in place of older ones
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// Runs `yard man`.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    let pages = reference::man_pages(super::command())
        .map_err(|error| Failure::new(FailureKind::Io, format!("no page can be made: {error}")))?;
    let Some(folder) = &args.out else {
        let path = args.command.join(" ");
        let page = pages.iter().find(|page| page.path == path);
        let page = page.ok_or_else(|| {
            Failure::new(FailureKind::Usage, format!("yard has no command {path}"))
                .asked(format!("yard man {path}"))
                .there("a page for each command of yard help")
                .todo("name one of them, or none for yard itself")
        })?;
        printer.bytes(&page.bytes);
        return Ok(exit_code::DONE);
    };
    let wrong = |error: std::io::Error| {
        Failure::new(
            FailureKind::Io,
            format!("{} can't be written: {error}", folder.display()),
        )
        .asked(format!("{} man pages", pages.len()))
        .todo("name a folder that you may write with --out")
    };
    std::fs::create_dir_all(folder).map_err(wrong)?;
    for page in &pages {
        sys::atomic::write_named(&folder.join(page.file()), &page.bytes).map_err(wrong)?;
    }
    let (count, folder) = (pages.len(), folder.display());
    printer.line(&format!("{count} man pages in {folder}"));
    Ok(exit_code::DONE)
}
