//! Which lists of a cluster file are whole.

use super::{ClusterFile, Extent, Lists, Source, Sourced};

/// A list of names that a cluster file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// Kinds of nodes, and with them types of GPUs.
    Nodes,
    /// Partitions.
    Partitions,
    /// Qualities of service.
    Qos,
    /// Accounts.
    Accounts,
    /// Features of nodes.
    Features,
}

impl List {
    /// The word for a sentence: `partitions`, `QOS`, …
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            List::Nodes => "nodes",
            List::Partitions => "partitions",
            List::Qos => "QOS",
            List::Accounts => "accounts",
            List::Features => "features",
        }
    }
}

impl Lists {
    /// All are whole, for sure: an engine has what its file has, and nothing else.
    #[must_use]
    pub fn whole() -> Lists {
        let whole = || Some(Sourced::new(Extent::Whole, Source::Stated));
        Lists {
            nodes: whole(),
            partitions: whole(),
            qos: whole(),
            accounts: whole(),
            features: whole(),
            ..Lists::default()
        }
    }
}

impl ClusterFile {
    /// Whether a list has all that the cluster has, for sure: then a name that it doesn't have is
    /// wrong. Where it has only some, such a name may be right: a note, never an error.
    ///
    /// What `[lists]` doesn't say is whole, except where what the list rests on is assumed, and
    /// except for features that no group of nodes speaks of.
    #[must_use]
    pub fn knows_all(&self, list: List) -> bool {
        let said = match list {
            List::Nodes => &self.lists.nodes,
            List::Partitions => &self.lists.partitions,
            List::Qos => &self.lists.qos,
            List::Accounts => &self.lists.accounts,
            List::Features => &self.lists.features,
        };
        if let Some(said) = said {
            return said.value == Extent::Whole && !said.is_assumed();
        }
        match list {
            List::Nodes | List::Qos | List::Accounts => true,
            List::Partitions => {
                let nodes = self.partitions.iter().map(|one| one.nodes.as_ref());
                !nodes.flatten().any(Sourced::is_assumed)
            }
            List::Features => {
                let features = self.nodes.iter().map(|nodes| nodes.features.as_ref());
                let mut features = features.flatten().peekable();
                features.peek().is_some() && !features.any(Sourced::is_assumed)
            }
        }
    }

    /// A list in a sentence: `wilson has partitions a, b`, or `cedar's file knows only some
    /// partitions: a, b`.
    #[must_use]
    pub fn list_words(&self, list: List, names: &[&str]) -> String {
        let (cluster, what) = (&self.name, list.word());
        match (self.knows_all(list), names) {
            (true, []) => format!("{cluster} has no {what}"),
            (true, names) => format!("{cluster} has {what} {}", names.join(", ")),
            (false, []) => format!("{cluster}'s file knows no {what}"),
            (false, names) => {
                format!(
                    "{cluster}'s file knows only some {what}: {}",
                    names.join(", ")
                )
            }
        }
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test fails loudly")]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, list: List, whole: bool) {
        let file = ClusterFile::parse("x", text).unwrap();
        assert_eq!(file.knows_all(list), whole, "{text}");
    }

    #[test]
    fn what_is_said_counts_and_what_is_not_is_whole() {
        check("[partition.a]\n", List::Partitions, true);
        check("[lists]\npartitions = \"some\"\n", List::Partitions, false);
        check("[lists]\npartitions = \"whole\"\n", List::Partitions, true);
        let guess = "[lists]\npartitions = { value = \"whole\", assumed = \"a guess\" }\n";
        check(guess, List::Partitions, false);
        check("[qos.a]\n", List::Qos, true);
        check("[lists]\nqos = \"some\"\n", List::Qos, false);
        check("[lists]\naccounts = \"some\"\n", List::Qos, true);
    }

    #[test]
    fn what_is_assumed_is_not_sure() {
        let nodes = "[partition.a]\nnodes = { value = \"ALL\", assumed = \"no page says\" }\n";
        check(nodes, List::Partitions, false);
        check("[nodes.a]\ncpus = 2\n", List::Features, false);
        check("[nodes.a]\nfeatures = [\"ib\"]\n", List::Features, true);
        let guess = "[nodes.a]\nfeatures = { value = [\"ib\"], assumed = \"a guess\" }\n";
        check(guess, List::Features, false);
    }

    #[test]
    fn words() {
        let whole = ClusterFile::parse("x", "").unwrap();
        assert_eq!(
            whole.list_words(List::Partitions, &["a", "b"]),
            "x has partitions a, b"
        );
        let some = ClusterFile::parse("x", "[lists]\nqos = \"some\"\n").unwrap();
        assert_eq!(
            some.list_words(List::Qos, &["a"]),
            "x's file knows only some QOS: a"
        );
    }
}
