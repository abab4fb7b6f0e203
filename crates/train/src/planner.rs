//! Resolves run file and flags against one cluster.

use crate::containers;
use crate::environment_plan::{no_secrets, no_variables};
use crate::node_choice::{NodeChoice, Wanted};
use crate::service_plan;
use crate::{
    CheckpointPlan, Complete, CompleteWord, ContainerPlan, DataPlan, EnvironmentPlan, HookForm,
    Keep, Launcher, Notify, NotifyPlan, Overrides, Plan, Python, PythonChoice, Refusal,
    RefusalKind, Resolved, ResumeBy, ResumeOn, ResumePlan, RunFile, Sections, Shape, Source,
    Variables, say_seconds,
};
use crate::{gpu_spread, hang_plan, per_gpu};
use model::{ClusterFacts, ContainerRuntime, MailEvent, Seconds, TimeLimitRequest};
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

/// What a plan is made of.
#[derive(Clone, Copy, Debug)]
pub struct PlanInput<'a> {
    /// The user's config, where there is one; its paths are absolute.
    pub user_config: Option<&'a RunFile>,
    /// The run file, where there is one.
    pub run_file: Option<&'a RunFile>,
    /// What is set for sbatch in the environment.
    pub variables: &'a Variables,
    /// The command line.
    pub overrides: &'a Overrides,
    /// Where it will run.
    pub facts: &'a ClusterFacts,
    /// The absolute folder against which paths are resolved: the run file's, or the current one.
    pub base: &'a Path,
    /// The run's name where none is given, such as the folder's; made fit to be one.
    pub default_name: &'a str,
}

/// Nothing changed for so long: a checkpoint of an unknown format counts as whole.
const SETTLE: Seconds = Seconds(10);
/// Long enough for some gigabytes to a network file system.
const GRACE: Duration = Duration::from_secs(120);
/// The least that a copy, a stop and a requeue need.
const LEAST_GRACE: Duration = Duration::from_secs(2);

/// Resolves every value: program < cluster < user's config < run file < its `[cluster.NAME]` <
/// environment < flags.
///
/// # Errors
/// What contradicts itself, or can never run there.
pub fn plan(input: &PlanInput<'_>) -> Result<Plan, Refusal> {
    Ok(plan_sections(input, layers(input), input.facts)?.plan)
}

/// A plan, and the groups of nodes that its job could get.
pub(crate) struct Planned {
    pub plan: Plan,
    /// Their places in the facts' nodes; the first is the one that is planned for.
    pub groups: Vec<usize>,
}

