//! The files that say which packages an environment has, as lines that pip and uv read.

use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// What an environment is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Packages {
    /// A file of such lines as it is, beside which others may stand that it names.
    File(PathBuf),
    /// The lines themselves, with the file that they come from.
    Lines(String),
    /// `uv.lock`, which uv alone reads.
    UvLock(PathBuf),
}

/// Of a folder, the first of these: a lock says more than what it was made of, and a Pipfile goes
/// before requirements.
const NAMES: [&str; 5] = [
    "uv.lock",
    "Pipfile.lock",
    "Pipfile",
    "pyproject.toml",
    "requirements.txt",
];

/// The file that a path names: itself, or of a folder the first that is there.
#[must_use]
pub fn file_of(path: &Path) -> PathBuf {
    if !path.is_dir() {
        // A Pipfile's lock says which versions.
        let lock = path.with_file_name("Pipfile.lock");
        let is_pipfile = path.file_name().is_some_and(|name| name == "Pipfile");
        return if is_pipfile && lock.is_file() {
            lock
        } else {
            path.to_owned()
        };
    }
    let mut all = NAMES.iter().map(|name| path.join(name));
    all.find(|file| file.is_file())
        .unwrap_or_else(|| path.join("requirements.txt"))
}

/// Reads a file's packages; what can't be said in such lines is named.
///
/// # Errors
/// In words, what is wrong with the text.
pub fn packages(file: &Path, text: &str) -> Result<Packages, String> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    match &*name {
        "uv.lock" => Ok(Packages::UvLock(file.to_owned())),
        "Pipfile.lock" => pipfile_lock(text).map(Packages::Lines),
        "Pipfile" => pipfile(text).map(Packages::Lines),
        "pyproject.toml" => pyproject(text).map(Packages::Lines),
        _ => Ok(Packages::File(file.to_owned())),
    }
}

fn pipfile_lock(text: &str) -> Result<String, String> {
    let lock: serde_json::Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let packages = lock.get("default").and_then(|all| all.as_object());
    let packages = packages.ok_or("it has no \"default\" packages")?;
    let urls = lock
        .pointer("/_meta/sources")
        .and_then(|all| all.as_array());
    let urls = urls.into_iter().flatten();
    let mut lines = indexes(urls.filter_map(|source| source.get("url")?.as_str()));
    for (name, package) in packages {
        let text = |key: &str| package.get(key).and_then(|value| value.as_str());
        let version = text("version").ok_or_else(|| no_version(name))?;
        let extras = package.get("extras").and_then(|extras| extras.as_array());
        let extras = extras
            .into_iter()
            .flatten()
            .filter_map(|extra| extra.as_str());
        lines.push_str(&line(name, extras, version, text("markers")));
    }
    Ok(lines)
}

fn pipfile(text: &str) -> Result<String, String> {
    let file: Table = text.parse().map_err(|error| format!("{error}"))?;
    let sources = file.get("source").and_then(Value::as_array);
    let sources = sources.into_iter().flatten();
    let mut lines = indexes(sources.filter_map(|source| source.get("url")?.as_str()));
    let packages = file.get("packages").and_then(Value::as_table);
    for (name, package) in packages.into_iter().flatten() {
        let of = |key: &str| package.get(key).and_then(Value::as_str);
        let version = package.as_str().or_else(|| of("version"));
        let version = version.ok_or_else(|| no_version(name))?;
        let extras = package.get("extras").and_then(Value::as_array);
        let extras = extras.into_iter().flatten().filter_map(Value::as_str);
        lines.push_str(&line(name, extras, version, of("markers")));
    }
    Ok(lines)
}

fn pyproject(text: &str) -> Result<String, String> {
    let file: Table = text.parse().map_err(|error| format!("{error}"))?;
    let packages = file
        .get("project")
        .and_then(|project| project.get("dependencies"));
    let packages = packages.and_then(Value::as_array);
    let packages = packages.ok_or("it has no [project] dependencies")?;
    let lines = packages.iter().filter_map(Value::as_str);
    Ok(lines.map(|line| format!("{line}\n")).collect())
}

