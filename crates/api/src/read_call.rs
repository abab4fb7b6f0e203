//! Reading calls.

use crate::frame::read_bytes;
use crate::{Call, LONGEST_CALL};
use std::io::{self, Read};

/// How a submission begins.
const SUBMIT: &[u8] = br#"{"call":"submit","#;

/// Reads one call, or why it is none; `None` when the client closed the connection before it.
///
/// # Errors
/// As [`crate::read_frame`].
pub fn read_call(stream: &mut impl Read) -> io::Result<Option<serde_json::Result<Call>>> {
    let mut bytes = Vec::new();
    if !read_bytes(stream, LONGEST_CALL, &mut bytes)? {
        return Ok(None);
    }
    match parse(&bytes) {
        Err(error) if !error.is_data() => Err(error.into()),
        call => Ok(Some(call)),
    }
}

/// A submission is read as what it is: for a tagged enum serde would make a tree of all of it first.
fn parse(bytes: &[u8]) -> serde_json::Result<Call> {
    if bytes.starts_with(SUBMIT) {
        serde_json::from_slice(bytes).map(Call::Submit)
    } else {
        serde_json::from_slice(bytes)
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails loudly")]
    use super::*;
    use crate::{AsUser, JobFilter, Submission, write_frame};
    use model::{JobId, Request};

    #[track_caller]
    fn check(call: &Call, begins: &[u8]) {
        let mut frame = Vec::new();
        write_frame(&mut frame, call).unwrap();
        assert!(frame[4..].starts_with(begins), "the quick way is taken");
        let read = read_call(&mut frame.as_slice()).unwrap().unwrap().unwrap();
        assert_eq!(format!("{read:?}"), format!("{call:?}"));
    }

    #[test]
    fn a_call_is_read_as_it_was_written() {
        let submission = Submission {
            token: "t".to_owned(),
            request: Request::default(),
            later: Vec::new(),
            script: Some("#!/bin/sh\n".to_owned()),
            args: vec!["a".to_owned()],
            command: None,
            environment: vec![("A".to_owned(), "b".to_owned())],
            umask: 0o22,
            submit_host: "here".to_owned(),
            as_user: None,
            step: None,
        };
        check(&Call::Submit(Box::new(submission)), SUBMIT);
        check(&Call::Steps { job: JobId(3) }, b"{");
        let request = Box::new(Request::default());
        let as_user = Some(AsUser { uid: 1, gid: 2 });
        check(&Call::Test { request, as_user }, b"{");
        let filter = JobFilter::of(&[JobId(3)]);
        for after in [None, Some(JobId(7))] {
            let filter = filter.clone();
            let whole = after.is_none();
            let call = Call::Jobs {
                filter,
                after,
                whole,
            };
            check(&call, b"{");
        }
        check(&Call::Stop, b"{");
    }

    #[test]
    fn a_call_that_there_is_not_is_told_from_what_is_no_json() {
        let read = |body: &[u8]| {
            let mut frame = u32::try_from(body.len()).unwrap().to_be_bytes().to_vec();
            frame.extend_from_slice(body);
            read_call(&mut frame.as_slice())
        };
        assert!(read(br#"{"call":"no_such"}"#).unwrap().unwrap().is_err());
        assert!(
            read(br#"{"call":"submit","token":3}"#)
                .unwrap()
                .unwrap()
                .is_err()
        );
        assert!(read(b"{").is_err());
        assert!(read(b"nonsense").is_err());
    }
}
