//! The tree of accounts and users, worked out once for all of them.

use super::{AccountAssociation, Accounting};
use std::collections::BTreeMap;

/// Where an association is in the tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TreePlace {
    /// `LFT`: its number as the tree is walked, when the walk enters it.
    pub left: u32,
    /// `RGT`: its number when the walk leaves it.
    pub right: u32,
    /// The number of the association over it; 0 where there is none.
    pub parent: u32,
}

/// Associations with those under each of them.
struct Tree<'a> {
    all: &'a [AccountAssociation],
    /// Those over which no other is, in the order in which they came.
    tops: Vec<usize>,
    /// Those under each, in that order.
    below: Vec<Vec<usize>>,
}

/// A step of a walk through the tree.
enum Visit {
    Enter { at: usize, parent: u32 },
    Leave(usize),
}

impl Accounting {
    /// Where each association is, by its number, as Slurm's database counts: the newest first.
    #[must_use]
    pub fn places(&self) -> BTreeMap<u32, TreePlace> {
        let tree = Tree::of(&self.associations);
        let mut places: BTreeMap<u32, TreePlace> = BTreeMap::new();
        let enter = |all: &[usize], parent: u32| -> Vec<Visit> {
            let all = all.iter();
            all.map(|at| Visit::Enter { at: *at, parent }).collect()
        };
        let mut waiting = enter(&tree.tops, 0);
        let mut next = 1;
        while let Some(visit) = waiting.pop() {
            match visit {
                Visit::Enter { at, parent } => {
                    let id = tree.all[at].id;
                    let place = places.entry(id).or_default();
                    (place.left, place.parent) = (next, parent);
                    waiting.push(Visit::Leave(at));
                    waiting.extend(enter(&tree.below[at], id));
                }
                Visit::Leave(at) => places.entry(tree.all[at].id).or_default().right = next,
            }
            next += 1;
        }
        places
    }

    /// Associations as a tree, each with how many are over it: the root and its users, then each account
    /// under it, by name; of several of one user, for partitions, the newest first.
    #[must_use]
    pub fn tree(&self) -> Vec<(usize, &AccountAssociation)> {
        let tree = Tree::of(&self.associations);
        let name = |at: &usize| {
            let it = &tree.all[*at];
            (it.user.is_none(), &it.user, &it.account)
        };
        let mut list = Vec::with_capacity(tree.all.len());
        let is_root = |at: &&usize| {
            let it = &tree.all[**at];
            it.user.is_none() && it.parent.is_none()
        };
        let roots = tree.tops.iter().filter(is_root);
        let mut waiting: Vec<(usize, usize)> = roots.rev().map(|at| (0, *at)).collect();
        while let Some((depth, at)) = waiting.pop() {
            list.push((depth, &tree.all[at]));
            let mut below = tree.below[at].clone();
            below.reverse();
            below.sort_by(|a, b| name(a).cmp(&name(b)));
            waiting.extend(below.into_iter().rev().map(|at| (depth + 1, at)));
        }
        list
    }
}

impl<'a> Tree<'a> {
    fn of(all: &'a [AccountAssociation]) -> Tree<'a> {
        let mut accounts: BTreeMap<&str, usize> = BTreeMap::new();
        for (at, it) in all.iter().enumerate().filter(|(_, it)| it.user.is_none()) {
            accounts.entry(&it.account).or_insert(at);
        }
        let mut tree = Tree {
            all,
            tops: Vec::new(),
            below: vec![Vec::new(); all.len()],
        };
        for (at, it) in all.iter().enumerate() {
            let above = it.name_above().and_then(|name| accounts.get(name));
            match above {
                Some(above) => tree.below[*above].push(at),
                None => tree.tops.push(at),
            }
        }
        tree
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `account`, `account<parent` or `user@account`, numbered from 1.
    fn accounting(words: impl Iterator<Item = String>) -> Accounting {
        let association = |word: String| {
            let (user, account) = match word.split_once('@') {
                Some((user, account)) => (Some(user.to_owned()), account),
                None => (None, word.as_str()),
            };
            let (account, parent) = match account.split_once('<') {
                Some((account, parent)) => (account, Some(parent.to_owned())),
                None => (account, None),
            };
            AccountAssociation {
                account: account.to_owned(),
                user,
                parent,
                ..AccountAssociation::default()
            }
        };
        Accounting {
            associations: words.map(association).collect(),
            ..Accounting::default()
        }
        .numbered()
    }

    #[track_caller]
    fn check(words: &str, want: &str, tree: &str) {
        let accounting = accounting(words.split(' ').map(str::to_owned));
        let places = accounting.places();
        let text = accounting.associations.iter().map(|it| {
            let place = places.get(&it.id).copied().unwrap_or_default();
            format!("{}-{}/{}", place.left, place.right, place.parent)
        });
        assert_eq!(text.collect::<Vec<_>>().join(" "), want, "{words}");
        let list = accounting.tree();
        let list = list.iter().map(|(depth, it)| {
            let name = it.user.as_ref().unwrap_or(&it.account);
            format!("{depth}{name}")
        });
        assert_eq!(list.collect::<Vec<_>>().join(" "), tree, "{words}");
    }

    #[test]
    fn places_in_the_tree() {
        check("root", "1-2/0", "0root");
        check(
            "root me@root b<root z@b a<root y@b x@root",
            "1-14/0 12-13/1 6-11/1 9-10/3 4-5/1 7-8/3 2-3/1",
            "0root 1me 1x 1a 1b 2y 2z",
        );
        check("a<b b<a u@a", "0-0/0 0-0/0 0-0/0", "");
        check("root u@gone c<gone", "5-6/0 3-4/0 1-2/0", "0root");
    }

    /// A walk through all for each of them would not come to its end.
    #[test]
    fn places_of_many_are_worked_out_at_once() {
        let users = (0..20_000).map(|user| format!("u{user}@a{}", user % 200));
        let accounts = (0..200).map(|account| format!("a{account}<root"));
        let words = ["root".to_owned()].into_iter().chain(accounts).chain(users);
        let accounting = accounting(words);
        let places = accounting.places();
        assert_eq!(places.len(), 20_201);
        let want = TreePlace {
            left: 1,
            right: 40_402,
            parent: 0,
        };
        assert_eq!(places[&1], want);
        assert_eq!(accounting.tree().len(), 20_201);
    }
}
