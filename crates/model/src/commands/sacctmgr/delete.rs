//! `sacctmgr delete` of accounts, users and QOS.

use super::condition::{no_conditions, split, split_of_users};
use super::default_qos::{default_qos_line, is_default_qos};
use super::kept_names::{kept_accounts, kept_qos};
use super::wckeys;
use super::words::Answer;
use crate::records::{AccountAssociation, AccountChains, Accounting, AccountingUse};

/// `delete account …`
pub(super) fn delete_account(
    words: &[String],
    to: &mut Accounting,
    uses: &[AccountingUse],
) -> Result<Answer, Answer> {
    let (condition, _) = split(words)?;
    let mut names = condition.names;
    names.extend(condition.accounts.unwrap_or_default());
    kept_accounts(&mut names, to);
    if names.is_empty() {
        return Err(no_conditions());
    }
    names.retain(|name| name != "root" && to.accounts.iter().any(|it| it.name == *name));
    if names.is_empty() {
        return Err(Answer::nothing("Nothing deleted"));
    }
    let lines = default_accounts_among(to, |it| names.contains(&it.account));
    if !lines.is_empty() {
        return Err(Answer {
            stderr: format!(
                " Error with request: You can not remove the default account of a user\n{lines} Please either remove the accounts listed above from list and resubmit,\n or change these users' default accounts to remove the account(s).\n Changes Discarded\n"
            ),
            status: 1,
            ..Answer::default()
        });
    }
    let all = with_those_under(&names, to);
    refuse_used(to, uses, |it| all.contains(&it.account))?;
    names.sort();
    names.dedup();
    let mut text = String::from(" Deleting accounts...\n");
    for name in &names {
        text.push_str(&format!("  {name}\n"));
    }
    // Of accounts under them the names alone are left, which no cluster has.
    to.accounts.retain(|it| !names.contains(&it.name));
    to.associations.retain(|it| !all.contains(&it.account));
    for user in &mut to.users {
        if all.contains(&user.default_account) {
            user.default_account.clear();
        }
    }
    Ok(Answer::changed(text))
}

/// Accounts that have associations, and are one of these or somewhere under one.
fn with_those_under(names: &[String], of: &Accounting) -> Vec<String> {
    let chains = AccountChains::of(of);
    let accounts = of.associations.iter().filter(|it| it.user.is_none());
    let accounts = accounts.map(|it| &it.account);
    let goes = |account: &&String| names.iter().any(|name| chains.is_under(account, name));
    accounts.filter(goes).cloned().collect()
}

/// `delete user …`
pub(super) fn delete_user(
    words: &[String],
    to: &mut Accounting,
    uses: &[AccountingUse],
) -> Result<Answer, Answer> {
    let (mut condition, _) = split_of_users(words)?;
    let mut names = std::mem::take(&mut condition.names);
    names.extend(condition.users.take().unwrap_or_default());
    kept_accounts(condition.accounts.as_deref_mut().unwrap_or_default(), to);
    if let Some(keys) = &condition.wckeys {
        return wckeys::delete(keys, &names, to);
    }
    let is_of_associations = condition.accounts.is_some()
        || condition.partitions.is_some()
        || !condition.clusters.is_empty();
    if names.is_empty() && !is_of_associations {
        return Err(no_conditions());
    }
    // There is one cluster, and nothing on another.
    if !condition.is_here(to) {
        return Err(Answer::nothing("Nothing deleted"));
    }
    let is_meant = |account: &str, user: &str| {
        (names.is_empty() || names.iter().any(|name| name == user))
            && condition
                .accounts
                .as_ref()
                .is_none_or(|all| all.iter().any(|it| it == account))
    };
    // The newest come first.
    let lines = to.associations.iter().rev().filter_map(|it| {
        let user = it
            .user
            .as_ref()
            .filter(|user| is_meant(&it.account, user))
            .filter(|_| condition.is_of_partition(it.partition.as_ref()))?;
        let partition = it.partition.iter();
        let partition: String = partition.map(|name| format!(" P = {name}")).collect();
        Some(format!(
            "  C = {:<10} A = {:<10} U = {user:<9}{partition}\n",
            to.cluster, it.account
        ))
    });
    let lines: String = lines.collect();
    if lines.is_empty() {
        return Err(Answer::nothing("Nothing deleted"));
    }
    if is_of_associations {
        let goes = |it: &AccountAssociation| {
            let user = it.user.as_ref();
            user.is_some_and(|user| is_meant(&it.account, user))
                && condition.is_of_partition(it.partition.as_ref())
        };
        let lines = default_accounts_among(to, goes);
        if !lines.is_empty() {
            return Err(Answer::refused(format!(
                " Error with request: You can not remove the default account of a user\n{lines} You must change the default account of these users or remove the users completely from the affected clusters to allow these changes.\n Changes Discarded\n"
            )));
        }
    }
    let partition_of = |it: &AccountingUse| to.association_of(it)?.partition.as_ref();
    refuse_used(to, uses, |it| {
        is_meant(&it.account, &it.user) && condition.is_of_partition(partition_of(it))
    })?;
    let mut left = Vec::new();
    to.associations.retain(|it| {
        let meant = it.user.as_ref();
        let meant = meant.filter(|user| is_meant(&it.account, user));
        let meant = meant.filter(|_| condition.is_of_partition(it.partition.as_ref()));
        left.extend(meant.cloned());
        meant.is_none()
    });
    if is_of_associations {
        for user in to
            .users
            .iter_mut()
            .filter(|it| is_meant(&it.default_account, &it.name))
            .filter(|it| !is_in(&to.associations, &it.name, &it.default_account))
        {
            user.default_account.clear();
        }
        let without_any = users_without_associations(left, to);
        return Ok(Answer::changed(format!(
            " Deleting user associations...\n{lines}{without_any}"
        )));
    }
    remove_users(&names, to);
    let users: String = names.iter().map(|name| format!("  {name}\n")).collect();
    Ok(Answer::changed(format!(" Deleting users...\n{users}")))
}

