//! A batch script beside a run file: whether both get the same, and which options the run drops or
//! says otherwise.

use super::script_whys::{option_text, said};
use super::{Allocation, Difference, SitePlan};
use crate::show::paragraph;
use crate::{Plan, Resolved};
use cluster_file::ClusterFile;
use model::option_table::{Effect, Key};
use model::sbatch::{self, Sbatch};
use model::{Given, GresItem, GresList, Origin, Surroundings};
use std::fmt::Write as _;

/// Why GPUs needn't be asked with two options.
pub(super) const TWICE: &str =
    "GPUs are requested twice, by --gres and by --gpus-per-node: keep one";
/// What `--gpus-per-task` does beside counting.
pub(super) const BOUND: &str = "binds each task to its own GPU, so that tasks on a node can't \
                                reach each other's; a run file gives each task its node's GPUs \
                                and a local rank";

/// What differs between a script's job and a run's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beside {
    /// What the run gets otherwise, each with why; empty where both get the same.
    pub differences: Vec<(Difference, String)>,
    /// The script's options that the run's job doesn't have as they stand.
    pub changes: Vec<Change>,
}

/// An option of the script that the run's job doesn't have as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Where it stands, and the option: `line 8: --gpus-per-task=1`.
    pub option: String,
    /// What the run's job has instead; none where it is dropped.
    pub now: Option<String>,
    /// Why.
    pub why: String,
}

impl Beside {
    /// Compares what a script asks with what a run's job asks, on the same cluster, for a user where one is named.
    #[must_use]
    pub fn of(
        script: &Sbatch,
        run: &SitePlan,
        file: &ClusterFile,
        surroundings: &Surroundings<'_>,
        user: Option<&str>,
    ) -> Beside {
        let place = super::nowhere_yet();
        let text = run.plan.script(&place);
        let args = ["job.sbatch".to_owned()];
        let (ours, _) = sbatch::resolve(&args, &|_| None, Some(&text), surroundings);
        let theirs = Allocation::of(&script.request, file, user);
        let differences = theirs.differences(&Allocation::of(&ours.request, file, user));
        let both = Both {
            script,
            ours: &ours,
            run,
        };
        let with_why = |difference: Difference| {
            let why = both.why_of_field(difference.field);
            (difference, why)
        };
        Beside {
            differences: differences.into_iter().map(with_why).collect(),
            changes: both.changes(),
        }
    }

    /// In words; ends with a line feed. `script` is how the person names it.
    #[must_use]
    pub fn show(&self, script: &str) -> String {
        let mut shown = String::new();
        let _ = if self.differences.is_empty() {
            writeln!(shown, "\nbeside {script}: the same allocation")
        } else {
            writeln!(shown, "\nbeside {script}: another allocation")
        };
        for (difference, why) in &self.differences {
            shown.push_str(&paragraph("  differs  ", &format!("{difference}: {why}")));
        }
        for Change { option, now, why } in &self.changes {
            shown.push_str(&match now {
                Some(now) => paragraph("  changed  ", &format!("{option} → {now}: {why}")),
                None => paragraph("  dropped  ", &format!("{option}: {why}")),
            });
        }
        shown
    }
}

struct Both<'a> {
    script: &'a Sbatch,
    ours: &'a Sbatch,
    run: &'a SitePlan,
}

/// Options that say one thing together.
const GPUS: [Key; 4] = [Key::GpusPerNode, Key::Gres, Key::Gpus, Key::GpusPerTask];
const TASKS: [Key; 3] = [Key::TasksPerNode, Key::Tasks, Key::TasksPerGpu];
const CPUS: [Key; 2] = [Key::CpusPerTask, Key::CpusPerGpu];
const MEMORY: [Key; 3] = [Key::Mem, Key::MemPerCpu, Key::MemPerGpu];

