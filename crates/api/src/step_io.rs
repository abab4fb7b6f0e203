//! What `srun` and the supervisors of its step say to each other.
//!
//! `srun` listens; each supervisor connects and speaks first. Either side sends frames: a kind
//! (one byte), a rank (`u32`, big endian; 0 where it means nothing), a length (`u32`, big endian)
//! and so many bytes. Input is sent on credit: `srun` has at most [`WINDOW`] bytes on their way to
//! a supervisor that it did not report as [`FromSupervisor::Taken`], so that a task that does not
//! read never keeps a signal from coming through.

use model::{StepId, WaitStatus};
use serde::{Deserialize, Serialize};

/// Most bytes of input on their way to one supervisor.
pub const WINDOW: usize = 256 * 1024;
/// Longest payload that either side sends.
pub const LONGEST_FRAME: usize = 1 << 20;
/// How what a supervisor says begins where its job lost a node, whose name follows.
pub const NODE_FAILURE: &str = "srun: error: Node failure on ";
/// How what a supervisor says begins where its step is ended.
pub const STEP_ENDED: &str = "slurmstepd: error: *** STEP ";
const HEADER: usize = 9;

/// How what [`FromSupervisor::Failed`] says begins where a file that all tasks share can't be opened; which and
/// why follows, and the file in a line of its own.
pub const NOT_OPENED: &str = "Could not open ";
/// What [`FromSupervisor::Failed`] says where the cluster's prolog failed on the node.
pub const PROLOG_FAILED: &str = "Job prolog failed";

/// A supervisor's first word.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepHeader {
    /// Index of the node in the step.
    pub node_index: u32,
    /// The node's name.
    pub node: String,
    /// The step, as the engine numbered it.
    pub step: StepId,
    /// Ranks of the tasks that it starts.
    pub ranks: Vec<u32>,
    /// From SIGTERM to SIGKILL.
    #[serde(default)]
    pub kill_wait_ms: Option<u64>,
}

/// One of a task's streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskStream {
    /// Standard output; a terminal's too.
    Out,
    /// Standard error.
    Err,
}

/// From a supervisor to `srun`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromSupervisor {
    /// Who it is: the first frame.
    Header(StepHeader),
    /// What a task wrote.
    Output {
        /// The task's rank.
        rank: u32,
        /// Where it wrote.
        stream: TaskStream,
        /// The bytes.
        bytes: Vec<u8>,
    },
    /// All tasks of the node took, or will never take, so many more bytes of input.
    Taken(u32),
    /// A line for the user, as `slurmstepd` writes to stderr.
    Say(String),
    /// A node of its job is lost, and the job goes on.
    NodeLost(String),
    /// A task ended.
    Exit {
        /// The task's rank.
        rank: u32,
        /// What `wait` said.
        status: WaitStatus,
    },
    /// No task could be started.
    Failed(String),
    /// Every process of the node is gone and every byte was sent: the last frame.
    Done,
}

/// From `srun` to a supervisor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToSupervisor {
    /// Bytes for the stdin of every task that takes input.
    Input(Vec<u8>),
    /// No more input comes.
    InputEnd,
    /// The size of the user's terminal.
    Size {
        /// Rows.
        rows: u16,
        /// Columns.
        columns: u16,
    },
    /// A signal for every process of the step.
    Signal(i32),
    /// End the step: SIGCONT, SIGTERM, the wait of the spec, SIGKILL.
    End,
    /// Start the tasks, where they wait for it.
    Start,
    /// End the step by SIGKILL alone.
    Kill,
}

/// The bytes are not frames of this protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "frame of kind {kind} and {length} bytes is not one of step i/o: both sides must be of one version"
)]
pub struct FrameError {
    /// Its kind.
    pub kind: u8,
    /// Its length.
    pub length: u32,
}

