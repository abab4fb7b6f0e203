//! Everything that is built into `yard` has a licence that lets us ship it.

use crate::cargo_metadata::{cargo_metadata, packages, text};
use std::collections::BTreeSet;

/// Licences that ask for no more than a notice.
const ALLOWED: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Whether one of the ways in which an SPDX expression can be met is allowed. `OR` binds weaker
/// than `AND`; the slash of old manifests is an `OR`.
fn is_allowed(expression: &str) -> bool {
    let expression = expression
        .replace('/', " OR ")
        .replace('(', " ( ")
        .replace(')', " ) ");
    let words: Vec<&str> = expression.split_whitespace().collect();
    let (allowed, rest) = any_of(&words);
    allowed && rest.is_empty()
}

fn any_of<'a>(words: &'a [&'a str]) -> (bool, &'a [&'a str]) {
    let (mut allowed, mut rest) = all_of(words);
    while let ["OR", more @ ..] = rest {
        let (next, after) = all_of(more);
        allowed |= next;
        rest = after;
    }
    (allowed, rest)
}

fn all_of<'a>(words: &'a [&'a str]) -> (bool, &'a [&'a str]) {
    let (mut allowed, mut rest) = one(words);
    while let ["AND", more @ ..] = rest {
        let (next, after) = one(more);
        allowed &= next;
        rest = after;
    }
    (allowed, rest)
}

fn one<'a>(words: &'a [&'a str]) -> (bool, &'a [&'a str]) {
    match words {
        ["(", inside @ ..] => match any_of(inside) {
            (allowed, [")", rest @ ..]) => (allowed, rest),
            (_, rest) => (false, rest),
        },
        [name, "WITH", exception, rest @ ..] => (
            ALLOWED.contains(&&*format!("{name} WITH {exception}")),
            rest,
        ),
        [name, rest @ ..] => (ALLOWED.contains(name), rest),
        [] => (false, words),
    }
}

#[test]
fn expressions_are_read_as_spdx_has_them() {
    for (expression, allowed) in [
        ("MIT", true),
        ("MIT/Apache-2.0", true),
        ("GPL-3.0-only", false),
        ("GPL-3.0-only OR MIT", true),
        ("GPL-3.0-only AND MIT", false),
        ("MIT OR GPL-3.0-only AND ISC", true),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
        ("(MIT OR Apache-2.0) AND GPL-3.0-only", false),
        ("GPL-2.0-only WITH Classpath-exception-2.0", false),
        ("Apache-2.0 WITH LLVM-exception", true),
        ("MIT OR", true),
        ("(MIT", false),
        ("MIT )", false),
        ("", false),
    ] {
        assert_eq!(is_allowed(expression), allowed, "{expression:?}");
    }
}

#[test]
fn every_dependency_is_allowed() {
    let metadata = cargo_metadata(&["--filter-platform", "x86_64-unknown-linux-gnu"]);
    let nodes = metadata["resolve"]["nodes"].as_array().unwrap();
    let used: BTreeSet<&str> = nodes.iter().map(|node| text(node, "id")).collect();
    assert!(used.len() > 20, "cargo saw the dependencies");
    for package in packages(&metadata)
        .iter()
        .filter(|package| used.contains(text(package, "id")))
    {
        let licence = text(package, "license");
        assert!(
            is_allowed(licence),
            "{} {} has the licence {licence:?}",
            text(package, "name"),
            text(package, "version")
        );
    }
}
