//! `sacctmgr modify` of accounts, clusters, users and QOS.

use super::condition::{Condition, split, split_of_clusters, split_of_qos, split_of_users};
use super::default_qos::keep_default_qos;
use super::given::{Given, WHERE_HINT, admin_level, given, on_stdout, with_remarks};
use super::kept_names::{kept_accounts, kept_qos};
use super::words::{Answer, OF_ASSOCIATIONS, OF_QOS, changed_list};
use crate::records::accounting::is_passed_down;
use crate::records::{
    Account, AccountAssociation, AccountChains, AccountUser, Accounting, TreePlace,
};
use std::collections::BTreeMap;

/// `modify account|cluster|user …`: what all do to associations. They are shown from the left of the tree, each
/// account with the users below it that change along.
fn modify_associations(
    given: &Given,
    before: &Accounting,
    to: &mut Accounting,
    is_meant: impl Fn(&AccountAssociation) -> bool,
) -> String {
    let below = Below::of(before);
    let meant = 0..to.associations.len();
    let mut meant: Vec<usize> = meant
        .filter(|index| is_meant(&to.associations[*index]))
        .collect();
    meant.sort_by_key(|index| below.place(&before.associations[*index]));
    let mut keys: Vec<&str> = given.settings.iter().map(|(it, ..)| it.key).collect();
    keys.retain(|key| is_passed_down(key) || *key == "priority");
    if !given.qos.is_empty() {
        keys.push(QOS);
    }
    let cluster = to.cluster.clone();
    let mut text = String::new();
    for index in meant {
        let qos = AccountChains::of(to).qos_of(&to.associations[index]);
        let qos = qos.to_vec();
        let it = &mut to.associations[index];
        given.put_into(&mut it.settings);
        if !given.qos.is_empty() {
            it.qos = Some(given.qos.iter().fold(qos, changed_list));
        }
        let account = &it.account;
        match (&it.user, &before.associations[index].parent) {
            (Some(_), _) => text.push_str(&user_line(&cluster, it)),
            (None, Some(parent)) => {
                text.push_str(&format!("  C = {cluster:<10} A = {account} of {parent}\n"));
            }
            (None, None) => text.push_str(&format!("  C = {cluster:<10} A = {account}\n")),
        }
        if it.user.is_none() {
            below.add_going_along(account, &keys, &mut text);
        }
    }
    text
}

/// The list of QOS beside the settings of an association.
const QOS: &str = "qos";

fn user_line(cluster: &str, it: &AccountAssociation) -> String {
    let user = it.user.as_deref().unwrap_or_default();
    let partition = it.partition.iter();
    let partition: String = partition.map(|name| format!(" P = {name}")).collect();
    format!(
        "  C = {cluster:<10} A = {:<20} U = {user:<9}{partition}\n",
        it.account
    )
}

/// What is right below each account, from the left.
struct Below<'a> {
    of: BTreeMap<&'a str, Vec<&'a AccountAssociation>>,
    places: BTreeMap<u32, TreePlace>,
    cluster: &'a str,
}

