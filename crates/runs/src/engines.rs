//! The embedded engines of this user on this machine, by their names.

use crate::cluster_files;
use crate::failure::{Failure, FailureKind, unusable};
use backend::{EngineFolder, LOCAL};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use sys::Places;
use sys::env_vars::TRAINYARD_ENGINE;

/// Most bytes of an engine's name: it is part of paths of sockets.
const LONGEST_NAME: usize = 64;
/// Most names of one range of a node list.
const LONGEST_RANGE: u32 = 64 * 1024;
/// Names that engines can't have: they mean something else.
const TAKEN: [&str; 3] = [sys::OWN_ENGINE, crate::SLURM, "all"];

/// The folder of the engine of that name: inside one of its jobs, that one's.
#[must_use]
pub fn engine_dir(places: &Places, name: &str) -> PathBuf {
    said_engine(places)
        .filter(|folder| EngineFolder::new(folder).name() == name)
        .unwrap_or_else(|| places.engine_dir(name))
}

/// The engine that commands without a name of one mean: inside a job that of the job, else this
/// machine's own.
#[must_use]
pub fn engine_meant(places: &Places) -> String {
    said_engine(places).map_or_else(
        || LOCAL.to_owned(),
        |folder| EngineFolder::new(folder).name(),
    )
}

/// What `TRAINYARD_ENGINE` says: the engine in whose job this process is, or that a person named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SaidEngine {
    /// Its folder.
    Folder(PathBuf),
    /// Its name.
    Name(String),
}

impl SaidEngine {
    /// Reads the variable; `None` where it is not set, or empty.
    #[must_use]
    pub fn from_env() -> Option<SaidEngine> {
        let said: Option<OsString> = std::env::var_os(TRAINYARD_ENGINE);
        let said = said.filter(|said| !said.is_empty())?;
        Some(match said.to_str().filter(|name| !name.contains('/')) {
            Some(name) => SaidEngine::Name(name.to_owned()),
            None => SaidEngine::Folder(said.into()),
        })
    }

    /// The engine's folder, whether there is such an engine or not.
    #[must_use]
    pub fn folder(&self, places: &Places) -> PathBuf {
        match self {
            SaidEngine::Folder(folder) => folder.clone(),
            SaidEngine::Name(name) => places.engine_dir(name),
        }
    }
}

/// The folder of the engine that is said.
pub(crate) fn said_engine(places: &Places) -> Option<PathBuf> {
    SaidEngine::from_env().map(|said| said.folder(places))
}

/// Whether a name is that of an engine here: this machine's own, or one of a cluster file.
#[must_use]
pub fn is_engine(places: &Places, name: &str) -> bool {
    let is_name = !name.contains('/') && !TAKEN.contains(&name);
    is_name
        && (name == LOCAL
            || EngineFolder::new(engine_dir(places, name))
                .cluster()
                .exists())
}

/// All engines here: this machine's own, then the others by name.
#[must_use]
pub fn engine_names(places: &Places) -> Vec<String> {
    let entries = std::fs::read_dir(places.engines()).into_iter().flatten();
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names
        .filter(|name| name != LOCAL && is_engine(places, name))
        .collect();
    names.sort();
    names.insert(0, LOCAL.to_owned());
    names
}

/// Where runs have node-local files on this machine: its own disk, and those of isolated nodes.
#[must_use]
pub fn node_disks(places: &Places) -> Vec<PathBuf> {
    let mut disks = vec![backend::node_local()];
    for name in engine_names(places) {
        disks.extend(EngineFolder::new(engine_dir(places, &name)).node_disks());
    }
    disks
}

/// The engines that are asked where no name of one is said: this machine's own, once it ever had a job, and the
/// others that run. One that was stopped stays so until it is named.
#[must_use]
pub fn engines_asked(places: &Places) -> Vec<String> {
    let mut names = engine_names(places);
    names.retain(|name| is_asked(places, name));
    names
}

