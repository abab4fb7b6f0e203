//! The copy of a run's code as it was at submission.

use crate::code_source::{Code, CodeError, CodeSource, git};
use crate::{CodeOrigin, RunFolder};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

/// Where the copy stands until it is whole.
pub(crate) const INCOMING: &str = ".code.incoming";

/// A diff that is longer is cut: `code/` has the files themselves.
const DIFF_LIMIT: usize = 1_000_000;

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

fn copy_files(source: &CodeSource, code: &Code, beside: &Path) -> Result<(), CodeError> {
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
    use crate::code_source::{CODE_LIMIT, find_source};

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
                if path.is_dir() && !path.is_symlink() {
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
        let code = source.within_limit(&base.join("scratch"), &[]).unwrap();
        let never = |path: &Path| path.starts_with("env") || path.starts_with("scratch");
        assert!(!code.files.iter().any(|(path, _)| never(path)));
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
