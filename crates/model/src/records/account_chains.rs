//! What associations have of the accounts over them, with the accounts found once.

use super::accounting::is_passed_down;
use super::{AccountAssociation, Accounting};
use std::collections::HashMap;

/// The associations of accounts, by name.
pub(crate) struct AccountChains<'a> {
    accounts: HashMap<&'a str, &'a AccountAssociation>,
}

impl<'a> AccountChains<'a> {
    pub(crate) fn of(accounting: &'a Accounting) -> AccountChains<'a> {
        let mut accounts = HashMap::new();
        for it in &accounting.associations {
            if it.user.is_none() {
                accounts.entry(&*it.account).or_insert(it);
            }
        }
        AccountChains { accounts }
    }

    /// The account's own association.
    pub(crate) fn account(&self, name: &str) -> Option<&'a AccountAssociation> {
        self.accounts.get(name).copied()
    }

    /// An association, and what stands over it, one after the other.
    fn chain(
        &self,
        of: &'a AccountAssociation,
    ) -> impl Iterator<Item = &'a AccountAssociation> + '_ {
        let over = |it: &&'a AccountAssociation| self.account(it.name_above()?);
        // No chain of accounts is longer than their number.
        std::iter::successors(Some(of), over).take(self.accounts.len() + 1)
    }

    /// Whether an account is another one, or somewhere under it.
    pub(crate) fn is_under(&self, account: &str, over: &str) -> bool {
        self.line_of_account(account).any(|it| it.account == over)
    }

    /// An account, and those over it, one after the other.
    pub(crate) fn line_of_account(
        &self,
        account: &str,
    ) -> impl Iterator<Item = &'a AccountAssociation> + '_ {
        let own = self.account(account).into_iter();
        own.flat_map(|own| self.chain(own))
    }

    /// A setting of an association: its own, or where it is of those that are passed down, that of
    /// what stands over it.
    pub(crate) fn setting(&self, of: &'a AccountAssociation, name: &str) -> Option<&'a str> {
        let far = if is_passed_down(name) { usize::MAX } else { 1 };
        let mut chain = self.chain(of).take(far);
        chain.find_map(|it| it.settings.get(name).map(String::as_str))
    }

    /// The QOS of an association, its own or those of what stands over it.
    pub(crate) fn qos_of(&self, of: &'a AccountAssociation) -> &'a [String] {
        let own = self.chain(of).find_map(|it| it.qos.as_deref());
        own.unwrap_or_default()
    }
}
