//! A step's life from its first task to its last process.

mod obey;
mod said;

use super::address_space::AddressSpace;
use super::control::{Control, Obey, Token as ControlToken};
use super::cpu_bound::CpuBound;
use super::ending::{Due, Ending};
use super::launch::{self, Started, Task};
use super::memory_limit::{Bound, MemoryLimit, TaskEnd};
use super::processes::StepProcesses;
use super::relay::{Relay, Token as RelayToken, Wish};
use super::task_epilogs::{Next, TaskEpilogs};
use crate::BootTime;
use crate::spec::{Because, EndedBy, ExitFile, JobStop, LISTEN, Reach, StepSpec, TaskExit};
use api::step_io::FromSupervisor;
use model::{OUT_OF_MEMORY, TaskUsage, Timestamp, Usage, WaitStatus};
use std::fs::File;
use std::time::Duration;
use sys::poll::{Interest, Poll};
use sys::process::{self, Reaped};
use sys::signals::{SIGKILL, SignalFd};

pub(super) const SIGCHLD: i32 = 17;
const SIGCONT: i32 = 18;
const SIGTERM: i32 = 15;

/// Signals that the supervisor reads: an ended process; the end of the machine; and
/// [`LISTEN`].
pub(super) const SIGNALS: &[i32] = &[SIGCHLD, SIGTERM, LISTEN, 1, 2];

/// Longest sleep while a deadline lies ahead: a machine that was suspended must not move it.
const LONGEST_SLEEP_MS: i64 = 30_000;

/// A step that runs.
pub(super) struct Run<'a> {
    spec: &'a StepSpec,
    processes: StepProcesses<'a>,
    tasks: Vec<Task>,
    memory: MemoryLimit,
    addresses: AddressSpace,
    cpus: CpuBound,
    /// How many of the kills for memory a task of the step was found to be.
    seen_kills: u64,
    relay: Option<Relay>,
    messages: Option<File>,
    epilogs: Option<TaskEpilogs>,
    ending: Ending,
    ended_by: Option<EndedBy>,
    /// The loss of a node of its job ends it.
    lost_node: bool,
    /// Its job loses its place to another.
    is_preempted: bool,
    /// What becomes of its job otherwise.
    job_stop: Option<JobStop>,
    /// The lost node is this one: the step says nothing here any more.
    is_node_lost: bool,
    /// Its output has the line of its end, which Slurm writes once.
    told_end: bool,
    /// The same for a signal that is no end to its `srun`.
    told_signal: bool,
    /// What ended processes used.
    usage: Usage,
}

#[derive(Clone, Copy)]
enum Token {
    Signals,
    Control(ControlToken),
    Relay(RelayToken),
}

