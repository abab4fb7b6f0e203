//! Waits for the end of runs and jobs, whatever their clusters answer meanwhile.

use crate::reach::poller_of_ends;
use crate::{
    Comeback, FILE_PAUSE, Failure, FailureKind, LastDeputy, Requeued, Run, RunState, Selected,
};
use backend::{JobView, Poller, Reach, Transport, ViewState};
use model::JobId;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use sys::Places;

/// How often the files of a run are read whose cluster is asked seldom.
const READ_PAUSE: Duration = Duration::from_millis(250);

/// A run or a job that is waited for.
pub struct Waiting {
    /// What it is called.
    pub name: String,
    /// Its cluster.
    pub cluster: String,
    run: Option<Run>,
    job: Option<JobId>,
    /// It was over already, and what its cluster said of it then.
    over: Option<Option<JobView>>,
    /// An element of an array, asked for by itself: its id changes when it starts.
    element: Option<(Selected, Box<dyn Transport>)>,
}

/// What asks the clusters of all that one client waits for: one thread and one connection each.
#[derive(Debug, Default)]
pub struct Pollers(BTreeMap<String, Poller>);

impl Waiting {
    /// Begins: its cluster is asked with those of the others, one question a cluster.
    ///
    /// # Errors
    /// The way to its cluster can't be opened.
    pub fn of(
        mut selected: Selected,
        pollers: &mut Pollers,
        places: &Places,
    ) -> Result<Waiting, Failure> {
        let mut transport = selected.cluster.open(places)?;
        let mut one = Waiting {
            name: selected.name(),
            cluster: selected.cluster.name.clone(),
            run: selected.run.clone(),
            job: selected.job,
            over: None,
            element: None,
        };
        if selected.element.is_some() {
            one.element = Some((selected, transport));
            return Ok(one);
        }
        one.over = is_over(&mut selected, &mut *transport);
        let poller = pollers
            .0
            .entry(one.cluster.clone())
            .or_insert_with(|| poller_of_ends(transport, places));
        poller.watch(&one.jobs());
        Ok(one)
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
fn is_over(selected: &mut Selected, transport: &mut dyn Transport) -> Option<Option<JobView>> {
    let run = selected.run.as_ref();
    let is_settled = run.is_some_and(|run| !run.needs_cluster());
    if !is_settled || selected.cluster.is_embedded {
        return None;
    }
    let view = selected.view_through(transport).ok()?;
    let lives = view.as_ref().is_some_and(|view| view.state.is_live());
    (!lives).then_some(view)
}

/// How something ended that was waited for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitEnd {
    /// A run, and where it stands.
    Run(RunState),
    /// A job of no run, and how; none where its cluster knows it no longer.
    Job(Option<ViewState>),
    /// A job array that is over, of which not all elements completed.
    SomeFailed,
}

impl WaitEnd {
    /// Whether it is done, and something of it is on a node only.
    #[must_use]
    pub fn is_unsaved(&self) -> bool {
        matches!(self, WaitEnd::Run(RunState::Done { left: Some(_), .. }))
    }

    /// Whether it did what it was to do.
    #[must_use]
    pub fn is_success(&self) -> bool {
        match self {
            WaitEnd::Run(state) => matches!(state, RunState::Done { .. }),
            WaitEnd::Job(Some(ViewState::Ended { how, .. })) => how == "COMPLETED",
            WaitEnd::Job(_) | WaitEnd::SomeFailed => false,
        }
    }
}

/// A cluster does not answer, or answers again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outage {
    /// It does not, for this reason.
    Began {
        /// What was seen.
        why: String,
    },
    /// It does again.
    Over {
        /// How long it did not.
        lasted: Duration,
    },
}

/// What is seen while something is waited for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WaitEvent {
    /// Its cluster does not answer, or answers again.
    Outage(Outage),
    /// No other process was left to bring the run back, and this client has.
    Brought(Requeued),
    /// This client could not bring it back, for this reason.
    StaysOver(String),
}

/// What was said of a cluster's outages.
#[derive(Debug, Default)]
pub(crate) struct Outages {
    since: Option<Instant>,
}

impl Outages {
    /// What changed since the last call.
    pub(crate) fn see(&mut self, poller: &Poller) -> Option<Outage> {
        match (poller.reach(), self.since) {
            (Reach::DoesNotAnswer { since, why }, None) => {
                self.since = Some(since);
                Some(Outage::Began { why })
            }
            (Reach::Answers, Some(since)) => {
                self.since = None;
                Some(Outage::Over {
                    lasted: since.elapsed(),
                })
            }
            _ => None,
        }
    }
}

impl Waiting {
    /// Waits for its end; an outage of its cluster is handed on, and waited for too. A run that no other
    /// process is left to bring back is brought back. `None`: the client left before, as `leaves` says.
    ///
    /// # Errors
    /// Its files can't be read, or its cluster refuses to answer.
    pub fn wait(
        &mut self,
        pollers: &Pollers,
        leaves: &dyn Fn() -> bool,
        seen: &mut dyn FnMut(&WaitEvent),
    ) -> Result<Option<WaitEnd>, Failure> {
        let mut deputy = self.run.as_ref().map(|run| LastDeputy::of(&run.entry.id));
        loop {
            let outage = &mut |outage: Outage| seen(&WaitEvent::Outage(outage));
            let Some(end) = self.wait_once(pollers, leaves, outage)? else {
                return Ok(None);
            };
            let (Some(deputy), WaitEnd::Run(state)) = (&mut deputy, &end) else {
                return Ok(Some(end));
            };
            match deputy.see(state, leaves) {
                Comeback::Over(why) => {
                    if let Some(why) = why {
                        seen(&WaitEvent::StaysOver(why.line()));
                    }
                    return Ok(Some(end));
                }
                Comeback::Brought(how) => seen(&WaitEvent::Brought(how)),
                Comeback::GoesOn => std::thread::sleep(READ_PAUSE),
            }
        }
    }

