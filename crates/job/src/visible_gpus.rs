//! The job's GPUs of a node, by the variables that name them to programs.
//!
//! The ranks' step binds no rank to a GPU of its own. Slurm then takes the list out of the environment
//! where several tasks of it are on a node: a rank could tell neither how many GPUs it has nor, where
//! nothing closes the others' devices, which. A node's agent has a step's only task there and so the
//! whole list; its ranks get that.

use model::job_environment::GPU_VARIABLES;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

/// By it NVIDIA's programs find the GPUs that they may use.
pub(crate) const CUDA: &str = "CUDA_VISIBLE_DEVICES";
/// By it AMD's do.
pub(crate) const ROCR: &str = "ROCR_VISIBLE_DEVICES";

/// Writes down how this process's environment names the GPUs; nothing where it names none.
pub(crate) fn write_down(note: &Path) -> std::io::Result<()> {
    let named = GPU_VARIABLES.iter().filter_map(|name| {
        let value = std::env::var(name).ok()?;
        (!value.is_empty()).then_some((*name, value))
    });
    let named: BTreeMap<&str, String> = named.collect();
    if named.is_empty() {
        return Ok(());
    }
    let text = serde_json::to_vec(&named).expect("invariant: names and texts only");
    sys::atomic::write_relaxed(note, &text)
}

/// Names the GPUs of a note to a rank whose environment names none; those of a job without any stay so.
pub(crate) fn name(note: &Path, variables: &mut BTreeMap<OsString, OsString>) {
    if GPU_VARIABLES
        .iter()
        .any(|name| variables.contains_key(&OsString::from(name)))
    {
        return;
    }
    let noted = std::fs::read(note).ok();
    let noted =
        noted.and_then(|text| serde_json::from_slice::<BTreeMap<String, String>>(&text).ok());
    for (name, value) in noted.into_iter().flatten() {
        variables.insert(name.into(), value.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(note: Option<&str>, has: Option<&str>, want: Option<&str>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("note");
        if let Some(note) = note {
            std::fs::write(&path, note).unwrap();
        }
        let name_of = || OsString::from(GPU_VARIABLES[0]);
        let mut variables = BTreeMap::new();
        variables.extend(has.map(|has| (name_of(), has.into())));
        name(&path, &mut variables);
        assert_eq!(variables.get(&name_of()), want.map(OsString::from).as_ref());
    }

    #[test]
    fn a_rank_without_a_list_gets_the_agent_s() {
        let two = Some(r#"{"CUDA_VISIBLE_DEVICES": "0,1"}"#);
        check(two, None, Some("0,1"));
        // One that has a list keeps it, also an empty one.
        check(two, Some("3"), Some("3"));
        check(two, Some(""), Some(""));
        check(None, None, None);
    }
}
