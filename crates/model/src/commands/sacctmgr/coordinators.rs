//! `sacctmgr add|delete coordinator`.

use super::condition::split;
use super::kept_names::kept_accounts;
use super::words::Answer;
use crate::records::Accounting;

/// `add coordinator …`, `delete coordinator …`
pub(super) fn coordinators(
    words: &[String],
    to: &mut Accounting,
    add: bool,
) -> Result<Answer, Answer> {
    let (condition, _) = split(words)?;
    let mut names = condition.names;
    names.extend(condition.users.unwrap_or_default());
    let mut accounts = condition.accounts.unwrap_or_default();
    kept_accounts(&mut accounts, to);
    let missing = match (names.is_empty(), accounts.is_empty(), add) {
        (true, true, true) => Some("specify conditions to to add the coordinator."),
        (true, true, false) => Some("specify a user list or account list here."),
        (true, false, true) => Some("specify a user list here."),
        (false, true, true) => Some("specify an account list here."),
        _ => None,
    };
    if let Some(missing) = missing {
        return Err(Answer::refused(format!(" You need to {missing}\n")));
    }
    let unknown = |kind: &str, name: &str| {
        Answer::refused(format!(" You specified a non-existent {kind} '{name}'.\n"))
    };
    let is_user = |name: &&String| to.users.iter().any(|user| user.name == **name);
    if let Some(name) = names.iter().find(|name| !is_user(name)) {
        return Err(unknown("user", name));
    }
    let is_account = |name: &&String| to.accounts.iter().any(|it| it.name == **name);
    if let Some(name) = accounts.iter().find(|name| !is_account(name)) {
        return Err(unknown("account", name));
    }
    let list = |names: &[String]| {
        let lines = names.iter().map(|name| format!("  {name}\n"));
        lines.collect::<String>()
    };
    if add {
        let all = to.accounts.iter_mut();
        for account in all.filter(|it| accounts.contains(&it.name)) {
            for name in &names {
                if !account.coordinators.contains(name) {
                    account.coordinators.push(name.clone());
                }
            }
        }
        return Ok(Answer::changed(format!(
            " Adding Coordinator User(s)\n{} To Account(s) and all sub-accounts\n{}",
            list(&names),
            list(&accounts)
        )));
    }
    let said = match (names.is_empty(), accounts.is_empty()) {
        (true, _) => format!(" Removing all users from Accounts\n{}", list(&accounts)),
        (false, true) => format!(
            " Removing Coordinators with user name\n{} From all accounts\n",
            list(&names)
        ),
        (false, false) => format!(
            " Removing Coordinators with user name\n{} From Account(s)\n{}",
            list(&names),
            list(&accounts)
        ),
    };
    let mut removed = String::new();
    for account in &mut to.accounts {
        if !accounts.is_empty() && !accounts.contains(&account.name) {
            continue;
        }
        account.coordinators.retain(|name| {
            let goes = names.is_empty() || names.contains(name);
            if goes {
                removed.push_str(&format!("  U = {name:<9} A = {:<10}\n", account.name));
            }
            !goes
        });
    }
    if removed.is_empty() {
        return Err(Answer {
            stdout: format!("{said} Nothing removed\n"),
            status: 1,
            ..Answer::default()
        });
    }
    Ok(Answer::changed(format!(
        "{said} Removed Coordinators (sub accounts not listed)...\n{removed}"
    )))
}
