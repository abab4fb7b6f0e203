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
