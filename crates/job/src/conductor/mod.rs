//! The conductor: the batch step of a run's job.
//!
//! One thread drains one channel; what it decides is [`state`], which is pure; what is done about
//! it is here and in [`steps`].

mod allocation;
mod checkpoints;
mod cluster_word;
mod copies;
mod failure;
mod history;
mod keeper;
mod state;
mod steps;
mod succession;

pub use allocation::{Allocation, AllocationError};
pub use keeper::keep;

use crate::grace::Deadlines;
use crate::local_folder::LocalFolder;
use crate::protocol::Order;
use cluster_word::ClusterWord;
use copies::Part;
use folder::{Event, EventLog, FolderError, LaunchFile, RunFolder, RunJson};
use model::Timestamp;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::Signals;
use state::{Comeback, ConductorState, Effect, Facts, Happening, Hello, Known};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;
use steps::{AgentsStep, Steps};
use succession::{Place, Standing};
use thiserror::Error;
use train::{
    EnvChange, JobShape, Keep, Notify, Rendezvous, ResumeBy, ResumeOn, UnknownPlaceholder, Values,
};

/// Why a conductor could not begin or go on.
#[derive(Debug, Error)]
pub enum ConductorError {
    /// `run.json` can't be read.
    #[error(transparent)]
    RunJson(#[from] FolderError),
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

/// How long a SIGTERM waits for the cluster's word on why it came.
const WORD: Duration = Duration::from_secs(2);

/// Conducts one start of one job of the run in `folder`, the job of link `number`; returns the
/// batch script's exit code.
///
/// # Errors
/// It could not begin. What goes wrong later is an event in the run folder.
pub fn run(folder: &Path, number: u32) -> Result<u8, ConductorError> {
    let now = Timestamp(sys::now());
    let (mut conductor, hear) = match Conductor::open(folder, number, now)? {
        Opened::Conducts(conductor, hear) => (*conductor, hear),
        Opened::Over(code) => return Ok(code),
    };
    listen_to_signals(&conductor)?;
    conductor.begin(now)?;
    conductor.conduct(&hear, now)
}

/// SIGTERM is told to the loop; what people and `--signal` send otherwise must not end the job.
fn listen_to_signals(conductor: &Conductor) -> Result<(), ConductorError> {
    let heard = conductor.heard.clone();
    let told_to_end = Arc::clone(&conductor.steps.told_to_end);
    let job = conductor.steps.allocation.attempt.job;
    let mut signals =
        Signals::new([SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2]).map_err(|source| {
            ConductorError::Start {
                what: "a signal handler",
                source,
            }
        })?;
    std::thread::spawn(move || {
        for signal in signals.forever() {
            if signal != SIGTERM {
                continue;
            }
            let tell = |happening| heard.send(Heard::Happening(happening));
            let sent = tell(Happening::Terminated);
            told_to_end.store(true, Ordering::Relaxed);
            if sent.is_err() {
                return;
            }
            let told = ClusterWord::ask(job, WORD).map(|word| word.told());
            if tell(Happening::Told(told.unwrap_or_default())).is_err() {
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
    place: Place,
    agents: Option<AgentsStep>,
    /// srun of the ranks.
    ranks: Option<u32>,
    /// srun of the staging.
    stage: Option<u32>,
}

enum Opened {
    Conducts(Box<Conductor>, Receiver<Heard>),
    /// With this exit code: there is nothing to do.
    Over(u8),
}

impl Conductor {
    fn open(folder: &Path, number: u32, now: Timestamp) -> Result<Opened, ConductorError> {
        let (run, json) = RunFolder::open(folder)?;
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
        let standing = succession::standing(&run, number, allocation.attempt)
            .map_err(wrong("looking at the jobs before"))?;
        if let Standing::Over { why } = &standing {
            // Into the job's own log: an event would make a start of what is none.
            let _ = writeln!(io::stderr(), "nothing is left to do: {why}");
            return Ok(Opened::Over(0));
        }
        let mut log =
            EventLog::open(&run.events(allocation.attempt)).map_err(wrong("writing events"))?;
        if let Standing::Fails { cause } = standing {
            let failed = Event::Failed {
                cause,
                status: None,
            };
            log.append(now, failed).map_err(wrong("writing events"))?;
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
        let (heard, hear) = channel();
        let steps = Steps {
            yard,
            run: run.clone(),
            allocation,
            heard: heard.clone(),
            told_to_end: Arc::default(),
        };
        let conductor = Conductor {
            run,
            json,
            steps,
            log,
            heard,
            place,
            agents: None,
            ranks: None,
            stage: None,
        };
        Ok(Opened::Conducts(Box::new(conductor), hear))
    }

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
            let attempt = self.steps.allocation.attempt;
            Ok((
                self.run.look_at_checkpoints()?,
                history::stuck_before(&self.run, attempt)?,
                history::lost_in_a_row(&self.run, attempt)?,
                succession::successor(&self.run, self.place.number)?,
            ))
        };
        let (there, stuck_before, lost_before, successor) = look().map_err(wrong)?;
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
            keep_all: self.json.plan.checkpoints.keep.value == Keep::All,
            kill_wait: Duration::from_secs(self.json.facts.comeback.kill_wait.0),
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
        let first = state.begin();
        if let Some(code) = self.perform_all(first, now)? {
            return Ok(code);
        }
        self.listen(&mut state, hear)
    }

    /// Takes what comes until the state says that it is over.
    fn listen(
        &mut self,
        state: &mut ConductorState,
        hear: &Receiver<Heard>,
    ) -> Result<u8, ConductorError> {
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
            let effects = state.handle(happening, now);
            if let Some(code) = self.perform_all(effects, now)? {
                if let Some(agents) = &self.agents {
                    agents.abort();
                }
                return Ok(code);
            }
        }
    }

    fn perform_all(
        &mut self,
        effects: Vec<Effect>,
        now: Timestamp,
    ) -> Result<Option<u8>, ConductorError> {
        for effect in effects {
            if let Some(code) = self.perform(effect, now)? {
                return Ok(Some(code));
            }
        }
        Ok(None)
    }

    /// `Some`: the end, with this exit code.
    fn perform(&mut self, effect: Effect, now: Timestamp) -> Result<Option<u8>, ConductorError> {
        match effect {
            Effect::Exit(code) => return Ok(Some(code)),
            Effect::Send(order) => {
                if matches!(order, Order::Signal { .. } | Order::Notify) {
                    self.steps.told_to_end.store(true, Ordering::Relaxed);
                }
                if let Some(agents) = &mut self.agents {
                    agents.send(&order);
                }
            }
            Effect::Record(event) => self.record(event, now)?,
            Effect::Stage => self.stage = self.steps.stage(),
            Effect::AbortStage => abort(self.stage),
            Effect::StartRanks { hellos, resume } => {
                self.start_ranks(&hellos, resume.as_ref(), now)?
            }
            Effect::AbortRanks => abort(self.ranks),
            Effect::Publish { name, parts, merge } => self.publish(name, parts, merge),
            Effect::Discard(parts) => {
                for part in parts {
                    folder::IncomingPart::new(&self.run, &part.incoming).remove();
                }
            }
            Effect::Requeue => self.steps.requeue(),
            Effect::Succeed => self.steps.succeed(self.place.clone()),
            Effect::DropSuccessor(job) => steps::cancel(job),
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

/// srun ends its tasks then; it may have ended by itself already.
fn abort(srun: Option<u32>) {
    if let Some(srun) = srun {
        let _ = sys::process::signal(srun, SIGTERM);
    }
}

/// Slurm rounds limits up to minutes and the script says what it makes of them; an engine that
/// counts in seconds is told them.
fn exact_time(json: &RunJson) -> Option<String> {
    let time = json.plan.time.as_ref()?;
    (json.facts.time_granularity.0 < 60).then(|| time.value.to_string())
}

fn until(due: Timestamp) -> Duration {
    Duration::from_millis(due.since(Timestamp(sys::now())).unsigned_abs())
}
