//! What a batch script asks for, as keys of a run file.

use super::{NewRunFile, toml_text, toml_texts, without_placeholders};
use crate::keys::Choice;
use crate::{Launcher, Shape as LaunchShape};
use model::option_table::{Effect, Key};
use model::sbatch::Sbatch;
use model::{
    ArraySpec, Given, MailEvent, MemoryRequest, Origin, Request, Seconds, TimeLimitRequest,
};

/// What the script starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptStart {
    /// Its line.
    pub line: usize,
    /// Program and arguments; none where the shell must read them.
    pub words: Vec<String>,
    /// What a shell must read, as it stands in the script.
    pub shell: Option<String>,
    /// What starts the ranks.
    pub launcher: Launcher,
    /// Ranks that a launcher of the script starts on each node, where it says so.
    pub ranks_per_node: Option<u32>,
}

/// A run file of what a script asks of the cluster and of what it starts. `name` is the script's.
#[must_use]
pub fn from_script(name: &str, script: &Sbatch, start: Option<&ScriptStart>) -> NewRunFile {
    let mut file = NewRunFile {
        origin: format!("Made by yard init of the batch script {name}."),
        ..NewRunFile::default()
    };
    let request = &script.request;
    let shape = Shape::of(request, start);
    if let Some(start) = start {
        command(&mut file, start, &shape, request.rare.array.as_ref());
    }
    if let Some(array) = &request.rare.array {
        repeats(&mut file, array);
    }
    resources(&mut file, request, &shape);
    let mut options = Vec::new();
    for (index, given) in script.given.iter().enumerate() {
        let again = |later: &Given| later.option.long == given.option.long;
        if given.origin == Origin::Script && !script.given[index + 1..].iter().any(again) {
            option(&mut file, given, &mut options);
        }
    }
    if !options.is_empty() {
        file.set("resources", "sbatch", toml_texts(&options));
    }
    mail(&mut file, request);
    file
}

/// The elements of an array are the repeats of a run.
fn repeats(file: &mut NewRunFile, array: &ArraySpec) {
    let count = array.indices.len().max(1);
    let number = "Its number, which SLURM_ARRAY_TASK_ID was, is {repeat}.";
    let others =
        "The number of each, from 1 on, is {repeat}: SLURM_ARRAY_TASK_ID had other numbers.";
    if is_from_one(array) {
        file.set_with("", "repeat", count.to_string(), number);
    } else {
        file.set_with("", "repeat", count.to_string(), others);
        file.notes.push(format!(
            "--array: SLURM_ARRAY_TASK_ID goes from 1 to {count} in a run. A program that reads it gets other \
             numbers than in the script."
        ));
    }
    if let Some(most) = array.throttle.filter(|most| *most > 0) {
        file.set("", "at_once", most.to_string());
    }
}

fn is_from_one(array: &ArraySpec) -> bool {
    array
        .indices
        .iter()
        .copied()
        .eq(1..=u32::try_from(array.indices.len()).unwrap_or(u32::MAX))
}

/// The index of an element as a shell reads it from the number of the repeat; none where the indices are no
/// regular row.
fn index_of_repeat(array: &ArraySpec) -> Option<String> {
    if is_from_one(array) {
        return Some("{repeat}".to_owned());
    }
    let first = i64::from(*array.indices.first()?);
    let step = i64::from(*array.indices.get(1)?) - first;
    let is_regular = |pair: &[u32]| i64::from(pair[1]) - i64::from(pair[0]) == step;
    array.indices.windows(2).all(is_regular).then(|| {
        let times = if step == 1 {
            String::new()
        } else {
            format!(" * {step}")
        };
        match first - step {
            0 => format!("$(({{repeat}}{times}))"),
            more @ 1.. => format!("$(({{repeat}}{times} + {more}))"),
            less => format!("$(({{repeat}}{times} - {}))", -less),
        }
    })
}

/// The variable with the number of an array's element, as a shell has it.
const ELEMENT: [&str; 2] = ["${SLURM_ARRAY_TASK_ID}", "$SLURM_ARRAY_TASK_ID"];

/// A text with another in the place of that variable.
fn with_element(text: String, by: &str) -> String {
    let names = ELEMENT.iter();
    names.fold(text, |text, name| text.replace(name, by))
}

