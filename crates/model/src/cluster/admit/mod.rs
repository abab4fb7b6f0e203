//! Whether a cluster would take a job: the checks of Slurm's controller against a cluster file.
//!
//! The order is that of `_job_create` and `_part_access_check` in `job_mgr.c` of 22.05: node names,
//! partition, account, QOS, the partition's limits, accounting limits, excluded nodes, features,
//! then whether nodes can serve. What the file doesn't say is not checked.

mod account;
mod features;
mod fewest;
mod limits;
mod nodes;
mod partition;
mod refusal;

pub use refusal::{Denial, Refusal};

use super::words::EnforcePartLimits;
use super::{ClusterFile, List, Named, Partition, Qos, Sourced};
use crate::{NodeName, Request, TimeLimitRequest};
use account::Who;
use features::wanted;
use nodes::no_nodes;

impl ClusterFile {
    /// Whether the cluster takes this job of a user; of anybody where none is named.
    ///
    /// # Errors
    /// The reason at which Slurm would stop; where it would take the job, the first reason why it
    /// could never start.
    pub fn admit(&self, request: &Request, user: Option<&str>) -> Result<(), Box<Refusal>> {
        let mut all = self.refusals(request, user);
        let first = all.iter().position(|refusal| refusal.waits.is_none());
        if all.is_empty() {
            return Ok(());
        }
        Err(Box::new(all.swap_remove(first.unwrap_or(0))))
    }

    /// Every reason why the cluster would not take or never start a job, in the order in which
    /// Slurm looks.
    #[must_use]
    pub fn refusals(&self, request: &Request, user: Option<&str>) -> Vec<Refusal> {
        let mut door = Door {
            file: self,
            request,
            found: Vec::new(),
        };
        door.node_names(&request.nodelist, "--nodelist");
        let Some(partitions) = door.partitions() else {
            return door.found;
        };
        let who = Who::of(self, request, user, &mut door);
        let before = door.found.len();
        let features = door.features();
        let of_features = door.found.split_off(before);
        // A held job is not placed until it is released; with a feature that nobody has it never is.
        let placed = (!request.hold && features != Features::Unknown).then(|| Request {
            constraint: request
                .constraint
                .clone()
                .filter(|_| features == Features::Known),
            ..request.clone()
        });
        let judged: Vec<Judged> = partitions
            .iter()
            .map(|partition| door.judge(partition, &who, placed.as_ref()))
            .collect();
        let chosen = best(&judged);
        let partition = chosen.and_then(|chosen| partitions.get(chosen).copied());
        let must_all = self.limits.enforce_partition_limits.as_ref();
        let must_all = must_all.is_some_and(|enforce| enforce.value == EnforcePartLimits::All);
        let mut of_nodes = match (&placed, &partitions[..]) {
            (Some(request), []) => no_nodes(self, None, request),
            _ => None,
        };
        // A job that names several partitions starts where it can, unless all must take it.
        for (index, one) in judged.into_iter().enumerate() {
            if Some(index) == chosen {
                door.found.extend(one.of_partition);
                of_nodes = one.of_nodes;
            } else if must_all {
                door.found.extend(one.of_partition);
            }
        }
        door.array();
        door.accounting(partition, &who);
        door.node_names(&request.exclude, "--exclude");
        door.found.extend(of_features);
        door.found.extend(of_nodes);
        door.found
    }

    /// The partition in which a job would be: of several that it names the first that takes it, of
    /// none the default. None where the file doesn't know it.
    #[must_use]
    pub fn partition_of(&self, request: &Request, user: Option<&str>) -> Option<&Named<Partition>> {
        let Some(asked) = &request.partition else {
            return self.default_partition();
        };
        let mut known: Vec<&Named<Partition>> = asked
            .split(',')
            .filter_map(|name| self.partition(name))
            .collect();
        if known.len() < 2 {
            return known.pop();
        }
        let mut door = Door {
            file: self,
            request,
            found: Vec::new(),
        };
        let who = Who::of(self, request, user, &mut door);
        let judged: Vec<Judged> = known
            .iter()
            .map(|partition| door.judge(partition, &who, Some(request)))
            .collect();
        best(&judged).map(|chosen| known[chosen])
    }
}

/// What one partition has against a job.
struct Judged {
    of_partition: Vec<Refusal>,
    of_nodes: Option<Refusal>,
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
struct Door<'a> {
    file: &'a ClusterFile,
    request: &'a Request,
    found: Vec<Refusal>,
}

/// A refusal but for its reason.
fn refusal(
    denial: Denial,
    asked: impl Into<String>,
    there: impl Into<String>,
    todo: impl Into<String>,
) -> Refusal {
    Refusal {
        denial,
        waits: None,
        detail: None,
        asked: asked.into(),
        there: there.into(),
        todo: todo.into(),
        most: None,
        at: None,
        span: 0..0,
        assumed: false,
    }
}

impl Refusal {
    /// What an engine itself refuses, whatever a file says.
    pub fn by_engine(
        denial: Denial,
        asked: impl Into<String>,
        there: impl Into<String>,
        todo: impl Into<String>,
    ) -> Refusal {
        refusal(denial, asked, there, todo)
    }

