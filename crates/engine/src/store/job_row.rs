//! A job as the tables hold it: its row, its last start, and what was submitted; into them and back.

use super::rows::{NamedRow, count, json, json_or_none, node_list, to_json};
use crate::shared_parts::SharedParts;
use model::{
    Allocation, ArrayPlace, ArraySpec, ArrayTask, Dependency, Ending, HeldBy, JobId, JobState,
    JobStateName, NodeShare, Outcome, PendingReason, Ran, Request, RestartCount, Seconds,
    Submitter, Suspension, Timestamp,
};
use sched::Job;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The columns that [`read_job`] reads, from [`JOBS`].
pub(super) const JOB_COLUMNS: &str = "jobs.id, jobs.submission, jobs.task, jobs.waiting, jobs.uid, \
     submissions.gid, submissions.user_name, submissions.group_name, submissions.request, \
     submissions.batch, submissions.command, submissions.submit_host, jobs.state, \
     jobs.submitted_at, jobs.eligible_at, jobs.not_before, jobs.dependency, jobs.hold, \
     jobs.restarts, jobs.ending, jobs.outcome, jobs.ended_at, jobs.version, \
     jobs.request AS own_request, jobs.partition, job_starts.started_at, job_starts.time_limit, job_starts.shares, \
     job_starts.priority, job_starts.suspension, job_starts.partition AS start_partition";

/// Jobs with what was submitted and their last start.
pub(super) const JOBS: &str = "jobs JOIN submissions ON submissions.job = jobs.submission \
     LEFT JOIN job_starts ON job_starts.job = jobs.id AND job_starts.restart = jobs.restarts";

/// A row of `jobs`. Columns that only copy the request or the start, to be filtered by, are made as
/// it is written.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct JobRow {
    pub(super) id: JobId,
    pub(super) submission: JobId,
    pub(super) task: Option<u32>,
    /// The elements that wait, once rows of others may be forgotten.
    pub(super) waiting: Option<String>,
    pub(super) state: JobStateName,
    pub(super) submitted_at: Timestamp,
    pub(super) eligible_at: Option<Timestamp>,
    pub(super) not_before: Option<Timestamp>,
    pub(super) dependency: Option<String>,
    pub(super) hold: Option<Hold>,
    pub(super) restarts: RestartCount,
    pub(super) ending: Option<Ending>,
    pub(super) outcome: Option<Outcome>,
    pub(super) ended_at: Option<Timestamp>,
    pub(super) version: u64,
}

/// Why a job is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hold {
    User,
    Admin,
    Requeued,
    LaunchFailed,
    ReservationDeleted,
}

/// What a row of `job_starts` says of a job that runs or ran.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StartRow<'a> {
    pub(super) partition: Option<Cow<'a, str>>,
    pub(super) started_at: Timestamp,
    pub(super) limit: Option<Seconds>,
    pub(super) shares: Cow<'a, [NodeShare]>,
    pub(super) priority: Option<u32>,
    pub(super) suspension: Option<Suspension>,
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

impl Hold {
    const ALL: [Hold; 5] = [
        Hold::User,
        Hold::Admin,
        Hold::Requeued,
        Hold::LaunchFailed,
        Hold::ReservationDeleted,
    ];

