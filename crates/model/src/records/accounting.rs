//! Accounts, users, QOS and associations: what `sacctmgr` manages.

use super::{LicenceResource, Wckey};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Limits and other values by their names in `sacctmgr`, in lower case: `maxwall` in seconds,
/// `grptres` as `cpu=10,gres/gpu=4`, the others as they are printed.
pub type Settings = BTreeMap<String, String>;

/// All that `sacctmgr` manages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Accounting {
    /// Grows with every change.
    pub version: u64,
    /// The cluster's name.
    pub cluster: String,
    /// Accounts.
    pub accounts: Vec<Account>,
    /// Users.
    pub users: Vec<AccountUser>,
    /// Accounts and users in them, in the order in which they came.
    pub associations: Vec<AccountAssociation>,
    /// QOS, in the order in which they came.
    pub qos: Vec<Qos>,
    /// Workload keys.
    pub wckeys: Vec<Wckey>,
    /// Licences of servers.
    pub resources: Vec<LicenceResource>,
    /// Names of federations, of which no cluster is a part.
    pub federations: Vec<String>,
}

/// An account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Account {
    /// Its name.
    pub name: String,
    /// What it is.
    pub description: String,
    /// Whose it is.
    pub organization: String,
    /// Users who coordinate it.
    pub coordinators: Vec<String>,
}

/// A user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AccountUser {
    /// The name.
    pub name: String,
    /// The account of jobs that name none.
    pub default_account: String,
    /// `None`, `Operator` or `Administrator`.
    pub admin: String,
    /// The workload key of jobs that name none.
    pub default_wckey: String,
}

/// An account in the tree of accounts, or a user in an account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AccountAssociation {
    /// The account.
    pub account: String,
    /// The user; `None` is the account itself.
    pub user: Option<String>,
    /// The account over this one; `None` for users and the root.
    pub parent: Option<String>,
    /// The partition to which it is limited.
    pub partition: Option<String>,
    /// QOS that it may use; `None` is those of its account.
    pub qos: Option<Vec<String>>,
    /// Limits and shares of its own.
    pub settings: Settings,
    /// Its number; 0 where it has none yet.
    pub id: u32,
}

/// A QOS.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Qos {
    /// Its name.
    pub name: String,
    /// What it is.
    pub description: String,
    /// Limits and priorities.
    pub settings: Settings,
    /// Its number; 0 where it has none yet.
    pub id: u32,
}

/// A job that does not let what it uses be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountingUse {
    /// The job.
    pub job: u32,
    /// Its account.
    pub account: String,
    /// Its user.
    pub user: String,
}

/// A step of a walk through the tree.
enum Visit<'a> {
    Enter(&'a AccountAssociation),
    Leave,
}

impl Accounting {
    /// What there is before anything was added: the account `root`, its user, and the QOS `normal`.
    #[must_use]
    pub fn new(cluster: &str, owner: &str) -> Accounting {
        let association = |user: Option<&str>| AccountAssociation {
            account: "root".to_owned(),
            user: user.map(str::to_owned),
            ..AccountAssociation::default()
        };
        let mut top = association(None);
        top.qos = Some(vec!["normal".to_owned()]);
        Accounting {
            version: 0,
            cluster: cluster.to_owned(),
            accounts: vec![Account {
                name: "root".to_owned(),
                description: "default root account".to_owned(),
                organization: "root".to_owned(),
                coordinators: Vec::new(),
            }],
            users: vec![AccountUser {
                name: owner.to_owned(),
                default_account: "root".to_owned(),
                admin: "Administrator".to_owned(),
                ..AccountUser::default()
            }],
            associations: vec![top, association(Some(owner))],
            qos: vec![Qos {
                name: "normal".to_owned(),
                description: "Normal QOS default".to_owned(),
                settings: Settings::from([("priority".to_owned(), "0".to_owned())]),
                ..Qos::default()
            }],
            ..Accounting::default()
        }
        .numbered()
    }

    /// The same with a number for each QOS and association that has none.
    #[must_use]
    pub fn numbered(mut self) -> Accounting {
        self.give_numbers();
        self
    }

    /// Gives a number to each QOS and association that has none.
    pub fn give_numbers(&mut self) {
        let mut ids: Vec<&mut u32> = self.qos.iter_mut().map(|it| &mut it.id).collect();
        number(&mut ids);
        let mut ids: Vec<&mut u32> = self.associations.iter_mut().map(|it| &mut it.id).collect();
        number(&mut ids);
    }

    /// The account's own association.
    #[must_use]
    pub fn account_association(&self, account: &str) -> Option<&AccountAssociation> {
        let mut all = self.associations.iter();
        all.find(|it| it.user.is_none() && it.account == account)
    }

