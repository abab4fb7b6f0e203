//! Columns of `sacct` that tell which task of a step used most, least, and how much all do.

use super::SacctUnits;
use super::amounts::padded;
use crate::records::StepRecord;
use crate::values::{TaskAmount, TaskAmounts};

/// What is counted of tasks.
#[derive(Clone, Copy, PartialEq)]
enum Counted {
    Cpu,
    Memory,
    VirtualMemory,
    Pages,
    Read,
    Written,
}

/// Columns by the name of what they count.
const COUNTED: &[(&str, Counted)] = &[
    ("CPU", Counted::Cpu),
    ("RSS", Counted::Memory),
    ("VMSize", Counted::VirtualMemory),
    ("Pages", Counted::Pages),
    ("DiskRead", Counted::Read),
    ("DiskWrite", Counted::Written),
];

/// Which of them, or all together.
#[derive(Clone, Copy)]
enum Which {
    Average,
    Most,
    Least,
    Total,
}

/// What the tasks of a step used of a TRES: milliseconds of CPU, pages, else bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TresUsed {
    /// As `fs/disk`.
    pub tres: &'static str,
    /// Of a task.
    pub average: u64,
    /// Of the task that used most of it.
    pub most: UsedByTask,
    /// Of the one that used least.
    pub least: UsedByTask,
    /// Of all together.
    pub total: u64,
}

/// What a task used, and which it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedByTask {
    /// In the unit of its TRES.
    pub amount: u64,
    /// Its rank.
    pub task: u32,
    /// Its node.
    pub node: String,
}

/// What is counted of what comes to tasks, and of what they write.
const READ: &[Counted] = &[
    Counted::Cpu,
    Counted::Memory,
    Counted::Read,
    Counted::VirtualMemory,
    Counted::Pages,
];
const WRITTEN: &[Counted] = &[Counted::Written];

/// A step whose tasks were counted.
pub(super) struct TasksOfStep<'a> {
    pub(super) step: &'a StepRecord,
    pub(super) units: SacctUnits,
}

