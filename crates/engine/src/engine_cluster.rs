//! The cluster that an engine schedules: this machine, or the one of a cluster file in its folder,
//! whose nodes are pretended here.

use api::EngineFolder;
use cluster_file::{ClusterFile, Contradiction};
use model::{Accounting, ClusterChanges, CpuLayout, CpuPlace, Dealing, NodeName, Severity};
use resources::{Cluster, NodeClass, SingleNode, Trust, UNBOUNDED};
use sched::{BackfillParameters, ParameterError};
use std::fs::File;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;

/// More GPUs in a node have no indices.
const MOST_GPUS: u64 = 64;

/// The cluster that an engine schedules.
#[derive(Clone, Debug)]
pub(crate) struct EngineCluster {
    /// The engine's name, which its cluster has too.
    pub(crate) name: String,
    pub(crate) cluster: Arc<Cluster>,
    /// Numbers of this machine's CPUs; empty where the nodes are pretended.
    pub(crate) numbers: Arc<[u32]>,
    /// Where this machine's CPUs lie; none where the nodes are pretended.
    layout: Option<Arc<CpuLayout>>,
    /// What it was made of, where it isn't this machine, with what `sacctmgr` keeps.
    pub(crate) file: Option<Arc<ClusterFile>>,
    /// The same as it was written.
    written: Option<Arc<ClusterFile>>,
    /// What was changed of it by hand since.
    pub(crate) changes: ClusterChanges,
    /// This machine's accounts, users and QOS, where `sacctmgr` keeps any.
    accounts: Option<Arc<ClusterFile>>,
}

/// Why there is no cluster, in three parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClusterError {
    pub(crate) asked: String,
    pub(crate) there: String,
    pub(crate) todo: String,
}

/// More than any cluster's file has.
const LONGEST_FILE: u64 = 4 << 20;

/// Reads a cluster's file, for which the engine must not wait.
pub(crate) fn read_cluster(path: &Path) -> io::Result<String> {
    sys::named_file::read_text(path, LONGEST_FILE)
}

/// Whether an engine of this name can be of a cluster file's text.
///
/// # Errors
/// What is wrong with it.
pub fn check_cluster(name: &str, text: &str) -> Result<(), String> {
    EngineCluster::of_text(name, text, "cluster.toml").map(|_| ())
}

/// A file's name without its folder.
pub(crate) fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    name.to_string_lossy().into_owned()
}

/// The cluster of a file, with the members of the groups that its partitions name.
fn built(file: &ClusterFile) -> Cluster {
    let mut cluster = Cluster::build(file, Trust::All);
    cluster.know_members(|group| {
        let members = sys::users::group_members(group).unwrap_or_else(|error| {
            tracing::warn!("members of group {group} are not known: {error}");
            None
        });
        members.unwrap_or_default()
    });
    cluster
}

fn cpu_place(cpu: &sys::cpu_topology::Cpu) -> CpuPlace {
    CpuPlace {
        number: cpu.number,
        socket: cpu.socket,
        core: cpu.core,
        domain: cpu.domain,
    }
}

impl EngineCluster {
    /// The cluster of an engine's folder: of the file that lies in it, else this machine.
    pub(crate) fn of(
        folder: &EngineFolder,
        gpus: &[sys::gpus::Gpu],
    ) -> Result<EngineCluster, ClusterError> {
        let path = folder.cluster();
        let asked = || format!("the cluster of {}", path.display());
        match read_cluster(&path) {
            Ok(text) => {
                let cluster = EngineCluster::of_text(&folder.name(), &text, &file_name(&path));
                cluster.map_err(|there| ClusterError {
                    asked: asked(),
                    there,
                    todo: "correct the file; docs/cluster-files.md has the keys".to_owned(),
                })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok(EngineCluster::this_machine(&folder.name(), gpus))
            }
            Err(error) => Err(ClusterError {
                asked: asked(),
                there: error.to_string(),
                todo: "make it readable: without it the engine doesn't know its nodes".to_owned(),
            }),
        }
    }

