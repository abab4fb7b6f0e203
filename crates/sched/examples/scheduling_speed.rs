//! How long the scheduler takes with many jobs that wait, `scheduling_speed NODES JOBS`: `benches/sched`
//! runs it. A line each: what, and a number in the unit that the line names, the median of a few rounds.
//!
//! The cluster is full: nodes with 64 CPUs and 8 GPUs each in one partition, besides a node in another
//! that is free. Requests, owners and limits are drawn from a fixed seed.

use cluster_file::ClusterFile;
use model::{
    GpuCount, JobId, JobState, MemoryRequest, Outcome, Request, Seconds, Submitter,
    TimeLimitRequest, Timestamp,
};
use resources::{Cluster, Trust};
use std::cmp::Reverse;
use std::io::Write;
use std::sync::Arc;
use std::time::Instant;
use yard_sched::{BackfillParameters, Event, GroupMembers, Job, State};

const ROUNDS: usize = 15;
/// A calculation of priorities each so many seconds.
const PERIOD: i64 = 300_000;
const USERS: u32 = 50;
const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;

fn main() {
    let numbers: Vec<u32> = std::env::args()
        .skip(1)
        .filter_map(|word| word.parse().ok())
        .collect();
    let [nodes, waiting] = numbers[..] else {
        panic!("scheduling_speed NODES JOBS");
    };
    measure(nodes, waiting as usize);
    measure_other_queues(nodes, waiting as usize);
}

/// Rows of one size.
fn measure(nodes: u32, waiting: usize) {
    let mut bench = Bench::new(nodes, "");
    // What runs is there before: a tenth of the jobs that wait as well.
    bench.fill(waiting / 10);
    let (before, few) = (resident(), bench.state.waiting_count());
    bench.fill(waiting);
    let grown = resident().saturating_sub(before);
    let say = |what: &str, figure: f64| {
        let line = format!("{what}\t{figure:.3}");
        writeln!(std::io::stdout(), "{line}").expect("the table can be written");
    };
    let each = 1024.0 * grown as f64 / (bench.state.waiting_count() - few) as f64;
    say("memory of a waiting job, B", each);
    for (what, backfill) in [
        ("one pass in order, ms", None),
        (
            "a cycle of backfill, 500 tried, ms",
            Some(BackfillParameters::default()),
        ),
        (
            "a cycle of backfill, all tried, ms",
            Some(BackfillParameters {
                tests: usize::MAX,
                ..BackfillParameters::default()
            }),
        ),
    ] {
        let is_slow = waiting > 10_000 || nodes > 1_000;
        let rounds = if is_slow { 3 } else { ROUNDS };
        bench.state.set_backfill(backfill);
        // So that another cycle is due.
        let later = backfill.map_or(1000, |backfill| backfill.interval);
        say(what, median(rounds, || bench.pass_after_an_end(later)));
        if backfill == Some(BackfillParameters::default()) {
            let behind = bench.behind_the_plan();
            say(
                "why one behind the plan waits and when it starts, ms",
                median(rounds, || bench.why(behind, true)),
            );
            let last = bench.state.live().last().expect("one waits").id;
            say(
                "why the last one waits, ms",
                median(rounds, || bench.why(last, false)),
            );
            say(
                "what one would wait for that is not submitted, ms",
                median(rounds, || bench.wait_if_submitted()),
            );
            say(
                "a submission that starts at once, ms",
                median(rounds, || bench.start_at_once("quick")),
            );
            say(
                "one that starts at once behind a blocked job, ms",
                median(rounds, || bench.start_at_once("all")),
            );
        }
    }
    bench.state.set_backfill(None);
    let mut rows = 0;
    let period = median(3, || {
        let (taken, written) = bench.period();
        rows += written;
        taken
    });
    say("a period of priorities, ms", period);
    say("rows that such periods write", rows as f64);
}

/// Queues that wait for something else than nodes alone.
fn measure_other_queues(nodes: u32, waiting: usize) {
    let say = |what: &str, backfill: Option<BackfillParameters>, bench: &mut Bench| {
        bench.state.set_backfill(backfill);
        let later = backfill.map_or(1000, |backfill| backfill.interval);
        let figure = median(3, || bench.pass(later));
        writeln!(std::io::stdout(), "{what}\t{figure:.3}").expect("the table can be written");
    };
    let cycle = Some(BackfillParameters::default());
    let mut bench = Bench::new(
        nodes,
        "[preemption]\ntype = \"partition\"\nmode = \"cancel\"\n\
         [partition.low]\nnodes = [\"all\"]\npriority_tier = 0\n",
    );
    // A CPU without a GPU, which is not enough for any.
    bench.submit(Request {
        partition: Some("low".to_owned()),
        memory: Some(MemoryRequest::PerNode(1)),
        ..Request::default()
    });
    bench.state.schedule(Timestamp(0));
    bench.fill(waiting);
    say(
        "a cycle of jobs that may preempt another, ms",
        cycle,
        &mut bench,
    );
    let mut bench = Bench::new(nodes, "[qos.normal]\nmax_jobs_accrue_per_user = 10\n");
    bench.fill(waiting);
    say(
        "one pass in order where ten jobs of each user age, ms",
        None,
        &mut bench,
    );
    let mut bench = Bench::new(nodes, "");
    bench.reserve_but(7);
    bench.fill_with(waiting, |bench| Request {
        min_nodes: Some(8),
        max_nodes: Some(8),
        time: Some(TimeLimitRequest::Limit(Seconds(
            HOUR * (1 + u64::from(bench.draw(100))),
        ))),
        ..bench.training()
    });
    say(
        "a cycle of jobs that wait for a reservation to be over, ms",
        cycle,
        &mut bench,
    );
}

