//! Files that tasks read and write, opened with the rights of the job's owner.

use crate::spec::{StepSpec, Streams};
use api::step_io::NOT_OPENED;
use api::{EngineFolder, StepTask};
use model::OpenMode;
use model::file_pattern::{PatternContext, differs_between_tasks, file_name};
use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt::{self, Display, Formatter};
use std::fs::{DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::disk_errors;
use sys::lock::FileLock;
use sys::named_file;
use sys::process::User;

/// Opens tasks' files, each name once: tasks that name one file share it.
pub(super) struct TaskFiles<'a> {
    spec: &'a StepSpec,
    /// Whom to become for it.
    owner: Option<&'a User>,
    open_mode: OpenMode,
    /// How long a disk that takes nothing is waited for, and what ends the waiting, that for the
    /// other end of a pipe too.
    patience: (Duration, &'a dyn Fn() -> bool),
    open: HashMap<PathBuf, File>,
}

impl<'a> TaskFiles<'a> {
    pub(super) fn new(
        spec: &'a StepSpec,
        owner: Option<&'a User>,
        open_mode: OpenMode,
        patience: (Duration, &'a dyn Fn() -> bool),
    ) -> TaskFiles<'a> {
        TaskFiles {
            spec,
            owner,
            open_mode,
            patience,
            open: HashMap::new(),
        }
    }

    /// Opens the file that `pattern` names for the task to be written.
    pub(super) fn output(&mut self, pattern: &str, task: &StepTask) -> Result<File, Unopened> {
        let name = self.name(pattern, task);
        let name = Path::new(&name);
        let path = self.spec.chdir.join(name);
        if let Some(file) = self.open.get(&path) {
            return file.try_clone().map_err(|error| Unopened { path, error });
        }
        // A file that a step's tasks share is `srun`'s own in Slurm, which makes no folder for it.
        let is_srun_s =
            matches!(self.spec.streams, Streams::Srun { .. }) && !differs_between_tasks(pattern);
        let open = || {
            if !is_srun_s {
                self.as_owner(|| self.make_folders(name, &path))?;
            }
            self.open_output(pattern, &path)
        };
        let (patience, stop) = self.patience;
        let opened = disk_errors::patiently(patience, stop, open)
            .and_then(|file| Ok((file.try_clone()?, file)));
        let (copy, file) = match opened {
            Ok(opened) => opened,
            Err(error) => return Err(Unopened { path, error }),
        };
        self.open.insert(path, copy);
        Ok(file)
    }

    /// Opens the file that `pattern` names for the task to be read.
    pub(super) fn input(&self, pattern: &str, task: &StepTask) -> Result<File, Unopened> {
        let path = self.spec.chdir.join(self.name(pattern, task));
        let stop = self.patience.1;
        let open = || named_file::open(File::options().read(true), &path, self.spec.uid, stop);
        self.as_owner(open)
            .map_err(|error| Unopened { path, error })
    }

    fn as_owner<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        sys::process::as_user(self.owner, work)?
    }

    fn name(&self, pattern: &str, task: &StepTask) -> OsString {
        let spec = self.spec;
        let context = PatternContext {
            job: spec.job,
            array: spec.array,
            step: spec.step,
            node: spec.node.as_str(),
            node_index: spec.index_in_step(),
            task: task.rank,
            user: &spec.user,
            job_name: &spec.job_name,
        };
        sys::odd_text::bytes(&file_name(pattern, &context)).into_owned()
    }

    /// Makes the folders that the pattern itself names, as Slurm does since 23.02; a working
    /// directory that is missing stays missing.
    fn make_folders(&self, name: &Path, path: &Path) -> io::Result<()> {
        let (Some(named), Some(folder)) = (name.parent(), path.parent()) else {
            return Ok(());
        };
        if named.as_os_str().is_empty() || !(name.is_absolute() || self.spec.chdir.is_dir()) {
            return Ok(());
        }
        match DirBuilder::new().recursive(true).create(folder) {
            // A file in a folder's place: opening says it better.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            result => result,
        }
    }

    fn open_output(&self, pattern: &str, path: &Path) -> io::Result<File> {
        // Always for appending, so that several writers of one file don't overwrite each other.
        let open = |truncate: bool| -> io::Result<File> {
            self.as_owner(|| {
                let options = &mut File::options();
                let options = options.append(true).create(true);
                let file = named_file::open(options, path, self.spec.uid, self.patience.1)?;
                // Not O_TRUNC, which excludes appending; a device or pipe has nothing to empty.
                if truncate && file.metadata()?.is_file() {
                    file.set_len(0)?;
                }
                Ok(file)
            })
        };
        let several_nodes =
            usize::try_from(self.spec.step_tasks).unwrap_or(usize::MAX) > self.spec.tasks.len();
        match self.open_mode {
            OpenMode::Append => open(false),
            // Nodes that wait for each other's turn could not be ended.
            OpenMode::Truncate if is_pipe(path) => open(false),
            OpenMode::Truncate if several_nodes && !differs_between_tasks(pattern) => {
                self.emptied_once(path, &open)
            }
            OpenMode::Truncate => open(true),
        }
    }

    /// Of the step's nodes that share a file, in whichever components of its job, the first to come empties it.
    fn emptied_once(
        &self,
        path: &Path,
        open: &dyn Fn(bool) -> io::Result<File>,
    ) -> io::Result<File> {
        let StepSpec { restart, step, .. } = self.spec;
        let job = self.spec.leader.unwrap_or(self.spec.job);
        let steps = EngineFolder::new(&self.spec.engine).steps();
        let lock = FileLock::acquire(&steps.join(format!("{job}.{restart}.{step}.emptied")))?;
        // The paths of those that were emptied, each with the byte after it that is in none.
        let mut emptied = Vec::new();
        lock.file().read_to_end(&mut emptied)?;
        let path = path.as_os_str().as_bytes();
        let first = !emptied.split(|byte| *byte == 0).any(|known| known == path);
        let file = open(first)?;
        if first {
            lock.file().write_all(&[path, &[0]].concat())?;
        }
        Ok(file)
    }
}

