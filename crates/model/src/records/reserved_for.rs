//! Whom a reservation is for: names of users, groups or accounts, and how they are changed
//! (`_build_uid_list`, `_update_uid_list`, `_update_account_list` of 22.05).

use serde::{Deserialize, Serialize};

/// Names of users, groups or accounts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ReservedFor {
    /// In the order in which they were given.
    pub names: Vec<String>,
    /// It is for all others: `-NAME`.
    pub are_excluded: bool,
}

impl ReservedFor {
    /// Whether it says nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Whether a name may use it.
    #[must_use]
    pub fn admits(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|own| own == name) != self.are_excluded
    }

    /// As it is printed: `root,-ann`; none where it says nothing.
    #[must_use]
    pub fn text(&self) -> Option<String> {
        let sign = if self.are_excluded { "-" } else { "" };
        let names: Vec<String> = self
            .names
            .iter()
            .map(|name| format!("{sign}{name}"))
            .collect();
        (!names.is_empty()).then(|| names.join(","))
    }
}

/// Names as they are written: `ann,bob`, `+ann,-bob`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct NamesChange {
    /// Each with its sign, if it has one.
    pub names: Vec<(Option<NameSign>, String)>,
}

/// What becomes of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NameSign {
    /// `+NAME`, `Users+=`
    More,
    /// `-NAME`, `Users-=`
    Less,
}

impl NamesChange {
    /// Reads a list. `sign` is that of `Users+=`, which stands before each name.
    #[must_use]
    pub fn parse(text: &str, sign: Option<NameSign>) -> NamesChange {
        let names = text.split(',').filter(|name| !name.is_empty());
        let name = |word: &str| match sign {
            Some(sign) => (Some(sign), word.to_owned()),
            None => match (word.strip_prefix('+'), word.strip_prefix('-')) {
                (Some(name), _) => (Some(NameSign::More), name.to_owned()),
                (_, Some(name)) => (Some(NameSign::Less), name.to_owned()),
                _ => (None, word.to_owned()),
            },
        };
        NamesChange {
            names: names.map(name).collect(),
        }
    }

    /// The names of one that is made; `None` where some are excluded and others not.
    #[must_use]
    pub fn first(&self) -> Option<ReservedFor> {
        let are_excluded = self.has(NameSign::Less);
        let sign = are_excluded.then_some(NameSign::Less);
        let is_alike = self.names.iter().all(|(own, _)| *own == sign);
        let names = self.names.iter().map(|(_, name)| name.clone());
        is_alike.then(|| ReservedFor {
            names: names.collect(),
            are_excluded,
        })
    }

    /// What becomes of the names of one that there is; `None` where a name without a sign stands
    /// behind one with a sign, or where `is_strict` and one is taken away that is not there.
    #[must_use]
    pub fn of(&self, former: &ReservedFor, is_strict: bool) -> Option<ReservedFor> {
        let first_sign = self.names.iter().position(|(sign, _)| sign.is_some());
        let Some(first_sign) = first_sign else {
            return self.first();
        };
        if self.names[first_sign..]
            .iter()
            .any(|(sign, _)| sign.is_none())
        {
            return None;
        }
        let mut now = former.clone();
        now.are_excluded |= now.is_empty() && self.has(NameSign::Less);
        let (gone, new) = if now.are_excluded {
            (NameSign::More, NameSign::Less)
        } else {
            (NameSign::Less, NameSign::More)
        };
        for name in self.with(gone) {
            if is_strict && !now.names.contains(name) {
                return None;
            }
            now.names.retain(|own| own != name);
        }
        for name in self.with(new) {
            if !now.names.contains(name) {
                now.names.push(name.clone());
            }
        }
        now.are_excluded &= !now.is_empty();
        Some(now)
    }

    /// All names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|(_, name)| name.as_str())
    }

    fn has(&self, sign: NameSign) -> bool {
        self.with(sign).next().is_some()
    }

    fn with(&self, sign: NameSign) -> impl Iterator<Item = &String> {
        let names = self.names.iter();
        names.filter_map(move |(own, name)| (*own == Some(sign)).then_some(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> ReservedFor {
        NamesChange::parse(text, None).first().expect(text)
    }

    #[test]
    fn who_may_use_it() {
        assert!(of("ann").admits("ann") && !of("ann").admits("bob"));
        assert!(!of("-ann").admits("ann") && of("-ann").admits("bob"));
        assert!(of("").admits("bob"));
        assert_eq!(of("-a,-b").text().as_deref(), Some("-a,-b"));
        assert_eq!(NamesChange::parse("-a,b", None).first(), None);
        assert_eq!(NamesChange::parse("+a", None).first(), None);
    }

    /// As recorded from a real one.
    #[test]
    fn names_are_changed() {
        let check = |former: &str, asked: &str, want: Option<&str>| {
            let now = NamesChange::parse(asked, None).of(&of(former), false);
            let now = now.map(|now| now.text().unwrap_or_default());
            assert_eq!(now.as_deref(), want, "{former} {asked}");
        };
        check("root", "alice", Some("alice"));
        check("alice", "+root", Some("alice,root"));
        check("alice,root", "-alice", Some("root"));
        check("root", "", Some(""));
        check("root", "-alice", Some("root"));
        check("root", "+bob,-root", Some("bob"));
        check("bob", "+bob,carol", None);
        check("bob", "-bob", Some(""));
        check("", "-bob", Some("-bob"));
        check("-bob", "-ann", Some("-bob,-ann"));
        check("-bob,-ann", "+bob", Some("-ann"));
        let strict = NamesChange::parse("proj2", Some(NameSign::Less));
        assert_eq!(strict.of(&of("proj1"), true), None);
    }
}
