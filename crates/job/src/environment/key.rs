//! What makes two environments the same.

use super::local_package::LocalPackage;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The name of the environment that these requirements give under this interpreter: 16 digits.
///
/// Files that the requirements name with `-r` or `-c` count as part of them, and so do packages that lie in files or
/// folders here. `interpreter` is what the interpreter says of itself: path, version, machine.
///
/// # Errors
/// The file, or one that it names, can't be read.
pub fn key(requirements: &Path, interpreter: &str) -> Result<String, (PathBuf, io::Error)> {
    hashed(requirements, interpreter, true)
}

/// The same of the texts alone, which no installer changes: many build a package in its own folder.
///
/// # Errors
/// As of [`key`].
pub fn key_of_texts(requirements: &Path) -> Result<String, (PathBuf, io::Error)> {
    hashed(requirements, "", false)
}

fn hashed(
    requirements: &Path,
    interpreter: &str,
    with_packages: bool,
) -> Result<String, (PathBuf, io::Error)> {
    let mut hasher = blake3::Hasher::new();
    hasher.update(interpreter.as_bytes());
    let mut seen = BTreeSet::new();
    let mut next = vec![requirements.to_owned()];
    // As installers take it, also in a file that another one names.
    let beside = requirements.parent().unwrap_or(Path::new("."));
    while let Some(path) = next.pop() {
        if !seen.insert(path.clone()) {
            continue;
        }
        let text = fs::read_to_string(&path).map_err(|error| (path.clone(), error))?;
        hasher.update(b"\0");
        hasher.update(text.as_bytes());
        let is_lock = path.file_name().is_some_and(|name| name == "uv.lock");
        let packages = if is_lock {
            LocalPackage::of_lock(&text)
        } else {
            text.lines().filter_map(LocalPackage::of_line).collect()
        };
        for package in packages.into_iter().filter(|_| with_packages) {
            package.add(&mut hasher, beside);
        }
        let folder = path.parent().unwrap_or(Path::new("."));
        next.extend(
            text.lines()
                .filter_map(named_file)
                .map(|named| folder.join(named)),
        );
    }
    Ok(hasher.finalize().to_hex()[..16].to_owned())
}

/// The file of a line `-r FILE`, `-c FILE` or their long forms; addresses are not files.
fn named_file(line: &str) -> Option<&str> {
    let line = line.split(" #").next()?.trim();
    let rest = ["--requirement", "--constraint", "-r", "-c"]
        .iter()
        .find_map(|option| line.strip_prefix(option))?;
    let name = rest.trim_start_matches(['=', ' ', '\t']);
    (!name.is_empty() && !name.contains("://")).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, want: Option<&str>) {
        assert_eq!(named_file(line), want, "{line}");
    }

    #[test]
    fn lines_that_name_files() {
        check("-r base.txt", Some("base.txt"));
        check("--requirement=base.txt  # shared", Some("base.txt"));
        check("-cconstraints.txt", Some("constraints.txt"));
        check("-r https://example.org/r.txt", None);
        check("requests", None);
        check("# -r base.txt", None);
    }

    #[test]
    fn texts_stay_the_same_while_a_package_is_built_in_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("requirements.txt");
        fs::write(&file, "./pkg\n").unwrap();
        fs::create_dir(folder.path().join("pkg")).unwrap();
        fs::write(folder.path().join("pkg/pyproject.toml"), "[project]\n").unwrap();
        let both = || (key_of_texts(&file).unwrap(), key(&file, "").unwrap());
        let before = both();
        fs::write(folder.path().join("pkg/_version.py"), "1\n").unwrap();
        let after = both();
        assert_eq!(before.0, after.0);
        assert_ne!(before.1, after.1);
        fs::write(&file, "./pkg\njax\n").unwrap();
        assert_ne!(key_of_texts(&file).unwrap(), after.0);
    }

    #[test]
    fn a_package_in_a_folder_decides() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("requirements.txt");
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("requirements.txt", "jax\n./pkg\n-e ./own\n");
        for package in ["pkg", "own"] {
            write(&format!("{package}/pyproject.toml"), "[project]\n");
            write(&format!("{package}/src/code.py"), "1\n");
        }
        let mut last = key(&file, "3.11").unwrap();
        let mut check = |changes: bool| {
            let now = key(&file, "3.11").unwrap();
            assert_eq!(now != last, changes);
            last = now;
        };
        write("pkg/src/code.py", "2\n");
        check(true);
        // Installed in place: what is imported is the folder's.
        write("own/src/code.py", "2\n");
        check(false);
        write("own/pyproject.toml", "[project]\nname = \"own\"\n");
        check(true);
        // What its making leaves.
        write("pkg/pkg.egg-info/PKG-INFO", "");
        write("pkg/build/lib/code.py", "2\n");
        check(false);
    }

    #[test]
    fn a_package_in_a_folder_of_a_lock_decides() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("uv.lock");
        let code = folder.path().join("kit/code.py");
        let lock = "[[package]]\nname = \"kit\"\nsource = { directory = \"kit\" }\n";
        fs::write(&file, lock).unwrap();
        fs::create_dir(folder.path().join("kit")).unwrap();
        fs::write(&code, "1\n").unwrap();
        let before = key(&file, "3.11").unwrap();
        fs::write(&code, "2\n").unwrap();
        assert_ne!(key(&file, "3.11").unwrap(), before);
    }

    #[test]
    fn content_and_interpreter_decide() {
        let folder = tempfile::tempdir().unwrap();
        let (one, two) = (folder.path().join("one.txt"), folder.path().join("two.txt"));
        fs::write(&one, "jax\n-r base.txt\n").unwrap();
        fs::write(&two, "jax\n-r base.txt\n").unwrap();
        assert!(key(&one, "3.11").is_err(), "base.txt is missing");
        fs::write(folder.path().join("base.txt"), "numpy\n-r one.txt\n").unwrap();
        let before = key(&one, "3.11").unwrap();
        assert_eq!(before.len(), 16);
        assert_ne!(before, key(&one, "3.12").unwrap());
        fs::write(folder.path().join("base.txt"), "numpy==2\n-r one.txt\n").unwrap();
        assert_ne!(before, key(&one, "3.11").unwrap());
    }
}
