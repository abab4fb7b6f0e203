//! How many waiting jobs gain priority by their age: limits of QOS and accounts let so many alone do so
//! (`acct_policy_handle_accrue_time` of acct_policy.c).
//!
//! A job that is let begins then, at age 0, and goes on until it starts, is held or is queued again. Those that
//! no limit counts gain since they may start, and are counted by limits of others above them.

use crate::ledger::{Chain, Counter};
use crate::live_job::LiveJob;
use crate::{Job, State};
use model::{JobId, Timestamp};
use resources::Cluster;
use std::collections::{BTreeSet, HashMap};

/// Which waiting rows gain priority by their age, and which a limit keeps from that. It follows from the rows: it
/// is no part of what two states are compared by.
#[derive(Clone, Debug, Default)]
pub(crate) struct Accrual {
    /// Rows that changed since they were counted.
    changed: BTreeSet<JobId>,
    known: HashMap<JobId, Counting>,
    /// Jobs that gain, by limit.
    gaining: HashMap<Counter, u32>,
    /// Rows that a limit keeps from gaining, by that limit.
    kept: HashMap<Counter, BTreeSet<JobId>>,
}

impl PartialEq for Accrual {
    fn eq(&self, _other: &Accrual) -> bool {
        true
    }
}

/// What a waiting row counts for.
#[derive(Clone, Debug, PartialEq)]
struct Counting {
    counters: Vec<Counter>,
    jobs: u32,
    /// The limit that keeps it from gaining, and how many it lets.
    limit: Option<(Counter, u32)>,
}

impl Counting {
    /// None where the row is not counted.
    fn of(cluster: &Cluster, job: &LiveJob) -> Option<Counting> {
        let record = &job.record;
        if !job.is_pending() || record.priority == 0 || record.eligible.is_none() {
            return None;
        }
        let chain = Chain::of(cluster, record, None);
        let jobs = u32::try_from(job.waiting().len()).unwrap_or(u32::MAX);
        let limit = chain.accrual_limit();
        Some(Counting {
            counters: chain.counters(),
            jobs: jobs.max(1),
            limit: limit.filter(|_| record.rare.accrues.is_none()),
        })
    }
}

impl Accrual {
    /// A row came, changed or is gone.
    pub(crate) fn note(&mut self, cluster: &Cluster, id: JobId) {
        if counts(cluster) {
            self.changed.insert(id);
        }
    }

    /// Counts a row anew.
    fn count(&mut self, id: JobId, counting: Option<Counting>) {
        let former = match &counting {
            Some(counting) => self.known.insert(id, counting.clone()),
            None => self.known.remove(&id),
        };
        if let Some(former) = former {
            match former.limit {
                Some((counter, _)) => {
                    let kept = self.kept.get_mut(&counter);
                    if kept.is_some_and(|kept| kept.remove(&id) && kept.is_empty()) {
                        self.kept.remove(&counter);
                    }
                }
                None => former.counters.iter().for_each(|counter| {
                    let there = self.gaining.get(counter).copied().unwrap_or(0);
                    match there.saturating_sub(former.jobs) {
                        0 => self.gaining.remove(counter),
                        left => self.gaining.insert(counter.clone(), left),
                    };
                }),
            }
        }
        match counting {
            None => {}
            Some(Counting {
                limit: Some((counter, _)),
                ..
            }) => {
                self.kept.entry(counter).or_default().insert(id);
            }
            Some(counting) => {
                for counter in counting.counters {
                    let there = self.gaining.entry(counter).or_default();
                    *there = there.saturating_add(counting.jobs);
                }
            }
        }
    }

    /// The first row that a limit lets gain, and how many of its jobs.
    fn next(&self) -> Option<(JobId, u32)> {
        let first = self.kept.iter().filter_map(|(counter, rows)| {
            let id = rows.first()?;
            let row = self.known.get(id)?;
            let (_, most) = row.limit.as_ref()?;
            let there = self.gaining.get(counter).copied().unwrap_or(0);
            let more = most.saturating_sub(there).min(row.jobs);
            (more > 0).then_some((*id, more))
        });
        first.min()
    }
}

/// Since when a job gains priority by its age; none where a limit keeps it from that.
pub(crate) fn accrues_since(cluster: &Cluster, record: &Job) -> Option<Timestamp> {
    let own = record.rare.accrues;
    own.or_else(|| record.eligible.filter(|_| !is_limited(cluster, record)))
}

/// Whether limits keep jobs from gaining priority by their age.
fn counts(cluster: &Cluster) -> bool {
    cluster.limits_accrual() && !cluster.priority().has_flag("ACCRUE_ALWAYS")
}

fn is_limited(cluster: &Cluster, record: &Job) -> bool {
    counts(cluster) && Chain::of(cluster, record, None).accrual_limit().is_some()
}

impl State {
    /// Whether a limit keeps a waiting job from gaining priority by its age so far.
    #[must_use]
    pub fn is_age_limited(&self, record: &Job) -> bool {
        record.eligible.is_some() && accrues_since(&self.cluster, record).is_none()
    }

