//! What a batch script would be on a cluster that is known by its file.

use super::objection::objections;
use super::script_whys::Whys;
use super::{Allocation, InQueue, Objection, gpu_types, note, show};
use crate::show::{Row, paragraph, plural};
use cluster_file::{ClusterFile, Named, Sourced, User};
use model::Request;
use model::option_table::Key;
use model::sbatch::Sbatch;
use resources::{JobTime, TimeFrom, Verdict};

/// A batch script's table: what it gets there, and why.
#[derive(Clone, Debug)]
pub struct ScriptPlan {
    /// The job's name.
    pub name: String,
    /// The cluster's.
    pub cluster: String,
    /// Each value with its reason.
    pub rows: Vec<Row>,
    /// What it would be given.
    pub allocation: Allocation,
    /// Why the cluster would not take it, or never start it.
    pub refusals: Vec<Objection>,
    /// What the job would fail at as it starts, each as what was asked, what there is, what to do.
    pub failing: Vec<[String; 3]>,
    /// Jobs in the queue at once.
    pub in_queue: InQueue,
    /// What is to be said of what was written.
    pub written: Vec<String>,
    /// Values of the cluster file that the plan rests on and that are assumed: key and reason.
    pub assumed: Vec<(String, String)>,
}

impl ScriptPlan {
    /// Reads off what a script asks, as sbatch reads it.
    #[must_use]
    pub fn of(sbatch: &Sbatch, file: &ClusterFile, user: Option<&str>) -> ScriptPlan {
        let request = &sbatch.request;
        let verdict = resources::verdict(file, request, user);
        let allocation = Allocation::judged(request, file, &verdict);
        let Verdict {
            partition,
            time,
            findings,
        } = verdict;
        let own = file.user(user.unwrap_or("*"));
        let default_account = own.and_then(|own| own.default_account.as_ref());
        let account = request
            .account
            .as_ref()
            .or(default_account.map(|of| &of.value));
        let account = account.map(String::as_str);
        let of_association = file.first_partition(request.partition.as_deref());
        let default_qos = file.default_qos(
            user.unwrap_or("*"),
            account.unwrap_or_default(),
            of_association,
        );
        let qos = request
            .qos
            .as_ref()
            .or(default_qos.map(|default| &default.value));
        let in_queue = InQueue::of_script(request, file, user, account, qos.map(String::as_str));
        let whys = Whys {
            sbatch,
            file,
            allocation: &allocation,
            time: time.as_ref().map(|time| &time.from),
            user,
        };
        let mut rows = whys.rows();
        let mut add =
            |name, asked: Option<&String>, key: Key, default: Option<&Sourced<String>>| {
                let Some(value) = asked.or(default.map(|default| &default.value)) else {
                    return;
                };
                let why = whys.given(&[key]).unwrap_or_else(|| match default {
                    Some(default) if default.is_disputed() => {
                        let all: Vec<&str> = default.all().map(String::as_str).collect();
                        format!("{} names {} as its default", file.name, all.join(" and "))
                    }
                    _ if own.is_some_and(|own| own.name == "*") => {
                        format!("{}'s file has it as everyone's default", file.name)
                    }
                    _ => format!("your default on {}", file.name),
                });
                let value = value.clone();
                rows.push(Row { name, value, why });
            };
        let asked = request.account.as_ref();
        add("account", asked, Key::Account, default_account);
        add("qos", request.qos.as_ref(), Key::Qos, default_qos);
        rows.push(show::queue_row(&in_queue));
        let mut written = whys.notes();
        let failing = whys.failing();
        written.extend(gpu_types::note(file, partition, request));
        let assumed = assumed(request, file, &allocation, time.as_ref(), own);
        ScriptPlan {
            name: request.name.clone(),
            cluster: file.name.clone(),
            rows,
            allocation,
            refusals: objections(&findings),
            failing,
            in_queue,
            written,
            assumed,
        }
    }

