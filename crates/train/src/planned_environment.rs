//! The environment of a plan: modules, Python or a container, variables.

use crate::containers;
use crate::environment_plan::{no_secrets, no_variables};
use crate::planner::{absolute, or};
use crate::{
    ContainerPlan, EnvironmentPlan, Launcher, Python, PythonChoice, Refusal, RefusalKind, Resolved,
    RunFile, Shape, Source,
};
use model::{ClusterFacts, ContainerRuntime, RuntimeCache};
use std::path::Path;

pub(crate) fn environment(
    base: &Path,
    asked: crate::EnvironmentSection,
    launcher: &Resolved<Launcher>,
    facts: &ClusterFacts,
) -> Result<EnvironmentPlan, Refusal> {
    let mut modules = asked.modules.unwrap_or_else(|| or(Vec::new(), "none"));
    let mut container = containers::resolve(
        asked.container,
        &modules.value,
        // The nodes of a pretended cluster are this machine.
        if facts.embedded {
            "this machine"
        } else {
            &facts.name
        },
        &facts.containers.runtimes,
        |path| absolute(base, path),
    )?;
    let mut python = asked.python;
    if let Some(container) = &mut container {
        python.take_if(|python| python.source.is_habit());
        check_beside_container(container, python.as_ref(), launcher)?;
        if is_clusters_own(container, facts) {
            load_runtime(&mut modules, container, facts);
        }
        container.fetched_to = fetched_to(container, facts);
    }
    let variables = asked.variables.unwrap_or_else(no_variables);
    let secrets = asked.secrets.unwrap_or_else(no_secrets);
    let both = |name: &&String| variables.value.contains_key(*name);
    if let Some(name) = secrets.value.iter().find(both) {
        return Err(Refusal {
            kind: RefusalKind::Usage,
            message: format!("{name} is a variable and a secret"),
            asked: format!(
                "variables ({}), secrets ({})",
                variables.source, secrets.source
            ),
            there: "a secret is read at submission; the value of a variable is shown in plans and records"
                .to_owned(),
            todo: format!("leave {name} out of variables, or out of secrets if it is none"),
        });
    }
    Ok(EnvironmentPlan {
        modules,
        python: match python {
            None if container.is_some() => or(Python::AsItIs, "of the container's image"),
            None => or(Python::AsItIs, "default: no [environment] is set"),
            Some(choice) => choice.map(|choice| match choice {
                PythonChoice::Venv(path) => Python::Venv(absolute(base, &path)),
                PythonChoice::Requirements(path) => Python::Requirements(absolute(base, &path)),
                PythonChoice::Conda(name) if !name.contains('/') && !name.starts_with('.') => {
                    Python::CondaName(name)
                }
                PythonChoice::Conda(path) => Python::CondaFolder(absolute(base, &path)),
            }),
        },
        kept_in: None,
        container,
        variables,
        secrets,
    })
}

/// The container that a run file's own `[environment]` comes to where a machine has these runtimes: for who looks at a
/// file without a cluster to plan it for. `None` where it names no image.
///
/// # Errors
/// As of a plan: nothing there runs it, or what is asked can't be done.
pub fn container_of(
    run_file: &RunFile,
    base: &Path,
    machine: &str,
    runtimes: &[ContainerRuntime],
) -> Result<Option<ContainerPlan>, Refusal> {
    let asked = &run_file.body.environment;
    let modules = asked.modules.as_ref();
    let modules = modules.map_or(&[][..], |modules| &modules.value);
    let absolute = |path: &str| absolute(base, path);
    containers::resolve(
        asked.container.clone(),
        modules,
        machine,
        runtimes,
        absolute,
    )
}

/// A container has a Python of its own, and Pyxis starts tasks of srun alone.
fn check_beside_container(
    container: &ContainerPlan,
    python: Option<&Resolved<PythonChoice>>,
    launcher: &Resolved<Launcher>,
) -> Result<(), Refusal> {
    let image = &container.image;
    let image = format!("image = \"{}\" ({})", image.value, image.source);
    if let Some(python) = python {
        let key = python.value.word();
        return Err(Refusal {
            kind: RefusalKind::Usage,
            message: format!("{key} beside a container"),
            asked: format!("{image}, {key} ({})", python.source),
            there: "the ranks run the Python of the image".to_owned(),
            todo: format!("leave {key} out, and install what it has into the image"),
        });
    }
    let runtime = &container.runtime;
    let is_head = launcher.value.shape() == Shape::Head;
    if is_head && runtime.value == ContainerRuntime::Pyxis {
        return Err(Refusal {
            kind: RefusalKind::Usage,
            message: format!("launcher {} with a container of Pyxis", launcher.value),
            asked: format!(
                "{image}, launcher = \"{}\" ({})",
                launcher.value, launcher.source
            ),
            there: "Pyxis starts tasks of srun, and here another program starts the ranks"
                .to_owned(),
            todo: "runtime = \"enroot\" in [environment.container], or another launcher".to_owned(),
        });
    }
    Ok(())
}

/// Whether the container is run by what the cluster has for containers.
fn is_clusters_own(container: &ContainerPlan, facts: &ClusterFacts) -> bool {
    facts.containers.runtimes.first() == Some(&container.runtime.value)
}

/// Where the cluster says that its runtime keeps what it fetches, of an image that is made.
pub(crate) fn fetched_to(
    container: &ContainerPlan,
    facts: &ClusterFacts,
) -> Option<Resolved<RuntimeCache>> {
    let cache = facts.containers.cache.clone()?;
    let why = format!("containers.cache of {}", facts.name);
    (container.is_made() && is_clusters_own(container, facts))
        .then(|| Resolved::new(cache, Source::cluster(why)))
}

/// The module that brings the cluster's runtime, unless the run loads one of that name.
fn load_runtime(
    modules: &mut Resolved<Vec<String>>,
    container: &ContainerPlan,
    facts: &ClusterFacts,
) {
    let Some(module) = &facts.containers.module else {
        return;
    };
    let name = |module: &str| module.split('/').next().unwrap_or_default().to_owned();
    let is_there = modules.value.iter().any(|one| name(one) == name(module));
    if is_there {
        return;
    }
    if modules.value.is_empty() {
        let why = format!("brings {} on {}", container.runtime.value, facts.name);
        modules.source = Source::cluster(why);
    }
    modules.value.push(module.clone());
}
