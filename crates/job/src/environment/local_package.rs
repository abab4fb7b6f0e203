//! A package of the requirements that lies in a file or folder here, and not in a registry.

use crate::local_files;
use std::path::{Path, PathBuf};

/// One.
#[derive(Debug, PartialEq, Eq)]
pub struct LocalPackage {
    /// As the requirements have it.
    path: PathBuf,
    /// Whether it is installed in place, with `-e`.
    is_in_place: bool,
}

/// What an environment has of a package that is installed in place: all else is read where it lies.
const OF_THE_INSTALLATION: [&str; 5] = [
    "pyproject.toml",
    "setup.py",
    "setup.cfg",
    "requirements.txt",
    "MANIFEST.in",
];

impl LocalPackage {
    /// Of a line of requirements; `None`: it names none.
    pub fn of_line(line: &str) -> Option<LocalPackage> {
        let line = line.trim();
        let line = line.split(" #").next()?.split(" ;").next()?.trim();
        if line.starts_with('#') {
            return None;
        }
        let in_place = ["--editable", "-e"]
            .iter()
            .find_map(|option| line.strip_prefix(option));
        let name = match in_place {
            Some(rest) => rest.trim_start_matches(['=', ' ', '\t']),
            None => line,
        };
        // `NAME @ file:///PATH`
        let named = name.split_once(" @ ").map_or(name, |(_, address)| address);
        let path = match named.trim().strip_prefix("file:") {
            Some(address) => address.strip_prefix("//").unwrap_or(address),
            None => named.trim(),
        };
        let path = path.split(['[', '#']).next()?;
        let is_path = path.starts_with('.') || path.contains('/') || path.ends_with(".whl");
        if path.starts_with('-') || path.contains("://") || !is_path {
            return None;
        }
        Some(LocalPackage {
            path: PathBuf::from(path),
            is_in_place: in_place.is_some(),
        })
    }

    /// Those of a `uv.lock`, but for the project itself, which is not installed.
    pub fn of_lock(text: &str) -> Vec<LocalPackage> {
        // One that can't be read is refused by uv.
        let lock: toml::Table = text.parse().unwrap_or_default();
        let packages = lock.get("package").and_then(|all| all.as_array());
        let of = |package: &toml::Value| {
            let source = package.get("source")?;
            let path = |key: &str| source.get(key).and_then(|path| path.as_str());
            let (path, is_in_place) = match path("editable") {
                Some(path) => (path, true),
                None => (path("directory").or_else(|| path("path"))?, false),
            };
            (path != ".").then(|| LocalPackage {
                path: PathBuf::from(path),
                is_in_place,
            })
        };
        packages.into_iter().flatten().filter_map(of).collect()
    }

    /// Adds to a key what the environment has of it.
    pub fn add(&self, hasher: &mut blake3::Hasher, beside: &Path) {
        let path = beside.join(&self.path);
        if self.is_in_place {
            for name in OF_THE_INSTALLATION {
                local_files::add(hasher, &path.join(name), &|_, _| false);
            }
        } else {
            local_files::add(hasher, &path, &|path, _| path.to_str().is_some_and(is_made));
        }
    }
}

/// Whether the making of a package leaves it in its folder.
fn is_made(name: &str) -> bool {
    ["build", "dist", ".venv", ".eggs"].contains(&name) || name.ends_with(".egg-info")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_here_of_a_lock() {
        let text = "version = 1\n\
            [[package]]\nname = \"app\"\nsource = { editable = \".\" }\n\
            [[package]]\nname = \"own\"\nsource = { editable = \"packages/own\" }\n\
            [[package]]\nname = \"kit\"\nsource = { directory = \"../kit\" }\n\
            [[package]]\nname = \"whl\"\nsource = { path = \"w/whl-1.whl\" }\n\
            [[package]]\nname = \"jax\"\nsource = { registry = \"https://h/simple\" }\n";
        let found = LocalPackage::of_lock(text).into_iter();
        let found: Vec<_> = found.map(|it| (it.path, it.is_in_place)).collect();
        let want = [
            ("packages/own", true),
            ("../kit", false),
            ("w/whl-1.whl", false),
        ];
        assert_eq!(
            found,
            want.map(|(path, in_place)| (PathBuf::from(path), in_place))
        );
        assert_eq!(LocalPackage::of_lock("{"), []);
    }

    #[test]
    fn lines_that_name_packages_here() {
        let check = |line: &str, want: Option<(&str, bool)>| {
            let found = LocalPackage::of_line(line);
            let want = want.map(|(path, is_in_place)| LocalPackage {
                path: PathBuf::from(path),
                is_in_place,
            });
            assert_eq!(found, want, "{line}");
        };
        check("./pkg", Some(("./pkg", false)));
        check("-e .", Some((".", true)));
        check("--editable=../own[gpu]  # ours", Some(("../own", true)));
        check(".[dev] ; python_version > '3'", Some((".", false)));
        check("wheels/a-1.whl", Some(("wheels/a-1.whl", false)));
        check("own @ file:///r/own", Some(("/r/own", false)));
        check("-e git+https://h/own#egg=own", None);
        check("jax[cpu]>=0.4", None);
        check("torch @ https://h/torch.whl", None);
        check("-r base/requirements.txt", None);
        check("--find-links ./wheels", None);
        check("# ./pkg", None);
    }
}
