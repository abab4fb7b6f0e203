//! Cluster files at the edge: a path, the user's own, those that come with the program.

use crate::engines::{engine_dir, is_engine};
use crate::failure::{Failure, FailureKind};
use crate::follower::FILE_PAUSE;
use crate::input_file;
use backend::EngineFolder;
use cluster_file::{ClusterFile, shipped};
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};
use sys::Places;

/// What an engine writes it has written by then, or it can't.
const LONGEST_WRITE: Duration = Duration::from_secs(1);

/// A cluster file's text, before it is read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterText {
    /// The cluster's name.
    pub name: String,
    /// The text.
    pub text: String,
    /// How a person would name it: a path, or `wilson.toml (shipped)`.
    pub origin: String,
    /// Where it is from.
    pub kind: Kind,
}

/// Where a cluster file is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A path that was named.
    Named,
    /// The user's own, in the config's folder.
    Own,
    /// It comes with the program.
    Shipped,
}

/// The folder of the user's own cluster files.
pub fn folder(places: &Places) -> PathBuf {
    places.config.join("clusters")
}

/// The user's own and those that come with the program, ordered by name; an own one goes before a
/// shipped one of that name. What can't be read comes back in words.
pub fn all(places: &Places) -> (Vec<ClusterText>, Vec<String>) {
    let mut problems = Vec::new();
    let mut found: Vec<ClusterText> = Vec::new();
    let mut unreadable = Vec::new();
    let folder = folder(places);
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        Err(error) => {
            problems.push(format!("{} can't be read: {error}", folder.display()));
            Vec::new()
        }
    };
    for path in entries {
        if path
            .extension()
            .is_some_and(|extension| extension == "toml")
        {
            match read_path(&path, Kind::Own) {
                Ok(text) if text.name == backend::LOCAL => problems.push(reserved(&path)),
                Ok(text) => found.push(text),
                Err(failure) => {
                    problems.push(failure.line());
                    unreadable.extend(path.file_stem().map(|name| name.to_owned()));
                }
            }
        }
    }
    for (name, text) in shipped() {
        // An own one that can't be read goes before it too: whoever names it gets that.
        let hidden = unreadable.iter().any(|own| *own == **name);
        if !hidden && !found.iter().any(|own| own.name == *name) {
            found.push(of_shipped(name, text));
        }
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    (found, problems)
}

/// Whether what was asked is a path of a cluster file: with a `/` in it, or with `.toml` at its end.
pub(crate) fn is_path(asked: &str) -> bool {
    asked.contains('/') || Path::new(asked).extension().is_some_and(|e| e == "toml")
}

/// The cluster file for a name: a path (with a `/` in it, or with `.toml` at its end), else the
/// user's own of that name, else the shipped one, else that of the embedded engine of that name.
pub fn find(places: &Places, asked: &str) -> Result<ClusterText, Failure> {
    if is_path(asked) {
        return read_path(Path::new(asked), Kind::Named);
    }
    let own = folder(places).join(format!("{asked}.toml"));
    if asked == backend::LOCAL {
        let what = if own.exists() {
            reserved(&own)
        } else {
            format!("{asked} is this machine with yard's own engine, which has no cluster file")
        };
        let (known, _) = all(places);
        let names: Vec<&str> = known.iter().map(|text| text.name.as_str()).collect();
        return Err(Failure::new(FailureKind::Usage, what)
            .asked(asked)
            .there(format!("cluster files of {}", names.join(", ")))
            .todo("name one of those, or a path"));
    }
    // A folder or a link to nothing is said to be one.
    if own.symlink_metadata().is_ok() {
        return read_path(&own, Kind::Own);
    }
    if let Some((name, text)) = shipped()
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(asked))
    {
        return Ok(of_shipped(name, text));
    }
    if let Some(found) = of_engine(places, asked) {
        return found;
    }
    let (known, _) = all(places);
    let names: Vec<&str> = known.iter().map(|text| text.name.as_str()).collect();
    let near = model::nearest(asked, names.iter().copied());
    Err(Failure::new(
        FailureKind::Usage,
        format!("there is no cluster file {asked}"),
    )
    .asked(asked)
    .there(names.join(", "))
    .todo(match near {
        Some(near) => format!("did you mean {near}?"),
        None => format!("name one of those, a path, or write {}", own.display()),
    }))
}

