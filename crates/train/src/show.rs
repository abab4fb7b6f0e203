//! A plan as a person reads it.

use crate::describe::{describe, describe_machine};
use crate::launchers::starts_horovodrun;
use crate::{
    Keep, Launcher, Notify, OnHang, Plan, Resolved, ResumeBy, Source, command_line, first_task,
    say_limit, say_mebibytes, say_seconds,
};
use model::{ClusterFacts, TimeLimitRequest, WIDEST, wrap};
use std::fmt::Write as _;

impl Plan {
    /// One line: `digits · local (2 CPUs, 23 GiB, no GPU) · 2 ranks × 1 CPU · 25 s a job`.
    #[must_use]
    pub fn headline(&self, facts: &ClusterFacts) -> String {
        let place = match (facts.embedded, facts.nodes.first()) {
            (true, Some(group)) if facts.nodes.len() > 1 || group.count > 1 => {
                let count: u32 = facts.nodes.iter().map(|group| group.count).sum();
                format!("{} ({count} pretended nodes)", self.cluster)
            }
            (true, Some(machine)) => format!("{} ({})", self.cluster, describe_machine(machine)),
            _ => self.cluster.clone(),
        };
        let mut parts = vec![self.name.value.clone(), place];
        parts.push(self.shape());
        if let Some(partition) = &self.partition {
            parts.push(format!("partition {}", partition.value));
        }
        if let Some(time) = &self.time {
            parts.push(match time.value {
                TimeLimitRequest::Limit(limit) => format!("{} a job", say_seconds(limit)),
                TimeLimitRequest::Unlimited => "no time limit".to_owned(),
            });
        }
        parts.join(" · ")
    }

    /// `2 nodes × 4 v100 = 8 ranks × 6 CPUs`
    fn shape(&self) -> String {
        let ranks = plural(self.world_size(), "rank", "ranks");
        let cpus = plural(self.cpus_per_rank.value, "CPU", "CPUs");
        let kind = match &self.gpu_type {
            Some(kind) => kind.value.as_str(),
            None if self.gpus_per_node.value == 1 => "GPU",
            None => "GPUs",
        };
        if let Some(all) = &self.uneven {
            let (all, nodes) = (all.value, self.nodes.value);
            return format!("{all} {kind} on {nodes} nodes = {ranks} × {cpus}");
        }
        let each = match self.gpus_per_node.value {
            0 => plural(self.ranks_per_node.value, "rank", "ranks"),
            gpus => format!("{gpus} {kind}"),
        };
        match (self.nodes.value, self.gpus_per_node.value) {
            (1, 0) => format!("{ranks} × {cpus}"),
            (1, _) => format!("{each} = {ranks} × {cpus}"),
            (nodes, _) => format!("{nodes} nodes × {each} = {ranks} × {cpus}"),
        }
    }

    /// The headline, a table of names, values and reasons, and the notes. Ends with a line feed.
    #[must_use]
    pub fn show(&self, facts: &ClusterFacts) -> String {
        self.show_with(facts, None)
    }

    /// As [`Plan::show`], with a line more at the end of the table.
    #[must_use]
    pub fn show_with(&self, facts: &ClusterFacts, more: Option<Row>) -> String {
        let mut shown = format!("{}\n\n", self.headline(facts));
        let rows: Vec<Row> = self.rows(facts).into_iter().chain(more).collect();
        shown.push_str(&table(&rows));
        if !self.notes.is_empty() {
            shown.push('\n');
        }
        for note in &self.notes {
            shown.push_str(&paragraph("  note: ", note));
        }
        shown
    }

