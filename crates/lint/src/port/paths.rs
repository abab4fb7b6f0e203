//! Folders: scratch, project, data, the node's own disk.

use super::porter::Porter;
use crate::{Edit, apply};
use model::cluster::Sourced;
use std::ops::Range;

/// A folder of a cluster file.
type Folder<'a> = &'a Option<Sourced<String>>;

/// How people write the user's name in a path.
const USER_FORMS: [&str; 6] = [
    "${USER}",
    "$USER",
    "$(whoami)",
    "`whoami`",
    "$(id -un)",
    "$LOGNAME",
];

/// Where a text names a folder of a cluster: bytes, and how the user's name is written there.
fn find(text: &str, folder: &str) -> Vec<(Range<usize>, String)> {
    let (before, after) = match folder.split_once("$USER") {
        Some((before, after)) => (before, Some(after)),
        None => (folder, None),
    };
    let mut found = Vec::new();
    for before in spellings(before) {
        let mut from = 0;
        while let Some(at) = text.get(from..).and_then(|rest| rest.find(&before)) {
            let start = from + at;
            from = start + before.len();
            // `/data/tmp` is not `/tmp`.
            let joined =
                text[..start].ends_with(|c: char| c.is_alphanumeric() || "_/.-}".contains(c));
            if joined {
                continue;
            }
            let rest = &text[from..];
            let (user, length) = match after {
                None => (String::new(), 0),
                Some(after) => {
                    let Some(user) = user_of(rest) else { continue };
                    if !rest[user.len()..].starts_with(after) {
                        continue;
                    }
                    (user.to_owned(), user.len() + after.len())
                }
            };
            // `/scratch2` is not `/scratch`.
            let next = text[from + length..].chars().next();
            if next.is_some_and(|c| c.is_alphanumeric() || "_-.".contains(c))
                && !before.ends_with('/')
            {
                continue;
            }
            if next.is_some_and(|c| c.is_alphanumeric() || "_-.".contains(c)) && after.is_some() {
                continue;
            }
            found.push((start..from + length, user));
            from += length;
        }
    }
    found.sort_by_key(|(range, _)| range.start);
    found
}

/// A folder as it may be written: a variable with and without braces.
fn spellings(folder: &str) -> Vec<String> {
    match folder.strip_prefix('$') {
        Some(name) if name.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric()) => {
            vec![format!("${{{name}}}"), folder.to_owned()]
        }
        _ => vec![folder.to_owned()],
    }
}

