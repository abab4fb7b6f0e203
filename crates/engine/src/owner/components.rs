//! Components of a heterogeneous job: they start together, and the others end with the first.

use super::Owner;
use super::active_job::Over;
use super::launch::started;
use super::turn::Turn;
use crate::SupervisorKey;
use crate::job_record::record_of;
use api::{Refusal, StepLaunch, StepPart, TaskFiles};
use model::component_environment;
use model::job_environment::StartedJob;
use model::{
    ComponentPlace, Ending, JobId, JobRecord, Outcome, StepId, StepRequest, Timestamp, Variables,
    WaitStatus,
};
use sched::{Job, Placement};

/// What Slurm says of what is done to all components or none.
pub(super) const ONE_COMPONENT: &str =
    "Operation not permitted on individual component of heterogeneous job";

/// A step's part in one job: all of it, but for a step over components, which is a step of the same
/// number in each of them.
#[derive(Debug)]
pub(super) struct PlacedPart<'a> {
    pub(super) job: JobId,
    pub(super) request: &'a StepRequest,
    pub(super) files: &'a TaskFiles,
    /// What the caller gives its tasks.
    pub(super) environment: &'a Variables,
    pub(super) placement: Placement,
}

/// Refuses what is asked of a later component and meant for all of them.
pub(super) fn not_the_leader() -> Refusal {
    Refusal::Invalid {
        message: api::NOT_THE_LEADER.to_owned(),
    }
}

impl Owner {
    /// Where a step over components runs in each of them.
    pub(super) fn place_parts<'a>(
        &self,
        leader: JobId,
        launch: &'a StepLaunch,
    ) -> Result<Vec<PlacedPart<'a>>, Refusal> {
        let place = |part: &'a StepPart| {
            let job = self.component_of(leader, part.component)?;
            Ok(PlacedPart {
                job,
                request: &part.request,
                files: part.files.as_ref().unwrap_or(&launch.files),
                environment: part.environment.as_ref().unwrap_or(&launch.environment),
                placement: self.place(job, &part.request)?,
            })
        };
        launch.parts.iter().map(place).collect()
    }

    /// The number of the next step of a job. Components count theirs together.
    pub(super) fn next_step(&self, job: JobId) -> u32 {
        let next = |job| Some(self.running.get(&job)?.next_step);
        let all = self.state.components(job).into_iter().filter_map(next);
        all.max().unwrap_or(0)
    }

    /// The running jobs in which a step of this number has a part.
    pub(super) fn parts_of_step(&self, job: JobId, step: StepId) -> Vec<JobId> {
        let all = match step {
            StepId::Batch => vec![job],
            StepId::Number(_) => self.state.components(job),
        };
        let has = |job: &JobId| {
            let active = self.running.get(job);
            active.is_some_and(|active| active.steps.contains_key(&step))
        };
        all.into_iter().filter(has).collect()
    }

    /// The live supervisors of all parts of a step.
    pub(super) fn keys_of_step(&self, job: JobId, step: StepId) -> Vec<SupervisorKey> {
        let parts = self.parts_of_step(job, step);
        let active = parts.iter().filter_map(|job| self.running.get(job));
        active.flat_map(|active| active.live_keys(step)).collect()
    }

    pub(super) fn component_of(&self, leader: JobId, component: u32) -> Result<JobId, Refusal> {
        let record = self.state.job(leader);
        let record = record.ok_or(Refusal::NoSuchJob { job: leader })?;
        let size = match record.request.rare.component {
            Some(ComponentPlace { size, .. }) => size,
            None => 1,
        };
        if component < size {
            return Ok(JobId(leader.0.saturating_add(component)));
        }
        Err(Refusal::Invalid {
            message: format!(
                "component {component} is asked for, and job {leader} has {size}, counted from 0: \
                 name those that it has with --het-group"
            ),
        })
    }

    /// Of components the first alone.
    ///
    /// # Errors
    /// Others are named without it.
    pub(super) fn leaders(&self, jobs: Vec<JobId>) -> Result<Vec<JobId>, Refusal> {
        let leads = |job: &JobId| {
            let record = self.state.job(*job);
            let place = record.and_then(|record| record.request.rare.component);
            place.is_none_or(|place| place.leader == *job)
        };
        let leaders: Vec<JobId> = jobs.into_iter().filter(leads).collect();
        if leaders.is_empty() {
            return Err(not_the_leader());
        }
        Ok(leaders)
    }

    /// The others, where this is the first of the components.
    pub(super) fn led_by(&self, job: JobId) -> Vec<JobId> {
        let record = self.state.job(job);
        let place = record.and_then(|record| record.request.rare.component);
        match place {
            Some(place) if place.leader == job => {
                let others = place.ids().filter(|id| *id != job);
                others.filter(|id| self.state.job(*id).is_some()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether a running job is a later component, and the first does not run: components start together and end with
    /// the first, which is written, so that only its start can have failed.
    pub(super) fn is_left_by_leader(&self, job: JobId) -> bool {
        let record = self.state.job(job);
        let place = record.and_then(|record| record.request.rare.component);
        place.is_some_and(|place| place.leader != job && !self.running.contains_key(&place.leader))
    }

    /// The first component is over: the others end, or wait again, with it.
    pub(super) fn end_with_leader(
        &mut self,
        others: &[JobId],
        ending: Option<&Ending>,
        outcome: &Outcome,
        (status, at): (WaitStatus, Timestamp),
        turn: &mut Turn,
    ) {
        for job in others {
            let Some(active) = self.running.get_mut(job) else {
                continue;
            };
            let outcome = outcome.clone();
            let ending = match ending {
                Some(again @ (Ending::Requeue { .. } | Ending::Preempted { .. })) => again.clone(),
                Some(Ending::End(_)) | None => Ending::End(outcome.clone()),
            };
            active.over = Some(Over {
                outcome,
                status,
                at,
            });
            self.decide(*job, ending, turn);
            self.consider_end(*job, turn);
        }
    }

    /// What a script of the first component knows of all of them.
    pub(super) fn component_variables(&self, record: &Job) -> Variables {
        let Some(place) = record.request.rare.component else {
            return Variables::new();
        };
        let jobs = place.ids().filter_map(|id| self.state.job(id));
        let records: Vec<JobRecord> = jobs.map(|job| record_of(job, None)).collect();
        let records = records.iter();
        let all: Vec<StartedJob<'_>> = records.filter_map(|it| started(it, self)).collect();
        component_environment::component_variables(place, &all)
    }
}
