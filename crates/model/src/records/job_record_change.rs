//! What `sacctmgr modify job` set of what accounting records of a job.

use crate::records::WaitStatus;
use serde::{Deserialize, Serialize};

/// What stands in accounting in place of what the job itself says; the job knows nothing of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct JobRecordChange {
    /// `DerivedExitCode`, in the form of `wait`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub derived_exit_code: Option<u32>,
    /// `Comment`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// `AdminComment`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub admin_comment: Option<String>,
    /// `SystemComment`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_comment: Option<String>,
}

impl JobRecordChange {
    /// Whether it sets nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == JobRecordChange::default()
    }

    /// Whether a job's own user may not set it.
    #[must_use]
    pub fn is_for_operators(&self) -> bool {
        self.admin_comment.is_some() || self.system_comment.is_some()
    }

    /// Both, where this one came later.
    #[must_use]
    pub fn after(self, former: JobRecordChange) -> JobRecordChange {
        JobRecordChange {
            derived_exit_code: self.derived_exit_code.or(former.derived_exit_code),
            comment: self.comment.or(former.comment),
            admin_comment: self.admin_comment.or(former.admin_comment),
            system_comment: self.system_comment.or(former.system_comment),
        }
    }

    /// The derived exit code, where one was set. It is a signal or a code, as Slurm reads it.
    #[must_use]
    pub fn derived_status(&self) -> Option<WaitStatus> {
        let [low, code, ..] = self.derived_exit_code?.to_le_bytes();
        Some(match low & 0x7f {
            0 => WaitStatus::exit(code),
            0x7f => WaitStatus::default(),
            signal => WaitStatus::signal(signal.into()),
        })
    }

    /// As `sacctmgr show transaction` has it: `derived_ec=7, derived_es='text'`.
    #[must_use]
    pub fn info(&self) -> String {
        let code = self.derived_exit_code;
        let texts = [
            ("derived_es", &self.comment),
            ("admin_comment", &self.admin_comment),
            ("system_comment", &self.system_comment),
        ];
        let texts = texts.into_iter().filter_map(|(name, text)| {
            let text = text.as_ref()?;
            Some(format!("{name}='{text}'"))
        });
        let code = code.map(|code| format!("derived_ec={code}"));
        code.into_iter().chain(texts).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_derived_exit_code_is_one_of_wait() {
        let shown = |code: u32| {
            let change = JobRecordChange {
                derived_exit_code: Some(code),
                ..JobRecordChange::default()
            };
            let status = change.derived_status().unwrap_or_default();
            (status.code(), status.signal_number())
        };
        // As recorded of a real 22.05.8.
        assert_eq!(shown(7), (0, 7));
        assert_eq!(shown(300), (0, 44));
        assert_eq!(shown(u32::MAX), (0, 0));
        assert_eq!(shown(3 << 8), (3, 0));
    }
}
