//! The run folder: made, opened, and the files that say what the run is.

mod marks;
mod paths;
mod starts;

use crate::{FolderError, Link, RunJson, json_file};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The mode of folders, which the umask narrows: no other user replaces what lies in them.
const FOLDER: u32 = 0o755;

/// One run's folder, `<scratch>/<project>/<run>/`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
        json_file::write_private(&self.secrets(), secrets)
    }

    /// Secret variables with their values; none where the run has none.
    ///
    /// # Errors
    /// They can't be read.
    pub fn read_secrets(&self) -> Result<BTreeMap<String, String>, FolderError> {
        match json_file::read(&self.secrets()) {
            Err(FolderError::Read { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                Ok(BTreeMap::new())
            }
            secrets => secrets,
        }
    }

    /// Removes the values of secret variables: of a run that is over they are of no use.
    ///
    /// # Errors
    /// They can't be removed.
    pub fn remove_secrets(&self) -> Result<(), FolderError> {
        remove_if_there(self.secrets())
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
}

fn remove_if_there(path: PathBuf) -> Result<(), FolderError> {
    match fs::remove_file(&path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(FolderError::Write { path, source })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Attempt, LaunchFile, RankExit};
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
    fn secrets_are_the_user_s_alone_until_they_are_removed() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().unwrap();
        let folder = RunFolder::create(root.path(), "shop", "x").unwrap();
        let secrets = BTreeMap::from([("HF_TOKEN".to_owned(), "two\nlines".to_owned())]);
        folder.write_secrets(&secrets).unwrap();
        let mode = fs::metadata(folder.secrets()).unwrap();
        assert_eq!(mode.permissions().mode() & 0o777, 0o600);
        assert_eq!(folder.read_secrets().unwrap(), secrets);
        folder.remove_secrets().unwrap();
        folder.remove_secrets().unwrap();
        assert!(!folder.secrets().exists());
        assert_eq!(folder.read_secrets().unwrap(), BTreeMap::new());
    }

    #[test]
    fn exits_and_links_are_read_in_order() {
        use std::collections::BTreeSet;
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
        let mut seen = BTreeSet::from([2, 0]);
        let new = folder.new_exits(attempt, &mut seen).unwrap();
        assert_eq!(new.iter().map(|exit| exit.rank).collect::<Vec<_>>(), [11]);
        assert_eq!(folder.new_exits(attempt, &mut seen).unwrap(), []);
        for number in [10, 2, 1] {
            let state = crate::LinkState::intent(Timestamp(0));
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
            binding: None,
        };
        let launch = LaunchFile {
            attempt,
            cwd: "/work".into(),
            preludes: Vec::new(),
            container: None,
            count: 1000,
            secrets: Vec::new(),
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
