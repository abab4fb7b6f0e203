//! Which run or job a person means: a run's id or name, a job's id or name, or `@` for the newest.

use super::place::{self, places};
use super::plain_jobs::{PlainJob, plain_jobs};
use crate::exit_code;
use crate::failure::Failure;
use backend::{JobView, Run, Transport};
use folder::{Index, IndexEntry};
use model::{JobId, Timestamp};
use sys::Places;

/// What was meant, with the transport to its cluster.
pub struct Selected {
    /// The run; `None` for a job that is none of a run.
    pub run: Option<Run>,
    /// The job, or an array's id; `None` for a run that was never submitted.
    pub job: Option<JobId>,
    /// The way to its cluster.
    pub transport: Box<dyn Transport>,
}

impl Selected {
    /// Its name for a sentence.
    pub fn name(&self) -> String {
        match (&self.run, self.job) {
            (Some(run), _) => run.entry.id.clone(),
            (None, Some(job)) => format!("job {job}"),
            (None, None) => "nothing".to_owned(),
        }
    }

    /// Its name, and the job where that is not said by the name.
    pub fn name_and(&self, job: JobId) -> String {
        match &self.run {
            Some(run) => format!("{} (job {job})", run.entry.id),
            None => self.name(),
        }
    }

    /// Its job, or why there is none.
    pub fn job(&self) -> Result<JobId, Failure> {
        self.job.ok_or_else(|| {
            Failure::new(
                exit_code::FAILED,
                format!("{} was never submitted", self.name()),
            )
            .todo("start it again with yard run")
        })
    }

    /// What the cluster says of its job now; of an array's elements, a live one where one is.
    pub fn view(&mut self) -> Result<Option<JobView>, Failure> {
        if let Some(run) = &mut self.run {
            // Another job may have taken over since the last look.
            *run = Run::read(run.entry.clone())?;
            self.job = run.job();
            let views = self.transport.jobs(&run.live_jobs())?;
            return Ok(run.view(&views));
        }
        match self.job {
            Some(job) => {
                let views = self.transport.jobs(&[job])?;
                let live = views.iter().find(|view| view.state.is_live());
                Ok(live.or(views.first()).cloned())
            }
            None => Ok(None),
        }
    }
}

/// Finds what `text` means.
pub fn select(text: &str) -> Result<Selected, Failure> {
    let places = places()?;
    let index = Index::new(&places.index);
    let found = index
        .find(text)
        .map_err(|error| unreadable(&places, &error))?;
    if let [newest, others @ ..] = &found[..] {
        // One name for several runs means the newest; one beginning for several is a question.
        if newest.id != text && newest.name != text && text != NEWEST && !others.is_empty() {
            let ids: Vec<&str> = found.iter().map(|entry| entry.id.as_str()).collect();
            return Err(
                Failure::new(exit_code::USAGE, format!("{text} can mean several runs"))
                    .asked(text)
                    .there(ids.join(", "))
                    .todo("say more of the id"),
            );
        }
        if text == NEWEST
            && let Some(job) = plain_job(&places, &index, |job| job.submitted > newest.created)?
        {
            return Ok(job);
        }
        return of_run(&places, newest.clone());
    }
    match text.parse::<u32>() {
        Ok(job) => of_job(&places, &index, JobId(job), text),
        Err(_) => plain_job(&places, &index, |job| text == NEWEST || job.name == text)?
            .ok_or_else(|| nothing(text, &index)),
    }
}

/// What means the newest run or job.
const NEWEST: &str = "@";

/// The newest job of no run that is meant, on the cluster that is meant here. One that can't be
/// reached has none: what was asked for may be a run.
fn plain_job(
    places: &Places,
    index: &Index,
    is_meant: impl Fn(&PlainJob) -> bool,
) -> Result<Option<Selected>, Failure> {
    let Ok(mut transport) = place::open(places, None) else {
        return Ok(None);
    };
    let recent = transport.recent_jobs(Timestamp(0))?;
    let entries = index.all().map_err(|error| unreadable(places, &error))?;
    let cluster = transport.facts().name.clone();
    let entries = entries.into_iter().filter(|entry| entry.cluster == cluster);
    let runs: Vec<Run> = entries.map(Run::read).collect::<Result<_, _>>()?;
    let newest = plain_jobs(&recent, &runs).into_iter().rev().find(is_meant);
    Ok(newest.map(|job| Selected {
        run: None,
        job: Some(job.id),
        transport,
    }))
}

fn of_run(places: &Places, entry: IndexEntry) -> Result<Selected, Failure> {
    let run = Run::read(entry)?;
    let transport = place::open(places, Some(&run.entry.cluster))?;
    Ok(Selected {
        job: run.job(),
        run: Some(run),
        transport,
    })
}

/// A job's id: of a run, if one has it on the cluster that is meant here; else of a plain job there.
fn of_job(places: &Places, index: &Index, job: JobId, text: &str) -> Result<Selected, Failure> {
    let mut transport = place::open(places, None)?;
    let cluster = transport.facts().name.clone();
    let entries = index.all().map_err(|error| unreadable(places, &error))?;
    for entry in entries
        .into_iter()
        .rev()
        .filter(|entry| entry.cluster == cluster)
    {
        let run = Run::read(entry)?;
        if run.jobs().any(|own| own == job) {
            return Ok(Selected {
                job: run.job(),
                run: Some(run),
                transport,
            });
        }
    }
    if transport.jobs(&[job])?.is_empty() {
        return Err(nothing(text, index));
    }
    Ok(Selected {
        run: None,
        job: Some(job),
        transport,
    })
}

fn nothing(text: &str, index: &Index) -> Failure {
    let newest: Vec<String> = index
        .find("")
        .map(|entries| entries.into_iter().take(3).map(|entry| entry.id).collect())
        .unwrap_or_default();
    let there = match newest.len() {
        0 => "no run yet".to_owned(),
        _ => format!("newest: {}", newest.join(", ")),
    };
    if newest.is_empty() && text == NEWEST {
        return Failure::new(exit_code::FAILED, "there is no run and no job yet")
            .todo("yard run FILE starts one");
    }
    let what = format!("no run and no job is called {text}, and no job has that number");
    Failure::new(exit_code::FAILED, what)
        .there(there)
        .todo("yard ls shows all runs and jobs; @ is the newest one")
}

fn unreadable(places: &Places, error: &std::io::Error) -> Failure {
    Failure::new(
        exit_code::IO,
        format!("the index of runs can't be read: {error}"),
    )
    .asked(places.index.display().to_string())
    .todo("make that folder readable, or set TRAINYARD_HOME")
}
