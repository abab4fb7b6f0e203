//! A real Slurm of several nodes on this one host: `munged`, `slurmctld` and a `slurmd` for each
//! node, with folders, ports and a key of their own, and without an accounting database.
//!
//! What is known of such a Slurm: each `slurmd` gets a host name and an `/etc/hosts` of its own,
//! so that `hostname` in a job prints the node's name and the names resolve inside jobs; nothing
//! here needs systemd, cgroups or network namespaces.

mod config;
mod daemon;

use crate::{Outcome, end_all_that_mention, wait_until};
use config::Config;
use daemon::Daemon;
use std::ffi::OsStr;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// How many nodes, and what each pretends to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SlurmShape {
    /// Nodes, named `node1`, `node2`, ….
    pub nodes: u16,
    /// CPUs of each, whatever the machine has.
    pub cpus: u16,
}

/// Which of the daemons the controller is.
const CONTROLLER: usize = 1;

/// A running Slurm. Dropping it ends its daemons and whatever its jobs left.
pub struct RealSlurm {
    /// In the order in which they were started.
    daemons: Vec<Daemon>,
    folder: TempDir,
}

impl RealSlurm {
    /// Why no real Slurm can be brought up here: the user isn't root, or a program is missing.
    #[must_use]
    pub fn missing() -> Option<String> {
        if sys::process::user() != 0 {
            return Some("only root can bring up a real Slurm".to_owned());
        }
        let missing: Vec<&str> = ["munged", "slurmctld", "slurmd", "srun", "unshare"]
            .into_iter()
            .filter(|name| daemon::find(name).is_none())
            .collect();
        if !missing.is_empty() {
            let missing = missing.join(", ");
            return Some(format!(
                "{missing} not found: apt-get install slurm-wlm munge"
            ));
        }
        // Tried, not guessed: root of a container may not be allowed to.
        let tried = Command::new("unshare")
            .args(["--uts", "--mount", "true"])
            .output();
        match tried {
            Ok(output) if output.status.success() => None,
            Ok(output) => Some(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
            Err(error) => Some(format!("unshare can't be run: {error}")),
        }
    }

    /// Brings one up and waits until all nodes are idle; takes a few seconds.
    ///
    /// # Errors
    /// What could not be written or started.
    ///
    /// # Panics
    /// When a daemon doesn't come up within two minutes; the end of its log is in the message.
    pub fn start(shape: SlurmShape) -> anyhow::Result<RealSlurm> {
        RealSlurm::start_with_gpus(shape, 0)
    }

    /// The same, each of whose nodes has so many GPUs of type `v100`, which are numbers alone.
    ///
    /// # Errors
    /// As [`RealSlurm::start`].
    ///
    /// # Panics
    /// As [`RealSlurm::start`].
    pub fn start_with_gpus(shape: SlurmShape, gpus: u16) -> anyhow::Result<RealSlurm> {
        let folder = tempfile::Builder::new().prefix("slurm-").tempdir()?;
        // Jobs of other users, and munge's clients, must get through.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755))?;
        let ports = free_ports(usize::from(shape.nodes) + 1)?;
        let config = Config::new(folder.path(), shape, &ports).with_gpus(gpus);
        config.write()?;

        let mut slurm = RealSlurm::with_controller(folder, &config)?;
        for node in config.node_names() {
            slurm
                .daemons
                .push(Daemon::start_on_node(&node, slurm.folder())?);
        }
        slurm.wait_until("all nodes are idle", |slurm| {
            let idle = slurm.run("sinfo", &["-h", "-N", "-t", "idle", "-o", "%N"]);
            idle.stdout.lines().count() == usize::from(shape.nodes)
        });
        Ok(slurm)
    }

    /// From now on the nodes' names resolve nowhere.
    ///
    /// # Errors
    /// The file of names can't be written.
    pub fn forget_names(&self) -> anyhow::Result<()> {
        // Written in place: the nodes have the file itself mounted.
        Ok(fs::write(
            self.folder().join("hosts"),
            "127.0.0.1 localhost\n",
        )?)
    }

    /// Brings up a controller alone, with the nodes and partitions that these lines of `slurm.conf`
    /// describe: it takes held jobs and answers questions, and nothing ever runs.
    ///
    /// # Errors
    /// What could not be written or started.
    ///
    /// # Panics
    /// As [`RealSlurm::start`].
    pub fn controller(lines: &str) -> anyhow::Result<RealSlurm> {
        let folder = tempfile::Builder::new().prefix("slurm-").tempdir()?;
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755))?;
        let ports = free_ports(1)?;
        let config = Config::of_controller(folder.path(), lines, ports[0]);
        config.write()?;
        RealSlurm::with_controller(folder, &config)
    }

    fn with_controller(folder: TempDir, config: &Config) -> anyhow::Result<RealSlurm> {
        // Owned by the whole from the first one on, so that a failure on the way ends them all.
        let mut slurm = RealSlurm {
            daemons: Vec::new(),
            folder,
        };
        slurm.daemons.push(Daemon::start(
            "munged",
            &config.munged_args(),
            slurm.folder(),
        )?);
        slurm.wait_until("munged listens", |_| config.munge_socket().exists());
        slurm
            .daemons
            .push(Daemon::start("slurmctld", &["-D".into()], slurm.folder())?);
        slurm.wait_until("slurmctld answers", |slurm| {
            slurm.run("scontrol", &["ping"]).stdout.contains("is UP")
        });
        Ok(slurm)
    }

    /// Ends the controller: nothing answers until [`RealSlurm::start_controller`]. It saves what it
    /// knows first; one that is killed may hold a job that it had just started.
    pub fn stop_controller(&mut self) {
        self.daemons[CONTROLLER].end();
    }

    /// Starts it again, and waits until it answers.
    ///
    /// # Errors
    /// It can't be started.
    pub fn start_controller(&mut self) -> anyhow::Result<()> {
        self.daemons[CONTROLLER] = Daemon::start("slurmctld", &["-D".into()], self.folder())?;
        self.wait_until("slurmctld answers", |slurm| {
            slurm.run("scontrol", &["ping"]).stdout.contains("is UP")
        });
        Ok(())
    }

    /// Waits for something that only living daemons can do.
    fn wait_until(&mut self, what: &str, holds: impl Fn(&RealSlurm) -> bool) {
        wait_until(what, || {
            self.daemons.iter_mut().for_each(Daemon::assert_alive);
            holds(self)
        });
    }

    /// `slurm.conf`: what `SLURM_CONF` has to name for this Slurm's commands.
    #[must_use]
    pub fn conf(&self) -> PathBuf {
        self.folder.path().join("slurm.conf")
    }

    /// The folder that holds configuration, state and logs.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// One of Slurm's commands against this Slurm, not yet started.
    #[must_use]
    pub fn command<A: AsRef<OsStr>>(&self, name: &str, args: &[A]) -> Command {
        let mut command = Command::new(name);
        command
            .args(args)
            .env("SLURM_CONF", self.conf())
            .stdin(Stdio::null());
        command
    }

    /// Runs one of Slurm's commands to its end.
    ///
    /// # Panics
    /// When it can't be started.
    pub fn run<A: AsRef<OsStr>>(&self, name: &str, args: &[A]) -> Outcome {
        Outcome::of(
            &self
                .command(name, args)
                .output()
                .expect("Slurm's command can be started"),
        )
    }
}

impl Drop for RealSlurm {
    fn drop(&mut self) {
        while let Some(mut last) = self.daemons.pop() {
            last.end();
        }
        // slurmstepd outlives slurmd on purpose.
        end_all_that_mention(self.folder());
    }
}

/// Ports that nobody listens on, found by asking the system for them.
fn free_ports(count: usize) -> std::io::Result<Vec<u16>> {
    let listeners: Vec<TcpListener> = (0..count)
        .map(|_| TcpListener::bind("127.0.0.1:0"))
        .collect::<Result<_, _>>()?;
    listeners
        .iter()
        .map(|listener| Ok(listener.local_addr()?.port()))
        .collect()
}