impl<'a> Run<'a> {
    /// The started tasks, some or all of the step's.
    pub(super) fn new(
        spec: &'a StepSpec,
        tasks: Vec<Task>,
        memory: MemoryLimit,
        relay: Option<Relay>,
        started: Option<Started>,
        processes: StepProcesses<'a>,
    ) -> Run<'a> {
        let (messages, epilogs) = match started {
            Some(started) => (started.messages, Some(started.epilogs)),
            None => (None, None),
        };
        Run {
            spec,
            processes,
            tasks,
            memory,
            addresses: AddressSpace::of_new_tasks(),
            cpus: CpuBound::of(spec),
            seen_kills: 0,
            relay,
            messages,
            epilogs,
            ending: Ending::of(spec),
            ended_by: None,
            lost_node: false,
            is_preempted: false,
            job_stop: None,
            is_node_lost: false,
            told_end: false,
            told_signal: false,
            usage: Usage::default(),
        }
    }

    /// Kills what was started of a step that could not be started whole.
    pub(super) fn give_up(&mut self) {
        self.ending.kill(BootTime::now());
    }

    /// Lives until every process of the step is gone and every byte has been read.
    pub(super) fn live(&mut self, signals: &SignalFd, control: &mut Control) {
        // What came with the start of the tasks, before they could take it.
        let early = self.relay.as_mut().map(|relay| relay.go_on(&[]));
        self.heed(early.unwrap_or_default());
        loop {
            while let Some(signal) = signals.next() {
                match signal {
                    SIGTERM => self.ending.set(Some(BootTime::now()), Because::Stop),
                    LISTEN => control.listen(),
                    _ => {}
                }
            }
            let children = self.reap();
            if self.is_over(children) {
                self.tell_memory();
                return;
            }
            self.look_at_memory();
            self.addresses.look(&mut self.tasks);
            self.cpus.keep(self.spec, &self.processes);
            while let Some(due) = self.ending.due(BootTime::now()) {
                self.act(due);
            }
            self.wait(signals, control);
        }
    }

    /// What is written in the end.
    pub(super) fn exit_file(&self, boot_id: String, launch_error: Option<String>) -> ExitFile {
        ExitFile {
            boot_id,
            at: wall_clock(),
            tasks: self.exits(),
            launch_error,
            ended_by: self.ended_by,
            usage: Some(Usage {
                peak_memory: self.usage.peak_memory.max(self.peak_beyond()),
                addresses: self.tasks.iter().filter_map(|task| task.addresses).max(),
                ..self.usage
            }),
        }
    }

    /// The connection with `srun`, to say the last words.
    pub(super) fn into_relay(self) -> Option<Relay> {
        self.relay
    }

    /// Takes ended children; whether some live.
    fn reap(&mut self) -> bool {
        loop {
            let (pid, status, used) = match process::reap() {
                Reaped::Child(pid, status, used) => {
                    self.usage = self.usage.and(Usage {
                        user: used.user,
                        system: used.system,
                        peak_memory: used.peak_memory,
                        addresses: None,
                    });
                    (pid, WaitStatus(status), used)
                }
                Reaped::AllLive => return true,
                Reaped::NoChildren => return false,
            };
            // Others are orphans of the step, taken over as its subreaper.
            let Some(index) = self.tasks.iter().position(|task| task.awaits(pid)) else {
                continue;
            };
            let task = &mut self.tasks[index];
            if let (Some(epilogs), Some(common)) = (&mut task.epilogs, &self.epilogs)
                && epilogs.is(pid)
            {
                if let Next::Ended(status) = epilogs.ended(status, common) {
                    self.task_ended(index, status);
                }
                continue;
            }
            task.used = Some(TaskUsage {
                cpu_ms: used.user.saturating_add(used.system) / 1000,
                memory: used.peak_memory,
                pages: used.pages,
                read: used.read,
                written: used.written,
                virtual_memory: task.addresses,
            });
            let status = self.end_of_task(status);
            let task = &mut self.tasks[index];
            let next = match (&mut task.epilogs, &self.epilogs) {
                (Some(epilogs), Some(common)) => epilogs.task_ended(status, common),
                _ => Next::Ended(status),
            };
            if let Next::Ended(status) = next {
                self.task_ended(index, status);
            }
        }
    }

    /// How a task ended that the kernel or this process may have ended for memory: the status says why.
    fn end_of_task(&mut self, status: WaitStatus) -> WaitStatus {
        // This one among them: its end is not noted yet.
        let live = self.tasks.iter().filter(|task| task.lives());
        let end = TaskEnd {
            was_killed: status == WaitStatus::signal(SIGKILL),
            is_last_of_step: self.spec.step != model::StepId::Batch && live.count() == 1,
        };
        let kills = self.memory.kills();
        match end.kills_of_it(kills.saturating_sub(self.seen_kills)) {
            0 if end.was_killed && self.ended_by.is_some_and(EndedBy::is_memory) => OUT_OF_MEMORY,
            0 => status,
            its => {
                self.seen_kills += its;
                OUT_OF_MEMORY
            }
        }
    }

    /// A task ended, and nothing runs after it any more.
    fn task_ended(&mut self, index: usize, status: WaitStatus) {
        let task = &mut self.tasks[index];
        task.status = Some(status);
        // Its stderr too.
        task.epilogs = None;
        let errors = task.errors.take();
        let rank = task.rank;
        if !status.success() && self.ended_by.is_none() {
            self.tell_taken_port(rank, errors);
        }
        if let Some(relay) = &mut self.relay {
            relay.send(&FromSupervisor::Exit { rank, status });
        }
        if self.spec.kill_on_bad_exit && !status.success() {
            self.ending.set(Some(BootTime::now()), Because::Stop);
        }
    }

    fn is_over(&mut self, children: bool) -> bool {
        if self.tasks.iter().any(|task| task.status.is_none()) {
            return false;
        }
        if !self.processes.are_gone(children) {
            // The tasks decide how long a step lives; what they left behind is killed.
            self.ending.kill(BootTime::now());
            return false;
        }
        self.relay.as_mut().is_none_or(Relay::drained)
    }

    fn act(&mut self, due: Due) {
        match due {
            Due::Warn(signal) => match self.spec.step {
                model::StepId::Batch => self.signal(signal, Reach::Tasks),
                model::StepId::Number(_) => {
                    self.processes.signal_all(SIGCONT);
                    self.processes.signal_all(signal);
                }
            },
            Due::Terminate(because) => {
                self.ended_by = Some(match because {
                    Because::Limit => EndedBy::Limit,
                    Because::Stop => EndedBy::Stop,
                });
                self.tell_the_end(because);
                self.processes.signal_all(SIGCONT);
                self.processes.signal_all(SIGTERM);
            }
            Due::Kill => self.processes.kill_all(),
        }
    }

    /// Ends the step where its processes hold more than they may and no control group keeps them.
    fn look_at_memory(&mut self) {
        let Some(excess) = self.memory.exceeded(&self.processes) else {
            return;
        };
        let whose = match excess.bound {
            Bound::Step => step_id(self.spec),
            Bound::Job => format!("Job {}", self.spec.job),
        };
        let (held, allowed) = (excess.held, excess.allowed);
        let text = format!("{whose} exceeded memory limit ({held} > {allowed}), being killed");
        launch::say(&text, self.relay.as_mut(), self.messages.as_ref());
        self.ended_by.get_or_insert(ended_by(excess.bound));
        self.ending.kill(BootTime::now());
    }

    /// Most bytes that all processes held at once, where the step met its bound: then it is of more use
    /// than the most of one.
    fn peak_beyond(&self) -> u64 {
        if self.memory.met().is_some() {
            self.memory.peak()
        } else {
            0
        }
    }

    /// Sleeps until something happens, and goes on with what did.
    fn wait(&mut self, signals: &SignalFd, control: &mut Control) {
        let mut tokens = vec![Token::Signals];
        let mut poll = Poll::new();
        poll.add(signals, Interest::Read);
        control.watch(&mut poll, |token| tokens.push(Token::Control(token)));
        if let Some(relay) = &self.relay {
            relay.watch(&mut poll, |token| tokens.push(Token::Relay(token)));
        }
        let sleep = self.ending.next().map(|next| {
            let millis = next.since(BootTime::now()).min(LONGEST_SLEEP_MS);
            Duration::from_millis(u64::try_from(millis).unwrap_or(0))
        });
        let look = self.relay.as_ref().and_then(Relay::next_look);
        let addresses = self.addresses.next_look(&self.tasks);
        let looks = [look, self.memory.next_look(), addresses, self.cpus.due()];
        if let Err(error) = poll.wait(looks.into_iter().flatten().chain(sleep).min()) {
            tracing::warn!("poll: {error}");
            std::thread::sleep(Duration::from_millis(100));
            return;
        }
        let mut callers = Vec::new();
        let mut streams = Vec::new();
        for (index, token) in tokens.into_iter().enumerate() {
            let (readable, writable) = (poll.readable(index), poll.writable(index));
            match token {
                Token::Control(token) if readable => callers.push(token),
                Token::Relay(token) if readable || writable => {
                    streams.push((token, readable, writable));
                }
                _ => {}
            }
        }
        drop(poll);
        control.answer(&callers, self);
        let wishes = match &mut self.relay {
            Some(relay) => {
                relay.look_at_terminal();
                relay.go_on(&streams)
            }
            None => Vec::new(),
        };
        self.heed(wishes);
    }

    /// Does what `srun` wants.
    fn heed(&mut self, wishes: Vec<Wish>) {
        for wish in wishes {
            match wish {
                Wish::Signal(signal) => self.processes.signal_all(signal),
                // They have been.
                Wish::Start => {}
                Wish::End | Wish::Gone => self.ending.set(Some(BootTime::now()), Because::Stop),
                Wish::Kill => self.kill(),
            }
        }
    }

    fn exits(&self) -> Vec<TaskExit> {
        let exit = |task: &Task| {
            Some(TaskExit {
                rank: task.rank,
                status: task.status?,
                used: task.used,
            })
        };
        self.tasks.iter().filter_map(exit).collect()
    }
}

/// What ends a step at a bound.
fn ended_by(bound: Bound) -> EndedBy {
    match bound {
        Bound::Step => EndedBy::Memory,
        Bound::Job => EndedBy::JobMemory,
    }
}

/// The step as Slurm's daemon names it: `StepId=7.0`.
fn step_id(spec: &StepSpec) -> String {
    match spec.step {
        model::StepId::Batch => format!("StepId={}.batch", spec.job),
        model::StepId::Number(step) => format!("StepId={}.{step}", spec.job),
    }
}

/// What a person reads. Limits go by [`BootTime`].
fn wall_clock() -> Timestamp {
    Timestamp(sys::wall_clock())
}
