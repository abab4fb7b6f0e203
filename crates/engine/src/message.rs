//! What reaches the owner, from whichever thread.

use crate::fork_server::ForkServerEvent;
use crate::job_program::ProgramRun;
use crate::supervisor_key::SupervisorKey;
use api::{Answer, Call};
use model::{JobId, RestartCount};
use std::sync::mpsc;

/// One message.
#[derive(Debug)]
pub(crate) enum Message {
    /// A client's call.
    Call(Box<PendingCall>),
    /// A connection closed that had submitted an allocation.
    Disconnected(u64),
    /// The fork server tells.
    ForkServer(ForkServerEvent),
    /// The fork server is gone.
    ForkServerLost,
    /// A supervisor that a former engine started is gone.
    Gone(SupervisorKey),
    /// What lost supervisors of a job's start left behind was ended.
    OrphansEnded(JobId, RestartCount),
    /// A program before or after a job ended.
    ProgramEnded(ProgramRun, Result<(), String>),
    /// A client has shown its user what the store lost.
    NoticeShown,
    /// What kept networks of nodes was killed.
    NetworksLost,
    /// The engine's socket, or its whole folder, was removed or put elsewhere: no client finds it.
    SocketGone,
    /// SIGTERM.
    Stop,
}

/// A call, who made it, and where its answer goes.
#[derive(Debug)]
pub(crate) struct PendingCall {
    pub(crate) call: Call,
    pub(crate) peer: Peer,
    pub(crate) reply: mpsc::Sender<Answer>,
}

/// Who calls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// The process that connected.
    pub(crate) pid: u32,
    /// Number of the connection.
    pub(crate) connection: u64,
}
