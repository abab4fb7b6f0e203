//! `scontrol update`, `create` and `delete`, by what they name.

use super::command::{ClusterCommand, ScontrolCommand};
use super::usage_error::ScontrolUsageError;
use crate::requests::WrittenChange;
use crate::values::abbreviates;

/// `update`, by what it names.
pub(super) fn update(
    keyword: &str,
    words: &[String],
) -> Result<ScontrolCommand, ScontrolUsageError> {
    if words.is_empty() {
        return Err(ScontrolUsageError::TooFewAfter(keyword.to_owned()));
    }
    // First, as a job's partition and reservation can be changed too.
    if let Some(update) = update_jobs(words)? {
        return Ok(update);
    }
    if names(words, "ReservationName", 3) {
        let words = words.to_vec();
        return Ok(ScontrolCommand::Reserve {
            words,
            is_new: false,
        });
    }
    if names(words, "NodeName", 3) {
        let words = words.to_vec();
        return Ok(ScontrolCommand::Cluster(ClusterCommand::UpdateNodes(words)));
    }
    if names(words, "PartitionName", 3) {
        return Ok(ScontrolCommand::Cluster(ClusterCommand::Partition {
            words: words.to_vec(),
            is_new: false,
        }));
    }
    let others = ["step", "slurmctlddebug"];
    let named = words.iter().map(|word| word.to_ascii_lowercase());
    if named
        .clone()
        .any(|word| others.iter().any(|name| word.starts_with(name)))
    {
        return Err(ScontrolUsageError::Missing {
            what: "update".to_owned(),
            todo: "jobs, nodes, partitions and reservations are changed here; see scontrol --help",
        });
    }
    Err(ScontrolUsageError::NoEntity)
}

/// Whether any word sets a key that may be shortened to so many letters.
fn names(words: &[String], key: &str, least: usize) -> bool {
    let keys = words.iter().filter_map(|word| word.split('=').next());
    keys.into_iter().any(|word| abbreviates(word, key, least))
}

/// `create`, by the first word that says of what.
pub(super) fn create(
    keyword: &str,
    words: &[String],
) -> Result<ScontrolCommand, ScontrolUsageError> {
    let Some(first) = words.first() else {
        return Err(ScontrolUsageError::TooFewAfter(keyword.to_owned()));
    };
    let is = |word: &String, key| names(std::slice::from_ref(word), key, 3);
    let what = words.iter().find_map(|word| {
        let kinds = ["NodeName", "PartitionName", "ReservationName"];
        kinds.into_iter().find(|kind| is(word, kind))
    });
    match what {
        Some("ReservationName") => {
            let words = words.iter();
            let words = words.filter(|word| word.contains('=') || !is(word, "ReservationName"));
            Ok(ScontrolCommand::Reserve {
                words: words.cloned().collect(),
                is_new: true,
            })
        }
        Some("PartitionName") => Ok(ScontrolCommand::Cluster(ClusterCommand::Partition {
            words: words.to_vec(),
            is_new: true,
        })),
        Some(_) => made_nodes(words).map(ScontrolCommand::Cluster),
        None => Err(ScontrolUsageError::CreationEntity(first.clone())),
    }
}

/// Keys of a node in `slurm.conf`.
const NODE_KEYS: &[&str] = &[
    "NodeName",
    "CPUs",
    "Boards",
    "CoresPerSocket",
    "Features",
    "Gres",
    "NodeAddr",
    "NodeHostName",
    "Port",
    "RealMemory",
    "Reason",
    "Sockets",
    "State",
    "ThreadsPerCore",
    "TmpDisk",
    "Weight",
];

