//! An association's default QOS is one that it may use, whatever changes.

use super::given::Given;
use super::words::Answer;
use crate::records::{AccountAssociation, AccountChains, Accounting};

/// A default QOS that some of the associations may not use.
pub(super) fn without_default_qos(
    given: &Given,
    to: &Accounting,
    is_meant: &dyn Fn(&AccountAssociation) -> bool,
) -> Option<Answer> {
    let own = given.own();
    let wanted = own.get("defaultqos")?;
    let chains = AccountChains::of(to);
    let lacks = |it: &&AccountAssociation| is_meant(it) && !chains.qos_of(it).contains(wanted);
    let lacking = to.associations.iter().rev().filter(lacks);
    let lines: String = lacking.map(|it| default_qos_line(wanted, to, it)).collect();
    (!lines.is_empty()).then(|| Answer {
        stderr: format!(
            " These associations don't have access to their default qos.\n Please give them access before they the default can be set to this.\n{lines}"
        ),
        ..Answer::default()
    })
}

/// Refuses what takes a QOS from associations whose default it is: none of their jobs that name no
/// other would be taken. All is then as it was.
pub(super) fn keep_default_qos(before: Accounting, to: &mut Accounting) -> Result<(), Answer> {
    let pairs = before.associations.iter().zip(&to.associations).rev();
    let (former, next) = (AccountChains::of(&before), AccountChains::of(to));
    let lines = pairs.filter_map(|(was, is)| {
        let qos = next.setting(is, "defaultqos")?;
        let has = |all: &[String]| all.iter().any(|name| name == qos);
        let is_lost = has(former.qos_of(was)) && !has(next.qos_of(is));
        is_lost.then(|| default_qos_line(qos, to, is))
    });
    let lines: String = lines.collect();
    if lines.is_empty() {
        return Ok(());
    }
    *to = before;
    Err(is_default_qos(&lines))
}

pub(super) fn default_qos_line(qos: &str, of: &Accounting, it: &AccountAssociation) -> String {
    let (cluster, account) = (&of.cluster, &it.account);
    let user = it.user.as_ref();
    let user = user.map(|user| format!(" U = {user:<9}"));
    let user = user.unwrap_or_default();
    format!("  DefQOS = {qos:<10} C = {cluster:<10} A = {account:<20}{user}\n")
}

pub(super) fn is_default_qos(lines: &str) -> Answer {
    Answer::refused(format!(
        " Associations listed below have these as their Default QOS.\n{lines} Please either remove the qos' listed above from list and resubmit,\n or change the default qos to remove the qos.\n Changes Discarded\n"
    ))
}