/// What a run file counts by the node.
struct Shape {
    nodes: u32,
    /// Tasks of the script on each node.
    tasks: u32,
    ranks: u32,
    gpus: u32,
    /// GPUs of all nodes together, where the nodes follow from them or have different numbers; each has a
    /// rank.
    gpus_in_all: Option<u32>,
}

impl Shape {
    fn of(request: &Request, start: Option<&ScriptStart>) -> Shape {
        let nodes = request.min_nodes.unwrap_or(1).max(1);
        let by_job = request.tasks.map(|tasks| tasks.div_ceil(nodes));
        let tasks = request.tasks_per_node.or(by_job).unwrap_or(1).max(1);
        let of_node = request.gpus_per_node.as_ref().map(|gpus| gpus.count);
        let of_job = request.gpus.as_ref().map(|gpus| gpus.count.div_ceil(nodes));
        let of_task = request.rare.gpus_per_task.as_ref();
        let of_task = of_task.map(|gpus| gpus.count.saturating_mul(tasks));
        let gpus = of_node.or(of_job).or(of_task).unwrap_or(0);
        let ranks = match start.map(|start| (start.launcher, start.ranks_per_node)) {
            Some((Launcher::Torchrun, Some(ranks))) => ranks.max(1),
            Some((Launcher::Torchrun, None) | (Launcher::Accelerate | Launcher::Deepspeed, _)) => {
                gpus.max(1)
            }
            Some((Launcher::None, _)) => 1,
            _ => tasks,
        };
        let counted = request.gpus.as_ref().filter(|_| of_node.is_none());
        let launcher = start.map_or(Launcher::None, |start| start.launcher);
        let in_all = counted.map(|gpus| gpus.count).filter(|count| {
            let of_gpus =
                request.tasks_per_node.is_none() && request.tasks.is_none_or(|n| n == *count);
            let spreads = match request.min_nodes {
                Some(_) => count % nodes != 0,
                None => *count > 1,
            };
            launcher != Launcher::None
                && launcher.shape() == LaunchShape::Ranks
                && of_gpus
                && spreads
        });
        Shape {
            nodes,
            tasks,
            ranks,
            gpus,
            gpus_in_all: in_all,
        }
    }
}

fn command(file: &mut NewRunFile, start: &ScriptStart, shape: &Shape, array: Option<&ArraySpec>) {
    let has_element = |text: &str| ELEMENT.iter().any(|name| text.contains(name));
    let is_read_by_shell = start.shell.is_some();
    let index = array.filter(|_| is_read_by_shell).and_then(index_of_repeat);
    let with_index = |text: String| match &index {
        Some(index) => with_element(text, index),
        None => text,
    };
    // Where nothing but the number of the repeat is filled in, no shell is needed.
    let words: Vec<Option<String>> = start
        .words
        .iter()
        .map(|word| without_placeholders(word))
        .collect();
    let words: Option<Vec<String>> = words
        .into_iter()
        .map(|word| word.map(&with_index))
        .collect();
    let is_plain = |words: &Vec<String>| {
        let expands = ['$', '`', '*', '?', '[', '~'];
        has_element(&start.words.join(" ")) && !words.iter().any(|word| word.contains(expands))
    };
    let words = match &start.shell {
        Some(shell) if !words.as_ref().is_some_and(is_plain) => {
            let others = with_element(shell.clone(), "");
            if array.is_none() || others.contains(['$', '`']) {
                file.notes.push(format!(
                "line {}: a shell reads the command, since it has variables. Of what the script sets \
                 before it has what [environment] sets: set the rest in the command, or write the values.",
                start.line
            ));
            }
            if has_element(shell) && array.is_some() && index.is_none() {
                file.notes.push(format!(
                    "line {}: SLURM_ARRAY_TASK_ID is the number of the repeat, from 1 on, and no index of \
                     --array: choose by it what the index chose.",
                    start.line
                ));
            }
            let text = without_placeholders(&format!("exec {shell}"));
            text.map(|text| vec!["bash".to_owned(), "-c".to_owned(), with_index(text)])
        }
        _ => words,
    };
    match words {
        Some(words) => file.set("", "command", toml_texts(&words)),
        None => file.notes.push(format!(
            "line {}: the command has braces or a NUL character, which a run file can't have: write it \
             by hand.",
            start.line
        )),
    }
    let launcher = start.launcher;
    if launcher == Launcher::None && shape.nodes > 1 {
        let nodes = shape.nodes;
        file.set_with(
            "",
            "launcher",
            toml_text(Launcher::Srun.word()),
            format!(
                "The script starts one process, on the first of its {nodes} nodes; a run starts a \
                 rank on each."
            ),
        );
    } else {
        file.set("", "launcher", toml_text(launcher.word()));
    }
}

