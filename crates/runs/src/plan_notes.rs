//! What a person should know of a command before its first start: what it would lose, and what its
//! copy of the code is without.

use crate::{notify_notes, service_notes};
use folder::CodeSource;
use model::ContainerRuntime;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};
use train::{Plan, Python};

/// A file of the command that is longer is no program's text, in bytes.
const LONGEST_PROGRAM: u64 = 1 << 20;
/// So many ignored paths are named at most.
const NAMED: usize = 3;

/// Adds to a plan of a run file in `base`, which belongs to the code of `source`, what should be known of its command.
pub fn add(plan: &mut Plan, base: &Path, source: &CodeSource) {
    let unsaved = train::unsaved_notes(plan, &programs(plan, base));
    let missing = missing_note(plan, base, source);
    let ignored = ignored_notes(plan, base, source);
    let unset = unset_note(plan, &|name| std::env::var_os(name).is_some());
    plan.notes.extend(missing);
    plan.notes.extend(environment_note(plan, base));
    plan.notes.extend(unset);
    plan.notes.extend(unsaved);
    plan.notes.extend(ignored);
    plan.notes.extend(driver_note(plan));
    plan.notes.extend(notify_notes::notes(plan));
    plan.notes.extend(service_notes::notes(plan));
}

/// The program that is not where the command looks for it. What is in an image is not known.
fn missing_note(plan: &Plan, base: &Path, source: &CodeSource) -> Option<String> {
    if plan.environment.container.is_some() {
        return None;
    }
    missing_program(&plan.command.value, base)
        .or_else(|| outside_note(&plan.command.value, base, source))
}

/// That a command starts a file beside or above the code, of which the run has no copy.
fn outside_note(command: &[String], base: &Path, source: &CodeSource) -> Option<String> {
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    let program = program_of(&words)?;
    if !Path::new(program).is_relative() {
        return None;
    }
    let mut path = base.to_owned();
    for part in Path::new(program).components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            Component::Normal(name) => path.push(name),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    if path.starts_with(base) {
        return None;
    }
    let root = source.root();
    (!path.starts_with(root)).then(|| {
        format!(
            "{program}, which the command starts, is outside of {}, of which the run has a copy: name it by its full path, {}",
            root.display(),
            path.display()
        )
    })
}

/// That Charliecloud shows GPUs without their driver, unless the image's folder has it.
fn driver_note(plan: &Plan) -> Option<String> {
    let container = plan.environment.container.as_ref()?;
    let is_it = container.runtime.value == ContainerRuntime::Charliecloud;
    if !is_it || plan.gpus_per_node.value == 0 {
        return None;
    }
    let image = &container.image.value;
    let folder = image.path().filter(|path| path.is_dir());
    if folder.is_some_and(has_driver) {
        return None;
    }
    let named = folder.map_or_else(
        || "FOLDER, which yard cache ls names once it is made,".to_owned(),
        |folder| folder.display().to_string(),
    );
    Some(format!(
        "Charliecloud shows ranks the node's GPUs without their driver's libraries: ch-fromhost --nvidia {named} on a \
         machine that has the driver puts them into the image"
    ))
}

/// Whether an image has NVIDIA's driver where `ch-fromhost` puts it.
fn has_driver(image: &Path) -> bool {
    const FOLDERS: [&str; 6] = [
        "usr/lib/x86_64-linux-gnu",
        "usr/lib/aarch64-linux-gnu",
        "usr/lib64",
        "usr/lib",
        "lib64",
        "lib",
    ];
    let entries = FOLDERS
        .iter()
        .flat_map(|folder| fs::read_dir(image.join(folder)));
    let mut names = entries.flatten().flatten().map(|entry| entry.file_name());
    names.any(|name| name.as_encoded_bytes().starts_with(b"libcuda.so"))
}

/// An environment of Python's in the folder that the run doesn't use: it is not in the copy of the code.
fn environment_note(plan: &Plan, base: &Path) -> Option<String> {
    let is_used = !matches!(plan.environment.python.value, Python::AsItIs);
    if is_used || plan.environment.container.is_some() {
        return None;
    }
    let entries = fs::read_dir(base).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    found.retain(|path| folder::is_python_environment(path));
    found.sort();
    let active = ["VIRTUAL_ENV", "CONDA_PREFIX"].map(std::env::var_os);
    let is_active = |path: &PathBuf| {
        let mut active = active.iter().flatten();
        active.any(|active| Path::new(active) == path)
    };
    if found.iter().any(is_active) {
        return None;
    }
    let first = found.first()?;
    let key = if first.join("pyvenv.cfg").exists() {
        "venv"
    } else {
        "conda"
    };
    let name = first.file_name()?.to_string_lossy();
    Some(format!(
        "{name} is an environment of Python's, which is not copied with the code and which the run doesn't use; [environment] {key} = \"./{name}\" uses it where it is"
    ))
}

