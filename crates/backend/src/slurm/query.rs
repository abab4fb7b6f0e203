//! The one batched question to `squeue`, and how its answer is read.

use crate::job_view::{JobView, ViewState};
use crate::transport::TransportError;
use model::{ArraySpec, ArrayTask, JobId, Timestamp, WaitStatus};

/// `squeue --Format`: every field with a width that no value reaches and `|` after it. Letters of
/// `-o` would be shorter, but none of them is the restart count.
pub const FORMAT: &str = "JobID:12|,State:24|,RestartCnt:8|,ReasonList:80|,SubmitTime:32|,\
StartTime:32|,EndTime:32|,exit_code:12|,NodeList:1024|,ArrayJobID:12|,ArrayTaskID:256|,Name:256|";

/// Reads one line of that answer.
///
/// # Errors
/// A line that has other fields than were asked for is an error, never a dropped row.
pub fn parse_line(line: &str) -> Result<JobView, TransportError> {
    let wrong = || TransportError::Answer {
        command: "squeue".to_owned(),
        line: line.to_owned(),
    };
    let fields: Vec<&str> = line.splitn(12, '|').map(str::trim).collect();
    let [
        id,
        state,
        restarts,
        reason,
        submitted,
        start,
        end,
        exit,
        nodes,
        array,
        task,
        name,
    ] = fields[..]
    else {
        return Err(wrong());
    };
    let id: u32 = id.parse().map_err(|_| wrong())?;
    // A job of no array has its own id there.
    let array = array.parse().ok();
    let task = task_of(task);
    let array = array.filter(|array| *array != id || task.is_some());
    Ok(JobView {
        id: JobId(id),
        name: name.trim_end_matches('|').trim_end().to_owned(),
        array: array.map(JobId),
        task,
        restarts: restarts.parse().map_err(|_| wrong())?,
        submitted: local_time(submitted),
        state: view_state(state, reason, start, end, exit, nodes),
    })
}

/// `3`, `[2-8%2]` or `2-8%2`; `N/A` of a job of no array.
fn task_of(text: &str) -> Option<ArrayTask> {
    match text.parse() {
        Ok(task) => Some(ArrayTask::One(task)),
        Err(_) => {
            let spec = ArraySpec::parse(text.trim_matches(['[', ']']))?;
            text.starts_with(['[', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9'])
                .then_some(ArrayTask::Waiting(spec))
        }
    }
}

/// Slurm's state word in our few.
fn view_state(
    state: &str,
    reason: &str,
    start: &str,
    end: &str,
    exit: &str,
    nodes: &str,
) -> ViewState {
    match state {
        "PENDING" | "REQUEUED" | "REQUEUE_HOLD" | "SPECIAL_EXIT" | "REQUEUE_FED"
        | "RESV_DEL_HOLD" => ViewState::Waiting {
            // A waiting job's list shows its reason in parentheses.
            reason: reason.trim_matches(['(', ')']).to_owned(),
        },
        "RUNNING" | "CONFIGURING" | "COMPLETING" | "SUSPENDED" | "STOPPED" | "RESIZING"
        | "SIGNALING" | "STAGE_OUT" => ViewState::Running {
            since: local_time(start),
            nodes: nodes.to_owned(),
        },
        "COMPLETED" | "CANCELLED" | "FAILED" | "TIMEOUT" | "NODE_FAIL" | "PREEMPTED"
        | "BOOT_FAIL" | "DEADLINE" | "OUT_OF_MEMORY" | "REVOKED" => ViewState::Ended {
            how: state.to_owned(),
            exit: exit_text(exit),
            at: local_time(end),
        },
        other => ViewState::Unknown {
            text: other.to_owned(),
        },
    }
}

/// `exit_code` is what `wait` said, as a number; `CODE:SIGNAL` is what people read everywhere else.
fn exit_text(exit: &str) -> String {
    match exit.parse().map(WaitStatus) {
        Ok(status) => format!("{}:{}", status.code(), status.signal_number()),
        Err(_) => exit.to_owned(),
    }
}

/// A time as Slurm prints it: local, without a zone; `N/A` and `Unknown` are no times.
pub fn local_time(text: &str) -> Option<Timestamp> {
    let time: jiff::civil::DateTime = text.parse().ok()?;
    let zoned = time.to_zoned(sys::local_zone()).ok()?;
    Some(Timestamp(zoned.timestamp().as_millisecond()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    #[track_caller]
    fn check(line: &str, want: Expect) {
        let text = match parse_line(line) {
            Ok(view) => format!(
                "{} {:?} restarts {} {:?}",
                view.id, view.name, view.restarts, view.state
            ),
            Err(error) => format!("error: {error}"),
        };
        want.assert_eq(&text);
    }

    #[test]
    fn waiting_running_ended_unknown() {
        check(
            "7   |PENDING  |0  |(Resources)  |N/A |N/A |N/A |0 | |7 |N/A |digits |",
            expect![[r#"7 "digits" restarts 0 Waiting { reason: "Resources" }"#]],
        );
        check(
            "7   |RUNNING  |1  |node[1-2]  |N/A |N/A |N/A |0 |node[1-2] |7 |N/A |digits |",
            expect![[r#"7 "digits" restarts 1 Running { since: None, nodes: "node[1-2]" }"#]],
        );
        check(
            "7   |FAILED  |1  |(NonZeroExitCode)  |N/A |N/A |N/A |256 |node1 |7 |N/A |digits |",
            expect![[r#"7 "digits" restarts 1 Ended { how: "FAILED", exit: "1:0", at: None }"#]],
        );
        check(
            "7   |HIBERNATED  |1  | |N/A |N/A |N/A |0 |node1 |7 |N/A |digits |",
            expect![[r#"7 "digits" restarts 1 Unknown { text: "HIBERNATED" }"#]],
        );
        check(
            "slurm_load_jobs error: Unable to contact slurm controller",
            expect![[
                r#"error: squeue answered what can't be read: "slurm_load_jobs error: Unable to contact slurm controller""#
            ]],
        );
    }
}
