//! How a job of a run is submitted, so that it is never submitted twice and never lost:
//!
//! ```text
//! write the intent ── submit ──┬── taken ────────────────────── write its number
//!        ▲                     ├── refused ──────────────────── write why
//!        │                     └── no answer ── look for it ─┬─ found: write its number
//!  an old intent ── look for it, found: write its number     └─ not found: the intent stays
//! ```

use crate::{FolderError, Link, LinkState, RunFolder, json_file};
use model::Timestamp;
use std::fmt::Display;
use std::io;
use std::time::Duration;
use sys::disk_errors::patiently;

/// An intent that is older was left behind: no submission takes so long, in milliseconds.
pub(crate) const LEFT_BEHIND_MS: i64 = 120_000;

/// How long a disk that takes nothing is waited for to note the number of a job that was taken.
const PATIENCE: Duration = Duration::from_secs(30);

/// A job of a run that is to be submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewLink<'a> {
    /// The number of its link, which is its script's argument.
    pub number: u32,
    /// The cluster that it goes to.
    pub cluster: &'a str,
    /// Tells this submission from all others.
    pub token: &'a str,
    /// The job whose end it waits for, to take over; `None`: a person started it.
    pub after: Option<u32>,
}

/// The way to a cluster, as far as submitting needs it.
pub trait Submitter {
    /// What it says where it fails.
    type Error: Display;

    /// The job that the cluster has with this token.
    ///
    /// # Errors
    /// The cluster does not answer.
    fn find(&mut self, token: &str) -> Result<Option<u32>, Self::Error>;

    /// Submits the job and returns its number.
    ///
    /// # Errors
    /// The cluster refused it, or its answer did not come.
    fn submit(&mut self, link: &NewLink<'_>) -> Result<u32, NotSubmitted<Self::Error>>;
}

/// Why there is no number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotSubmitted<E> {
    /// The cluster has no such job.
    Refused(E),
    /// It may have it all the same.
    NoAnswer(E),
}

/// Why a job was not submitted.
#[derive(Debug)]
pub enum SubmissionError<E> {
    /// The run folder can't be read or written.
    Folder(FolderError),
    /// The cluster refused it, or does not answer.
    Cluster(E),
}

impl<E> From<FolderError> for SubmissionError<E> {
    fn from(error: FolderError) -> SubmissionError<E> {
        SubmissionError::Folder(error)
    }
}

impl RunFolder {
    /// Submits a job of the run, and notes it in the run's links. Returns its number and when the
    /// answer came. `now` tells the time.
    ///
    /// # Errors
    /// The folder can't be written, or the cluster did not take the job.
    pub fn submit<S: Submitter>(
        &self,
        link: &NewLink<'_>,
        by: &mut S,
        now: impl Fn() -> Timestamp,
    ) -> Result<(u32, Timestamp), SubmissionError<S::Error>> {
        let write = |state: LinkState| {
            self.write_link(&Link {
                number: link.number,
                cluster: link.cluster.to_owned(),
                token: link.token.to_owned(),
                after: link.after,
                state,
            })
        };
        let taken = |job: u32| -> Result<(u32, Timestamp), SubmissionError<S::Error>> {
            let at = now();
            // The cluster has the job: a disk that takes nothing for a while is waited for.
            let noted = || write(LinkState::Submitted { job, at });
            patiently(PATIENCE, || false, noted)?;
            Ok((job, at))
        };
        if self.has_intent(link)? {
            let found = by.find(link.token).map_err(SubmissionError::Cluster)?;
            if let Some(job) = found {
                return taken(job);
            }
        }
        write(LinkState::intent(now()))?;
        let error = match by.submit(link) {
            Ok(job) => return taken(job),
            Err(NotSubmitted::Refused(error)) => error,
            // One that is not there yet may arrive still: the intent stays, and whoever submits next, or asks for
            // the run, looks first.
            Err(NotSubmitted::NoAnswer(error)) => match by.find(link.token) {
                Ok(Some(job)) => return taken(job),
                Ok(None) | Err(_) => return Err(SubmissionError::Cluster(error)),
            },
        };
        write(LinkState::Refused {
            why: error.to_string(),
            at: now(),
        })?;
        Err(SubmissionError::Cluster(error))
    }