    fn wait_once(
        &mut self,
        pollers: &Pollers,
        leaves: &dyn Fn() -> bool,
        outage: &mut dyn FnMut(Outage),
    ) -> Result<Option<WaitEnd>, Failure> {
        let Some(poller) = pollers
            .0
            .get(&self.cluster)
            .filter(|_| self.element.is_none())
        else {
            return self.wait_for_element(leaves);
        };
        if let Some(view) = self.over.take() {
            return self.ended(view).map(Some);
        }
        let (mut looks, mut outages) = (0, Outages::default());
        let mut read = Instant::now();
        let mut was_over = self.run.as_ref().is_some_and(|run| !run.needs_cluster());
        loop {
            if let Some(seen) = outages.see(poller) {
                outage(seen);
            }
            if self.jobs().is_empty() {
                return self.ended(None).map(Some);
            }
            if leaves() {
                return Ok(None);
            }
            // A shared cluster is asked seldom: the end is in the files first.
            if let Some(run) = &mut self.run
                && !poller.is_embedded()
                && read.elapsed() > READ_PAUSE
            {
                read = Instant::now();
                *run = Run::read(run.entry.clone())?;
                let is_over = !run.needs_cluster();
                if is_over && !was_over {
                    return self.ended(None).map(Some);
                }
                was_over = is_over;
            }
            if let Some(look) = poller.look(looks)? {
                looks = look.number;
                if let Some(run) = &mut self.run {
                    // Another job may have taken over since the last look.
                    *run = Run::read(run.entry.clone())?;
                }
                let jobs = self.jobs();
                poller.watch(&jobs);
                let view = match &self.run {
                    Some(run) => run.view(&look.jobs),
                    None => of_job(&look.jobs, self.job),
                };
                if jobs.iter().all(|job| look.asked.contains(job)) && !self.lives(view.as_ref()) {
                    let end = self.ended(view)?;
                    if self.run.is_none()
                        && end.is_success()
                        && !have_completed(&look.jobs, self.job)
                    {
                        return Ok(Some(WaitEnd::SomeFailed));
                    }
                    return Ok(Some(end));
                }
            }
            std::thread::sleep(FILE_PAUSE);
        }
    }

    fn lives(&self, view: Option<&JobView>) -> bool {
        let Some(view) = view.filter(|view| view.state.is_live()) else {
            return false;
        };
        // One that waits to take over from what is done is no reason to wait.
        let waits = |run: &Run| run.job() == Some(view.id) || run.state(Some(view)).is_live();
        self.run.as_ref().is_none_or(waits)
    }

    fn ended(&self, view: Option<JobView>) -> Result<WaitEnd, Failure> {
        let Some(run) = &self.run else {
            return Ok(WaitEnd::Job(view.map(|view| view.state)));
        };
        // Read again: its last words came while this waited.
        let state = Run::read(run.entry.clone())?.state(view.as_ref());
        Ok(WaitEnd::Run(state))
    }

    /// Waits for an element of an array; an outage of its cluster too.
    fn wait_for_element(&mut self, leaves: &dyn Fn() -> bool) -> Result<Option<WaitEnd>, Failure> {
        let Some((selected, transport)) = &mut self.element else {
            return Ok(Some(WaitEnd::Job(None)));
        };
        let begun = Instant::now();
        loop {
            match selected.view_through(&mut **transport) {
                Ok(view) if view.as_ref().is_some_and(|view| view.state.is_live()) => {}
                Ok(view) => return Ok(Some(WaitEnd::Job(view.map(|view| view.state)))),
                Err(error)
                    if error.kind == FailureKind::Unreachable && !selected.cluster.is_embedded => {}
                Err(error) => return Err(error),
            }
            if leaves() {
                return Ok(None);
            }
            std::thread::sleep(transport.pause(begun.elapsed()));
        }
    }
}

/// A job's rows, or those of the elements of an array.
fn rows_of(views: &[JobView], job: Option<JobId>) -> impl Iterator<Item = &JobView> {
    let own =
        move |view: &&JobView| job.is_some_and(|job| view.id == job || view.array == Some(job));
    views.iter().filter(own)
}

/// Of a job's rows a live one where one is.
fn of_job(views: &[JobView], job: Option<JobId>) -> Option<JobView> {
    let live = rows_of(views, job).find(|view| view.state.is_live());
    live.or(rows_of(views, job).next()).cloned()
}

/// Whether all elements completed.
fn have_completed(views: &[JobView], job: Option<JobId>) -> bool {
    let completed =
        |view: &JobView| matches!(&view.state, ViewState::Ended { how, .. } if how == "COMPLETED");
    rows_of(views, job).all(completed)
}
