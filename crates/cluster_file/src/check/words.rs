//! Words of Slurm's own that a cluster file hands on: flags of QOS and of the priority, and parameters of the
//! scheduler. Some that a Slurm has do nothing here; others no Slurm has.

use super::Checker;
use crate::Sourced;
use model::Severity;

/// Words of one kind.
struct Vocabulary {
    /// What they are, as a message says it.
    what: &'static str,
    /// Those that do something here, and those that need not: what they say is so anyway.
    counting: &'static [&'static str],
    /// Those that a Slurm has and that do nothing here.
    idle: &'static [&'static str],
}

/// `Flags` of QOS (`_str_2_qos_flags`); a later Slurm has the last one.
const QOS_FLAGS: Vocabulary = Vocabulary {
    what: "flag of a QOS",
    counting: &[
        "DenyOnLimit",
        "NoDecay",
        "NoReserve",
        "OverPartQOS",
        "PartitionMaxNodes",
        "PartitionMinNodes",
        "PartitionTimeLimit",
        "RequiresReservation",
        "UsageFactorSafe",
    ],
    idle: &["EnforceUsageThreshold", "Relative"],
};

/// `PriorityFlags`; a later Slurm has the last one.
const PRIORITY_FLAGS: Vocabulary = Vocabulary {
    what: "flag of the priority",
    counting: &[
        "ACCRUE_ALWAYS",
        "CALCULATE_RUNNING",
        "FAIR_TREE",
        "INCR_ONLY",
        "MAX_TRES",
        "NO_FAIR_TREE",
        "NO_NORMAL_ALL",
        "NO_NORMAL_ASSOC",
        "NO_NORMAL_PART",
        "NO_NORMAL_QOS",
        "NO_NORMAL_TRES",
        "SMALL_RELATIVE_TO_TIME",
    ],
    idle: &["DEPTH_OBLIVIOUS", "MAX_TRES_GRES"],
};

/// `SchedulerParameters`. Those that say how much of its time a controller gives to scheduling need not do
/// anything here.
const PARAMETERS: Vocabulary = Vocabulary {
    what: "parameter of the scheduler",
    counting: &[
        "assoc_limit_stop",
        "batch_sched_delay",
        "bf_continue",
        "bf_interval",
        "bf_job_part_count_reserve",
        "bf_max_job_assoc",
        "bf_max_job_part",
        "bf_max_job_test",
        "bf_max_job_user",
        "bf_max_job_user_part",
        "bf_max_time",
        "bf_min_age_reserve",
        "bf_min_prio_reserve",
        "bf_node_space_size",
        "bf_resolution",
        "bf_window",
        "bf_yield_interval",
        "bf_yield_rpc_cnt",
        "bf_yield_sleep",
        "build_queue_timeout",
        "max_array_tasks",
        "max_rpc_cnt",
        "max_sched_time",
        "no_backup_scheduling",
        "no_env_cache",
        "partition_job_depth",
        "preempt_youngest_first",
        "sched_interval",
        "sched_min_interval",
        "step_retry_count",
        "step_retry_time",
    ],
    idle: &[
        "Ignore_NUMA",
        "allow_zero_lic",
        "bb_array_stage_cnt",
        "bf_busy_nodes",
        "bf_hetjob_immediate",
        "bf_hetjob_prio",
        "bf_licenses",
        "bf_max_job_array_resv",
        "bf_max_job_start",
        "bf_one_resv_per_job",
        "bf_running_job_reserve",
        "bf_window_linear",
        "correspond_after_task_cnt",
        "default_queue_depth",
        "defer",
        "delay_boot",
        "disable_hetjob_steps",
        "disable_job_shrink",
        "enable_hetjob_steps",
        "enable_user_top",
        "ignore_prefer_validation",
        "kill_invalid_depend",
        "max_depend_depth",
        "max_script_size",
        "max_switch_wait",
        "nohold_on_prolog_fail",
        "pack_serial_at_end",
        "preempt_reorder_count",
        "preempt_strict_order",
        "reduce_completing_frag",
        "requeue_setup_env_fail",
        "salloc_wait_nodes",
        "sbatch_wait_nodes",
        "sched_max_job_start",
        "spec_cores_first",
        "whole_hetjob",
    ],
};

/// `DependencyParameters`.
const DEPENDENCY_PARAMETERS: Vocabulary = Vocabulary {
    what: "parameter of dependencies",
    counting: &["kill_invalid_depend"],
    idle: &["disable_remote_singleton", "max_depend_depth"],
};

impl Checker<'_> {
    pub(super) fn words(&mut self) {
        let file = self.file;
        for flags in file.qos.iter().filter_map(|qos| qos.flags.as_ref()) {
            self.of_kind(&QOS_FLAGS, flags, flags.iter().map(String::as_str));
        }
        if let Some(flags) = &file.priority.flags {
            self.of_kind(&PRIORITY_FLAGS, flags, flags.iter().map(String::as_str));
        }
        let own = &file.scheduling;
        for (kind, text) in [
            (&PARAMETERS, &own.parameters),
            (&DEPENDENCY_PARAMETERS, &own.dependency_parameters),
        ] {
            let Some(text) = text else { continue };
            let words = text.split(',').map(str::trim);
            let names = words.map(|word| word.split('=').next().unwrap_or(word).trim());
            self.of_kind(kind, text, names.filter(|name| !name.is_empty()));
        }
    }

    fn of_kind<'w, T>(
        &mut self,
        kind: &Vocabulary,
        at: &Sourced<T>,
        words: impl Iterator<Item = &'w str>,
    ) {
        let what = kind.what;
        for word in words {
            let is_it = |own: &&&str| own.eq_ignore_ascii_case(word);
            if kind.counting.iter().any(|own| is_it(&own)) {
                continue;
            }
            if kind.idle.iter().any(|own| is_it(&own)) {
                let message = format!("{word} has no effect here");
                let label = format!("a {what} of Slurm's");
                let help = "a cluster that it is submitted to follows it; an engine does not";
                self.say(
                    ("no-effect", Severity::Note),
                    &at.span,
                    message,
                    label,
                    help,
                );
                continue;
            }
            let known = || kind.counting.iter().chain(kind.idle).copied();
            let message = format!("{word} is no {what}");
            let near = model::nearest(word, known());
            let label = near.map_or(String::new(), |near| format!("did you mean {near}?"));
            let help = format!("leave it out, or write one of {}", kind.counting.join(", "));
            self.say(
                ("unknown-word", Severity::Warning),
                &at.span,
                message,
                label,
                help,
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCS: &str = include_str!("../../../../docs/cluster-files.md");

    /// The words in the second cell of a row.
    fn row(of: &str) -> Vec<&'static str> {
        let mut lines = DOCS.lines();
        let row = lines.find_map(|line| line.strip_prefix(&format!("| {of} | ")));
        let row = row.unwrap_or_else(|| panic!("no row of {of}"));
        let words = row.trim_end_matches(" |").split(' ');
        words.map(|word| word.trim_matches('`')).collect()
    }

    #[test]
    fn what_does_nothing_here_is_listed() {
        assert_eq!(row("flags of a QOS"), QOS_FLAGS.idle);
        assert_eq!(row("flags of `[priority]`"), PRIORITY_FLAGS.idle);
        assert_eq!(row("`parameters` of `[scheduling]`"), PARAMETERS.idle);
        assert_eq!(row("`dependency_parameters`"), DEPENDENCY_PARAMETERS.idle);
    }
}
