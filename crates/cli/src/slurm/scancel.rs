//! `scancel`: ends or signals jobs, elements of arrays and steps.

use super::connection::{CommandError, connect, view_facts};
use crate::printer::Printer;
use api::{CancelRequest, Client, JobFilter, Refusal, Selector};
use model::scancel::{self, ScancelAction, ScancelArgs, ScancelFilter, ScancelTarget};
use model::{ArrayTaskInfo, ComponentPlace, JobId, JobInfo};
use std::io::{BufRead, IsTerminal};

/// The signal of `scancel` where none is named.
const SIGKILL: i32 = 9;

/// Runs it; returns its exit status.
pub fn run(args: &[String], printer: &Printer) -> u8 {
    let asked = match scancel::parse("scancel", args, &super::variable) {
        Ok(asked) => asked,
        Err(error) => {
            printer.say(&error.to_string());
            return 1;
        }
    };
    match asked.action {
        ScancelAction::Help => {
            printer.data(&help());
            return 0;
        }
        ScancelAction::Usage => {
            printer.data(USAGE);
            return 0;
        }
        ScancelAction::Version => {
            printer.line(&super::version_line());
            return 0;
        }
        ScancelAction::Cancel => {}
    }
    if let Err(message) = super::refuse_other_clusters("scancel", asked.clusters.as_deref()) {
        printer.say(&format!("scancel: error: {message}"));
        return 1;
    }
    if asked.interactive && !std::io::stdin().is_terminal() {
        printer.say("scancel: error: --interactive asks for each job, and there is no terminal to answer from: leave it out");
        return 1;
    }
    match cancel(&asked, printer) {
        Ok(status) => status,
        Err(failure) => {
            failure.say("scancel", printer);
            1
        }
    }
}

fn cancel(asked: &ScancelArgs, printer: &Printer) -> Result<u8, CommandError> {
    if let Some(user) = &asked.filter.user
        && user.parse::<u32>().is_err()
        && matches!(sys::users::user_by_name(user), Ok(None))
    {
        printer.say(&format!("scancel: error: Invalid user name: {user}"));
        return Ok(1);
    }
    let mut client = connect()?;
    if asked.targets.is_empty()
        && !asked.interactive
        // Each job is named.
        && !asked.verbose
        && let Some(selector) = selector(&asked.filter)
    {
        return one(asked, selector, "matching jobs", &mut client, printer);
    }
    let by_id_alone = asked.filter == ScancelFilter::default() && !asked.interactive;
    let steps = asked.targets.iter().all(|target| {
        !matches!(
            target,
            ScancelTarget::ElementStep(..) | ScancelTarget::Component(..)
        )
    });
    if by_id_alone && steps {
        return each(asked, asked.targets.iter().map(named), &mut client, printer);
    }
    chosen(asked, &mut client, printer)
}

/// Looks at the jobs that live, and cancels those that are named and meet the filter.
fn chosen(asked: &ScancelArgs, client: &mut Client, printer: &Printer) -> Result<u8, CommandError> {
    let facts = view_facts(Some(client))?;
    let jobs: Vec<JobInfo> = client
        .jobs(JobFilter::default())?
        .iter()
        .map(|record| JobInfo::of(record, &facts))
        .collect();
    let mut worst = 0;
    let mut selectors: Vec<(&JobInfo, Selector)> = Vec::new();
    for target in &asked.targets {
        let found: Vec<(&JobInfo, Selector)> = jobs
            .iter()
            .filter_map(|job| Some((job, fitting(target, job)?)))
            .collect();
        if found.is_empty() {
            // Of a component that there is not Slurm says nothing.
            if matches!(target, ScancelTarget::Component(..)) {
                continue;
            }
            worst = 1;
            if !asked.quiet {
                let (_, name) = named(target);
                let what = match target {
                    ScancelTarget::Step(..) | ScancelTarget::ElementStep(..) => "job step",
                    ScancelTarget::Job(_)
                    | ScancelTarget::Elements(..)
                    | ScancelTarget::Component(..) => "job",
                };
                printer.say(&format!(
                    "scancel: error: Kill job error on {what} id {name}: Invalid job id specified"
                ));
            }
        }
        selectors.extend(found);
    }
    if asked.targets.is_empty() {
        selectors = jobs.iter().map(|job| (job, whole(job))).collect();
    }
    selectors.retain(|(job, _)| meets(&asked.filter, job));
    if asked.verbose
        && selectors.is_empty()
        && let Some(said) = asked.filter.unmet(sys::process::user())
    {
        printer.say(&format!("scancel: error: {said}"));
    }
    let wanted = selectors
        .into_iter()
        .filter(|(job, _)| !asked.interactive || confirmed(job, printer));
    let wanted = wanted.map(|(job, selector)| (selector, job.id_text(true)));
    Ok(worst.max(each(asked, wanted, client, printer)?))
}

