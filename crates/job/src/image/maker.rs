//! The programs that make an image, as they are started, and what their words mean where they fail.

use super::image_error::ImageError;
use super::make::STORAGE;
use crate::environment::{last_lines, loads};
use crate::made_once::{Failed, Making, Waiter, no_network};
use model::RuntimeCache;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use train::Image;

/// What starts the programs that make an image.
pub(super) struct Maker<'a> {
    /// The image, as the plan has it.
    pub image: &'a Image,
    /// What is loaded before.
    pub modules: &'a [String],
    /// Where the runtime keeps what it fetches, where the cluster says so.
    pub fetched_to: Option<&'a RuntimeCache>,
    /// Where it is made.
    pub making: &'a Making,
    /// The folder to which a recipe is relative.
    pub beside: Option<&'a Path>,
}

impl Maker<'_> {
    /// Runs one of them to its end.
    ///
    /// # Errors
    /// It can't be started, or failed.
    pub fn run(
        &self,
        program: &'static str,
        words: &[OsString],
        waiter: &mut dyn Waiter,
    ) -> Result<(), ImageError> {
        let mut command = match self.modules {
            [] => {
                let mut command = Command::new(program);
                if has_interpreter_beside(program)
                    && let Some(path) = own_folder_first(program)
                {
                    command.env("PATH", path);
                }
                command
            }
            modules => {
                // What the job loads before it starts the runtime.
                let mut lines = loads(modules);
                if has_interpreter_beside(program) {
                    lines.push(OWN_FOLDER_FIRST.to_owned());
                }
                lines.push("exec \"$0\" \"$@\"".to_owned());
                let mut bash = Command::new("bash");
                bash.args(["-l", "-c", &lines.join(" &&\n"), program]);
                bash
            }
        };
        command.args(words);
        if let Some(beside) = self.beside {
            // Apptainer takes names in a recipe as relative to where it is started.
            command.current_dir(beside);
        }
        command.env("CH_IMAGE_STORAGE", self.making.place.join(STORAGE));
        if let Some(cache) = self.fetched_to {
            let user = sys::users::this_user();
            let folder = PathBuf::from(cache.folder.replace("$USER", user));
            // What a person set stands, and a folder of another machine is none of this one's.
            if std::env::var_os(&cache.variable).is_none() && sys::is_usable(&folder) {
                command.env(&cache.variable, folder);
            }
        }
        if std::env::var_os("USER").is_none() {
            // Charliecloud ends without it.
            command.env("USER", "user");
        }
        let (image, log) = (self.image.to_string(), self.making.log.clone());
        let failed = match self.making.run(&mut command, waiter) {
            Ok(_) => return Ok(()),
            Err(failed) => failed,
        };
        Err(match failed {
            Failed::CannotRun(source) => ImageError::NoProgram {
                image,
                program,
                source,
            },
            Failed::Ended(said) if said.contains(NOT_FOUND) => ImageError::NoProgram {
                image,
                program: missing(&said).unwrap_or(program),
                source: io::Error::from(io::ErrorKind::NotFound),
            },
            Failed::Ended(said) => {
                let last = last_lines(&said);
                if no_network(&said) {
                    ImageError::Unreachable { image, last, log }
                } else if is_unknown(&said) {
                    ImageError::Unknown { image, last, log }
                } else {
                    ImageError::MakerFailed {
                        image,
                        program,
                        last,
                        log,
                    }
                }
            }
        })
    }
}

/// Whether a program is started by the Python that PATH has first, and needs the one with which it was installed:
/// that of a venv or of conda has none of what it imports. `ch-convert` starts `ch-image`.
fn has_interpreter_beside(program: &str) -> bool {
    matches!(program, "ch-image" | "ch-convert")
}

/// PATH with the folder of a program before all others.
fn own_folder_first(program: &str) -> Option<OsString> {
    let path = std::env::var("PATH").ok()?;
    let file = sys::process::find_program(OsStr::new(program), &path)?;
    let mut first = file.parent()?.as_os_str().to_owned();
    first.push(":");
    first.push(path);
    Some(first)
}

/// [`own_folder_first`] in a shell that has loaded modules.
const OWN_FOLDER_FIRST: &str = "{ program=$(type -P \"$0\") ||\n\
    { echo \"$0: command not found\" >&2; exit 127; }; } &&\nexport PATH=\"${program%/*}:$PATH\"";

/// What a shell says of a program that is not there, after its name.
const NOT_FOUND: &str = ": command not found";

/// The program that a shell missed, of those that steps start by one.
fn missing(said: &str) -> Option<&'static str> {
    let mut all = ["unsquashfs", "podman", "tar"].into_iter();
    all.find(|program| said.contains(&format!("{program}{NOT_FOUND}")))
}

/// Words by which registries, or those who ask them, say that there is no such image.
fn is_unknown(said: &str) -> bool {
    const WORDS: [&str; 7] = [
        "manifest unknown",
        "MANIFEST_UNKNOWN",
        "NAME_UNKNOWN",
        "name unknown",
        "access to the resource is denied",
        "not in registry",
        "404 ",
    ];
    WORDS.iter().any(|words| said.contains(words))
}
