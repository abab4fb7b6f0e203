//! How a conductor begins: what it reads, and whether there is anything to do.

use super::awaited::{Awaited, awaited};
use super::pointers::Pointers;
use super::state::{Comeback, Facts, TrialId};
use super::steps::Steps;
use super::succession::{self, Place, Standing};
use super::{
    Allocation, Conductor, ConductorError, Message, checkpoints, event_log, former_loss, history,
};
use crate::environment;
use crate::grace::Deadlines;
use crate::local_folder::LocalFolder;
use crate::notices::Notices;
use folder::{ComingBack, Event, EventLog, Link, LinkState, RunFolder, RunJson};
use model::Timestamp;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use sys::disk_errors::{self, patiently};
use train::{Complete, Keep, Notify, OnHang, ResumeBy, ResumeOn};

/// How long agents may take to say hello: a node that boots its file system cache is slow.
const HELLO: Duration = Duration::from_secs(180);

/// How long `run.json` is waited for, before anything is known of the job.
const LEAST_PATIENCE: Duration = Duration::from_secs(30);

/// What a conductor finds that begins.
pub(super) enum Opened {
    Conducts(Box<Conductor>, Receiver<Message>),
    /// With this exit code: there is nothing to do.
    Over(u8),
}

impl Conductor {
    pub(super) fn open(
        folder: &Path,
        number: u32,
        now: Timestamp,
    ) -> Result<Opened, ConductorError> {
        let (run, json) = patiently(LEAST_PATIENCE, || false, || RunFolder::open(folder))?;
        let variable = |name: &str| std::env::var(name).ok();
        let allocation = Allocation::read(&variable, &json.plan, json.facts.time_granularity, now)?;
        allocation.check(&variable, &json.plan)?;
        let patience = patience(&json, &allocation);
        let local = LocalFolder::new(&json.plan.node_local.value, run.id(), allocation.attempt);
        patiently(patience, || false, || event_log::take_over(&run, &local))
            .or_else(|error| {
                if disk_errors::may_pass(&error) {
                    Err(error)
                } else {
                    Ok(())
                }
            })
            .map_err(|source| ConductorError::Folder {
                what: "writing events",
                folder: run.path().to_owned(),
                source,
            })?;
        let wrong = |what| {
            let folder = run.path().to_owned();
            move |source| ConductorError::Folder {
                what,
                folder,
                source,
            }
        };
        let programs = run.folders_of_programs(&json.plan.name.value);
        for needed in [run.links(), run.logs(), run.tensorboard()]
            .into_iter()
            .chain(programs)
        {
            patiently(patience, || false, || std::fs::create_dir_all(&needed))
                .map_err(wrong("making folders"))?;
        }
        if number == 1 {
            patiently(patience, || false, || own_link(&run, &json, &allocation))
                .map_err(wrong("writing the job's link"))?;
        }
        let own = || {
            let job = allocation.attempt.job;
            run.note_that_runs(number, job, allocation.start)
        };
        patiently(patience, || false, own)
            .map_err(io::Error::from)
            .map_err(wrong("writing the job's link"))?;
        let own_checkpoints = json.plan.resume.own_checkpoints.value;
        let standing = succession::standing(&run, number, allocation.attempt, own_checkpoints)
            .map_err(wrong("looking at the jobs before"))?;
        if let Standing::Over { why } = &standing {
            // Into the job's own log: an event would make a start of what is none.
            let _ = writeln!(io::stderr(), "nothing is left to do: {why}");
            return Ok(Opened::Over(0));
        }
        let events = run.events(allocation.attempt);
        let mut log = patiently(patience, || false, || EventLog::open(&events))
            .map_err(wrong("writing events"))?;
        if let Standing::Fails { cause } = standing {
            fail(&run, &mut log, cause, now).map_err(wrong("writing events"))?;
            return Ok(Opened::Over(1));
        }
        let yard = std::env::current_exe().map_err(|source| ConductorError::Start {
            what: "yard",
            source,
        })?;
        let place = Place {
            run: run.clone(),
            number,
            job: allocation.attempt.job,
            cluster: json.cluster.clone(),
            token: json.token.clone(),
            time: exact_time(&json),
        };
        if let Some(cause) = environment::why_not_made(&run, &json) {
            fail(&run, &mut log, cause, now).map_err(wrong("writing events"))?;
            return Ok(Opened::Over(1));
        }
        let looked = awaited(&run, allocation.attempt, &json.after);
        match looked.map_err(wrong("looking at the run before"))? {
            Awaited::Done => {}
            Awaited::Failed { cause } => {
                fail(&run, &mut log, cause, now).map_err(wrong("writing events"))?;
                return Ok(Opened::Over(1));
            }
            Awaited::GoesOn { job } => {
                let code = match place.wait_for(job) {
                    Ok(job) => {
                        let how = ComingBack::Successor { job };
                        log.append(now, Event::ComingBack { how }).map(|()| 0)
                    }
                    Err(why) => {
                        let cause = format!("it could not be submitted to wait longer: {why}");
                        fail(&run, &mut log, cause, now).map(|()| 1)
                    }
                };
                return Ok(Opened::Over(code.map_err(wrong("writing events"))?));
            }
        }
        let (sender, receiver) = channel();
        let steps = Steps {
            yard,
            trial: TrialId::FIRST,
            run: run.clone(),
            allocation,
            sender: sender.clone(),
            told_to_end: Arc::default(),
        };
        let conductor = Conductor {
            run,
            json,
            steps,
            log,
            sender,
            place,
            agents: None,
            ranks: None,
            local,
            done: false,
            is_over: false,
            patience,
            notices: Notices::default(),
            pointers: Pointers::default(),
        };
        Ok(Opened::Conducts(Box::new(conductor), receiver))
    }

