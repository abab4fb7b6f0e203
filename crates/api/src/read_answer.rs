//! Reading answers.

use crate::frame::read_bytes;
use crate::{Answer, HistoryReports, JobReports, LONGEST_ANSWER};
use model::JobId;
use serde::Deserialize;
use std::io::{self, Read};

/// How an answer to `jobs` begins.
const JOBS: &[u8] = br#"{"answer":"jobs","#;
/// How an answer to `watch` begins.
const WATCHED: &[u8] = br#"{"answer":"watched","#;
/// How an answer to `histories` begins.
const HISTORIES: &[u8] = br#"{"answer":"histories","#;

#[derive(Deserialize)]
struct Jobs {
    jobs: JobReports,
    #[serde(default)]
    rest_after: Option<JobId>,
}

#[derive(Deserialize)]
struct Histories {
    jobs: HistoryReports,
    rest_after: Option<JobId>,
}

/// Reads one answer into a buffer; `None` when the engine closed the connection before it.
///
/// # Errors
/// As [`crate::read_frame`].
pub(crate) fn read_answer(
    stream: &mut impl Read,
    buffer: &mut Vec<u8>,
) -> io::Result<Option<Answer>> {
    if !read_bytes(stream, LONGEST_ANSWER, buffer)? {
        return Ok(None);
    }
    Ok(Some(parse(buffer)?))
}

/// Many jobs are read as what they are: for a tagged enum serde would make a tree of all of it first.
fn parse(bytes: &[u8]) -> serde_json::Result<Answer> {
    if bytes.starts_with(JOBS) {
        let Jobs { jobs, rest_after } = serde_json::from_slice(bytes)?;
        Ok(Answer::Jobs { jobs, rest_after })
    } else if bytes.starts_with(WATCHED) {
        serde_json::from_slice(bytes).map(Answer::Watched)
    } else if bytes.starts_with(HISTORIES) {
        let Histories { jobs, rest_after } = serde_json::from_slice(bytes)?;
        Ok(Answer::Histories { jobs, rest_after })
    } else {
        serde_json::from_slice(bytes)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails loudly")]
    use super::*;
    use crate::{Watched, write_frame};

    #[track_caller]
    fn check(answer: &Answer, begins: &[u8]) {
        let mut frame = Vec::new();
        write_frame(&mut frame, answer).unwrap();
        assert!(frame[4..].starts_with(begins), "the quick way is taken");
        let read = read_answer(&mut frame.as_slice(), &mut Vec::new())
            .unwrap()
            .unwrap();
        assert_eq!(format!("{read:?}"), format!("{answer:?}"));
    }

    #[test]
    fn an_answer_is_read_as_it_was_written() {
        let jobs = JobReports::default();
        let histories = Answer::Histories {
            jobs: HistoryReports::default(),
            rest_after: Some(JobId(7)),
        };
        for rest_after in [None, Some(JobId(7))] {
            let jobs = jobs.clone();
            check(&Answer::Jobs { jobs, rest_after }, JOBS);
        }
        check(&Answer::Watched(Watched { jobs, version: 7 }), WATCHED);
        check(&histories, HISTORIES);
        let (job, now) = (JobId(3), None);
        let programs = crate::StepPrograms::default();
        let step = None;
        let submitted = Answer::Submitted {
            job,
            now,
            programs,
            step,
        };
        check(&submitted, b"{");
        check(&Answer::Done, b"{");
    }
}
