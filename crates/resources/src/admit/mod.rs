//! Whether a cluster would take a job: the checks of Slurm's controller against a cluster file.
//!
//! The order is that of `_job_create` and `_part_access_check` in `job_mgr.c` of 22.05: node names,
//! partition, account, QOS, the partition's limits, accounting limits, excluded nodes, features,
//! then whether nodes can serve. What the file doesn't say is not checked.

mod account;
mod advice;
mod change;
mod describe;
mod finding;
mod given;
mod gpu_types;
mod idle;
mod licences;
mod limit_path;
mod limits;
mod nodes;
mod one_node;
mod one_type;
mod partition;
mod requested;
mod requested_nodes;
mod sent;
mod there;

pub use account::charged;
pub use change::{Change, GpuTypeChange};
pub use finding::{Denial, Detail, Fate, Finding, Subject};
pub use given::{Given, given};
pub use gpu_types::{GpuTypes, gpu_types};
pub use licences::no_licence;
pub use limit_path::LimitPath;
pub use one_node::never_on_one;
pub use requested::Requested;
pub use requested_nodes::NodesRequested;
pub use there::There;

use crate::Trust;
use account::Who;
use cluster_file::{ClusterFile, EnforcePartLimits, List, Named, Partition, Qos, Sourced};
use finding::finding;
use idle::Idle;
use model::option_table::Key;
use model::{Constraint, LicenceCount, NodeName, Request, TimeLimitRequest};
use nodes::{Place, no_nodes};
use partition::is_for_all;

/// Whether the cluster takes this job of a user; of anybody where none is named.
///
/// # Errors
/// The reason at which Slurm would stop; where it would take the job, the first reason why it
/// could never start.
pub fn admit(
    file: &ClusterFile,
    request: &Request,
    user: Option<&str>,
) -> Result<(), Box<Finding>> {
    let mut all = findings(file, request, user);
    // What is ended early is taken.
    all.retain(|refusal| refusal.fate != Fate::Cut);
    let first = all.iter().position(|refusal| refusal.fate == Fate::Refused);
    if all.is_empty() {
        return Ok(());
    }
    Err(Box::new(all.swap_remove(first.unwrap_or(0))))
}

/// Every reason why the cluster would not take or never start a job, in the order in which
/// Slurm looks.
#[must_use]
pub fn findings(file: &ClusterFile, request: &Request, user: Option<&str>) -> Vec<Finding> {
    verdict(file, request, user).findings
}

/// Where a job would be, and what stands against it.
#[must_use]
pub fn verdict<'a>(file: &'a ClusterFile, request: &Request, user: Option<&str>) -> Verdict<'a> {
    let idle = Idle::new(file);
    let mut judge = Judge {
        file,
        idle: &idle,
        request,
        found: Vec::new(),
        seeks: false,
    };
    judge.node_names(&request.rare.nodelist, Key::NodeList);
    let choice = judge.partitions();
    if let (Reach::Nowhere, [] | [_]) = (choice.reach, &choice.known[..]) {
        return Verdict {
            partition: choice.known.first().copied(),
            findings: judge.found,
        };
    }
    let of_partitions = judge.found.len();
    let who = Who::of(file, request, user, &mut judge);
    // A file that names none does not say that there are none.
    if !file.licences.is_empty() {
        let there: Vec<LicenceCount> = idle.cluster(Trust::All).licences().to_vec();
        judge.found.extend(no_licence(&there, request));
    }
    let before = judge.found.len();
    let features = judge.features();
    let of_features = judge.found.split_off(before);
    // A held job is not placed until it is released; with a feature that nobody has it never is.
    let placed = (!request.hold && features != Features::Unknown).then(|| {
        request.with_rare(|rare| {
            let constraint = rare.constraint.take();
            rare.constraint = constraint.filter(|_| features == Features::Known);
        })
    });
    let known = choice.known.iter();
    let judged: Vec<Judged> = known
        .map(|partition| judge.judge(partition, &who, placed.as_ref()))
        .collect();
    let chosen = best(&judged);
    let partition = chosen.and_then(|chosen| choice.known.get(chosen).copied());
    match choice.reach {
        Reach::Nowhere => judge.found.truncate(of_partitions),
        Reach::Somewhere => {
            let of_nodes = placed.and_then(|request| no_nodes(&idle, None, &request));
            judge.rest(None, &who, of_features, of_nodes);
        }
        Reach::There => {
            let must_all = file.limits.enforce_partition_limits.as_ref();
            let must_all = must_all.is_some_and(|enforce| enforce.value == EnforcePartLimits::All);
            let mut of_nodes = None;
            // A job that names several partitions starts where it can, unless all must take it.
            for (index, one) in judged.into_iter().enumerate() {
                if Some(index) == chosen {
                    judge.found.extend(one.of_partition);
                    of_nodes = one.of_nodes;
                } else if must_all {
                    judge.found.extend(one.of_partition);
                }
            }
            judge.rest(partition, &who, of_features, of_nodes);
        }
    }
    Verdict {
        partition,
        findings: judge.found,
    }
}

