//! What a running step says in its output: why it ends, who held its memory, whose a taken port is.

use super::{Run, ended_by, step_id, wall_clock};
use crate::spec::{Because, JobStop, StepSpec};
use crate::supervisor::launch;
use crate::supervisor::memory_limit::Bound;
use crate::supervisor::relay::END_LENGTH;
use crate::taken_port;
use api::step_io::{FromSupervisor, TaskStream};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::PathBuf;
use sys::named_file;
use sys::process;

/// Why a step ends whose job lost a node, in Slurm's words.
const NODE_FAILURE: &str = " DUE TO NODE FAILURE, SEE SLURMCTLD LOG FOR DETAILS";

impl Run<'_> {
    /// Says in the end that the kernel killed processes for memory.
    pub(super) fn tell_memory(&mut self) {
        let Some(bound) = self.memory.met() else {
            return;
        };
        self.ended_by.get_or_insert(ended_by(bound));
        let kills = self.memory.kills();
        if kills > 0 {
            let text = format!(
                "Detected {kills} oom-kill event(s) in {}. Some of your processes may have been killed by the cgroup out-of-memory handler.",
                step_id(self.spec)
            );
            launch::say(&text, self.relay.as_mut(), self.messages.as_ref());
        }
        let mebibytes = |bytes: u64| bytes.div_ceil(1 << 20);
        let (whose, peak, allowed) = match bound {
            Bound::Step => ("its", self.memory.peak(), self.spec.memory),
            Bound::Job => ("the job's", self.memory.peak_of_job(), self.spec.job_memory),
        };
        let is_jobs = bound == Bound::Job || self.spec.memory == self.spec.job_memory;
        let giver = if self.spec.default_memory && is_jobs {
            "the default of its cluster"
        } else {
            "--mem"
        };
        let text = format!(
            "{whose} processes held up to {} MiB at once; {giver} gave them {} MiB",
            mebibytes(peak),
            allowed.unwrap_or(0)
        );
        launch::say(&text, self.relay.as_mut(), self.messages.as_ref());
    }

    /// The same for SIGTERM and SIGKILL that another process sends (`_handle_signal_container` of slurmstepd's `req.c`). Of a
    /// step it is no end to its `srun`, for which it stands among what tasks write.
    pub(super) fn tell_signal(&mut self) {
        let (Some(relay), None) = (self.relay.as_mut(), &self.messages) else {
            return self.tell_the_end(Because::Stop);
        };
        let is_told = self.told_end || self.told_signal;
        if self.is_node_lost || is_told || self.spec.index_in_step() > 0 {
            return;
        }
        self.told_signal = true;
        let line = format!("slurmstepd: error: {}\n", cancelled(self.spec, ""));
        relay.send(&FromSupervisor::Output {
            rank: self.tasks.first().map_or(0, |task| task.rank),
            stream: TaskStream::Err,
            bytes: line.into_bytes(),
        });
    }

    /// The line that Slurm writes into the output of what it ends. A step's `srun` goes by it, also after the line of a signal,
    /// which the step may have survived.
    pub(super) fn tell_the_end(&mut self, because: Because) {
        // One node speaks for the step, and a lost one does not.
        if self.is_node_lost || self.told_end || self.spec.index_in_step() > 0 {
            return;
        }
        self.told_end = true;
        let why = match (because, self.job_stop) {
            (Because::Limit, _) => " DUE TO TIME LIMIT",
            (Because::Stop, _) if self.is_preempted => " DUE TO PREEMPTION",
            (Because::Stop, Some(JobStop::NodeFailure)) => NODE_FAILURE,
            (Because::Stop, _) if self.lost_node => NODE_FAILURE,
            (Because::Stop, Some(JobStop::Requeue)) => " DUE TO JOB REQUEUE",
            (Because::Stop, Some(JobStop::Failure) | None) => "",
        };
        let text = if why.is_empty() && self.job_stop == Some(JobStop::Failure) {
            let what = whole_name(self.spec);
            format!("*** {what} FAILED (non-zero exit code or other failure mode) ***")
        } else {
            cancelled(self.spec, why)
        };
        launch::say(&text, self.relay.as_mut(), self.messages.as_ref());
    }

    /// Says whose the port is that a failed task wanted, where its output says that one is taken.
    pub(super) fn tell_taken_port(&mut self, rank: u32, errors: Option<PathBuf>) {
        let file = errors.and_then(|path| {
            let user = launch::user(self.spec);
            let mut options = File::options();
            let options = options.read(true).append(true);
            let opened =
                process::as_user(user.as_ref(), || named_file::open_regular(options, &path));
            opened.ok()?.ok()
        });
        let end = match (&file, &mut self.relay) {
            (Some(file), _) => end_of(file).unwrap_or_default(),
            (None, Some(relay)) => relay.end_of_errors(rank),
            (None, None) => return,
        };
        if let Some(text) = taken_port::conflict(&end, &self.spec.engine) {
            launch::say(&text, self.relay.as_mut(), file.as_ref());
        }
    }
}

/// `STEP 7.0 ON node1`
fn whole_name(spec: &StepSpec) -> String {
    format!("{} ON {}", launch::step_name(spec), spec.node)
}

fn cancelled(spec: &StepSpec, why: &str) -> String {
    let now = sys::local_time(wall_clock().seconds());
    format!("*** {} CANCELLED AT {now}{why} ***", whole_name(spec))
}

/// The end of a file.
fn end_of(mut file: &File) -> io::Result<Vec<u8>> {
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(END_LENGTH as u64)))?;
    let mut end = Vec::new();
    file.take(END_LENGTH as u64).read_to_end(&mut end)?;
    Ok(end)
}
