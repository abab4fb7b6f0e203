//! Whether a request could ever start here.

use crate::kinds::{Choice, demand_of};
use crate::{Job, State};
use cluster_file::EnforcePartLimits;
use model::{Request, Submitter};
use resources::{Denial, Finding, NodeId, PartId, never_on_one, no_licence};
use std::borrow::Cow;

impl State {
    /// Whether a request could ever start here.
    ///
    /// # Errors
    /// It could not; what was asked, what there is, what to do.
    pub fn admit(&mut self, request: &Request) -> Result<(), Box<Finding>> {
        self.admitted(request).map(|_choices| ())
    }

    /// Whether those who submit a job, or the components of one, may have so many more.
    ///
    /// # Errors
    /// A limit on submitted jobs would be passed; which one, and what to do.
    pub fn has_room_for<'a>(
        &self,
        jobs: impl IntoIterator<Item = &'a Job>,
    ) -> Result<(), Box<Finding>> {
        let most = self.cluster.most().jobs;
        if !self.cluster.has_limits() && most.is_none() {
            return Ok(());
        }
        let mut in_queue = Cow::Borrowed(&self.in_queue);
        let mut jobs = jobs.into_iter().peekable();
        while let Some(job) = jobs.next() {
            if in_queue.is_full(&self.cluster, job) {
                let most = most.unwrap_or(0);
                return Err(Box::new(Finding::by_engine(
                    Denial::Full,
                    "one more job",
                    format!("fewer than {most} wait and run at once (limits.max_jobs)"),
                    "submit it when others have ended",
                )));
            }
            if let Some(limit) = in_queue.over(&self.cluster, job) {
                let refusal = Finding::by_engine(
                    Denial::Policy,
                    "one more job",
                    format!("{} has as many as allowed ({limit})", job.submitter.user),
                    "submit it when others have ended",
                );
                return Err(Box::new(refusal.named(limit)));
            }
            if jobs.peek().is_some() {
                in_queue.to_mut().add(&self.cluster, job);
            }
        }
        Ok(())
    }

    /// Whether the partitions of a request take jobs of its submitter. Of several one that does not is passed over, but
    /// where limits of partitions are enforced (`_valid_job_part` of job_mgr.c). Root may submit it for its user.
    ///
    /// # Errors
    /// The first that does not.
    pub fn may_enter(
        &self,
        request: &Request,
        who: &Submitter,
        is_submitted_by_root: bool,
    ) -> Result<(), Box<Finding>> {
        let named = partitions_of(&self.cluster, request.partition.as_deref());
        let enforced = self.cluster.queue_rules().refuses_outside;
        if named.len() > 1 && enforced.is_none() {
            return Ok(());
        }
        let keeps_out = |id: &PartId| {
            let access = &self.cluster.partition(*id).access;
            access.keeps_out(&who.user, &who.group, &who.host, is_submitted_by_root)
        };
        let mut named = named.iter().enumerate();
        let closed = named.find_map(|(at, id)| Some((at, *id, keeps_out(id)?)));
        let Some((at, partition, denial)) = closed else {
            return Ok(());
        };
        // Slurm says no more of it where one before takes the job.
        let denial = match enforced {
            Some(EnforcePartLimits::Any) if at > 0 => Denial::PartitionClosed,
            _ => denial,
        };
        let name = &self.cluster.partition(partition).name;
        Err(Box::new(Finding::by_engine(
            denial,
            format!("--partition={name}"),
            format!(
                "it takes no jobs of {} ({}) from {}",
                who.user, who.group, who.host
            ),
            "name another one: scontrol show partition says whose jobs each takes",
        )))
    }

    /// Gives a request, before it is submitted, as many nodes as a job of its partitions has at the least
    /// (`MinNodes`), where it leaves that open: `_valid_job_part` of job_mgr.c. A later change of a partition
    /// changes nothing of that.
    pub fn give_least_nodes(&self, request: &mut Request) {
        if let Some(least) = self.least_nodes(request) {
            request.min_nodes = Some(least);
        }
    }

    /// As many nodes as a job of its partitions has at the least, where a request leaves that open and may have them.
    pub(crate) fn least_nodes(&self, request: &Request) -> Option<u32> {
        let named = partitions_of(&self.cluster, request.partition.as_deref());
        let least = named.iter().map(|id| self.cluster.partition(*id).min_nodes);
        let least = least.min().unwrap_or(0);
        let may_have = request.max_nodes.is_none_or(|most| most >= least);
        let gets_them = least > 1 && may_have && request.min_nodes.unwrap_or(1) < least;
        gets_them.then_some(least)
    }

    /// Whether a job is on more nodes than can be: so 22.05 counts those of one that says no most of them, where the
    /// first of several partitions takes no jobs of its submitter.
    pub(crate) fn lost_its_nodes(&self, record: &Job) -> bool {
        let request = &record.request;
        let names = request.partition.as_deref().unwrap_or_default();
        if request.max_nodes.is_some() || !names.contains(',') {
            return false;
        }
        let named = partitions_of(&self.cluster, Some(names));
        match named[..] {
            [first, _, ..] => self.keeps_out(first, &record.submitter).is_some(),
            _ => false,
        }
    }

    /// The partitions in which a request could start, in the order in which it names them.
    pub(crate) fn admitted(&mut self, request: &Request) -> Result<Vec<Choice>, Box<Finding>> {
        if let Some(refusal) = no_licence(self.cluster.licences(), request) {
            return Err(Box::new(refusal));
        }
        if request.min_nodes == Some(0) {
            return Err(Box::new(Finding::by_engine(
                Denial::NodeCount,
                "--nodes=0",
                "a job has one node at the least",
                "ask for one or more, or leave --nodes out",
            )));
        }
        if let Some(refusal) = self
            .one_node()
            .and_then(|node| never_on_one(&self.cluster, node, request))
            .filter(|refusal| !(request.hold && refusal.denial == Denial::NodeConfig))
        {
            return Err(refusal);
        }
        let choices = choices(&self.cluster, &mut self.kinds, request);
        // What a held job asks of nodes is looked at once it is released.
        let waits = || {
            let named = partitions_of(&self.cluster, request.partition.as_deref());
            request.hold && !named.is_empty()
        };
        if !choices.is_empty() || waits() {
            return Ok(choices);
        }
        Err(self.nowhere(request))
    }

    /// Why no partition could ever start a request.
    pub(crate) fn nowhere(&self, request: &Request) -> Box<Finding> {
        let names = self.cluster.partitions().iter();
        let names: Vec<&str> = names.map(|partition| partition.name.as_str()).collect();
        let there = format!("partitions {}", names.join(", "));
        let known = partitions_of(&self.cluster, request.partition.as_deref());
        Box::new(match (&request.partition, known.as_slice()) {
            (Some(asked), []) => Finding::by_engine(
                Denial::Partition,
                format!("--partition={asked}"),
                there,
                "name one of those",
            )
            .no_partition(asked),
            (None, []) => Finding::by_engine(
                Denial::NoPartition,
                "no partition",
                format!("{there}; none of them is the default"),
                "name one with --partition",
            ),
            (_, known) => {
                let known: Vec<&str> = known
                    .iter()
                    .map(|partition| self.cluster.partition(*partition).name.as_str())
                    .collect();
                Finding::by_engine(
                    Denial::NodeConfig,
                    "what the job needs of nodes, CPUs, memory and GPUs",
                    format!(
                        "no nodes of partition {} have it, even idle",
                        known.join(", ")
                    ),
                    "ask for less, or name another partition: scontrol show node has what each node has",
                )
            }
        })
    }

    /// The node that splits, where it is the whole cluster: this machine.
    pub(crate) fn one_node(&self) -> Option<NodeId> {
        let first = self.cluster.nodes().next()?;
        let is_one = self.cluster.node_count() == 1 && self.cluster.class(first).splits;
        is_one.then_some(first)
    }
}

