//! `sacctmgr add`, `modify` and `delete`: from one state of the accounting to the next.

use super::wckeys;
use super::words::{Answer, OF_ASSOCIATIONS, OF_QOS, Setting, Wrong, check_names, list_of};
use crate::records::accounting::is_passed_down;
use crate::records::{
    Account, AccountAssociation, AccountUser, Accounting, AccountingUse, Qos, Settings,
};

const QOS_FLAGS: &[&str] = &[
    "DenyOnLimit",
    "EnforceUsageThreshold",
    "NoReserve",
    "PartitionMaxNodes",
    "PartitionMinNodes",
    "OverPartQOS",
    "PartitionTimeLimit",
    "RequiresReservation",
    "NoDecay",
    "UsageFactorSafe",
];

const WHERE_HINT: &str = " Use keyword 'where' to modify condition\n";

/// How QOS of an association change.
#[derive(Clone, Debug)]
enum QosChange {
    Set(Vec<String>),
    Add(Vec<String>),
    Remove(Vec<String>),
}

/// What `key=value` words set.
#[derive(Default)]
struct Given {
    names: Vec<String>,
    accounts: Option<Vec<String>>,
    clusters: Option<Vec<String>>,
    parent: Option<String>,
    partition: Option<String>,
    description: Option<String>,
    organization: Option<String>,
    default_account: Option<String>,
    wckeys: Vec<String>,
    default_wckey: Option<String>,
    admin: Option<String>,
    qos: Vec<QosChange>,
    /// Settings in the order in which they were written.
    settings: Vec<(&'static Setting, String, String)>,
    /// What is said of numbers that can't be read: a QOS is added all the same, as Slurm does it,
    /// and none is modified.
    remarks: String,
}

/// Reads the words of `add`, or those after `set`.
fn given(
    words: &[String],
    known: &'static [Setting],
    from: &Accounting,
    hint: &str,
) -> Result<Given, Answer> {
    let mut given = Given::default();
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
        let lower = key.to_ascii_lowercase();
        let value = value.trim_matches(['"', '\'']);
        match lower.as_str() {
            "name" | "names" | "user" | "users" => given.names = list_of(value),
            "account" | "accounts" | "acct" => given.accounts = Some(list_of(value)),
            "cluster" | "clusters" => given.clusters = Some(list_of(value)),
            "parent" => given.parent = Some(value.to_owned()),
            "partition" | "partitions" => given.partition = Some(value.to_owned()),
            "description" => given.description = Some(value.to_owned()),
            "organization" => given.organization = Some(value.to_owned()),
            "defaultaccount" => given.default_account = Some(value.to_owned()),
            "wckey" | "wckeys" => given.wckeys = list_of(value),
            "defaultwckey" => given.default_wckey = Some(value.to_owned()),
            "adminlevel" | "admin" => given.admin = Some(value.to_owned()),
            "qos" | "qoslevel" | "qos+" | "qoslevel+" | "qos-" | "qoslevel-"
                if std::ptr::eq(known, OF_ASSOCIATIONS) =>
            {
                let names = list_of(value);
                if let Some(bad) = unknown_qos(&names, from) {
                    return Err(unknown(&bad));
                }
                given.qos.push(match lower.chars().last() {
                    Some('+') => QosChange::Add(names),
                    Some('-') => QosChange::Remove(names),
                    _ => QosChange::Set(names),
                });
            }
            _ => {
                let Some(setting) = Setting::named(known, key) else {
                    return Err(unknown(""));
                };
                if setting.key == "flags" {
                    check_flags(value)?;
                }
                if setting.key == "preempt" && value != "-1" {
                    let names = list_of(value);
                    if let Some(bad) = unknown_qos(&names, from) {
                        return Err(unknown(&bad));
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
                    Err(Wrong::Tres(text)) => return Err(unknown(&text)),
                }
            }
        }
    }
    Ok(given)
}

/// What is said of the first name of no QOS.
fn unknown_qos(names: &[String], from: &Accounting) -> Option<String> {
    let is_known = |name: &&String| from.qos.iter().any(|qos| qos.name == **name);
    let bad = names.iter().find(|name| !is_known(name))?;
    let all: Vec<&str> = from.qos.iter().map(|qos| qos.name.as_str()).collect();
    Some(format!(
        "sacctmgr: error: You gave a bad qos '{bad}'. Valid QOS's are {}\n",
        all.join(",")
    ))
}

fn check_flags(value: &str) -> Result<(), Answer> {
    let is_known = |flag: &&String| {
        QOS_FLAGS
            .iter()
            .any(|known| known.eq_ignore_ascii_case(flag))
    };
    match list_of(value).iter().find(|flag| !is_known(flag)) {
        None => Ok(()),
        Some(_) => Err(Answer {
            stdout: format!(
                " Unknown QOS flag used in:\n  '{value}'\n Valid QOS flags are\n  '{}'\n",
                QOS_FLAGS.join(",")
            ),
            status: 1,
            ..Answer::default()
        }),
    }
}

impl Given {
    /// Workload keys are of users alone.
    fn refuse_wckeys(&self) -> Result<(), Answer> {
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
    fn put_into(&self, into: &mut Settings) {
        for (setting, word, value) in &self.settings {
            // Checked when it was read.
            let _ = setting.put(word, value, into);
        }
    }

    fn own(&self) -> Settings {
        let mut settings = Settings::new();
        self.put_into(&mut settings);
        settings
    }

    /// The settings as they are said, aligned.
    fn lines(&self, width: usize) -> String {
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
            .map(|(name, value)| format!("  {name:<width$} = {value}\n"));
        lines.collect()
    }

    fn unknown_cluster(&self, accounting: &Accounting) -> Option<Answer> {
        let mut names = self.clusters.iter().flatten();
        let unknown = names.find(|name| **name != accounting.cluster)?;
        Some(Answer::refused(format!(
            " This cluster '{unknown}' doesn't exist.\n        Contact your admin to add it to accounting.\n"
        )))
    }

    fn initial_qos(&self) -> Option<Vec<String>> {
        self.qos.iter().fold(None, |now, change| {
            Some(changed_qos(now.unwrap_or_default(), change))
        })
    }
}

fn changed_qos(mut now: Vec<String>, change: &QosChange) -> Vec<String> {
    match change {
        QosChange::Set(names) => return names.clone(),
        QosChange::Add(names) => {
            for name in names {
                if !now.contains(name) {
                    now.push(name.clone());
                }
            }
        }
        QosChange::Remove(names) => now.retain(|name| !names.contains(name)),
    }
    now
}

/// `add account …`
pub(super) fn add_account(words: &[String], to: &mut Accounting) -> Result<Answer, Answer> {
    let given = given(words, OF_ASSOCIATIONS, to, WHERE_HINT)?;
    given.refuse_wckeys()?;
    let mut names = given.names.clone();
    names.extend(given.accounts.clone().unwrap_or_default());
    if names.is_empty() {
        return Err(Answer::refused(
            " Need name of account to add.\n".to_owned(),
        ));
    }
    check_names(&names)?;
    if let Some(answer) = given.unknown_cluster(to) {
        return Err(answer);
    }
    let parent = given.parent.clone().unwrap_or_else(|| "root".to_owned());
    if to.account_association(&parent).is_none() {
        let cluster = &to.cluster;
        return Err(Answer::refused(format!(
            " Parent account '{parent}' doesn't exist on cluster {cluster}\n        Contact your admin to add this account.\n No associations created.\n"
        )));
    }
    names.retain(|name| !to.accounts.iter().any(|account| account.name == *name));
    if names.is_empty() {
        return Err(Answer::nothing("Nothing new added."));
    }
    let description = given.description.as_deref().unwrap_or("Account Name");
    let organization = given
        .organization
        .as_deref()
        .unwrap_or("Parent/Account Name");
    let mut text = String::from(" Adding Account(s)\n");
    for name in &names {
        text.push_str(&format!("  {name}\n"));
    }
    text.push_str(&format!(
        " Settings\n  Description     = {description}\n  Organization    = {organization}\n Associations\n"
    ));
    for name in &names {
        text.push_str(&format!("  A = {name:<10} C = {:<10}\n", to.cluster));
        to.accounts.push(Account {
            name: name.clone(),
            description: given.description.clone().unwrap_or_else(|| name.clone()),
            organization: given
                .organization
                .clone()
                .unwrap_or_else(|| match parent.as_str() {
                    "root" => name.clone(),
                    parent => parent.to_owned(),
                }),
            coordinators: Vec::new(),
        });
        to.associations.push(AccountAssociation {
            account: name.clone(),
            parent: Some(parent.clone()),
            qos: given.initial_qos(),
            settings: given.own(),
            ..AccountAssociation::default()
        });
    }
    if !given.settings.is_empty() || given.parent.is_some() {
        text.push_str(&format!(
            " Settings\n{}  {:<13} = {parent}\n",
            given.lines(13),
            "Parent"
        ));
    }
    Ok(with_remarks(Answer::changed(text), &given))
}

fn with_remarks(mut answer: Answer, given: &Given) -> Answer {
    answer.stderr.push_str(&given.remarks);
    answer
}

/// `add user …`
pub(super) fn add_user(words: &[String], to: &mut Accounting) -> Result<Answer, Answer> {
    let given = given(words, OF_ASSOCIATIONS, to, "")?;
    if given.names.is_empty() {
        return Err(Answer::refused(" Need name of user to add.\n".to_owned()));
    }
    check_names(given.names.iter().chain(&given.wckeys))?;
    if let Some(answer) = given.unknown_cluster(to) {
        return Err(answer);
    }
    let accounts = given
        .accounts
        .clone()
        .or_else(|| given.default_account.clone().map(|it| vec![it]));
    let keys = given.wckeys.iter().chain(&given.default_wckey);
    let keys: Vec<String> = keys.cloned().collect();
    if accounts.is_none() && !keys.is_empty() {
        let is_known = |name: &&String| to.users.iter().any(|user| user.name == **name);
        let users: Vec<String> = given.names.iter().filter(is_known).cloned().collect();
        let lines = wckeys::add(&keys, &users, to);
        if lines.is_empty() {
            return Err(Answer::nothing("Nothing new added."));
        }
        put_default_wckey(&given, &users, to);
        return Ok(Answer::changed(format!(" WCKeys =\n{lines}")));
    }
    let Some(accounts) = accounts else {
        return Err(Answer::refused(
            " Need name of account to add user to.\n".to_owned(),
        ));
    };
    let is_account = |name: &&String| to.accounts.iter().any(|account| account.name == **name);
    if let Some(unknown) = accounts.iter().find(|name| !is_account(name)) {
        let said = format!(
            " This account '{unknown}' doesn't exist.\n        Contact your admin to add this account.\n"
        );
        let is_known = |name: &String| to.users.iter().any(|user| user.name == *name);
        return Err(if given.names.iter().all(is_known) {
            Answer {
                stderr: said,
                ..Answer::nothing("Nothing new added.")
            }
        } else {
            Answer::refused(format!("{said} No associations or wckeys created.\n"))
        });
    }
    let (mut new_users, mut lines) = (String::new(), String::new());
    for name in &given.names {
        if !to.users.iter().any(|user| user.name == *name) {
            new_users.push_str(&format!("  {name}\n"));
            to.users.push(AccountUser {
                name: name.clone(),
                default_account: given
                    .default_account
                    .clone()
                    .unwrap_or_else(|| accounts[0].clone()),
                admin: admin_level(given.admin.as_deref())
                    .unwrap_or("None")
                    .to_owned(),
                ..AccountUser::default()
            });
        }
        // One who was there takes the default account that is given with a new association.
        let known = to.users.iter_mut().find(|user| user.name == *name);
        if let (Some(user), Some(default)) = (known, &given.default_account) {
            user.default_account.clone_from(default);
        }
        for account in &accounts {
            let is_it = |it: &AccountAssociation| {
                it.account == *account
                    && it.user.as_ref() == Some(name)
                    && it.partition == given.partition
            };
            if to.associations.iter().any(is_it) {
                continue;
            }
            lines.push_str(&format!(
                "  U = {name:<9} A = {account:<10} C = {:<10}",
                to.cluster
            ));
            if let Some(partition) = &given.partition {
                lines.push_str(&format!(" P = {partition:<10}"));
            }
            lines.push('\n');
            to.associations.push(AccountAssociation {
                account: account.clone(),
                user: Some(name.clone()),
                partition: given.partition.clone(),
                qos: given.initial_qos(),
                settings: given.own(),
                ..AccountAssociation::default()
            });
        }
    }
    let of_keys = wckeys::add(&keys, &given.names, to);
    put_default_wckey(&given, &given.names, to);
    if lines.is_empty() && new_users.is_empty() && of_keys.is_empty() {
        return Err(Answer::nothing("Nothing new added."));
    }
    let mut text = String::new();
    if !new_users.is_empty() {
        text.push_str(&format!(" Adding User(s)\n{new_users}"));
    }
    if !lines.is_empty() {
        text.push_str(&format!(" Associations =\n{lines}"));
    }
    if !of_keys.is_empty() {
        text.push_str(&format!(" WCKeys =\n{of_keys}"));
    }
    text.push_str(&format!(" Non Default Settings\n{}", given.lines(13)));
    Ok(with_remarks(Answer::changed(text), &given))
}

/// The workload key of jobs that name none.
fn put_default_wckey(given: &Given, users: &[String], to: &mut Accounting) {
    if let Some(key) = &given.default_wckey {
        for user in to.users.iter_mut().filter(|it| users.contains(&it.name)) {
            user.default_wckey.clone_from(key);
        }
    }
}

/// `add qos …`
pub(super) fn add_qos(words: &[String], to: &mut Accounting) -> Result<Answer, Answer> {
    let given = given(words, OF_QOS, to, WHERE_HINT).map_err(on_stdout)?;
    given.refuse_wckeys()?;
    if given.names.is_empty() {
        return Err(Answer::refused(" Need name of qos to add.\n".to_owned()));
    }
    check_names(&given.names)?;
    let names = given.names.iter();
    let is_known = |name: &&String| to.qos.iter().any(|qos| qos.name == **name);
    let names: Vec<String> = names.filter(|name| !is_known(name)).cloned().collect();
    if names.is_empty() {
        return Err(Answer::nothing("Nothing new added."));
    }
    let mut text = String::from(" Adding QOS(s)\n");
    for name in &names {
        text.push_str(&format!("  {name}\n"));
    }
    let description = given.description.clone();
    let said = description.as_ref().unwrap_or(&names[0]);
    text.push_str(&format!(
        " Settings\n  Description    = {said}\n{}",
        given.lines(24)
    ));
    for name in names {
        to.qos.push(Qos {
            description: description.clone().unwrap_or_else(|| name.clone()),
            name,
            settings: given.own(),
            id: 0,
        });
    }
    Ok(with_remarks(Answer::changed(text), &given))
}

/// Of QOS the real one says what it doesn't know on standard output.
fn on_stdout(mut answer: Answer) -> Answer {
    if answer.stderr.starts_with(" Unknown option") {
        answer.stdout = std::mem::take(&mut answer.stderr);
    }
    answer
}

/// Which associations a `where` names, and the rest of the words.
struct Condition {
    names: Vec<String>,
    accounts: Option<Vec<String>>,
    users: Option<Vec<String>>,
    wckeys: Option<Vec<String>>,
}

/// Splits `NAME where … set …` into what is named and what is set.
fn split(words: &[String]) -> Result<(Condition, Vec<String>), Answer> {
    let mut condition = Condition {
        names: Vec::new(),
        accounts: None,
        users: None,
        wckeys: None,
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
                        "wckey" | "wckeys" => condition.wckeys = Some(values),
                        "name" | "names" | "qos" | "qoslevel" => condition.names.extend(values),
                        // There is one cluster.
                        "cluster" | "clusters" => {}
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

/// `modify account|user …`: what both do to associations.
fn modify_associations(
    given: &Given,
    to: &mut Accounting,
    is_meant: impl Fn(&AccountAssociation) -> bool,
) -> String {
    let passes_down = !given.qos.is_empty()
        || given
            .settings
            .iter()
            .any(|(setting, ..)| is_passed_down(setting.key));
    let cluster = to.cluster.clone();
    let mut text = String::new();
    let mut changed_accounts = Vec::new();
    for index in 0..to.associations.len() {
        if !is_meant(&to.associations[index]) {
            continue;
        }
        let qos = to.qos_of(&to.associations[index]).to_vec();
        let it = &mut to.associations[index];
        given.put_into(&mut it.settings);
        if !given.qos.is_empty() {
            it.qos = Some(given.qos.iter().fold(qos, changed_qos));
        }
        match (&it.user, &it.parent) {
            (None, Some(parent)) => {
                text.push_str(&format!(
                    "  C = {cluster:<10} A = {} of {parent}\n",
                    it.account
                ));
                changed_accounts.push(it.account.clone());
            }
            (None, None) => text.push_str(&format!("  C = {cluster:<10} A = {}\n", it.account)),
            (Some(_), _) => {}
        }
    }
    // Users come the newest first; those that go by their account's value changed with it.
    for it in to.associations.iter().rev() {
        let Some(user) = &it.user else { continue };
        let goes_along = passes_down
            && changed_accounts.contains(&it.account)
            && (given.qos.is_empty() || it.qos.is_none());
        if is_meant(it) || goes_along {
            text.push_str(&format!(
                "  C = {cluster:<10} A = {:<20} U = {user:<9}\n",
                it.account
            ));
        }
    }
    text
}

/// `modify account …`
pub(super) fn modify_account(words: &[String], to: &mut Accounting) -> Result<Answer, Answer> {
    let (mut condition, set) = split(words)?;
    condition
        .names
        .extend(condition.accounts.take().unwrap_or_default());
    let given = given(&set, OF_ASSOCIATIONS, to, WHERE_HINT)?;
    given.refuse_wckeys()?;
    if set.is_empty() {
        return Err(nothing_to_set());
    }
    let mut text = String::new();
    if given.description.is_some() || given.organization.is_some() {
        let mut lines = String::new();
        for account in to
            .accounts
            .iter_mut()
            .filter(|it| condition.names.contains(&it.name))
        {
            lines.push_str(&format!("  {}\n", account.name));
            put_text(&mut account.description, &given.description);
            put_text(&mut account.organization, &given.organization);
        }
        if !lines.is_empty() {
            text.push_str(&format!(" Modified accounts...\n{lines}"));
        }
    }
    if let Some(parent) = &given.parent {
        if to.account_association(parent).is_none() || condition.names.contains(parent) {
            return Err(Answer::nothing("Nothing modified"));
        }
        for it in to
            .associations
            .iter_mut()
            .filter(|it| it.user.is_none() && it.parent.is_some())
        {
            if condition.names.contains(&it.account) {
                it.parent = Some(parent.clone());
            }
        }
    }
    if !given.settings.is_empty() || !given.qos.is_empty() || given.parent.is_some() {
        let names = condition.names;
        let is_meant = |it: &AccountAssociation| it.user.is_none() && names.contains(&it.account);
        let before = to.clone();
        let lines = modify_associations(&given, to, is_meant);
        keep_default_qos(before, to)?;
        if !lines.is_empty() {
            text.push_str(&format!(" Modified account associations...\n{lines}"));
        }
    }
    finish(text, &given)
}

/// `modify user …`
pub(super) fn modify_user(words: &[String], to: &mut Accounting) -> Result<Answer, Answer> {
    let (mut condition, set) = split(words)?;
    condition
        .names
        .extend(condition.users.take().unwrap_or_default());
    let given = given(&set, OF_ASSOCIATIONS, to, WHERE_HINT)?;
    // A key is given to a user or taken away; only the default one is changed.
    Given {
        wckeys: given.wckeys.clone(),
        ..Given::default()
    }
    .refuse_wckeys()?;
    if set.is_empty() {
        return Err(nothing_to_set());
    }
    let mut text = String::new();
    if given.default_account.is_some() || given.admin.is_some() || given.default_wckey.is_some() {
        let mut lines = String::new();
        for user in to
            .users
            .iter_mut()
            .filter(|it| condition.names.contains(&it.name))
        {
            let in_account = |account: &String| {
                let own = |it: &AccountAssociation| {
                    it.user.as_ref() == Some(&user.name) && it.account == *account
                };
                to.associations.iter().any(own)
            };
            if let Some(account) = &given.default_account {
                if !in_account(account) {
                    continue;
                }
                user.default_account.clone_from(account);
            }
            if let Some(level) = admin_level(given.admin.as_deref()) {
                level.clone_into(&mut user.admin);
            }
            if let Some(key) = &given.default_wckey {
                let mut keys = to.wckeys.iter();
                if !keys.any(|it| it.name == *key && it.user == user.name) {
                    continue;
                }
                user.default_wckey.clone_from(key);
            }
            lines.push_str(&format!("  {}\n", user.name));
        }
        if !lines.is_empty() {
            text.push_str(&format!(" Modified users...\n{lines}"));
        }
    }
    if !given.settings.is_empty() || !given.qos.is_empty() {
        let is_meant = |it: &AccountAssociation| {
            it.user
                .as_ref()
                .is_some_and(|user| condition.names.contains(user))
                && condition
                    .accounts
                    .as_ref()
                    .is_none_or(|names| names.contains(&it.account))
        };
        if let Some(answer) = without_default_qos(&given, to, &is_meant) {
            return Err(answer);
        }
        let before = to.clone();
        let lines = modify_associations(&given, to, is_meant);
        keep_default_qos(before, to)?;
        if !lines.is_empty() {
            text.push_str(&format!(" Modified user associations...\n{lines}"));
        }
    }
    finish(text, &given)
}

/// A default QOS that some of the associations may not use.
fn without_default_qos(
    given: &Given,
    to: &Accounting,
    is_meant: &dyn Fn(&AccountAssociation) -> bool,
) -> Option<Answer> {
    let own = given.own();
    let wanted = own.get("defaultqos")?;
    let lacks = |it: &&AccountAssociation| is_meant(it) && !to.qos_of(it).contains(wanted);
    let lines = to.associations.iter().rev().filter(lacks).map(|it| {
        let user = it.user.clone().unwrap_or_default();
        format!(
            "  DefQOS = {wanted:<10} C = {:<10} A = {:<20} U = {user:<9}\n",
            to.cluster, it.account
        )
    });
    let lines: String = lines.collect();
    (!lines.is_empty()).then(|| Answer {
        stderr: format!(
            " These associations don't have access to their default qos.\n Please give them access before they the default can be set to this.\n{lines}"
        ),
        ..Answer::default()
    })
}

/// Refuses what takes a QOS from associations whose default it is: none of their jobs that name no
/// other would be taken. All is then as it was.
fn keep_default_qos(before: Accounting, to: &mut Accounting) -> Result<(), Answer> {
    let pairs = before.associations.iter().zip(&to.associations).rev();
    let lines = pairs.filter_map(|(was, is)| {
        let qos = to.setting(is, "defaultqos")?;
        let may = |of: &Accounting, it| of.qos_of(it).iter().any(|name| name == qos);
        (may(&before, was) && !may(to, is)).then(|| default_qos_line(qos, to, is))
    });
    let lines: String = lines.collect();
    if lines.is_empty() {
        return Ok(());
    }
    *to = before;
    Err(is_default_qos(&lines))
}

fn default_qos_line(qos: &str, of: &Accounting, it: &AccountAssociation) -> String {
    let (cluster, account) = (&of.cluster, &it.account);
    let user = it.user.as_deref().unwrap_or_default();
    format!("  DefQOS = {qos:<10} C = {cluster:<10} A = {account:<20} U = {user:<9}\n")
}

fn is_default_qos(lines: &str) -> Answer {
    Answer::refused(format!(
        " Associations listed below have these as their Default QOS.\n{lines} Please either remove the qos' listed above from list and resubmit,\n or change the default qos to remove the qos.\n Changes Discarded\n"
    ))
}

/// `modify qos …`
pub(super) fn modify_qos(words: &[String], to: &mut Accounting) -> Result<Answer, Answer> {
    let (condition, set) = split(words)?;
    let given = given(&set, OF_QOS, to, WHERE_HINT).map_err(on_stdout)?;
    given.refuse_wckeys()?;
    if set.is_empty() {
        return Err(nothing_to_set());
    }
    if !given.remarks.is_empty() {
        return Err(Answer::refused(given.remarks));
    }
    let mut lines = String::new();
    for qos in &mut to.qos {
        if condition.names.is_empty() || condition.names.contains(&qos.name) {
            lines.push_str(&format!("  {}\n", qos.name));
            given.put_into(&mut qos.settings);
            put_text(&mut qos.description, &given.description);
        }
    }
    let text = match lines.as_str() {
        "" => String::new(),
        lines => format!(" Modified qos...\n{lines}"),
    };
    finish(text, &given)
}

fn finish(text: String, given: &Given) -> Result<Answer, Answer> {
    if text.is_empty() {
        return Err(with_remarks(Answer::nothing("Nothing modified"), given));
    }
    Ok(with_remarks(Answer::changed(text), given))
}

/// Replaces a text where another is given.
fn put_text(text: &mut String, given: &Option<String>) {
    if let Some(given) = given {
        text.clone_from(given);
    }
}

fn nothing_to_set() -> Answer {
    Answer::refused(" You didn't give me anything to set\n".to_owned())
}

fn admin_level(text: Option<&str>) -> Option<&'static str> {
    let lower = text?.to_ascii_lowercase();
    let levels = ["None", "Operator", "Administrator"];
    let mut fitting = levels.into_iter();
    let fitting = fitting.find(|level| level.to_ascii_lowercase().starts_with(&lower));
    // A word that is no level is none, as Slurm has it.
    Some(fitting.filter(|_| !lower.is_empty()).unwrap_or("None"))
}

/// `delete account …`
pub(super) fn delete_account(
    words: &[String],
    to: &mut Accounting,
    uses: &[AccountingUse],
) -> Result<Answer, Answer> {
    let (condition, _) = split(words)?;
    let mut names = condition.names;
    names.extend(condition.accounts.unwrap_or_default());
    if names.is_empty() {
        return Err(no_conditions());
    }
    names.retain(|name| name != "root" && to.accounts.iter().any(|it| it.name == *name));
    if names.is_empty() {
        return Err(Answer::nothing("Nothing deleted"));
    }
    // A user of no other account goes with the account.
    let has_other = |user: &AccountUser| {
        let mut all = to.associations.iter();
        all.any(|it| it.user.as_ref() == Some(&user.name) && !names.contains(&it.account))
    };
    let is_default = |user: &&AccountUser| names.contains(&user.default_account) && has_other(user);
    let lines = to.users.iter().filter(is_default).map(|user| {
        let (cluster, account) = (&to.cluster, &user.default_account);
        format!(
            "  C = {cluster:<15} A = {account:<10} U = {:<9}\n",
            user.name
        )
    });
    let lines: String = lines.collect();
    if !lines.is_empty() {
        return Err(Answer {
            stderr: format!(
                " Error with request: You can not remove the default account of a user\n{lines} Please either remove the accounts listed above from list and resubmit,\n or change these users' default accounts to remove the account(s).\n Changes Discarded\n"
            ),
            status: 1,
            ..Answer::default()
        });
    }
    refuse_used(to, uses, |it| names.contains(&it.account))?;
    let mut text = String::from(" Deleting accounts...\n");
    for name in &names {
        text.push_str(&format!("  {name}\n"));
    }
    to.accounts.retain(|it| !names.contains(&it.name));
    to.associations.retain(|it| !names.contains(&it.account));
    // What stood under it stands under the root.
    for it in &mut to.associations {
        if it
            .parent
            .as_ref()
            .is_some_and(|parent| names.contains(parent))
        {
            it.parent = Some("root".to_owned());
        }
    }
    for user in &mut to.users {
        if names.contains(&user.default_account) {
            user.default_account.clear();
        }
    }
    Ok(Answer::changed(text))
}

/// `delete user …`
pub(super) fn delete_user(
    words: &[String],
    to: &mut Accounting,
    uses: &[AccountingUse],
) -> Result<Answer, Answer> {
    let (mut condition, _) = split(words)?;
    condition
        .names
        .extend(condition.users.take().unwrap_or_default());
    let names = condition.names;
    if let Some(keys) = &condition.wckeys {
        return wckeys::delete(keys, &names, to);
    }
    if names.is_empty() && condition.accounts.is_none() {
        return Err(no_conditions());
    }
    let is_meant = |account: &str, user: &str| {
        (names.is_empty() || names.iter().any(|name| name == user))
            && condition
                .accounts
                .as_ref()
                .is_none_or(|all| all.iter().any(|it| it == account))
    };
    let lines = to.associations.iter().filter_map(|it| {
        let user = it
            .user
            .as_ref()
            .filter(|user| is_meant(&it.account, user))?;
        Some(format!(
            "  C = {:<10} A = {:<10} U = {user:<9}\n",
            to.cluster, it.account
        ))
    });
    let lines: String = lines.collect();
    if lines.is_empty() {
        return Err(Answer::nothing("Nothing deleted"));
    }
    refuse_used(to, uses, |it| is_meant(&it.account, &it.user))?;
    to.associations.retain(|it| {
        !it.user
            .as_ref()
            .is_some_and(|user| is_meant(&it.account, user))
    });
    if condition.accounts.is_some() {
        for user in to
            .users
            .iter_mut()
            .filter(|it| is_meant(&it.default_account, &it.name))
        {
            user.default_account.clear();
        }
        return Ok(Answer::changed(format!(
            " Deleting user associations...\n{lines}"
        )));
    }
    to.users.retain(|user| !names.contains(&user.name));
    to.wckeys.retain(|it| !names.contains(&it.user));
    let users: String = names.iter().map(|name| format!("  {name}\n")).collect();
    Ok(Answer::changed(format!(" Deleting users...\n{users}")))
}

/// `delete qos …`: jobs that have it keep its name, as Slurm's do.
pub(super) fn delete_qos(words: &[String], to: &mut Accounting) -> Result<Answer, Answer> {
    let names = split(words)?.0.names;
    if names.is_empty() {
        return Err(no_conditions());
    }
    let is_default = |it: &&AccountAssociation| {
        let own = it.settings.get("defaultqos");
        own.is_some_and(|qos| names.contains(qos))
    };
    let lines = to.associations.iter().rev().filter(is_default);
    let lines = lines.map(|it| default_qos_line(&it.settings["defaultqos"], to, it));
    let lines: String = lines.collect();
    if !lines.is_empty() {
        return Err(is_default_qos(&lines));
    }
    let gone = to.qos.iter().filter(|qos| names.contains(&qos.name));
    let lines: String = gone.map(|qos| format!("  {}\n", qos.name)).collect();
    if lines.is_empty() {
        return Err(Answer::nothing("Nothing deleted"));
    }
    to.qos.retain(|qos| !names.contains(&qos.name));
    for it in &mut to.associations {
        if let Some(own) = &mut it.qos {
            own.retain(|name| !names.contains(name));
        }
        if it
            .settings
            .get("defaultqos")
            .is_some_and(|name| names.contains(name))
        {
            it.settings.remove("defaultqos");
        }
    }
    Ok(Answer::changed(format!(" Deleting QOS(s)...\n{lines}")))
}

/// `add coordinator …`, `delete coordinator …`
pub(super) fn coordinators(
    words: &[String],
    to: &mut Accounting,
    add: bool,
) -> Result<Answer, Answer> {
    let (condition, _) = split(words)?;
    let mut names = condition.names;
    names.extend(condition.users.unwrap_or_default());
    let accounts = condition.accounts.unwrap_or_default();
    if names.is_empty() || accounts.is_empty() {
        return Err(Answer::refused(
            " You need to specify the user list and the account list here.\n".to_owned(),
        ));
    }
    let list = |names: &[String]| {
        names
            .iter()
            .map(|name| format!("  {name}\n"))
            .collect::<String>()
    };
    let mut removed = String::new();
    let mut any = false;
    for account in to
        .accounts
        .iter_mut()
        .filter(|it| accounts.contains(&it.name))
    {
        for name in &names {
            let is_one = account.coordinators.contains(name);
            if is_one == add {
                continue;
            }
            any = true;
            if add {
                account.coordinators.push(name.clone());
            } else {
                account.coordinators.retain(|it| it != name);
                removed.push_str(&format!("  U = {name:<9} A = {:<10}\n", account.name));
            }
        }
    }
    match (add, any) {
        (true, false) => Err(Answer::nothing("Nothing new added.")),
        (false, false) => Err(Answer::nothing("Nothing deleted")),
        (true, true) => Ok(Answer::changed(format!(
            " Adding Coordinator User(s)\n{} To Account(s) and all sub-accounts\n{}",
            list(&names),
            list(&accounts)
        ))),
        (false, true) => Ok(Answer::changed(format!(
            " Removing Coordinators with user name\n{} From Account(s)\n{} Removed Coordinators (sub accounts not listed)...\n{removed}",
            list(&names),
            list(&accounts)
        ))),
    }
}

fn no_conditions() -> Answer {
    Answer::refused(" No conditions given to remove, not executing.\n".to_owned())
}

fn refuse_used(
    to: &Accounting,
    uses: &[AccountingUse],
    is_meant: impl Fn(&AccountingUse) -> bool,
) -> Result<(), Answer> {
    let lines = uses.iter().filter(|it| is_meant(it)).map(|it| {
        let (cluster, account, user) = (&to.cluster, &it.account, &it.user);
        format!(
            "  JobID = {:<10} C = {cluster:<10} A = {account:<10} U = {user:<9}\n",
            it.job
        )
    });
    let lines: String = lines.collect();
    if lines.is_empty() {
        return Ok(());
    }
    Err(Answer::refused(format!(
        " Error with request: Job(s) active, cancel job(s) before remove\n{lines}"
    )))
}
