//! Whether what runs a plan's container is there, as far as that is known before a node looks.

use crate::{Failure, FailureKind};
use model::ContainerRuntime;
use train::{ContainerPlan, Plan};

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
    let asked = container.runtime.value;
    let modules = &plan.environment.modules.value;
    if there.contains(&asked) || modules.iter().any(|module| brings(module, asked)) {
        return Ok(());
    }
    let cluster = &plan.cluster;
    let unknown = match known {
        // Our srun runs its containers with what there is.
        Known::Here if asked == ContainerRuntime::Pyxis && !there.is_empty() => return Ok(()),
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
    plan.notes.push(unknown);
    Ok(())
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
