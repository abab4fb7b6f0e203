//! Whether what runs a plan's container is there, as far as that is known before a node looks.

use crate::cluster_files;
use crate::run_request::refused;
use crate::{Failure, FailureKind, is_engine};
use cluster_file::ClusterFile;
use model::{ClusterFacts, ContainerRuntime};
use std::path::Path;
use sys::Places;
use train::{ContainerPlan, Plan, RunFile, container_of};

/// From where the list of a cluster's runtimes is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// Jobs find the programs of this machine.
    Here,
    /// The cluster's file names what it has.
    ByFile,
    /// Those of this machine, which may differ from the nodes.
    OfThisMachine,
}

/// Refuses a runtime that is not there; where that is not known, the plan says so.
///
/// # Errors
/// The cluster does not have it.
pub(crate) fn check(
    plan: &mut Plan,
    there: &[ContainerRuntime],
    known: Known,
) -> Result<(), Failure> {
    let Some(container) = &plan.environment.container else {
        return Ok(());
    };
    let modules = &plan.environment.modules.value;
    let unknown = judged(container, modules, &plan.cluster, (there, known))?;
    plan.notes.extend(unknown);
    Ok(())
}

/// What an engine of this machine has for jobs of its cluster's file, as far as that is known without a question: what
/// runs containers. `None` where no engine has the file's name.
#[must_use]
pub(crate) fn engine_of(file: &ClusterFile, places: &Places) -> Option<ClusterFacts> {
    let mut facts = file.facts(None);
    facts.containers.runtimes = backend::runtimes_here();
    is_engine(places, &file.name).then_some(facts)
}

/// What is known of what runs containers on the Slurm of this machine where it is known by its own report alone, which
/// says nothing of it: the programs of this machine. `None` where a file is of the cluster, or where it is another.
#[must_use]
pub(crate) fn runtimes_of_reported(
    cluster: &str,
    places: &Places,
) -> Option<Vec<ContainerRuntime>> {
    let own = backend::slurm_here().ok()??;
    let has_file = cluster_files::all(places).0.iter().any(|text| {
        let file: Option<ClusterFile> = text.parse().ok();
        let own = file.and_then(|file| file.cluster_name);
        text.name == cluster || own.is_some_and(|own| own.value == cluster)
    });
    (own == cluster && !has_file).then(backend::runtimes_here)
}

/// Refuses what runs a plan's container where it is not there, by the facts of its cluster.
///
/// # Errors
/// As a run is refused.
pub(crate) fn check_container(
    plan: &mut Plan,
    facts: &ClusterFacts,
    known: Known,
) -> Result<(), Failure> {
    check(plan, &facts.containers.runtimes, known)
}

/// Why a run file's own container is not run: what no cluster can do, and beside it whether that is so only of what this
/// machine has. A machine with a Slurm says nothing of its nodes.
#[must_use]
pub(crate) fn container_refusal(run_file: &RunFile, base: &Path) -> Option<(Failure, bool)> {
    const MACHINE: &str = "this machine";
    let resolved = |there: &[ContainerRuntime]| container_of(run_file, base, MACHINE, there);
    if let Err(refusal) = resolved(&ContainerRuntime::ALL) {
        return Some((refused(refusal), false));
    }
    if !matches!(backend::slurm_here(), Ok(None)) {
        return None;
    }
    let there = backend::runtimes_here();
    let modules = run_file.body.environment.modules.as_ref();
    let modules = modules.map_or(&[][..], |modules| &modules.value);
    let judged = match resolved(&there) {
        Ok(None) => return None,
        Ok(Some(container)) => judged(&container, modules, MACHINE, (&there, Known::Here)),
        Err(refusal) => Err(refused(refusal)),
    };
    Some((judged.err()?, true))
}

/// What is not known of a container's runtime, in words, for a cluster that has these.
fn judged(
    container: &ContainerPlan,
    modules: &[String],
    cluster: &str,
    (there, known): (&[ContainerRuntime], Known),
) -> Result<Option<String>, Failure> {
    let asked = container.runtime.value;
    if there.contains(&asked) || modules.iter().any(|module| brings(module, asked)) {
        return Ok(None);
    }
    let unknown = match known {
        // Our srun runs its containers with what there is.
        Known::Here if asked == ContainerRuntime::Pyxis && !there.is_empty() => return Ok(None),
        _ if !modules.is_empty() => format!(
            "whether the modules bring {asked} is seen on the node: {cluster} has {} without them",
            list(there)
        ),
        Known::OfThisMachine => format!(
            "whether the nodes of {cluster} have {asked} is seen there: this machine has {}",
            list(there)
        ),
        Known::ByFile if there.is_empty() => {
            format!(
                "whether the nodes of {cluster} have {asked} is seen there: its cluster file names no runtime"
            )
        }
        Known::ByFile if there.iter().any(|one| is_alike(*one, asked)) => format!(
            "{cluster} has {} by its cluster file; most of them answer to {asked} too",
            list(there)
        ),
        Known::Here | Known::ByFile => return Err(refusal(container, there, known, cluster)),
    };
    Ok(Some(unknown))
}

fn refusal(
    container: &ContainerPlan,
    there: &[ContainerRuntime],
    known: Known,
    cluster: &str,
) -> Failure {
    let asked = &container.runtime;
    let program = asked.value.program().unwrap_or("srun --container-image");
    let (there_is, todo) = match known {
        Known::ByFile => (
            format!("{} by the cluster file", list(there)),
            "correct the cluster file where it has more",
        ),
        _ => (
            format!("no {program} on PATH; there is {}", list(there)),
            "install it",
        ),
    };
    let other = match there.first() {
        Some(first) => format!("leave runtime out, which takes {first}, or {todo}"),
        None => todo.to_owned(),
    };
    let what = format!("{cluster} has no {} to run the container", asked.value);
    Failure::new(FailureKind::Refused, what)
        .asked(format!("runtime = \"{}\" ({})", asked.value, asked.source))
        .there(there_is)
        .todo(other)
}

/// Apptainer is the later name of Singularity, and brings a program of that name.
fn is_alike(one: ContainerRuntime, other: ContainerRuntime) -> bool {
    let names = [ContainerRuntime::Apptainer, ContainerRuntime::Singularity];
    names.contains(&one) && names.contains(&other)
}

/// Modules have the names of what they bring.
fn brings(module: &str, runtime: ContainerRuntime) -> bool {
    let name = module.split('/').next().unwrap_or_default();
    name.eq_ignore_ascii_case(runtime.word())
}

fn list(runtimes: &[ContainerRuntime]) -> String {
    let words: Vec<&str> = runtimes.iter().map(|one| one.word()).collect();
    if words.is_empty() {
        return "none".to_owned();
    }
    words.join(", ")
}
