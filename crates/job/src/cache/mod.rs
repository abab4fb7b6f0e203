//! What lies in a cache: environments, images and containers with names; and staged data, which lies on a node's disk.

use crate::local_folder::LocalFolder;
use crate::made_once::{Entry, entries, is_whole};
use crate::{environment, image};
use model::JobId;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use sys::lock::FileLock;

/// What a cache keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A virtual environment.
    Environment,
    /// An image that was fetched or built.
    Image,
    /// The root file system of a container with a name, which its changes stay in.
    Container,
    /// Data that was staged on this machine's own disk for a run.
    Data,
}

impl Kind {
    /// In a word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Kind::Environment => "environment",
            Kind::Image => "image",
            Kind::Container => "container",
            Kind::Data => "data",
        }
    }
}

/// One of a cache.
#[derive(Debug)]
pub struct Kept {
    /// What it is.
    pub kind: Kind,
    /// Its folder.
    pub place: PathBuf,
    /// What it was made of, the container's name, or what was staged; `None`: it is half made.
    pub made_of: Option<String>,
    holder: Holder,
}

/// What something kept belongs to.
#[derive(Debug)]
enum Holder {
    /// A cache, in which it has a lock.
    Cache { entry: Entry, lock: PathBuf },
    /// One start of a run, in its folder on the node's disk.
    Start(LocalFolder),
}

/// All that lie in a cache.
#[must_use]
pub fn kept(cache: &Path) -> Vec<Kept> {
    let environments = entries(&environment::folder_in(cache)).into_iter();
    let environments = environments.map(|entry| Kept::new(Kind::Environment, entry));
    let images = entries(&image::folder_in(cache)).into_iter();
    let images = images.map(|entry| Kept::new(Kind::Image, entry));
    environments
        .chain(images)
        .chain(containers(cache))
        .collect()
}

/// The containers with names, whole or not.
pub(crate) fn containers(cache: &Path) -> impl Iterator<Item = Kept> {
    let all = entries(&cache.join(CONTAINERS)).into_iter();
    all.map(Kept::container)
}

/// The data that was staged for this user's runs below `node_local`, a folder on this machine's own disk.
#[must_use]
pub fn staged(node_local: &Path) -> Vec<Kept> {
    let root = LocalFolder::root_in(node_local);
    if LocalFolder::check_root(&root).is_err() {
        return Vec::new();
    }
    let all = LocalFolder::all(&root).into_iter();
    all.filter_map(|local| {
        let place = local.data();
        let entries = fs::read_dir(&place).ok()?.flatten();
        let mut names: Vec<String> = entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort_unstable();
        let is_of_run = local.owner().is_some();
        (is_of_run && !names.is_empty()).then(|| Kept {
            kind: Kind::Data,
            place,
            made_of: Some(names.join(" ")),
            holder: Holder::Start(local),
        })
    })
    .collect()
}

impl Kept {
    /// An environment or an image.
    fn new(kind: Kind, entry: Entry) -> Kept {
        let place = entry.place();
        Kept {
            kind,
            made_of: entry.says(),
            holder: Holder::Cache {
                lock: lock_of_entry(&place),
                entry,
            },
            place,
        }
    }

    fn container(entry: Entry) -> Kept {
        let place = entry.place();
        let name = place.file_name().unwrap_or_default().to_string_lossy();
        let whole = name.strip_prefix(HALF_MADE);
        let made_of = whole.is_none().then(|| name.to_string());
        let whole = place.with_file_name(whole.unwrap_or(&name));
        let lock = lock_of_entry(&whole);
        Kept {
            kind: Kind::Container,
            made_of,
            holder: Holder::Cache { entry, lock },
            place,
        }
    }

    /// The run that has it for itself alone: staged data is one run's.
    #[must_use]
    pub fn run(&self) -> Option<&str> {
        match &self.holder {
            Holder::Cache { .. } => None,
            Holder::Start(local) => Some(local.owner()?.0),
        }
    }

    /// Takes it, to remove it; `None` where a process makes or uses it now, where it has become whole since it was
    /// listed, or where it is data beside which files are to be collected.
    #[must_use]
    pub fn take(&self) -> Option<Unused<'_>> {
        let lock = self.hold()?;
        self.is_as_listed().then_some(Unused {
            kept: self,
            _lock: lock,
        })
    }

    /// Its lock, where no process makes or uses it; nor is it data beside which files are to be collected.
    fn hold(&self) -> Option<FileLock> {
        match &self.holder {
            Holder::Cache { lock, .. } => FileLock::try_acquire(lock).ok().flatten(),
            Holder::Start(local) => local.take().filter(|_| !local.has_uncollected()),
        }
    }

    /// Whether what was half made still is.
    fn is_as_listed(&self) -> bool {
        match (&self.holder, self.kind) {
            (Holder::Start(_), _) => true,
            _ if self.made_of.is_some() => true,
            // A name of its own tells it, which it loses once it is whole.
            (Holder::Cache { .. }, Kind::Container) => self.place.exists(),
            (Holder::Cache { entry, .. }, _) => !entry.is_made(),
        }
    }

    /// The file that has the batch jobs which start in it.
    fn jobs_file(&self) -> Option<PathBuf> {
        match &self.holder {
            Holder::Cache { lock, .. } => Some(jobs_beside(lock)),
            Holder::Start(_) => None,
        }
    }

    /// The batch jobs that were submitted to start in it, whether they are over or not, but for those that were
    /// forgotten.
    #[must_use]
    pub fn jobs(&self) -> BTreeSet<JobOfEngine> {
        let text = self.jobs_file().map(fs::read_to_string);
        let text = text.and_then(Result::ok).unwrap_or_default();
        // The last line of who is writing may be a half.
        let lines = text
            .split_inclusive('\n')
            .filter_map(|line| line.strip_suffix('\n'));
        lines.filter_map(JobOfEngine::of_line).collect()
    }

    /// Forgets those of its jobs that are over; where a process makes or uses it now, another time: it may be one that
    /// notes a job.
    ///
    /// # Errors
    /// The cache can't be written.
    pub fn forget_jobs(&self, over: &BTreeSet<JobOfEngine>) -> io::Result<()> {
        let (Some(file), Some(_lock)) = (self.jobs_file(), self.hold()) else {
            return Ok(());
        };
        let all = self.jobs();
        let left: Vec<&JobOfEngine> = all.difference(over).collect();
        if left.len() == all.len() {
            return Ok(());
        }
        let lines: String = left.into_iter().map(JobOfEngine::line).collect();
        sys::atomic::write(&file, lines.as_bytes())
    }
}

