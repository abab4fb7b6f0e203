//! What of the cluster's configuration `scontrol show config` tells, under Slurm's names.

use super::Owner;
use super::missing_groups::MissingGroups;
use cluster_file::{Named, Nodes, PreemptType, Sourced};
use model::padded_elapsed_text;
use std::collections::{BTreeMap, BTreeSet};

impl Owner {
    /// The settings that are not Slurm's defaults.
    pub(super) fn config(&self, missing: &MissingGroups) -> BTreeMap<String, String> {
        let mut rows = BTreeMap::new();
        let mut put = |name: &str, value: String| {
            rows.insert(name.to_owned(), value);
        };
        put("ClusterName", self.cluster.name.clone());
        put(
            "StateSaveLocation",
            self.folder.root().display().to_string(),
        );
        put(
            "SlurmdSpoolDir",
            self.folder.root().join("nodes").display().to_string(),
        );
        put(
            "SlurmctldLogFile",
            self.folder.root().join("engine.log").display().to_string(),
        );
        put("NEXT_JOB_ID", self.state.next_id().to_string());
        put(
            "MaxNodeCount",
            self.state.cluster().node_count().to_string(),
        );
        put(
            "KillWait",
            format!("{} sec", self.kill_wait_ms().div_ceil(1000)),
        );
        put(
            "TaskPlugin",
            task_plugins(self.cluster.is_pretended(), missing),
        );
        put("ReturnToService", self.return_to_service().to_string());
        // Without any of them each account and QOS is taken, whatever the file enforces.
        let file = self.cluster.file.as_ref();
        let takes_all = file
            .is_none_or(|it| it.accounts.is_empty() && it.users.is_empty() && it.qos.is_empty());
        if takes_all {
            put("AccountingStorageEnforce", "none".to_owned());
        }
        let Some(file) = file else {
            return rows;
        };
        let kinds: BTreeSet<String> = file.nodes.iter().flat_map(kinds_of).collect();
        if !kinds.is_empty() {
            put("GresTypes", "gpu".to_owned());
            let kinds = kinds.iter().filter(|kind| !kind.is_empty());
            let kinds: String = kinds.map(|kind| format!(",gres/gpu:{kind}")).collect();
            let own = "cpu,mem,energy,node,billing,fs/disk,vmem,pages,gres/gpu";
            put("AccountingStorageTRES", format!("{own}{kinds}"));
        }
        let mut of = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                put(name, value);
            }
        };
        let limits = &file.limits;
        of("MaxArraySize", number(&limits.max_array_size));
        of("MaxJobCount", number(&limits.max_jobs));
        of("MaxTasksPerNode", number(&limits.max_tasks_per_node));
        of("MaxStepCount", number(&limits.max_steps));
        of(
            "DefMemPerCPU",
            limits
                .default_memory_per_cpu
                .as_ref()
                .map(|it| it.value.0.to_string()),
        );
        of(
            "DefMemPerNode",
            limits
                .default_memory_per_node
                .as_ref()
                .map(|it| it.value.0.to_string()),
        );
        of(
            "MaxMemPerCPU",
            limits
                .max_memory_per_cpu
                .as_ref()
                .map(|it| it.value.0.to_string()),
        );
        of(
            "MaxMemPerNode",
            limits
                .max_memory_per_node
                .as_ref()
                .map(|it| it.value.0.to_string()),
        );
        of(
            "AccountingStorageEnforce",
            limits
                .enforce
                .as_ref()
                .filter(|_| !takes_all)
                .map(|it| match &it.value[..] {
                    [] => "none".to_owned(),
                    words => words.join(","),
                }),
        );
        of(
            "EnforcePartLimits",
            limits
                .enforce_partition_limits
                .as_ref()
                .map(|it| it.value.word().to_ascii_uppercase()),
        );
        let scheduling = &file.scheduling;
        of(
            "JobRequeue",
            scheduling
                .requeue
                .as_ref()
                .map(|it| u8::from(it.value).to_string()),
        );
        of(
            "OverTimeLimit",
            scheduling
                .over_time_limit
                .as_ref()
                .map(|it| match it.value {
                    model::Seconds::YEAR => "UNLIMITED".to_owned(),
                    length => format!("{} min", length.0 / 60),
                }),
        );
        of(
            "MinJobAge",
            scheduling
                .min_job_age
                .as_ref()
                .map(|it| format!("{} sec", it.value.0)),
        );
        // Without the key, a job that asks for no memory holds none where no default is set.
        of(
            "SelectTypeParameters",
            match &scheduling.select {
                Some(select) => Some(select.value.to_ascii_uppercase()),
                None if self.has_default_memory() => None,
                None => Some("CR_CPU".to_owned()),
            },
        );
        of("SchedulerType", text(&scheduling.scheduler));
        of("SchedulerParameters", text(&scheduling.parameters));
        of(
            "DependencyParameters",
            text(&scheduling.dependency_parameters),
        );
        let priority = &file.priority;
        let prefixed = |kind: String| {
            if kind.starts_with("priority/") {
                kind
            } else {
                format!("priority/{kind}")
            }
        };
        of("PriorityType", text(&priority.kind).map(prefixed));
        of("PriorityWeightAge", number(&priority.age));
        of("PriorityWeightFairShare", number(&priority.fair_share));
        of("PriorityWeightJobSize", number(&priority.job_size));
        of("PriorityWeightPartition", number(&priority.partition));
        of("PriorityWeightQOS", number(&priority.qos));
        of("PriorityWeightAssoc", number(&priority.association));
        of("PriorityWeightTRES", text(&priority.tres));
        of("PriorityMaxAge", length(&priority.max_age));
        of("PriorityDecayHalfLife", length(&priority.half_life));
        of("PriorityCalcPeriod", length(&priority.calc_period));
        let reset = priority.usage_reset.as_ref();
        of(
            "PriorityUsageResetPeriod",
            reset.map(|it| it.value.word().to_ascii_uppercase()),
        );
        let preemption = &file.preemption;
        let kind = preemption.kind.as_ref().map(|it| it.value);
        of(
            "PreemptType",
            kind.map(|kind| match kind {
                PreemptType::None => "preempt/none".to_owned(),
                PreemptType::Partition => "preempt/partition_prio".to_owned(),
                PreemptType::Qos => "preempt/qos".to_owned(),
            }),
        );
        of(
            "PreemptMode",
            preemption
                .mode
                .as_ref()
                .map(|it| it.value.word().to_ascii_uppercase()),
        );
        of("PreemptExemptTime", length(&preemption.exempt_time));
        let programs = &file.programs;
        of("Prolog", text(&programs.prolog));
        of("Epilog", text(&programs.epilog));
        of("PrologSlurmctld", text(&programs.controller_prolog));
        of("EpilogSlurmctld", text(&programs.controller_epilog));
        of("TaskProlog", text(&programs.task_prolog));
        of("TaskEpilog", text(&programs.task_epilog));
        of("SrunProlog", text(&programs.srun_prolog));
        of("SrunEpilog", text(&programs.srun_epilog));
        let licences: Vec<String> = self
            .state
            .cluster()
            .licences()
            .iter()
            .map(|licence| format!("{}:{}", licence.name, licence.count))
            .collect();
        of(
            "Licenses",
            Some(licences.join(",")).filter(|it| !it.is_empty()),
        );
        rows
    }

    /// Whether a job that asks for no memory has some, in any partition.
    fn has_default_memory(&self) -> bool {
        let cluster = self.state.cluster();
        let mut partitions = cluster.partitions().iter();
        partitions.any(|partition| partition.defaults.memory.is_some())
    }
}

