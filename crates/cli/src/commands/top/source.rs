//! Where the news come from: a thread that looks at clusters and run folders.

use super::view::{Detail, News, Row};
use model::Timestamp;
use runs::{Listed, Listing, LiveList, RunLook, RunState, RunWatch};
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use sys::Places;

/// Jobs of no run that ended are known so long.
pub const REMEMBERED: Duration = Duration::from_secs(24 * 3600);
/// Between two looks.
const PAUSE: Duration = Duration::from_secs(1);
/// Of so many runs that run, the newest, the samples are read.
const MOST_WATCHED: usize = 40;

/// What the screen shows in detail.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The chosen run or job.
    pub key: Option<String>,
    /// The rank whose lines are shown.
    pub rank: u32,
    /// How many of them.
    pub lines: usize,
    /// Whether what has ended is shown.
    pub all: bool,
}

/// The thread. It ends when this is dropped.
pub struct Source {
    shared: Arc<Shared>,
    news: Receiver<News>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<Orders>,
    changed: Condvar,
}

#[derive(Default)]
struct Orders {
    wanted: Wanted,
    /// A look is due before its time.
    hurry: bool,
    ended: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Orders> {
        // What is in it is whole at every moment.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn hurry(&self) {
        self.lock().hurry = true;
        self.changed.notify_all();
    }
}

impl Source {
    /// Begins to look.
    pub fn start(places: Places) -> Source {
        let shared = Arc::new(Shared::default());
        let (tell, news) = channel();
        let of_thread = Arc::clone(&shared);
        std::thread::spawn(move || look(&of_thread, places, &tell));
        Source { shared, news }
    }

    /// From now on this is shown.
    pub fn want(&self, wanted: Wanted) {
        let mut state = self.shared.lock();
        if state.wanted != wanted {
            state.wanted = wanted;
            drop(state);
            self.shared.hurry();
        }
    }

    /// The newest news, if there are any.
    pub fn news(&self) -> Option<News> {
        let mut newest = None;
        loop {
            match self.news.try_recv() {
                Ok(news) => newest = Some(news),
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => return newest,
            }
        }
    }

    /// What makes it look at once.
    pub fn hurry(&self) -> impl Fn() + Send + 'static {
        let shared = Arc::clone(&self.shared);
        move || shared.hurry()
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        self.shared.lock().ended = true;
        self.shared.changed.notify_all();
    }
}

fn look(shared: &Shared, places: Places, tell: &Sender<News>) {
    let mut list = LiveList::new(places, REMEMBERED);
    let mut looks = Looks::default();
    loop {
        let wanted = {
            let mut state = shared.lock();
            if state.ended {
                return;
            }
            if state.hurry {
                list.hurry();
            }
            state.hurry = false;
            state.wanted.clone()
        };
        let now = Timestamp(sys::now());
        let news = match list.list(now) {
            Ok(listing) => looks.news(&listing, &wanted, now),
            Err(failure) => News {
                problems: vec![failure.line()],
                ..News::default()
            },
        };
        // What was asked is on its way: the first answers are worth a second look at once.
        let pause = if list.has_answers() {
            PAUSE
        } else {
            PAUSE / 10
        };
        if tell.send(news).is_err() {
            return;
        }
        let state = shared.lock();
        if !state.hurry && !state.ended {
            let woken = shared.changed.wait_timeout(state, pause);
            drop(woken.unwrap_or_else(PoisonError::into_inner));
        }
    }
}

/// The runs that are followed.
#[derive(Default)]
pub struct Looks {
    watched: BTreeMap<String, RunWatch>,
}

impl Looks {
    /// What a list and the files of the runs in it say.
    pub fn news(&mut self, listing: &Listing, wanted: &Wanted, now: Timestamp) -> News {
        let is_chosen = |row: &Listed| wanted.key.as_ref() == Some(&row.key());
        let running = listing
            .rows
            .iter()
            .rev()
            .filter(|row| row.run().is_some() && matches!(row.state, RunState::Running { .. }));
        let mut followed: Vec<String> = running.map(Listed::key).take(MOST_WATCHED).collect();
        followed.extend(
            listing
                .rows
                .iter()
                .filter(|row| is_chosen(row))
                .map(Listed::key),
        );
        self.watched.retain(|key, _| followed.contains(key));
        let mut detail = None;
        let mut rows = Vec::new();
        for row in &listing.rows {
            let key = row.key();
            let lines = if is_chosen(row) { wanted.lines } else { 0 };
            let look = match row.run().filter(|_| followed.contains(&key)) {
                Some(run) => {
                    let new = || RunWatch::new(run.folder.clone());
                    let watch = self.watched.entry(key).or_insert_with(new);
                    watch.look(run, wanted.rank, lines)
                }
                None => RunLook::default(),
            };
            if is_chosen(row) {
                detail = Some(Detail::of(row, &look, now));
            }
            rows.push(Row::of(row, &look, now));
        }
        // The newest first: what a person has just started is at the top.
        rows.reverse();
        News {
            rows,
            detail,
            problems: listing.problems.clone(),
        }
    }
}
