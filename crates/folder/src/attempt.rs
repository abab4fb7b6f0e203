//! One start of one job.

use model::RestartCount;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// One start of one job of a run: `<job>.<restart>` in file names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Attempt {
    /// The job's number.
    pub job: u32,
    /// How often it was requeued before.
    pub restart: RestartCount,
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.job, self.restart)
    }
}

impl FromStr for Attempt {
    type Err = ();

    fn from_str(text: &str) -> Result<Attempt, ()> {
        let (job, restart) = text.split_once('.').ok_or(())?;
        Ok(Attempt {
            job: job.parse().map_err(|_| ())?,
            restart: restart.parse().map_err(|_| ())?,
        })
    }
}
