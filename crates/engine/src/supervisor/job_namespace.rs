//! The processes of a job on an isolated node: a PID namespace that all of its steps there share, so that
//! tasks see the job's own processes and nothing of it runs on.
//!
//! A process of its own keeps it, whose number is in a file of the node. Each supervisor of the job holds that
//! file, and with the last one the namespace ends and what runs in it, however it was left behind.

use crate::job_networks;
use crate::own_processes::OwnProcesses;
use crate::spec::StepSpec;
use crate::user_networks;
use api::EngineFolder;
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::PathBuf;
use std::time::Duration;
use sys::lock::FileLock;
use sys::process::{self, PidFd};
use sys::signals::SIGKILL;

/// What can't be killed for so long hangs in the kernel.
const LONGEST_END: Duration = Duration::from_secs(5);

/// A step's hold on the namespace.
#[derive(Debug)]
pub(super) struct JobNamespace {
    /// Locked by whoever makes or leaves one on this node.
    changing: PathBuf,
    path: PathBuf,
    /// The file at `path`; its lock is shared by those who hold the namespace.
    file: File,
    keeper: PidFd,
}

impl JobNamespace {
    /// That of the step's job on its node, which is made where it is missing; none where jobs see this
    /// machine's processes.
    ///
    /// # Errors
    /// What the system says.
    pub(super) fn enter(spec: &StepSpec) -> io::Result<Option<JobNamespace>> {
        let Some(nodes) = spec.nodes.as_ref().filter(|_| spec.own_processes) else {
            return Ok(None);
        };
        let has_network = job_networks::has(nodes, spec)?;
        let folder = nodes.join(spec.node.as_str()).join("jobs");
        fs::create_dir_all(&folder)?;
        let changing = folder.join("lock");
        let _changing = FileLock::acquire(&changing)?;
        let path = folder.join(spec.job.to_string());
        let mut options = File::options();
        let options = options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(&path)?;
        // Waits for the end of one that is ending.
        file.lock_shared()?;
        let keeper = match kept(&mut file) {
            Some(keeper) => keeper,
            None => {
                let engine = EngineFolder::new(&spec.engine);
                // Else the fork server would end it with what a killed supervisor left.
                let enter = |number| OwnProcesses::enter_as(&engine, number);
                let name = format!("yard:{}", spec.node);
                // To which the node's network belongs.
                let user = if has_network {
                    user_networks::keeper_of(nodes, spec.node.as_str())?
                } else {
                    None
                };
                let keeper = process::keep_pid_namespace(&path, &name, user, enter)?;
                file.rewind()?;
                file.set_len(0)?;
                write!(file, "{} {}", keeper.pid(), keeper.start_time())?;
                keeper
            }
        };
        Ok(Some(JobNamespace {
            changing,
            path,
            file,
            keeper,
        }))
    }

    /// The process that keeps it.
    pub(super) fn keeper(&self) -> u32 {
        self.keeper.pid()
    }

    /// Whether its keeper was killed, and with it all that ran here.
    pub(super) fn is_lost(&self) -> bool {
        matches!(self.keeper.wait_exit(Some(Duration::ZERO)), Ok(true))
            || process::has_begun_to_end(self.keeper.pid())
    }

    /// The step is over. Where it was the last one, so is all that is in the namespace.
    pub(super) fn leave(self) {
        // Without it the keeper still ends what is left as soon as this process closes the file.
        let Ok(_changing) = FileLock::acquire(&self.changing) else {
            return;
        };
        let is_last = match self.file.try_lock() {
            Ok(()) => {
                let _gone = self.keeper.signal(SIGKILL);
                true
            }
            // Another step holds it, or the keeper has it and ends.
            Err(_) => self.file.try_lock_shared().is_err(),
        };
        if !is_last {
            return;
        }
        match self.keeper.wait_exit(Some(LONGEST_END)) {
            Ok(true) => {}
            Ok(false) => tracing::warn!("{}: it can't be ended", self.path.display()),
            Err(error) => tracing::warn!("{}: {error}", self.path.display()),
        }
        let _gone = fs::remove_file(&self.path);
    }
}

/// The process that the file names, if it lives. One that has begun to end may still wait for what runs there, and
/// nothing can be started there.
fn kept(file: &mut File) -> Option<PidFd> {
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    let (pid, start_time) = text.split_once(' ')?;
    let keeper = PidFd::open(pid.parse().ok()?).ok()?;
    let is_it = start_time.parse() == Ok(keeper.start_time());
    (is_it && !process::is_ending(keeper.pid())).then_some(keeper)
}
