//! What a job was asked with, as `squeue` and `scontrol show job` print it.

use crate::records::{JobInfo, JobStateName};
use crate::requests::{ComponentPlace, NodeOptions, ShownOptions};
use crate::values::{GpuCount, GresList, MemoryRequest, NodeName, mail_types_text};
use std::borrow::Cow;

impl JobInfo {
    /// Its place in a heterogeneous job.
    #[must_use]
    pub fn component(&self) -> Option<ComponentPlace> {
        self.request.rare.component
    }

    /// `--job-name`
    #[must_use]
    pub fn name(&self) -> &str {
        &self.request.name
    }

    /// Owner's name.
    #[must_use]
    pub fn user(&self) -> &str {
        &self.submitter.user
    }

    /// Owner.
    #[must_use]
    pub fn uid(&self) -> u32 {
        self.submitter.uid
    }

    /// `--account`
    #[must_use]
    pub fn account(&self) -> Option<&str> {
        self.request.account.as_deref()
    }

    /// `--nodelist`
    #[must_use]
    pub fn required_nodes(&self) -> &[NodeName] {
        &self.request.rare.nodelist
    }

    /// `--exclude`
    #[must_use]
    pub fn excluded_nodes(&self) -> &[NodeName] {
        &self.request.rare.exclude
    }

    /// `--ntasks-per-node`; 0 is not given.
    #[must_use]
    pub fn tasks_per_node(&self) -> u32 {
        self.request.tasks_per_node.unwrap_or(0)
    }

    /// `gres:gpu:v100:2`, for the job.
    #[must_use]
    pub fn tres_per_job(&self) -> Option<String> {
        self.as_asked(&self.request.rare.asked.per_job, self.request.gpus.as_ref())
    }

    /// The same a node.
    #[must_use]
    pub fn tres_per_node(&self) -> Option<String> {
        let gpus = self.request.gpus_per_node.as_ref();
        self.as_asked(&self.request.rare.asked.per_node, gpus)
    }

    /// The same a socket.
    #[must_use]
    pub fn tres_per_socket(&self) -> Option<String> {
        self.as_asked(&self.request.rare.asked.per_socket, None)
    }

    /// The same a task.
    #[must_use]
    pub fn tres_per_task(&self) -> Option<String> {
        let gpus = self.request.rare.gpus_per_task.as_ref();
        self.as_asked(&self.request.rare.asked.per_task, gpus)
    }

    /// Counts alone are there where no command of Slurm's asked.
    fn as_asked(&self, list: &GresList, count: Option<&GpuCount>) -> Option<String> {
        if !list.is_empty() {
            Some(list.to_string())
        } else if self.request.rare.asked.is_empty() {
            count.map(gres_text)
        } else {
            None
        }
    }

    /// `--cpus-per-gpu`
    #[must_use]
    pub fn cpus_per_tres(&self) -> Option<String> {
        if let Some(cpus) = self.request.rare.cpus_per_gpu {
            return Some(format!("gres:gpu:{cpus}"));
        }
        let default = self.partition_view.cpus_per_gpu.filter(|cpus| *cpus > 0);
        let applies = self.request.cpus_per_task.is_none() && self.has_gpu_defaults();
        default
            .filter(|_| applies)
            .map(|cpus| format!("gpu:{cpus}"))
    }

    /// Whether the partition's defaults for GPUs count: the scheduler sets them when it looks at the job.
    fn has_gpu_defaults(&self) -> bool {
        let is_held = self.base_state == JobStateName::Pending && self.priority == 0;
        self.gpus_asked() > 0 && !is_held
    }

    /// `--mem-per-gpu`
    #[must_use]
    pub fn mem_per_tres(&self) -> Option<String> {
        match self.request.memory {
            Some(MemoryRequest::PerGpu(mib)) => Some(format!("gres:gpu:{mib}")),
            _ => {
                let default = self.partition_view.memory_per_gpu.filter(|mib| *mib > 0);
                let default = default.filter(|_| self.has_gpu_defaults());
                default.map(|mib| format!("gpu:{mib}"))
            }
        }
    }

    /// `--constraint`; of a job that has its place, which nodes of `--prefer` gave it, that.
    #[must_use]
    pub fn features(&self) -> Option<&str> {
        let asked = self.request.rare.node_options.as_deref();
        let preferred = asked.and_then(|asked| asked.prefer.as_deref());
        let preferred = preferred.filter(|_| !self.nodes.is_empty());
        preferred.or(self.request.rare.constraint.as_deref())
    }

    /// What else it asks of its nodes.
    #[must_use]
    pub fn node_options(&self) -> &NodeOptions {
        let asked = self.request.rare.node_options.as_deref();
        asked.unwrap_or_else(|| NodeOptions::none())
    }

    /// What it asks and is only shown.
    #[must_use]
    pub fn shown(&self) -> &ShownOptions {
        let asked = self.request.shown.as_deref();
        asked.unwrap_or_else(|| ShownOptions::none())
    }

    /// `--licenses`
    #[must_use]
    pub fn licenses(&self) -> Option<&str> {
        self.request.rare.licenses.as_deref()
    }

    /// `--comment`
    #[must_use]
    pub fn comment(&self) -> Option<&str> {
        self.request.rare.comment.as_deref()
    }

    /// The script as named at submission.
    #[must_use]
    pub fn command(&self) -> Option<&str> {
        self.submitter.command.as_deref()
    }

    /// Working folder.
    #[must_use]
    pub fn work_dir(&self) -> Cow<'_, str> {
        self.request.chdir.to_string_lossy()
    }

    /// `--output` as written.
    #[must_use]
    pub fn stdout(&self) -> Option<&str> {
        self.request.output.as_deref()
    }

    /// `--error` as written.
    #[must_use]
    pub fn stderr(&self) -> Option<&str> {
        self.request.rare.error.as_deref()
    }

    /// `--input` as written.
    #[must_use]
    pub fn stdin(&self) -> Option<&str> {
        self.request.rare.input.as_deref()
    }

    /// `--mail-user` and `--mail-type`.
    #[must_use]
    pub fn mail(&self) -> Option<(&str, String)> {
        let rare = &self.request.rare;
        if rare.mail_types.is_empty() {
            return None;
        }
        let user = rare.mail_user.as_deref().unwrap_or(&self.submitter.user);
        Some((user, mail_types_text(&rare.mail_types)))
    }
}

fn gres_text(count: &GpuCount) -> String {
    match &count.kind {
        Some(kind) => format!("gres:gpu:{kind}:{}", count.count),
        None => format!("gres:gpu:{}", count.count),
    }
}
