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
    /// The first of its partitions, by which its association is found.
    pub partition: String,
}

impl AccountAssociation {
    /// The account that is over it: a user's own, an account's parent.
    #[must_use]
    pub(crate) fn name_above(&self) -> Option<&str> {
        if self.user.is_some() {
            Some(&self.account)
        } else {
            self.parent.as_deref()
        }
    }
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

    /// The association that a job counts for: that of its partition, else the one for all.
    #[must_use]
    pub(crate) fn association_of(&self, job: &AccountingUse) -> Option<&AccountAssociation> {
        let own = self.associations.iter();
        let own = own.filter(|it| it.account == job.account && it.user.as_ref() == Some(&job.user));
        association_in(own, Some(&job.partition), |it| it.partition.as_deref())
    }
}

/// Of a user's associations in an account the one that holds for jobs of a partition: that of the partition, else the
/// one for all (`assoc_mgr_fill_in_assoc` of 22.05).
pub fn association_in<T>(
    all: impl IntoIterator<Item = T>,
    partition: Option<&str>,
    partition_of: impl Fn(&T) -> Option<&str>,
) -> Option<T> {
    let mut of_all = None;
    for one in all {
        let own = partition_of(&one);
        if own.is_some() && own == partition {
            return Some(one);
        }
        if own.is_none() && of_all.is_none() {
            of_all = Some(one);
        }
    }
    of_all
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