/// Cancels each, all in one call: a thousand that wait for the disk one by one take seconds.
fn each(
    asked: &ScancelArgs,
    selectors: impl Iterator<Item = (Selector, String)>,
    client: &mut Client,
    printer: &Printer,
) -> Result<u8, CommandError> {
    let mut requests = Vec::new();
    let mut names = Vec::new();
    for (selector, name) in selectors {
        let is_step = matches!(selector, Selector::Step(..));
        say_before(asked, is_step, &name, printer);
        names.push((name, is_step));
        requests.push(request(asked, selector));
    }
    if requests.is_empty() {
        return Ok(0);
    }
    let refusals = client.cancel_each(requests)?;
    let codes = names
        .iter()
        .zip(refusals)
        .map(|((name, is_step), refusal)| {
            refusal.map_or(0, |refusal| {
                refused(asked, &refusal, *is_step, name, printer)
            })
        });
    Ok(codes.max().unwrap_or(0))
}

/// Cancels what one selector says; what a refusal means for the exit status is Slurm's.
fn one(
    asked: &ScancelArgs,
    selector: Selector,
    name: &str,
    client: &mut Client,
    printer: &Printer,
) -> Result<u8, CommandError> {
    let is_step = matches!(selector, Selector::Step(..));
    say_before(asked, is_step, name, printer);
    match client.cancel(request(asked, selector)) {
        Ok(()) => Ok(0),
        Err(error) => match error.refusal() {
            Some(refusal) => Ok(refused(asked, refusal, is_step, name, printer)),
            None => Err(error.into()),
        },
    }
}

fn say_before(asked: &ScancelArgs, is_step: bool, name: &str, printer: &Printer) {
    if asked.verbose {
        let what = if is_step { "step" } else { "job" };
        printer.say(&match asked.signal {
            None => format!("scancel: Terminating {what} {name}"),
            Some(signal) => format!("scancel: Signal {signal} to {what} {name}"),
        });
    }
}

fn request(asked: &ScancelArgs, selector: Selector) -> CancelRequest {
    CancelRequest {
        // A job that is killed is cancelled, too.
        signal: asked
            .signal
            .filter(|signal| *signal != SIGKILL || matches!(selector, Selector::Step(..))),
        selector,
        batch: asked.batch,
        full: asked.full,
    }
}

/// Says why nothing was cancelled; the exit status that it means.
fn refused(
    asked: &ScancelArgs,
    refusal: &Refusal,
    is_step: bool,
    name: &str,
    printer: &Printer,
) -> u8 {
    let (reason, is_over) = match refusal {
        Refusal::NoSuchJob { .. } => ("Invalid job id specified".to_owned(), true),
        Refusal::AlreadyEnded { .. } => {
            ("Job/step already completing or completed".to_owned(), true)
        }
        Refusal::NotRunning { .. } => ("Job is pending execution".to_owned(), false),
        Refusal::NotYours { .. } => ("Access/permission denied".to_owned(), false),
        other => (other.to_string(), false),
    };
    // Slurm has no word for a job that is over already, unless it is asked to speak.
    // With a signal there is no such silence.
    let signals = asked.signal.is_some() || asked.batch || asked.full;
    if (asked.verbose || !is_over || is_step || signals) && !asked.quiet {
        let what = if is_step { "job step" } else { "job" };
        printer.say(&format!(
            "scancel: error: Kill job error on {what} id {name}: {reason}"
        ));
    }
    let ends = asked.signal.is_none_or(|signal| signal == SIGKILL) && !asked.batch && !asked.full;
    match refusal {
        Refusal::Invalid { message } if message.contains("individual component") => NOT_WHOLE_JOB,
        _ => u8::from(is_step || !(is_over && ends)),
    }
}

/// What is left of the number of Slurm's error as an exit status.
const NOT_WHOLE_JOB: u8 = 60;

/// The filter as the engine can apply it by itself, in one transaction.
fn selector(filter: &ScancelFilter) -> Option<Selector> {
    if filter.nodes.is_some() || filter.reservation.is_some() || filter.wckey.is_some() {
        return None;
    }
    let uid = match (&filter.user, filter.me) {
        (Some(user), _) => Some(user.parse().ok()?),
        (None, true) => Some(sys::process::user()),
        (None, false) => None,
    };
    // The engine knows default names of partition, account and QOS only as absent ones.
    if filter.partition.is_some() || filter.account.is_some() || filter.qos.is_some() {
        return None;
    }
    Some(Selector::Matching {
        uid,
        name: filter.name.clone(),
        state: filter.state.map(|state| state.long().to_owned()),
        partition: None,
        account: None,
        qos: None,
    })
}

