//! Nodes by name, and how much is done to find them.

use model::{NodeName, node_list};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// Most names that all lists of the files together are expanded to, so that they come to an end.
const MOST_NAMES: usize = 1 << 23;
/// Most nodes: as many as a list may have.
const MOST_NODES: usize = 1 << 20;

/// Nodes by name, each with the group of the cluster file that it is in.
#[derive(Default)]
pub(super) struct Listed {
    groups: HashMap<String, usize>,
    /// What was expanded so far.
    expanded: usize,
    /// Lists of which each name is known.
    fine: HashSet<String>,
    /// What was answered of lists before: they repeat.
    counts: HashMap<String, usize>,
    found: HashMap<String, Rc<Vec<usize>>>,
}

/// The names of a `NodeName` line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Added {
    /// Those that no line above has; none where that is all of them.
    pub new: Option<String>,
    /// The first that stands twice.
    pub twice: Option<String>,
}

impl Listed {
    /// Puts names into a group.
    pub fn add(&mut self, list: &str, group: usize) -> Result<Added, String> {
        let mut new = Vec::new();
        let mut twice = None;
        let groups = &mut self.groups;
        let read = each(list, &mut self.expanded, &mut |name| {
            if groups.len() < MOST_NODES && !groups.contains_key(name) {
                groups.insert(name.to_owned(), group);
                new.push(NodeName::from(name.to_owned()));
            } else if twice.is_none() {
                twice = Some(name.to_owned());
            }
        });
        let full = self.groups.len() >= MOST_NODES;
        if let Err(why) = read.and(if full { Err(too_many()) } else { Ok(()) }) {
            for name in &new {
                self.groups.remove(name.as_str());
            }
            return Err(why);
        }
        Ok(Added {
            new: match (&twice, new.is_empty()) {
                (_, true) => None,
                (None, false) => Some(list.to_owned()),
                (Some(_), false) => Some(node_list::fold(&new)),
            },
            twice,
        })
    }

    /// Those of a list that no group has, as a list; none where there are none.
    pub fn unknown(&mut self, list: &str) -> Result<Option<String>, String> {
        if self.fine.contains(list) {
            return Ok(None);
        }
        let mut odd = Vec::new();
        let mut count = 0;
        let groups = &self.groups;
        each(list, &mut self.expanded, &mut |name| {
            if !groups.contains_key(name) {
                count += 1;
                if odd.len() < SHOWN {
                    odd.push(NodeName::from(name.to_owned()));
                }
            }
        })?;
        if odd.is_empty() {
            self.fine.insert(list.to_owned());
            return Ok(None);
        }
        let shown = node_list::fold(&odd);
        Ok(Some(match count - odd.len() {
            0 => shown,
            more => format!("{shown} and {more} more"),
        }))
    }

    /// How many names a list has.
    pub fn count(&mut self, list: &str) -> Result<usize, String> {
        if let Some(count) = self.counts.get(list) {
            return Ok(*count);
        }
        let mut count = 0;
        each(list, &mut self.expanded, &mut |_| count += 1)?;
        self.counts.insert(list.to_owned(), count);
        Ok(count)
    }

    /// The groups that some of a list's nodes are in, in their order.
    pub fn groups_of(&mut self, list: &str) -> Result<Rc<Vec<usize>>, String> {
        if let Some(found) = self.found.get(list) {
            return Ok(Rc::clone(found));
        }
        let mut found: HashSet<usize> = HashSet::new();
        let groups = &self.groups;
        each(list, &mut self.expanded, &mut |name| {
            found.extend(groups.get(name));
        })?;
        let mut found: Vec<usize> = found.into_iter().collect();
        found.sort_unstable();
        let found = Rc::new(found);
        self.found.insert(list.to_owned(), Rc::clone(&found));
        Ok(found)
    }
}

/// So many unknown names are shown.
const SHOWN: usize = 20;

fn each(list: &str, expanded: &mut usize, take: &mut dyn FnMut(&str)) -> Result<(), String> {
    if *expanded > MOST_NAMES {
        return Err(too_many());
    }
    node_list::for_each(list, |name| {
        *expanded += 1;
        take(name);
    })
    .map_err(|error| error.to_string())
}

fn too_many() -> String {
    format!("more than is read: {MOST_NODES} nodes, and {MOST_NAMES} names in all lists")
}
