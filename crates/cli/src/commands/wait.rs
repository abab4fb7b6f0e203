//! `yard wait`

use super::follow::OutageReport;
use super::repeats;
use crate::exit_code;
use crate::failure::{Failure, Outcome};
use crate::printer::Printer;
use crate::slurm::{connection, sbatch_wait};
use backend::{JobView, Poller, ViewState};
use clap::Args as ClapArgs;
use model::JobId;
use runs::{FILE_PAUSE, FailureKind, Run, RunState};
use runs::{Selected, select_live, select_repeats};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use sys::Places;

/// Wait until runs or jobs are over; exit 0 if all of them were done
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// A run or a job, by id or name, or @ for the newest one
    #[arg(value_name = "RUN", default_value = "@")]
    runs: Vec<String>,
}

/// Runs `yard wait`.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    // All are asked about from the start: one question a cluster.
    let places = runs::places()?;
    let mut pollers = BTreeMap::new();
    let mut several = Vec::new();
    let mut single = Vec::new();
    for text in &args.runs {
        match select_repeats(text)? {
            Some(repeats) => several.push(repeats),
            None => single.push(text),
        }
    }
    let waited: Result<Vec<Waited>, Failure> = single
        .into_iter()
        .map(|text| {
            Ok(Waited::of(
                super::selected(select_live(text), printer)?,
                &mut pollers,
                &places,
            ))
        })
        .collect();
    let mut code = exit_code::DONE;
    for repeats in several {
        let id = repeats.entry.id.clone();
        let all_done = matches!(
            repeats::wait(repeats, None, printer)?,
            repeats::Waited::Over(true)
        );
        printer.show_line(&if all_done {
            format!("all of {id} are done")
        } else {
            format!("not all of {id} are done")
        });
        if !all_done {
            code = exit_code::FAILED;
        }
    }
    for mut one in waited? {
        let mut elements_failed = false;
        if let Some(job) = one.array {
            elements_failed =
                wait_for_elements(&one.cluster, job)?.is_some_and(|status| status != 0);
        }
        let (mut word, mut done) = wait_for(&mut one, &pollers, printer)?;
        if done && elements_failed {
            (word, done) = (
                "ended, and not all of its elements completed".to_owned(),
                false,
            );
        }
        printer.show_line(&format!("{} {word}", one.name));
        if !done {
            code = exit_code::FAILED;
        }
    }
    Ok(code)
}

/// How often the files of a run are read whose cluster is asked seldom.
const READ_PAUSE: Duration = Duration::from_millis(250);

/// One that is waited for.
struct Waited {
    name: String,
    cluster: String,
    run: Option<Run>,
    job: Option<JobId>,
    /// A job of no run of the embedded engine, which may be an array.
    array: Option<JobId>,
    /// It was over already, and what its cluster said of it then.
    over: Option<Option<JobView>>,
    /// An element of an array, asked for by itself: its id changes when it starts.
    element: Option<Selected>,
}

impl Waited {
    fn of(
        mut selected: Selected,
        pollers: &mut BTreeMap<String, Poller>,
        places: &Places,
    ) -> Waited {
        let mut one = Waited {
            name: selected.name(),
            cluster: selected.transport.cluster().to_owned(),
            run: selected.run.clone(),
            job: selected.job,
            array: None,
            over: None,
            element: None,
        };
        if selected.element.is_some() {
            one.element = Some(selected);
            return one;
        }
        if one.run.is_none() && selected.transport.is_embedded() {
            one.array = one.job;
        }
        one.over = is_over(&mut selected);
        let transport = selected.transport;
        let poller = pollers
            .entry(one.cluster.clone())
            .or_insert_with(|| runs::poller(transport, places));
        poller.watch(&one.jobs());
        one
    }

    fn jobs(&self) -> Vec<JobId> {
        match &self.run {
            Some(run) => run.live_jobs(),
            None => self.job.into_iter().collect(),
        }
    }
}

/// What its cluster says of a run whose files say that it is over, where its job is over too. The
/// answer that all share may be older than that.
fn is_over(selected: &mut Selected) -> Option<Option<JobView>> {
    let run = selected.run.as_ref();
    let is_settled = run.is_some_and(|run| !run.needs_cluster());
    if !is_settled || selected.transport.is_embedded() {
        return None;
    }
    let view = selected.view().ok()?;
    let lives = view.as_ref().is_some_and(|view| view.state.is_live());
    (!lives).then_some(view)
}

/// Waits for a plain job of the embedded engine, or for all elements of an array.
/// Returns the highest of their exit statuses.
fn wait_for_elements(cluster: &str, job: JobId) -> Result<Option<u8>, Failure> {
    let ended =
        connection::connect_to(cluster).and_then(|mut client| sbatch_wait::wait(&mut client, job));
    ended.map_err(|failure| Failure::new(exit_code::UNREACHABLE, failure.to_string()))
}

