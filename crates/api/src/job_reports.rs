//! Jobs as answers carry them: who submitted them and what they ask for, which many have alike,
//! stands once.

use model::{
    JobHistory, JobRecord, JobRecordChange, JobStanding, JobStart, Request, StepRecord, Submitter,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// Jobs.
#[derive(Clone, Debug, Default)]
pub struct JobReports(pub Vec<JobRecord>);

/// Jobs with all of their starts and steps.
#[derive(Clone, Debug, Default)]
pub struct HistoryReports(pub Vec<JobHistory>);

/// A part of [`JobReports`], written as these are.
pub(crate) struct JobSlice<'a>(pub(crate) &'a [JobRecord]);

/// A part of [`HistoryReports`], likewise.
pub(crate) struct HistorySlice<'a>(pub(crate) &'a [JobHistory]);

/// [`JobReports`] on the wire: to each job its submitter and its request, by their places, and where it stands.
#[derive(Serialize, Deserialize)]
struct JobsWire<T> {
    submitters: Vec<Arc<Submitter>>,
    requests: Vec<Arc<Request>>,
    rows: Vec<(usize, usize, T)>,
}

/// Values that are shared, each once, by where they are.
struct Shared<T> {
    all: Vec<Arc<T>>,
    places: HashMap<*const T, usize>,
}

impl<T> Shared<T> {
    fn new() -> Shared<T> {
        Shared {
            all: Vec::new(),
            places: HashMap::new(),
        }
    }

    fn place(&mut self, value: &Arc<T>) -> usize {
        // Most often it is the one before.
        if let Some(last) = self.all.last()
            && Arc::ptr_eq(last, value)
        {
            return self.all.len() - 1;
        }
        *self.places.entry(Arc::as_ptr(value)).or_insert_with(|| {
            self.all.push(Arc::clone(value));
            self.all.len() - 1
        })
    }
}

impl<'a> JobsWire<&'a JobStanding> {
    fn of(records: impl Iterator<Item = &'a JobRecord>) -> JobsWire<&'a JobStanding> {
        let (mut submitters, mut requests) = (Shared::new(), Shared::new());
        let rows = records.map(|record| {
            let submitter = submitters.place(&record.submitter);
            (submitter, requests.place(&record.request), &record.standing)
        });
        let rows = rows.collect();
        JobsWire {
            submitters: submitters.all,
            requests: requests.all,
            rows,
        }
    }
}

impl JobsWire<JobStanding> {
    fn records<E: Error>(self) -> Result<Vec<JobRecord>, E> {
        let JobsWire {
            submitters,
            requests,
            rows,
        } = self;
        let missing = || E::custom("a job of an unknown submitter or request");
        let record = |(submitter, request, standing): (usize, usize, JobStanding)| {
            Ok(JobRecord {
                submitter: Arc::clone(submitters.get(submitter).ok_or_else(missing)?),
                request: Arc::clone(requests.get(request).ok_or_else(missing)?),
                standing,
            })
        };
        rows.into_iter().map(record).collect()
    }
}

impl Serialize for JobReports {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        JobSlice(&self.0).serialize(serializer)
    }
}

impl Serialize for JobSlice<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        JobsWire::of(self.0.iter()).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for JobReports {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<JobReports, D::Error> {
        JobsWire::<JobStanding>::deserialize(deserializer)?
            .records()
            .map(JobReports)
    }
}

/// [`HistoryReports`] on the wire: to each job its past.
#[derive(Serialize, Deserialize)]
struct HistoriesWire<'a, T> {
    jobs: JobsWire<T>,
    pasts: Vec<PastWire<'a>>,
}

#[derive(Serialize, Deserialize)]
struct PastWire<'a> {
    /// The first one first.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    starts: Cow<'a, [JobStart]>,
    /// Of all of them.
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    steps: Cow<'a, [StepRecord]>,
    #[serde(default, skip_serializing_if = "JobRecordChange::is_empty")]
    change: JobRecordChange,
}

