//! What `key=value` words of `add` and `modify … set` give.

use super::kept_names::as_kept;
use super::raw_usage::is_raw_usage;
use super::words::{
    Answer, ListChange, OF_ASSOCIATIONS, QOS_FLAGS, Setting, Wrong, changed_list, list_changes,
    list_of, operator,
};
use crate::records::{Accounting, Settings};

pub(super) const WHERE_HINT: &str = " Use keyword 'where' to modify condition\n";

/// What `key=value` words set.
#[derive(Default)]
pub(super) struct Given {
    pub(super) names: Vec<String>,
    pub(super) accounts: Option<Vec<String>>,
    pub(super) clusters: Option<Vec<String>>,
    pub(super) parent: Option<String>,
    /// Those for which associations are, each for one; none for all.
    pub(super) partitions: Vec<String>,
    pub(super) description: Option<String>,
    pub(super) organization: Option<String>,
    pub(super) default_account: Option<String>,
    pub(super) wckeys: Vec<String>,
    pub(super) default_wckey: Option<String>,
    pub(super) admin: Option<String>,
    pub(super) qos: Vec<ListChange>,
    /// Settings in the order in which they were written.
    pub(super) settings: Vec<(&'static Setting, String, String)>,
    /// What is said of numbers that can't be read: a QOS is added all the same, as Slurm does it,
    /// and none is modified.
    pub(super) remarks: String,
}

/// What is said where something is added with a usage: a real Slurm passes over it.
const RAW_USAGE: &str =
    "sacctmgr: error: RawUsage is no setting of what is added: modify sets it, to 0\n";

/// Reads the words of `add`, or those after `set`.
pub(super) fn given(
    words: &[String],
    known: &'static [Setting],
    from: &Accounting,
    hint: &str,
) -> Result<Given, Answer> {
    let mut given = Given::default();
    let account = |value: &str| as_kept(value, from.accounts.iter().map(|it| &it.name));
    let kept_qos = |value: &str| as_kept(value, from.qos.iter().map(|it| &it.name));
    for word in words {
        let unknown =
            |before: &str| Answer::refused(format!("{before} Unknown option: {word}\n{hint}"));
        let Some((key, value)) = word.split_once('=') else {
            if !["where", "set"]
                .iter()
                .any(|it| word.eq_ignore_ascii_case(it))
            {
                given.names.extend(list_of(word));
            }
            continue;
        };
        // As Slurm, which also reads what nothing is added to or taken from: MaxJobs+=4 is MaxJobs=4.
        let lower = key.strip_suffix(['+', '-']).unwrap_or(key);
        let lower = lower.to_ascii_lowercase();
        let value = value.trim_matches(['"', '\'']);
        match lower.as_str() {
            "name" | "names" | "user" | "users" => given.names = list_of(value),
            "account" | "accounts" | "acct" => given.accounts = Some(list_of(&account(value))),
            "cluster" | "clusters" => given.clusters = Some(list_of(value)),
            "parent" => given.parent = Some(account(value)),
            "partition" | "partitions" => given.partitions = without_repeats(list_of(value)),
            // As Slurm keeps them.
            "description" => given.description = Some(value.to_ascii_lowercase()),
            "organization" => given.organization = Some(value.to_ascii_lowercase()),
            "defaultaccount" => given.default_account = Some(account(value)),
            "wckey" | "wckeys" => given.wckeys = list_of(value),
            "defaultwckey" => given.default_wckey = Some(value.to_owned()),
            "adminlevel" | "admin" => given.admin = Some(value.to_owned()),
            "qos" | "qoslevel" if std::ptr::eq(known, OF_ASSOCIATIONS) => {
                let changes = list_changes(operator(word), &kept_qos(value));
                if let Some(bad) = unknown_qos(&changes, from) {
                    return Err(unknown(&bad));
                }
                given.qos.extend(changes);
            }
            _ if is_raw_usage(&lower) => {
                return Err(Answer::refused(RAW_USAGE.to_owned()));
            }
            _ => {
                let Some(setting) = Setting::named(known, &lower) else {
                    return Err(unknown(""));
                };
                let mut value = value;
                if setting.key == "defaultqos" && value != "-1" {
                    // Kept by its own name, in whatever case it is written.
                    let mut all = from.qos.iter();
                    match all.find(|qos| qos.name.eq_ignore_ascii_case(value)) {
                        Some(qos) => value = &qos.name,
                        None => return Err(bad_default_qos(value)),
                    }
                }
                if setting.key == "preempt" && value != "-1" {
                    let changes = list_changes(operator(word), &kept_qos(value));
                    if let Some(bad) = unknown_qos(&changes, from) {
                        return Err(Answer::refused(bad));
                    }
                }
                match setting.put(word, value, &mut Settings::new()) {
                    Ok(()) => given
                        .settings
                        .push((setting, word.clone(), value.to_owned())),
                    Err(Wrong::Number(remark)) if std::ptr::eq(known, OF_ASSOCIATIONS) => {
                        return Err(unknown(&remark));
                    }
                    Err(Wrong::Number(remark)) => given.remarks.push_str(&remark),
                    Err(Wrong::Word(text)) => return Err(Answer::refused(text)),
                    Err(Wrong::Flags) => return Err(no_flags(value)),
                    Err(Wrong::Tres(text)) => return Err(unknown(&text)),
                }
            }
        }
    }
    Ok(given)
}

/// Each name once; of two the later counts.
pub(super) fn without_repeats(names: Vec<String>) -> Vec<String> {
    let mut once: Vec<String> = Vec::with_capacity(names.len());
    for name in names {
        once.retain(|other| !other.eq_ignore_ascii_case(&name));
        once.push(name);
    }
    once
}

/// What is said of the first name of no QOS.
pub(super) fn unknown_qos(changes: &[ListChange], from: &Accounting) -> Option<String> {
    let is_known = |name: &&String| from.qos.iter().any(|qos| qos.name == **name);
    let mut names = changes.iter().flat_map(ListChange::names);
    let bad = names.find(|name| !is_known(name))?;
    let all: Vec<&str> = from.qos.iter().map(|qos| qos.name.as_str()).collect();
    Some(format!(
        "sacctmgr: error: You gave a bad qos '{bad}'. Valid QOS's are {}\n",
        all.join(",")
    ))
}

fn bad_default_qos(name: &str) -> Answer {
    Answer::refused(format!(
        "You gave a bad default qos '{name}'.  Use 'list qos' to get complete list.\n"
    ))
}

fn no_flags(value: &str) -> Answer {
    Answer {
        stdout: format!(
            " Unknown QOS flag used in:\n  '{value}'\n Valid QOS flags are\n  '{}'\n",
            QOS_FLAGS.join(",")
        ),
        status: 1,
        ..Answer::default()
    }
}

impl Given {
    /// Workload keys are of users alone.
    pub(super) fn refuse_wckeys(&self) -> Result<(), Answer> {
        let default = self.default_wckey.as_ref().map(|key| ("defaultwckey", key));
        let named = self.wckeys.first().map(|key| ("wckey", key));
        match named.or(default) {
            None => Ok(()),
            Some((word, key)) => Err(Answer::refused(format!(
                " Unknown option: {word}={key}\n{WHERE_HINT}"
            ))),
        }
    }

