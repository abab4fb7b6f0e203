//! From a plan to what is submitted.

use crate::amounts::slurm_minutes;
use crate::environment_plan::quoted;
use crate::{JobPlace, Plan, ResumeBy, ResumeOn};
use model::{
    ArraySpec, GpuCount, MemoryRequest, OpenMode, RareOptions, Request, Seconds, TimeLimitRequest,
    mail_types_text,
};
use std::fmt::Write as _;
use std::path::Path;

impl Plan {
    /// What is asked of the engine for one job of the run, or for the array of its repeats.
    #[must_use]
    pub fn request(&self, place: &JobPlace<'_>) -> Request {
        let text = |value: &Option<crate::Resolved<String>>| {
            value.as_ref().map(|value| value.value.clone())
        };
        let slurms_mail = self.slurm_sends_mail();
        let ranks = self.ranks_per_node.value;
        let ranks_per_task = match self.uneven {
            // Slurm places them with their GPUs. Beside --ntasks-per-node it would give each node as many.
            Some(_) => 1,
            None => ranks / self.tasks_per_node.value.max(1),
        };
        let cpus_per_task = self.cpus_per_rank.value.saturating_mul(ranks_per_task);
        let memory = |size: u64| match self.uneven {
            // So that a node with more ranks gets more.
            Some(_) if size > 0 => {
                let cpus = cpus_per_task.saturating_mul(ranks).max(1);
                // Down: all of a node may be meant.
                MemoryRequest::PerCpu((size / u64::from(cpus)).max(1))
            }
            Some(_) | None => MemoryRequest::PerNode(size),
        };
        let gpus = |count| GpuCount {
            kind: text(&self.gpu_type),
            count,
        };
        let has_gpus = self.gpus_per_node.value > 0;
        Request {
            name: self.name.value.clone(),
            account: text(&self.account),
            partition: text(&self.partition),
            qos: text(&self.qos),
            min_nodes: Some(self.nodes.value),
            max_nodes: Some(self.nodes.value),
            tasks: self.uneven.as_ref().map(|all| all.value),
            tasks_per_node: self.uneven.is_none().then_some(self.tasks_per_node.value),
            cpus_per_task: Some(cpus_per_task),
            memory: self.memory.as_ref().map(|size| memory(size.value)),
            gpus_per_node: (has_gpus && self.uneven.is_none())
                .then(|| gpus(self.gpus_per_node.value)),
            exclusive: self.exclusive.value,
            time: self.time.as_ref().map(|time| time.value),
            output: Some(place.output.to_owned()),
            chdir: place.run_folder.to_owned(),
            rare: RareOptions {
                requeue: Some(
                    !self.resume.on.value.is_empty() && self.resume.by.value == ResumeBy::Requeue,
                ),
                open_mode: Some(OpenMode::Append),
                comment: Some(place.token.to_owned()),
                constraint: text(&self.constraint),
                gpus_per_task: self.uneven.is_some().then(|| gpus(1)),
                array: self.array(),
                mail_user: slurms_mail.then(|| text(&self.mail)).flatten(),
                mail_types: if slurms_mail {
                    self.mail_on.value.clone()
                } else {
                    Vec::new()
                },
                ..RareOptions::default()
            }
            .into(),
            ..Request::default()
        }
    }

    /// The batch script: its directives say what [`Plan::request`] says, limits rounded up to
    /// minutes as Slurm would.
    #[must_use]
    pub fn script(&self, place: &JobPlace<'_>) -> String {
        let request = self.request(place);
        let mut script = String::from("#!/bin/bash\n");
        for option in directives(&request, self.gpus_as_gres)
            .iter()
            .chain(&self.extra())
        {
            let _ = writeln!(script, "#SBATCH {option}");
        }
        let yard = quoted(&place.yard.display().to_string());
        let mut folder = quoted(&place.run_folder.display().to_string());
        if request.rare.array.is_some() {
            let id = place.run_folder.file_name().unwrap_or_default();
            let first = place.run_folder.join(format!("{}.", id.display()));
            folder = format!(
                "{}\"$SLURM_ARRAY_TASK_ID\"",
                quoted(&first.display().to_string())
            );
        }
        let _ = writeln!(script, "\nexec {yard} job conductor {folder} \"$@\"");
        script
    }

    /// Options of `srun` that ask for a plan's job, for one task that starts in a folder.
    #[must_use]
    pub fn shell_options(&self, folder: &Path) -> Vec<String> {
        let place = JobPlace {
            yard: Path::new(""),
            run_folder: folder,
            output: "",
            token: "",
        };
        let mut request = self.request(&place);
        request.output = None;
        request.rare.comment = None;
        request.rare.mail_user = None;
        request.rare.mail_types = Vec::new();
        let of_a_script = |option: &String| {
            ["--open-mode", "--requeue", "--no-requeue"]
                .iter()
                .any(|start| option.starts_with(start))
        };
        let options = directives(&request, self.gpus_as_gres).into_iter();
        let options = options.filter(|option| !of_a_script(option));
        options.chain(self.extra()).collect()
    }

