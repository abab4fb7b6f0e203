//! How a step's tasks ended: what `srun` says of it, and its exit code.

use model::{NodeName, OUT_OF_MEMORY, StepRecord, WaitStatus, number_ranges, signal_description};

/// The tasks of a step, by rank.
#[derive(Debug)]
pub struct TaskEnds {
    /// `StepId=7.0`
    step: String,
    nodes: Vec<NodeName>,
    tasks: Vec<Task>,
    /// Tasks of its parts, where it runs in components of a heterogeneous job.
    parts: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Task {
    node: usize,
    end: Option<End>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Status(WaitStatus),
    /// Its supervisor vanished.
    Lost,
}

impl TaskEnds {
    /// None has ended yet.
    pub fn new(record: &StepRecord) -> TaskEnds {
        let tasks = record.nodes.iter().enumerate().flat_map(|(node, share)| {
            let tasks = usize::try_from(share.tasks).unwrap_or(0);
            std::iter::repeat_n(Task { node, end: None }, tasks)
        });
        TaskEnds {
            step: format!("StepId={}.{}", record.job, record.step),
            nodes: record
                .nodes
                .iter()
                .map(|share| share.node.clone())
                .collect(),
            tasks: tasks.collect(),
            parts: Vec::new(),
        }
    }

    /// The same, with so many tasks in each of its components, which are printed by their numbers there.
    pub fn of_parts(record: &StepRecord, parts: &[u32]) -> TaskEnds {
        TaskEnds {
            parts: parts.to_vec(),
            ..TaskEnds::new(record)
        }
    }

    /// A task's number among those of its component.
    fn own_number(&self, rank: u32) -> u32 {
        let mut first = 0;
        for tasks in &self.parts {
            if rank < first + tasks {
                break;
            }
            first += tasks;
        }
        rank - first.min(rank)
    }

    /// How many tasks there are.
    pub fn count(&self) -> u32 {
        u32::try_from(self.tasks.len()).unwrap_or(u32::MAX)
    }

    /// A node said which ranks its tasks have.
    pub fn place(&mut self, node: usize, ranks: &[u32]) {
        for rank in ranks {
            let index = usize::try_from(*rank).unwrap_or(usize::MAX);
            if let Some(task) = self.tasks.get_mut(index) {
                task.node = node;
            }
        }
    }

    /// A task ended.
    pub fn ended(&mut self, rank: u32, status: WaitStatus) {
        self.set(rank, End::Status(status));
    }

    /// A node's supervisor vanished; returns the ranks of those whose end is not known.
    pub fn lost(&mut self, node: usize) -> Vec<u32> {
        let mut lost = Vec::new();
        for (rank, task) in (0..).zip(&mut self.tasks) {
            if task.node == node && task.end.is_none() {
                task.end = Some(End::Lost);
                lost.push(rank);
            }
        }
        lost
    }

    fn set(&mut self, rank: u32, end: End) {
        let index = usize::try_from(rank).unwrap_or(usize::MAX);
        if let Some(task) = self.tasks.get_mut(index) {
            task.end = Some(end);
        }
    }

    /// The worst of all: a task's exit code, or 128 and its signal.
    pub fn exit_code(&self) -> u8 {
        let codes = self.tasks.iter().map(|task| match task.end {
            Some(End::Status(status)) => code(status),
            Some(End::Lost) => 1,
            None => 0,
        });
        codes.max().unwrap_or(0)
    }

    /// Whether a task ended with SIGKILL or SIGTERM.
    pub fn were_killed(&self) -> bool {
        self.tasks.iter().any(|task| match task.end {
            Some(End::Status(status)) => {
                status != OUT_OF_MEMORY && [9, 15].contains(&status.signal_number())
            }
            Some(End::Lost) | None => false,
        })
    }

    /// The worst as a wait status, for the job's record.
    pub fn worst(&self) -> WaitStatus {
        let statuses = self.tasks.iter().filter_map(|task| match task.end {
            Some(End::Status(status)) => Some(status),
            Some(End::Lost) => Some(WaitStatus::signal(9)),
            None => None,
        });
        statuses
            .max_by_key(|status| code(*status))
            .unwrap_or_default()
    }

