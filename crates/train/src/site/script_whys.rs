//! Where each value of a batch script's plan came from.

use super::Allocation;
use crate::show::{Row, plural};
use cluster_file::{ClusterFile, Partition, Sourced};
use model::option_table::{Effect, Key};
use model::sbatch::Sbatch;
use model::{Given, Origin, Span};
use resources::TimeFrom;
use std::collections::HashMap;
use std::path::PathBuf;

/// Where each value came from.
pub(super) struct Whys<'a> {
    pub sbatch: &'a Sbatch,
    pub file: &'a ClusterFile,
    pub allocation: &'a Allocation,
    /// From where the job has its time.
    pub time: Option<&'a TimeFrom>,
    pub user: Option<&'a str>,
}

impl Whys<'_> {
    /// The allocation's values with their reasons; what is not asked and not known stands with why.
    pub fn rows(&self) -> Vec<Row> {
        let shown = |(field, value): &(&str, String)| {
            let is_said = !["–", "no", "0"].contains(&value.as_str());
            is_said || ["memory", "time", "partition"].contains(field)
        };
        let fields = self.allocation.fields().into_iter().filter(shown);
        let row = |(name, value): (&'static str, String)| Row {
            name,
            why: self.of(name),
            value,
        };
        fields.map(row).collect()
    }

    fn of(&self, field: &str) -> String {
        let keys: &[Key] = match field {
            "nodes" => &[Key::Nodes],
            "tasks" => &[Key::Tasks, Key::TasksPerNode, Key::TasksPerGpu],
            "cpus per node" => &[Key::CpusPerTask, Key::CpusPerGpu],
            "gpus per node" => &[Key::GpusPerNode, Key::Gres, Key::Gpus, Key::GpusPerTask],
            "memory" => &[Key::Mem, Key::MemPerCpu, Key::MemPerGpu],
            "time" => &[Key::Time],
            "partition" => &[Key::Partition],
            "constraint" => &[Key::Constraint],
            "exclusive" => &[Key::Exclusive],
            _ => &[],
        };
        let given = self.given(keys);
        let range = self.sbatch.request.min_nodes;
        match (field, given) {
            ("nodes", Some(given)) if self.allocation.most_nodes.is_some() => {
                let fewest = self.allocation.nodes;
                let why = if range.is_some_and(|least| least < fewest) {
                    format!(" ({})", self.why_nodes())
                } else {
                    String::new()
                };
                format!(
                    "{given}: as many of them as are free when it starts; the rest is shown for {}{why}",
                    plural(fewest, "node", "nodes")
                )
            }
            ("nodes", Some(given)) if range.is_some_and(|least| least < self.allocation.nodes) => {
                format!("{given}; {}", self.why_nodes())
            }
            ("cpus per node", given) if self.allocation.exclusive => {
                let all = format!("all of the node: {}", self.why_whole());
                given.map_or_else(|| all.clone(), |given| format!("{all}; {given}"))
            }
            ("partition", Some(given)) if self.allocation.partition.is_none() => {
                format!("{given}, which {} is not known to have", self.file.name)
            }
            (_, Some(given)) => given,
            (field, None) => self.not_asked(field),
        }
    }

    /// Why it is that where it was not requested.
    fn not_asked(&self, field: &str) -> String {
        let cluster = &self.file.name;
        let of = self.allocation;
        let request = &self.sbatch.request;
        let partition = of.partition.as_ref();
        let partition = partition.and_then(|name| self.file.partition(name));
        match field {
            "nodes" => self.why_nodes(),
            "tasks" => match &request.rare.gpus_per_task {
                Some(each) => format!("one for each of {}", plural(each.count, "GPU", "GPUs")),
                None => "default: 1 per node".to_owned(),
            },
            "cpus per node" => {
                let key = partition.and_then(|partition| partition.default_cpus_per_gpu.as_ref());
                match key.filter(|each| of.cpus_per_node == each.value * of.gpus_per_node) {
                    Some(each) => format!(
                        "{} a GPU: {cluster}'s default there",
                        plural(each.value, "CPU", "CPUs")
                    ),
                    None => "default: 1 per task".to_owned(),
                }
            }
            "memory" => match super::memory::default(self.file, partition) {
                Some((_, key)) => format!("default of {cluster} ({key})"),
                None => format!("not set; the default of {cluster} is not known"),
            },
            "time" => match self.time {
                Some(TimeFrom::Default(_)) => format!("default of {cluster} there"),
                Some(TimeFrom::Limit(path)) => format!("not set: {cluster}'s limit ({path})"),
                Some(TimeFrom::Request | TimeFrom::Longest(_))
                    if partition.is_some_and(|it| longest_is_assumed(it)) =>
                {
                    format!("not set: the longest that {cluster} is assumed to allow there")
                }
                Some(TimeFrom::Request | TimeFrom::Longest(_)) => {
                    format!("not set: the longest that {cluster} allows there")
                }
                None => format!("not set; the default of {cluster} is not known"),
            },
            "partition" => match partition.map(|partition| partition.default.as_ref()) {
                Some(Some(default)) if default.is_assumed() => {
                    format!("assumed to be {cluster}'s default")
                }
                Some(_) => format!("{cluster}'s default"),
                None => format!("not set; the default of {cluster} is not known"),
            },
            "exclusive" => self.why_whole(),
            _ => String::new(),
        }
    }

    /// Why it is so many nodes where their number is left to Slurm.
    fn why_nodes(&self) -> String {
        let of = self.allocation;
        if of.nodes < 2 {
            return "default: 1 node".to_owned();
        }
        let request = &self.sbatch.request;
        let in_all = request
            .gpus
            .as_ref()
            .map(|gpus| plural(gpus.count, "GPU", "GPUs"));
        let mut held = Vec::new();
        if request.tasks.is_some() || in_all.is_none() {
            held.push(plural(of.tasks, "task", "tasks"));
        }
        held.extend(in_all);
        let each = match request.tasks_per_node {
            Some(each) => format!(", {each} a node"),
            None => String::new(),
        };
        format!("the fewest that hold {}{each}", held.join(" and "))
    }

    fn why_whole(&self) -> String {
        match self.given(&[Key::Exclusive]) {
            Some(given) => format!("it is the job's alone ({given})"),
            None => format!(
                "{} gives whole nodes in partition {}",
                self.file.name,
                self.allocation.partition.as_deref().unwrap_or_default()
            ),
        }
    }

    /// The options that gave it: `line 7: --gres=gpu:4`.
    pub fn given(&self, keys: &[Key]) -> Option<String> {
        let all = &self.sbatch.given;
        let given = all.iter().enumerate().filter(|(index, given)| {
            let sets = |key: &Key| given.option.effect == Effect::Sets(*key);
            // Of one that is given again the last counts.
            let again = |later: &Given| later.option.long == given.option.long;
            keys.iter().any(sets) && !all[index + 1..].iter().any(again)
        });
        let said: Vec<String> = given.map(|(_, given)| said(given)).collect();
        (!said.is_empty()).then(|| said.join(", "))
    }

    /// Folders that the script names and in which jobs can't run, or can't write, as three parts: what
    /// was asked, what there is, what to do.
    pub fn failing(&self) -> Vec<[String; 3]> {
        let sure = self.no_jobs().into_iter().filter(|one| one.is_sure);
        sure.map(|one| [one.asked, one.there, one.todo]).collect()
    }

    /// Folders of the job's in which jobs can't run, or can't write.
    fn no_jobs(&self) -> Vec<NoJobs> {
        let request = &self.sbatch.request;
        let start = &request.chdir;
        let mut folders = vec![(start.clone(), Key::Chdir, "start in")];
        let files = [
            (&request.output, Key::Output),
            (&request.rare.error, Key::Error),
        ];
        for (file, key) in files {
            let Some(file) = file else { continue };
            let file = start.join(file);
            let folder = file.parent().unwrap_or(&file).to_owned();
            if !folders.iter().any(|(known, ..)| *known == folder) {
                folders.push((folder, key, "write to"));
            }
        }
        let said = |(folder, key, what): (PathBuf, Key, &str)| {
            let inside = self.file.no_jobs_in(&folder, self.user)?;
            let given = self.given(&[key]);
            let todo = match key {
                Key::Chdir => "submit from another folder, or give --chdir",
                _ => "write elsewhere",
            };
            let is_assumed = self
                .file
                .paths
                .no_jobs
                .as_ref()
                .is_some_and(|folders| folders.is_assumed() || folders.is_disputed());
            Some(NoJobs {
                // From where it is submitted is not the script's to say.
                is_sure: given.is_some() && !is_assumed,
                asked: format!(
                    "to {what} {} ({})",
                    folder.display(),
                    given.unwrap_or_else(|| "submitted from there".to_owned())
                ),
                there: format!("nodes don't see {inside}, or can't write there (paths.no_jobs)"),
                todo: todo.to_owned(),
            })
        };
        folders.into_iter().filter_map(said).collect()
    }

    /// What a person should know of what was written.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let given = &self.sbatch.given;
        for (first, again) in given.iter().zip(said_otherwise(given)) {
            // What the environment or a flag says instead was meant.
            let again = again.filter(|later| later.origin == Origin::Script);
            if let (Some(later), Span::Script { line, .. }) = (again, &first.span) {
                notes.push(format!(
                    "line {line}: {} is dropped: {} comes later",
                    option_text(first),
                    option_text(later),
                ));
            }
        }
        let has = |key: Key| {
            let sets = |given: &&Given| given.option.effect == Effect::Sets(key);
            given.iter().any(|given| sets(&given))
        };
        let asks = |key: Key| super::beside::asks_gpus(given, key);
        if asks(Key::Gres) && asks(Key::GpusPerNode) && self.sbatch.request.gpus_per_node.is_some()
        {
            notes.push(format!(
                "{}, and a run file has one value",
                super::beside::TWICE
            ));
        }
        let doubted = self.no_jobs().into_iter().filter(|one| !one.is_sure);
        notes.extend(doubted.map(|one| {
            let NoJobs {
                asked, there, todo, ..
            } = one;
            format!("jobs can't have {asked}: {there}; {todo}")
        }));
        if has(Key::GpusPerTask) {
            notes.push(format!("--gpus-per-task {}", super::beside::BOUND));
        }
        notes
    }
}

