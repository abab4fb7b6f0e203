//! Which Python the packages of an environment want: `python_version` of a Pipfile, `requires-python` of a
//! `pyproject.toml` or `uv.lock`, and `.python-version` beside any of them.

use std::fmt;
use std::fs;
use std::path::Path;
use toml::{Table, Value};

/// A Python's version: as many of its numbers as are named.
type Version = Vec<u32>;

/// What is wanted of a Python, and where that stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    /// As it is written.
    text: String,
    /// The file's name.
    file: String,
    clauses: Vec<Clause>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Clause {
    operator: Operator,
    version: Version,
    /// Whether it ends with `.*`.
    is_open: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Is,
    IsNot,
    AtLeast,
    AtMost,
    Above,
    Below,
    Compatible,
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = self.parts.iter();
        let parts: Vec<String> = parts
            .map(|Part { text, file, .. }| format!("{text} ({file})"))
            .collect();
        f.write_str(&parts.join(", "))
    }
}

impl Wanted {
    /// By a file of packages and what stands beside it. What names no version, as the environments of pyenv do, wants
    /// none.
    ///
    /// # Errors
    /// In words, what can't be understood.
    pub fn by(file: &Path) -> Result<Wanted, String> {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        // What can't be read is said where its packages are.
        let text = fs::read_to_string(file).unwrap_or_default();
        let own = match &*name {
            "Pipfile" => of_pipfile(&text),
            "Pipfile.lock" => of_lock(&text),
            "pyproject.toml" => of_table(&text, &["project", "requires-python"]),
            "uv.lock" => of_table(&text, &["requires-python"]),
            _ => None,
        };
        let beside = fs::read_to_string(file.with_file_name(".python-version"));
        let beside = beside.ok().and_then(|text| of_python_version(&text));
        let beside = beside.map(|text| (text, ".python-version".into()));
        let all = own.map(|text| (text, name)).into_iter().chain(beside);
        let parts = all.map(|(text, file)| {
            let clauses = clauses(&text);
            let clauses = clauses.ok_or_else(|| {
                format!("{file} wants Python {text:?}, which names no version that is known")
            })?;
            let file = file.into_owned();
            Ok(Part {
                text,
                file,
                clauses,
            })
        });
        Ok(Wanted {
            parts: parts.collect::<Result<_, String>>()?,
        })
    }

    /// Whether a Python of this version is that; of a text that is no version it is not known.
    pub fn takes(&self, version: &str) -> bool {
        let mut clauses = self.parts.iter().flat_map(|part| &part.clauses);
        match numbers(version.split('+').next().unwrap_or(version)) {
            Some(version) => clauses.all(|clause| clause.takes(&version)),
            None => self.parts.is_empty(),
        }
    }

    /// Names of programs that may be such a Python, the newest first.
    pub fn programs(&self) -> impl Iterator<Item = String> {
        const NEWEST: u32 = 20;
        let minors = (0..=NEWEST).rev();
        let wanted = minors.filter(|minor| self.may_be(*minor));
        wanted.map(|minor| format!("python3.{minor}"))
    }

    /// Whether some Python 3 of this minor version is that.
    fn may_be(&self, minor: u32) -> bool {
        let clauses = || self.parts.iter().flat_map(|part| &part.clauses);
        let named = clauses()
            .filter_map(|clause| clause.version.get(2))
            .copied();
        let micros = [0, u32::MAX - 1].into_iter().chain(named.clone());
        let mut micros = micros.chain(named.map(|micro| micro.saturating_add(1)));
        micros.any(|micro| clauses().all(|clause| clause.takes(&[3, minor, micro])))
    }

    /// As uv is asked for one.
    pub fn request(&self) -> Option<String> {
        let all = self.parts.iter().flat_map(|part| &part.clauses);
        let all: Vec<String> = all.map(ToString::to_string).collect();
        (!all.is_empty()).then(|| all.join(","))
    }
}