    /// As the column has it.
    pub(super) fn text(self) -> &'static str {
        match self {
            Hold::User => "user",
            Hold::Admin => "admin",
            Hold::Requeued => "requeued",
            Hold::LaunchFailed => "launch_failed",
            Hold::ReservationDeleted => "reservation_deleted",
        }
    }

    fn of(job: &Job) -> Option<Hold> {
        match &job.state {
            JobState::Pending { reason } if job.priority == 0 => Some(match reason {
                PendingReason::LaunchFailedRequeuedHeld => Hold::LaunchFailed,
                PendingReason::ReservationDeleted => Hold::ReservationDeleted,
                PendingReason::JobHeldAdmin => Hold::Admin,
                PendingReason::RequeuedHeld => Hold::Requeued,
                _ => Hold::User,
            }),
            JobState::Running {
                held: Some(held), ..
            } => Some(match held {
                HeldBy::User => Hold::User,
                HeldBy::Admin => Hold::Admin,
            }),
            _ if job.priority == 0 => Some(Hold::User),
            JobState::Pending { .. } | JobState::Running { .. } | JobState::Ended { .. } => None,
        }
    }

    /// Who holds a job that runs.
    fn by(self) -> Option<HeldBy> {
        match self {
            Hold::User => Some(HeldBy::User),
            Hold::Admin => Some(HeldBy::Admin),
            Hold::Requeued | Hold::LaunchFailed | Hold::ReservationDeleted => None,
        }
    }

    /// A reason that no pass would find.
    fn reason(self) -> PendingReason {
        match self {
            Hold::User => PendingReason::None,
            Hold::Admin => PendingReason::JobHeldAdmin,
            Hold::Requeued => PendingReason::RequeuedHeld,
            Hold::LaunchFailed => PendingReason::LaunchFailedRequeuedHeld,
            Hold::ReservationDeleted => PendingReason::ReservationDeleted,
        }
    }
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
            id: job.id,
            submission: job.submitted_as(),
            task,
            waiting,
            state: match &job.state {
                // One that is being ended is still `RUNNING` here: its start has no end.
                JobState::Running { .. } => JobStateName::Running,
                state => JobStateName::of(state),
            },
            submitted_at: job.submitted,
            eligible_at: job.eligible,
            not_before: job.not_before,
            dependency: job.dependency.as_ref().map(|it| it.to_string()),
            hold: Hold::of(job),
            restarts: job.restarts,
            ending,
            outcome,
            ended_at,
            version: job.version,
        }
    }

    fn read(row: &NamedRow<'_>) -> rusqlite::Result<JobRow> {
        let moment = |column: &str| -> rusqlite::Result<Option<Timestamp>> {
            Ok(row.get::<Option<i64>>(column)?.map(Timestamp))
        };
        let state: String = row.get("state")?;
        let hold: Option<String> = row.get("hold")?;
        let version: i64 = row.get("version")?;
        let ended_at = moment("ended_at")?;
        Ok(JobRow {
            id: JobId(row.get("id")?),
            submission: JobId(row.get("submission")?),
            task: row.get("task")?,
            waiting: row.get("waiting")?,
            state: JobStateName::parse(&state).unwrap_or(JobStateName::Pending),
            submitted_at: Timestamp(row.get("submitted_at")?),
            eligible_at: moment("eligible_at")?,
            not_before: moment("not_before")?,
            dependency: row.get("dependency")?,
            hold: hold.map(|text| {
                let known = Hold::ALL.into_iter().find(|hold| hold.text() == text);
                known.unwrap_or(Hold::User)
            }),
            restarts: row.get("restarts")?,
            ending: json_or_none(row, "ending")?,
            outcome: ended_at.map(|_| json(row, "outcome")).transpose()?,
            ended_at,
            version: u64::try_from(version).unwrap_or(0),
        })
    }

    /// The job; `own_elements` are those of its array that have rows of their own.
    fn into_job(
        self,
        submission: &SubmissionRow,
        request: Arc<Request>,
        start: Option<StartRow<'_>>,
        own_elements: &BTreeSet<u32>,
    ) -> Job {
        let started_with = start.as_ref().and_then(|start| start.priority);
        let priority = match (self.hold, self.state, started_with) {
            (Some(_), state, _) if state != JobStateName::Running => 0,
            (None, JobStateName::Pending, _) | (_, _, None) => sched::priority_of(&request),
            (_, _, Some(priority)) => priority,
        };
        let array = submission.array.as_ref().map(|spec| ArrayPlace {
            array_job: self.submission,
            task: self.array_task(spec, own_elements),
            throttle: request
                .rare
                .array_throttle
                .or(spec.throttle)
                .filter(|most| *most > 0),
        });
        let partition = start.as_ref().and_then(|start| start.partition.clone());
        let (outcome, ended_at) = (self.outcome, self.ended_at);
        let state = match (outcome.zip(ended_at), start) {
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
                suspension: start.suspension,
                held: self.hold.and_then(Hold::by),
            },
            (None, _) => JobState::Pending {
                reason: self.hold.map_or(PendingReason::None, Hold::reason),
            },
        };
        let partition = partition.filter(|_| !matches!(state, JobState::Pending { .. }));
        let dependency = self.dependency.as_deref().and_then(Dependency::parse);
        Job {
            id: self.id,
            array: array.map(Box::new),
            submitter: Arc::clone(&submission.submitter),
            request,
            partition: partition.map(Cow::into_owned),
            not_before: self.not_before,
            dependency: dependency.map(Arc::new),
            state,
            submitted: self.submitted_at,
            eligible: self.eligible_at,
            priority,
            restarts: self.restarts,
            batch: submission.batch,
            version: self.version,
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

impl<'a> StartRow<'a> {
    /// The start of a job that runs or ran.
    pub(super) fn of(job: &'a Job) -> Option<StartRow<'a>> {
        let (started_at, allocation, limit, suspension) = match &job.state {
            JobState::Pending { .. } => return None,
            JobState::Running {
                since,
                allocation,
                limit,
                suspension,
                ..
            } => (*since, allocation, *limit, *suspension),
            JobState::Ended { ran, .. } => {
                let ran = ran.as_ref()?;
                (ran.since, &ran.allocation, ran.limit, None)
            }
        };
        Some(StartRow {
            partition: job.partition.as_deref().map(Cow::Borrowed),
            started_at,
            limit,
            shares: Cow::Borrowed(&allocation.nodes),
            priority: Some(job.priority),
            suspension,
        })
    }

    fn read(row: &NamedRow<'_>) -> rusqlite::Result<Option<StartRow<'static>>> {
        let started_at: Option<i64> = row.get("started_at")?;
        let shares: Option<Vec<NodeShare>> = json_or_none(row, "shares")?;
        let (Some(started_at), Some(shares)) = (started_at, shares) else {
            return Ok(None);
        };
        let partition: Option<String> = row.get("start_partition")?;
        Ok(Some(StartRow {
            partition: partition.map(Cow::Owned),
            started_at: Timestamp(started_at),
            limit: count(row, "time_limit")?.map(Seconds),
            shares: Cow::Owned(shares),
            priority: row.get("priority")?,
            suspension: json_or_none(row, "suspension")?,
        }))
    }

    /// The nodes in Slurm's folded form.
    pub(super) fn node_list(&self) -> String {
        node_list(&self.shares)
    }

    pub(super) fn shares_text(&self) -> rusqlite::Result<String> {
        to_json(&self.shares)
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

/// A job, as the columns of [`JOB_COLUMNS`] tell of it. Of an array's row that waits, `own` gives the
/// elements that have rows of their own.
pub(super) fn read_job(
    row: &NamedRow<'_>,
    last: &mut LastSubmission,
    own: impl FnOnce(JobId) -> rusqlite::Result<BTreeSet<u32>>,
) -> rusqlite::Result<Job> {
    let job = JobRow::read(row)?;
    let start = StartRow::read(row)?;
    let submission = last.of_row(row, job.submission)?;
    // Changed since by `scontrol update`.
    let request = match json_or_none::<Request>(row, "own_request")? {
        Some(own) => Arc::new(own),
        None => Arc::clone(&submission.request),
    };
    let own = match (&submission.array, job.task) {
        (Some(_), None) => own(job.submission)?,
        _ => BTreeSet::new(),
    };
    Ok(job.into_job(submission, request, start, &own))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::NodeName;

    /// What is written is what is read.
    #[track_caller]
    fn check(change: impl FnOnce(&mut Job)) {
        let submitter = Arc::new(Submitter {
            uid: 1000,
            user: "ann".to_owned(),
            ..Submitter::default()
        });
        let mut request = Request::default();
        request.rare.dependency = Some("afterok:3:4,singleton".to_owned());
        let mut job = Job::submitted(JobId(7), request, submitter, Timestamp(5));
        change(&mut job);
        let submission = SubmissionRow {
            submitter: Arc::clone(&job.submitter),
            request: Arc::clone(&job.request),
            array: job.array.as_ref().map(|_| ArraySpec {
                indices: vec![1, 2, 3],
                step: 1,
                throttle: Some(2),
            }),
            batch: job.batch,
        };
        let (row, start) = (JobRow::of(&job), StartRow::of(&job));
        let request = Arc::clone(&job.request);
        let read = row.into_job(&submission, request, start, &BTreeSet::from([1]));
        assert_eq!(read, job);
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
            suspension,
            held: None,
        }
    }

    #[test]
    fn a_job_is_read_as_it_was_written() {
        check(|_| {});
        check(|job| {
            (job.priority, job.version) = (0, 12);
            job.not_before = Some(Timestamp(77));
        });
        check(|job| {
            job.state = JobState::Pending {
                reason: PendingReason::LaunchFailedRequeuedHeld,
            };
            (job.priority, job.restarts) = (0, 2);
        });
        for reason in [PendingReason::JobHeldAdmin, PendingReason::RequeuedHeld] {
            check(|job| {
                job.state = JobState::Pending {
                    reason: reason.clone(),
                };
                job.priority = 0;
            });
        }
        check(|job| {
            job.state = running(None, None);
            if let JobState::Running { held, .. } = &mut job.state {
                *held = Some(HeldBy::Admin);
            }
            job.priority = 42;
        });
        check(|job| {
            job.state = running(Some(Ending::Requeue { hold: true }), None);
            job.partition = Some("gpu".to_owned());
            (job.eligible, job.dependency) = (Some(Timestamp(6)), None);
        });
        check(|job| {
            let suspension = Suspension {
                at: Timestamp(20),
                is_now: true,
                before_ms: 3,
                is_preempted: false,
            };
            job.state = running(None, Some(suspension));
            job.priority = 42;
        });
        check(|job| {
            job.state = JobState::Ended {
                outcome: Outcome::Completed,
                at: Timestamp(99),
                ran: Some(Ran {
                    since: Timestamp(9),
                    allocation: allocation(),
                    limit: None,
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
