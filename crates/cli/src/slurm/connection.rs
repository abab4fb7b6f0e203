//! The engine that Slurm's commands speak to, and what printing needs of it.

use crate::printer::Printer;
use api::{
    CallError, Client, ConnectError, EngineFolder, NodeFacts, PartitionFacts, Refusal, UNTYPED_GPU,
};
use model::{AccountNumbers, PartitionView, Timestamp, ViewFacts};
use runs::SaidEngine;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Why a command could not have its answer.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// No place for an engine.
    #[error(transparent)]
    Places(#[from] sys::PlacesError),
    /// `TRAINYARD_ENGINE` names none.
    #[error("{}", failure.line())]
    NoEngine {
        /// What there is, and what to do.
        failure: runs::Failure,
    },
    /// No engine.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// No answer, or a refusal.
    #[error(transparent)]
    Call(#[from] CallError),
}

impl CommandError {
    /// The refusal, if it is one.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            CommandError::Call(error) => error.refusal(),
            CommandError::Places(_) | CommandError::NoEngine { .. } | CommandError::Connect(_) => {
                None
            }
        }
    }

    /// Says it in the name of a command, with what to do where that is known.
    pub fn say(&self, command: &str, printer: &Printer) {
        if let CommandError::NoEngine { failure } = self {
            printer.say(&format!("{command}: error: {}", failure.what));
            let parts = [("there", &failure.there), ("do", &failure.todo)];
            for (title, text) in parts {
                if let Some(text) = text {
                    printer.say(&format!("{command}:   {title:<7} {text}"));
                }
            }
            return;
        }
        printer.say(&format!("{command}: error: {self}"));
        let connect = match self {
            CommandError::Connect(error) | CommandError::Call(CallError::Connect(error)) => {
                Some(error)
            }
            CommandError::Places(_) | CommandError::NoEngine { .. } | CommandError::Call(_) => None,
        };
        if let Some(error) = connect {
            printer.say(&format!("{command}: do: {}", error.todo()));
        }
    }
}

/// The folder of the engine to talk to: a job's own inside a job, the one that is named, else the
/// user's of this machine.
pub fn engine_dir() -> Result<PathBuf, CommandError> {
    match SaidEngine::from_env() {
        Some(SaidEngine::Folder(folder)) => Ok(folder),
        Some(SaidEngine::Name(name)) => {
            let places = sys::Places::from_env()?;
            if runs::is_engine(&places, &name) {
                Ok(places.engine_dir(&name))
            } else {
                Err(CommandError::NoEngine {
                    failure: runs::no_such_engine(&places, &name),
                })
            }
        }
        None => Ok(sys::Places::from_env()?.engine_dir(sys::OWN_ENGINE_NAME)),
    }
}

/// The folder of the engine of that cluster; without one that of [`engine_dir`].
pub fn engine_dir_of(cluster: Option<&str>) -> Result<PathBuf, CommandError> {
    match cluster {
        Some(cluster) => Ok(runs::engine_dir(&sys::Places::from_env()?, cluster)),
        None => engine_dir(),
    }
}

/// Whether the engine of that folder has nodes of a cluster file; otherwise it is this machine.
pub fn has_nodes(folder: &Path) -> bool {
    EngineFolder::new(folder).cluster().exists()
}

/// Whether a node of the engine of that folder has a generic resource of a name; where it does not answer, that is
/// said when the job is sent.
pub fn has_gres(folder: &Path, name: &str) -> bool {
    if !has_nodes(folder) {
        return false;
    }
    let cluster = connect_in(folder).and_then(|mut client| Ok(client.cluster()?));
    cluster.map_or(true, |cluster| {
        let mut all = cluster.nodes.iter().flat_map(|node| &node.gres);
        all.any(|gres| gres.name == name)
    })
}

/// The name of that engine, which its cluster has too.
pub fn engine_name() -> Result<String, CommandError> {
    Ok(EngineFolder::new(engine_dir()?).name())
}

/// The name of the cluster of the engine in a folder, as that engine says it: a link to the folder has
/// no say in it.
pub fn cluster_name(folder: &EngineFolder) -> String {
    match folder.root().canonicalize() {
        Ok(root) => EngineFolder::new(root).name(),
        Err(_) => folder.name(),
    }
}

/// A connection to it; one is started where none answers.
pub fn connect() -> Result<Client, CommandError> {
    connect_in(&engine_dir()?)
}

/// A connection to the engine of a folder; it is started where it does not answer.
pub fn connect_in(engine: &Path) -> Result<Client, CommandError> {
    Ok(Client::connect(engine)?)
}

/// A connection to the engine of that cluster; it is started where it does not answer.
pub fn connect_to(cluster: &str) -> Result<Client, CommandError> {
    let places = sys::Places::from_env()?;
    Ok(Client::connect(&runs::engine_dir(&places, cluster))?)
}

/// A connection to it for a look only: `None` where no engine ever ran, so that looking starts
/// none.
pub fn connect_to_look() -> Result<Option<Client>, CommandError> {
    Ok(Client::connect_to_look(&engine_dir()?)?)
}

/// What printing jobs needs to know; without a client of a cluster that has no job.
pub fn view_facts(client: Option<&mut Client>) -> Result<ViewFacts, CommandError> {
    view_facts_of(engine_name()?, client)
}

/// As [`view_facts`], of the cluster to which the client speaks.
pub fn view_facts_of(
    cluster: String,
    client: Option<&mut Client>,
) -> Result<ViewFacts, CommandError> {
    let mut facts = ViewFacts {
        now: Timestamp(sys::now()),
        moments: super::moment_style(),
        cluster: cluster.into(),
        partition: sys::OWN_ENGINE_NAME.into(),
        qos: "normal".into(),
        node_count: 1,
        node_cpus: 1,
        node_memory: 0,
        partitions: BTreeMap::new(),
        gpu_kinds: BTreeMap::new(),
        numbers: AccountNumbers::default(),
        looked_at: None,
        recorded: resources::recorded_of,
    };
    if let Some(client) = client {
        let engine = client.facts()?;
        facts.partition = engine.partition.into();
        facts.looked_at = engine.last_pass;
        let partitions = engine.partitions.into_iter();
        facts.partitions = partitions
            .map(|it| (it.name.clone(), view(&it).into()))
            .collect();
        // This machine's GPUs have the names of products, which are no types.
        if engine.is_pretended {
            let typed = |node: &&NodeFacts| !node.gpus.iter().any(|kind| kind == UNTYPED_GPU);
            facts.gpu_kinds = engine
                .nodes
                .iter()
                .filter(typed)
                .map(|node| (node.name.clone(), node.gpus.clone()))
                .collect();
        }
        facts.node_count = u32::try_from(engine.nodes.len()).unwrap_or(u32::MAX);
        let largest = engine.nodes.iter().max_by_key(|node| node.cpus);
        if let Some(node) = largest {
            facts.node_cpus = node.cpus.max(1);
            facts.node_memory = node.memory;
        }
    }
    Ok(facts)
}

fn view(partition: &PartitionFacts) -> PartitionView {
    PartitionView {
        memory: partition.memory,
        time: partition.time,
        preempted_after: partition.preempted_after,
        cpus_per_gpu: partition.cpus_per_gpu,
        memory_per_gpu: partition.memory_per_gpu,
        max_memory_per_cpu: partition.max_memory_per_cpu,
        billing: partition.billing.clone(),
        sharing: partition.sharing,
        is_hidden: partition.is_hidden,
    }
}
