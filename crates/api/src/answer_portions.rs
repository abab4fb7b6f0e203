//! Long lists of jobs are sent in portions, so that a client reads one while the next is made.

use crate::frame::append_frame;
use crate::job_reports::{HistorySlice, JobSlice};
use crate::{Answer, Call};
use model::{JobHistory, JobId};
use serde::Serialize;
use std::io::{self, Write};

/// Jobs of a portion: so few that the first is soon there.
const PORTION: usize = 200;

/// Portions of [`Answer`]s, written as these are.
#[derive(Serialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
enum Portion<'a> {
    Jobs {
        jobs: JobSlice<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        rest_after: Option<JobId>,
    },
    Histories {
        jobs: HistorySlice<'a>,
        rest_after: Option<JobId>,
    },
}

/// A call that asks for one portion after another.
#[derive(Debug)]
pub struct WholeCall(Call);

impl WholeCall {
    /// The call, if it is one.
    #[must_use]
    pub fn of(call: &Call) -> Option<WholeCall> {
        let (Call::Jobs { whole, .. } | Call::Histories { whole, .. }) = call else {
            return None;
        };
        whole.then(|| WholeCall(call.clone()))
    }

    /// Writes an answer to it, and says what to ask for then; none where all is answered.
    ///
    /// # Errors
    /// The stream's own.
    pub fn write(
        &mut self,
        stream: &mut impl Write,
        frames: &mut Vec<u8>,
        answer: &Answer,
    ) -> io::Result<Option<Call>> {
        let rest = match answer {
            Answer::Jobs { jobs, rest_after } => {
                let portion = |jobs, rest_after| Portion::Jobs {
                    jobs: JobSlice(jobs),
                    rest_after,
                };
                in_portions(
                    stream,
                    frames,
                    (&jobs.0, *rest_after),
                    |job| job.id,
                    portion,
                )?
            }
            Answer::Histories { jobs, rest_after } => {
                let portion = |jobs, rest_after| Portion::Histories {
                    jobs: HistorySlice(jobs),
                    rest_after,
                };
                let id = |history: &JobHistory| history.job.id;
                in_portions(stream, frames, (&jobs.0, *rest_after), id, portion)?
            }
            refused => {
                append_frame(frames, refused)?;
                stream.write_all(frames)?;
                frames.clear();
                None
            }
        };
        let Some(rest) = rest else { return Ok(None) };
        match &mut self.0 {
            Call::Jobs { after, .. } => *after = Some(rest),
            Call::Histories { after, .. } => *after = rest,
            _ => return Ok(None),
        }
        Ok(Some(self.0.clone()))
    }
}

/// Writes jobs and after which one the rest begins, of which the last portion tells; says it.
fn in_portions<'a, T>(
    stream: &mut impl Write,
    frames: &mut Vec<u8>,
    (mut jobs, rest_after): (&'a [T], Option<JobId>),
    id: impl Fn(&T) -> JobId,
    portion: impl Fn(&'a [T], Option<JobId>) -> Portion<'a>,
) -> io::Result<Option<JobId>> {
    loop {
        let (first, rest) = jobs.split_at(jobs.len().min(PORTION));
        let is_last = rest.is_empty();
        let after = if is_last {
            rest_after
        } else {
            first.last().map(&id)
        };
        append_frame(frames, &portion(first, after))?;
        stream.write_all(frames)?;
        frames.clear();
        if is_last {
            return Ok(rest_after);
        }
        jobs = rest;
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails loudly")]
    use super::*;
    use crate::read_answer::read_answer;
    use crate::{HistoryReports, JobFilter, JobReports};
    use model::{JobRecord, JobRecordChange, JobStanding};

    fn jobs(count: usize) -> Vec<JobRecord> {
        let text = r#"{"id":1,"is":{"pending":{"reason":"none"}},"at":7}"#;
        let standing: JobStanding = serde_json::from_str(text).unwrap();
        let record = |id| JobRecord {
            submitter: Default::default(),
            request: Default::default(),
            standing: JobStanding {
                id: JobId(id),
                ..standing.clone()
            },
        };
        (1..).take(count).map(record).collect()
    }

    /// What is written of an answer: so many jobs a portion, and where the next begins.
    #[track_caller]
    fn check(call: &Call, answer: &Answer, want: &[(usize, Option<u32>)], next: Option<JobId>) {
        let mut stream = Vec::new();
        let mut whole = WholeCall::of(call).unwrap();
        let then = whole.write(&mut stream, &mut Vec::new(), answer).unwrap();
        let mut stream = stream.as_slice();
        let mut found = Vec::new();
        while let Some(answer) = read_answer(&mut stream, &mut Vec::new()).unwrap() {
            let (count, rest) = match answer {
                Answer::Jobs { jobs, rest_after } => (jobs.0.len(), rest_after),
                Answer::Histories { jobs, rest_after } => (jobs.0.len(), rest_after),
                other => panic!("{other:?}"),
            };
            found.push((count, rest.map(|id| id.0)));
        }
        assert_eq!(found, want);
        let after = match then {
            Some(Call::Jobs { after, .. }) => after,
            Some(Call::Histories { after, .. }) => Some(after),
            _ => None,
        };
        assert_eq!(after, next);
    }

    #[test]
    fn long_lists_go_in_portions() {
        let call = Call::Jobs {
            filter: JobFilter::default(),
            after: None,
            whole: true,
        };
        let of = |count, rest_after| Answer::Jobs {
            jobs: JobReports(jobs(count)),
            rest_after,
        };
        check(&call, &of(0, None), &[(0, None)], None);
        check(&call, &of(200, None), &[(200, None)], None);
        let two = [(200, Some(200)), (1, None)];
        check(&call, &of(201, None), &two, None);
        let more = [(200, Some(200)), (100, Some(700))];
        check(&call, &of(300, Some(JobId(700))), &more, Some(JobId(700)));

        let call = Call::Histories {
            filter: JobFilter::default(),
            after: JobId(0),
            most: u32::MAX,
            whole: true,
        };
        let history = |job| JobHistory {
            job,
            starts: Vec::new(),
            steps: Vec::new(),
            change: JobRecordChange::default(),
        };
        let answer = Answer::Histories {
            jobs: HistoryReports(jobs(300).into_iter().map(history).collect()),
            rest_after: Some(JobId(300)),
        };
        let want = [(200, Some(200)), (100, Some(300))];
        check(&call, &answer, &want, Some(JobId(300)));
    }

    #[test]
    fn one_portion_alone_is_no_whole_call() {
        let call = Call::Jobs {
            filter: JobFilter::default(),
            after: None,
            whole: false,
        };
        assert!(WholeCall::of(&call).is_none() && WholeCall::of(&Call::Facts).is_none());
    }
}
