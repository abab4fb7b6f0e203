//! Components of a heterogeneous job: they start together, and the others end with the first.

use super::Owner;
use super::active_job::Over;
use super::launch::started;
use super::turn::Turn;
use crate::job_record::record_of;
use api::{Refusal, StepPart};
use model::job_environment::{self, StartedJob};
use model::{
    ComponentPlace, Ending, JobId, JobRecord, JobState, NodeShare, Outcome, StepId, StepRequest,
    Variables, WaitStatus,
};
use sched::{Job, Placement};

/// A step's part in one job: all of it, but for a step over components.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlacedPart<'a> {
    pub(super) job: JobId,
    pub(super) request: &'a StepRequest,
    /// How many of the step's nodes are its.
    pub(super) nodes: usize,
}

impl Owner {
    /// Where a step over components runs, and its part in each.
    pub(super) fn place_parts<'a>(
        &self,
        leader: JobId,
        parts: &'a [StepPart],
    ) -> Result<(Placement, Vec<PlacedPart<'a>>), Refusal> {
        let mut all = Placement {
            nodes: Vec::new(),
            holds: Vec::new(),
        };
        let mut placed = Vec::new();
        for part in parts {
            let job = self.component_of(leader, part.component)?;
            let found = self.place(job, &part.request)?;
            placed.push(PlacedPart {
                job,
                request: &part.request,
                nodes: found.nodes.len(),
            });
            all.nodes.extend(found.nodes);
            all.holds.extend(found.holds);
        }
        Ok((all, placed))
    }

    fn component_of(&self, leader: JobId, component: u32) -> Result<JobId, Refusal> {
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

    /// What steps hold on some nodes: those of a job, and those that the first component of it runs
    /// on others of them.
    pub(super) fn held_of(&self, job: JobId) -> Vec<&[NodeShare]> {
        let record = self.state.job(job);
        let place = record.and_then(|record| record.request.rare.component);
        let leader = place
            .map(|place| place.leader)
            .filter(|leader| *leader != job);
        let jobs = std::iter::once(job).chain(leader);
        let active = jobs.filter_map(|job| self.running.get(&job));
        let steps = active.flat_map(|active| active.steps.values());
        steps.map(|step| step.row.holds.as_slice()).collect()
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

    /// The first component is over: the others end, or wait again, with it.
    pub(super) fn end_with_leader(
        &mut self,
        others: &[JobId],
        ending: Option<&Ending>,
        outcome: &Outcome,
        status: WaitStatus,
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
            active.over = Some(Over { outcome, status });
            self.decide(*job, ending, turn);
            self.consider_end(*job, turn);
        }
    }

    /// Ends the steps that the first component runs on another's nodes.
    pub(super) fn stop_steps_over(&self, job: JobId, turn: &mut Turn) {
        let Some(record) = self.state.job(job) else {
            return;
        };
        let (Some(place), JobState::Running { allocation, .. }) =
            (record.request.rare.component, &record.state)
        else {
            return;
        };
        let leader = self.running.get(&place.leader);
        let Some(leader) = leader.filter(|leader| leader.job != job) else {
            return;
        };
        let has = |share: &NodeShare| allocation.nodes.iter().any(|own| own.node == share.node);
        for (step, live) in &leader.steps {
            if *step != StepId::Batch && live.row.record.nodes.iter().any(has) {
                self.stop_step(leader, *step, turn);
            }
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
        job_environment::component_variables(place, &all)
    }
}
