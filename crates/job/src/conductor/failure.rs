//! Which rank failed first, and what it said last.

use super::torchruns::{self, RootCause};
use crate::made_once::no_such_host;
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

/// The rank that failed first in a start, and what it wrote last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstFailure {
    /// Its number; of an agent whose report names none of its ranks, the agent's.
    pub rank: u32,
    /// At most as many lines as were asked for, as a person sees them.
    pub lines: Vec<String>,
}

/// The same rank as the cause of the run's failure names, with its last `count` lines. `None` where no rank failed.
#[must_use]
pub fn first_failure(run: &RunFolder, attempt: Attempt, count: usize) -> Option<FirstFailure> {
    let first = first_failed(run, attempt)?;
    let (rank, lines) = match first_of_torchruns(run, attempt) {
        Some((cause, _)) => {
            let lines: Vec<&str> = cause.said.lines().collect();
            let last = &lines[lines.len().saturating_sub(count)..];
            let drawn = |line: &&str| folder::drawn_text(line.as_bytes());
            (cause.rank, last.iter().map(drawn).collect())
        }
        None => {
            let log = run.rank_log(attempt, first.rank);
            let lines = folder::last_lines(&log, count);
            (first.rank, lines.unwrap_or_default())
        }
    };
    Some(FirstFailure { rank, lines })
}

/// How long before the others a rank has to end for it to be worth a word, in milliseconds.
const EARLY_MS: i64 = 10_000;

/// Ranks that ended well long before the others received SIGTERM, in words: what is waited for from one of them
/// never comes, and each rank that waits looks as if it worked.
#[must_use]
pub fn left_early(run: &RunFolder, attempt: Attempt) -> Option<String> {
    let exits = run.read_exits(attempt).ok()?;
    let told = exits.iter().find(|exit| exit.is_told())?;
    let is_early = |exit: &&RankExit| {
        exit.status == 0 && !exit.is_told() && told.at.0.saturating_sub(exit.at.0) >= EARLY_MS
    };
    let early: Vec<&RankExit> = exits.iter().filter(is_early).collect();
    let first = early.first()?;
    let RankExit { rank, host, .. } = first;
    let more = match early.len() {
        1 => String::new(),
        count => format!(" and {} more", count - 1),
    };
    let seconds = told.at.0.saturating_sub(first.at.0) / 1000;
    Some(format!(
        "rank {rank} on {host}{more} ended with 0, and other ranks were at work for {seconds} s more until SIGTERM ended them; if they waited for it, it never came"
    ))
}

/// Whether all ranks ended by an exit of their own, with whatever code, and none by a signal.
#[must_use]
pub fn all_exited(run: &RunFolder, attempt: Attempt, tasks: u32) -> bool {
    let exits = run.read_exits(attempt).unwrap_or_default();
    let has_exited = |rank| {
        let mut exits = exits.iter();
        exits.any(|exit| exit.rank == rank && exit.signal.is_none())
    };
    (0..tasks).all(has_exited)
}

/// Whether a rank's wrapper was killed, in words: a task of the step ended by a signal, its wrapper
/// has not written how, and no rank failed by itself before. A program that is killed is another
/// matter: its wrapper says so, and the same memory would fill again.
#[must_use]
pub fn lost_wrapper(run: &RunFolder, attempt: Attempt, status: i32, tasks: u32) -> Option<String> {
    const BY_SIGNAL: i32 = 128;
    const SIGTERM: i32 = 15;
    let exits = run.read_exits(attempt).ok()?;
    // The others are told to end when one is gone.
    let own = exits
        .iter()
        .find(|exit| exit.status != 0 && exit.status != BY_SIGNAL + SIGTERM);
    let missing: Vec<String> = (0..tasks)
        .filter(|rank| exits.iter().all(|exit| exit.rank != *rank))
        .map(|rank| rank.to_string())
        .collect();
    (status > BY_SIGNAL && own.is_none() && !missing.is_empty()).then(|| {
        format!(
            "the ranks' step was ended by signal {} and rank {} could not say why",
            status - BY_SIGNAL,
            missing.join(", ")
        )
    })
}

