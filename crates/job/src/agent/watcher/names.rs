//! What the name of an entry tells.

use train::Complete;

/// Whether it is the marker of another entry.
pub fn is_marker(rule: &Complete, name: &str) -> bool {
    match rule {
        Complete::Marker { name: marker } => name
            .strip_suffix(marker.as_str())
            .is_some_and(|entry| entry.ends_with('.')),
        Complete::Recognise { .. } | Complete::Rename | Complete::Settle { .. } => false,
    }
}

/// Whether a name is one that programs give to what they have not finished.
#[must_use]
pub fn looks_temporary(name: &str) -> bool {
    const ENDS: [&str; 8] = [
        ".tmp",
        ".temp",
        ".part",
        ".partial",
        ".incomplete",
        ".saving",
        ".writing",
        "~",
    ];
    const INSIDE: [&str; 3] = [".orbax-checkpoint-tmp", ".tmp.", ".tmp-"];
    let lower = name.to_ascii_lowercase();
    lower.starts_with('.')
        || lower.starts_with("tmp-")
        || lower.starts_with("tmp_")
        || ENDS.iter().any(|end| lower.ends_with(end))
        || INSIDE.iter().any(|part| lower.contains(part))
}
