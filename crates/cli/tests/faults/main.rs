//! Faults while a run trains: seeded kills of each of our processes and of several at once, disks
//! that fail for a while, another user. Whatever happens, the run ends with the parameters of one
//! that nothing disturbed.
//!
//! A seed decides everything ([`scenario`]); `./test --faults N --from SEED` runs N of them.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

mod campaign;
mod disks;
mod faults;
mod judgement;
mod processes;
mod progress;
mod random;
mod run;
mod scenario;
mod stranger;
mod table;

use scenario::Scenario;
use std::path::PathBuf;
use std::process::Command;

/// Seeds that failed once, with what they had found.
const REGRESSIONS: &[(u64, &str)] = &[
    (
        98_537_325,
        "the engine killed while srun makes the agents' step",
    ),
    (
        710_017,
        "the run folder read-only when the job starts again",
    ),
    (
        710_063,
        "the batch step killed between the agents' end and the requeue",
    ),
    (
        800_148,
        "the agents' srun killed before it had their last orders",
    ),
    (
        900_047,
        "a node's disk that is read-only when its folder is removed",
    ),
    (
        1_100_041,
        "a training that had ended well before its job was ended was run again",
    ),
    (
        1_700_159,
        "the last checkpoint removed with a node's folder that no agent had looked into",
    ),
    (
        1_500_087,
        "the conductor killed, then its parent right after it had written the loss down",
    ),
    (
        4_000_717,
        "the run folder read-only before the job's number was noted",
    ),
    (
        4_000_075,
        "the fork server killed as it is asked for the batch step",
    ),
    (900_340, "the run folder mounted anew under the conductor"),
    (2021, "everything killed twice while it trains"),
    (
        2084,
        "the batch step's first process killed at the end of the training",
    ),
    (20040, "agents and supervisors killed before a copy"),
    (20058, "everything killed at the second launch"),
    (
        40019,
        "the last checkpoint was not brought out, a folder was left on the node",
    ),
];

/// Where Python is, past what only chooses a version; `None`, with the reason said: there is none.
fn python(test: &str) -> Option<PathBuf> {
    let asked = Command::new("python3")
        .args(["-c", "import sys; print(sys.executable)"])
        .output();
    match asked {
        Ok(output) if output.status.success() => {
            let path = String::from_utf8(output.stdout).unwrap();
            Some(PathBuf::from(path.trim()))
        }
        _ => {
            testkit::skip(test, "there is no python3");
            None
        }
    }
}

/// The one that is asked for, or one for the commit: another each time, and the same for all who
/// look at it.
fn first_seed() -> u64 {
    number_from("YARD_FAULTS_FROM").unwrap_or_else(seed_of_commit)
}

fn seed_of_commit() -> u64 {
    let asked = Command::new("git").args(["rev-parse", "HEAD"]).output();
    let hash = asked
        .ok()
        .and_then(|output| String::from_utf8(output.stdout).ok());
    let first = hash.as_deref().and_then(|hash| hash.get(..7));
    let number = first.and_then(|first| u64::from_str_radix(first, 16).ok());
    number.unwrap_or(20_260_101)
}

fn number_from(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// `./test --faults N [--from SEED [--like TEXT]]`, and 200 of them in `./test --full`.
#[test]
#[ignore = "takes a quarter of an hour; ./test --full runs it"]
fn many_seeds() {
    let Some(python) = python("many_seeds") else {
        return;
    };
    let runs = number_from("YARD_FAULTS").unwrap_or(200);
    let from = first_seed();
    let like = std::env::var("YARD_FAULTS_LIKE").unwrap_or_default();
    let scenarios = (from..)
        .map(Scenario::of)
        .filter(|scenario| scenario.to_string().contains(&like));
    let runs = usize::try_from(runs).unwrap();
    let failed = campaign::campaign(scenarios.take(runs).collect(), &python);
    assert!(failed.is_empty(), "seeds that failed: {failed:?}");
}

mod slow {
    use super::{REGRESSIONS, Scenario, campaign, first_seed, number_from, python};

    #[test]
    fn seeds_of_this_commit_and_those_that_failed_once() {
        let Some(python) = python("seeds_of_this_commit") else {
            return;
        };
        let once = REGRESSIONS.iter().map(|(seed, _)| Scenario::of(*seed));
        let new = (first_seed()..).map(Scenario::of);
        let runs = number_from("YARD_FAULTS").unwrap_or(30);
        let new = new.take(usize::try_from(runs).unwrap());
        let failed = campaign::campaign(once.chain(new).collect(), &python);
        if failed.is_empty() {
            return;
        }
        // Between two processes a seed decides much, not all: what fails again is sure.
        let again = failed.iter().flat_map(|seed| [*seed; 2]);
        let again = campaign::campaign(again.map(Scenario::of).collect(), &python);
        assert!(
            again.is_empty(),
            "seeds that failed: {failed:?}, again: {again:?}"
        );
    }
}