    pub(super) fn begin(&mut self, now: Timestamp) -> Result<(), ConductorError> {
        let allocation = &self.steps.allocation;
        let nodes = allocation
            .nodes
            .iter()
            .map(|node| node.as_str().to_owned())
            .collect();
        let (job, restart) = (allocation.attempt.job, allocation.attempt.restart);
        if let Err(error) = former_loss::write_down(&self.run, allocation.attempt, now) {
            // No reason not to go on: it is said of that start then that it gave no reason.
            let _ = writeln!(
                io::stderr(),
                "note: how the start before ended is not recorded: {error}"
            );
        }
        self.record(
            Event::Started {
                job,
                restart,
                nodes,
            },
            now,
        )?;
        if let Some(made) = &self.json.environment {
            let what = format!("venv {}", made.path.display());
            self.record(Event::Environment { what, took_ms: 0 }, now)?;
        }
        Ok(())
    }

    pub(super) fn facts(&mut self, now: Timestamp) -> Result<Facts, ConductorError> {
        let folder = self.run.path().to_owned();
        let wrong = |source| ConductorError::Folder {
            what: "looking at checkpoints",
            folder,
            source,
        };
        let look = || -> io::Result<_> {
            self.run.make_checkpoint_folders()?;
            checkpoints::recover(&self.run)?;
            let attempt = self.steps.allocation.attempt;
            Ok((
                self.run.look_at_checkpoints()?,
                history::stuck_before(&self.run, attempt)?,
                history::lost_in_a_row(&self.run, attempt)?,
                succession::successor(&self.run, self.place.number)?,
                history::trained_before(&self.run, attempt)?,
            ))
        };
        let (there, stuck_before, lost_before, successor, trained) =
            patiently(self.patience, || false, look).map_err(wrong)?;
        for unusable in &there.unusable {
            let text = unusable.to_string();
            self.record(Event::Note { text }, now)?;
        }
        let (allocation, resume) = (&self.steps.allocation, &self.json.plan.resume);
        let grace = resume
            .grace
            .source
            .is_asked()
            .then(|| Duration::from_secs(resume.grace.value.0));
        Ok(Facts {
            nodes: u32::try_from(allocation.nodes.len()).unwrap_or(u32::MAX),
            deadlines: allocation
                .end
                .map(|end| Deadlines::before_limit(allocation.start, end, grace)),
            hello_by: Timestamp(now.0 + i64::try_from(HELLO.as_millis()).unwrap_or(i64::MAX)),
            stage: !self.json.plan.data.stage.value.is_empty() || self.run.collected().is_dir(),
            checkpoints: there.known(),
            comeback: Comeback {
                after_limit: resume.on.value.contains(&ResumeOn::Timeout),
                after_loss: resume.on.value.contains(&ResumeOn::NodeFailure),
                by: resume.by.value,
                may_submit: self.json.facts.comeback.submit_from_nodes,
                successor: successor.filter(|_| resume.by.value == ResumeBy::Successor),
            },
            notify: resume.notify.value != Notify::None,
            stuck_before,
            lost_before,
            own_checkpoints: resume.own_checkpoints.value,
            trained,
            by_marker: matches!(
                self.json.plan.checkpoints.complete.value,
                Complete::Marker { .. }
            ),
            keep_all: self.json.plan.checkpoints.keep.value == Keep::All,
            kill_wait: Duration::from_secs(self.json.facts.comeback.kill_wait.0),
            node_folder: self.local.checkpoints(),
            on_this_machine: self.json.plan.embedded,
            grace: Duration::from_secs(resume.grace.value.0),
            on_hang: self
                .json
                .plan
                .hang
                .as_ref()
                .map_or(OnHang::Log, |hang| hang.then.value),
        })
    }
}