/// Resolves what the layers came to, on a cluster of these facts.
pub(crate) fn plan_sections(
    input: &PlanInput<'_>,
    asked: Sections,
    facts: &ClusterFacts,
) -> Result<Planned, Refusal> {
    let command = asked.command.ok_or_else(|| no_command(input))?;
    let mut notes: Vec<String> = left_out_note(input.variables).into_iter().collect();

    let mut resources = asked.resources;
    let launcher = asked.launcher.unwrap_or_else(|| {
        let several = |count: &Option<Resolved<u32>>| count.as_ref().is_some_and(|c| c.value > 1);
        let many = several(&resources.nodes)
            || several(&resources.ranks_per_node)
            || several(&resources.gpus_per_node)
            || several(&resources.gpus);
        let one_rank = resources.ranks_per_node.as_ref().map(|c| c.value) == Some(1)
            && !several(&resources.nodes);
        if many {
            let why = if one_rank {
                "there is more than one GPU"
            } else {
                "there is more than one rank"
            };
            Resolved::new(Launcher::Srun, Source::default(why))
        } else {
            Resolved::new(
                Launcher::None,
                Source::default("one process needs no launcher"),
            )
        }
    });
    let uneven = gpu_spread::spread(launcher.value, &mut resources, facts)?;
    let nodes = resources
        .nodes
        .take()
        .unwrap_or_else(|| Resolved::new(1, Source::default("default: 1 node")));
    let gpus_per_node = resources.gpus_per_node.take().unwrap_or_else(|| {
        // A habit says which GPUs are meant when some are asked; it asks for none.
        let asks = |source: &Source| !source.is_habit();
        let kind = resources.gpu_type.as_ref().map(|kind| &kind.source);
        let memory = resources.gpu_memory.as_ref().map(|least| &least.source);
        if kind.is_some_and(asks) || memory.is_some_and(asks) {
            Resolved::new(1, Source::default("a type or memory of GPUs is requested"))
        } else {
            Resolved::new(0, Source::default("default: none"))
        }
    });
    if gpus_per_node.value == 0 {
        resources.gpu_type.take_if(|kind| kind.source.is_habit());
        resources
            .gpu_memory
            .take_if(|least| least.source.is_habit());
    }
    let ranks_per_node = resources.ranks_per_node.take().unwrap_or_else(|| {
        match (launcher.value, gpus_per_node.value) {
            (Launcher::None, _) => {
                Resolved::new(1, Source::launcher("launcher none starts one process"))
            }
            (launcher, 0 | 1) => {
                let why = format!("{launcher}: 1 per node by default");
                Resolved::new(1, Source::launcher(why))
            }
            (launcher, gpus) => Resolved::new(
                gpus,
                Source::launcher(format!("{launcher}: one rank per GPU")),
            ),
        }
    });
    check_one_process(&launcher, &nodes, &ranks_per_node)?;
    check_started_once(&launcher, &command, &ranks_per_node)?;
    let launcher_options = launcher_options(&launcher, asked.launcher_options)?;
    let idle = gpus_per_node.value > ranks_per_node.value
        && !matches!(launcher.value, Launcher::None | Launcher::Jax);
    if idle {
        notes.push(format!(
            "{} per node for {} GPUs: the other GPUs are idle unless a rank uses several",
            model::counted(ranks_per_node.value as usize, "rank"),
            gpus_per_node.value
        ));
    }
    let tasks_per_node = match launcher.value.shape() {
        Shape::Ranks | Shape::Head => {
            Resolved::new(ranks_per_node.value, Source::launcher("one task per rank"))
        }
        Shape::Agents => {
            let why = format!(
                "{} starts {} ranks in each task",
                launcher.value, ranks_per_node.value
            );
            Resolved::new(1, Source::launcher(why))
        }
    };

    per_gpu::resolve(&mut resources, gpus_per_node.value, ranks_per_node.value)?;
    let choice = NodeChoice::find(&Wanted {
        facts,
        nodes: &nodes,
        ranks_per_node: &ranks_per_node,
        gpus_per_node: &gpus_per_node,
        gpu_type: resources.gpu_type.as_ref(),
        gpu_memory: resources.gpu_memory.as_ref(),
        cpus_per_rank: resources.cpus_per_rank.as_ref(),
        memory: resources.memory.as_ref(),
        memory_per_cpu: resources.memory_per_cpu.as_ref(),
    })?;

    let time = resources.time.or_else(|| {
        let why = format!("default of {}", facts.name);
        let default = facts.default_time?;
        Some(Resolved::new(default, Source::cluster(why)))
    });
    notes.extend(granularity_note(facts, time.as_ref()));
    let grace = grace(asked.resume.grace, time.as_ref())?;
    if facts.embedded {
        let note = "options for sbatch are left out: the embedded engine has none of a site's own";
        notes.extend(resources.sbatch.is_some().then(|| note.to_owned()));
    }
    let name = name(input, asked.name);
    check_lightning_name(&launcher, &name)?;
    notes.extend(lightning_signal_note(
        &launcher,
        asked.resume.notify.as_ref(),
    ));

    let environment = environment(input.base, asked.environment, &launcher, facts)?;
    let resume_on = asked.resume.on.unwrap_or_else(|| {
        let all = vec![
            ResumeOn::Timeout,
            ResumeOn::Preemption,
            ResumeOn::NodeFailure,
        ];
        or(all, "default: a run continues until it is done")
    });
    notes.extend(hang_plan::note(&asked.watch));
    let path = |path: Resolved<String>| path.map(|path| in_folder(input.base, &path));
    let plan = Plan {
        name,
        cluster: facts.name.clone(),
        embedded: facts.embedded,
        launcher,
        launcher_options,
        command,
        repeat: or(1, "the first"),
        repeats: asked.repeat.unwrap_or_else(|| or(1, "default: one run")),
        at_once: asked.at_once,
        after: asked.after.run,
        nodes,
        uneven,
        ranks_per_node,
        tasks_per_node,
        cpus_per_rank: choice.cpus_per_rank,
        gpus_per_node,
        gpu_type: choice.gpu_type,
        gpus_as_gres: false,
        gpu_memory: resources.gpu_memory,
        memory: choice.memory,
        memory_left: resources
            .memory
            .filter(|asked| asked.value.0.is_none())
            .map(|asked| asked.source),
        time,
        account: resources.account,
        qos: resources.qos,
        partition: resources.partition,
        exclusive: resources
            .exclusive
            .unwrap_or_else(|| or(false, "default: nodes are shared")),
        constraint: resources.constraint,
        sbatch: resources.sbatch.unwrap_or_else(|| or(Vec::new(), "none")),
        environment,
        data: DataPlan {
            stage: match asked.data.stage {
                Some(stage) => stage.map(|paths| {
                    paths
                        .iter()
                        .map(|path| absolute(input.base, path))
                        .collect()
                }),
                None => or(Vec::new(), "none"),
            },
            base: Some(input.base.to_owned()),
            collect: asked.data.collect.unwrap_or_else(|| or(Vec::new(), "none")),
            local_logs: asked.data.local_logs.filter(|local| local.value),
        },
        checkpoints: CheckpointPlan {
            keep: asked
                .checkpoints
                .keep
                .unwrap_or_else(|| or(Keep::All, "default: no checkpoint is deleted")),
            complete: complete(
                asked.checkpoints.complete,
                asked.checkpoints.marker,
                asked.checkpoints.settle,
            ),
        },
        hang: hang_plan::hang(asked.watch, &resume_on)?,
        resume: ResumePlan {
            on: resume_on,
            by: asked.resume.by.unwrap_or_else(|| by(facts)),
            grace,
            notify: asked
                .resume
                .notify
                .unwrap_or_else(|| or(Notify::None, "an unhandled signal would kill it")),
            args: asked.resume.args.unwrap_or_else(|| or(Vec::new(), "none")),
        },
        mail: asked.notify.mail,
        mail_on: asked
            .notify
            .on
            .unwrap_or_else(|| or(vec![MailEvent::End, MailEvent::Fail], "what one waits for")),
        notify: NotifyPlan {
            server: asked.notify.server,
            password_file: asked.notify.password_file.map(&path),
            from: asked.notify.from,
            hook_file: asked.notify.hook_file.map(&path),
            hook_form: Some(
                asked
                    .notify
                    .hook_form
                    .unwrap_or_else(|| or(HookForm::Json, "docs/notify.md")),
            ),
        },
        services: service_plan::services(asked.services),
        node_local: Resolved::new(
            facts.node_local.clone(),
            Source::cluster(format!("{}'s disk on each node", facts.name)),
        ),
        notes,
    };
    let groups = choice.groups;
    Ok(Planned { plan, groups })
}

