//! Which run or job a person means: a run's id or name, a job's number or name, or `@` for the newest.

use crate::engines::{SaidEngine, engine_meant, engine_names, engines_asked, is_engine};
use crate::failure::{Failure, FailureKind};
use crate::known_runs::{places, unreadable_index};
use crate::reach::{ClusterRef, engines};
use crate::repeats::{one_is_needed, repeats_of};
use crate::selected::Selected;
use crate::{JobNumber, NEWEST, Run, SpokenName, plain_jobs};
use backend::LOCAL;
use folder::{Index, IndexEntry, Naming};
use model::Timestamp;
use sys::Places;

/// Which of several runs or jobs of one name to take.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Several {
    /// The newest: for who only looks.
    Newest,
    /// None of them: for who removes.
    Neither,
    /// The one that lives; with several of them it is for the person to say.
    TheLiveOne,
}

/// Finds what `text` means, to look at it.
///
/// # Errors
/// Nothing or several have that name, or the index of runs can't be read.
pub fn select(text: &str) -> Result<Selected, Failure> {
    search(text, Several::Newest, Naming::OrBeginning)
}

/// Finds what `text` means, to wait for it: of several with one name, the one that lives.
///
/// # Errors
/// As of [`select`]; and several that live are ambiguous.
pub fn select_live(text: &str) -> Result<Selected, Failure> {
    search(text, Several::TheLiveOne, Naming::OrBeginning)
}

/// Finds what `text` means, to change it: as [`select_live`], and named whole.
///
/// # Errors
/// As of [`select_live`]; and the beginning of an id is no name.
pub fn select_to_change(text: &str) -> Result<Selected, Failure> {
    search(text, Several::TheLiveOne, Naming::Whole)
}

/// Finds what `text` means, to remove it: one name of several runs is none, nor is the beginning of an id.
///
/// # Errors
/// As of [`select`]; and several of one name are ambiguous.
pub fn select_only(text: &str) -> Result<Selected, Failure> {
    search(text, Several::Neither, Naming::Whole)
}

fn search(text: &str, several: Several, naming: Naming) -> Result<Selected, Failure> {
    let mut search = Search::new(text, naming)?;
    let found = search.find(several);
    let notes = search.notes;
    match found {
        Ok(selected) => Ok(Selected { notes, ..selected }),
        Err(failure) => {
            let said = notes.iter().map(|note| format!("note: {note}"));
            Err(failure.mistakes(said.collect()))
        }
    }
}

/// A search for one name.
struct Search<'a> {
    text: &'a str,
    naming: Naming,
    places: Places,
    /// All runs, the newest first.
    entries: Vec<IndexEntry>,
    notes: Vec<String>,
}