fn resources(file: &mut NewRunFile, request: &Request, shape: &Shape) {
    let mut set = |key: &'static str, value: Option<String>| {
        if let Some(value) = value {
            file.set("resources", key, value);
        }
    };
    let number = |number: u32| Some(number.to_string());
    let text = |text: &Option<String>| text.as_deref().filter(is_usable).map(toml_text);
    set("nodes", request.min_nodes.and(number(shape.nodes)));
    let says_tasks = request.tasks.is_some() || request.tasks_per_node.is_some();
    let is_by_node = shape.gpus_in_all.is_none();
    if is_by_node && (says_tasks || shape.ranks != shape.gpus.max(1)) {
        set("ranks_per_node", number(shape.ranks));
    }
    if shape.gpus > 0 {
        set("gpus", shape.gpus_in_all.and_then(number));
        set("gpus_per_node", number(shape.gpus).filter(|_| is_by_node));
        let asked = [
            &request.gpus_per_node,
            &request.gpus,
            &request.rare.gpus_per_task,
        ];
        let kind = asked
            .into_iter()
            .flatten()
            .find_map(|gpus| gpus.kind.clone());
        set("gpu_type", text(&kind));
    }
    let of_gpus = request
        .rare
        .cpus_per_gpu
        .filter(|_| is_by_node)
        .map(|cpus| cpus.saturating_mul(shape.gpus));
    let of_tasks = request
        .cpus_per_task
        .map(|cpus| cpus.saturating_mul(shape.tasks));
    let of_node = of_tasks.or(of_gpus);
    let of_rank = match request.cpus_per_task {
        Some(cpus) if !is_by_node => number(cpus),
        _ => of_node.and_then(|cpus| number((cpus / shape.ranks).max(1))),
    };
    set("cpus_per_rank", of_rank);
    if !is_by_node {
        set("cpus_per_gpu", request.rare.cpus_per_gpu.and_then(number));
    }
    let cpus = u64::from(of_node.unwrap_or(shape.tasks));
    let per_part = match request.memory {
        Some(MemoryRequest::PerCpu(size)) => Some(("memory_per_cpu", size)),
        Some(MemoryRequest::PerGpu(size)) => Some(("memory_per_gpu", size)),
        Some(MemoryRequest::PerNode(_)) | None => None,
    };
    let per_part = per_part.filter(|(_, size)| !is_by_node && (1..MOST_MEMORY).contains(size));
    if let Some((key, size)) = per_part {
        set(key, Some(toml_text(&memory_text(size))));
    }
    let whole = request.memory.filter(|_| per_part.is_none());
    let memory = whole.map(|memory| match memory {
        MemoryRequest::PerNode(size) => size,
        MemoryRequest::PerCpu(size) => size.saturating_mul(cpus),
        MemoryRequest::PerGpu(size) => size.saturating_mul(u64::from(shape.gpus.max(1))),
    });
    let memory = memory.filter(|size| *size < MOST_MEMORY);
    set("memory", memory.map(|size| toml_text(&memory_text(size))));
    set("time", request.time.map(|time| toml_text(&time_text(time))));
    set("account", text(&request.account));
    set("qos", text(&request.qos));
    set("partition", text(&request.partition));
    set("exclusive", request.exclusive.then(|| "true".to_owned()));
    set("constraint", text(&request.rare.constraint));
    if let Some(most) = request
        .max_nodes
        .filter(|most| Some(*most) > request.min_nodes)
    {
        file.notes.push(format!(
            "--nodes: {} to {most} nodes; a run has a fixed number.",
            shape.nodes
        ));
    }
    if is_by_node && shape.tasks != shape.ranks && shape.tasks > 1 {
        file.notes.push(format!(
            "ranks_per_node is {}, which the script's command starts on a node; the script asks for {} tasks \
             there.",
            shape.ranks, shape.tasks
        ));
    }
    if is_by_node
        && request.min_nodes.is_none()
        && request.tasks_per_node.is_none()
        && shape.ranks > 1
        && shape.tasks > 1
    {
        file.notes.push(format!(
            "--ntasks={} without --nodes: Slurm chooses the nodes, and this file has all ranks on one; \
             otherwise set nodes, and ranks_per_node to the ranks of one node.",
            shape.tasks
        ));
    }
}

