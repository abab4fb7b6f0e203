//! Which events are worth a message.

use super::wants;
use folder::{Event, StopReason};
use model::MailEvent;

/// What a message is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// The run's first start.
    Begin,
    /// It trained to its end.
    Done,
    /// It failed and stays so.
    Failed {
        /// In words.
        cause: String,
    },
    /// It was cancelled.
    Cancelled,
    /// It comes back after its time limit.
    Limit,
    /// It comes back after something else.
    ComesBack,
}

impl Occasion {
    /// What an event is; most are no occasion. `at_limit`: the job ends for its time limit.
    pub fn of(event: &Event, at_limit: bool, is_first: impl FnOnce() -> bool) -> Option<Occasion> {
        match event {
            Event::Started { .. } => is_first().then_some(Occasion::Begin),
            Event::Finished { .. } => Some(Occasion::Done),
            Event::Failed { cause, .. } => Some(Occasion::Failed {
                cause: cause.clone(),
            }),
            Event::Terminated {
                reason: Some(StopReason::Cancelled),
            } => Some(Occasion::Cancelled),
            Event::ComingBack { .. } if at_limit => Some(Occasion::Limit),
            Event::ComingBack { .. } => Some(Occasion::ComesBack),
            _ => None,
        }
    }

    /// Whether one of these words asks for it.
    #[must_use]
    pub fn is_wanted(&self, on: &[MailEvent]) -> bool {
        match self {
            Occasion::Begin => wants(on, MailEvent::Begin),
            Occasion::Done | Occasion::Cancelled => wants(on, MailEvent::End),
            Occasion::Failed { .. } => wants(on, MailEvent::Fail) || wants(on, MailEvent::End),
            Occasion::Limit => wants(on, MailEvent::TimeLimit) || wants(on, MailEvent::Requeue),
            Occasion::ComesBack => wants(on, MailEvent::Requeue),
        }
    }

    /// One word for it.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Occasion::Begin => "begin",
            Occasion::Done => "done",
            Occasion::Failed { .. } => "failed",
            Occasion::Cancelled => "cancelled",
            Occasion::Limit => "timeout",
            Occasion::ComesBack => "requeue",
        }
    }

    /// What became of the run, after its name.
    #[must_use]
    pub fn verb(&self) -> &'static str {
        match self {
            Occasion::Begin => "has started",
            Occasion::Done => "is done",
            Occasion::Failed { .. } => "failed",
            Occasion::Cancelled => "was cancelled",
            Occasion::Limit => "reached its time limit and comes back",
            Occasion::ComesBack => "was interrupted and comes back",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use MailEvent::{Begin, End, Fail, Requeue, TimeLimit};
    use folder::ComingBack;

    #[track_caller]
    fn check(event: Event, at_limit: bool, wanted_by: &[MailEvent]) {
        let occasion = Occasion::of(&event, at_limit, || true).unwrap();
        for on in [Begin, End, Fail, Requeue, TimeLimit] {
            let want = wanted_by.contains(&on);
            assert_eq!(occasion.is_wanted(&[on]), want, "{occasion:?} {on:?}");
        }
    }

    #[test]
    fn what_is_worth_a_message() {
        let failed = Event::Failed {
            cause: "rank 5".to_owned(),
            status: Some(1),
        };
        let how = ComingBack::Requeue;
        let reason = Some(StopReason::Cancelled);
        let started = || Event::Started {
            job: 1,
            restart: 0,
            nodes: Vec::new(),
        };
        check(started(), false, &[Begin]);
        check(
            Event::Finished {
                status: 0,
                left: None,
            },
            false,
            &[End],
        );
        check(failed, false, &[End, Fail]);
        check(Event::Terminated { reason }, false, &[End]);
        check(Event::ComingBack { how }, true, &[Requeue, TimeLimit]);
        check(Event::ComingBack { how }, false, &[Requeue]);
        assert_eq!(Occasion::of(&started(), false, || false), None);
    }
}
