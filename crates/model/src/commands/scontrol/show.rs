//! `scontrol show`

use super::command::ScontrolCommand;
use super::usage_error::ScontrolUsageError;
use crate::values::abbreviates;

/// What is shown.
pub(super) fn show(keyword: &str, words: &[String]) -> Result<ScontrolCommand, ScontrolUsageError> {
    let (entity, value) = match words {
        [] => return Err(ScontrolUsageError::TooFew(keyword.to_owned())),
        [word] if is_accounting(word) => return Ok(ScontrolCommand::ShowAccounting(Vec::new())),
        [word] => match word.split_once('=') {
            Some((entity, value)) => (entity, Some(value.to_owned())),
            None => (word.as_str(), None),
        },
        [entity, rest @ ..] if is_accounting(entity) => {
            return Ok(ScontrolCommand::ShowAccounting(rest.to_vec()));
        }
        [entity, value] => (entity.as_str(), Some(value.clone())),
        [_, _, _, ..] => return Err(ScontrolUsageError::TooMany(keyword.to_owned())),
    };
    let is = |name: &str, least: usize| abbreviates(entity, name, least);
    if is("hostnames", 5) {
        return Ok(ScontrolCommand::HostNames(value));
    }
    for (name, least, sorted) in [("hostlist", 5, false), ("hostlistsorted", 9, true)] {
        if is(name, least) {
            let names = value.ok_or(ScontrolUsageError::NoNames)?;
            return Ok(ScontrolCommand::HostList { names, sorted });
        }
    }
    if is("config", 1) {
        return Ok(ScontrolCommand::ShowConfig);
    }
    if is("steps", 2) {
        return Ok(ScontrolCommand::ShowStep(value));
    }
    if is("reservations", 3) || is("reservationname", 3) {
        return Ok(ScontrolCommand::ShowReservation(value));
    }
    if let Some(said) = none_of(&is, value.as_deref()) {
        return Ok(said);
    }
    if is("topology", 1) {
        return Ok(ScontrolCommand::ShowTopology(value));
    }
    if is("licenses", 2) {
        return Ok(ScontrolCommand::ShowLicences(value));
    }
    if is("jobs", 1) || is("jobid", 1) {
        // An empty id is none.
        return Ok(ScontrolCommand::ShowJob(
            value.filter(|job| !job.is_empty()),
        ));
    }
    if is("nodes", 1) {
        return Ok(ScontrolCommand::ShowNode(value));
    }
    if is("partitions", 2) || is("partitionname", 2) {
        return Ok(ScontrolCommand::ShowPartition(value));
    }
    Err(ScontrolUsageError::Entity(match words {
        [word] => word.clone(),
        _ => entity.to_owned(),
    }))
}

fn is_accounting(entity: &str) -> bool {
    abbreviates(entity, "assoc_mgr", 2) || abbreviates(entity, "cache", 2)
}

/// What is said of things of which an engine has none.
fn none_of(is: &dyn Fn(&str, usize) -> bool, name: Option<&str>) -> Option<ScontrolCommand> {
    let said = |stdout: String, stderr: String, status| ScontrolCommand::None {
        stdout,
        stderr,
        status,
    };
    let quiet = ["aliases", "federation", "burstbuffer", "bbstat", "dwstat"];
    if quiet.iter().any(|name| is(name, 2)) || is("federation", 1) {
        return Some(said(String::new(), String::new(), 0));
    }
    let shown = |text: &str| said(format!("{text}\n"), String::new(), 0);
    if is("slurmd", 2) {
        let lines = "scontrol: error: slurm_slurmd_info: Connection refused\nslurm_load_slurmd_status: Connection refused";
        return Some(said(String::new(), lines.to_owned(), 1));
    }
    if let (true, Some(name)) = (is("frontend", 1), name) {
        return Some(said(format!("Node {name} not found\n"), String::new(), 1));
    }
    if is("frontend", 1) {
        return Some(shown("No nodes in the system"));
    }
    if is("daemons", 1) {
        return Some(shown("slurmctld slurmd"));
    }
    None
}
