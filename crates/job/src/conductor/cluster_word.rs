//! What the cluster says of a job and its nodes: one `scontrol show job`, one `scontrol show node`, asked when something came from outside
//! whose reason matters, and never in a loop.

use super::slurm_command::slurm_command;
use super::state::CancelCause;
use folder::StopReason;
use model::Timestamp;
use signal_hook::consts::SIGTERM;
use std::sync::mpsc::channel;
use std::time::Duration;

/// What became of a job's batch step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BatchStep {
    /// The job runs.
    Lives,
    /// A signal ended it, and the job with it.
    Killed,
    /// The job ends or ended for another reason.
    Ended,
}

/// What is read of `scontrol show job`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterWord {
    /// `JobState`; `COMPLETING` as long as the job's processes are being ended, whatever for
    /// (Slurm's `job_state_string` looks at that flag first).
    pub state: String,
    /// Whether it is in the grace time of a preemption (`PreemptTime`).
    pub preempted: bool,
    /// `EndTime`
    pub end: Option<Timestamp>,
    /// The signal that ended the batch script, of `ExitCode`. Slurm's slurmctld sets it while the
    /// job's other steps still end only where the script itself ended the job.
    pub signal: Option<i32>,
}

impl ClusterWord {
    /// Asks; `None` where no answer came in time, or none that can be read.
    #[must_use]
    pub fn ask(job: u32, patience: Duration) -> Option<ClusterWord> {
        ClusterWord::parse(&show("job", job.to_string(), patience)?)
    }

    fn parse(text: &str) -> Option<ClusterWord> {
        let value = |name: &str| {
            let mut words = text.split_ascii_whitespace();
            words.find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
        };
        Some(ClusterWord {
            state: value("JobState")?.to_owned(),
            preempted: value("PreemptTime").is_some_and(|at| at != "None"),
            end: value("EndTime").and_then(local_time),
            signal: value("ExitCode")
                .and_then(|code| code.split_once(':')?.1.parse().ok())
                .filter(|signal| *signal != 0),
        })
    }

    /// Why a job was ended; of one that is being ended only a preemption shows.
    #[must_use]
    pub fn reason(&self) -> Option<StopReason> {
        match self.state.as_str() {
            "CANCELLED" => Some(StopReason::Cancelled),
            "PREEMPTED" => Some(StopReason::Preempted),
            "NODE_FAIL" => Some(StopReason::NodeLost),
            "TIMEOUT" | "DEADLINE" => Some(StopReason::Limit),
            _ if self.preempted => Some(StopReason::Preempted),
            _ => None,
        }
    }

    /// Whether the batch step was killed.
    #[must_use]
    pub fn batch_step(&self) -> BatchStep {
        match (self.state.as_str(), self.signal) {
            ("RUNNING" | "SUSPENDED", _) => BatchStep::Lives,
            ("COMPLETING" | "FAILED" | "OUT_OF_MEMORY", Some(signal)) if signal != SIGTERM => {
                BatchStep::Killed
            }
            _ => BatchStep::Ended,
        }
    }

    /// What it tells about a SIGTERM. In the grace time of a preemption the job's end is moved to
    /// the end of that time (slurmctld's `job_check_grace`); otherwise `EndTime` is the old limit.
    #[must_use]
    pub fn cancel_cause(&self) -> CancelCause {
        let in_grace = self.preempted && self.state == "RUNNING";
        CancelCause {
            reason: self.reason(),
            until: self.end.filter(|_| in_grace),
            lost_nodes: Vec::new(),
        }
    }
}

/// `scontrol show WHAT NAME`, where an answer comes in time.
fn show(what: &'static str, name: String, patience: Duration) -> Option<String> {
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let answer = slurm_command("scontrol")
            .args(["show", what, &name])
            .output();
        // Nobody may be waiting any more.
        let _ = sender.send(answer);
    });
    let answer = receiver.recv_timeout(patience).ok()?.ok()?;
    let text = String::from_utf8_lossy(&answer.stdout).into_owned();
    answer.status.success().then_some(text)
}

