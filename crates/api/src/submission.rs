//! A job as a client hands it in.

use crate::NewStep;
use model::Request;
use serde::{Deserialize, Serialize};

/// A job to be queued.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Submission {
    /// Made by the client; the same token twice is the same job, answered again.
    pub token: String,
    /// What it asks for.
    pub request: Request,
    /// What its other components ask for, where it is heterogeneous: jobs of their own, with the ids
    /// that follow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub later: Vec<Request>,
    /// The batch script, or `None` for an allocation that ends by `release` or, unless it was asked
    /// to stay, when this connection closes.
    ///
    /// Characters may stand in it for bytes that are no UTF-8, as in arguments and variables.
    pub script: Option<String>,
    /// Arguments after the script's name.
    pub args: Vec<String>,
    /// The script's path as given.
    pub command: Option<String>,
    /// The environment for the job: what `--export` left, without what is not UTF-8.
    pub environment: Vec<(String, String)>,
    /// The client's umask.
    pub umask: u32,
    /// The client's host name.
    pub submit_host: String,
    /// Whose job it is, where it is not the caller's: root alone may.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_user: Option<AsUser>,
    /// The first step of an allocation, made with its start where that is at once; otherwise the answer
    /// has none, and it is asked for by itself. Its environment is the one above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<Box<NewStep>>,
}

/// The user whom root submits a job for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AsUser {
    /// The user.
    pub uid: u32,
    /// The group.
    pub gid: u32,
}

impl Submission {
    /// True for an allocation that lives as long as its client.
    #[must_use]
    pub fn ends_with_client(&self) -> bool {
        self.script.is_none() && !self.request.rare.no_shell
    }
}
