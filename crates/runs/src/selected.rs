//! The run or job that a person named, as a value: every call about it opens the way to its cluster by itself.

use crate::failure::{Failure, FailureKind};
use crate::known_runs::places;
use crate::reach::{ClusterRef, poller};
use crate::wait::Outage;
use crate::{FILE_PAUSE, Run};
use backend::{JobView, OutputFile, Transport, WhyWaiting};
use folder::{Index, IndexEntry};
use model::JobId;
use serde::{Deserialize, Serialize};
use std::time::Instant;
use sys::Places;

/// The selected run or job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Selected {
    /// The run; `None` for a job of no run.
    pub run: Option<Run>,
    /// The job, or an array's id; `None` for a run that was never submitted.
    pub job: Option<JobId>,
    /// Of that array this element.
    pub element: Option<u32>,
    /// Its cluster.
    pub cluster: ClusterRef,
    /// Engines that can't be asked and may hold what was named, in words.
    pub notes: Vec<String>,
}

impl Selected {
    pub(crate) fn of_run(places: &Places, entry: IndexEntry) -> Result<Selected, Failure> {
        let mut run = Run::read(entry)?;
        let cluster = ClusterRef::named(places, &run.entry.cluster);
        if run.is_unanswered()
            && let Ok(mut transport) = cluster.open(places)
        {
            // Where it can't be asked, what asks it next says so.
            let _ = run.look_for_unanswered(&mut *transport);
        }
        Ok(Selected {
            job: run.job(),
            cluster,
            run: Some(run),
            element: None,
            notes: Vec::new(),
        })
    }

    pub(crate) fn of_job(job: JobId, element: Option<u32>, cluster: ClusterRef) -> Selected {
        Selected {
            run: None,
            job: Some(job),
            element,
            cluster,
            notes: Vec::new(),
        }
    }

    /// Its name for a sentence.
    #[must_use]
    pub fn name(&self) -> String {
        match (&self.run, self.job, self.element) {
            (Some(run), ..) => run.entry.id.clone(),
            (None, Some(job), Some(element)) => format!("job {job}_{element}"),
            (None, Some(job), None) => format!("job {job}"),
            (None, None, _) => "nothing".to_owned(),
        }
    }

    /// Its name, and the job where that is not said by the name.
    #[must_use]
    pub fn name_and(&self, job: JobId) -> String {
        match &self.run {
            Some(run) => format!("{} (job {job})", run.entry.id),
            None => self.name(),
        }
    }

    /// Its job, or why there is none.
    ///
    /// # Errors
    /// It was never submitted, or its folder, which alone knew the job, is gone.
    pub fn job(&self) -> Result<JobId, Failure> {
        self.job.ok_or_else(|| {
            if let Some(run) = self.run.as_ref().filter(|run| !run.entry.folder.exists()) {
                let folder = run.entry.folder.display();
                let what = format!(
                    "the folder of {} is gone, and with it which job it has",
                    self.name()
                );
                return Failure::new(FailureKind::Failed, what)
                    .there(format!("no {folder}; its job may run"))
                    .todo("squeue --me shows your jobs, scancel NUMBER ends one");
            }
            Failure::new(
                FailureKind::Failed,
                format!("{} was never submitted", self.name()),
            )
            .todo("start it again with yard run")
        })
    }

    /// The id of the run whose job it was, where that run was removed.
    #[must_use]
    pub fn removed_run(&self) -> Option<String> {
        let job = self.job.filter(|_| self.run.is_none())?;
        let removed = Index::new(&places().ok()?.index).removed().ok()?;
        let mut removed = removed.into_iter();
        let of = removed.find(|run| run.had(&self.cluster.name, job.0));
        of.map(|run| run.id)
    }

    /// The jobs of which its cluster must be asked.
    #[must_use]
    pub fn jobs(&self) -> Vec<JobId> {
        match &self.run {
            Some(run) => run.live_jobs(),
            None => self.job.into_iter().collect(),
        }
    }

