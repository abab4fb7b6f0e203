//! What `sacctmgr show` asks for: names, conditions and columns.

use super::columns::{Chosen, choose};
use super::given::unknown_qos;
use super::is;
use super::words::{Answer, ListChange, list_of};
use crate::records::Accounting;
use std::collections::BTreeMap;

/// What a `show` asks for.
#[derive(Default)]
pub(super) struct ShowRequest {
    pub(super) names: Option<Vec<String>>,
    pub(super) users: Option<Vec<String>>,
    pub(super) accounts: Option<Vec<String>>,
    pub(super) clusters: Option<Vec<String>>,
    pub(super) admin: Option<String>,
    pub(super) format: Option<String>,
    pub(super) with_assoc: bool,
    pub(super) with_coord: bool,
    pub(super) tree: bool,
    pub(super) only_defaults: bool,
    /// `wopinfo`: what an association has of its own alone.
    pub(super) without_parents: bool,
    /// `wolimits`: without the columns of limits.
    pub(super) without_limits: bool,
    /// `withsubaccounts`: also of those under the accounts that are named.
    pub(super) sub_accounts: bool,
    /// Conditions on what a row has beside its name.
    pub(super) values: BTreeMap<String, Vec<String>>,
}

impl ShowRequest {
    /// Reads the words after the entity; a bare word is a name.
    pub(super) fn read(words: &[String], hint: &str) -> Result<ShowRequest, Answer> {
        let mut asked = ShowRequest::default();
        for word in words {
            let Some((key, value)) = word.split_once('=') else {
                let one = |name: &str, least| is(word, name, least);
                if one("withassociations", 5) {
                    asked.with_assoc = true;
                } else if one("withcoordinators", 5) {
                    asked.with_coord = true;
                } else if one("tree", 4) {
                    asked.tree = true;
                } else if one("onlydefaults", 4) {
                    asked.only_defaults = true;
                } else if one("wopinfo", 4) {
                    asked.without_parents = true;
                } else if one("wolimits", 3) {
                    asked.without_limits = true;
                } else if one("withsubaccounts", 5) {
                    asked.sub_accounts = true;
                } else if ![
                    ("where", 5),
                    ("withdeleted", 5),
                    ("withrawqoslevel", 5),
                    ("withfed", 5),
                    ("woplimits", 4),
                    ("all_clusters", 12),
                ]
                .iter()
                .any(|(name, least)| one(name, *least))
                {
                    asked.names.get_or_insert_default().extend(list_of(word));
                }
                continue;
            };
            let key = key.to_ascii_lowercase();
            match key.as_str() {
                "format" => asked.format = Some(value.to_owned()),
                "name" | "names" => asked.names = Some(list_of(value)),
                "user" | "users" => asked.users = Some(list_or_empty(value)),
                "account" | "accounts" | "acct" => asked.accounts = Some(list_or_empty(value)),
                "cluster" | "clusters" => asked.clusters = Some(list_of(value)),
                "adminlevel" | "admin" => asked.admin = Some(value.to_ascii_lowercase()),
                "defaultaccount" | "partition" | "partitions" | "qos" | "qoslevel"
                | "defaultqos" | "preemptmode" | "parent" | "id" => {
                    let key = match key.as_str() {
                        "partitions" => "partition",
                        "qoslevel" => "qos",
                        key => key,
                    };
                    asked.values.insert(key.to_owned(), list_or_empty(value));
                }
                _ if is(&key, "organization", 1) || is(&key, "description", 1) => {
                    let key = if key.starts_with('o') {
                        "organization"
                    } else {
                        "description"
                    };
                    asked.values.insert(key.to_owned(), list_or_empty(value));
                }
                _ => {
                    let mut lines = format!(" Unknown condition: {word}\n");
                    lines.push_str(hint);
                    return Err(Answer::refused(lines));
                }
            }
        }
        Ok(asked)
    }

    /// Whether a value is one of those that are asked for, where some are.
    pub(super) fn fits(&self, key: &str, value: &str) -> bool {
        let wanted = self.values.get(key);
        wanted.is_none_or(|all| all.iter().any(|it| it.eq_ignore_ascii_case(value)))
    }

    /// A word alone is the number of an association.
    pub(super) fn take_ids(&mut self) -> Result<(), Answer> {
        for word in self.names.take().unwrap_or_default() {
            if word.parse::<u32>().is_err() {
                return Err(Answer::refused(format!(
                    "sacctmgr: error: Invalid value for AssocId ({word})\n"
                )));
            }
            self.values.entry("id".to_owned()).or_default().push(word);
        }
        Ok(())
    }

    pub(super) fn refuse_unknown_qos(&self, from: &Accounting) -> Result<(), Answer> {
        for key in ["qos", "defaultqos"] {
            let names = self.values.get(key).cloned().unwrap_or_default();
            let said = names.join(",");
            if let Some(words) = unknown_qos(&[ListChange::Set(names)], from) {
                let condition = format!(" Unknown condition: {key}={said}\n");
                return Err(Answer::refused(format!("{words}{condition}")));
            }
        }
        Ok(())
    }

    pub(super) fn refuse_unknown_mode(&self) -> Result<(), Answer> {
        let known = [
            "cancel", "cluster", "gang", "off", "requeue", "suspend", "within",
        ];
        let mut modes = self.values.get("preemptmode").into_iter().flatten();
        let bad = modes.find(|mode| !known.iter().any(|known| known.eq_ignore_ascii_case(mode)));
        bad.map_or(Ok(()), |bad| {
            Err(Answer::refused(format!(
                "sacctmgr: error: Unknown preempt_mode given '{bad}'\n Bad Preempt Mode given: preemptmode={bad}\n"
            )))
        })
    }

    pub(super) fn columns(&self, own: &str) -> Result<Vec<Chosen>, Answer> {
        let format = self.format.as_deref().unwrap_or(own);
        choose(format).map_err(|wrong| Answer::refused(format!("{wrong}\n")))
    }

    pub(super) fn is_here(&self, accounting: &Accounting) -> bool {
        let clusters = self.clusters.as_ref();
        clusters.is_none_or(|names| names.contains(&accounting.cluster))
    }
}

/// `a,b`; of a value without names an empty one, as `slurm_addto_char_list` makes it: `user=` asks for
/// the associations of accounts.
fn list_or_empty(value: &str) -> Vec<String> {
    let names = list_of(value.trim_matches(['"', '\'']));
    if names.is_empty() {
        vec![String::new()]
    } else {
        names
    }
}

pub(super) fn named(names: &Option<Vec<String>>, name: &str) -> bool {
    names
        .as_ref()
        .is_none_or(|names| names.iter().any(|it| it.eq_ignore_ascii_case(name)))
}