/// The first source takes the place of PyPI, and others stand beside it.
fn indexes<'a>(urls: impl Iterator<Item = &'a str>) -> String {
    let option = |(at, url)| match at {
        0 => format!("--index-url {url}\n"),
        _ => format!("--extra-index-url {url}\n"),
    };
    urls.enumerate().map(option).collect()
}

fn no_version(name: &str) -> String {
    format!("{name} is no package of a registry with a version")
}

fn line<'a>(
    name: &str,
    extras: impl Iterator<Item = &'a str>,
    version: &str,
    markers: Option<&str>,
) -> String {
    let extras: Vec<&str> = extras.collect();
    let extras = if extras.is_empty() {
        String::new()
    } else {
        format!("[{}]", extras.join(","))
    };
    let version = if version == "*" { "" } else { version };
    let markers = markers.map(|markers| format!(" ; {markers}"));
    format!("{name}{extras}{version}{}\n", markers.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    #[track_caller]
    fn check(name: &str, text: &str, want: Expect) {
        let shown = match packages(Path::new(name), text) {
            Ok(Packages::Lines(lines)) => lines,
            other => format!("{other:?}\n"),
        };
        want.assert_eq(&shown);
    }

    #[test]
    fn each_kind_of_file() {
        check(
            "/a/requirements.txt",
            "jax\n",
            expect![[r#"
            Ok(File("/a/requirements.txt"))
        "#]],
        );
        check(
            "/a/uv.lock",
            "",
            expect![[r#"
            Ok(UvLock("/a/uv.lock"))
        "#]],
        );
        check(
            "/a/pyproject.toml",
            "[project]\nname = \"x\"\ndependencies = [\"jax[cpu]>=0.4\", \"numpy\"]\n",
            expect![[r#"
                jax[cpu]>=0.4
                numpy
            "#]],
        );
        check(
            "/a/pyproject.toml",
            "[tool.poetry]\n",
            expect![[r#"
            Err("it has no [project] dependencies")
        "#]],
        );
        check(
            "/a/Pipfile",
            "[[source]]\nurl = \"https://pypi.org/simple\"\n[packages]\ntorch = \"*\"\n\
             wandb = \"==0.16\"\nuvicorn = { version = \">=0.2\", extras = [\"standard\"] }\n",
            expect![[r#"
                --index-url https://pypi.org/simple
                torch
                uvicorn[standard]>=0.2
                wandb==0.16
            "#]],
        );
        check(
            "/a/Pipfile",
            "[packages]\nx = { git = \"https://h/x\" }\n",
            expect![[r#"
                Err("x is no package of a registry with a version")
            "#]],
        );
        check(
            "/a/Pipfile.lock",
            r#"{"_meta": {"sources": [{"url": "https://a/simple"}, {"url": "https://b"}]},
                "default": {"numpy": {"version": "==1.26", "markers": "python_version >= '3.9'"}}}"#,
            expect![[r#"
                --index-url https://a/simple
                --extra-index-url https://b
                numpy==1.26 ; python_version >= '3.9'
            "#]],
        );
        check(
            "/a/Pipfile.lock",
            "{",
            expect![[r#"
            Err("EOF while parsing an object at line 1 column 1")
        "#]],
        );
    }

    #[test]
    fn a_pipfile_goes_before_requirements() {
        let folder = tempfile::tempdir().unwrap();
        let check = |want: &str| {
            let found = file_of(folder.path());
            assert_eq!(found.strip_prefix(folder.path()).unwrap(), Path::new(want));
        };
        check("requirements.txt");
        for name in [
            "requirements.txt",
            "pyproject.toml",
            "Pipfile",
            "Pipfile.lock",
            "uv.lock",
        ] {
            std::fs::write(folder.path().join(name), b"").unwrap();
            check(name);
        }
        let pipfile = folder.path().join("Pipfile");
        assert_eq!(file_of(&pipfile), folder.path().join("Pipfile.lock"));
    }
}
