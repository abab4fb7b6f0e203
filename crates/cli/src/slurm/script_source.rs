//! Where `sbatch` takes the script from: a file, found on PATH too, or stdin.

use super::named_input::FIFO;
use runs::input_file;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// A script as it was found.
#[derive(Debug)]
pub struct FoundScript {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Its absolute path; `None` for stdin.
    pub path: Option<PathBuf>,
}

/// What is longer is refused, however long it is: a device never ends.
const LONGEST: u64 = 16 << 20;

/// Reads stdin to its end. The error is a line in Slurm's manner.
pub fn from_stdin() -> Result<FoundScript, String> {
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .take(LONGEST)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("Unable to read the script from stdin: {error}"))?;
    Ok(FoundScript { bytes, path: None })
}

/// Reads the file that the command line names. The error is a line in Slurm's words.
pub fn from_file(name: &str) -> Result<FoundScript, String> {
    let unable = || format!("Unable to open file {name}");
    // A folder can be opened and has no line; a file of the same name on PATH goes before it.
    let path = find(name).ok_or_else(|| {
        if Path::new(name).is_dir() {
            "Batch script is empty!".to_owned()
        } else {
            unable()
        }
    })?;
    if input_file::is_named_pipe(&path) {
        return Err(format!("Unable to open file {name}: {FIFO}"));
    }
    let mut bytes = Vec::new();
    let read = File::open(&path).and_then(|file| file.take(LONGEST).read_to_end(&mut bytes));
    read.map_err(|_| unable())?;
    Ok(FoundScript {
        bytes,
        path: Some(path),
    })
}

/// A name with a slash as it stands, else in the working folder, else on PATH, as Slurm searches.
fn find(name: &str) -> Option<PathBuf> {
    let here = std::path::absolute(name).ok()?;
    if name.contains('/') || is_file(&here) {
        return is_file(&here).then_some(here);
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(name))
        .find(|candidate| is_file(candidate))
}

fn is_file(path: &Path) -> bool {
    // Anything that can be read will do: /dev/fd/63 is a pipe.
    fs::metadata(path).is_ok_and(|data| !data.is_dir())
}
