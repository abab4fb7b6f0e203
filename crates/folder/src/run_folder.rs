//! The layout.

use crate::{Attempt, FolderError, LaunchFile, Link, RankExit, RunJson, json_file};
use model::Timestamp;
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// The mode of folders, which the umask narrows: no other user replaces what lies in them.
const FOLDER: u32 = 0o755;

/// The file with the values of secret variables.
const SECRETS: &str = "secrets.json";

/// One run's folder, `<scratch>/<project>/<run>/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFolder {
    root: PathBuf,
    id: String,
}

/// Makes what is missing of a path, with that mode.
pub(crate) fn own_folders(path: &Path, mode: u32) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(mode).create(path)
}

/// A umask that lets every user write says nothing of who should: then the run, in which programs
/// make folders of their own, is private.
fn root_mode() -> u32 {
    if sys::process::umask() & 0o002 == 0 {
        0o700
    } else {
        FOLDER
    }
}

impl RunFolder {
    /// Makes the folder of a new run with all its sub-folders.
    ///
    /// # Errors
    /// It can't be made, or there is one of that id.
    pub fn create(scratch: &Path, project: &str, id: &str) -> Result<RunFolder, FolderError> {
        let folder = RunFolder::at(&scratch.join(project).join(id));
        let error = |path: &Path| {
            let (path, scratch) = (path.to_owned(), scratch.to_owned());
            move |source| FolderError::Make {
                path,
                scratch,
                source,
            }
        };
        let above = scratch.join(project);
        own_folders(&above, FOLDER).map_err(error(&above))?;
        match DirBuilder::new().mode(root_mode()).create(&folder.root) {
            Err(source) if source.kind() == io::ErrorKind::AlreadyExists => {
                return Err(FolderError::Exists { path: folder.root });
            }
            made => made.map_err(error(&folder.root))?,
        }
        let inside = [
            folder.links(),
            folder.logs(),
            folder.incoming(),
            folder.manifests(),
            folder.tensorboard(),
            folder.monitor(),
        ];
        for path in inside {
            if let Err(source) = own_folders(&path, FOLDER) {
                folder.discard();
                return Err(error(&path)(source));
            }
        }
        Ok(folder)
    }

    /// Removes a folder of which no job knows, and that of its project where no other run is in it.
    pub fn discard(&self) {
        // What can't be removed is half a run folder, which `yard clean` lists.
        let _ = fs::remove_dir_all(&self.root);
        if let Some(project) = self.root.parent() {
            let _ = fs::remove_dir(project);
        }
    }

    /// The run folder at that path; its last part is the run's id. Nothing is read.
    #[must_use]
    pub fn at(path: &Path) -> RunFolder {
        let name = path.file_name().unwrap_or_default();
        RunFolder {
            root: path.to_owned(),
            id: name.to_string_lossy().into_owned(),
        }
    }

    /// The run folder at that path, and what its `run.json` says.
    ///
    /// # Errors
    /// It is no run folder, can't be read, or is of a version that this one does not know.
    pub fn open(path: &Path) -> Result<(RunFolder, RunJson), FolderError> {
        let folder = RunFolder::at(path);
        let run = json_file::read(&folder.run_json())?;
        Ok((folder, run))
    }

    /// Writes `run.json`, which holds the run's token, for the user alone.
    ///
    /// # Errors
    /// It can't be written.
    pub fn write_run(&self, run: &RunJson) -> Result<(), FolderError> {
        json_file::write_private(&self.run_json(), run)
    }

    /// Writes the values of secret variables, for the user alone.
    ///
    /// # Errors
    /// It can't be written.
    pub fn write_secrets(&self, secrets: &BTreeMap<String, String>) -> Result<(), FolderError> {
        json_file::write_private(&self.root.join(SECRETS), secrets)
    }

    /// Secret variables with their values; none where the run has none.
    ///
    /// # Errors
    /// They can't be read.
    pub fn read_secrets(&self) -> Result<BTreeMap<String, String>, FolderError> {
        match json_file::read(&self.root.join(SECRETS)) {
            Err(FolderError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                Ok(BTreeMap::new())
            }
            secrets => secrets,
        }
    }

    /// Writes `links/<n>.json`.
    ///
    /// # Errors
    /// It can't be written.
    pub fn write_link(&self, link: &Link) -> Result<(), FolderError> {
        json_file::write(&self.link(link.number), link)
    }

