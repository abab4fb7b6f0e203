//! A job as the tables hold it: its row with its last start and what was submitted; into them and back.

use super::hold::Hold;
use super::rows::{NamedRow, json, json_or_none};
use super::start_row::StartRow;
use crate::shared_parts::SharedParts;
use model::{
    Allocation, ArrayPlace, ArraySpec, ArrayTask, Dependency, Ending, JobId, JobState,
    JobStateName, Outcome, PendingReason, Ran, Request, Submitter, Timestamp,
};
use sched::{Job, RareFacts, RareFactsBox};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The columns that [`read_job`] reads, from [`JOBS`].
pub(super) const JOB_COLUMNS: &str = "jobs.id, jobs.submission, jobs.task, jobs.waiting, jobs.uid, \
     submissions.gid, submissions.user_name, submissions.group_name, submissions.request, \
     submissions.batch, submissions.command, submissions.submit_host, jobs.state, \
     jobs.submitted_at, jobs.eligible_at, jobs.not_before, jobs.dependency, jobs.hold, \
     jobs.restarts, jobs.ending, jobs.outcome, jobs.ended_at, jobs.version, jobs.resized_at, jobs.accrues_at, \
     jobs.reservation, jobs.priority_set, \
     jobs.request AS own_request, jobs.partition, job_starts.started_at, job_starts.time_limit, job_starts.shares, \
     job_starts.priority, job_starts.suspension, job_starts.end_moved_ms, job_starts.partition AS start_partition";

/// Jobs with what was submitted and their last start.
pub(super) const JOBS: &str = "jobs JOIN submissions ON submissions.job = jobs.submission \
     LEFT JOIN job_starts ON job_starts.job = jobs.id AND job_starts.restart = jobs.restarts";

/// What a row of `jobs` says otherwise than the job itself. Columns that only copy the job, what it asks for or
/// its start are written and read beside it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct JobRow {
    pub(super) submission: JobId,
    pub(super) task: Option<u32>,
    /// The elements that wait, once rows of others may be forgotten.
    pub(super) waiting: Option<String>,
    pub(super) state: JobStateName,
    pub(super) hold: Option<Hold>,
    pub(super) ending: Option<Ending>,
    pub(super) outcome: Option<Outcome>,
    pub(super) ended_at: Option<Timestamp>,
}

/// What a row of `submissions` says of all its jobs.
#[derive(Clone, Debug)]
pub(super) struct SubmissionRow {
    pub(super) submitter: Arc<Submitter>,
    pub(super) request: Arc<Request>,
    /// The elements, as submitted.
    pub(super) array: Option<ArraySpec>,
    pub(super) batch: bool,
}

impl JobRow {
    pub(super) fn of(job: &Job) -> JobRow {
        let (ending, outcome, ended_at) = match &job.state {
            JobState::Pending { .. } => (None, None, None),
            JobState::Running { ending, .. } => (ending.clone(), None, None),
            JobState::Ended { at, outcome, .. } => (None, Some(outcome.clone()), Some(*at)),
        };
        let (task, waiting) = match job.array.as_ref().map(|place| &place.task) {
            None => (None, None),
            Some(ArrayTask::One(task)) => (Some(*task), None),
            Some(ArrayTask::Waiting(spec)) => {
                // From then on rows of other elements may be forgotten.
                let ended = ended_at.is_some() || job.restarts > 0;
                let text = ended.then(|| model::array_elements_text(&spec.indices, None, true));
                (None, text)
            }
        };
        JobRow {
            submission: job.submitted_as(),
            task,
            waiting,
            state: match &job.state {
                // One that is being ended is still `RUNNING` here: its start has no end.
                JobState::Running { .. } => JobStateName::Running,
                state => JobStateName::base_of(state),
            },
            hold: Hold::of(job),
            ending,
            outcome,
            ended_at,
        }
    }

    fn read(row: &NamedRow<'_>) -> rusqlite::Result<JobRow> {
        let state: String = row.get("state")?;
        let hold: Option<String> = row.get("hold")?;
        let ended_at = moment(row, "ended_at")?;
        Ok(JobRow {
            submission: JobId(row.get("submission")?),
            task: row.get("task")?,
            waiting: row.get("waiting")?,
            state: JobStateName::parse(&state).unwrap_or(JobStateName::Pending),
            hold: hold.map(|text| {
                let known = Hold::ALL.into_iter().find(|hold| hold.text() == text);
                known.unwrap_or(Hold::User)
            }),
            ending: json_or_none(row, "ending")?,
            outcome: ended_at.map(|_| json(row, "outcome")).transpose()?,
            ended_at,
        })
    }

