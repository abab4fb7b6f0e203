//! From a plan and an allocation to the command of each task.

use super::Shape;
use super::command::with_interpreter;
use super::task::{Env, MeetingPlace, Task, text};
use crate::placeholders::{UnknownPlaceholder, Values, fill};
use crate::{Binding, EnvChange, JobShape, Plan, Python, RankCommand, Rendezvous};
use std::collections::BTreeMap;

/// What the ranks of one start of a job are started with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// With [`Shape::Head`]: what runs on the first node. The words that start a rank's wrapper
    /// follow its own.
    pub head: Option<RankCommand>,
    /// Each task of the ranks' step, in the order of `SLURM_PROCID`: tasks are counted node by node
    /// (`--distribution=block:block`). With [`Shape::Head`] the ranks, in MPI's order.
    pub ranks: Vec<RankCommand>,
}

/// What each task is started with.
///
/// # Errors
/// A placeholder that isn't known: a plan that was made here has none.
pub fn launch(
    plan: &Plan,
    shape: &JobShape,
    rendezvous: &Rendezvous,
    values: &Values,
) -> Result<Launch, UnknownPlaceholder> {
    let meeting = MeetingPlace {
        address: &rendezvous.address,
        port: &rendezvous.port.to_string(),
        id: &format!("{}.{}", shape.job, shape.restart),
    };
    launch_at(plan, shape, meeting, values)
}

/// The same, with the place where the ranks meet in words.
pub(super) fn launch_at(
    plan: &Plan,
    shape: &JobShape,
    meeting: MeetingPlace<'_>,
    values: &Values,
) -> Result<Launch, UnknownPlaceholder> {
    let row = plan.launcher.value.row();
    let command = command(plan, values)?;
    let nodes = u32::try_from(shape.nodes.len()).unwrap_or(u32::MAX);
    let of_nodes = match plan.uneven {
        Some(_) => shape.gpus.clone(),
        None => vec![plan.tasks_per_node.value; shape.nodes.len()],
    };
    let task = |node: u32, local: u32| Task {
        plan,
        shape,
        meeting,
        tasks_of_nodes: &of_nodes,
        number: of_nodes.iter().take(node as usize).sum::<u32>() + local,
        node,
        local,
    };
    let started = |task: &Task<'_>, env, argv, binding| RankCommand {
        task: task.number,
        node: task.node,
        env,
        argv,
        binding,
    };
    let own = own_variables(plan, values)?;
    let head = row.head.map(|head| {
        let task = task(0, 0);
        let mut env = Env::new();
        let argv = head(&task, &mut env);
        started(&task, env, argv, None)
    });
    let of_node = |(node, tasks): (u32, &u32)| (0..*tasks).map(move |local| (node, local));
    let rank = |(node, local)| {
        let task = task(node, local);
        let mut env = task.common(values);
        let argv = if row.shape == Shape::Agents && local > 0 {
            // It holds a GPU for the node's agent.
            Vec::new()
        } else {
            (row.start)(&task, &mut env, command.clone())
        };
        for (name, value) in &own {
            // By what a launcher sets its ranks find each other.
            if !matches!(env.get(name), Some(EnvChange::Set(_))) {
                env.insert(name.clone(), EnvChange::Set(value.clone()));
            }
        }
        let binding = binding(&task, row.shape).filter(|_| !argv.is_empty());
        started(&task, env, argv, binding)
    };
    let ranks = (0..nodes).zip(&of_nodes).flat_map(of_node).map(rank);
    let ranks = ranks.collect();
    Ok(Launch { head, ranks })
}

/// How the ranks of a task that has GPUs are bound.
fn binding(task: &Task<'_>, shape: Shape) -> Option<Binding> {
    let ranks = task.ranks();
    // Of an agent with one rank both have the same CPUs; not every launcher gives that one a number.
    let is_agent = shape == Shape::Agents && ranks > 1;
    (task.gpus() > 0).then(|| Binding {
        local: (!is_agent).then_some(task.local),
        ranks,
        cpus: task.plan.cpus_per_rank.value,
    })
}

/// What the first task has with every launcher.
pub(super) fn common(
    plan: &Plan,
    shape: &JobShape,
    meeting: MeetingPlace<'_>,
    values: &Values,
) -> Env {
    let task = Task {
        plan,
        shape,
        meeting,
        tasks_of_nodes: &[],
        number: 0,
        node: 0,
        local: 0,
    };
    task.common(values)
}

/// The variables of the run file with placeholders replaced.
fn own_variables(
    plan: &Plan,
    values: &Values,
) -> Result<BTreeMap<String, String>, UnknownPlaceholder> {
    let known = known(plan, values);
    let own = plan.environment.variables.value.iter();
    own.map(|(name, value)| Ok((name.clone(), fill(value, &known)?)))
        .collect()
}

/// The person's command with placeholders replaced, and with the arguments for resuming where
/// there is something to resume.
fn command(plan: &Plan, values: &Values) -> Result<Vec<String>, UnknownPlaceholder> {
    let known = known(plan, values);
    let resume: &[String] = match values.resume_file {
        Some(_) => &plan.resume.args.value,
        None => &[],
    };
    let words = plan.command.value.iter().chain(resume);
    let words = words.map(|word| fill(word, &known));
    let python = match plan.environment.python.value {
        // Debian's Python has no other name; environments have both.
        Python::AsItIs
            if plan.environment.modules.value.is_empty()
                || plan.environment.container.is_some() =>
        {
            "python3"
        }
        _ => "python",
    };
    Ok(with_interpreter(words.collect::<Result<_, _>>()?, python))
}

pub(crate) fn known<'a>(plan: &Plan, values: &Values) -> BTreeMap<&'a str, String> {
    let resume_file = values.resume_file.as_deref().map(text).unwrap_or_default();
    BTreeMap::from([
        ("data", text(&values.data)),
        ("checkpoints", text(&values.checkpoints)),
        ("resume", text(&values.resume)),
        ("resume_file", resume_file),
        ("logs", text(&values.logs)),
        ("run", values.run.clone()),
        ("nodes", plan.nodes.value.to_string()),
        ("gpus_per_node", plan.gpus_per_node.value.to_string()),
        ("world_size", plan.world_size().to_string()),
        ("repeat", plan.repeat.value.to_string()),
    ])
}
