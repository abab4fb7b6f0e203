//! `sacctmgr add` of accounts, users and QOS.

use super::given::{
    Given, WHERE_HINT, admin_level, given, on_stdout, with_remarks, without_repeats,
};
use super::kept_names::{kept_accounts, kept_qos};
use super::wckeys;
use super::words::{Answer, OF_ASSOCIATIONS, OF_QOS, check_names};
use crate::records::{Account, AccountAssociation, AccountUser, Accounting, Qos};

/// `add account …`
pub(super) fn add_account(words: &[String], to: &mut Accounting) -> Result<Answer, Answer> {
    let given = given(words, OF_ASSOCIATIONS, to, WHERE_HINT)?;
    given.refuse_wckeys()?;
    let mut names = given.names.clone();
    names.extend(given.accounts.clone().unwrap_or_default());
    kept_accounts(&mut names, to);
    let mut names = without_repeats(names);
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
    // Of an account that went with the one over it the name alone is there.
    names.retain(|name| to.account_association(name).is_none());
    if names.is_empty() {
        return Err(Answer::nothing("Nothing new added."));
    }
    let is_new = |name: &&String| !to.accounts.iter().any(|account| account.name == **name);
    let new_names: Vec<String> = names.iter().filter(is_new).cloned().collect();
    let description = given.description.as_deref().unwrap_or("Account Name");
    let organization = given
        .organization
        .as_deref()
        .unwrap_or("Parent/Account Name");
    let mut text = String::new();
    if !new_names.is_empty() {
        text.push_str(" Adding Account(s)\n");
        for name in &new_names {
            text.push_str(&format!("  {name}\n"));
        }
        text.push_str(&format!(
            " Settings\n  Description     = {description}\n  Organization    = {organization}\n"
        ));
    }
    text.push_str(" Associations\n");
    for name in &new_names {
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
    }
    for name in &names {
        text.push_str(&format!("  A = {name:<10.10} C = {:<10.10}\n", to.cluster));
        to.associations.push(AccountAssociation {
            account: name.clone(),
            parent: Some(parent.clone()),
            qos: given.initial_qos(),
            settings: given.own(),
            ..AccountAssociation::default()
        });
    }
    let is_described = given.description.is_some() || given.organization.is_some();
    if !given.settings.is_empty() || given.parent.is_some() || is_described {
        text.push_str(&format!(
            " Settings\n{}  {:<13} = {parent}\n",
            given.lines(13),
            "Parent"
        ));
    }
    Ok(with_remarks(Answer::changed(text), &given))
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
    // Such a name is known, and no account of the cluster.
    if let Some(left) = accounts
        .iter()
        .find(|name| to.account_association(name).is_none())
    {
        let cluster = &to.cluster;
        return Err(Answer {
            stderr: format!(
                " This account '{left}' doesn't exist on cluster {cluster}\n        Contact your admin to add this account.\n"
            ),
            ..Answer::nothing("Nothing new added.")
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
        // One whose default account is gone takes the first of the new ones.
        let known = to.users.iter_mut().find(|user| user.name == *name);
        if let Some(user) = known {
            match &given.default_account {
                Some(default) => user.default_account.clone_from(default),
                None if user.default_account.is_empty() => {
                    user.default_account.clone_from(&accounts[0]);
                }
                None => {}
            }
        }
        for account in &accounts {
            // An association for each partition; those of one command stand in the tree as they are
            // written, where the newest is the first.
            let partitions = given.partitions.iter().cloned().map(Some);
            let mut partitions: Vec<Option<String>> = partitions.collect();
            if partitions.is_empty() {
                partitions.push(None);
            }
            partitions.retain(|partition| {
                let mut all = to.associations.iter();
                !all.any(|it| {
                    it.account == *account
                        && it.user.as_ref() == Some(name)
                        && it.partition == *partition
                })
            });
            for partition in &partitions {
                lines.push_str(&format!(
                    "  U = {name:<9.9} A = {account:<10.10} C = {:<10.10}",
                    to.cluster
                ));
                if let Some(partition) = partition {
                    lines.push_str(&format!(" P = {partition:<10.10}"));
                }
                lines.push('\n');
            }
            for partition in partitions.into_iter().rev() {
                to.associations.push(AccountAssociation {
                    account: account.clone(),
                    user: Some(name.clone()),
                    partition,
                    qos: given.initial_qos(),
                    settings: given.own(),
                    ..AccountAssociation::default()
                });
            }
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
    let mut names = given.names.clone();
    kept_qos(&mut names, to);
    let mut names = without_repeats(names);
    names.retain(|name| !to.qos.iter().any(|qos| qos.name == *name));
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
