//! Names of users and groups.

use std::collections::HashMap;

/// Names by number, read from the system's files once each.
#[derive(Debug, Default)]
pub(crate) struct Users {
    users: HashMap<u32, String>,
    groups: HashMap<u32, String>,
}

impl Users {
    /// The user's name, or its number where the system's files have none.
    pub(crate) fn user(&mut self, uid: u32) -> String {
        let name = self.users.entry(uid);
        name.or_insert_with(|| look_up("/etc/passwd", uid)).clone()
    }

    /// The group's name, or its number.
    pub(crate) fn group(&mut self, gid: u32) -> String {
        let name = self.groups.entry(gid);
        name.or_insert_with(|| look_up("/etc/group", gid)).clone()
    }
}

fn look_up(file: &str, number: u32) -> String {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let name = text.lines().find_map(|line| {
        let mut words = line.split(':');
        let name = words.next()?;
        let found: u32 = words.nth(1)?.parse().ok()?;
        (found == number).then(|| name.to_owned())
    });
    name.unwrap_or_else(|| number.to_string())
}
