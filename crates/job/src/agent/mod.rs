//! The agent: one on each node, beside the ranks.

mod hold;
mod ranks;
mod recognise;
mod scan;
mod watcher;