/// Which of these nodes, a list of Slurm's, are down by now.
#[must_use]
pub fn lost_nodes(nodes: &str, patience: Duration) -> Vec<String> {
    let answer = show("node", nodes.to_owned(), patience);
    answer.map_or_else(Vec::new, |text| down_nodes(&text))
}

/// Those of `scontrol show node` that are down: `State=DOWN+DRAIN`, or `State=IDLE+NOT_RESPONDING`
/// of one that does not answer any more.
fn down_nodes(text: &str) -> Vec<String> {
    let (mut node, mut down) = ("", Vec::new());
    for word in text.split_ascii_whitespace() {
        if let Some(name) = word.strip_prefix("NodeName=") {
            node = name;
        } else if let Some(state) = word.strip_prefix("State=") {
            let mut flags = state.split(['+', '*']);
            if flags.any(|flag| ["DOWN", "FAIL", "NOT_RESPONDING"].contains(&flag)) {
                down.push(node.to_owned());
            }
        }
    }
    down
}

/// A time as Slurm prints it: local, without a zone; `Unknown` is no time.
fn local_time(text: &str) -> Option<Timestamp> {
    let time: jiff::civil::DateTime = text.parse().ok()?;
    let zoned = time.to_zoned(sys::local_zone()).ok()?;
    Some(Timestamp(zoned.timestamp().as_millisecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, want: Option<(Option<StopReason>, bool)>) {
        let found = ClusterWord::parse(text).map(|word| {
            let cause = word.cancel_cause();
            (cause.reason, cause.until.is_some())
        });
        assert_eq!(found, want, "{text}");
    }

    /// Lines of `scontrol show job` of Slurm 22.05.8.
    fn job(state: &str, preempt: &str) -> String {
        format!(
            "JobId=7 JobName=digits\n   Priority=1 Nice=0 Account=(null) QOS=normal\n   \
             JobState={state} Reason=None Dependency=(null)\n   Requeue=1 Restarts=0 BatchFlag=1\n   \
             StartTime=2026-11-21T12:00:00 EndTime=2026-11-21T12:05:00 Deadline=N/A\n   \
             PreemptEligibleTime=2026-11-21T12:00:00 PreemptTime={preempt}\n"
        )
    }

    #[test]
    fn why_a_job_is_ended() {
        check(&job("RUNNING", "None"), Some((None, false)));
        check(
            &job("RUNNING", "2026-11-21T12:04:00"),
            Some((Some(StopReason::Preempted), true)),
        );
        check(
            &job("PREEMPTED", "2026-11-21T12:04:00"),
            Some((Some(StopReason::Preempted), false)),
        );
        check(
            &job("CANCELLED", "None"),
            Some((Some(StopReason::Cancelled), false)),
        );
        check(
            &job("TIMEOUT", "None"),
            Some((Some(StopReason::Limit), false)),
        );
        check(
            &job("NODE_FAIL", "None"),
            Some((Some(StopReason::NodeLost), false)),
        );
        check(&job("PENDING", "None"), Some((None, false)));
        check(&job("COMPLETING", "None"), Some((None, false)));
        let preempted = job("COMPLETING", "2026-11-21T12:04:00");
        check(&preempted, Some((Some(StopReason::Preempted), false)));
        check("slurm_load_jobs error: Invalid job id specified", None);
    }

    /// Lines of `scontrol show node` of Slurm 22.05.8.
    #[test]
    fn nodes_that_are_down() {
        let node = |name: &str, state: &str| {
            format!(
                "NodeName={name} Arch=x86_64 CoresPerSocket=1\n   CPUAlloc=0 CPUEfctv=4 CPUTot=4\n   \
                 State={state} ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A\n   \
                 Reason=Not responding [slurm@2026-11-21T12:00:00]\n\n"
            )
        };
        let text = [
            node("n1", "MIXED"),
            node("n2", "DOWN"),
            node("n3", "DOWN*+DRAIN"),
            node("n4", "IDLE+DRAIN"),
            node("n5", "MIXED+NOT_RESPONDING"),
            node("n6", "IDLE*"),
        ];
        assert_eq!(down_nodes(&text.concat()), ["n2", "n3", "n5"]);
    }
}