    /// Whether it can't run there, as far as the cluster's file is not assumed.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        !self.failing.is_empty() || self.refusals.iter().any(|refusal| !refusal.assumed)
    }

    /// The headline, the table, what would be refused, and the notes. Ends with a line feed.
    #[must_use]
    pub fn show(&self) -> String {
        let mut shown = format!("{}\n\n", self.headline());
        shown.push_str(&crate::show::table(&self.rows));
        shown.push_str(&show::refusals(&self.refusals));
        for [asked, there, todo] in &self.failing {
            shown.push_str("\n  would fail as it starts\n");
            shown.push_str(&paragraph("    asked   ", asked));
            shown.push_str(&paragraph("    there   ", there));
            shown.push_str(&paragraph("    do      ", todo));
        }
        shown.push_str(&show::notes(&self.notes()));
        shown
    }

    /// What a person should know and can't see in the values, in words.
    #[must_use]
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.written.clone();
        notes.extend(self.in_queue.note(&self.refusals));
        notes.extend(show::assumed_note(&self.assumed, &self.cluster));
        notes
    }

    /// `train · ibex · 2 nodes · 8 tasks · 24 CPUs, 4 v100, 360 GiB a node · 24 h`
    fn headline(&self) -> String {
        let of = &self.allocation;
        let mut each = vec![plural(of.cpus_per_node, "CPU", "CPUs")];
        match (&of.gpu_type, of.gpus_per_node) {
            (_, 0) => {}
            (Some(kind), gpus) => each.push(format!("{gpus} {kind}")),
            (None, gpus) => each.push(plural(gpus, "GPU", "GPUs")),
        }
        match of.memory {
            None => {}
            Some(0) => each.push("all memory".to_owned()),
            Some(size) => each.push(crate::say_mebibytes(size)),
        }
        let each = each.join(", ");
        let mut parts = vec![
            self.name.clone(),
            self.cluster.clone(),
            match of.most_nodes {
                None => plural(of.nodes, "node", "nodes"),
                Some(_) => format!("{} nodes", of.say_nodes()),
            },
            plural(of.tasks, "task", "tasks"),
            match (of.nodes, of.most_nodes) {
                (1, None) => each,
                _ => format!("{each} a node"),
            },
        ];
        parts.extend(of.time.map(crate::say_limit));
        if self.in_queue.is_array {
            parts.push(format!("{} times", self.in_queue.jobs));
        }
        parts.join(" · ")
    }
}

/// What the values rest on that is assumed.
fn assumed(
    request: &Request,
    file: &ClusterFile,
    allocation: &Allocation,
    time: Option<&JobTime>,
    own: Option<&Named<User>>,
) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let partition = allocation.partition.as_ref();
    let partition = partition.and_then(|name| file.partition(name));
    if let Some(partition) = partition {
        let path = |key: &str| format!("partition.{}.{key}", partition.name);
        if request.partition.is_none() {
            note(&mut found, path("default"), partition.default.as_ref());
        }
        if allocation.exclusive && !request.exclusive {
            note(&mut found, path("exclusive"), partition.exclusive.as_ref());
        }
    }
    match time.map(|time| &time.from) {
        Some(TimeFrom::Default(name)) => {
            let time = file.partition(name).and_then(|it| it.default_time.as_ref());
            note(&mut found, format!("partition.{name}.default_time"), time);
        }
        Some(TimeFrom::Longest(name)) => {
            let time = file.partition(name).and_then(|it| it.max_time.as_ref());
            note(&mut found, format!("partition.{name}.max_time"), time);
        }
        Some(TimeFrom::Request | TimeFrom::Limit(_)) | None => {}
    }
    let counts = request.min_nodes.is_none() && allocation.nodes > 1;
    for set in super::partition::nodes(file, partition) {
        let path = |key: &str| format!("nodes.{}.{key}", set.nodes.name);
        if counts || allocation.exclusive {
            note(&mut found, path("cpus"), set.nodes.cpus.as_ref());
        }
        for gpu in set
            .nodes
            .gpus
            .iter()
            .filter(|_| counts && allocation.gpus_per_node > 0)
        {
            note(&mut found, path("gpu.count"), gpu.count.as_ref());
        }
    }
    let Some(own) = own else { return found };
    let path = |key: &str| format!("user.{}.{key}", own.name);
    if request.account.is_none() {
        note(
            &mut found,
            path("default_account"),
            own.default_account.as_ref(),
        );
    }
    if request.qos.is_none() {
        note(&mut found, path("default_qos"), own.default_qos.as_ref());
    }
    found
}
