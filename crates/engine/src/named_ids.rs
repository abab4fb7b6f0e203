//! Job ids that were given out, as far as the engine's folder still tells.

use api::EngineFolder;
use model::JobId;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// Slurm's highest job id: a higher number in a name or a text is no id.
const HIGHEST: u32 = 0x03ff_ffff;
/// As much of the log's end is read.
const LOG: u64 = 1 << 20;

/// The highest id that a record of a step, a job's folder or the engine's log names.
pub(crate) fn highest(engine: &EngineFolder) -> Option<JobId> {
    let folders = names(&engine.jobs());
    let folders = folders.iter().filter_map(|name| name.parse().ok());
    let records = names(&engine.steps());
    let records = records.iter().filter_map(|name| of_key(name));
    let logs = [engine.older_log(), engine.log()].map(|log| end_of(&log));
    let log = logs.iter().flat_map(|log| log.lines()).filter_map(of_line);
    let all = folders.chain(records).chain(log);
    all.filter(|id| *id <= HIGHEST).max().map(JobId)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

/// `7` of `7.0.batch.0` and whatever follows.
fn of_key(text: &str) -> Option<u32> {
    let (job, rest) = text.trim_start_matches('.').split_once('.')?;
    let (restart, _step) = rest.split_once('.')?;
    let _number: u32 = restart.parse().ok()?;
    job.parse().ok()
}

/// A line of the log that has a job or a step among its fields, or begins with one, as those of yard
/// 0.1.0 do.
fn of_line(line: &str) -> Option<u32> {
    let (_before, text) = line.split_once(" engine: ")?;
    let of_field = |word: &str| match word.split_once('=')? {
        ("job", id) => id.parse().ok(),
        ("step", key) => of_key(key),
        _ => None,
    };
    if let Some(id) = text.split(' ').find_map(of_field) {
        return Some(id);
    }
    let text = text.strip_prefix("files of ").unwrap_or(text);
    let mut words = text.split([' ', ':']);
    match words.next()? {
        "job" => words.next()?.parse().ok(),
        key => of_key(key),
    }
}

fn end_of(log: &Path) -> String {
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(log)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LOG)))?;
        let mut bytes = Vec::new();
        file.take(LOG).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    // A log that can't be read names nothing.
    String::from_utf8_lossy(&read().unwrap_or_default()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_records_and_the_log_all_count() {
        let folder = tempfile::tempdir().unwrap();
        let engine = EngineFolder::new(folder.path());
        assert_eq!(highest(&engine), None);
        let log = |text: &str| {
            let line = format!("2026-01-02T03:04:05 engine: {text}\n");
            std::fs::write(engine.log(), line).unwrap();
        };
        std::fs::create_dir_all(engine.job(JobId(3))).unwrap();
        std::fs::create_dir_all(engine.jobs().join("no number")).unwrap();
        assert_eq!(highest(&engine), Some(JobId(3)));
        std::fs::create_dir(engine.steps()).unwrap();
        for name in ["5.0.batch.0", "4.1.7.0.0123456789abcdef.sock", "9.txt"] {
            std::fs::write(engine.steps().join(name), "").unwrap();
        }
        assert_eq!(highest(&engine), Some(JobId(5)));
        log("job 6: a supervisor was lost");
        assert_eq!(highest(&engine), Some(JobId(6)));
        log("7.0.batch.0 does not answer");
        assert_eq!(highest(&engine), Some(JobId(7)));
        log("files of job 8 can't be restored");
        assert_eq!(highest(&engine), Some(JobId(8)));
        log("a supervisor was lost job=9 step=9.0.batch.0");
        assert_eq!(highest(&engine), Some(JobId(9)));
        log("it was not started step=10.0.batch.0.0");
        assert_eq!(highest(&engine), Some(JobId(10)));
        std::fs::write(engine.older_log(), "t WARN engine: x job=11\n").unwrap();
        assert_eq!(highest(&engine), Some(JobId(11)));
        std::fs::remove_file(engine.older_log()).unwrap();
        for text in ["job 4294967295: x", "4 jobs", "the store of job 9", "1.2"] {
            log(text);
            assert_eq!(highest(&engine), Some(JobId(5)), "{text}");
        }
    }
}