    /// The elements of the array that several repeats are.
    fn array(&self) -> Option<ArraySpec> {
        let repeats = self.repeats.value;
        (repeats > 1).then(|| ArraySpec {
            indices: (1..=repeats).collect(),
            step: 1,
            throttle: self.at_once.as_ref().map(|count| count.value),
        })
    }

    /// A site's own options: the embedded engine has none of them.
    fn extra(&self) -> Vec<String> {
        if self.embedded {
            return Vec::new();
        }
        self.sbatch.value.clone()
    }

    /// Whether the run comes back after this.
    #[must_use]
    pub fn comes_back_after(&self, what: ResumeOn) -> bool {
        self.resume.on.value.contains(&what)
    }
}

pub(crate) fn directives(request: &Request, gpus_as_gres: bool) -> Vec<String> {
    let mut options = Vec::new();
    let mut add = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            options.push(format!("--{name}={}", directive_value(&value)));
        }
    };
    add("job-name", Some(request.name.clone()));
    add("account", request.account.clone());
    add("partition", request.partition.clone());
    add("qos", request.qos.clone());
    add("nodes", request.min_nodes.map(|count| count.to_string()));
    let count = |count: Option<u32>| count.map(|count| count.to_string());
    add("ntasks", count(request.tasks));
    add("ntasks-per-node", count(request.tasks_per_node));
    add("cpus-per-task", count(request.cpus_per_task));
    add(
        "gpus-per-task",
        request.rare.gpus_per_task.as_ref().map(gpus),
    );
    let of_node = request.gpus_per_node.as_ref().map(gpus);
    if gpus_as_gres {
        add("gres", of_node.map(|gpus| format!("gpu:{gpus}")))
    } else {
        add("gpus-per-node", of_node)
    }
    let option = match request.memory {
        Some(MemoryRequest::PerCpu(_)) => "mem-per-cpu",
        Some(MemoryRequest::PerGpu(_)) => "mem-per-gpu",
        Some(MemoryRequest::PerNode(_)) | None => "mem",
    };
    add(option, request.memory.map(memory));
    add("time", request.time.map(time));
    add("constraint", request.rare.constraint.clone());
    add(
        "array",
        request.rare.array.as_ref().map(ToString::to_string),
    );
    add("chdir", Some(request.chdir.display().to_string()));
    add("output", request.output.clone());
    add("comment", request.rare.comment.clone());
    add("mail-user", request.rare.mail_user.clone());
    if !request.rare.mail_types.is_empty() {
        add("mail-type", Some(mail_types_text(&request.rare.mail_types)));
    }
    options.push("--open-mode=append".to_owned());
    options.push(match request.rare.requeue {
        Some(false) => "--no-requeue".to_owned(),
        Some(true) | None => "--requeue".to_owned(),
    });
    if request.exclusive {
        options.push("--exclusive".to_owned());
    }
    options
}

fn gpus(gpus: &GpuCount) -> String {
    match &gpus.kind {
        Some(kind) => format!("{kind}:{}", gpus.count),
        None => gpus.count.to_string(),
    }
}

fn memory(memory: MemoryRequest) -> String {
    match memory {
        MemoryRequest::PerNode(0) => "0".to_owned(),
        MemoryRequest::PerNode(size)
        | MemoryRequest::PerCpu(size)
        | MemoryRequest::PerGpu(size) => format!("{size}M"),
    }
}

fn time(time: TimeLimitRequest) -> String {
    match time {
        TimeLimitRequest::Limit(Seconds(limit)) => slurm_minutes(Seconds(limit)),
        TimeLimitRequest::Unlimited => "UNLIMITED".to_owned(),
    }
}

/// An option of the command line as it stands in a directive: its value quoted where it must be.
#[must_use]
pub fn directive(option: &str) -> String {
    match option.split_once('=') {
        Some((name, value)) => format!("{name}={}", directive_value(value)),
        None => option.to_owned(),
    }
}

/// A directive's value as sbatch reads it: quoted where it has a blank, a quote, a backslash or
/// the sign that starts a comment.
fn directive_value(value: &str) -> String {
    let plain = |letter: char| !letter.is_whitespace() && !"\"'\\#".contains(letter);
    if value.chars().all(plain) {
        value.to_owned()
    } else {
        format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
    }
}
