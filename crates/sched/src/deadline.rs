//! `--deadline` and `--time-min`: until when a job may start, with which limit, and what becomes of one
//! that waited for too long.
//!
//! As Slurm's `deadline_ok` and its backfill have it:
//! - a job that could start ends once its shortest limit no longer fits before its deadline. One that is
//!   held, waits for others or for its moment, or whose partition starts no jobs is left alone;
//! - it starts with a limit that ends before its deadline, in whole minutes;
//! - one with a shortest limit that starts behind a blocked job starts with that, also where more would
//!   fit; so does the first of its partition where nothing else keeps it from starting.

use crate::State;
use crate::expected_ends::UNLIMITED;
use crate::kinds::Choice;
use crate::live_job::LiveJob;
use model::{JobId, Outcome, PendingReason, Request, Seconds, TimeLimitRequest, Timestamp};
use std::collections::BTreeSet;

/// A limit, and for how long a place is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// The limit that the job starts with.
    pub(crate) limit: Option<Seconds>,
    /// For so many milliseconds nothing else may need its place.
    pub(crate) length: i64,
}

/// So long must be free for a job that is tried briefly.
const BRIEF: Seconds = Seconds(60);

impl Span {
    /// With a limit, until a place is needed no more.
    pub(crate) fn of(limit: Option<Seconds>, needed: Option<Seconds>, now: Timestamp) -> Span {
        Span {
            limit,
            length: (now + needed.unwrap_or(UNLIMITED)).since(now),
        }
    }
}

/// Jobs that could start, by the moment from which on it is too late for them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Deadlines(BTreeSet<(Timestamp, JobId)>);

impl Deadlines {
    pub(crate) fn insert(&mut self, too_late: Timestamp, job: JobId) {
        self.0.insert((too_late, job));
    }

    pub(crate) fn remove(&mut self, too_late: Timestamp, job: JobId) {
        self.0.remove(&(too_late, job));
    }

    /// The first of these moments after another one.
    pub(crate) fn after(&self, moment: Timestamp) -> Option<Timestamp> {
        let after = (Timestamp(moment.0.saturating_add(1)), JobId(0));
        self.0.range(after..).next().map(|(at, _)| *at)
    }

    fn until(&self, now: Timestamp) -> Vec<JobId> {
        let until = (now, JobId(u32::MAX));
        self.0.range(..=until).map(|(_, job)| *job).collect()
    }
}

/// The shortest limit that a request names.
pub(crate) fn shortest(request: &Request) -> Option<Seconds> {
    match request.rare.time_min? {
        TimeLimitRequest::Limit(least) => Some(least).filter(|least| least.0 > 0),
        TimeLimitRequest::Unlimited => None,
    }
}

/// What is left until the deadline, in whole minutes; less than one cuts nothing.
fn left(request: &Request, now: Timestamp) -> Option<Seconds> {
    let deadline = request.rare.deadline?;
    let minutes = (deadline.seconds() - now.seconds()) / 60;
    let minutes = u64::try_from(minutes).ok().filter(|left| *left > 0)?;
    Some(Seconds(minutes.saturating_mul(60)))
}

fn cut(limit: Option<Seconds>, most: Option<Seconds>) -> Option<Seconds> {
    match (limit, most) {
        (Some(limit), Some(most)) => Some(limit.min(most)),
        (limit, most) => limit.or(most),
    }
}

impl State {
    /// From when on it is too late for a job to start: its shortest limit would end after its
    /// deadline. `None` where it has no deadline or no limit.
    pub(crate) fn too_late(&self, job: &LiveJob) -> Option<Timestamp> {
        let request = &job.record.request;
        let deadline = request.rare.deadline?;
        let first = job.derived.choices.first()?;
        let limit = || self.limit_of(job, first);
        let least = shortest(request).or_else(limit)?;
        let seconds = deadline
            .seconds()
            .saturating_sub_unsigned(least.0)
            .saturating_add(1);
        Some(Timestamp(seconds.saturating_mul(1000)))
    }

    /// The limit that a job has when it starts now in a partition, at its turn or behind a blocked job.
    pub(crate) fn span_of(
        &self,
        job: &LiveJob,
        choice: &Choice,
        is_behind: bool,
        now: Timestamp,
    ) -> Span {
        let request = &job.record.request;
        let limit = self.limit_of(job, choice);
        let given = cut(limit, left(request, now));
        if !is_behind {
            return Span::of(given, given, now);
        }
        if self.is_tried_briefly(job) {
            return Span::of(given, Some(BRIEF), now);
        }
        match self.shorter_span(job, choice, now) {
            Some(shorter) => shorter,
            None => Span::of(given, limit, now),
        }
    }

