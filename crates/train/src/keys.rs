//! The keys of a run file: one table a section drives parsing, the flags and what a person is told.

use crate::reader::{Raw, Reader, span};
use crate::{
    CheckpointSection, CompleteWord, DataSection, EnvironmentSection, Keep, Launcher, Notify,
    NotifySection, PythonChoice, Resolved, ResourceSection, ResumeBy, ResumeOn, ResumeSection,
    Sections,
};
use model::MailEvent;
use std::path::Path;
use toml::de::DeValue;

/// One key of a section `S`.
pub(crate) struct Key<S: 'static> {
    pub name: &'static str,
    /// Reads the value into the section; what is wrong goes to the reader.
    pub read: fn(&mut S, &mut Reader<'_>, Raw<'_>),
    /// Known, but refused for now.
    later: bool,
}

const fn key<S>(name: &'static str, read: fn(&mut S, &mut Reader<'_>, Raw<'_>)) -> Key<S> {
    let later = false;
    Key { name, read, later }
}

const fn later<S>(name: &'static str, read: fn(&mut S, &mut Reader<'_>, Raw<'_>)) -> Key<S> {
    let later = true;
    Key { name, read, later }
}

/// A section as the table of its keys.
pub(crate) trait Section: Sized + 'static {
    const KEYS: &'static [Key<Self>];
}

/// The keys that a person is told.
pub(crate) fn names_of<S: Section>() -> Vec<&'static str> {
    let keys = S::KEYS.iter().filter(|key| !key.later);
    keys.map(|key| key.name).collect()
}

impl Section for Sections {
    const KEYS: &'static [Key<Sections>] = &[
        key("name", |own, reader, raw| own.name = name(reader, raw)),
        key("launcher", |own, reader, raw| {
            own.launcher = launcher(reader, raw);
        }),
        key("command", |own, reader, raw| {
            own.command = command(reader, raw);
        }),
        key("repeat", |own, reader, raw| {
            own.repeat = repeat(reader, raw)
        }),
    ];
}

impl Section for ResourceSection {
    const KEYS: &'static [Key<ResourceSection>] = &[
        key("nodes", |own, reader, raw| {
            own.nodes = reader.count("nodes", raw, 1);
        }),
        key("ranks_per_node", |own, reader, raw| {
            own.ranks_per_node = reader.count("ranks_per_node", raw, 1);
        }),
        key("gpus_per_node", gpus_per_node),
        key("gpu_type", |own, reader, raw| {
            own.gpu_type = reader.text("gpu_type", raw, "\"v100\"");
        }),
        key("gpu_memory", |own, reader, raw| {
            own.gpu_memory = reader.gpu_memory("gpu_memory", raw);
        }),
        key("cpus_per_rank", |own, reader, raw| {
            own.cpus_per_rank = reader.count("cpus_per_rank", raw, 1);
        }),
        key("memory", |own, reader, raw| {
            own.memory = reader.memory("memory", raw);
        }),
        key("time", |own, reader, raw| {
            own.time = reader.time("time", raw)
        }),
        key("account", |own, reader, raw| {
            own.account = reader.text("account", raw, "\"my-project\"");
        }),
        key("qos", |own, reader, raw| {
            own.qos = reader.text("qos", raw, "\"normal\"");
        }),
        key("partition", |own, reader, raw| {
            own.partition = reader.text("partition", raw, "\"gpu\"");
        }),
        key("exclusive", |own, reader, raw| {
            own.exclusive = reader.switch("exclusive", raw);
        }),
        key("constraint", |own, reader, raw| {
            own.constraint = reader.text("constraint", raw, "\"v100&ib\"");
        }),
        key("sbatch", |own, reader, raw| {
            own.sbatch = sbatch(reader, raw);
        }),
    ];
}

/// The keys of `[resources]`, in the order in which they are named to people.
#[must_use]
pub fn resource_keys() -> Vec<&'static str> {
    names_of::<ResourceSection>()
}

impl Section for EnvironmentSection {
    const KEYS: &'static [Key<EnvironmentSection>] = &[
        key("venv", |own, reader, raw| {
            python(own, reader, raw, "venv", PythonChoice::Venv);
        }),
        key("requirements", |own, reader, raw| {
            let choice = PythonChoice::Requirements;
            python(own, reader, raw, "requirements", choice);
        }),
        key("conda", |own, reader, raw| {
            python(own, reader, raw, "conda", PythonChoice::Conda);
        }),
        later("container", |_, reader, raw| {
            let help = "use venv, requirements or conda";
            reader.complain(span(raw), "containers come later", "", help);
        }),
        key("modules", |own, reader, raw| {
            own.modules = reader.texts("modules", raw, "[\"cuda/12.4\"]");
        }),
    ];
}