fn or<T>(value: T, why: &str) -> Resolved<T> {
    Resolved::new(value, Source::default(why))
}

/// Requeueing keeps the job's number and its age in the queue; where it does not work, another job
/// has to wait.
fn by(facts: &ClusterFacts) -> Resolved<ResumeBy> {
    match (&facts.comeback.no_requeue, facts.comeback.submit_from_nodes) {
        (Some(why), _) => {
            let why = format!("{}: {why}", facts.name);
            Resolved::new(ResumeBy::Successor, Source::cluster(why))
        }
        (None, false) => {
            let why = format!("{}: its nodes can't talk to the scheduler", facts.name);
            Resolved::new(ResumeBy::Successor, Source::cluster(why))
        }
        (None, true) => or(ResumeBy::Requeue, "the same job is requeued"),
    }
}

/// Puts the layers over each other.
pub(crate) fn layers(input: &PlanInput<'_>) -> Sections {
    let mut sections = Sections::default();
    for file in [input.user_config, input.run_file].into_iter().flatten() {
        sections.overlay(file.body.clone());
        if let Some(section) = file.clusters.get(&input.facts.name) {
            sections.overlay(section.clone());
        }
    }
    sections.overlay(Sections {
        name: input.variables.name.clone(),
        resources: input.variables.resources.clone(),
        ..Sections::default()
    });
    let Overrides {
        name,
        launcher,
        repeat,
        at_once,
        command,
        resources,
    } = input.overrides.clone();
    sections.overlay(Sections {
        name,
        launcher,
        repeat,
        at_once,
        command,
        resources,
        ..Sections::default()
    });
    sections
}