/// Where a job would be, and what stands against it.
#[derive(Clone, Debug)]
pub struct Verdict<'a> {
    /// Of several partitions that it names the first that takes it, of none the default. None where
    /// the file doesn't know it.
    pub partition: Option<&'a Named<Partition>>,
    /// Every reason why the cluster would not take or never start it, in the order in which Slurm
    /// looks.
    pub findings: Vec<Finding>,
}

/// The partitions that a job is for.
struct PartitionChoice<'a> {
    /// Those of them that the file knows.
    known: Vec<&'a Named<Partition>>,
    reach: Reach,
}

#[derive(Clone, Copy, PartialEq)]
enum Reach {
    /// To those that are known.
    There,
    /// To one that the file need not know, or has none of.
    Somewhere,
    /// Slurm stops at what it names.
    Nowhere,
}

/// What one partition has against a job.
struct Judged {
    of_partition: Vec<Finding>,
    of_nodes: Option<Finding>,
}

/// The partition that has least against it: nothing, else nothing that is sure.
fn best(judged: &[Judged]) -> Option<usize> {
    let weight = |judged: &Judged| {
        let all = judged.of_partition.iter().chain(&judged.of_nodes);
        let sure = all.clone().filter(|refusal| !refusal.assumed).count();
        (sure, all.count())
    };
    (0..judged.len()).min_by_key(|index| weight(&judged[*index]))
}

/// What is known of the features that a job asks for.
#[derive(Clone, Copy, PartialEq)]
enum Features {
    /// Some node has each, or none is asked.
    Known,
    /// The file doesn't have one of them, and doesn't know them all.
    Doubted,
    /// No node has one of them.
    Unknown,
}

/// What is found on the way in.
struct Judge<'a, 'r> {
    file: &'a ClusterFile,
    idle: &'r Idle<'a>,
    request: &'r Request,
    found: Vec<Finding>,
    /// It is asked only whether there is anything against it.
    seeks: bool,
}