/// Writes down that the run failed before its start had begun.
fn fail(run: &RunFolder, log: &mut EventLog, cause: String, now: Timestamp) -> io::Result<()> {
    let status = None;
    log.append(now, Event::Failed { cause, status })?;
    // Else the start counts as lost, and the next one needs them.
    if !log.is_behind()
        && let Err(error) = run.remove_secrets()
    {
        let _ = writeln!(io::stderr(), "note: {error}");
    }
    Ok(())
}

/// Writes the first link of a run that is one of several repeats: who submitted the array does not
/// know the number of each element.
fn own_link(run: &RunFolder, json: &RunJson, allocation: &Allocation) -> io::Result<()> {
    let links = run.read_links()?;
    if allocation.requeue_name == allocation.attempt.job.to_string()
        || links.iter().any(|link| link.number == 1)
    {
        return Ok(());
    }
    let link = Link {
        number: 1,
        cluster: json.cluster.clone(),
        token: json.token.clone(),
        after: None,
        state: LinkState::Submitted {
            job: allocation.attempt.job,
            at: allocation.start,
        },
    };
    Ok(run.write_link(&link)?)
}

/// How long a disk that takes nothing is waited for: as long as the job's end may take.
fn patience(json: &RunJson, allocation: &Allocation) -> Duration {
    let asked = Duration::from_secs(json.plan.resume.grace.value.0);
    let Some(end) = allocation.end else {
        return asked;
    };
    let at = Deadlines::before_limit(allocation.start, end, Some(asked));
    Duration::from_millis(at.leave.since(at.warn).unsigned_abs())
}

/// Slurm rounds limits up to minutes and the script says what it makes of them; an engine that
/// counts in seconds gets seconds.
fn exact_time(json: &RunJson) -> Option<String> {
    let time = json.plan.time.as_ref()?;
    (json.facts.time_granularity.0 < 60).then(|| time.value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Whether the secrets are there once a run has ended whose events go into that file.
    #[track_caller]
    fn check(events: Option<&str>, want: bool) {
        let root = tempfile::tempdir().unwrap();
        let run = RunFolder::create(root.path(), "shop", "digits-k3f9").unwrap();
        let secrets = BTreeMap::from([("HF_TOKEN".to_owned(), "t0ken".to_owned())]);
        run.write_secrets(&secrets).unwrap();
        let path = root.path().join("7.0.events");
        if let Some(events) = events {
            std::os::unix::fs::symlink(events, &path).unwrap();
        }
        let mut log = EventLog::open(&path).unwrap();
        fail(&run, &mut log, "a test".to_owned(), Timestamp(1)).unwrap();
        assert_eq!(!run.read_secrets().unwrap().is_empty(), want, "{events:?}");
    }

    /// The start counted as lost, and the next one ended for want of them.
    #[test]
    fn the_secrets_stay_until_the_end_is_written_down() {
        check(None, false);
        check(Some("/dev/full"), true);
    }
}