/// The partitions that a request names and the cluster has; without a name the default.
pub(crate) fn partitions_of(cluster: &resources::Cluster, names: Option<&str>) -> Vec<PartId> {
    let Some(names) = names else {
        return cluster.default_partition().into_iter().collect();
    };
    let mut found: Vec<PartId> = Vec::new();
    for name in names.split(',') {
        let partition = cluster.find_partition(name);
        found.extend(partition.filter(|partition| !found.contains(partition)));
    }
    found
}

/// Of the partitions that a request names those that could ever start it; one alone also where it is smaller than
/// what is asked for: the job waits until it is larger.
pub(crate) fn choices(
    cluster: &crate::ClusterRef,
    kinds: &mut crate::kinds::Kinds,
    request: &Request,
) -> Vec<Choice> {
    let named = partitions_of(cluster, request.partition.as_deref()).into_iter();
    let choice = named.map(|partition| {
        let demand = demand_of(cluster, Some(partition), request);
        Choice {
            partition,
            priority: 0,
            need: kinds.need(cluster, partition, demand),
            few_until: None,
        }
    });
    let (possible, others): (Vec<Choice>, Vec<Choice>) =
        choice.partition(|choice| choice.need.is_possible);
    match &others[..] {
        [only] if possible.is_empty() && only.need.beyond.is_some() => others,
        _ => possible,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::held::Held;
    use expect_test::{Expect, expect};
    use model::{GpuCount, MemoryRequest, NodeName, RareOptions};
    use resources::{Cluster, Free, SingleNode};
    use std::sync::Arc;

    /// What a request would hold of a machine of four CPUs and two GPUs.
    #[track_caller]
    fn check(request: Request, want: Expect) {
        let cluster = Arc::new(Cluster::single(&SingleNode {
            host: &NodeName::new("box"),
            partition: "local",
            cpus: 4,
            mem_mib: Some(8000),
            gpus: vec![(0, "NVIDIA Tesla V100-SXM2"), (1, "NVIDIA Tesla V100-SXM2")],
        }));
        let mut state = State::new(Arc::clone(&cluster), (0..4).collect());
        let text = match state.admitted(&request) {
            Ok(choices) => {
                let compiled = &choices[0].need.compiled;
                let free = Free::idle(&cluster);
                let find = crate::kinds::find;
                let choice = choices[0].partition;
                let shares =
                    find(&state.cluster, choice, compiled, &free, 0, None).expect("it fits");
                let mut held = Held::new(&cluster, (0..4).collect());
                let (allocation, _) = held.start(&cluster, &compiled.demand, 0, &shares);
                let each = allocation.nodes.iter().map(|share| {
                    format!(
                        "{}: {} tasks {} cpus {} MiB {} gpus",
                        share.node,
                        share.tasks,
                        share.cpus.len(),
                        share.memory,
                        share.gpus.len()
                    )
                });
                each.collect::<Vec<_>>().join("; ")
            }
            Err(refusal) => format!(
                "{}: {}; {}",
                refusal.asked(),
                refusal.there(),
                refusal.todo()
            ),
        };
        want.assert_eq(&text);
    }

    fn gpus(count: u32) -> Option<GpuCount> {
        Some(GpuCount { kind: None, count })
    }

    #[test]
    fn nothing_asked_is_one_task_on_the_machine_itself() {
        check(
            Request::default(),
            expect!["box: 1 tasks 1 cpus 2000 MiB 0 gpus"],
        );
    }

    #[test]
    fn several_nodes_are_virtual_and_share_the_machine() {
        let request = Request {
            min_nodes: Some(2),
            tasks: Some(3),
            ..Request::default()
        };
        check(
            request,
            expect![
                "box-v1: 2 tasks 2 cpus 4000 MiB 0 gpus; box-v2: 1 tasks 1 cpus 2000 MiB 0 gpus"
            ],
        );
        let request = Request {
            tasks: Some(4),
            tasks_per_node: Some(2),
            memory: Some(MemoryRequest::PerNode(0)),
            ..Request::default()
        };
        check(
            request,
            expect![
                "box-v1: 2 tasks 2 cpus 4000 MiB 0 gpus; box-v2: 2 tasks 2 cpus 4000 MiB 0 gpus"
            ],
        );
        let request = Request {
            min_nodes: Some(5),
            ..Request::default()
        };
        check(
            request,
            expect!["5 nodes: this machine can be 4 virtual nodes: one a CPU; --nodes=4 or fewer"],
        );
    }

    #[test]
    fn gpus_bring_their_cpus_and_memory() {
        let request = Request {
            gpus: gpus(2),
            rare: RareOptions {
                cpus_per_gpu: Some(2),
                ..RareOptions::default()
            }
            .into(),
            memory: Some(MemoryRequest::PerGpu(1000)),
            ..Request::default()
        };
        check(request, expect!["box: 1 tasks 4 cpus 2000 MiB 2 gpus"]);
        let request = Request {
            gpus_per_node: Some(GpuCount {
                kind: Some("v100".to_owned()),
                count: 1,
            }),
            ..Request::default()
        };
        check(request, expect!["box: 1 tasks 1 cpus 2000 MiB 1 gpus"]);
        let request = Request {
            gpus: Some(GpuCount {
                kind: Some("a100".to_owned()),
                count: 1,
            }),
            ..Request::default()
        };
        check(
            request,
            expect![
                "1 a100 GPU: this machine has 2 × NVIDIA Tesla V100-SXM2; ask for what there is, or run it where such GPUs are"
            ],
        );
    }

    #[test]
    fn more_than_there_is_is_refused_in_three_parts() {
        let request = Request {
            tasks: Some(3),
            cpus_per_task: Some(2),
            ..Request::default()
        };
        check(
            request,
            expect!["6 CPUs (3 tasks × 2): this machine has 4 CPUs; fewer tasks or CPUs a task"],
        );
        let request = Request {
            memory: Some(MemoryRequest::PerNode(9000)),
            ..Request::default()
        };
        check(
            request,
            expect![
                "9000 MiB of memory: this machine has 8000 MiB; ask for less with --mem, --mem-per-cpu or --mem-per-gpu"
            ],
        );
        let request = Request {
            partition: Some("gpu".to_owned()),
            ..Request::default()
        };
        check(
            request,
            expect![
                "--partition=gpu: this machine has one partition, local; leave --partition out, or run it where that partition is"
            ],
        );
        let request = Request {
            rare: RareOptions {
                nodelist: Arc::new(vec![NodeName::new("node7")]),
                ..RareOptions::default()
            }
            .into(),
            ..Request::default()
        };
        check(
            request,
            expect![
                "node node7: the nodes here are box and box-v[1-4]; leave --nodelist and --exclude out, or name these"
            ],
        );
    }
}
