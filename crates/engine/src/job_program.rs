//! A program that the cluster runs before or after a job: one run of it, on a thread.

use crate::isolation;
use crate::message::Message;
use model::{JobId, NodeName, RestartCount};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::thread;
use std::time::Duration;
use sys::process::{PidFd, Spawn};
use sys::signals::SIGKILL;

/// Where it runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// Beside the engine.
    Engine,
    /// On a node of the job.
    Node(NodeName),
}

/// Which run of which program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ProgramRun {
    pub(crate) job: JobId,
    pub(crate) restart: RestartCount,
    pub(crate) place: Place,
    /// After the job, not before it.
    pub(crate) is_epilog: bool,
}

/// All that is needed to run it.
#[derive(Clone, Debug)]
pub(crate) struct JobProgram {
    pub(crate) run: ProgramRun,
    /// A file, or `FOLDER/*` for all files of a folder.
    pub(crate) path: String,
    pub(crate) environment: Vec<(String, String)>,
    /// The folder of isolated nodes, where it runs on one.
    pub(crate) nodes: Option<PathBuf>,
    /// Whose job it is.
    pub(crate) user: u32,
    /// The engine's folder.
    pub(crate) engine: PathBuf,
    pub(crate) longest: Option<Duration>,
}

impl JobProgram {
    /// Runs it on a thread, which tells the owner how it ended.
    pub(crate) fn start(self, owner: Sender<Message>) {
        let run = self.run.clone();
        let failed = owner.clone();
        let thread = thread::Builder::new()
            .name("program".to_owned())
            .stack_size(256 << 10)
            .spawn(move || {
                let result = self.run_all();
                let _gone = owner.send(Message::ProgramEnded(self.run, result));
            });
        if let Err(error) = thread {
            let result = Err(format!("no thread for it: {error}"));
            let _gone = failed.send(Message::ProgramEnded(run, result));
        }
    }

    /// The programs of the path, one after the other. Where there is none, nothing runs, as in Slurm.
    fn run_all(&self) -> Result<(), String> {
        let files = files(&self.path);
        if files.is_empty() {
            tracing::warn!(job = self.run.job.0, "{} is not there", self.path);
        }
        files.iter().try_for_each(|file| {
            let status = self.run_one(file).map_err(|error| error.to_string())?;
            if status == 0 {
                return Ok(());
            }
            let (code, signal) = (status >> 8, status & 0x7f);
            Err(format!("{} ended with {code}:{signal}", file.display()))
        })
    }

    fn run_one(&self, file: &Path) -> io::Result<i32> {
        let view = match (&self.nodes, &self.run.place) {
            (Some(nodes), Place::Node(node)) => {
                let folder = file.parent().unwrap_or(file).to_owned();
                let kept = [self.engine.clone(), folder];
                Some(isolation::of_program(
                    nodes,
                    node.as_str(),
                    &kept,
                    self.user,
                )?)
            }
            _ => None,
        };
        let null = File::options().read(true).write(true).open("/dev/null")?;
        let program = OsString::from(file);
        let pid = Spawn {
            program: &program,
            args: std::slice::from_ref(&program),
            environment: &self.environment,
            pid_variable: None,
            streams: [null.as_fd(), null.as_fd(), null.as_fd()],
            terminal: false,
            cpus: &[],
            umask: 0o022,
            oom_score_adj: sys::process::oom_score_adj(),
            cgroups: &[],
            limits: &[],
            user: None,
            view: view.as_ref(),
        }
        .start()?;
        if let Some(longest) = self.longest {
            let process = PidFd::open(pid)?;
            if !process.wait_exit(Some(longest))? {
                // Its group has its number: it leads it.
                let _gone = sys::process::kill_group(pid, SIGKILL);
            }
        }
        sys::process::wait(pid).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// The files that a path names, in the order of their names.
fn files(path: &str) -> Vec<PathBuf> {
    let Some(folder) = path.strip_suffix("/*") else {
        let path = PathBuf::from(path);
        return path.is_file().then_some(path).into_iter().collect();
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let mut files: Vec<PathBuf> = paths.filter(|path| path.is_file()).collect();
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_file_or_those_of_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["20-b", "10-a"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        std::fs::create_dir(folder.path().join("15-folder")).unwrap();
        let check = |path: &str, want: &[&str]| {
            let found = files(&folder.path().join(path).display().to_string());
            let want: Vec<PathBuf> = want.iter().map(|name| folder.path().join(name)).collect();
            assert_eq!(found, want, "{path}");
        };
        check("10-a", &["10-a"]);
        check("*", &["10-a", "20-b"]);
        check("nosuch", &[]);
        check("15-folder", &[]);
        check("nosuch/*", &[]);
    }
}
