//! Sets of nodes, a bit a node.

use crate::NodeId;

/// A set of a cluster's nodes.
#[derive(Clone, Debug, Default)]
pub struct NodeSet {
    words: Vec<u64>,
}

impl NodeSet {
    /// The first `count` nodes.
    #[must_use]
    pub fn first(count: u32) -> NodeSet {
        (0..count).map(NodeId).collect()
    }

    /// Adds a node.
    pub fn insert(&mut self, node: NodeId) {
        let (word, bit) = place(node);
        if self.words.len() <= word {
            self.words.resize(word + 1, 0);
        }
        self.words[word] |= bit;
    }

    /// Takes a node out.
    pub fn remove(&mut self, node: NodeId) {
        let (word, bit) = place(node);
        if let Some(word) = self.words.get_mut(word) {
            *word &= !bit;
        }
    }

    /// Adds a node or takes it out.
    pub fn set(&mut self, node: NodeId, is_in: bool) {
        if is_in {
            self.insert(node);
        } else {
            self.remove(node);
        }
    }

    /// Whether a node is in it.
    #[must_use]
    pub fn contains(&self, node: NodeId) -> bool {
        let (word, bit) = place(node);
        self.words.get(word).is_some_and(|word| word & bit != 0)
    }

    /// How many nodes are in it.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    /// Whether none is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Leaves only those that are also in `other`.
    pub fn keep(&mut self, other: &NodeSet) {
        self.words.truncate(other.words.len());
        for (own, other) in self.words.iter_mut().zip(&other.words) {
            *own &= other;
        }
    }

    /// Adds those of `other`.
    pub fn add(&mut self, other: &NodeSet) {
        if self.words.len() < other.words.len() {
            self.words.resize(other.words.len(), 0);
        }
        for (own, other) in self.words.iter_mut().zip(&other.words) {
            *own |= other;
        }
    }

    /// Takes those of `other` out.
    pub fn drop_all(&mut self, other: &NodeSet) {
        for (own, other) in self.words.iter_mut().zip(&other.words) {
            *own &= !other;
        }
    }

    /// Its nodes in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = NodeId> + '_ {
        let bits = |(index, word): (usize, &u64)| {
            let first = u32::try_from(index * 64).unwrap_or(u32::MAX);
            let mut rest = *word;
            std::iter::from_fn(move || {
                if rest == 0 {
                    return None;
                }
                let bit = rest.trailing_zeros();
                rest &= rest - 1;
                Some(NodeId(first + bit))
            })
        };
        self.words.iter().enumerate().flat_map(bits)
    }
}

/// Two sets are equal when they have the same nodes, however much memory each has.
impl PartialEq for NodeSet {
    fn eq(&self, other: &NodeSet) -> bool {
        let longest = self.words.len().max(other.words.len());
        let word = |set: &NodeSet, index: usize| set.words.get(index).copied().unwrap_or(0);
        (0..longest).all(|index| word(self, index) == word(other, index))
    }
}

impl Eq for NodeSet {}

impl FromIterator<NodeId> for NodeSet {
    fn from_iter<I: IntoIterator<Item = NodeId>>(nodes: I) -> NodeSet {
        let mut set = NodeSet::default();
        for node in nodes {
            set.insert(node);
        }
        set
    }
}

fn place(node: NodeId) -> (usize, u64) {
    (node.0 as usize / 64, 1 << (node.0 % 64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn set(nodes: &BTreeSet<u32>) -> NodeSet {
        nodes.iter().copied().map(NodeId).collect()
    }

    proptest! {
        #[test]
        fn as_a_sorted_set(
            one in prop::collection::btree_set(0_u32..200, 0..20),
            two in prop::collection::btree_set(0_u32..200, 0..20),
        ) {
            let check = |change: fn(&mut NodeSet, &NodeSet), want: Vec<u32>| {
                let mut got = set(&one);
                change(&mut got, &set(&two));
                assert_eq!(got.iter().map(|node| node.0).collect::<Vec<_>>(), want);
                assert_eq!(got.len() as usize, want.len());
                assert_eq!(got, want.iter().copied().map(NodeId).collect());
            };
            check(NodeSet::keep, one.intersection(&two).copied().collect());
            check(NodeSet::add, one.union(&two).copied().collect());
            check(NodeSet::drop_all, one.difference(&two).copied().collect());
        }
    }
}