impl Both<'_> {
    fn changes(&self) -> Vec<Change> {
        let all = &self.script.given;
        let of_script = all
            .iter()
            .enumerate()
            .filter(|(_, given)| given.origin == Origin::Script);
        of_script
            .filter_map(|(index, given)| self.change(given, &all[index + 1..]))
            .collect()
    }

    fn change(&self, given: &Given, later: &[Given]) -> Option<Change> {
        let again = later
            .iter()
            .find(|later| later.option.long == given.option.long);
        let change = |now: Option<String>, why: String| {
            Some(Change {
                option: said(given),
                now,
                why,
            })
        };
        if let Some(again) = again.filter(|again| again.origin == Origin::Script) {
            let why = format!(
                "{} comes later, and Slurm keeps the last of two",
                option_text(again)
            );
            return change(None, why);
        }
        let Effect::Sets(key) = given.option.effect else {
            return change(None, carried(given));
        };
        let plan = &self.run.plan;
        match (key, resources(given)) {
            (Key::Gres | Key::GpusPerNode, _) if self.is_again(key, given) => {
                return change(None, TWICE.to_owned());
            }
            (Key::Gres, Resources::Others) => return change(None, carried(given)),
            (Key::Gres, Resources::GpusAndOthers) => {
                let why = "no key of a run file requests generic resources other than GPUs: [resources] \
                           sbatch = [\"--gres=…\"] carries them";
                return change(self.ours_of(&GPUS), why.to_owned());
            }
            _ => {}
        }
        if self.is_same(key, given) {
            return None;
        }
        match key {
            Key::GpusPerTask => change(None, format!("it {BOUND}")),
            Key::Gres | Key::GpusPerNode => change(self.ours_of(&GPUS), self.why_gpus()),
            _ if GPUS.contains(&key) => change(
                self.ours_of(&GPUS),
                "a run asks for its GPUs by the node".to_owned(),
            ),
            _ if TASKS.contains(&key) => change(self.ours_of(&TASKS), why(&plan.tasks_per_node)),
            _ if CPUS.contains(&key) => change(self.ours_of(&CPUS), why(&plan.cpus_per_rank)),
            _ if MEMORY.contains(&key) => change(self.ours_of(&MEMORY), self.why_memory()),
            // What stands there is the run's own, and nothing to compare with.
            Key::Output | Key::Error | Key::Input | Key::OpenMode | Key::Chdir | Key::Comment => {
                change(None, self.why_not(key, given, plan))
            }
            _ => change(self.ours_of(&[key]), self.why_not(key, given, plan)),
        }
    }

    /// Why the run gets that of a field of the allocation.
    fn why_of_field(&self, field: &str) -> String {
        let plan = &self.run.plan;
        let left = &self.run.left;
        match field {
            "nodes" => why(&plan.nodes),
            "tasks" => why(&plan.tasks_per_node),
            "cpus per node" => why(&plan.cpus_per_rank),
            "gpus per node" => why_of(&plan.gpu_type.clone().or_else(|| {
                let count = plan.gpus_per_node.clone();
                Some(count.map(|count| count.to_string()))
            })),
            "memory" => self.why_memory(),
            "time" => why_of(&plan.time),
            "partition" => why_of(
                plan.partition
                    .as_ref()
                    .map_or(&left.partition, |_| &plan.partition),
            ),
            "constraint" => why_of(&plan.constraint),
            _ => why(&plan.exclusive),
        }
    }

    fn why_not(&self, key: Key, given: &Given, plan: &Plan) -> String {
        let left = &self.run.left;
        let text = match key {
            Key::Nodes => return why(&plan.nodes),
            Key::Time => return why_of(&plan.time),
            Key::Partition => {
                return why_of(
                    plan.partition
                        .as_ref()
                        .map_or(&left.partition, |_| &plan.partition),
                );
            }
            Key::Account => {
                return why_of(
                    plan.account
                        .as_ref()
                        .map_or(&left.account, |_| &plan.account),
                );
            }
            Key::Qos => return why_of(plan.qos.as_ref().map_or(&left.qos, |_| &plan.qos)),
            Key::Constraint => return why_of(&plan.constraint),
            Key::Exclusive => return why(&plan.exclusive),
            Key::JobName => return why(&plan.name),
            Key::Output | Key::Error | Key::Input | Key::OpenMode => {
                "what ranks print goes into the run's folder, a file a rank (yard logs)"
            }
            Key::Chdir => "a run has its own folder, with a copy of the code",
            Key::MailUser | Key::MailType => "[notify] says who gets mail, and about what",
            Key::Requeue | Key::NoRequeue => "[resume] says when the run comes back",
            Key::Signal => "[resume] notify says how the program is warned of the end",
            Key::Array => "a run file is one run: it is submitted once for each element",
            Key::Dependency => "a run waits for nothing but its own jobs",
            Key::Comment => "the run's own token stands there",
            _ => return carried(given),
        };
        text.to_owned()
    }

    /// Whether it asks for the GPUs of a node, and the other option that does so is the one that is
    /// compared: the run's own, else `--gpus-per-node`.
    fn is_again(&self, key: Key, given: &Given) -> bool {
        let has = |key: Key| asks_gpus(&self.script.given, key);
        let own = if asks_gpus(&self.ours.given, Key::Gres) {
            Key::Gres
        } else {
            Key::GpusPerNode
        };
        key != own && has(own) && has(key) && resources(given) != Resources::Others
    }

    fn why_memory(&self) -> String {
        match &self.run.plan.memory_left {
            Some(source) => format!("left to the cluster ({source})"),
            None => why_of(&self.run.plan.memory),
        }
    }

    /// Why the run's nodes have other GPUs.
    fn why_gpus(&self) -> String {
        let plan = &self.run.plan;
        let count = |sbatch: &Sbatch| Some(sbatch.request.gpus_per_node.as_ref()?.count);
        match &plan.gpu_type {
            _ if count(self.script) != count(self.ours) => why(&plan.gpus_per_node),
            Some(kind) => why(kind),
            None => "the run requests no type".to_owned(),
        }
    }

    /// The run's options of these keys.
    fn ours_of(&self, keys: &[Key]) -> Option<String> {
        let ours = self.ours.given.iter();
        let ours = ours.filter(|own| {
            keys.iter()
                .any(|key| own.option.effect == Effect::Sets(*key))
        });
        let ours: Vec<String> = ours.map(option_text).collect();
        (!ours.is_empty()).then(|| ours.join(" "))
    }

    /// Whether the run's job says the same, in the same words or in others.
    fn is_same(&self, key: Key, given: &Given) -> bool {
        let (theirs, ours) = (&self.script.request, &self.ours.request);
        let own = self.ours.given.iter();
        let mut own = own.filter(|own| own.option.effect == Effect::Sets(key));
        if own.any(|own| own.value == given.value) {
            return true;
        }
        match key {
            Key::Nodes => theirs.min_nodes == ours.min_nodes,
            Key::Time => theirs.time == ours.time,
            Key::Mem => theirs.memory == ours.memory,
            Key::TasksPerNode => theirs.tasks_per_node == ours.tasks_per_node,
            Key::CpusPerTask => theirs.cpus_per_task == ours.cpus_per_task,
            Key::Gres | Key::GpusPerNode => theirs.gpus_per_node == ours.gpus_per_node,
            Key::Exclusive => theirs.exclusive == ours.exclusive,
            Key::MailType => theirs.rare.mail_types == ours.rare.mail_types,
            _ => false,
        }
    }
}

