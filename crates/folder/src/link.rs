//! One job of a run.

use model::Timestamp;
use serde::{Deserialize, Serialize};

/// `links/<n>.json`: one job of a run, written before it is submitted and again after the answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// Counted from 1.
    pub number: u32,
    /// The cluster that it goes to.
    pub cluster: String,
    /// Tells this submission from all others.
    pub token: String,
    /// The job whose end it waits for, to take over; `None`: a person started it.
    #[serde(default)]
    pub after: Option<u32>,
    /// How far it got.
    pub state: LinkState,
}

/// The token of the link with that number, of a run whose first link has token `first`: the same
/// random end, so that a submission that is tried again is the same one.
#[must_use]
pub fn link_token(run: &str, number: u32, first: &str) -> String {
    let random = first.rsplit('.').next().unwrap_or_default();
    format!("{run}.{number}.{random}")
}

impl LinkState {
    /// About to be submitted.
    #[must_use]
    pub fn intent(at: Timestamp) -> LinkState {
        LinkState::Intent {
            at,
            given_up: false,
        }
    }
}

/// How far the submission of a job got.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "kebab-case")]
pub enum LinkState {
    /// About to be submitted: after a crash the job is looked for by its token.
    Intent {
        /// Since when.
        at: Timestamp,
        /// The cluster was asked so long after that it surely never took it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        given_up: bool,
    },
    /// The cluster took it.
    Submitted {
        /// Its number there.
        job: u32,
        /// When the answer came.
        at: Timestamp,
    },
    /// The cluster refused it.
    Refused {
        /// Its words.
        why: String,
        /// When.
        at: Timestamp,
    },
}
