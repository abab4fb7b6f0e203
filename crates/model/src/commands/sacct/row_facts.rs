//! What a line of `sacct` tells of its job, start or step, before it is text.

use super::row::{START_RECEIVED, SacctRow};
use super::task_columns::{TasksOfStep, TresUsed};
use crate::records::{
    JobState, JobStateName, OUT_OF_MEMORY, Outcome, StartedBy, StepState, WaitStatus,
};
use crate::values::{NodeShare, Seconds, StepId, Timestamp, Usage};

impl<'a> SacctRow<'a> {
    /// What it holds or held, node by node.
    #[must_use]
    pub fn shares(&self) -> &'a [NodeShare] {
        match (self.step, self.start) {
            (Some(step), _) => &step.nodes,
            (None, Some(start)) => &start.nodes,
            (None, None) => &[],
        }
    }

    pub(super) fn cpus(&self) -> u32 {
        let cpus = self
            .shares()
            .iter()
            .map(|share| share.cpus.len())
            .sum::<usize>();
        u32::try_from(cpus).unwrap_or(u32::MAX)
    }

    /// When it began.
    #[must_use]
    pub fn since(&self) -> Option<Timestamp> {
        let since = match (self.step, self.start) {
            (Some(step), _) => Some(step.since),
            (None, Some(start)) => Some(start.since),
            // One that was cancelled while it waited began and ended at once.
            (None, None) => self.job.end.filter(|_| !self.job.is_pending()),
        };
        let first = self.window.and_then(|(first, _)| first);
        since.map(|since| first.map_or(since, |first| since.max(first)))
    }

    /// When it ended.
    #[must_use]
    pub fn end(&self) -> Option<Timestamp> {
        let end = match (self.step.map(|step| &step.state), self.start) {
            _ if self.outlived().is_some() => self.outlived(),
            (Some(StepState::Ended { at, .. }), _) => Some(*at),
            (Some(StepState::Running), _) => None,
            (None, Some(start)) => start.ended,
            (None, None) => self.job.end.filter(|_| !self.job.is_pending()),
        };
        match self.window {
            Some((_, last)) if self.since().is_some() => {
                Some(end.map_or(last, |end| end.min(last)))
            }
            _ => end,
        }
    }

    /// For how many seconds it ran.
    #[must_use]
    pub fn elapsed(&self) -> i64 {
        let end = self.end().unwrap_or(self.facts.now);
        self.since().map_or(0, |since| {
            (end.seconds() - since.seconds() - self.suspended()).max(0)
        })
    }

    /// For how many seconds the start was suspended.
    #[must_use]
    pub fn suspended(&self) -> i64 {
        let Some(start) = self.start else {
            return 0;
        };
        let end = start.ended.unwrap_or(self.facts.now);
        let suspension = start.suspension;
        suspension.map_or(0, |suspension| suspension.until(end) / 1000)
    }

    fn is_suspended(&self) -> bool {
        let start = self.start.filter(|start| start.ended.is_none());
        let suspension = start.and_then(|start| start.suspension);
        suspension.is_some_and(|suspension| suspension.is_now)
    }

    /// What it is called: a start as its job was then.
    #[must_use]
    pub fn name(&self) -> &'a str {
        self.step
            .map_or_else(|| self.job_name(), |step| step.name.as_str())
    }

    /// What its job was called at its start.
    #[must_use]
    pub fn job_name(&self) -> &'a str {
        self.start
            .map_or_else(|| self.job.name(), |start| start.name_of(self.job))
    }

    /// Where it ran, or waits.
    #[must_use]
    pub fn partition(&self) -> &'a str {
        self.start
            .map_or(&self.job.partition, |start| start.partition_of(self.job))
    }

    /// The QOS that it had.
    #[must_use]
    pub fn qos(&self) -> &'a str {
        self.start
            .map_or(&self.job.qos, |start| start.qos_of(self.job))
    }

    pub(super) fn limit(&self) -> Option<Seconds> {
        self.start.map_or(self.job.limit, |start| start.limit)
    }

    /// What it used, where that is known.
    #[must_use]
    pub fn usage(&self) -> Option<Usage> {
        match self.step {
            Some(step) => step.usage,
            None => self.start.and_then(|start| start.usage),
        }
    }

    /// What the tasks of a step that is over used, and what they wrote.
    #[must_use]
    pub fn tres_used(&self) -> [Vec<TresUsed>; 2] {
        let units = self.units;
        let step = self.step.filter(|_| self.end().is_some());
        step.map_or_else(Default::default, |step| TasksOfStep { step, units }.used())
    }

    /// How it ended.
    #[must_use]
    pub fn status(&self) -> WaitStatus {
        if self.outlived().is_some() {
            return WaitStatus::default();
        }
        match (self.step.map(|step| &step.state), self.start) {
            (Some(StepState::Ended { status, .. }), _) => *status,
            (Some(StepState::Running), _) => WaitStatus::default(),
            // That scancel, a lost node or another job's place ended the script is no exit of the job's; and
            // it is written down as queued again before its script ends.
            (None, Some(start))
                if matches!(
                    start.state,
                    JobStateName::Cancelled
                        | JobStateName::NodeFail
                        | JobStateName::Preempted
                        | JobStateName::Requeued
                ) =>
            {
                WaitStatus::default()
            }
            (None, Some(start)) => start.status,
            // Its accounting has a code where the controller has a signal.
            (None, None) if self.job.state == JobStateName::Deadline => WaitStatus::exit(1),
            (None, None) => self.job.exit_code,
        }
    }

    /// What started it, by Slurm's name, and that accounting heard of it.
    #[must_use]
    pub fn flags(&self) -> Vec<&'static str> {
        let started_by = self.started_by().map(StartedBy::flag);
        started_by.into_iter().chain([START_RECEIVED]).collect()
    }

    /// What started it, where that is known.
    #[must_use]
    pub fn started_by(&self) -> Option<StartedBy> {
        self.start.and_then(|start| start.started_by)
    }

    /// What its user noted, or what stands in accounting in its place.
    #[must_use]
    pub fn comment(&self) -> Option<&str> {
        let set = self.history.change.comment.as_deref();
        set.or(self.job.comment())
    }

    /// The same of an operator's comment.
    #[must_use]
    pub fn admin_comment(&self) -> Option<String> {
        let set = self.history.change.admin_comment.clone();
        set.or_else(|| self.job.shown().admin_comment.clone())
    }

    /// The comment that is set in accounting alone.
    #[must_use]
    pub fn system_comment(&self) -> Option<&str> {
        self.history.change.system_comment.as_deref()
    }

    /// The worst end of its start's steps, but for the script; or what was set in its place.
    #[must_use]
    pub fn derived_status(&self) -> WaitStatus {
        if let Some(set) = self.history.change.derived_status() {
            return set;
        }
        if self
            .start
            .is_some_and(|start| start.state == JobStateName::Resizing)
        {
            return WaitStatus::default();
        }
        let restart = self.start.map_or(self.job.restarts, |start| start.restart);
        self.history.derived_status(restart)
    }

    /// Whether it is a step of which nothing was left when its job lost a node: a part on another node would
    /// have ended by SIGTERM.
    pub(super) fn went_with_its_node(&self) -> bool {
        let is_lost = self
            .start
            .is_some_and(|start| start.state == JobStateName::NodeFail);
        is_lost
            && self.step.is_some_and(|step| match step.state {
                StepState::Ended { status, .. } => {
                    step.step == StepId::Batch || status.signal_number() == 9
                }
                StepState::Running => false,
            })
    }

    /// The end of the size that its job had as it began, where it is a step that ran on: as in Slurm,
    /// nothing later is recorded of it.
    fn outlived(&self) -> Option<Timestamp> {
        let resized = self
            .start
            .filter(|start| start.state == JobStateName::Resizing)?
            .ended?;
        match self.step?.state {
            StepState::Ended { at, .. } if at < resized => None,
            StepState::Ended { .. } | StepState::Running => Some(resized),
        }
    }

    pub(super) fn state(&self) -> String {
        let name = match (self.step.map(|step| &step.state), self.start) {
            _ if self.outlived().is_some() => JobStateName::Resizing,
            (Some(StepState::Running), _) if self.is_suspended() => JobStateName::Suspended,
            (Some(StepState::Running), _) => JobStateName::Running,
            _ if self.went_with_its_node() => JobStateName::Cancelled,
            (
                Some(StepState::Ended {
                    timed_out: true, ..
                }),
                _,
            ) => JobStateName::Timeout,
            (Some(StepState::Ended { status, .. }), _) if *status == OUT_OF_MEMORY => {
                JobStateName::OutOfMemory
            }
            (Some(StepState::Ended { status, .. }), _) if status.success() => {
                JobStateName::Completed
            }
            (Some(StepState::Ended { status, .. }), _) if status.signal_number() > 0 => {
                JobStateName::Cancelled
            }
            (Some(StepState::Ended { .. }), _) => JobStateName::Failed,
            (None, Some(_)) if self.is_suspended() => JobStateName::Suspended,
            (None, Some(start)) => start.state,
            (None, None) => self.job.base_state,
        };
        let by = match &self.history.job.state {
            JobState::Ended {
                outcome: Outcome::Cancelled { by, .. },
                ..
            } => Some(*by).filter(|by| *by != Outcome::NO_USER),
            _ => None,
        };
        let by = match self.step {
            Some(step) => step.cancelled_by,
            None => by,
        };
        match by.filter(|_| name == JobStateName::Cancelled) {
            Some(by) => format!("{} by {by}", name.long()),
            None => name.long().to_owned(),
        }
    }
}