/// What is set for sbatch and goes nowhere: said, since nothing is ignored in silence.
fn left_out_note(variables: &Variables) -> Option<String> {
    let names = &variables.left_out;
    (!names.is_empty()).then(|| {
        format!(
            "{} is set, which a run leaves out: say it as [resources] sbatch = [\"--…\"]",
            names.join(", ")
        )
    })
}

fn no_command(input: &PlanInput<'_>) -> Refusal {
    let (asked, todo) = match input.run_file {
        Some(run_file) => (
            match run_file.first_place() {
                Some(place) => format!("a run file that sets {place}"),
                None => "a run file that sets nothing".to_owned(),
            },
            "add command = [\"python\", \"train.py\"] above its first [section]",
        ),
        None => (
            "a run without a run file".to_owned(),
            "write the command after --, as in yard run -- python train.py",
        ),
    };
    Refusal {
        kind: RefusalKind::Usage,
        message: "there is no command to run".to_owned(),
        asked,
        there: "no command in it, and none after -- on the command line".to_owned(),
        todo: todo.to_owned(),
    }
}

/// The given name, else the default made fit.
fn name(input: &PlanInput<'_>, asked: Option<Resolved<String>>) -> Resolved<String> {
    if let Some(asked) = asked {
        return asked;
    }
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let name: String = input
        .default_name
        .chars()
        .map(|letter| if fits(letter) { letter } else { '-' })
        .take(64)
        .collect();
    let name = name.trim_start_matches(|letter: char| !letter.is_ascii_alphanumeric());
    let name = if name.is_empty() { "run" } else { name };
    Resolved::new(name.to_owned(), Source::default("the folder's name"))
}

