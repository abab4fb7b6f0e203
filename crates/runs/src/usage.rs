//! What a run used, read from its monitor files.

use folder::RunFolder;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use watch::{CsvReader, Extent, Usage};

/// What was sampled of a run in that time; what could not be read is noted, in words.
pub(crate) fn read_usage(folder: &RunFolder, extent: Extent, notes: &mut Vec<String>) -> Usage {
    let mut usage = Usage::new(extent);
    for (node, path) in folder.monitor_files() {
        match add_file(&mut usage, &node, &path) {
            Ok(0) => {}
            Ok(lines) => notes.push(format!(
                "{lines} lines of {} are no samples",
                path.display()
            )),
            Err(error) => notes.push(format!("{} can't be read: {error}", path.display())),
        }
    }
    usage
}

fn add_file(usage: &mut Usage, node: &str, path: &Path) -> std::io::Result<u64> {
    let mut file = File::open(path)?;
    let mut reader = CsvReader::default();
    let mut piece = vec![0; 1 << 16];
    loop {
        let count = file.read(&mut piece)?;
        if count == 0 {
            return Ok(reader.passed_over());
        }
        reader.read(&piece[..count], |sample| usage.add(node, &sample));
    }
}
