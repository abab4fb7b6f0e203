//! Whether what a job waits for has come, will, or never can.

use crate::live_job::LiveJob;
use crate::{Finished, State};
use model::{
    Condition, DependedJob, Dependency, DependencyKind, Element, JobId, JobState, Seconds,
    Timestamp,
};

/// How a condition stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outlook {
    Met,
    /// At a known moment, or when another job changes.
    NotYet(Option<Timestamp>),
    Never,
}

impl State {
    /// How a dependency of `job` stands; `task` is the element for which `aftercorr` is asked.
    pub(crate) fn outlook(
        &self,
        job: &LiveJob,
        dependency: &Dependency,
        task: Option<u32>,
        now: Timestamp,
    ) -> Outlook {
        self.weigh(job, dependency, task, now).0
    }

    /// The same, and what is left of it where it changed: what is met is dropped, what failed is marked. As in
    /// Slurm nothing more is looked at once one failed of which all are needed.
    pub(crate) fn weigh(
        &self,
        job: &LiveJob,
        dependency: &Dependency,
        task: Option<u32>,
        now: Timestamp,
    ) -> (Outlook, Option<Dependency>) {
        if dependency.has_failed() {
            return (Outlook::Never, None);
        }
        let of = |kind, depended: &DependedJob| {
            if depended.failed {
                Outlook::Never
            } else {
                self.depended(kind, depended, task, now)
            }
        };
        let mut each = Vec::new();
        for condition in &dependency.conditions {
            match condition {
                Condition::Singleton => each.push(self.singleton(job)),
                Condition::Jobs { kind, jobs } => each.extend(jobs.iter().map(|it| of(*kind, it))),
            }
        }
        let left = left_of(dependency, &each);
        (together(dependency.any, &each), left)
    }

    /// How one job stands that another waits for.
    pub(crate) fn depended(
        &self,
        kind: DependencyKind,
        depended: &DependedJob,
        task: Option<u32>,
        now: Timestamp,
    ) -> Outlook {
        use DependencyKind as Kind;
        let target = depended.job;
        let named = match depended.element {
            Element::Whole | Element::All => None,
            Element::One(element) => Some(element),
        };
        let delay = Seconds(u64::from(depended.minutes.unwrap_or(0)) * 60);
        let mut live = self.live_of(target, named);
        let mut finished = self.finished_of(target, named);
        let is_there = !live.is_empty() || !finished.is_empty();
        if let (Kind::AfterCorr, true, Some(_)) = (kind, is_there, task) {
            // Where no element of the other array has its index it waits for all that it names of that.
            let (own, own_finished) = (self.live_of(target, task), self.finished_of(target, task));
            if !own.is_empty() || !own_finished.is_empty() {
                (live, finished) = (own, own_finished);
            }
        }
        let failed = finished.iter().any(|finished| !finished.ok);
        match kind {
            // A job that nobody remembers is taken as Slurm takes a purged one: the wait is over. So is an element
            // that its array never had.
            _ if live.is_empty() && finished.is_empty() => Outlook::Met,
            Kind::After => after(&live, &finished, delay, now),
            // Of an array all elements have to end before it is judged.
            _ if !live.is_empty() => Outlook::NotYet(None),
            Kind::AfterAny | Kind::AfterBurstBuffer => Outlook::Met,
            Kind::AfterOk | Kind::AfterCorr if failed => Outlook::Never,
            Kind::AfterNotOk if !failed => Outlook::Never,
            Kind::AfterOk | Kind::AfterCorr | Kind::AfterNotOk => Outlook::Met,
        }
    }

    fn singleton(&self, job: &LiveJob) -> Outlook {
        match self.before_singleton(job) {
            Some(_) => Outlook::NotYet(None),
            None => Outlook::Met,
        }
    }

    /// The first job of the same name and user, where that came before.
    pub(crate) fn before_singleton(&self, job: &LiveJob) -> Option<&LiveJob> {
        let (uid, name) = (job.record.submitter.uid, &job.record.request.name);
        let first = self.first_of_name(uid, name)?;
        let is_before = first.target() != job.target() && first.record.id < job.record.id;
        is_before.then_some(first)
    }

    pub(crate) fn live_of(&self, target: JobId, task: Option<u32>) -> Vec<&LiveJob> {
        let Some(array) = self.arrays.get(&target) else {
            // A job outside arrays has no elements.
            let job = self.jobs.get(&target).filter(|_| task.is_none());
            return job.into_iter().collect();
        };
        let rows = array.rows.iter().filter_map(|id| self.jobs.get(id));
        rows.filter(|job| match task {
            None => true,
            Some(task) => job.task() == Some(task) || job.waiting().contains(&task),
        })
        .collect()
    }

    fn finished_of(&self, target: JobId, task: Option<u32>) -> Vec<&Finished> {
        let all = self.finished.get(&target).into_iter().flatten();
        all.filter(|finished| match finished.task {
            None => task.is_none() || finished.is_of_array,
            own => task.is_none() || own == task,
        })
        .collect()
    }
}

/// How conditions stand of which one is enough, or all are needed.
fn together(any: bool, each: &[Outlook]) -> Outlook {
    let (decides, excludes) = if any {
        (Outlook::Met, Outlook::Never)
    } else {
        (Outlook::Never, Outlook::Met)
    };
    if each.contains(&decides) {
        return decides;
    }
    if each.iter().all(|outlook| *outlook == excludes) {
        return excludes;
    }
    let moments = each.iter().filter_map(|outlook| match outlook {
        Outlook::NotYet(at) => *at,
        Outlook::Met | Outlook::Never => None,
    });
    Outlook::NotYet(moments.min())
}

/// What is left of a dependency whose conditions stand so, in their order; `None` where that is all of it.
fn left_of(dependency: &Dependency, each: &[Outlook]) -> Option<Dependency> {
    let mut left = dependency.clone();
    let mut each = each.iter();
    left.conditions.retain_mut(|condition| match condition {
        Condition::Singleton => each.next() != Some(&Outlook::Met),
        Condition::Jobs { jobs, .. } => {
            jobs.retain_mut(|job| {
                let outlook = each.next();
                job.failed = outlook == Some(&Outlook::Never);
                outlook != Some(&Outlook::Met)
            });
            !jobs.is_empty()
        }
    });
    (left != *dependency).then_some(left)
}

fn after(live: &[&LiveJob], finished: &[&Finished], delay: Seconds, now: Timestamp) -> Outlook {
    let mut due = Timestamp::default();
    for job in live {
        match &job.record.state {
            JobState::Running { since, .. } => due = due.max(*since + delay),
            _ => return Outlook::NotYet(None),
        }
    }
    for finished in finished {
        if let Some(started) = finished.started {
            due = due.max(started + delay);
        }
    }
    if due > now {
        Outlook::NotYet(Some(due))
    } else {
        Outlook::Met
    }
}
