//! How sources of `[data] stage` are brought, and where they lie on the node.

use crate::planner::{absolute, or};
use crate::{DataPlan, DataSection, Refusal, RefusalKind};
use std::path::{Component, Path};

/// What a run brings to its nodes and from them; two sources that would be mixed there are refused.
pub(crate) fn planned(base: &Path, asked: DataSection) -> Result<DataPlan, Refusal> {
    let stage = asked
        .stage
        .map(|stage| stage.map(|paths| paths.iter().map(|path| absolute(base, path)).collect()));
    let data = DataPlan {
        stage: stage.unwrap_or_else(|| or(Vec::new(), "none")),
        base: Some(base.to_owned()),
        collect: asked.collect.unwrap_or_else(|| or(Vec::new(), "none")),
        local_logs: asked.local_logs.filter(|local| local.value),
    };
    let sources = data.stage.value.iter();
    let sources: Vec<_> = sources
        .map(|path| (path.as_path(), data.place(path)))
        .collect();
    match collision(&sources) {
        None => Ok(data),
        Some((one, other)) => Err(Refusal {
            kind: RefusalKind::Usage,
            message: "two sources of stage would be mixed on the nodes".to_owned(),
            asked: format!("stage has {one:?} and {other:?}   ({})", data.stage.source),
            there: format!(
                "{{data}}/{} for the one, {{data}}/{} for the other",
                data.place(one).display(),
                data.place(other).display()
            ),
            todo: "rename one, pack it, or stage a folder that has both".to_owned(),
        }),
    }
}

/// How a source is brought, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StageKind {
    /// `.tar`, unpacked.
    Tar,
    /// `.tar.gz` and `.tgz`, unpacked.
    TarGz,
    /// `.tar.zst`, unpacked.
    TarZst,
    /// A file or folder, copied.
    Plain,
}

impl StageKind {
    /// Of a source.
    #[must_use]
    pub fn of(path: &Path) -> StageKind {
        let name = path.file_name().unwrap_or_default();
        let name = name.to_string_lossy().to_lowercase();
        let ends = |end: &str| name.ends_with(end);
        if ends(".tar") {
            StageKind::Tar
        } else if ends(".tar.gz") || ends(".tgz") {
            StageKind::TarGz
        } else if ends(".tar.zst") {
            StageKind::TarZst
        } else {
            StageKind::Plain
        }
    }
}

/// Where a source that is staged lies below the folder that it goes to: in `base` its relative path,
/// else its last part.
#[must_use]
pub fn place_below<'a>(base: &Path, source: &'a Path) -> &'a Path {
    let is_plain = |path: &&Path| {
        let mut parts = path.components();
        path.parent().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
    };
    let below = source.strip_prefix(base).ok().filter(is_plain);
    below.unwrap_or_else(|| Path::new(source.file_name().unwrap_or_default()))
}

/// The first two sources of which one would be written into or over the other, each given with its place: those
/// of one place, or of one inside the other's, that are not one source or its part. Archives are left out: what is
/// in them is known once they are read, and several may fill one folder.
#[must_use]
pub fn collision<'a>(sources: &[(&'a Path, &'a Path)]) -> Option<(&'a Path, &'a Path)> {
    let copied = sources
        .iter()
        .filter(|(source, _)| StageKind::of(source) == StageKind::Plain);
    let copied: Vec<(&Path, &Path)> = copied.copied().collect();
    let collides = |outer: (&Path, &Path), inner: (&Path, &Path)| {
        let below = inner.1.strip_prefix(outer.1);
        below.is_ok_and(|below| {
            let same = outer.0.components().chain(below.components());
            same.ne(inner.0.components())
        })
    };
    copied.iter().enumerate().find_map(|(count, &later)| {
        let mut before = copied.iter().take(count);
        let earlier = before.find(|&&one| collides(one, later) || collides(later, one))?;
        Some((earlier.0, later.0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(sources: &[&str], want: Option<(&str, &str)>) {
        let base = Path::new("/home/me");
        let sources: Vec<_> = sources.iter().map(Path::new).collect();
        let placed: Vec<_> = sources
            .iter()
            .map(|source| (*source, place_below(base, source)))
            .collect();
        let found = collision(&placed);
        let want = want.map(|(one, other)| (Path::new(one), Path::new(other)));
        assert_eq!(found, want, "{sources:?}");
    }

    #[test]
    fn two_sources_of_one_place() {
        check(&["/a/data", "/b/data"], Some(("/a/data", "/b/data")));
        check(
            &["/c", "/home/me/x/data", "/b/x"],
            Some(("/home/me/x/data", "/b/x")),
        );
        check(
            &["/b/x", "/home/me/x/data"],
            Some(("/b/x", "/home/me/x/data")),
        );
        check(&["/a/data", "/a/data/"], None);
        check(&["/home/me/x", "/home/me/x/data"], None);
        check(&["/home/me/p/data", "/home/me/q/data", "/a/other"], None);
        check(&["/a/set.tar", "/b/set.tar"], None);
        check(&["/a/set", "/a/set2"], None);
    }
}
