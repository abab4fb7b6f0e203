//! `yard stage`

use super::story::row;
use crate::exit_code;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::printer::Printer;
use crate::words;
use clap::Args as ClapArgs;
use folder::Event;
use job::stage::{StageError, bring_all};
use std::path::{Path, PathBuf};
use train::{collision, place_below};

/// Copy files and folders to another disk, as a run's [data] stage does
///
/// A relative path keeps its place below the folder, an absolute one its last part; archives (.tar,
/// .tar.gz, .tgz, .tar.zst) are unpacked into the folder itself. Several threads copy; links are
/// followed.
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// Files, folders and archives
    #[arg(required = true, value_name = "SOURCE")]
    sources: Vec<PathBuf>,
    /// Where they go; made where it is not there
    #[arg(long, value_name = "FOLDER")]
    to: PathBuf,
}

/// Runs `yard stage`.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    let io = |path: &Path, error: std::io::Error| {
        let path = path.display();
        Failure::new(FailureKind::Io, format!("{path} can't be used: {error}"))
    };
    let here = std::env::current_dir().map_err(|error| io(Path::new("."), error))?;
    let sources: Vec<PathBuf> = args.sources.iter().map(|path| here.join(path)).collect();
    for (asked, source) in args.sources.iter().zip(&sources) {
        check_outside(asked, source, &args.to, &here.join(&args.to))?;
    }
    let placed: Vec<(&Path, &Path)> = sources
        .iter()
        .map(|path| (path.as_path(), place_below(&here, path)))
        .collect();
    check_apart(&placed)?;
    std::fs::create_dir_all(&args.to).map_err(|error| {
        io(&args.to, error).todo("name a folder in --to that you may make and write")
    })?;
    let mut done = None;
    let result = bring_all(&placed, &args.to, &mut |event| match event {
        Event::Staging { what, done, total } => {
            // Of all items together: into a pipe one line an item is written, as it begins.
            let of = total.map_or_else(String::new, |total| format!(" of {}", words::bytes(total)));
            printer.moving(&what, &format!("{}{of} in all so far", words::bytes(done)));
        }
        Event::Staged { bytes, took_ms, .. } => done = Some((bytes, took_ms)),
        Event::Note { text } => printer.show_line(&row("note", &text)),
        _ => {}
    });
    result.map_err(|error| failure(&error))?;
    if let Some((bytes, took)) = done {
        let took = words::length(i64::try_from(took).unwrap_or(i64::MAX));
        let to = args.to.display();
        printer.show_line(&row(
            "staged",
            &format!("{} in {took}, in {to}", words::bytes(bytes)),
        ));
    }
    Ok(exit_code::DONE)
}

/// Of two sources of one place the later one's files would replace the earlier one's.
fn check_apart(placed: &[(&Path, &Path)]) -> Result<(), Failure> {
    let Some((one, other)) = collision(placed) else {
        return Ok(());
    };
    let (one, other) = (one.display(), other.display());
    Err(
        Failure::new(FailureKind::Usage, "two sources would be mixed")
            .asked(format!("{one} and {other}"))
            .there("both go to the same place, or one into the other")
            .todo("rename one, or stage each into a folder of its own"),
    )
}

/// A folder inside of what is copied would be copied into itself, without end.
fn check_outside(asked: &Path, source: &Path, to: &Path, whole: &Path) -> Result<(), Failure> {
    let there = whole
        .ancestors()
        .find_map(|above| above.canonicalize().ok());
    let (Some(there), Ok(source)) = (there, source.canonicalize()) else {
        // What is not there is said by who copies.
        return Ok(());
    };
    if !source.is_dir() || !there.starts_with(&source) {
        return Ok(());
    }
    let (asked, to) = (asked.display(), to.display());
    Err(
        Failure::new(FailureKind::Usage, format!("{to} is inside of {asked}"))
            .asked(format!("yard stage {asked} --to {to}"))
            .there("a folder can't be copied into itself")
            .todo("name a folder outside of it in --to"),
    )
}

fn failure(error: &StageError) -> Failure {
    let text = match error {
        StageError::Source { path, source, .. } => {
            let what = format!("{} can't be read: {source}", path.display());
            return Failure::new(FailureKind::Io, what).todo("correct the path");
        }
        StageError::DiskFull {
            path,
            asked,
            there,
            folder,
            ..
        } => {
            let (path, folder) = (path.display(), folder.display());
            let (asked, there) = (words::bytes(*asked), words::bytes(*there));
            return Failure::new(FailureKind::Io, format!("{path} does not fit in {folder}"))
                .asked(asked)
                .there(format!("{there} are free"))
                .todo("free space there, or name a folder on a larger disk in --to");
        }
        StageError::Copy { path, source, .. } => {
            format!("{} can't be copied: {source}", path.display())
        }
    };
    let (what, todo) = text.split_once("; ").unwrap_or((&text, ""));
    let failure = Failure::new(FailureKind::Io, what);
    match todo {
        "" => failure.todo("what was copied stays; the same command again copies all of it"),
        todo => failure.todo(todo),
    }
}