    fn priority(&self, unweighted: u32, start: Option<&StartRow<'_>>) -> u32 {
        match (self.hold, self.state, start.and_then(|it| it.priority)) {
            (Some(_), state, _) if state != JobStateName::Running => 0,
            (None, JobStateName::Pending, _) | (_, _, None) => unweighted,
            (_, _, Some(priority)) => priority,
        }
    }

    /// Where the job stands.
    fn job_state(self, start: Option<StartRow<'_>>) -> JobState {
        match (self.outcome.zip(self.ended_at), start) {
            (Some((outcome, at)), start) => JobState::Ended {
                outcome,
                at,
                ran: start.map(|start| Ran {
                    since: start.started_at,
                    suspended_ms: start.suspension.map_or(0, |it| it.until(at)),
                    allocation: Allocation {
                        nodes: start.shares.into_owned(),
                    },
                    limit: start.limit,
                }),
            },
            (None, Some(start)) if self.state == JobStateName::Running => JobState::Running {
                since: start.started_at,
                allocation: Allocation {
                    nodes: start.shares.into_owned(),
                },
                limit: start.limit,
                ending: self.ending,
                suspension: start.suspension.map(Box::new),
                held: self.hold.and_then(Hold::by),
                end_moved_ms: start.end_moved_ms,
            },
            (None, _) => JobState::Pending {
                reason: self.hold.map_or(PendingReason::None, Hold::reason),
            },
        }
    }

    /// Its place in an array that was submitted so; `own_elements` are those that have rows of their own.
    fn array_place(
        &self,
        submitted: &ArraySpec,
        request: &Request,
        own_elements: &BTreeSet<u32>,
    ) -> ArrayPlace {
        let throttle = request.rare.array_throttle.or(submitted.throttle);
        ArrayPlace {
            array_job: self.submission,
            task: self.array_task(submitted, own_elements),
            throttle: throttle.filter(|most| *most > 0),
        }
    }

    fn array_task(&self, submitted: &ArraySpec, own_elements: &BTreeSet<u32>) -> ArrayTask {
        if let Some(task) = self.task {
            return ArrayTask::One(task);
        }
        let waiting = self.waiting.as_deref().and_then(ArraySpec::parse);
        let mut indices = waiting.map_or_else(|| submitted.indices.clone(), |spec| spec.indices);
        indices.retain(|task| !own_elements.contains(task));
        ArrayTask::Waiting(ArraySpec {
            indices,
            ..submitted.clone()
        })
    }
}

/// The submission of a row, kept for the elements of its array, whose rows mostly follow each other.
#[derive(Debug, Default)]
pub(super) struct LastSubmission {
    row: Option<(JobId, SubmissionRow)>,
    /// What submissions have alike.
    parts: SharedParts,
}

impl LastSubmission {
    fn of_row(&mut self, row: &NamedRow<'_>, job: JobId) -> rusqlite::Result<&SubmissionRow> {
        let partition: Option<String> = row.get("partition")?;
        let known = self.row.take();
        let known = known.filter(|(last, it)| *last == job && it.request.partition == partition);
        let submission = match known {
            Some((_, known)) => known,
            None => {
                let text = row.get_ref("request")?.as_str()?;
                let read = || -> rusqlite::Result<Request> {
                    let mut request: Request = json(row, "request")?;
                    request.partition.clone_from(&partition);
                    Ok(request)
                };
                let (request, array) = self.parts.request(text, partition.as_deref(), read)?;
                SubmissionRow {
                    submitter: self.parts.submitter(Submitter {
                        uid: row.get("uid")?,
                        gid: row.get("gid")?,
                        user: row.get("user_name")?,
                        group: row.get("group_name")?,
                        host: row.get("submit_host")?,
                        command: row.get("command")?,
                    }),
                    request,
                    array,
                    batch: row.get("batch")?,
                }
            }
        };
        Ok(&self.row.insert((job, submission)).1)
    }
}

