//! What torchrun's report says of the rank that failed first: its log is that of all ranks of its
//! node, and ends with what happened to torchrun itself.

/// The rank that failed first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootCause {
    /// Its number.
    pub rank: u32,
    /// Its exit code; negative is the signal that ended it.
    pub status: i32,
    /// The end of the log before the report, without lines that are marked as another rank's.
    pub said: String,
}

/// Where the report begins that names it.
const REPORT: &str = "Root Cause (first observed failure):";
/// What torchrun's own lines name, from the first that says that a rank failed.
const OWN: &str = "torch/distributed/elastic";

/// Reads it from the end of a log.
#[must_use]
pub fn root_cause(log: &str) -> Option<RootCause> {
    let (before, report) = log.rsplit_once(REPORT)?;
    let field = |name: &str| {
        let mut lines = report
            .lines()
            .filter_map(|line| line.trim().split_once(':'));
        let (_, value) = lines.find(|(found, _)| found.trim() == name)?;
        value.split_whitespace().next()
    };
    let rank = field("rank")?.parse().ok()?;
    let status = field("exitcode")?.parse().ok()?;
    let own = format!("[rank{rank}]");
    let is_anothers = |line: &&str| line.starts_with("[rank") && !line.starts_with(&own);
    let said: Vec<&str> = before
        .lines()
        .take_while(|line| !line.contains(OWN) && !line.contains("torch.distributed.elastic"))
        .filter(|line| !is_anothers(line))
        .collect();
    Some(RootCause {
        rank,
        status,
        said: said.join("\n"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rank_that_failed_first() {
        // As torch 2.15 wrote it, shortened.
        let log = "\
step 3
ValueError: loss is NaN
[rank0]: RuntimeError: Connection closed by peer
W1122 5982 torch/distributed/elastic/multiprocessing/api.py:1028] Sending process 6451 SIGTERM
E1122 5982 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 1) local_rank: 1
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
Failures:
[1]:
  rank      : 0 (local_rank: 0)
  exitcode  : -15 (pid: 6451)  (SIGTERM)
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-11-22_14:27:39
  host      : localhost
  rank      : 5 (local_rank: 1)
  exitcode  : 1 (pid: 6452)
============================================================
";
        let want = RootCause {
            rank: 5,
            status: 1,
            said: "step 3\nValueError: loss is NaN".to_owned(),
        };
        assert_eq!(root_cause(log), Some(want));
        let killed = "x\nRoot Cause (first observed failure):\n rank : 2 (local_rank: 0)\n exitcode : -9 (pid: 4)\n";
        assert_eq!(root_cause(killed).map(|cause| cause.status), Some(-9));
        assert_eq!(root_cause("step 3\nValueError: loss is NaN\n"), None);
        assert_eq!(
            root_cause("Root Cause (first observed failure):\nnothing"),
            None
        );
    }
}