    /// The cluster of a file's text; what is wrong with it if none can be, where `origin` is the file's name.
    pub(crate) fn of_text(name: &str, text: &str, origin: &str) -> Result<EngineCluster, String> {
        let file = ClusterFile::parse(name, text).map_err(|problems| {
            let said = problems.iter().map(|one| model::render(one, text, origin));
            said.map(|one| one.trim_end().to_owned())
                .collect::<Vec<_>>()
                .join("\n")
        })?;
        let cluster = built(&file);
        can_be_had(&cluster)?;
        backfill_of(&file).map_err(|error| format!("[scheduling] parameters: {error}"))?;
        if let Some((key, path)) = file.programs.relative().next() {
            let path = &path.value;
            return Err(format!(
                "[programs] {key} = \"{path}\": an absolute path is needed"
            ));
        }
        let file = Arc::new(file);
        Ok(EngineCluster {
            name: name.to_owned(),
            cluster: Arc::new(cluster),
            numbers: Arc::default(),
            layout: None,
            file: Some(Arc::clone(&file)),
            written: Some(file),
            accounts: None,
            changes: ClusterChanges::default(),
        })
    }

    fn this_machine(name: &str, gpus: &[sys::gpus::Gpu]) -> EngineCluster {
        let host = sys::host_name();
        let short = host.split('.').next().unwrap_or("localhost");
        let cpus: Vec<CpuPlace> = sys::cpu_topology::available()
            .iter()
            .map(cpu_place)
            .collect();
        let numbers: Vec<u32> = cpus.iter().map(|cpu| cpu.number).collect();
        let host = NodeName::new(short);
        let gpus = gpus.iter().map(|gpu| (gpu.index, gpu.name.as_str()));
        let cluster = Cluster::single(&SingleNode {
            host: &host,
            partition: sys::OWN_ENGINE_NAME,
            cpus: u32::try_from(numbers.len()).unwrap_or(u32::MAX),
            mem_mib: Some(sys::memory::total_mib()),
            gpus: gpus.collect(),
        });
        EngineCluster {
            name: name.to_owned(),
            cluster: Arc::new(cluster),
            numbers: numbers.into(),
            layout: Some(Arc::new(CpuLayout::of_machine(&cpus))),
            file: None,
            written: None,
            accounts: None,
            changes: ClusterChanges::default(),
        }
    }

    /// Where the accounts and QOS of a user stand, if anywhere.
    pub(crate) fn rules(&self) -> Option<&ClusterFile> {
        self.file.as_deref().or(self.accounts.as_deref())
    }

    /// What `sacctmgr` shows before it has changed anything.
    pub(crate) fn accounting(&self, owner: &str) -> Accounting {
        match &self.written {
            Some(file) => file.accounting(&self.name, owner),
            None => Accounting::new(&self.name, owner),
        }
    }

    /// The same nodes and partitions with the accounts, users and QOS that `sacctmgr` keeps.
    pub(crate) fn with_accounting(&self, accounting: &Accounting) -> EngineCluster {
        let Some(written) = &self.written else {
            // This machine has no rules of its own that could refuse a job: limits keep it waiting.
            let accounts = ClusterFile::default().with_accounting(accounting);
            return EngineCluster {
                cluster: Arc::new(self.cluster.with_accounts_of(&accounts)),
                accounts: Some(Arc::new(accounts)),
                ..self.clone()
            };
        };
        let file = written.with_changes(&self.changes);
        let file = file.with_accounting(accounting);
        EngineCluster {
            cluster: Arc::new(built(&file)),
            file: Some(Arc::new(file)),
            ..self.clone()
        }
    }