/// A state and what draws jobs for it.
struct Bench {
    state: State,
    now: i64,
    drawn: u64,
    users: Vec<Arc<Submitter>>,
}

impl Bench {
    /// `rules` are further lines of the cluster file.
    fn new(nodes: u32, rules: &str) -> Bench {
        let text = format!(
            "[nodes.all]\nnames = \"n[1-{nodes}]\"\ncpus = 64\nmemory = \"512G\"\n\
             gpu = {{ type = \"h100\", count = 8 }}\n\
             [nodes.quick]\nnames = \"quick1\"\ncpus = 64\nmemory = \"512G\"\n\
             [partition.all]\ndefault = true\nnodes = [\"all\"]\n\
             [partition.quick]\nnodes = [\"quick\"]\n\
             [priority]\nage = 1000\nfair_share = 5000\njob_size = 500\nhalf_life = \"7-0\"\n{rules}"
        );
        let file = ClusterFile::parse("bench", &text).unwrap_or_else(|it| panic!("{it:?}"));
        let cluster = Arc::new(Cluster::build(&file, Trust::All));
        let users = (0..USERS).map(|user| {
            Arc::new(Submitter {
                uid: 1000 + user,
                user: format!("user{user}"),
                ..Submitter::default()
            })
        });
        Bench {
            state: State::new(cluster, Arc::default()),
            now: 0,
            drawn: 1,
            users: users.collect(),
        }
    }

    /// A number below another, by Marsaglia's xorshift.
    fn draw(&mut self, below: u32) -> u32 {
        self.drawn ^= self.drawn << 13;
        self.drawn ^= self.drawn >> 7;
        self.drawn ^= self.drawn << 17;
        (self.drawn % u64::from(below)) as u32
    }

    fn submit(&mut self, request: Request) -> JobId {
        let id = self.state.new_id();
        let user = self.draw(USERS) as usize;
        let submitter = Arc::clone(&self.users[user]);
        let at = Timestamp(self.now);
        self.state.apply(Event::Submitted {
            record: Box::new(Job::submitted(id, request, submitter, at)),
            array: None,
            history: Vec::new(),
            at,
        });
        id
    }

    /// A job of 1 to 8 GPUs on 1 to 8 nodes.
    fn training(&mut self) -> Request {
        let nodes = [1, 1, 1, 1, 2, 4, 8][self.draw(7) as usize];
        let gpus = if nodes > 1 { 8 } else { 1 + self.draw(8) };
        let minutes = [10, 60, 240, 720, 1440][self.draw(5) as usize];
        Request {
            name: "train".to_owned(),
            partition: Some("all".to_owned()),
            min_nodes: Some(nodes),
            max_nodes: Some(nodes),
            tasks_per_node: Some(gpus),
            cpus_per_task: Some(1 + self.draw(8)),
            memory: Some(MemoryRequest::PerNode(u64::from(gpus) * 32 * 1024)),
            gpus_per_node: Some(GpuCount {
                kind: None,
                count: gpus,
            }),
            time: Some(TimeLimitRequest::Limit(Seconds(minutes * 60))),
            ..Request::default()
        }
    }

    /// Fills the cluster, and submits so many more.
    fn fill(&mut self, waiting: usize) {
        self.fill_with(waiting, Bench::training);
    }

    fn fill_with(&mut self, waiting: usize, request: impl Fn(&mut Bench) -> Request) {
        self.state.set_backfill(None);
        while self.state.waiting_count() < waiting {
            let request = request(self);
            self.submit(request);
            // The first that does not fit ends the filling.
            if self.state.waiting_count() == 1 {
                self.state.schedule(Timestamp(self.now));
            }
            self.now += 10;
        }
        self.state.schedule(Timestamp(self.now));
        self.state.take_changes();
    }

