//! From the model by which people know a GPU to what the cluster wants to be asked for.

use super::LeftToSlurm;
use crate::{Plan, Refusal, RefusalKind, Resolved, Source};
use cluster_file::{ClusterFile, Gpu, GpuOption, NodeSet};
use model::ClusterFacts;

/// The GPUs that the job gets.
#[derive(Clone, Copy, Debug)]
pub(super) struct GpuChoice<'a> {
    /// None where it asks for none.
    pub gpu: Option<&'a Gpu>,
}

impl<'a> GpuChoice<'a> {
    /// The requested GPUs of that group.
    pub fn of(set: &NodeSet<'a>, kind: Option<&Resolved<String>>) -> GpuChoice<'a> {
        let is_meant = |gpu: &&Gpu| kind.is_none_or(|kind| gpu.is_called(&kind.value));
        GpuChoice {
            gpu: set.nodes.gpus.iter().find(is_meant),
        }
    }

    /// The model, else the type.
    pub fn name(&self) -> Option<&'a str> {
        let gpu = self.gpu?;
        let name = gpu.model.as_ref().or(gpu.kind.as_ref())?;
        Some(name.as_str())
    }
}

/// Leaves the nodes that have GPUs of `kind` and the features of a plain `constraint`.
/// Requested GPUs get that name in the facts, whatever their GRES type is. Where no node is
/// left all stay, and what is wrong is said later.
pub(super) fn keep(
    facts: &mut ClusterFacts,
    sets: &mut Vec<NodeSet<'_>>,
    kind: Option<&Resolved<String>>,
    constraint: Option<&Resolved<String>>,
) {
    if let Some(constraint) = constraint {
        // Other forms are Slurm's to judge.
        let plain = |letter: char| letter.is_ascii_alphanumeric() || "_-.&".contains(letter);
        let wanted: Vec<&str> = if constraint.value.chars().all(plain) {
            constraint.value.split('&').collect()
        } else {
            Vec::new()
        };
        let has = |set: &NodeSet<'_>| {
            let own = set.nodes.features.as_ref();
            let has_all = |own: &Vec<String>| wanted.iter().all(|one| own.iter().any(|f| f == one));
            own.is_some_and(|own| has_all(&own.value))
        };
        if !wanted.is_empty() {
            retain(facts, sets, has);
        }
    }
    let Some(kind) = kind else { return };
    // A type of that very name goes before models that are called so too.
    let exactly = |gpu: &Gpu| {
        let own = gpu.kind.as_ref();
        own.is_some_and(|own| own.eq_ignore_ascii_case(&kind.value))
    };
    let exact = sets.iter().any(|set| set.nodes.gpus.iter().any(exactly));
    let is_meant = |gpu: &Gpu| {
        if exact {
            exactly(gpu)
        } else {
            gpu.is_called(&kind.value)
        }
    };
    retain(facts, sets, |set| set.nodes.gpus.iter().any(is_meant));
    for (group, set) in facts.nodes.iter_mut().zip(sets.iter()) {
        let meant: Vec<bool> = set.nodes.gpus.iter().map(is_meant).collect();
        for (own, meant) in group.gpus.iter_mut().zip(&meant) {
            own.kind = meant.then(|| kind.value.clone()).or(own.kind.take());
        }
    }
}