    /// What stands over an association: a user's account, an account's parent.
    fn above(&self, association: &AccountAssociation) -> Option<&AccountAssociation> {
        match (&association.user, &association.parent) {
            (Some(_), _) => self.account_association(&association.account),
            (None, Some(parent)) => self.account_association(parent),
            (None, None) => None,
        }
    }

    /// The number of what stands over an association; 0 where nothing does.
    #[must_use]
    pub fn parent_id(&self, association: &AccountAssociation) -> u32 {
        self.above(association).map_or(0, |above| above.id)
    }

    /// An association's place in the tree as Slurm's database counts it: one number when it is entered and
    /// one when it is left, the newest first.
    #[must_use]
    pub fn bounds(&self, association: &AccountAssociation) -> (u32, u32) {
        let mut next = 1;
        let mut found = (0, 0);
        let mut open: Vec<(u32, u32)> = Vec::new();
        let tops = self
            .associations
            .iter()
            .filter(|it| self.above(it).is_none());
        let mut waiting: Vec<Visit<'_>> = tops.map(Visit::Enter).collect();
        while let Some(visit) = waiting.pop() {
            match visit {
                Visit::Enter(it) => {
                    open.push((it.id, next));
                    next += 1;
                    waiting.push(Visit::Leave);
                    let below = self.associations.iter();
                    let below = below.filter(|other| {
                        self.above(other)
                            .is_some_and(|above| std::ptr::eq(above, it))
                    });
                    waiting.extend(below.map(Visit::Enter));
                }
                Visit::Leave => {
                    match open.pop() {
                        Some((id, first)) if id == association.id => found = (first, next),
                        _ => {}
                    }
                    next += 1;
                }
            }
        }
        found
    }

    /// Whether an account is another one, or somewhere under it.
    #[must_use]
    pub fn is_under(&self, account: &str, over: &str) -> bool {
        let mut at = self.account_association(account);
        for _ in 0..=self.associations.len() {
            match at {
                Some(it) if it.account == over => return true,
                Some(it) => at = self.above(it),
                None => return false,
            }
        }
        false
    }

    /// A setting of an association: its own, or where it is of those that are passed down, that of
    /// what stands over it.
    #[must_use]
    pub fn setting<'a>(&'a self, of: &'a AccountAssociation, name: &str) -> Option<&'a str> {
        let mut at = Some(of);
        // No chain of accounts is longer than their number.
        for _ in 0..=self.associations.len() {
            let association = at?;
            if let Some(value) = association.settings.get(name) {
                return Some(value);
            }
            if !is_passed_down(name) {
                return None;
            }
            at = self.above(association);
        }
        None
    }

    /// The QOS of an association, its own or those of what stands over it.
    #[must_use]
    pub fn qos_of<'a>(&'a self, of: &'a AccountAssociation) -> &'a [String] {
        let mut at = Some(of);
        for _ in 0..=self.associations.len() {
            let Some(association) = at else {
                break;
            };
            if let Some(qos) = &association.qos {
                return qos;
            }
            at = self.above(association);
        }
        &[]
    }

    /// Associations as a tree: the root and its users, then each account under it, by name.
    #[must_use]
    pub fn tree(&self) -> Vec<(usize, &AccountAssociation)> {
        let mut list = Vec::new();
        let tops = self.associations.iter();
        for top in tops.filter(|it| it.user.is_none() && it.parent.is_none()) {
            self.put_under(top, 0, &mut list);
        }
        list
    }

    fn put_under<'a>(
        &'a self,
        account: &'a AccountAssociation,
        depth: usize,
        list: &mut Vec<(usize, &'a AccountAssociation)>,
    ) {
        if depth > self.associations.len() {
            return;
        }
        list.push((depth, account));
        let mut users: Vec<_> = self.associations.iter().collect();
        users.retain(|it| it.user.is_some() && it.account == account.account);
        users.sort_by(|a, b| a.user.cmp(&b.user));
        list.extend(users.into_iter().map(|user| (depth + 1, user)));
        let mut children: Vec<_> = self.associations.iter().collect();
        children.retain(|it| {
            it.user.is_none() && it.parent.as_deref() == Some(account.account.as_str())
        });
        children.sort_by(|a, b| a.account.cmp(&b.account));
        for child in children {
            self.put_under(child, depth + 1, list);
        }
    }
}

/// Numbers those that are 0, above all others.
fn number(ids: &mut [&mut u32]) {
    let mut last = ids.iter().map(|id| **id).max().unwrap_or(0);
    for id in ids.iter_mut().filter(|id| ***id == 0) {
        last += 1;
        **id = last;
    }
}

/// Whether users have a setting of their account where they have none of their own.
pub(crate) fn is_passed_down(name: &str) -> bool {
    name.starts_with("max") || name == "defaultqos"
}
