//! What a running step does for others: for the engine, or for a command of its job.

use super::{Run, SIGCONT, SIGTERM, wall_clock};
use crate::BootTime;
use crate::spec::{Because, EndedBy, JobStop, Reach, SupervisorAnswer};
use crate::supervisor::control::Obey;
use crate::supervisor::{launch, outside_engine, processes};
use api::step_io::{FromSupervisor, NODE_FAILURE};
use model::{NodeName, Timestamp};
use std::os::unix::net::UnixStream;
use sys::signals::SIGKILL;

impl Obey for Run<'_> {
    fn signal(&mut self, signal: i32, reach: Reach) {
        if matches!(signal, SIGTERM | SIGKILL) {
            self.tell_signal();
        }
        match reach {
            Reach::Tasks => {
                for task in self.tasks.iter().filter(|task| task.lives()) {
                    processes::send(task.pid, signal);
                }
            }
            Reach::All => self.processes.signal_all(signal),
        }
    }

    fn note_loss(&mut self, node: Option<NodeName>) {
        let Some(node) = node else { return };
        self.is_node_lost |= node == self.spec.node;
        // `srun` says it; a batch script's output has the line of its end alone.
        if let (None, Some(relay)) = (&self.messages, self.relay.as_mut()) {
            let text = format!("{}{node}", NODE_FAILURE);
            relay.send(&FromSupervisor::Say(text));
        }
        self.lost_node = true;
    }

    fn note_job(&mut self, preempted: bool, job: Option<JobStop>) {
        self.is_preempted |= preempted;
        self.job_stop = self.job_stop.or(job);
    }

    fn kill(&mut self) {
        if self.ended_by.is_none() {
            self.ended_by = Some(EndedBy::Stop);
            self.tell_the_end(Because::Stop);
        }
        self.ending.kill(BootTime::now());
    }

    fn node_lost(&mut self, node: NodeName) {
        // The lost one says nothing any more, and is killed by what comes next.
        if node == self.spec.node {
            self.is_node_lost = true;
            return;
        }
        if let (None, Some(relay)) = (&self.messages, self.relay.as_mut()) {
            relay.send(&FromSupervisor::NodeLost(node.to_string()));
        }
        if !self.spec.no_kill {
            self.processes.kill_all();
        }
    }

    fn set_deadline(&mut self, at: Option<Timestamp>, because: Because) {
        let now = BootTime::now();
        let at = at.map(|at| now.when(wall_clock(), at));
        self.ending.set(at, because);
    }

    fn say(&mut self, text: &str) {
        // As slurmstepd and srun say it: each in its own name.
        match (&self.messages, self.relay.as_mut()) {
            (None, Some(relay)) => {
                relay.send(&FromSupervisor::Say(format!("srun: {text}")));
            }
            (messages, relay) => launch::say(text, relay, messages.as_ref()),
        }
    }

    fn suspend(&mut self, suspend: bool) {
        let now = BootTime::now();
        if suspend {
            if self.ending.suspend(now) {
                self.processes.stop_all();
            }
        } else if self.ending.resume(now) {
            self.processes.signal_all(SIGCONT);
        }
    }

    fn start_engine(&mut self, caller: &UnixStream, request: &api::StartRequest) {
        outside_engine::start(caller, &self.spec.engine, &request.folder, &request.program);
    }

    fn status(&self) -> SupervisorAnswer {
        let running = self.tasks.iter().filter(|task| task.status.is_none());
        SupervisorAnswer::Status {
            running: running.map(|task| task.rank).collect(),
            ended: self.exits(),
            deadline: self.ending.deadline().map(|deadline| {
                let left = deadline.since(BootTime::now());
                Timestamp(wall_clock().0.saturating_add(left))
            }),
        }
    }
}
