//! The inner steps as processes: srun and scontrol are started here and nowhere else.

use super::Message;
use super::allocation::Allocation;
use super::failure;
use super::slurm_command::slurm_command;
use super::state::{Concerns, StateEvent, TrialId};
use super::succession::Place;
use crate::exit_code;
use crate::labelled_reports::LabelledReports;
use crate::protocol::Order;
use crate::srun;
use crate::srun_words::SrunLoss;
use crate::trained;
use folder::{Event, RunFolder};
use signal_hook::consts::SIGTERM;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdin, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};
use sys::process::PidFd;
use train::{Plan, Shape};

/// How long agents that have finished may take to end.
const LEAVE: Duration = Duration::from_secs(1);

/// Starts steps and tells the loop how they end.
#[derive(Debug)]
pub struct Steps {
    /// The binary on the nodes: the one that runs here.
    pub yard: PathBuf,
    /// Whose steps they are.
    pub trial: TrialId,
    /// The run folder.
    pub run: RunFolder,
    /// The allocation.
    pub allocation: Allocation,
    /// The loop.
    pub sender: Sender<Message>,
    /// Whether the ranks were signalled to end, by us or by a signal to the whole job.
    pub told_to_end: Arc<AtomicBool>,
}

/// The agents' step; dropping it takes their orders away, which ends them.
#[derive(Debug)]
pub struct AgentsStep {
    orders: ChildStdin,
    pid: u32,
    /// Others are to take the agents' place: what is still said of these is of no use.
    replaced: Arc<AtomicBool>,
    /// Its srun was waited for.
    over: Arc<AtomicBool>,
}

impl AgentsStep {
    /// Sends an order to all agents. Their step's end shows that they are gone.
    pub fn send(&mut self, order: &Order) {
        let _ = self
            .orders
            .write_all(order.line().as_bytes())
            .and_then(|()| self.orders.flush());
    }

    /// Ends the step: agents that have finished end with their orders, others are not waited for.
    pub fn end(self) {
        drop(self.orders);
        if self.over.load(Ordering::Relaxed) {
            return;
        }
        let ended = PidFd::open(self.pid).map(|srun| srun.wait_exit(Some(LEAVE)));
        if !matches!(ended, Ok(Ok(true)) | Err(_)) {
            let _ = sys::process::signal(self.pid, SIGTERM);
        }
    }

    /// Ends what is left of the agents, so that others can take their place.
    pub fn make_room(mut self) {
        self.replaced.store(true, Ordering::Relaxed);
        self.send(&Order::MakeRoom);
        self.end();
    }
}

/// Where the ranks of a start run.
#[derive(Clone, Copy, Debug)]
pub struct RanksPlace<'a> {
    /// Their working folder.
    pub folder: &'a Path,
    /// The run's folder on the node's own disk.
    pub local: &'a Path,
    /// Options of `srun` that start their container.
    pub options: &'a [String],
}

impl Steps {
    fn nodes(&self) -> u32 {
        u32::try_from(self.allocation.nodes.len()).unwrap_or(u32::MAX)
    }

    fn yard(&self, what: &str) -> Vec<OsString> {
        vec![self.yard.clone().into(), "job".into(), what.into()]
    }

    /// The words that start a wrapper of the ranks' step.
    pub fn rank_wrapper(&self, what: &str, local: &Path) -> Vec<OsString> {
        let mut command = self.yard(what);
        command.extend([
            self.allocation.attempt.to_string().into(),
            self.run.path().into(),
            local.into(),
        ]);
        command
    }

