//! What the tasks of a step used, and which of them used most and least.

use serde::{Deserialize, Serialize};

/// What one task used, with the children that it waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskUsage {
    /// CPU time in milliseconds.
    pub cpu_ms: u64,
    /// Most bytes of memory at once.
    pub memory: u64,
    /// Pages brought from a disk.
    pub pages: u64,
    /// Bytes that came from a disk.
    pub read: u64,
    /// Bytes that went to a disk.
    pub written: u64,
    /// Most bytes of addresses that it and all below it had when they were looked at, where they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub virtual_memory: Option<u64>,
}

/// What all tasks of a step that ended used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TasksUsage {
    /// How many were counted; at least one.
    pub tasks: u32,
    /// CPU time in milliseconds.
    pub cpu_ms: TaskAmounts,
    /// Most bytes of memory at once.
    pub memory: TaskAmounts,
    /// Pages brought from a disk.
    pub pages: TaskAmounts,
    /// Bytes that came from a disk.
    pub read: TaskAmounts,
    /// Bytes that went to a disk.
    pub written: TaskAmounts,
    /// Most bytes of addresses when they were looked at, where each of them was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub virtual_memory: Option<TaskAmounts>,
}

/// One thing that was counted of each task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "[u64; 7]", into = "[u64; 7]")]
pub struct TaskAmounts {
    /// Of all together.
    pub total: u64,
    /// Of the first that has most.
    pub most: TaskAmount,
    /// Of the first that has least.
    pub least: TaskAmount,
}

/// What was counted of a task, and where that is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TaskAmount {
    /// How much.
    pub amount: u64,
    /// Its rank.
    pub rank: u32,
    /// Index of its node in the step.
    pub node: u32,
}

impl TasksUsage {
    /// Of all tasks, each with its rank and its node's index, in the order of ranks; none where none was counted.
    #[must_use]
    pub fn of(tasks: &[(u32, u32, TaskUsage)]) -> Option<TasksUsage> {
        let amounts = |of: fn(&TaskUsage) -> Option<u64>| {
            let all = tasks.iter().map(|(rank, node, usage)| {
                Some(TaskAmount {
                    amount: of(usage)?,
                    rank: *rank,
                    node: *node,
                })
            });
            let all: Vec<TaskAmount> = all.collect::<Option<_>>()?;
            let all = all.into_iter();
            Some(TaskAmounts {
                total: all
                    .clone()
                    .fold(0, |sum: u64, task| sum.saturating_add(task.amount)),
                // Of equal ones `max_by_key` takes the last.
                most: all.clone().rev().max_by_key(|task| task.amount)?,
                least: all.min_by_key(|task| task.amount)?,
            })
        };
        Some(TasksUsage {
            tasks: u32::try_from(tasks.len()).unwrap_or(u32::MAX),
            cpu_ms: amounts(|usage| Some(usage.cpu_ms))?,
            memory: amounts(|usage| Some(usage.memory))?,
            pages: amounts(|usage| Some(usage.pages))?,
            read: amounts(|usage| Some(usage.read))?,
            written: amounts(|usage| Some(usage.written))?,
            virtual_memory: amounts(|usage| usage.virtual_memory),
        })
    }
}

impl From<[u64; 7]> for TaskAmounts {
    fn from(
        [
            total,
            most,
            most_rank,
            most_node,
            least,
            least_rank,
            least_node,
        ]: [u64; 7],
    ) -> Self {
        let task = |amount, rank, node| TaskAmount {
            amount,
            rank: u32::try_from(rank).unwrap_or(u32::MAX),
            node: u32::try_from(node).unwrap_or(u32::MAX),
        };
        TaskAmounts {
            total,
            most: task(most, most_rank, most_node),
            least: task(least, least_rank, least_node),
        }
    }
}

impl From<TaskAmounts> for [u64; 7] {
    fn from(amounts: TaskAmounts) -> [u64; 7] {
        let TaskAmounts { total, most, least } = amounts;
        [
            total,
            most.amount,
            most.rank.into(),
            most.node.into(),
            least.amount,
            least.rank.into(),
            least.node.into(),
        ]
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails loudly")]
    use super::*;

    #[test]
    fn of_equal_tasks_the_first_is_named() {
        let task = |memory| TaskUsage {
            memory,
            ..TaskUsage::default()
        };
        let all = [
            (0, 0, task(3)),
            (1, 0, task(5)),
            (2, 1, task(5)),
            (3, 1, task(3)),
        ];
        let usage = TasksUsage::of(&all).unwrap();
        let TaskAmounts { total, most, least } = usage.memory;
        assert_eq!((usage.tasks, total), (4, 16));
        assert_eq!((most.amount, most.rank, most.node), (5, 1, 0));
        assert_eq!((least.amount, least.rank, least.node), (3, 0, 0));
        assert_eq!(TasksUsage::of(&[]), None);
        assert_eq!(usage.virtual_memory, None);
        let text = serde_json::to_string(&usage).unwrap();
        assert!(text.contains(r#""memory":[16,5,1,0,3,0,0]"#), "{text}");
        assert_eq!(serde_json::from_str::<TasksUsage>(&text).unwrap(), usage);
    }
}