    /// Each value with its name and reason.
    #[must_use]
    pub fn rows(&self, facts: &ClusterFacts) -> Vec<Row> {
        let mut rows = Vec::new();
        let mut add = |name: &'static str, value: String, source: &Source| {
            let why = if source.is_asked() {
                format!("from {source}")
            } else {
                source.to_string()
            };
            rows.push(Row { name, value, why });
        };
        add(
            "launcher",
            self.launcher.value.to_string(),
            &self.launcher.source,
        );
        add(
            "command",
            self.command.value.join(" "),
            &self.command.source,
        );
        if (self.launcher.value != Launcher::None || self.environment.container.is_some())
            && let Ok(line) = command_line(self)
        {
            let why = format!("what {} becomes", self.launcher.value);
            add("command line", line, &Source::launcher(why));
        }
        if let Ok(task) = first_task(self)
            && let variables = task.variables()
            && !variables.is_empty()
        {
            let why = format!("what {} gives the first task", self.launcher.value);
            add("gives", variables, &Source::launcher(why));
        }
        if self.repeats.value > 1 {
            let (name, last) = (&self.name.value, self.repeats.value);
            let value = format!("{last}, as {name}.1 to {name}.{last}");
            add("repeats", value, &self.repeats.source);
            if let Some(count) = &self.at_once {
                add("at once", count.value.to_string(), &count.source);
            }
        }
        if let Some(after) = &self.after {
            add("after run", after.value.clone(), &after.source);
        }
        add("nodes", self.nodes.value.to_string(), &self.nodes.source);
        // The cluster says which of them has fewer.
        let most = self.uneven.as_ref().map_or("", |_| "at most ");
        if self.gpus_per_node.value > 0 {
            let kind = self
                .gpu_type
                .as_ref()
                .map(|kind| format!(" {}", kind.value));
            let value = format!(
                "{most}{}{}",
                self.gpus_per_node.value,
                kind.unwrap_or_default()
            );
            add("gpus per node", value, &self.gpus_per_node.source);
        }
        let ranks = &self.ranks_per_node;
        let value = format!("{most}{}", ranks.value);
        add("ranks per node", value, &ranks.source);
        if self.tasks_per_node.value != ranks.value {
            let tasks = &self.tasks_per_node;
            add("tasks per node", tasks.value.to_string(), &tasks.source);
        }
        let cpus = &self.cpus_per_rank;
        add("cpus per rank", cpus.value.to_string(), &cpus.source);
        if self.gpus_per_node.value > 0 {
            let horovods = starts_horovodrun(&self.command.value);
            // Their ssh leads through `srun` in jobs of the embedded engine alone, and starts no rank but
            // a daemon where they go by MPI.
            let mut words = self.command.value.iter().flat_map(|it| it.split(' '));
            let over_mpi = words.any(|word| word == "--mpi");
            let everywhere = self.nodes.value == 1 || facts.embedded && !over_mpi;
            let value = if ranks.value < self.gpus_per_node.value && horovods && everywhere {
                "ranks that horovodrun starts each at its GPU's socket"
            } else if ranks.value < self.gpus_per_node.value && horovods {
                "ranks that horovodrun starts on the first node each at its GPU's socket, others anywhere"
            } else if ranks.value < self.gpus_per_node.value {
                "each rank at its GPUs' sockets, and ranks that it starts itself anywhere there"
            } else {
                "each rank at its GPU's socket"
            };
            let why = "where the job has enough CPUs there";
            add(
                "cpu binding",
                value.to_owned(),
                &Source::launcher(why.to_owned()),
            );
        }
        match &self.memory {
            Some(Resolved { value: 0, source }) => add("memory", "all".to_owned(), source),
            Some(memory) => add("memory", say_mebibytes(memory.value), &memory.source),
            None => {
                if let Some(source) = &self.memory_left {
                    add("memory", "default".to_owned(), source);
                }
            }
        }
        match &self.time {
            Some(time) => add("time a job", say_limit(time.value), &time.source),
            None => {
                let why = Source::cluster(format!("default of {}", self.cluster));
                let time = if facts.embedded {
                    "no limit"
                } else {
                    "not set"
                };
                add("time a job", time.to_owned(), &why);
            }
        }
        let given = [
            ("partition", &self.partition),
            ("account", &self.account),
            ("qos", &self.qos),
            ("constraint", &self.constraint),
        ];
        for (name, value) in given {
            if let Some(value) = value {
                add(name, value.value.clone(), &value.source);
            }
        }
        if self.exclusive.value {
            add("exclusive", "yes".to_owned(), &self.exclusive.source);
        }
        if !self.sbatch.value.is_empty() {
            add("sbatch", self.sbatch.value.join(" "), &self.sbatch.source);
        }
        if !self.environment.modules.value.is_empty() {
            let modules = &self.environment.modules;
            add("modules", modules.value.join(" "), &modules.source);
        }
        if let Some(container) = &self.environment.container {
            let image = &container.image;
            add("container", image.value.to_string(), &image.source);
            let runtime = &container.runtime;
            add("runtime", runtime.value.to_string(), &runtime.source);
            if let Some(cache) = &container.kept_in {
                add("image in", cache.value.display().to_string(), &cache.source);
            }
            if let Some(cache) = &container.fetched_to {
                add("fetched to", cache.value.to_string(), &cache.source);
            }
        }
        let (variables, secrets) = (&self.environment.variables, &self.environment.secrets);
        for (name, value) in &variables.value {
            add("variable", format!("{name}={value}"), &variables.source);
        }
        if !secrets.value.is_empty() {
            add("secrets", secrets.value.join(" "), &secrets.source);
        }
        let python = &self.environment.python;
        add("python", python.value.to_string(), &python.source);
        if let Some(cache) = &self.environment.kept_in {
            let folder = cache.value.display().to_string();
            add("environment in", folder, &cache.source);
        }
        for path in &self.data.stage.value {
            add(
                "stage in",
                path.display().to_string(),
                &self.data.stage.source,
            );
        }
        for pattern in &self.data.collect.value {
            add("collect", pattern.clone(), &self.data.collect.source);
        }
        if let Some(local) = self.data.local_logs.as_ref().filter(|local| local.value) {
            add(
                "event files",
                "on the node's disk".to_owned(),
                &local.source,
            );
        }
        let keep = &self.checkpoints.keep;
        let kept = match keep.value {
            Keep::All => "all are kept".to_owned(),
            Keep::Newest(count) => format!("the newest {count} are kept"),
        };
        add("checkpoints", kept, &keep.source);
        let on = &self.resume.on;
        let words: Vec<&str> = on.value.iter().map(|what| what.word()).collect();
        let back = if words.is_empty() {
            "never".to_owned()
        } else {
            words.join(", ")
        };
        add("comes back on", back, &on.source);
        let by = &self.resume.by;
        if by.value == ResumeBy::Successor && !on.value.is_empty() {
            add("comes back by", "a successor job".to_owned(), &by.source);
        }
        let own = &self.resume.own_checkpoints;
        if own.value {
            add(
                "resumes",
                "from the program's own checkpoints".to_owned(),
                &own.source,
            );
        }
        if let Some(hang) = &self.hang {
            let then = match hang.then.value {
                OnHang::Restart => "comes back",
                OnHang::End => "fails",
                OnHang::Log => "goes on, and the log says so",
            };
            let value = format!("after {}: {then}", say_seconds(hang.after.value));
            add("hang", value, &hang.after.source);
        }
        let args = &self.resume.args;
        if !args.value.is_empty() {
            let value = format!("{} added to the command", args.value.join(" "));
            add("resumes with", value, &args.source);
        }
        let notify = &self.resume.notify;
        let by = match notify.value {
            Notify::None => None,
            Notify::File => Some("the file YARD_STOP_FILE"),
            Notify::Sigterm => Some("SIGTERM"),
            Notify::Sigusr1 => Some("SIGUSR1"),
        };
        if let Some(by) = by {
            add("told to stop by", by.to_owned(), &notify.source);
        }
        let grace = &self.resume.grace;
        add("grace", say_seconds(grace.value), &grace.source);
        if !facts.embedded {
            let why = Source::cluster(describe(facts));
            add("cluster", self.cluster.clone(), &why);
        }
        rows
    }
}

