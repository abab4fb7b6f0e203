//! The user's config: what all of a person's runs share.

use crate::failure::{Failure, FailureKind};
use crate::input_file;
use crate::run_request::refuse_problems;
use std::io::ErrorKind;
use std::path::Path;
use sys::Places;
use train::RunFile;

/// Its name in the config's folder.
const CONFIG: &str = "config.toml";

/// Reads it, where there is one.
///
/// # Errors
/// It can't be read, or something is wrong with it.
pub fn user_config(places: &Places) -> Result<Option<RunFile>, Failure> {
    let path = places.config.join(CONFIG);
    // A home that can't be searched has no config either, and a run may still be possible.
    if path
        .symlink_metadata()
        .is_err_and(|error| is_absent(error.kind()))
    {
        return Ok(None);
    }
    let unreadable = |what: String| {
        Failure::new(FailureKind::Usage, what)
            .there("it holds what all runs share, so a run without it would be another one")
            .todo("make it a file that can be read, or move it away")
    };
    // Nobody may ever write into a FIFO, and a device need not end.
    if path.exists() && !input_file::is_plain(&path) {
        return Err(unreadable(format!("{} is no plain file", path.display())));
    }
    let file = input_file::read(&path).map_err(|failure| unreadable(failure.line()))?;
    let not_text = || unreadable(format!("{} is not UTF-8", path.display()));
    let text = file.into_utf8().ok_or_else(not_text)?;
    let origin = shown(&path);
    let (config, problems) = RunFile::parse_user_config(&text, &origin, &places.config);
    refuse_problems(&problems, &text, &origin)?;
    Ok(Some(config))
}

fn is_absent(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::NotFound | ErrorKind::NotADirectory)
}

/// As a person would name it: below `~` where that is so.
fn shown(path: &Path) -> String {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
    match home.and_then(|home| path.strip_prefix(home).ok()) {
        Some(rest) => format!("~/{}", rest.display()),
        None => path.display().to_string(),
    }
}
