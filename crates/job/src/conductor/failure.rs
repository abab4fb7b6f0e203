//! Which rank failed first, and what it said last.

use folder::{Attempt, RankExit, RunFolder};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// A disk with less room than that, in bytes, is full.
const FULL: u64 = 64 << 10;

/// Looks at what the rank wrappers wrote down. When one rank fails srun ends the others, so the
/// earliest is the one to look at.
#[must_use]
pub fn first_failed(run: &RunFolder, attempt: Attempt) -> Option<RankExit> {
    let exits = run.read_exits(attempt).ok()?;
    exits.into_iter().find(|exit| exit.status != 0)
}

/// In words, one line.
#[must_use]
pub fn cause(run: &RunFolder, attempt: Attempt, status: i32, first: Option<&RankExit>) -> String {
    let Some(RankExit {
        rank,
        status,
        signal,
        host,
        ..
    }) = first
    else {
        // Where not even that could be written, no log says why.
        if let Ok(free @ 0..FULL) = sys::disk_free(run.path()) {
            return format!(
                "the ranks' srun ended with {status}; {free} bytes are free in the run folder {:?}, so that nothing more could be written; make room and start the run again",
                run.path()
            );
        }
        return format!(
            "the ranks' srun ended with {status} and no rank wrote down how it ended; {:?} has what srun said",
            run.conductor_log(attempt.job)
        );
    };
    let how = match signal {
        Some(signal) => format!("was ended by signal {signal}"),
        None => format!("ended with exit code {status}"),
    };
    let said = last_line(&run.rank_log(attempt, *rank)).ok().flatten();
    let said = said.map_or_else(String::new, |said| format!(": {said}"));
    format!("rank {rank} on {host} {how}{said}")
}

/// The last line that says something, at most 300 characters of it.
fn last_line(path: &Path) -> io::Result<Option<String>> {
    const TAIL: u64 = 16 << 10;
    const LONGEST: usize = 300;
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let last = text
        .lines()
        .rev()
        .map(str::trim)
        .find(|line| !line.is_empty());
    Ok(last.map(|line| line.chars().take(LONGEST).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Timestamp;
    use std::fs;

    #[test]
    fn the_earliest_is_blamed_and_quoted() {
        let root = tempfile::tempdir().unwrap();
        let run = RunFolder::at(root.path());
        let attempt = Attempt { job: 7, restart: 1 };
        fs::create_dir_all(run.links()).unwrap();
        fs::create_dir_all(run.logs()).unwrap();
        assert_eq!(first_failed(&run, attempt), None);
        assert!(cause(&run, attempt, 2, None).contains("srun ended with 2"));
        for (rank, status, signal, at) in
            [(0, 143, Some(15), 30), (1, 1, None, 20), (2, 0, None, 10)]
        {
            let exit = RankExit {
                rank,
                status,
                signal,
                at: Timestamp(at),
                host: format!("n{rank}"),
            };
            run.write_exit(attempt, &exit).unwrap();
        }
        fs::write(
            run.rank_log(attempt, 1),
            "step 5\nRuntimeError: CUDA out of memory\n\n",
        )
        .unwrap();
        let first = first_failed(&run, attempt).unwrap();
        let words = cause(&run, attempt, 1, Some(&first));
        assert_eq!(
            words,
            "rank 1 on n1 ended with exit code 1: RuntimeError: CUDA out of memory"
        );
    }
}
