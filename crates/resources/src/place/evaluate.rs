//! Which nodes Slurm takes, and how many CPUs of each: the neighbours that fit best, and of those the one
//! node that does, where one is enough (`_eval_nodes` and `choose_nodes` of its `select/cons_tres`).

use super::Attempt;
use crate::cluster::NodeId;
use crate::compiled::Form;
use crate::demand::Sharing;

/// A node that could serve.
#[derive(Clone, Debug)]
pub(super) struct Usable {
    pub node: NodeId,
    pub weight: u32,
    /// CPUs of it that the job could use.
    pub cpus: u32,
    /// What it has of each resource of the whole job.
    of_job: Vec<u64>,
    /// It alone could have all of the job.
    has_all: bool,
    pub is_required: bool,
}

/// Neighbours of one weight.
#[derive(Clone, Debug, Default)]
struct Run {
    first: usize,
    last: usize,
    weight: Option<u32>,
    /// The first that the job names.
    required: Option<usize>,
    /// Of those that it does not name.
    nodes: i64,
    cpus: i64,
    of_job: Vec<u64>,
}

/// What a job still needs, and what it may still take.
#[derive(Clone, Debug)]
pub(super) struct Rest {
    /// Nodes that it would rather have, and those without which it is nothing.
    pub nodes: i64,
    pub least_nodes: i64,
    pub most_nodes: i64,
    /// The nodes that it may do without.
    spare_nodes: i64,
    pub cpus: i64,
    most_cpus: i64,
    of_job: Vec<u64>,
}

impl Rest {
    pub(super) fn has_of_job(&self) -> bool {
        self.of_job.iter().all(|left| *left == 0)
    }

    pub(super) fn is_met(&self) -> bool {
        self.nodes <= 0 && self.cpus <= 0 && self.has_of_job()
    }

    /// Whether so many nodes are enough.
    pub(super) fn are_enough_nodes(&self, nodes: i64) -> bool {
        nodes >= self.nodes - self.spare_nodes
    }

    /// Whether some nodes have all of it together.
    pub(super) fn is_met_by_nodes(&self, nodes: &[&Usable]) -> bool {
        let mut run = Run::default();
        nodes.iter().for_each(|one| run.add(one));
        !nodes.is_empty() && self.is_met_by(&run)
    }

    fn is_met_by(&self, run: &Run) -> bool {
        let has_gres = self
            .of_job
            .iter()
            .zip(&run.of_job)
            .all(|(left, there)| there >= left);
        run.cpus >= self.cpus && self.are_enough_nodes(run.nodes) && has_gres
    }
}

/// The nodes that are taken, with the CPUs of each.
pub(super) type Chosen = Vec<(NodeId, u32)>;