impl fmt::Display for Clause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let operator = match self.operator {
            Operator::Is => "==",
            Operator::IsNot => "!=",
            Operator::AtLeast => ">=",
            Operator::AtMost => "<=",
            Operator::Above => ">",
            Operator::Below => "<",
            Operator::Compatible => "~=",
        };
        let version: Vec<String> = self.version.iter().map(ToString::to_string).collect();
        let open = if self.is_open { ".*" } else { "" };
        write!(f, "{operator}{}{open}", version.join("."))
    }
}

impl Clause {
    fn takes(&self, version: &[u32]) -> bool {
        let part = |version: &[u32], at: usize| version.get(at).copied().unwrap_or(0);
        let longest = version.len().max(self.version.len());
        let order = (0..longest)
            .map(|at| part(version, at).cmp(&part(&self.version, at)))
            .find(|order| order.is_ne());
        let begins = |wanted: &[u32]| (0..wanted.len()).all(|at| part(version, at) == wanted[at]);
        let is_it = if self.is_open {
            begins(&self.version)
        } else {
            order.is_none()
        };
        match self.operator {
            Operator::Is => is_it,
            Operator::IsNot => !is_it,
            Operator::AtLeast => order.is_none_or(std::cmp::Ordering::is_gt),
            Operator::AtMost => order.is_none_or(std::cmp::Ordering::is_lt),
            Operator::Above => order.is_some_and(std::cmp::Ordering::is_gt),
            Operator::Below => order.is_some_and(std::cmp::Ordering::is_lt),
            Operator::Compatible => {
                let above = self.version.len().saturating_sub(1);
                order.is_none_or(std::cmp::Ordering::is_gt) && begins(&self.version[..above])
            }
        }
    }
}

/// The clauses of `>=3.9, <3.13`; of a version alone those that begin with it. None where it is nothing of the kind.
fn clauses(text: &str) -> Option<Vec<Clause>> {
    const OPERATORS: [(&str, Operator); 8] = [
        ("===", Operator::Is),
        ("==", Operator::Is),
        ("!=", Operator::IsNot),
        (">=", Operator::AtLeast),
        ("<=", Operator::AtMost),
        ("~=", Operator::Compatible),
        (">", Operator::Above),
        ("<", Operator::Below),
    ];
    let clause = |text: &str| {
        let named = OPERATORS
            .iter()
            .find_map(|(word, operator)| Some((*operator, text.strip_prefix(word)?)));
        let (operator, version, is_prefix) = match named {
            Some((operator, version)) => (operator, version, false),
            None => (Operator::Is, text, true),
        };
        let closed = version.trim().strip_suffix(".*");
        Some(Clause {
            operator,
            version: numbers(closed.unwrap_or(version.trim()))?,
            is_open: is_prefix || closed.is_some(),
        })
    };
    let all = text.split(',').map(str::trim);
    // A Pipfile's `*` is any version.
    all.filter(|one| !one.is_empty() && *one != "*")
        .map(clause)
        .collect()
}

/// The numbers of `3.11.2`, and of `3.13.0rc1` those of what it leads to.
fn numbers(text: &str) -> Option<Version> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let parts = text[..end.unwrap_or(text.len())].split('.');
    parts.map(|part| part.parse().ok()).collect()
}

fn of_table(text: &str, path: &[&str]) -> Option<String> {
    let table: Table = text.parse().ok()?;
    let mut value = &Value::Table(table);
    for key in path {
        value = value.get(key)?;
    }
    Some(value.as_str()?.to_owned())
}

fn of_pipfile(text: &str) -> Option<String> {
    let named = |key| of_table(text, &["requires", key]);
    named("python_full_version").or_else(|| named("python_version"))
}

fn of_lock(text: &str) -> Option<String> {
    let lock: serde_json::Value = serde_json::from_str(text).ok()?;
    let requires = lock.pointer("/_meta/requires")?;
    let named = |key: &str| requires.get(key).and_then(|value| value.as_str());
    let version = named("python_full_version").or_else(|| named("python_version"));
    version.map(str::to_owned)
}

