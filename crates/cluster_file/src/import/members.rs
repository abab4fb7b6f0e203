//! Accounts and users of a dump by name, and whether they hang together.

use super::Importer;
use crate::{Account, Named, User};
use std::collections::{HashMap, HashSet};

/// Accounts and users by name, each with its place in the cluster file.
#[derive(Default)]
pub(super) struct Members {
    pub accounts: HashMap<String, usize>,
    pub users: HashMap<String, usize>,
    /// Which user is in which account.
    pub of_accounts: HashSet<(usize, String)>,
    /// Of those, for which partitions they have something of their own; none is all of them.
    pub associated: HashMap<(usize, String), HashSet<Option<String>>>,
    /// The first line of each account and user, in the cluster file's order.
    account_lines: Vec<usize>,
    user_lines: Vec<usize>,
}

impl Importer {
    pub(super) fn add_account(&mut self, name: &str, line: usize, body: Account) {
        let index = self.file.accounts.len();
        self.members.accounts.insert(name.to_owned(), index);
        self.members.account_lines.push(line);
        self.file.accounts.push(Named {
            name: name.to_owned(),
            span: 0..0,
            body,
        });
    }

    /// The place of a user, who is put there where none of that name was.
    pub(super) fn user_at(&mut self, name: &str, line: usize) -> usize {
        let next = self.file.users.len();
        let index = *self.members.users.entry(name.to_owned()).or_insert(next);
        if index == next {
            self.members.user_lines.push(line);
            self.file.users.push(Named {
                name: name.to_owned(),
                span: 0..0,
                body: User::default(),
            });
        }
        index
    }

    /// Notes what is named and has no line, and accounts that are above themselves; `sacctmgr load`
    /// makes no account below one that isn't there.
    pub(super) fn members_hang_together(&mut self) {
        self.no_circles();
        let mut named: Vec<(String, usize, String)> = Vec::new();
        for (account, line) in self.file.accounts.iter().zip(&self.members.account_lines) {
            if let Some(parent) = &account.parent {
                named.push((
                    format!("Account {}", account.name),
                    *line,
                    parent.value.clone(),
                ));
            }
        }
        let mut defaults: Vec<(String, usize)> = Vec::new();
        for (index, user) in self.file.users.iter().enumerate() {
            let line = self.members.user_lines[index];
            let option = || format!("User {}", user.name);
            for account in user.accounts.iter().flat_map(|accounts| accounts.iter()) {
                named.push((option(), line, account.clone()));
            }
            if let Some(default) = &user.default_account
                && !self
                    .members
                    .of_accounts
                    .contains(&(index, default.value.clone()))
            {
                defaults.push((option(), line));
            }
        }
        for (option, line, account) in named {
            if self.members.accounts.contains_key(&account) {
                continue;
            }
            // The root account is always there; others that no line has get a table, and a word.
            if account != "root" {
                let why = format!("no line has the account {account}");
                self.dump_refused(line, &option, &why);
            }
            self.add_account(&account, line, Account::default());
        }
        for (option, line) in defaults {
            self.dump_note(line, &option, "the default account is none of this user's");
        }
    }

    /// Takes one account of each circle of parents out of it.
    fn no_circles(&mut self) {
        #[derive(Clone, Copy, PartialEq)]
        enum Seen {
            Not,
            Now,
            Before,
        }
        let mut seen = vec![Seen::Not; self.file.accounts.len()];
        for first in 0..seen.len() {
            let mut path = Vec::new();
            let mut next = Some(first);
            while let Some(index) = next.filter(|index| seen[*index] == Seen::Not) {
                seen[index] = Seen::Now;
                path.push(index);
                let parent = self.file.accounts[index].parent.as_ref();
                let parent = parent.and_then(|parent| self.members.accounts.get(&parent.value));
                next = parent.copied();
            }
            if let (Some(index), Some(last)) = (next, path.last())
                && seen[index] == Seen::Now
            {
                self.file.accounts[*last].body.parent = None;
                let option = format!("Account {}", self.file.accounts[*last].name);
                let line = self.members.account_lines[*last];
                self.dump_refused(line, &option, "it is above itself");
            }
            for index in path {
                seen[index] = Seen::Before;
            }
        }
    }
}
