//! Why a job waits: what it lacks, who holds that, when it would start, and what smaller request
//! would start now.
//!
//! All of it is asked of the scheduler itself: its plan says when the job starts. Where that does not
//! reach so far a copy of the state is played on, in which running jobs last until their limits; in
//! another the job asks for less.

use crate::promise::UNLIMITED;
use crate::{Action, Event, State};
use model::{
    Allocation, JobId, JobRecord, JobState, KILL_WAIT, MemoryRequest, Outcome, PendingReason,
    Request, Seconds, TimeLimitRequest, Timestamp, mebibytes_option,
};
use resources::Share;
use std::sync::Arc;

/// A plan looks no further than so many moments at which something ends.
const MOMENTS: usize = 2000;
/// With more jobs that wait, no smaller requests are tried: each costs a copy of all of them.
const MOST_WAITING: usize = 2000;

/// Why a job waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Why {
    /// Slurm's word for it.
    pub reason: PendingReason,
    /// What it would hold by the plan; none where the plan does not reach so far.
    pub needs: Option<Amount>,
    /// What is free now on all nodes together.
    pub free: Amount,
    /// The most that is free on one node, by GPUs, then by CPUs.
    pub free_on_one: Amount,
    /// What there is.
    pub there: Amount,
    /// Jobs of its partitions that wait and come before it.
    pub ahead: Vec<JobId>,
    /// Running jobs that end before it starts, by the plan; those that end last first.
    pub holders: Vec<Holder>,
    /// When it would start if all jobs ran until their limits.
    pub start: Option<Timestamp>,
    /// Its request with less in it, as options: each alone would let it start now.
    pub instead: Vec<String>,
}

/// GPUs and CPUs; ordered by GPUs first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Amount {
    /// GPUs.
    pub gpus: u64,
    /// CPUs.
    pub cpus: u64,
}

/// A job that holds what another waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Which.
    pub job: JobId,
    /// Whose.
    pub user: String,
    /// What it holds.
    pub holds: Amount,
    /// When its limit is over; none has no limit.
    pub until: Option<Timestamp>,
}

impl Amount {
    fn of(allocation: &Allocation) -> Amount {
        Amount {
            cpus: allocation.cpus() as u64,
            gpus: allocation.gpus() as u64,
        }
    }

    pub(crate) fn of_shares(shares: &[Share]) -> Amount {
        let sum = |of: fn(&Share) -> u32| shares.iter().map(|share| u64::from(of(share))).sum();
        Amount {
            cpus: sum(Share::cpus),
            gpus: sum(Share::gpu_count),
        }
    }
}

/// A start that was planned.
struct Planned {
    at: Timestamp,
    needs: Amount,
    /// Jobs that run now and end before it, in that order.
    ended: Vec<JobId>,
}

impl State {
    /// Why a job waits; none where it doesn't. Nothing changes.
    #[must_use]
    pub fn why(&self, job: JobId, now: Timestamp) -> Option<Why> {
        let record = self.job(job)?;
        let JobState::Pending { reason } = &record.state else {
            return None;
        };
        let planned = self.by_plan(record, now);
        let planned = planned.or_else(|| self.played_start(record, now));
        let waits_for_room = matches!(reason, PendingReason::Resources | PendingReason::Priority);
        let holders = planned.as_ref().filter(|_| waits_for_room);
        let holders = holders
            .iter()
            .flat_map(|planned| planned.ended.iter().rev());
        let instead = if waits_for_room && self.waiting_count() <= MOST_WAITING {
            self.smaller(record, now)
        } else {
            Vec::new()
        };
        let (mut there, mut free) = (Amount::default(), Amount::default());
        let mut free_on_one = Amount::default();
        for node in self.cluster().nodes() {
            let total = self.cluster().class(node).total;
            there.cpus += u64::from(total.cpus);
            there.gpus += u64::from(total.lane(0));
            let own = Amount {
                cpus: self.free().amounts(node).cpus.into(),
                gpus: self.free().gpus(node).count_ones().into(),
            };
            free.cpus += own.cpus;
            free.gpus += own.gpus;
            free_on_one = free_on_one.max(own);
        }
        Some(Why {
            reason: reason.clone(),
            needs: planned.as_ref().map(|planned| planned.needs),
            free,
            free_on_one,
            there,
            ahead: self.ahead_of(record),
            holders: holders.filter_map(|holder| self.holder(*holder)).collect(),
            start: planned.map(|planned| planned.at),
            instead,
        })
    }

