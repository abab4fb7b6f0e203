//! A run file against a cluster file: the choices that a site asks of a person, each with its
//! reason.
//!
//! A run file says how many GPUs of which model; a cluster wants a partition, a GRES type or a
//! feature, CPUs and memory a GPU, an account and a QOS. What Slurm would choose by itself is left
//! to it and shown; what it would choose wrongly is named.

mod allocation;
mod architecture;
mod beside;
mod generous;
mod gpu_types;
mod gpus;
mod here;
mod memory;
mod objection;
mod partition;
mod policy;
mod pretended;
mod qos;
mod queue;
mod refusals;
mod script_plan;
mod script_whys;
mod show;

pub use allocation::{Allocation, Difference};
pub use beside::{Beside, Change};
pub use here::file_of;
pub use objection::{JobFate, Objection};
pub use queue::InQueue;
pub use refusals::refusals as show_refusals;
pub use script_plan::ScriptPlan;

use crate::planner::{Planned, layers, plan_sections};
use crate::{JobPlace, Plan, PlanInput, Refusal, Resolved};
use cluster_file::{ClusterFile, NodeSet};
use gpus::GpuChoice;
use model::{ClusterFacts, TimeLimitRequest};
use objection::objections;
use resources::{Finding, TimeFrom};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A run's plan on a cluster that is known by its file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SitePlan {
    /// Each value with its source.
    pub plan: Plan,
    /// What the planner knows of the partition.
    pub facts: ClusterFacts,
    /// What Slurm chooses there where the plan leaves it open.
    pub left: LeftToSlurm,
    /// Why the cluster would not take the job, or never start it; empty where it would.
    pub refusals: Vec<Objection>,
    /// How many jobs of the run stand in the queue at once.
    pub in_queue: InQueue,
    /// Values of the cluster file that the plan rests on and that are assumed: key and reason.
    pub assumed: Vec<(String, String)>,
}

/// A plan, and the findings of which its refusals are the words.
pub type Judged = (SitePlan, Vec<Finding>);

/// What Slurm chooses by itself, in words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftToSlurm {
    /// The partition.
    pub partition: Option<Resolved<String>>,
    /// The account.
    pub account: Option<Resolved<String>>,
    /// The QOS.
    pub qos: Option<Resolved<String>>,
    /// What a job gets that asks for no memory, where the run leaves it to the cluster.
    pub memory: Option<String>,
    /// The model of the GPUs, where they have no type to ask for.
    pub gpu_model: Option<String>,
}

impl SitePlan {
    /// Whether the cluster takes it, as far as its file is not assumed.
    #[must_use]
    pub fn is_refused(&self) -> bool {
        self.refusals.iter().any(|refusal| !refusal.assumed)
    }

    /// What its job would be given, where a user submits it.
    #[must_use]
    pub fn allocation(&self, file: &ClusterFile, user: Option<&str>) -> Allocation {
        Allocation::of(&request(&self.plan), file, user)
    }
}

/// Plans a run for a cluster that is known by its file; `user` is who asks, where that is known, and
/// `machine` the architecture of the program that the job will start.
///
/// Of the partitions that could be meant it takes the first that would take the job: the named one,
/// else the default, else the others in the file's order.
///
/// # Errors
/// What contradicts itself, or can never run there whatever the limits say.
pub fn plan_for(
    input: &PlanInput<'_>,
    file: &ClusterFile,
    user: Option<&str>,
    machine: &str,
) -> Result<SitePlan, Refusal> {
    Ok(judged(input, file, user, machine, None)?.0)
}

/// As [`plan_for`], or with an engine as [`plan_pretended`], with the findings of which the plan has the words: for who
/// must know which option each is about.
///
/// # Errors
/// As [`plan_for`].
pub fn judged(
    input: &PlanInput<'_>,
    file: &ClusterFile,
    user: Option<&str>,
    machine: &str,
    pretended_by: Option<&ClusterFacts>,
) -> Result<Judged, Refusal> {
    plan_as(
        input,
        file,
        Asker {
            user,
            machine,
            pretended_by,
        },
    )
}

/// Plans a run for the embedded engine that pretends the cluster of a file; `engine` is what that
/// engine says of itself.
///
/// # Errors
/// As [`plan_for`].
pub fn plan_pretended(
    input: &PlanInput<'_>,
    file: &ClusterFile,
    user: Option<&str>,
    machine: &str,
    engine: &ClusterFacts,
) -> Result<SitePlan, Refusal> {
    Ok(judged(input, file, user, machine, Some(engine))?.0)
}

fn plan_as(input: &PlanInput<'_>, file: &ClusterFile, asker: Asker<'_>) -> Result<Judged, Refusal> {
    let candidates = partition::candidates(file, layers(input).resources.partition.as_ref());
    let mut first = None;
    for candidate in &candidates {
        // What one partition has not got another may have.
        let Ok(plan) = plan_in(input, file, asker, candidate, Trust::All) else {
            continue;
        };
        if !plan.0.is_refused() {
            return Ok(plan);
        }
        first.get_or_insert(plan);
    }
    if let Some(plan) = first {
        return Ok(plan);
    }
    // What a file assumes refuses nothing: a cluster may have more of it.
    let mut more = candidates
        .iter()
        .filter_map(|candidate| plan_in(input, file, asker, candidate, Trust::SaidAlone).ok());
    match more.next() {
        Some(plan) => Ok(plan),
        None => nowhere(input, file, asker, &candidates),
    }
}

