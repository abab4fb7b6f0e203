//! What torchrun's report says of the rank that failed first: its log is that of all ranks of its
//! node, and ends with what happened to torchrun itself.

/// The rank that failed first on one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootCause {
    /// When torchrun saw that, to the second, as it writes it: `2026-11-22_14:27:39`.
    pub at: String,
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

/// What a rank says whose peer went away.
const PEER_GONE: [&str; 5] = [
    "connection closed by peer",
    "connection reset by peer",
    "broken pipe",
    "connection refused",
    "remote process exited",
];

impl RootCause {
    /// Orders the causes of several nodes; the least is the first one. Ranks that lose a peer fail within the same
    /// second, so that there a rank that was killed, or that says something else, comes before them.
    #[must_use]
    pub fn order(&self) -> (&str, bool, bool) {
        let last = self.said.lines().rev().take(PEER_GONE_WITHIN);
        let lost_a_peer = last.into_iter().any(|line| {
            let line = line.to_ascii_lowercase();
            PEER_GONE.iter().any(|words| line.contains(words))
        });
        (&self.at, self.status >= 0, lost_a_peer)
    }
}

/// The words stand within so many lines of the end.
const PEER_GONE_WITHIN: usize = 5;

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
    let at = field("time").unwrap_or_default().to_owned();
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
        at,
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
            at: "2026-11-22_14:27:39".to_owned(),
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

    #[track_caller]
    fn check_first(causes: &[(&str, i32, &str)], want: usize) {
        let cause = |(at, status, said): &(&str, i32, &str)| RootCause {
            at: (*at).to_owned(),
            rank: 0,
            status: *status,
            said: (*said).to_owned(),
        };
        let causes: Vec<RootCause> = causes.iter().map(cause).collect();
        let first = (0..causes.len()).min_by_key(|index| causes[*index].order());
        assert_eq!(first, Some(want));
    }

    #[test]
    fn a_rank_that_lost_its_peer_is_not_the_first_cause() {
        let lost =
            "step 7\nRuntimeError: [gloo/pair.cc:534] Connection closed by peer [10.0.0.2]:4711";
        let (early, late) = ("2026-11-22_14:27:39", "2026-11-22_14:27:40");
        check_first(&[(early, 1, lost), (early, -9, "step 7")], 1);
        check_first(&[(early, 1, lost), (early, 1, "ValueError: NaN")], 1);
        check_first(&[(early, 1, lost), (late, 1, "ValueError: NaN")], 0);
        check_first(&[(early, 1, "a"), (early, 1, "b")], 0);
    }
}
