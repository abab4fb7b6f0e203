//! What the lost supervisors of a job left behind is ended before the job is: none of it may live when the job starts again
//! or its node has another one. That takes up to seconds, on a thread.

use super::active_job::ActiveJob;
use super::turn::Turn;
use super::{Owner, RETRY_MS};
use crate::SupervisorKey;
use crate::message::Message;
use crate::orphans::Orphans;
use crate::record::{self, Found};
use api::EngineFolder;
use model::{JobId, RestartCount, StepId, Timestamp};
use std::io;
use std::sync::Arc;
use std::thread;

/// Supervisors of a job's start that were lost: processes may be left that none holds.
#[derive(Debug, Default)]
pub(crate) struct LostSupervisors {
    /// Those that this engine knows.
    pub(super) keys: Vec<SupervisorKey>,
    /// There may be others, which a former engine knew: no row has them.
    may_be_more: bool,
    /// What they left behind is being ended.
    are_reaped: bool,
}

impl Owner {
    /// A job that was ending when the rows were written may have lost supervisors before that.
    pub(super) fn recall_lost(&mut self, job: JobId) {
        let is_ending = self.ending(job).is_some();
        if let Some(active) = self.running.get_mut(&job) {
            active.lost.may_be_more = is_ending;
        }
    }

    /// Whether a job, of which nothing else is left, waits for the end of what lost supervisors left behind; has that begin.
    pub(super) fn ends_after_orphans(&mut self, job: JobId) -> bool {
        let Some(active) = self.running.get_mut(&job) else {
            return false;
        };
        let lost = &mut active.lost;
        if lost.are_reaped || lost.keys.is_empty() && !lost.may_be_more {
            return lost.are_reaped;
        }
        lost.are_reaped = true;
        let started = self.reap(job);
        if let Err(error) = started {
            tracing::error!("no thread ends what was left behind: {error}");
            if let Some(active) = self.running.get_mut(&job) {
                active.lost.are_reaped = false;
            }
            self.retry_at = Some(Timestamp(self.clock.now().0 + RETRY_MS));
        }
        true
    }

    fn reap(&self, job: JobId) -> io::Result<()> {
        let Some(active) = self.running.get(&job) else {
            return Ok(());
        };
        let ActiveJob { restart, lost, .. } = active;
        let (restart, keys) = (*restart, lost.keys.clone());
        // Of whichever step it names the start.
        let start = active.key(StepId::Batch, 0);
        let all = lost.may_be_more.then_some(start);
        let (engine, own) = (self.folder.clone(), Arc::clone(&self.own));
        let sender = self.sender.clone();
        let reap = move || {
            let mut supervisors = holders(&engine, &keys);
            if let Some(start) = all {
                supervisors.extend(holders_of_start(&engine, start));
            }
            let has_lost = !keys.is_empty() || !supervisors.is_empty();
            let orphans = Orphans {
                engine: engine.root(),
                job,
                restart,
                supervisors,
                own: &own,
            };
            if has_lost {
                let killed = orphans.kill();
                tracing::warn!(
                    job = job.0,
                    "{killed} processes left behind were sent SIGKILL"
                );
            }
            // Of an engine that has left the next one looks for itself.
            let _gone = sender.send(Message::OrphansEnded(job, restart));
        };
        let thread = thread::Builder::new().name("orphans".to_owned());
        thread.stack_size(256 << 10).spawn(reap).map(drop)
    }

    /// What lost supervisors of a job's start left behind has ended, as far as it can be.
    pub(super) fn orphans_ended(&mut self, job: JobId, restart: RestartCount, turn: &mut Turn) {
        let active = self.running.get_mut(&job);
        // Where the rows were read anew meanwhile, another thread looks for them again.
        let active = active.filter(|active| active.restart == restart && active.lost.are_reaped);
        if let Some(active) = active {
            active.lost = LostSupervisors::default();
            self.consider_end(job, turn);
        }
    }
}

/// The processes that were these supervisors.
fn holders(engine: &EngineFolder, keys: &[SupervisorKey]) -> Vec<u32> {
    let look = |key: &SupervisorKey| match record::look(engine, *key) {
        Ok(found) => gone(found?),
        Err(error) => {
            tracing::error!(step = %key, "what it left behind can't be told, and may live on: {error}");
            None
        }
    };
    keys.iter().filter_map(look).collect()
}

/// The processes that were supervisors of a job's start and did not come to the end of their steps; `one` is any of them.
fn holders_of_start(engine: &EngineFolder, one: SupervisorKey) -> Vec<u32> {
    let start = format!("{}.{}.", one.job, one.restart);
    let tag = one.tag.map(|tag| format!(".{tag}")).unwrap_or_default();
    let entries = std::fs::read_dir(engine.steps()).into_iter().flatten();
    let paths = entries.flatten().map(|entry| entry.path());
    let of_start = paths.filter(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(&start) && name.ends_with(&tag)
    });
    let found = of_start.filter_map(|path| record::read(&path).ok()?);
    found
        .filter(|found| found.exit.is_none())
        .filter_map(gone)
        .collect()
}

/// The number of a process that is gone. Where it is another's by now, so are the session and the group.
fn gone(found: Found) -> Option<u32> {
    let holder = found.holder;
    let is_gone =
        holder.boot_id == sys::boot_id() && sys::process::start_time(holder.pid).is_none();
    is_gone.then_some(holder.pid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RecordTag;
    use crate::record::Record;
    use crate::spec::{ExitFile, PidFile};

    #[test]
    fn holders_that_are_gone_without_an_end_of_this_start_alone() {
        let folder = tempfile::tempdir().unwrap();
        let engine = EngineFolder::new(folder.path());
        let (tag, other) = (RecordTag::new("s", "t"), RecordTag::new("s", "u"));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let dead = child.id();
        child.wait().unwrap();
        let claim = |(job, restart, step, tag): (u32, RestartCount, u32, RecordTag), pid: u32| {
            let key = SupervisorKey {
                job: JobId(job),
                restart,
                step: StepId::Number(step),
                node: 0,
                tag: Some(tag),
            };
            let holder = PidFile {
                pid,
                start_time: 8,
                boot_id: sys::boot_id(),
            };
            let record = Record::claim(key.record(&engine), key, &holder, None).unwrap();
            (key, record)
        };
        let (lost, _) = claim((7, 1, 0, tag), dead);
        let (_, mut ended) = claim((7, 1, 1, tag), dead);
        ended.end(&ExitFile::unstarted(Timestamp(9), None)).unwrap();
        claim((7, 1, 2, tag), std::process::id());
        for elsewhere in [(7, 0, 3, tag), (77, 1, 3, tag), (7, 1, 3, other)] {
            claim(elsewhere, dead);
        }
        assert_eq!(holders_of_start(&engine, lost), [dead]);
    }
}
