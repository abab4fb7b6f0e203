//! The job that makes a run's environment, where the cluster's nodes reach the registries of packages.

use crate::environment_plan::quoted;
use crate::script::directives;
use crate::{JobPlace, Plan};
use model::{MemoryRequest, OpenMode, RareOptions, Request, Seconds, TimeLimitRequest};
use std::fmt::Write as _;

/// Long enough for pip to build some packages.
const LONGEST: Seconds = Seconds(3600);
/// Long enough to install them; a run may have less.
const SHORTEST: Seconds = Seconds(600);
/// CPUs that build packages.
const CPUS: u32 = 4;
/// What pip needs of memory where large packages are unpacked, in MiB.
const MEMORY_MIB: u64 = 10 << 10;

impl Plan {
    /// What is asked of the engine for that job: one task without GPUs, of the run's own account,
    /// partition and QOS, that asks for no more than a node of the run has.
    #[must_use]
    pub fn environment_request(&self, place: &JobPlace<'_>) -> Request {
        let run = self.request(place);
        let least = |size: u64| match size {
            0 => MEMORY_MIB,
            size => size.min(MEMORY_MIB),
        };
        Request {
            name: format!("{}-environment", self.name.value),
            min_nodes: Some(1),
            max_nodes: Some(1),
            tasks: Some(1),
            tasks_per_node: None,
            cpus_per_task: Some(self.cpus_per_rank.value.clamp(1, CPUS)),
            memory: self
                .memory
                .as_ref()
                .map(|size| MemoryRequest::PerNode(least(size.value))),
            gpus_per_node: None,
            exclusive: false,
            time: Some(match run.time {
                Some(TimeLimitRequest::Limit(limit)) => {
                    TimeLimitRequest::Limit(limit.clamp(SHORTEST, LONGEST))
                }
                Some(TimeLimitRequest::Unlimited) | None => TimeLimitRequest::Limit(LONGEST),
            }),
            rare: RareOptions {
                requeue: Some(true),
                open_mode: Some(OpenMode::Append),
                comment: run.rare.comment.clone(),
                constraint: run.rare.constraint.clone(),
                ..RareOptions::default()
            }
            .into(),
            ..run
        }
    }

    /// Its batch script.
    #[must_use]
    pub fn environment_script(&self, place: &JobPlace<'_>) -> String {
        let mut script = String::from("#!/bin/bash\n");
        for option in directives(&self.environment_request(place), false) {
            let _ = writeln!(script, "#SBATCH {option}");
        }
        let yard = quoted(&place.yard.display().to_string());
        let folder = quoted(&place.run_folder.display().to_string());
        let _ = writeln!(script, "\nexec {yard} job environment {folder}");
        script
    }
}
