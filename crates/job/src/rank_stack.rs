//! Where ranks that hang stand, and which of them the others wait for. Pure.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use sys::process::Doing;

/// Where a rank stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RankStack {
    /// The rank.
    pub rank: u32,
    /// What it does there.
    pub standing: Standing,
    /// Its innermost frame, such as `load (data.py:12)`, else what the kernel says of it.
    pub place: String,
}

/// What a rank that hangs does, as far as it tells who waits for whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// A signal or a debugger stopped it.
    Stopped,
    /// The kernel waits for a disk on its behalf.
    Disk,
    /// It is somewhere in its own work.
    Works,
    /// It waits for other processes.
    Waits,
}

/// What the frames of a wait for other ranks are called, in PyTorch, Horovod, MPI, JAX.
const COLLECTIVES: &[&str] = &[
    "all_reduce",
    "allreduce",
    "all_gather",
    "allgather",
    "reduce_scatter",
    "broadcast",
    "barrier",
    "all_to_all",
    "alltoall",
    "synchronize",
    "distributed_c10d",
    "nccl",
    "gloo",
    "mpi4py",
    "horovod",
    "block_until_ready",
];

/// Calls in which one waits for other processes as a rule.
const WAITS: &[&str] = &[
    "futex",
    "poll",
    "select",
    "epoll",
    "recv",
    "accept",
    "connect",
    "sched_yield",
];

impl RankStack {
    /// Of what the kernel says of the rank's process.
    #[must_use]
    pub fn of_kernel(rank: u32, doing: &Doing) -> RankStack {
        let waits = match &doing.call {
            Some(call) => WAITS.contains(&call.as_str()),
            // Libraries wait for other ranks without a call, so that they notice sooner.
            None => true,
        };
        let standing = match doing.state {
            'T' | 't' => Standing::Stopped,
            'D' => Standing::Disk,
            _ if waits => Standing::Waits,
            _ => Standing::Works,
        };
        RankStack {
            rank,
            standing,
            place: doing.to_string(),
        }
    }

    /// Of what `py-spy dump` prints of the rank's process; `None` where it shows no frame.
    #[must_use]
    pub fn of_py_spy(rank: u32, dump: &str, doing: &Doing) -> Option<RankStack> {
        RankStack::of_frames(rank, &main_frames(dump), doing)
    }

    /// Of what Python's `faulthandler` writes of the rank's process; `None` where it shows no frame.
    #[must_use]
    pub fn of_faulthandler(rank: u32, dump: &str, doing: &Doing) -> Option<RankStack> {
        RankStack::of_frames(rank, &main_of_faulthandler(dump)?, doing)
    }

    /// Of the main thread's frames, innermost first.
    fn of_frames<T: AsRef<str>>(rank: u32, frames: &[T], doing: &Doing) -> Option<RankStack> {
        let innermost = frames.first()?.as_ref();
        let named = |frame: &T| {
            let frame = frame.as_ref().to_ascii_lowercase();
            COLLECTIVES.iter().any(|name| frame.contains(name))
        };
        // At a socket of its own it waits for another process, too.
        let at_socket = innermost.contains("(socket.py:");
        let by_kernel = RankStack::of_kernel(rank, doing).standing;
        let standing = match by_kernel {
            Standing::Stopped | Standing::Disk => by_kernel,
            Standing::Works | Standing::Waits if at_socket || frames.iter().any(named) => {
                Standing::Waits
            }
            Standing::Works | Standing::Waits => Standing::Works,
        };
        let mut place = innermost.to_owned();
        if standing == Standing::Stopped {
            place.push_str(", stopped by a signal");
        }
        Some(RankStack {
            rank,
            standing,
            place,
        })
    }
}

/// The frames of the main thread, innermost first. `Process 7: python t.py` comes before the threads,
/// and the main thread has the process's number; its name is not always known.
fn main_frames(dump: &str) -> Vec<&str> {
    let process = dump.lines().find_map(|line| line.strip_prefix("Process "));
    let number = process.and_then(|line| line.split(':').next());
    let is_main = |line: &&str| {
        let thread = line.strip_prefix("Thread ");
        thread.is_some_and(|thread| thread.split(' ').next() == number)
    };
    let mut lines = dump.lines().skip_while(|line| !is_main(line));
    lines.next();
    let frames = lines.take_while(|line| line.starts_with("    "));
    frames.map(str::trim).collect()
}

