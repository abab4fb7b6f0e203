//! The conductor: the batch step of a run's job.
//!
//! One thread drains one channel; what it decides is [`state`], which is pure; what is done about
//! it is here and in [`steps`].

mod allocation;
mod checkpoints;
mod copies;
mod failure;
mod history;
mod state;
mod steps;

pub use allocation::{Allocation, AllocationError};

use crate::grace::Deadlines;
use crate::local_folder::LocalFolder;
use copies::Part;
use folder::{Event, EventLog, LaunchFile, RunFolder, RunJson};
use model::Timestamp;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;
use state::{ConductorState, Effect, Facts, Happening, Hello, Known};
use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;
use steps::{AgentsStep, Steps};
use thiserror::Error;
use train::{EnvChange, JobShape, Notify, Rendezvous, ResumeOn, UnknownPlaceholder, Values};

/// Why a conductor could not begin or go on.
#[derive(Debug, Error)]
pub enum ConductorError {
    /// `run.json` can't be read.
    #[error("{path:?} can't be read; `yard run` writes it before it submits")]
    RunJson {
        /// The file.
        path: std::path::PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Not inside a job.
    #[error(transparent)]
    Allocation(#[from] AllocationError),
    /// A placeholder of a plan that this version doesn't know.
    #[error(transparent)]
    Placeholder(#[from] UnknownPlaceholder),
    /// The run folder can't be used.
    #[error(
        "{what} failed in the run folder {folder:?}; see that it can be written from the nodes and that the quota is not used up"
    )]
    Folder {
        /// What.
        what: &'static str,
        /// The run folder.
        folder: std::path::PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// A step can't be started.
    #[error("{what} can't be started; a job's script needs it on PATH")]
    Start {
        /// The program.
        what: &'static str,
        /// What the system says.
        source: io::Error,
    },
}

/// What the loop waits for.
#[derive(Debug)]
pub enum Heard {
    /// Something to decide about.
    Happening(Happening),
    /// Something to write down only.
    Event(Event),
}

/// How long agents may take to say hello: a node that boots its file system cache is slow.
const HELLO: Duration = Duration::from_secs(180);

/// Reads a run's `run.json`.
///
/// # Errors
/// It can't be read.
pub fn read_run(run: &RunFolder) -> Result<RunJson, ConductorError> {
    let path = run.run_json();
    let read = || -> io::Result<RunJson> { Ok(serde_json::from_slice(&std::fs::read(&path)?)?) };
    read().map_err(|source| ConductorError::RunJson {
        path: run.run_json(),
        source,
    })
}

/// Conducts one start of one job of the run in `folder`; returns the batch script's exit code.
///
/// # Errors
/// It could not begin. What goes wrong later is an event in the run folder.
pub fn run(folder: &Path) -> Result<u8, ConductorError> {
    let run = RunFolder::at(folder);
    let json = read_run(&run)?;
    let now = Timestamp(sys::now());
    let variable = |name: &str| std::env::var(name).ok();
    let allocation = Allocation::read(&variable, &json.plan, json.facts.time_granularity, now)?;
    let wrong = |what| {
        let folder = run.path().to_owned();
        move |source| ConductorError::Folder {
            what,
            folder,
            source,
        }
    };
    for needed in [run.links(), run.logs(), run.tensorboard()] {
        std::fs::create_dir_all(needed).map_err(wrong("making folders"))?;
    }
    let log = EventLog::open(&run.events(allocation.attempt)).map_err(wrong("writing events"))?;
    let (heard, hear) = channel();
    listen_to_signals(heard.clone())?;
    let yard = std::env::current_exe().map_err(|source| ConductorError::Start {
        what: "yard",
        source,
    })?;
    let steps = Steps {
        yard,
        run: run.clone(),
        allocation,
        heard: heard.clone(),
    };
    let mut conductor = Conductor {
        run,
        json,
        steps,
        log,
        heard,
        agents: None,
        ranks: None,
    };
    conductor.begin(now)?;
    conductor.conduct(&hear, now)
}

/// SIGTERM is told to the loop; what people and `--signal` send otherwise must not end the job.
fn listen_to_signals(heard: Sender<Heard>) -> Result<(), ConductorError> {
    let mut signals =
        Signals::new([SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2]).map_err(|source| {
            ConductorError::Start {
                what: "a signal handler",
                source,
            }
        })?;
    std::thread::spawn(move || {
        for signal in signals.forever() {
            if signal == SIGTERM && heard.send(Heard::Happening(Happening::Terminated)).is_err() {
                return;
            }
        }
    });
    Ok(())
}

struct Conductor {
    run: RunFolder,
    json: RunJson,
    steps: Steps,
    log: EventLog,
    heard: Sender<Heard>,
    agents: Option<AgentsStep>,
    /// srun of the ranks.
    ranks: Option<u32>,
}

impl Conductor {
    fn begin(&mut self, now: Timestamp) -> Result<(), ConductorError> {
        let allocation = &self.steps.allocation;
        let nodes = allocation
            .nodes
            .iter()
            .map(|node| node.as_str().to_owned())
            .collect();
        let (job, restart) = (allocation.attempt.job, allocation.attempt.restart);
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

    fn record(&mut self, event: Event, now: Timestamp) -> Result<(), ConductorError> {
        let folder = self.run.path().to_owned();
        self.log
            .append(now, event)
            .map_err(|source| ConductorError::Folder {
                what: "writing events",
                folder,
                source,
            })
    }

    fn facts(&mut self, now: Timestamp) -> Result<Facts, ConductorError> {
        let folder = self.run.path().to_owned();
        let wrong = |source| ConductorError::Folder {
            what: "looking at checkpoints",
            folder,
            source,
        };
        let look = || -> io::Result<_> {
            self.run.make_checkpoint_folders()?;
            checkpoints::recover(&self.run)?;
            let there = self.run.look_at_checkpoints()?;
            Ok((
                there,
                history::stuck_before(&self.run, self.steps.allocation.attempt)?,
            ))
        };
        let (there, stuck_before) = look().map_err(wrong)?;
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
            stage: !self.json.plan.data.stage.value.is_empty(),
            checkpoints: checkpoints::known(&there.whole),
            requeue: resume.on.value.contains(&ResumeOn::Timeout),
            notify: resume.notify.value != Notify::None,
            stuck_before,
            node_folder: LocalFolder::new(
                &self.json.plan.node_local.value,
                self.run.id(),
                allocation.attempt,
            )
            .checkpoints(),
        })
    }

    fn conduct(&mut self, hear: &Receiver<Heard>, now: Timestamp) -> Result<u8, ConductorError> {
        let mut state = ConductorState::new(self.facts(now)?);
        let agents = self.steps.agents();
        self.agents = Some(agents.map_err(|source| ConductorError::Start {
            what: "srun",
            source,
        })?);
        loop {
            let heard = match state.next_due() {
                Some(due) => hear.recv_timeout(until(due)),
                None => hear.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            let now = Timestamp(sys::now());
            let happening = match heard {
                Ok(Heard::Happening(happening)) => happening,
                Ok(Heard::Event(event)) => {
                    self.record(event, now)?;
                    continue;
                }
                // The conductor holds a sender itself: only time can have come.
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Happening::Tick,
            };
            for effect in state.handle(happening, now) {
                if let Some(code) = self.perform(effect, now)? {
                    if let Some(agents) = &self.agents {
                        agents.abort();
                    }
                    return Ok(code);
                }
            }
        }
    }

    /// `Some`: the end, with this exit code.
    fn perform(&mut self, effect: Effect, now: Timestamp) -> Result<Option<u8>, ConductorError> {
        match effect {
            Effect::Exit(code) => return Ok(Some(code)),
            Effect::Send(order) => {
                if let Some(agents) = &mut self.agents {
                    agents.send(&order);
                }
            }
            Effect::Record(event) => self.record(event, now)?,
            Effect::Stage => self.steps.stage(),
            Effect::StartRanks { hellos, resume } => {
                self.start_ranks(&hellos, resume.as_ref(), now)?
            }
            Effect::AbortRanks => {
                if let Some(ranks) = self.ranks {
                    // srun ends its tasks then; it may have ended by itself already.
                    let _ = sys::process::signal(ranks, SIGTERM);
                }
            }
            Effect::Publish { name, parts, merge } => self.publish(name, parts, merge),
            Effect::Discard(parts) => {
                for part in parts {
                    folder::IncomingPart::new(&self.run, &part.incoming).remove();
                }
            }
            Effect::Requeue => self.steps.requeue(),
        }
        Ok(None)
    }

    /// Beside the loop: a parallel file system may take its time for a rename.
    fn publish(&self, name: String, parts: Vec<Part>, merge: bool) {
        let (run, heard, keep) = (
            self.run.clone(),
            self.heard.clone(),
            self.json.plan.checkpoints.keep.value,
        );
        std::thread::spawn(move || {
            let result = checkpoints::publish(&run, &name, &parts, merge, Timestamp(sys::now()));
            if result.is_ok()
                && let Err(error) = checkpoints::retain(&run, keep)
            {
                let text = format!("older checkpoints could not be removed: {error}");
                let _ = heard.send(Heard::Event(Event::Note { text }));
            }
            let _ = heard.send(Heard::Happening(Happening::Published { name, result }));
        });
    }

    fn start_ranks(
        &mut self,
        hellos: &[Hello],
        resume: Option<&Known>,
        now: Timestamp,
    ) -> Result<(), ConductorError> {
        let plan = &self.json.plan;
        let allocation = &self.steps.allocation;
        let local = LocalFolder::new(&plan.node_local.value, self.run.id(), allocation.attempt);
        // The first node has index 0: the state sorts them.
        let rendezvous = hellos.first().map_or_else(
            || Rendezvous {
                address: "127.0.0.1".to_owned(),
                port: 0,
            },
            |first| Rendezvous {
                address: first.address.clone(),
                port: first.port,
            },
        );
        let shape = JobShape {
            job: allocation.attempt.job,
            restart: allocation.attempt.restart,
            nodes: allocation.nodes.clone(),
            gpus: vec![allocation.gpus; allocation.nodes.len()],
        };
        let values = Values {
            data: local.data(),
            checkpoints: local.checkpoints(),
            resume: local.resume(),
            resume_file: resume.map(|known| local.resume().join(&known.name)),
            logs: self.run.tensorboard(),
            run: self.run.id().to_owned(),
        };
        let mut ranks = train::launch(plan, &shape, &rendezvous, &values)?;
        if plan.resume.notify.value == Notify::File {
            let stop = EnvChange::Set(local.stop_file().display().to_string());
            for rank in &mut ranks {
                rank.env
                    .insert(train::env_vars::YARD_STOP_FILE.to_owned(), stop.clone());
            }
        }
        let made = self
            .json
            .environment
            .as_ref()
            .map(|made| made.path.as_path());
        let launch = LaunchFile {
            attempt: allocation.attempt,
            cwd: self.run.code().join(&self.json.code.subfolder),
            preludes: plan.environment.preludes(made),
            ranks,
        };
        let count = u32::try_from(launch.ranks.len()).unwrap_or(u32::MAX);
        let folder = self.run.path().to_owned();
        self.run
            .write_launch(&launch)
            .map_err(|error| ConductorError::Folder {
                what: "writing the launch file",
                folder,
                source: error.into(),
            })?;
        self.ranks = self.steps.ranks(plan, &launch.cwd, &local.path());
        let rendezvous = format!("{}:{}", rendezvous.address, rendezvous.port);
        self.record(
            Event::Launched {
                ranks: count,
                rendezvous,
            },
            now,
        )
    }
}

fn until(due: Timestamp) -> Duration {
    Duration::from_millis(due.since(Timestamp(sys::now())).unsigned_abs())
}
