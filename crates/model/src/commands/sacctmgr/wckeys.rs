//! Workload keys: `sacctmgr show wckey`, `add user … wckey=`, `delete user … wckey=`.

use super::columns::{Style, table_of};
use super::show_request::{ShowRequest, named};
use super::words::Answer;
use crate::records::{Accounting, Wckey};

/// `show wckey …`
pub(super) fn show(words: &[String], from: &Accounting, style: Style) -> Result<Answer, Answer> {
    let asked = ShowRequest::read(words, "")?;
    let columns = asked.columns("wckey,cluster,user")?;
    let mut keys: Vec<(u32, &Wckey)> = (1..).zip(&from.wckeys).collect();
    keys.retain(|(_, it)| {
        named(&asked.names, &it.name) && named(&asked.users, &it.user) && asked.is_here(from)
    });
    let shown = table_of(&columns, keys, style, |(id, it), key| match key {
        "wckey" | "name" => it.name.clone(),
        "cluster" => from.cluster.clone(),
        "user" => it.user.clone(),
        "id" => id.to_string(),
        _ => String::new(),
    });
    Ok(Answer::shown(shown))
}

/// Gives keys to users; a line for each that is new.
pub(super) fn add(keys: &[String], users: &[String], to: &mut Accounting) -> String {
    let mut lines = String::new();
    for user in users {
        for key in keys {
            let is_it = |it: &Wckey| it.name == *key && it.user == *user;
            if to.wckeys.iter().any(is_it) {
                continue;
            }
            lines.push_str(&format!(
                "  U = {user:<9.9} W = {key:<10.10} C = {:<10.10}\n",
                to.cluster
            ));
            to.wckeys.push(Wckey {
                name: key.clone(),
                user: user.clone(),
            });
        }
    }
    lines
}

/// Takes keys from users, or from all.
pub(super) fn delete(
    keys: &[String],
    users: &[String],
    to: &mut Accounting,
) -> Result<Answer, Answer> {
    let is_meant =
        |it: &Wckey| keys.contains(&it.name) && (users.is_empty() || users.contains(&it.user));
    let gone = to.wckeys.iter().filter(|it| is_meant(it)).map(|it| {
        format!(
            "  C = {:<10} W = {:<20} U = {:<9}\n",
            to.cluster, it.name, it.user
        )
    });
    let lines: String = gone.collect();
    if lines.is_empty() {
        return Err(Answer::nothing("Nothing deleted"));
    }
    for user in &mut to.users {
        let is_default = keys.contains(&user.default_wckey);
        if is_default && (users.is_empty() || users.contains(&user.name)) {
            user.default_wckey.clear();
        }
    }
    to.wckeys.retain(|it| !is_meant(it));
    Ok(Answer::changed(format!(
        " Deleting user WCKeys...\n{lines}"
    )))
}