    /// Lets as many jobs gain priority by their age as limits allow, in the order of their ids. Elements of an
    /// array that may get rows of their own.
    pub(crate) fn accrue(&mut self, now: Timestamp) {
        if !counts(&self.cluster) {
            return;
        }
        loop {
            for id in std::mem::take(&mut self.accrual.changed) {
                let job = self.jobs.get(&id);
                let counting = job.and_then(|job| Counting::of(&self.cluster, job));
                self.accrual.count(id, counting);
            }
            let Some((id, more)) = self.accrual.next() else {
                break;
            };
            for _ in 0..more {
                self.accrue_one(id, now);
            }
        }
    }

    /// Counts all anew: limits may be others.
    pub(crate) fn count_accruals_anew(&mut self) {
        self.accrual = Accrual::default();
        if self.cluster.limits_accrual() {
            self.accrual.changed = self.jobs.keys().copied().collect();
        }
    }

    /// Lets a job, or the next element of a row, gain from now on.
    fn accrue_one(&mut self, row: JobId, now: Timestamp) {
        let id = match self.jobs[&row].waiting() {
            [] => row,
            [first, ..] => self.split_off(row, *first),
        };
        if let Some(job) = self.jobs.get_mut(&id) {
            job.record.rare.accrues = Some(now);
        }
        self.touch(id);
        if id != row {
            self.prioritise(id, now);
            self.refile(id, now);
        }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails loudly")]
    use super::*;
    use crate::Event;
    use cluster_file::ClusterFile;
    use model::{ArraySpec, HeldBy, JobState, Outcome, Request, Submitter};
    use proptest::prelude::*;
    use resources::Trust;
    use std::sync::Arc;

    /// One CPU, held by job 1, so that all others wait.
    fn busy(limits: &str) -> State {
        let text = format!(
            "[nodes.n]\ncpus = 1\n[partition.p]\nnodes = \"ALL\"\ndefault = true\n\
             [account.top]\n[account.a]\nparent = \"top\"\n[account.b]\nparent = \"top\"\n\
             [user.\"*\"]\naccounts = [\"a\", \"b\"]\n[priority]\nage = 1000\n{limits}"
        );
        let file = ClusterFile::parse("lab", &text).unwrap();
        let mut state = State::new(Arc::new(Cluster::build(&file, Trust::All)), Arc::new([]));
        submit(&mut state, 9, "b", None);
        state
    }

    fn submit(state: &mut State, uid: u32, account: &str, elements: Option<u32>) -> JobId {
        let id = state.new_id();
        let mut request = Request {
            account: Some(account.to_owned()),
            ..Request::default()
        };
        let array = elements.map(|count| ArraySpec {
            indices: (0..count).collect(),
            step: 1,
            throttle: None,
        });
        request.rare.array.clone_from(&array);
        let submitter = Submitter {
            uid,
            user: format!("u{uid}"),
            ..Submitter::default()
        };
        let at = Timestamp(i64::from(id.0));
        state.apply(Event::Submitted {
            record: Box::new(Job::submitted(id, request, Arc::new(submitter), at)),
            array: array.as_ref().map(model::ArrayFacts::of),
            history: Vec::new(),
            at,
        });
        state.schedule(at);
        id
    }

    /// Of the waiting rows those that gain by their age, and since when.
    fn gaining(state: &State) -> Vec<(u32, i64)> {
        let waits = |record: &&Job| matches!(record.state, model::JobState::Pending { .. });
        let waiting = state.live().filter(waits);
        let gaining = waiting
            .filter_map(|record| Some((record.id.0, accrues_since(&state.cluster, record)?.0)));
        gaining.collect()
    }

    #[test]
    fn the_first_limit_that_is_set_lets_so_many_gain() {
        let check = |limits: &str, want: &[u32]| {
            let mut state = busy(limits);
            for (uid, account) in [(1, "a"), (1, "a"), (1, "b"), (2, "a"), (2, "b"), (1, "a")] {
                submit(&mut state, uid, account, None);
            }
            let found: Vec<u32> = gaining(&state).iter().map(|(job, _)| *job).collect();
            assert_eq!(found, want, "{limits}");
        };
        check("", &[2, 3, 4, 5, 6, 7]);
        check("[qos.normal]\nmax_jobs_accrue_per_user = 1\n", &[2, 5]);
        check("[qos.normal]\nmax_jobs_accrue_per_account = 1\n", &[2, 4]);
        check("[qos.normal]\ngroup_jobs_accrue = 3\n", &[2, 3, 4]);
        check("[qos.normal]\ngroup_jobs_accrue = 0\n", &[]);
        let both = "[qos.normal]\ngroup_jobs_accrue = 4\nmax_jobs_accrue_per_user = 1\n";
        check(both, &[2, 3, 4, 5]);
        // A user's own association counts what it has, an account those below it.
        check(
            "[user.u1]\naccounts = [\"a\", \"b\"]\n[user.u1.account.a]\nmax_jobs_accrue = 2\n",
            &[2, 3, 4, 5, 6],
        );
        check(
            "[user.u1]\naccounts = [\"a\", \"b\"]\n[user.u1.account.a]\ngroup_jobs_accrue = 1\n",
            &[2, 4, 5, 6],
        );
    }

    #[test]
    fn a_start_lets_the_next_one_begin_at_age_0() {
        let mut state = busy("[qos.normal]\nmax_jobs_accrue_per_user = 1\n");
        for _ in 0..2 {
            submit(&mut state, 1, "a", None);
        }
        assert_eq!(gaining(&state), [(2, 2)]);
        state.apply(Event::Gone {
            job: JobId(1),
            outcome: Outcome::Completed,
            at: Timestamp(500),
        });
        state.schedule(Timestamp(500));
        assert_eq!(gaining(&state), [(3, 500)]);
        let saved = state.job(JobId(3)).unwrap().clone();
        assert_eq!(saved.rare.accrues, Some(Timestamp(500)));
    }

    #[test]
    fn elements_that_may_gain_have_rows_of_their_own() {
        let mut state = busy("[qos.normal]\nmax_jobs_accrue_per_user = 2\n");
        submit(&mut state, 1, "a", Some(4));
        let rows: Vec<(u32, Vec<u32>)> = state.live().map(|it| (it.id.0, it.elements())).collect();
        let want = [(1, vec![]), (2, vec![2, 3]), (3, vec![0]), (4, vec![1])];
        assert_eq!(rows, want);
        assert_eq!(gaining(&state), [(3, 2), (4, 2)]);
    }

    /// What happens to one of the rows.
    #[derive(Clone, Debug)]
    enum Step {
        Submit(u32, bool, Option<u32>),
        End(usize),
        Hold(usize, bool),
        Cancel(usize),
        CancelElement(usize, u32),
    }

    fn any_step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (1_u32..3, any::<bool>(), prop::option::of(1_u32..5))
                .prop_map(|(uid, first, elements)| Step::Submit(uid, first, elements)),
            2 => any::<usize>().prop_map(Step::End),
            1 => (any::<usize>(), any::<bool>()).prop_map(|(which, hold)| Step::Hold(which, hold)),
            1 => any::<usize>().prop_map(Step::Cancel),
            1 => (any::<usize>(), 0_u32..5).prop_map(|(which, task)| Step::CancelElement(which, task)),
        ]
    }

    fn play_step(state: &mut State, step: &Step, at: Timestamp) {
        let pick = |which: usize, running: bool| {
            let runs = |record: &&Job| matches!(record.state, JobState::Running { .. }) == running;
            let rows: Vec<JobId> = state.live().filter(runs).map(|record| record.id).collect();
            which.checked_rem(rows.len()).map(|which| rows[which])
        };
        let event = match *step {
            Step::Submit(uid, first, elements) => {
                submit(state, uid, if first { "a" } else { "b" }, elements);
                None
            }
            Step::End(which) => pick(which, true).map(|job| Event::Gone {
                job,
                outcome: Outcome::Completed,
                at,
            }),
            Step::Hold(which, hold) => pick(which, false).map(|job| Event::Held {
                job,
                hold: hold.then_some(HeldBy::User),
                at,
            }),
            Step::Cancel(which) => pick(which, false).map(|job| {
                let by = 0;
                Event::CancelledWaiting { job, by, at }
            }),
            Step::CancelElement(which, task) => pick(which, false).map(|job| {
                let (tasks, by) = (vec![task], 0);
                Event::CancelledElements { job, tasks, by, at }
            }),
        };
        if let Some(event) = event {
            state.apply(event);
        }
        state.schedule(at);
    }

    /// What is counted along, and what all rows come to.
    fn check_counts(state: &State) {
        let mut kept = state.accrual.clone();
        let counting = |id: JobId| {
            let job = state.jobs.get(&id);
            job.and_then(|job| Counting::of(&state.cluster, job))
        };
        for id in std::mem::take(&mut kept.changed) {
            kept.count(id, counting(id));
        }
        let mut anew = Accrual::default();
        for id in state.jobs.keys().copied() {
            anew.count(id, counting(id));
        }
        assert_eq!(kept.gaining, anew.gaining);
        assert_eq!(kept.kept, anew.kept);
        assert_eq!(kept.known, anew.known);
        let over = anew
            .gaining
            .iter()
            .filter(|(counter, _)| anew.kept.contains_key(counter));
        for (counter, gaining) in over {
            assert!(*gaining >= 2, "{counter:?} has room: {gaining} of 2");
        }
    }

    proptest! {
        #[test]
        fn what_is_counted_along_is_what_the_rows_come_to(
            steps in prop::collection::vec(any_step(), 1..40)
        ) {
            let mut state = busy(
                "[qos.normal]\nmax_jobs_accrue_per_user = 2\n",
            );
            for (second, step) in steps.iter().enumerate() {
                let at = Timestamp(1000 + i64::try_from(second).unwrap() * 1000);
                play_step(&mut state, step, at);
                check_counts(&state);
            }
        }
    }
}