impl Section for DataSection {
    const KEYS: &'static [Key<DataSection>] = &[key("stage", |own, reader, raw| {
        own.stage = reader.texts("stage", raw, "[\"datasets/imagenet.tar\"]");
    })];
}

impl Section for CheckpointSection {
    const KEYS: &'static [Key<CheckpointSection>] = &[
        key("keep", |own, reader, raw| own.keep = keep(reader, raw)),
        key("complete", |own, reader, raw| {
            let known = [
                ("rename", CompleteWord::Rename),
                ("marker", CompleteWord::Marker),
                ("settle", CompleteWord::Settle),
            ];
            own.complete = reader.word("complete", raw, &known);
        }),
        key("marker", |own, reader, raw| {
            own.marker = marker(reader, raw);
        }),
        key("settle", |own, reader, raw| {
            own.settle = reader.length("settle", raw);
        }),
    ];
}

impl Section for ResumeSection {
    const KEYS: &'static [Key<ResumeSection>] = &[
        key("on", |own, reader, raw| {
            let known = [
                ("timeout", ResumeOn::Timeout),
                ("preemption", ResumeOn::Preemption),
                ("node-failure", ResumeOn::NodeFailure),
            ];
            own.on = reader.several("on", raw, &known);
        }),
        key("by", |own, reader, raw| {
            let known = [
                ("requeue", ResumeBy::Requeue),
                ("successor", ResumeBy::Successor),
            ];
            own.by = reader.word("by", raw, &known);
        }),
        key("grace", |own, reader, raw| {
            own.grace = reader.length("grace", raw);
        }),
        key("notify", |own, reader, raw| {
            let known = [
                ("none", Notify::None),
                ("file", Notify::File),
                ("SIGTERM", Notify::Sigterm),
                ("SIGUSR1", Notify::Sigusr1),
            ];
            own.notify = reader.word("notify", raw, &known);
        }),
        key("args", |own, reader, raw| {
            own.args = reader.words("args", raw, "[\"--resume\", \"{resume_file}\"]");
        }),
    ];
}

impl Section for NotifySection {
    const KEYS: &'static [Key<NotifySection>] = &[
        key("mail", |own, reader, raw| {
            own.mail = reader.text("mail", raw, "\"me@example.org\"");
        }),
        key("on", |own, reader, raw| {
            let known = [
                ("begin", MailEvent::Begin),
                ("end", MailEvent::End),
                ("fail", MailEvent::Fail),
                ("requeue", MailEvent::Requeue),
                ("timeout", MailEvent::TimeLimit),
            ];
            own.on = mail_events(reader, raw, &known);
        }),
    ];
}

/// The sections of a run file, each with its name.
pub(crate) const SECTIONS: [&str; 6] = [
    "resources",
    "environment",
    "data",
    "checkpoints",
    "resume",
    "notify",
];

/// A name that can be part of a folder's and of a file pattern's.
pub(crate) fn name(reader: &mut Reader<'_>, raw: Raw<'_>) -> Option<Resolved<String>> {
    let name = reader.text("name", raw, "\"resnet50\"")?;
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let first = name
        .value
        .starts_with(|letter: char| letter.is_ascii_alphanumeric());
    if !first || !name.value.chars().all(fits) || name.value.len() > 64 {
        let help = "letters, digits, - _ and . are fine, at most 64, the first a letter or a digit";
        reader.complain(
            span(raw),
            format!("{:?} can't name a run", name.value),
            "",
            help,
        );
        return None;
    }
    Some(name)
}

pub(crate) fn launcher(reader: &mut Reader<'_>, raw: Raw<'_>) -> Option<Resolved<Launcher>> {
    const LATER: [(&str, &str); 4] = [
        ("horovod", "use srun with torch's own data parallelism"),
        ("mpi", "use srun: it starts a rank a GPU"),
        (
            "accelerate",
            "use srun: Accelerate reads RANK, WORLD_SIZE and LOCAL_RANK; or torchrun",
        ),
        (
            "deepspeed",
            "use srun or torchrun: DeepSpeed reads the same variables as torch",
        ),
    ];
    let known = Launcher::ALL.map(|launcher| (launcher.word(), launcher));
    let mut quiet = Reader::new(
        "",
        crate::reader::From::Flag {
            flag: String::new(),
        },
    );
    if let Some(word) = quiet.text("launcher", raw, "").map(|word| word.value) {
        let later = |(name, _): &&(&str, &str)| name.eq_ignore_ascii_case(&word);
        if let Some((name, instead)) = LATER.iter().find(later) {
            let message = format!("the launcher {name} comes later");
            reader.complain(span(raw), message, "", *instead);
            return None;
        }
    }
    reader.word("launcher", raw, &known)
}

