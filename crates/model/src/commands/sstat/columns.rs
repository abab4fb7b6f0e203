//! The columns of `sstat`, in the order of its `--helpformat`.

use crate::records::{StepUse, TaskUse};
use crate::values::{amount_text, node_list, padded_elapsed_text};

/// A step, or what one node has of it.
pub(super) struct View<'a> {
    pub(super) step: &'a StepUse,
    pub(super) node: Option<usize>,
    /// Speed of the CPUs.
    pub(super) mhz: f64,
    /// Amounts have units.
    pub(super) is_converted: bool,
}

/// A column: its name, which is its header, and how wide it is; a negative width is aligned to the
/// left.
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) width: isize,
    pub(super) text: fn(&View<'_>) -> String,
}

/// What is counted of a task.
type Count = fn(&TaskUse) -> u64;

const CPU: Count = |task| task.cpu_ms;
const MEMORY: Count = |task| task.memory;
const VIRTUAL: Count = |task| task.virtual_memory;
const PAGES: Count = |task| task.pages;
const READ: Count = |task| task.read;
const WRITTEN: Count = |task| task.written;

const fn column(name: &'static str, width: isize, text: fn(&View<'_>) -> String) -> Column {
    Column { name, width, text }
}

#[rustfmt::skip]
pub(super) const COLUMNS: &[Column] = &[
    column("AveCPU", 10, |it| time(it.average(CPU))),
    column("AveCPUFreq", 10, |it| it.speed()),
    column("AveDiskRead", 12, |it| it.bytes(it.average(READ))),
    column("AveDiskWrite", 12, |it| it.bytes(it.average(WRITTEN))),
    column("AvePages", 10, |it| it.bytes(it.average(PAGES))),
    column("AveRSS", 10, |it| it.bytes(it.average(MEMORY))),
    column("AveVMSize", 10, |it| it.bytes(it.average(VIRTUAL))),
    column("ConsumedEnergy", 14, |_| "0".to_owned()),
    column("ConsumedEnergyRaw", 17, |_| "0".to_owned()),
    column("JobID", -12, |it| format!("{}.{}", it.step.job, it.step.step)),
    column("MaxDiskRead", 12, |it| it.bytes(it.most(READ).count)),
    column("MaxDiskReadNode", 15, |it| it.most(READ).node),
    column("MaxDiskReadTask", 15, |it| it.most(READ).task),
    column("MaxDiskWrite", 12, |it| it.bytes(it.most(WRITTEN).count)),
    column("MaxDiskWriteNode", 16, |it| it.most(WRITTEN).node),
    column("MaxDiskWriteTask", 16, |it| it.most(WRITTEN).task),
    column("MaxPages", 8, |it| it.bytes(it.most(PAGES).count)),
    column("MaxPagesNode", 12, |it| it.most(PAGES).node),
    column("MaxPagesTask", 14, |it| it.most(PAGES).task),
    column("MaxRSS", 10, |it| it.bytes(it.most(MEMORY).count)),
    column("MaxRSSNode", 10, |it| it.most(MEMORY).node),
    column("MaxRSSTask", 10, |it| it.most(MEMORY).task),
    column("MaxVMSize", 10, |it| it.bytes(it.most(VIRTUAL).count)),
    column("MaxVMSizeNode", 14, |it| it.most(VIRTUAL).node),
    column("MaxVMSizeTask", 14, |it| it.most(VIRTUAL).task),
    column("MinCPU", 10, |it| time(it.least(CPU).count)),
    column("MinCPUNode", 10, |it| it.least(CPU).node),
    column("MinCPUTask", 10, |it| it.least(CPU).task),
    column("Nodelist", 20, nodes),
    column("NTasks", 8, |it| it.step.tasks.to_string()),
    column("Pids", 20, pids),
    column("ReqCPUFreq", 10, |_| "Unknown".to_owned()),
    column("ReqCPUFreqMin", 13, |_| "Unknown".to_owned()),
    column("ReqCPUFreqMax", 13, |_| "Unknown".to_owned()),
    column("ReqCPUFreqGov", 13, |_| "Unknown".to_owned()),
    column("TRESUsageInAve", 14, |it| it.usage_in(|count| it.average(count))),
    column("TRESUsageInMax", 14, |it| it.usage_in(|count| it.most(count).count)),
    column("TRESUsageInMaxNode", 18, |it| it.nodes_in(|count| it.most(count).node)),
    column("TRESUsageInMaxTask", 18, |it| it.tasks_in(|count| it.most(count).task)),
    column("TRESUsageInMin", 14, |it| it.usage_in(|count| it.least(count).count)),
    column("TRESUsageInMinNode", 18, |it| it.nodes_in(|count| it.least(count).node)),
    column("TRESUsageInMinTask", 18, |it| it.tasks_in(|count| it.least(count).task)),
    column("TRESUsageInTot", 14, |it| it.usage_in(|count| it.sum(count))),
    column("TRESUsageOutAve", 15, |it| it.usage_out(it.average(WRITTEN))),
    column("TRESUsageOutMax", 15, |it| it.usage_out(it.most(WRITTEN).count)),
    column("TRESUsageOutMaxNode", 19, |it| it.node_out(&it.most(WRITTEN).node)),
    column("TRESUsageOutMaxTask", 19, |it| format!("fs/disk={}", it.most(WRITTEN).task)),
    column("TRESUsageOutMin", 15, |it| it.usage_out(it.least(WRITTEN).count)),
    column("TRESUsageOutMinNode", 19, |it| it.node_out(&it.least(WRITTEN).node)),
    column("TRESUsageOutMinTask", 19, |it| format!("fs/disk={}", it.least(WRITTEN).task)),
    column("TRESUsageOutTot", 15, |it| it.usage_out(it.sum(WRITTEN))),
];

