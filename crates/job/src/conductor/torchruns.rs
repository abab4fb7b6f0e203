//! What torchrun's report says of the rank that failed first: its log is that of all ranks of its
//! node, and ends with what happened to torchrun itself.

use folder::LineMark;

/// The rank that failed first on one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootCause {
    /// When torchrun saw that, to the second, as it writes it: `2026-11-22_14:27:39`.
    pub at: String,
    /// Its number.
    pub rank: u32,
    /// Its exit code; negative is the signal that ended it.
    pub status: i32,
    /// The end of the log before the report, without lines that are marked as another rank's, and without what
    /// `PET_TEE` puts before each; and the trace that the report has of the rank's error file, where the log has it not.
    pub said: String,
}

/// Where the report begins that names it.
const REPORT: &str = "Root Cause (first observed failure):";
/// Where its other failures begin.
const OTHERS: &str = "Failures:\n";
/// What torchrun's own lines name, from the first that says that a rank failed.
const OWN: &str = "torch/distributed/elastic";
/// The same, of the exception that it ends with.
const OWN_MODULE: &str = "torch.distributed.elastic";
/// The exit code of what torchrun ends once a rank has failed: SIGTERM.
const ENDED_BY_TORCHRUN: i32 = -15;

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

/// Reads it from the end of a log. Its root cause is the first failure that torchrun saw, and of those that it saw at
/// once the one with the lowest number: the others of the same second are weighed as those of other nodes are.
#[must_use]
pub fn root_cause(log: &str) -> Option<RootCause> {
    let (before, root) = log.rsplit_once(REPORT)?;
    let (before, others) = before.rsplit_once(OTHERS).unwrap_or((before, ""));
    let is_own = |line: &&str| line.contains(OWN) || line.contains(OWN_MODULE);
    let printed: Vec<&str> = before.lines().take_while(|line| !is_own(line)).collect();
    let first = cause_of(root, &printed)?;
    let others = others
        .split("\n[")
        .filter_map(|one| cause_of(one, &printed));
    let others = others.filter(|one| one.status != ENDED_BY_TORCHRUN);
    [first]
        .into_iter()
        .chain(others)
        .min_by(|one, other| one.order().cmp(&other.order()))
}

/// The failure that an entry of the report describes.
fn cause_of(entry: &str, printed: &[&str]) -> Option<RootCause> {
    let field = |name: &str| {
        let mut lines = entry.lines().filter_map(|line| line.trim().split_once(':'));
        let (_, value) = lines.find(|(found, _)| found.trim() == name)?;
        Some(value.trim())
    };
    let number = |name: &str| field(name)?.split_whitespace().next()?.parse::<i32>().ok();
    let rank = u32::try_from(number("rank")?).ok()?;
    let local = field("rank")?.split_once("local_rank: ");
    let local = local.and_then(|(_, local)| local.trim_end_matches(')').parse().ok());
    let mut said: Vec<&str> = printed
        .iter()
        .filter_map(|line| of_rank(line, rank, local))
        .collect();
    // What `PET_REDIRECTS` sends elsewhere is not in the log.
    let trace = trace_in(entry);
    let last = trace.last().copied().unwrap_or_default();
    if !said.iter().any(|line| line.ends_with(last)) {
        said.extend(trace);
    }
    Some(RootCause {
        at: field("time").unwrap_or_default().to_owned(),
        rank,
        status: number("exitcode")?,
        said: said.join("\n"),
    })
}

/// The trace of the exception that a rank wrote into its error file (`TORCHELASTIC_ERROR_FILE`, by torch's `record`), as
/// an entry of the report has it; empty where it wrote none.
fn trace_in(entry: &str) -> Vec<&str> {
    let mut lines = entry.lines();
    let first = lines.find_map(|line| line.trim().strip_prefix("traceback :"));
    let first = first
        .map(str::trim)
        .filter(|first| first.starts_with("Traceback"));
    let is_rule = |line: &&str| line.starts_with("---") || line.starts_with("===");
    let more = lines.take_while(|line| !is_rule(line));
    let more = more.map(|line| line.strip_prefix("  ").unwrap_or(line).trim_end());
    let trace = first
        .into_iter()
        .flat_map(|first| [first].into_iter().chain(more.clone()));
    trace.filter(|line| !line.is_empty()).collect()
}

