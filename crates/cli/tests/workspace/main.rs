//! What holds for the workspace as a whole: who knows whom, and the licences of what is built in.
#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

mod architecture;
mod cargo_metadata;
mod licences;
mod rooms;
mod words;
