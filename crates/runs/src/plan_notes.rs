//! What a person should know of a command before its first start: what it would lose, and what its
//! copy of the code is without.

use crate::notify_notes;
use std::fs;
use std::path::{Component, Path, PathBuf};
use train::Plan;

/// A file of the command that is longer is no program's text, in bytes.
const LONGEST_PROGRAM: u64 = 1 << 20;
/// So many ignored paths are named at most.
const NAMED: usize = 3;

/// Adds to a plan of a run file in `base` what should be known of its command.
pub fn add(plan: &mut Plan, base: &Path) {
    let unsaved = train::unsaved_note(plan, &programs(plan, base));
    let ignored = ignored_note(plan, base);
    plan.notes.extend(unsaved.into_iter().chain(ignored));
    plan.notes.extend(notify_notes::notes(plan));
}

/// The words of the command, and the values of its options.
fn values(plan: &Plan) -> impl Iterator<Item = &str> {
    let words = plan.command.value.iter();
    words.flat_map(|word| {
        let value = word.split_once('=').map(|(_, value)| value);
        [Some(word.as_str()), value].into_iter().flatten()
    })
}

fn programs(plan: &Plan, base: &Path) -> Vec<String> {
    let text = |value: &str| {
        let path = base.join(value);
        let facts = fs::metadata(&path).ok()?;
        let is_text = facts.is_file() && facts.len() <= LONGEST_PROGRAM;
        let bytes = is_text.then(|| fs::read(&path).ok())??;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    values(plan).filter_map(text).collect()
}

/// Those that the command names; where it names none, folders beside the run file.
fn ignored_note(plan: &Plan, base: &Path) -> Option<String> {
    let named: Vec<PathBuf> = values(plan)
        .filter_map(|value| below(base, value))
        .filter(|path| path.exists())
        .collect();
    let folders = folders(base);
    if named.is_empty() && folders.is_empty() {
        return None;
    }
    let source = folder::find_source(base);
    let mut ignored = source.ignored(&named);
    if ignored.is_empty() {
        ignored = source.ignored(&folders);
    }
    ignored.sort();
    ignored.dedup();
    let more = match ignored.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let shown = ignored.iter().take(NAMED);
    let shown: Vec<String> = shown
        .map(|path| {
            path.strip_prefix(base)
                .unwrap_or(path)
                .display()
                .to_string()
        })
        .collect();
    (!shown.is_empty()).then(|| {
        format!(
            "the run's copy of the code is without {}{more}, which git ignores, and relative outputs are written into that copy; use a full path or [data] stage for data, and a full path or {{logs}} for outputs",
            shown.join(", ")
        )
    })
}

/// A relative path that does not leave the folder.
fn below(base: &Path, value: &str) -> Option<PathBuf> {
    let mut path = base.to_owned();
    for part in Path::new(value).components() {
        match part {
            Component::CurDir => {}
            Component::Normal(name) => path.push(name),
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (path != base).then_some(path)
}

/// The folders in one, without those that are never a program's data.
fn folders(base: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(base).into_iter().flatten().flatten();
    let is_data = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_tools =
            name.starts_with('.') || name == "__pycache__" || name.ends_with(".egg-info");
        path.is_dir() && !is_tools && !path.join("pyvenv.cfg").exists()
    };
    entries.map(|entry| entry.path()).filter(is_data).collect()
}
