//! A client as the last that brings a run back: its batch script was killed when no other process of
//! the run lived that could have.

use crate::failure::unusable;
use crate::requeue::put_back;
use crate::run_state::was_killed;
use crate::{FILE_PAUSE, Failure, Requeued, Run, RunState, select};
use backend::{JobView, ViewState};
use folder::{Attempt, ComingBack, Event, EventLog, LOST_IN_A_ROW, RankExit, RunFolder, was_lost};
use model::Timestamp;
use serde::{Deserialize, Serialize};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};
use train::{ResumeBy, ResumeOn, ResumePlan};

/// What was killed longer ago is a person's to bring back.
const RECENT: Duration = Duration::from_secs(3600);
/// How long another process may take that brings it back, and its cluster to say so.
const OTHERS: Duration = Duration::from_secs(30);

/// Looks after one run that its client waits for.
#[derive(Debug)]
pub struct LastDeputy {
    /// The run's id.
    id: String,
    /// Since when another process brings it back.
    others: Option<Instant>,
}

/// What becomes of a run that seemed to be over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Comeback {
    /// It is over; what kept it from coming back, where that is not its own end.
    Over(Option<Failure>),
    /// It comes back, brought by this client.
    Brought(Requeued),
    /// It is not over, or another process brings it back.
    GoesOn,
}

impl LastDeputy {
    /// Of the run with that id.
    #[must_use]
    pub fn of(id: &str) -> LastDeputy {
        LastDeputy {
            id: id.to_owned(),
            others: None,
        }
    }

    /// Brings a run back that stands so, where it has to come back and no other process is left to do it.
    /// A cluster that does not answer is waited for until the client `leaves`.
    pub fn see(&mut self, state: &RunState, leaves: &dyn Fn() -> bool) -> Comeback {
        if !matches!(state, RunState::Failed { .. }) {
            return Comeback::Over(None);
        }
        let (id, (sender, receiver)) = (self.id.clone(), channel());
        std::thread::spawn(move || {
            // The client may have left.
            let _ = sender.send(bring_back(&id));
        });
        let answer = loop {
            match receiver.recv_timeout(FILE_PAUSE) {
                Ok(answer) => break answer,
                Err(RecvTimeoutError::Timeout) if !leaves() => {}
                Err(_) => return Comeback::GoesOn,
            }
        };
        match answer {
            Ok(Comeback::GoesOn)
                if self.others.get_or_insert_with(Instant::now).elapsed() > OTHERS =>
            {
                Comeback::Over(None)
            }
            Ok(Comeback::Brought(how)) => {
                self.others = None;
                Comeback::Brought(how)
            }
            Ok(comeback) => comeback,
            Err(failure) => Comeback::Over(Some(failure)),
        }
    }
}

fn bring_back(id: &str) -> Result<Comeback, Failure> {
    // Asked anew: the answer that all share may be older than what another process has done.
    let mut selected = select(id)?;
    // What a conductor said counts first.
    if selected.run.as_ref().is_none_or(|run| !run.needs_cluster()) {
        return Ok(Comeback::Over(None));
    }
    let turn = selected
        .run
        .as_ref()
        .map(|run| run.folder.submission_turn());
    let _turn = turn.transpose()?;
    let mut transport = selected.open()?;
    let view = selected.view_through(&mut *transport)?;
    let (Some(run), Some(job)) = (&selected.run, &view) else {
        return Ok(Comeback::Over(None));
    };
    if job.state.is_live() {
        return Ok(Comeback::GoesOn);
    }
    let attempt = Attempt {
        job: job.id.0,
        restart: job.restarts,
    };
    let (_, json) = RunFolder::open(&run.entry.folder)?;
    let exits = run.folder.read_exits(attempt).unwrap_or_default();
    let starts = events_until(run, attempt);
    let now = Timestamp(sys::now());
    if run.cancelled || !may_come_back(job, &starts, &exits, &json.plan.resume, now) {
        return Ok(Comeback::Over(None));
    }
    let folder = run.folder.clone();
    let file = || unusable(folder.path());
    let Some(_held) = folder.claim_comeback(attempt).map_err(file())? else {
        return Ok(Comeback::GoesOn);
    };
    let cause = "the batch script was killed, and no other process of the run lived".to_owned();
    let how = ComingBack::Requeue;
    let mut log = EventLog::open(&folder.events(attempt)).map_err(file())?;
    for event in [Event::Lost { cause }, Event::ComingBack { how }] {
        log.append(now, event).map_err(file())?;
    }
    let how = put_back(&selected, &mut *transport, view)?;
    folder.settle_comeback(attempt).map_err(file())?;
    Ok(Comeback::Brought(how))
}

/// What its starts wrote down up to this one, which is last, also where it wrote nothing.
fn events_until(run: &Run, attempt: Attempt) -> Vec<Vec<Event>> {
    let before = run.starts.iter().filter(|start| start.attempt <= attempt);
    let mut starts: Vec<(Attempt, Vec<Event>)> = before
        .map(|start| {
            let events = start.events.iter().map(|line| line.event.clone());
            (start.attempt, events.collect())
        })
        .collect();
    if starts.last().is_none_or(|(last, _)| *last != attempt) {
        starts.push((attempt, Vec::new()));
    }
    starts.into_iter().map(|(_, events)| events).collect()
}

