//! A connection: its thread reads calls, hands them to the owner, and writes answers.

use crate::call_counts::{CallCounts, kind_of};
use crate::message::{Message, Peer, PendingCall};
use crate::open_connections::Admitted;
use crate::srun_folder;
use crate::users::Users;
use api::{
    Answer, AsUser, Call, EngineFolder, Hello, HelloAnswer, LONGEST_CALL, PROTOCOL, Refusal,
    VERSION, WholeCall, append_frame, read_call, read_frame,
};
use std::io::{self, BufReader, Write};
use std::mem;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant};

/// Longest wait for a client's first message.
const LONGEST_HELLO: Duration = Duration::from_secs(10);
/// Longest wait for a client that does not read its answer.
const LONGEST_WRITE: Duration = Duration::from_secs(60);

/// What is read at once: most calls fit.
const READ_AT_ONCE: usize = 8 << 10;

/// What connections share: what every client is greeted with, and who they are.
#[derive(Debug)]
pub(crate) struct Greeting {
    /// The engine's.
    pub(crate) folder: EngineFolder,
    /// The store's id.
    pub(crate) store: String,
    /// For the first client that shows it.
    pub(crate) notice: Mutex<Option<String>>,
    /// Names of those who submit.
    pub(crate) users: Arc<Users>,
    /// What callers want.
    pub(crate) calls: Arc<CallCounts>,
}

impl Greeting {
    fn take_notice(&self) -> Option<String> {
        let mut notice = self.notice.lock().unwrap_or_else(PoisonError::into_inner);
        notice.take()
    }
}

/// Where calls go, and what every connection needs.
#[derive(Debug)]
pub(crate) struct Connections {
    pub(crate) greeting: Greeting,
    pub(crate) owner: mpsc::Sender<Message>,
}

impl Connections {
    /// Serves a connection to its end.
    pub(crate) fn serve(&self, number: u64, stream: Arc<UnixStream>, admitted: Admitted) {
        let mut connection = Connection {
            stream,
            admitted,
            owner: &self.owner,
            number,
            has_allocation: false,
        };
        // A connection that breaks concerns its client alone.
        let _broken = connection.serve(&self.greeting);
        if connection.has_allocation {
            let _ended = self.owner.send(Message::Disconnected(number));
        }
    }
}

struct Connection<'a> {
    stream: Arc<UnixStream>,
    admitted: Admitted,
    owner: &'a mpsc::Sender<Message>,
    number: u64,
    /// It asked for a job without a script, which ends with it.
    has_allocation: bool,
}