    fn holder(&self, job: JobId) -> Option<Holder> {
        let record = self.job(job)?;
        let JobState::Running {
            since,
            allocation,
            limit,
            ..
        } = &record.state
        else {
            return None;
        };
        Some(Holder {
            job,
            user: record.user.clone(),
            holds: Amount::of(allocation),
            until: limit.map(|limit| *since + limit),
        })
    }

    /// Those that wait for a place in a partition of the job's and come before it there.
    fn ahead_of(&self, record: &JobRecord) -> Vec<JobId> {
        let mut ahead: Vec<JobId> = Vec::new();
        let choices = self.jobs.get(&record.id).into_iter();
        for choice in choices.flat_map(|job| &job.derived.choices) {
            let own = crate::queue::Key::of(record, choice.priority);
            let queue = self.ready.get(&choice.partition);
            if let Some(queue) = queue.filter(|queue| queue.contains(&own)) {
                ahead.extend(queue.range(..own).map(|key| key.job));
            }
        }
        ahead.sort_unstable();
        ahead.dedup();
        ahead
    }

    /// When a job starts by the plan of the last pass.
    fn by_plan(&self, record: &JobRecord, now: Timestamp) -> Option<Planned> {
        let planned = self.planned_start(record.id)?;
        let ends = self.ends(now).into_iter();
        let before = ends.take_while(|(end, _)| *end <= planned.at);
        Some(Planned {
            at: planned.at,
            needs: planned.needs,
            ended: before.map(|(_, job)| job.record.id).collect(),
        })
    }

    /// When a job, or the first element of its row, starts if running jobs last until their limits
    /// and no other job comes.
    fn played_start(&self, record: &JobRecord, now: Timestamp) -> Option<Planned> {
        let mut later = self.clone();
        later.priorities.fix();
        let (mut at, mut ended) = (now, Vec::new());
        for _ in 0..MOMENTS {
            let started: Vec<JobId> = starts(&later.schedule(at)).collect();
            // Elements that start leave their row under ids of their own.
            let own = started.into_iter().find_map(|id| {
                let job = later.job(id)?;
                let of_row = |job: &JobRecord| job.array.as_ref().map(|place| place.array_job);
                let is_it =
                    id == record.id || (record.array.is_some() && of_row(job) == of_row(record));
                match &job.state {
                    JobState::Running { allocation, .. } if is_it => Some(Amount::of(allocation)),
                    _ => None,
                }
            });
            if let Some(needs) = own {
                return Some(Planned { at, needs, ended });
            }
            let ends: Vec<(Timestamp, JobId)> = later
                .running()
                .filter_map(|job| Some((expected_end(job, now)?, job.id)))
                .collect();
            let next_end = ends.iter().map(|(end, _)| *end).min();
            let next = [next_end, later.next_due()].into_iter().flatten().min()?;
            at = at.max(next);
            let over = |end: &&(Timestamp, JobId)| end.0 <= at;
            for (_, job) in ends.iter().filter(over) {
                if self
                    .job(*job)
                    .is_some_and(|job| matches!(job.state, JobState::Running { .. }))
                {
                    ended.push(*job);
                }
                later.apply(Event::Gone {
                    job: *job,
                    outcome: Outcome::Completed,
                    at,
                });
            }
        }
        None
    }