/// Whether a name is that of one of these.
pub(crate) fn is_asked(places: &Places, name: &str) -> bool {
    let is_there = || {
        let folder = EngineFolder::new(engine_dir(places, name));
        folder.socket().exists() || name == LOCAL && folder.store().exists()
    };
    is_engine(places, name) && is_there()
}

/// What an engine's cluster is to be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NewCluster {
    /// Of a cluster file: a path, the user's own one of that name, or a shipped one.
    File(String),
    /// Of so many alike nodes.
    Nodes(AlikeNodes),
}

/// Nodes that are alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlikeNodes {
    /// How many.
    pub nodes: u32,
    /// CPUs of each.
    pub cpus: u32,
    /// MiB of each.
    pub memory: u64,
    /// GPUs of each.
    pub gpus: u32,
    /// Their type.
    pub gpu_type: Option<String>,
}

impl AlikeNodes {
    /// As a cluster file, with one partition, `all`.
    #[must_use]
    pub fn text(&self) -> String {
        let (cpus, memory) = (self.cpus, self.memory);
        let names = match self.nodes {
            1 => "node1".to_owned(),
            count => format!("node[{}]", ranges(count)),
        };
        let mut text =
            format!("[nodes.node]\nnames = \"{names}\"\ncpus = {cpus}\nmemory = \"{memory}M\"\n");
        if self.gpus > 0 {
            text.push_str(&format!("\n[[nodes.node.gpu]]\ncount = {}\n", self.gpus));
            if let Some(kind) = &self.gpu_type {
                text.push_str(&format!("type = {kind:?}\n"));
            }
        }
        let each = memory / u64::from(cpus.max(1));
        text.push_str(&format!(
            "\n[partition.all]\ndefault = true\nnodes = \"ALL\"\ndefault_memory_per_cpu = \"{each}M\"\n"
        ));
        text
    }
}

/// From 1, in as many ranges as a node list needs for so many.
fn ranges(count: u32) -> String {
    let begins = (1..=count).step_by(LONGEST_RANGE as usize);
    let range = |begin: u32| {
        let end = begin.saturating_add(LONGEST_RANGE - 1).min(count);
        format!("{begin}-{end}")
    };
    begins.map(range).collect::<Vec<_>>().join(",")
}