/// A count, and which task has it.
#[derive(Default)]
struct Found {
    count: u64,
    node: String,
    task: String,
}

impl View<'_> {
    fn sum(&self, count: Count) -> u64 {
        self.step.measured.iter().map(count).sum()
    }

    fn average(&self, count: Count) -> u64 {
        let tasks = self.step.measured.len() as u64;
        self.sum(count).checked_div(tasks).unwrap_or(0)
    }

    fn most(&self, count: Count) -> Found {
        // Of equal ones the first.
        let tasks = self.step.measured.iter().rev();
        self.found(tasks.max_by_key(|task| count(task)), count)
    }

    fn least(&self, count: Count) -> Found {
        self.found(
            self.step.measured.iter().min_by_key(|task| count(task)),
            count,
        )
    }

    fn found(&self, task: Option<&TaskUse>, count: Count) -> Found {
        let Some(task) = task else {
            return Found::default();
        };
        let node = self.step.nodes.get(task.node);
        Found {
            count: count(task),
            node: node.map(ToString::to_string).unwrap_or_default(),
            task: task.rank.to_string(),
        }
    }

    fn bytes(&self, count: u64) -> String {
        if self.is_converted {
            amount_text(count)
        } else {
            count.to_string()
        }
    }

    fn speed(&self) -> String {
        if self.mhz < 1000.0 {
            return format!("{:.0}K", self.mhz);
        }
        let value = self.mhz / 1000.0;
        if value.fract() == 0.0 {
            format!("{value:.0}M")
        } else {
            format!("{value:.2}M")
        }
    }

    /// `cpu=…,fs/disk=…,mem=…,pages=…,vmem=…`
    fn usage_in(&self, count: impl Fn(Count) -> u64) -> String {
        format!(
            "cpu={},energy=0,fs/disk={},mem={},pages={},vmem={}",
            time(count(CPU)),
            count(READ),
            self.bytes(count(MEMORY)),
            count(PAGES),
            self.bytes(count(VIRTUAL)),
        )
    }

    fn nodes_in(&self, node: impl Fn(Count) -> String) -> String {
        format!(
            "cpu={},energy={},fs/disk={},mem={},pages={},vmem={}",
            node(CPU),
            node(CPU),
            node(READ),
            node(MEMORY),
            node(PAGES),
            node(VIRTUAL),
        )
    }

    /// The task of the CPU time is printed as if it were one.
    fn tasks_in(&self, task: impl Fn(Count) -> String) -> String {
        format!(
            "cpu={},fs/disk={},mem={},pages={},vmem={}",
            task(CPU)
                .parse()
                .map_or_else(|_| String::new(), |rank: i64| padded_elapsed_text(rank)),
            task(READ),
            task(MEMORY),
            task(PAGES),
            task(VIRTUAL),
        )
    }

    /// In MiB.
    fn usage_out(&self, written: u64) -> String {
        format!("energy=0,fs/disk={}", written >> 20)
    }

    fn node_out(&self, node: &str) -> String {
        format!("energy={node},fs/disk={node}")
    }
}

fn time(milliseconds: u64) -> String {
    padded_elapsed_text(i64::try_from(milliseconds / 1000).unwrap_or(i64::MAX))
}

fn nodes(view: &View<'_>) -> String {
    match view.node {
        Some(node) => view.step.nodes[node].to_string(),
        None => node_list::fold(&view.step.nodes),
    }
}

/// The first processes of the tasks.
fn pids(view: &View<'_>) -> String {
    let here = view.step.measured.iter();
    let here = here.filter(|task| view.node.is_none_or(|node| task.node == node));
    let all = here.flat_map(|task| &task.processes);
    all.map(ToString::to_string).collect::<Vec<_>>().join(",")
}
