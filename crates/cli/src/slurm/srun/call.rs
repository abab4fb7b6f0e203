//! What one `srun` was called for.

use super::around_step::AroundStep;
use super::broadcast::Broadcast;
use api::StepLaunch;
use model::srun::FirstInterrupt;
use model::{JobId, Request, StepRequest};
use std::ops::Range;
use std::time::Duration;

/// A step to be run, in a job that is there or in one of its own.
#[derive(Clone, Debug, Default)]
pub struct StepCall {
    /// The job that it belongs to; `None`: a job of its own is asked for.
    pub job: Option<JobId>,
    /// What the job of its own asks for.
    pub allocation: Request,
    /// What its other components ask for, where it is heterogeneous.
    pub later: Vec<Request>,
    /// Tasks of its parts, where it runs in components of a heterogeneous job.
    pub part_tasks: Vec<u32>,
    /// What the step asks for.
    pub request: StepRequest,
    /// Its tasks follow from its job's CPUs.
    pub counts_by_cpus: bool,
    /// What runs in it; where to listen is filled in later.
    pub launch: StepLaunch,
    /// `--label`, of the first component where it runs in several.
    pub label: bool,
    /// The same of each of its parts.
    pub part_labels: Vec<bool>,
    /// `--unbuffered`
    pub unbuffered: bool,
    /// `--pty`
    pub pty: bool,
    /// `--kill-on-bad-exit`
    pub kill_on_bad_exit: bool,
    /// `--wait`: so long after the first task's end the others are ended.
    pub wait: Option<Duration>,
    /// `--quit-on-interrupt`, `--disable-status`: what a single Ctrl-C does.
    pub first_interrupt: FirstInterrupt,
    /// `--quiet`: only errors are said.
    pub quiet: bool,
    /// `--verbose`: where its tasks start is said, too.
    pub verbose: bool,
    /// `--immediate`: gives up where the resources are not free within so long.
    pub immediate: Option<Duration>,
    /// `--prolog` and `--epilog`, or the cluster's.
    pub programs: AroundStep,
    /// `--bcast`: the copy of its program that it runs.
    pub broadcast: Option<Broadcast>,
}

impl StepCall {
    /// The ranks whose lines are labelled.
    pub fn labelled(&self) -> Vec<Range<u32>> {
        if self.part_tasks.is_empty() {
            return self.label.then_some(0..u32::MAX).into_iter().collect();
        }
        let mut first = 0_u32;
        let parts = self.part_tasks.iter().zip(&self.part_labels);
        let ranks = parts.filter_map(|(tasks, label)| {
            let ranks = first..first.saturating_add(*tasks);
            first = ranks.end;
            label.then_some(ranks)
        });
        ranks.collect()
    }

    /// Whether its tasks wait until something is done that goes before them.
    pub fn holds_tasks(&self) -> bool {
        self.programs.prolog.is_some() || self.broadcast.is_some()
    }

    /// Whether `srun`'s own stdin goes to the tasks.
    pub fn reads_stdin(&self) -> bool {
        let of_parts = self.launch.parts.iter();
        let of_parts = of_parts.filter_map(|part| part.files.as_ref());
        let mut files = of_parts.chain([&self.launch.files]);
        files.any(|files| match files.input.as_deref() {
            None | Some("all") => true,
            Some(text) => text.parse::<u32>().is_ok(),
        })
    }
}