    /// The cluster as its file has it with these changes, and with what `sacctmgr` keeps.
    pub(crate) fn with_changes(
        &self,
        changes: ClusterChanges,
        accounting: Option<&Accounting>,
    ) -> EngineCluster {
        let Some(written) = &self.written else {
            return self.clone();
        };
        let file = written.with_changes(&changes);
        let changed = EngineCluster {
            cluster: Arc::new(built(&file)),
            file: Some(Arc::new(file)),
            changes,
            ..self.clone()
        };
        match accounting {
            Some(accounting) => changed.with_accounting(accounting),
            None => changed,
        }
    }

    /// Hands out the document that it goes by, where that is no longer the one in the engine's folder: whether it could.
    pub(crate) fn hand_out(&self, folder: &EngineFolder) -> bool {
        let path = folder.changed_cluster();
        let changed = self.file.as_ref().filter(|_| self.file != self.written);
        let done = match changed {
            Some(file) => sys::atomic::write_private(&path, file.to_string().as_bytes()),
            None => match std::fs::remove_file(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                done => done,
            },
        };
        if let Err(error) = &done {
            let path = path.display();
            tracing::warn!("what the cluster is now could not be written to {path}: {error}");
        }
        done.is_ok()
    }

    /// Empties what was handed out, before the cluster becomes another one: whatever happens then, no client judges by what
    /// is true no more. To empty it needs no room.
    ///
    /// # Errors
    /// It can't be emptied: the cluster must stay as it is.
    pub(crate) fn take_back(&self, folder: &EngineFolder) -> io::Result<()> {
        if self.written.is_none() {
            return Ok(());
        }
        let path = folder.changed_cluster();
        let mut options = File::options();
        let emptied = options.write(true).create(true).truncate(true).mode(0o600);
        emptied.open(&path).map(drop)
    }

    /// What can't be so in its file and was not so in that of the former, both with what `sacctmgr` keeps.
    pub(crate) fn new_mistakes(
        &self,
        former: &EngineCluster,
        accounting: Option<&Accounting>,
    ) -> Vec<Contradiction> {
        let [former, mut new] = [former, self].map(|cluster| {
            let file = cluster.written.as_deref();
            let found = file.map(|file| match accounting {
                Some(accounting) => file.with_accounting(accounting).check(),
                None => file.check(),
            });
            let mut found = found.unwrap_or_default();
            found.retain(|one| one.severity == Severity::Error);
            found
        });
        new.retain(|one| {
            let (code, message) = (one.code, &one.problem.message);
            let mut former = former.iter();
            !former.any(|was| (was.code, &was.problem.message) == (code, message))
        });
        new
    }

    /// The features of a node as the cluster's file has them.
    pub(crate) fn written_features(&self, node: &NodeName) -> Vec<String> {
        let Some(written) = &self.written else {
            return Vec::new();
        };
        let mut groups = written.nodes.iter();
        let group = groups.find(|group| written.names_of(group).contains(node));
        let features = group.and_then(|group| group.features.as_ref());
        features.map_or_else(Vec::new, |features| features.value.clone())
    }

    /// Names of its nodes, in their order.
    pub(crate) fn node_names(&self) -> impl Iterator<Item = &NodeName> {
        let name = |node| self.cluster.node_name(node);
        self.cluster.nodes().map(name)
    }

    /// Where the CPUs of a node of this class lie. `there` are CPUs that it has: of one of which nothing is said,
    /// or that the cluster does not have any more, there are no others.
    pub(crate) fn layout_of(&self, class: Option<&NodeClass>, there: &[u32]) -> Arc<CpuLayout> {
        if let Some(layout) = &self.layout {
            return Arc::clone(layout);
        }
        let cpus = match class.map_or(UNBOUNDED, |class| class.total.cpus) {
            UNBOUNDED => there.iter().max().map_or(0, |last| last.saturating_add(1)),
            cpus => cpus,
        };
        Arc::new(CpuLayout::pretended(
            class.and_then(|class| class.sockets),
            cpus,
        ))
    }