/// `create NodeName=…`, or why it makes none.
fn made_nodes(words: &[String]) -> Result<ClusterCommand, ScontrolUsageError> {
    let value = |name: &str| {
        let mut pairs = words.iter().filter_map(|word| word.split_once('='));
        let found = pairs.find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value)
    };
    let is_read = words.iter().all(|word| {
        let key = word.split_once('=').map(|(key, _)| key);
        key.is_some_and(|key| {
            NODE_KEYS
                .iter()
                .any(|known| known.eq_ignore_ascii_case(key))
        })
    });
    let names = value("NodeName").filter(|names| !names.is_empty());
    let Some(names) = names.filter(|_| is_read) else {
        return Err(ScontrolUsageError::NoNewNode(format!(
            "Failed to parse nodeline '{}'\nError creating the node(s): Unspecified error",
            words.join(" ")
        )));
    };
    let state = value("State").unwrap_or_default();
    if !["FUTURE", "CLOUD"]
        .iter()
        .any(|known| known.eq_ignore_ascii_case(state))
    {
        return Err(ScontrolUsageError::NoNewNode(
            "Only State=FUTURE and State=CLOUD allowed for nodes created by scontrol\n\
             Error creating the node(s): Invalid node state specified"
                .to_owned(),
        ));
    }
    let is_name = |word: &&String| {
        let (key, _) = word.split_once('=').unwrap_or_default();
        key.eq_ignore_ascii_case("NodeName")
    };
    let rest: Vec<&str> = words
        .iter()
        .filter(|word| !is_name(word))
        .map(String::as_str)
        .collect();
    Ok(ClusterCommand::MakeNodes {
        nodes: names.to_owned(),
        line: rest.join(" "),
    })
}

/// `delete ENTITY=NAME`, `delete ENTITY NAME`
pub(super) fn delete(
    keyword: &str,
    words: &[String],
) -> Result<ScontrolCommand, ScontrolUsageError> {
    let Some(first) = words.first() else {
        return Err(ScontrolUsageError::TooFewAfter(keyword.to_owned()));
    };
    let (key, name) = match (first.split_once('='), words.get(1)) {
        (Some((key, name)), _) => (key, Some(name)),
        (None, name) => (first.as_str(), name.map(String::as_str)),
    };
    match name {
        Some(name) if abbreviates(key, "ReservationName", 3) => Ok(ScontrolCommand::Unreserve {
            name: name.to_owned(),
            written: first.clone(),
        }),
        Some(name) if abbreviates(key, "PartitionName", 3) => {
            Ok(ScontrolCommand::Cluster(ClusterCommand::RemovePartition {
                name: name.to_owned(),
                written: first.clone(),
            }))
        }
        Some(name) if abbreviates(key, "NodeName", 3) => {
            Ok(ScontrolCommand::Cluster(ClusterCommand::RemoveNodes {
                nodes: name.to_owned(),
                written: first.clone(),
            }))
        }
        None if ["ReservationName", "PartitionName", "NodeName"]
            .iter()
            .any(|name| abbreviates(key, name, 3)) =>
        {
            Err(ScontrolUsageError::DeletionFormat)
        }
        _ => Err(ScontrolUsageError::DeletionEntity(first.clone())),
    }
}

/// `update` of jobs: `JobId=12 …`, `job 12 …`, `JobName=x …`; none where it is of something else.
fn update_jobs(words: &[String]) -> Result<Option<ScontrolCommand>, ScontrolUsageError> {
    let (mut jobs, mut changes) = (None, Vec::new());
    let mut name = None;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let change = WrittenChange::read(word, &mut || words.next().cloned());
        let is = |key: &str, least: usize| abbreviates(&change.key, key, least);
        let value = || change.value.clone().unwrap_or_default();
        let is_relative = change.sign.is_some() || value().starts_with(['+', '-']);
        if is("JobId", 3) {
            jobs = Some(value());
        } else if is("JobName", 4) {
            name = Some(change);
        } else if jobs.is_none() && is_relative && is("TimeLimit", 5) {
            return Err(ScontrolUsageError::JobIdFirst);
        } else {
            changes.push(change);
        }
    }
    // Beside an id a name is a change, without one it says which jobs.
    let jobs = match (jobs, name) {
        (Some(jobs), name) => {
            changes.extend(name);
            jobs
        }
        (None, Some(name)) => format!("JobName={}", name.value.unwrap_or_default()),
        (None, None) => return Ok(None),
    };
    Ok(Some(ScontrolCommand::UpdateJobs { jobs, changes }))
}
