//! Who may know whom: the table of ARCHITECTURE.md, held against what cargo sees.

use crate::cargo_metadata::{cargo_metadata, packages, text};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Each crate and the crates of ours that it may know. A crate that isn't here fails the test.
const MAY_KNOW: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("sched", &["cluster_file", "model", "resources"]),
    ("cluster_file", &["model"]),
    ("resources", &["cluster_file", "model"]),
    ("train", &["cluster_file", "model", "resources"]),
    ("lint", &["cluster_file", "model", "resources"]),
    ("sys", &[]),
    ("folder", &["model", "sys", "train"]),
    ("watch", &["model"]),
    ("job", &["folder", "model", "sys", "train", "watch"]),
    ("api", &["model", "sys"]),
    (
        "engine",
        &["api", "cluster_file", "model", "resources", "sched", "sys"],
    ),
    ("backend", &["api", "model", "sys"]),
    (
        "runs",
        &[
            "backend",
            "cluster_file",
            "folder",
            "lint",
            "model",
            "resources",
            "sys",
            "train",
            "watch",
        ],
    ),
    (
        "cli",
        &[
            "api",
            "backend",
            "cluster_file",
            "engine",
            "folder",
            "job",
            "lint",
            "model",
            "resources",
            "runs",
            "sched",
            "sys",
            "train",
            "watch",
            "web",
        ],
    ),
    ("web", &["folder", "model", "runs", "sys", "watch"]),
    ("testkit", &["sys"]),
];

/// What the pure crates may use of others: values and their text forms.
const PURE: &[&str] = &[
    "model",
    "cluster_file",
    "resources",
    "sched",
    "train",
    "lint",
    "watch",
];
const PURE_MAY_USE: &[&str] = &[
    "csv",
    "globset",
    "jiff",
    "serde",
    "serde_json",
    "thiserror",
    "toml",
];

/// Modules through which a crate reaches out of itself.
const REACHING_OUT: &[&str] = &[
    "std::env",
    "std::fs",
    "std::net",
    "std::os",
    "std::process",
    "std::thread",
];

fn metadata() -> Value {
    cargo_metadata(&["--no-deps", "--offline"])
}

/// `yard-model` is `model` in the code and in the tables here.
fn short(name: &str) -> &str {
    name.strip_prefix("yard-").unwrap_or(name)
}

/// What a dependency is for, as cargo names it; `null` is what the crate itself uses.
const USE: Value = Value::Null;

fn name(package: &Value) -> &str {
    short(text(package, "name"))
}

fn depends_on(package: &Value, kinds: &[Value]) -> BTreeSet<String> {
    let dependencies = package["dependencies"].as_array().unwrap();
    dependencies
        .iter()
        .filter(|dependency| kinds.contains(&dependency["kind"]))
        .map(|dependency| short(text(dependency, "name")).to_owned())
        .collect()
}

pub(crate) fn sources_of(name: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![crates().join(name).join("src")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.extension() {
                _ if path.is_dir() => folders.push(path),
                Some(extension) if extension == "rs" => found.push(path),
                _ => {}
            }
        }
    }
    found
}

pub(crate) fn crates() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// Lines of code that hold one of the words, as `path:line: text`; comments don't count.
fn lines_with(name: &str, words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for path in sources_of(name) {
        let text = fs::read_to_string(&path).unwrap();
        for (index, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap_or_default();
            if words.iter().any(|word| code.contains(word)) {
                found.push(format!("{}:{}: {}", path.display(), index + 1, line.trim()));
            }
        }
    }
    found
}

#[test]
fn every_crate_knows_only_whom_it_may() {
    let metadata = metadata();
    let ours: BTreeSet<&str> = packages(&metadata).iter().map(name).collect();
    let listed: BTreeSet<&str> = MAY_KNOW.iter().map(|(name, _)| *name).collect();
    assert_eq!(
        ours, listed,
        "the crates of the workspace, and those of the table"
    );

    for package in packages(&metadata) {
        let name = name(package);
        let may = MAY_KNOW.iter().find(|(other, _)| *other == name).unwrap().1;
        let everywhere = [USE, "build".into()];
        for other in depends_on(package, &everywhere)
            .iter()
            .filter(|n| ours.contains(&***n))
        {
            assert!(may.contains(&&**other), "{name} must not know {other}");
        }
        // Tests may stand in a sealed environment beside what the crate knows anyway; a pure
        // crate's tests need nothing but values.
        for other in depends_on(package, &["dev".into()]) {
            let allowed = may.contains(&&*other) || (other == "testkit" && !PURE.contains(&name));
            assert!(
                !ours.contains(&*other) || allowed,
                "the tests of {name} must not know {other}"
            );
        }
    }
}

#[test]
fn pure_crates_use_only_what_is_pure() {
    let metadata = metadata();
    for package in packages(&metadata)
        .iter()
        .filter(|package| PURE.contains(&name(package)))
    {
        for other in depends_on(package, &[USE, "build".into()]) {
            let pure = PURE.contains(&&*other) || PURE_MAY_USE.contains(&&*other);
            assert!(pure, "{} must not use {other}", name(package));
        }
    }
}

#[test]
fn pure_crates_reach_out_nowhere() {
    for name in PURE {
        assert_eq!(
            lines_with(name, REACHING_OUT),
            [""; 0],
            "in the pure crate {name}"
        );
        assert!(
            crates().join(name).join("clippy.toml").is_file(),
            "{name} has the lints of a pure crate"
        );
    }
}

#[test]
fn unsafe_code_stands_in_sys_alone() {
    for (name, _) in MAY_KNOW.iter().filter(|(name, _)| *name != "sys") {
        assert_eq!(
            lines_with(name, &["unsafe ", "unsafe_code"]),
            [""; 0],
            "in {name}"
        );
    }
}

#[test]
fn names_of_our_environment_variables_stand_in_one_file() {
    // The file is sys's, and its own tests spell them out.
    for (name, _) in MAY_KNOW.iter().filter(|(name, _)| *name != "sys") {
        assert_eq!(lines_with(name, &["\"TRAINYARD_"]), [""; 0], "in {name}");
    }
    // Those of ranks are made of their table in train; the beginning of their names is no name.
    for (name, _) in MAY_KNOW.iter().filter(|(name, _)| *name != "sys") {
        let mut lines = lines_with(name, &["\"YARD_"]);
        lines.retain(|line| !line.contains("\"YARD_\""));
        assert_eq!(lines, [""; 0], "in {name}");
    }
}

#[test]
fn nothing_but_the_pages_is_async() {
    for package in packages(&metadata()) {
        let names = depends_on(package, &[USE]);
        let is_async = names.contains("tokio");
        assert_eq!(
            is_async,
            name(package) == "web",
            "{} uses tokio",
            name(package)
        );
    }
}