/// Either side's frames.
pub trait StepFrame: Sized {
    /// Appends the frame to `buffer`.
    fn encode(&self, buffer: &mut Vec<u8>);
    /// Reads a frame from its parts; `None` where they are no frame.
    fn decode(kind: u8, rank: u32, payload: &[u8]) -> Option<Self>;
}

/// Appends a task's output to `buffer` as its frame, without a copy in between.
pub fn encode_output(buffer: &mut Vec<u8>, rank: u32, stream: TaskStream, bytes: &[u8]) {
    let kind = match stream {
        TaskStream::Out => 2,
        TaskStream::Err => 3,
    };
    frame(buffer, kind, rank, bytes);
}

impl StepFrame for FromSupervisor {
    fn encode(&self, buffer: &mut Vec<u8>) {
        match self {
            FromSupervisor::Header(header) => {
                let text = serde_json::to_vec(header).unwrap_or_default();
                frame(buffer, 1, 0, &text);
            }
            FromSupervisor::Output {
                rank,
                stream,
                bytes,
            } => encode_output(buffer, *rank, *stream, bytes),
            FromSupervisor::Taken(bytes) => frame(buffer, 4, 0, &bytes.to_be_bytes()),
            FromSupervisor::Say(text) => frame(buffer, 5, 0, text.as_bytes()),
            FromSupervisor::Exit { rank, status } => {
                frame(buffer, 6, *rank, &status.0.to_be_bytes());
            }
            FromSupervisor::Failed(text) => frame(buffer, 7, 0, text.as_bytes()),
            FromSupervisor::Done => frame(buffer, 8, 0, &[]),
            FromSupervisor::NodeLost(node) => frame(buffer, 9, 0, node.as_bytes()),
        }
    }

    fn decode(kind: u8, rank: u32, payload: &[u8]) -> Option<FromSupervisor> {
        let text = || String::from_utf8_lossy(payload).into_owned();
        let number = || Some(i32::from_be_bytes(payload.try_into().ok()?));
        let output = |stream| FromSupervisor::Output {
            rank,
            stream,
            bytes: payload.to_vec(),
        };
        Some(match kind {
            1 => FromSupervisor::Header(serde_json::from_slice(payload).ok()?),
            2 => output(TaskStream::Out),
            3 => output(TaskStream::Err),
            4 => FromSupervisor::Taken(number()?.cast_unsigned()),
            5 => FromSupervisor::Say(text()),
            6 => FromSupervisor::Exit {
                rank,
                status: WaitStatus(number()?),
            },
            7 => FromSupervisor::Failed(text()),
            8 => FromSupervisor::Done,
            9 => FromSupervisor::NodeLost(text()),
            _ => return None,
        })
    }
}

impl StepFrame for ToSupervisor {
    fn encode(&self, buffer: &mut Vec<u8>) {
        match self {
            ToSupervisor::Input(bytes) => frame(buffer, 1, 0, bytes),
            ToSupervisor::InputEnd => frame(buffer, 2, 0, &[]),
            ToSupervisor::Size { rows, columns } => {
                let [a, b] = rows.to_be_bytes();
                let [c, d] = columns.to_be_bytes();
                frame(buffer, 3, 0, &[a, b, c, d]);
            }
            ToSupervisor::Signal(signal) => frame(buffer, 4, 0, &signal.to_be_bytes()),
            ToSupervisor::End => frame(buffer, 5, 0, &[]),
            ToSupervisor::Start => frame(buffer, 6, 0, &[]),
            ToSupervisor::Kill => frame(buffer, 7, 0, &[]),
        }
    }

    fn decode(kind: u8, _rank: u32, payload: &[u8]) -> Option<ToSupervisor> {
        Some(match kind {
            1 => ToSupervisor::Input(payload.to_vec()),
            2 => ToSupervisor::InputEnd,
            3 => {
                let &[a, b, c, d] = payload else { return None };
                ToSupervisor::Size {
                    rows: u16::from_be_bytes([a, b]),
                    columns: u16::from_be_bytes([c, d]),
                }
            }
            4 => ToSupervisor::Signal(i32::from_be_bytes(payload.try_into().ok()?)),
            5 => ToSupervisor::End,
            6 => ToSupervisor::Start,
            7 => ToSupervisor::Kill,
            _ => return None,
        })
    }
}

