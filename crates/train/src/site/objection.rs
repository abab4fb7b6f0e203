//! Why a cluster would not take a job, as a value that can be kept and sent: a finding of `resources` in words.

use model::{Denial, JobRefusal};
use resources::{Fate, Finding};
use serde::{Deserialize, Serialize};

/// One reason why a job would not be taken, would wait for ever, or would end early.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Objection {
    /// What Slurm answers, or would answer where it refused.
    pub denial: Denial,
    /// What becomes of the job.
    pub fate: JobFate,
    /// What was asked.
    pub asked: String,
    /// What there is.
    pub there: String,
    /// What to do.
    pub todo: String,
    /// The most that would be taken of what was asked: seconds of a time, a number of nodes or jobs.
    pub most: Option<u64>,
    /// The key of the cluster file that decides; none where no single key does.
    pub at: Option<String>,
    /// It rests on a value that is assumed, or the job runs all the same: a note, no error.
    pub assumed: bool,
}

/// What becomes of a job against which something stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobFate {
    /// The controller refuses it.
    Refused,
    /// It is taken and never started: the reason that `squeue` shows.
    Waits(String),
    /// It is held and taken, and does not start once it is released: the reason that `squeue` shows then.
    WaitsOnceReleased(String),
    /// It is taken and started, and ended at the limit.
    Cut,
}

impl JobFate {
    /// Whether the job is taken all the same, as it should be.
    #[must_use]
    pub fn is_warning(&self) -> bool {
        matches!(self, JobFate::WaitsOnceReleased(_) | JobFate::Cut)
    }
}

impl From<&Finding> for Objection {
    fn from(finding: &Finding) -> Objection {
        Objection {
            denial: finding.denial,
            fate: match &finding.fate {
                Fate::Refused => JobFate::Refused,
                Fate::Waits(reason) => JobFate::Waits(reason.to_string()),
                Fate::WaitsOnceReleased(reason) => JobFate::WaitsOnceReleased(reason.to_string()),
                Fate::Cut => JobFate::Cut,
            },
            asked: finding.asked(),
            there: finding.there(),
            todo: finding.todo(),
            most: finding.most,
            at: finding.at.key(),
            assumed: finding.assumed,
        }
    }
}

/// What an engine answered.
impl From<JobRefusal> for Objection {
    fn from(refusal: JobRefusal) -> Objection {
        Objection::from(&Finding::answered(refusal))
    }
}

pub(super) fn objections(findings: &[Finding]) -> Vec<Objection> {
    findings.iter().map(Objection::from).collect()
}
