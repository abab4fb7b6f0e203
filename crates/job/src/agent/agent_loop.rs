//! The agent's loop: it alone talks to the conductor. It hands orders on to the actors and passes on
//! what they report, and says now and then that the node lives and how far a copy is.
//!
//! It touches no disk: a disk that hangs is no loss of the node.

use super::AgentError;
use super::actor::AfterCrash;
use super::keeper::KeeperMessage;
use super::outbox::Message;
use super::stacks::LookAtRanks;
use super::staging::StagingMessage;
use crate::protocol::{Order, Progress, Report};
use std::io::Write;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// The loop's memory.
#[derive(Debug)]
pub(super) struct AgentLoop<W> {
    /// Where the conductor reads.
    pub out: W,
    /// The node's name.
    pub node: String,
    /// The keeper's inbox.
    pub keeper: Sender<KeeperMessage>,
    /// The inbox of what looks at ranks.
    pub ranks: Sender<LookAtRanks>,
    /// The inbox of what stages.
    pub staging: Sender<StagingMessage>,
    /// The copy that is being made.
    pub copying: Option<Progress>,
    /// Whether the conductor reads no more.
    pub is_alone: bool,
}

impl<W: Write> AgentLoop<W> {
    /// Works until the agent is done.
    pub fn run(mut self, inbox: &Receiver<Message>, heartbeat: Duration) -> Result<(), AgentError> {
        let mut due = Instant::now();
        loop {
            match inbox.recv_timeout(due.saturating_duration_since(Instant::now())) {
                Ok(message) => {
                    if let Some(end) = self.take(message) {
                        return end;
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            if Instant::now() >= due {
                let progress = self.copying.clone();
                self.say(Report::Alive { progress });
                due = Instant::now() + heartbeat;
            }
        }
    }

    /// How the agent ends, where it does.
    fn take(&mut self, message: Message) -> Option<Result<(), AgentError>> {
        match message {
            Message::Order(Order::Stacks) => drop(self.ranks.send(LookAtRanks)),
            Message::Order(Order::Stage) => drop(self.staging.send(StagingMessage::Start)),
            Message::Order(Order::AbortStage) => drop(self.staging.send(StagingMessage::Abort)),
            Message::Order(order) => self.tell_keeper(KeeperMessage::Order(order)),
            Message::NoMoreOrders => self.alone(),
            Message::Say(report) => self.say(report),
            Message::Copying(progress) => self.copying = progress,
            Message::Crashed { actor, why, then } => {
                let what = match then {
                    AfterCrash::BeginAnew => "it begins anew",
                    AfterCrash::GoOn => "the run goes on without it",
                    AfterCrash::EndAgent => return Some(Err(AgentError::Crashed { actor, why })),
                };
                let text = format!("{actor} on {} crashed: {why}; {what}", self.node);
                self.say(Report::Note { text });
            }
            Message::Over(end) => {
                if let Err(error) = &end {
                    self.say(Report::Broken {
                        why: error.to_string(),
                        disk: sys::disk_errors::may_pass(error),
                    });
                }
                return Some(end);
            }
        }
        None
    }

    fn say(&mut self, report: Report) {
        if self.is_alone {
            return;
        }
        let line = report.line();
        let written = self.out.write_all(line.as_bytes());
        if written.and_then(|()| self.out.flush()).is_err() {
            self.alone();
        }
    }

    /// The conductor is gone, whichever way shows it first.
    fn alone(&mut self) {
        if !std::mem::replace(&mut self.is_alone, true) {
            self.tell_keeper(KeeperMessage::NoMoreOrders);
        }
    }

    fn tell_keeper(&self, message: KeeperMessage) {
        // One that is gone has said why, which comes as a message too.
        let _ = self.keeper.send(message);
    }
}

#[cfg(test)]
mod tests {
    use super::super::actor::ActorName;
    use super::super::outbox::Outbox;
    use super::*;
    use std::io;
    use std::sync::mpsc::channel;

    fn agent<W: Write>(out: W) -> (AgentLoop<W>, Receiver<KeeperMessage>, Receiver<LookAtRanks>) {
        let ((keeper, of_keeper), (ranks, of_ranks)) = (channel(), channel());
        let agent = AgentLoop {
            out,
            node: "n1".to_owned(),
            keeper,
            ranks,
            staging: channel().0,
            copying: None,
            is_alone: false,
        };
        (agent, of_keeper, of_ranks)
    }

    fn crash(then: AfterCrash) -> Message {
        Message::Crashed {
            actor: ActorName::Monitor,
            why: "a zero".to_owned(),
            then,
        }
    }

    /// Wanted: the lines that the conductor reads, without heartbeats, and whether the agent ended well.
    #[track_caller]
    fn check(messages: Vec<Message>, want: &[&str], ends_well: bool) {
        let mut out = Vec::new();
        let (agent, _keeper, _ranks) = agent(&mut out);
        let (outbox, inbox) = Outbox::new();
        for message in messages {
            outbox.send(message);
        }
        drop(outbox);
        let end = agent.run(&inbox, Duration::from_secs(3600));
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text
            .lines()
            .filter(|line| !line.contains("alive"))
            .collect();
        assert_eq!((lines, end.is_ok()), (want.to_vec(), ends_well));
    }

    #[test]
    fn what_actors_say_reaches_the_conductor_in_order() {
        let said = |round| Message::Say(Report::Drained { round });
        check(
            vec![said(1), said(2), Message::Over(Ok(())), said(3)],
            &[
                r#"{"report":"drained","round":1}"#,
                r#"{"report":"drained","round":2}"#,
            ],
            true,
        );
        check(
            vec![crash(AfterCrash::BeginAnew), crash(AfterCrash::GoOn)],
            &[
                r#"{"report":"note","text":"the monitor on n1 crashed: a zero; it begins anew"}"#,
                r#"{"report":"note","text":"the monitor on n1 crashed: a zero; the run goes on without it"}"#,
            ],
            true,
        );
        // Its end is a loss, and no failure of the run.
        check(vec![crash(AfterCrash::EndAgent), said(1)], &[], false);
        let full = AgentError::System {
            what: "writing",
            source: io::Error::from_raw_os_error(28),
        };
        check(
            vec![Message::Over(Err(full))],
            &[
                r#"{"report":"broken","why":"writing failed: No space left on device (os error 28)","disk":true}"#,
            ],
            false,
        );
    }

    #[test]
    fn each_actor_has_its_orders_and_the_heartbeat_goes_on() {
        let mut out = Vec::new();
        let (agent, keeper, ranks) = agent(&mut out);
        let (outbox, inbox) = Outbox::new();
        outbox.send(Message::Copying(Some(Progress {
            kind: crate::protocol::Copying::Save,
            name: "step-5".to_owned(),
            bytes: 3,
            of: 9,
        })));
        outbox.send(Message::Order(Order::Stacks));
        outbox.send(Message::Order(Order::Notify));
        outbox.send(Message::NoMoreOrders);
        outbox.send(Message::NoMoreOrders);
        outbox.send(Message::Over(Ok(())));
        agent.run(&inbox, Duration::ZERO).unwrap();
        assert_eq!(ranks.iter().count(), 1);
        let orders: Vec<KeeperMessage> = keeper.iter().collect();
        assert!(matches!(
            orders[..],
            [
                KeeperMessage::Order(Order::Notify),
                KeeperMessage::NoMoreOrders
            ]
        ));
        let text = String::from_utf8(out).unwrap();
        assert!(
            text.contains(
                r#"{"report":"alive","progress":{"kind":"save","name":"step-5","bytes":3,"of":9}}"#
            ),
            "{text}"
        );
    }

    #[test]
    fn a_conductor_that_reads_no_more_is_gone() {
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let (agent, keeper, _ranks) = agent(Closed);
        let (outbox, inbox) = Outbox::new();
        outbox.note("a".to_owned());
        outbox.note("b".to_owned());
        drop(outbox);
        agent.run(&inbox, Duration::from_secs(3600)).unwrap();
        let told: Vec<KeeperMessage> = keeper.iter().collect();
        assert!(matches!(told[..], [KeeperMessage::NoMoreOrders]));
    }
}
