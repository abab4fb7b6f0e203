//! What the agent's loop hears, and the way to it that each actor has.

use super::AgentError;
use super::actor::{ActorName, AfterCrash};
use crate::protocol::{Order, Progress, Report};
use folder::Event;
use std::sync::mpsc::{Receiver, Sender, channel};

/// A message to the agent's loop.
#[derive(Debug)]
pub(super) enum Message {
    /// The conductor wants something.
    Order(Order),
    /// The conductor is gone.
    NoMoreOrders,
    /// The conductor is to hear this.
    Say(Report),
    /// How far the copy is that is being made.
    Copying(Option<Progress>),
    /// An actor crashed.
    Crashed {
        /// Which.
        actor: ActorName,
        /// What it said.
        why: String,
        /// What follows.
        then: AfterCrash,
    },
    /// The agent is done.
    Over(Result<(), AgentError>),
}

/// A way to the agent's loop. What is sent after the loop has ended is of no use to anyone.
#[derive(Clone, Debug)]
pub(super) struct Outbox(Sender<Message>);

impl Outbox {
    /// A way, and where it leads to.
    pub fn new() -> (Outbox, Receiver<Message>) {
        let (sender, receiver) = channel();
        (Outbox(sender), receiver)
    }

    /// A message; whether the loop is there.
    pub fn send(&self, message: Message) -> bool {
        self.0.send(message).is_ok()
    }

    /// Reports to the conductor.
    pub fn say(&self, report: Report) {
        self.send(Message::Say(report));
    }

    /// Something for the run's events.
    pub fn record(&self, event: Event) {
        self.say(Report::Record { event });
    }

    /// A sentence for the run's events.
    pub fn note(&self, text: String) {
        self.say(Report::Note { text });
    }

    pub(super) fn crashed(&self, actor: ActorName, why: String, then: AfterCrash) {
        self.send(Message::Crashed { actor, why, then });
    }
}