/// No node has so many MiB.
const MOST_MEMORY: u64 = 1 << 40;

/// Whether a run file can have the text.
fn is_usable(text: &&str) -> bool {
    !text.trim().is_empty() && !text.contains(char::is_control)
}

/// `"all"`, `"90G"`, `"1500M"`
fn memory_text(mebibytes: u64) -> String {
    match mebibytes {
        0 => "all".to_owned(),
        size if size % 1024 == 0 => format!("{}G", size / 1024),
        size => format!("{size}M"),
    }
}

/// `24h`, `90m`, `25s`
fn time_text(time: TimeLimitRequest) -> String {
    match time {
        TimeLimitRequest::Unlimited | TimeLimitRequest::Limit(Seconds(0)) => "unlimited".to_owned(),
        TimeLimitRequest::Limit(Seconds(limit)) => match (limit % 3600, limit % 60) {
            (0, _) => format!("{}h", limit / 3600),
            (_, 0) => format!("{}m", limit / 60),
            _ => format!("{limit}s"),
        },
    }
}

/// An option that is no key of `[resources]`.
fn option(file: &mut NewRunFile, given: &Given, options: &mut Vec<String>) {
    let written = match &given.value {
        Some(value) => format!("--{}={value}", given.option.long),
        None => format!("--{}", given.option.long),
    };
    if written.contains('\0') {
        let long = given.option.long;
        file.notes.push(format!(
            "--{long} is left out: a run file holds no NUL character."
        ));
        return;
    }
    if given.option.plugin.is_some() {
        file.notes.push(format!(
            "{written} is left out: [environment.container] says what the ranks run in."
        ));
        return;
    }
    let Effect::Sets(key) = given.option.effect else {
        options.push(written);
        return;
    };
    let why = match key {
        Key::Nodes
        | Key::Tasks
        | Key::TasksPerNode
        | Key::CpusPerTask
        | Key::CpusPerGpu
        | Key::Mem
        | Key::MemPerCpu
        | Key::MemPerGpu
        | Key::Gpus
        | Key::GpusPerNode
        | Key::Time
        | Key::Account
        | Key::Qos
        | Key::Partition
        | Key::Exclusive
        | Key::Constraint
        | Key::MailType
        | Key::MailUser => return,
        Key::Gres
            if given
                .value
                .as_deref()
                .is_some_and(|value| value.starts_with("gpu")) =>
        {
            return;
        }
        Key::GpusPerTask => "a run's rank sees all GPUs of its node and takes its own",
        Key::JobName => return name(file, given),
        Key::NoRequeue => {
            file.set("resume", "on", "[]".to_owned());
            return;
        }
        Key::Requeue => return,
        Key::Output | Key::Error | Key::Input | Key::OpenMode => {
            "what ranks print goes into the run's folder, a file a rank: yard logs"
        }
        Key::Chdir => "a run starts in its own copy of the code",
        Key::Signal => "[resume] notify says how the program learns that its job is about to end",
        Key::Array => return,
        Key::Dependency => "[after] run names the run that has to be done before",
        Key::Comment => "the run's own mark stands there",
        _ => {
            options.push(written);
            return;
        }
    };
    file.notes.push(format!("{written} is left out: {why}."));
}

fn name(file: &mut NewRunFile, given: &Given) {
    let name = given.value.clone().unwrap_or_default();
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let first = name.starts_with(|letter: char| letter.is_ascii_alphanumeric());
    if first && name.chars().all(fits) && name.len() <= 64 {
        file.set("", "name", toml_text(&name));
    } else {
        let help = "letters, digits, -, _ and . are fine, at most 64";
        file.notes
            .push(format!("--job-name={name} is left out: {help}."));
    }
}

fn mail(file: &mut NewRunFile, request: &Request) {
    let Some(address) = request.rare.mail_user.as_deref().filter(is_usable) else {
        return;
    };
    file.set("notify", "mail", toml_text(address));
    let words = MailEvent::WORDS.iter();
    let words: Vec<&str> = words
        .filter(|(_, event)| request.rare.mail_types.contains(event))
        .map(|(word, _)| *word)
        .collect();
    if !words.is_empty() {
        file.set("notify", "on", toml_texts(&words));
    }
}