fn frame(buffer: &mut Vec<u8>, kind: u8, rank: u32, payload: &[u8]) {
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
    buffer.reserve(HEADER + payload.len());
    buffer.push(kind);
    buffer.extend_from_slice(&rank.to_be_bytes());
    buffer.extend_from_slice(&length.to_be_bytes());
    buffer.extend_from_slice(payload);
}

/// Puts frames together from bytes as they come.
#[derive(Debug, Default)]
pub struct FrameReader {
    bytes: Vec<u8>,
    used: usize,
}

impl FrameReader {
    /// Adds bytes that came.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.used > 0 {
            self.bytes.drain(..self.used);
            self.used = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole frame, if it is there.
    ///
    /// # Errors
    /// The bytes are no frames: nothing more can be read.
    pub fn take<F: StepFrame>(&mut self) -> Result<Option<F>, FrameError> {
        let bytes = &self.bytes[self.used..];
        let Some((&[kind, r0, r1, r2, r3, l0, l1, l2, l3], rest)) = bytes.split_first_chunk()
        else {
            return Ok(None);
        };
        let rank = u32::from_be_bytes([r0, r1, r2, r3]);
        let length = u32::from_be_bytes([l0, l1, l2, l3]);
        let wrong = FrameError { kind, length };
        let size = usize::try_from(length).map_err(|_| wrong)?;
        if size > LONGEST_FRAME {
            return Err(wrong);
        }
        let Some(payload) = rest.get(..size) else {
            return Ok(None);
        };
        let frame = F::decode(kind, rank, payload).ok_or(wrong)?;
        self.used += HEADER + size;
        Ok(Some(frame))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails loudly")]
    use super::*;

    #[track_caller]
    fn check<F: StepFrame + std::fmt::Debug + PartialEq>(frames: &[F]) {
        let mut bytes = Vec::new();
        for frame in frames {
            frame.encode(&mut bytes);
        }
        // However the bytes are cut, the same frames come out.
        for size in [1, 2, 7, bytes.len()] {
            let mut reader = FrameReader::default();
            let mut seen = Vec::new();
            for part in bytes.chunks(size) {
                reader.push(part);
                while let Some(frame) = reader.take::<F>().unwrap() {
                    seen.push(frame);
                }
            }
            assert_eq!(seen, frames);
        }
    }

    #[test]
    fn frames_come_out_as_they_went_in() {
        check(&[
            FromSupervisor::Header(StepHeader {
                node_index: 1,
                node: "n1".to_owned(),
                step: StepId::Number(3),
                ranks: vec![2, 3],
                kill_wait_ms: Some(5),
            }),
            FromSupervisor::Output {
                rank: 3,
                stream: TaskStream::Err,
                bytes: b"\0\xff\n".to_vec(),
            },
            FromSupervisor::Taken(70_000),
            FromSupervisor::Say("slurmstepd: error".to_owned()),
            FromSupervisor::Exit {
                rank: 2,
                status: WaitStatus::signal(9),
            },
            FromSupervisor::Failed("why".to_owned()),
            FromSupervisor::Done,
        ]);
        check(&[
            ToSupervisor::Input(b"abc".to_vec()),
            ToSupervisor::InputEnd,
            ToSupervisor::Size {
                rows: 25,
                columns: 80,
            },
            ToSupervisor::Signal(10),
            ToSupervisor::End,
            ToSupervisor::Start,
            ToSupervisor::Kill,
        ]);
    }

    #[test]
    fn garbage_is_refused() {
        let mut reader = FrameReader::default();
        reader.push(b"GET / HTTP/1.1\r\n");
        assert!(reader.take::<ToSupervisor>().is_err());
    }
}
