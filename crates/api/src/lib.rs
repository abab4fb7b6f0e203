//! The embedded engine's wire: messages, framing, and a client.
//!
//! **Invariant:** no logic. Only `hello` and `handover` are stable between versions: a newer client
//! asks an older engine to hand over and starts its own; an older client of a newer engine is told
//! to update. All other messages may change with any version.

mod engine_folder;
mod message;
mod version;

pub use engine_folder::EngineFolder;
pub use message::{
    Answer, Call, CancelRequest, EngineFacts, Handover, Hello, HelloAnswer, JobFilter, NodeFacts,
    Refusal, Selector, StepLaunch, StepTask, Submission, Watched,
};
pub use version::{PROTOCOL, VERSION};
