//! The runs that have to be done before this one starts (`[after] run`).

use super::history::events_of;
use folder::{Attempt, AwaitedRun, ComingBack, Event, LinkState, RunFolder, has_writer};
use std::io;

/// What became of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// All are done.
    Done,
    /// One goes on in this job.
    GoesOn {
        /// Its number.
        job: u32,
    },
    /// One will never be done by itself.
    Failed {
        /// In words.
        cause: String,
    },
}

/// Looks at them, for a start of a run. What was launched before does not wait again: the others may
/// be gone by then.
///
/// # Errors
/// A run folder that is there can't be read.
pub fn awaited(run: &RunFolder, now: Attempt, others: &[AwaitedRun]) -> io::Result<Awaited> {
    if others.is_empty() || was_launched(run, now)? {
        return Ok(Awaited::Done);
    }
    for other in others {
        match of_one(&RunFolder::at(&other.folder))? {
            Awaited::Done => {}
            Awaited::Failed { cause } => {
                let id = &other.id;
                let cause = format!("run {id}, after which this one comes, {cause}");
                return Ok(Awaited::Failed { cause });
            }
            goes_on @ Awaited::GoesOn { .. } => return Ok(goes_on),
        }
    }
    Ok(Awaited::Done)
}

fn was_launched(run: &RunFolder, now: Attempt) -> io::Result<bool> {
    for attempt in run.attempts()?.into_iter().filter(|before| *before < now) {
        let events = events_of(run, attempt)?;
        if events
            .iter()
            .any(|event| matches!(event, Event::Launched { .. }))
        {
            return Ok(true);
        }
    }
    Ok(false)
}

fn of_one(run: &RunFolder) -> io::Result<Awaited> {
    let failed = |cause: &str| {
        Ok(Awaited::Failed {
            cause: cause.to_owned(),
        })
    };
    if !run.links().is_dir() {
        return failed("was removed");
    }
    let last = run.attempts()?.pop();
    let events = last.map(|last| events_of(run, last)).transpose()?;
    for event in events.unwrap_or_default().iter().rev() {
        match event {
            Event::Finished { .. } => return Ok(Awaited::Done),
            Event::Failed { cause, .. } => return failed(&format!("failed: {cause}")),
            Event::ComingBack {
                how: ComingBack::Successor { job },
            } if !run.is_cancelled() => return Ok(Awaited::GoesOn { job: *job }),
            _ => {}
        }
    }
    if run.is_cancelled() {
        return failed("was cancelled");
    }
    // Its successor began at the same moment as this one, and is at work.
    if let Some(last) = last
        && has_writer(&run.events(last))
    {
        return Ok(Awaited::GoesOn { job: last.job });
    }
    // One that a person put into the queue again.
    let newest = run.read_links()?.pop().map(|link| link.state);
    if let (Some(LinkState::Submitted { job, .. }), Some(last)) = (newest, last)
        && job != last.job
    {
        return Ok(Awaited::GoesOn { job });
    }
    failed("ended without being done, and recorded no reason")
}

#[cfg(test)]
mod tests {
    use super::*;
    use folder::EventLog;
    use model::Timestamp;

    #[test]
    fn done_failed_cancelled_and_in_another_job() {
        let root = tempfile::tempdir().unwrap();
        let run = RunFolder::create(root.path(), "shop", "train-aaaa").unwrap();
        let now = Attempt { job: 9, restart: 0 };
        let look = |id: &str, events: &[Event], is_open: bool, want: &str| {
            let other = RunFolder::create(root.path(), "shop", id).unwrap();
            let attempt = Attempt { job: 3, restart: 0 };
            let mut log = EventLog::open(&other.events(attempt)).unwrap();
            for event in events {
                log.append(Timestamp(1), event.clone()).unwrap();
            }
            let log = is_open.then_some(log);
            let others = [AwaitedRun {
                id: id.to_owned(),
                folder: other.path().to_owned(),
            }];
            let found = match awaited(&run, now, &others).unwrap() {
                Awaited::Done => "done".to_owned(),
                Awaited::GoesOn { job } => format!("job {job}"),
                Awaited::Failed { cause } => cause,
            };
            assert_eq!(found, want, "{id}");
            drop(log);
        };
        let check = |id: &str, events: &[Event], want: &str| look(id, events, false, want);
        check(
            "a",
            &[Event::Finished {
                status: 0,
                left: None,
            }],
            "done",
        );
        let failed = Event::Failed {
            cause: "rank 1".to_owned(),
            status: Some(1),
        };
        check(
            "b",
            &[failed],
            "run b, after which this one comes, failed: rank 1",
        );
        let how = ComingBack::Successor { job: 8 };
        check("c", &[Event::ComingBack { how }], "job 8");
        let none =
            "run d, after which this one comes, ended without being done, and recorded no reason";
        check("d", &[], none);
        // The other's next start is at work.
        look("f", &[], true, "job 3");
        let gone = [AwaitedRun {
            id: "e".to_owned(),
            folder: root.path().join("e"),
        }];
        let found = awaited(&run, now, &gone).unwrap();
        let cause = "run e, after which this one comes, was removed".to_owned();
        assert_eq!(found, Awaited::Failed { cause });
    }
}
