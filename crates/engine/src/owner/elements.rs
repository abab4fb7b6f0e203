//! What is done with the elements of an array: with each for itself, so that what is refused of some is
//! done with the others.

use super::Owner;
use super::sweep::KEEP_MS;
use crate::message::Peer;
use api::{Answer, NamedJob, Refusal};
use model::{JobId, JobState, Timestamp};
use sched::Job;

/// Elements by what became of them. A job that is no array has none, and one answer.
#[derive(Default)]
pub(super) struct ElementAnswers(Vec<(Vec<u32>, Option<Refusal>)>);

impl ElementAnswers {
    /// It was done with these elements, or refused.
    pub(super) fn note(&mut self, elements: Vec<u32>, refusal: Option<Refusal>) {
        match self.0.iter_mut().find(|(_, known)| *known == refusal) {
            Some((known, _)) => known.extend(elements),
            None => self.0.push((elements, refusal)),
        }
    }

    /// What is answered of all of them.
    pub(super) fn answer(mut self, named: NamedJob) -> Result<Answer, Refusal> {
        if self.0.iter().all(|(_, refusal)| refusal.is_none()) {
            return Ok(Answer::Done);
        }
        let is_array = self.0.iter().any(|(elements, _)| !elements.is_empty());
        if !is_array || named.element.is_some() {
            // Of a job's components it is enough that it was done with one.
            let refusals: Option<Vec<Refusal>> = self.0.into_iter().map(|(_, it)| it).collect();
            let first = refusals.and_then(|all| all.into_iter().next());
            return first.map_or(Ok(Answer::Done), Err);
        }
        for (elements, _) in &mut self.0 {
            elements.sort_unstable();
        }
        self.0
            .sort_by_key(|(elements, _)| elements.first().copied());
        let each = self.0.into_iter().map(|(elements, refusal)| {
            // As Slurm says it of those with which it was done beside others.
            let words = refusal.map_or_else(|| "No error".to_owned(), |it| it.to_string());
            (elements, words)
        });
        Err(Refusal::OfElements {
            job: named.job,
            each: each.collect(),
        })
    }
}

impl Owner {
    /// The live rows that are named, and those elements of an array that are over and not forgotten yet.
    ///
    /// # Errors
    /// There is no such job or element, it is over, or it is another user's.
    pub(super) fn named_rows(
        &mut self,
        named: NamedJob,
        peer: Peer,
        at: Timestamp,
    ) -> Result<(Vec<JobId>, Vec<Job>), Refusal> {
        let live = self.named_jobs(named, peer, at);
        let is_over = matches!(live, Err(Refusal::AlreadyEnded { .. }));
        let is_array = self.state.rows_of_array(named.job).next().is_some();
        if named.element.is_some() || named.component.is_some() || !(is_over || is_array) {
            return Ok((live?, Vec::new()));
        }
        let over = self.store.ended_by_id(named.job);
        let mut over = over.map_err(|error| super::submit::store_refusal(&error))?;
        over.retain(|row| {
            let is_of_it = row.array.as_ref();
            let is_of_it = is_of_it.is_some_and(|place| place.array_job == named.job);
            let is_known =
                matches!(row.state, JobState::Ended { at: ended, .. } if at.0 - ended.0 < KEEP_MS);
            // One that was queued again in this turn is not so in the store yet.
            is_of_it && is_known && self.state.job(row.id).is_none()
        });
        if is_over && !over.is_empty() {
            return Ok((Vec::new(), over));
        }
        Ok((live?, over))
    }
}
