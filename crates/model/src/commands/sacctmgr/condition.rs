//! Which records a `where` names.

use super::words::{Answer, list_of};

/// Which associations a `where` names, and the rest of the words.
pub(super) struct Condition {
    pub(super) names: Vec<String>,
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
    split_of(words, false)
}

/// The same of users, whose associations may be for partitions.
pub(super) fn split_of_users(words: &[String]) -> Result<(Condition, Vec<String>), Answer> {
    split_of(words, true)
}

fn split_of(words: &[String], of_users: bool) -> Result<(Condition, Vec<String>), Answer> {
    let mut condition = Condition {
        names: Vec::new(),
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
            lower => match lower.split_once('=') {
                None => condition.names.extend(list_of(word)),
                Some((key, _)) => {
                    let values = list_of(word.split_once('=').map_or("", |(_, value)| value));
                    match key {
                        "account" | "accounts" | "acct" => condition.accounts = Some(values),
                        "user" | "users" => condition.users = Some(values),
                        "partition" | "partitions" if of_users => {
                            condition.partitions = Some(values);
                        }
                        "wckey" | "wckeys" => condition.wckeys = Some(values),
                        "name" | "names" | "qos" | "qoslevel" => condition.names.extend(values),
                        "cluster" | "clusters" => condition.clusters.extend(values),
                        _ => {
                            return Err(Answer::refused(format!(
                                " Unknown condition: {word}\n Use keyword 'set' to modify value\n"
                            )));
                        }
                    }
                }
            },
        }
    }
    Ok((condition, set))
}

impl Condition {
    /// Whether an association for a partition, or for all, may be one that is named.
    pub(super) fn is_of_partition(&self, partition: Option<&String>) -> bool {
        let named = self.partitions.as_ref();
        named.is_none_or(|all| partition.is_some_and(|partition| all.contains(partition)))
    }
}

pub(super) fn no_conditions() -> Answer {
    Answer::refused(" No conditions given to remove, not executing.\n".to_owned())
}