/// What the run folder's disk says, where it can't be written at all for a while: then no rank had
/// a log. A full one is another matter: the ranks' own output may have filled it, and would again.
#[must_use]
pub fn disk_errors(run: &RunFolder) -> Option<String> {
    let probe = run.links().join(format!(".probe.{}", sys::unique()));
    let error = sys::atomic::write(&probe, b" ").err();
    let _ = std::fs::remove_file(&probe);
    let is_full = |error: &io::Error| {
        matches!(
            error.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
        )
    };
    let error = error.filter(|error| sys::disk_errors::may_pass(error) && !is_full(error))?;
    Some(error.to_string())
}

/// Whether srun failed and no rank has a word of it: the engine or the controller was lost while it
/// made the step, and no program failed. What refuses the step for good does so at the next starts
/// too.
#[must_use]
pub fn is_silent(run: &RunFolder, status: i32, first: Option<&RankExit>) -> bool {
    let is_full = matches!(sys::disk_free(run.path()), Ok(0..FULL));
    status != 0 && first.is_none() && !is_full
}

/// How the memory of the ranks' step ran out, by what srun printed for it: its words stand in the
/// conductor's log from `from` on. `None` where they say nothing of memory.
#[must_use]
pub fn out_of_memory(log: &Path, from: u64) -> Option<String> {
    let mut file = File::open(log).ok()?;
    file.seek(SeekFrom::Start(from)).ok()?;
    let mut bytes = Vec::new();
    file.take(TAIL).read_to_end(&mut bytes).ok()?;
    memory_in(&String::from_utf8_lossy(&bytes))
}

/// What the words of a step's supervisor, or of a slurmstepd, say of memory that ran out.
fn memory_in(words: &str) -> Option<String> {
    const SIGNS: [&str; 4] = [
        "oom-kill event",
        "oom_kill event",
        "Out Of Memory",
        "exceeded memory limit",
    ];
    const HELD: &str = "its processes held";
    let said = words
        .lines()
        .find(|line| SIGNS.iter().any(|sign| line.contains(sign)))?;
    let held = words
        .lines()
        .find_map(|line| line.find(HELD).map(|at| &line[at..]));
    // As srun prints it: `slurmstepd: error: Detected 1 oom-kill event(s) in StepId=7.1. Some of …`
    let event = said.rsplit("error: ").next().unwrap_or(said);
    let event = event.split(". ").next().unwrap_or(event);
    let told = held.unwrap_or(event).trim().trim_end_matches('.');
    Some(format!(
        "out of memory: {told}; ask for more with [resources] memory"
    ))
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
            "the ranks' srun ended with {status} and no rank recorded how it ended; see what srun printed in {:?}",
            run.conductor_log(attempt.job)
        );
    };
    if let Some((cause, host)) = first_of_torchruns(run, attempt) {
        let status = cause.status;
        let signal = (status < 0).then(|| status.saturating_neg());
        return format!(
            "rank {} on {host} {}{}",
            cause.rank,
            how(status, signal),
            said_last(&cause.said)
        );
    }
    let tail = tail(&run.rank_log(attempt, *rank)).unwrap_or_default();
    format!(
        "rank {rank} on {host} {}{}",
        how(*status, *signal),
        said_last(&tail)
    )
}

/// The first cause of those that the torchruns of all nodes name, with its node's host name.
fn first_of_torchruns(run: &RunFolder, attempt: Attempt) -> Option<(RootCause, String)> {
    let exits = run.read_exits(attempt).ok()?;
    let causes = exits.into_iter().filter_map(|exit| {
        let tail = tail(&run.rank_log(attempt, exit.rank)).ok()?;
        Some((torchruns::root_cause(&tail)?, exit.host))
    });
    causes.min_by(|(one, _), (other, _)| one.order().cmp(&other.order()))
}

fn how(status: i32, signal: Option<i32>) -> String {
    match signal {
        Some(signal) => format!("was ended by signal {signal}"),
        None => format!("ended with exit code {status}"),
    }
}