    /// Starts the agents.
    ///
    /// # Errors
    /// There is no srun.
    pub fn agents(&self) -> io::Result<AgentsStep> {
        let trial = self.trial;
        let mut command = self.yard("agent");
        command.push(self.run.path().into());
        let args = srun::agents(self.nodes(), self.allocation.has_gpus(), &command);
        let mut child = self.start(&args, [Stdio::piped(), Stdio::piped(), Stdio::piped()])?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(orders), Some(reports), Some(words)) = pipes else {
            return Err(io::Error::other("srun has no pipes"));
        };
        let (replaced, over) = (Arc::new(AtomicBool::new(false)), Arc::default());
        let step = AgentsStep {
            orders,
            pid: child.id(),
            replaced: Arc::clone(&replaced),
            over: Arc::clone(&over),
        };
        self.listen_to_words(words, &replaced);
        let (sender, told_to_end) = (self.sender.clone(), Arc::clone(&self.told_to_end));
        std::thread::spawn(move || {
            let tell = |event| {
                if !replaced.load(Ordering::Relaxed) {
                    tell(&sender, trial, event);
                }
            };
            let mut labelled = LabelledReports::default();
            // By bytes: other programs may write there too, and srun may break a line within a letter.
            let lines = BufReader::new(reports).split(b'\n').map_while(Result::ok);
            for line in lines {
                if let Some((agent, report)) = labelled.take(&line) {
                    tell(StateEvent::Report(agent, report));
                }
            }
            // After its output: what the agents said last counts.
            let (status, _) = wait(child);
            over.store(true, Ordering::Relaxed);
            if status != 0 {
                await_own_signal(&told_to_end);
            }
            tell(StateEvent::AgentsEnded(status));
        });
        Ok(step)
    }

    /// Hands srun's own words on to the conductor's log, and what they say of lost agents to the loop.
    fn listen_to_words(&self, words: ChildStderr, replaced: &Arc<AtomicBool>) {
        let trial = self.trial;
        let (sender, replaced) = (self.sender.clone(), Arc::clone(replaced));
        let told_to_end = Arc::clone(&self.told_to_end);
        std::thread::spawn(move || {
            let lines = BufReader::new(words).split(b'\n').map_while(Result::ok);
            for line in lines {
                let mut log = io::stderr().lock();
                // A log that takes nothing is no reason to stop reading.
                let _ = log.write_all(&[&line[..], b"\n"].concat());
                drop(log);
                let Some(loss) = SrunLoss::parse(&String::from_utf8_lossy(&line)) else {
                    continue;
                };
                await_own_signal(&told_to_end);
                if !replaced.load(Ordering::Relaxed) {
                    tell(&sender, trial, StateEvent::AgentsLost(loss));
                }
            }
        });
    }

    /// Starts agents in the place of lost ones; where they can't be, their step ends at once.
    pub fn agents_again(&self) -> Option<AgentsStep> {
        match self.agents() {
            Ok(agents) => Some(agents),
            Err(_) => {
                tell(&self.sender, self.trial, StateEvent::AgentsEnded(127));
                None
            }
        }
    }

    /// Starts the ranks; returns srun's process, by which they can be aborted.
    pub fn ranks(&self, plan: &Plan, place: &RanksPlace<'_>) -> Option<u32> {
        let trial = self.trial;
        let local = place.local;
        let attempt = self.allocation.attempt;
        let has_head = plan.launcher.value.shape() == Shape::Head;
        let command = self.rank_wrapper(if has_head { "head" } else { "rank" }, local);
        let (nodes, per_node) = if has_head {
            (1, 1)
        } else {
            (self.nodes(), plan.tasks_per_node.value)
        };
        let is_even = plan.uneven.is_none();
        // Where one task starts the node's ranks it gets all of their CPUs.
        let cpus = match plan.uneven {
            Some(_) => plan.cpus_per_rank.value,
            None => plan.cpus_per_rank.value * plan.ranks_per_node.value / per_node.max(1),
        };
        let shape = srun::Shape {
            nodes,
            tasks: if is_even {
                nodes * per_node
            } else {
                plan.tasks()
            },
            is_even,
            cpus: Some(cpus.max(1)),
        };
        let ranks = srun::Ranks {
            shape,
            first_node: self.allocation.nodes.first().filter(|_| has_head),
            gpus: self.allocation.has_gpus(),
            has_idle_tasks: !is_even && plan.launcher.value.shape() == Shape::Agents,
            output: &PathBuf::from(self.run.rank_log_pattern(attempt)),
            folder: place.folder,
            options: place.options,
        };
        let args = srun::ranks(&ranks, &command);
        let (sender, run) = (self.sender.clone(), self.run.clone());
        let tasks = plan.tasks();
        let is_agents = plan.launcher.value.shape() == Shape::Agents;
        let told_to_end = Arc::clone(&self.told_to_end);
        let log = run.conductor_log(attempt.job);
        let log_before = std::fs::metadata(&log).map_or(0, |log| log.len());
        let ended = move |status: i32, killed: Option<i32>, why: Option<String>| {
            // At once: ranks that lost their srun are about to be ended too.
            let status = if trained::is_done(&run, attempt) {
                0
            } else {
                status
            };
            let first = (status != 0)
                .then(|| failure::first_failed(&run, attempt))
                .flatten();
            // Where no rank wrote anything, srun was refused: a job that is ended gets no steps.
            if status != 0
                && first
                    .as_ref()
                    .is_none_or(|exit| exit.signal == Some(SIGTERM))
            {
                await_own_signal(&told_to_end);
            }
            let silent = why.is_none() && failure::is_silent(&run, status, first.as_ref());
            let cause =
                why.unwrap_or_else(|| failure::cause(&run, attempt, status, first.as_ref()));
            let memory = (status != 0)
                .then(|| failure::out_of_memory(&log, log_before))
                .flatten();
            let cause = match memory {
                Some(memory) => format!("{cause}; {memory}"),
                None => cause,
            };
            let lost = match killed {
                Some(signal) if status != 0 => {
                    Some(format!("the ranks' srun was ended by signal {signal}"))
                }
                _ => failure::lost_wrapper(&run, attempt, status, tasks),
            };
            let lost = lost.or_else(|| {
                let why = failure::disk_errors(&run).filter(|_| status != 0)?;
                Some(format!("{cause}; the run folder can't be written: {why}"))
            });
            let lost = lost.or_else(|| silent.then(|| cause.clone()));
            let cause = lost.clone().unwrap_or(cause);
            let first_failed = first.map(|exit| (exit.rank, exit.status));
            if let Some(text) = failure::left_early(&run, attempt) {
                let _ = sender.send(Message::Record(Event::Note { text }));
            }
            // How an agent ended tells nothing of its workers.
            let exited = !is_agents && failure::all_exited(&run, attempt, tasks);
            tell(
                &sender,
                trial,
                StateEvent::RanksEnded {
                    status,
                    first_failed,
                    exited,
                    lost: lost.is_some(),
                    cause,
                },
            );
        };
        match self.start(&args, [Stdio::null(), Stdio::inherit(), Stdio::inherit()]) {
            Ok(child) => {
                let pid = child.id();
                std::thread::spawn(move || {
                    let (status, killed) = wait(child);
                    ended(status, killed, None);
                });
                Some(pid)
            }
            Err(error) => {
                ended(127, None, Some(format!("srun can't be started: {error}")));
                None
            }
        }
    }

    /// The conductor's stderr, which srun inherits where it is not read, is the conductor's log.
    fn start(&self, args: &[OsString], streams: [Stdio; 3]) -> io::Result<Child> {
        let [input, output, errors] = streams;
        let mut command = Command::new("srun");
        command
            .args(args)
            .stdin(input)
            .stdout(output)
            .stderr(errors);
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(srun::is_scrubbed) {
                command.env_remove(name);
            }
        }
        if std::env::current_dir().is_err() {
            // Its file system was mounted anew: the run folder is there again, and not for srun.
            command.current_dir(self.run.path());
        }
        // A signal to the batch step's group is for the conductor: srun would end its step at once.
        command.process_group(0).spawn()
    }

    /// Asks for the job's requeue. A controller that is busy is asked again.
    pub fn requeue(&self) {
        let trial = self.trial;
        const TRIES: u32 = 5;
        const PAUSE: Duration = Duration::from_secs(2);
        let (name, sender) = (self.allocation.requeue_name.clone(), self.sender.clone());
        let (run, attempt) = (self.run.clone(), self.allocation.attempt);
        std::thread::spawn(move || {
            let mut result = Err(String::new());
            for attempt in 0..TRIES {
                if attempt > 0 {
                    std::thread::sleep(PAUSE);
                }
                result = requeue(&name);
                if result.is_ok() {
                    break;
                }
            }
            if result.is_ok() {
                // Without it the agents ask the cluster whether the batch step was killed.
                let _settled = run.settle_comeback(attempt);
            }
            tell(&sender, trial, StateEvent::Requeued(result));
        });
    }

    /// Submits the job that takes over.
    pub fn succeed(&self, place: Place) {
        let trial = self.trial;
        let sender = self.sender.clone();
        std::thread::spawn(move || {
            tell(
                &sender,
                trial,
                StateEvent::SuccessorSubmitted(place.succeed()),
            )
        });
    }
}

