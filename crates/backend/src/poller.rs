//! A cluster asked about jobs beside everything else, in a thread: a question that hangs keeps no
//! one from Ctrl-C, and all that follow runs in this process share one question.

use crate::job_view::JobView;
use crate::transport::{Transport, TransportError};
use model::JobId;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A question without an answer for so long counts as an outage: the controller may still answer.
const SLOW: Duration = Duration::from_secs(10);
/// A wait that a change ends before its time.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
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
    /// The jobs of all that follow runs.
    wanted: Vec<JobId>,
    /// Something is to be asked before its time.
    hurry: bool,
    /// Since when there is no news.
    quiet_since: Option<Instant>,
    /// The question that is under way.
    asking_since: Option<Instant>,
    /// When the last one began.
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
    fn pause(&self, transport: &dyn Transport) -> Duration {
        let since = match &self.failing {
            Some(failing) => Some(failing.since),
            None => self.quiet_since,
        };
        transport.pause(since.map_or(Duration::ZERO, |since| since.elapsed()))
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // What is in it is whole at every moment.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until the next question is due, and says of which jobs; `None` at the end.
    fn next(&self, transport: &dyn Transport) -> Option<Vec<JobId>> {
        let mut state = self.lock();
        loop {
            if state.ended {
                return None;
            }
            let pause = state.pause(transport);
            let waited = state.asked.map_or(pause, |asked| asked.elapsed());
            if !state.wanted.is_empty() && (state.hurry || waited >= pause) {
                state.hurry = false;
                state.asked = Some(Instant::now());
                state.asking_since = state.asked;
                return Some(state.wanted.clone());
            }
            let left = if state.wanted.is_empty() {
                LONGEST_WAIT
            } else {
                pause.saturating_sub(waited)
            };
            let woken = self.changed.wait_timeout(state, left.max(SHORTEST_WAIT));
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Takes an answer; whether there will be more questions.
    fn take(
        &self,
        asked: Vec<JobId>,
        answer: Result<Vec<JobView>, TransportError>,
        is_embedded: bool,
    ) -> bool {
        let mut state = self.lock();
        state.asking_since = None;
        match answer {
            Ok(jobs) => {
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
            // The client has started an engine again, or waited for one, before it says so.
            Err(error) if is_embedded => {
                state.fatal = Some(error);
                false
            }
            Err(error) => {
                let why = error.to_string();
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

fn ask(shared: &Shared, mut transport: Box<dyn Transport>) {
    while let Some(jobs) = shared.next(&*transport) {
        let answer = transport.jobs(&jobs);
        if !shared.take(jobs, answer, transport.is_embedded()) {
            return;
        }
    }
}

impl Poller {
    /// Begins to ask through that transport, once there are jobs.
    #[must_use]
    pub fn start(transport: Box<dyn Transport>) -> Poller {
        let shared = Arc::new(Shared::default());
        let stop = transport.stop();
        let cluster = transport.cluster().to_owned();
        let of_thread = Arc::clone(&shared);
        let thread = std::thread::spawn(move || ask(&of_thread, transport));
        Poller {
            cluster,
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

    /// From now on these jobs are asked about too.
    pub fn watch(&self, jobs: &[JobId]) {
        let mut state = self.shared.lock();
        for job in jobs {
            if !state.wanted.contains(job) {
                state.wanted.push(*job);
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