    /// All links, by number.
    ///
    /// # Errors
    /// One can't be read.
    pub fn read_links(&self) -> Result<Vec<Link>, FolderError> {
        let names = self.names_in_links()?;
        let mut numbers: Vec<u32> = names
            .iter()
            .filter_map(|name| name.strip_suffix(".json")?.parse().ok())
            .collect();
        numbers.sort_unstable();
        let read = |number: &u32| json_file::read(&self.link(*number));
        numbers.iter().map(read).collect()
    }

    /// Notes that a person cancelled the run: jobs that wait to take over end at once.
    ///
    /// # Errors
    /// It can't be written.
    pub fn write_cancelled(&self) -> Result<(), FolderError> {
        let path = self.cancelled();
        sys::atomic::write(&path, b"").map_err(|source| FolderError::Write { path, source })
    }

    /// Takes the note of [`RunFolder::write_cancelled`] back.
    ///
    /// # Errors
    /// It can't be removed.
    pub fn clear_cancelled(&self) -> Result<(), FolderError> {
        let path = self.cancelled();
        match fs::remove_file(&path) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(FolderError::Write { path, source })
            }
            _ => Ok(()),
        }
    }

    /// Whether a person cancelled the run.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled().exists()
    }

    /// Notes that a person asked for a run again that is over: it trains on, even where it had
    /// trained to its end.
    ///
    /// # Errors
    /// It can't be written.
    pub fn write_asked_again(&self) -> Result<(), FolderError> {
        let path = self.asked_again();
        sys::atomic::write(&path, b"").map_err(|source| FolderError::Write { path, source })
    }

    /// Takes the note of [`RunFolder::write_asked_again`] away; whether there was one.
    #[must_use]
    pub fn take_asked_again(&self) -> bool {
        fs::remove_file(self.asked_again()).is_ok()
    }

    fn asked_again(&self) -> PathBuf {
        self.links().join("again")
    }

    fn cancelled(&self) -> PathBuf {
        self.links().join("cancelled")
    }

    /// Writes `links/<job>.<restart>.launch.<n>.json`, all of them.
    ///
    /// # Errors
    /// It can't be written.
    pub fn write_launch(&self, launch: &LaunchFile) -> Result<(), FolderError> {
        let mut files = launch.files();
        files.try_for_each(|(number, file)| {
            json_file::write(&self.launch(launch.attempt, number), &file)
        })
    }

    /// Reads what a task is started with, and some others beside it.
    ///
    /// # Errors
    /// It can't be read.
    pub fn read_launch(&self, attempt: Attempt, task: u32) -> Result<LaunchFile, FolderError> {
        json_file::read(&self.launch(attempt, LaunchFile::number_of(task)))
    }

    /// Writes `links/<job>.<restart>.exit.<rank>`.
    ///
    /// # Errors
    /// It can't be written.
    pub fn write_exit(&self, attempt: Attempt, exit: &RankExit) -> Result<(), FolderError> {
        json_file::write(&self.exit(attempt, exit.rank), exit)
    }

    /// How the ranks of one start ended, as far as they wrote it down, the first one first.
    ///
    /// # Errors
    /// One can't be read.
    pub fn read_exits(&self, attempt: Attempt) -> Result<Vec<RankExit>, FolderError> {
        let start = format!("{attempt}.exit.");
        let names = self.names_in_links()?;
        let ranks = names
            .iter()
            .filter_map(|name| name.strip_prefix(&start)?.parse().ok());
        let read = |rank: u32| json_file::read(&self.exit(attempt, rank));
        let mut exits = ranks.map(read).collect::<Result<Vec<RankExit>, _>>()?;
        exits.sort_by_key(|exit| (exit.at, exit.rank));
        Ok(exits)
    }

    /// The starts of which a conductor wrote anything, in order: by job, then by restart.
    ///
    /// # Errors
    /// What the system says.
    pub fn attempts(&self) -> io::Result<Vec<Attempt>> {
        let mut attempts = Vec::new();
        for entry in fs::read_dir(self.links())? {
            let name = entry?.file_name();
            let stem = name.to_str().and_then(|name| name.strip_suffix(".events"));
            attempts.extend(stem.and_then(|stem| stem.parse::<Attempt>().ok()));
        }
        attempts.sort_unstable();
        Ok(attempts)
    }

    /// Takes it upon the caller to bring the run back after a start whose conductor was lost;
    /// false where another process has.
    ///
    /// # Errors
    /// What the system says.
    pub fn claim_comeback(&self, attempt: Attempt) -> io::Result<bool> {
        let path = self.links().join(format!("{attempt}.comeback"));
        match fs::File::create_new(path) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whether [`RunFolder::claim_comeback`] was called for the start.
    #[must_use]
    pub fn is_comeback_claimed(&self, attempt: Attempt) -> bool {
        self.links().join(format!("{attempt}.comeback")).exists()
    }

    /// Takes it upon the caller to send a message about a start; false where another process has.
    ///
    /// # Errors
    /// What the system says.
    pub fn claim_notice(&self, attempt: Attempt, about: &str) -> io::Result<bool> {
        let path = self.links().join(format!("{attempt}.notice.{about}"));
        match fs::File::create_new(path) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn names_in_links(&self) -> Result<Vec<String>, FolderError> {
        let folder = self.links();
        let read = || -> io::Result<Vec<String>> {
            let names = fs::read_dir(&folder)?.map(|entry| Ok(entry?.file_name().into_string()));
            let names = names.collect::<io::Result<Vec<_>>>()?;
            Ok(names.into_iter().flatten().collect())
        };
        read().map_err(|source| FolderError::Read {
            path: folder.clone(),
            source,
        })
    }

    /// The folder itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// The run's id: the folder's name.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// `run.json`
    #[must_use]
    pub fn run_json(&self) -> PathBuf {
        self.root.join("run.json")
    }

    /// `job.sbatch`
    #[must_use]
    pub fn script(&self) -> PathBuf {
        self.root.join("job.sbatch")
    }

    /// `links/`
    #[must_use]
    pub fn links(&self) -> PathBuf {
        self.root.join("links")
    }

    /// `links/<n>.json`
    #[must_use]
    pub fn link(&self, number: u32) -> PathBuf {
        self.links().join(format!("{number}.json"))
    }

    /// `links/<job>.<restart>.events`
    #[must_use]
    pub fn events(&self, attempt: Attempt) -> PathBuf {
        self.links().join(format!("{attempt}.events"))
    }

    /// `links/<job>.<restart>.launch.<number>.json`
    #[must_use]
    pub fn launch(&self, attempt: Attempt, number: u32) -> PathBuf {
        let name = format!("{attempt}.launch.{number}.json");
        self.links().join(name)
    }

    /// `links/<job>.<restart>.exit.<rank>`
    #[must_use]
    pub fn exit(&self, attempt: Attempt, rank: u32) -> PathBuf {
        self.links().join(format!("{attempt}.exit.{rank}"))
    }

    /// `code/`
    #[must_use]
    pub fn code(&self) -> PathBuf {
        self.root.join("code")
    }

    /// `logs/`
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.root.join("logs")
    }

    /// `logs/<job>.<restart>.<rank>`
    #[must_use]
    pub fn rank_log(&self, attempt: Attempt, rank: u32) -> PathBuf {
        self.logs().join(format!("{attempt}.{rank}"))
    }

    /// When a rank of that start last printed something; none where none did.
    #[must_use]
    pub fn last_output(&self, attempt: Attempt) -> Option<Timestamp> {
        let start = format!("{attempt}.");
        let logs = fs::read_dir(self.logs()).ok()?.flatten();
        let own = logs.filter(|entry| {
            let name = entry.file_name();
            name.to_str().is_some_and(|name| name.starts_with(&start))
        });
        let written = own.filter_map(|entry| {
            let facts = entry.metadata().ok().filter(|facts| facts.len() > 0)?;
            let since = facts.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
            Some(Timestamp(i64::try_from(since.as_millis()).ok()?))
        });
        written.max()
    }

    /// `srun --output` of the ranks' step: `logs/<job>.<restart>.%t`.
    #[must_use]
    pub fn rank_log_pattern(&self, attempt: Attempt) -> String {
        self.pattern(&format!("{attempt}.%t"))
    }

    /// `logs/%j.conductor`, the batch step's output: Slurm knows no pattern for the restart, so
    /// all starts of a job append to one file.
    #[must_use]
    pub fn conductor_log_pattern(&self) -> String {
        self.pattern("%j.conductor")
    }

    /// The folder of one of the run's repeats, which are elements of an array.
    #[must_use]
    pub fn repeat(&self, number: u32) -> RunFolder {
        let id = format!("{}.{number}", self.id);
        RunFolder {
            root: self.root.join(&id),
            id,
        }
    }

    /// Whether it is that of one of several repeats.
    #[must_use]
    pub fn is_repeat(&self) -> bool {
        let above = self.root.parent().and_then(Path::file_name);
        let number = above
            .and_then(|above| self.id.strip_prefix(above.to_str()?))
            .and_then(|rest| rest.strip_prefix('.'));
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    }

    /// `<id>.%a/logs/%j.conductor`, the output of the batch steps of the array of repeats.
    #[must_use]
    pub fn repeats_log_pattern(&self) -> String {
        let folder = self.root.display().to_string().replace('%', "%%");
        format!(
            "{folder}/{}.%a/logs/%j.conductor",
            self.id.replace('%', "%%")
        )
    }

    /// A file name pattern of Slurm below `logs/`: a percent sign of the path itself is doubled.
    fn pattern(&self, name: &str) -> String {
        let folder = self.logs().display().to_string();
        format!("{}/{name}", folder.replace('%', "%%"))
    }

    /// `logs/<job>.conductor`
    #[must_use]
    pub fn conductor_log(&self, job: u32) -> PathBuf {
        self.logs().join(format!("{job}.conductor"))
    }

    /// `checkpoints/`
    #[must_use]
    pub fn checkpoints(&self) -> PathBuf {
        self.root.join("checkpoints")
    }

    /// `checkpoints/<name>`
    #[must_use]
    pub fn checkpoint(&self, name: &str) -> PathBuf {
        self.checkpoints().join(name)
    }

    /// `checkpoints/.incoming/`
    #[must_use]
    pub fn incoming(&self) -> PathBuf {
        self.checkpoints().join(".incoming")
    }

    /// `checkpoints/.manifests/`
    #[must_use]
    pub fn manifests(&self) -> PathBuf {
        self.checkpoints().join(".manifests")
    }

    /// `checkpoints/.manifests/<name>.json`; of a name that leaves no room for the ending, its
    /// beginning and a hash of it.
    #[must_use]
    pub fn manifest(&self, name: &str) -> PathBuf {
        // File systems take 255 bytes; a file that is written beside has an ending of its own.
        const LONGEST: usize = 200;
        if name.len() <= LONGEST {
            return self.manifests().join(format!("{name}.json"));
        }
        let begin = &name[..name.floor_char_boundary(100)];
        let hash = blake3::hash(name.as_bytes()).to_hex();
        self.manifests().join(format!("{begin}-{hash}.json"))
    }

    /// `collected/`
    #[must_use]
    pub fn collected(&self) -> PathBuf {
        self.root.join("collected")
    }

    /// `scratch/`, for programs that keep files of their own beside checkpoints.
    #[must_use]
    pub fn scratch(&self) -> PathBuf {
        self.root.join("scratch")
    }

    /// `scratch/hpc_outputs` and `scratch/<name>/checkpoints`, where the programs of some sites
    /// write.
    #[must_use]
    pub fn folders_of_programs(&self, name: &str) -> [PathBuf; 2] {
        let scratch = self.scratch();
        [
            scratch.join("hpc_outputs"),
            scratch.join(name).join("checkpoints"),
        ]
    }

    /// `tensorboard/`
    #[must_use]
    pub fn tensorboard(&self) -> PathBuf {
        self.root.join("tensorboard")
    }

    /// `monitor/`
    #[must_use]
    pub fn monitor(&self) -> PathBuf {
        self.root.join("monitor")
    }

    /// `monitor/<node>.csv`
    #[must_use]
    pub fn monitor_file(&self, node: &str) -> PathBuf {
        // A host's name has no slash; what calls itself otherwise still writes below `monitor/`.
        let node = node.replace('/', "_");
        self.monitor().join(format!("{node}.csv"))
    }

    /// The files below `monitor/` by their nodes, in order; none where nothing was sampled.
    #[must_use]
    pub fn monitor_files(&self) -> Vec<(String, PathBuf)> {
        let entries = fs::read_dir(self.monitor()).into_iter().flatten().flatten();
        let files = entries.filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            Some((name.strip_suffix(".csv")?.to_owned(), entry.path()))
        });
        let mut files: Vec<(String, PathBuf)> = files.collect();
        files.sort();
        files
    }

    /// `report.html`
    #[must_use]
    pub fn report(&self) -> PathBuf {
        self.root.join("report.html")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Timestamp;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_new_folder_has_its_parts_and_is_made_once() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(scratch.path(), "shop", "digits-k3f9").unwrap();
        assert_eq!(folder.id(), "digits-k3f9");
        assert!(folder.manifests().is_dir() && folder.incoming().is_dir());
        assert_eq!(folder.attempts().unwrap(), []);
        let again = RunFolder::create(scratch.path(), "shop", "digits-k3f9");
        assert!(matches!(again, Err(FolderError::Exists { .. })));
        let (file, run) = (scratch.path().join("file"), "x");
        fs::write(&file, "").unwrap();
        let error = RunFolder::create(&file, "shop", run)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("can't be made") && error.contains("set TRAINYARD_HOME"),
            "{error}"
        );
    }

    #[test]
    fn an_unwritable_folder_is_said() {
        let scratch = tempfile::tempdir().unwrap();
        fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o500)).unwrap();
        let made = RunFolder::create(scratch.path(), "shop", "x");
        // Root may write everywhere.
        if fs::write(scratch.path().join("probe"), "").is_err() {
            assert!(matches!(made, Err(FolderError::Make { .. })));
        }
        fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o700)).unwrap();
    }

    #[test]
    fn exits_and_links_are_read_in_order() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(scratch.path(), "shop", "x").unwrap();
        let attempt = Attempt { job: 7, restart: 1 };
        for (rank, at) in [(0, 30), (11, 10), (2, 20)] {
            let exit = RankExit {
                told_to_end: false,
                rank,
                status: 1,
                signal: None,
                at: Timestamp(at),
                host: "n1".to_owned(),
            };
            folder.write_exit(attempt, &exit).unwrap();
        }
        let ranks = folder.read_exits(attempt).unwrap();
        assert_eq!(
            ranks.iter().map(|exit| exit.rank).collect::<Vec<_>>(),
            [11, 2, 0]
        );
        for number in [10, 2, 1] {
            let state = crate::LinkState::Intent { at: Timestamp(0) };
            let link = Link {
                number,
                cluster: "local".to_owned(),
                token: "t".to_owned(),
                after: None,
                state,
            };
            folder.write_link(&link).unwrap();
        }
        let links = folder.read_links().unwrap();
        assert_eq!(
            links.iter().map(|link| link.number).collect::<Vec<_>>(),
            [1, 2, 10]
        );
    }

    #[test]
    fn a_rank_reads_no_more_than_a_few() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(scratch.path(), "shop", "x").unwrap();
        let attempt = Attempt { job: 7, restart: 1 };
        let rank = |task| train::RankCommand {
            task,
            node: task / 8,
            env: std::collections::BTreeMap::new(),
            argv: vec![format!("rank {task}")],
        };
        let launch = LaunchFile {
            attempt,
            cwd: "/work".into(),
            preludes: Vec::new(),
            container: None,
            count: 1000,
            head: None,
            ranks: (0..1000).map(rank).collect(),
        };
        folder.write_launch(&launch).unwrap();
        for task in [0, 15, 16, 999] {
            let read = folder.read_launch(attempt, task).unwrap();
            assert!(read.ranks.len() <= 16);
            assert!(read.ranks.contains(&rank(task)));
            assert_eq!((read.count, read.cwd), (1000, launch.cwd.clone()));
        }
        assert!(folder.read_launch(attempt, 1010).is_err());
    }

    #[test]
    fn attempts_are_those_with_events() {
        let scratch = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(scratch.path(), "shop", "x").unwrap();
        for name in [
            "12.0.events",
            "7.10.events",
            "7.2.events",
            "7.2.launch.0.json",
            "1.json",
        ] {
            fs::write(folder.links().join(name), "").unwrap();
        }
        let attempts = folder.attempts().unwrap();
        let shown: Vec<String> = attempts.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["7.2", "7.10", "12.0"]);
    }

    #[test]
    fn patterns_double_a_percent_sign() {
        let folder = RunFolder::at(Path::new("/scratch/50%/x"));
        assert_eq!(
            folder.conductor_log_pattern(),
            "/scratch/50%%/x/logs/%j.conductor"
        );
    }
}
