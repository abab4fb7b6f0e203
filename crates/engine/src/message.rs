//! What reaches the owner, from whichever thread.

use crate::nursery::NurseryEvent;
use api::{Answer, Call, EngineFolder};
use model::{JobId, RestartCount, StepId};
use std::path::{Path, PathBuf};
use std::sync::mpsc;

/// One message.
#[derive(Debug)]
pub(crate) enum Message {
    /// A client's call.
    Call(Box<Asked>),
    /// A connection closed that had submitted an allocation.
    Disconnected(u64),
    /// The nursery tells.
    Nursery(NurseryEvent),
    /// The nursery is gone.
    NurseryLost,
    /// A supervisor that a former engine started is gone.
    Gone(SupervisorKey),
    /// SIGTERM.
    Stop,
}

/// A call, who made it, and where its answer goes.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) call: Call,
    pub(crate) peer: Peer,
    pub(crate) reply: mpsc::Sender<Answer>,
}

/// Who calls.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    /// Number of the connection.
    pub(crate) connection: u64,
}

/// One supervisor: of a step's start on one of its nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SupervisorKey {
    pub(crate) job: JobId,
    pub(crate) restart: RestartCount,
    pub(crate) step: StepId,
    pub(crate) node: u32,
}

impl SupervisorKey {
    /// Its folder.
    pub(crate) fn folder(self, engine: &EngineFolder) -> PathBuf {
        engine.supervisor(self.job, self.restart, self.step, self.node)
    }

    /// The supervisor of a folder.
    pub(crate) fn of_folder(folder: &Path) -> Option<SupervisorKey> {
        let mut names = folder.iter().rev().map(|name| name.to_str());
        let mut next = || names.next().flatten();
        let node = next()?.parse().ok()?;
        let step = match next()? {
            "batch" => StepId::Batch,
            number => StepId::Number(number.parse().ok()?),
        };
        let restart = next()?.parse().ok()?;
        let job = JobId(next()?.parse().ok()?);
        Some(SupervisorKey {
            job,
            restart,
            step,
            node,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_names_its_supervisor() {
        let engine = EngineFolder::new("/x");
        for step in [StepId::Batch, StepId::Number(7)] {
            let key = SupervisorKey {
                job: JobId(3),
                restart: 2,
                step,
                node: 1,
            };
            assert_eq!(SupervisorKey::of_folder(&key.folder(&engine)), Some(key));
        }
    }
}
