//! A daemon in the foreground, with its output in a file.

use crate::wait_until;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const SIGTERM: i32 = 15;

pub(super) struct Daemon {
    child: Child,
    log: PathBuf,
}

impl Daemon {
    pub(super) fn start(name: &str, args: &[OsString], folder: &Path) -> anyhow::Result<Daemon> {
        let program = find(name).ok_or_else(|| anyhow::anyhow!("{name} not found"))?;
        let mut command = Command::new(program);
        command.args(args);
        Daemon::spawn(name, command, folder)
    }

    /// `slurmd` with the node's host name and an `/etc/hosts` that knows all nodes.
    pub(super) fn start_on_node(node: &str, folder: &Path) -> anyhow::Result<Daemon> {
        let slurmd = find("slurmd").ok_or_else(|| anyhow::anyhow!("slurmd not found"))?;
        let mut command = Command::new("unshare");
        command
            .args(["--uts", "--mount", "--propagation", "slave", "sh", "-ec"])
            .arg("hostname \"$1\"; mount --bind \"$2\" /etc/hosts; exec \"$3\" -D -N \"$1\"")
            .arg("sh")
            .arg(node)
            .arg(folder.join("hosts"))
            .arg(slurmd);
        Daemon::spawn(&format!("slurmd-{node}"), command, folder)
    }

    fn spawn(name: &str, mut command: Command, folder: &Path) -> anyhow::Result<Daemon> {
        let log = folder.join("log").join(name);
        let out = File::create(&log)?;
        let child = command
            .env("SLURM_CONF", folder.join("slurm.conf"))
            .stdin(Stdio::null())
            .stdout(out.try_clone()?)
            .stderr(out)
            .spawn()?;
        Ok(Daemon { child, log })
    }

    /// Panics with the end of the log when the daemon has ended: no use waiting for it then.
    pub(super) fn assert_alive(&mut self) {
        if let Ok(Some(status)) = self.child.try_wait() {
            let log = fs::read_to_string(&self.log).unwrap_or_default();
            let lines: Vec<&str> = log.lines().collect();
            let end = lines[lines.len().saturating_sub(15)..].join("\n");
            panic!("{} ended with {status}:\n{end}", self.log.display());
        }
    }

    pub(super) fn end(&mut self) {
        // It may have ended already.
        let _ = sys::process::signal(self.child.id(), SIGTERM);
        wait_until("the daemon has ended", || {
            !matches!(self.child.try_wait(), Ok(None))
        });
    }
}

/// Where a program is: on PATH, or where daemons are, which is not on everyone's.
pub(super) fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain(["/usr/local/sbin", "/usr/sbin", "/sbin"].map(PathBuf::from))
        .map(|folder| folder.join(OsStr::new(name)))
        .find(|path| path.is_file())
}