/// A value of a plan, as a line of its table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What it is, such as `cpus per node`.
    pub name: &'static str,
    /// The value, with its unit.
    pub value: String,
    /// Why it is that.
    pub why: String,
}

/// Names, values and reasons in columns; a long reason goes on below itself.
pub(crate) fn table(rows: &[Row]) -> String {
    let names = width(rows.iter().map(|row| row.name));
    let values = width(rows.iter().map(|row| row.value.as_str())).min(28);
    let indent = names + values + 6;
    let below = " ".repeat(indent);
    let mut shown = String::new();
    for Row { name, value, why } in rows {
        let fits = value.chars().count() <= values
            || indent.max(names + 6 + value.chars().count()) + why.chars().count() <= WIDEST;
        let head = format!("  {name:names$}  {value:values$}  ");
        match (fits, why.is_empty()) {
            (true, true) => {
                let _ = writeln!(shown, "{}", head.trim_end());
            }
            (true, false) => wrap(&mut shown, &head, &below, why),
            (false, _) => {
                // A long value has its lines for itself.
                shown.push_str(&paragraph(&format!("  {name:names$}  "), value));
                wrap(&mut shown, &below, &below, why);
            }
        }
    }
    shown
}

/// A title and a text, which goes on below itself where it is long.
pub(crate) fn paragraph(title: &str, text: &str) -> String {
    let mut shown = String::new();
    wrap(&mut shown, title, &" ".repeat(title.chars().count()), text);
    shown
}

fn width<'a>(texts: impl Iterator<Item = &'a str>) -> usize {
    texts.map(|text| text.chars().count()).max().unwrap_or(0)
}

/// `a`, `a or b`, `a, b or c`.
pub(crate) fn either(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

pub(crate) fn plural(count: u32, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    }
}
