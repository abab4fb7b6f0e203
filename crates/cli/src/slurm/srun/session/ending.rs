//! How a step is ended from its `srun`: by signals, by a task that failed or ended long ago, by what its nodes say.

use super::super::interrupts::{Reaction, SIGINT};
use super::Session;
use api::step_io::{PROLOG_FAILED, ToSupervisor};

/// How much longer than from SIGTERM to SIGKILL (`KillWait`) it waits.
const AFTER_KILL: u64 = 2;

impl Session<'_> {
    /// A file that all tasks share can't be opened, by any of them.
    pub(super) fn say_not_opened(&mut self, node: u32, text: &str) {
        let index = usize::try_from(node).unwrap_or(usize::MAX);
        self.ends.lost(index);
        for (place, line) in text.lines().enumerate() {
            let kind = if place == 0 { "error: " } else { "" };
            self.say(&format!("srun: {kind}{line}"));
        }
        self.aborted = true;
        self.nodes.send_all(&ToSupervisor::End);
    }

    /// The programs that the cluster runs before a job failed on this node.
    pub(super) fn say_prolog_failed(&mut self, node: u32) {
        let index = usize::try_from(node).unwrap_or(usize::MAX);
        self.ends.lost(index);
        let (step, name) = (self.ends.step(), self.name(node));
        self.say(&format!(
            "srun: error: Task launch for {step} failed on node {name}: {PROLOG_FAILED}"
        ));
        self.say(&format!(
            "srun: error: Application launch failed: {PROLOG_FAILED}"
        ));
        self.inform("srun: Job step aborted");
        self.aborted = true;
        self.prolog_failed = true;
        self.nodes.send_all(&ToSupervisor::End);
    }

    pub(super) fn signalled(&mut self, signal: i32) {
        match self.interrupts.react(signal, sys::now()) {
            Reaction::Tell => {
                self.inform("srun: interrupt (one more within 1 sec to abort)");
                self.stand();
            }
            Reaction::Pass => self.pass_interrupt(),
            Reaction::Interrupt if self.aborted => {
                self.pass_interrupt();
                self.inform("srun: job abort in progress");
                self.nodes.send_all(&ToSupervisor::Kill);
            }
            Reaction::Interrupt => {
                self.pass_interrupt();
                self.force_end();
            }
            Reaction::End => self.force_end(),
            Reaction::Forward(signal) => self.nodes.send_all(&ToSupervisor::Signal(signal)),
            Reaction::Resize => {
                if let Some(size) = sys::terminal::size(&std::io::stdin()) {
                    let (rows, columns) = (size.rows, size.columns);
                    self.nodes.send_all(&ToSupervisor::Size { rows, columns });
                }
            }
        }
    }

    fn pass_interrupt(&mut self) {
        let step = self.ends.step();
        self.inform(&format!("srun: sending Ctrl-C to {step}"));
        self.nodes.send_all(&ToSupervisor::Signal(SIGINT));
    }

    /// Slurm's kills the tasks as soon as its controller hears of it. When a job is cancelled its script's `srun`
    /// gets a signal, too: its tasks would have no time to save what they have, and after Ctrl-C as little.
    fn force_end(&mut self) {
        self.inform("srun: forcing job termination");
        self.abort(&ToSupervisor::End);
    }

    /// Ends the step because its first task ended long ago.
    pub(super) fn terminate(&mut self, how: &ToSupervisor) {
        if !self.aborted {
            self.say_terminating();
            self.abort(how);
        }
    }

    /// Ends the step because a task failed: Slurm waits for that without a message.
    pub(super) fn end_for_bad_exit(&mut self) {
        if !std::mem::replace(&mut self.aborted, true) {
            self.by_bad_exit = true;
            self.say_terminating();
            self.nodes.send_all(&ToSupervisor::End);
        }
    }

    fn say_terminating(&self) {
        let step = self.ends.step();
        self.inform(&format!(
            "srun: launch/slurm: _step_signal: Terminating {step}"
        ));
    }

    pub(super) fn abort(&mut self, how: &ToSupervisor) {
        self.note_abort();
        self.nodes.send_all(how);
    }

    /// Says, once, that the step is being ended.
    pub(super) fn note_abort(&mut self) {
        if !std::mem::replace(&mut self.aborted, true) {
            self.say_aborted();
        }
    }

    pub(super) fn say_aborted(&self) {
        let seconds = self.kill_wait_ms.div_ceil(1000) + AFTER_KILL;
        self.inform(&format!(
            "srun: Job step aborted: Waiting up to {seconds} seconds for job step to finish."
        ));
    }
}