    /// Whether the job would start now if it asked for that.
    fn would_start(&self, record: &JobRecord, request: Request, now: Timestamp) -> bool {
        let mut other = self.clone();
        if other.admit(&request).is_err() {
            return false;
        }
        let id = other.new_id();
        other.apply(Event::CancelledWaiting {
            job: record.id,
            by: record.uid,
            at: now,
        });
        other.apply(Event::Submitted {
            record: Box::new(JobRecord {
                id,
                array: None,
                request: Arc::new(request),
                ..record.clone()
            }),
            array: None,
            history: Vec::new(),
            at: now,
        });
        starts(&other.schedule(now)).any(|job| job == id)
    }

    /// Of each amount that a job asks for the most with which it would start now.
    fn smaller(&self, record: &JobRecord, now: Timestamp) -> Vec<String> {
        let request = &record.request;
        let starts = |change: &dyn Fn(&mut Request)| {
            let mut smaller = Request::clone(request);
            change(&mut smaller);
            self.would_start(record, smaller, now)
        };
        let mut found = Vec::new();
        for (option, count, set) in gpus_of(request) {
            let most = most_below(count, |less| starts(&|request| set(request, less)));
            found.extend(most.map(|less| format!("{option}={less}")));
        }
        let nodes = request.min_nodes.unwrap_or(1);
        let most = most_below(nodes, |less| {
            starts(&|request| {
                let tasks = request.tasks.map(u64::from);
                let tasks = tasks.map(|all| (all * u64::from(less)).div_ceil(nodes.into()));
                request.tasks = tasks.and_then(|tasks| u32::try_from(tasks).ok());
                request.min_nodes = Some(less);
                request.max_nodes = request.max_nodes.map(|_| less);
            })
        });
        found.extend(most.map(|less| format!("--nodes={less}")));
        let tasks = request.tasks.filter(|_| nodes == 1).unwrap_or(1);
        let most = most_below(tasks, |less| starts(&|request| request.tasks = Some(less)));
        found.extend(most.map(|less| format!("--ntasks={less}")));
        let cpus = request.cpus_per_task.unwrap_or(1);
        let most = most_below(cpus, |less| {
            starts(&|request| request.cpus_per_task = Some(less))
        });
        found.extend(most.map(|less| format!("--cpus-per-task={less}")));
        found.extend(self.less_memory(record, now));
        found.extend(self.less_time(record, now));
        found
    }

    fn less_memory(&self, record: &JobRecord, now: Timestamp) -> Option<String> {
        let (option, mib, of): (_, _, fn(u64) -> MemoryRequest) = match record.request.memory? {
            MemoryRequest::PerNode(mib) => ("--mem", mib, MemoryRequest::PerNode),
            MemoryRequest::PerCpu(mib) => ("--mem-per-cpu", mib, MemoryRequest::PerCpu),
            MemoryRequest::PerGpu(mib) => ("--mem-per-gpu", mib, MemoryRequest::PerGpu),
        };
        let gib = u32::try_from(mib / 1024).unwrap_or(u32::MAX);
        let most = most_below(gib, |less| {
            let request = Request {
                memory: Some(of(u64::from(less) * 1024)),
                ..Request::clone(&record.request)
            };
            self.would_start(record, request, now)
        })?;
        Some(format!(
            "{option}={}",
            mebibytes_option(u64::from(most) * 1024)
        ))
    }

    /// A shorter job may start before others that it would not delay.
    fn less_time(&self, record: &JobRecord, now: Timestamp) -> Option<String> {
        let minutes = match record.request.time? {
            TimeLimitRequest::Limit(Seconds(seconds)) => u32::try_from(seconds / 60).ok()?,
            TimeLimitRequest::Unlimited => 365 * 24 * 60,
        };
        let limit = |minutes: u32| TimeLimitRequest::Limit(Seconds(u64::from(minutes) * 60));
        let most = most_below(minutes, |less| {
            let request = Request {
                time: Some(limit(less)),
                ..Request::clone(&record.request)
            };
            self.would_start(record, request, now)
        })?;
        Some(format!("--time={}", limit(most)))
    }
}