    /// Notes the number of a job that the cluster has, where who submitted it was killed or found no room before
    /// doing so, or took it for refused.
    ///
    /// # Errors
    /// The links can't be read or written.
    pub fn note_that_runs(&self, number: u32, job: u32, at: Timestamp) -> Result<(), FolderError> {
        let mut links = self.read_links()?.into_iter();
        let unnoted = links.find(|link| {
            link.number == number && !matches!(link.state, LinkState::Submitted { .. })
        });
        match unnoted {
            Some(link) => self.write_link(&Link {
                state: LinkState::Submitted { job, at },
                ..link
            }),
            None => Ok(()),
        }
    }

    /// Gives a submission up that was never answered, once the cluster said that it has no such job and no submission
    /// takes so long: nothing asks for it any more. It stays where another process submits a job of the run meanwhile,
    /// or the folder can't be written.
    ///
    /// # Errors
    /// The links can't be read or written.
    pub fn give_up(&self, asked: &Link, now: Timestamp) -> Result<(), FolderError> {
        let is_too_late = |at: Timestamp| now.since(at) > LEFT_BEHIND_MS;
        let LinkState::Intent { at, .. } = asked.state else {
            return Ok(());
        };
        if !is_too_late(at) {
            return Ok(());
        }
        let Some(_turn) = self.submission_turn_if_free()? else {
            return Ok(());
        };
        // It may have been submitted again before.
        if json_file::read::<Link>(&self.link(asked.number))? != *asked {
            return Ok(());
        }
        self.write_link(&Link {
            state: LinkState::Intent { at, given_up: true },
            ..asked.clone()
        })
    }