fn command(reader: &mut Reader<'_>, raw: Raw<'_>) -> Option<Resolved<Vec<String>>> {
    let example = "[\"python\", \"train.py\"]";
    let command = reader.words("command", raw, example)?;
    match command.value.first().map(String::as_str) {
        None | Some("") => {
            let help = format!("write command = {example}");
            reader.complain(span(raw), "command is empty", "", help);
            None
        }
        Some(_) => Some(command),
    }
}

fn repeat(reader: &mut Reader<'_>, raw: Raw<'_>) -> Option<Resolved<u32>> {
    let repeat = reader.count("repeat", raw, 1)?;
    if repeat.value > 1 {
        let help = "leave it out, and start the run once a seed";
        reader.complain(span(raw), "more than one repeat comes later", "", help);
        return None;
    }
    Some(repeat)
}

/// A number, or Slurm's `TYPE:N`.
fn gpus_per_node(own: &mut ResourceSection, reader: &mut Reader<'_>, raw: Raw<'_>) {
    let text = match raw {
        Raw::Flag(text, _) => Some(text),
        Raw::Toml(value) => value.get_ref().as_str(),
    };
    let Some((kind, count)) = text.and_then(|text| text.rsplit_once(':')) else {
        own.gpus_per_node = reader.count("gpus_per_node", raw, 0);
        return;
    };
    let start = span(raw).end.saturating_sub(count.len());
    let number = reader.count("gpus_per_node", Raw::Flag(count, start), 0);
    if let Some(number) = number
        && let Some(whole) = reader.text("gpus_per_node", raw, "4")
    {
        own.gpus_per_node = Some(Resolved::new(number.value, whole.source.clone()));
        own.gpu_type = Some(Resolved::new(kind.to_owned(), whole.source));
    }
}

/// Options as `--reservation=x`, one a text.
fn sbatch(reader: &mut Reader<'_>, raw: Raw<'_>) -> Option<Resolved<Vec<String>>> {
    let options = reader.texts("sbatch", raw, "[\"--reservation=x\"]")?;
    let odd = |option: &&String| !option.starts_with('-') || option.contains(['\n', '\r']);
    if let Some(odd) = options.value.iter().find(odd) {
        let message = format!("{odd:?} is not an option of sbatch");
        let help = "write each option with its value as one text, such as \"--reservation=x\"";
        reader.complain(span(raw), message, "", help);
        return None;
    }
    Some(options)
}

fn python(
    own: &mut EnvironmentSection,
    reader: &mut Reader<'_>,
    raw: Raw<'_>,
    name: &str,
    choice: fn(String) -> PythonChoice,
) {
    let Some(path) = reader.text(name, raw, "\"../env\"") else {
        return;
    };
    if let Some(other) = &own.python {
        let message = format!("{name} beside {}", other.value.word());
        let help = "one of venv, requirements and conda; modules go with any";
        reader.complain(span(raw), message, "", help);
        return;
    }
    own.python = Some(path.map(choice));
}

impl PythonChoice {
    /// Puts a path that is not absolute into a folder; a conda environment's name stays.
    pub(crate) fn place_in(&mut self, folder: &Path) {
        let path = match self {
            PythonChoice::Venv(path) | PythonChoice::Requirements(path) => path,
            PythonChoice::Conda(name) if !name.contains('/') && !name.starts_with('.') => return,
            PythonChoice::Conda(path) => path,
        };
        *path = folder.join(&path).display().to_string();
    }

    /// The key of the run file.
    fn word(&self) -> &'static str {
        match self {
            PythonChoice::Venv(_) => "venv",
            PythonChoice::Requirements(_) => "requirements",
            PythonChoice::Conda(_) => "conda",
        }
    }
}

fn keep(reader: &mut Reader<'_>, raw: Raw<'_>) -> Option<Resolved<Keep>> {
    let number = match raw {
        Raw::Toml(value) => matches!(value.get_ref(), DeValue::Integer(_)),
        Raw::Flag(..) => false,
    };
    if number {
        return Some(reader.count("keep", raw, 1)?.map(Keep::Newest));
    }
    reader.word("keep", raw, &[("all", Keep::All)])
}

fn marker(reader: &mut Reader<'_>, raw: Raw<'_>) -> Option<Resolved<String>> {
    let marker = reader.text("marker", raw, "\"done\"")?;
    if marker.value.contains('/') || [".", ".."].contains(&marker.value.as_str()) {
        let help = "name one file, such as \"done\"";
        reader.complain(span(raw), "marker is a path", "", help);
        return None;
    }
    Some(marker)
}

fn mail_events(
    reader: &mut Reader<'_>,
    raw: Raw<'_>,
    known: &[(&str, MailEvent); 5],
) -> Option<Resolved<Vec<MailEvent>>> {
    let positions = [0, 1, 2, 3, 4].map(|index: usize| (known[index].0, index));
    let chosen = reader.several("on", raw, &positions)?;
    Some(chosen.map(|chosen| chosen.iter().map(|index| known[*index].1).collect()))
}
