//! A batch script in place of a run file: it is submitted as it stands, with Slurm's flags.

use crate::failure::{Failure, FailureKind};
use crate::input_file;
use crate::run_request::{GivenResource, RunRequest};
use jiff::tz::TimeZone;
use model::{GresList, Surroundings, Timestamp};
use std::fs::File;
use std::io::Read;
use std::path::Path;

impl RunRequest {
    /// The batch script, where the file is one, and Slurm's flags for it as text.
    ///
    /// # Errors
    /// A flag that is for run files alone, or that is not understood.
    pub fn script(&self) -> Result<Option<(&Path, Vec<String>)>, Failure> {
        let Some(path) = self.file.as_deref().filter(|path| is_script(path)) else {
            return Ok(None);
        };
        let time = self.overrides()?.resources.time;
        let name = self.name.iter().map(|name| format!("--job-name={name}"));
        let mut flags = Vec::new();
        for GivenResource { flag, key, text } in &self.resources {
            flags.push(match flag.as_str() {
                "exclusive" => "--exclusive".to_owned(),
                // Said with a unit, as everywhere in yard; sbatch is told in its own way.
                "time" => match &time {
                    Some(time) => format!("--time={}", time.value),
                    None => format!("--time={text}"),
                },
                "sbatch" => text.clone(),
                "gpu-memory" | "gpu-type" => return Err(no_such_option(flag, key, path)),
                _ => format!("--{flag}={text}"),
            });
            // Slurm takes --gres before --gpus-per-node, and what is said here goes before the script.
            if flag == "gpus-per-node" && asks_gres_gpus(path) {
                flags.push(format!("--gres=gpu:{text}"));
            }
        }
        Ok(Some((path, name.chain(flags).collect())))
    }
}

/// Whether a directive of the script asks for GPUs by `--gres`.
fn asks_gres_gpus(script: &Path) -> bool {
    // A pipe can be read once.
    if !script.metadata().is_ok_and(|facts| facts.is_file()) {
        return false;
    }
    let Ok(text) = std::fs::read_to_string(script) else {
        // What can't be read is said where it is submitted.
        return false;
    };
    let (zone, folder) = (TimeZone::UTC, Path::new("/"));
    let around = Surroundings::embedded(Timestamp(sys::now()), &zone, folder);
    let args = [script.display().to_string()];
    let (asked, _said_by_sbatch) = model::sbatch::resolve(&args, &|_| None, Some(&text), &around);
    let gres = asked
        .given
        .iter()
        .filter(|given| given.option.long == "gres");
    let lists = gres.filter_map(|given| GresList::of_gres(given.value.as_deref()?));
    lists.into_iter().any(|list| list.gpus().is_some())
}

/// A script is submitted as it stands, and sbatch has none of what we plan.
fn no_such_option(flag: &str, key: &str, script: &Path) -> Failure {
    let todo = match key {
        "gpu_type" => "--gpus-per-node=TYPE:N",
        _ => "name the type of such GPUs with --gpus-per-node=TYPE:N",
    };
    Failure::new(
        FailureKind::Usage,
        format!(
            "--{flag} is for run files, and {} is a script",
            script.display()
        ),
    )
    .there("a script is submitted as it stands, and sbatch has no such option")
    .todo(todo)
}

/// Whether a file begins as a script does, or is no `.toml` and has a scheduler's directives: sbatch
/// has the word on one that lacks its first line. What is no plain file can't be looked into without
/// taking from it, and is taken for a script.
fn is_script(path: &Path) -> bool {
    if !input_file::is_plain(path) {
        return path.as_os_str() == input_file::STDIN || path.exists() && !path.is_dir();
    }
    let mut start = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LOOKED_AT).read_to_end(&mut start));
    let is_directive = |line: &[u8]| DIRECTIVES.iter().any(|word| line.starts_with(word));
    let may_lack = path.extension().is_none_or(|extension| extension != "toml");
    read.is_ok()
        && (start.starts_with(b"#!")
            || may_lack && start.split(|byte| *byte == b'\n').any(is_directive))
}

/// Directives stand within so many bytes of a script's start.
const LOOKED_AT: u64 = 64 << 10;

/// With what the lines begin that tell a scheduler something.
const DIRECTIVES: [&[u8]; 3] = [b"#SBATCH", b"#PBS", b"#BSUB"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_by_gres_are_found_in_directives_alone() {
        let check = |line: &str, want| {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), format!("#!/bin/bash\n{line}\ntrue\n")).unwrap();
            assert_eq!(asks_gres_gpus(file.path()), want, "{line}");
        };
        check("#SBATCH --gres=gpu:v100:2", true);
        check("#SBATCH -N 2 --gres gpu", true);
        check("#SBATCH --gres=fpga:1 # no gpu", false);
        check("#SBATCH --comment=--gres=gpu:1", false);
        check("#SBATCH --gres-flags=enforce-binding -J gpu", false);
        check("echo '#SBATCH --gres=gpu:1'", false);
    }
}