/// What an option asks for in generic resources.
#[derive(Clone, Copy, PartialEq)]
enum Resources {
    /// GPUs alone, or no list of resources at all.
    Gpus,
    GpusAndOthers,
    /// Other resources alone, such as `gpu_mem:32G`.
    Others,
}

fn resources(given: &Given) -> Resources {
    let list = given.value.as_deref();
    if given.option.effect != Effect::Sets(Key::Gres) {
        return Resources::Gpus;
    }
    let items = list.and_then(GresList::of_gres);
    let items = items.and_then(|list| list.items().ok()).unwrap_or_default();
    let is_gpu = |item: &GresItem| item.name == "gpu";
    match (items.iter().any(is_gpu), items.iter().all(is_gpu)) {
        (_, true) => Resources::Gpus,
        (true, false) => Resources::GpusAndOthers,
        (false, false) => Resources::Others,
    }
}

/// Whether the option of this key is given, and asks for GPUs.
pub(super) fn asks_gpus(given: &[Given], key: Key) -> bool {
    let mut given = given.iter();
    given.any(|given| {
        given.option.effect == Effect::Sets(key) && resources(given) != Resources::Others
    })
}

fn why<T>(value: &Resolved<T>) -> String {
    if value.source.is_asked() {
        format!("from {}", value.source)
    } else {
        value.source.to_string()
    }
}

fn why_of<T>(value: &Option<Resolved<T>>) -> String {
    let unsaid = || "the run file doesn't say it".to_owned();
    value.as_ref().map_or_else(unsaid, why)
}

fn carried(given: &Given) -> String {
    format!(
        "no key of a run file: [resources] sbatch = [{:?}] carries it",
        option_text(given)
    )
}
