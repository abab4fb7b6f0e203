//! The one line that an engine writes to its standard output once it serves or gives up.

use serde::{Deserialize, Serialize};

/// How an engine's start went; one line of JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "start", rename_all = "snake_case")]
pub enum Startup {
    /// Its socket answers.
    Ready,
    /// Another engine holds the folder's lock.
    Locked,
    /// It can't serve this folder.
    Failed {
        /// What was asked.
        asked: String,
        /// What there is.
        there: String,
        /// What to do.
        todo: String,
        /// It may be over in a while: a disk that has no room gets some.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        may_pass: bool,
    },
}
