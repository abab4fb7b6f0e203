//! The command line that a launcher becomes, as a person would write it.

use super::Shape;
use super::launch::{Launch, launch_at};
use super::task::MeetingPlace;
use crate::environment_plan::quoted;
use crate::placeholders::{UnknownPlaceholder, Values};
use crate::{ContainerPlace, ContainerPlan, ContainerStart, JobShape, Plan};
use model::NodeName;
use std::path::PathBuf;

/// What starts the ranks of a run that begins: of a task a node, the first node's. What only a job
/// knows is in capitals, and placeholders of folders are as they were written.
///
/// # Errors
/// A placeholder that isn't known: a plan that was made here has none.
pub fn command_line(plan: &Plan) -> Result<String, UnknownPlaceholder> {
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
    let rank = ranks.first().map(|rank| rank.argv.as_slice());
    let container = match &plan.environment.container {
        Some(container) => Some(container_start(container, plan, &values)?),
        None => None,
    };
    let rank = match &container {
        // Of the variables that it gets by name, too many to be read here, none is shown.
        Some(container) => container.words(&[], rank.unwrap_or_default()),
        None => rank.unwrap_or_default().to_vec(),
    };
    let head = head.map(|head| head.argv).unwrap_or_default();
    let options = container.map(|container| container.srun_options());
    let words = options.iter().flatten().chain(&head).chain(&rank);
    let line = words.map(|word| shown(word)).collect::<Vec<_>>().join(" ");
    Ok(match plan.launcher.value.shape() {
        Shape::Head => line,
        Shape::Ranks | Shape::Agents => {
            format!("srun -N {nodes} -n {} {line}", plan.tasks())
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
