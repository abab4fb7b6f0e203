//! A cluster asked about jobs beside everything else, in a thread: a question that hangs keeps no
//! one from Ctrl-C, and all that follow runs share one question: in this process, and on a real
//! Slurm among all processes of the user.

use crate::job_view::JobView;
use crate::shared_queue::{SharedQueue, Snapshot};
use crate::transport::{Transport, TransportError};
use model::{JobId, Timestamp};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A question without an answer for so long counts as an outage: the controller may still answer.
const SLOW: Duration = Duration::from_secs(10);
/// Between two questions about all jobs: an answer may be long.
const LIST_PAUSE: Duration = Duration::from_millis(500);
/// A wait that a change ends before its time.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// A question whose answer took long, as of an array of many thousand elements, is asked as much less
/// often: the time between two is so many times that.
const SHARE: u32 = 10;
/// So that a pause that is just over does not spin.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);

/// Whether a cluster answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// It does, or was not asked yet.
    Answers,
    /// It does not.
    DoesNotAnswer {
        /// Since when.
        since: Instant,
        /// What was seen.
        why: String,
    },
}

/// What a cluster said of jobs.
#[derive(Clone, Debug)]
pub struct Look {
    /// The how-manieth look it is.
    pub number: u64,
    /// The jobs of which it was asked.
    pub asked: Vec<JobId>,
    /// Those that it knows.
    pub jobs: Vec<JobView>,
}

/// The thread that asks one cluster. Dropping it ends a question that is under way.
#[derive(Debug)]
pub struct Poller {
    cluster: String,
    is_embedded: bool,
    shared: Arc<Shared>,
    stop: Arc<AtomicBool>,
    thread: Option<std::thread::JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The jobs of all that follow runs, each with the moment since which it is known to be there.
    wanted: Vec<(JobId, Timestamp)>,
    /// Something is to be asked before its time.
    hurry: bool,
    /// Since when there is no news.
    quiet_since: Option<Instant>,
    /// The question that is under way.
    asking_since: Option<Instant>,
    /// How long the last answer took.
    took: Duration,
    /// When the last answer was asked for, or a question failed.
    asked: Option<Instant>,
    /// The questions in a row that failed.
    failing: Option<Failing>,
    look: Option<Look>,
    /// An error that no waiting ends.
    fatal: Option<TransportError>,
    ended: bool,
}

#[derive(Debug)]
struct Failing {
    since: Instant,
    times: u32,
    /// How the last one failed.
    why: String,
}

