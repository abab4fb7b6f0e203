//! The image's own variables, without those that a rank brings: Charliecloud sets them over all others.

use super::container::ContainerError;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A file with the variables of the image's folder but those of `names`, which hold as they are outside; `None` where
/// the image sets none of these. Their values come by the environment: no file and no command line has them.
pub fn without(image: &Path, names: &[&str]) -> Result<Option<PathBuf>, ContainerError> {
    let of_image = read(image)?;
    let left = filtered(&of_image, names);
    if left == of_image {
        return Ok(None);
    }
    let left = sys::inherited::text(&left).map(Some);
    left.map_err(|source| failed(image, source))
}

/// Whether the image of a folder sets a variable, by its name.
pub fn set_by(image: &Path) -> Result<impl Fn(&str) -> bool, ContainerError> {
    let of_image = read(image)?;
    Ok(move |name: &str| filtered(&of_image, &[name]) != of_image)
}

/// What sets the image's variables, a line each; empty where nothing does.
fn read(image: &Path) -> Result<String, ContainerError> {
    match fs::read_to_string(file_of(image)) {
        Ok(text) => Ok(text),
        // Bytes that are no text set none of them.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::InvalidData
            ) =>
        {
            Ok(String::new())
        }
        Err(error) => Err(failed(image, error)),
    }
}

fn file_of(image: &Path) -> PathBuf {
    image.join("ch/environment")
}

fn failed(image: &Path, source: io::Error) -> ContainerError {
    let file = file_of(image);
    ContainerError::ImageVariables { file, source }
}

/// The lines, `NAME=VALUE` each, that set other variables than these.
fn filtered(of_image: &str, names: &[&str]) -> String {
    let is_own = |line: &str| {
        let set = line.split_once('=');
        set.is_some_and(|(name, _)| names.contains(&name))
    };
    let lines = of_image.split_inclusive('\n');
    lines.filter(|line| !is_own(line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stays_of_an_images_variables() {
        let check = |of_image: &str, names: &[&str], want: &str| {
            assert_eq!(filtered(of_image, names), want, "{of_image:?}");
        };
        check("A=1\nRANK=77\nB='x=y'\n", &["RANK"], "A=1\nB='x=y'\n");
        check("A=1\nRANKS=77", &["RANK"], "A=1\nRANKS=77");
        check("A=1\nB=RANK=2\n", &["A", "RANK"], "B=RANK=2\n");
        check("", &["A"], "");
    }
}