/// A line without the mark that says of which rank it is; `None` for another rank's. Ranks of a training mark what ends
/// them by `[rank5]:`, and `PET_TEE` all lines (see [`LineMark`]).
fn of_rank(line: &str, rank: u32, local: Option<u32>) -> Option<&str> {
    if let Some((mark, text)) = LineMark::split(line.as_bytes()) {
        let is_own = match mark.rank {
            Some(own) => own == rank,
            None => local.is_none_or(|local| local == mark.local),
        };
        // What a rank marked stands behind.
        let text = std::str::from_utf8(text).ok().filter(|_| is_own)?;
        return of_rank(text, rank, None);
    }
    let marked = line.strip_prefix("[rank");
    let number = marked.and_then(|rest| rest.split_once("]:")?.0.parse::<u32>().ok());
    number.is_none_or(|number| number == rank).then_some(line)
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

    /// With `PET_REDIRECTS=3` the log has none of what the ranks print.
    #[test]
    fn a_trace_that_the_report_alone_has() {
        let report = "\
torch/distributed/elastic/multiprocessing/api.py: failed (exitcode: 1) local_rank: 1
train.py FAILED
Failures:
  <NO_OTHER_FAILURES>
Root Cause (first observed failure):
[0]:
  time      : 2026-11-22_14:27:39
  rank      : 5 (local_rank: 1)
  exitcode  : 1 (pid: 6452)
  error_file: /tmp/torchelastic_x/none_y/attempt_0/1/error.json
  traceback : Traceback (most recent call last):
    File \"/x/errors/__init__.py\", line 355, in wrapper
      return f(*args, **kwargs)
  ValueError: loss[3] is NaN
  
============================================================
";
        let trace = "\
Traceback (most recent call last):
  File \"/x/errors/__init__.py\", line 355, in wrapper
    return f(*args, **kwargs)
ValueError: loss[3] is NaN";
        assert_eq!(root_cause(report).unwrap().said, trace);
        // The rank printed it too.
        let log = format!("step 3\n[rank5]: ValueError: loss[3] is NaN\n{report}");
        let want = "step 3\n[rank5]: ValueError: loss[3] is NaN";
        assert_eq!(root_cause(&log).unwrap().said, want);
        let none = report.replace(
            "Traceback (most recent call last):",
            "To enable traceback see: …",
        );
        assert_eq!(root_cause(&none).unwrap().said, "");
    }

    #[test]
    fn of_ranks_that_failed_within_a_second_the_one_that_lost_no_peer() {
        let log = "\
[default0]:step 3
[default1]:step 3
[default1]:Traceback (most recent call last):
[default1]:[rank5]: ValueError: loss is NaN
[default0]:[rank4]: RuntimeError: [gloo/pair.cc:534] Connection closed by peer
[2026-11-22 14:27:39] torch/distributed/elastic/multiprocessing/api.py: failed
train.py FAILED
Failures:
[1]:
  time      : 2026-11-22_14:27:39
  rank      : 5 (local_rank: 1)
  exitcode  : 1 (pid: 6452)
[2]:
  time      : 2026-11-22_14:27:39
  rank      : 6 (local_rank: 2)
  exitcode  : -15 (pid: 6453)
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-11-22_14:27:39
  rank      : 4 (local_rank: 0)
  exitcode  : 1 (pid: 6451)
";
        let cause = root_cause(log).unwrap();
        assert_eq!(cause.rank, 5);
        assert_eq!(
            cause.said,
            "step 3\nTraceback (most recent call last):\n[rank5]: ValueError: loss is NaN"
        );
        // A later one is a consequence, whatever it says.
        let later = log.replacen("14:27:39\n  rank      : 5", "14:27:41\n  rank      : 5", 1);
        assert_eq!(root_cause(&later).unwrap().rank, 4);
    }

    #[test]
    fn a_line_is_of_the_rank_that_marked_it() {
        let check = |line: &str, want: Option<&str>| assert_eq!(of_rank(line, 5, Some(1)), want);
        check("step 3", Some("step 3"));
        check("[default1]:step 3", Some("step 3"));
        check("[default0]:step 3", None);
        check("[rank5]: error", Some("[rank5]: error"));
        check("[rank1]: error", None);
        check("[default1]:[rank4]: error", None);
        check("[12:30:01]: step", Some("[12:30:01]: step"));
        check("[epoch 1]: loss", Some("[epoch 1]: loss"));
        check("[default1:5]:step 3", Some("step 3"));
        check("[default1:9]:step 3", None);
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
