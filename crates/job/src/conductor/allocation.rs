//! What Slurm tells the batch step in variables. Pure: a way to look them up comes in.

use folder::Attempt;
use model::job_environment::parse_counts;
use model::{NodeName, Seconds, TimeLimitRequest, Timestamp};
use thiserror::Error;
use train::Plan;

/// The allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Which start of which job.
    pub attempt: Attempt,
    /// The name under which `scontrol requeue` knows it: an array's task is not its own number.
    pub requeue_name: String,
    /// The job's nodes, in Slurm's order; never empty.
    pub nodes: Vec<NodeName>,
    /// GPUs of each, in the same order; none where nodes have different numbers and this is a step, which
    /// is not told of them.
    pub gpus: Vec<u32>,
    /// When it started, as far as is known.
    pub start: Timestamp,
    /// When its limit ends it; `None`: never.
    pub end: Option<Timestamp>,
}

/// Why this is not a job that can be conducted.
#[derive(Debug, Error)]
pub enum AllocationError {
    /// Not a job, or not one of Slurm's.
    #[error(
        "{variable} is {there:?}, a number is needed; a conductor is started by a job's script only"
    )]
    Variable {
        /// Its name.
        variable: &'static str,
        /// What it holds.
        there: Option<String>,
    },
    /// No nodes, or a list that can't be read.
    #[error("SLURM_JOB_NODELIST is {there:?}: {why}")]
    Nodes {
        /// What it holds.
        there: Option<String>,
        /// In words.
        why: String,
    },
    /// Other tasks than the plan has.
    #[error(
        "SLURM_TASKS_PER_NODE is {there:?}, and the plan has {planned} ranks on {nodes} nodes; submit the run again"
    )]
    Tasks {
        /// What it holds.
        there: Option<String>,
        /// Ranks of the plan.
        planned: u32,
        /// Nodes of the job.
        nodes: usize,
    },
}

impl Allocation {
    /// Refuses a job that has not the plan's ranks on its nodes.
    ///
    /// # Errors
    /// Slurm laid out other tasks, or none that can be read.
    pub fn check(
        &self,
        variable: &dyn Fn(&str) -> Option<String>,
        plan: &Plan,
    ) -> Result<(), AllocationError> {
        match &plan.uneven {
            Some(all) if self.gpus.is_empty() => Err(AllocationError::Tasks {
                there: variable("SLURM_TASKS_PER_NODE"),
                planned: all.value,
                nodes: self.nodes.len(),
            }),
            Some(_) | None => Ok(()),
        }
    }

    /// Whether the job has GPUs.
    #[must_use]
    pub fn has_gpus(&self) -> bool {
        self.gpus.iter().any(|gpus| *gpus > 0)
    }

    /// Reads it. `granularity` is what the scheduler rounds limits up to.
    ///
    /// # Errors
    /// Slurm's variables are missing or strange.
    pub fn read(
        variable: &dyn Fn(&str) -> Option<String>,
        plan: &Plan,
        granularity: Seconds,
        now: Timestamp,
    ) -> Result<Allocation, AllocationError> {
        let number = |name: &'static str| -> Result<u32, AllocationError> {
            let there = variable(name);
            let number = there.as_ref().and_then(|text| text.parse().ok());
            number.ok_or(AllocationError::Variable {
                variable: name,
                there,
            })
        };
        let optional = |name: &str| variable(name).and_then(|text| text.parse::<u32>().ok());
        let seconds = |name: &str| {
            let text = variable(name)?;
            Some(Timestamp(text.parse::<i64>().ok()?.checked_mul(1000)?))
        };
        let job = number("SLURM_JOB_ID")?;
        // Unset at the first start before Slurm 26.11.
        let restart = optional("SLURM_RESTART_COUNT").unwrap_or(0);
        let array = optional("SLURM_ARRAY_JOB_ID").zip(optional("SLURM_ARRAY_TASK_ID"));
        let requeue_name = array.map_or_else(
            || job.to_string(),
            |(array, task)| format!("{array}_{task}"),
        );
        let start = seconds("SLURM_JOB_START_TIME").unwrap_or(now).min(now);
        let nodes = nodes(variable("SLURM_JOB_NODELIST").or_else(|| variable("SLURM_NODELIST")))?;
        let gpus = match &plan.uneven {
            // Each GPU has a task, placed with it.
            Some(all) => {
                let text = variable("SLURM_TASKS_PER_NODE");
                tasks(text.as_deref(), nodes.len(), all.value).unwrap_or_default()
            }
            None => {
                let each = optional("SLURM_GPUS_ON_NODE").unwrap_or(plan.gpus_per_node.value);
                vec![each; nodes.len()]
            }
        };
        let limit = plan
            .time
            .as_ref()
            .and_then(|time| limit(time.value, granularity));
        Ok(Allocation {
            attempt: Attempt { job, restart },
            requeue_name,
            nodes,
            gpus,
            start,
            // Set since Slurm 23.02; before it the limit that was asked for has to do. That may also
            // be the shorter one: a successor's is asked for in Slurm's syntax, which knows minutes.
            end: [
                seconds("SLURM_JOB_END_TIME").filter(|end| *end > start),
                limit.map(|limit| start + limit),
            ]
            .into_iter()
            .flatten()
            .min(),
        })
    }
}

fn limit(asked: TimeLimitRequest, granularity: Seconds) -> Option<Seconds> {
    let unit = granularity.0.max(1);
    match asked {
        TimeLimitRequest::Limit(Seconds(limit)) => Some(Seconds(limit.div_ceil(unit) * unit)),
        TimeLimitRequest::Unlimited => None,
    }
}

/// The tasks of each node.
fn tasks(text: Option<&str>, nodes: usize, planned: u32) -> Option<Vec<u32>> {
    let counts = parse_counts(text?)?;
    let sum = counts.iter().copied().fold(0, u32::saturating_add);
    (counts.len() == nodes && sum == planned).then_some(counts)
}

fn nodes(list: Option<String>) -> Result<Vec<NodeName>, AllocationError> {
    let wrong = |why: String| AllocationError::Nodes {
        there: list.clone(),
        why,
    };
    let nodes = model::node_list::expand(list.as_deref().unwrap_or_default())
        .map_err(|error| wrong(error.to_string()))?;
    if nodes.is_empty() {
        Err(wrong("it names no node".to_owned()))
    } else {
        Ok(nodes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As a Slurm 22.05.8 laid out `--ntasks=3 --gpus-per-task=1` on two nodes, and what is no such job.
    #[test]
    fn tasks_of_nodes() {
        let check = |text: Option<&str>, nodes: usize, planned: u32, want: Option<&[u32]>| {
            assert_eq!(tasks(text, nodes, planned).as_deref(), want, "{text:?}");
        };
        check(Some("2,1"), 2, 3, Some(&[2, 1]));
        check(Some("1,2"), 2, 3, Some(&[1, 2]));
        check(Some("2(x3),1"), 4, 7, Some(&[2, 2, 2, 1]));
        check(Some("2(x2)"), 2, 3, None);
        check(Some("3"), 2, 3, None);
        check(Some("many"), 2, 3, None);
        check(None, 2, 3, None);
    }
}
