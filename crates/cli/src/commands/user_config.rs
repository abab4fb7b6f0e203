//! The user's config: what all of a person's runs share.

use super::asked::say_problems;
use crate::exit_code;
use crate::failure::Failure;
use crate::printer::Printer;
use std::io::ErrorKind;
use std::path::Path;
use sys::Places;
use train::RunFile;

/// Its name in the config's folder.
const CONFIG: &str = "config.toml";

/// Reads it, where there is one.
pub fn read(places: &Places, printer: &Printer) -> Result<Option<RunFile>, Failure> {
    let path = places.config.join(CONFIG);
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        // A home that can't be searched has no config either, and a run may still be possible.
        Err(error) if is_absent(error.kind()) => return Ok(None),
        Err(error) => {
            return Err(Failure::new(
                exit_code::USAGE,
                format!("{} can't be read: {error}", path.display()),
            )
            .there("it holds what all runs share, so a run without it would be another one")
            .todo("make it readable, or move it away"));
        }
    };
    let origin = shown(&path);
    let (config, problems) = RunFile::parse_user_config(&text, &origin, &places.config);
    say_problems(&problems, &text, &origin, printer)?;
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
