//! Users and groups as the system knows them, wherever it keeps them: files, LDAP, SSSD
//! (nsswitch.conf(5)). A question may take as long as a network's.

use nix::unistd::{Gid, Group, Uid, User};
use std::io;
use std::sync::OnceLock;

/// A user's entry of passwd(5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserEntry {
    /// The number.
    pub id: u32,
    /// The number of its own group.
    pub group: u32,
    /// The name to log in by.
    pub name: String,
    /// What its row says of it, the real name first.
    pub about: String,
    /// The home folder.
    pub home: std::path::PathBuf,
    /// The login shell.
    pub shell: std::path::PathBuf,
}

impl From<User> for UserEntry {
    fn from(user: User) -> UserEntry {
        UserEntry {
            id: user.uid.as_raw(),
            group: user.gid.as_raw(),
            name: user.name,
            about: user.gecos.to_string_lossy().into_owned(),
            home: user.dir,
            shell: user.shell,
        }
    }
}

/// The entry of a user by number; `None` where there is none.
///
/// # Errors
/// The system could not say.
pub fn user_by_id(uid: u32) -> io::Result<Option<UserEntry>> {
    Ok(User::from_uid(Uid::from_raw(uid))?.map(UserEntry::from))
}

/// The entry of a user by name; `None` where there is none.
///
/// # Errors
/// The system could not say.
pub fn user_by_name(name: &str) -> io::Result<Option<UserEntry>> {
    Ok(User::from_name(name)?.map(UserEntry::from))
}

/// The name of the user that this process is, for accounts, QOS and folders: as the system knows it, whatever `USER`
/// says. That counts only where the system knows no name or can't be asked; without it the number stands.
#[must_use]
pub fn this_user() -> &'static str {
    static NAME: OnceLock<String> = OnceLock::new();
    NAME.get_or_init(|| {
        let uid = crate::process::user();
        name_of(uid, user_by_id(uid), std::env::var("USER").ok())
    })
}

fn name_of(uid: u32, entry: io::Result<Option<UserEntry>>, variable: Option<String>) -> String {
    let known = entry.ok().flatten().map(|entry| entry.name);
    let named = [known, variable].into_iter().flatten();
    let mut named = named.filter(|name| !name.is_empty());
    named.next().unwrap_or_else(|| uid.to_string())
}

/// The name of a group; `None` where it has none.
///
/// # Errors
/// The system could not say.
pub fn group_name(gid: u32) -> io::Result<Option<String>> {
    Ok(Group::from_gid(Gid::from_raw(gid))?.map(|group| group.name))
}

/// The entry of a user by name, or by number; `None` where there is none.
///
/// # Errors
/// The system could not say.
pub fn user(name: &str) -> io::Result<Option<UserEntry>> {
    match name.parse() {
        Ok(uid) => user_by_id(uid),
        Err(_) => user_by_name(name),
    }
}

/// The number of a group by name, or by number; `None` where there is none.
///
/// # Errors
/// The system could not say.
pub fn group(name: &str) -> io::Result<Option<u32>> {
    let found = match name.parse() {
        Ok(gid) => Group::from_gid(Gid::from_raw(gid))?,
        Err(_) => Group::from_name(name)?,
    };
    Ok(found.map(|group| group.gid.as_raw()))
}

/// The users whom a group names as its members; those whose own group it is need not be among them.
/// `None` where there is no such group.
///
/// # Errors
/// The system could not say.
pub fn group_members(name: &str) -> io::Result<Option<Vec<String>>> {
    Ok(Group::from_name(name)?.map(|group| group.mem))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_names_only_whom_the_system_does_not_know() {
        let check = |entry: io::Result<Option<UserEntry>>, variable: Option<&str>, want: &str| {
            let name = name_of(4711, entry, variable.map(str::to_owned));
            assert_eq!(name, want, "{variable:?}");
        };
        let root = || user_by_id(0);
        check(root(), Some("ada"), "root");
        check(root(), None, "root");
        check(Ok(None), Some("ada"), "ada");
        check(Err(io::ErrorKind::TimedOut.into()), Some("ada"), "ada");
        check(Ok(None), Some(""), "4711");
        check(Ok(None), None, "4711");
    }

    #[test]
    fn root_has_an_entry_and_an_unknown_number_has_none() {
        let root = user_by_id(0).unwrap().unwrap();
        assert_eq!(root.name, "root");
        assert_eq!(user_by_name("root").unwrap(), Some(root));
        assert_eq!(group_name(0).unwrap().as_deref(), Some("root"));
        assert_eq!(user_by_id(3_999_999_999).unwrap(), None);
        assert_eq!([group("root").unwrap(), group("0").unwrap()], [Some(0); 2]);
        assert_eq!(group("no such group").unwrap(), None);
        assert_eq!(user("0").unwrap(), user("root").unwrap());
        assert_eq!(group_name(3_999_999_999).unwrap(), None);
        assert_eq!(group_members("no such group").unwrap(), None);
        assert_eq!(user_by_name("no such user").unwrap(), None);
    }
}