fn starts(actions: &[Action]) -> impl Iterator<Item = JobId> {
    actions.iter().filter_map(|action| match action {
        Action::Start { job, .. } => Some(*job),
        Action::Expire(_) => None,
    })
}

/// When a running job is over at the latest.
fn expected_end(job: &JobRecord, now: Timestamp) -> Option<Timestamp> {
    let JobState::Running { since, limit, .. } = &job.state else {
        return None;
    };
    let end = *since + limit.unwrap_or(UNLIMITED);
    Some(if end > now { end } else { now + KILL_WAIT })
}

/// Sets a number in a request.
type Set = fn(&mut Request, u32);

/// The options by which a job asks for GPUs, how many, and how another number is set.
fn gpus_of(request: &Request) -> Vec<(&'static str, u32, Set)> {
    let all: [(_, _, Set); 3] = [
        ("--gpus", &request.gpus, |request, count| {
            request.gpus.iter_mut().for_each(|gpus| gpus.count = count);
        }),
        (
            "--gpus-per-node",
            &request.gpus_per_node,
            |request, count| {
                let gpus = request.gpus_per_node.iter_mut();
                gpus.for_each(|gpus| gpus.count = count);
            },
        ),
        (
            "--gpus-per-task",
            &request.rare.gpus_per_task,
            |request, count| {
                let gpus = request.rare.gpus_per_task.iter_mut();
                gpus.for_each(|gpus| gpus.count = count);
            },
        ),
    ];
    let all = all.into_iter();
    all.filter_map(|(option, gpus, set)| Some((option, gpus.as_ref()?.count, set)))
        .collect()
}

