//! Which connections are open, and the bound on them: each has a thread.
//!
//! Beyond the bound a new one takes the place of the one that has been idle for longest, whose client
//! connects again with its next call. Where none is idle the new one waits: its client gives up after
//! a time of its own.

use std::collections::HashMap;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Most connections, where the process may have as many descriptors.
const MOST: usize = 1000;
/// A connection between two calls of its client is not idle.
const IDLE_AFTER: Duration = Duration::from_secs(1);
/// How long to wait until others may be idle.
const PAUSE: Duration = Duration::from_millis(100);

/// The open connections, by number.
#[derive(Debug)]
pub(crate) struct OpenConnections {
    most: usize,
    idle_after: Duration,
    open: Mutex<HashMap<u64, Open>>,
    left: Condvar,
}

#[derive(Debug)]
struct Open {
    stream: Arc<UnixStream>,
    activity: Activity,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Activity {
    /// Its client says nothing since then.
    Idle(Instant),
    /// A call is being answered, or a job belongs to the connection.
    Busy,
    /// Closed to make room; its thread is about to leave.
    Closing,
}

/// One connection's place, given up with its end.
#[derive(Debug)]
pub(crate) struct Admitted {
    all: Arc<OpenConnections>,
    number: u64,
}

impl OpenConnections {
    /// As many as are sensible for a process that may have so many descriptors: the engine needs
    /// others for its files and its jobs.
    pub(crate) fn of_process(descriptors: u64) -> OpenConnections {
        let descriptors = usize::try_from(descriptors).unwrap_or(usize::MAX);
        OpenConnections::new(MOST.min(descriptors / 4 * 3), IDLE_AFTER)
    }

    fn new(most: usize, idle_after: Duration) -> OpenConnections {
        OpenConnections {
            most: most.max(1),
            idle_after,
            open: Mutex::default(),
            left: Condvar::new(),
        }
    }

    /// Takes a connection in, once there is room for it.
    pub(crate) fn admit(self: &Arc<Self>, number: u64, stream: &Arc<UnixStream>) -> Admitted {
        let mut open = self.lock();
        while open.len() >= self.most {
            self.close_longest_idle(&mut open);
            let waited = self.left.wait_timeout(open, PAUSE);
            open = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let new = Open {
            stream: Arc::clone(stream),
            activity: Activity::Idle(Instant::now()),
        };
        open.insert(number, new);
        Admitted {
            all: Arc::clone(self),
            number,
        }
    }

    fn close_longest_idle(&self, open: &mut HashMap<u64, Open>) {
        if open.values().any(|one| one.activity == Activity::Closing) {
            return;
        }
        let idle = open.values_mut().filter_map(|one| match one.activity {
            Activity::Idle(since) if since.elapsed() >= self.idle_after => Some((since, one)),
            Activity::Idle(_) | Activity::Busy | Activity::Closing => None,
        });
        if let Some((_, one)) = idle.min_by_key(|(since, _)| *since) {
            one.activity = Activity::Closing;
            // Its thread reads the end, and leaves.
            let _gone = one.stream.shutdown(Shutdown::Both);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<u64, Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Admitted {
    /// A call came; false where the connection was closed meanwhile: its client asks again.
    pub(crate) fn begin_call(&self) -> bool {
        self.set(Activity::Busy)
    }

    /// The call is answered.
    pub(crate) fn end_call(&self) {
        self.set(Activity::Idle(Instant::now()));
    }

    fn set(&self, activity: Activity) -> bool {
        let mut open = self.all.lock();
        let Some(one) = open.get_mut(&self.number) else {
            return false;
        };
        if one.activity == Activity::Closing {
            return false;
        }
        one.activity = activity;
        true
    }
}

impl Drop for Admitted {
    fn drop(&mut self) {
        self.all.lock().remove(&self.number);
        self.all.left.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::thread;

    struct Client {
        stream: UnixStream,
        admitted: Admitted,
    }

    impl Client {
        fn new(all: &Arc<OpenConnections>, number: u64) -> Client {
            let (stream, theirs) = UnixStream::pair().unwrap();
            let admitted = all.admit(number, &Arc::new(theirs));
            Client { stream, admitted }
        }

        fn is_closed(&mut self) -> bool {
            self.stream.set_nonblocking(true).unwrap();
            matches!(self.stream.read(&mut [0]), Ok(0))
        }
    }

    fn of(most: usize) -> Arc<OpenConnections> {
        Arc::new(OpenConnections::new(most, Duration::ZERO))
    }

    /// Waits for the connection to be closed for another's sake, and leaves as its thread does.
    fn leave_when_closed(mut client: Client) {
        while !client.is_closed() {
            thread::yield_now();
        }
        assert!(!client.admitted.begin_call(), "no call is taken any more");
    }

    #[test]
    fn a_new_one_takes_the_place_of_the_longest_idle() {
        let all = of(3);
        let [first, second, third] = [1, 2, 3].map(|number| Client::new(&all, number));
        assert!(first.admitted.begin_call());
        first.admitted.end_call();
        let leaves = thread::spawn(move || leave_when_closed(second));
        let fourth = Client::new(&all, 4);
        leaves.join().unwrap();
        for mut client in [first, third, fourth] {
            assert!(!client.is_closed());
            assert!(client.admitted.begin_call());
        }
    }

    #[test]
    fn a_new_one_waits_where_all_are_busy() {
        let all = of(2);
        let [busy, ends] = [1, 2].map(|number| Client::new(&all, number));
        assert!(busy.admitted.begin_call() && ends.admitted.begin_call());
        let others = Arc::clone(&all);
        let waits = thread::spawn(move || Client::new(&others, 3));
        drop(ends);
        let mut third = waits.join().unwrap();
        assert!(!third.is_closed());
        let mut busy = busy;
        assert!(!busy.is_closed());
    }

    #[test]
    fn the_bound_leaves_descriptors_for_the_rest() {
        assert_eq!(OpenConnections::of_process(1024).most, 768);
        assert_eq!(OpenConnections::of_process(u64::MAX).most, MOST);
        assert_eq!(OpenConnections::of_process(0).most, 1);
    }
}