    /// What `srun` says of tasks that just ended badly, a line for each node and kind of end.
    pub fn complaints(&self, ranks: &[u32]) -> Vec<String> {
        let mut groups: Vec<(usize, WaitStatus, Vec<u32>)> = Vec::new();
        for rank in ranks {
            let index = usize::try_from(*rank).unwrap_or(usize::MAX);
            let Some(&Task {
                node,
                end: Some(End::Status(status)),
            }) = self.tasks.get(index)
            else {
                continue;
            };
            if status.success() {
                continue;
            }
            match groups
                .iter_mut()
                .find(|group| (group.0, group.1) == (node, status))
            {
                Some(group) => group.2.push(self.own_number(*rank)),
                None => groups.push((node, status, vec![self.own_number(*rank)])),
            }
        }
        let line = |(node, status, ranks): (usize, WaitStatus, Vec<u32>)| {
            let node = self.nodes.get(node).map_or("", NodeName::as_str);
            let how = match status.signal_number() {
                _ if status == OUT_OF_MEMORY => "Out Of Memory".to_owned(),
                0 => format!("Exited with exit code {}", status.code()),
                signal => {
                    let core = if status.0 & 0x80 == 0 {
                        ""
                    } else {
                        " (core dumped)"
                    };
                    format!("{}{core}", signal_description(signal))
                }
            };
            format!("srun: error: {node}: {}: {how}", named(&ranks))
        };
        groups.into_iter().map(line).collect()
    }

    /// How the tasks stand, as Ctrl-C shows it.
    pub fn standing(&self) -> Vec<String> {
        let ranks = |running: bool| -> Vec<u32> {
            let tasks = (0..).zip(&self.tasks);
            let wanted = tasks.filter(|(_, task)| task.end.is_none() == running);
            wanted.map(|(rank, _)| rank).collect()
        };
        let mut lines = Vec::new();
        for (running, word) in [(true, "running"), (false, "exited")] {
            let ranks = ranks(running);
            if !ranks.is_empty() {
                lines.push(format!("srun: {} {}: {word}", self.step, named(&ranks)));
            }
        }
        lines
    }

    /// `StepId=7.0`
    pub fn step(&self) -> &str {
        &self.step
    }
}

fn code(status: WaitStatus) -> u8 {
    if status == OUT_OF_MEMORY {
        return 1;
    }
    match u8::try_from(status.signal_number()) {
        Ok(signal @ 1..) => 128 + signal,
        _ => status.code(),
    }
}

/// `task 3`, `tasks 0-2,5`
fn named(ranks: &[u32]) -> String {
    let plural = if ranks.len() == 1 { "" } else { "s" };
    format!("task{plural} {}", number_ranges(ranks))
}

/// `3`, `[0-2,4]`
pub fn listed(ranks: &[u32]) -> String {
    match ranks {
        [one] => one.to_string(),
        many => format!("[{}]", number_ranges(many)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{JobId, NodeShare, StepId, StepState, Timestamp};

    fn step() -> TaskEnds {
        let node = |name: &str, tasks| NodeShare {
            node: NodeName::new(name),
            cpus: Vec::new(),
            memory: 0,
            gpus: Vec::new(),
            tasks,
        };
        TaskEnds::new(&StepRecord {
            job: JobId(7),
            restart: 0,
            step: StepId::Number(1),
            name: String::new(),
            nodes: vec![node("n1", 3), node("n2", 2)],
            since: Timestamp(0),
            state: StepState::Running,
            usage: None,
            tasks_usage: None,
            cancelled_by: None,
            submit_line: None,
            srun: None,
        })
    }

    #[track_caller]
    fn check(ends: &[(u32, WaitStatus)], complaints: &[&str], code: u8) {
        let mut step = step();
        for (rank, status) in ends {
            step.ended(*rank, *status);
        }
        let ranks: Vec<u32> = ends.iter().map(|(rank, _)| *rank).collect();
        assert_eq!(step.complaints(&ranks), complaints);
        assert_eq!(step.exit_code(), code);
    }

    #[test]
    fn by_node_and_kind() {
        let ends = [
            (0, WaitStatus::exit(3)),
            (1, WaitStatus::exit(3)),
            (2, WaitStatus::exit(0)),
            (3, WaitStatus::exit(3)),
            (4, WaitStatus(11 | 0x80)),
        ];
        let want = [
            "srun: error: n1: tasks 0-1: Exited with exit code 3",
            "srun: error: n2: task 3: Exited with exit code 3",
            "srun: error: n2: task 4: Segmentation fault (core dumped)",
        ];
        check(&ends, &want, 139);
    }

    #[test]
    fn no_complaint_when_all_is_well() {
        check(
            &[(0, WaitStatus::exit(0)), (3, WaitStatus::exit(0))],
            &[],
            0,
        );
    }

    #[test]
    fn how_they_stand() {
        let mut step = step();
        step.ended(1, WaitStatus::exit(0));
        assert_eq!(
            step.standing(),
            [
                "srun: StepId=7.1 tasks 0,2-4: running",
                "srun: StepId=7.1 task 1: exited"
            ]
        );
        assert_eq!(step.lost(0), [0, 2]);
        assert_eq!(step.exit_code(), 1);
    }
}