/// The user's name at the start of a text: a variable, or a plain name.
fn user_of(text: &str) -> Option<&str> {
    if let Some(form) = USER_FORMS.iter().find(|form| text.starts_with(**form)) {
        return Some(&text[..form.len()]);
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-' || c == '.';
    let end = text.find(|c| !plain(c)).unwrap_or(text.len());
    (end > 0).then(|| &text[..end])
}

/// Whether a text names a folder of a cluster.
pub(super) fn mentions(text: &str, folder: &str) -> bool {
    !find(text, folder).is_empty()
}

impl Porter<'_> {
    pub fn paths(&mut self) {
        let (from, to) = (&self.from.paths, &self.to.paths);
        let pairs: [(&str, Folder<'_>, Folder<'_>); 5] = [
            (
                "the node's disk",
                &self.from.node_local.path,
                &self.to.node_local.path,
            ),
            ("scratch", &from.scratch, &to.scratch),
            ("the project's folder", &from.project, &to.project),
            ("the site's data", &from.data, &to.data),
            ("the home folder", &from.home, &to.home),
        ];
        for (what, before, after) in pairs {
            for before in before.iter().flat_map(|before| before.all()) {
                self.folder(what, before, after.as_ref());
            }
        }
        self.closed_folders();
    }

    /// A text with the folders of the other cluster; for text that is written anew.
    pub fn translated(&self, text: &str) -> String {
        let (from, to) = (&self.from.paths, &self.to.paths);
        let pairs = [
            (&self.from.node_local.path, &self.to.node_local.path),
            (&from.scratch, &to.scratch),
            (&from.project, &to.project),
            (&from.data, &to.data),
            (&from.home, &to.home),
        ];
        let mut edits: Vec<Edit> = Vec::new();
        for (before, after) in pairs {
            let (Some(before), Some(after)) = (before, after) else {
                continue;
            };
            for (range, user) in find(text, before) {
                let user = if user.is_empty() { "$USER" } else { &user };
                let edit = Edit::new(range, after.replace("$USER", user));
                if !edits.iter().any(|other| other.meets(&edit)) {
                    edits.push(edit);
                }
            }
        }
        apply(text, &edits)
    }

    fn folder(&mut self, what: &str, before: &str, after: Option<&Sourced<String>>) {
        let after = after.filter(|after| after.value != *before);
        let text = self.script.text;
        let mut asked = false;
        for (range, user) in find(text, before) {
            if !self.is_read(range.start) {
                continue;
            }
            let number = self.script.lines.number(range.start);
            let line = Some(number);
            let Some(after) = after else {
                let other = match what {
                    "scratch" => self.to.paths.scratch.as_ref(),
                    "the site's data" => self.to.paths.data.as_ref(),
                    "the project's folder" => self.to.paths.project.as_ref(),
                    "the home folder" => self.to.paths.home.as_ref(),
                    _ => self.to.node_local.path.as_ref(),
                };
                if other.is_none() && !asked && before != "/tmp" {
                    asked = true;
                    let about = format!("{} is {what} of {}", &text[range], self.from.name);
                    self.ask(
                        line,
                        about,
                        format!("where is it on {}? its file doesn't say", self.to.name),
                    );
                }
                continue;
            };
            let user = if user.is_empty() {
                "$USER".to_owned()
            } else {
                user
            };
            let is_directive = text
                .lines()
                .nth(number - 1)
                .is_some_and(|line| line.starts_with("#SBATCH"));
            let new = after.replace("$USER", &user);
            if is_directive && new.contains('$') {
                // Nothing is expanded in a directive.
                let about = format!("{} in a directive, where nothing is expanded", &text[range]);
                self.ask(
                    line,
                    about,
                    format!("write {} with your own name", after.value),
                );
                continue;
            }
            let note = if after.is_assumed() {
                ", which is assumed"
            } else {
                ""
            };
            let why = format!("{what}: {} has {}{note}", self.to.name, after.value);
            self.replace(range, new, why);
        }
        if what == "the node's disk" && !find(text, before).is_empty() {
            self.left_behind(before);
        }
    }

    /// What a job leaves on a disk that nobody wipes.
    fn left_behind(&mut self, before: &str) {
        let stays = self
            .to
            .node_local
            .survives_jobs
            .as_ref()
            .is_some_and(|stays| stays.value);
        let stayed = self
            .from
            .node_local
            .survives_jobs
            .as_ref()
            .is_some_and(|stays| stays.value);
        if stays && !stayed && mentions(self.script.text, before) {
            let path = self
                .to
                .node_local
                .path
                .as_ref()
                .map_or("there", |path| path.as_str());
            let about = format!("what a job writes to {path} stays there after it");
            self.ask(
                None,
                about,
                "does the script remove it, also when it is killed?",
            );
        }
    }

    /// Whether the shell or Slurm reads that byte: no comment.
    fn is_read(&self, at: usize) -> bool {
        let line = self.script.lines.number(at);
        let text = self.script.lines.line(line);
        let start = text.trim_start();
        !start.starts_with('#') || text.starts_with("#SBATCH")
    }

    /// Folders of the other cluster in which jobs can't run.
    fn closed_folders(&mut self) {
        let Some(closed) = &self.to.paths.no_jobs else {
            return;
        };
        let open = [&self.to.paths.scratch, &self.to.paths.project];
        let open: Vec<&str> = open
            .into_iter()
            .flatten()
            .map(|path| path.as_str())
            .collect();
        let about = format!(
            "jobs of {} can't run in {}",
            self.to.name,
            closed.join(", ")
        );
        let ask = match open.is_empty() {
            true => "from where is it submitted?".to_owned(),
            false => format!("submit it from {}", open.join(" or ")),
        };
        self.ask(None, about, ask);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, folder: &str, want: &[&str]) {
        let found = find(text, folder);
        let found: Vec<&str> = found
            .iter()
            .map(|(range, _)| &text[range.clone()])
            .collect();
        assert_eq!(found, want);
    }

    #[test]
    fn folders_are_found_as_people_write_them() {
        check(
            "H=/nobackup/users/$(whoami)/x; cd /nobackup/users/${USER} /nobackup/users/ann/y /nobackup2/users/ann",
            "/nobackup/users/$USER",
            &[
                "/nobackup/users/$(whoami)",
                "/nobackup/users/${USER}",
                "/nobackup/users/ann",
            ],
        );
        check(
            "a=/tmp/$X b=/data/tmp c=/tmp2 d=/tmp",
            "/tmp",
            &["/tmp", "/tmp"],
        );
        check(
            "$SLURM_TMPDIR/a ${SLURM_TMPDIR} $SLURM_TMPDIRS",
            "$SLURM_TMPDIR",
            &["$SLURM_TMPDIR", "${SLURM_TMPDIR}"],
        );
        check("/nashome/a", "/nashome", &["/nashome"]);
    }
}
