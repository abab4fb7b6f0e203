//! `srun`'s command line and environment, put together.

use crate::options::defined_options::defined_options;
use crate::options::diagnostic::{Diagnostic, Span};
use crate::options::getopt::{Taken, Word};
use crate::options::given_options::GivenOptions;
use crate::options::option_table::{Command, Key};
use crate::options::reading::Reading;
use crate::options::{Show, Surroundings};
use crate::requests::srun_step::{is_range, step, tasks};
use crate::requests::{
    COMPONENT_VARIABLES, Request, StepRequest, asked_job, component, described_job, handed_on,
};
use crate::values::{
    Allocation, Export, JobId, OpenMode, PassedLimits, Seconds, StepContainer, StepPrograms,
    TimeLimitRequest, Variables,
};
use std::path::PathBuf;

/// What `srun` was asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Srun {
    /// The job that the step belongs to: `--jobid`, or the job that `srun` was called in. Where
    /// there is none, `request` asks for one.
    pub job: Option<JobId>,
    /// The allocation to ask for outside of a job.
    pub request: Request,
    /// The step.
    pub step: StepRequest,
    /// Where it runs in components of a heterogeneous job: its part in each, in order, with `request`
    /// and `step` those of the first. Empty for any other.
    pub parts: Vec<StepPart>,
    /// It counts CPUs of a task and no tasks: of its job's CPUs each task has so many ([`tasks_by_cpus`]).
    pub counts_by_cpus: bool,
    /// How its tasks are run.
    pub launch: LaunchOptions,
    /// What the tasks run; never empty unless an error was found or something is to be shown.
    pub command: Vec<String>,
    /// Which of the caller's variables go along.
    pub export: Export,
    /// `--immediate`: seconds to wait for resources.
    pub immediate: Option<u32>,
    /// `--clusters`
    pub clusters: Option<String>,
    /// `--test-only`
    pub test_only: bool,
    /// `--quiet`: only errors are said.
    pub quiet: bool,
    /// `--quiet` twice: errors are not said either.
    pub silent: bool,
    /// How often `--verbose`.
    pub verbose: u32,
    /// What `--verbose` says of the options that were given.
    pub defined: Vec<String>,
    /// Something to print instead.
    pub show: Option<Show>,
}

/// What a step is in one component of a heterogeneous job.
#[derive(Clone, Debug, PartialEq)]
pub struct StepPart {
    /// Which component, counted from 0.
    pub component: u32,
    /// The component to ask for outside of a job.
    pub request: Request,
    /// Tasks, nodes, CPUs.
    pub step: StepRequest,
    /// What these tasks run.
    pub command: Vec<String>,
    /// Which variables of the caller these tasks have.
    pub export: Export,
    /// How they are run; folder and streams are its own.
    pub launch: LaunchOptions,
}

/// How the tasks of a step are run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LaunchOptions {
    /// Variables by which tasks find how they were asked for.
    pub handed_on: Variables,
    /// `--chdir`, absolute; the caller's working directory where not given.
    pub chdir: PathBuf,
    /// `--output`
    pub output: Stream,
    /// `--error`
    pub error: Stream,
    /// `--input`
    pub input: Stream,
    /// `--open-mode`
    pub open_mode: Option<OpenMode>,
    /// `--label`
    pub label: bool,
    /// `--unbuffered`
    pub unbuffered: bool,
    /// `--pty`
    pub pty: bool,
    /// `--multi-prog`: the command is a file of programs.
    pub multi_prog: bool,
    /// `--bcast`: where the copy of the program goes; empty where no place is named.
    pub bcast: Option<String>,
    /// `--time`: the step's own limit.
    pub time: Option<Seconds>,
    /// `--wait`: seconds after the first task ended until the others are ended; `None` and 0 wait
    /// forever.
    pub wait: Option<u32>,
    /// `--quit-on-interrupt`, `--disable-status`
    pub first_interrupt: FirstInterrupt,
    /// `--propagate`
    pub limits: PassedLimits,
    /// `--preserve-env`: the job's counts stay in the step's environment.
    pub preserve_env: bool,
    /// `--container-image` and its like.
    pub container: StepContainer,
    /// `--prolog` and its like.
    pub programs: StepPrograms,
}

/// Where one of the tasks' streams goes, or comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Stream {
    /// `srun`'s own, for all tasks (`all`, `-`, and the default).
    #[default]
    All,
    /// `srun`'s own for this task, nothing for the others.
    Task(u32),
    /// A file pattern; `none` is `/dev/null`.
    File(String),
}