    /// Whether a job starts behind others where a minute is free: one for which no place is kept, where others
    /// may take its place (`QOS_FLAG_NO_RESERVE` in backfill.c).
    fn is_tried_briefly(&self, job: &LiveJob) -> bool {
        // Its shares of a machine that runs several would be promised to others.
        let splits = |class: &resources::NodeClass| class.splits;
        crate::preempt::rules::is_on(&self.cluster)
            && self.keeps_no_place(job.record.id)
            && !self.cluster.classes().iter().any(splits)
    }

    /// The shortest limit of a job without a deadline, where that is shorter than its own.
    pub(crate) fn shorter_span(
        &self,
        job: &LiveJob,
        choice: &Choice,
        now: Timestamp,
    ) -> Option<Span> {
        let request = &job.record.request;
        if request.rare.deadline.is_some() {
            return None;
        }
        let limit = self.limit_of(job, choice);
        let least = shortest(request).filter(|least| limit.is_none_or(|limit| *least < limit))?;
        Some(Span::of(Some(least), Some(least), now))
    }

    /// Ends those that could start and for which it is too late.
    pub(crate) fn end_too_late(&mut self, now: Timestamp) {
        // The end of one may let another be looked at that waited for it, and for which it is too late too.
        loop {
            let too_late = self.deadlines.until(now).into_iter();
            let looked_at =
                |id: &JobId| self.jobs.get(id).is_some_and(|job| self.is_looked_at(job));
            let too_late: Vec<JobId> = too_late.filter(looked_at).collect();
            if too_late.is_empty() {
                break;
            }
            for id in too_late {
                self.remove(id, Outcome::Deadline, now);
            }
        }
    }