impl Attempt<'_> {
    /// The nodes that Slurm takes of some that all could serve. Where they don't do, it leaves out those
    /// that have least, step by step.
    pub(super) fn evaluate(&self, nodes: &[NodeId], required: &[NodeId]) -> Option<Chosen> {
        let rest = self.rest();
        let mut usable: Vec<Usable> = nodes
            .iter()
            .map(|node| self.usable(*node, required.contains(node)))
            .collect();
        usable.sort_unstable_by_key(|one| one.node);
        let cpus = |all: &[Usable]| all.iter().map(|one| i64::from(one.cpus)).sum::<i64>();
        if cpus(&usable) < rest.cpus {
            return None;
        }
        if let Some(chosen) = self.chosen(&usable, rest.clone()) {
            return Some(chosen);
        }
        let most = usable.iter().map(|one| one.cpus).max()?;
        let least_nodes = usize::try_from(rest.least_nodes).unwrap_or(0);
        let mut counts: Vec<u32> = usable.iter().map(|one| one.cpus).collect();
        counts.sort_unstable();
        counts.dedup();
        for count in counts.into_iter().filter(|count| *count < most) {
            let mut spare = usable.len().saturating_sub(least_nodes);
            if spare == 0 {
                return None;
            }
            usable.retain(|one| {
                let is_left_out = spare > 0 && one.cpus <= count && !one.is_required;
                spare -= usize::from(is_left_out);
                !is_left_out
            });
            if cpus(&usable) < rest.cpus {
                return None;
            }
            if let Some(chosen) = self.chosen(&usable, rest.clone()) {
                return Some(chosen);
            }
        }
        None
    }

    fn rest(&self) -> Rest {
        let demand = &self.compiled.demand;
        let (least, tasks) = match self.compiled.form {
            Form::Alike { nodes, tasks } => (nodes, nodes.saturating_mul(tasks)),
            Form::Spanning => {
                let least = demand.fewest_nodes();
                (least, demand.tasks_on(least))
            }
        };
        // No more nodes than there are tasks for.
        let with_task = demand.tasks.map_or(u32::MAX, |tasks| tasks.max(least));
        let most = self.compiled.most_nodes().max(least);
        // Of a range as many as it allows, unless the least is asked for.
        let takes_most = demand.nodes.most.is_some() && !demand.nodes.fewest;
        let asked = if takes_most { most } else { least };
        let most = most.min(with_task);
        let of_job: Vec<u64> = demand.job.gres.iter().map(|gres| gres.count).collect();
        let nodes = if of_job.is_empty() { asked } else { least };
        let of_tasks = i64::from(tasks).saturating_mul(demand.task.cpus.into());
        let of_nodes = i64::from(least).saturating_mul(demand.node.cpus.into());
        let cpus = of_tasks.max(of_nodes);
        let of_gpus = i64::try_from(demand.job.gpus()).unwrap_or(i64::MAX);
        let of_gpus = of_gpus.saturating_mul(demand.gpu.cpus.into());
        let each_gpus = i64::try_from(demand.node.gpus()).unwrap_or(i64::MAX);
        let each_gpus = each_gpus.saturating_mul(demand.gpu.cpus.into());
        let each_gpus = each_gpus.saturating_mul(nodes.into());
        Rest {
            nodes: nodes.into(),
            least_nodes: least.into(),
            most_nodes: most.into(),
            spare_nodes: (i64::from(asked) - i64::from(least)).max(0),
            cpus,
            most_cpus: cpus.max(of_gpus).max(each_gpus),
            of_job,
        }
    }

    fn usable(&self, node: NodeId, is_required: bool) -> Usable {
        let (of_job, has_all) = self.of_whole_job(node);
        Usable {
            node,
            weight: self.weight(node),
            cpus: self.usable_cpus(node, has_all),
            of_job,
            has_all,
            is_required,
        }
    }

    /// What a node has of each resource of the whole job, and whether it has all of them beside all tasks.
    fn of_whole_job(&self, node: NodeId) -> (Vec<u64>, bool) {
        let demand = &self.compiled.demand;
        if demand.job.gres.is_empty() {
            return (Vec::new(), true);
        }
        let all = demand.job.gres.iter();
        if self.with_all(node).is_some() {
            return (all.map(|gres| gres.count).collect(), true);
        }
        let offer = self.offer(node);
        let of_job = offer.map(|offer| offer.of_job);
        (of_job.unwrap_or_else(|| all.map(|_| 0).collect()), false)
    }

    /// CPUs of a node that the job could use: those that have memory, GPUs and a core of their own where
    /// tasks ask for it.
    fn usable_cpus(&self, node: NodeId, has_all: bool) -> u32 {
        let demand = &self.compiled.demand;
        let class = self.cluster.class(node);
        let free = self.free.amounts(node);
        let shares = matches!(self.sharing(), Sharing::Over(_)) && !self.apart;
        let mut cpus = if shares { class.total.cpus } else { free.cpus };
        if let Some(cap) = demand.cpu_cap {
            cpus = cpus.min(self.free.left_under(node, cap));
        }
        if demand.sharing == Sharing::Whole {
            return cpus;
        }
        if let Some(memory) = u64::from(free.mem_mib).checked_div(demand.mem_per_cpu) {
            let with_memory = u32::try_from(memory).unwrap_or(u32::MAX);
            cpus = cpus.min(with_memory / class.core_cpus.max(1) * class.core_cpus.max(1));
        }
        let each = demand.task.cpus.max(1);
        cpus -= cpus % each;
        let is_counted = demand.sockets.is_some() || demand.gpus_on(1) > 0;
        if is_counted && !demand.overcommit {
            let tasks = self.most_tasks_of(node, cpus / each).unwrap_or(0);
            let tasks = tasks.min(self.most_tasks_beside_gpus());
            // All GPUs may bring CPUs of more sockets than one of them does.
            let of_all = has_all && !demand.job.gres.is_empty();
            let tasks = tasks.max(if of_all { demand.tasks_on(1) } else { 0 });
            cpus = cpus.min(tasks.saturating_mul(each));
        }
        cpus
    }

    /// The most tasks that Slurm counts on a node of a job with GPUs (`_select_cores`): all where the job is on one
    /// node, and one where each node has one.
    fn most_tasks_beside_gpus(&self) -> u32 {
        let demand = &self.compiled.demand;
        let range = demand.nodes;
        let Some(tasks) = demand
            .tasks
            .filter(|_| demand.gpus_on(1) > 0 && demand.gpu.cpus == 0)
        else {
            return u32::MAX;
        };
        let is_fixed = range.most == Some(range.least);
        match demand.tasks_per_node {
            Some(each) => each,
            None if range.most == Some(1) => tasks,
            None if tasks == 1 || (is_fixed && tasks == range.least) => 1,
            None => u32::MAX,
        }
    }

    /// CPUs of a node that the job takes where it still needs so much: of each of the nodes that are to come
    /// it keeps back a core.
    fn taken_cpus(&self, one: &Usable, rest: &Rest) -> u32 {
        let demand = &self.compiled.demand;
        if demand.sharing == Sharing::Whole {
            return one.cpus;
        }
        let class = self.cluster.class(one.node);
        let threads = class.sockets.map_or(1, |there| there.threads).max(1);
        let need = demand.sockets.as_deref();
        let of_tasks = need.and_then(|need| need.tasks_per_core);
        let of_tasks = of_tasks.map(|tasks| tasks.saturating_mul(demand.task.cpus.max(1)));
        let asked = need.map(|need| need.threads).filter(|asked| *asked > 0);
        let of_core = [of_tasks, asked].into_iter().flatten();
        let of_core = of_core.fold(threads, u32::min);
        let kept = (rest.least_nodes - 1).max(0) * i64::from(of_core);
        let most = rest.most_cpus - kept;
        if i64::from(one.cpus) <= most {
            return one.cpus;
        }
        let least = i64::try_from(demand.min_cpus_of_node()).unwrap_or(i64::MAX);
        let of_gpus = u64::from(demand.gpu.cpus).saturating_mul(demand.node.gpus());
        let of_gpus = i64::try_from(of_gpus).unwrap_or(i64::MAX);
        u32::try_from(most.max(least).max(of_gpus)).unwrap_or(0)
    }

    pub(super) fn take(&self, one: &Usable, rest: &mut Rest, chosen: &mut Chosen) {
        let cpus = self.taken_cpus(one, rest);
        chosen.push((one.node, cpus));
        rest.nodes -= 1;
        rest.least_nodes -= 1;
        rest.most_nodes -= 1;
        rest.cpus -= i64::from(cpus);
        rest.most_cpus -= i64::from(cpus);
        for (left, there) in rest.of_job.iter_mut().zip(&one.of_job) {
            *left = left.saturating_sub(*there);
        }
    }

    fn chosen(&self, usable: &[Usable], mut rest: Rest) -> Option<Chosen> {
        let by_switches = !self.cluster.switches().is_empty() && !self.compiled.demand.contiguous;
        let mut chosen = Chosen::new();
        let required = usable.iter().filter(|one| one.is_required);
        if i64::try_from(required.clone().count()).is_ok_and(|count| count > rest.most_nodes) {
            return None;
        }
        if by_switches {
            return self.chosen_behind_switches(usable, rest);
        }
        required.for_each(|one| self.take(one, &mut rest, &mut chosen));
        if !chosen.is_empty() && rest.is_met() {
            return Some(chosen);
        }
        let mut runs = runs(usable);
        while rest.most_nodes > 0
            && let Some(best) = best(&runs, &rest)
        {
            self.take_run(usable, &runs[best], &mut rest, &mut chosen);
            if rest.is_met() {
                return Some(chosen);
            }
            runs[best].nodes = 0;
        }
        let is_enough = rest.cpus <= 0 && rest.has_of_job() && rest.are_enough_nodes(0);
        is_enough.then_some(chosen)
    }

    /// Takes of neighbours: from a node that the job names upwards and then down, else the one node that is
    /// enough, else in order.
    fn take_run(&self, usable: &[Usable], run: &Run, rest: &mut Rest, chosen: &mut Chosen) {
        if let Some(named) = run.required {
            let up = &usable[named..=run.last];
            let down = usable[run.first..named].iter().rev();
            for one in up.iter().chain(down).filter(|one| !one.is_required) {
                if rest.most_nodes <= 0 || rest.is_met() {
                    return;
                }
                if one.cpus > 0 {
                    self.take(one, rest, chosen);
                }
            }
            return;
        }
        let all = &usable[run.first..=run.last];
        let is_enough =
            |one: &&Usable| i64::from(one.cpus) >= rest.cpus && one.has_all_of(&rest.of_job);
        let single = all.iter().filter(is_enough).min_by_key(|one| one.cpus);
        if let Some(single) = single.filter(|_| rest.nodes <= 1) {
            self.take(single, rest, chosen);
            return;
        }
        for one in all {
            if rest.most_nodes <= 0 || rest.is_met() {
                return;
            }
            let is_last_and_too_small = rest.most_nodes == 1 && i64::from(one.cpus) < rest.cpus;
            if one.cpus > 0 && !is_last_and_too_small {
                self.take(one, rest, chosen);
            }
        }
    }
}

