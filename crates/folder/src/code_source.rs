//! Where a run's code lies, and which files and folders are code.

use ignore::{Walk, WalkBuilder};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use train::say_bytes;

/// The most that is copied.
pub const CODE_LIMIT: u64 = 200_000_000;

/// Where a run's code lies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeSource {
    /// The git root, or the run file's folder.
    pub(crate) root: PathBuf,
    /// Where the run file stands below it.
    pub(crate) subfolder: PathBuf,
    /// Whether git knows the root.
    pub(crate) git: bool,
}

/// Why the code could not be copied.
#[derive(Debug, thiserror::Error)]
pub enum CodeError {
    /// A file could not be read, or its copy not written.
    #[error("{} can't be copied to {} ({source})", from.display(), to.display())]
    Copy {
        /// The file.
        from: PathBuf,
        /// Its copy.
        to: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The files could not be listed.
    #[error("the files of {} can't be listed ({why})", root.display())]
    List {
        /// The root.
        root: PathBuf,
        /// In the words of git or the system.
        why: String,
    },
    /// There is more than is copied.
    #[error(
        "the code in {} has {} and at most {} are copied; the largest: {}: \
         put data into .gitignore, or move it out of {}",
        root.display(),
        say_bytes(*bytes),
        say_bytes(CODE_LIMIT),
        largest(files),
        root.display()
    )]
    TooLarge {
        /// The root.
        root: PathBuf,
        /// Bytes in all.
        bytes: u64,
        /// The largest files with their sizes.
        files: Vec<(PathBuf, u64)>,
    },
}

fn largest(files: &[(PathBuf, u64)]) -> String {
    let said = files
        .iter()
        .map(|(path, bytes)| format!("{} ({})", path.display(), say_bytes(*bytes)));
    said.collect::<Vec<_>>().join(", ")
}

/// Finds the code that a run file in `base` belongs to: the git root above it, or `base` itself.
#[must_use]
pub fn find_source(base: &Path) -> CodeSource {
    let alone = CodeSource {
        root: base.to_owned(),
        subfolder: PathBuf::new(),
        git: false,
    };
    let Ok(answer) = git(base, &["rev-parse", "--show-toplevel"]) else {
        return alone;
    };
    let root = PathBuf::from(OsStr::from_bytes(answer.trim_ascii_end()));
    // A folder that git ignores is not in what git lists.
    let ignored = git(base, &["check-ignore", "-q", "."]).is_ok();
    match (base.strip_prefix(&root), ignored) {
        (Ok(subfolder), false) => CodeSource {
            subfolder: subfolder.to_owned(),
            root,
            git: true,
        },
        _ => alone,
    }
}

impl CodeSource {
    /// The project's name: the root's, made fit for a folder.
    #[must_use]
    pub fn project(&self) -> String {
        let name = self.root.file_name().unwrap_or_default().to_string_lossy();
        let name = name.trim_start_matches('.');
        if name.is_empty() {
            "project".to_owned()
        } else {
            name.to_owned()
        }
    }

    /// The git root, or the run file's folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Whether it may be copied, as [`copy_code`] would.
    ///
    /// # Errors
    /// It can't be listed, or is too large.
    pub fn check(&self, scratch: &Path, left_out: &[PathBuf]) -> Result<(), CodeError> {
        self.within_limit(scratch, left_out).map(drop)
    }

    /// What is copied: its files with their sizes, its folders, and how many bytes that is.
    pub(crate) fn within_limit(
        &self,
        scratch: &Path,
        left_out: &[PathBuf],
    ) -> Result<Code, CodeError> {
        let mut listed = self.list(scratch)?;
        let stays = |path: &Path| left_out.iter().any(|out| path.starts_with(out));
        listed.retain(|path| !stays(&self.root.join(path)));
        let mut files = with_sizes(self, listed.files)?;
        let bytes = files.iter().map(|(_, size)| size).sum();
        if bytes > CODE_LIMIT {
            files.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
            files.truncate(3);
            return Err(CodeError::TooLarge {
                root: self.root.clone(),
                bytes,
                files,
            });
        }
        Ok(Code {
            files,
            folders: listed.folders,
            bytes,
        })
    }

