//! An actor of the agent: a thread with an inbox, which shares nothing with the others. What it has to
//! say goes to the agent's loop.
//!
//! One that crashes keeps its inbox. By [`ActorName::after_crash`] it begins anew, or the agent goes on
//! without it or ends.

use super::outbox::Outbox;
use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::Receiver;

/// Which actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActorName {
    /// Looks after checkpoints by the conductor's orders.
    Keeper,
    /// Copies checkpoints and files.
    Copier,
    /// Removes what the job leaves on the node.
    CleanUp,
    /// Samples the node.
    Monitor,
    /// Copies event files.
    Logs,
    /// Looks at ranks that hang.
    Ranks,
    /// Runs programs beside the ranks.
    Services,
    /// Brings the data onto the node.
    Staging,
}

/// What follows when an actor has crashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AfterCrash {
    /// It begins anew, with the messages that wait for it.
    BeginAnew,
    /// The agent goes on without it.
    GoOn,
    /// The agent ends: the conductor starts another one, which finds on the disk what is to be saved.
    EndAgent,
}

/// One that crashes so often is left alone.
const MOST_CRASHES: u32 = 3;

impl ActorName {
    /// What follows when it has crashed so many times.
    pub(super) fn after_crash(self, crashes: u32) -> AfterCrash {
        match self {
            // Only they know what was promised to the conductor.
            ActorName::Keeper | ActorName::Copier | ActorName::CleanUp | ActorName::Staging => {
                AfterCrash::EndAgent
            }
            ActorName::Monitor | ActorName::Logs | ActorName::Ranks | ActorName::Services => {
                if crashes < MOST_CRASHES {
                    AfterCrash::BeginAnew
                } else {
                    AfterCrash::GoOn
                }
            }
        }
    }
}

impl fmt::Display for ActorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ActorName::Keeper => "what looks after checkpoints",
            ActorName::Copier => "what copies checkpoints",
            ActorName::CleanUp => "the clean-up",
            ActorName::Monitor => "the monitor",
            ActorName::Logs => "the copy of event files",
            ActorName::Ranks => "the look at ranks",
            ActorName::Services => "what runs services",
            ActorName::Staging => "the staging",
        })
    }
}

/// Starts an actor; `body` works off its inbox until no message can come any more. The channel is made
/// before, since actors know each other's.
pub(super) fn start<M: Send + 'static>(
    name: ActorName,
    outbox: Outbox,
    inbox: Receiver<M>,
    mut body: impl FnMut(&Receiver<M>, &Outbox) + Send + 'static,
) {
    std::thread::spawn(move || {
        let mut crashes = 0;
        // What a crash leaves half done is the body's own, which begins anew.
        while let Err(panic) = catch_unwind(AssertUnwindSafe(|| body(&inbox, &outbox))) {
            crashes += 1;
            let then = name.after_crash(crashes);
            outbox.crashed(name, words(panic.as_ref()), then);
            if then != AfterCrash::BeginAnew {
                return;
            }
        }
    });
}

/// What a panic says.
fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without words").to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::outbox::Message;
    use super::*;
    use std::sync::mpsc::channel;

    /// An actor that crashes at each `0` of its inbox; wanted: what it answered, and what the loop
    /// heard of its crashes.
    #[track_caller]
    fn check(name: ActorName, inbox: &[u32], answers: &[&str], crashes: &[AfterCrash]) {
        let (outbox, messages) = Outbox::new();
        let (sender, numbers) = channel();
        start(name, outbox, numbers, |inbox: &Receiver<u32>, outbox| {
            for number in inbox {
                assert!(number > 0, "a zero");
                outbox.note(format!("{number}"));
            }
        });
        for number in inbox {
            // One that is left alone takes nothing any more.
            let _ = sender.send(*number);
        }
        drop(sender);
        let (mut notes, mut ends) = (Vec::new(), Vec::new());
        for message in messages {
            match message {
                Message::Say(crate::protocol::Report::Note { text }) => notes.push(text),
                Message::Crashed { actor, why, then } => {
                    assert_eq!((actor, why.as_str()), (name, "a zero"));
                    ends.push(then);
                }
                other => panic!("{other:?}"),
            }
        }
        assert_eq!(notes, answers);
        assert_eq!(ends, crashes);
    }

    #[test]
    fn one_that_crashes_begins_anew_or_ends_the_agent() {
        use AfterCrash::{BeginAnew, EndAgent, GoOn};
        check(ActorName::Monitor, &[1, 2], &["1", "2"], &[]);
        check(ActorName::Monitor, &[1, 0, 2], &["1", "2"], &[BeginAnew]);
        let often = [BeginAnew, BeginAnew, GoOn];
        check(ActorName::Logs, &[0, 1, 0, 2, 0, 3], &["1", "2"], &often);
        check(ActorName::Copier, &[1, 0, 2], &["1"], &[EndAgent]);
        check(ActorName::Keeper, &[0, 2], &[], &[EndAgent]);
    }
}