/// Removes those users of whom no association is left, and says so.
fn users_without_associations(of: Vec<String>, to: &mut Accounting) -> String {
    let has_none = |name: &String| {
        let mut all = to.associations.iter();
        !all.any(|it| it.user.as_ref() == Some(name))
    };
    let mut gone: Vec<String> = of.into_iter().filter(has_none).collect();
    gone.sort();
    gone.dedup();
    if gone.is_empty() {
        return String::new();
    }
    remove_users(&gone, to);
    let lines = gone.iter().map(|name| format!("  {name}\n"));
    let lines: String = lines.collect();
    format!(" Deleting users (No Associations)...\n{lines}")
}

/// Removes users with their workload keys; accounts that they coordinate lose them.
fn remove_users(names: &[String], to: &mut Accounting) {
    to.users.retain(|user| !names.contains(&user.name));
    to.wckeys.retain(|it| !names.contains(&it.user));
    for account in &mut to.accounts {
        account.coordinators.retain(|it| !names.contains(it));
    }
}

/// `delete qos …`: jobs that have it keep its name, as Slurm's do.
pub(super) fn delete_qos(words: &[String], to: &mut Accounting) -> Result<Answer, Answer> {
    let mut names = split(words)?.0.names;
    kept_qos(&mut names, to);
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

/// The default accounts that are not given up with these associations, a line each: those of users behind
/// one, in the order of names, of whom another association goes (`_check_is_def_acct_before_remove` of
/// accounting_storage_mysql.c, which forgets to begin anew with each user).
fn default_accounts_among(of: &Accounting, goes: impl Fn(&AccountAssociation) -> bool) -> String {
    let default_of = |name: &String| {
        let user = of.users.iter().find(|user| user.name == *name);
        user.map(|user| &user.default_account)
    };
    let is_default = |it: &AccountAssociation, user: &String| {
        // Of several in one account, the one for all partitions.
        let is_of_all = |other: &AccountAssociation| {
            other.account == it.account && other.user == it.user && other.partition.is_none()
        };
        default_of(user) == Some(&it.account)
            && (it.partition.is_none() || !of.associations.iter().any(is_of_all))
    };
    let going = of.associations.iter().filter(|it| goes(it));
    let going = going.filter_map(|it| Some((it.user.as_ref()?, it)));
    let mut going: Vec<(&String, bool, &String)> = going
        .map(|(user, it)| (user, is_default(it, user), &it.account))
        .collect();
    going.sort();
    let kept = going.iter().skip_while(|(_, is_default, _)| *is_default);
    let kept = kept.filter(|(_, is_default, _)| *is_default);
    let lines = kept.map(|(user, _, account)| {
        format!("  C = {:<15} A = {account:<10} U = {user:<9}\n", of.cluster)
    });
    lines.collect()
}

/// Whether a user has an association in an account.
fn is_in(associations: &[AccountAssociation], user: &str, account: &str) -> bool {
    let mut all = associations.iter();
    all.any(|it| it.account == account && it.user.as_deref() == Some(user))
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