/// Cancels a job that waits to take over. One that is left ends by itself as soon as it starts, so
/// no caller waits long for a controller that is busy.
pub fn cancel(job: u32) {
    const PATIENCE: Duration = Duration::from_secs(5);
    let (sender, receiver) = channel();
    std::thread::spawn(move || {
        let answer = slurm_command("scancel").arg(job.to_string()).status();
        let _ = sender.send(answer);
    });
    let _ = receiver.recv_timeout(PATIENCE);
}

/// A job that is ended has SIGTERM sent to all of it: the ranks may be gone before our own has come.
/// Their end would be taken for a failure of the training.
fn await_own_signal(told_to_end: &AtomicBool) {
    const LONGEST: Duration = Duration::from_secs(1);
    let begun = Instant::now();
    while !told_to_end.load(Ordering::Relaxed) && begun.elapsed() < LONGEST {
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn tell(sender: &Sender<Message>, trial: TrialId, event: StateEvent) {
    // The loop may be over already; nobody is left to tell.
    let _ = sender.send(Message::State(Concerns::Trial(trial), event));
}

/// The exit code, and the signal that ended srun itself.
fn wait(mut child: Child) -> (i32, Option<i32>) {
    child.wait().map_or((1, None), |status| {
        (exit_code::of(status), exit_code::signal(status))
    })
}

/// Asks once for a job's requeue.
pub fn requeue(name: &str) -> Result<(), String> {
    let answer = slurm_command("scontrol")
        .args(["requeue", name])
        .output()
        .map_err(|error| format!("scontrol can't be started: {error}"))?;
    if answer.status.success() {
        return Ok(());
    }
    let words = last_words("scontrol", &answer);
    // Asked by a conductor that was killed over it.
    if words.contains("Job is pending execution") {
        return Ok(());
    }
    Err(words)
}

/// The last line that a program complained with.
pub fn last_words(program: &str, answer: &Output) -> String {
    let said = String::from_utf8_lossy(&answer.stderr);
    let last = said.lines().rfind(|line| !line.trim().is_empty());
    let nothing = || format!("{program} printed nothing and ended with {}", answer.status);
    last.map_or_else(nothing, |line| line.trim().to_owned())
}
