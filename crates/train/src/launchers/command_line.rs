//! The command line that a launcher becomes, as a person would write it.

use super::Shape;
use super::launch::{Launch, common, launch_at};
use super::task::MeetingPlace;
use crate::environment_plan::quoted;
use crate::placeholders::{UnknownPlaceholder, Values};
use crate::{
    ContainerPlace, ContainerPlan, ContainerStart, EnvChange, JobShape, Plan, RankCommand,
};
use model::NodeName;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What the first task of a run that begins is started with. What only a job knows is in capitals, and
/// placeholders of folders are as they were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstTask {
    /// With [`Shape::Head`]: what starts the ranks of all nodes.
    pub head: Option<RankCommand>,
    /// The words that start its container.
    pub container: Vec<String>,
    /// What the launcher changes in its environment, without what every run's ranks get.
    pub of_launcher: BTreeMap<String, EnvChange>,
    /// All that changes in its environment.
    pub env: BTreeMap<String, EnvChange>,
    /// Its command.
    pub argv: Vec<String>,
    /// Options of the step that start its container.
    step_options: Vec<String>,
}

impl FirstTask {
    /// The variables that the launcher sets, as a shell would take them.
    #[must_use]
    pub fn variables(&self) -> String {
        let set = self
            .of_launcher
            .iter()
            .filter_map(|(name, change)| match change {
                EnvChange::Set(value) | EnvChange::Default(value) => {
                    Some(format!("{name}={}", shown(value)))
                }
                EnvChange::Remove => None,
            });
        set.collect::<Vec<_>>().join(" ")
    }
}

/// What the first task is started with: of a task a node, the first node's.
///
/// # Errors
/// A placeholder that isn't known: a plan that was made here has none.
pub fn first_task(plan: &Plan) -> Result<FirstTask, UnknownPlaceholder> {
    let nodes = plan.nodes.value;
    let shape = JobShape {
        job: 0,
        restart: 0,
        nodes: (1..=nodes)
            .map(|node| NodeName::from(format!("NODE{node}")))
            .collect(),
        gpus: plan.gpus_of_nodes(),
        addresses: Vec::new(),
    };
    let meeting = MeetingPlace {
        address: "FIRST_NODE",
        port: "PORT",
        id: "JOB.RESTART",
    };
    let named = |name: &str| PathBuf::from(format!("{{{name}}}"));
    let values = Values {
        data: named("data"),
        checkpoints: named("checkpoints"),
        resume: named("resume"),
        resume_file: None,
        logs: named("logs"),
        run: "{run}".to_owned(),
        code: named("code"),
        project: "{project}".to_owned(),
        scratch: named("scratch"),
    };
    let Launch { head, ranks } = launch_at(plan, &shape, meeting, &values)?;
    let container = match &plan.environment.container {
        Some(container) => Some(container_start(container, plan, &values)?),
        None => None,
    };
    let first = ranks.into_iter().next();
    let (mut env, argv) = first.map_or_else(Default::default, |task| (task.env, task.argv));
    // The one number that only a job has.
    if let Some(job) = env.get_mut("SLURM_JOB_ID") {
        *job = EnvChange::Set("JOB".to_owned());
    }
    let everyones = common(plan, &shape, meeting, &values);
    let own = |name: &String| {
        !everyones.contains_key(name) && !plan.environment.variables.value.contains_key(name)
    };
    let of_launcher = env.iter().filter(|(name, _)| own(name));
    Ok(FirstTask {
        of_launcher: of_launcher
            .map(|(name, change)| (name.clone(), change.clone()))
            .collect(),
        head,
        // Of the variables that it gets by name, too many to be read here, none is shown.
        container: container
            .as_ref()
            .map_or_else(Vec::new, |it| it.words(&[], &[])),
        step_options: container
            .as_ref()
            .map_or_else(Vec::new, ContainerStart::srun_options),
        env,
        argv,
    })
}

/// What starts the ranks of a run that begins, in one line.
///
/// # Errors
/// As [`first_task`].
pub fn command_line(plan: &Plan) -> Result<String, UnknownPlaceholder> {
    let task = first_task(plan)?;
    let head = task.head.map(|head| head.argv).unwrap_or_default();
    let options = task.step_options.iter();
    let words = options
        .chain(&head)
        .chain(&task.container)
        .chain(&task.argv);
    let line = words.map(|word| shown(word)).collect::<Vec<_>>().join(" ");
    Ok(match plan.launcher.value.shape() {
        Shape::Head => line,
        Shape::Ranks | Shape::Agents => {
            format!("srun -N {} -n {} {line}", plan.nodes.value, plan.tasks())
        }
    })
}

/// The plan's container, with folders of a run in capitals.
fn container_start(
    container: &ContainerPlan,
    plan: &Plan,
    values: &Values,
) -> Result<ContainerStart, UnknownPlaceholder> {
    let place = ContainerPlace {
        run: "RUN_FOLDER",
        local: "NODE_LOCAL",
        yard: "YARD",
        cwd: "CODE",
        image: container.is_made().then_some("IMAGE"),
        has_environment: false,
    };
    ContainerStart::new(container, plan.gpus_per_node.value > 0, &place, values)
}

/// A word as a shell takes it; placeholders stay as they are.
fn shown(word: &str) -> String {
    if word.contains('{') {
        word.to_owned()
    } else {
        quoted(word)
    }
}
