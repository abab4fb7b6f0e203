//! Files that command lines of Slurm's commands name: they are waited for no longer than they are read.

use runs::input_file;
use std::fs;
use std::path::Path;

/// What is wrong with a FIFO that has a name.
pub(super) const FIFO: &str = "it is a FIFO, which may never get a writer or a reader";

/// All of a file, or of a pipe that is open; why there is nothing, in a few words. What may never
/// end or never begin is refused, which a FIFO with a name and devices are.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, String> {
    if path == Path::new("/dev/null") {
        return Ok(Vec::new());
    }
    if input_file::is_named_pipe(path) {
        return Err(FIFO.to_owned());
    }
    if let Err(error) = fs::metadata(path) {
        return Err(super::system_words(&error));
    }
    match input_file::read(path) {
        Ok(file) => Ok(file.bytes),
        Err(failure) => Err(match failure.there {
            Some(there) => format!("it is {there}"),
            None => failure.what,
        }),
    }
}

/// As [`read`], as text; bytes that are no UTF-8 are replaced.
pub(crate) fn read_text(path: &Path) -> Result<String, String> {
    let bytes = read(path)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