impl State {
    /// How long to leave until the next question: the longer nothing changed, and the longer an
    /// outage lasts, the longer.
    fn pause(&self, asker: &Asker) -> Duration {
        let since = match &self.failing {
            Some(failing) => Some(failing.since),
            None => self.quiet_since,
        };
        asker.pause(
            since.map_or(Duration::ZERO, |since| since.elapsed()),
            self.took,
        )
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // What is in it is whole at every moment.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the next question is due, and says of which jobs, and how old an answer may be;
    /// `None` at the end.
    fn next(&self, asker: &Asker) -> Option<(Vec<JobId>, Duration)> {
        let mut state = self.lock();
        loop {
            if state.ended {
                return None;
            }
            let pause = state.pause(asker);
            let waited = state.asked.map_or(pause, |asked| asked.elapsed());
            let has_question = matches!(asker.about, About::All(_)) || !state.wanted.is_empty();
            if has_question && (state.hurry || waited >= pause) {
                state.hurry = false;
                state.asked = Some(Instant::now());
                state.asking_since = state.asked;
                let jobs = state.wanted.iter().map(|(job, _)| *job);
                return Some((jobs.collect(), pause));
            }
            let left = if has_question {
                pause.saturating_sub(waited)
            } else {
                LONGEST_WAIT
            };
            let woken = self.changed.wait_timeout(state, left.max(SHORTEST_WAIT));
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Takes an answer; whether there will be more questions.
    fn take(&self, answer: Result<Snapshot, NoAnswer>) -> bool {
        let mut state = self.lock();
        let began = state.asking_since.take();
        state.took = began.map_or(Duration::ZERO, |began| began.elapsed());
        match answer {
            Ok(Snapshot { at, jobs }) => {
                let age = u64::try_from(sys::now().saturating_sub(at.0)).unwrap_or(0);
                state.asked = Instant::now().checked_sub(Duration::from_millis(age));
                let is_known = |job: &JobId| jobs.iter().any(|view| view.id == *job);
                let asked = state.wanted.iter();
                let asked = asked.filter(|(job, since)| *since <= at || is_known(job));
                let asked = asked.map(|(job, _)| *job).collect();
                state.failing = None;
                let last = state.look.take();
                let number = last.as_ref().map_or(0, |look| look.number) + 1;
                if last.is_none_or(|last| last.jobs != jobs) {
                    state.quiet_since = Some(Instant::now());
                }
                state.look = Some(Look {
                    number,
                    asked,
                    jobs,
                });
                true
            }
            Err(NoAnswer::ForGood(error)) => {
                state.fatal = Some(error);
                false
            }
            Err(NoAnswer::Outage(why)) => {
                let failing = state.failing.get_or_insert(Failing {
                    since: Instant::now(),
                    times: 0,
                    why: String::new(),
                });
                failing.times += 1;
                failing.why = why;
                true
            }
        }
    }
}

/// Why there is no answer.
enum NoAnswer {
    /// The embedded engine: the client has started one again, or waited for one, before it says so.
    ForGood(TransportError),
    /// Of a cluster that may answer later.
    Outage(String),
}

/// What asks.
struct Asker {
    transport: Box<dyn Transport>,
    /// Where the answer is shared with other processes.
    queue: Option<SharedQueue>,
    about: About,
    stop: Arc<AtomicBool>,
}

/// What is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum About {
    /// The jobs that are watched.
    Watched,
    /// The ends of those ([`Transport::jobs_to_their_end`]).
    Ends,
    /// All of the user's jobs, those included that ended so long ago.
    All(Duration),
}

impl Asker {
    fn pause(&self, unchanged_for: Duration, took: Duration) -> Duration {
        let pause = match &self.queue {
            Some(queue) => queue.pause(unchanged_for),
            None => {
                let pause = self.transport.pause(unchanged_for);
                pause.max(LONGEST_WAIT.min(took * SHARE))
            }
        };
        match self.about {
            About::All(_) => pause.max(LIST_PAUSE),
            About::Watched | About::Ends => pause,
        }
    }

    /// Those jobs, and where all are asked about, these too.
    fn jobs(&mut self, jobs: &[JobId]) -> Result<Vec<JobView>, TransportError> {
        let remembered = match self.about {
            About::Watched => return self.transport.jobs(jobs),
            About::Ends => return self.transport.jobs_to_their_end(jobs),
            About::All(remembered) => remembered,
        };
        let remembered = i64::try_from(remembered.as_millis()).unwrap_or(i64::MAX);
        let since = Timestamp(sys::now().saturating_sub(remembered));
        let mut all = self.transport.snapshot(since)?;
        let is_missing = |job: &&JobId| all.iter().all(|view| view.id != **job);
        let missing: Vec<JobId> = jobs.iter().filter(is_missing).copied().collect();
        if !missing.is_empty() {
            all.extend(self.transport.jobs(&missing)?);
        }
        Ok(all)
    }

    fn ask(&mut self, jobs: &[JobId], oldest: Duration) -> Result<Snapshot, NoAnswer> {
        if let Some(queue) = &self.queue {
            let transport = &mut self.transport;
            let ask = || transport.snapshot(Timestamp(0));
            let answer = queue.snapshot(oldest, &self.stop, ask);
            return answer.map_err(NoAnswer::Outage);
        }
        let at = Timestamp(sys::now());
        match self.jobs(jobs) {
            Ok(jobs) => Ok(Snapshot { at, jobs }),
            Err(error) if self.transport.is_embedded() => Err(NoAnswer::ForGood(error)),
            Err(error) => Err(NoAnswer::Outage(error.to_string())),
        }
    }
}

fn ask(shared: &Shared, mut asker: Asker) {
    while let Some((jobs, oldest)) = shared.next(&asker) {
        let answer = asker.ask(&jobs, oldest);
        if !shared.take(answer) {
            return;
        }
    }
}

impl Poller {
    /// Begins to ask through that transport, once there are jobs. `queue`: where other processes of
    /// the user share the answer.
    #[must_use]
    pub fn start(transport: Box<dyn Transport>, queue: Option<SharedQueue>) -> Poller {
        Poller::begin(transport, queue, About::Watched)
    }

    /// Begins to ask whether jobs have ended, once there are some: how, of an array, once none of it lives.
    #[must_use]
    pub fn start_for_ends(transport: Box<dyn Transport>, queue: Option<SharedQueue>) -> Poller {
        Poller::begin(transport, queue, About::Ends)
    }

    /// Begins to ask about all of the user's jobs, those included that ended so long ago.
    #[must_use]
    pub fn start_for_all(
        transport: Box<dyn Transport>,
        queue: Option<SharedQueue>,
        remembered: Duration,
    ) -> Poller {
        Poller::begin(transport, queue, About::All(remembered))
    }

    fn begin(transport: Box<dyn Transport>, queue: Option<SharedQueue>, about: About) -> Poller {
        let shared = Arc::new(Shared::default());
        let stop = transport.stop();
        let cluster = transport.cluster().to_owned();
        let is_embedded = transport.is_embedded();
        let of_thread = Arc::clone(&shared);
        let asker = Asker {
            transport,
            queue,
            about,
            stop: Arc::clone(&stop),
        };
        let thread = std::thread::spawn(move || ask(&of_thread, asker));
        Poller {
            cluster,
            is_embedded,
            shared,
            stop,
            thread: Some(thread),
        }
    }

    /// The cluster's name.
    #[must_use]
    pub fn cluster(&self) -> &str {
        &self.cluster
    }

    /// Whether it asks the embedded engine.
    #[must_use]
    pub fn is_embedded(&self) -> bool {
        self.is_embedded
    }

    /// From now on these jobs are asked about too.
    pub fn watch(&self, jobs: &[JobId]) {
        let mut state = self.shared.lock();
        for job in jobs {
            if !state.wanted.iter().any(|(known, _)| known == job) {
                state.wanted.push((*job, Timestamp(sys::now())));
                state.hurry = true;
            }
        }
        if state.hurry {
            self.shared.changed.notify_all();
        }
    }

    /// Something happened: the next question comes sooner.
    pub fn hurry(&self) {
        self.shared.lock().quiet_since = Some(Instant::now());
        self.shared.changed.notify_all();
    }

    /// The newest answer, if it is newer than that look.
    ///
    /// # Errors
    /// The embedded engine can't be reached any more. Another cluster's outage is none: it is waited
    /// through, and [`Poller::reach`] tells of it.
    pub fn look(&self, newer_than: u64) -> Result<Option<Look>, TransportError> {
        let mut state = self.shared.lock();
        if let Some(error) = state.fatal.take() {
            return Err(error);
        }
        let look = state.look.as_ref();
        Ok(look.filter(|look| look.number > newer_than).cloned())
    }

    /// Whether the cluster answers. One question that failed is no outage yet: a busy controller
    /// drops some.
    #[must_use]
    pub fn reach(&self) -> Reach {
        let state = self.shared.lock();
        let slow = state.asking_since.filter(|since| since.elapsed() > SLOW);
        match (&state.failing, slow) {
            (Some(failing), _) if failing.times > 1 => Reach::DoesNotAnswer {
                since: failing.since,
                why: failing.why.clone(),
            },
            (_, Some(since)) => Reach::DoesNotAnswer {
                since,
                why: "no answer yet".to_owned(),
            },
            _ => Reach::Answers,
        }
    }
}

impl Drop for Poller {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.shared.lock().ended = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // It has nothing left to say.
            let _ = thread.join();
        }
    }
}
