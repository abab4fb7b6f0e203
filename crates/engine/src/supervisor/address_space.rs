//! How many addresses the tasks of a step have. Accounting tells the most that each had, and a process that ended
//! doesn't say any more, so that tasks are looked at while they live.

use super::launch::Task;
use std::time::{Duration, Instant};

/// When tasks are looked at after their start; then after twice the time, and so on. What is over by then has told
/// nothing.
const FIRST: Duration = Duration::from_millis(20);
/// The longest time from one look to the next: what Slurm's `JobAcctGatherFrequency` is where no one sets it.
const LONGEST: Duration = Duration::from_secs(30);

/// When tasks are looked at next.
pub(super) struct AddressSpace {
    next: Instant,
    gap: Duration,
}

impl AddressSpace {
    /// Of tasks that were started now.
    pub(super) fn of_new_tasks() -> AddressSpace {
        AddressSpace {
            next: Instant::now() + FIRST,
            gap: FIRST,
        }
    }

    /// How long until then, where a task lives.
    pub(super) fn next_look(&self, tasks: &[Task]) -> Option<Duration> {
        let lives = tasks.iter().any(Task::lives);
        lives.then(|| self.next.saturating_duration_since(Instant::now()))
    }

    /// Notes what the tasks have, where it is time for that.
    pub(super) fn look(&mut self, tasks: &mut [Task]) {
        let now = Instant::now();
        if self.next > now {
            return;
        }
        self.gap = (self.gap * 2).min(LONGEST);
        self.next = now + self.gap;
        let mut live: Vec<&mut Task> = tasks.iter_mut().filter(|task| task.lives()).collect();
        let pids: Vec<u32> = live.iter().map(|task| task.pid).collect();
        let have = sys::process::addresses(&pids);
        for (task, have) in live.iter_mut().zip(have) {
            task.addresses = task.addresses.max(have);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn the_most_of_a_task_and_all_below_it_is_kept() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let task = |pid, addresses| Task {
            rank: 0,
            pid,
            host: None,
            status: None,
            used: None,
            addresses,
            epilogs: None,
            errors: None,
        };
        let mut tasks = [
            task(std::process::id(), None),
            task(child.id(), Some(u64::MAX)),
        ];
        // Long enough for a machine that has much else to do.
        let mut space = AddressSpace {
            next: Instant::now(),
            gap: LONGEST / 2,
        };
        let own = sys::process::addresses(&[child.id()])[0];
        space.look(&mut tasks);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(tasks[0].addresses > own && own > Some(0));
        assert_eq!(tasks[1].addresses, Some(u64::MAX));
        assert_eq!(space.gap, LONGEST);
        let first = tasks[0].addresses;
        tasks[0].addresses = None;
        space.look(&mut tasks);
        assert_eq!(tasks[0].addresses, None, "it is not time yet: {first:?}");
        assert!(space.next_look(&tasks) > Some(FIRST));
        assert_eq!(space.next_look(&[]), None);
    }
}