impl<'a> Judge<'a, '_> {
    /// What one partition has against the job; `placed` is what its nodes must hold, where that is
    /// looked at.
    fn judge(
        &mut self,
        partition: &'a Named<Partition>,
        who: &Who<'_>,
        placed: Option<&Request>,
    ) -> Judged {
        let before = self.found.len();
        self.partition(partition, who);
        let mut of_nodes = placed.and_then(|request| no_nodes(self.idle, Some(partition), request));
        if let Some(refusal) = &mut of_nodes
            && let Some(other) = self.other_partition(&partition.name, who)
        {
            if refusal.instead == [Change::WithGpus] {
                refusal.instead.clear();
            }
            refusal.instead.push(Change::partition(other));
        }
        Judged {
            of_partition: self.found.split_off(before),
            of_nodes,
        }
    }

    /// What is looked at when the partition is known.
    fn rest(
        &mut self,
        partition: Option<&Named<Partition>>,
        who: &Who<'_>,
        of_features: Vec<Finding>,
        of_nodes: Option<Finding>,
    ) {
        self.array();
        self.accounting(partition, who);
        self.node_names(&self.request.rare.exclude, Key::Exclude);
        self.found.extend(of_features);
        // Of GPUs of the whole job the site's own rule says more than that no node has several types.
        let before = self.found.len();
        if of_nodes.is_none() || self.request.rare.asked.per_job.has_several_kinds() {
            self.one_gpu_type();
        }
        if self.found.len() == before {
            self.found.extend(of_nodes);
        }
    }

    fn node_names(&mut self, names: &[NodeName], key: Key) {
        if names.is_empty() || self.file.nodes.is_empty() {
            return;
        }
        let mut known: Vec<NodeName> = self
            .file
            .nodes
            .iter()
            .flat_map(|nodes| self.file.names_of(nodes))
            .collect();
        known.sort();
        let Some(odd) = names.iter().find(|name| known.binary_search(name).is_err()) else {
            return;
        };
        let groups = self.file.nodes.iter();
        let there: Vec<String> = groups
            .clone()
            .map(|nodes| {
                nodes
                    .names
                    .as_ref()
                    .map_or(&nodes.name, |names| &names.value)
                    .clone()
            })
            .collect();
        let assumed = !self.file.knows_all(List::Nodes)
            || self
                .file
                .nodes
                .iter()
                .any(|nodes| nodes.names.as_ref().is_none_or(Sourced::is_assumed));
        self.found.push(Finding {
            assumed,
            ..finding(
                Denial::NodeName,
                Requested::Option(key, odd.as_str().to_owned()),
                There::NodeNames(self.file.name.clone(), there),
                vec![Change::LeaveOut(key), Change::NodeThatIsThere],
            )
            .about(Subject::Option(key))
        });
    }

    /// The partitions that the job is for.
    fn partitions(&mut self) -> PartitionChoice<'a> {
        let file = self.file;
        let mut choice = PartitionChoice {
            known: Vec::new(),
            reach: Reach::There,
        };
        if file.partitions.is_empty() {
            choice.reach = Reach::Somewhere;
            return choice;
        }
        let names: Vec<&str> = file.partitions.iter().map(|p| p.name.as_str()).collect();
        let there = file.list_words(List::Partitions, &names);
        let Some(asked) = &self.request.partition else {
            if let Some(default) = file.default_partition() {
                choice.known.push(default);
                return choice;
            }
            // A document that marks none as the default need not mean that there is none.
            let silent = file
                .partitions
                .iter()
                .all(|partition| partition.default.is_none());
            self.found.push(Finding {
                assumed: silent,
                ..finding(
                    Denial::NoPartition,
                    Requested::NoPartition,
                    There::NoDefault(there),
                    vec![self.serving()],
                )
            });
            choice.reach = if silent {
                Reach::Somewhere
            } else {
                Reach::Nowhere
            };
            return choice;
        };
        for name in asked.split(',').filter(|name| !name.is_empty()) {
            if let Some(partition) = file.partition(name) {
                choice.known.push(partition);
                continue;
            }
            // The first that there isn't is told.
            if choice.reach != Reach::There {
                continue;
            }
            let near = model::nearest(name, names.iter().copied());
            let assumed = !file.knows_all(List::Partitions);
            self.found.push(Finding {
                assumed,
                detail: Some(Detail::NoPartition(name.to_owned())),
                ..finding(
                    Denial::Partition,
                    Requested::Option(Key::Partition, name.to_owned()),
                    There::Names(there.clone()),
                    vec![match near {
                        Some(near) => Change::DidYouMean(Key::Partition, near.to_owned()),
                        None => self.serving(),
                    }],
                )
            });
            choice.reach = if assumed {
                Reach::Somewhere
            } else {
                Reach::Nowhere
            };
        }
        choice
    }

    /// The first partition for everyone whose nodes can serve.
    fn serving(&self) -> Change {
        let least = self.request.min_nodes.unwrap_or(1);
        let serves = |partition: &&Named<Partition>| {
            let most = partition.max_nodes.as_ref();
            is_for_all(partition)
                && most.is_none_or(|most| most.value >= least)
                && Place::of(self.idle, Some(partition)).serves(self.request)
        };
        let mut all = self.file.partitions.iter();
        match all.find(serves) {
            Some(found) => Change::partition(&found.name),
            None => Change::NoneServes,
        }
    }

    fn array(&mut self) {
        let (Some(array), Some(most)) =
            (&self.request.rare.array, &self.file.limits.max_array_size)
        else {
            return;
        };
        let Some(last) = array.indices.last().filter(|last| **last >= most.value) else {
            return;
        };
        self.found.push(
            finding(
                Denial::Array,
                Requested::ArrayUpTo(*last),
                There::IndicesBelow(most.value),
                vec![Change::SplitArray(most.value.saturating_sub(1))],
            )
            .at(LimitPath::Cluster("max_array_size"), most),
        );
    }

    /// A feature that no node has: where that is sure, looking at nodes says nothing more.
    fn features(&mut self) -> Features {
        let Some(constraint) = self
            .request
            .rare
            .constraint
            .as_deref()
            .and_then(Constraint::parse)
        else {
            return Features::Known;
        };
        let stated = self
            .file
            .nodes
            .iter()
            .filter_map(|nodes| nodes.features.as_ref());
        let mut known: Vec<&str> = stated
            .flat_map(|features| features.iter())
            .map(String::as_str)
            .collect();
        known.sort_unstable();
        known.dedup();
        let names = constraint.names();
        let unknown: Vec<&str> = names
            .iter()
            .copied()
            .filter(|name| !known.contains(name))
            .collect();
        let Some(odd) = unknown.first() else {
            return Features::Known;
        };
        let near = model::nearest(odd, known.iter().copied());
        let assumed = !self.file.knows_all(List::Features);
        let names_of = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        self.found.push(Finding {
            assumed,
            ..finding(
                Denial::Feature,
                Requested::Option(Key::Constraint, constraint.to_string()),
                There::Names(self.file.list_words(List::Features, &known)),
                vec![match near {
                    Some(near) => Change::DidYouMean(Key::Constraint, near.to_owned()),
                    None if unknown.len() == names.len() => Change::LeaveOut(Key::Constraint),
                    None => Change::WithoutFeatures(names_of(&unknown)),
                }],
            )
        });
        if assumed {
            Features::Doubted
        } else {
            Features::Unknown
        }
    }
}

fn has_flag(qos: &Qos, flag: &str) -> bool {
    qos.flags.as_ref().is_some_and(|flags| listed(flags, flag))
}

fn listed(list: &[String], name: &str) -> bool {
    list.iter()
        .any(|one| one.eq_ignore_ascii_case(name) || one == "ALL")
}

/// An option as it is given: `--nodes`.
fn option_name(key: Key) -> String {
    format!("--{}", model::option_table::long_name(key))
}

/// `1 node`, `4 nodes`.
fn say_nodes(count: u32) -> String {
    let noun = if count == 1 { "node" } else { "nodes" };
    format!("{count} {noun}")
}

fn seconds(time: TimeLimitRequest) -> u64 {
    match time {
        TimeLimitRequest::Limit(limit) => limit.0,
        TimeLimitRequest::Unlimited => u64::MAX,
    }
}