    /// How tasks are dealt out over a node's sockets where their step does not say it.
    pub(crate) fn default_over_sockets(&self) -> Dealing {
        let scheduling = self.file.as_ref().map(|file| &file.scheduling);
        let select = scheduling.and_then(|scheduling| scheduling.select.as_ref());
        let is_block = select.is_some_and(|select| {
            let words = select.to_ascii_lowercase();
            words.contains("cr_core_default_dist_block")
        });
        if is_block {
            Dealing::Block
        } else {
            Dealing::Cyclic
        }
    }

    /// Whether its nodes are pretended.
    pub(crate) fn is_pretended(&self) -> bool {
        self.file.is_some()
    }

    /// How jobs may start before others of their partition: Slurm's `sched/backfill`, which is its
    /// default, with what `parameters` say. None for `sched/builtin`, and for this machine, whose jobs
    /// mostly have no time limits to plan with.
    pub(crate) fn backfill(&self) -> Option<BackfillParameters> {
        backfill_of(self.file.as_ref()?).ok().flatten()
    }

    /// How many GPUs a node has; none where there is no such node.
    pub(crate) fn gpus_of(&self, name: &NodeName) -> u32 {
        let nodes = &self.cluster;
        let node = nodes.node(name);
        node.map_or(0, |node| nodes.class(node).total.lane(0).into())
    }

    /// Whether any node has GPUs.
    pub(crate) fn has_gpus(&self) -> bool {
        let classes = self.cluster.classes();
        classes.iter().any(|class| class.total.lane(0) > 0)
    }
}

fn backfill_of(file: &ClusterFile) -> Result<Option<BackfillParameters>, ParameterError> {
    let scheduler = file.scheduling.scheduler.as_ref();
    if scheduler.is_some_and(|scheduler| scheduler.value == "sched/builtin") {
        return Ok(None);
    }
    let parameters = file.scheduling.parameters.as_ref();
    let parameters = parameters.map_or("", |parameters| parameters.value.as_str());
    BackfillParameters::parse(parameters)
}

/// Whether there are nodes to schedule, all with what must be known of them.
fn can_be_had(cluster: &Cluster) -> Result<(), String> {
    if cluster.node_count() == 0 {
        return Err("it has no nodes: an engine's cluster needs [nodes.NAME] with cpus".to_owned());
    }
    if cluster.partitions().is_empty() {
        return Err("it has no partition: an engine's cluster needs one".to_owned());
    }
    for node in cluster.nodes() {
        let (class, name) = (cluster.class(node), cluster.node_name(node));
        if class.total.cpus == resources::UNBOUNDED || class.total.cpus == 0 {
            return Err(format!(
                "it doesn't say how many CPUs {name} has: cpus = NUMBER"
            ));
        }
        if u64::from(class.total.lane(0)) > MOST_GPUS {
            return Err(format!(
                "{name} has more than {MOST_GPUS} GPUs: that is the most of a node here"
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_that_can_not_be_had_says_why() {
        let check = |text: &str, want: &str| {
            let error = EngineCluster::of_text("lab", text, "lab.toml")
                .err()
                .unwrap_or_default();
            assert!(error.contains(want), "{text}: {error}");
            assert_eq!(error.is_empty(), want.is_empty(), "{error}");
        };
        let nodes = "[nodes.n]\ncount = 2\ncpus = 4\n";
        check(&format!("{nodes}[partition.p]\nnodes = \"ALL\"\n"), "");
        check("", "no nodes");
        check(nodes, "no partition");
        check(
            "[nodes.n]\ncount = 2\n[partition.p]\nnodes = \"ALL\"\n",
            "how many CPUs n1 has",
        );
        check("[nodes.n]\ncpus = \"many\"\n", "lab.toml:2");
        check(
            &format!("{nodes}[partition.p]\nnodes = \"ALL\"\n[programs]\nprolog = \"run.sh\"\n"),
            "prolog = \"run.sh\": an absolute path",
        );
        check(
            &format!(
                "{nodes}[partition.p]\nnodes = \"ALL\"\n[scheduling]\nparameters = \"bf_window=0\"\n"
            ),
            "bf_window=0: a number from 1 to 43200 is needed",
        );
    }
}
