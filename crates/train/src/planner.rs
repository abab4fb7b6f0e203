//! Resolves run file and flags against one cluster.

use crate::grace::{grace, granularity_note};
use crate::launcher_rules::{
    check_lightning_name, check_lightning_signal, check_one_process, check_started_once,
    launcher_options,
};
use crate::node_choice::{NodeChoice, Wanted};
use crate::own_options::check_sbatch_options;
use crate::plan::seen_checkpoints;
use crate::planned_environment::environment;
use crate::service_plan;
use crate::{
    CheckpointPlan, Complete, CompleteWord, HookForm, Keep, Launcher, Notify, NotifyPlan,
    Overrides, Plan, Refusal, RefusalKind, Resolved, ResumeBy, ResumeOn, ResumePlan, RunFile,
    Sections, Shape, Source, Variables,
};
use crate::{gpu_spread, hang_plan, per_gpu};
use model::{ClusterFacts, MailEvent, Seconds};
use std::path::{Component, Path, PathBuf};

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
    notes.extend(at_once_note(asked.at_once.as_ref(), asked.repeat.as_ref())?);
    if let Some(options) = &resources.sbatch {
        check_sbatch_options(options)?;
    }
    let variables = asked.environment.variables.iter();
    let variables = variables.flat_map(|set| set.value.keys().map(String::as_str));
    let variables: Vec<&str> = variables.collect();
    check_started_once(&launcher, &command, (&nodes, &ranks_per_node), &variables)?;
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
    check_lightning_signal(&launcher, asked.resume.notify.as_ref())?;

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
        data: crate::staging::planned(input.base, asked.data)?,
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
            own_checkpoints: asked
                .resume
                .own_checkpoints
                .unwrap_or_else(seen_checkpoints),
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

/// A number of repeats at once says nothing where there are none: a flag is refused; a run file may be meant
/// for more than one run, which then `--repeat` or a sweep's trials make of it.
fn at_once_note(
    at_once: Option<&Resolved<u32>>,
    repeats: Option<&Resolved<u32>>,
) -> Result<Option<String>, Refusal> {
    let (Some(count), None) = (at_once, repeats) else {
        return Ok(None);
    };
    let asked = format!("at_once = {} ({})", count.value, count.source);
    match &count.source {
        Source::Flag { .. } => Err(Refusal {
            kind: RefusalKind::Usage,
            message: "at_once is for repeats, and there are none".to_owned(),
            asked,
            there: "without repeat it is one run".to_owned(),
            todo: "add repeat = N, or leave at_once out".to_owned(),
        }),
        // What a sweep has by default, and what a config says of all runs, is none that a person asked for here.
        source if !source.is_asked() || source.is_habit() => Ok(None),
        _ => Ok(Some(format!(
            "{asked} is for several runs of one file, and this is one: --repeat N makes them, or yard sweep"
        ))),
    }
}

pub(crate) fn or<T>(value: T, why: &str) -> Resolved<T> {
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

/// Against the folder; one below `~` stays as it is.
fn in_folder(base: &Path, path: &str) -> PathBuf {
    if path.starts_with("~/") {
        PathBuf::from(path)
    } else {
        absolute(base, path)
    }
}

/// A path against the run file's folder, without `.` and `..` where that needs no look at the disk.
pub(crate) fn absolute(base: &Path, path: &str) -> PathBuf {
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
