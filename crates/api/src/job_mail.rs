//! A mail about a job, as the engine hands it to `yard job mail`.

use model::{JobRecord, MailEvent};
use serde::{Deserialize, Serialize};

/// What a mail is about.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct JobMail {
    /// What happened.
    pub about: MailEvent,
    /// The job after it.
    pub job: JobRecord,
    /// The engine's name.
    pub cluster: String,
}