/// One of a cache that no process makes or uses, nor begins to, as long as this is there.
#[derive(Debug)]
pub struct Unused<'a> {
    kept: &'a Kept,
    _lock: FileLock,
}

impl Unused<'_> {
    /// Removes it.
    ///
    /// # Errors
    /// The system refuses.
    pub fn remove(self) -> io::Result<()> {
        let removed = match &self.kept.holder {
            Holder::Cache { entry, lock } => {
                entry.remove()?;
                fs::remove_file(jobs_beside(lock))
            }
            Holder::Start(local) => fs::remove_dir_all(local.data()),
        };
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// A job of an embedded engine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct JobOfEngine {
    /// The engine's folder.
    pub engine: PathBuf,
    /// The job.
    pub job: JobId,
}

impl JobOfEngine {
    fn line(&self) -> String {
        format!("{} {}\n", self.job, self.engine.display())
    }

    fn of_line(line: &str) -> Option<JobOfEngine> {
        let (job, engine) = line.split_once(' ')?;
        Some(JobOfEngine {
            engine: PathBuf::from(engine),
            job: JobId(job.parse().ok()?),
        })
    }
}

/// Notes that a job starts in what a lock is of: it waits, and no process holds that for it.
///
/// # Errors
/// The cache can't be written.
pub fn note_job(lock: &Path, job: &JobOfEngine) -> io::Result<()> {
    let mut file = File::options()
        .append(true)
        .create(true)
        .open(jobs_beside(lock))?;
    file.write_all(job.line().as_bytes())
}

fn jobs_beside(lock: &Path) -> PathBuf {
    lock.with_extension("jobs")
}

const CONTAINERS: &str = "containers";
/// What the folder of a container begins with that is not whole yet, before its name.
const HALF_MADE: &str = ".";

/// The root file system of a container with a name, and where it is made.
#[derive(Debug)]
pub struct NamedContainer {
    /// Where it lies.
    pub place: PathBuf,
    /// Where it is made, to be renamed when it is whole.
    pub half_made: PathBuf,
    /// Held by who makes it, and shared by who uses it.
    pub lock: PathBuf,
}

impl NamedContainer {
    /// Of a name in a cache. Nothing is made.
    #[must_use]
    pub fn new(cache: &Path, name: &str) -> NamedContainer {
        let folder = cache.join(CONTAINERS);
        let place = folder.join(name);
        NamedContainer {
            half_made: folder.join(format!("{HALF_MADE}{name}")),
            lock: lock_of_entry(&place),
            place,
        }
    }

    /// Has nothing remove it until this process has ended; `false` where it is not there.
    #[must_use]
    pub fn keep(&self) -> bool {
        // A cache of another user's is kept by that one.
        let held = FileLock::share(&self.lock);
        let is_there = self.place.is_dir();
        if let Ok(held) = held
            && is_there
        {
            std::mem::forget(held);
        }
        is_there
    }
}

/// The lock of an environment, or of what a container starts from, where that lies in a cache.
#[must_use]
pub fn lock_of(path: &Path) -> Option<PathBuf> {
    let all = [Some(path), path.parent()].into_iter().flatten();
    let mut entries = all.filter(|place| is_whole(place));
    entries.next().map(lock_of_entry)
}

fn lock_of_entry(place: &Path) -> PathBuf {
    let mut lock = place.as_os_str().to_owned();
    lock.push(".lock");
    PathBuf::from(lock)
}

/// Has nothing remove what a lock is of until this process has ended. A cache of another user's is kept by that one.
pub fn keep_until_end(lock: &Path) {
    if let Ok(held) = FileLock::share(lock) {
        std::mem::forget(held);
    }
}

/// As [`keep_until_end`], of an environment or an image in a cache that was whole a moment ago; `false` where it was
/// removed since.
#[must_use]
pub fn keep_whole(path: &Path) -> bool {
    let Some(lock) = lock_of(path) else {
        return false;
    };
    // A cache of another user's is kept by that one.
    let held = FileLock::share(&lock);
    let is_whole = lock_of(path).is_some();
    if let Ok(held) = held
        && is_whole
    {
        std::mem::forget(held);
    }
    is_whole
}

/// As [`keep_until_end`], until the programs that this process becomes or starts have ended too.
pub(crate) fn keep_for_programs(lock: &Path) {
    if let Ok(held) = FileLock::share(lock) {
        // Held by this process alone then, which is less.
        let _ = held.hand_on();
    }
}

#[cfg(test)]
mod tests;
