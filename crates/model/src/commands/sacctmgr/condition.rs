//! Which records a `where` names.

use super::words::{Answer, list_of};
use crate::records::Accounting;

const HINT: &str = " Use keyword 'set' to modify value\n";

/// Which associations a `where` names, and the rest of the words.
pub(super) struct Condition {
    pub(super) names: Vec<String>,
    /// Names were asked for, also where there is none: a variable of a script may be empty.
    pub(super) is_named: bool,
    pub(super) accounts: Option<Vec<String>>,
    pub(super) users: Option<Vec<String>>,
    /// Of associations for partitions, which.
    pub(super) partitions: Option<Vec<String>>,
    pub(super) wckeys: Option<Vec<String>>,
    /// Clusters that are named: it is about what users and accounts have there.
    pub(super) clusters: Vec<String>,
}

/// Splits `NAME where … set …` into what is named and what is set.
pub(super) fn split(words: &[String]) -> Result<(Condition, Vec<String>), Answer> {
    split_by(words, &["account", "user", "wckey"], HINT)
}

/// The same of users, whose associations may be for partitions.
pub(super) fn split_of_users(words: &[String]) -> Result<(Condition, Vec<String>), Answer> {
    split_by(words, &["account", "partition", "user", "wckey"], HINT)
}

/// The same of clusters, which go by their names alone.
pub(super) fn split_of_clusters(words: &[String]) -> Result<(Condition, Vec<String>), Answer> {
    split_by(words, &[], HINT)
}

/// The same of QOS, likewise.
pub(super) fn split_of_qos(words: &[String]) -> Result<(Condition, Vec<String>), Answer> {
    // As the real one says it.
    let hint = " Use keyword 'set' to modify SLURM_PRINT_VALUE\n";
    split_by(words, &[], hint)
}

/// The same with conditions on what associations have, of which these are taken.
fn split_by(
    words: &[String],
    takes: &[&str],
    hint: &str,
) -> Result<(Condition, Vec<String>), Answer> {
    let mut condition = Condition {
        names: Vec::new(),
        is_named: false,
        accounts: None,
        users: None,
        partitions: None,
        wckeys: None,
        clusters: Vec::new(),
    };
    let mut set = Vec::new();
    let mut within_set = false;
    for word in words {
        match word.to_ascii_lowercase().as_str() {
            "set" => within_set = true,
            "where" => within_set = false,
            _ if within_set => set.push(word.clone()),
            lower => {
                let (key, value) = word.split_once('=').unwrap_or(("name", word));
                let values = list_of(value);
                let key = match key.to_ascii_lowercase().as_str() {
                    "account" | "accounts" | "acct" => "account",
                    "user" | "users" => "user",
                    "partition" | "partitions" => "partition",
                    "wckey" | "wckeys" => "wckey",
                    "name" | "names" | "qos" | "qoslevel" => "name",
                    "cluster" | "clusters" => "cluster",
                    _ => lower,
                };
                match key {
                    "name" => {
                        condition.is_named = true;
                        condition.names.extend(values);
                    }
                    "cluster" => condition.clusters.extend(values),
                    "account" if takes.contains(&key) => condition.accounts = Some(values),
                    "user" if takes.contains(&key) => condition.users = Some(values),
                    "partition" if takes.contains(&key) => condition.partitions = Some(values),
                    "wckey" if takes.contains(&key) => condition.wckeys = Some(values),
                    _ => {
                        return Err(Answer::refused(format!(
                            " Unknown condition: {word}\n{hint}"
                        )));
                    }
                }
            }
        }
    }
    Ok((condition, set))
}

impl Condition {
    /// Whether it is about what there is on this cluster.
    pub(super) fn is_here(&self, accounting: &Accounting) -> bool {
        let mut named = self.clusters.iter();
        self.clusters.is_empty() || named.any(|name| name.eq_ignore_ascii_case(&accounting.cluster))
    }

    /// Whether an association for a partition, or for all, may be one that is named.
    pub(super) fn is_of_partition(&self, partition: Option<&String>) -> bool {
        let named = self.partitions.as_ref();
        named.is_none_or(|all| partition.is_some_and(|partition| all.contains(partition)))
    }
}

pub(super) fn no_conditions() -> Answer {
    Answer::refused(" No conditions given to remove, not executing.\n".to_owned())
}
