//! Where a real Slurm's commands stand on this machine.

use memchr::memmem;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The commands that a transport runs.
const COMMANDS: [&str; 5] = ["sinfo", "sbatch", "squeue", "scancel", "scontrol"];

/// Our program holds this text, in every version; none of Slurm's does.
const OWN_MARK: &str = sys::env_vars::TRAINYARD_ENGINE;

/// Slurm's commands are much smaller, and ours is too.
const LONGEST_PROGRAM: u64 = 256 << 20;

/// The first folder of `PATH` with a real Slurm's commands.
///
/// Our own program under Slurm's names is passed over, whether a link or a copy. With
/// `SLURM_CONF=/dev/null` there is none: a Slurm without a configuration belongs to no cluster.
pub fn folder() -> Option<PathBuf> {
    if std::env::var_os(sys::env_vars::SLURM_CONF).as_deref() == Some(OsStr::new("/dev/null")) {
        return None;
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).find(|folder| holds_a_slurm(folder))
}

fn holds_a_slurm(folder: &Path) -> bool {
    let programs = COMMANDS.map(|name| folder.join(name));
    programs[0].is_file() && !programs.iter().any(|program| is_ours(program))
}

/// Whether this is our own program, of any version. What can't be read is none.
fn is_ours(program: &Path) -> bool {
    let Ok(facts) = fs::metadata(program) else {
        return false;
    };
    let own = fs::metadata("/proc/self/exe");
    if own.is_ok_and(|own| (own.dev(), own.ino()) == (facts.dev(), facts.ino())) {
        return true;
    }
    let mut bytes = Vec::new();
    let read =
        File::open(program).and_then(|file| file.take(LONGEST_PROGRAM).read_to_end(&mut bytes));
    facts.is_file() && read.is_ok() && memmem::find(&bytes, OWN_MARK.as_bytes()).is_some()
}

/// The cluster's name in the file that `SLURM_CONF` names.
pub fn named_configuration() -> Option<String> {
    let file = std::env::var_os(sys::env_vars::SLURM_CONF)?;
    cluster_name(&fs::read_to_string(file).ok()?)
}

/// The cluster's name in a file where a configuration usually stands.
pub fn usual_configuration() -> Option<String> {
    let usual = ["/etc/slurm/slurm.conf", "/run/slurm/conf/slurm.conf"];
    let mut texts = usual.iter().flat_map(fs::read_to_string);
    texts.find_map(|text| cluster_name(&text))
}

/// `ClusterName` in the text of a `slurm.conf`; Slurm prints names in small letters.
fn cluster_name(text: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let (key, value) = line.split('#').next()?.split_once('=')?;
        let is_name = key.trim().eq_ignore_ascii_case("ClusterName");
        let value = value.split_whitespace().next()?;
        is_name.then(|| value.trim_matches('"').to_lowercase())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_names_its_cluster() {
        let check = |text: &str, want: Option<&str>| {
            assert_eq!(cluster_name(text).as_deref(), want, "{text}");
        };
        check("# ClusterName=no\nclustername = Rig # ours\n", Some("rig"));
        check("SlurmctldHost=box\n", None);
        check("ClusterName=\n", None);
    }

    #[test]
    fn our_own_program_is_known_by_its_mark() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };
        assert!(is_ours(&write("copy", &format!("ELF {OWN_MARK} rest"))));
        assert!(is_ours(Path::new("/proc/self/exe")));
        assert!(!is_ours(&write("slurm", "ELF")));
        assert!(!is_ours(Path::new("/nonexistent")));
    }
}
