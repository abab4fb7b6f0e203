//! `modify account|user|qos … set RawUsage=0`: what was used counts no more.

use super::condition::{Condition, split, split_of_users};
use super::given::{WHERE_HINT, given};
use super::modify::NOTHING_TO_SET;
use super::words::{Answer, OF_ASSOCIATIONS, OF_QOS};
use crate::records::{Accounting, UsageOwner};

/// Whose usage begins anew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageReset {
    /// What is said before the question whether to do it.
    pub remark: Option<String>,
    /// Who they are; what is said where one of them is not known: then nothing is done.
    pub of: Result<Vec<UsageOwner>, String>,
}

/// What has a usage.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Entity {
    Account,
    User,
    Qos,
}

/// Whether a word sets it, as `modify` and `add` read it.
pub(super) fn is_raw_usage(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    key.len() >= 7 && "rawusage".starts_with(&key)
}

/// Reads the words of a `modify`; `None` where they don't set it. As in Slurm nothing else is set with it.
///
/// Source: `sacctmgr_modify_user`, `sacctmgr_modify_account`, `sacctmgr_modify_qos`, `sacctmgr_remove_assoc_usage`
/// and `sacctmgr_remove_qos_usage` of Slurm 22.05.
pub(super) fn usage_reset(
    entity: Entity,
    words: &[String],
    from: &Accounting,
) -> Result<Option<UsageReset>, Answer> {
    let split = if entity == Entity::User {
        split_of_users
    } else {
        split
    };
    let Ok((condition, set)) = split(words) else {
        // It is said by what else reads the words.
        return Ok(None);
    };
    let is_it = |word: &String| {
        word.split_once('=')
            .is_some_and(|(key, _)| is_raw_usage(key))
    };
    let (own, others): (Vec<String>, Vec<String>) = set.into_iter().partition(is_it);
    let Some((_, value)) = own.last().and_then(|word| word.split_once('=')) else {
        return Ok(None);
    };
    let known = if entity == Entity::Qos {
        OF_QOS
    } else {
        OF_ASSOCIATIONS
    };
    given(&others, known, from, WHERE_HINT)?;
    let amount = number(value.trim_matches(['"', '\'']))?;
    let accounts = || condition.accounts.iter().flatten();
    let error = |text: &str| Answer::refused(format!("sacctmgr: error: {text}\n"));
    if entity == Entity::User && condition.accounts.is_none() {
        return Err(error("An account must be specified"));
    }
    if amount != 0 {
        return Err(error("Raw usage can only be set to 0 (zero)"));
    }
    let has_names = match entity {
        Entity::User => accounts().next().is_some(),
        Entity::Account => !condition.names.is_empty() || accounts().next().is_some(),
        Entity::Qos => !condition.names.is_empty(),
    };
    if !has_names {
        return Err(error(match entity {
            Entity::Qos => "A QOS name is required to remove usage",
            Entity::User | Entity::Account => "An association name is required to remove usage",
        }));
    }
    let cluster = &from.cluster;
    let remark = condition
        .clusters
        .is_empty()
        .then(|| format!("No cluster specified, resetting on local cluster {cluster}\n"));
    let mut foreign = condition.clusters.iter();
    let of = match foreign.find(|name| !name.eq_ignore_ascii_case(cluster)) {
        Some(other) => Err(format!("Failed to find cluster {other} in database")),
        None => owners(entity, &condition, from),
    };
    Ok(Some(UsageReset {
        remark,
        of: of.map_err(|text| format!("sacctmgr: error: {text}\n")),
    }))
}

/// As `strtol` reads it: a text that is no number is refused, one that goes on after a number is not.
fn number(text: &str) -> Result<i64, Answer> {
    let digits = text.trim_start();
    let end = digits
        .char_indices()
        .find(|(at, it)| !(it.is_ascii_digit() || *at == 0 && ['-', '+'].contains(it)));
    let end = end.map_or(digits.len(), |(at, _)| at);
    match digits[..end].parse() {
        Ok(0) if end < digits.len() => {}
        Ok(number) => return Ok(number),
        Err(_) if text.is_empty() => return Ok(0),
        Err(_) => {}
    }
    Err(Answer::refused(format!(
        "sacctmgr: error: Invalid value for RawUsage ({text})\n{NOTHING_TO_SET}"
    )))
}