/// Variables that a shell would read in the command and that nothing sets which is known here.
fn unset_note(plan: &Plan, is_set: &dyn Fn(&str) -> bool) -> Option<String> {
    let [shell, option, script, ..] = &plan.command.value[..] else {
        return None;
    };
    let is_shell = ["bash", "sh"]
        .iter()
        .any(|name| shell.rsplit('/').next() == Some(*name));
    if !is_shell || !option.starts_with('-') || !option.ends_with('c') {
        return None;
    }
    let environment = &plan.environment;
    let of_ranks = train::first_task(plan).map_or_else(|_| BTreeMap::new(), |task| task.env);
    let is_own = |name: &str| {
        environment.variables.value.contains_key(name)
            || of_ranks.contains_key(name)
            || environment.secrets.value.iter().any(|own| own == name)
            || OF_JOBS.iter().any(|start| name.starts_with(start))
            || OF_PLACES.contains(&name)
            || train::TORCH_VARIABLES.contains(&name)
    };
    // A brace that begins no placeholder is doubled.
    let mut names = lint::variables_read(&script.replace("{{", "{"));
    names.retain(|name| !is_own(name) && !is_set(name));
    let (first, rest) = names.split_first()?;
    let all = rest
        .iter()
        .fold(format!("${first}"), |all, name| format!("{all}, ${name}"));
    let unless = if environment.container.is_some() {
        ", unless the image sets it"
    } else if environment.modules.value.is_empty() {
        ""
    } else {
        ", unless a module sets it"
    };
    Some(format!(
        "{all} in the command is empty{unless}: nothing sets it; [environment] variables = {{ {first} = \"…\" }} does"
    ))
}

/// How variables begin that the cluster, a run's agents and its preparation set, beside those that each rank is given.
const OF_JOBS: [&str; 7] = ["SLURM", "YARD_", "CUDA_", "OMP", "PMI", "LOCAL_", "GROUP_"];
/// Others that an environment or a job sets.
const OF_PLACES: [&str; 4] = [
    "ROCR_VISIBLE_DEVICES",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "TMPDIR",
];

/// That a command starts a file which is not in the folder, in words.
#[must_use]
pub(crate) fn missing_program(command: &[String], base: &Path) -> Option<String> {
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    let program = program_of(&words)?;
    let path = below(base, program)?;
    (!path.exists()).then(|| {
        format!(
            "{program}, which the command starts, is not in {}",
            base.display()
        )
    })
}

/// The file of a program that a command names by a relative path.
fn program_of<'w>(words: &[&'w str]) -> Option<&'w str> {
    let is_file = |word: &str| {
        let has_ending = [".py", ".sh", ".R", ".jl"]
            .iter()
            .any(|end| word.ends_with(end));
        has_ending && !word.contains(['{', '$', '=']) && !word.starts_with('-')
    };
    match words {
        [first, ..] if is_file(first) => Some(first),
        // An option before it may take a value, be a module or the program itself.
        [first, second, ..] => {
            let name = first.rsplit('/').next().unwrap_or(first);
            let starts =
                name.starts_with("python") || ["bash", "sh", "Rscript", "julia"].contains(&name);
            (starts && is_file(second)).then_some(*second)
        }
        _ => None,
    }
}

/// The words of the command, and the values of its options.
fn values(plan: &Plan) -> impl Iterator<Item = &str> {
    let words = plan.command.value.iter();
    words.flat_map(|word| {
        let value = word.split_once('=').map(|(_, value)| value);
        [Some(word.as_str()), value].into_iter().flatten()
    })
}