/// The first line that names a version: pyenv's own environments have names of other kinds.
fn of_python_version(text: &str) -> Option<String> {
    let mut lines = text.lines().map(str::trim);
    let line = lines.find(|line| !line.is_empty() && !line.starts_with('#'))?;
    let prefixes = ["cpython@", "cpython-", "python@", "python"];
    let mut plain = prefixes
        .iter()
        .filter_map(|prefix| line.strip_prefix(prefix));
    let plain = plain.next().unwrap_or(line);
    let is_version = clauses(plain).is_some_and(|all| !all.is_empty());
    is_version.then(|| plain.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, text: &str, takes: &[&str], not: &[&str]) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(name);
        fs::write(&file, text).unwrap();
        let wanted = Wanted::by(&file).unwrap();
        for version in takes {
            assert!(wanted.takes(version), "{text}: {version}");
        }
        for version in not {
            assert!(!wanted.takes(version), "{text}: {version}");
        }
    }

    #[test]
    fn each_kind_of_file() {
        let pipfile = "[packages]\n[requires]\npython_version = \"3.10\"\n";
        check(
            "Pipfile",
            pipfile,
            &["3.10.12", "3.10.0"],
            &["3.1.5", "3.11.2"],
        );
        let full = "[requires]\npython_version = \"3.10\"\npython_full_version = \"3.10.4\"\n";
        check("Pipfile", full, &["3.10.4"], &["3.10.5"]);
        let lock = r#"{"_meta": {"requires": {"python_version": "3.9"}}, "default": {}}"#;
        check("Pipfile.lock", lock, &["3.9.1"], &["3.8.1"]);
        let project = "[project]\nrequires-python = \">=3.9, !=3.11.*, <3.13\"\n";
        check(
            "pyproject.toml",
            project,
            &["3.9.0", "3.12.7", "3.10.1+"],
            &["3.8.18", "3.11.2", "3.13.0"],
        );
        check(
            "uv.lock",
            "requires-python = \"~=3.10.2\"\n",
            &["3.10.2", "3.10.9"],
            &["3.10.1", "3.11.0"],
        );
        check("requirements.txt", "torch\n", &["3.6.8"], &[]);
        check("Pipfile", "[packages]\n", &["3.6.8"], &[]);
    }

    #[test]
    fn what_stands_beside_counts_too() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pyproject.toml");
        fs::write(&file, "[project]\nrequires-python = \">=3.10\"\n").unwrap();
        let check = |beside: &str, want: &str, programs: &[&str]| {
            fs::write(folder.path().join(".python-version"), beside).unwrap();
            let wanted = Wanted::by(&file).unwrap();
            assert_eq!(wanted.to_string(), want);
            let all: Vec<String> = wanted.programs().take(2).collect();
            assert_eq!(all, programs);
        };
        let both = ">=3.10 (pyproject.toml), 3.11 (.python-version)";
        check("# uv's\n3.11\n", both, &["python3.11"]);
        let full = ">=3.10 (pyproject.toml), 3.12.4 (.python-version)";
        check("cpython-3.12.4\n", full, &["python3.12"]);
        let alone = ">=3.10 (pyproject.toml)";
        check("my-environment\n", alone, &["python3.20", "python3.19"]);
        check("system\n", alone, &["python3.20", "python3.19"]);
    }

    #[test]
    fn what_is_no_version_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pyproject.toml");
        fs::write(&file, "[project]\nrequires-python = \"===three\"\n").unwrap();
        let error = Wanted::by(&file).unwrap_err();
        assert_eq!(
            error,
            "pyproject.toml wants Python \"===three\", which names no version that is known"
        );
    }

    #[test]
    fn uv_is_asked_in_its_own_words() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("Pipfile");
        let request = |text: &str| {
            fs::write(&file, text).unwrap();
            Wanted::by(&file).unwrap().request()
        };
        let pipfile = "[requires]\npython_version = \"3.10\"\n";
        assert_eq!(request(pipfile).as_deref(), Some("==3.10.*"));
        assert_eq!(request("[packages]\n"), None);
    }
}
