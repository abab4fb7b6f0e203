//! What each rank of a node does right now: for ranks that hang.

use super::Surroundings;
use super::outbox::Outbox;
use super::ranks::{self, RankProcess};
use crate::local_folder::LocalFolder;
use crate::protocol::Report;
use crate::python_stack;
use crate::rank_stack::RankStack;
use folder::{Attempt, RunFolder};
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsStr;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::Receiver;
use std::time::Duration;
use sys::process::{Doing, descendants, doing, find_program};
use sys::run_bounded;

/// How long `py-spy` may take for a process.
const LIMIT: Duration = Duration::from_secs(5);
/// Processes of a rank that are looked at: a loader has many.
const MOST: usize = 8;

/// The conductor wants to know where the ranks stand.
#[derive(Debug)]
pub(super) struct LookAtRanks;

/// Looks as often as it is asked to.
pub(super) fn run(
    at: &Surroundings,
    local: &LocalFolder,
    inbox: &Receiver<LookAtRanks>,
    outbox: &Outbox,
) {
    for LookAtRanks in inbox {
        let local = local.path();
        let started = ranks::numbered(&local, at.node_index);
        for stack in look(&at.run, &local, at.attempt, &started) {
            outbox.say(Report::Stack(stack));
        }
        outbox.say(Report::Looked);
    }
}

/// Looks at the ranks of a node, which started these processes; writes what is seen of each into the
/// run folder.
fn look(
    run: &RunFolder,
    local: &Path,
    attempt: Attempt,
    started: &[(u32, RankProcess)],
) -> Vec<RankStack> {
    let ranks = by_rank(started);
    let looks = ranks.iter().map(|(rank, pids)| (*rank, pids));
    std::thread::scope(|scope| {
        let looks: Vec<_> = looks
            .map(|(rank, pids)| scope.spawn(move || one(run, local, attempt, rank, pids)))
            .collect();
        // A look that panicked saw nothing.
        looks
            .into_iter()
            .filter_map(|look| look.join().ok()?)
            .collect()
    })
}

/// The processes of each rank, parents first. Those that a launcher started for ranks of their own
/// say so in their environment, as PyTorch's, Horovod's and MPI's do.
fn by_rank(started: &[(u32, RankProcess)]) -> BTreeMap<u32, Vec<u32>> {
    const NAMES: [&str; 3] = ["RANK", "HOROVOD_RANK", "OMPI_COMM_WORLD_RANK"];
    let mut ranks: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (task, process) in started {
        let mut owners = BTreeMap::new();
        for pid in [process.child]
            .into_iter()
            .chain(descendants(process.child))
        {
            let variables = variables(pid);
            let own = NAMES
                .iter()
                .find_map(|name| variables.get(*name)?.parse().ok());
            owners.insert(pid, own.unwrap_or(*task));
        }
        // A launcher that starts several ranks is none of them.
        let has_several = owners.values().any(|rank| rank != task);
        for (pid, rank) in owners {
            if !(has_several && pid == process.child) {
                ranks.entry(rank).or_default().push(pid);
            }
        }
    }
    ranks
}

