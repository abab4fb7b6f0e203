//! What `SchedulerParameters`, `DependencyParameters` and `EnforcePartLimits` say of jobs that wait, besides backfill
//! and preemption.

use cluster_file::{ClusterFile, EnforcePartLimits, Sourced};
use model::Seconds;

/// Rules for jobs that wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueRules {
    /// A job ends once its dependency can't be met any more, unless it says otherwise (`kill_invalid_depend`).
    pub ends_never_met: bool,
    /// A job that a limit keeps holds up those behind it in its partition (`assoc_limit_stop`).
    pub stops_at_limits: bool,
    /// So many of the first jobs of a partition are tried in order; the others by backfill alone
    /// (`partition_job_depth`).
    pub depth: Option<usize>,
    /// A job of a lower priority has no place kept for it, and keeps those behind it waiting for none, where no limit says
    /// another (`bf_min_prio_reserve`).
    pub least_priority: Option<u32>,
    /// Nor has one that could start for a shorter time than this (`bf_min_age_reserve`).
    pub least_wait: Option<Seconds>,
    /// An array has at most so many elements (`max_array_tasks`).
    pub most_elements: Option<u32>,
    /// Which jobs are refused that are outside of limits of a partition (`EnforcePartLimits`); none where they wait.
    pub refuses_outside: Option<EnforcePartLimits>,
}

impl QueueRules {
    /// Those of a cluster file.
    pub(super) fn of(file: &ClusterFile) -> QueueRules {
        let mut rules = QueueRules::default();
        let enforced = file.limits.enforce_partition_limits.as_ref();
        let enforced = enforced.map(|enforced| enforced.value);
        rules.refuses_outside = enforced.filter(|enforced| *enforced != EnforcePartLimits::No);
        let own = &file.scheduling;
        let words = |text: &Option<Sourced<String>>| {
            let text = text.as_ref().map_or("", |text| text.value.as_str());
            let words = text.split(',').map(|word| word.trim().to_ascii_lowercase());
            words.collect::<Vec<String>>()
        };
        let dependencies = words(&own.dependency_parameters);
        rules.ends_never_met = dependencies
            .iter()
            .any(|word| word == "kill_invalid_depend");
        for part in words(&own.parameters) {
            let (word, value) = part.split_once('=').unwrap_or((&part, ""));
            match word.trim() {
                "assoc_limit_stop" => rules.stops_at_limits = true,
                "partition_job_depth" => {
                    let depth = value.trim().parse().ok();
                    rules.depth = depth.filter(|depth| *depth > 0);
                }
                "bf_min_prio_reserve" => {
                    let least = value.trim().parse().ok();
                    rules.least_priority = least.filter(|least| *least > 0);
                }
                "bf_min_age_reserve" => {
                    let least = value.trim().parse().ok();
                    rules.least_wait = least.filter(|least| *least > 0).map(Seconds);
                }
                "max_array_tasks" => rules.most_elements = value.trim().parse().ok(),
                _ => {}
            }
        }
        rules
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(parameters: &str, want: QueueRules) {
        check_key("parameters", parameters, want);
    }

    #[track_caller]
    fn check_key(key: &str, parameters: &str, want: QueueRules) {
        let text = format!("[scheduling]\n{key} = \"{parameters}\"\n");
        let file = ClusterFile::parse("lab", &text).expect("it is a cluster file");
        assert_eq!(QueueRules::of(&file), want, "{parameters}");
    }

    #[test]
    fn words_of_slurm() {
        let none = QueueRules::default();
        check("bf_continue,defer", none);
        let ends_never_met = true;
        let words = "max_depend_depth=5, Kill_Invalid_Depend";
        check_key(
            "dependency_parameters",
            words,
            QueueRules {
                ends_never_met,
                ..none
            },
        );
        // A former Slurm read it there.
        check("kill_invalid_depend", none);
        let stops_at_limits = true;
        check(
            "assoc_limit_stop",
            QueueRules {
                stops_at_limits,
                ..none
            },
        );
        let depth = Some(20);
        check(
            "bf_window=60,partition_job_depth=20",
            QueueRules { depth, ..none },
        );
        // As in Slurm no bound.
        check("partition_job_depth=0", none);
        check("partition_job_depth=-1", none);
        check(
            "bf_min_prio_reserve=1000,bf_min_age_reserve=60",
            QueueRules {
                least_priority: Some(1000),
                least_wait: Some(Seconds(60)),
                ..none
            },
        );
        check("bf_min_prio_reserve=0,bf_min_age_reserve=-1", none);
    }
}