/// The greatest number from 1 and below `count` for which something holds, which holds for all
/// smaller ones too.
fn most_below(count: u32, holds: impl Fn(u32) -> bool) -> Option<u32> {
    if count < 2 || !holds(1) {
        return None;
    }
    let (mut yes, mut no) = (1, count);
    while no - yes > 1 {
        let middle = yes + (no - yes) / 2;
        if holds(middle) {
            yes = middle;
        } else {
            no = middle;
        }
    }
    Some(yes)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails loudly")]
    use super::*;
    use cluster_file::ClusterFile;
    use model::GpuCount;
    use resources::{Cluster, Trust};
    use std::sync::Arc;

    const MINUTE: u64 = 60;

    /// Two nodes with four GPUs and eight CPUs each.
    fn state() -> State {
        let text = "[nodes.g]\nnames = \"g[1-2]\"\ncpus = 8\n\
            gpu = { type = \"v100\", count = 4 }\n[partition.all]\ndefault = true\nnodes = \"ALL\"\n";
        let file = ClusterFile::parse("two", text).unwrap();
        State::new(Arc::new(Cluster::build(&file, Trust::All)), Arc::new([]))
    }

    fn gpus(count: u32, minutes: u64) -> Request {
        Request {
            gpus_per_node: Some(GpuCount { kind: None, count }),
            min_nodes: Some(1),
            max_nodes: Some(1),
            time: Some(TimeLimitRequest::Limit(Seconds(minutes * MINUTE))),
            ..Request::default()
        }
    }

    fn submit(state: &mut State, request: Request) -> JobId {
        let id = state.new_id();
        let record = JobRecord {
            uid: 1000,
            gid: 1000,
            user: "ann".to_owned(),
            group: "ann".to_owned(),
            priority: if request.hold {
                0
            } else {
                crate::priority_of(&request)
            },
            submit_host: "login".to_owned(),
            ..JobRecord::submitted(id, request, Timestamp(i64::from(id.0)))
        };
        state.apply(Event::Submitted {
            record: Box::new(record),
            array: None,
            history: Vec::new(),
            at: Timestamp(0),
        });
        state.schedule(Timestamp(0));
        id
    }

    #[test]
    fn a_job_that_waits_for_gpus_of_one_node() {
        let mut state = state();
        let first = submit(&mut state, gpus(3, 60));
        submit(&mut state, gpus(3, 120));
        let waits = submit(&mut state, gpus(2, 30));
        let why = state.why(waits, Timestamp(0)).unwrap();
        assert_eq!(why.reason, PendingReason::Resources);
        assert_eq!(
            (why.free.gpus, why.free_on_one.gpus, why.there.gpus),
            (2, 1, 8)
        );
        assert_eq!(why.needs.unwrap().gpus, 2);
        let holders: Vec<JobId> = why.holders.iter().map(|holder| holder.job).collect();
        assert_eq!(holders, [first]);
        assert_eq!(why.start, Some(Timestamp(3_600_000)));
        assert_eq!(why.instead, ["--gpus-per-node=1"]);
        assert_eq!(state.why(first, Timestamp(0)), None);
    }

    /// What is promised to the one ahead is not offered to another.
    #[test]
    fn a_shorter_limit_lets_a_job_start_before_others() {
        let mut state = state();
        state.set_backfill(Some(crate::BackfillParameters::default()));
        submit(&mut state, gpus(4, 60));
        submit(&mut state, gpus(3, 120));
        let ahead = submit(&mut state, gpus(4, 60));
        let waits = submit(&mut state, gpus(1, 600));
        let start = |state: &State| state.why(waits, Timestamp(0)).map(|why| why.start);
        match start(&state) {
            // It delays nobody where it is.
            None => assert!(state.why(ahead, Timestamp(0)).is_some()),
            Some(start) => assert!(start.is_some()),
        }
        let long = submit(&mut state, gpus(4, 600));
        let why = state.why(long, Timestamp(0)).unwrap();
        assert!(why.ahead.contains(&ahead), "{why:?}");
        assert!(why.start >= state.why(ahead, Timestamp(0)).unwrap().start);
    }

    /// What the plan of a pass says is what comes when running jobs last until their limits.
    #[test]
    fn the_plan_says_what_comes() {
        let mut state = state();
        state.set_backfill(Some(crate::BackfillParameters::default()));
        submit(&mut state, gpus(4, 60));
        submit(&mut state, gpus(3, 120));
        let jobs: Vec<JobId> = [(4, 60), (4, 30), (2, 10)]
            .map(|(count, minutes)| submit(&mut state, gpus(count, minutes)))
            .to_vec();
        for job in jobs {
            let record = state.job(job).unwrap();
            let played = state.played_start(record, Timestamp(0)).unwrap();
            let planned = state.by_plan(record, Timestamp(0)).unwrap();
            assert_eq!(
                (planned.at, planned.needs),
                (played.at, played.needs),
                "{job}"
            );
            assert_eq!(state.planned(job), Some(planned.at));
            assert_eq!(
                state.why(job, Timestamp(0)).unwrap().start,
                Some(planned.at)
            );
        }
    }

    #[test]
    fn a_held_job_has_no_start() {
        let mut state = state();
        let held = Request {
            hold: true,
            ..gpus(1, 10)
        };
        let id = submit(&mut state, held);
        let why = state.why(id, Timestamp(0)).unwrap();
        assert_eq!(why.start, None);
        assert_eq!(why.instead, Vec::<String>::new());
    }

    /// Each request that is offered starts when it is submitted instead, and one more does not.
    #[test]
    fn what_is_offered_starts() {
        let mut state = state();
        submit(&mut state, gpus(2, 60));
        submit(&mut state, gpus(3, 60));
        let waits = submit(&mut state, gpus(4, 60));
        let why = state.why(waits, Timestamp(0)).unwrap();
        assert_eq!(why.instead, ["--gpus-per-node=2"]);
        for (count, starts) in [(2, true), (3, false)] {
            let record = state.job(waits).unwrap();
            assert_eq!(
                state.would_start(record, gpus(count, 60), Timestamp(0)),
                starts
            );
        }
    }
}
