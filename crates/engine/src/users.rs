//! Names of users and groups.

use std::collections::HashMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Names by number. The threads of connections ask the system, which may take long where the names
/// are a network's; the owner finds what they learned.
#[derive(Debug, Default)]
pub(crate) struct Users {
    users: Mutex<Names>,
    groups: Mutex<Names>,
}

/// What is not here was never asked for, or could not be answered.
type Names = HashMap<u32, String>;

impl Users {
    /// Asks the system for names that are not known yet.
    pub(crate) fn learn(&self, uid: u32, gid: u32) {
        let name_of = |uid| Ok(sys::users::user_by_id(uid)?.map(|entry| entry.name));
        learn(&self.users, uid, name_of);
        learn(&self.groups, gid, sys::users::group_name);
    }

    /// The user's name, or its number where no name is known.
    pub(crate) fn user(&self, uid: u32) -> String {
        name(&self.users, uid)
    }

    /// The group's name, or its number.
    pub(crate) fn group(&self, gid: u32) -> String {
        name(&self.groups, gid)
    }
}

fn lock(names: &Mutex<Names>) -> MutexGuard<'_, Names> {
    names.lock().unwrap_or_else(PoisonError::into_inner)
}

fn name(names: &Mutex<Names>, number: u32) -> String {
    let known = lock(names).get(&number).cloned();
    known.unwrap_or_else(|| number.to_string())
}

fn learn(names: &Mutex<Names>, number: u32, ask: impl FnOnce(u32) -> io::Result<Option<String>>) {
    if lock(names).contains_key(&number) {
        return;
    }
    // Without the lock: others must not wait for this answer.
    match ask(number) {
        Ok(found) => {
            let name = found.unwrap_or_else(|| number.to_string());
            lock(names).insert(number, name);
        }
        // Asked again by the next connection that needs it.
        Err(error) => tracing::warn!("the name of {number} is not known: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_without_a_name_stands_for_itself() {
        let users = Users::default();
        assert_eq!(users.user(0), "0");
        users.learn(0, 3_999_999_999);
        assert_eq!(users.user(0), "root");
        assert_eq!(users.group(3_999_999_999), "3999999999");
    }

    #[test]
    fn what_could_not_be_answered_is_asked_again() {
        let names = Mutex::default();
        learn(&names, 7, |_| Err(io::ErrorKind::TimedOut.into()));
        assert_eq!(name(&names, 7), "7");
        learn(&names, 7, |_| Ok(Some("ada".to_owned())));
        assert_eq!(name(&names, 7), "ada");
        learn(&names, 7, |_| panic!("it is known"));
    }
}
