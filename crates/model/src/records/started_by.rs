//! Which part of the scheduler started a job.

use serde::{Deserialize, Serialize};

/// What started a job, as accounting tells of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartedBy {
    /// Its own submission: an allocation without a script.
    Submission,
    /// Its turn in the queue.
    Main,
    /// Backfill: others wait that come before it.
    Backfill,
}

impl StartedBy {
    /// All of them.
    pub const ALL: [StartedBy; 3] = [StartedBy::Submission, StartedBy::Main, StartedBy::Backfill];

    /// `SchedMain`, as `sacct` has it.
    #[must_use]
    pub fn flag(self) -> &'static str {
        match self {
            StartedBy::Submission => "SchedSubmit",
            StartedBy::Main => "SchedMain",
            StartedBy::Backfill => "SchedBackfill",
        }
    }

    /// `STARTED_ON_SCHEDULE`, as its JSON has it.
    #[must_use]
    pub fn json_flag(self) -> &'static str {
        match self {
            StartedBy::Submission => "STARTED_ON_SUBMIT",
            StartedBy::Main => "STARTED_ON_SCHEDULE",
            StartedBy::Backfill => "STARTED_ON_BACKFILL",
        }
    }

    /// The one with that name in `sacct`.
    #[must_use]
    pub fn of_flag(flag: &str) -> Option<StartedBy> {
        let mut all = StartedBy::ALL.into_iter();
        all.find(|it| it.flag() == flag)
    }
}
