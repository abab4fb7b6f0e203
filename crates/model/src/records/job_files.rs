//! Where a batch job's output goes, as `scontrol show job` tells it.

use crate::records::{ArrayTaskInfo, JobInfo};

impl JobInfo {
    /// `StdOut=`; empty for a job without a batch script that names none.
    #[must_use]
    pub fn stdout_path(&self) -> String {
        match &self.stdout() {
            Some(pattern) => self.expanded(pattern),
            None if !self.batch => String::new(),
            None => match &self.array {
                Some(array) => format!(
                    "{}/slurm-{}_{}.out",
                    self.work_dir(),
                    array.job,
                    self.task_number()
                ),
                None => format!("{}/slurm-{}.out", self.work_dir(), self.id),
            },
        }
    }

    /// `StdErr=`: the output's, unless it has its own.
    #[must_use]
    pub fn stderr_path(&self) -> String {
        match &self.stderr() {
            Some(pattern) => self.expanded(pattern),
            None => self.stdout_path(),
        }
    }

    /// `StdIn=`
    #[must_use]
    pub fn stdin_path(&self) -> String {
        match &self.stdin() {
            Some(pattern) => self.expanded(pattern),
            None if !self.batch => String::new(),
            None => "/dev/null".to_owned(),
        }
    }

    /// The element; Slurm's number for none where several wait together.
    #[must_use]
    pub(crate) fn array_task(&self) -> Option<u32> {
        match self.array.as_ref().map(|array| &array.task) {
            Some(ArrayTaskInfo::One(task)) => Some(*task),
            Some(ArrayTaskInfo::Waiting(_)) | None => None,
        }
    }

    fn task_number(&self) -> u32 {
        /// Slurm's `NO_VAL`.
        const NO_VALUE: u32 = 0xffff_fffe;
        self.array_task().unwrap_or(NO_VALUE)
    }

    /// `scontrol` knows five of the patterns; the others stay as they are.
    fn expanded(&self, pattern: &str) -> String {
        if !pattern.contains('%') {
            return self.in_folder(pattern);
        }
        let array = match (&self.array, self.array_task()) {
            (Some(array), Some(_)) => array.job,
            _ => self.id,
        };
        let path = pattern
            .replace("%A", &array.to_string())
            .replace("%a", &self.task_number().to_string())
            .replace("%j", &self.id.to_string())
            .replace("%u", self.user())
            .replace("%x", self.name());
        self.in_folder(&path)
    }

    /// A file by its whole path, as `sbatch` sends it.
    #[must_use]
    pub(crate) fn in_folder(&self, path: &str) -> String {
        if path.starts_with('/') {
            path.to_owned()
        } else {
            format!("{}/{path}", self.work_dir())
        }
    }
}