impl<'a> Search<'a> {
    fn new(text: &'a str, naming: Naming) -> Result<Search<'a>, Failure> {
        let places = places()?;
        let mut entries = Index::new(&places.index)
            .all()
            .map_err(|error| unreadable(&places, &error))?;
        entries.reverse();
        Ok(Search {
            text,
            naming,
            places,
            entries,
            notes: Vec::new(),
        })
    }

    fn find(&mut self, several: Several) -> Result<Selected, Failure> {
        let is_cluster = |name: &str| {
            let of_run = self.entries.iter().any(|entry| entry.cluster == name);
            of_run
                || is_engine(&self.places, name)
                || backend::slurm_here().is_ok_and(|here| here.as_deref() == Some(name))
        };
        let name = SpokenName::parse(self.text, is_cluster);
        let named = Index::choose(&self.entries, name.rest, self.naming);
        let named: Vec<IndexEntry> = named
            .into_iter()
            .filter(|entry| name.is_on(&entry.cluster, |cluster| is_engine(&self.places, cluster)))
            .collect();
        if let Some(entry) = repeats_of(&named) {
            return Err(one_is_needed(&entry));
        }
        match (&named[..], name.number()) {
            ([], Some(number)) => self.by_number(name, number, several),
            ([], None) => match self.plain_job(name, several, None)? {
                Some(job) => Ok(job),
                None => Err(self.nothing()),
            },
            ([newest, ..], _) if name.rest == NEWEST => {
                let newer = self.plain_job(name, several, Some(newest.created))?;
                newer.map_or_else(|| Selected::of_run(&self.places, newest.clone()), Ok)
            }
            ([one], _) => Selected::of_run(&self.places, one.clone()),
            ([newest, ..], _) if newest.name == name.rest && several == Several::Newest => {
                Selected::of_run(&self.places, newest.clone())
            }
            ([newest, ..], _) if newest.name == name.rest && several == Several::TheLiveOne => {
                self.live_run(&named)
            }
            (several, _) => {
                let ids = several.iter().map(|entry| entry.id.clone()).collect();
                Err(self.ambiguous(ids))
            }
        }
    }

    /// Of runs of one name the one that lives, or the newest where none does.
    fn live_run(&self, named: &[IndexEntry]) -> Result<Selected, Failure> {
        let mut live = Vec::new();
        for entry in named {
            let mut selected = Selected::of_run(&self.places, entry.clone())?;
            let needs_cluster = selected.run.as_ref().is_some_and(Run::needs_cluster);
            let view = if needs_cluster {
                selected.view()?
            } else {
                None
            };
            let run = selected.run.as_ref();
            if run.is_some_and(|run| run.state(view.as_ref()).is_live()) {
                live.push(selected);
            }
        }
        match (live.len(), live.pop()) {
            (1, Some(one)) => Ok(one),
            (0, _) => Selected::of_run(&self.places, named[0].clone()),
            (_, last) => {
                let names = live.iter().chain(&last).map(Selected::name).collect();
                Err(self.ambiguous(names))
            }
        }
    }

    /// A job's number, on every engine that can be asked: of a run, if one has it there, else of a
    /// job of no run.
    fn by_number(
        &mut self,
        name: SpokenName<'_>,
        JobNumber { job, element }: JobNumber,
        several: Several,
    ) -> Result<Selected, Failure> {
        // Of each the cluster, and what it is there.
        let mut found: Vec<(String, String, Found)> = Vec::new();
        let own = self
            .entries
            .iter()
            .filter(|entry| name.is_on(&entry.cluster, |cluster| is_engine(&self.places, cluster)));
        for entry in own {
            if element.is_some() || found.iter().any(|(cluster, ..)| *cluster == entry.cluster) {
                continue;
            }
            let run = Run::read(entry.clone())?;
            if run.jobs().any(|own| own == job) {
                let what = format!("of run {}", entry.id);
                found.push((entry.cluster.clone(), what, Found::Run(entry.clone())));
            }
        }
        let (engines, mut problems) = engines(&self.places);
        for mut engine in engines {
            let cluster = engine.cluster().to_owned();
            if !name.is_on(&cluster, |name| is_engine(&self.places, name))
                || found.iter().any(|(known, ..)| *known == cluster)
            {
                continue;
            }
            let view = match element {
                Some(element) => engine.element(job, element),
                None => engine.jobs(&[job]).map(|views| views.into_iter().next()),
            };
            match view {
                Ok(Some(view)) => {
                    found.push((cluster, format!("{:?}", view.name), Found::Job));
                }
                Ok(None) => {}
                Err(error) => problems.push(Failure::from(error).line()),
            }
        }
        // Who named an engine in the environment thinks of that one.
        let said = SaidEngine::from_env().filter(|_| name.cluster.is_none());
        let said = said.map(|_| engine_meant(&self.places));
        let is_said = found
            .iter()
            .any(|(cluster, ..)| Some(cluster) == said.as_ref());
        if is_said {
            found.retain(|(cluster, ..)| Some(cluster) == said.as_ref());
        }
        let ambiguous = |found: &[(String, String, Found)]| {
            let number = name.rest;
            let all = found
                .iter()
                .map(|(cluster, what, _)| format!("{cluster}:{number} ({what})"));
            self.ambiguous(all.collect())
        };
        if found.len() > 1 {
            return Err(ambiguous(&found));
        }
        // It may also be another engine's, of which the person thinks.
        let is_unsure = several == Several::TheLiveOne && !problems.is_empty();
        if name.cluster.is_none() && !is_said && is_unsure && !found.is_empty() {
            let failure = ambiguous(&found);
            self.notes.extend(problems);
            return Err(failure);
        }
        if name.cluster.is_none() {
            self.notes.extend(problems);
        }
        match found.pop() {
            Some((_, _, Found::Run(entry))) => Selected::of_run(&self.places, entry),
            Some((cluster, _, Found::Job)) => {
                let cluster = ClusterRef::named(&self.places, &cluster);
                Ok(Selected::of_job(job, element, cluster))
            }
            None => Err(self.nothing()),
        }
    }

    /// The newest job of no run with that name, submitted after that moment if one is given. An engine that does
    /// not answer has none: what was asked for may be a run.
    fn plain_job(
        &mut self,
        name: SpokenName<'_>,
        several: Several,
        after: Option<Timestamp>,
    ) -> Result<Option<Selected>, Failure> {
        let (engines, mut problems) = engines(&self.places);
        let mut jobs = Vec::new();
        for mut engine in engines {
            let cluster = engine.cluster().to_owned();
            if !name.is_on(&cluster, |name| is_engine(&self.places, name)) {
                continue;
            }
            let recent = match engine.snapshot(Timestamp(0)) {
                Ok(recent) => recent,
                Err(error) => {
                    problems.push(Failure::from(error).line());
                    continue;
                }
            };
            let entries = self.entries.iter().filter(|entry| entry.cluster == cluster);
            let runs: Vec<Run> = entries.cloned().map(Run::read).collect::<Result<_, _>>()?;
            let meant = plain_jobs(&recent, &runs).into_iter().filter(|job| {
                after.is_none_or(|after| job.submitted > after)
                    && (name.rest == NEWEST || job.name == name.rest)
            });
            jobs.extend(meant.map(|job| (cluster.clone(), job)));
        }
        self.notes.extend(problems.iter().cloned());
        jobs.sort_by_key(|(_, job)| job.submitted);
        let live = |(_, job): &&(String, crate::PlainJob)| job.state.is_live();
        let chosen = match jobs.iter().filter(live).count() {
            _ if several == Several::Newest || name.rest == NEWEST => jobs.last(),
            0 => jobs.last(),
            1 => jobs.iter().find(live),
            _ => {
                let names = jobs.iter().filter(live);
                let names = names.map(|(cluster, job)| format!("{cluster}:{}", job.id));
                return Err(self.ambiguous(names.collect()));
            }
        };
        let Some((cluster, job)) = chosen else {
            return Ok(None);
        };
        let cluster = ClusterRef::named(&self.places, cluster);
        Ok(Some(Selected::of_job(job.id, None, cluster)))
    }

    fn ambiguous(&self, names: Vec<String>) -> Failure {
        let what = format!("{} can mean several", self.text);
        Failure::new(FailureKind::Usage, what)
            .asked(self.text)
            .there(names.join(", "))
            .todo("name one of them")
    }

    fn nothing(&self) -> Failure {
        let text = self.text;
        if self.entries.is_empty() && text == NEWEST {
            return Failure::new(FailureKind::Failed, "there is no run or job yet")
                .todo("yard run FILE starts one");
        }
        let first_ids = |entries: &[IndexEntry]| {
            let ids = entries.iter().take(3).map(|entry| entry.id.as_str());
            ids.collect::<Vec<_>>().join(", ")
        };
        // With a name whole, they would have been found.
        let begun = Index::choose(&self.entries, text, Naming::OrBeginning);
        if !begun.is_empty() {
            let what = format!("no run or job has the whole name or id {text}");
            return Failure::new(FailureKind::Failed, what)
                .there(format!("with that beginning: {}", first_ids(&begun)))
                .todo("name it whole: what changes or removes a run takes no beginning");
        }
        let there = match self.entries.len() {
            0 => "no run yet".to_owned(),
            _ => format!("newest: {}", first_ids(&self.entries)),
        };
        let asked = engines_asked(&self.places);
        let mut stopped = engine_names(&self.places);
        // This machine's own starts with the first job.
        stopped.retain(|name| name != LOCAL && !asked.contains(name));
        let (there, todo) = match stopped.as_slice() {
            [] => (there, String::new()),
            [first, ..] => (
                format!("{there}; not asked, since stopped: {}", stopped.join(", ")),
                format!("yard engine start {first} for a job there; "),
            ),
        };
        let what = format!("no run or job has the name or id {text}");
        Failure::new(FailureKind::Failed, what)
            .there(there)
            .todo(format!(
                "{todo}yard ls shows all runs and jobs; @ is the newest one"
            ))
    }
}

/// What a number was found to be.
enum Found {
    Run(IndexEntry),
    Job,
}

fn unreadable(places: &Places, error: &std::io::Error) -> Failure {
    unreadable_index(places, error).todo("make that folder readable, or set TRAINYARD_HOME")
}
