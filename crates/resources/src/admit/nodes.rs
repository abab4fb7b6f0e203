//! Whether the nodes of a partition can serve a job at all.

use super::describe::describe;
use super::idle::Idle;
use super::partition::{is_enforced, names_one};
use super::requested_nodes::NodesRequested;
use super::{Change, Denial, Fate, Finding, LimitPath, Requested, Subject, There, finding};
use crate::place::greatest;
use crate::{Demand, Order, Share, Trust};
use cluster_file::{List, Named, NodeSet, Partition};
use model::option_table::Key;
use model::{Constraint, GpuCount, Request, node_list};
use std::sync::Arc;

/// The nodes among which a job's are: those of a partition, or of the whole cluster.
pub(super) struct Place<'a> {
    pub idle: &'a Idle<'a>,
    pub partition: Option<&'a Named<Partition>>,
    pub sets: Vec<NodeSet<'a>>,
}

impl<'a> Place<'a> {
    pub fn of(idle: &'a Idle<'a>, partition: Option<&'a Named<Partition>>) -> Place<'a> {
        let file = idle.file;
        let sets = match partition {
            Some(partition) => file.nodes_of(partition),
            None => {
                let whole = |nodes| NodeSet {
                    nodes,
                    count: file.count_of(nodes),
                    whole: true,
                };
                file.nodes.iter().map(whole).collect()
            }
        };
        Place {
            idle,
            partition,
            sets,
        }
    }

    /// How many CPUs the nodes have together; where they are not known, no bound.
    pub fn cpus(&self) -> u64 {
        let cluster = self.idle.cluster(Trust::All);
        let partition = self.name().and_then(|name| cluster.find_partition(name));
        partition.map_or(u64::MAX, |partition| cluster.cpus_of(partition))
    }

    fn name(&self) -> Option<&'a str> {
        self.partition.map(|partition| partition.name.as_str())
    }

    /// Whether so much is there as far as it is known; where nothing is known it may be.
    pub fn serves(&self, request: &Request) -> bool {
        self.sets.is_empty() || self.serve(request, Trust::All)
    }

    /// Whether so much is there beside some of the nodes.
    pub fn serves_without(&self, request: &Request, without: &crate::NodeSet) -> bool {
        let demand = self.demand(request, Trust::All);
        let (name, order) = (self.name(), Order::Named);
        let found = self
            .idle
            .place(Trust::All, name, demand, order, Some(without));
        found.is_some()
    }

    fn serve(&self, request: &Request, trust: Trust) -> bool {
        let demand = self.demand(request, trust);
        let found = self
            .idle
            .place(trust, self.name(), demand, Order::Named, None);
        found.is_some()
    }

    /// What is asked of these nodes. More of them than the partition has or gives, and nodes that
    /// it does not have, are reported where its limits are judged.
    fn demand(&self, request: &Request, trust: Trust) -> Demand {
        let mut demand = self.asked(request, trust);
        let most = self
            .partition
            .and_then(|partition| partition.max_nodes.as_ref());
        if let Some(most) = most
            .map(|most| most.value)
            .filter(|most| demand.nodes.least <= *most)
        {
            demand.nodes.most = Some(demand.nodes.most.unwrap_or(u32::MAX).min(most));
        }
        let cluster = self.idle.cluster(Trust::All);
        let own = self.name().and_then(|name| cluster.find_partition(name));
        let own = cluster.nodes_of(own);
        let is_own = |name| cluster.node(name).is_some_and(|node| own.contains(node));
        if !demand.required.iter().all(is_own) {
            demand.required = Arc::default();
        }
        demand
    }

    /// What is asked of these nodes, but for more of them than there are.
    fn asked(&self, request: &Request, trust: Trust) -> Demand {
        let there = self
            .sets
            .iter()
            .map(|set| u64::from(set.count))
            .sum::<u64>();
        let there = u32::try_from(there).unwrap_or(u32::MAX);
        let least = request.min_nodes.unwrap_or(1);
        if self.partition.is_none() || least <= there || trust == Trust::Stated {
            return self.idle.demand(self.name(), request);
        }
        let fewer = Request {
            min_nodes: Some(there),
            tasks: request.tasks.filter(|tasks| *tasks > least),
            ..request.clone()
        };
        self.idle.demand(self.name(), &fewer)
    }

    /// A place for it as far as it is known what is there.
    pub fn shares(&self, request: &Request) -> Option<Vec<Share>> {
        let demand = self.demand(request, Trust::All);
        self.idle
            .place(Trust::All, self.name(), demand, Order::Named, None)
    }

    /// The fewest nodes that hold it, however many it allows; none where no number of them does.
    pub fn fewest(&self, request: &Request) -> Option<u32> {
        let wider = Request {
            max_nodes: None,
            ..request.clone()
        };
        let orders = [Order::Named, Order::Largest].into_iter();
        let counts = orders.filter_map(|order| {
            let demand = self.idle.demand(self.name(), &wider);
            let shares = self
                .idle
                .place(Trust::All, self.name(), demand, order, None)?;
            u32::try_from(shares.len()).ok()
        });
        counts.min()
    }
}