/// The frames of the main thread in what `faulthandler` writes, innermost first and as `py-spy` has
/// them: `load (data.py:12)`. The newest thread is first there, the main one last.
#[must_use]
pub fn main_of_faulthandler(dump: &str) -> Option<Vec<String>> {
    let is_head =
        |line: &str| line.contains("hread 0x") && line.ends_with("(most recent call first):");
    let mut lines = dump.lines().rev().collect::<Vec<_>>();
    let head = lines.iter().position(|line| is_head(line))?;
    lines.truncate(head);
    let frame = |line: &&str| {
        // `  File "/home/me/data.py", line 12 in load`
        let rest = line.trim().strip_prefix("File \"")?;
        let (path, rest) = rest.split_once("\", line ")?;
        let (number, function) = rest.split_once(" in ")?;
        // Of a package's module the package counts, too: that is how waits are known.
        let name = path.rsplit_once("site-packages/").map_or_else(
            || path.rsplit('/').next().unwrap_or(path),
            |(_, inside)| inside,
        );
        Some(format!("{function} ({name}:{number})"))
    };
    let frames: Vec<String> = lines.iter().rev().filter_map(frame).collect();
    (!frames.is_empty()).then_some(frames)
}

/// In one line where ranks stand, those that the others wait for first. `silent`: nodes whose agents
/// did not answer.
#[must_use]
pub fn describe(stacks: &[RankStack], silent: &[String]) -> String {
    let mut text = String::new();
    if !silent.is_empty() {
        let does = if silent.len() == 1 { "does" } else { "do" };
        let _ = write!(text, "{} {does} not answer", silent.join(", "));
    }
    let behind = behind(stacks);
    let (late, rest): (Vec<&RankStack>, Vec<&RankStack>) = stacks
        .iter()
        .partition(|stack| behind.contains(&stack.rank));
    for (stacks, are_behind) in [(late, true), (rest, false)] {
        for (place, ranks) in by_place(&stacks) {
            if !text.is_empty() {
                text.push_str("; ");
            }
            let _ = match (are_behind, ranks.as_slice()) {
                (true, [rank]) => write!(text, "rank {rank} is behind: {place}"),
                (true, _) => write!(text, "ranks {} are behind: {place}", numbers(&ranks)),
                (false, [rank]) => write!(text, "rank {rank}: {place}"),
                (false, _) => write!(text, "ranks {}: {place}", numbers(&ranks)),
            };
        }
    }
    text
}

/// The ranks that the others wait for; none where all do the same.
fn behind(stacks: &[RankStack]) -> Vec<u32> {
    let first = stacks.iter().map(|stack| stack.standing).min();
    let last = stacks.iter().map(|stack| stack.standing).max();
    if first != last {
        let own = stacks.iter().filter(|stack| Some(stack.standing) == first);
        return own.map(|stack| stack.rank).collect();
    }
    // All do a thing of one kind: fewer than half of them elsewhere than the others are odd.
    let all: Vec<&RankStack> = stacks.iter().collect();
    let places = by_place(&all);
    let most = places
        .iter()
        .map(|(_, ranks)| ranks.len())
        .max()
        .unwrap_or(0);
    if most * 2 <= stacks.len() {
        return Vec::new();
    }
    let odd = places.into_iter().filter(|(_, ranks)| ranks.len() < most);
    odd.flat_map(|(_, ranks)| ranks).collect()
}

/// Places with their ranks, in the order of their first rank.
fn by_place<'a>(stacks: &[&'a RankStack]) -> Vec<(&'a str, Vec<u32>)> {
    let mut places: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for stack in stacks {
        places.entry(&stack.place).or_default().push(stack.rank);
    }
    let mut places: Vec<_> = places.into_iter().collect();
    for (_, ranks) in &mut places {
        ranks.sort_unstable();
    }
    places.sort_by_key(|(_, ranks)| ranks.first().copied());
    places
}