impl Stream {
    fn read(text: Option<&str>, tasks: Option<u32>) -> Stream {
        let Some(text) = text else {
            return Stream::All;
        };
        // Slurm compares three letters, and one dash.
        if text
            .get(..3)
            .is_some_and(|start| start.eq_ignore_ascii_case("all"))
            || text.starts_with('-')
        {
            return Stream::All;
        }
        match text.parse() {
            Ok(task) if tasks.is_none_or(|tasks| task < tasks) => Stream::Task(task),
            _ => Stream::File(text.to_owned()),
        }
    }
}

/// Puts together what was asked for: the command line goes before the environment. `SLURM_*`
/// variables of a job are read as `srun` 23.11 reads them: `SLURM_CPUS_PER_TASK` among them, which
/// 22.05 and 23.02 left out.
///
/// `args` are the words after the command's name; `variables` looks up a name. Where an error is
/// among the diagnostics, Slurm would refuse, and stop at the first one.
#[must_use]
pub fn resolve(
    args: &[String],
    variables: &dyn Fn(&str) -> Option<String>,
    surroundings: &Surroundings<'_>,
) -> (Srun, Vec<Diagnostic>) {
    let mut lines = component::take_with_commands(surroundings.dialect(), &Word::of(args));
    // A component without a command has that of the next one.
    for at in (1..lines.len()).rev() {
        if lines[at - 1].1.is_empty() {
            lines[at - 1].1 = lines[at].1.clone();
        }
    }
    let mut carried = Vec::new();
    for (taken, _) in &mut lines {
        let own = component::carried(&taken.read);
        taken.read.splice(0..0, carried.iter().cloned());
        carried.extend(own);
    }
    let (mut srun, mut said, groups) = resolve_one(&lines[0], variables, surroundings);
    if lines.len() == 1
        && let Some(error) = groups_of_plain_job(&groups, srun.job, variables)
    {
        said.push(error);
        return (srun, said);
    }
    // Outside of any job there are no components to choose from.
    if lines.len() == 1 && srun.job.is_none() {
        return (srun, said);
    }
    if lines.len() == 1 && groups.is_empty() {
        if variables("SLURM_HET_SIZE").is_none() {
            return (srun, said);
        }
        // In a heterogeneous job the first component is meant.
        let variables = |name: &str| of_component(name, 0, variables);
        let (srun, said, _) = resolve_one(&lines[0], &variables, surroundings);
        return (srun, said);
    }
    // Each component's own variables stand for those of the job.
    said.clear();
    for (line, index) in lines.iter().zip(0..) {
        let (_, _, named) = resolve_one(line, variables, surroundings);
        let named = if named.is_empty() { vec![index] } else { named };
        for group in named {
            let variables = |name: &str| of_component(name, group, variables);
            let (read, mut remarks, _) = resolve_one(line, &variables, surroundings);
            remarks.retain(|remark| !said.contains(remark));
            said.extend(remarks);
            srun.parts.push(StepPart {
                component: group,
                request: read.request,
                step: read.step,
                command: read.command,
                export: read.export,
                launch: read.launch,
            });
        }
    }
    said.extend(wrong_groups(&srun, variables));
    srun.parts.sort_by_key(|part| part.component);
    if let Some(first) = srun.parts.first() {
        (srun.request, srun.step) = (first.request.clone(), first.step.clone());
    }
    (srun, said)
}

/// Components that `--het-group` names of the job around, which has none.
fn groups_of_plain_job(
    groups: &[u32],
    job: Option<JobId>,
    variables: &dyn Fn(&str) -> Option<String>,
) -> Option<Diagnostic> {
    let around = variables("SLURM_JOB_ID")?.parse().ok().map(JobId);
    if around != job || variables("SLURM_HET_SIZE").is_some() {
        return None;
    }
    let message = match groups.iter().max()? {
        0 => "No directives to start application on any available hetjob components".to_owned(),
        named => format!("Requested het-group offset exceeds highest hetjob index ({named} > 0)"),
    };
    Some(Diagnostic::error("het-group", Span::Whole, message, 1))
}

/// Components that are named twice, or that the job around does not have.
fn wrong_groups(srun: &Srun, variables: &dyn Fn(&str) -> Option<String>) -> Option<Diagnostic> {
    let mut groups: Vec<u32> = srun.parts.iter().map(|part| part.component).collect();
    groups.sort_unstable();
    if groups.windows(2).any(|two| two[0] == two[1]) {
        let message = "Duplicate het groups in single srun not supported";
        return Some(Diagnostic::fatal("het-group", Span::Whole, message));
    }
    let size = variables("SLURM_HET_SIZE").filter(|_| srun.job.is_some());
    let highest = size.and_then(|size| size.parse::<u32>().ok()?.checked_sub(1))?;
    let named = *groups.last().filter(|named| **named > highest)?;
    let message = if groups.len() == 1 {
        format!("Requested het-group offset exceeds highest hetjob index ({named} > {highest})")
    } else {
        format!(
            "Attempt to run a job step with het group value of {named}, but the job allocation has \
             maximum value of {highest}"
        )
    };
    Some(Diagnostic::error("het-group", Span::Whole, message, 1))
}