/// Makes the folder of an engine with that cluster, or finds that it has it already. `check` says what is wrong with
/// a cluster's text of which an engine can't be; such a text takes no name.
///
/// # Errors
/// The name can't be an engine's, the file has a mistake, or there is an engine of that name with
/// another cluster: nothing was changed.
pub fn make_engine(
    places: &Places,
    name: &str,
    cluster: &NewCluster,
    check: impl Fn(&str, &str) -> Result<(), String>,
) -> Result<PathBuf, Failure> {
    refuse_name(name)?;
    let (text, origin) = match cluster {
        NewCluster::Nodes(nodes) => (nodes.text(), None),
        NewCluster::File(asked) => {
            let found = cluster_files::find(places, asked)?;
            found.parse()?;
            let path = (found.kind != cluster_files::Kind::Shipped).then(|| found.origin.clone());
            let path = path.map(|path| std::path::absolute(&path).unwrap_or_else(|_| path.into()));
            (found.text, path)
        }
    };
    let dir = places.engine_dir(name);
    let folder = EngineFolder::new(&dir);
    match std::fs::read_to_string(folder.cluster()) {
        Ok(former) if former == text => return Ok(dir),
        Ok(_) => return Err(has_another(name, &folder, origin.as_deref())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(unusable(&folder.cluster())(error)),
    }
    if folder.store().exists() {
        let path = folder.cluster();
        let what = format!("the engine {name} has no file of its cluster any more");
        return Err(Failure::new(FailureKind::Io, what)
            .there(format!("{} is not there, and its jobs are", path.display()))
            .todo("put it back from a backup, or use another name"));
    }
    check(name, &text).map_err(|there| {
        let what = format!("no engine can be of the cluster of {name}");
        let todo = match cluster {
            NewCluster::Nodes(_) => "ask for other nodes",
            NewCluster::File(_) => "correct the file; docs/cluster-files.md has the keys",
        };
        Failure::new(FailureKind::Usage, what)
            .there(there)
            .todo(todo)
    })?;
    sys::private_folder::make(&dir).map_err(|error| {
        Failure::new(FailureKind::Io, error.to_string())
            .todo("set TRAINYARD_HOME to a folder of your own")
    })?;
    if let Some(origin) = origin {
        let file = folder.cluster_origin();
        let text = origin.to_string_lossy().into_owned();
        sys::atomic::write_private(&file, text.as_bytes()).map_err(unusable(&file))?;
    }
    let file = folder.cluster();
    sys::atomic::write_private(&file, text.as_bytes()).map_err(unusable(&file))?;
    Ok(dir)
}

/// There is no engine of that name.
#[must_use]
pub fn no_such_engine(places: &Places, name: &str) -> Failure {
    let names = engine_names(places);
    Failure::new(FailureKind::Usage, format!("no engine is called {name}"))
        .there(names.join(", "))
        .todo(format!(
            "yard engine start {name} --cluster FILE, or --nodes NUMBER; yard engine ls lists them"
        ))
}

fn refuse_name(name: &str) -> Result<(), Failure> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    let is_plain =
        name.starts_with(|first: char| first.is_ascii_alphanumeric()) && name.chars().all(plain);
    if name.len() > LONGEST_NAME {
        return Err(Failure::new(
            FailureKind::Usage,
            format!("an engine's name of {} bytes is too long", name.len()),
        )
        .todo(format!("use at most {LONGEST_NAME}")));
    }
    if !is_plain {
        return Err(Failure::new(
            FailureKind::Usage,
            format!("{name:?} can't be an engine's name"),
        )
        .todo(
            "use letters, digits, dots, dashes and underscores, beginning with a letter or a digit",
        ));
    }
    if name == LOCAL || TAKEN.contains(&name) {
        return Err(Failure::new(
            FailureKind::Usage,
            format!("{name} can't be the name of an engine of a cluster"),
        )
        .there(format!(
            "{LOCAL} is this machine by yard's own engine; {} are reserved",
            TAKEN.join(", ")
        ))
        .todo("use another name"));
    }
    if let Ok(Some(found)) = backend::discover()
        && found.facts.name == name
    {
        return Err(Failure::new(
            FailureKind::Usage,
            format!("{name} is this machine's Slurm"),
        )
        .todo("use another name for the engine: --on would mean both"));
    }
    Ok(())
}

fn has_another(name: &str, folder: &EngineFolder, origin: Option<&Path>) -> Failure {
    let former = std::fs::read_to_string(folder.cluster_origin()).ok();
    let is_same_file = origin.is_some_and(|origin| {
        former
            .as_ref()
            .is_some_and(|former| Path::new(former) == origin)
    });
    let failure = Failure::new(
        FailureKind::Usage,
        format!("the engine {name} has another cluster"),
    )
    .there(match former {
        Some(former) => format!("that of {former}, kept in {}", folder.cluster().display()),
        None => format!("that of {}", folder.cluster().display()),
    });
    failure.todo(if is_same_file {
        format!(
            "to take the file as it is now: TRAINYARD_ENGINE={name} yard slurm scontrol reconfigure"
        )
    } else {
        format!("use another name, or start it as it is: yard engine start {name}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use cluster_file::ClusterFile;

    #[test]
    fn alike_nodes_are_a_cluster_file() {
        for (nodes, gpus, gpu_type) in [(1, 0, None), (4, 8, Some("v100")), (70_000, 0, None)] {
            let nodes = AlikeNodes {
                nodes,
                cpus: 16,
                memory: 64_000,
                gpus,
                gpu_type: gpu_type.map(str::to_owned),
            };
            let file = ClusterFile::parse("rig", &nodes.text()).unwrap();
            assert_eq!(file.count_of(&file.nodes[0]), nodes.nodes);
            assert_eq!(file.default_partition().unwrap().name, "all");
        }
    }
}
