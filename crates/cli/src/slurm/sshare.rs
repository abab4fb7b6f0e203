//! `sshare`: what accounts and users are due, and what they used.

use super::connection::{CommandError, connect};
use crate::printer::Printer;
use model::{SSHARE_USAGE, SshareArgs, SshareShow, SshareUsageError, sshare_fields_text};

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
        Some(SshareShow::Help) => printer.data(HELP),
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
        let accounting = client.accounting()?;
        for row in &mut rows {
            let mut all = accounting.associations.iter();
            let own = all.find(|it| it.account == row.account && it.user == row.user);
            row.id = own.map_or(0, |own| own.id);
        }
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

pub(super) const HELP: &str = "\
Usage: sshare [OPTIONS]
Shows the shares of accounts and users of Trainyard's embedded engine and what their jobs used, as
Slurm's sshare shows them. RawUsage is billed amounts times seconds, of which half is forgotten after
each half_life of [priority] in the cluster's file.

  -a, --all                all users
  -A, --accounts=LIST      these accounts
  -e, --helpformat         the columns that there are
  -l, --long               more columns
  -m, --partition          the partition of an association too
  -M, --clusters=NAME      the name of this cluster, or all
  -n, --noheader           no headers
  -o, --format=LIST        columns: Account%20,User,FairShare
  -p, --parsable           cells between |, and one at the end
  -P, --parsable2          cells between |
  -u, --users=LIST         these users
  -U, --Users              users alone
      --usage              the options in short
  -V, --version            what this is

Taken and without effect: --federation, --local, --verbose.
";