/// What a log's end says of the end: a complaint as it is; where there is none, its last line as no
/// more than that, for it may have nothing to do with it.
fn said_last(tail: &str) -> String {
    let lines = || tail.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut last = lines().rev().take(COMPLAINT_WITHIN);
    match (last.find(|line| is_complaint(line)), lines().next_back()) {
        (Some(complaint), _) if no_such_host(complaint) => {
            format!(": {}; {NAMES}", quoted(complaint))
        }
        (Some(complaint), _) => format!(": {}", quoted(complaint)),
        (None, Some(line)) => format!("; its last line is {:?}", quoted(line)),
        (None, None) => String::new(),
    }
}

/// What to do where a host name does not resolve.
const NAMES: &str = "if that is a node of the job, use its address instead of its name: YARD_COORDINATOR has the first node's, with a port";

/// Words that programs and systems complain with, in small letters.
fn is_complaint(line: &str) -> bool {
    const WORDS: [&str; 18] = [
        "error",
        "exception",
        "fatal",
        "panicked",
        "abort",
        "killed",
        "fail",
        "cannot",
        "can't",
        "could not",
        "couldn't",
        "unable to",
        "out of memory",
        "not found",
        "no such",
        "denied",
        "segmentation",
        "assert",
    ];
    let line = line.to_ascii_lowercase();
    WORDS.iter().any(|word| line.contains(word))
}

/// At most so much of a line is quoted, in characters.
const LONGEST: usize = 300;

/// A rank's line, as it stands in the cause of a failure.
#[must_use]
pub fn quoted(line: &str) -> String {
    line.chars().take(LONGEST).collect()
}

/// A complaint stands within so many lines of the end; what is older was survived.
const COMPLAINT_WITHIN: usize = 30;

/// So many bytes of a log are read.
const TAIL: u64 = 16 << 10;