impl<'a> Below<'a> {
    fn of(accounting: &'a Accounting) -> Below<'a> {
        let mut below = Below {
            of: BTreeMap::new(),
            places: accounting.places(),
            cluster: &accounting.cluster,
        };
        for it in &accounting.associations {
            let over = match it.user {
                Some(_) => Some(&it.account),
                None => it.parent.as_ref(),
            };
            if let Some(over) = over {
                below.of.entry(over).or_default().push(it);
            }
        }
        let places = &below.places;
        for all in below.of.values_mut() {
            all.sort_by_key(|it| places.get(&it.id).map(|place| place.left));
        }
        below
    }

    fn place(&self, it: &AccountAssociation) -> Option<u32> {
        self.places.get(&it.id).map(|place| place.left)
    }

    /// The users below an account that go by what is set of it: they and the accounts between have no value of
    /// their own (`_modify_unset_users` of accounting_storage_mysql.c).
    fn add_going_along(&self, account: &str, keys: &[&str], text: &mut String) {
        for it in self.of.get(account).into_iter().flatten() {
            let is_unset = |key: &&&str| match **key {
                QOS => it.qos.is_none(),
                key => !it.settings.contains_key(key),
            };
            let unset: Vec<&str> = keys.iter().filter(is_unset).copied().collect();
            match it.user {
                _ if unset.is_empty() => {}
                Some(_) => text.push_str(&user_line(self.cluster, it)),
                None => self.add_going_along(&it.account, &unset, text),
            }
        }
    }
}

/// `modify cluster …`: what all of it goes by.
pub(super) fn modify_cluster(words: &[String], to: &mut Accounting) -> Result<Answer, Answer> {
    let (condition, set) = split_of_clusters(words)?;
    if let Some(word) = set.iter().find(|word| is_of_others(word)) {
        let said = format!(" Unknown option: {word}\n{WHERE_HINT}");
        return Err(Answer::refused(said));
    }
    let given = given(&set, OF_ASSOCIATIONS, to, WHERE_HINT)?;
    if given.settings.is_empty() && given.qos.is_empty() {
        return Err(nothing_to_set());
    }
    let mut said = format!(" Setting\n  Default Limits:\n{}", given.changed_lines());
    let mut named = condition.names.iter().chain(&condition.clusters);
    let are_all = !condition.is_named && condition.clusters.is_empty();
    let is_named = are_all || named.any(|name| *name == to.cluster);
    let before = to.clone();
    let is_meant = |it: &AccountAssociation| it.user.is_none() && it.parent.is_none();
    let lines = if is_named {
        modify_associations(&given, &before, to, is_meant)
    } else {
        String::new()
    };
    if lines.is_empty() {
        said.push_str(" Nothing modified\n");
        return Err(Answer {
            stdout: said,
            status: 1,
            ..Answer::default()
        });
    }
    keep_default_qos(before, to, &given, is_meant)?;
    said.push_str(&format!(
        " Modified cluster defaults for associations...\n{lines}"
    ));
    finish(said, &given)
}

/// What accounts and users have, and no cluster.
fn is_of_others(word: &str) -> bool {
    const KEYS: &[&str] = &[
        "account",
        "accounts",
        "acct",
        "admin",
        "adminlevel",
        "defaultaccount",
        "defaultwckey",
        "description",
        "organization",
        "parent",
        "partition",
        "partitions",
        "user",
        "users",
        "wckey",
        "wckeys",
    ];
    let key = word.split_once('=').map_or("", |(key, _)| key);
    let key = key.strip_suffix(['+', '-']).unwrap_or(key);
    KEYS.iter().any(|name| key.eq_ignore_ascii_case(name))
}

/// `modify account …`
pub(super) fn modify_account(words: &[String], to: &mut Accounting) -> Result<Answer, Answer> {
    let (mut condition, set) = split(words)?;
    take_names(&mut condition, |condition| condition.accounts.take());
    kept_accounts(&mut condition.names, to);
    let given = given(&set, OF_ASSOCIATIONS, to, WHERE_HINT)?;
    given.refuse_wckeys()?;
    if set.is_empty() {
        return Err(nothing_to_set());
    }
    if !condition.is_here(to) {
        return finish(String::new(), &given);
    }
    // Without a name it is about all of them.
    let are_all = !condition.is_named;
    let mut text = String::new();
    if given.description.is_some() || given.organization.is_some() {
        if condition.users.is_some() {
            let said = " There was a problem with your 'where' options.\n";
            return Err(Answer::refused(said.to_owned()));
        }
        let mut lines = String::new();
        let is_named = |it: &&mut Account| are_all || condition.names.contains(&it.name);
        for account in to.accounts.iter_mut().filter(is_named) {
            lines.push_str(&format!("  {}\n", account.name));
            put_text(&mut account.description, &given.description);
            put_text(&mut account.organization, &given.organization);
        }
        if !lines.is_empty() {
            text.push_str(&format!(" Modified accounts...\n{lines}"));
        }
    }
    let before = to.clone();
    let of_users = condition.users;
    let mut names = condition.names;
    let are_all = are_all && given.parent.is_none();
    if let Some(parent) = &given.parent {
        if to.account_association(parent).is_none() {
            let text = format!(" Parent Account {parent} doesn't exist.\n");
            return Err(Answer::refused(text));
        }
        // In the order of the tree, in which one that moves another is shown first.
        let places = before.places();
        names.sort_by_key(|name| {
            let own = before.account_association(name);
            own.and_then(|own| Some(places.get(&own.id)?.left))
        });
        names.retain(|name| move_account(name, parent, to));
    }
    if !given.settings.is_empty() || !given.qos.is_empty() || given.parent.is_some() {
        let is_named = |it: &AccountAssociation| are_all || names.contains(&it.account);
        // With users it is about what those have of the accounts.
        let is_meant = |it: &AccountAssociation| {
            let fits = match (&of_users, &it.user) {
                (None, user) => user.is_none(),
                (Some(names), user) => user.as_ref().is_some_and(|user| names.contains(user)),
            };
            fits && is_named(it)
        };
        let lines = modify_associations(&given, &before, to, is_meant);
        keep_default_qos(before, to, &given, is_named)?;
        if !lines.is_empty() {
            text.push_str(&format!(" Modified account associations...\n{lines}"));
        }
    }
    finish(text, &given)
}

/// Those of another key are names too.
fn take_names(condition: &mut Condition, others: impl Fn(&mut Condition) -> Option<Vec<String>>) {
    if let Some(others) = others(condition) {
        condition.is_named = true;
        condition.names.extend(others);
    }
}

/// Puts an account under another one; where that is somewhere below it, that one goes to its place first.
/// Whether it was moved: the root, an account itself and one that is there already are passed over.
fn move_account(name: &str, parent: &str, to: &mut Accounting) -> bool {
    let above = |of: &str, to: &Accounting| to.account_association(of)?.parent.clone();
    let Some(former) = above(name, to).filter(|former| former != parent && name != parent) else {
        return false;
    };
    if AccountChains::of(to).is_under(parent, name) {
        put_under(parent, &former, to);
    }
    put_under(name, parent, to);
    true
}

fn put_under(name: &str, parent: &str, to: &mut Accounting) {
    let mut all = to.associations.iter_mut();
    if let Some(it) = all.find(|it| it.user.is_none() && it.account == name) {
        it.parent = Some(parent.to_owned());
    }
}

/// `modify user …`
pub(super) fn modify_user(words: &[String], to: &mut Accounting) -> Result<Answer, Answer> {
    let (mut condition, set) = split_of_users(words)?;
    take_names(&mut condition, |condition| condition.users.take());
    kept_accounts(condition.accounts.as_deref_mut().unwrap_or_default(), to);
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
    if !condition.is_here(to) {
        return finish(String::new(), &given);
    }
    let mut text = String::new();
    let level = admin_level(given.admin.as_deref());
    if given.default_account.is_some() || level.is_some() || given.default_wckey.is_some() {
        refuse_foreign_defaults(&given, &condition.names, to)?;
        let mut lines = String::new();
        for user in to
            .users
            .iter_mut()
            .filter(|it| condition.names.contains(&it.name))
        {
            if let Some(account) = &given.default_account {
                user.default_account.clone_from(account);
            }
            if let Some(level) = level {
                level.clone_into(&mut user.admin);
            }
            if let Some(key) = &given.default_wckey {
                user.default_wckey.clone_from(key);
            }
            lines.push_str(&format!("  {}\n", user.name));
        }
        if !lines.is_empty() {
            text.push_str(&format!(" Modified users...\n{lines}"));
        }
    }
    if !given.settings.is_empty() || !given.qos.is_empty() {
        // Without a name it is about all of them.
        let is_named = |user: &String| !condition.is_named || condition.names.contains(user);
        let is_meant = |it: &AccountAssociation| {
            it.user.as_ref().is_some_and(is_named)
                && condition
                    .accounts
                    .as_ref()
                    .is_none_or(|names| names.contains(&it.account))
                && condition.is_of_partition(it.partition.as_ref())
        };
        let before = to.clone();
        let lines = modify_associations(&given, &before, to, is_meant);
        keep_default_qos(before, to, &given, is_meant)?;
        if !lines.is_empty() {
            text.push_str(&format!(" Modified user associations...\n{lines}"));
        }
    }
    finish(text, &given)
}

/// A default account or workload key has to be one of the user's own.
fn refuse_foreign_defaults(given: &Given, names: &[String], to: &Accounting) -> Result<(), Answer> {
    let users = || to.users.iter().filter(|user| names.contains(&user.name));
    let refuse = |what: &str, name: &str, users: Vec<&AccountUser>| {
        let lines = users
            .iter()
            .map(|user| format!("\n  U = {} C = {}", user.name, to.cluster));
        let lines: String = lines.collect();
        if lines.is_empty() {
            return Ok(());
        }
        Err(Answer::nothing(&format!(
            "Can't modify because these users aren't associated with new default {what} '{name}'...{lines}"
        )))
    };
    if let Some(account) = &given.default_account {
        let has = |user: &&AccountUser| {
            let mut all = to.associations.iter();
            all.any(|it| it.user.as_ref() == Some(&user.name) && it.account == *account)
        };
        refuse(
            "account",
            account,
            users().filter(|user| !has(user)).collect(),
        )?;
    }
    if let Some(key) = &given.default_wckey {
        let has = |user: &&AccountUser| {
            let mut all = to.wckeys.iter();
            all.any(|it| it.name == *key && it.user == user.name)
        };
        refuse("wckey", key, users().filter(|user| !has(user)).collect())?;
    }
    Ok(())
}

/// `modify qos …`
pub(super) fn modify_qos(words: &[String], to: &mut Accounting) -> Result<Answer, Answer> {
    let (mut condition, set) = split_of_qos(words)?;
    kept_qos(&mut condition.names, to);
    let given = given(&set, OF_QOS, to, WHERE_HINT).map_err(on_stdout)?;
    given.refuse_wckeys()?;
    if set.is_empty() {
        return Err(nothing_to_set());
    }
    if !given.remarks.is_empty() {
        let nothing = if given.settings.is_empty() {
            NOTHING_TO_SET
        } else {
            ""
        };
        return Err(Answer::refused(format!("{}{nothing}", given.remarks)));
    }
    if !condition.is_here(to) {
        return finish(String::new(), &given);
    }
    let mut lines = String::new();
    for qos in &mut to.qos {
        if !condition.is_named || condition.names.contains(&qos.name) {
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

pub(super) const NOTHING_TO_SET: &str = " You didn't give me anything to set\n";

fn nothing_to_set() -> Answer {
    Answer::refused(NOTHING_TO_SET.to_owned())
}