    /// What the cluster says of its job now; of an array's elements, a live one where one is.
    ///
    /// # Errors
    /// Its files can't be read, or its cluster does not answer.
    pub fn view(&mut self) -> Result<Option<JobView>, Failure> {
        let mut transport = self.open()?;
        self.view_through(&mut *transport)
    }

    /// As [`Selected::view`], through a transport that is open.
    pub(crate) fn view_through(
        &mut self,
        transport: &mut dyn Transport,
    ) -> Result<Option<JobView>, Failure> {
        if let Some(run) = &mut self.run {
            // Another job may have taken over since the last look.
            *run = Run::read(run.entry.clone())?;
            run.look_for_unanswered(transport)?;
            self.job = run.job();
            let views = transport.jobs(&run.live_jobs())?;
            return Ok(run.view(&views));
        }
        match (self.job, self.element) {
            (Some(job), Some(element)) => Ok(transport.element(job, element)?),
            (Some(job), None) => {
                let views = transport.jobs(&[job])?;
                let live = views.iter().find(|view| view.state.is_live());
                Ok(live.or(views.first()).cloned())
            }
            (None, _) => Ok(None),
        }
    }

    /// As [`Selected::view`]; where its cluster does not answer, that is said, and what its files
    /// say has to do.
    ///
    /// # Errors
    /// What is no outage of its cluster.
    pub fn view_or_note(&mut self) -> Result<(Option<JobView>, Option<String>), Failure> {
        let view = self.view();
        let may_have_one = self.job.is_some() || self.run.as_ref().is_some_and(Run::is_unanswered);
        match view {
            Err(failure) if may_have_one && self.is_outage(&failure) => {
                let cluster = &self.cluster.name;
                let note = format!("{cluster} does not answer: {}", failure.line());
                Ok((self.job.map(JobView::not_answered), Some(note)))
            }
            view => Ok((view?, None)),
        }
    }

    /// As [`Selected::view`]; an outage of its cluster is handed on, and waited for.
    ///
    /// # Errors
    /// What is no outage of its cluster.
    pub fn view_after_outage(
        &mut self,
        seen: &mut dyn FnMut(&Outage),
    ) -> Result<Option<JobView>, Failure> {
        let failure = match self.view() {
            Err(failure) if self.is_outage(&failure) => failure,
            view => return view,
        };
        let why = failure.line();
        seen(&Outage::Began { why });
        let begun = Instant::now();
        let places = places()?;
        let poller = poller(&self.cluster, &places)?;
        poller.watch(&self.jobs());
        while poller.look(0)?.is_none() {
            std::thread::sleep(FILE_PAUSE);
        }
        let lasted = begun.elapsed();
        seen(&Outage::Over { lasted });
        self.view()
    }

    /// What the cluster says of each of those jobs that it knows.
    ///
    /// # Errors
    /// It does not answer.
    pub fn views_of(&self, jobs: &[JobId]) -> Result<Vec<JobView>, Failure> {
        Ok(self.open()?.jobs(jobs)?)
    }

    /// Why that job waits, with numbers; none where its engine does not tell.
    ///
    /// # Errors
    /// It does not answer, or the job does not wait.
    pub fn why(&self, job: JobId) -> Result<Option<WhyWaiting>, Failure> {
        Ok(self.open()?.why(job)?)
    }

    /// The files that a batch script's job, an array, or the element of it writes.
    ///
    /// # Errors
    /// There is no job, or its cluster does not answer.
    pub fn output_files(&self) -> Result<Vec<OutputFile>, Failure> {
        Ok(self.open()?.output_files(self.job()?, self.element)?)
    }

    pub(crate) fn open(&self) -> Result<Box<dyn Transport>, Failure> {
        self.cluster.open(&places()?)
    }

    /// Whether its cluster alone is why: an engine that is gone does not come back by itself.
    fn is_outage(&self, failure: &Failure) -> bool {
        failure.kind == FailureKind::Unreachable && !self.cluster.is_embedded
    }
}