/// What a process was started with, as far as it is text.
fn variables(pid: u32) -> HashMap<String, String> {
    let bytes = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let entries = bytes
        .split(|byte| *byte == 0)
        .filter_map(|entry| std::str::from_utf8(entry).ok());
    let pairs = entries.filter_map(|entry| entry.split_once('='));
    pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// The stacks of a rank's processes: by `py-spy` where the rank has it and it may look, else by
/// Python's `faulthandler`, else what the kernel says.
fn one(
    run: &RunFolder,
    local: &Path,
    attempt: Attempt,
    rank: u32,
    pids: &[u32],
) -> Option<RankStack> {
    let mut text = String::new();
    let mut stands: Option<(bool, RankStack)> = None;
    for pid in pids.iter().take(MOST) {
        let Some(seen) = doing(*pid) else {
            continue;
        };
        let mut dump = py_spy(*pid);
        let mut spied = dump
            .as_ref()
            .and_then(|dump| RankStack::of_py_spy(rank, dump, &seen));
        if spied.is_none()
            && let Some(own) = python_stack::ask(local, *pid)
        {
            spied = RankStack::of_faulthandler(rank, &own, &seen);
            dump = Some(format!("Process {pid}: {seen}\n{own}"));
        }
        // Writing into a string is no error.
        let _ = match &dump {
            Some(dump) => writeln!(text, "{}\n", dump.trim_end()),
            None => writeln!(text, "{}\n", kernel_view(*pid, &seen)),
        };
        let stand = (
            spied.is_some(),
            spied.unwrap_or_else(|| RankStack::of_kernel(rank, &seen)),
        );
        // The first that has frames; without any, the first that waits for no child of its own.
        let is_parent = seen.call.as_deref() == Some("wait");
        let is_better = match &stands {
            None => true,
            Some((has_frames, before)) => {
                !has_frames && (stand.0 || (before.place.ends_with(" in wait") && !is_parent))
            }
        };
        if is_better {
            stands = Some(stand);
        }
    }
    // What can't be written stands in the log in short.
    let _ = sys::atomic::write(&run.stack(attempt, rank), text.as_bytes());
    stands.map(|(_, stand)| stand)
}

/// What `py-spy` prints of a process.
fn py_spy(pid: u32) -> Option<String> {
    let own = variables(pid);
    let program = find(own.get("PATH")?)?;
    let mut command = Command::new(program);
    // Whoever looks must not stop what others wait for.
    command.args(["dump", "--nonblocking", "--pid", &pid.to_string()]);
    let ended = run_bounded(&mut command, Vec::new(), LIMIT).ok()?;
    (ended.code == 0 && ended.output.contains("Thread ")).then_some(ended.output)
}

fn find(path: &str) -> Option<PathBuf> {
    find_program(OsStr::new("py-spy"), path)
}

/// A process and its threads.
fn kernel_view(pid: u32, seen: &Doing) -> String {
    let mut text = format!("Process {pid}: {seen}");
    let threads = fs::read_dir(format!("/proc/{pid}/task"))
        .into_iter()
        .flatten()
        .flatten();
    for thread in threads.take(64) {
        let read = |name: &str| fs::read_to_string(thread.path().join(name)).unwrap_or_default();
        let (name, place) = (read("comm"), read("wchan"));
        let place = match place.trim() {
            "" | "0" => "no function that the kernel names",
            place => place,
        };
        let id = thread.file_name();
        let _ = write!(text, "\nThread {} ({}): {place}", id.display(), name.trim());
        // Only root may read it.
        for line in read("stack").lines().take(12) {
            let _ = write!(text, "\n    {line}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank_stack::Standing;
    use signal_hook::consts::SIGSTOP;
    use std::process::Child;
    use std::time::Instant;

    fn started(command: &mut Command) -> (Child, RankProcess) {
        let child = command.spawn().unwrap();
        let process = RankProcess {
            node_index: 0,
            wrapper: std::process::id(),
            child: child.id(),
            start_time: sys::process::start_time(child.id()).unwrap(),
        };
        (child, process)
    }

    fn look_until(
        process: &RankProcess,
        done: impl Fn(&[RankStack]) -> bool,
    ) -> (Vec<RankStack>, String) {
        let folder = tempfile::tempdir().unwrap();
        let run = RunFolder::at(folder.path());
        fs::create_dir_all(run.logs()).unwrap();
        let attempt = Attempt { job: 1, restart: 0 };
        let until = Instant::now() + Duration::from_secs(20);
        loop {
            let stacks = look(&run, folder.path(), attempt, &[(0, process.clone())]);
            if done(&stacks) || Instant::now() > until {
                let text = fs::read_to_string(run.stack(attempt, 0)).unwrap_or_default();
                return (stacks, text);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn a_process_that_is_stopped_is_seen_without_py_spy() {
        let (mut child, process) =
            started(Command::new("sleep").arg("60").env("PATH", "/usr/bin:/bin"));
        sys::process::signal(child.id(), SIGSTOP).unwrap();
        let (stacks, text) = look_until(&process, |stacks| {
            stacks
                .first()
                .is_some_and(|stack| stack.standing == Standing::Stopped)
        });
        assert_eq!(stacks[0].place, "sleep is stopped by a signal", "{text}");
        assert!(
            text.starts_with(&format!("Process {}: sleep", child.id())),
            "{text}"
        );
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn ranks_of_a_launcher_are_told_apart_and_py_spy_is_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let spy = folder.path().join("py-spy");
        fs::write(
            &spy,
            "#!/bin/sh\necho \"Process $4: sleep\"; echo \"Thread $4 (idle)\"\necho '    load (data.py:7)'\n",
        )
        .unwrap();
        fs::set_permissions(&spy, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let path = format!("{}:/usr/bin:/bin", folder.path().display());
        let script = "RANK=5 sleep 60 & RANK=4 sleep 60 & wait";
        let (mut child, process) =
            started(Command::new("sh").args(["-c", script]).env("PATH", path));
        let is_there = |stacks: &[RankStack]| {
            stacks.iter().map(|stack| stack.rank).collect::<Vec<_>>() == [4, 5]
        };
        let (stacks, _) = look_until(&process, is_there);
        assert!(is_there(&stacks), "{stacks:?}");
        assert!(
            stacks.iter().all(|stack| stack.place == "load (data.py:7)"),
            "{stacks:?}"
        );
        for pid in descendants(child.id()) {
            let _ = sys::process::signal(pid, signal_hook::consts::SIGKILL);
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