fn retain(
    facts: &mut ClusterFacts,
    sets: &mut Vec<NodeSet<'_>>,
    has: impl Fn(&NodeSet<'_>) -> bool,
) {
    let kept: Vec<bool> = sets.iter().map(has).collect();
    if !kept.contains(&true) {
        return;
    }
    let mut of_facts = kept.iter();
    facts.nodes.retain(|_| of_facts.next() == Some(&true));
    let mut of_sets = kept.iter();
    sets.retain(|_| of_sets.next() == Some(&true));
}

/// Puts type or feature in place of the name that the person used.
pub(super) fn name_them(
    plan: &mut Plan,
    left: &mut LeftToSlurm,
    file: &ClusterFile,
    choice: &GpuChoice<'_>,
    sets: &[NodeSet<'_>],
    asked: Option<&Resolved<String>>,
) {
    if plan.gpus_per_node.value == 0 {
        return;
    }
    let option = file.policy.gpu_option.as_ref();
    plan.gpus_as_gres = option.is_some_and(|option| option.value == GpuOption::Gres);
    let Some(gpu) = choice.gpu else { return };
    let Some(asked) = asked else {
        // By memory a type was chosen already; where there is none to name, the feature is.
        if plan.gpu_memory.is_some() && gpu.kind.is_none() {
            by_feature(plan, left, file, choice, "have the memory");
        }
        return;
    };
    let cluster = &file.name;
    match (&gpu.kind, &gpu.feature) {
        (Some(kind), _) if kind.value == asked.value => {
            plan.gpu_type = Some(asked.clone());
        }
        (Some(kind), _) => {
            let why = format!("{cluster}'s type of {}; from {}", asked.value, asked.source);
            plan.gpu_type = Some(Resolved::new(kind.value.clone(), Source::cluster(why)));
        }
        (None, Some(_)) => by_feature(plan, left, file, choice, "have no type to ask for"),
        (None, None) => {
            plan.gpu_type = None;
            left.gpu_model = choice.name().map(str::to_owned);
            let others = sets.iter().flat_map(|set| &set.nodes.gpus);
            if others
                .into_iter()
                .any(|other| !other.is_called(&asked.value))
            {
                plan.notes.push(format!(
                    "{cluster}'s {} have neither a type nor a feature: others may be given",
                    asked.value
                ));
            }
        }
    }
}

/// Of two `--gres` Slurm keeps the last: a site's own would replace the GPUs.
pub(super) fn check_second_gres(plan: &Plan) -> Result<(), Refusal> {
    let is_gres = |option: &&String| option.trim_start().starts_with("--gres=");
    let has_gpus = plan.gpus_as_gres && plan.gpus_per_node.value > 0;
    match plan.sbatch.value.iter().find(is_gres).filter(|_| has_gpus) {
        None => Ok(()),
        Some(option) => Err(Refusal {
            kind: RefusalKind::Usage,
            message: format!(
                "{} is asked for GPUs by --gres, and a second --gres replaces them",
                plan.cluster
            ),
            asked: format!("sbatch = [{option:?}] ({})", plan.sbatch.source),
            there: "Slurm keeps the last of two".to_owned(),
            todo: "leave it out, or submit a batch script of your own".to_owned(),
        }),
    }
}

/// Different numbers of GPUs on the nodes are asked for by the task, which `--gres` can't.
pub(super) fn check_uneven(plan: &Plan) -> Result<(), Refusal> {
    let Some(all) = plan.uneven.as_ref().filter(|_| plan.gpus_as_gres) else {
        return Ok(());
    };
    let nodes = &plan.nodes;
    Err(Refusal {
        kind: RefusalKind::Usage,
        message: format!(
            "{} GPUs do not divide evenly among {} nodes",
            all.value, nodes.value
        ),
        asked: format!(
            "gpus = {} ({}), nodes = {} ({})",
            all.value, all.source, nodes.value, nodes.source
        ),
        there: format!(
            "{} is asked for GPUs by --gres, which is the same number on every node",
            plan.cluster
        ),
        todo: format!(
            "a number of GPUs that {} divides, or leave nodes out",
            nodes.value
        ),
    })
}

/// Asks for the nodes' feature instead of a type.
fn by_feature(
    plan: &mut Plan,
    left: &mut LeftToSlurm,
    file: &ClusterFile,
    choice: &GpuChoice<'_>,
    why: &str,
) {
    let Some(feature) = choice.gpu.and_then(|gpu| gpu.feature.as_ref()) else {
        return;
    };
    plan.gpu_type = None;
    left.gpu_model = choice.name().map(str::to_owned);
    let name = left.gpu_model.as_deref().unwrap_or("GPUs");
    let reason = format!("{}'s {name} {why}, nodes have a feature", file.name);
    plan.constraint = Some(match plan.constraint.take() {
        None => Resolved::new(feature.value.clone(), Source::cluster(reason)),
        Some(own) if own.value.split('&').any(|part| part == feature.value) => own,
        Some(own) => {
            let first = if own.value.contains(['|', ',']) && !own.value.starts_with('(') {
                format!("({})", own.value)
            } else {
                own.value.clone()
            };
            let reason = format!("{reason}; {} from {}", own.value, own.source);
            Resolved::new(
                format!("{}&{first}", feature.value),
                Source::cluster(reason),
            )
        }
    });
}