impl TasksOfStep<'_> {
    /// What stands in a column, nothing where it was not counted; `None`: the column is about something else.
    pub(super) fn value(&self, column: &str) -> Option<String> {
        let tres = column.strip_prefix("TRESUsage");
        if let Some(rest) = tres {
            return Some(self.tres(rest).unwrap_or_default());
        }
        let (which, rest) = [
            ("Ave", Which::Average),
            ("Max", Which::Most),
            ("Min", Which::Least),
        ]
        .into_iter()
        .find_map(|(name, which)| Some((which, column.strip_prefix(name)?)))?;
        let (name, place) = place_of(rest);
        let counted = COUNTED.iter().find(|(known, _)| *known == name)?.1;
        let text = self.amounts(counted).map(|amounts| match place {
            Some(place) => self.place(pick(amounts, which), place),
            None => self.amount(counted, self.count(amounts, which)),
        });
        Some(text.unwrap_or_default())
    }

    /// What `TRESUsageIn…` and `TRESUsageOut…` tell in text.
    pub(super) fn used(&self) -> [Vec<TresUsed>; 2] {
        [READ, WRITTEN].map(|of| {
            let tres_used = |tres, amounts: TaskAmounts| {
                let by_task = |task: TaskAmount| UsedByTask {
                    amount: task.amount,
                    task: task.rank,
                    node: self.place(task, Place::Node),
                };
                TresUsed {
                    tres,
                    average: self.count(amounts, Which::Average),
                    most: by_task(amounts.most),
                    least: by_task(amounts.least),
                    total: amounts.total,
                }
            };
            let counted = of.iter().filter_map(|counted| {
                let amounts = self.amounts(*counted)?;
                Some(tres_used(tres_name(*counted), amounts))
            });
            let mut all: Vec<TresUsed> = counted.collect();
            // It is not measured; a real one has a row of it all the same.
            if !all.is_empty() {
                let none = TaskAmount::default();
                let amounts = TaskAmounts {
                    total: 0,
                    most: none,
                    least: none,
                };
                all.push(tres_used("energy", amounts));
            }
            all
        })
    }

    /// `InAve`, `InMaxNode`, `OutTot` and so on.
    fn tres(&self, column: &str) -> Option<String> {
        let (of, rest) = match column.strip_prefix("In") {
            Some(rest) => (
                &[
                    Counted::Cpu,
                    Counted::Read,
                    Counted::Memory,
                    Counted::Pages,
                    Counted::VirtualMemory,
                ][..],
                rest,
            ),
            None => (&[Counted::Written][..], column.strip_prefix("Out")?),
        };
        let (name, place) = place_of(rest);
        let which = match name {
            "Ave" => Which::Average,
            "Max" => Which::Most,
            "Min" => Which::Least,
            "Tot" => Which::Total,
            _ => return None,
        };
        let mut parts = Vec::new();
        for counted in of {
            let Some(amounts) = self.amounts(*counted) else {
                // Of a step of before that was counted.
                if *counted == Counted::VirtualMemory {
                    continue;
                }
                return None;
            };
            let (name, text) = match (counted, place) {
                (_, Some(place)) => (tres_name(*counted), self.place(pick(amounts, which), place)),
                (Counted::Cpu, None) => ("cpu", padded(self.count(amounts, which) / 1000)),
                (counted, None) => {
                    let count = self.count(amounts, which);
                    (tres_name(*counted), self.units.of_bytes(count))
                }
            };
            parts.push(format!("{name}={text}"));
        }
        // It is not measured; of tasks Slurm leaves it out.
        let energy = match place {
            None => Some("energy=0".to_owned()),
            Some(Place::Node) => Some(format!(
                "energy={}",
                self.place(TaskAmount::default(), Place::Node)
            )),
            Some(Place::Task) => None,
        };
        let after = usize::from(of[0] == Counted::Cpu);
        if let Some(energy) = energy {
            parts.insert(after, energy);
        }
        Some(parts.join(","))
    }

    /// Of a step with one task what the whole step used is that task's.
    fn amounts(&self, counted: Counted) -> Option<TaskAmounts> {
        if let Some(usage) = &self.step.tasks_usage {
            return match counted {
                Counted::Cpu => Some(usage.cpu_ms),
                Counted::Memory => Some(usage.memory),
                Counted::VirtualMemory => usage.virtual_memory,
                Counted::Pages => Some(usage.pages),
                Counted::Read => Some(usage.read),
                Counted::Written => Some(usage.written),
            };
        }
        let usage = self.step.usage.filter(|_| self.tasks() == 1)?;
        let amount = match counted {
            Counted::Cpu => usage.cpu() / 1000,
            Counted::Memory => usage.peak_memory,
            Counted::VirtualMemory => usage.addresses?,
            Counted::Pages | Counted::Read | Counted::Written => return None,
        };
        let task = TaskAmount {
            amount,
            ..TaskAmount::default()
        };
        Some(TaskAmounts {
            total: amount,
            most: task,
            least: task,
        })
    }

    fn tasks(&self) -> u64 {
        match &self.step.tasks_usage {
            Some(usage) => usage.tasks.into(),
            None => self
                .step
                .nodes
                .iter()
                .map(|share| u64::from(share.tasks))
                .sum(),
        }
    }

    fn count(&self, amounts: TaskAmounts, which: Which) -> u64 {
        match which {
            Which::Average => amounts.total / self.tasks().max(1),
            Which::Most => amounts.most.amount,
            Which::Least => amounts.least.amount,
            Which::Total => amounts.total,
        }
    }

    fn amount(&self, counted: Counted, count: u64) -> String {
        match counted {
            Counted::Cpu => padded(count / 1000),
            Counted::Memory | Counted::VirtualMemory | Counted::Pages => self.units.of_bytes(count),
            Counted::Read | Counted::Written => self.units.of_disk_bytes(count),
        }
    }

    fn place(&self, task: TaskAmount, place: Place) -> String {
        match place {
            Place::Task => task.rank.to_string(),
            Place::Node => {
                let share = self.step.nodes.get(task.node as usize);
                share
                    .map(|share| share.node.to_string())
                    .unwrap_or_default()
            }
        }
    }
}