fn is_pipe(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|facts| facts.file_type().is_fifo())
}

/// A file that can't be opened.
#[derive(Debug)]
pub(super) struct Unopened {
    path: PathBuf,
    error: io::Error,
}

impl Display for Unopened {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        let (path, words) = (self.path.display(), words(&self.error));
        write!(to, "could not open {path}: {words}")
    }
}

impl Unopened {
    /// As `srun` says it of one of its streams: in Slurm's words where all tasks share the file.
    pub(super) fn of_stream(&self, pattern: &str, stream: &str) -> String {
        if differs_between_tasks(pattern) {
            return self.to_string();
        }
        let (path, words) = (self.path.display(), words(&self.error));
        format!("{NOT_OPENED}{stream} file: {words}\n  asked   {path}")
    }
}

/// The system's words without Rust's error number.
pub(super) fn words(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    const AT_ONCE: (Duration, &dyn Fn() -> bool) = (Duration::ZERO, &|| false);

    use super::*;
    use crate::supervisor::test_spec::spec;

    struct Step {
        _folder: tempfile::TempDir,
        spec: StepSpec,
    }

    fn step() -> Step {
        let folder = tempfile::tempdir().unwrap();
        let mut spec = spec();
        spec.chdir = folder.path().join("work");
        std::fs::create_dir(&spec.chdir).unwrap();
        spec.engine = folder.path().to_owned();
        std::fs::create_dir(folder.path().join("steps")).unwrap();
        Step {
            _folder: folder,
            spec,
        }
    }

    impl Step {
        fn write(&self, mode: OpenMode, pattern: &str, text: &str) -> Result<(), Unopened> {
            let mut files = TaskFiles::new(&self.spec, None, mode, AT_ONCE);
            for _ in 0..2 {
                let mut file = files.output(pattern, &self.spec.tasks[0])?;
                file.write_all(text.as_bytes()).unwrap();
            }
            Ok(())
        }

        #[track_caller]
        fn check(&self, name: &str, want: &str) {
            let text = std::fs::read_to_string(self.spec.chdir.join(name)).unwrap();
            assert_eq!(text, want);
        }
    }

    #[test]
    fn missing_folders_are_made_and_files_emptied() {
        let step = step();
        step.write(OpenMode::Truncate, "logs/%x/%j", "one,")
            .unwrap();
        step.check("logs/job/7", "one,one,");
        step.write(OpenMode::Truncate, "logs/%x/%j", "two,")
            .unwrap();
        step.check("logs/job/7", "two,two,");
        step.write(OpenMode::Append, "logs/%x/%j", "3,").unwrap();
        step.check("logs/job/7", "two,two,3,3,");
    }

    #[test]
    fn nodes_share_a_file_that_one_of_them_empties() {
        let mut step = step();
        step.spec.step_tasks = 2;
        std::fs::write(step.spec.chdir.join("out"), "old").unwrap();
        step.write(OpenMode::Truncate, "out", "a").unwrap();
        step.write(OpenMode::Truncate, "out", "b").unwrap();
        step.check("out", "aabb");
    }

    #[test]
    fn components_share_files_each_of_which_one_of_them_empties() {
        let mut step = step();
        step.spec.step_tasks = 2;
        for name in ["out", "err"] {
            std::fs::write(step.spec.chdir.join(name), "old").unwrap();
        }
        let first = step.spec.job;
        for (job, leader, text) in [(first.0, None, "a"), (first.0 + 1, Some(first), "b")] {
            step.spec.job = model::JobId(job);
            step.spec.leader = leader;
            step.write(OpenMode::Truncate, "out", text).unwrap();
            step.write(OpenMode::Truncate, "err", text).unwrap();
        }
        step.check("out", "aabb");
        step.check("err", "aabb");
    }

    #[test]
    fn a_missing_working_directory_is_not_made() {
        let mut step = step();
        step.spec.chdir = "/no/such".into();
        let error = step.write(OpenMode::Truncate, "out", "").unwrap_err();
        assert_eq!(
            error.to_string(),
            "could not open /no/such/out: No such file or directory"
        );
        assert!(step.write(OpenMode::Truncate, "logs/out", "").is_err());
        step.write(OpenMode::Truncate, "/dev/null", "").unwrap();
    }

    fn pipe(step: &Step) -> PathBuf {
        let pipe = step.spec.chdir.join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        assert!(made.unwrap().success());
        pipe
    }

    #[test]
    fn another_user_s_pipe_is_not_waited_on() {
        let mut step = step();
        step.spec.uid = 2;
        // Only root can; another user's own pipe is a stranger's to user 2 already.
        let _given = std::os::unix::fs::chown(pipe(&step), Some(1), None);
        let error = step.write(OpenMode::Append, "pipe", "").unwrap_err();
        assert!(error.to_string().contains("is a pipe of user"), "{error}");
        let files = TaskFiles::new(&step.spec, None, OpenMode::Append, AT_ONCE);
        let error = files.input("pipe", &step.spec.tasks[0]).unwrap_err();
        assert!(error.to_string().contains("is a pipe of user"), "{error}");
    }

    #[test]
    fn output_is_the_owner_s_and_closed_folders_stay_closed() {
        if sys::process::user() != 0 {
            let text = "skipped: only root runs jobs of other users\n";
            std::io::stderr().write_all(text.as_bytes()).unwrap();
            return;
        }
        let mut step = step();
        step.spec.uid = 65_534;
        let owner = User {
            uid: 65_534,
            gid: 65_534,
            groups: vec![65_534],
        };
        let mode = |path: &Path, mode| {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
            std::fs::set_permissions(path, mode).unwrap();
        };
        mode(step._folder.path(), 0o755);
        mode(&step.spec.chdir, 0o777);
        let secret = step.spec.chdir.join("secret");
        std::fs::create_dir(&secret).unwrap();
        mode(&secret, 0o700);
        std::fs::write(secret.join("in"), "x").unwrap();
        let mut files = TaskFiles::new(&step.spec, Some(&owner), OpenMode::Truncate, AT_ONCE);
        let task = &step.spec.tasks[0];
        let file = files.output("logs/out", task).unwrap();
        let owner_of = |facts: std::fs::Metadata| std::os::unix::fs::MetadataExt::uid(&facts);
        assert_eq!(owner_of(file.metadata().unwrap()), 65_534);
        for pattern in ["secret/out", "secret/new/out"] {
            let error = files.output(pattern, task).unwrap_err();
            assert!(error.to_string().contains("Permission denied"), "{error}");
        }
        assert!(files.input("secret/in", task).is_err());
        assert_eq!(std::fs::read_dir(&secret).unwrap().count(), 1);
    }
}