/// How a run ended, as the end of a sentence that begins with its name.
fn outcome(state: &RunState) -> String {
    match state {
        RunState::Done { .. } => "is done".to_owned(),
        RunState::Failed { cause } => format!("failed: {cause}"),
        RunState::Cancelled => "was cancelled".to_owned(),
        RunState::Refused { why } => format!("was refused: {why}"),
        RunState::NotSubmitted => "was never submitted".to_owned(),
        RunState::Unknown { what } => format!("ended, how is unknown: {what}"),
        RunState::Waiting { .. } | RunState::Running { .. } | RunState::Resuming { .. } => {
            format!("is {}", state.word())
        }
    }
}

/// Waits for the end of one, and says how it ended and whether that is success.
fn wait_for(
    one: &mut Waited,
    pollers: &BTreeMap<String, Poller>,
    printer: &Printer,
) -> Result<(String, bool), Failure> {
    let Some(poller) = pollers.get(&one.cluster).filter(|_| one.element.is_none()) else {
        return wait_for_element(one);
    };
    if let Some(view) = one.over.take() {
        return ended(one, view);
    }
    let (mut looks, mut outages) = (0, OutageReport::default());
    let mut read = Instant::now();
    let mut was_over = one.run.as_ref().is_some_and(|run| !run.needs_cluster());
    loop {
        outages.see(poller, printer);
        let jobs = one.jobs();
        if jobs.is_empty() {
            return ended(one, None);
        }
        // A shared cluster is asked seldom: the end is in the files first.
        if let Some(run) = &mut one.run
            && !poller.is_embedded()
            && read.elapsed() > READ_PAUSE
        {
            read = Instant::now();
            *run = Run::read(run.entry.clone())?;
            let is_over = !run.needs_cluster();
            if is_over && !was_over {
                return ended(one, None);
            }
            was_over = is_over;
        }
        if let Some(look) = poller.look(looks)? {
            looks = look.number;
            if let Some(run) = &mut one.run {
                // Another job may have taken over since the last look.
                *run = Run::read(run.entry.clone())?;
            }
            let jobs = one.jobs();
            poller.watch(&jobs);
            let view = match &one.run {
                Some(run) => run.view(&look.jobs),
                None => of_job(&look.jobs, one.job),
            };
            if jobs.iter().all(|job| look.asked.contains(job)) && !lives(one, view.as_ref()) {
                return ended(one, view);
            }
        }
        std::thread::sleep(FILE_PAUSE);
    }
}

/// Of a job's rows, or those of an array, a live one where one is.
fn of_job(views: &[JobView], job: Option<JobId>) -> Option<JobView> {
    let own = |view: &&JobView| job.is_some_and(|job| view.id == job || view.array == Some(job));
    let live = views.iter().filter(own).find(|view| view.state.is_live());
    live.or(views.iter().find(own)).cloned()
}

fn lives(one: &Waited, view: Option<&JobView>) -> bool {
    let Some(view) = view.filter(|view| view.state.is_live()) else {
        return false;
    };
    // One that waits to take over from what is done is no reason to wait.
    let waits = |run: &Run| run.job() == Some(view.id) || run.state(Some(view)).is_live();
    one.run.as_ref().is_none_or(waits)
}

fn ended(one: &Waited, view: Option<JobView>) -> Result<(String, bool), Failure> {
    let Some(run) = &one.run else {
        return Ok(job_ended(view));
    };
    // Read again: its last words came while this waited.
    let state = Run::read(run.entry.clone())?.state(view.as_ref());
    Ok((outcome(&state), matches!(state, RunState::Done { .. })))
}

fn job_ended(view: Option<JobView>) -> (String, bool) {
    match view.map(|view| view.state) {
        Some(ViewState::Ended { how, exit, .. }) => {
            (format!("ended: {how} (exit {exit})"), how == "COMPLETED")
        }
        Some(ViewState::Unknown { text }) => (format!("has the state {text}"), false),
        _ => ("is no longer known to its cluster".to_owned(), false),
    }
}

/// Waits for an element of an array; an outage of its cluster too.
fn wait_for_element(one: &mut Waited) -> Result<(String, bool), Failure> {
    let Some(selected) = &mut one.element else {
        return Ok(job_ended(None));
    };
    let begun = Instant::now();
    loop {
        match selected.view() {
            Ok(view) if view.as_ref().is_some_and(|view| view.state.is_live()) => {}
            Ok(view) => return Ok(job_ended(view)),
            Err(error)
                if error.kind == FailureKind::Unreachable && !selected.transport.is_embedded() => {}
            Err(error) => return Err(error.into()),
        }
        std::thread::sleep(selected.transport.pause(begun.elapsed()));
    }
}
