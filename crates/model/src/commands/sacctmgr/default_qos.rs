//! An association's default QOS is one that it may use, whatever changes.

use super::given::Given;
use super::words::Answer;
use crate::records::{AccountAssociation, AccountChains, Accounting};

/// Refuses what leaves associations without their default QOS among those that they may use: none of their
/// jobs that name no other would be taken. All is then as it was, and the exit status 0, as Slurm has it
/// (`sacctmgr_check_default_qos` of association_functions.c).
pub(super) fn keep_default_qos(
    before: Accounting,
    to: &mut Accounting,
    given: &Given,
    is_meant: impl Fn(&AccountAssociation) -> bool,
) -> Result<(), Answer> {
    if given.qos.is_empty() && !given.own().contains_key("defaultqos") {
        return Ok(());
    }
    let chains = AccountChains::of(to);
    let line = |it: &AccountAssociation| {
        let qos = chains.setting(it, "defaultqos")?;
        let has = chains.qos_of(it).iter().any(|name| name == qos);
        (is_meant(it) && !has).then(|| lacking_line(qos, to, it))
    };
    let accounts = to.associations.iter().filter(|it| it.user.is_none());
    // Users come the newest first.
    let users = to.associations.iter().rev().filter(|it| it.user.is_some());
    let lines: String = accounts.chain(users).filter_map(line).collect();
    if lines.is_empty() {
        return Ok(());
    }
    *to = before;
    Err(Answer {
        stderr: format!(
            " These associations don't have access to their default qos.\n Please give them access before they the default can be set to this.\n{lines}"
        ),
        ..Answer::default()
    })
}

/// An account's ends in a blank here, as Slurm writes it.
fn lacking_line(qos: &str, of: &Accounting, it: &AccountAssociation) -> String {
    let line = default_qos_line(qos, of, it);
    match it.user {
        Some(_) => line,
        None => line.replace('\n', " \n"),
    }
}

pub(super) fn default_qos_line(qos: &str, of: &Accounting, it: &AccountAssociation) -> String {
    let (cluster, account) = (&of.cluster, &it.account);
    let user = it.user.iter().map(|user| format!(" U = {user:<9}"));
    let partition = it.partition.iter().map(|name| format!(" P = {name}"));
    let rest: String = user.chain(partition).collect();
    format!("  DefQOS = {qos:<10} C = {cluster:<10} A = {account:<20}{rest}\n")
}

pub(super) fn is_default_qos(lines: &str) -> Answer {
    Answer::refused(format!(
        " Associations listed below have these as their Default QOS.\n{lines} Please either remove the qos' listed above from list and resubmit,\n or change the default qos to remove the qos.\n Changes Discarded\n"
    ))
}
