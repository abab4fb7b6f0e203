use std::fs;
use std::path::Path;

/// Bytes of a file, or of all files below a folder; links are not followed, and what can't be read
/// counts nothing.
#[must_use]
pub fn tree_size(path: &Path) -> u64 {
    let Ok(facts) = fs::symlink_metadata(path) else {
        return 0;
    };
    if !facts.is_dir() {
        return facts.len();
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| tree_size(&entry.path())).sum()
}
