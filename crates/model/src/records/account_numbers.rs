//! The numbers of associations and QOS, by what jobs name.

use super::{Accounting, association_in};
use std::collections::HashMap;

/// The numbers of associations and QOS; 0 is one that there is not.
#[derive(Clone, Debug, Default)]
pub struct AccountNumbers {
    /// By user; of each the account, the partition to which it is limited, and its number.
    associations: HashMap<String, Vec<(String, Option<String>, u32)>>,
    qos: HashMap<String, u32>,
}

impl AccountNumbers {
    /// Those of an accounting.
    #[must_use]
    pub fn of(accounting: &Accounting) -> AccountNumbers {
        let mut numbers = AccountNumbers::default();
        for it in &accounting.associations {
            let Some(user) = &it.user else {
                continue;
            };
            let own = numbers.associations.entry(user.clone()).or_default();
            own.push((it.account.clone(), it.partition.clone(), it.id));
        }
        let qos = accounting.qos.iter();
        numbers.qos = qos.map(|it| (it.name.clone(), it.id)).collect();
        numbers
    }

    /// That of a user's association with an account, the one of a partition before the one of all.
    pub(crate) fn association(&self, account: &str, user: &str, partition: &str) -> u32 {
        let own = self.associations.get(user).into_iter().flatten();
        let own = own.filter(|(name, ..)| *name == account);
        let own = association_in(own, Some(partition), |(_, limited, _)| limited.as_deref());
        own.map_or(0, |(_, _, id)| *id)
    }

    /// That of a QOS.
    pub(crate) fn qos(&self, name: &str) -> u32 {
        self.qos.get(name).copied().unwrap_or(0)
    }
}
