//! A run file resolved against one cluster.

use crate::{
    Complete, EnvironmentPlan, GpuMemory, HangPlan, Keep, Launcher, Notify, NotifyPlan, Resolved,
    ResumeBy, ResumeOn, ServicePlan, Source, place_below,
};
use model::{MailEvent, Seconds, TimeLimitRequest};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// Everything that a run's jobs do, each value with its source. Paths are absolute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The run's name.
    pub name: Resolved<String>,
    /// The cluster that it was made for.
    pub cluster: String,
    /// Whether that is the embedded engine.
    pub embedded: bool,
    /// Who starts the ranks.
    pub launcher: Resolved<Launcher>,
    /// Further options of the launcher's own command line.
    #[serde(default = "no_options")]
    pub launcher_options: Resolved<Vec<String>>,
    /// Program and arguments, placeholders unreplaced; never empty.
    pub command: Resolved<Vec<String>>,
    /// Which of the repeats this is, from 1.
    pub repeat: Resolved<u32>,
    /// How many runs are made of the plan, at least 1; of one of them it is 1.
    #[serde(default = "no_repeats")]
    pub repeats: Resolved<u32>,
    /// How many of them run at once; `None`: as many as there is room for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_once: Option<Resolved<u32>>,
    /// The name or id of the run that has to be done before this one starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Resolved<String>>,
    /// Nodes, at least 1.
    pub nodes: Resolved<u32>,
    /// GPUs in all, each with a rank and a task, where the nodes have different numbers of them: how many
    /// each has is Slurm's choice, and `ranks_per_node` and `gpus_per_node` are the most that is
    /// planned for. `None`: each node has the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uneven: Option<Resolved<u32>>,
    /// Training processes on each node, at least 1.
    pub ranks_per_node: Resolved<u32>,
    /// Tasks of the job on each node: `ranks_per_node`, or 1 where the launcher's agent starts them.
    pub tasks_per_node: Resolved<u32>,
    /// CPUs of one rank, at least 1.
    pub cpus_per_rank: Resolved<u32>,
    /// GPUs of each node.
    pub gpus_per_node: Resolved<u32>,
    /// Their type; `None` is any.
    pub gpu_type: Option<Resolved<String>>,
    /// They are asked for as `--gres=gpu:…`, as the site does: not every Slurm knows
    /// `--gpus-per-node`, which needs the plugin `cons_tres`.
    #[serde(default)]
    pub gpus_as_gres: bool,
    /// The least memory of one.
    pub gpu_memory: Option<Resolved<GpuMemory>>,
    /// Memory of each node in MiB, 0 is all of it; `None` leaves it to the cluster.
    pub memory: Option<Resolved<u64>>,
    /// Who left it to the cluster; none where that was not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_left: Option<Source>,
    /// The limit of one job; `None` leaves it to the cluster.
    pub time: Option<Resolved<TimeLimitRequest>>,
    /// `--account`
    pub account: Option<Resolved<String>>,
    /// `--qos`
    pub qos: Option<Resolved<String>>,
    /// `--partition`
    pub partition: Option<Resolved<String>>,
    /// `--exclusive`
    pub exclusive: Resolved<bool>,
    /// `--constraint`
    pub constraint: Option<Resolved<String>>,
    /// Further options for Slurm's sbatch, as they are.
    pub sbatch: Resolved<Vec<String>>,
    /// Modules and Python.
    pub environment: EnvironmentPlan,
    /// What is brought to the nodes.
    pub data: DataPlan,
    /// How checkpoints are seen and kept.
    pub checkpoints: CheckpointPlan,
    /// When and how the run comes back.
    pub resume: ResumePlan,
    /// What is done about ranks that hang; `None`: hangs are not looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hang: Option<HangPlan>,
    /// Who gets mail.
    pub mail: Option<Resolved<String>>,
    /// About what.
    pub mail_on: Resolved<Vec<MailEvent>>,
    /// How they get it, and which web hook is called.
    #[serde(default)]
    pub notify: NotifyPlan,
    /// What runs beside the ranks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<ServicePlan>,
    /// A folder on each node's own disk.
    pub node_local: Resolved<PathBuf>,
    /// What a person should know and can't see in the values, in words.
    pub notes: Vec<String>,
}