fn owners(
    entity: Entity,
    condition: &Condition,
    from: &Accounting,
) -> Result<Vec<UsageOwner>, String> {
    let cluster = &from.cluster;
    let accounts = condition.accounts.iter().flatten();
    match entity {
        Entity::Qos => {
            let named = condition.names.iter().map(|name| {
                let mut all = from.qos.iter();
                let found = all.find(|qos| qos.name.eq_ignore_ascii_case(name));
                let qos = found.ok_or_else(|| format!("Failed to find QOS {name}"))?;
                Ok(UsageOwner::Qos {
                    name: qos.name.clone(),
                })
            });
            named.collect()
        }
        Entity::Account => {
            let names = condition.names.iter().chain(accounts);
            names.map(|name| account(name, from)).collect()
        }
        Entity::User => {
            let users: Vec<&String> = condition
                .names
                .iter()
                .chain(condition.users.iter().flatten())
                .collect();
            // Without a user it is the account's.
            if users.is_empty() {
                return accounts.map(|name| account(name, from)).collect();
            }
            let accounts: Vec<&String> = accounts.collect();
            let pairs = users
                .iter()
                .flat_map(|user| accounts.iter().map(move |account| (*user, *account)));
            let named = pairs.map(|(user, account)| {
                let mut all = from.associations.iter();
                // Of several, one for each partition, it is the first.
                let found = all.find(|it| {
                    let own = it.user.as_deref();
                    own.is_some_and(|own| own.eq_ignore_ascii_case(user))
                        && it.account.eq_ignore_ascii_case(account)
                        && condition.is_of_partition(it.partition.as_ref())
                });
                let it = found.ok_or_else(|| {
                    format!(
                        "Failed to find cluster {cluster} account {account} user {user} association in database"
                    )
                })?;
                Ok(UsageOwner::User {
                    account: it.account.clone(),
                    user: it.user.clone().unwrap_or_default(),
                    partition: it.partition.clone(),
                })
            });
            named.collect()
        }
    }
}

fn account(name: &str, from: &Accounting) -> Result<UsageOwner, String> {
    let cluster = &from.cluster;
    let mut all = from.associations.iter();
    let found = all.find(|it| it.user.is_none() && it.account.eq_ignore_ascii_case(name));
    let own = found.ok_or_else(|| {
        format!("Failed to find cluster {cluster} account {name} association in database")
    })?;
    Ok(UsageOwner::Account {
        account: own.account.clone(),
    })
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails loudly")]
    use super::*;
    use crate::records::{AccountAssociation, Qos};

    fn accounting() -> Accounting {
        let association = |account: &str, user: Option<&str>| AccountAssociation {
            account: account.to_owned(),
            user: user.map(str::to_owned),
            ..AccountAssociation::default()
        };
        Accounting {
            cluster: "lab".to_owned(),
            associations: vec![
                association("root", None),
                association("proj", None),
                association("proj", Some("ann")),
            ],
            qos: vec![Qos {
                name: "fast".to_owned(),
                ..Qos::default()
            }],
            ..Accounting::default()
        }
    }

    /// What is said, or whose usage begins anew.
    #[track_caller]
    fn check(entity: Entity, words: &str, want: &str) {
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let said = match usage_reset(entity, &words, &accounting()) {
            Err(answer) => answer.stderr,
            Ok(None) => "no reset".to_owned(),
            Ok(Some(reset)) => {
                let of = reset
                    .of
                    .map_or_else(|text| text, |of| serde_json::to_string(&of).unwrap());
                format!("{}{of}", reset.remark.unwrap_or_default())
            }
        };
        assert_eq!(said.trim_end(), want, "{words:?}");
    }

    #[test]
    fn whose_usage_begins_anew_is_told_in_slurms_words() {
        use Entity::{Account, Qos, User};
        let local = "No cluster specified, resetting on local cluster lab\n";
        let ann = r#"[{"of":"user","account":"proj","user":"ann","partition":null}]"#;
        check(
            User,
            "ann where account=proj set RawUsage=0",
            &format!("{local}{ann}"),
        );
        check(
            User,
            "where user=ann cluster=lab account=proj set rawusag=0x",
            ann_refused(),
        );
        check(
            User,
            "ann where cluster=lab account=proj set rawusage=0 fairshare=2",
            ann,
        );
        check(
            User,
            "ann set rawusage=0",
            "sacctmgr: error: An account must be specified",
        );
        let zero = "sacctmgr: error: Raw usage can only be set to 0 (zero)";
        check(User, "ann where account=proj set rawusage=5", zero);
        check(User, "ann where account=proj set rawusage=-1", zero);
        let none = "sacctmgr: error: Failed to find cluster lab account proj user bob association in database";
        check(
            User,
            "bob where account=proj set rawusage=0",
            &format!("{local}{none}"),
        );
        check(User, "ann where account=proj set fairshare=2", "no reset");
        let account = r#"[{"of":"account","account":"proj"}]"#;
        check(Account, "proj where cluster=lab set rawusage=0", account);
        check(
            Account,
            "where cluster=moon account=proj set rawusage=0",
            "sacctmgr: error: Failed to find cluster moon in database",
        );
        check(
            Account,
            "set rawusage=0",
            "sacctmgr: error: An association name is required to remove usage",
        );
        check(
            Qos,
            "fast where cluster=lab set RawUsage=0",
            r#"[{"of":"qos","name":"fast"}]"#,
        );
        check(
            Qos,
            "slow where cluster=lab set RawUsage=0",
            "sacctmgr: error: Failed to find QOS slow",
        );
    }

    fn ann_refused() -> &'static str {
        "sacctmgr: error: Invalid value for RawUsage (0x)\n You didn't give me anything to set"
    }
}
