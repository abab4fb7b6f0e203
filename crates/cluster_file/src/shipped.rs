//! The cluster files that come with the program.

use super::{ClusterFile, ClusterProblem};

/// Their names and texts, ordered by name.
#[must_use]
pub fn shipped() -> &'static [(&'static str, &'static str)] {
    &[
        ("cedar", include_str!("../clusters/cedar.toml")),
        ("ibex", include_str!("../clusters/ibex.toml")),
        ("plai", include_str!("../clusters/plai.toml")),
        ("satori", include_str!("../clusters/satori.toml")),
        ("technion", include_str!("../clusters/technion.toml")),
        ("wilson", include_str!("../clusters/wilson.toml")),
    ]
}

/// Finds a shipped cluster file by name, upper and lower case being one.
#[must_use]
pub fn find(name: &str) -> Option<Result<ClusterFile, Vec<ClusterProblem>>> {
    let (name, text) = shipped()
        .iter()
        .find(|(known, _)| known.eq_ignore_ascii_case(name))?;
    Some(ClusterFile::parse(name, text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Section, Source};
    use model::render;

    fn all() -> Vec<ClusterFile> {
        let read = |(name, text): &(&str, &str)| match ClusterFile::parse(name, text) {
            Ok(file) => file,
            Err(problems) => panic!("{}", render(&problems[0], text, name)),
        };
        shipped().iter().map(read).collect()
    }

    #[test]
    fn every_value_says_where_it_came_from() {
        for file in all() {
            // What the file is called and what it was read in are not facts of a cluster.
            let own = ["about", "document"];
            file.visit("", &mut |path, _, entries| {
                for entry in entries {
                    let said = entry.source != Source::Stated || own.contains(&entry.key);
                    assert!(said, "{}: {path}.{}", file.name, entry.key);
                }
            });
            for at in file.assumed() {
                assert!(at.1.len() > 8, "{}: {at:?}", file.name);
            }
        }
    }

    #[test]
    fn they_print_and_read_back() {
        for file in all() {
            assert_eq!(
                ClusterFile::parse(&file.name, &file.to_string()).as_ref(),
                Ok(&file)
            );
        }
    }

    #[test]
    fn what_a_document_says_twice_stands_twice() {
        let wilson = find("Wilson").and_then(Result::ok).expect("shipped");
        let qos = wilson.default_qos("anyone", "wc_test", None).expect("said");
        let all: Vec<&str> = qos.all().map(String::as_str).collect();
        assert_eq!(all, ["opp", "regular"]);
        assert!(!qos.is_assumed());
    }

    #[test]
    fn models_are_found_by_every_name_of_theirs() {
        let named = |cluster: &str, name: &str| {
            let file = find(cluster).and_then(Result::ok).expect("shipped");
            let kinds = file.gpus_called(name);
            kinds
                .iter()
                .map(|kind| kind.nodes.name.clone())
                .collect::<Vec<_>>()
                .join(" ")
        };
        assert_eq!(named("wilson", "v100"), "v100 power9");
        assert_eq!(named("wilson", "v100nvlinkppc64"), "power9");
        assert_eq!(named("satori", "V100"), "ac922");
        assert_eq!(named("ibex", "v100"), "v100_8 v100_4");
        assert_eq!(named("cedar", "v100"), "v100l");
        assert_eq!(named("technion", "v100"), "");
    }
}
