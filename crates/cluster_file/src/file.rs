//! A cluster file as a whole.

use super::read::Reader;
use super::section::{Section, section};
use super::tables::{
    Account, Containers, Licence, Limits, Lists, Modules, NodeLocal, Nodes, Partition, Paths,
    Policy, Preemption, Priority, Programs, Qos, Scheduling, Switch, User,
};
use super::{ClusterProblem, Named};
use model::{Internet, SlurmVersion};
use toml::de::DeTable;

section! {
    /// A cluster file: what a cluster has and allows.
    ClusterFile {
        /// What it is, in a few words.
        about: String,
        /// The document that quotes are from.
        document: String,
        /// `ClusterName`, where it isn't the file's name.
        cluster_name: String,
        /// The version of Slurm.
        slurm: SlurmVersion,
        /// From where the outside world can be reached.
        internet: Internet,
        /// Whether `sbatch` works in a job.
        submit_from_nodes: bool,
        /// Hosts on which `sbatch` works.
        submit_hosts: Vec<String>,
        /// The part of a mail address behind the `@`.
        mail_domain: String,
    }
    holds {
        /// The file's name without `.toml`, which is the cluster's.
        name: String,
        /// The host name of the machine, where this is no file's but that machine's, as the embedded engine gives it
        /// out: one node, of which a job may have several virtual ones.
        machine: Option<String>,
    }
    tables {
        /// Which of its lists are whole.
        lists: Lists,
        /// Kinds of nodes.
        nodes: Vec<Named<Nodes>>,
        /// Partitions.
        partitions: Vec<Named<Partition>> = "partition",
        /// Qualities of service.
        qos: Vec<Named<Qos>>,
        /// Accounts.
        accounts: Vec<Named<Account>> = "account",
        /// Users.
        users: Vec<Named<User>> = "user",
        /// Licences that jobs can ask for.
        licences: Vec<Named<Licence>> = "license",
        /// Switches of the network.
        switches: Vec<Named<Switch>> = "switch",
        /// What the site wants a job to ask for.
        policy: Policy,
        /// Limits of the whole.
        limits: Limits,
        /// How jobs are started and ended.
        scheduling: Scheduling,
        /// What a priority is made of.
        priority: Priority,
        /// Who may take another's place.
        preemption: Preemption,
        /// What runs around jobs, steps and tasks.
        programs: Programs,
        /// Shared folders.
        paths: Paths,
        /// The disk of a node.
        node_local: NodeLocal,
        /// What runs containers.
        containers: Containers,
        /// Environment modules.
        modules: Modules,
    }
}

impl ClusterFile {
    /// Reads a cluster file; `name` is the file's without `.toml`.
    ///
    /// # Errors
    /// Everything that is wrong with the text, in the order in which it stands; never empty.
    pub fn parse(name: &str, text: &str) -> Result<ClusterFile, Vec<ClusterProblem>> {
        let mut reader = Reader::default();
        let (document, errors) = DeTable::parse_recoverable(text);
        let mut file = ClusterFile::default();
        if errors.is_empty() {
            let whole = 0..text.len();
            file = reader.table(document.get_ref(), whole, "", None);
        }
        for error in errors {
            let span = error.span().unwrap_or(0..0);
            let help = "a cluster file is written in TOML: text stands in quotes, https://toml.io";
            reader.complain(span, error.message(), "", help);
        }
        name.clone_into(&mut file.name);
        reader.problems.sort_by_key(|problem| problem.span.start);
        if reader.problems.is_empty() {
            Ok(file)
        } else {
            Err(reader.problems)
        }
    }

    /// All values that are assumed, each as `partition.gpu.max_time` with the reason.
    #[must_use]
    pub fn assumed(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        self.visit("", &mut |path, _, entries| {
            for entry in entries {
                if let super::Source::Assumed(why) = entry.source {
                    found.push((super::section::joined(path, entry.key), why));
                }
            }
        });
        found
    }
}