    /// Tracked and unignored files, and folders that are not ignored, relative to the root, sorted.
    fn list(&self, scratch: &Path) -> Result<Listed, CodeError> {
        let error = |why: String| CodeError::List {
            root: self.root.clone(),
            why,
        };
        let mut listed = Listed::default();
        if self.git {
            let tracked = git(&self.root, &["ls-files", "-z", "--cached"]).map_err(error)?;
            let others = ["ls-files", "-z", "--others", "--exclude-standard"];
            let others = git(&self.root, &others).map_err(error)?;
            let mut environments = BTreeMap::new();
            for (names, is_tracked) in [(tracked, true), (others, false)] {
                for name in names
                    .split(|byte| *byte == 0)
                    .filter(|name| !name.is_empty())
                {
                    let path = PathBuf::from(OsStr::from_bytes(name));
                    if !is_tracked && is_in_environment(&self.root, &path, &mut environments) {
                        continue;
                    }
                    if is_folder(&self.root.join(&path)) {
                        // A submodule, or a repository inside this one: git names its folder alone.
                        walk(&self.root, &path, &mut listed).map_err(error)?;
                    } else {
                        listed.files.push(path);
                    }
                }
            }
            // Git knows no folders. One that can't be read has no files that it knows either.
            let readable = walker(&self.root, Path::new("")).flatten();
            let folders = readable.filter(|entry| entry.file_type().is_some_and(|it| it.is_dir()));
            let below = |path: &Path| path.strip_prefix(&self.root).ok().map(Path::to_owned);
            listed
                .folders
                .extend(folders.filter_map(|entry| below(entry.path())));
        } else {
            walk(&self.root, Path::new(""), &mut listed).map_err(error)?;
        }
        // All of ours may lie inside the project, when it is tried there, and the project beside ours.
        let home = std::env::var_os(sys::env_vars::TRAINYARD_HOME).map(PathBuf::from);
        let below = home
            .iter()
            .flat_map(|home| sys::Places::FOLDERS.map(|name| home.join(name)));
        let ours = below.chain([scratch.to_owned()]);
        let ours: Vec<PathBuf> = ours
            .map(|path| path.canonicalize().unwrap_or(path))
            .collect();
        let root = self
            .root
            .canonicalize()
            .unwrap_or_else(|_| self.root.clone());
        listed.retain(|path| !ours.iter().any(|ours| root.join(path).starts_with(ours)));
        for paths in [&mut listed.files, &mut listed.folders] {
            paths.sort();
            paths.dedup();
        }
        Ok(listed)
    }
}

/// What is code, relative to the root.
#[derive(Debug, Default)]
struct Listed {
    files: Vec<PathBuf>,
    /// Also empty ones, and those whose files are ignored: a program may write there.
    folders: Vec<PathBuf>,
}

impl Listed {
    fn retain(&mut self, stays: impl Fn(&Path) -> bool) {
        self.files.retain(|path| stays(path));
        self.folders.retain(|path| stays(path));
    }
}

/// What is copied, relative to the root.
pub(crate) struct Code {
    /// Files, and links of 0 bytes, with their sizes in bytes.
    pub files: Vec<(PathBuf, u64)>,
    /// Folders, also empty ones.
    pub folders: Vec<PathBuf>,
    /// Bytes in all.
    pub bytes: u64,
}

/// Whether a folder is an environment of Python's, made by venv or by conda.
#[must_use]
pub fn is_python_environment(folder: &Path) -> bool {
    folder.join("pyvenv.cfg").exists() || folder.join("conda-meta").is_dir()
}

/// Whether a path is in such a folder below the root; `known` has what was looked at before.
fn is_in_environment(root: &Path, path: &Path, known: &mut BTreeMap<PathBuf, bool>) -> bool {
    let folders = path.ancestors().skip(1);
    let mut folders = folders.filter(|folder| !folder.as_os_str().is_empty());
    folders.any(|folder| match known.get(folder) {
        Some(is_one) => *is_one,
        None => {
            let is_one = is_python_environment(&root.join(folder));
            known.insert(folder.to_owned(), is_one);
            is_one
        }
    })
}

/// Runs git without what an outer git may have left in the environment.
pub(crate) fn git(folder: &Path, args: &[impl AsRef<OsStr>]) -> Result<Vec<u8>, String> {
    let answer = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(args)
        .env_remove("GIT_DIR")
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("git: {error}"))?;
    if answer.status.success() {
        Ok(answer.stdout)
    } else {
        Err(String::from_utf8_lossy(&answer.stderr).trim().to_owned())
    }
}

fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|facts| facts.is_dir())
}

/// Goes through all below a folder but what a `.gitignore` names, and what is never code: git's own folders, Python's
/// caches and environments.
fn walker(root: &Path, below: &Path) -> Walk {
    WalkBuilder::new(root.join(below))
        .hidden(false)
        .parents(false)
        .require_git(false)
        .follow_links(false)
        .filter_entry(|entry| {
            let name = entry.file_name();
            let depth = entry.depth();
            let folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            let never = name == ".git" || name == "__pycache__";
            let python = folder && is_python_environment(entry.path());
            depth == 0 || !(never || python)
        })
        .build()
}

/// All files and folders of [`walker`].
fn walk(root: &Path, below: &Path, listed: &mut Listed) -> Result<(), String> {
    for entry in walker(root, below) {
        let entry = entry.map_err(|error| error.to_string())?;
        let (Some(kind), Ok(path)) = (entry.file_type(), entry.path().strip_prefix(root)) else {
            continue;
        };
        if kind.is_dir() {
            listed.folders.push(path.to_owned());
        } else if kind.is_file() || kind.is_symlink() {
            listed.files.push(path.to_owned());
        }
    }
    Ok(())
}

/// Leaves out what isn't there (tracked and removed) and what is no file.
fn with_sizes(source: &CodeSource, paths: Vec<PathBuf>) -> Result<Vec<(PathBuf, u64)>, CodeError> {
    let mut files = Vec::new();
    for path in paths {
        match fs::symlink_metadata(source.root.join(&path)) {
            Ok(facts) if facts.is_file() => files.push((path, facts.len())),
            Ok(facts) if facts.is_symlink() => files.push((path, 0)),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                return Err(CodeError::List {
                    root: source.root.clone(),
                    why: format!("{}: {error}", path.display()),
                });
            }
        }
    }
    Ok(files)
}