impl Serialize for HistoryReports {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        HistorySlice(&self.0).serialize(serializer)
    }
}

impl Serialize for HistorySlice<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let pasts = self.0.iter().map(|history| PastWire {
            starts: Cow::Borrowed(&history.starts),
            steps: Cow::Borrowed(&history.steps),
            change: history.change.clone(),
        });
        HistoriesWire {
            jobs: JobsWire::of(self.0.iter().map(|history| &history.job)),
            pasts: pasts.collect(),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for HistoryReports {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<HistoryReports, D::Error> {
        let HistoriesWire::<JobStanding> { jobs, pasts } =
            HistoriesWire::deserialize(deserializer)?;
        let jobs = jobs.records()?;
        if jobs.len() != pasts.len() {
            return Err(D::Error::custom("not as many pasts as jobs"));
        }
        let histories = jobs.into_iter().zip(pasts);
        let histories = histories.map(|(job, past)| JobHistory {
            job,
            starts: past.starts.into_owned(),
            steps: past.steps.into_owned(),
            change: past.change,
        });
        Ok(HistoryReports(histories.collect()))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails loudly")]
    use super::*;
    use model::{JobId, JobState, NodeName, PendingReason, PlannedStart, Timestamp};

    fn record(id: u32, submitter: &Arc<Submitter>, request: &Arc<Request>) -> JobRecord {
        let standing = JobStanding {
            id: JobId(id),
            array: None,
            partition: None,
            not_before: None,
            dependency: Some("afterok:1".to_owned()),
            state: JobState::Pending {
                reason: PendingReason::Dependency,
            },
            submitted: Timestamp(7),
            eligible: None,
            accrues: None,
            is_age_limited: false,
            limit_by_rules: None,
            resized: None,
            planned: Some(PlannedStart {
                at: Timestamp(9),
                nodes: vec![NodeName::new("n1")],
            }),
            priority: 5,
            reservation: Some("r".to_owned()),
            restarts: 0,
            batch: true,
            prolog: None,
        };
        JobRecord {
            submitter: Arc::clone(submitter),
            request: Arc::clone(request),
            standing,
        }
    }

    fn request(name: &str) -> Arc<Request> {
        Arc::new(Request {
            name: name.to_owned(),
            ..Request::default()
        })
    }

    #[test]
    fn what_jobs_share_is_sent_once_and_shared_again() {
        let ann = Arc::new(Submitter::default());
        let (one, two) = (request("one"), request("two"));
        let jobs = vec![
            record(1, &ann, &one),
            record(2, &ann, &two),
            record(3, &ann, &one),
        ];
        let text = serde_json::to_string(&JobReports(jobs.clone())).unwrap();
        assert_eq!(text.matches("\"one\"").count(), 1, "{text}");
        let JobReports(read) = serde_json::from_str(&text).unwrap();
        assert_eq!(read, jobs);
        assert!(Arc::ptr_eq(&read[0].request, &read[2].request));

        let history = |job: &JobRecord| JobHistory {
            job: job.clone(),
            starts: Vec::new(),
            steps: Vec::new(),
            change: JobRecordChange::default(),
        };
        let histories: Vec<JobHistory> = jobs.iter().map(history).collect();
        let text = serde_json::to_string(&HistoryReports(histories.clone())).unwrap();
        let HistoryReports(read) = serde_json::from_str(&text).unwrap();
        assert_eq!(read, histories);
    }

    #[test]
    fn a_job_of_an_unknown_request_is_an_error() {
        let text = serde_json::to_string(&JobReports(vec![record(
            1,
            &Arc::default(),
            &request("one"),
        )]));
        let text = text.unwrap().replace("[[0,0,", "[[0,4,");
        let read = serde_json::from_str::<JobReports>(&text);
        assert!(read.unwrap_err().to_string().contains("unknown"), "{text}");
    }
}