    fn most(mut self, most: impl Into<u64>) -> Refusal {
        self.most = Some(most.into());
        self
    }

    fn at<T>(mut self, path: String, value: &Sourced<T>) -> Refusal {
        self.at = Some(path);
        self.span = value.span.clone();
        self.assumed |= value.is_assumed() || value.is_disputed();
        self
    }
}

impl<'a> Door<'a> {
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
        Judged {
            of_partition: self.found.split_off(before),
            of_nodes: placed.and_then(|request| no_nodes(self.file, Some(partition), request)),
        }
    }

    fn node_names(&mut self, names: &[NodeName], option: &str) {
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
        let there: Vec<&str> = groups
            .clone()
            .map(|nodes| {
                nodes
                    .names
                    .as_ref()
                    .map_or(nodes.name.as_str(), |names| names.as_str())
            })
            .collect();
        let assumed = !self.file.knows_all(List::Nodes)
            || self
                .file
                .nodes
                .iter()
                .any(|nodes| nodes.names.as_ref().is_none_or(Sourced::is_assumed));
        self.found.push(Refusal {
            assumed,
            ..refusal(
                Denial::NodeName,
                format!("{option}={}", odd.as_str()),
                format!("{} has nodes {}", self.file.name, there.join(", ")),
                format!("leave {option} out, or name a node that is there"),
            )
        });
    }

    /// The partitions that the job is for, none of them where that isn't sure; `None` where Slurm
    /// would stop.
    fn partitions(&mut self) -> Option<Vec<&'a Named<Partition>>> {
        let file = self.file;
        if file.partitions.is_empty() {
            return Some(Vec::new());
        }
        let names: Vec<&str> = file.partitions.iter().map(|p| p.name.as_str()).collect();
        let there = file.list_words(List::Partitions, &names);
        let Some(asked) = &self.request.partition else {
            if let Some(default) = file.default_partition() {
                return Some(vec![default]);
            }
            // A document that marks none as the default need not mean that there is none.
            let silent = file
                .partitions
                .iter()
                .all(|partition| partition.default.is_none());
            self.found.push(Refusal {
                assumed: silent,
                ..refusal(
                    Denial::NoPartition,
                    "no partition",
                    format!("{there}; none of them is said to be the default"),
                    format!(
                        "name one: --partition={}",
                        self.taking().unwrap_or(names[0])
                    ),
                )
            });
            return silent.then(Vec::new);
        };
        let mut found = Vec::new();
        for name in asked.split(',').filter(|name| !name.is_empty()) {
            let Some(partition) = file.partition(name) else {
                let near = crate::nearest(name, names.iter().copied());
                let assumed = !file.knows_all(List::Partitions);
                self.found.push(Refusal {
                    assumed,
                    detail: Some(format!("invalid partition specified: {name}")),
                    ..refusal(
                        Denial::Partition,
                        format!("--partition={name}"),
                        there,
                        match near {
                            Some(near) => format!("did you mean {near}?"),
                            None => "name one of those".to_owned(),
                        },
                    )
                });
                return assumed.then(Vec::new);
            };
            found.push(partition);
        }
        Some(found)
    }

    /// The first partition for everyone whose nodes can serve.
    fn taking(&self) -> Option<&'a str> {
        let is_set = |flag: &Option<Sourced<bool>>| flag.as_ref().is_some_and(|flag| flag.value);
        let serves = |partition: &&Named<Partition>| {
            let least = self.request.min_nodes.unwrap_or(1);
            !is_set(&partition.hidden)
                && !is_set(&partition.root_only)
                && !is_set(&partition.needs_reservation)
                && partition
                    .max_nodes
                    .as_ref()
                    .is_none_or(|most| most.value >= least)
                && no_nodes(self.file, Some(partition), self.request).is_none()
        };
        let found = self.file.partitions.iter().find(serves);
        found.map(|partition| partition.name.as_str())
    }

    fn array(&mut self) {
        let (Some(array), Some(most)) = (&self.request.array, &self.file.limits.max_array_size)
        else {
            return;
        };
        let Some(last) = array.indices.last().filter(|last| **last >= most.value) else {
            return;
        };
        self.found.push(
            refusal(
                Denial::Array,
                format!("an array up to {last}"),
                format!("indices end below {} (MaxArraySize)", most.value),
                "several arrays, or an offset added in the script",
            )
            .at("limits.max_array_size".to_owned(), most),
        );
    }

    /// A feature that no node has: where that is sure, looking at nodes says nothing more.
    fn features(&mut self) -> Features {
        let Some(constraint) = wanted(self.request) else {
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
        let Some(odd) = names.iter().find(|name| !known.contains(name)) else {
            return Features::Known;
        };
        let near = crate::nearest(odd, known.iter().copied());
        let assumed = !self.file.knows_all(List::Features);
        self.found.push(Refusal {
            assumed,
            ..refusal(
                Denial::Feature,
                format!("--constraint={constraint}"),
                self.file.list_words(List::Features, &known),
                match near {
                    Some(near) => format!("did you mean {near}?"),
                    None => format!("leave {odd} out"),
                },
            )
        });
        match assumed {
            true => Features::Doubted,
            false => Features::Unknown,
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