/// A variable as an `srun` in one component of a heterogeneous job reads it. Of what a component may
/// have, it has its own or none.
fn of_component(
    name: &str,
    component: u32,
    variables: &dyn Fn(&str) -> Option<String>,
) -> Option<String> {
    let own = |name: &str| variables(&format!("{name}_HET_GROUP_{component}"));
    let is_known = own("SLURM_JOB_ID").is_some();
    match own(name) {
        None if is_known && COMPONENT_VARIABLES.contains(&name) => None,
        None => variables(name),
        own if name == "SLURM_JOB_ID" => variables(name).or(own),
        own => own,
    }
}

/// One component's part of the line, and the components that `--het-group` names.
fn resolve_one(
    (taken, command): &(Taken, Vec<String>),
    variables: &dyn Fn(&str) -> Option<String>,
    surroundings: &Surroundings<'_>,
) -> (Srun, Vec<Diagnostic>, Vec<u32>) {
    let mut reading = Reading::new(Command::Srun, surroundings);
    reading.environment(variables);
    reading.read(taken.read.clone());
    conflicts(&mut reading, command);
    if surroundings.embedded {
        no_pmi(&mut reading);
    }
    // A step counts GPUs in one way, and is not held against its job's.
    if reading.options.job.is_some() && reading.options.gpus_per_task.is_some() {
        reading.options.gpus = None;
    }
    // GPUs in all that are asked of it stand in place of the job's count on each node, as from 24.11 on; so do
    // those of --gres.
    let is_step = reading.options.job.is_some();
    let counts = reading.by_hand(Key::Gpus) || reading.by_hand(Key::Gres);
    if is_step && counts && !reading.by_hand(Key::GpusPerNode) {
        reading.options.gpus_per_node = None;
    }
    if is_step && reading.by_hand(Key::Begin) {
        let message = "error: --begin is ignored because nodes are already allocated.";
        let warning = Diagnostic::warning("begin", Span::Whole, message);
        reading.diagnostics.push(warning);
    }
    let description = asked_job::settle(&mut reading);
    tasks_per_node(&mut reading);
    let base = command
        .first()
        .map(|word| word.rsplit('/').next().unwrap_or(word));
    let base = base.unwrap_or_default();
    let request = Request {
        // Of a range of nodes each has a task, however many there will be.
        tasks: tasks(&reading.options).or((!is_range(&reading.options)).then_some(1)),
        ..described_job::request(&reading, &description, base)
    };
    let o = &reading.options;
    let groups = o.het_groups.clone();
    let mut launch = launch(o, surroundings);
    // Its tasks have the step's name for their job's, where they don't find one.
    let named = match &o.job_name {
        Some(name) if reading.by_hand(Key::JobName) => Some(name.as_str()),
        Some(_) => None,
        None => o.job.map(|_| base),
    };
    let named = named.map(|name| ("SLURM_JOB_NAME".to_owned(), name.to_owned()));
    launch.handed_on.extend(named);
    // A job of its own may count CPUs by GPUs.
    let of_own_job = description.cpus_per_task.filter(|_| !is_step);
    let srun = Srun {
        job: o.job,
        step: StepRequest {
            cpus_per_task: of_own_job.or(o.cpus_per_task),
            ..step(&reading, base)
        },
        parts: Vec::new(),
        counts_by_cpus: is_step
            && (reading.by_hand(Key::CpusPerTask) || variables("SRUN_CPUS_PER_TASK").is_some())
            && o.tasks.is_none()
            && o.tasks_per_node.is_none(),
        launch,
        command: command.clone(),
        export: o.export.clone().unwrap_or_default(),
        immediate: o.immediate,
        clusters: o.clusters.clone(),
        test_only: o.test_only,
        quiet: o.quiet > 0,
        silent: o.quiet > 1,
        verbose: o.verbose,
        defined: defined_options(&reading.given, o.verbose),
        show: o.show,
        request,
    };
    (srun, reading.into_remarks().0, groups)
}

/// The tasks of a step that counts CPUs of a task alone, one on each of its nodes at least (`_set_ntasks` of
/// 22.05.8's srun_job.c).
#[must_use]
pub fn tasks_by_cpus(job: &Allocation, step: &StepRequest) -> u32 {
    let each = step.cpus_per_task.unwrap_or(1).max(1) as usize;
    let tasks: usize = job.nodes.iter().map(|share| share.cpus.len() / each).sum();
    let nodes = u32::try_from(job.nodes.len()).unwrap_or(u32::MAX);
    let nodes = step.min_nodes.unwrap_or(nodes);
    u32::try_from(tasks).unwrap_or(u32::MAX).max(nodes)
}

