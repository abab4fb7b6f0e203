//! What goes wrong outside of the program: each is a clear error or survived, and nothing is lost.

#![expect(clippy::unwrap_used, reason = "a test fails loudly")]

mod checkpoint;
mod command;
mod engine;
mod files;
mod folders;
mod formats;
mod house;
mod killed;
mod node_loss;
mod ranks;
mod scripts;
mod slurm_steps;
mod store;
mod traces;
