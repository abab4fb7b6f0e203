//! A folder or file of the node inside a container.

use serde::{Deserialize, Serialize};

/// A folder or file of the node inside a container.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mount {
    /// On the node; in a plan with placeholders.
    pub source: String,
    /// In the container.
    pub target: String,
    /// The container can't write there.
    pub read_only: bool,
}

/// What is wrong with a text that should be a mount.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MountProblem(pub &'static str);

impl Mount {
    /// `SOURCE`, `SOURCE:TARGET` or `SOURCE:TARGET:ro`.
    pub(crate) fn read(text: &str) -> Result<Mount, MountProblem> {
        let mut parts = text.split(':');
        let source = parts.next().unwrap_or_default();
        let target = parts.next().unwrap_or(source);
        let read_only = match parts.next() {
            None | Some("rw") => false,
            Some("ro") => true,
            Some(_) => return Err(MountProblem("the third part is ro or rw")),
        };
        if source.is_empty() || parts.next().is_some() {
            return Err(MountProblem("a mount is SOURCE:TARGET or SOURCE:TARGET:ro"));
        }
        if text.contains([',', '\n']) {
            return Err(MountProblem(
                "a comma or line end can't be part of a mount: the runtimes separate mounts by them",
            ));
        }
        let is_relative = !target.starts_with('/') && !target.starts_with('{');
        if is_relative && target != source {
            return Err(MountProblem("the target is an absolute path"));
        }
        Ok(Mount {
            source: source.to_owned(),
            target: target.to_owned(),
            read_only,
        })
    }

    /// At the same path, writable.
    pub(super) fn same(path: &str) -> Mount {
        Mount {
            source: path.to_owned(),
            target: path.to_owned(),
            read_only: false,
        }
    }

    /// As most runtimes write it.
    pub(super) fn colons(&self) -> String {
        let ending = if self.read_only { ":ro" } else { "" };
        format!("{}:{}{ending}", self.source, self.target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_forms() {
        let check = |text: &str, want: Result<(&str, &str, bool), &str>| {
            let read = Mount::read(text);
            let read = read.as_ref().map_err(|problem| problem.0);
            let read = read.map(|m| (m.source.as_str(), m.target.as_str(), m.read_only));
            assert_eq!(read, want, "{text}");
        };
        check("/data", Ok(("/data", "/data", false)));
        check("{data}:/data:ro", Ok(("{data}", "/data", true)));
        check("db:/db:rw", Ok(("db", "/db", false)));
        check("/a:/b:x", Err("the third part is ro or rw"));
        check("/a:b", Err("the target is an absolute path"));
        check("", Err("a mount is SOURCE:TARGET or SOURCE:TARGET:ro"));
        let comma =
            "a comma or line end can't be part of a mount: the runtimes separate mounts by them";
        check("/a,b:/c", Err(comma));
    }
}