fn meets(filter: &ScancelFilter, job: &JobInfo) -> bool {
    let same = |asked: &Option<String>, has: Option<&str>| {
        asked
            .as_deref()
            .is_none_or(|asked| has.is_some_and(|has| has == asked))
    };
    same(&filter.account, job.account())
        && same(&filter.name, Some(job.name()))
        && same(&filter.partition, Some(&job.partition))
        && same(&filter.qos, Some(&job.qos))
        && same(&filter.reservation, job.reservation.as_deref())
        && same(&filter.wckey, job.shown().wckey.as_deref())
        && filter.state.is_none_or(|state| state == job.base_state)
        && filter
            .nodes
            .as_ref()
            .is_none_or(|nodes| job.nodes.iter().any(|node| nodes.contains(node)))
        && filter
            .user
            .as_ref()
            .is_none_or(|user| *user == job.user() || user.parse() == Ok(job.uid()))
        && (!filter.me || job.uid() == sys::process::user())
}

fn named(target: &ScancelTarget) -> (Selector, String) {
    match target {
        ScancelTarget::Job(job) => (Selector::Job(*job), job.to_string()),
        ScancelTarget::Elements(job, tasks) => {
            let name = match tasks.as_slice() {
                [task] => format!("{job}_{task}"),
                tasks => format!("{job}_[{}]", model::array_elements_text(tasks, None, true)),
            };
            (Selector::Elements(*job, tasks.clone()), name)
        }
        ScancelTarget::Component(leader, offset) => {
            let job = JobId(leader.0.saturating_add(*offset));
            (Selector::Job(job), format!("{leader}+{offset}"))
        }
        ScancelTarget::Step(job, step) => (Selector::Step(*job, *step), format!("{job}.{step}")),
        ScancelTarget::ElementStep(job, task, step) => {
            (Selector::Step(*job, *step), format!("{job}_{task}.{step}"))
        }
    }
}

/// What of the job the target means.
fn fitting(target: &ScancelTarget, job: &JobInfo) -> Option<Selector> {
    let array = job.array.as_ref();
    let has = |task: u32| {
        array.is_some_and(|array| match &array.task {
            ArrayTaskInfo::One(one) => *one == task,
            ArrayTaskInfo::Waiting(tasks) => tasks.contains(&task),
        })
    };
    let is = |id: JobId| job.id == id.0 || array.is_some_and(|array| array.job == id.0);
    match target {
        ScancelTarget::Job(id) => is(*id).then(|| whole(job)),
        ScancelTarget::Elements(id, tasks) => {
            let mine: Vec<u32> = tasks.iter().copied().filter(|task| has(*task)).collect();
            (array.is_some_and(|array| array.job == id.0) && !mine.is_empty())
                .then_some(Selector::Elements(*id, mine))
        }
        ScancelTarget::Component(leader, offset) => {
            let is = |place: ComponentPlace| place.leader == *leader && place.offset == *offset;
            job.component().is_some_and(is).then(|| whole(job))
        }
        ScancelTarget::Step(id, step) => (job.id == id.0).then_some(Selector::Step(*id, *step)),
        ScancelTarget::ElementStep(id, task, step) => {
            (array.is_some_and(|array| array.job == id.0) && has(*task))
                .then_some(Selector::Step(JobId(job.id), *step))
        }
    }
}

/// All of this row: an element, or those of an array that wait together.
fn whole(job: &JobInfo) -> Selector {
    match &job.array {
        None => Selector::Job(JobId(job.id)),
        Some(array) => {
            let tasks = match &array.task {
                ArrayTaskInfo::One(task) => vec![*task],
                ArrayTaskInfo::Waiting(tasks) => tasks.clone(),
            };
            Selector::Elements(JobId(array.job), tasks)
        }
    }
}

fn confirmed(job: &JobInfo, printer: &Printer) -> bool {
    printer.data(&format!(
        "Cancel job_id={} name={} partition={} [y/n]? ",
        job.id_text(true),
        job.name(),
        job.partition
    ));
    let mut answer = String::new();
    let read = std::io::stdin().lock().read_line(&mut answer);
    read.is_ok() && answer.trim_start().starts_with(['y', 'Y'])
}

const USAGE: &str = "\
Usage: scancel [-A account] [--batch] [--full] [--interactive] [--me] [-n job_name]
               [-p partition] [-Q] [-q qos] [-R reservation] [-s signal | integer]
               [-t PENDING | RUNNING] [--usage] [-u user_name] [-V] [-v] [-w hosts...]
               [job_id[_array_id][.step_id]]
";

/// What `--help` says above the options.
const ABOUT: &str = "\
Usage: scancel [OPTIONS] [job_id[_array_id][.step_id] ...]
Ends or signals jobs of Trainyard's embedded engine as Slurm's scancel does those of a cluster.
";

/// `scancel --help`
pub(super) fn help() -> String {
    super::command_help("scancel", ABOUT, "")
}