impl Place<'_> {
    /// The fewest nodes that would hold it if there were more of them: as many as its tasks and its
    /// GPUs make of the most on one; none where no node has any.
    pub fn fewest_of_more(&self, request: &Request, demand: &Demand) -> Option<u32> {
        let fits = |tasks: Option<u32>, gpus: Option<GpuCount>| {
            let one = Request {
                min_nodes: Some(1),
                max_nodes: Some(1),
                tasks,
                gpus,
                ..request.clone()
            };
            self.serves(&one)
        };
        let narrow = |count: u64| u32::try_from(count).unwrap_or(u32::MAX);
        let mut nodes = demand.fewest_nodes();
        if let Some(tasks) = demand.tasks {
            let each = greatest(tasks.into(), |tasks| fits(Some(narrow(tasks)), None))?;
            nodes = nodes.max(tasks.div_ceil(narrow(each)));
        }
        if let Some(gpus) = request.gpus.as_ref().filter(|_| demand.job.gpus() > 0) {
            let kind = &gpus.kind;
            let each = greatest(gpus.count.into(), |count| {
                let kind = kind.clone();
                let count = narrow(count);
                fits(None, Some(GpuCount { kind, count }))
            })?;
            nodes = nodes.max(gpus.count.div_ceil(narrow(each)));
        }
        Some(nodes)
    }
}

impl Place<'_> {
    /// What Slurm says of nodes that have too little, whatever else is free: of the last kind of them that
    /// has (`_build_node_list` of 22.05).
    fn word_of_nodes(&self, demand: &Demand) -> Option<&'static str> {
        let cluster = self.idle.cluster(Trust::All);
        let own = self.name().and_then(|name| cluster.find_partition(name));
        let mut words = Vec::new();
        let mut last = None;
        for node in cluster.nodes_of(own).iter() {
            let class = cluster.class_id(node);
            if last != Some(class) {
                words.extend(demand.lacking(cluster.class(node)));
                last = Some(class);
            }
        }
        words.pop()
    }
}

impl Place<'_> {
    /// That no nodes can serve with the features that a job prefers, though some node has each: a controller
    /// looks for those alone when it takes a job.
    fn not_as_preferred(&self, request: &Request) -> Option<Finding> {
        let prefer = request.rare.node_options.as_deref()?.prefer.clone()?;
        let cluster = self.idle.cluster(Trust::All);
        let constraint = Constraint::parse(&prefer)?;
        let mut names = constraint.names().into_iter();
        let preferred = request.with_rare(|rare| {
            rare.constraint = Some(prefer.clone());
            if let Some(options) = &mut rare.node_options {
                options.prefer = None;
            }
        });
        let is_known = names.all(|name| cluster.with_feature(name).is_some());
        if !is_known || self.serves(&preferred) {
            return None;
        }
        let name = self.partition.map_or_else(
            || self.idle.file.name.clone(),
            |partition| format!("partition {}", partition.name),
        );
        let kinds = self.sets.iter().map(describe).collect();
        let found = finding(
            Denial::NodeConfig,
            Requested::Option(Key::Prefer, prefer),
            There::Kinds(name, kinds),
            vec![Change::LeaveOut(Key::Prefer)],
        );
        Some(Finding {
            assumed: !self.idle.file.knows_all(List::Nodes)
                || self.serve(&preferred, Trust::Stated),
            ..found.about(Subject::Option(Key::Prefer))
        })
    }
}

/// Why no nodes of a partition, or of all, can serve.
pub(super) fn no_nodes(
    idle: &Idle<'_>,
    partition: Option<&Named<Partition>>,
    request: &Request,
) -> Option<Finding> {
    let place = Place::of(idle, partition);
    if place.serves(request) {
        return place.not_as_preferred(request);
    }
    let file = idle.file;
    let span = || {
        let nodes = partition.and_then(|partition| partition.nodes.as_ref());
        nodes.map_or(0..0, |nodes| nodes.span.clone())
    };
    let at = || LimitPath::Nodes(partition.map(|partition| partition.name.clone()));
    let name = partition.map_or_else(
        || file.name.clone(),
        |partition| format!("partition {}", partition.name),
    );
    let kinds: Vec<String> = place.sets.iter().map(describe).collect();
    let assumed = !file.knows_all(List::Nodes) || place.serve(request, Trust::Stated);
    let with_all = request.with_rare(|rare| rare.exclude = Arc::default());
    if !request.rare.exclude.is_empty() && place.serves(&with_all) {
        return Some(Finding {
            at: at(),
            span: span(),
            assumed,
            ..finding(
                Denial::NodeConfig,
                Requested::Option(Key::Exclude, node_list::fold(&*request.rare.exclude)),
                There::KindsWithExcluded(name, kinds),
                vec![Change::ExcludeFewer],
            )
            .about(Subject::Option(Key::Exclude))
        });
    }
    let demand = place.asked(request, Trust::All);
    let instead = place.advice(request, &demand);
    let of_nodes = place.word_of_nodes(&demand);
    // More CPUs than the partition has are a limit of it, before any node is looked at.
    let is_beyond = demand.least_cpus() > place.cpus() && names_one(request);
    let fate = if is_beyond && !is_enforced(file) {
        Fate::Waits("PartitionConfig".into())
    } else {
        Fate::Refused
    };
    let denial = if is_beyond {
        Denial::TooManyCpus
    } else {
        Denial::NodeConfig
    };
    let asked = Requested::OfNodes(Box::new(NodesRequested::of(demand, request)));
    Some(Finding {
        at: at(),
        span: span(),
        assumed,
        of_nodes,
        fate,
        ..finding(denial, asked, There::Kinds(name, kinds), instead)
    })
}
