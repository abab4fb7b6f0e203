//! What a batch script would be on a cluster that is known by its file.

use super::{Allocation, InQueue, show};
use crate::show::Row;
use model::cluster::{ClusterFile, Refusal as Denied, Sourced};
use model::option_table::{Effect, Key};
use model::sbatch::Sbatch;
use model::{Given, Origin, Span};

/// A batch script's table: what it gets there, and why.
#[derive(Clone, Debug)]
pub struct ScriptPlan {
    name: String,
    cluster: String,
    rows: Vec<Row>,
    /// What it would be given.
    pub allocation: Allocation,
    /// Why the cluster would not take it, or never start it.
    pub refusals: Vec<Denied>,
    /// Jobs in the queue at once.
    pub in_queue: InQueue,
    notes: Vec<String>,
}

impl ScriptPlan {
    /// Reads off what a script asks, as sbatch reads it.
    #[must_use]
    pub fn of(sbatch: &Sbatch, file: &ClusterFile, user: Option<&str>) -> ScriptPlan {
        let request = &sbatch.request;
        let allocation = Allocation::of(request, file);
        let own = file.user(user.unwrap_or("*"));
        let account = request.account.clone();
        let default_account = own.and_then(|own| own.default_account.as_ref());
        let of_account = account.as_deref().or(default_account.map(|of| of.as_str()));
        let default_qos = file.default_qos(user.unwrap_or("*"), of_account.unwrap_or_default());
        let qos = request
            .qos
            .clone()
            .or(default_qos.map(|qos| qos.value.clone()));
        let whys = Whys { sbatch, file };
        let values = allocation.fields();
        let mut rows: Vec<Row> = values
            .into_iter()
            .filter(|(field, value)| {
                !["–", "no", "0"].contains(&value.as_str()) || *field == "memory"
            })
            .map(|(name, value)| Row {
                name,
                why: whys.of(name),
                value,
            })
            .collect();
        let mut add =
            |name, asked: Option<&String>, keys: &[Key], default: Option<&Sourced<String>>| {
                let value = asked.or(default.map(|default| &default.value));
                let Some(value) = value else { return };
                let why = whys.given(keys).unwrap_or_else(|| match default {
                    Some(default) if default.is_disputed() => {
                        let all: Vec<&str> = default.all().map(String::as_str).collect();
                        format!("{} names {} as its default", file.name, all.join(" and "))
                    }
                    _ => format!("your default on {}", file.name),
                });
                rows.push(Row {
                    name,
                    value: value.clone(),
                    why,
                });
            };
        add(
            "account",
            account.as_ref(),
            &[Key::Account],
            default_account,
        );
        add("qos", request.qos.as_ref(), &[Key::Qos], default_qos);
        let in_queue = InQueue::of_script(request, file, user, qos.as_deref());
        rows.push(show::queue_row(&in_queue));
        ScriptPlan {
            name: request.name.clone(),
            cluster: file.name.clone(),
            rows,
            allocation,
            refusals: file.refusals(request, user),
            in_queue,
            notes: whys.notes(),
        }
    }

    /// Whether the cluster takes it, as far as its file is not assumed.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.refusals.iter().any(|refusal| !refusal.assumed)
    }

    /// The headline, the table, what would be refused, and the notes. Ends with a line feed.
    #[must_use]
    pub fn show(&self) -> String {
        let of = &self.allocation;
        let plural = |count: u32, one: &str| match count {
            1 => format!("1 {one}"),
            count => format!("{count} {one}s"),
        };
        let mut parts = vec![
            format!(
                "{} on {}: {}",
                self.name,
                self.cluster,
                plural(of.nodes, "node")
            ),
            plural(of.tasks, "task"),
        ];
        if of.gpus_per_node > 0 {
            parts.push(format!("{} a node", plural(of.gpus_per_node, "GPU")));
        }
        if let Some(time) = of.time {
            parts.push(crate::say_limit(time));
        }
        let mut shown = format!("{}\n\n", parts.join(" · "));
        shown.push_str(&crate::show::table(&self.rows));
        shown.push_str(&show::refusals(&self.refusals));
        shown.push_str(&show::notes(&self.notes));
        shown
    }
}

/// Where each value came from.
struct Whys<'a> {
    sbatch: &'a Sbatch,
    file: &'a ClusterFile,
}

impl Whys<'_> {
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
        let cluster = &self.file.name;
        match (field, given) {
            ("cpus per node", given) if self.sbatch.request.exclusive => {
                let all = "all of the node: it is the job's alone";
                given.map_or_else(|| all.to_owned(), |given| format!("{all}; {given}"))
            }
            (_, Some(given)) => given,
            ("nodes", None) => "the least that holds tasks and GPUs".to_owned(),
            ("tasks", None) => "one a node unless asked, or as many as GPUs ask for".to_owned(),
            ("cpus per node", None) => "one a task unless asked".to_owned(),
            ("memory", None) => format!("not asked: what {cluster} gives by itself"),
            ("time", None) => format!("{cluster}'s default there"),
            ("partition", None) => format!("{cluster}'s default"),
            ("exclusive", None) => format!("{cluster}: whole nodes there"),
            (_, None) => String::new(),
        }
    }

    /// The options that gave it: `line 7: --gres=gpu:4`.
    fn given(&self, keys: &[Key]) -> Option<String> {
        let all = &self.sbatch.given;
        let given = all.iter().enumerate().filter(|(index, given)| {
            let sets = |key: &Key| given.option.effect == Effect::Sets(*key);
            // Of one that is given again the last counts.
            let again = |later: &Given| later.option.long == given.option.long;
            keys.iter().any(sets) && !all[index + 1..].iter().any(again)
        });
        let given = given.map(|(_, given)| given);
        let said: Vec<String> = given
            .map(|given| {
                let value = given.value.as_ref().map(|value| format!("={value}"));
                let value = value.unwrap_or_default();
                let option = format!("--{}{value}", given.option.long);
                match (&given.span, given.origin) {
                    (Span::Script { line, .. }, Origin::Script) => {
                        format!("line {line}: {option}")
                    }
                    (_, Origin::Environment) => given.written.clone(),
                    _ => option,
                }
            })
            .collect();
        (!said.is_empty()).then(|| said.join(", "))
    }

    /// What a person should know of what was written.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let given = &self.sbatch.given;
        for (index, first) in given.iter().enumerate() {
            let again = given[index + 1..]
                .iter()
                .find(|later| later.option.long == first.option.long && later.value != first.value);
            if let (Some(later), Span::Script { line, .. }) = (again, &first.span) {
                let value = |value: &Option<String>| value.clone().unwrap_or_default();
                notes.push(format!(
                    "line {line}: --{}={} is dropped: --{}={} comes later",
                    first.option.long,
                    value(&first.value),
                    later.option.long,
                    value(&later.value),
                ));
            }
        }
        let has = |key: Key| {
            let sets = |given: &&Given| given.option.effect == Effect::Sets(key);
            given.iter().any(|given| sets(&given))
        };
        if has(Key::Gres) && has(Key::GpusPerNode) && self.sbatch.request.gpus_per_node.is_some() {
            notes.push(
                "GPUs are asked twice, by --gres and by --gpus-per-node: once is enough, and a run \
                 file asks once"
                    .to_owned(),
            );
        }
        if has(Key::GpusPerTask) {
            notes.push(
                "--gpus-per-task binds each task to its own GPU, so that tasks on a node can't \
                 reach each other's; a run file gives each task its node's GPUs and a local rank"
                    .to_owned(),
            );
        }
        notes
    }
}