/// The end of a log, read as text.
fn tail(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
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
        assert_eq!(first_failure(&run, attempt, 2), None);
        assert!(cause(&run, attempt, 2, None).contains("srun ended with 2"));
        for (rank, status, signal, at) in
            [(0, 143, Some(15), 30), (1, 1, None, 20), (2, 0, None, 10)]
        {
            let exit = RankExit {
                told_to_end: false,
                rank,
                status,
                signal,
                at: Timestamp(at),
                host: format!("n{rank}"),
            };
            run.write_exit(attempt, &exit).unwrap();
        }
        assert_eq!(
            first_failure(&run, attempt, 2),
            Some(FirstFailure {
                rank: 1,
                lines: Vec::new()
            })
        );
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

    #[test]
    fn of_two_torchruns_the_rank_that_was_killed_is_named() {
        let root = tempfile::tempdir().unwrap();
        let run = RunFolder::at(root.path());
        let attempt = Attempt { job: 7, restart: 0 };
        fs::create_dir_all(run.links()).unwrap();
        fs::create_dir_all(run.logs()).unwrap();
        let report = |said: &str, rank: u32, status: i32| {
            format!(
                "{said}\nRoot Cause (first observed failure):\n time : 2026-11-22_14:27:39\n rank : {rank} (local_rank: 0)\n exitcode : {status} (pid: 4)\n"
            )
        };
        let logs = [
            report("RuntimeError: Connection closed by peer", 0, 1),
            report("step 5", 2, -9),
        ];
        for (rank, log) in (0..).zip(&logs) {
            let exit = RankExit {
                told_to_end: false,
                rank,
                status: 1,
                signal: None,
                at: Timestamp(i64::from(rank)),
                host: format!("n{rank}"),
            };
            run.write_exit(attempt, &exit).unwrap();
            fs::write(run.rank_log(attempt, rank), log).unwrap();
        }
        let first = first_failed(&run, attempt).unwrap();
        assert_eq!(
            cause(&run, attempt, 1, Some(&first)),
            "rank 2 on n1 was ended by signal 9; its last line is \"step 5\""
        );
        assert_eq!(
            first_failure(&run, attempt, 5),
            Some(FirstFailure {
                rank: 2,
                lines: vec!["step 5".to_owned()]
            })
        );
    }

    #[test]
    fn a_rank_that_ended_well_while_others_waited_for_it_is_named() {
        let check = |exits: &[(u32, i32, bool, i64)], want: Option<&str>| {
            let root = tempfile::tempdir().unwrap();
            let run = RunFolder::at(root.path());
            let attempt = Attempt { job: 7, restart: 0 };
            fs::create_dir_all(run.links()).unwrap();
            for (rank, status, told_to_end, seconds) in exits {
                let exit = RankExit {
                    told_to_end: *told_to_end,
                    rank: *rank,
                    status: *status,
                    signal: None,
                    at: Timestamp(seconds * 1000),
                    host: format!("n{rank}"),
                };
                run.write_exit(attempt, &exit).unwrap();
            }
            let said = left_early(&run, attempt);
            let begin = said.as_deref().and_then(|text| text.split(", and").next());
            assert_eq!(begin, want);
        };
        check(
            &[(0, 143, true, 60), (1, 0, false, 3), (2, 143, true, 60)],
            Some("rank 1 on n1 ended with 0"),
        );
        check(
            &[(0, 143, true, 60), (1, 0, false, 3), (2, 0, false, 4)],
            Some("rank 1 on n1 and 1 more ended with 0"),
        );
        // A moment before, or all well, or ended by itself.
        check(&[(0, 143, true, 60), (1, 0, false, 55)], None);
        check(&[(0, 0, false, 60), (1, 0, false, 3)], None);
        check(&[(0, 1, false, 60), (1, 0, false, 3)], None);
    }

    #[track_caller]
    fn check_said(log: &str, want: &str) {
        assert_eq!(said_last(log), want);
    }

    #[test]
    fn what_has_nothing_to_do_with_the_end_is_no_cause() {
        check_said("step 5\nstep 6\n\n", "; its last line is \"step 6\"");
        check_said(
            "RuntimeError: CUDA out of memory\nwandb: synced 5 files\n",
            ": RuntimeError: CUDA out of memory",
        );
        let survived = format!("warning: read failed, again\n{}", "step\n".repeat(30));
        check_said(&survived, "; its last line is \"step\"");
        check_said("", "");
        let name = "socket.gaierror: [Errno -2] Name or service not known";
        check_said(name, &format!(": {name}; {NAMES}"));
    }

    #[track_caller]
    fn check_memory(words: &str, want: Option<&str>) {
        let want =
            want.map(|told| format!("out of memory: {told}; ask for more with [resources] memory"));
        assert_eq!(memory_in(words), want);
    }

    #[test]
    fn memory_that_ran_out_is_told_with_what_was_allowed() {
        let event = "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=7.1. Some of your processes may have been killed by the cgroup out-of-memory handler.\n";
        let told = "Detected 1 oom-kill event(s) in StepId=7.1";
        check_memory(event, Some(told));
        let held = "its processes held up to 300 MiB at once; --mem gave them 300 MiB";
        check_memory(&format!("{event}slurmstepd: error: {held}\n"), Some(held));
        check_memory(
            "srun: error: n1: task 0: Out Of Memory\n",
            Some("n1: task 0: Out Of Memory"),
        );
        check_memory("srun: error: n1: task 0: Killed\n", None);
    }

    #[test]
    fn a_wrapper_that_was_killed_is_told_from_a_program() {
        let check = |exits: &[(u32, i32)], status: i32, want: bool| {
            let root = tempfile::tempdir().unwrap();
            let run = RunFolder::at(root.path());
            let attempt = Attempt { job: 7, restart: 0 };
            fs::create_dir_all(run.links()).unwrap();
            for (rank, status) in exits {
                let exit = RankExit {
                    told_to_end: false,
                    rank: *rank,
                    status: *status,
                    signal: None,
                    at: Timestamp(i64::from(*rank)),
                    host: "n1".to_owned(),
                };
                run.write_exit(attempt, &exit).unwrap();
            }
            let found = lost_wrapper(&run, attempt, status, 2);
            assert_eq!(found.is_some(), want, "{exits:?} {status}: {found:?}");
        };
        check(&[], 137, true);
        check(&[(1, 143)], 137, true);
        check(&[(1, 143)], 143, true);
        check(&[(1, 0)], 137, true);
        // A program that was killed, or failed, and took the others along.
        check(&[(1, 137)], 137, false);
        check(&[(0, 1)], 137, false);
        check(&[(0, 1), (1, 143)], 1, false);
        check(&[], 1, false);
    }
}