fn moment(row: &NamedRow<'_>, column: &str) -> rusqlite::Result<Option<Timestamp>> {
    Ok(row.get::<Option<i64>>(column)?.map(Timestamp))
}

/// A job, as the columns of [`JOB_COLUMNS`] tell of it. Of an array's row that waits, `own` gives the
/// elements that have rows of their own.
pub(super) fn read_job(
    row: &NamedRow<'_>,
    last: &mut LastSubmission,
    own: impl FnOnce(JobId) -> rusqlite::Result<BTreeSet<u32>>,
) -> rusqlite::Result<Job> {
    let of_row = JobRow::read(row)?;
    let start = StartRow::read(row)?;
    let submission = last.of_row(row, of_row.submission)?;
    // Changed since by `scontrol update`.
    let request = match json_or_none::<Request>(row, "own_request")? {
        Some(own) => Arc::new(own),
        None => Arc::clone(&submission.request),
    };
    let own = match (&submission.array, of_row.task) {
        (Some(_), None) => own(of_row.submission)?,
        _ => BTreeSet::new(),
    };
    let array = submission.array.as_ref();
    let array = array.map(|spec| Box::new(of_row.array_place(spec, &request, &own)));
    let dependency: Option<String> = row.get("dependency")?;
    let dependency = dependency.as_deref().and_then(Dependency::parse_kept);
    let partition = start.as_ref().and_then(|start| start.partition.clone());
    let priority_set = row.get("priority_set")?;
    let unweighted = sched::priority_of(priority_set, request.nice);
    let priority = of_row.priority(unweighted, start.as_ref());
    let reservation: Option<String> = row.get("reservation")?;
    let state = of_row.job_state(start);
    let version: i64 = row.get("version")?;
    Ok(Job {
        id: JobId(row.get("id")?),
        array,
        submitter: Arc::clone(&submission.submitter),
        request,
        partition: partition
            .filter(|_| !matches!(state, JobState::Pending { .. }))
            .map(Box::from),
        dependency: dependency.map(Arc::new),
        state,
        submitted: Timestamp(row.get("submitted_at")?),
        eligible: moment(row, "eligible_at")?,
        rare: RareFactsBox::from(RareFacts {
            not_before: moment(row, "not_before")?,
            accrues: moment(row, "accrues_at")?,
            resized: moment(row, "resized_at")?,
            priority_set,
            reservation: reservation.map(Box::from),
        }),
        priority,
        restarts: row.get("restarts")?,
        batch: submission.batch,
        version: u64::try_from(version).unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::write_one::write_one;
    use crate::store::{NewSubmission, Store};
    use model::{HeldBy, NodeName, NodeShare, RequeueHold, Seconds, Suspension};

    /// What is written is what is read.
    #[track_caller]
    fn check(change: impl FnOnce(&mut Job)) {
        let submitter = Arc::new(Submitter {
            uid: 1000,
            user: "ann".to_owned(),
            ..Submitter::default()
        });
        let mut request = Request {
            partition: Some("cpu".to_owned()),
            ..Request::default()
        };
        request.rare.dependency = Some("afterok:3:4,singleton".to_owned());
        let mut job = Job::submitted(JobId(7), request, submitter, Timestamp(5));
        change(&mut job);
        if StartRow::of(&job).is_some() {
            job.partition = Some("gpu".into());
        }
        let mut asked = Request::clone(&job.request);
        asked.rare.array = job.array.as_ref().map(|_| ArraySpec {
            indices: vec![1, 2, 3],
            step: 1,
            throttle: Some(2),
        });
        let submission = NewSubmission {
            job: job.submitted_as(),
            token: "token".to_owned(),
            submitter: Arc::clone(&job.submitter),
            umask: 0o022,
            arguments: Vec::new(),
            request: serde_json::to_string(&asked).unwrap(),
            script: job.batch.then(|| "#!/bin/sh\n".to_owned()),
            environment: "[]".to_owned(),
            own_environment: "[]".to_owned(),
        };
        let folder = tempfile::tempdir().unwrap();
        let mut store = Store::open(&folder.path().join("store.sqlite"), None).unwrap();
        let mut before = job.clone();
        if let Some(place) = &mut before.array {
            (before.id, place.task) = (JobId(8), ArrayTask::One(1));
        }
        if let JobState::Ended { ran: Some(_), .. } = &job.state {
            before.state = running(None, None);
        }
        write_one(&mut store, Some(&submission), &before);
        write_one(&mut store, None, &job);
        let mut read = store.saved().unwrap().live;
        read.extend(store.ended_since(Timestamp(0)).unwrap());
        let read = read.into_iter().find(|read| read.id == job.id);
        assert_eq!(read, Some(job));
    }

    fn allocation() -> Allocation {
        Allocation {
            nodes: vec![NodeShare {
                node: NodeName::new("n1"),
                cpus: vec![0, 3],
                memory: 100,
                gpus: vec![1],
                tasks: 2,
            }],
        }
    }

    fn running(ending: Option<Ending>, suspension: Option<Suspension>) -> JobState {
        JobState::Running {
            since: Timestamp(9),
            allocation: allocation(),
            limit: Some(Seconds(60)),
            ending,
            suspension: suspension.map(Box::new),
            held: None,
            end_moved_ms: 0,
        }
    }

    #[test]
    fn a_job_is_read_as_it_was_written() {
        check(|_| {});
        check(|job| {
            (job.priority, job.version) = (0, 12);
            job.rare.not_before = Some(Timestamp(77));
            job.rare.accrues = Some(Timestamp(78));
        });
        check(|job| {
            job.state = JobState::Pending {
                reason: PendingReason::LaunchFailedRequeuedHeld,
            };
            (job.priority, job.restarts) = (0, 2);
        });
        check(|job| {
            job.rare.reservation = Some("r,s".into());
            (job.priority, job.rare.priority_set) = (77, Some(77));
        });
        for reason in [
            PendingReason::JobHeldAdmin,
            PendingReason::RequeuedHeld,
            PendingReason::SpecialExit,
            PendingReason::HeldSpecialExit,
        ] {
            check(|job| {
                job.state = JobState::Pending {
                    reason: reason.clone(),
                };
                job.priority = 0;
            });
        }
        check(|job| {
            job.state = running(None, None);
            if let JobState::Running {
                held, end_moved_ms, ..
            } = &mut job.state
            {
                *held = Some(HeldBy::Admin);
                *end_moved_ms = -12_000;
            }
            (job.priority, job.rare.resized) = (42, Some(Timestamp(11)));
        });
        check(|job| {
            let hold = RequeueHold::HeldSpecialExit;
            job.state = running(
                Some(Ending::Requeue {
                    hold,
                    node_failed: true,
                }),
                None,
            );
            (job.eligible, job.dependency) = (Some(Timestamp(6)), None);
        });
        check(|job| {
            let suspension = Suspension {
                at: Timestamp(20),
                is_now: true,
                before_ms: 3,
                is_preempted: false,
                is_stopped: false,
            };
            job.state = running(None, Some(suspension));
            (job.priority, job.rare.resized) = (42, Some(Timestamp(11)));
        });
        check(|job| {
            let stopped = Suspension {
                at: Timestamp(20),
                is_now: false,
                before_ms: 0,
                is_preempted: false,
                is_stopped: true,
            };
            job.state = running(None, Some(stopped));
        });
        check(|job| {
            job.state = JobState::Ended {
                outcome: Outcome::Completed,
                at: Timestamp(99),
                ran: Some(Ran {
                    since: Timestamp(9),
                    allocation: allocation(),
                    limit: Some(Seconds(60)),
                    suspended_ms: 0,
                }),
            };
        });
        check(|job| {
            job.state = JobState::Ended {
                outcome: Outcome::NodeFail,
                at: Timestamp(99),
                ran: None,
            };
        });
    }

    #[test]
    fn of_an_array() {
        let place = |task| {
            Box::new(ArrayPlace {
                array_job: JobId(7),
                task,
                throttle: Some(2),
            })
        };
        check(|job| job.array = Some(place(ArrayTask::One(3))));
        check(|job| {
            job.array = Some(place(ArrayTask::Waiting(ArraySpec {
                indices: vec![2, 3],
                step: 1,
                throttle: Some(2),
            })));
        });
        check(|job| {
            // Once it was requeued its own elements are written.
            job.restarts = 1;
            job.array = Some(place(ArrayTask::Waiting(ArraySpec {
                indices: vec![3],
                step: 1,
                throttle: Some(2),
            })));
        });
    }
}