/// Who plans.
#[derive(Clone, Copy, Debug)]
struct Asker<'a> {
    user: Option<&'a str>,
    /// The architecture of their program.
    machine: &'a str,
    /// The embedded engine that stands in for the cluster.
    pretended_by: Option<&'a ClusterFacts>,
}

impl Asker<'_> {
    /// Leaves out the nodes that can't run the program; in words which, where there are some. All
    /// nodes of a pretended cluster are this machine.
    fn keep_able(
        self,
        facts: &mut ClusterFacts,
        sets: &mut Vec<NodeSet<'_>>,
    ) -> Result<Option<String>, Refusal> {
        match self.pretended_by {
            Some(_) => Ok(None),
            None => architecture::keep(facts, sets, self.machine),
        }
    }
}

/// Whether assumed values count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trust {
    All,
    /// What is assumed is believed to be enough.
    SaidAlone,
}

/// Why none of the partitions can have it, in the planner's words, which gets all their
/// nodes together.
fn nowhere(
    input: &PlanInput<'_>,
    file: &ClusterFile,
    asker: Asker<'_>,
    candidates: &[partition::Candidate<'_>],
) -> Result<Judged, Refusal> {
    if let [one] = candidates {
        return plan_in(input, file, asker, one, Trust::All);
    }
    let mut facts = file.facts(None);
    facts.nodes.clear();
    let mut sets = Vec::new();
    for partition in candidates
        .iter()
        .filter_map(|candidate| candidate.partition)
    {
        let of_partition = file.facts(Some(&partition.name)).nodes;
        let groups = partition::nodes(file, Some(partition));
        for (group, set) in of_partition.into_iter().zip(groups) {
            if !sets
                .iter()
                .any(|known: &NodeSet<'_>| known.nodes.name == set.nodes.name)
            {
                facts.nodes.push(group);
                sets.push(set);
            }
        }
    }
    let removed = asker.keep_able(&mut facts, &mut sets)?;
    let asked = layers(input);
    let kind = asked.resources.gpu_type.clone();
    gpus::keep(
        &mut facts,
        &mut sets,
        kind.as_ref(),
        asked.resources.constraint.as_ref(),
    );
    plan_sections(input, asked, &facts).map_err(|mut refusal| {
        if let Some(removed) = removed {
            refusal.there = format!("{}; this yard can't run on {removed}", refusal.there);
        }
        refusal
    })?;
    let none = partition::Candidate {
        partition: None,
        why: None,
    };
    let first = candidates.first().unwrap_or(&none);
    plan_in(input, file, asker, first, Trust::All)
}

fn plan_in(
    input: &PlanInput<'_>,
    file: &ClusterFile,
    asker: Asker<'_>,
    candidate: &partition::Candidate<'_>,
    trust: Trust,
) -> Result<Judged, Refusal> {
    let planned = plan_with(input, file, asker, candidate, trust, None)?;
    match time_by_limits(input, &planned.0.plan, file, asker.user) {
        Some(time) => plan_with(input, file, asker, candidate, trust, Some(time)),
        None => Ok(planned),
    }
}

/// The time that limits of QOS and accounts give a run that asks for none, where that is less than the longest of its
/// partition, which it was planned with.
fn time_by_limits(
    input: &PlanInput<'_>,
    plan: &Plan,
    file: &ClusterFile,
    user: Option<&str>,
) -> Option<Resolved<TimeLimitRequest>> {
    if layers(input).resources.time.is_some() {
        return None;
    }
    let mut request = request(plan);
    request.time = None;
    let time = resources::verdict(file, &request, user).time?;
    let TimeFrom::Limit(path) = time.from else {
        return None;
    };
    let TimeLimitRequest::Limit(limit) = time.limit else {
        return None;
    };
    let is_less = match plan.time.as_ref().map(|time| time.value) {
        Some(TimeLimitRequest::Limit(planned)) => limit < planned,
        // Where its partition says of none there is no longest one.
        Some(TimeLimitRequest::Unlimited) | None => true,
    };
    let source = crate::Source::cluster(format!("{path} of {}", file.name));
    is_less.then(|| Resolved::new(time.limit, source))
}

/// `time` is that of a run that asks for none.
fn plan_with(
    input: &PlanInput<'_>,
    file: &ClusterFile,
    asker: Asker<'_>,
    candidate: &partition::Candidate<'_>,
    trust: Trust,
    time: Option<Resolved<TimeLimitRequest>>,
) -> Result<Judged, Refusal> {
    let mut asked = layers(input);
    asked.resources.time = asked.resources.time.or(time);
    let name = candidate.partition.map(|partition| partition.name.as_str());
    let mut facts = file.facts(name);
    if facts.containers.runtimes.is_empty() {
        // What the caller knows of a cluster whose file says nothing of it.
        let known = &input.facts.containers.runtimes;
        facts.containers.runtimes.clone_from(known);
    }
    let mut sets = partition::nodes(file, candidate.partition);
    asker.keep_able(&mut facts, &mut sets)?;
    let own = facts.clone();
    if let Some(engine) = asker.pretended_by {
        pretended::adapt(&mut facts, engine);
    }
    let kind = asked.resources.gpu_type.clone();
    let memory_per_cpu = asked.resources.memory_per_cpu.clone();
    gpus::keep(
        &mut facts,
        &mut sets,
        kind.as_ref(),
        asked.resources.constraint.as_ref(),
    );
    if trust == Trust::SaidAlone {
        generous::believe(&mut facts, &sets, &asked.resources, file);
    }
    let mut left = LeftToSlurm::default();
    match (&candidate.why, candidate.partition) {
        (Some(why), Some(partition)) if !partition::is_default(partition) => {
            asked.resources.partition = Some(Resolved::new(
                partition.name.clone(),
                crate::Source::cluster(why.clone()),
            ));
        }
        (Some(why), Some(partition)) => {
            left.partition = Some(Resolved::new(
                partition.name.clone(),
                crate::Source::cluster(why.clone()),
            ));
        }
        _ => {}
    }
    let Planned { mut plan, groups } = plan_sections(input, asked, &facts)?;
    let could: Vec<&NodeSet<'_>> = groups.iter().filter_map(|group| sets.get(*group)).collect();
    if let Some(engine) = asker.pretended_by {
        pretended::mark(&mut plan, &own, engine);
    } else {
        let note = |set: &&NodeSet<'_>| architecture::note(set, &file.name, asker.machine);
        plan.notes.extend(could.iter().find_map(note));
    }
    let mut assumed = Vec::new();
    for set in &could {
        assumed_of_nodes(&mut assumed, set, &plan);
    }
    if let Some(set) = could.first() {
        let choice = GpuChoice::of(set, kind.as_ref());
        gpus::name_them(&mut plan, &mut left, file, &choice, &sets, kind.as_ref());
        gpus::check_uneven(&plan)?;
        gpus::check_second_gres(&plan)?;
        policy::apply(
            &mut plan,
            file,
            candidate.partition,
            &could,
            kind.as_ref(),
            memory_per_cpu.as_ref(),
            &mut assumed,
        );
    }
    if let Some(kind) = &kind
        && !sets
            .iter()
            .flat_map(|set| &set.nodes.gpus)
            .any(|gpu| gpu.is_called(&kind.value))
    {
        plan.notes.push(format!(
            "{}'s file knows no {}: other values are planned as for its other nodes",
            file.name, kind.value
        ));
    }
    partition::assumed(&mut assumed, candidate.partition);
    let user = asker.user;
    qos::choose(&mut plan, &mut left, file, user);
    qos::assumed(&mut assumed, &plan, &left, file, user);
    let verdict = resources::verdict(file, &request(&plan), user);
    plan.notes
        .extend(gpu_types::note(file, verdict.partition, &request(&plan)));
    if plan.memory_left.is_some() {
        left.memory = Some(memory::say_default(file, verdict.partition));
    }
    let in_queue = InQueue::of_run(&plan, file, user, &left);
    let plan = SitePlan {
        plan,
        facts,
        left,
        refusals: objections(&verdict.findings),
        in_queue,
        assumed,
    };
    Ok((plan, verdict.findings))
}

/// What the job asks for, wherever its folder will be.
fn request(plan: &Plan) -> model::Request {
    plan.request(&nowhere_yet())
}

/// A place for a job of which only the request is looked at.
fn nowhere_yet() -> JobPlace<'static> {
    JobPlace {
        yard: Path::new("yard"),
        run_folder: Path::new("/"),
        output: "",
        token: "",
    }
}

fn assumed_of_nodes(assumed: &mut Vec<(String, String)>, set: &NodeSet<'_>, plan: &Plan) {
    let nodes = set.nodes;
    let name = &nodes.name;
    note(assumed, format!("nodes.{name}.cpus"), nodes.cpus.as_ref());
    note(
        assumed,
        format!("nodes.{name}.memory"),
        nodes.memory.as_ref(),
    );
    if nodes.count.is_none() {
        note(assumed, format!("nodes.{name}.names"), nodes.names.as_ref());
    }
    for gpu in nodes.gpus.iter().filter(|_| plan.gpus_per_node.value > 0) {
        note(
            assumed,
            format!("nodes.{name}.gpu.count"),
            gpu.count.as_ref(),
        );
    }
}

/// Remembers a value that is assumed.
fn note<T>(
    assumed: &mut Vec<(String, String)>,
    path: String,
    value: Option<&cluster_file::Sourced<T>>,
) {
    if let Some(cluster_file::Source::Assumed(why)) = value.map(|value| &value.source) {
        assumed.push((path, why.clone()));
    }
}

#[cfg(test)]
mod tests;
