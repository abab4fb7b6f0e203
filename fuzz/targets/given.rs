//! How a fuzzer's bytes become what a person gives: words of a command line, then a text.

use jiff::tz::TimeZone;
use model::{SlurmVersion, Surroundings, Timestamp};
use std::path::Path;

/// 2026-03-10 03:04:05 UTC.
pub const NOW: Timestamp = Timestamp(1_773_111_845_000);

/// Words, one a line up to the first empty line, and the text after it.
pub fn words_and_text(data: &[u8]) -> (Vec<String>, String) {
    let all = String::from_utf8_lossy(data);
    let (words, text) = all.split_once("\n\n").unwrap_or((&all, ""));
    let words = words.lines().map(str::to_owned).collect();
    (words, text.to_owned())
}

/// Calls `read` with a place and a time that are always the same, for the embedded engine or for
/// a real Slurm with a plugin.
pub fn somewhere(embedded: bool, mut read: impl FnMut(&Surroundings<'_>)) {
    let (zone, cwd) = (TimeZone::UTC, Path::new("/home/user"));
    let surroundings = match embedded {
        true => Surroundings::embedded(NOW, &zone, cwd),
        false => Surroundings {
            pyxis: true,
            ..Surroundings::slurm(SlurmVersion::V22_05, NOW, &zone, cwd)
        },
    };
    read(&surroundings);
}
