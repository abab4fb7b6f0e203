//! What a launcher asks of a plan: what contradicts it is refused.

use crate::planner::or;
use crate::{Launcher, Notify, Refusal, RefusalKind, Resolved, Shape};

pub(crate) fn check_one_process(
    launcher: &Resolved<Launcher>,
    nodes: &Resolved<u32>,
    ranks: &Resolved<u32>,
) -> Result<(), Refusal> {
    if launcher.value != Launcher::None || (nodes.value == 1 && ranks.value == 1) {
        return Ok(());
    }
    let (what, count) = match nodes.value {
        1 => ("ranks_per_node", ranks),
        _ => ("nodes", nodes),
    };
    Err(Refusal {
        kind: RefusalKind::Usage,
        message: format!(
            "launcher none is one process, and {what} is {}",
            count.value
        ),
        asked: format!(
            "launcher = \"none\" ({}), {what} = {} ({})",
            launcher.source, count.value, count.source
        ),
        there: "every other launcher starts several".to_owned(),
        todo: "launcher = \"srun\" for a rank a GPU, or one node and one rank".to_owned(),
    })
}

/// How options begin by which a launcher's own command knows of the other nodes: one of them is needed on each.
/// With underscores; both `torchrun` and `accelerate` take hyphens too.
const OF_SEVERAL_NODES: [&str; 7] = [
    "--nnodes",
    "--rdzv",
    "--master",
    "--node_rank",
    "--num_machines",
    "--machine_rank",
    "--config_file",
];
/// How variables begin by which it knows of them.
const VARIABLES_OF_SEVERAL_NODES: [&str; 2] = ["PET_", "ACCELERATE_"];

/// Whether a launcher that a command starts on each node would begin a training of its own there.
fn is_alone_on_nodes(begun: Launcher, command: &[String], variables: &[&str]) -> bool {
    match begun {
        // They start the ranks of all nodes, once.
        Launcher::Mpi | Launcher::Horovod => true,
        _ => {
            let meets = |part: &String| {
                let part = part.replace('-', "_");
                let own = |it: &&str| part.starts_with(&it.replace('-', "_"));
                OF_SEVERAL_NODES.iter().any(own)
            };
            let says = |name: &&str| {
                let mut all = VARIABLES_OF_SEVERAL_NODES.iter();
                all.any(|it| name.starts_with(it))
            };
            !command.iter().any(meets) && !variables.iter().any(says)
        }
    }
}

/// A command that starts its launcher itself would start it in each rank, and so would one that starts
/// another launcher, which starts all ranks of a node; on several nodes it has to know of the others, by its options or
/// by the run's own `variables`.
pub(crate) fn check_started_once(
    launcher: &Resolved<Launcher>,
    command: &Resolved<Vec<String>>,
    (nodes, ranks): (&Resolved<u32>, &Resolved<u32>),
    variables: &[&str],
) -> Result<(), Refusal> {
    let own = launcher.value.started_by(&command.value);
    let Some((begun, starter)) = Launcher::begun_by(&command.value) else {
        return Ok(());
    };
    let is_own = begun == launcher.value || own.as_ref() == Some(&starter);
    let is_step_in_step = starter.starts_with("srun");
    let is_in_each_rank = launcher.value.shape() != Shape::Ranks
        || ranks.value > 1
        || (nodes.value > 1 && is_alone_on_nodes(begun, &command.value, variables));
    let is_several = launcher.value != Launcher::None && (is_step_in_step || is_in_each_rank);
    if !is_own && !is_several {
        return Ok(());
    }
    let message = if is_own {
        let ours = launcher.value;
        format!("the command starts {starter}, which launcher {ours} stands for")
    } else {
        let ours = launcher.value;
        format!("the command starts {starter}, and launcher {ours} would start that in each task")
    };
    let alone = "leave it out of the command, which begins with python or the program";
    let todo = match begun {
        _ if is_own && launcher.value.takes_options() => {
            format!("{alone}; options that it is to have beside ours go into launcher_options")
        }
        Launcher::Srun => alone.to_owned(),
        _ if is_own => alone.to_owned(),
        begun => format!(
            "write launcher = \"{begun}\", and leave {starter} and its options out of the command, which begins \
             with python or the program"
        ),
    };
    Err(Refusal {
        kind: RefusalKind::Usage,
        message,
        asked: format!(
            "launcher = \"{}\" ({}), command = {:?} ({})",
            launcher.value,
            launcher.source,
            command.value.join(" "),
            command.source
        ),
        there: "the launcher starts the ranks, with all that they need to find each other"
            .to_owned(),
        todo,
    })
}

/// Options for a launcher that has a command line.
pub(crate) fn launcher_options(
    launcher: &Resolved<Launcher>,
    asked: Option<Resolved<Vec<String>>>,
) -> Result<Resolved<Vec<String>>, Refusal> {
    let asked = asked.unwrap_or_else(|| or(Vec::new(), "none"));
    if asked.value.is_empty() || launcher.value.takes_options() {
        return Ok(asked);
    }
    let able = Launcher::ALL.into_iter();
    let able: Vec<&str> = able
        .filter(|launcher| launcher.takes_options())
        .map(Launcher::word)
        .collect();
    Err(Refusal {
        kind: RefusalKind::Usage,
        message: format!("launcher {} has no options", launcher.value),
        asked: format!(
            "launcher = \"{}\" ({}), launcher_options = {:?} ({})",
            launcher.value, launcher.source, asked.value, asked.source
        ),
        there: format!("{} have a command line of their own", able.join(", ")),
        todo: "leave launcher_options out; the program's own arguments stand in command".to_owned(),
    })
}

/// Lightning switches its Slurm mode off in jobs of these names.
pub(crate) fn check_lightning_name(
    launcher: &Resolved<Launcher>,
    name: &Resolved<String>,
) -> Result<(), Refusal> {
    if launcher.value != Launcher::Lightning || !["bash", "interactive"].contains(&&*name.value) {
        return Ok(());
    }
    Err(Refusal {
        kind: RefusalKind::Usage,
        message: format!(
            "Lightning takes a job named {} for an interactive one",
            name.value
        ),
        asked: format!("name = {:?} ({})", name.value, name.source),
        there: "Lightning's Slurm mode is off in jobs named bash or interactive".to_owned(),
        todo: "give the run another name".to_owned(),
    })
}

/// At SIGUSR1 Lightning's Slurm mode saves and brings the job back itself, beside the run, and no
/// variable switches that off. At SIGTERM it ends without.
pub(crate) fn check_lightning_signal(
    launcher: &Resolved<Launcher>,
    notify: Option<&Resolved<Notify>>,
) -> Result<(), Refusal> {
    let Some(notify) = notify.filter(|notify| notify.value == Notify::Sigusr1) else {
        return Ok(());
    };
    if launcher.value != Launcher::Lightning {
        return Ok(());
    }
    Err(Refusal {
        kind: RefusalKind::Usage,
        message: "Lightning requeues the job itself at SIGUSR1, as the run does".to_owned(),
        asked: format!(
            "launcher = \"lightning\" ({}), [resume] notify = \"SIGUSR1\" ({})",
            launcher.source, notify.source
        ),
        there: "a job that is requeued twice is ended in the middle of its next start".to_owned(),
        todo: "set notify to \"file\" or \"SIGTERM\"; the run comes back by itself".to_owned(),
    })
}
