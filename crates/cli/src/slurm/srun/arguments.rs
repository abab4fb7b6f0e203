//! From what `srun` was asked for to what it does.

use super::StepCall;
use super::around_step::AroundStep;
use api::{StepLaunch, TaskFiles};
use model::file_pattern::differs_between_tasks;
use model::srun::{LaunchOptions, Srun, Stream};
use model::submission_environment::submission_variables;
use model::{Export, Variables};
use std::path::Path;
use std::time::Duration;

/// The caller's surroundings.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'a> {
    /// Its environment.
    pub environment: &'a [(String, String)],
    /// Its working directory.
    pub cwd: &'a Path,
    /// Its umask.
    pub umask: u32,
    /// The machine.
    pub host: &'a str,
}

/// The step to run.
pub fn step_call(asked: Srun, caller: &Caller<'_>) -> StepCall {
    let options = &asked.launch;
    let mut environment = caller.environment.to_vec();
    // Goes the way of the caller's own, whatever `--export` makes of that.
    if !environment.iter().any(|(name, _)| name == SRUN_DEBUG) {
        let level = log_level(&asked).to_string();
        environment.push((SRUN_DEBUG.to_owned(), level));
    }
    let of_tasks = |export: &Export| {
        let mut environment = export.for_step(&environment);
        if asked.job.is_none() {
            let own = submission_variables(&asked.request, caller.host, caller.cwd, caller.umask);
            set_all(&mut environment, own);
        } else if !environment.iter().any(|(name, _)| name == "SLURM_UMASK") {
            environment.push(("SLURM_UMASK".to_owned(), format!("{:04o}", caller.umask)));
        }
        set_all(&mut environment, options.handed_on.clone());
        environment.extend(options.limits.variables(&sys::soft_limits()));
        environment
    };
    let parts = asked.parts.iter().map(|part| api::StepPart {
        component: part.component,
        request: part.step.clone(),
        files: Some(task_files(&part.launch, caller)),
        environment: (part.export != asked.export).then(|| of_tasks(&part.export)),
    });
    let launch = StepLaunch {
        parts: parts.collect(),
        programs: programs_of_parts(&asked),
        ..launch(
            options,
            asked.command.clone(),
            of_tasks(&asked.export),
            caller,
        )
    };
    let part_tasks = asked.parts.iter().map(tasks_of_part).collect();
    let part_labels = asked.parts.iter().map(|part| part.launch.label);
    let part_labels = part_labels.collect();
    let later = asked.parts.into_iter().skip(1).map(|part| part.request);
    StepCall {
        job: asked.job,
        launch,
        later: later.collect(),
        part_tasks,
        label: options.label,
        part_labels,
        unbuffered: options.unbuffered,
        pty: options.pty,
        kill_on_bad_exit: asked.step.kill_on_bad_exit,
        wait: options.wait.filter(|wait| *wait > 0).map(seconds),
        first_interrupt: options.first_interrupt,
        quiet: asked.quiet,
        verbose: asked.verbose > 0,
        immediate: asked.immediate.map(seconds),
        programs: AroundStep::asked(&options.programs),
        broadcast: None,
        allocation: asked.request,
        counts_by_cpus: asked.counts_by_cpus,
        request: asked.step,
    }
}

/// How much `srun` says, as Slurm's daemons count it: 3 is `info`.
const SRUN_DEBUG: &str = "SRUN_DEBUG";

fn log_level(asked: &Srun) -> u32 {
    if asked.quiet {
        2
    } else {
        asked.verbose.saturating_add(3)
    }
}

/// The command of each task, where components run different ones.
fn programs_of_parts(asked: &Srun) -> Vec<Vec<String>> {
    let differ = asked
        .parts
        .windows(2)
        .any(|two| two[0].command != two[1].command);
    let parts = asked.parts.iter().filter(|_| differ);
    let programs = parts
        .flat_map(|part| std::iter::repeat_n(part.command.clone(), tasks_of_part(part) as usize));
    programs.collect()
}

/// The tasks of a step in one component.
pub fn tasks_of_part(part: &model::srun::StepPart) -> u32 {
    part.step.tasks.or(part.request.tasks).unwrap_or(1)
}

fn launch(
    options: &LaunchOptions,
    command: Vec<String>,
    environment: Variables,
    caller: &Caller<'_>,
) -> StepLaunch {
    StepLaunch {
        command,
        programs: Vec::new(),
        parts: Vec::new(),
        environment,
        preserve_env: options.preserve_env,
        files: task_files(options, caller),
        umask: caller.umask,
        open_mode: options.open_mode,
        listen: None,
        pty: options.pty,
        time: options.time.map(|time| time.whole_minutes().0),
        task_prolog: options.programs.task_prolog.clone(),
        task_epilog: options.programs.task_epilog.clone(),
        waits: false,
    }
}

fn task_files(options: &LaunchOptions, caller: &Caller<'_>) -> TaskFiles {
    TaskFiles {
        chdir: options.chdir.clone(),
        output: written(&options.output, caller.cwd),
        error: written(&options.error, caller.cwd),
        input: place(&options.input),
        label: options.label,
    }
}

/// As the wire has it: nothing for `srun`'s own stream, a number for that of one task, else a file.
fn place(stream: &Stream) -> Option<String> {
    match stream {
        Stream::All => None,
        Stream::Task(rank) => Some(rank.to_string()),
        // A file whose name is a number or a word of the wire.
        Stream::File(name) if name.parse::<u32>().is_ok() || name == "none" || name == "all" => {
            Some(format!("./{name}"))
        }
        Stream::File(name) => Some(name.clone()),
    }
}

/// A file that all tasks share is opened by `srun` itself in Slurm: in the caller's folder. Files
/// of their own they open in the step's.
fn written(stream: &Stream, cwd: &Path) -> Option<String> {
    let place = place(stream)?;
    match stream {
        Stream::File(_) if !differs_between_tasks(&place) => {
            Some(cwd.join(&place).to_string_lossy().into_owned())
        }
        _ => Some(place),
    }
}

fn seconds(count: u32) -> Duration {
    Duration::from_secs(u64::from(count))
}

fn set_all(environment: &mut Variables, variables: Variables) {
    for (name, value) in variables {
        match environment.iter_mut().find(|(known, _)| *known == name) {
            Some((_, old)) => *old = value,
            None => environment.push((name, value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(stream: Stream, want: Option<&str>) {
        assert_eq!(written(&stream, Path::new("/here")).as_deref(), want);
    }

    #[test]
    fn where_output_goes() {
        let file = |name: &str| Stream::File(name.to_owned());
        check(Stream::All, None);
        check(Stream::Task(3), Some("3"));
        check(file("out-%t"), Some("out-%t"));
        check(file("out-%j"), Some("/here/out-%j"));
        check(file("/there/out"), Some("/there/out"));
        check(file("3"), Some("/here/./3"));
    }
}