impl Usable {
    /// Whether what is still needed of the whole job's resources is there beside the tasks.
    fn has_all_of(&self, left: &[u64]) -> bool {
        self.has_all
            || self
                .of_job
                .iter()
                .zip(left)
                .all(|(there, left)| there >= left)
    }
}

impl Run {
    fn add(&mut self, one: &Usable) {
        self.nodes += 1;
        self.cpus += i64::from(one.cpus);
        self.of_job.resize(one.of_job.len(), 0);
        for (sum, there) in self.of_job.iter_mut().zip(&one.of_job) {
            *sum = sum.saturating_add(*there);
        }
    }
}

fn runs(usable: &[Usable]) -> Vec<Run> {
    let mut runs = Vec::new();
    let mut run = Run::default();
    for (at, one) in usable.iter().enumerate() {
        let is_beside = at > 0 && usable[at - 1].node.0 + 1 == one.node.0;
        if !is_beside || run.weight.is_some_and(|weight| weight != one.weight) {
            runs.push(std::mem::take(&mut run));
        }
        if run.nodes == 0 && run.required.is_none() {
            run.first = at;
        }
        run.last = at;
        if one.is_required {
            run.required = run.required.or(Some(at));
            continue;
        }
        run.weight = Some(one.weight);
        run.add(one);
    }
    runs.push(run);
    runs
}

/// As Slurm compares them, one after the other: the lowest weight, there one that is enough, of those the
/// one with the fewest CPUs. One that isn't and has more CPUs than the best so far goes before it, though
/// that may be enough.
fn best(runs: &[Run], rest: &Rest) -> Option<usize> {
    let mut best: Option<(usize, bool)> = None;
    for (at, run) in runs.iter().enumerate().filter(|(_, run)| run.nodes > 0) {
        let is_enough = rest.is_met_by(run);
        let is_better = best.is_none_or(|(best, best_is_enough)| {
            let best = &runs[best];
            let goes_before = match (is_enough, best_is_enough) {
                (true, false) => true,
                (true, true) => run.cpus < best.cpus,
                (false, _) => run.cpus > best.cpus,
            };
            (best.required.is_none() && run.required.is_some())
                || run.weight < best.weight
                || (run.weight == best.weight && goes_before)
        });
        if is_better {
            best = Some((at, is_enough));
        }
    }
    best.map(|(at, _)| at)
}