fn number(value: &Option<Sourced<u32>>) -> Option<String> {
    value.as_ref().map(|it| it.value.to_string())
}

fn text(value: &Option<Sourced<String>>) -> Option<String> {
    value
        .as_ref()
        .map(|it| it.value.clone())
        .filter(|it| !it.is_empty())
}

fn length(value: &Option<Sourced<model::Seconds>>) -> Option<String> {
    let seconds = value
        .as_ref()
        .map(|it| i64::try_from(it.value.0).unwrap_or(i64::MAX));
    seconds.map(padded_elapsed_text)
}

/// Types of a node's GPUs; empty for those without one.
fn kinds_of(nodes: &Named<Nodes>) -> Vec<String> {
    let kinds = nodes
        .gpus
        .iter()
        .map(|gpu| text(&gpu.kind).unwrap_or_default());
    kinds.collect()
}

/// The plugins of Slurm that do to tasks what is done here: bind them to CPUs, and keep them within control
/// groups. A pretended node has no CPUs and devices to which they could be kept.
fn task_plugins(is_pretended: bool, missing: &MissingGroups) -> String {
    let of_any_node = [&missing.memory, &missing.processes];
    let of_machine = [&missing.cpus, &missing.devices];
    let has = |groups: [&Option<String>; 2]| groups.iter().any(|why| why.is_none());
    let has_groups = has(of_any_node) || !is_pretended && has(of_machine);
    let plugins = [
        (!is_pretended).then_some("task/affinity"),
        has_groups.then_some("task/cgroup"),
    ];
    let plugins: Vec<&str> = plugins.into_iter().flatten().collect();
    if plugins.is_empty() {
        "task/none".to_owned()
    } else {
        plugins.join(",")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn task_plugins_are_those_whose_work_is_done() {
        let why = || Some("no such controller".to_owned());
        let none = MissingGroups {
            devices: why(),
            device_version: None,
            memory: why(),
            cpus: why(),
            processes: why(),
        };
        let cpus = MissingGroups {
            cpus: None,
            ..none.clone()
        };
        let all = MissingGroups::default();
        for (is_pretended, missing, want) in [
            (false, &all, "task/affinity,task/cgroup"),
            (false, &cpus, "task/affinity,task/cgroup"),
            (false, &none, "task/affinity"),
            (true, &all, "task/cgroup"),
            (true, &cpus, "task/none"),
            (true, &none, "task/none"),
        ] {
            assert_eq!(task_plugins(is_pretended, missing), want);
        }
    }
}
