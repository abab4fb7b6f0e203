//! What was changed of the accounting, as `sacctmgr show transaction` lists it.

use super::{AccountAssociation, Accounting, Settings};
use crate::values::Timestamp;
use serde::{Deserialize, Serialize};

/// A change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AccountingTransaction {
    /// When it was made.
    pub at: Timestamp,
    /// Who made it.
    pub actor: String,
    /// `Add Users`, …
    pub action: String,
    /// Of what.
    pub object: String,
    /// What was set.
    pub info: String,
}

impl Accounting {
    /// The changes that led from here to another state.
    #[must_use]
    pub fn transactions(
        &self,
        next: &Accounting,
        at: Timestamp,
        actor: &str,
    ) -> Vec<AccountingTransaction> {
        let mut changes = Vec::new();
        let quoted = |name: &str| format!("name='{name}'");
        compare(&mut changes, "QOS", &self.qos, &next.qos, |it| {
            Row::new(
                &it.name,
                format!("({})", quoted(&it.name)),
                set(&it.settings),
            )
        });
        compare(
            &mut changes,
            "Accounts",
            &self.accounts,
            &next.accounts,
            |it| {
                let info = format!(
                    "description='{}', organization='{}'",
                    it.description, it.organization
                );
                Row::new(&it.name, quoted(&it.name), info)
            },
        );
        compare(&mut changes, "Users", &self.users, &next.users, |it| {
            let level = match it.admin.as_str() {
                "Administrator" => 3,
                "Operator" => 2,
                _ => 1,
            };
            Row::new(&it.name, quoted(&it.name), format!("admin_level={level}"))
        });
        let (old, new) = (&self.associations, &next.associations);
        compare(&mut changes, "Associations", old, new, |it| {
            let key = format!("id_assoc={}", it.id);
            let info = set_of_association(it);
            Row::new(&key, format!("({key})"), info)
        });
        compare(
            &mut changes,
            "Resources",
            &self.resources,
            &next.resources,
            |it| {
                let share = it
                    .allowed
                    .map_or_else(String::new, |it| format!(", percent_allowed={it}"));
                let info = format!("count={}{share}", it.count);
                Row::new(&it.full_name(), quoted(&it.full_name()), info)
            },
        );
        compare(
            &mut changes,
            "Federations",
            &self.federations,
            &next.federations,
            |it| Row::new(it, quoted(it), String::new()),
        );
        compare(&mut changes, "WCKeys", &self.wckeys, &next.wckeys, |it| {
            let key = format!("{}@{}", it.name, it.user);
            Row::new(&key, key.clone(), String::new())
        });
        let made = |(action, object, info)| AccountingTransaction {
            at,
            actor: actor.to_owned(),
            action,
            object,
            info,
        };
        changes.into_iter().map(made).collect()
    }
}

/// A thing that there is before and after, by its key: how it is named and what is set of it.
struct Row {
    key: String,
    object: String,
    info: String,
}

impl Row {
    fn new(key: &str, object: String, info: String) -> Row {
        Row {
            key: key.to_owned(),
            object,
            info,
        }
    }
}

type Change = (String, String, String);

fn compare<T: PartialEq>(
    changes: &mut Vec<Change>,
    what: &str,
    old: &[T],
    new: &[T],
    row: impl Fn(&T) -> Row,
) {
    let find = |all: &'_ [T], key: &str| all.iter().position(|it| row(it).key == key);
    for it in new {
        let row = row(it);
        match find(old, &row.key) {
            None => changes.push((format!("Add {what}"), row.key, row.info)),
            Some(at) if old[at] != *it => {
                changes.push((format!("Modify {what}"), row.object, row.info));
            }
            Some(_) => {}
        }
    }
    for it in old {
        let row = row(it);
        if find(new, &row.key).is_none() {
            changes.push((format!("Remove {what}"), row.object, String::new()));
        }
    }
}

/// `maxjobs=3, maxwall=60`
fn set(settings: &Settings) -> String {
    let words = settings
        .iter()
        .map(|(key, value)| format!("{key}='{value}'"));
    words.collect::<Vec<_>>().join(", ")
}

fn set_of_association(it: &AccountAssociation) -> String {
    let mut words = vec![format!("acct='{}'", it.account)];
    let named = [
        ("user", &it.user),
        ("parent_acct", &it.parent),
        ("partition", &it.partition),
    ];
    for (key, value) in named {
        words.extend(value.iter().map(|value| format!("{key}='{value}'")));
    }
    if let Some(qos) = &it.qos {
        words.push(format!("qos='{}'", qos.join(",")));
    }
    if !it.settings.is_empty() {
        words.push(set(&it.settings));
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::{AccountUser, Wckey};

    #[test]
    fn a_change_is_told_by_what_is_there_before_and_after() {
        let old = Accounting::new("lab", "root");
        let mut new = old.clone();
        new.qos[0]
            .settings
            .insert("maxwall".to_owned(), "60".to_owned());
        new.users.push(AccountUser {
            name: "ann".to_owned(),
            ..AccountUser::default()
        });
        new.wckeys.push(Wckey {
            name: "key".to_owned(),
            user: "ann".to_owned(),
        });
        let told = |old: &Accounting, new: &Accounting| {
            let all = old.transactions(new, Timestamp(0), "root");
            let words = all.iter().map(|it| format!("{} {}", it.action, it.object));
            words.collect::<Vec<_>>().join("; ")
        };
        assert_eq!(
            told(&old, &new),
            "Modify QOS (name='normal'); Add Users ann; Add WCKeys key@ann"
        );
        assert_eq!(
            told(&new, &old),
            "Modify QOS (name='normal'); Remove Users name='ann'; Remove WCKeys key@ann"
        );
        assert_eq!(told(&new, &new), "");
    }
}