/// The cluster file in an embedded engine's folder; none where its cluster is this machine, and without
/// such an engine.
pub fn of_engine(places: &Places, engine: &str) -> Option<Result<ClusterText, Failure>> {
    if engine == backend::LOCAL || !is_engine(places, engine) {
        return None;
    }
    let path = EngineFolder::new(engine_dir(places, engine)).cluster();
    let text = read_path(&path, Kind::Named);
    Some(text.map(|text| ClusterText {
        name: engine.to_owned(),
        ..text
    }))
}

/// Whether the file of such an engine is written by a person, and not of `--nodes` or one that ships.
pub(crate) fn has_written(places: &Places, engine: &str) -> bool {
    let folder = EngineFolder::new(engine_dir(places, engine));
    folder.cluster_origin().exists()
}

/// What such an engine goes by once `scontrol` or `sacctmgr` changed it: the same document with those changes. None
/// where nothing was changed.
pub(crate) fn changed_of_engine(
    places: &Places,
    engine: &str,
) -> Option<Result<ClusterText, Failure>> {
    if engine == backend::LOCAL || !is_engine(places, engine) {
        return None;
    }
    let path = EngineFolder::new(engine_dir(places, engine)).changed_cluster();
    let text = read_written(&path)?.and_then(|text| {
        if text.text.is_empty() {
            let what =
                format!("what {engine} is since scontrol or sacctmgr changed it is not known");
            return Err(Failure::new(FailureKind::Io, what)
                .asked(engine)
                .there(format!("it could not write {}", path.display()))
                .todo(format!(
                    "make room there: the engine tries again every ten seconds while it runs \
                     (yard engine start {engine})"
                )));
        }
        Ok(ClusterText {
            name: engine.to_owned(),
            ..text
        })
    });
    Some(text)
}

/// Reads what an engine empties before it writes it anew, once that is written, and otherwise what it is after a while.
fn read_written(path: &Path) -> Option<Result<ClusterText, Failure>> {
    let begun = Instant::now();
    loop {
        if !path.exists() {
            return None;
        }
        match read_path(path, Kind::Named) {
            Ok(text) if text.text.is_empty() && begun.elapsed() < LONGEST_WRITE => {
                thread::sleep(FILE_PAUSE);
            }
            // It was removed meanwhile.
            Err(_) if !path.exists() => return None,
            text => return Some(text),
        }
    }
}

/// Finds and reads a cluster file.
///
/// # Errors
/// There is none of that name, it can't be read, or something is wrong with it.
pub fn read(places: &Places, asked: &str) -> Result<ClusterFile, Failure> {
    find(places, asked)?.parse()
}

impl ClusterText {
    /// Reads it.
    ///
    /// # Errors
    /// All that is wrong with it, each with its line.
    pub fn parse(&self) -> Result<ClusterFile, Failure> {
        ClusterFile::parse(&self.name, &self.text).map_err(|problems| {
            let say = |problem| model::render(problem, &self.text, &self.origin);
            let mistakes = problems.iter().map(|one| say(one).trim_end().to_owned());
            let many = if problems.len() == 1 {
                "one mistake"
            } else {
                "mistakes"
            };
            Failure::new(FailureKind::Usage, format!("{} has {many}", self.origin))
                .todo("correct what is shown above; docs/cluster-files.md has the keys")
                .mistakes(mistakes.collect())
        })
    }
}

fn of_shipped(name: &str, text: &str) -> ClusterText {
    ClusterText {
        name: name.to_owned(),
        text: text.to_owned(),
        origin: format!("{name}.toml (shipped)"),
        kind: Kind::Shipped,
    }
}

/// What is said of a file that has this machine's name.
fn reserved(path: &Path) -> String {
    format!(
        "{} is passed over: {} is this machine, by yard's own engine; give the file another name",
        path.display(),
        backend::LOCAL
    )
}

fn read_path(path: &Path, kind: Kind) -> Result<ClusterText, Failure> {
    let shown = path.display().to_string();
    let text = input_file::read(path)
        .and_then(|file| {
            file.into_utf8()
                .ok_or_else(|| Failure::new(FailureKind::Io, format!("{shown} is not UTF-8")))
        })
        .map_err(|failure| {
            failure.todo("name a file that you may read, or a cluster: yard cluster ls")
        })?;
    let name = path
        .file_stem()
        .map_or_else(|| "cluster".into(), |name| name.to_string_lossy());
    Ok(ClusterText {
        name: name.into_owned(),
        text,
        origin: shown.clone(),
        kind,
    })
}