/// For each option the next one of its name that has another value.
fn said_otherwise(all: &[Given]) -> Vec<Option<&Given>> {
    let mut next: HashMap<&str, (&Given, Option<&Given>)> = HashMap::new();
    let mut found: Vec<Option<&Given>> = Vec::with_capacity(all.len());
    // From behind, so that each has to look at one alone.
    for given in all.iter().rev() {
        let other = next.get(given.option.long).and_then(|(later, other)| {
            if later.value == given.value {
                *other
            } else {
                Some(*later)
            }
        });
        next.insert(given.option.long, (given, other));
        found.push(other);
    }
    found.reverse();
    found
}

/// A folder of a job's in which jobs can't run, or can't write.
struct NoJobs {
    /// The script names it, and nothing of it is assumed.
    is_sure: bool,
    asked: String,
    there: String,
    todo: String,
}

fn longest_is_assumed(partition: &Partition) -> bool {
    let longest = partition.max_time.as_ref();
    longest.is_some_and(Sourced::is_assumed)
}

/// `line 7: --gres=gpu:4`, or the option alone where it doesn't stand in the script.
pub(super) fn said(given: &Given) -> String {
    match (&given.span, given.origin) {
        (Span::Script { line, .. }, Origin::Script) => {
            format!("line {line}: {}", option_text(given))
        }
        (_, Origin::Environment) => format!("{} is set", given.written),
        _ => option_text(given),
    }
}

/// An option by its long name, with its value.
pub(super) fn option_text(given: &Given) -> String {
    match &given.value {
        Some(value) => format!("--{}={value}", given.option.long),
        None => format!("--{}", given.option.long),
    }
}