fn check_one_process(
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

/// A command that starts its launcher itself would start it in each rank, and so would one that starts
/// another launcher, which starts all ranks of a node.
fn check_started_once(
    launcher: &Resolved<Launcher>,
    command: &Resolved<Vec<String>>,
    ranks: &Resolved<u32>,
) -> Result<(), Refusal> {
    let own = launcher.value.started_by(&command.value);
    let Some((begun, starter)) = Launcher::begun_by(&command.value) else {
        return Ok(());
    };
    let is_own = begun == launcher.value || own.as_ref() == Some(&starter);
    let is_step_in_step = starter.starts_with("srun");
    let is_in_each_rank = launcher.value.shape() != Shape::Ranks || ranks.value > 1;
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
fn launcher_options(
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
fn check_lightning_name(
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

/// At SIGUSR1 Lightning's Slurm mode saves and brings the job back itself, beside the run.
fn lightning_signal_note(
    launcher: &Resolved<Launcher>,
    notify: Option<&Resolved<Notify>>,
) -> Option<String> {
    let notify = notify.filter(|notify| notify.value == Notify::Sigusr1)?;
    (launcher.value == Launcher::Lightning).then(|| {
        format!(
            "[resume] notify = \"SIGUSR1\" ({}): Lightning requeues the job itself at that signal, as the run does; give its Trainer plugins=[SLURMEnvironment(auto_requeue=False)], or notify by a file",
            notify.source
        )
    })
}

/// Slurm counts in minutes.
fn granularity_note(
    facts: &ClusterFacts,
    time: Option<&Resolved<TimeLimitRequest>>,
) -> Option<String> {
    let TimeLimitRequest::Limit(asked) = time?.value else {
        return None;
    };
    let step = facts.time_granularity.0.max(1);
    let given = Seconds(asked.0.div_ceil(step) * step);
    (given != asked).then(|| {
        format!(
            "{} counts in steps of {}: the limit becomes {}",
            facts.name,
            say_seconds(Seconds(step)),
            say_seconds(given)
        )
    })
}

/// How long before its limit a job is ended where the run file names no grace: two minutes, or an
/// eighth of a short limit, but two seconds as long as half of the limit is left for work.
#[must_use]
pub fn default_grace(limit: Duration) -> Duration {
    let least = LEAST_GRACE.min(limit / 2);
    (limit / 8).clamp(least, GRACE.max(least))
}

fn grace(
    asked: Option<Resolved<Seconds>>,
    time: Option<&Resolved<TimeLimitRequest>>,
) -> Result<Resolved<Seconds>, Refusal> {
    let limit = match time.map(|time| time.value) {
        Some(TimeLimitRequest::Limit(limit)) => Some(limit),
        Some(TimeLimitRequest::Unlimited) | None => None,
    };
    match (asked, limit, time) {
        (Some(grace), Some(limit), Some(time)) if grace.value >= limit => Err(Refusal {
            kind: RefusalKind::Usage,
            message: "the grace is as long as the job".to_owned(),
            asked: format!("grace = {} ({})", say_seconds(grace.value), grace.source),
            there: format!("time = {} ({})", say_seconds(limit), time.source),
            todo: "a shorter grace, or a longer time".to_owned(),
        }),
        (Some(grace), _, _) => Ok(grace),
        (None, limit, _) => {
            let limit = limit.map(|limit| Duration::from_secs(limit.0));
            let grace = limit.map_or(GRACE, default_grace);
            let why = if grace < GRACE {
                "default: an eighth of the limit"
            } else {
                "default: to save a last checkpoint before the limit"
            };
            let whole = grace.as_secs() + u64::from(grace.subsec_nanos() > 0);
            Ok(or(Seconds(whole), why))
        }
    }
}

fn complete(
    word: Option<Resolved<CompleteWord>>,
    marker: Option<Resolved<String>>,
    settle: Option<Resolved<Seconds>>,
) -> Resolved<Complete> {
    let length = settle.as_ref().map_or(SETTLE, |settle| settle.value);
    let recognise = Complete::Recognise { settle: length };
    match (word, marker) {
        (Some(word), marker) => word.map(|word| match (word, marker) {
            (CompleteWord::Rename, _) => Complete::Rename,
            (CompleteWord::Settle, _) => Complete::Settle { settle: length },
            (CompleteWord::Marker, Some(marker)) => Complete::Marker { name: marker.value },
            (CompleteWord::Marker, None) => recognise,
        }),
        (None, _) => match settle {
            Some(settle) => Resolved::new(recognise, settle.source),
            None => or(recognise, "by its format"),
        },
    }
}

fn environment(
    base: &Path,
    asked: crate::EnvironmentSection,
    launcher: &Resolved<Launcher>,
    facts: &ClusterFacts,
) -> Result<EnvironmentPlan, Refusal> {
    let mut modules = asked.modules.unwrap_or_else(|| or(Vec::new(), "none"));
    let container = containers::resolve(
        asked.container,
        &modules.value,
        &facts.name,
        &facts.containers.runtimes,
        |path| absolute(base, path),
    )?;
    let mut python = asked.python;
    if let Some(container) = &container {
        python.take_if(|python| python.source.is_habit());
        check_beside_container(container, python.as_ref(), launcher)?;
        load_runtime(&mut modules, container, facts);
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
        container,
        variables: asked.variables.unwrap_or_else(no_variables),
        secrets: asked.secrets.unwrap_or_else(no_secrets),
    })
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
    if is_there || facts.containers.runtimes.first() != Some(&container.runtime.value) {
        return;
    }
    if modules.value.is_empty() {
        let why = format!("brings {} on {}", container.runtime.value, facts.name);
        modules.source = Source::cluster(why);
    }
    modules.value.push(module.clone());
}

/// A path against the run file's folder, without `.` and `..` where that needs no look at the
/// disk.
/// Against the folder; one below `~` stays as it is.
fn in_folder(base: &Path, path: &str) -> PathBuf {
    if path.starts_with("~/") {
        PathBuf::from(path)
    } else {
        absolute(base, path)
    }
}

fn absolute(base: &Path, path: &str) -> PathBuf {
    let mut whole = PathBuf::new();
    for part in base.join(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                whole.pop();
            }
            part => whole.push(part),
        }
    }
    whole
}

#[cfg(test)]
#[path = "planner_tests/mod.rs"]
mod tests;
