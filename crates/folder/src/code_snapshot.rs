//! The copy of a run's code as it was at submission.

use crate::{CodeOrigin, RunFolder};
use ignore::{Walk, WalkBuilder};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};
use train::say_bytes;

/// The most that is copied.
pub const CODE_LIMIT: u64 = 200_000_000;

/// Where the copy stands until it is whole.
pub(crate) const INCOMING: &str = ".code.incoming";

/// A diff that is longer is cut: `code/` has the files themselves.
const DIFF_LIMIT: usize = 1_000_000;

/// Where a run's code lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeSource {
    /// The git root, or the run file's folder.
    root: PathBuf,
    /// Where the run file stands below it.
    subfolder: PathBuf,
    /// Whether git knows the root.
    git: bool,
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

    /// Whether git knows the root.
    pub(crate) fn is_git(&self) -> bool {
        self.git
    }

    /// Whether it may be copied, as [`copy_code`] would.
    ///
    /// # Errors
    /// It can't be listed, or is too large.
    pub fn check(&self, scratch: &Path, left_out: &[PathBuf]) -> Result<(), CodeError> {
        self.within_limit(scratch, left_out).map(drop)
    }

    /// What is copied: its files with their sizes, its folders, and how many bytes that is.
    fn within_limit(&self, scratch: &Path, left_out: &[PathBuf]) -> Result<Sized, CodeError> {
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
        Ok(Sized {
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

/// What is copied.
struct Sized {
    files: Vec<(PathBuf, u64)>,
    folders: Vec<PathBuf>,
    bytes: u64,
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

/// Copies the code to `code/`, which is there whole or not at all. Symbolic links stay links (one
/// that leaves the root names its target in full), the right to execute stays. Nothing below
/// `scratch` is copied.
/// `left_out` stays where it is, files and all of folders: what holds secrets, and images of containers.
///
/// # Errors
/// It can't be listed or copied, or is too large.
pub fn copy_code(
    source: &CodeSource,
    folder: &RunFolder,
    scratch: &Path,
    left_out: &[PathBuf],
) -> Result<CodeOrigin, CodeError> {
    let code = source.within_limit(scratch, left_out)?;
    let target = folder.code();
    let beside = target.with_file_name(INCOMING);
    let copied = copy_files(source, &code, &beside)
        .and_then(|()| fs::rename(&beside, &target).map_err(error(&beside, &target)));
    if copied.is_err() {
        // Half a copy is of no use, and its room is needed.
        let _ = fs::remove_dir_all(&beside);
    }
    copied?;
    let (commit, diff) = commit_and_diff(source);
    Ok(CodeOrigin {
        root: source.root.clone(),
        subfolder: source.subfolder.clone(),
        commit,
        diff,
        files: code.files.len() as u64,
        bytes: code.bytes,
    })
}

fn error(from: &Path, to: &Path) -> impl FnOnce(io::Error) -> CodeError {
    let (from, to) = (from.to_owned(), to.to_owned());
    move |source| CodeError::Copy { from, to, source }
}

fn copy_files(source: &CodeSource, code: &Sized, beside: &Path) -> Result<(), CodeError> {
    // The run file's folder is there even when all of its files are ignored.
    let working = beside.join(&source.subfolder);
    let make = |path: &Path| crate::run_folder::own_folders(path, 0o700);
    make(&working).map_err(error(&source.root, &working))?;
    for folder in &code.folders {
        let to = beside.join(folder);
        make(&to).map_err(error(&source.root.join(folder), &to))?;
    }
    let mut made = PathBuf::new();
    for (path, _) in &code.files {
        let (from, to) = (source.root.join(path), beside.join(path));
        if let Some(parent) = to.parent().filter(|parent| *parent != made) {
            make(parent).map_err(error(&from, parent))?;
            made = parent.to_owned();
        }
        copy(&from, &to, path).map_err(error(&from, &to))?;
    }
    let files = code.files.iter().map(|(path, _)| path.clone());
    let folders = code.folders.iter().chain([&source.subfolder]);
    let in_folders = folders.map(|folder| folder.join("file"));
    let paths: Vec<PathBuf> = files.chain(in_folders).collect();
    for folder in folders_of(paths.iter().map(PathBuf::as_path)) {
        let (from, to) = (source.root.join(&folder), beside.join(&folder));
        copy_mode(&from, &to).map_err(error(&from, &to))?;
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

/// The folders that these files are in, the deepest first.
fn folders_of<'a>(files: impl Iterator<Item = &'a Path>) -> Vec<PathBuf> {
    let folders: BTreeSet<PathBuf> = files
        .flat_map(|file| file.ancestors().skip(1))
        .map(Path::to_owned)
        .collect();
    folders.into_iter().rev().collect()
}

/// Gives a copy the mode of what it was made from, for others to read at most: a job runs it.
fn copy_mode(from: &Path, to: &Path) -> io::Result<()> {
    let mode = fs::metadata(from)?.permissions().mode();
    let owner = fs::metadata(to)?.permissions().mode() & 0o700;
    fs::set_permissions(to, fs::Permissions::from_mode(mode & 0o755 | owner))
}

fn copy(from: &Path, to: &Path, path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(from)?.is_symlink() {
        let mut target = fs::read_link(from)?;
        if target.is_relative() && leaves(path, &target) {
            target = from.parent().unwrap_or(Path::new("/")).join(target);
        }
        return std::os::unix::fs::symlink(target, to);
    }
    sys::copy::file(from, to)?;
    copy_mode(from, to)
}

/// Whether a link at `path` with this relative target points out of the root.
fn leaves(path: &Path, target: &Path) -> bool {
    let mut depth = path.components().count() as i64 - 1;
    for part in target.components() {
        match part {
            Component::ParentDir => depth -= 1,
            Component::Normal(_) => depth += 1,
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
        if depth < 0 {
            return true;
        }
    }
    false
}

fn commit_and_diff(source: &CodeSource) -> (Option<String>, Option<String>) {
    if !source.git {
        return (None, None);
    }
    let text = |args: &[&str]| -> Option<String> {
        let answer = git(&source.root, args).ok()?;
        Some(String::from_utf8_lossy(&answer).into_owned())
    };
    let commit = text(&["rev-parse", "HEAD"]).map(|commit| commit.trim().to_owned());
    let diff = text(&["diff", "--no-ext-diff", "--no-color", "HEAD"]);
    let diff = diff.filter(|diff| !diff.is_empty()).map(|mut diff| {
        if diff.len() > DIFF_LIMIT {
            let end = (0..=DIFF_LIMIT).rev().find(|at| diff.is_char_boundary(*at));
            diff.truncate(end.unwrap_or(0));
            diff.push_str("\n(cut here)\n");
        }
        diff
    });
    (commit, diff)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A project with a bit of everything, and a scratch folder inside it.
    fn project(with_git: bool) -> (tempfile::TempDir, PathBuf) {
        let root = tempfile::tempdir().unwrap();
        let base = root.path().canonicalize().unwrap().join("shop");
        fs::create_dir_all(base.join("run/pkg/__pycache__")).unwrap();
        fs::create_dir_all(base.join("scratch/old")).unwrap();
        fs::create_dir_all(base.join("env/bin")).unwrap();
        for (path, text) in [
            ("run/yard.toml", "x"),
            ("run/pkg/a b.py", "x"),
            ("run/pkg/__pycache__/a.pyc", "x"),
            ("train.sh", "#!/bin/sh"),
            (".gitignore", "*.ckpt\n__pycache__/\nenv/\n"),
            ("big.ckpt", "weights"),
            ("scratch/old/code.py", "x"),
            ("env/pyvenv.cfg", "x"),
            ("env/bin/python", "x"),
        ] {
            fs::write(base.join(path), text).unwrap();
        }
        fs::set_permissions(base.join("train.sh"), fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::symlink("../train.sh", base.join("run/start")).unwrap();
        std::os::unix::fs::symlink("../../datasets", base.join("run/data")).unwrap();
        if with_git {
            git(&base, &["init", "-q"]).unwrap();
            fs::write(base.join("removed.py"), "x").unwrap();
            git(&base, &["add", "removed.py", "train.sh"]).unwrap();
            fs::remove_file(base.join("removed.py")).unwrap();
        }
        (root, base)
    }

    fn copied(base: &Path) -> (Vec<String>, CodeOrigin, RunFolder) {
        let scratch = base.join("scratch");
        let source = find_source(&base.join("run"));
        let folder = RunFolder::create(&scratch, &source.project(), "x").unwrap();
        let origin = copy_code(&source, &folder, &scratch, &[]).unwrap();
        let mut names = Vec::new();
        let mut folders = vec![folder.code()];
        while let Some(next) = folders.pop() {
            for entry in fs::read_dir(next).unwrap() {
                let path = entry.unwrap().path();
                if is_folder(&path) {
                    folders.push(path);
                } else {
                    let name = path.strip_prefix(folder.code()).unwrap();
                    names.push(name.display().to_string());
                }
            }
        }
        names.sort();
        (names, origin, folder)
    }

    #[test]
    fn git_says_what_is_code() {
        let (_root, base) = project(true);
        let (names, origin, folder) = copied(&base);
        assert_eq!(
            names,
            [
                ".gitignore",
                "run/data",
                "run/pkg/a b.py",
                "run/start",
                "run/yard.toml",
                "train.sh"
            ]
        );
        assert_eq!(
            (origin.root, origin.subfolder),
            (base.clone(), PathBuf::from("run"))
        );
        assert_eq!(folder.path().parent().unwrap().file_name().unwrap(), "shop");
        let mode = fs::metadata(folder.code().join("train.sh"))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o111, 0o111);
        let link = |name: &str| fs::read_link(folder.code().join(name)).unwrap();
        assert_eq!(link("run/start"), Path::new("../train.sh"));
        assert_eq!(link("run/data"), base.join("run/../../datasets"));
        assert!(!folder.code().with_file_name(".code.incoming").exists());
    }

    #[test]
    fn without_git_it_is_the_run_file_s_folder() {
        let (root, base) = project(false);
        // Should the temporary folder itself lie in a repository, this says nothing.
        if git(root.path(), &["rev-parse"]).is_ok() {
            return;
        }
        let (names, origin, _) = copied(&base);
        assert_eq!(names, ["data", "pkg/a b.py", "start", "yard.toml"]);
        assert_eq!((origin.commit, origin.subfolder), (None, PathBuf::new()));
        let source = CodeSource {
            root: base.clone(),
            subfolder: PathBuf::new(),
            git: false,
        };
        let files = source.list(&base.join("scratch")).unwrap();
        assert!(
            !files
                .files
                .iter()
                .any(|path| path.starts_with("env") || path.starts_with("scratch"))
        );
    }

    /// A program that writes into `outputs/` finds it, also where its files are ignored.
    #[test]
    fn empty_folders_are_copied_and_environments_are_not() {
        for with_git in [true, false] {
            let (_root, base) = project(with_git);
            for path in [
                "outputs/deep",
                "weights",
                "miniconda/conda-meta",
                ".venv/bin",
                "env/x",
            ] {
                fs::create_dir_all(base.join("run").join(path)).unwrap();
            }
            for path in [
                "weights/a.ckpt",
                "miniconda/python",
                ".venv/pyvenv.cfg",
                ".venv/bin/x",
            ] {
                fs::write(base.join("run").join(path), "x").unwrap();
            }
            if !with_git {
                fs::copy(base.join(".gitignore"), base.join("run/.gitignore")).unwrap();
            }
            let (names, origin, folder) = copied(&base);
            let run = folder.code().join(origin.subfolder);
            let there = |path: &str| run.join(path).is_dir();
            assert!(there("outputs/deep") && there("weights"), "{names:?}");
            for path in ["miniconda", ".venv", "env", "pkg/__pycache__"] {
                assert!(!there(path), "{path} with git: {with_git}");
            }
            assert!(
                !names.iter().any(|name| name.contains(".ckpt")),
                "{names:?}"
            );
        }
    }

    #[test]
    fn folders_keep_their_modes_and_no_other_user_writes_in_them() {
        let (_root, base) = project(false);
        let mode = |path: PathBuf, mode: u32| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        mode(base.join("run"), 0o750);
        mode(base.join("run/pkg"), 0o700);
        mode(base.join("run/pkg/a b.py"), 0o666);
        let folder = RunFolder::create(&base.join("scratch"), "shop", "x").unwrap();
        let source = CodeSource {
            root: base.clone(),
            subfolder: PathBuf::from("run"),
            git: false,
        };
        mode(base.clone(), 0o777);
        copy_code(&source, &folder, &base.join("scratch"), &[]).unwrap();
        let copied = |path: &str| {
            let facts = fs::metadata(folder.code().join(path)).unwrap();
            facts.permissions().mode() & 0o777
        };
        let paths = ["", "run", "run/pkg", "run/pkg/a b.py"];
        assert_eq!(paths.map(copied), [0o755, 0o750, 0o700, 0o644]);
    }

    #[test]
    fn too_much_is_refused_by_name() {
        let (_root, base) = project(false);
        let large = fs::File::create(base.join("run/weights.bin")).unwrap();
        large.set_len(CODE_LIMIT + 5_000_000).unwrap();
        let scratch = base.join("scratch");
        let folder = RunFolder::create(&scratch, "shop", "x").unwrap();
        let source = find_source(&base.join("run"));
        let error = copy_code(&source, &folder, &scratch, &[])
            .unwrap_err()
            .to_string();
        assert!(error.contains("205 MB and at most 200 MB"), "{error}");
        assert!(error.contains("weights.bin (205 MB)"), "{error}");
        assert!(!folder.code().exists());
    }
}