    /// Reserves all nodes but so many, from ten minutes later on.
    fn reserve_but(&mut self, few: u32) {
        let nodes = self.state.cluster().node_count() - 1;
        let words = [
            "ReservationName=later".to_owned(),
            "StartTime=now+600".to_owned(),
            "Duration=10-0".to_owned(),
            format!("Nodes=n[{}-{nodes}]", few + 1),
            "Users=root".to_owned(),
        ];
        let (now, zone) = (Timestamp(self.now), jiff::tz::TimeZone::UTC);
        let asked = model::reservation_request(&words, true, now, &zone).expect("it can be read");
        let made = self
            .state
            .reserve(&asked, true, &GroupMembers::default(), now);
        let reservation = made.expect("the nodes are free");
        self.state.apply(Event::ReservationChanged {
            name: reservation.name.clone(),
            reservation: Some(Box::new(reservation)),
        });
    }

    /// A pass over those that wait.
    fn pass(&mut self, later: i64) -> f64 {
        self.now += later;
        timed(|| {
            self.state.schedule(Timestamp(self.now));
            self.state.take_changes();
        })
    }

    /// Ends a running job, and sees who starts instead.
    fn pass_after_an_end(&mut self, later: i64) -> f64 {
        let count = self.state.running_count() as u32;
        let at = self.draw(count) as usize;
        let job = self.state.running().nth(at).expect("one runs").id;
        self.now += later;
        let at = Timestamp(self.now);
        timed(|| {
            self.state.apply(Event::Gone {
                job,
                outcome: Outcome::Completed,
                at,
            });
            self.state.schedule(at);
            self.state.take_changes();
        })
    }

    /// The next job behind those of which the last cycle planned the start, else the last of these.
    fn behind_the_plan(&self) -> JobId {
        let waits = |job: &&Job| matches!(job.state, JobState::Pending { .. });
        let mut waiting: Vec<&Job> = self.state.live().filter(waits).collect();
        waiting.sort_by_key(|job| (Reverse(job.priority), job.submitted, job.id));
        let is_planned = |job: &&Job| self.state.planned(job.id).is_some();
        let planned = waiting.iter().rposition(is_planned);
        let behind = planned.map_or(0, |last| last + 1).min(waiting.len() - 1);
        waiting[behind].id
    }

    /// Why a job waits, when it starts, or not before when, and what would start now.
    fn why(&mut self, job: JobId, has_start: bool) -> f64 {
        let at = Timestamp(self.now);
        let mut why = None;
        let taken = timed(|| why = self.state.why(job, at));
        let why = why.expect("it waits");
        let not_before = why.not_planned.and_then(|far| far.not_before);
        assert!(
            why.start.is_some() || (!has_start && not_before.is_some()),
            "{why:?}"
        );
        assert!(why.needs.is_some() && !why.smaller_untried, "{why:?}");
        taken
    }

    /// What a job would wait for that is like the others, and is not submitted.
    fn wait_if_submitted(&mut self) -> f64 {
        let request = self.training();
        let (id, at) = (JobId(self.state.next_id()), Timestamp(self.now));
        let job = Job::submitted(id, request, Arc::clone(&self.users[0]), at);
        timed(|| {
            let wait = self.state.wait_if_submitted(job, Vec::new(), at);
            assert!(wait.is_some(), "it would wait");
        })
    }

    /// Submits a job of a CPU for the node that is free, or for one that is not whole taken, and ends it
    /// afterwards.
    fn start_at_once(&mut self, partition: &str) -> f64 {
        self.now += 100;
        let at = Timestamp(self.now);
        let mut job = JobId(0);
        let taken = timed(|| {
            job = self.submit(Request {
                partition: Some(partition.to_owned()),
                memory: Some(MemoryRequest::PerNode(1)),
                time: Some(TimeLimitRequest::Limit(Seconds(MINUTE))),
                ..Request::default()
            });
            self.state.schedule(at);
            self.state.take_changes();
        });
        assert!(self.state.running().any(|it| it.id == job), "it starts");
        self.state.apply(Event::Gone {
            job,
            outcome: Outcome::Completed,
            at,
        });
        self.state.take_changes();
        taken
    }

    /// A period of priorities alone: how long it takes, and how many rows it has to write.
    fn period(&mut self) -> (f64, usize) {
        self.state.schedule(Timestamp(self.now));
        self.state.take_changes();
        self.now += PERIOD;
        let mut rows = 0;
        let taken = timed(|| {
            self.state.schedule(Timestamp(self.now));
            let changes = self.state.take_changes();
            rows = changes.live.len() + changes.ended.len() + changes.usage.len();
        });
        (taken, rows)
    }
}

/// Milliseconds of a call.
#[expect(clippy::disallowed_methods, reason = "what measures reads the clock")]
fn timed(call: impl FnOnce()) -> f64 {
    let began = Instant::now();
    call();
    began.elapsed().as_secs_f64() * 1000.0
}

fn median(rounds: usize, mut call: impl FnMut() -> f64) -> f64 {
    let mut all: Vec<f64> = (0..rounds).map(|_| call()).collect();
    all.sort_by(f64::total_cmp);
    all[rounds / 2]
}

/// KiB that this process has in memory.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}
