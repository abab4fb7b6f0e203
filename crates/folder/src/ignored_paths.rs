//! What a run's copy of the code is without, because git ignores it.

use crate::code_source::{CodeSource, git};
use ignore::gitignore::Gitignore;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

impl CodeSource {
    /// Those of these absolute paths that git ignores; without git, those that the root's
    /// `.gitignore` names. Paths outside the root are none of its.
    #[must_use]
    pub fn ignored(&self, paths: &[PathBuf]) -> Vec<PathBuf> {
        let below = |path: &PathBuf| -> Option<(PathBuf, PathBuf)> {
            let rest = path.strip_prefix(self.root()).ok()?;
            (!rest.as_os_str().is_empty()).then(|| (path.clone(), rest.to_owned()))
        };
        let mut paths: Vec<(PathBuf, PathBuf)> = paths.iter().filter_map(below).collect();
        if paths.is_empty() {
            return Vec::new();
        }
        if self.git {
            let relative = paths.iter().map(|(_, relative)| relative.as_path());
            let listed = listed(self.root(), relative);
            paths.retain(|(_, relative)| {
                let name = relative.as_os_str().as_bytes();
                listed.split(|byte| *byte == b'\n').any(|line| line == name)
            });
        } else {
            let (rules, _) = Gitignore::new(self.root().join(".gitignore"));
            paths.retain(|(path, relative)| {
                let found = rules.matched_path_or_any_parents(relative, path.is_dir());
                found.is_ignore()
            });
        }
        paths.into_iter().map(|(path, _)| path).collect()
    }
}

/// Those that git ignores, a line each. It fails where there is none.
fn listed<'a>(root: &Path, paths: impl Iterator<Item = &'a Path>) -> Vec<u8> {
    let options = ["-c", "core.quotePath=false", "check-ignore", "--"];
    let options = options.into_iter().map(OsString::from);
    let args: Vec<OsString> = options.chain(paths.map(OsString::from)).collect();
    git(root, &args).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use crate::find_source;
    use std::fs;
    use std::process::Command;

    #[track_caller]
    fn check(with_git: bool) {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("data/deep")).unwrap();
        fs::create_dir_all(root.join("src")).unwrap();
        fs::write(root.join(".gitignore"), "data/\n*.bin\n").unwrap();
        fs::write(root.join("src/é.bin"), "").unwrap();
        if with_git {
            let init = Command::new("git")
                .args(["init", "-q"])
                .arg(&root)
                .status()
                .unwrap();
            assert!(init.success());
        }
        let names = ["data", "data/deep", "src", "src/é.bin", "src/none.py"];
        let paths: Vec<_> = names.iter().map(|name| root.join(name)).collect();
        let ignored = find_source(&root).ignored(&paths);
        let want = ["data", "data/deep", "src/é.bin"].map(|name| root.join(name));
        assert_eq!(ignored, want, "with git: {with_git}");
        assert!(find_source(&root).ignored(&["/tmp".into()]).is_empty());
    }

    #[test]
    fn what_git_ignores_with_and_without_git() {
        check(true);
        check(false);
    }
}