    /// The settings put into others.
    pub(super) fn put_into(&self, into: &mut Settings) {
        for (setting, word, value) in &self.settings {
            // Checked when it was read.
            let _ = setting.put(word, value, into);
        }
    }

    pub(super) fn own(&self) -> Settings {
        let mut settings = Settings::new();
        self.put_into(&mut settings);
        settings
    }

    /// The settings as they are said, aligned.
    pub(super) fn lines(&self, width: usize) -> String {
        let own = self.own();
        let mut said: Vec<(&str, String)> = Vec::new();
        for (setting, ..) in &self.settings {
            if let Some(value) = own.get(setting.key) {
                said.push((setting.said, setting.value_text(value)));
            }
        }
        said.sort_by_key(|(name, _)| *name);
        said.dedup();
        let lines = said
            .iter()
            // Slurm's own is not aligned with the others.
            .map(|(name, value)| match *name {
                "MaxJobsPerUser" => format!("  {name} = {value}\n"),
                name => format!("  {name:<width$} = {value}\n"),
            });
        lines.collect()
    }

    /// What is set, also what is given up, as `modify cluster` says it.
    pub(super) fn changed_lines(&self) -> String {
        let own = self.own();
        let mut said: Vec<(&str, String)> = Vec::new();
        for (setting, _, given) in &self.settings {
            let value = match own.get(setting.key) {
                Some(value) => setting.value_text(value),
                None if setting.key == "defaultqos" => "(null)".to_owned(),
                None if given.contains('=') => given.replace("=-1", "=NONE"),
                None => "NONE".to_owned(),
            };
            said.push((setting.said, value));
        }
        // The real one's own order has its default QOS last.
        said.sort_by_key(|(name, _)| (*name == "DefQOS", *name));
        said.dedup();
        for change in &self.qos {
            let sign = match change {
                ListChange::Set(_) => "",
                ListChange::Add(_) => "+",
                ListChange::Remove(_) => "-",
            };
            let names = change.names().iter();
            let names: Vec<String> = names.map(|name| format!("{sign}{name}")).collect();
            said.push(("QOS", names.join(",")));
        }
        let lines = said.iter();
        lines
            .map(|(name, value)| format!("  {name:<13} = {value}\n"))
            .collect()
    }

    pub(super) fn unknown_cluster(&self, accounting: &Accounting) -> Option<Answer> {
        let mut names = self.clusters.iter().flatten();
        let unknown = names.find(|name| **name != accounting.cluster)?;
        Some(Answer::refused(format!(
            " This cluster '{unknown}' doesn't exist.\n        Contact your admin to add it to accounting.\n"
        )))
    }

    pub(super) fn initial_qos(&self) -> Option<Vec<String>> {
        self.qos.iter().fold(None, |now, change| {
            Some(changed_list(now.unwrap_or_default(), change))
        })
    }
}

pub(super) fn with_remarks(mut answer: Answer, given: &Given) -> Answer {
    answer.stderr.push_str(&given.remarks);
    answer
}

/// Of QOS the real one says what it doesn't know on standard output.
pub(super) fn on_stdout(mut answer: Answer) -> Answer {
    if answer.stderr.starts_with(" Unknown option") {
        answer.stdout = std::mem::take(&mut answer.stderr);
    }
    answer
}

/// The level that a text names, by its first letter (`str_2_slurmdb_admin_level` of slurmdb_defs.c).
pub(super) fn admin_level(text: Option<&str>) -> Option<&'static str> {
    match text?.chars().next()?.to_ascii_lowercase() {
        'n' => Some("None"),
        'o' => Some("Operator"),
        's' | 'a' => Some("Administrator"),
        _ => None,
    }
}