    /// Whether the scheduler looks at a job at all: one of its partitions starts jobs like it.
    fn is_looked_at(&self, job: &LiveJob) -> bool {
        let mut choices = job.derived.choices.iter();
        choices.any(|choice| {
            !matches!(
                self.may_start(job, choice),
                Err(PendingReason::PartitionDown
                    | PendingReason::PartitionInactive
                    | PendingReason::PartitionNodeLimit
                    | PendingReason::PartitionTimeLimit)
            )
        })
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails loudly")]
    use super::*;
    use crate::{BackfillParameters, Event, Job, Saved};
    use cluster_file::ClusterFile;
    use model::{JobState, RareOptions, Submitter};
    use resources::{Cluster, Trust};
    use std::sync::Arc;

    const NOW: Timestamp = Timestamp(1_000_000_500);

    fn state() -> State {
        let text = "[nodes.n]\nnames = \"n[1-2]\"\ncpus = 1\n\
                    [partition.all]\ndefault = true\nnodes = [\"n\"]\ndefault_time = \"00:10:00\"\n\
                    [partition.any]\nnodes = [\"n\"]\n";
        let file = ClusterFile::parse("two", text).unwrap();
        let mut state = State::new(Arc::new(Cluster::build(&file, Trust::All)), Arc::new([]));
        state.set_backfill(Some(BackfillParameters::default()));
        state
    }

    fn minutes(minutes: u64) -> Option<TimeLimitRequest> {
        Some(TimeLimitRequest::Limit(Seconds(minutes * 60)))
    }

    fn submit(state: &mut State, request: Request) -> JobId {
        let id = state.new_id();
        state.apply(Event::Submitted {
            record: Box::new(Job::submitted(
                id,
                request,
                Arc::new(Submitter::default()),
                NOW,
            )),
            array: None,
            history: Vec::new(),
            at: NOW,
        });
        id
    }

    /// One that asks for a node, with a limit and a shortest one in minutes, and a deadline in so many
    /// seconds.
    fn request(
        time: Option<TimeLimitRequest>,
        time_min: Option<TimeLimitRequest>,
        deadline: Option<i64>,
    ) -> Request {
        Request {
            min_nodes: Some(1),
            max_nodes: Some(1),
            time,
            rare: RareOptions {
                time_min,
                deadline: deadline.map(|seconds| Timestamp(NOW.0 + seconds * 1000)),
                ..RareOptions::default()
            }
            .into(),
            ..Request::default()
        }
    }

    /// In seconds from the whole second that is now: when it is too late, then the limits in minutes
    /// at its turn and behind another job.
    #[track_caller]
    fn check(request: Request, want: (Option<i64>, Option<u64>, Option<u64>)) {
        let mut state = state();
        let id = submit(&mut state, request);
        let job = &state.jobs[&id];
        let too_late = state.too_late(job);
        let limit = |is_behind| {
            let choice = &job.derived.choices[0];
            let limit = state.span_of(job, choice, is_behind, NOW).limit;
            limit.map(|limit| limit.0 / 60)
        };
        let seconds = |at: Timestamp| (at.0 - NOW.0 / 1000 * 1000) / 1000;
        assert_eq!((too_late.map(seconds), limit(false), limit(true)), want);
    }

    /// The second waited for the first, whose deadline ended it.
    #[test]
    fn who_waited_for_one_that_is_too_late_ends_at_once_too() {
        let mut state = state();
        let mut too_late = request(minutes(1), None, Some(70));
        submit(&mut state, too_late.clone());
        too_late.rare.dependency = Some("singleton".to_owned());
        submit(&mut state, too_late);
        let later = Timestamp(NOW.0 + 100_000);
        assert_eq!(state.schedule(later), []);
        assert_eq!(state.live().count(), 0);
    }

    #[test]
    fn until_when_and_with_which_limit() {
        let unlimited = Some(TimeLimitRequest::Unlimited);
        // Without a deadline.
        check(request(minutes(20), None, None), (None, Some(20), Some(20)));
        check(
            request(minutes(20), minutes(5), None),
            (None, Some(20), Some(5)),
        );
        check(
            request(minutes(5), minutes(5), None),
            (None, Some(5), Some(5)),
        );
        check(request(None, minutes(5), None), (None, Some(10), Some(5)));
        check(request(unlimited, minutes(5), None), (None, None, Some(5)));
        check(
            request(minutes(20), minutes(0), None),
            (None, Some(20), Some(20)),
        );
        // With one.
        check(
            request(minutes(20), None, Some(1800)),
            (Some(601), Some(20), Some(20)),
        );
        check(
            request(minutes(20), None, Some(1200)),
            (Some(1), Some(20), Some(20)),
        );
        check(
            request(minutes(20), None, Some(1000)),
            (Some(-199), Some(16), Some(16)),
        );
        check(
            request(minutes(20), minutes(5), Some(1000)),
            (Some(701), Some(16), Some(16)),
        );
        check(
            request(None, None, Some(1000)),
            (Some(401), Some(10), Some(10)),
        );
        // Of one without a limit the deadline is one, and it is never too late.
        check(
            request(unlimited, None, Some(1000)),
            (None, Some(16), Some(16)),
        );
        check(
            request(unlimited, minutes(5), Some(1000)),
            (Some(701), Some(16), Some(16)),
        );
        // In its last minute nothing is cut.
        check(
            request(minutes(20), None, Some(59)),
            (Some(-1140), Some(20), Some(20)),
        );
        let any = Request {
            partition: Some("any".to_owned()),
            ..request(None, None, Some(1000))
        };
        check(any, (None, Some(16), Some(16)));
    }

    #[test]
    fn one_that_waits_too_long_ends_on_the_second_and_a_restart_knows() {
        let mut state = state();
        let fill = Request {
            min_nodes: Some(2),
            max_nodes: Some(2),
            ..request(minutes(60), None, None)
        };
        submit(&mut state, fill);
        let waits = submit(&mut state, request(minutes(1), None, Some(90)));
        assert_eq!(state.schedule(NOW).len(), 1);
        let due = Timestamp(1_000_031_000);
        assert_eq!(state.next_due(), Some(due));
        let saved = Saved {
            next_id: state.next_id(),
            version: state.version(),
            live: state.live().cloned().collect(),
            ..Saved::default()
        };
        let cluster = Arc::clone(state.cluster());
        let again = State::rebuild(cluster, Arc::new([]), saved, NOW);
        assert_eq!(again.deadlines, state.deadlines);
        for mut state in [state, again] {
            state.schedule(Timestamp(due.0 - 1));
            assert!(state.job(waits).unwrap().state.is_live());
            state.schedule(due);
            let ended = state.take_changes().ended;
            let outcomes = ended.iter().map(|job| match &job.state {
                JobState::Ended { outcome, ran, .. } => (outcome.clone(), ran.is_none()),
                other => panic!("{other:?}"),
            });
            assert_eq!(outcomes.collect::<Vec<_>>(), [(Outcome::Deadline, true)]);
        }
    }
}