    /// Whether an earlier try at this link was never answered.
    fn has_intent(&self, link: &NewLink<'_>) -> Result<bool, FolderError> {
        match json_file::read::<Link>(&self.link(link.number)) {
            Ok(known) => {
                Ok(known.token == link.token && matches!(known.state, LinkState::Intent { .. }))
            }
            Err(FolderError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;

    /// A cluster with prepared answers, and what it was asked.
    struct Scripted {
        finds: Result<Option<u32>, &'static str>,
        answers: VecDeque<Result<u32, NotSubmitted<&'static str>>>,
        asked: Vec<&'static str>,
    }

    impl Submitter for Scripted {
        type Error = &'static str;

        fn find(&mut self, _token: &str) -> Result<Option<u32>, &'static str> {
            self.asked.push("find");
            self.finds
        }

        fn submit(&mut self, _link: &NewLink<'_>) -> Result<u32, NotSubmitted<&'static str>> {
            self.asked.push("submit");
            self.answers.pop_front().unwrap()
        }
    }

    const AT: Timestamp = Timestamp(7);

    /// `before`: what an earlier try left.
    #[track_caller]
    fn check(
        before: Option<LinkState>,
        finds: Result<Option<u32>, &'static str>,
        answer: Result<u32, NotSubmitted<&'static str>>,
        asked: &[&str],
        left: &LinkState,
    ) {
        let root = tempfile::tempdir().unwrap();
        let run = RunFolder::create(root.path(), "shop", "digits-k3f9").unwrap();
        let link = NewLink {
            number: 1,
            cluster: "rig",
            token: "digits-k3f9.1.x",
            after: None,
        };
        if let Some(state) = before {
            let link = Link {
                number: 1,
                cluster: "rig".to_owned(),
                token: "digits-k3f9.1.x".to_owned(),
                after: None,
                state,
            };
            run.write_link(&link).unwrap();
        }
        let mut by = Scripted {
            finds,
            answers: VecDeque::from([answer]),
            asked: Vec::new(),
        };
        let result = run.submit(&link, &mut by, || AT);
        assert_eq!(by.asked, asked);
        let links = run.read_links().unwrap();
        assert_eq!(&links[0].state, left);
        let is_taken = matches!(left, LinkState::Submitted { .. });
        assert_eq!(result.is_ok(), is_taken);
    }

    #[test]
    fn a_job_is_looked_for_before_it_is_sent_again() {
        let intent = || LinkState::intent(AT);
        let taken = LinkState::Submitted { job: 17, at: AT };
        let refused = LinkState::Refused {
            why: "no".to_owned(),
            at: AT,
        };
        let late = || Err(NotSubmitted::NoAnswer("no"));
        check(None, Ok(None), Ok(17), &["submit"], &taken);
        let no = Err(NotSubmitted::Refused("no"));
        check(None, Ok(None), no, &["submit"], &refused);
        check(None, Ok(Some(17)), late(), &["submit", "find"], &taken);
        check(None, Ok(None), late(), &["submit", "find"], &intent());
        check(None, Err("down"), late(), &["submit", "find"], &intent());
        check(Some(intent()), Ok(Some(17)), late(), &["find"], &taken);
        check(
            Some(intent()),
            Ok(None),
            Ok(17),
            &["find", "submit"],
            &taken,
        );
        check(Some(intent()), Err("down"), Ok(17), &["find"], &intent());
        check(Some(refused.clone()), Ok(None), Ok(17), &["submit"], &taken);
    }

    /// Its client found the folder read-only: the run was never submitted, it seemed.
    #[test]
    fn a_job_that_runs_is_noted_where_only_the_intent_is() {
        let root = tempfile::tempdir().unwrap();
        let run = RunFolder::create(root.path(), "shop", "digits-k3f9").unwrap();
        let link = |state: LinkState| Link {
            number: 1,
            cluster: "rig".to_owned(),
            token: "digits-k3f9.1.x".to_owned(),
            after: None,
            state,
        };
        let why = "no answer".to_owned();
        for left in [LinkState::intent(AT), LinkState::Refused { why, at: AT }] {
            run.write_link(&link(left)).unwrap();
            run.note_that_runs(2, 8, AT).unwrap();
            run.note_that_runs(1, 7, AT).unwrap();
            let noted = link(LinkState::Submitted { job: 7, at: AT });
            // What is known stays.
            run.note_that_runs(1, 9, AT).unwrap();
            assert_eq!(run.read_links().unwrap(), [noted]);
        }
    }

    #[test]
    fn an_intent_is_given_up_once_no_job_can_come_of_it() {
        let root = tempfile::tempdir().unwrap();
        let run = RunFolder::create(root.path(), "shop", "digits-k3f9").unwrap();
        let link = Link {
            number: 1,
            cluster: "rig".to_owned(),
            token: "digits-k3f9.1.x".to_owned(),
            after: None,
            state: LinkState::intent(AT),
        };
        run.write_link(&link).unwrap();
        let is_given_up = || {
            let links = run.read_links().unwrap();
            matches!(links[0].state, LinkState::Intent { given_up: true, .. })
        };
        let late = Timestamp(AT.0 + LEFT_BEHIND_MS + 1);
        run.give_up(&link, Timestamp(AT.0 + LEFT_BEHIND_MS))
            .unwrap();
        assert!(!is_given_up());
        // Somebody is at it.
        let turn = run.submission_turn().unwrap();
        run.give_up(&link, late).unwrap();
        assert!(!is_given_up());
        drop(turn);
        // It was tried again since it was looked at.
        let former = Link {
            state: LinkState::intent(Timestamp(AT.0 - 1)),
            ..link.clone()
        };
        run.give_up(&former, late).unwrap();
        assert!(!is_given_up());
        run.give_up(&link, late).unwrap();
        assert!(is_given_up());
        // Its number is taken again, and a job that comes all the same is noted.
        run.note_that_runs(1, 7, late).unwrap();
        let noted = LinkState::Submitted { job: 7, at: late };
        assert_eq!(run.read_links().unwrap()[0].state, noted);
    }
}