/// Whether a run has to come back whose last start stands so. `starts`: the events of each.
fn may_come_back(
    job: &JobView,
    starts: &[Vec<Event>],
    exits: &[RankExit],
    resume: &ResumePlan,
    now: Timestamp,
) -> bool {
    let ViewState::Ended { at, .. } = &job.state else {
        return false;
    };
    let recent = i64::try_from(RECENT.as_millis()).unwrap_or(i64::MAX);
    let last = starts.last().map_or(&[][..], Vec::as_slice);
    // This one counts as lost, whatever it had written.
    let lost_before = starts.iter().rev().skip(1);
    let lost_before = lost_before.take_while(|events| was_lost(events)).count();
    // Where the program's checkpoints are not seen, nothing tells whether it gets on.
    let is_too_often = !resume.own_checkpoints.value
        && !folder::has_progress(last)
        && lost_before + 1 >= LOST_IN_A_ROW as usize;
    was_killed(&job.state)
        && at.is_none_or(|at| now.since(at) <= recent)
        && resume.on.value.contains(&ResumeOn::NodeFailure)
        // Where another job waits to take over, that one does.
        && resume.by.value == ResumeBy::Requeue
        && !last.iter().any(Event::settles)
        && !exits.iter().any(RankExit::has_failed)
        && !is_too_often
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{JobId, Seconds};
    use train::{Notify, Resolved, Source};

    fn resume(on: &[ResumeOn], by: ResumeBy) -> ResumePlan {
        fn asked<T>(value: T) -> Resolved<T> {
            Resolved::new(value, Source::default("a test"))
        }
        ResumePlan {
            on: asked(on.to_vec()),
            by: asked(by),
            grace: asked(Seconds(3)),
            notify: asked(Notify::None),
            args: asked(Vec::new()),
            own_checkpoints: asked(false),
        }
    }

    fn job(how: &str, exit: &str) -> JobView {
        JobView {
            id: JobId(7),
            name: "digits".to_owned(),
            array: None,
            task: None,
            restarts: 0,
            submitted: None,
            state: ViewState::Ended {
                how: how.to_owned(),
                exit: exit.to_owned(),
                at: Some(Timestamp(0)),
            },
        }
    }

    fn exit(status: i32, signal: Option<i32>) -> RankExit {
        RankExit {
            rank: 0,
            status,
            signal,
            at: Timestamp(0),
            host: "n1".to_owned(),
            told_to_end: false,
        }
    }

    #[test]
    fn what_was_killed_comes_back_and_what_ended_does_not() {
        let by_requeue = resume(&[ResumeOn::NodeFailure], ResumeBy::Requeue);
        let killed = job("FAILED", "0:9");
        let check = |job: &JobView, starts: &[&[Event]], exits: &[RankExit], want: bool| {
            let starts: Vec<Vec<Event>> = starts.iter().map(|events| events.to_vec()).collect();
            let found = may_come_back(job, &starts, exits, &by_requeue, Timestamp(1000));
            assert_eq!(found, want, "{job:?} {starts:?} {exits:?}");
        };
        check(&killed, &[&[]], &[], true);
        check(&job("FAILED", "1:0"), &[&[]], &[], false);
        check(&job("CANCELLED", "0:9"), &[&[]], &[], false);
        // The conductor was about to have it requeued.
        let how = ComingBack::Requeue;
        check(&killed, &[&[Event::ComingBack { how }]], &[], true);
        let finished = Event::Finished {
            status: 0,
            left: None,
        };
        check(&killed, &[std::slice::from_ref(&finished)], &[], false);
        check(&killed, &[&[finished], &[]], &[], true);
        // The program's own failure, and one that SIGTERM ended.
        check(&killed, &[&[]], &[exit(1, None)], false);
        check(&killed, &[&[]], &[exit(0, None), exit(143, Some(15))], true);
        // No accident any more.
        check(&killed, &[&[], &[]], &[], true);
        check(&killed, &[&[], &[], &[]], &[], false);
        let out = Event::CheckpointOut {
            name: "c5".to_owned(),
            step: Some(5),
            bytes: 1,
            took_ms: 1,
            proven: true,
            written: None,
            again: false,
        };
        check(&killed, &[&[], &[], &[out]], &[], true);
    }

    #[test]
    fn a_program_with_checkpoints_of_its_own_is_never_lost_too_often() {
        let mut own = resume(&[ResumeOn::NodeFailure], ResumeBy::Requeue);
        for (has_own, want) in [(false, false), (true, true)] {
            own.own_checkpoints.value = has_own;
            let starts = vec![Vec::new(); 4];
            let killed = job("FAILED", "0:9");
            let found = may_come_back(&killed, &starts, &[], &own, Timestamp(1000));
            assert_eq!(found, want);
        }
    }

    #[test]
    fn only_what_asks_for_it_and_was_killed_lately() {
        let killed = job("FAILED", "0:9");
        let check = |resume: &ResumePlan, now: i64, want: bool| {
            let found = may_come_back(&killed, &[Vec::new()], &[], resume, Timestamp(now));
            assert_eq!(found, want, "{resume:?} {now}");
        };
        let on = [ResumeOn::Timeout, ResumeOn::NodeFailure];
        check(&resume(&on, ResumeBy::Requeue), 1000, true);
        check(&resume(&on[..1], ResumeBy::Requeue), 1000, false);
        check(&resume(&on, ResumeBy::Successor), 1000, false);
        check(&resume(&on, ResumeBy::Requeue), 3_601_000, false);
    }
}
