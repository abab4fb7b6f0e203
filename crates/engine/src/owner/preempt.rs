//! Jobs whose places others take, and those of which an operator takes it.

use super::turn::Turn;
use super::{Owner, rights};
use crate::message::Peer;
use api::{Answer, LossOfPlace, LostPlace, NamedJob, Refusal};
use cluster_file::PreemptMode;
use model::{ArrayTask, Ending, JobId, JobState};
use sched::{Event, Job};

const SIGTERM: i32 = 15;
const SIGCONT: i32 = 18;

impl Owner {
    /// Takes the place of a running job, of the running elements of an array, or of all components
    /// of a job: an operator's right. Of one that is refused none loses its place.
    pub(super) fn preempt(
        &mut self,
        NamedJob { job, element, .. }: NamedJob,
        mode: Option<LossOfPlace>,
        peer: Peer,
        turn: &mut Turn,
    ) -> Result<Answer, Refusal> {
        let engine = sys::process::user();
        if !rights::is_operator(peer.uid, engine) {
            return Err(Refusal::Invalid {
                message: format!(
                    "access denied for user {}: jobs of this engine are preempted by user {engine} \
                     and root alone",
                    peer.uid
                ),
            });
        }
        let (mut lose, mut refused) = (Vec::new(), None);
        for id in self.losing_together(job, element)? {
            let Some(record) = self.state.job(id) else {
                // Says what it is: unknown, or over.
                self.owned(id, peer)?;
                continue;
            };
            match &record.state {
                JobState::Running { ending: None, .. } => {
                    lose.push((id, self.loss_of_place(record, mode)?));
                }
                JobState::Pending { .. } | JobState::Running { .. } | JobState::Ended { .. } => {
                    refused.get_or_insert_with(|| not_running(record));
                }
            }
        }
        if let (true, Some(refused)) = (lose.is_empty(), refused) {
            return Err(refused);
        }
        let lost = lose.into_iter();
        let jobs = lost.map(|(id, mode)| self.take_place(id, mode, turn));
        let jobs = jobs.collect();
        turn.durable = true;
        Ok(Answer::Preempted { jobs })
    }

    /// The jobs of an id: elements of an array, or the one that is named, or all components of a job.
    fn losing_together(&self, job: JobId, element: Option<u32>) -> Result<Vec<JobId>, Refusal> {
        let Some(element) = element else {
            let ids = self.jobs_of_id(job);
            let is_one = ids == [job];
            return Ok(if is_one {
                self.state.components(job)
            } else {
                ids
            });
        };
        let mut rows = self.state.rows_of_array(job);
        let is_it = |row: &&Job| match row.array.as_ref().map(|place| &place.task) {
            Some(ArrayTask::One(one)) => *one == element,
            Some(ArrayTask::Waiting(_)) | None => false,
        };
        rows.find(is_it)
            .map(|row| vec![row.id])
            .ok_or_else(|| Refusal::Invalid {
                message: format!("no element {element} of job {job} is running"),
            })
    }

    /// What becomes of a running job that loses its place at a person's word.
    fn loss_of_place(
        &self,
        record: &Job,
        mode: Option<LossOfPlace>,
    ) -> Result<LossOfPlace, Refusal> {
        let invalid = |message| Err(Refusal::Invalid { message });
        let job = record.id;
        let mode = match mode {
            Some(mode) => mode,
            None => match self.state.preempt_mode(job) {
                Some(PreemptMode::Requeue) => LossOfPlace::Requeue,
                Some(PreemptMode::Cancel) => LossOfPlace::Cancel,
                Some(PreemptMode::Suspend) => LossOfPlace::Suspend,
                Some(PreemptMode::Off) | None => {
                    return invalid(format!(
                        "neither the QOS nor the partition of job {job} nor the cluster says what \
                         becomes of a preempted job: add --mode requeue, cancel or suspend"
                    ));
                }
            },
        };
        match mode {
            LossOfPlace::Requeue if !self.state.may_requeue(job) => {
                Err(super::requeue::refusal(record))
            }
            LossOfPlace::Suspend if record.state.is_suspended() => {
                invalid(format!("job {job} is suspended already"))
            }
            mode => Ok(mode),
        }
    }

    fn take_place(&mut self, job: JobId, mode: LossOfPlace, turn: &mut Turn) -> LostPlace {
        let at = turn.now;
        let ends = match mode {
            LossOfPlace::Requeue => Some(PreemptMode::Requeue),
            LossOfPlace::Cancel => Some(PreemptMode::Cancel),
            // No other job waits for its CPUs: it goes on when it is told to.
            LossOfPlace::Suspend => None,
        };
        if let Some(mode) = ends {
            if self.state.lose_place(job, mode, at).is_some() {
                self.lost_place(job, turn);
            }
        } else {
            self.state.apply(Event::Suspended { job, at });
            self.tell_suspension(job, turn);
        }
        let until = self.state.job(job).and_then(|record| match &record.state {
            JobState::Running {
                ending: Some(Ending::Preempted { grace, .. }),
                ..
            } => *grace,
            _ => None,
        });
        LostPlace { job, mode, until }
    }

    /// Ends a job whose place is taken; while it has grace time its steps are asked to end.
    pub(super) fn lost_place(&mut self, job: JobId, turn: &mut Turn) {
        let state = self.state.job(job).map(|record| &record.state);
        let Some(JobState::Running {
            ending: Some(Ending::Preempted { grace, .. }),
            ..
        }) = state
        else {
            return;
        };
        turn.durable = true;
        if grace.is_some() {
            for signal in [SIGCONT, SIGTERM] {
                self.signal_job(job, signal, false, false, turn);
            }
        } else {
            self.stop_steps(job, turn);
            self.consider_end(job, turn);
        }
    }
}

/// Why a job has no place that it could lose.
fn not_running(record: &Job) -> Refusal {
    let job = record.id;
    match &record.state {
        JobState::Running {
            ending: Some(_), ..
        } => Refusal::Invalid {
            message: format!("job {job} is ending already"),
        },
        _ => Refusal::NotRunning { job },
    }
}
