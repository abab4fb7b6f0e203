//! What the next job of a run is submitted with.

use crate::submission::LEFT_BEHIND_MS;
use crate::{FolderError, LinkState, RunFolder, RunJson, link_token};
use model::{Request, Timestamp};
use train::JobPlace;

/// The next job of a run, made from its `run.json`.
#[derive(Debug)]
pub struct NextJob {
    /// The number of its link, which is its script's argument.
    pub number: u32,
    /// Tells this submission from all others.
    pub token: String,
    /// What it asks for.
    pub request: Request,
    /// Its script.
    pub script: String,
}

impl RunFolder {
    /// Makes it; nothing is written. `now`: an intent that was left behind is taken up again, with
    /// its token.
    ///
    /// # Errors
    /// The links can't be read.
    pub fn next_job(&self, json: &RunJson, now: Timestamp) -> Result<NextJob, FolderError> {
        let number = self
            .read_links()?
            .last()
            // The first job of a repeat is an element of an array.
            .map_or(if self.is_repeat() { 2 } else { 1 }, |last| {
                match last.state {
                    LinkState::Intent { at, .. } if now.since(at) > LEFT_BEHIND_MS => last.number,
                    _ => last.number + 1,
                }
            });
        let token = link_token(&json.id, number, &json.token);
        let output = match json.plan.repeats.value {
            1 => self.conductor_log_pattern(),
            _ => self.repeats_log_pattern(),
        };
        let place = JobPlace {
            yard: &json.yard,
            run_folder: self.path(),
            output: &output,
            token: &token,
        };
        let (request, script) = (json.plan.request(&place), json.plan.script(&place));
        Ok(NextJob {
            number,
            token,
            request,
            script,
        })
    }
}
