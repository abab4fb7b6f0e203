//! GPUs for machines that have none: a library that pretends to be NVIDIA's.

use crate::TestEnv;
use std::fs;
use std::path::Path;
use std::process::Command;

const SOURCE: &str = include_str!("pretended_nvml.c");

/// MiB of memory that each of them has.
const MEMORY_MIB: u32 = 80 * 1024;

/// Why no GPUs can be pretended here; `None` where they can.
#[must_use]
pub fn gpus_missing() -> Option<String> {
    let there = Command::new("cc").arg("--version").output();
    match there {
        Ok(output) if output.status.success() => None,
        _ => Some("no C compiler (cc) to build the pretended GPU library with".to_owned()),
    }
}

/// Gives a test's commands, and the engine that they start, GPUs with these names; returns their
/// uuids, which no other test has.
pub(crate) fn pretend(env: &mut TestEnv, names: &[&str]) -> Vec<String> {
    let folder = env.root().join("pretended");
    fs::create_dir(&folder).expect("a folder can be made");
    build(&folder);
    let own = env.root().file_name().expect("invariant: it has a name");
    let own = own.to_string_lossy().into_owned();
    let uuid = |place: usize| format!("GPU-pretended-{own}-{place}");
    let gpus = names.iter().enumerate();
    let gpus: Vec<String> = gpus
        .map(|(place, name)| format!("{},{MEMORY_MIB},{name}", uuid(place)))
        .collect();
    env.set_var("LD_LIBRARY_PATH", &folder);
    env.set_var("PRETENDED_GPUS", gpus.join(";"));
    (0..names.len()).map(uuid).collect()
}

fn build(folder: &Path) {
    let source = folder.join("pretended_nvml.c");
    fs::write(&source, SOURCE).expect("a file can be written");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(folder.join("libnvidia-ml.so.1"))
        .arg(&source)
        .output()
        .expect("cc can be started: see gpus_missing");
    let said = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "{said}");
}