/// What is brought to the nodes before the ranks start, and from them when the job ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataPlan {
    /// Files and folders; `.tar`, `.tar.gz`, `.tar.zst` and `.tgz` are unpacked.
    pub stage: Resolved<Vec<PathBuf>>,
    /// Sources below this folder keep their relative path on the node, others their name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<PathBuf>,
    /// Patterns of files below the node-local data folder that are copied to the run folder.
    #[serde(default = "no_patterns")]
    pub collect: Resolved<Vec<String>>,
    /// Whether `{logs}` is on the node's own disk; `None` as `false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub local_logs: Option<Resolved<bool>>,
}

impl DataPlan {
    /// Whether `{logs}` is on the node's own disk.
    #[must_use]
    pub fn has_local_logs(&self) -> bool {
        self.local_logs.as_ref().is_some_and(|local| local.value)
    }

    /// Where a source lies below the node-local data folder.
    #[must_use]
    pub fn place<'a>(&self, source: &'a Path) -> &'a Path {
        match &self.base {
            Some(base) => place_below(base, source),
            None => Path::new(source.file_name().unwrap_or_default()),
        }
    }
}

/// How checkpoints are seen and kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointPlan {
    /// Which stay in the run folder.
    pub keep: Resolved<Keep>,
    /// How it is seen that one is whole.
    pub complete: Resolved<Complete>,
}

/// When and how the run comes back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResumePlan {
    /// After what; empty is never.
    pub on: Resolved<Vec<ResumeOn>>,
    /// By which way.
    #[serde(default = "by_requeue")]
    pub by: Resolved<ResumeBy>,
    /// How long before the limit the ranks are ended, so that checkpoints get out.
    pub grace: Resolved<Seconds>,
    /// How the program hears of it.
    pub notify: Resolved<Notify>,
    /// Added to the command when there is something to resume, placeholders unreplaced.
    pub args: Resolved<Vec<String>>,
    /// Whether the program keeps its checkpoints itself, where they are not seen.
    #[serde(default = "seen_checkpoints")]
    pub own_checkpoints: Resolved<bool>,
}

/// What plans had before there was the key.
pub(crate) fn seen_checkpoints() -> Resolved<bool> {
    Resolved::new(false, Source::default("default"))
}

/// What plans said before there was another way.
fn by_requeue() -> Resolved<ResumeBy> {
    Resolved::new(ResumeBy::Requeue, Source::default("the only way there was"))
}

/// What plans had before there was the key.
fn no_options() -> Resolved<Vec<String>> {
    Resolved::new(Vec::new(), Source::default("none"))
}

/// What plans had before there were repeats.
fn no_repeats() -> Resolved<u32> {
    Resolved::new(1, Source::default("default: one run"))
}

/// What plans had before there was the key.
fn no_patterns() -> Resolved<Vec<String>> {
    Resolved::new(Vec::new(), Source::default("none"))
}

impl Plan {
    /// The plan of one of the repeats, counted from 1.
    #[must_use]
    pub fn repeat_of(&self, number: u32) -> Plan {
        let mut own = self.clone();
        own.repeat = Resolved::new(number, self.repeats.source.clone());
        own.repeats = no_repeats();
        own.at_once = None;
        own
    }

    /// All training processes.
    #[must_use]
    pub fn world_size(&self) -> u32 {
        match &self.uneven {
            Some(all) => all.value,
            None => self.nodes.value.saturating_mul(self.ranks_per_node.value),
        }
    }

    /// All GPUs.
    #[must_use]
    pub fn all_gpus(&self) -> u32 {
        match &self.uneven {
            Some(all) => all.value,
            None => self.nodes.value.saturating_mul(self.gpus_per_node.value),
        }
    }

    /// Tasks of the job on all nodes; with [`crate::Shape::Head`] the ranks.
    #[must_use]
    pub fn tasks(&self) -> u32 {
        match &self.uneven {
            Some(all) => all.value,
            None => self.nodes.value.saturating_mul(self.tasks_per_node.value),
        }
    }

    /// The GPUs of each node; where they are uneven as Slurm may choose them.
    #[must_use]
    pub fn gpus_of_nodes(&self) -> Vec<u32> {
        let nodes = self.nodes.value.max(1);
        let (each, more) = (self.all_gpus() / nodes, self.all_gpus() % nodes);
        let of_node = |node| each + u32::from(node < more);
        (0..nodes).map(of_node).collect()
    }
}

/// What a job of a run is submitted with beside its plan.
#[derive(Clone, Copy, Debug)]
pub struct JobPlace<'a> {
    /// The binary that the nodes run.
    pub yard: &'a Path,
    /// The run folder.
    pub run_folder: &'a Path,
    /// Where the batch step's own output goes, with `%j`.
    pub output: &'a str,
    /// Tells this submission from all others; goes into `--comment`.
    pub token: &'a str,
}
