//! `sshare`: what accounts and users are due, and what they used.

use super::connection::{CommandError, connect};
use crate::printer::Printer;
use model::{
    AccountAssociation, SSHARE_USAGE, ShareRow, SshareArgs, SshareShow, SshareUsageError,
    sshare_fields_text,
};
use std::collections::BTreeMap;

/// Runs it; returns its exit status.
pub fn run(args: &[String], printer: &Printer) -> u8 {
    let asked = match SshareArgs::parse("sshare", args) {
        Ok(asked) => asked,
        Err(error) => {
            printer.say(&error.to_string());
            return 1;
        }
    };
    match asked.show {
        Some(SshareShow::Fields) => printer.data(&sshare_fields_text()),
        Some(SshareShow::Help) => printer.data(&help()),
        Some(SshareShow::Usage) => printer.data(SSHARE_USAGE),
        Some(SshareShow::Version) => printer.line(&super::version_line()),
        None => {
            return list(&asked, printer).unwrap_or_else(|failure| {
                failure.say("sshare", printer);
                1
            });
        }
    }
    0
}

fn list(asked: &SshareArgs, printer: &Printer) -> Result<u8, CommandError> {
    if let Err(message) = super::refuse_other_clusters("sshare", asked.clusters.as_deref()) {
        printer.say(&format!("sshare: error: {message}"));
        return Ok(1);
    }
    let named = match with_names(asked.users.clone()) {
        Ok(users) => SshareArgs {
            users,
            ..asked.clone()
        },
        Err(error) => {
            printer.say(&error.to_string());
            return Ok(1);
        }
    };
    let mut client = connect()?;
    let mut rows = client.shares()?;
    if asked.wants_ids() {
        number(&mut rows, &client.accounting()?.associations);
    }
    let user = sys::users::user_by_id(sys::process::user()).ok().flatten();
    let me = user.map_or_else(String::new, |user| user.name);
    let cluster = super::connection::engine_name().unwrap_or_default();
    if asked.clusters.is_some() {
        printer.line(&format!("CLUSTER: {cluster}"));
    }
    printer.data(&named.print(&rows, &me, &cluster));
    Ok(0)
}

/// Gives rows the numbers of their associations.
fn number(rows: &mut [ShareRow], associations: &[AccountAssociation]) {
    let ids: BTreeMap<_, u32> = associations
        .iter()
        .map(|it| {
            let (user, partition) = (it.user.as_deref(), it.partition.as_deref());
            ((it.account.as_str(), user, partition), it.id)
        })
        .collect();
    for row in rows {
        let (user, partition) = (row.user.as_deref(), row.partition.as_deref());
        let own = ids.get(&(row.account.as_str(), user, partition));
        row.id = own.copied().unwrap_or(0);
    }
}

/// Users by their names where they are named by numbers.
fn with_names(users: Option<Vec<String>>) -> Result<Option<Vec<String>>, SshareUsageError> {
    let name = |user: String| {
        let Ok(id) = user.parse() else {
            return Ok(user);
        };
        let known = sys::users::user_by_id(id).ok().flatten();
        known
            .map(|user| user.name)
            .ok_or(SshareUsageError::User(user))
    };
    users
        .map(|all| all.into_iter().map(name).collect())
        .transpose()
}

/// What `--help` says above the options.
const ABOUT: &str = "\
Usage: sshare [OPTIONS]
Shows the shares of accounts and users of Trainyard's embedded engine and what their jobs used, as
Slurm's sshare shows them. RawUsage is billed amounts times seconds, of which half is forgotten after
each half_life of [priority] in the cluster's file.
";

/// `sshare --help`
pub(super) fn help() -> String {
    super::command_help("sshare", ABOUT, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(
        account: usize,
        user: Option<usize>,
        partition: &str,
        id: u32,
    ) -> (AccountAssociation, ShareRow) {
        let account = format!("a{account}");
        let user = user.map(|user| format!("u{user}"));
        let partition = Some(partition.to_owned()).filter(|name| !name.is_empty());
        let association = AccountAssociation {
            account: account.clone(),
            user: user.clone(),
            partition: partition.clone(),
            id,
            ..AccountAssociation::default()
        };
        let row = ShareRow {
            account,
            user,
            partition,
            depth: 0,
            shares: String::new(),
            norm_shares: 0.0,
            usage: 0.0,
            norm_usage: 0.0,
            effective_usage: 0.0,
            fair_share: None,
            level: None,
            id: 0,
            group_minutes: String::new(),
            run_minutes: Vec::new(),
        };
        (association, row)
    }

    /// Associations and rows as (account, user, partition, number).
    #[track_caller]
    fn check(
        associations: &[(usize, Option<usize>, &str, u32)],
        rows: &[(usize, Option<usize>, &str)],
        want: &[u32],
    ) {
        let all = associations.iter();
        let all: Vec<_> = all.map(|it| named(it.0, it.1, it.2, it.3).0).collect();
        let mut rows: Vec<_> = rows.iter().map(|it| named(it.0, it.1, it.2, 0).1).collect();
        number(&mut rows, &all);
        assert_eq!(rows.iter().map(|row| row.id).collect::<Vec<_>>(), want);
    }

    #[test]
    fn rows_have_the_numbers_of_their_associations() {
        let all = [
            (0, None, "", 1),
            (0, Some(0), "", 2),
            (1, None, "", 4),
            (1, Some(0), "p", 7),
            (1, Some(0), "", 9),
        ];
        check(
            &all,
            &[
                (1, Some(0), "p"),
                (1, Some(0), ""),
                (0, None, ""),
                (0, Some(0), ""),
                (0, Some(0), "p"),
                (2, None, ""),
                (0, Some(1), ""),
            ],
            &[7, 9, 1, 2, 0, 0, 0],
        );
    }
}