/// `0, 2-5`
fn numbers(ranks: &[u32]) -> String {
    let mut spans: Vec<(u32, u32)> = Vec::new();
    for rank in ranks {
        match spans.last_mut() {
            Some((_, last)) if *last + 1 == *rank => *last = *rank,
            _ => spans.push((*rank, *rank)),
        }
    }
    let spans = spans.iter().map(|(first, last)| match last - first {
        0 => first.to_string(),
        1 => format!("{first}, {last}"),
        _ => format!("{first}-{last}"),
    });
    spans.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn process(state: char, call: &str) -> Doing {
        Doing {
            name: "python".to_owned(),
            state,
            call: (!call.is_empty()).then(|| call.to_owned()),
        }
    }

    /// Ranks from 0, each by its state's letter and the call that it waits in.
    #[track_caller]
    fn check(ranks: &[(char, &str)], silent: &[&str], want: Expect) {
        let stacks: Vec<RankStack> = (0..)
            .zip(ranks)
            .map(|(rank, (state, call))| RankStack::of_kernel(rank, &process(*state, call)))
            .collect();
        let silent: Vec<String> = silent.iter().map(|node| (*node).to_owned()).collect();
        want.assert_eq(&describe(&stacks, &silent));
    }

    #[test]
    fn the_rank_that_the_others_wait_for_comes_first() {
        check(
            &[('S', "recv"), ('S', "sleep")],
            &[],
            expect!["rank 1 is behind: python in sleep; rank 0: python in recv"],
        );
        check(
            &[('T', ""), ('S', "sleep"), ('S', "poll"), ('S', "poll")],
            &[],
            expect![
                "rank 0 is behind: python is stopped by a signal; rank 1: python in sleep; ranks 2, 3: python in poll"
            ],
        );
        check(
            &[('R', ""), ('D', "read"), ('R', ""), ('R', "")],
            &[],
            expect![
                "rank 1 is behind: python waits for a disk in read; ranks 0, 2, 3: python computes"
            ],
        );
        // Whoever does otherwise than most.
        check(
            &[('S', "read"), ('S', "read"), ('S', "sleep")],
            &[],
            expect!["rank 2 is behind: python in sleep; ranks 0, 1: python in read"],
        );
        check(
            &[('S', "read"), ('S', "sleep")],
            &[],
            expect!["rank 0: python in read; rank 1: python in sleep"],
        );
        check(
            &[('S', "poll"); 4],
            &[],
            expect!["ranks 0-3: python in poll"],
        );
        check(
            &[('S', "poll")],
            &["n2"],
            expect!["n2 does not answer; rank 0: python in poll"],
        );
        check(&[], &["n1", "n2"], expect!["n1, n2 do not answer"]);
        check(&[], &[], expect![""]);
    }

    /// What py-spy 0.4 printed of a Python 3.11.
    const LOADS: &str = "Process 25011: python t.py\nPython v3.11.7 (/usr/bin/python3.11)\n\n\
        Thread 25013 (idle): \"Thread-1 (<lambda>)\"\n    <lambda> (t.py:5)\n    Thread.run (threading.py:982)\n\
        Thread 25011 (idle): \"MainThread\"\n    Condition.wait (threading.py:327)\n    Queue.get (queue.py:171)\n    \
        load (t.py:4)\n    <module> (t.py:6)\n";

    #[test]
    fn frames_say_who_waits_in_a_collective() {
        let reduces = LOADS.replace(
            "Queue.get (queue.py:171)",
            "all_reduce (torch/distributed/distributed_c10d.py:2501)",
        );
        let sleeps = process('S', "futex");
        let stacks = [(0, reduces.as_str()), (1, LOADS)]
            .map(|(rank, dump)| RankStack::of_py_spy(rank, dump, &sleeps).unwrap());
        assert_eq!(
            stacks.map(|stack| stack.standing),
            [Standing::Waits, Standing::Works]
        );
        let stopped = RankStack::of_py_spy(0, LOADS, &process('T', "")).unwrap();
        assert_eq!(
            stopped.place,
            "Condition.wait (threading.py:327), stopped by a signal"
        );
        assert_eq!(
            RankStack::of_py_spy(0, "Error: Permission denied", &sleeps),
            None
        );
    }

    #[test]
    fn what_faulthandler_writes() {
        // Of Python 3.11.7, with a thread that loads.
        let dump = "Thread 0x00007fd9b49ae6c0 (most recent call first):\n  \
            File \"/home/me/t.py\", line 3 in load\n  \
            File \"/usr/lib/python3.11/threading.py\", line 982 in run\n\n\
            Current thread 0x00007fd9b5821b80 (most recent call first):\n  \
            File \"/usr/lib/python3.11/socket.py\", line 294 in accept\n  \
            File \"/home/me/t.py\", line 6 in train\n  \
            File \"/home/me/t.py\", line 7 in <module>\n";
        let stack = RankStack::of_faulthandler(3, dump, &process('S', "accept")).unwrap();
        assert_eq!(
            (stack.place.as_str(), stack.standing),
            ("accept (socket.py:294)", Standing::Waits)
        );
        let in_package = dump.replace(
            "/usr/lib/python3.11/socket.py\", line 294 in accept",
            "/v/site-packages/torch/distributed/distributed_c10d.py\", line 9 in all_reduce",
        );
        let stack = RankStack::of_faulthandler(3, &in_package, &process('S', "futex")).unwrap();
        assert_eq!(
            (stack.place.as_str(), stack.standing),
            (
                "all_reduce (torch/distributed/distributed_c10d.py:9)",
                Standing::Waits
            )
        );
        let loads = dump.replace("/usr/lib/python3.11/socket.py", "/home/me/data.py");
        let stack = RankStack::of_faulthandler(3, &loads, &process('S', "futex")).unwrap();
        assert_eq!(stack.standing, Standing::Works);
        assert_eq!(main_of_faulthandler("Fatal"), None);
        assert_eq!(main_of_faulthandler(""), None);
    }
}
