//! Any trace of a cluster with partitions, tiers and priorities, played by the replay and given job
//! by job to the scheduler of the engine: the same jobs start at the same moments.

use cluster_file::ClusterFile;
use jiff::tz::TimeZone;
use model::{JobId, Outcome, Request, Seconds, Submitter, TimeLimitRequest, Timestamp};
use proptest::prelude::*;
use resources::{Cluster, Trust};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use yard_sched::replay::{Order, Policy, Rules, Trace, read_trace, replay};
use yard_sched::{Action, BackfillParameters, Event, Job, State};

const USERS: [&str; 4] = ["ann", "bob", "cy", "dan"];
const QUEUES: [&str; 3] = ["day", "night", "short"];

/// Two partitions share nodes; one is of a higher tier. Ann and Bob share an account; Dan is in no
/// file.
const CLUSTER: &str = r#"
[nodes.a]
count = 2
names = "a[1-2]"
cpus = 4
[nodes.b]
count = 2
names = "b[1-2]"
cpus = 8
[partition.day]
nodes = "a[1-2]"
default = true
[partition.night]
nodes = "all"
priority_factor = 5
[partition.short]
nodes = "b[1-2]"
priority_tier = 3
[priority]
age = 1000
fair_share = 5000
job_size = 300
partition = 200
max_age = "01:00:00"
half_life = "02:00:00"
calc_period = "00:05:00"
[account.lab]
shares = "3"
[account.guests]
shares = "1"
[user.ann]
accounts = ["lab"]
[user.bob]
accounts = ["lab"]
[user.cy]
accounts = ["guests"]
"#;

/// Usage begins anew each day, or never.
fn cluster(resets: bool) -> Cluster {
    let text = if resets {
        CLUSTER.replace("half_life", "usage_reset = \"daily\"\nhalf_life")
    } else {
        CLUSTER.to_owned()
    };
    let file = ClusterFile::parse("any", &text);
    let file = file.unwrap_or_else(|problems| panic!("{problems:?}"));
    Cluster::build(&file, Trust::All)
}

/// Jobs as (time since the one before, run time, CPUs, user, queue); times in half minutes.
type TraceRow = (u32, u32, u32, usize, usize);

fn any_jobs() -> impl Strategy<Value = Vec<TraceRow>> {
    let job = (
        0_u32..6,
        1_u32..40,
        1_u32..9,
        0..USERS.len(),
        0..QUEUES.len(),
    );
    prop::collection::vec(job, 1..60)
}

fn trace(jobs: &[TraceRow]) -> Trace {
    let mut text = String::from("job,submit,run,estimate,cpus,user,queue\n");
    // An hour before midnight.
    let mut submit = 23 * 3600;
    for (id, (gap, run, cpus, user, queue)) in jobs.iter().enumerate() {
        submit += gap * 30;
        let (user, queue) = (USERS[*user], QUEUES[*queue]);
        let _ = writeln!(
            text,
            "{},{submit},{},36000,{cpus},{user},{queue}",
            id + 1,
            run * 30
        );
    }
    read_trace(&text).expect("a table of jobs")
}

/// When each job starts, by the scheduler of the engine, in order alone.
fn by_the_engine(trace: &Trace, resets: bool) -> BTreeMap<usize, i64> {
    let mut state = State::new(Arc::new(cluster(resets)), Arc::default());
    state.set_backfill(None);
    if let Some(first) = trace.jobs.first() {
        state.set_zone(TimeZone::UTC, first.submit);
    }
    let mut jobs = trace.jobs.iter().enumerate().peekable();
    let mut starts = BTreeMap::new();
    // Those that run, by their ends, then in the order of their starts.
    let mut running: BTreeMap<(i64, usize), JobId> = BTreeMap::new();
    loop {
        let next_submission = jobs.peek().map(|(_, job)| job.submit.0);
        let next_end = running.keys().next().map(|(end, _)| *end);
        let due = state.next_due().filter(|_| !running.is_empty());
        let next = [next_submission, next_end, due.map(|due| due.0)];
        let Some(now) = next.into_iter().flatten().min() else {
            return starts;
        };
        let at = Timestamp(now);
        let mut pass = |state: &mut State, running: &mut BTreeMap<_, _>| {
            for action in state.schedule(at) {
                if let Action::Start { job, .. } = action {
                    let slot = job.0 as usize - 1;
                    running.insert((now + trace.jobs[slot].run, starts.len()), job);
                    starts.insert(slot, now);
                }
            }
        };
        pass(&mut state, &mut running);
        while let Some((_, job)) = jobs.next_if(|(_, job)| job.submit.0 <= now) {
            submit(&mut state, job.cpus, &job.user, &job.queue, at);
            pass(&mut state, &mut running);
        }
        while let Some(first) = running.first_entry().filter(|first| first.key().0 <= now) {
            let (job, outcome) = (first.remove(), Outcome::Completed);
            state.apply(Event::Gone { job, outcome, at });
            pass(&mut state, &mut running);
        }
    }
}

fn submit(state: &mut State, cpus: u32, user: &str, queue: &str, at: Timestamp) {
    let request = Request {
        tasks: Some(cpus),
        partition: Some(queue.to_owned()),
        time: Some(TimeLimitRequest::Limit(Seconds(36000))),
        ..Request::default()
    };
    let id = state.new_id();
    let submitter = Submitter {
        user: user.to_owned(),
        ..Submitter::default()
    };
    let record = Job::submitted(id, request, Arc::new(submitter), at);
    state.apply(Event::Submitted {
        record: Box::new(record),
        array: None,
        history: Vec::new(),
        at,
    });
}

proptest! {
    #[test]
    fn the_replay_starts_what_the_engine_starts(jobs in any_jobs(), resets: bool) {
        let trace = trace(&jobs);
        let rules = Rules {
            order: Order::Multifactor,
            // No backfill.
            backfill: Some(BackfillParameters { tests: 0, ..BackfillParameters::default() }),
            ..Rules::new(Policy::Slurm)
        };
        let played = replay(&trace, &cluster(resets), rules, &mut |_| {});
        let starts = played.starts.iter().map(|start| (start.job, start.at.0));
        prop_assert_eq!(starts.collect::<BTreeMap<_, _>>(), by_the_engine(&trace, resets));
    }
}