/// Where a task is.
#[derive(Clone, Copy)]
enum Place {
    Node,
    Task,
}

fn place_of(name: &str) -> (&str, Option<Place>) {
    match (name.strip_suffix("Node"), name.strip_suffix("Task")) {
        (Some(name), _) => (name, Some(Place::Node)),
        (_, Some(name)) => (name, Some(Place::Task)),
        (None, None) => (name, None),
    }
}

fn pick(amounts: TaskAmounts, which: Which) -> TaskAmount {
    match which {
        Which::Least => amounts.least,
        Which::Average | Which::Most | Which::Total => amounts.most,
    }
}

fn tres_name(counted: Counted) -> &'static str {
    match counted {
        Counted::Cpu => "cpu",
        Counted::Memory => "mem",
        Counted::VirtualMemory => "vmem",
        Counted::Pages => "pages",
        Counted::Read | Counted::Written => "fs/disk",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::{StepState, WaitStatus};
    use crate::values::{
        JobId, NodeName, NodeShare, StepId, TaskUsage, TasksUsage, Timestamp, Usage,
    };

    fn step(tasks_usage: Option<TasksUsage>, tasks: &[u32]) -> StepRecord {
        let share = |(node, tasks): (usize, &u32)| NodeShare {
            node: NodeName::new(&format!("node{}", node + 1)),
            cpus: Vec::new(),
            memory: 0,
            gpus: Vec::new(),
            tasks: *tasks,
        };
        StepRecord {
            job: JobId(9),
            restart: 0,
            step: StepId::Number(0),
            name: "python3".to_owned(),
            nodes: tasks.iter().enumerate().map(share).collect(),
            since: Timestamp(0),
            state: StepState::Ended {
                at: Timestamp(9000),
                status: WaitStatus::default(),
                timed_out: false,
            },
            usage: Some(Usage {
                user: 200_000,
                system: 0,
                peak_memory: 12_853_248,
                addresses: (tasks.len() == 1).then_some(8192),
            }),
            tasks_usage: tasks_usage.map(Box::new),
            cancelled_by: None,
            submit_line: None,
            srun: None,
        }
    }

    #[track_caller]
    fn check(step: &StepRecord, units: SacctUnits, column: &str, want: &str) {
        let tasks = TasksOfStep { step, units };
        assert_eq!(tasks.value(column).as_deref(), Some(want), "{column}");
    }

    /// As recorded of a real 22.05.8, where tasks on two nodes took 43773952, 73760768 and 103854080 bytes, and
    /// each wrote 5001690.
    #[test]
    fn which_task_used_most_is_told_as_a_real_one_does() {
        let task = |rank, node, memory, cpu_ms| {
            let usage = TaskUsage {
                cpu_ms,
                memory,
                pages: 0,
                read: 1_685_831,
                written: 5_001_690,
                virtual_memory: Some(memory + (1 << 30)),
            };
            (rank, node, usage)
        };
        let all = [
            task(0, 0, 43_773_952, 400),
            task(1, 0, 73_760_766, 600),
            task(2, 1, 103_854_080, 1500),
        ];
        let step = step(TasksUsage::of(&all), &[2, 1]);
        let fitting = SacctUnits::Fitting;
        check(&step, fitting, "MaxRSS", "101420K");
        check(&step, fitting, "MaxRSSNode", "node2");
        check(&step, fitting, "MaxRSSTask", "2");
        check(&step, fitting, "AveRSS", "73796266");
        check(&step, SacctUnits::In('K'), "AveRSS", "72066.67K");
        check(&step, SacctUnits::In('M'), "AveRSS", "70.38M");
        check(&step, SacctUnits::In('G'), "MaxRSS", "0.10G");
        check(&step, SacctUnits::Kept, "MaxRSS", "103854080");
        check(&step, fitting, "MaxVMSize", "1149996K");
        check(&step, fitting, "MaxVMSizeNode", "node2");
        check(&step, fitting, "MaxVMSizeTask", "2");
        check(&step, fitting, "AveVMSize", "1147538090");
        check(&step, fitting, "MaxPages", "0");
        check(&step, fitting, "MaxDiskRead", "1.61M");
        check(&step, SacctUnits::In('K'), "MaxDiskRead", "1646.32K");
        check(&step, SacctUnits::In('G'), "MaxDiskRead", "0.00G");
        check(&step, SacctUnits::Kept, "AveDiskWrite", "4.77M");
        check(&step, fitting, "MinCPU", "00:00:00");
        check(&step, fitting, "MinCPUNode", "node1");
        let want = "cpu=00:00:01,energy=0,fs/disk=1685831,mem=101420K,pages=0,vmem=1149996K";
        check(&step, fitting, "TRESUsageInMax", want);
        let want = "cpu=00:00:01,energy=0,fs/disk=1646.32K,mem=101420K,pages=0,vmem=1149996K";
        check(&step, SacctUnits::In('K'), "TRESUsageInMax", want);
        let want = "cpu=node2,energy=node1,fs/disk=node1,mem=node2,pages=node1,vmem=node2";
        check(&step, fitting, "TRESUsageInMaxNode", want);
        check(
            &step,
            fitting,
            "TRESUsageInMaxTask",
            "cpu=2,fs/disk=0,mem=2,pages=0,vmem=2",
        );
        check(
            &step,
            fitting,
            "TRESUsageOutTot",
            "energy=0,fs/disk=15005070",
        );
        check(
            &step,
            fitting,
            "TRESUsageOutMinNode",
            "energy=node1,fs/disk=node1",
        );
        check(&step, fitting, "TRESUsageOutMinTask", "fs/disk=0");
    }

    #[test]
    fn what_tasks_used_is_told_in_numbers_too() {
        let usage = |memory| TaskUsage {
            cpu_ms: 70,
            memory,
            pages: 1,
            read: 47_817,
            written: 52_428_801,
            virtual_memory: None,
        };
        let all = [(0, 0, usage(60_780_544)), (1, 1, usage(60_649_472))];
        let step = step(TasksUsage::of(&all), &[1, 1]);
        let tasks = TasksOfStep {
            step: &step,
            units: SacctUnits::Fitting,
        };
        let [read, written] = tasks.used();
        let names = |used: &[TresUsed]| used.iter().map(|it| it.tres).collect::<Vec<_>>();
        assert_eq!(names(&read), ["cpu", "mem", "fs/disk", "pages", "energy"]);
        assert_eq!(names(&written), ["fs/disk", "energy"]);
        assert_eq!(written[0].total, 104_857_602);
        let by_task = |amount, task, node: &str| UsedByTask {
            amount,
            task,
            node: node.to_owned(),
        };
        let memory = TresUsed {
            tres: "mem",
            average: 60_715_008,
            most: by_task(60_780_544, 0, "node1"),
            least: by_task(60_649_472, 1, "node2"),
            total: 121_430_016,
        };
        assert_eq!(read[1], memory);
    }

    #[test]
    fn what_a_step_with_one_task_used_is_that_tasks() {
        let one = step(None, &[1]);
        check(&one, SacctUnits::Fitting, "MaxRSSTask", "0");
        check(&one, SacctUnits::Fitting, "AveRSS", "12552K");
        check(&one, SacctUnits::In('M'), "AveRSS", "12.26M");
        check(&one, SacctUnits::Fitting, "MaxPages", "");
        check(&step(None, &[2]), SacctUnits::Fitting, "AveRSS", "");
        let other = TasksOfStep {
            step: &one,
            units: SacctUnits::Fitting,
        };
        assert_eq!(other.value("MaxVMSize").as_deref(), Some("8K"));
        assert_eq!(other.value("Elapsed"), None);
    }
}