/// An MPI program whose `MPI_Init` finds no server of that kind would abort, or run as many times alone.
/// What the environment of another Slurm names is passed over.
fn no_pmi(reading: &mut Reading<'_>) {
    let asked = reading.options.mpi.clone().filter(|kind| kind != "none");
    let Some(kind) = asked.filter(|_| reading.by_hand(Key::Mpi)) else {
        return;
    };
    let message = format!(
        "invalid MPI type '{kind}': this engine starts no PMI server, only none; start the program with \
         mpirun, or a run with launcher = \"mpi\""
    );
    let error = Diagnostic::error("mpi", Span::Whole, message, 1);
    reading.diagnostics.push(error);
}

fn conflicts(reading: &mut Reading<'_>, command: &[String]) {
    let o = &reading.options;
    let mut error = |message: &str| {
        let error = Diagnostic::error("conflict", Span::Whole, message, 1);
        reading.diagnostics.push(error);
    };
    if o.exact && o.whole {
        error("--exact and --whole are mutually exclusive.");
    }
    if o.relative.is_some() && (!o.exclude.is_empty() || !o.nodelist.is_empty()) {
        error("-r,--relative not allowed with -w,--nodelist or -x,--exclude.");
    }
    if reading.by_hand(Key::Exclusive) && reading.by_hand(Key::Overlap) {
        let message = "--exclusive and --overlap are mutually exclusive";
        let error = Diagnostic::error("conflict", Span::Whole, message, 1);
        reading.diagnostics.push(error);
    }
    let o = &reading.options;
    if o.relative.is_some() && o.job.is_none() {
        let message = "--relative option invalid for job allocation request";
        let fatal = Diagnostic::fatal("conflict", Span::Whole, message);
        reading.diagnostics.push(fatal);
    }
    let o = &reading.options;
    if command.is_empty() && o.show.is_none() && !o.test_only {
        let fatal = Diagnostic::fatal("no-command", Span::Whole, "No command given to execute.");
        reading.diagnostics.push(fatal);
    }
}

/// `--ntasks-per-node` that does not fit tasks and nodes is passed over, as inherited ones are when
/// a step has its own tasks.
fn tasks_per_node(reading: &mut Reading<'_>) {
    let o = &reading.options;
    let (Some(each), Some(nodes), Some(tasks)) = (o.tasks_per_node, o.nodes, o.tasks) else {
        return;
    };
    let Some(fitting) = tasks.checked_div(nodes.min) else {
        return;
    };
    if each == fitting {
        return;
    }
    if tasks > each {
        let message = format!(
            "Warning: can't honor --ntasks-per-node set to {each} which doesn't match the requested \
             tasks {tasks} with the number of requested nodes {}. Ignoring --ntasks-per-node.",
            nodes.min
        );
        let warning = Diagnostic::warning("tasks-per-node", Span::Whole, message);
        reading.diagnostics.push(warning);
    }
    reading.options.tasks_per_node = None;
}

fn launch(o: &GivenOptions, surroundings: &Surroundings<'_>) -> LaunchOptions {
    let tasks = tasks(o);
    LaunchOptions {
        handed_on: handed_on::of_step(o),
        chdir: o
            .chdir
            .clone()
            .unwrap_or_else(|| surroundings.cwd.to_owned()),
        output: Stream::read(o.output.as_deref(), tasks),
        error: Stream::read(o.error.as_deref(), tasks),
        input: Stream::read(o.input.as_deref(), tasks),
        open_mode: o.open_mode,
        label: o.label,
        unbuffered: o.unbuffered,
        pty: o.pty,
        multi_prog: o.multi_prog,
        bcast: o.bcast.clone(),
        time: match o.time {
            Some(TimeLimitRequest::Limit(seconds)) => Some(seconds),
            Some(TimeLimitRequest::Unlimited) | None => None,
        },
        wait: o.step_wait,
        first_interrupt: FirstInterrupt::of(o),
        limits: o.passed_limits(),
        preserve_env: o.preserve_env,
        programs: o.programs.clone(),
        container: o.container.clone(),
    }
}

/// What `srun` does at a Ctrl-C that no other came shortly before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FirstInterrupt {
    /// Tell how the tasks stand.
    #[default]
    Tell,
    /// `--disable-status`: pass it to the tasks.
    Pass,
    /// `--quit-on-interrupt`: pass it to the tasks and end the step.
    End,
}

impl FirstInterrupt {
    fn of(options: &GivenOptions) -> FirstInterrupt {
        if options.quit_on_interrupt {
            FirstInterrupt::End
        } else if options.disable_status {
            FirstInterrupt::Pass
        } else {
            FirstInterrupt::Tell
        }
    }
}

#[cfg(test)]
mod tests;