impl Connection<'_> {
    fn serve(&mut self, greeting: &Greeting) -> io::Result<()> {
        let peer = Peer {
            uid: sys::socket::peer_uid(&self.stream)?,
            gid: sys::socket::peer_gid(&self.stream)?,
            pid: sys::socket::peer_pid(&self.stream)?,
            connection: self.number,
        };
        let stream = Arc::clone(&self.stream);
        let mut stream = &*stream;
        stream.set_read_timeout(Some(LONGEST_HELLO))?;
        stream.set_write_timeout(Some(LONGEST_WRITE))?;
        let mut calls = BufReader::with_capacity(READ_AT_ONCE, stream);
        let hello: Option<Hello> = read_frame(&mut calls, LONGEST_CALL)?;
        let Some(hello) = hello else { return Ok(()) };
        stream.set_read_timeout(None)?;
        let answer = HelloAnswer {
            version: VERSION.to_owned(),
            protocol: PROTOCOL,
            pid: std::process::id(),
            store: greeting.store.clone(),
            notice: hello
                .shows_notices
                .then(|| greeting.take_notice())
                .flatten(),
        };
        let mut answers = Vec::new();
        append_frame(&mut answers, &answer)?;
        // A client that said what it wants with its hello has both answers at once.
        if calls.buffer().is_empty() {
            stream.write_all(&mem::take(&mut answers))?;
        }
        if answer.notice.is_some() {
            let _ended = self.owner.send(Message::NoticeShown);
        }
        loop {
            let Some(call) = read_call(&mut calls)? else {
                return Ok(());
            };
            if !self.admitted.begin_call() {
                return Ok(());
            }
            let mut whole = call.as_ref().ok().and_then(WholeCall::of);
            let mut answer = match call {
                Ok(call @ Call::Handover(_)) => self.ask(call, peer, greeting),
                _ if hello.protocol != PROTOCOL => Answer::Refused(Refusal::Invalid {
                    message: format!(
                        "yard {} speaks protocol {}, this engine ({VERSION}) {PROTOCOL}",
                        hello.version, hello.protocol
                    ),
                }),
                Ok(call) => match whose(&call, peer) {
                    Ok(peer) => {
                        let names_its_caller = matches!(
                            call,
                            Call::Submit(_)
                                | Call::Test { .. }
                                | Call::ChangeCluster(_)
                                | Call::SetAccounting(_)
                        );
                        if names_its_caller {
                            greeting.users.learn(peer.uid, peer.gid);
                        }
                        if matches!(call, Call::Submit(_)) {
                            srun_folder::make(&greeting.folder, peer.uid, peer.gid);
                        }
                        self.ask(call, peer, greeting)
                    }
                    Err(refusal) => Answer::Refused(refusal),
                },
                Err(error) => Answer::Refused(Refusal::Invalid {
                    message: format!("call not understood: {error}"),
                }),
            };
            while let Some(whole) = &mut whole
                && let Some(next) = whole.write(&mut stream, &mut answers, &answer)?
            {
                answer = self.ask(next, peer, greeting);
            }
            if whole.is_none() {
                append_frame(&mut answers, &answer)?;
                stream.write_all(&mem::take(&mut answers))?;
            }
            // A job that ends with its connection keeps it.
            if !self.has_allocation {
                self.admitted.end_call();
            }
        }
    }

    fn ask(&mut self, call: Call, peer: Peer, greeting: &Greeting) -> Answer {
        if let Call::Submit(submission) = &call {
            self.has_allocation |= submission.ends_with_client();
        }
        let (reply, answer) = mpsc::channel();
        let (kind, is_watch) = (kind_of(&call), matches!(call, Call::Watch { .. }));
        let began = Instant::now();
        let asked = PendingCall { call, peer, reply };
        let sent = self.owner.send(Message::Call(Box::new(asked)));
        // An owner that ended in between refuses nothing any more; the next engine will answer.
        let answer = sent
            .ok()
            .and_then(|()| answer.recv().ok())
            .unwrap_or(Answer::Refused(Refusal::Stopping));
        // A watcher waits for jobs, not for the engine.
        let length = if is_watch {
            Duration::ZERO
        } else {
            began.elapsed()
        };
        greeting.calls.note(kind, peer.uid, length);
        answer
    }
}

/// Whose a call is: of root's, jobs may be another user's, and all that is done with them is done as that user.
fn whose(call: &Call, peer: Peer) -> Result<Peer, Refusal> {
    let as_user = match call {
        Call::Submit(submission) => submission.as_user,
        Call::Test { as_user, .. } => *as_user,
        _ => None,
    };
    match as_user {
        None => Ok(peer),
        Some(AsUser { uid, gid }) if peer.uid == 0 => Ok(Peer { uid, gid, ..peer }),
        Some(_) => Err(Refusal::Invalid {
            message: format!(
                "access denied for user {}: root alone submits jobs of other users",
                peer.uid
            ),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Request;

    #[test]
    fn root_alone_submits_jobs_of_others() {
        let check = |caller: u32, as_user: Option<AsUser>, want: Option<(u32, u32)>| {
            let peer = Peer {
                uid: caller,
                gid: caller,
                pid: 1,
                connection: 7,
            };
            let request = Box::new(Request::default());
            let whose = whose(&Call::Test { request, as_user }, peer).ok();
            assert_eq!(whose.map(|peer| (peer.uid, peer.gid)), want);
        };
        let ann = Some(AsUser { uid: 5, gid: 6 });
        check(0, None, Some((0, 0)));
        check(0, ann, Some((5, 6)));
        check(5, None, Some((5, 5)));
        check(5, ann, None);
        check(7, Some(AsUser { uid: 0, gid: 0 }), None);
    }
}
