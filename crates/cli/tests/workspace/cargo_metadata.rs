//! What cargo knows of the workspace (cargo-metadata(1), format version 1).
//!
//! Read here and not by a crate made for it, whose features of `serde_json` would make the program
//! that is tested, and with it every crate above, another build than the one that is used.

use serde_json::Value;
use std::process::Command;

/// All that `cargo metadata` tells with these arguments.
#[track_caller]
pub fn cargo_metadata(arguments: &[&str]) -> Value {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.toml");
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked"])
        .args(["--manifest-path", manifest])
        .args(arguments)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo metadata: {said}");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The packages that it tells of.
pub fn packages(metadata: &Value) -> &[Value] {
    metadata["packages"].as_array().unwrap()
}

/// A text of a package or of one of its dependencies, such as its `name`; empty where it has none.
pub fn text<'a>(of: &'a Value, key: &str) -> &'a str {
    of[key].as_str().unwrap_or_default()
}