fn programs(plan: &Plan, base: &Path) -> Vec<String> {
    let text = |value: &str| {
        let path = base.join(value);
        let facts = fs::metadata(&path).ok()?;
        let is_text = facts.is_file() && facts.len() <= LONGEST_PROGRAM;
        let bytes = is_text.then(|| fs::read(&path).ok())??;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    values(plan).filter_map(text).collect()
}

/// Those that the command names; where it names none, folders beside the run file. Of what is staged, where it is
/// on the nodes.
fn ignored_notes(plan: &Plan, base: &Path, source: &CodeSource) -> Vec<String> {
    let named: Vec<PathBuf> = values(plan)
        .filter_map(|value| below(base, value))
        .filter(|path| path.exists())
        .collect();
    let folders = folders(base);
    if named.is_empty() && folders.is_empty() {
        return Vec::new();
    }
    let mut ignored = source.ignored(&named);
    if ignored.is_empty() {
        ignored = source.ignored(&folders);
    }
    ignored.sort();
    ignored.dedup();
    let relative = |path: &Path| {
        let path = path.strip_prefix(base).unwrap_or(path);
        path.display().to_string()
    };
    let sources = &plan.data.stage.value;
    let is_staged = |path: &PathBuf| {
        let mut sources = sources.iter();
        sources.any(|source| path.starts_with(base.join(source)))
    };
    let (staged, ignored): (Vec<PathBuf>, Vec<PathBuf>) = ignored.into_iter().partition(is_staged);
    let staged = staged.first().map(|first| {
        let (name, place) = (relative(first), plan.data.place(first));
        format!(
            "{name} is staged, and not in the run's copy of the code: the program finds it as {{data}}/{}, so pass it that path",
            place.display()
        )
    });
    let more = match ignored.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let shown = ignored.iter().take(NAMED);
    let shown: Vec<String> = shown.map(|path| relative(path)).collect();
    let ignored = (!shown.is_empty()).then(|| {
        format!(
            "the run's copy of the code is without {}{more}, which git ignores, and relative outputs are written into that copy; use a full path or [data] stage for data, and a full path or {{logs}} for outputs",
            shown.join(", ")
        )
    });
    ignored.into_iter().chain(staged).collect()
}

/// A relative path that does not leave the folder.
fn below(base: &Path, value: &str) -> Option<PathBuf> {
    let mut path = base.to_owned();
    for part in Path::new(value).components() {
        match part {
            Component::CurDir => {}
            Component::Normal(name) => path.push(name),
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    (path != base).then_some(path)
}

/// The folders in one, without those that are never a program's data.
fn folders(base: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(base).into_iter().flatten().flatten();
    let is_data = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_tools =
            name.starts_with('.') || name == "__pycache__" || name.ends_with(".egg-info");
        path.is_dir() && !is_tools && !folder::is_python_environment(path)
    };
    entries.map(|entry| entry.path()).filter(is_data).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &str, want: Option<&str>) {
        let words: Vec<&str> = command.split(' ').collect();
        assert_eq!(program_of(&words), want);
    }

    #[test]
    fn the_program_of_a_command() {
        check("python3 train.py --lr 3", Some("train.py"));
        check("train.py --lr 3", Some("train.py"));
        check("bash ./run.sh", Some("./run.sh"));
        check("python -m train", None);
        check("python -u -c x.py", None);
        check("python {run}/train.py", None);
        check("sleep 3", None);
        check("", None);
    }

    #[test]
    fn gpus_in_charliecloud_need_the_driver_in_the_image() {
        let root = tempfile::tempdir().unwrap();
        let planned = crate::sent::planned(&crate::sent::places(root.path()));
        let (mut plan, mut facts) = (planned.plan, planned.target.facts);
        let libraries = root.path().join("image/usr/lib");
        fs::create_dir_all(&libraries).unwrap();
        let mut note = |runtime, image: &str| {
            facts.containers.runtimes = vec![runtime];
            let put = plan.environment.put_in(image, &facts, root.path());
            assert!(put.is_ok());
            driver_note(&plan).unwrap_or_default()
        };
        assert_eq!(note(ContainerRuntime::Podman, "image"), "");
        let image = root.path().join("image").display().to_string();
        let said = format!("ch-fromhost --nvidia {image} on");
        assert!(note(ContainerRuntime::Charliecloud, "image").contains(&said));
        let made = note(ContainerRuntime::Charliecloud, "docker://debian:12");
        assert!(made.contains("yard cache ls names"), "{made}");
        fs::write(libraries.join("libcuda.so.550.54"), "").unwrap();
        assert_eq!(note(ContainerRuntime::Charliecloud, "image"), "");
    }
}
